//! Rows of a COPY, made and sent as the body arrives.

use crate::error::ApiError;
use crate::transaction::Replies;
use crate::upload::Incoming;
use crate::upload::make::{PIECE_BYTES, Stint};
use crate::upload::{CopyRows, Received};
use bytes::Bytes;
use std::future::poll_fn;
use thalweg_wire::{Connection, StepError};

/// Rows are sent once there are as many, in bytes.
const SENT_BYTES: usize = 48 * 1024;
/// Rows are made before a connection is taken where they are no more, in bytes.
const MADE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// All rows of a body that is here; nothing where they are too large to be made before they are sent.
pub(crate) async fn whole(mut rows: CopyRows, received: &Received) -> Result<Option<Vec<Bytes>>, ApiError> {
    let (mut made, mut made_bytes, mut stint) = (Vec::new(), 0, Stint::default());
    for piece in received.held().iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
        rows.feed(piece)?;
        let ready_bytes = rows.ready_bytes();
        stint.worked(piece.len() + ready_bytes).await;
        if made_bytes + ready_bytes + rows.begun_bytes() > MADE_BYTES_MAX {
            return Ok(None);
        }
        if ready_bytes >= SENT_BYTES {
            made_bytes += ready_bytes;
            made.push(received.holds().made(rows.take())?);
        }
    }
    rows.finish()?;
    made.push(received.holds().made(rows.take())?);
    Ok(Some(made))
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
    let holds = received.holds();
    let (mut begun, mut stint) = (holds.nothing(), Stint::default());
    loop {
        let next = match held.next() {
            Some(chunk) => Some(chunk),
            None if !received.flows() => None,
            None => made(incoming.next_flowing().await, connection).await?,
        };
        let Some(chunk) = next else { break };
        for piece in chunk.chunks(PIECE_BYTES) {
            made(rows.feed(piece).map_err(ApiError::in_stream), connection).await?;
            let (ready_bytes, begun_bytes) = (rows.ready_bytes(), rows.begun_bytes());
            stint.worked(piece.len() + ready_bytes).await;
            send(connection, replies, rows, SENT_BYTES, anonymous).await?;
            // a row is sent when it is whole, and put in order in another buffer
            if begun_bytes as u64 > holds.bytes_max {
                made(Err(ApiError::row_too_large(holds.bytes_max)), connection).await?;
            }
            made(begun.resize(if begun_bytes > SENT_BYTES { 2 * begun_bytes } else { 0 }, holds), connection).await?;
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
    connection.copy_data(&rows.take().into());
    let sent = poll_fn(|cx| connection.poll_copy(cx, replies)).await;
    sent.map_err(|error: StepError<_>| ApiError::step(&error, anonymous))
}
