//! What becomes of an answer whose client has kept it waiting for too long.

use super::Outlet;
use super::flow::{Rows, State, WATCH_PAUSE_MIN, cut, try_lock};
use crate::pace::{Pace, PaceMin};
use crate::spool::{NoRoom, Writer};
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How much goes to disk at a time, in bytes.
pub(super) const BATCH_BYTES: u64 = 512 * 1024;
/// How fast a client must read while the database waits for it, in bytes per second, and over which time.
const PACE_BYTES_PER_S_MIN: u64 = 64 * 1024;
const PACE_WINDOW: Duration = Duration::from_secs(30);
const PACE_MIN: PaceMin = PaceMin { bytes_per_s: PACE_BYTES_PER_S_MIN, window: PACE_WINDOW };

/// Waits until the client has kept the answer waiting for too long, and brings it to disk then.
pub(super) async fn watch(state: Weak<Mutex<State>>, outlet: Outlet) {
    let (chunks, rows, writer) = loop {
        let pause = {
            let Some(state) = state.upgrade() else { return };
            match try_lock(&state) {
                // The client's connection takes the next chunks. It may encode a large row at that,
                // for which this thread must not wait.
                None => WATCH_PAUSE_MIN,
                Some(mut state) => match state.patience_left() {
                    None => return,
                    Some(Duration::ZERO) => {
                        let (writer, reader) = outlet.spool.queue();
                        let (chunks, rows) = state.take(reader);
                        break (chunks, rows, writer);
                    }
                    Some(left) => left.max(WATCH_PAUSE_MIN),
                },
            }
        };
        tokio::time::sleep(pause).await;
    };
    if let Err(TooSlow) = spool(&outlet, chunks, rows, writer).await {
        // The dropped queue ends the response.
        let _ = cut("the spool is full, and its client reads too slowly");
    }
}

/// The client is too slow for a database that waits.
struct TooSlow;

/// Brings what is in memory to disk, and then rows as fast as they come. Where they break off, the reader finds that bytes are
/// missing.
async fn spool(
    outlet: &Outlet,
    chunks: VecDeque<Bytes>,
    rows: Option<Box<dyn Rows>>,
    mut writer: Writer,
) -> Result<(), TooSlow> {
    write_or_hold(&mut writer, chunks.into()).await;
    let Some(mut rows) = rows else {
        writer.finish();
        return Ok(());
    };
    loop {
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        while batch_bytes < BATCH_BYTES {
            let Ok((chunk, is_last)) = poll_fn(|cx| rows.poll_chunk(cx)).await else { return Ok(()) };
            batch_bytes += chunk.len() as u64;
            batch.push(outlet.chunk(chunk));
            if is_last {
                drop(rows);
                write_or_hold(&mut writer, batch).await;
                writer.finish();
                return Ok(());
            }
        }
        put(&mut writer, batch).await?;
    }
}

/// Puts a batch on disk, or leaves it in memory: it is the last, or has been there all along. Whether there was room.
pub(super) async fn write_or_hold(writer: &mut Writer, batch: Vec<Bytes>) -> bool {
    let written = writer.write(batch).await;
    written.map_err(|NoRoom(batch)| writer.hold(batch)).is_ok()
}

/// Puts a batch on disk; where there is no room, into memory as soon as the one before it is gone from there.
async fn put(writer: &mut Writer, batch: Vec<Bytes>) -> Result<(), TooSlow> {
    let Err(NoRoom(batch)) = writer.write(batch).await else { return Ok(()) };
    let (mut pace, mut taken) = (Pace::default(), writer.taken_bytes());
    while writer.memory_bytes() > 0 {
        let since = Instant::now();
        let _ = tokio::time::timeout(PACE_WINDOW, writer.taken()).await;
        let before = std::mem::replace(&mut taken, writer.taken_bytes());
        if pace.is_too_slow(since.elapsed(), taken - before, PACE_MIN) {
            return Err(TooSlow);
        }
    }
    writer.hold(batch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Spool;
    use std::path::Path;

    /// What becomes of a batch in a queue without room on disk, before which there is another, while the client reads so many
    /// bytes every ten seconds.
    async fn put_behind_another(bytes: usize) -> Result<(), TooSlow> {
        let (mut writer, mut reader) = Spool::new(Path::new("/nonexistent"), 0).queue();
        let pieces = vec![Bytes::from(vec![0; bytes]); 100];
        writer.hold(pieces);
        let client = tokio::spawn(async move {
            while let Some(Ok(_)) = reader.next().await {
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        });
        let put = put(&mut writer, vec![Bytes::from_static(b"more")]).await;
        client.abort();
        put
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_waits_is_read_at_a_pace() {
        let least = PACE_BYTES_PER_S_MIN as usize * 10;
        assert!(put_behind_another(least).await.is_ok());
        assert!(put_behind_another(least / 2).await.is_err());
    }
}
