//! Rows of a COPY, made and sent as the body arrives.

use crate::error::ApiError;
use crate::transaction::Replies;
use crate::upload::Incoming;
use crate::upload::{CopyRows, Received};
use bytes::Bytes;
use std::future::poll_fn;
use thalweg_decode::DecodeError;
use thalweg_wire::{Connection, StepError};

/// Rows are sent once there are as many, in bytes.
const SENT_BYTES: usize = 48 * 1024;
/// How much of a body is read at a time, in bytes.
const PIECE_BYTES: usize = 16 * 1024;

/// All rows of a body that is here.
pub(crate) fn whole(rows: &mut CopyRows, body: &[Bytes]) -> Result<Vec<Bytes>, DecodeError> {
    let mut made = Vec::new();
    for piece in body.iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
        rows.feed(piece)?;
        if rows.ready_bytes() >= SENT_BYTES {
            made.push(rows.take());
        }
    }
    rows.finish()?;
    made.push(rows.take());
    Ok(made)
}

/// Sends the rows of a body to a connection that waits for them, up to the last. Where the body turns out to be wrong, the
/// transaction is over and nothing of it stays.
pub(crate) async fn flow(
    connection: &mut Connection,
    replies: &mut Replies,
    (received, incoming): (&Received, &mut Incoming),
    rows: &mut CopyRows,
    anonymous: bool,
) -> Result<(), ApiError> {
    let mut held = received.held().iter().cloned();
    loop {
        let next = match held.next() {
            Some(chunk) => Some(chunk),
            None => made(incoming.next_in_time().await, connection).await?,
        };
        let Some(chunk) = next else { break };
        for piece in chunk.chunks(PIECE_BYTES) {
            made(rows.feed(piece).map_err(ApiError::in_stream), connection).await?;
            send(connection, replies, rows, SENT_BYTES, anonymous).await?;
        }
    }
    made(rows.finish().map_err(ApiError::in_stream), connection).await?;
    send(connection, replies, rows, 1, anonymous).await?;
    connection.copy_done();
    Ok(())
}

/// What has been made of the body, or an end to the COPY where nothing can be.
async fn made<T>(made: Result<T, ApiError>, connection: &mut Connection) -> Result<T, ApiError> {
    match made {
        Ok(made) => Ok(made),
        Err(error) => {
            // what becomes of the connection changes nothing for the client
            let _ = connection.copy_fail("the request's body is wrong").await;
            Err(error)
        }
    }
}

/// Sends rows that are whole, if there are enough of them.
async fn send(
    connection: &mut Connection,
    replies: &mut Replies,
    rows: &mut CopyRows,
    bytes_min: usize,
    anonymous: bool,
) -> Result<(), ApiError> {
    if rows.ready_bytes() < bytes_min {
        return Ok(());
    }
    connection.copy_data(&rows.take());
    let sent = poll_fn(|cx| connection.poll_copy(cx, replies)).await;
    sent.map_err(|error: StepError<_>| ApiError::step(&error, anonymous))
}
