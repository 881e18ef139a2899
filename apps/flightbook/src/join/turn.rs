//! What takes a core is done a few at a time, and not on a thread that answers others.

use thalweg_wire::Slots;
use tokio::task::spawn_blocking;

/// Too many want the same.
#[derive(Debug)]
pub(super) struct Busy;

/// Does it as soon as there is a slot; nothing comes of what panics.
pub(super) async fn in_turn<T: Send + 'static>(
    slots: &Slots,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Busy> {
    let slot = slots.next().await.map_err(|_| Busy)?;
    Ok(blocking(slot, work).await)
}

/// Runs a computation on a thread that serves nobody else, and drops the permit when it has ended. Returns nothing if it panics.
pub(super) async fn blocking<T: Send + 'static>(
    permit: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let worked = spawn_blocking(thalweg_gauge::blocking(move || {
        let _permit = permit;
        work()
    }));
    worked.await.ok()
}
