//! What is known of the session behind a connection, and how a session of which nothing is known is made as new.

use crate::connection::Connection;
use crate::error::{Error, ErrorKind};
use crate::pipeline::{Query, StepError};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use thalweg_rows::{Demand, Malformed, RowSink, RowView};

/// As whom a session runs statements, and where it looks names up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The role that `SET ROLE` has chosen.
    pub role: &'a str,
    /// The search path, as it stands in SQL.
    pub search_path: &'a str,
}

/// An identity that a session has been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptIdentity {
    role: Box<str>,
    search_path: Box<str>,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionState {
    /// It is as it was after the login.
    #[default]
    Fresh,
    /// It has been given an identity, and nothing else has happened to it.
    Kept(Arc<KeptIdentity>),
    /// Code has run in it that may have changed anything, or it is not known what has run.
    Unknown,
}

impl SessionState {
    /// The state of a session that has just been given an identity.
    pub fn kept(identity: Identity<'_>) -> Self {
        Self::Kept(Arc::new(KeptIdentity { role: identity.role.into(), search_path: identity.search_path.into() }))
    }

    /// Whether it is known to have this identity.
    pub fn is(&self, identity: Identity<'_>) -> bool {
        match self {
            Self::Kept(kept) => *kept.role == *identity.role && *kept.search_path == *identity.search_path,
            Self::Fresh | Self::Unknown => false,
        }
    }
}

/// How long it may take to make a session as new.
const RESET_TIMEOUT: Duration = Duration::from_secs(10);

/// What makes a session as new, in one message and under no name: a name could mean something else by now.
///
/// What `random()` gives next is known to whoever has called `setseed`, so that it is seeded anew by chance that cannot be.
/// What is left of code then is prepared statements, some under our names perhaps: the last statement counts those that came
/// by the protocol, and tells whether others did.
pub(crate) const RESET: &str = "RESET ALL; DISCARD SEQUENCES; DISCARD TEMP; UNLISTEN *; CLOSE ALL;
    SELECT pg_catalog.count(*) FILTER (WHERE NOT from_sql), pg_catalog.bool_or(from_sql),
           pg_catalog.set_config('role', 'none', false), pg_catalog.pg_advisory_unlock_all(),
           pg_catalog.setseed(
             pg_catalog.uuid_hash_extended(pg_catalog.gen_random_uuid(), 0)::pg_catalog.float8
               OPERATOR(pg_catalog./) 9223372036854775808::pg_catalog.float8)
    FROM pg_catalog.pg_prepared_statement()";
/// How many statements that are.
pub(crate) const RESET_STATEMENTS: usize = 6;

impl Connection {
    /// Asks which process answers. If it is not the one that was connected to, a pooler stands between, and sessions
    /// belong to whoever gets them: then nothing is kept in them.
    pub async fn find_owner(&mut self) -> Result<(), Error> {
        let mut answer = Texts::default();
        self.share_session();
        self.ask("SELECT pg_catalog.pg_backend_pid()", &mut answer).await?;
        let connected_to = self.cancel_key().map(|key| key.process_id().to_string());
        if answer.last.first().cloned().flatten() == connected_to {
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
            let mut answer = Texts::default();
            self.read(&mut answer).await?;
            let ours = self.prepared().to_string();
            let of = |at: usize| answer.last.get(at).cloned().flatten();
            // where there is no statement at all, there is none of SQL's
            if of(0) != Some(ours) || of(1).as_deref() == Some("t") {
                self.ask("DEALLOCATE ALL", &mut Texts::default()).await?;
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
        Ok(())
    }

    async fn ask(&mut self, statement: &str, answer: &mut Texts) -> Result<(), Error> {
        match self.run(&[Query::unnamed(statement)], answer).await {
            Ok(_) => Ok(()),
            Err(StepError::Wire(error)) => Err(error),
            Err(StepError::Sink(malformed)) => Err(malformed.into()),
        }
    }

    async fn read(&mut self, answer: &mut Texts) -> Result<(), Error> {
        match poll_fn(|cx| self.poll_step(cx, answer)).await {
            Ok(_) => Ok(()),
            Err(StepError::Wire(error)) => Err(error),
            Err(StepError::Sink(malformed)) => Err(malformed.into()),
        }
    }
}

/// The values of the last row, as text.
#[derive(Default)]
struct Texts {
    last: Vec<Option<String>>,
}

impl RowSink for Texts {
    type Error = Malformed;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
        let mut columns = row.columns();
        let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.last = (0..row.len()).map(|_| columns.column().map(text)).collect::<Result<_, _>>()?;
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        true
    }
}
