//! One connection: what is known of it, and the messages that may come at any time. What runs on it is in `pipeline.rs`.

use crate::cancel::CancelKey;
use crate::error::{DbError, Error, ErrorKind};
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::pipeline::Expected;
use crate::session::SessionState;
use crate::statements::Statements;
use crate::stream::Stream;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_rows::{Cursor, Demand, RowSink, RowView};

/// A connection to PostgreSQL, owned by whoever uses it.
pub struct Connection {
    pub(crate) stream: Stream,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) statements: Statements,
    /// The statements of the current pipeline that are not finished, the current one first.
    pub(crate) expected: VecDeque<Expected>,
    /// The same of what follows the transaction.
    pub(crate) behind: VecDeque<Expected>,
    /// Whether what makes the session as new follows each transaction.
    pub(crate) resets_behind: bool,
    /// How many `ReadyForQuery` are to come.
    pub(crate) syncs: usize,
    /// Whether the pipeline has no end yet: its transaction is in progress, and ends only with it or the connection.
    pub(crate) open: bool,
    /// Whether a statement that writes has begun to run in the current transaction.
    pub(crate) has_written: bool,
    /// True if the current transaction has statements that write, may not have been rolled back
    /// yet, and does not end with `ROLLBACK`.
    pub(crate) has_uncommitted: bool,
    /// The position in the output at which the `Sync` ends that commits the current transaction.
    /// Until the stream has taken all bytes up to there, PostgreSQL cannot have committed the
    /// transaction.
    pub(crate) commits_at: Option<u64>,
    /// Whether a statement that has only been prepared has other columns than it must have.
    pub(crate) is_stale: bool,
    pub(crate) failure: Option<Error>,
    /// Set for good once the stream of messages can no longer be followed.
    pub(crate) broken: bool,
    cancel_key: Option<CancelKey>,
    parameters: Vec<(String, String)>,
    notifications: VecDeque<Notification>,
    notices: VecDeque<DbError>,
    /// Who logged in, as PostgreSQL has said at first.
    login: Option<String>,
    /// Whether the session is this connection's alone, so that statements may be prepared and state kept in it.
    owns_session: bool,
    session: SessionState,
    /// Whether numbers of sequences may have been drawn since the session was as new: it tells the last of each.
    has_drawn: bool,
    pub(crate) busy: Duration,
}

/// What another session has notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// The payload, often empty.
    pub payload: String,
}

/// How many notices are kept until somebody asks for them.
const NOTICES_MAX: usize = 64;
/// How much is kept of each text of one.
const NOTICE_TEXT_BYTES_MAX: usize = 1024;
/// How many notifications are kept until somebody waits for them. PostgreSQL limits each to 8,000 bytes.
const NOTIFICATIONS_MAX: usize = 256;

impl Connection {
    pub(crate) fn over(stream: Stream) -> Self {
        Self {
            stream,
            input: Input::new(),
            output: Output::default(),
            statements: Statements::default(),
            expected: VecDeque::new(),
            behind: VecDeque::new(),
            resets_behind: false,
            syncs: 0,
            open: false,
            has_written: false,
            has_uncommitted: false,
            commits_at: None,
            is_stale: false,
            failure: None,
            broken: false,
            cancel_key: None,
            parameters: Vec::new(),
            notifications: VecDeque::new(),
            notices: VecDeque::new(),
            login: None,
            owns_session: true,
            session: SessionState::Fresh,
            has_drawn: false,
            busy: Duration::ZERO,
        }
    }

    /// A connection over any stream that has already been through the startup, for tests of the protocol.
    pub fn over_stream(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Sync + Unpin + 'static,
    ) -> Self {
        Self::over(Stream::Other(Box::new(stream)))
    }

    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    pub(crate) fn set_cancel_key(&mut self, key: CancelKey) {
        self.cancel_key = Some(key);
    }

    /// What it takes to cancel a statement from elsewhere.
    pub fn cancel_key(&self) -> Option<&CancelKey> {
        self.cancel_key.as_ref()
    }

    /// A setting that PostgreSQL reports, such as `TimeZone` or `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a pipeline may be started: the last one is over and the stream of messages is whole.
    pub fn is_idle(&self) -> bool {
        !self.broken && !self.open && self.syncs == 0 && self.output.is_empty()
    }

    /// Whether the stream of messages cannot be followed any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether a transaction is in progress that only [`Connection::end`] ends.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns whether PostgreSQL may have committed the writes of the current transaction, if no
    /// further message arrives.
    pub(crate) fn may_have_committed(&self) -> bool {
        self.has_uncommitted && self.commits_at.is_some_and(|position| self.output.has_written(position))
    }

    /// How many statements are prepared.
    pub fn prepared(&self) -> usize {
        self.statements.len()
    }

    /// Whether the session is this connection's alone. Behind a pooler it is not: then statements are not kept prepared,
    /// and no state of the session may be relied on beyond a transaction.
    pub fn owns_session(&self) -> bool {
        self.owns_session
    }

    /// From now on nothing is kept in the session.
    pub fn share_session(&mut self) {
        self.owns_session = false;
        self.statements.close_all();
    }

    pub(crate) fn own_session(&mut self) {
        self.owns_session = true;
    }

    /// Says as whom statements will run once the session has been told. What one role has prepared is not run as another,
    /// since some of what a role may do is asked only when a statement is prepared and planned.
    pub fn run_as(&mut self, role: &str) {
        self.statements.run_as(role);
    }

    /// What is known of the session.
    pub fn session(&self) -> &SessionState {
        &self.session
    }

    /// Notes what is known of the session.
    pub fn set_session(&mut self, state: SessionState) {
        self.session = state;
    }

    /// Whether numbers of sequences may have been drawn since the session was as new.
    pub fn has_drawn(&self) -> bool {
        self.has_drawn
    }

    /// Notes whether they may have been.
    pub fn set_drawn(&mut self, has_drawn: bool) {
        self.has_drawn = has_drawn;
    }

    /// Notes that nothing is known of the session any more, and returns what was known.
    pub fn distrust(&mut self) -> SessionState {
        std::mem::replace(&mut self.session, SessionState::Unknown)
    }

    /// Whether the session is still that of who logged in, and speaks UTF-8, as far as PostgreSQL reports it.
    pub(crate) fn is_as_logged_in(&self) -> bool {
        let login = self.parameter("session_authorization");
        login == self.login.as_deref() && self.parameter("client_encoding").is_none_or(|encoding| encoding == "UTF8")
    }

    pub(crate) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Forgets what was said to whoever had the connection before.
    pub(crate) fn forget_remarks(&mut self) {
        self.notifications.clear();
        self.notices.clear();
    }

    /// What PostgreSQL has remarked since this was last asked, such as by `RAISE NOTICE`; the latest where there is a lot.
    pub fn take_notices(&mut self) -> VecDeque<DbError> {
        std::mem::take(&mut self.notices)
    }

    /// How long has been spent on messages and in sinks, not waiting, since this was last asked.
    pub fn take_busy(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    /// How many bytes PostgreSQL has sent since this was last asked.
    pub fn take_received(&mut self) -> u64 {
        self.input.take_received()
    }

    /// Messages that may come at any time.
    pub(crate) fn asynchronous(&mut self, tag: u8, body: std::ops::Range<usize>) -> Result<(), Error> {
        let body = self.input.bytes(body);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match tag {
            message::PARAMETER_STATUS => {
                let mut cursor = Cursor::new(body);
                let (name, value) = (text(cursor.cstr()?), text(cursor.cstr()?));
                if name == "session_authorization" && self.login.is_none() {
                    self.login = Some(value.clone());
                }
                match self.parameters.iter_mut().find(|(known, _)| *known == name) {
                    Some(known) => known.1 = value,
                    None => self.parameters.push((name, value)),
                }
            }
            message::NOTIFICATION_RESPONSE => {
                let mut cursor = Cursor::new(body);
                cursor.i32()?;
                let (channel, payload) = (text(cursor.cstr()?), text(cursor.cstr()?));
                if self.notifications.len() == NOTIFICATIONS_MAX {
                    self.notifications.pop_front();
                }
                self.notifications.push_back(Notification { channel, payload });
            }
            message::NOTICE_RESPONSE => {
                let notice = DbError::parse(body)?.shortened(NOTICE_TEXT_BYTES_MAX);
                if self.notices.len() == NOTICES_MAX {
                    self.notices.pop_front();
                }
                self.notices.push_back(notice);
            }
            _ => return Err(Error::new(ErrorKind::Protocol("message that does not belong here"))),
        }
        Ok(())
    }

    /// Waits for what another session notifies on a channel that is listened to.
    pub async fn notification(&mut self) -> Result<Notification, Error> {
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(notification);
            }
            match self.input.message()? {
                None => poll_fn(|cx| self.input.poll_fill(&mut self.stream, cx)).await?,
                Some(found) if found.tag == message::ERROR_RESPONSE => {
                    let error = DbError::parse(self.input.bytes(found.body))?;
                    self.broken = true;
                    return Err(Error::new(ErrorKind::Database(Box::new(error))));
                }
                Some(found) => self.asynchronous(found.tag, found.body)?,
            }
        }
    }

    /// Whether the server still holds its end, as far as can be told without asking. Reads whatever it sent.
    pub(crate) fn poll_alive(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            match self.input.message() {
                Ok(Some(found)) => {
                    if found.tag == message::ERROR_RESPONSE || self.asynchronous(found.tag, found.body).is_err() {
                        return false;
                    }
                }
                Ok(None) => match self.input.poll_fill(&mut self.stream, cx) {
                    Poll::Pending => return true,
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(_)) => return false,
                },
                Err(_) => return false,
            }
        }
    }

    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.output.poll_flush(&mut self.stream, cx)).await
    }

    /// The next message, copied out; for the exchanges in which copies do not matter.
    pub(crate) async fn read_message(&mut self) -> Result<(u8, Vec<u8>), Error> {
        loop {
            match self.input.message()? {
                None => poll_fn(|cx| self.input.poll_fill(&mut self.stream, cx)).await?,
                Some(found) => match found.tag {
                    message::PARAMETER_STATUS | message::NOTICE_RESPONSE | message::NOTIFICATION_RESPONSE => {
                        self.asynchronous(found.tag, found.body)?;
                    }
                    tag => return Ok((tag, self.input.bytes(found.body).to_vec())),
                },
            }
        }
    }
}

/// A sink that takes no notice.
pub(crate) struct Discard;

impl RowSink for Discard {
    type Error = std::convert::Infallible;

    fn row(&mut self, _: RowView<'_>) -> Result<Demand, Self::Error> {
        Ok(Demand::More)
    }
}
