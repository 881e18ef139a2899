//! A future whose polls are charged to a request.
#![allow(unsafe_code)]

use crate::account::{self, Account, Adding, Held, Wait, Work};
use crate::clock;
use crate::place;
use crate::route::Route;
use crate::waker::{self, Around};
use crate::watch;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

pin_project! {
    /// A future that is charged to a request: its time, its waits, and what is allocated and copied while it is polled.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless they are polled"]
    pub struct Billed<F> {
        #[pin]
        future: F,
        task: Task,
    }
}

/// A task besides the one that answers.
#[derive(Debug)]
struct Task {
    account: Arc<Account>,
    /// Which of the account's.
    number: u32,
    state: State,
}

/// The task that answers. There is one of each account, which has its state, so that little is moved with a request and its answer.
#[derive(Debug)]
pub(crate) struct Main(Arc<Account>);

/// What is known of a task besides its future.
#[derive(Debug, Default)]
pub(crate) struct State {
    wakers: waker::Shared,
    paused: Option<Paused>,
}

/// Since when it waits, for what, and whether it holds locks meanwhile.
#[derive(Debug)]
struct Paused {
    at: u64,
    kind: Wait,
    holds: bool,
}

impl Main {
    /// Opens an account: an unused one, made as new, or a new one. Nobody else has it yet, and so there is no other `Main` of it.
    pub(crate) fn open(route: &'static Route, unused: Option<Arc<Account>>, then: impl FnOnce(&mut Account)) -> Main {
        let mut account = unused.unwrap_or_else(Main::of_a_new_one);
        loop {
            if let Some(unused) = Arc::get_mut(&mut account) {
                unused.renew(route);
                then(unused);
                return Main(account);
            }
            account = Main::of_a_new_one();
        }
    }

    /// Apart, so that the many requests whose account was another one's have no room for it on their stack.
    #[cold]
    #[inline(never)]
    fn of_a_new_one() -> Arc<Account> {
        Arc::new(Account::new(None))
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.0
    }

    /// Does what the request begins with.
    #[inline]
    pub(crate) fn begin<T>(&mut self, then: impl FnOnce() -> T) -> T {
        let work = Work::on_since(&self.0, self.0.started);
        let begun = then();
        work.end();
        begun
    }

    /// Polls something for the request, and tells when that ended.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> (Poll<T>, u64) {
        // SAFETY: this is the only `Main` of the account, as `open` says, and is borrowed.
        let state = unsafe { self.0.main() };
        state.poll((&self.0, 0), cx, poll)
    }

    /// Notes that it waits from now on until it is polled again.
    pub(crate) fn pause(&mut self, at: u64, kind: Wait) {
        // SAFETY: as above.
        let state = unsafe { self.0.main() };
        state.paused = Some(Paused { at, kind, holds: false });
    }

    /// Ends it: what it still waits for when it is given up is waited for too.
    pub(crate) fn end(self, at: u64) -> Arc<Account> {
        // SAFETY: as above, and there is none any more.
        let state = unsafe { self.0.main() };
        if let Some(paused) = state.paused.take() {
            state.resumed((&self.0, 0), &paused, at, false);
        }
        // what would wake the executor's task keeps that
        state.wakers.end();
        self.0
    }
}

impl State {
    fn poll<T>(
        &mut self,
        of: (&Arc<Account>, u32),
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> (Poll<T>, u64) {
        let (account, number) = of;
        let work = Work::on(account, number);
        if let Some(paused) = self.paused.take() {
            self.resumed(of, &paused, work.started(), true);
        }
        let around = Around::new(&self.wakers, cx.waker(), account.seeks_place());
        let polled = poll(&mut Context::from_waker(&around.waker()));
        let kind = work.waits_for();
        let at = work.end();
        if polled.is_pending() {
            // what it is polled within waits for the same
            account::waits_for(kind);
            let holds = account.holds() && report(account, &account.held_by(number));
            self.paused = Some(Paused { at, kind, holds });
        }
        (polled, at)
    }

    /// Ends a wait, behind which it goes on or is given up.
    fn resumed(&self, (account, number): (&Arc<Account>, u32), paused: &Paused, now: u64, went_on: bool) {
        let waited = now.saturating_sub(paused.at);
        let waking = self.wakers.get();
        let runnable = waking.map_or(0, |waking| waking.woken_for(now)).min(waited);
        let adding = Adding::to(account);
        adding.waited(Wait::Runnable, runnable);
        adding.waited(paused.kind, waited - runnable);
        if !paused.holds && !watch::waits() {
            return;
        }
        let Some(route) = account.route() else { return };
        let place = waking.and_then(|waking| waking.place());
        if watch::waits()
            && let Some(stack) = &place
        {
            watch::waited(route.tag, stack, waited);
        }
        let held = if paused.holds { account.held_by(number) } else { Vec::new() };
        for held in held {
            route.held_across_for(&held, waited, place.clone(), went_on);
        }
    }
}

/// Says at once that a task waits and holds locks, if it does.
fn report(account: &Account, held: &[Held]) -> bool {
    let Some(route) = account.route() else { return !held.is_empty() };
    for held in held {
        let behind = held.lock.waiting();
        if route.held_across(held, behind) {
            let (lock, taken_at) = (held.lock.name(), place::of_location(held.taken_at));
            tracing::warn!(route = %route.name, lock = %lock, taken_at = %taken_at, behind, "a guard is held across an await");
        }
    }
    !held.is_empty()
}

impl<F> Billed<F> {
    pub(crate) fn on(account: Arc<Account>, future: F) -> Billed<F> {
        Billed { future, task: Task { account, number: 0, state: State::default() } }
    }
}

impl<F: Future> Future for Billed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Task { account, number, state } = this.task;
        state.poll((account, *number), cx, |cx| this.future.poll(cx)).0
    }
}

/// Charges a future to the request that this is called for, so that it can be spawned. Without one it is charged to nobody.
///
/// ```
/// # async fn warm_the_cache() {}
/// # async fn handler() {
/// tokio::spawn(thalweg_gauge::billed(warm_the_cache()));
/// # }
/// ```
pub fn billed<F: Future>(future: F) -> Billed<F> {
    let account = account::current().unwrap_or_else(|| Arc::new(Account::new(None)));
    let number = account.new_task();
    Billed { future, task: Task { account, number, state: State::default() } }
}

/// Charges what a thread does to the request that this is called for, as `tokio::task::spawn_blocking(thalweg_gauge::blocking(|| …))`. It may
/// take long: it is no poll, and holds up no executor.
pub fn blocking<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let account = account::current().map(|account| (account.new_task(), account));
    move || {
        let _work = account.as_ref().map(|(task, account)| Work::beside(account, *task));
        work()
    }
}

pin_project! {
    /// A future that says what it waits for.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless they are polled"]
    pub struct Waiting<F> {
        #[pin]
        future: F,
        kind: Wait,
    }
}

impl<F: Future> Future for Waiting<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = this.future.poll(cx);
        if polled.is_pending() {
            account::waits_for(*this.kind);
        }
        polled
    }
}

/// Says what a future waits for, where it waits.
///
/// ```
/// # async fn ask(question: &str) {}
/// # async fn handler() {
/// thalweg_gauge::waiting(thalweg_gauge::Wait::Database, ask("select 1")).await;
/// # }
/// ```
pub fn waiting<F: Future>(kind: Wait, future: F) -> Waiting<F> {
    Waiting { future, kind }
}

/// A stage of a request, until it is dropped.
#[derive(Debug)]
pub struct Stage {
    account: Option<Arc<Account>>,
    name: &'static str,
    since: u64,
}

/// Begins a stage of the request that this is called for.
///
/// ```
/// # fn render() -> String { String::new() }
/// let stage = thalweg_gauge::stage("render");
/// let page = render();
/// drop(stage);
/// ```
pub fn stage(name: &'static str) -> Stage {
    Stage { account: account::current(), name, since: clock::now() }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            let nanoseconds = clock::now().saturating_sub(self.since);
            Adding::to(account).by_name(|by_name| by_name.stages.note(self.name, nanoseconds));
        }
    }
}

/// Adds to a number of the caller's own on the bill of the request that this is called for: statements, messages, files.
pub fn count(name: &'static str, number: u64) {
    account::with(|adding| adding.by_name(|by_name| by_name.counts.note(name, number)));
}

/// Adds rows to the bill of the request that this is called for.
pub fn rows(count: u64) {
    account::with(|adding| adding.add(|account| &account.rows, count));
}

/// Adds to the bytes of the body of the request that this is called for, in services that read one themselves whose length its head did not
/// say: what the head says is on the bill already.
pub fn bytes_in(count: u64) {
    account::with(|adding| adding.add(|account| &account.bytes_in, count));
}

/// Says that the answer to the request that this is called for is one piece of so many bytes, which is in memory: with its head all of it is
/// given away, and its bill is made out without looking at what little it takes to hand it over. To be said last, of what will be sent.
pub fn answer_is_whole(bytes: u64) {
    account::with(|adding| adding.whole.store(bytes + 1, Relaxed));
}

/// The route of the request that this is called for, where it is known only by now: its name is all of these one behind the other.
///
/// ```
/// thalweg_gauge::route(["GET /", "flights"]);
/// ```
pub fn route<const N: usize>(name: [&str; N]) {
    RouteName::of(name).say();
}

/// The name of a route that was looked for: what answers the same again says it at once.
#[derive(Debug, Clone, Copy)]
pub struct RouteName(&'static Route);

impl RouteName {
    /// All of these one behind the other.
    pub fn of<const N: usize>(name: [&str; N]) -> RouteName {
        RouteName(crate::route::of_parts(name))
    }

    /// The route of the request that this is called for.
    pub fn say(self) {
        account::with(|adding| adding.set_route(self.0));
    }
}

/// Says what the future that is being polled waits for, in a function that polls by itself; see [`waiting`].
pub fn waits_for(kind: Wait) {
    account::waits_for(kind);
}

/// An odd number with which products differ in their upper bits.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Says how the route of the request that this is called for is answered: a query's text, with parameters for what differs. Sixteen are kept
/// of each route, those that are said most, and 4 MiB of all together.
pub fn shape(text: &str) {
    thread_local! {
        /// Those that the thread has said, by what tells them apart as a rule, and how often since.
        static SAID: [Cell<(u64, u64)>; 64] = const { [const { Cell::new((0, 0)) }; 64] };
    }
    account::with(|account| {
        let Some(route) = account.route() else { return };
        let (bytes, mut end) = (text.as_bytes(), [0; 8]);
        let [first, last] =
            [bytes.first_chunk(), bytes.last_chunk()].map(|end| end.map_or(0, |end| u64::from_le_bytes(*end)));
        if bytes.len() < end.len() {
            end[..bytes.len()].copy_from_slice(bytes);
        }
        let numbers = [text.as_ptr() as u64, first, last, u64::from_le_bytes(end), text.len() as u64, route.tag];
        let mark = numbers.iter().fold(0, |sum: u64, number| (sum ^ number).wrapping_mul(MIX).rotate_left(29));
        SAID.with(|said| {
            let said = &said[(mark % 64) as usize];
            let (known, times) = said.get();
            let times = if known == mark { times + 1 } else { 1 };
            said.set((mark, times));
            if times.is_power_of_two() {
                route.shape(text, times);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Answering, BilledBody};
    use std::panic::UnwindSafe;

    #[test]
    fn what_is_billed_may_be_caught_as_it_panics_and_goes_between_threads() {
        fn is<T: UnwindSafe + Send + Sync>() {}
        is::<Billed<()>>();
        is::<Stage>();
        is::<Answering<()>>();
        is::<BilledBody<()>>();
        is::<crate::lock::Guard<()>>();
    }
}
