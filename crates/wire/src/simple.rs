//! Scripts and `COPY … FROM STDIN` (sections "Simple Query" and "COPY Operations").

use crate::connection::Connection;
use crate::error::{DbError, Error, ErrorKind};
use crate::message;
use bytes::{BufMut, Bytes};
use postgres_protocol::message::frontend;

/// How much is queued before it is sent.
const SEND_BYTES: usize = 256 * 1024;

/// What PostgreSQL reports of a `COPY … FROM STDIN` in a script.
const NO_DATA_FOR_COPY: &str = "a script brings no data for it";

/// Whether a transaction is in progress, as PostgreSQL says after each script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// None is.
    Idle,
    /// One is that `BEGIN` began.
    InTransaction,
    /// One is, and can only be rolled back.
    Failed,
}

impl TransactionStatus {
    fn of(body: &[u8]) -> Result<Self, Error> {
        match body {
            b"I" => Ok(Self::Idle),
            b"T" => Ok(Self::InTransaction),
            b"E" => Ok(Self::Failed),
            _ => Err(Error::new(ErrorKind::Protocol("status of the transaction"))),
        }
    }
}

impl Connection {
    /// Runs a `COPY … FROM STDIN` whose data the iterator yields. Chunks are sent from where they are.
    pub async fn copy_in(&mut self, statement: &str, data: impl Iterator<Item = Bytes>) -> Result<(), Error> {
        frontend::query(statement, self.output().buffer())?;
        self.flush().await?;
        match self.read_message().await? {
            (message::COPY_IN_RESPONSE, _) => {}
            (message::ERROR_RESPONSE, body) => return self.refused(&body).await,
            _ => return Err(Error::new(ErrorKind::Protocol("answer to COPY"))),
        }
        let mut queued = 0;
        for chunk in data {
            let length =
                i32::try_from(chunk.len() + 4).map_err(|_| Error::new(ErrorKind::Protocol("chunk of COPY")))?;
            let buffer = self.output().buffer();
            buffer.put_u8(b'd');
            buffer.put_i32(length);
            queued += chunk.len();
            self.output().chunk(chunk);
            if queued >= SEND_BYTES {
                self.flush().await?;
                queued = 0;
            }
        }
        frontend::copy_done(self.output().buffer());
        self.flush().await?;
        match self.read_message().await? {
            (message::COMMAND_COMPLETE, _) => self.expect_ready().await,
            (message::ERROR_RESPONSE, body) => self.refused(&body).await,
            _ => Err(Error::new(ErrorKind::Protocol("end of COPY"))),
        }
    }

    /// Runs a script of statements without parameters, whose results do not matter. A `COPY … FROM STDIN` in it fails.
    pub async fn simple(&mut self, script: &str) -> Result<TransactionStatus, Error> {
        frontend::query(script, self.output().buffer())?;
        self.flush().await?;
        let mut failure = None;
        let status = loop {
            match self.read_message().await? {
                (message::READY_FOR_QUERY, body) => break TransactionStatus::of(&body)?,
                (message::ERROR_RESPONSE, body) => {
                    failure = Some(Error::new(ErrorKind::Database(Box::new(DbError::parse(&body)?))));
                }
                (message::COPY_IN_RESPONSE, _) => {
                    frontend::copy_fail(NO_DATA_FOR_COPY, self.output().buffer())?;
                    self.flush().await?;
                }
                _ => {}
            }
        };
        failure.map_or(Ok(status), Err)
    }

    async fn refused(&mut self, body: &[u8]) -> Result<(), Error> {
        let error = DbError::parse(body)?;
        self.expect_ready().await?;
        Err(Error::new(ErrorKind::Database(Box::new(error))))
    }

    async fn expect_ready(&mut self) -> Result<(), Error> {
        match self.read_message().await? {
            (message::READY_FOR_QUERY, _) => Ok(()),
            _ => Err(Error::new(ErrorKind::Protocol("end of a command"))),
        }
    }
}
