//! What is known of a lock, whatever it is made of.

use crate::account::{self, Account, Held, Wait, unpoisoned};
use crate::clock;
use crate::histogram::Histogram;
use crate::route;
use crate::sample::Tag;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

/// Where a lock is taken.
type Place = &'static Location<'static>;

/// How many locks are told apart by name. Later ones are one.
const LOCKS_MAX: usize = 1000;
/// How many lines that hold a lock are told apart.
const PLACES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 200;

/// The locks of one name.
#[derive(Debug)]
pub(crate) struct Known {
    name: Box<str>,
    waiting: AtomicU64,
    sums: Mutex<Sums>,
    /// Who holds it, as far as one holder can be said.
    holder: Mutex<Option<Place>>,
}

/// How long it was waited for and held.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) waits: Histogram,
    pub(crate) holds: Histogram,
    /// By the lines that hold it.
    pub(crate) places: Vec<AtPlace>,
}

/// What a line did to others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtPlace {
    pub(crate) place: Place,
    pub(crate) holds: u64,
    pub(crate) held: u64,
    /// How often, and how long in nanoseconds, others waited for it.
    pub(crate) waits: u64,
    pub(crate) waited: u64,
}

impl Known {
    pub(crate) fn named(name: &str) -> &'static Known {
        static LOCKS: LazyLock<Mutex<HashMap<Box<str>, &'static Known>>> = LazyLock::new(Mutex::default);
        let mut locks = unpoisoned(&LOCKS);
        let name = crate::route::cut(name, NAME_BYTES_MAX);
        let name = if locks.contains_key(name) || locks.len() < LOCKS_MAX { name } else { crate::route::OTHER };
        locks.entry(name.into()).or_insert_with(|| {
            let known: &'static Known = Box::leak(Box::new(Known {
                name: name.into(),
                waiting: 0.into(),
                sums: Mutex::default(),
                holder: Mutex::default(),
            }));
            unpoisoned(&ALL).push(known);
            known
        })
    }

    pub(crate) fn at(place: Place) -> &'static Known {
        Self::named(&crate::place::of_location(place))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many wait for it now.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    pub(crate) fn sums(&self) -> MutexGuard<'_, Sums> {
        unpoisoned(&self.sums)
    }

    /// Notes that it is held from now on.
    fn taken(&'static self, place: Place) -> Holding {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Relaxed);
        *unpoisoned(&self.holder) = Some(place);
        let account = account::current();
        if let Some(account) = &account {
            account.hold(Held { id, task: account::task(), lock: self, taken_at: place });
        }
        Holding { known: self, place, since: clock::now(), account, id }
    }

    /// Notes that somebody waits.
    fn wait(&'static self) -> Waiter {
        self.waiting.fetch_add(1, Relaxed);
        Waiter {
            known: self,
            holder: *unpoisoned(&self.holder),
            of: account::tag(),
            since: clock::now(),
            is_over: false,
        }
    }

    /// Takes it at once if it is free, and else as one whose thread stands still.
    pub(super) fn take<G>(&'static self, place: Place, free: Option<G>, wait: impl FnOnce() -> G) -> Guard<G> {
        let inner = free.unwrap_or_else(|| {
            let waiter = self.wait();
            let inner = wait();
            waiter.end_blocked();
            inner
        });
        Guard::new(inner, self, place)
    }

    /// Takes it at once if it is free, and else as one whose future waits.
    pub(super) async fn take_later<G>(
        &'static self,
        place: Place,
        free: impl FnOnce() -> Option<G>,
        wait: impl Future<Output = G>,
    ) -> Guard<G> {
        if let Some(inner) = free() {
            return Guard::new(inner, self, place);
        }
        let waiter = self.wait();
        let inner = crate::task::waiting(Wait::Lock, wait).await;
        waiter.end();
        Guard::new(inner, self, place)
    }
}

impl Sums {
    fn at_place(&mut self, place: Place, note: impl FnOnce(&mut AtPlace)) {
        let is_full = self.places.len() == PLACES_MAX;
        match self.places.iter_mut().find(|known| known.place == place) {
            Some(known) => note(known),
            None if is_full => {}
            None => {
                let mut new = AtPlace { place, holds: 0, held: 0, waits: 0, waited: 0 };
                note(&mut new);
                self.places.push(new);
            }
        }
    }
}

static ALL: Mutex<Vec<&'static Known>> = Mutex::new(Vec::new());

/// All locks.
pub(crate) fn all() -> Vec<&'static Known> {
    unpoisoned(&ALL).clone()
}

/// A lock's value, until it is dropped, whatever the lock is made of.
pub struct Guard<G> {
    // given back before the time is noted
    inner: G,
    _holding: Holding,
}

impl<G> Guard<G> {
    pub(super) fn new(inner: G, known: &'static Known, place: Place) -> Guard<G> {
        Guard { inner, _holding: known.taken(place) }
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.inner
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.inner
    }
}

impl<G: fmt::Debug> fmt::Debug for Guard<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A lock that is held.
#[derive(Debug)]
struct Holding {
    known: &'static Known,
    place: Place,
    since: u64,
    account: Option<Arc<Account>>,
    id: u64,
}

impl Drop for Holding {
    fn drop(&mut self) {
        let held = clock::now().saturating_sub(self.since);
        let mut sums = self.known.sums();
        sums.holds.add(held);
        sums.at_place(self.place, |at| (at.holds, at.held) = (at.holds + 1, at.held + held));
        drop(sums);
        if let Some(account) = &self.account {
            account.let_go(self.id);
        }
    }
}

/// Somebody who waits for a lock, until they have it or give up.
struct Waiter {
    known: &'static Known,
    holder: Option<Place>,
    /// The route that they are of.
    of: Tag,
    since: u64,
    is_over: bool,
}

impl Waiter {
    /// They have it.
    fn end(mut self) {
        self.note();
    }

    /// They have it, and their thread stood still meanwhile.
    fn end_blocked(mut self) {
        let waited = self.note();
        account::waited_within(Wait::Lock, waited);
    }

    fn note(&mut self) -> u64 {
        self.is_over = true;
        let waited = clock::now().saturating_sub(self.since);
        self.known.waiting.fetch_sub(1, Relaxed);
        let mut sums = self.known.sums();
        sums.waits.add(waited);
        if let Some(holder) = self.holder {
            sums.at_place(holder, |at| (at.waits, at.waited) = (at.waits + 1, at.waited + waited));
        }
        drop(sums);
        if let Some(route) = route::of_tag(self.of) {
            account::uncharged(|| route.waited_for(self.known, waited));
        }
        waited
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.is_over {
            self.note();
        }
    }
}
