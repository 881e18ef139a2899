//! Tests of shares.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const LONG: Duration = Duration::from_secs(3600);

/// Spawns a request, and returns once it has a permit or waits.
async fn acquire(shares: &Shares, caller: &'static str) -> tokio::task::JoinHandle<Result<Permit, ShareError>> {
    let shares = shares.clone();
    let task = tokio::spawn(async move { shares.acquire(caller).await });
    tokio::task::yield_now().await;
    task
}

/// Returns the number of callers with state, and how many of them are in the rotation.
fn stored(shares: &Shares) -> (usize, usize) {
    let state = shares.0.lock();
    (state.callers.len(), state.rotation.len())
}

#[tokio::test]
async fn a_caller_holds_its_share_at_most_and_the_rest_is_left() {
    let shares = Shares::new(3, 2, Duration::ZERO);
    let [one, _two] = [shares.acquire("ann").await.unwrap(), shares.acquire("ann").await.unwrap()];
    assert_eq!(shares.acquire("ann").await.unwrap_err().status(), 429);
    let _three = shares.acquire("bob").await.unwrap();
    assert_eq!(shares.acquire("bob").await.unwrap_err().status(), 503);
    drop(one);
    assert!(shares.acquire("bob").await.is_ok());
}

#[tokio::test]
async fn many_waiting_requests_of_one_caller_do_not_delay_the_first_of_another() {
    let shares = Shares::new(1, 1, LONG);
    let held = shares.acquire("eve").await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..CALLER_WAITING_MAX {
        waiting.push(acquire(&shares, "ann").await);
    }
    assert_eq!(shares.acquire("ann").await.unwrap_err(), USED, "the caller has as many waiting requests as allowed");
    let bob = acquire(&shares, "bob").await;
    drop(held);
    // Ann's first request precedes Bob's, and her second follows it.
    let first = waiting.remove(0).await.unwrap().unwrap();
    drop(first);
    let bob = bob.await.unwrap().unwrap();
    assert_eq!(shares.waiting(), CALLER_WAITING_MAX - 1);
    drop(bob);
    for ann in waiting {
        drop(ann.await.unwrap().unwrap());
    }
    assert_eq!((shares.free(), shares.waiting(), stored(&shares)), (1, 0, (0, 0)));
}

#[tokio::test]
async fn the_number_of_waiting_requests_is_bounded() {
    let shares = Shares::with_waiting(1, 1, LONG, (2, 1));
    let held = shares.acquire("ann").await.unwrap();
    let (bob, eve) = (acquire(&shares, "bob").await, acquire(&shares, "eve").await);
    assert_eq!(shares.acquire("joe").await.unwrap_err(), EXHAUSTED);
    drop(held);
    drop(bob.await.unwrap().unwrap());
    drop(eve.await.unwrap().unwrap());
    assert!(shares.acquire("joe").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_reports_whose_share_was_used() {
    let shares = Shares::new(2, 1, LONG);
    let _ann = shares.acquire("ann").await.unwrap();
    assert_eq!(shares.acquire("ann").await.unwrap_err(), USED);
    let _bob = shares.acquire("bob").await.unwrap();
    assert_eq!(shares.acquire("eve").await.unwrap_err(), EXHAUSTED);
    assert_eq!((shares.waiting(), stored(&shares)), (0, (2, 0)));
}

#[tokio::test]
async fn a_request_that_leaves_releases_its_permit() {
    let shares = Shares::new(1, 1, LONG);
    let held = shares.acquire("ann").await.unwrap();
    let (bob, eve) = (acquire(&shares, "bob").await, acquire(&shares, "eve").await);
    bob.abort();
    assert!(bob.await.unwrap_err().is_cancelled());
    drop(held);
    drop(eve.await.unwrap().unwrap());
    assert_eq!(shares.free(), 1);
    // A request that has been granted a permit, and is dropped before it learns of it.
    let held = shares.acquire("ann").await.unwrap();
    let mut waiting = Box::pin(shares.acquire("bob"));
    assert!(poll_once(&mut waiting).await.is_none());
    drop(held);
    drop(waiting);
    assert_eq!((shares.free(), stored(&shares)), (1, (0, 0)));
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *future).poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[test]
fn a_permit_grows_within_the_share() {
    let shares = Shares::new(10, 6, Duration::ZERO);
    let mut ann = shares.try_acquire("ann", 4).unwrap();
    assert!(ann.grow(2).is_ok() && ann.permits() == 6);
    assert_eq!(ann.grow(1), Err(USED));
    assert_eq!(shares.try_acquire("bob", 5).unwrap_err(), EXHAUSTED);
    let bob = shares.try_acquire("bob", 4).unwrap();
    drop(ann);
    assert!(shares.try_acquire("eve", 6).is_ok());
    assert_eq!(shares.try_acquire("eve", 7).unwrap_err(), USED, "more than any caller may hold");
    drop(bob);
    assert_eq!((shares.free(), stored(&shares)), (10, (0, 0)));
}

#[test]
fn errors_have_a_status_a_code_and_a_time_to_retry() {
    for (after_ms, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (60_000, 60)] {
        let error = ShareError::Used { retry_after: Duration::from_millis(after_ms) };
        assert_eq!((error.retry_after_s(), error.code()), (seconds, "TWG34"));
    }
    assert_eq!((EXHAUSTED.status().as_u16(), EXHAUSTED.code()), (503, "TWG35"));
}

#[derive(Debug, Clone)]
enum Step {
    Acquire(u8),
    Take(u8, usize),
    Release(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8).prop_map(Step::Acquire),
        (0..4_u8, 0..4_usize).prop_map(|(caller, permits)| Step::Take(caller, permits)),
        (0..16_usize).prop_map(Step::Release),
        (0..16_usize).prop_map(Step::Leave),
    ]
}

proptest! {
    /// For all sequences of calls, no permit is lost or created, no caller holds more than its share, no
    /// request waits for a permit that is free for it, and no state remains of callers that are
    /// done.
    #[test]
    fn permits_are_neither_lost_nor_created(total in 1..5_usize, per_caller in 1..4_usize, steps in prop::collection::vec(step(), 1..200)) {
        let shares = Shares::with_waiting(total, per_caller, LONG, (6, 3));
        let mut held: Vec<(u8, Permit)> = Vec::new();
        let mut waiting: Vec<(u8, Waiting)> = Vec::new();
        for step in steps {
            match step {
                Step::Acquire(caller) => match shares.0.permit_or_wait(shares.0.key(&caller)) {
                    Ok(Acquired::Permit(permit)) => held.push((caller, permit)),
                    Ok(Acquired::Waiting(waiter)) => waiting.push((caller, waiter)),
                    Err(_) => {}
                },
                Step::Take(caller, permits) => {
                    held.extend(shares.try_acquire(&caller, permits).ok().map(|permit| (caller, permit)));
                }
                Step::Release(at) if !held.is_empty() => drop(held.swap_remove(at % held.len())),
                Step::Leave(at) if !waiting.is_empty() => drop(waiting.swap_remove(at % waiting.len())),
                Step::Release(_) | Step::Leave(_) => {}
            }
            let (granted, still): (Vec<_>, Vec<_>) =
                std::mem::take(&mut waiting).into_iter().partition(|(_, waiter)| !waiter.granted.is_empty());
            held.extend(granted.into_iter().map(|(caller, waiter)| (caller, waiter.into_permit())));
            waiting = still;
            let mut by_caller: BTreeMap<u8, usize> = BTreeMap::new();
            held.iter().for_each(|(caller, permit)| *by_caller.entry(*caller).or_default() += permit.permits());
            prop_assert!(by_caller.values().all(|held| *held <= per_caller));
            prop_assert_eq!(shares.free() + by_caller.values().sum::<usize>(), total);
            prop_assert_eq!(shares.waiting(), waiting.len());
            for (caller, _) in &waiting {
                let is_full = by_caller.get(caller).is_some_and(|held| *held == per_caller);
                prop_assert!(is_full || shares.free() == 0);
            }
        }
        drop((held, waiting));
        prop_assert_eq!((shares.free(), stored(&shares)), (total, (0, 0)));
    }
}
