//! Requests that have begun and ended, noted by each thread for itself and added to their routes' sums many at a time: a sum that all threads
//! add to at each request would cost them more than all else here. Whoever reads the sums has what was noted added before.
//!
//! A thread notes words in room of its own, and then says how many stand there: no lock, and no operation that processors wait for. Who adds
//! them has the lock of who adds.
#![allow(unsafe_code)]

use crate::account::{self, Account, Adding, ByName, unpoisoned};
use crate::ended::{self, Ended, Held};
use crate::route::{self, ROUTES_MAX, Route, Sums};
use crate::sample::Tag;
use crate::tally;
use crate::task::Main;
use std::cell::RefCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// How much a thread has room for: a hundred requests that say no names of their own.
const WORDS_MAX: usize = 2048;
/// So many accounts that others have too are noted before they are added.
const HAD_MAX: usize = 16;
/// So many accounts are kept by a thread for requests to come.
const UNUSED_MAX: usize = 32;

/// What a thread has noted.
#[derive(Debug)]
pub(crate) struct Ledger {
    words: OnceLock<Box<[AtomicU64]>>,
    /// How many of these are noted. Only the thread whose they are writes here, and only while it has the lock does it write less.
    noted: AtomicUsize,
    added: Mutex<Added>,
    /// For whoever notes, where that may be several threads.
    noting: Option<Mutex<()>>,
}

/// What has been added of it.
#[derive(Debug)]
struct Added {
    words: usize,
    /// Requests that have ended, to whose accounts their tasks may add still.
    had: Vec<Arc<Account>>,
}

/// What a head's lowest byte says: what it is the head of.
const BEGUN: u64 = 0;
/// One that is under way as another route's, of which it was first.
const MOVED: u64 = 1;
const ENDED: u64 = 2;

/// The first word of what is noted.
#[derive(Debug, Clone, Copy)]
struct Head(u64);

// two of them stand in a word
const _: () = assert!(ROUTES_MAX < 1 << 16);

impl Head {
    fn new(kind: u64, (from, route): (Tag, Tag)) -> Head {
        Head(kind | from << 32 | route << 48)
    }

    fn kind(self) -> u64 {
        self.0 & 0xff
    }

    /// As which it was under way, and as which it is or has ended.
    fn routes(self) -> (Tag, Tag) {
        (self.0 >> 32 & 0xffff, self.0 >> 48)
    }

    /// How many stages and counts stand behind what it has cost, and whether its answer tells of a failure.
    fn with(self, (stages, counts): (usize, usize), is_error: bool) -> Head {
        Head(self.0 | (stages as u64) << 8 | (counts as u64) << 16 | u64::from(is_error) << 24)
    }

    fn names(self) -> (usize, usize) {
        ((self.0 >> 8 & 0xff) as usize, (self.0 >> 16 & 0xff) as usize)
    }

    fn is_error(self) -> bool {
        self.0 >> 24 & 1 == 1
    }
}

impl Ledger {
    pub(crate) const fn new(is_of_many: bool) -> Ledger {
        Ledger {
            words: OnceLock::new(),
            noted: AtomicUsize::new(0),
            added: Mutex::new(Added { words: 0, had: Vec::new() }),
            noting: if is_of_many { Some(Mutex::new(())) } else { None },
        }
    }

    /// Notes so many words, which are written there.
    #[inline]
    fn note(&self, count: usize, write: impl FnOnce(&[AtomicU64])) {
        let _turn = self.noting.as_ref().map(unpoisoned);
        let noted = self.noted.load(Relaxed);
        let words = self.words.get().and_then(|words| words.get(noted..noted + count));
        let (noted, words) = words.map_or_else(|| self.with_room(count), |words| (noted, words));
        write(words);
        // whoever sees that they stand there sees what they are
        self.noted.store(noted + count, Release);
    }

    /// Notes one that its tasks have too.
    fn note_had(&self, account: Arc<Account>) {
        let mut added = unpoisoned(&self.added);
        added.had.push(account);
        if added.had.len() >= HAD_MAX {
            self.add(&mut added);
        }
    }

    /// Makes room, if there is none. What that takes is the gauge's.
    #[cold]
    fn with_room(&self, count: usize) -> (usize, &[AtomicU64]) {
        account::uncharged(|| {
            let words = self.words.get_or_init(|| (0..WORDS_MAX).map(|_| AtomicU64::new(0)).collect());
            let mut added = unpoisoned(&self.added);
            self.add(&mut added);
            added.words = 0;
            self.noted.store(0, Relaxed);
            (0, &words[..count])
        })
    }

    /// Adds what is noted.
    fn add(&self, added: &mut Added) {
        let mut to = To::default();
        let noted = self.noted.load(Acquire);
        let words = self.words.get().and_then(|words| words.get(added.words..noted)).unwrap_or_default();
        added.words = noted;
        let mut reading = Reading(words);
        while let Some([head]) = reading.next() {
            let head = Head(head);
            let (from, route) = head.routes();
            match head.kind() {
                BEGUN => to.flies(route, 1),
                MOVED => {
                    to.flies(from, -1);
                    to.flies(route, 1);
                }
                _ => {
                    to.flies(from, -1);
                    let Some((route, words)) = route::of_tag(route).zip(reading.next()) else { break };
                    let by_name = to.ended(route, &Ended::of_words(words), head.is_error());
                    let (stages, counts) = head.names();
                    for (names, count) in [(&mut by_name.stages, stages), (&mut by_name.counts, counts)] {
                        let mut place = 0;
                        for words in reading.names(count) {
                            // SAFETY: behind what a request has cost stand as many names as its head says, which `ended` has written.
                            let (name, number) = unsafe { ended::name_of_words(words) };
                            place = names.add_from(place, name, number);
                        }
                    }
                }
            }
        }
        if !added.had.is_empty() {
            to.ended_of(&mut added.had);
        }
    }
}

/// What is read of the words, from the first on.
struct Reading<'a>(&'a [AtomicU64]);

impl Reading<'_> {
    fn next<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(std::array::from_fn(|at| words[at].load(Relaxed)))
    }

    /// The words of so many names.
    fn names(&mut self, count: usize) -> impl Iterator<Item = [u64; ended::NAME_WORDS]> {
        let (names, rest) = self.0.split_at_checked(count * ended::NAME_WORDS).unwrap_or_default();
        self.0 = rest;
        names.as_chunks().0.iter().map(|words: &[AtomicU64; _]| words.each_ref().map(|word| word.load(Relaxed)))
    }
}

/// Writes words there, and tells what is left.
#[inline]
fn written<const N: usize>(room: &[AtomicU64], words: [u64; N]) -> &[AtomicU64] {
    let Some((places, rest)) = room.split_first_chunk::<N>() else { return &[] };
    for (place, word) in places.iter().zip(words) {
        place.store(word, Relaxed);
    }
    rest
}

/// The sums that are added to.
#[derive(Default)]
struct To {
    /// Most are of the route that the one before was of.
    open: Option<Open>,
    /// How many requests more are under way as a route's: nobody is asked for those that came and went.
    flying: [(Tag, i64); 4],
}

struct Open {
    route: &'static Route,
    sums: MutexGuard<'static, Sums>,
    /// What the last ones have allocated, each of them, and how many those are.
    held: Held,
    times: u64,
}

impl To {
    fn open(&mut self, route: &'static Route) -> &mut Open {
        if self.open.as_ref().is_some_and(|open| !std::ptr::eq(open.route, route)) {
            self.open = None;
        }
        self.open.get_or_insert_with(|| Open { route, sums: route.sums(), held: Held::default(), times: 0 })
    }

    /// Adds one that has ended, and gives what is said of its route by name.
    #[inline(always)]
    fn ended(&mut self, route: &'static Route, ended: &Ended, is_error: bool) -> &mut ByName {
        let open = self.open(route);
        if open.held != ended.held {
            open.add_held();
            open.held = ended.held;
        }
        open.times += 1;
        open.sums.add(ended, is_error);
        &mut open.sums.by_name
    }

    /// Adds those whose accounts others have, or had.
    #[cold]
    fn ended_of(&mut self, accounts: &mut Vec<Arc<Account>>) {
        for account in accounts.drain(..) {
            let adding = Adding::to(&account);
            let Some((arrived, route)) = adding.arrives() else { continue };
            self.flies(arrived.tag, -1);
            let ended = Ended::of(&account);
            let by_name = self.ended(route, &ended, account.is_error());
            adding.by_name(|spent| by_name.add(spent));
            if route.is_among_worst(ended.wall) {
                self.open(route).sums.note_worst(route, &account);
            }
        }
    }

    fn flies(&mut self, route: Tag, requests: i64) {
        let place = self.flying.iter().position(|(known, of)| *known == route || *of == 0);
        let place = place.unwrap_or_else(|| {
            self.lands(0);
            0
        });
        self.flying[place] = (route, self.flying[place].1 + requests);
    }

    /// Says how many are under way as a route's.
    fn lands(&mut self, place: usize) {
        let (route, requests) = std::mem::take(&mut self.flying[place]);
        if let Some(route) = route::of_tag(route).filter(|_| requests != 0) {
            self.open(route).sums.in_flight += requests;
        }
    }
}

impl Open {
    fn add_held(&mut self) {
        self.sums.add_held(self.held, std::mem::take(&mut self.times));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.add_held();
    }
}

impl Drop for To {
    fn drop(&mut self) {
        (0..self.flying.len()).for_each(|place| self.lands(place));
    }
}

thread_local! {
    /// Accounts that nobody has any more.
    static UNUSED: RefCell<Vec<Arc<Account>>> = const { RefCell::new(Vec::new()) };
}

/// Does something with those, unless the thread is about to end.
fn with_unused<T>(then: impl FnOnce(&mut Vec<Arc<Account>>) -> Option<T>) -> Option<T> {
    UNUSED.try_with(|unused| then(&mut unused.borrow_mut())).ok().flatten()
}

/// Notes that a request has begun, and opens its account.
#[inline]
pub(crate) fn begun(route: &'static Route, trace: Option<Box<str>>, outer: Option<Arc<Account>>) -> Main {
    note_head(Head::new(BEGUN, (0, route.tag)));
    Main::open(route, with_unused(Vec::pop), |account| (account.trace, account.outer) = (trace, outer))
}

/// Notes that one is under way as another route's.
pub(crate) fn moved(from: &'static Route, route: &'static Route) {
    note_head(Head::new(MOVED, (from.tag, route.tag)));
}

#[inline]
fn note_head(Head(head): Head) {
    tally::mine().ledger.note(1, |words| words[0].store(head, Relaxed));
}

/// Notes that one has ended.
pub(crate) fn ended(account: Arc<Account>) {
    let (adding, ledger) = (Adding::to(&account), &tally::mine().ledger);
    if !adding.is_alone() {
        return account::uncharged(|| ledger.note_had(account));
    }
    let Some((arrived, route)) = adding.arrives() else { return };
    let ended = Ended::of(&account);
    if route.is_among_worst(ended.wall) {
        // what that takes is the gauge's
        account::uncharged(|| route.sums().note_worst(route, &account));
    }
    adding.by_name(|ByName { stages, counts }| {
        let (count_of_stages, count_of_counts) = (stages.iter().len(), counts.iter().len());
        let head = Head::new(ENDED, (arrived.tag, route.tag));
        let Head(head) = head.with((count_of_stages, count_of_counts), account.is_error());
        let names = (count_of_stages + count_of_counts) * ended::NAME_WORDS;
        ledger.note(1 + ended::WORDS + names, |room| {
            let mut room = written(written(room, [head]), ended.words());
            for names in [stages, counts] {
                for name in names.iter() {
                    room = written(room, ended::words_of_name(name));
                }
            }
        });
    });
    if account.outer.is_none() {
        with_unused(|unused| (unused.len() < UNUSED_MAX).then(|| unused.push(account)));
    }
}

/// Adds what all threads have noted.
pub(crate) fn settle() {
    for ledger in tally::ledgers() {
        ledger.add(&mut unpoisoned(&ledger.added));
    }
}
