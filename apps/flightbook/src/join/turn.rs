//! What takes a core is done a few at a time, and not on a thread that answers others.

use thalweg_wire::Slots;
use tokio::task::spawn_blocking;

/// Too many want the same.
#[derive(Debug)]
pub(super) struct Busy;

/// Does work as soon as there is a slot. Work that panics returns nothing.
pub(super) async fn in_turn<T: Send + 'static>(
    slots: &Slots,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Busy> {
    let slot = slots.next().await.map_err(|_| Busy)?;
    Ok(with_permit(slot, work).await)
}

/// Does work on a thread that answers nobody, and holds a permit meanwhile. Work that panics returns nothing.
pub(super) async fn with_permit<T: Send + 'static>(
    permit: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let worked = spawn_blocking(thalweg_gauge::blocking(move || {
        let _permit = permit;
        work()
    }));
    worked.await.ok()
}
