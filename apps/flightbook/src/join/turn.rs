//! Computations of the flight book, on threads that serve no clients.

use tokio::task::spawn_blocking;

/// Runs a computation on a thread that serves no clients, and holds the permit until the
/// computation ends. Returns `None` if the computation panics.
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
