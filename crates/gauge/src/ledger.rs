//! Requests that have begun and ended, noted by each thread for itself and added to their routes' sums many at a time: a sum that all threads
//! add to at each request would cost them more than all else here. Whoever reads the sums has what was noted added before.

use crate::account::{Account, Adding, unpoisoned};
use crate::route::{Route, Sums};
use crate::tally;
use crate::task::Main;
use std::sync::{Arc, Mutex, MutexGuard};

/// So many are noted before they are added.
const NOTED_MAX: usize = 32;

/// What a thread has noted.
#[derive(Debug)]
pub(crate) struct Ledger(Mutex<Noted>);

#[derive(Debug)]
struct Noted {
    entries: Vec<Entry>,
    /// Accounts that nobody has any more.
    unused: Vec<Arc<Account>>,
}

#[derive(Debug)]
enum Entry {
    Begun(&'static Route),
    /// One that is under way as another route's, of which it was first.
    Moved(&'static Route, &'static Route),
    Ended(Arc<Account>),
}

impl Ledger {
    pub(crate) const fn new() -> Ledger {
        Ledger(Mutex::new(Noted { entries: Vec::new(), unused: Vec::new() }))
    }
}

impl Noted {
    fn note(&mut self, entry: Entry) {
        if self.entries.capacity() == 0 {
            self.entries.reserve_exact(NOTED_MAX);
            self.unused.reserve_exact(NOTED_MAX);
        }
        self.entries.push(entry);
        if self.entries.len() >= NOTED_MAX {
            self.add();
        }
    }

    fn add(&mut self) {
        // most are of the route that the one before was of
        let mut open: Option<(&'static Route, MutexGuard<'static, Sums>)> = None;
        let mut to = |route: &'static Route, then: &mut dyn FnMut(&mut Sums)| {
            if open.as_ref().is_none_or(|(known, _)| !std::ptr::eq(*known, route)) {
                open = None;
                open = Some((route, route.sums()));
            }
            open.iter_mut().for_each(|(_, sums)| then(sums));
        };
        for entry in self.entries.drain(..) {
            let account = match entry {
                Entry::Begun(route) => {
                    to(route, &mut |sums| sums.in_flight += 1);
                    continue;
                }
                Entry::Moved(from, route) => {
                    to(from, &mut |sums| sums.in_flight -= 1);
                    to(route, &mut |sums| sums.in_flight += 1);
                    continue;
                }
                Entry::Ended(account) => account,
            };
            let adding = Adding::to(&account);
            let Some(arrived) = adding.arrived() else { continue };
            to(arrived, &mut |sums| sums.in_flight -= 1);
            to(account.route().unwrap_or(arrived), &mut |sums| sums.add(adding));
            if adding.is_alone() && account.outer.is_none() && self.unused.len() < NOTED_MAX {
                self.unused.push(account);
            }
        }
    }
}

/// Notes that a request has begun, and opens its account.
pub(crate) fn begun(route: &'static Route, trace: Option<Box<str>>, outer: Option<Arc<Account>>) -> Main {
    let mut noted = unpoisoned(&tally::mine().ledger.0);
    noted.note(Entry::Begun(route));
    let unused = noted.unused.pop();
    drop(noted);
    Main::open(route, unused, |account| (account.trace, account.outer) = (trace, outer))
}

/// Notes that one is under way as another route's: as such it has begun, if that stands here still.
pub(crate) fn moved(from: &'static Route, route: &'static Route) {
    let mut noted = unpoisoned(&tally::mine().ledger.0);
    let is_it = |entry: &&mut Entry| matches!(entry, Entry::Begun(known) if std::ptr::eq(*known, from));
    match noted.entries.iter_mut().rev().find(is_it) {
        Some(begun) => *begun = Entry::Begun(route),
        None => noted.note(Entry::Moved(from, route)),
    }
}

/// Notes that one has ended.
pub(crate) fn ended(account: Arc<Account>) {
    unpoisoned(&tally::mine().ledger.0).note(Entry::Ended(account));
}

/// Adds what all threads have noted.
pub(crate) fn settle() {
    for ledger in tally::ledgers() {
        unpoisoned(&ledger.0).add();
    }
}
