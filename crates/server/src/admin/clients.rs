//! The clients of the admin server. There is always room for another client: the one that has been
//! quiet for the longest is disconnected, so that silent clients cannot delay a health check.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Number of clients that may be connected. Another client takes the place of the one that has been
/// quiet for the longest.
pub(crate) const CLIENTS_MAX: usize = 64;
/// Shortest time for which a client must have been quiet before another one takes its place. A
/// request that was sent together with the connection has been read by then.
const QUIET_TIME_MIN: Duration = Duration::from_millis(100);

/// The connected clients.
#[derive(Default)]
pub(super) struct Clients(Vec<(AbortHandle, Arc<Activity>)>);

/// Activity of one client.
pub(super) struct Activity {
    connected: Instant,
    /// Time of the last answer, in microseconds after the client connected.
    answered_us: AtomicU64,
    /// True while a request of the client is being answered.
    is_answering: AtomicBool,
}

/// A request that is being answered. Its end is recorded when this is dropped.
pub(super) struct Answering<'a>(&'a Activity);

impl Default for Activity {
    fn default() -> Self {
        Self { connected: Instant::now(), answered_us: AtomicU64::new(0), is_answering: AtomicBool::new(false) }
    }
}

impl Activity {
    /// Records that a request is being answered.
    pub(super) fn answer(&self) -> Answering<'_> {
        self.is_answering.store(true, Ordering::Relaxed);
        self.stamp();
        Answering(self)
    }

    fn stamp(&self) {
        self.answered_us.store(self.connected.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    fn quiet_since(&self) -> Instant {
        self.connected + Duration::from_micros(self.answered_us.load(Ordering::Relaxed))
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.stamp();
        self.0.is_answering.store(false, Ordering::Relaxed);
    }
}

impl Clients {
    /// Adds a client. Aborting its task disconnects it.
    pub(super) fn add(&mut self, client: AbortHandle, activity: Arc<Activity>) {
        self.0.push((client, activity));
    }

    /// Waits until there is room for another client. If there is none, disconnects the quietest
    /// client.
    pub(super) async fn make_room(&mut self) {
        loop {
            self.0.retain(|(client, _)| !client.is_finished());
            if self.0.len() < CLIENTS_MAX {
                return;
            }
            // Clients whose requests are being answered are disconnected last.
            let rank = |activity: &Activity| (activity.is_answering.load(Ordering::Relaxed), activity.quiet_since());
            let quietest = (0..self.0.len()).min_by_key(|at| rank(&self.0[*at].1));
            let Some(quietest) = quietest else { return };
            let may_leave = self.0[quietest].1.quiet_since() + QUIET_TIME_MIN;
            if may_leave <= Instant::now() {
                self.0.swap_remove(quietest).0.abort();
                return;
            }
            tokio::time::sleep_until(may_leave).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_client_that_has_been_quiet_for_the_longest_leaves() {
        let mut clients = Clients::default();
        let tasks: Vec<_> = (0..CLIENTS_MAX).map(|_| tokio::spawn(std::future::pending::<()>())).collect();
        let activities: Vec<Arc<Activity>> = tasks.iter().map(|_| Arc::default()).collect();
        for (at, task) in tasks.iter().enumerate() {
            clients.make_room().await;
            clients.add(task.abort_handle(), activities[at].clone());
        }
        let begun = Instant::now();
        tokio::time::sleep(QUIET_TIME_MIN / 2).await;
        let answering = activities[0].answer();
        drop(activities[1].answer());
        clients.make_room().await;
        assert_eq!(begun.elapsed(), QUIET_TIME_MIN, "a client that has just connected may still send its request");
        for _ in 3..CLIENTS_MAX {
            clients.add(tokio::spawn(std::future::pending::<()>()).abort_handle(), Arc::default());
            clients.make_room().await;
        }
        // With the clock paused, sleeping lets the aborted tasks end first.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let left: Vec<usize> = (0..CLIENTS_MAX).filter(|at| !tasks[*at].is_finished()).collect();
        assert!(left.contains(&0) && left.contains(&1) && left.len() <= 3, "{left:?}");
        drop(answering);
    }
}
