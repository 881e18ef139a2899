//! Cancelling a statement over a connection of its own (section "Canceling Requests in Progress").

use crate::error::Error;
use crate::way::Way;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What it takes to cancel whatever a connection is doing.
#[derive(Debug, Clone)]
pub struct CancelKey {
    /// The way on which the connection was made: whoever reads the secret can cancel too.
    pub(crate) way: Way,
    pub(crate) process_id: i32,
    pub(crate) secret: Vec<u8>,
}

const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

impl CancelKey {
    /// The server process that is meant.
    pub fn process_id(&self) -> i32 {
        self.process_id
    }

    /// Asks PostgreSQL to cancel. It does not say whether it did; when this returns, it has read the request.
    pub async fn cancel(&self) -> Result<(), Error> {
        // Protocol 3.0, the only version that is asked for, has secrets of four bytes.
        let Some(secret) = self.secret.first_chunk::<4>() else { return Ok(()) };
        let exchange = async {
            let mut stream = self.way.again().await?;
            let mut request = BytesMut::new();
            frontend::cancel_request(self.process_id, i32::from_be_bytes(*secret), &mut request);
            stream.write_all(&request).await?;
            stream.flush().await?;
            let _ = stream.read(&mut [0]).await;
            Ok(())
        };
        match tokio::time::timeout(CANCEL_TIMEOUT, exchange).await {
            Ok(done) => done,
            Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        }
    }
}
