//! Statements as messages, each prepared first where it is new, and the end of their transaction.

use super::{Expected, Query, ROLLBACK, fits};
use crate::bind;
use crate::connection::Connection;
use crate::error::Error;
use crate::session::{RESET_STATEMENTS, reset_script};
use postgres_protocol::message::frontend;
use std::sync::Arc;

/// What has been done about a pipeline's statements before they are run.
#[derive(Clone, Copy)]
pub(super) struct Preparation {
    /// Whether those that write have the columns that they must have.
    pub(super) are_seen: bool,
    /// Which of them the session holds under no name. PostgreSQL refuses to bind it if it has other columns by then; once
    /// another has taken its place, it is prepared anew, and what it returns is looked at again.
    pub(super) unnamed: Option<usize>,
}

impl Connection {
    /// Whether it has to be seen what a statement returns before it may run.
    pub(super) fn is_to_be_seen(&mut self, query: &Query<'_>) -> bool {
        let Some(expected) = query.columns.filter(|_| query.writes) else { return false };
        let known = self.statements.find(query.text).and_then(|known| known.columns.as_deref());
        known.is_none_or(|known| !fits(expected, known))
    }

    /// Encodes the preparation of statements whose columns have to be seen. Returns which of them is then the one without
    /// a name, if any is.
    pub(super) fn prepare(&mut self, queries: &[Query<'_>]) -> Result<Option<usize>, Error> {
        let mut unnamed = None;
        for (at, query) in queries.iter().enumerate() {
            if self.is_to_be_seen(query) {
                let (name, unparsed) = self.name(query, true)?;
                self.describe(&name)?;
                if name.is_none() {
                    unnamed = Some(at);
                }
                let columns = query.columns.map(Box::from);
                self.expected.push_back(Expected {
                    name,
                    unparsed,
                    runs: false,
                    has_begun: false,
                    writes: true,
                    columns,
                });
            }
        }
        Ok(unnamed)
    }

    /// Encodes statements, each prepared first where it is new.
    pub(super) fn encode(&mut self, queries: &[Query<'_>]) -> Result<(), Error> {
        self.encode_with(queries, Preparation { are_seen: false, unnamed: None })
    }

    pub(super) fn encode_with(&mut self, queries: &[Query<'_>], mut prepared: Preparation) -> Result<(), Error> {
        for (at, query) in queries.iter().enumerate() {
            let (name, unparsed) = match prepared.unnamed {
                Some(unnamed) if unnamed == at => (None, false),
                _ => self.name(query, !prepared.are_seen)?,
            };
            if unparsed {
                self.describe(&name)?;
                if name.is_none() {
                    prepared.unnamed = None;
                }
            }
            if let Err(error) = bind::bind(&mut self.output, name.as_deref().unwrap_or(""), query.params, query.formats)
            {
                // half a message is queued
                self.broken = true;
                return Err(error);
            }
            if query.may_change {
                frontend::describe(b'P', "", self.output.buffer())?;
            }
            frontend::execute("", 0, self.output.buffer())?;
            if let Some(chunks) = query.copy {
                chunks.iter().for_each(|chunk| bind::copy_data(&mut self.output, chunk));
                frontend::copy_done(self.output.buffer());
            }
            let columns = query.columns.filter(|_| unparsed || query.may_change).map(Box::from);
            let writes = query.writes;
            self.has_uncommitted = (self.has_uncommitted || writes) && query.text != ROLLBACK;
            self.expected.push_back(Expected { name, unparsed, runs: true, has_begun: false, writes, columns });
        }
        Ok(())
    }

    /// The name of a statement, and whether it is prepared by this pipeline. With `checks`, one whose columns are known to
    /// be others than they must be is prepared anew.
    fn name(&mut self, query: &Query<'_>, checks: bool) -> Result<(Option<Arc<str>>, bool), Error> {
        let is_named = query.is_named && self.owns_session();
        if is_named && let Some(known) = self.statements.find(query.text) {
            let name = known.name.clone();
            let differs = match (query.columns, known.columns.as_deref()) {
                (Some(expected), Some(known)) => checks && !fits(expected, known),
                _ => false,
            };
            if !differs {
                return Ok((Some(name), false));
            }
            self.statements.close(&name);
        }
        let name = if is_named { self.statements.insert(query.text) } else { None };
        // what made room goes first, so that the server never holds more than it may
        self.close_unwanted()?;
        if let Err(error) = frontend::parse(name.as_deref().unwrap_or(""), query.text, [], self.output.buffer()) {
            // half a message is queued
            self.broken = true;
            return Err(error.into());
        }
        Ok((name, true))
    }

    fn close_unwanted(&mut self) -> Result<(), Error> {
        let buffer = self.output.buffer();
        for name in self.statements.not_told_to_close() {
            frontend::close(b'S', name, buffer)?;
        }
        Ok(())
    }

    fn describe(&mut self, name: &Option<Arc<str>>) -> Result<(), Error> {
        frontend::describe(b'S', name.as_deref().unwrap_or(""), self.output.buffer())?;
        Ok(())
    }

    /// Ends the transaction, and lets what makes the session as new follow it where that is wanted.
    pub(super) fn sync(&mut self) {
        frontend::sync(self.output.buffer());
        self.commits_at = Some(self.output.end());
        self.syncs = 1;
        if self.resets_behind {
            let transaction = std::mem::take(&mut self.expected);
            if self.send_reset().is_err() {
                self.broken = true;
            }
            self.behind = std::mem::replace(&mut self.expected, transaction);
            self.syncs = 2;
        }
    }

    /// Sends what makes the session as new (section "Simple Query").
    pub(crate) fn send_reset(&mut self) -> Result<(), Error> {
        frontend::query(&reset_script(), self.output.buffer())?;
        self.syncs = 1;
        self.expected.extend((0..RESET_STATEMENTS).map(|_| Expected::unnamed()));
        Ok(())
    }

    /// Whether the session is to be made as new behind each transaction from now on, in the same round trip. Nobody needs to
    /// wait for that: [`Connection::reset`] reads what has come of it.
    pub fn reset_behind(&mut self, resets: bool) {
        self.resets_behind = resets && self.owns_session();
    }

    /// Whether the last transaction has ended, and what makes the session as new has been sent behind it.
    pub(crate) fn is_resetting(&self) -> bool {
        self.resets_behind && self.syncs == 1 && !self.open && !self.is_broken()
    }
}
