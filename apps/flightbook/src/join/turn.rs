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
    let worked = spawn_blocking(thalweg_gauge::blocking(move || {
        let _slot = slot;
        work()
    }));
    Ok(worked.await.ok())
}
