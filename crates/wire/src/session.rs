//! What is known of the session behind a connection, and how a session of which nothing is known is made as new.

use crate::connection::Connection;
use crate::error::{Error, ErrorKind};
use crate::pipeline::Query;
use crate::texts::Texts;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_rows::{Demand, Malformed, RowSink, RowView};

/// As whom a session runs statements, and where it looks names up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The role that `SET ROLE` has chosen.
    pub role: &'a str,
    /// The search path, as it stands in SQL.
    pub search_path: &'a str,
    /// What else has been set for it, in a form that is equal where that is.
    pub settings: &'a str,
}

/// An identity that a session has been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptIdentity {
    role: Box<str>,
    search_path: Box<str>,
    settings: Box<str>,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// It is as it was after the login.
    Fresh,
    /// It has been given an identity, and nothing else has happened to it.
    Kept(Arc<KeptIdentity>),
    /// Code has run in it that may have changed anything, or it is not known what has run.
    Unknown,
}

impl SessionState {
    /// The state of a session that has just been given an identity.
    pub fn kept(identity: Identity<'_>) -> Self {
        let Identity { role, search_path, settings } = identity;
        let kept = KeptIdentity { role: role.into(), search_path: search_path.into(), settings: settings.into() };
        Self::Kept(Arc::new(kept))
    }

    /// Whether it is known to have this identity.
    pub fn is(&self, identity: Identity<'_>) -> bool {
        match self {
            Self::Kept(kept) => {
                let Identity { role, search_path, settings } = identity;
                *kept.role == *role && *kept.search_path == *search_path && *kept.settings == *settings
            }
            Self::Fresh | Self::Unknown => false,
        }
    }

    /// Whether an identity has been given to it that brings settings of its own.
    pub fn has_settings(&self) -> bool {
        matches!(self, Self::Kept(kept) if !kept.settings.is_empty())
    }
}

/// How long it may take to make a session as new.
const RESET_TIMEOUT: Duration = Duration::from_secs(10);

/// What makes a session as new, in one message and under no name: a name could mean something else by now. The last
/// statement tells which statements are prepared, each by whether SQL has prepared it.
///
/// The bare commands cost next to nothing; each query costs its planning (`bench/runs/2026-11-22-transaction`).
pub(crate) fn reset_script() -> String {
    // what `random()` gives next is known to whoever has called `setseed`, which no command undoes
    let seed = RandomState::new().hash_one(Instant::now()) as f64 / u64::MAX as f64;
    format!(
        "RESET ALL; RESET ROLE; DISCARD SEQUENCES; DISCARD TEMP; UNLISTEN *; CLOSE ALL;
         SELECT pg_catalog.pg_advisory_unlock_all(), pg_catalog.setseed({seed});
         SELECT from_sql FROM pg_catalog.pg_prepared_statement()"
    )
}

/// How many statements that are.
pub(crate) const RESET_STATEMENTS: usize = 8;

impl Connection {
    /// Asks which process answers. If it is not the one that was connected to, a pooler stands between, and sessions
    /// belong to whoever gets them: then nothing is kept in them.
    pub async fn find_owner(&mut self) -> Result<(), Error> {
        self.share_session();
        let answer = self.ask("SELECT pg_catalog.pg_backend_pid()").await?;
        let connected_to = self.cancel_key().map(|key| key.process_id().to_string());
        if answer.rows == [[connected_to]] {
            self.own_session();
        }
        Ok(())
    }

    /// Makes a session as new of which nothing is known, or reads what has come of that where it was sent behind a
    /// transaction. An error means that it must not be used again.
    pub async fn reset(&mut self) -> Result<(), Error> {
        let reset = async {
            if !self.is_resetting() {
                self.send_reset()?;
            }
            self.reset_behind(false);
            let mut prepared = PreparedBySql { at: 0, ours: 0, others: 0 };
            poll_fn(|cx| self.poll_step(cx, &mut prepared)).await?;
            if prepared.ours != self.statements.held_by_server() || prepared.others > 0 {
                // code has dropped some of ours, or made its own, under our names perhaps
                self.ask("DEALLOCATE ALL").await?;
                self.forget_statements();
            }
            Ok::<_, Error>(())
        };
        match tokio::time::timeout(RESET_TIMEOUT, reset).await {
            Ok(done) => done?,
            Err(_) => return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        }
        if !self.is_as_logged_in() {
            return Err(Error::new(ErrorKind::Broken));
        }
        self.forget_remarks();
        self.set_session(SessionState::Fresh);
        self.set_drawn(false);
        Ok(())
    }

    async fn ask(&mut self, statement: &str) -> Result<Texts, Error> {
        let mut answer = Texts::default();
        self.run(&[Query::unnamed(statement)], &mut answer).await?;
        Ok(answer)
    }
}

/// How many statements are prepared, by the protocol and by SQL.
struct PreparedBySql {
    at: usize,
    ours: usize,
    others: usize,
}

impl RowSink for PreparedBySql {
    type Error = Malformed;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
        if self.at + 1 == RESET_STATEMENTS {
            match row.columns().column()? {
                Some(b"f") => self.ours += 1,
                _ => self.others += 1,
            }
        }
        Ok(Demand::More)
    }

    fn end_of_statement(&mut self, _: u64) {
        self.at += 1;
    }
}
