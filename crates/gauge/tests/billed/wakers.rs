//! Who is woken, whatever a future was polled within before.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn who_polled_last_is_woken_though_its_waker_stands_where_another_task_s_stood() {
    let mut kept = None;
    let mut waits = Box::pin(thalweg_gauge::billed(std::future::poll_fn(|cx| {
        kept = Some(cx.waker().clone());
        Poll::<()>::Pending
    })));
    let tasks = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
    for task in &tasks {
        let outer = pin!(thalweg_gauge::billed(std::future::poll_fn(|cx| waits.as_mut().poll(cx))));
        assert!(outer.poll(&mut Context::from_waker(&Waker::from(task.clone()))).is_pending());
    }
    drop(waits);
    kept.unwrap().wake();
    assert_eq!(tasks.map(|task| task.0.load(Relaxed)), [0, 1]);
}

#[test]
fn a_waker_that_was_kept_is_known_to_wake_its_task_again() {
    let (mut kept, mut is_known) = (None::<Waker>, Vec::new());
    let mut task = pin!(thalweg_gauge::billed(std::future::poll_fn(|cx| {
        match &kept {
            Some(kept) => is_known.push(kept.will_wake(cx.waker())),
            None => kept = Some(cx.waker().clone()),
        }
        Poll::<()>::Pending
    })));
    for _ in 0..3 {
        assert!(task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(is_known, [true, true]);
}
