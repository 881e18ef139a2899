//! Tests of the queue, with a clock that stands still until a test advances it.

use super::*;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::time::advance;

const WAIT: Duration = Duration::from_secs(10);

type Next<'a> = Pin<Box<dyn Future<Output = Result<Slot, PoolError>> + 'a>>;

/// A request for a slot, and its result if it has one.
struct Request<'a> {
    next: Next<'a>,
    answer: Option<Result<Slot, PoolError>>,
}

impl<'a> Request<'a> {
    fn new(slots: &'a Slots) -> Self {
        let mut request = Self { next: Box::pin(tokio::task::unconstrained(slots.next())), answer: None };
        request.look();
        request
    }

    fn look(&mut self) -> Option<&Result<Slot, PoolError>> {
        if self.answer.is_none()
            && let Poll::Ready(answer) = self.next.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            self.answer = Some(answer);
        }
        self.answer.as_ref()
    }

    fn waits(&mut self) -> bool {
        self.look().is_none()
    }

    fn is_refused(&mut self) -> bool {
        matches!(self.look(), Some(Err(PoolError::QueueFull)))
    }

    fn has_slot(&mut self) -> bool {
        matches!(self.look(), Some(Ok(_)))
    }
}

fn requests(slots: &Slots, count: usize) -> Vec<Request<'_>> {
    (0..count).map(|_| Request::new(slots)).collect()
}

/// Serves the oldest `count` requests one after the other, each `each` after the preceding one.
async fn serve<'a>(slot: Slot, waiting: &mut Vec<Request<'a>>, count: usize, each: Duration) -> Slot {
    let mut slot = Some(slot);
    for mut request in waiting.drain(..count) {
        advance(each).await;
        drop(slot.take());
        assert!(request.has_slot());
        slot = request.answer.and_then(Result::ok);
    }
    slot.expect("the last request has the slot")
}

#[tokio::test(start_paused = true)]
async fn a_burst_may_wait_up_to_the_bound_of_memory() {
    let slots = Slots::new(1, 5_000, WAIT);
    let _slot = slots.take().unwrap();
    let mut waiting = requests(&slots, 5_000);
    assert!(waiting.iter_mut().all(Request::waits) && slots.waiting() == 5_000);
    assert!(slots.is_full() && Request::new(&slots).is_refused());
}

#[tokio::test(start_paused = true)]
async fn a_stalled_queue_refuses_all_beyond_the_number_that_may_always_wait() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    let mut waiting = requests(&slots, WAITING_MIN);
    advance(Duration::from_millis(1_999)).await;
    assert!(!slots.is_full());
    advance(Duration::from_millis(1)).await;
    assert!(slots.is_full() && Request::new(&slots).is_refused());
    assert_eq!((slots.expected_wait(), slots.is_stalled()), (WAIT, true));
    // All requests that may wait are served in their order once slots come back.
    advance(Duration::from_secs(7)).await;
    assert!(waiting.iter_mut().all(Request::waits));
    serve(slot, &mut waiting, WAITING_MIN, Duration::ZERO).await;
    assert_eq!((slots.waiting(), slots.free()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_minimum_are_refused_oldest_first_once_the_queue_stalls() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let _slot = slots.take().unwrap();
    let mut waiting = requests(&slots, 1_000);
    advance(Duration::from_millis(2_001)).await;
    let refused = waiting.iter_mut().filter_map(|request| request.is_refused().then_some(())).count();
    assert_eq!((refused, slots.waiting()), (1_000 - WAITING_MIN, WAITING_MIN));
    assert!(waiting[..refused].iter_mut().all(Request::is_refused));
}

#[tokio::test(start_paused = true)]
async fn a_request_may_wait_if_the_queue_is_expected_to_take_less_than_a_fifth_of_the_longest_wait() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    // At 1,000 a second, 2,000 requests may wait for 2 s.
    let mut waiting = requests(&slots, 4_100);
    let slot = serve(slot, &mut waiting, 2_200, Duration::from_millis(1)).await;
    assert_eq!((slots.waiting(), slots.is_full()), (1_900, false));
    let expected = slots.expected_wait().as_secs_f64();
    assert!((1.89..1.91).contains(&expected), "{expected}");
    waiting.extend(requests(&slots, 99));
    assert!(waiting.iter_mut().all(Request::waits));
    let more = requests(&slots, 10).into_iter().filter_map(|mut request| request.waits().then_some(request));
    waiting.extend(more);
    assert_eq!(slots.waiting(), 2_000, "the largest queue that is admitted");
    assert!(slots.is_full());
    drop(waiting);
    drop(slot);
    assert_eq!((slots.waiting(), slots.free()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_few_requests_wait_for_the_whole_time_however_slow_the_slots_are() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    let mut first = Request::new(&slots);
    advance(Duration::from_millis(4_900)).await;
    let mut second = Request::new(&slots);
    advance(Duration::from_millis(100)).await;
    drop(slot);
    assert!(first.has_slot() && second.waits(), "the oldest request is served first, although it is late");
    let mut third = Request::new(&slots);
    advance(Duration::from_secs(5)).await;
    drop(first);
    assert!(second.has_slot() && third.waits());
    advance(Duration::from_secs(5)).await;
    assert!(matches!(third.look(), Some(Err(PoolError::Timeout))));
    assert_eq!(slots.timeouts(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_minimum_are_served_newest_first_once_the_oldest_is_late() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    // A burst of which 30 a second are served, so that no request is refused at once.
    let mut waiting = requests(&slots, 300);
    let slot = serve(slot, &mut waiting, 120, Duration::from_millis(33)).await;
    advance(Duration::from_millis(41)).await;
    let mut newest = waiting.pop().unwrap();
    drop(slot);
    assert!(newest.has_slot(), "the oldest waits for longer than 4 s");
    // The oldest are refused until only as many are left as may always wait.
    let refused = waiting.iter_mut().filter_map(|request| request.is_refused().then_some(())).count();
    assert_eq!((refused, slots.waiting()), (79, WAITING_MIN));
    assert!(waiting[..refused].iter_mut().all(Request::is_refused));
    // These are served in their order again.
    drop(newest);
    assert!(waiting[refused].has_slot());
}

#[tokio::test(start_paused = true)]
async fn a_request_is_refused_once_it_can_no_longer_be_served_in_time() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    let mut waiting = requests(&slots, 5_000);
    // From here on 100 a second are served, so that 1,000 are served within 10 s.
    let _slot = serve(slot, &mut waiting, 220, Duration::from_millis(10)).await;
    let refused = waiting.iter_mut().filter_map(|request| request.is_refused().then_some(())).count();
    assert_eq!((refused, slots.waiting()), (3_780, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_slot_passes_to_the_next_request_if_its_request_has_left() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    let mut waiting = requests(&slots, 4);
    // One request leaves from the middle of the queue, one after a slot has been sent to it.
    drop(waiting.remove(1));
    assert_eq!(slots.waiting(), 3);
    drop(slot);
    drop(waiting.remove(0));
    assert!(waiting[0].has_slot() && waiting[1].waits());
    drop(waiting);
    assert_eq!((slots.waiting(), slots.free()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_reset_once_no_request_waits() {
    let slots = Slots::new(1, WAITING_MAX, WAIT);
    let slot = slots.take().unwrap();
    let mut waiting = requests(&slots, WAITING_MIN);
    advance(Duration::from_secs(3)).await;
    assert!(slots.is_full());
    let slot = serve(slot, &mut waiting, WAITING_MIN, Duration::ZERO).await;
    assert!(!slots.is_full() && slots.expected_wait().is_zero());
    assert!(requests(&slots, 2 * WAITING_MIN).iter_mut().all(Request::waits));
    drop(slot);
    assert_eq!(slots.free(), 1);
}
