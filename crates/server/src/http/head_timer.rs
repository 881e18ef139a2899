//! How long a client's heads may take, by one timer for all of them.
//!
//! hyper asks for a new timer at each head and drops it when the head has come, which would take the runtime's lock twice for
//! each request. Here the runtime's timer is kept, and set on only where it goes off before a later head's time is up.

use hyper::rt::{Sleep, Timer};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

type Running = Pin<Box<tokio::time::Sleep>>;

/// The timer of one connection.
#[derive(Clone, Default)]
pub(super) struct HeadTimer {
    /// What the head before has left.
    kept: Arc<Mutex<Option<Running>>>,
}

impl HeadTimer {
    fn take(&self) -> Option<Running> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let deadline = deadline.into();
        // one that goes off later would be of no use
        let kept = self.take().filter(|running| running.deadline() <= deadline);
        let running = kept.unwrap_or_else(|| Box::pin(tokio::time::sleep_until(deadline)));
        Box::pin(HeadTime { running: Some(running), deadline, timer: self.clone() })
    }
}

/// The time of one head.
struct HeadTime {
    running: Option<Running>,
    deadline: tokio::time::Instant,
    timer: HeadTimer,
}

impl Future for HeadTime {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let Some(running) = &mut self.running else { return Poll::Ready(()) };
        loop {
            ready!(running.as_mut().poll(cx));
            if running.deadline() >= deadline {
                return Poll::Ready(());
            }
            running.as_mut().reset(deadline);
        }
    }
}

impl Sleep for HeadTime {}

impl Drop for HeadTime {
    fn drop(&mut self) {
        *self.timer.kept.lock().unwrap_or_else(PoisonError::into_inner) = self.running.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_head_has_its_time() {
        let timer = HeadTimer::default();
        let now = || tokio::time::Instant::now();
        let seconds = |s| now().into_std() + Duration::from_secs(s);
        let begun = now();
        // each head comes before the time of the first is up, but for the last
        for _ in 0..5 {
            let head = timer.sleep_until(seconds(30));
            assert!(tokio::time::timeout(Duration::from_secs(20), head).await.is_err());
        }
        assert!(timer.take().is_some());
        timer.sleep_until(seconds(30)).await;
        assert_eq!(begun.elapsed().as_secs(), 130);
        // what has gone off says so once only
        timer.sleep_until(seconds(30)).await;
        timer.sleep_until(seconds(5)).await;
        assert_eq!(begun.elapsed().as_secs(), 165);
    }
}
