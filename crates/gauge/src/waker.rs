//! When a task was woken, and from which await it waits.
//!
//! The waker that a future is given stands around the executor's. That it is called says when the task could go on. That it is *cloned* says
//! where it waits: whatever will wake a task keeps a clone of its waker, and makes it deep within the future's poll, with the await on the
//! stack. So the place of an await is found in code that knows nothing of it, at no cost until somebody asks. A task that waits for nothing
//! has no waker of its own: the one that its future is given stands on the stack, and becomes one when it is cloned.
#![allow(unsafe_code)]

use crate::account::unpoisoned;
use crate::clock;
use crate::place;
use crate::sample::Stack;
use crate::watch;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

/// A waker around another one, for as long as a poll takes.
pub(crate) struct Around<'a> {
    /// What the task's wakers have in common, once one was cloned.
    shared: &'a Shared,
    inner: &'a Waker,
    seeks_place: bool,
}

/// What the wakers of a task have in common, if there are any.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    waking: OnceLock<Arc<Waking>>,
    /// What those of an earlier task had, none of which is left.
    unused: Mutex<Option<Arc<Waking>>>,
}

impl Shared {
    pub(crate) fn get(&self) -> Option<&Waking> {
        self.waking.get().map(|waking| &**waking)
    }

    /// Ends the task: of what would wake it nothing is kept but its memory, if that is nobody's.
    pub(crate) fn end(&mut self) {
        if let Some(mut waking) = self.waking.take()
            && let Some(unused) = Arc::get_mut(&mut waking)
        {
            *unused = Waking::of(Waker::noop().clone(), false);
            *unpoisoned(&self.unused) = Some(waking);
        }
    }
}

impl<'a> Around<'a> {
    pub(crate) fn new(shared: &'a Shared, inner: &'a Waker, seeks_place: bool) -> Around<'a> {
        if let Some(waking) = shared.get() {
            waking.wakes(inner);
            waking.seeks_place.store(seeks_place, Relaxed);
        }
        Around { shared, inner, seeks_place }
    }

    /// The waker.
    pub(crate) fn waker(&self) -> ManuallyDrop<Waker> {
        let raw = match self.shared.waking.get() {
            // as those that were cloned, so that they are known to wake the same
            Some(waking) => RawWaker::new(Arc::as_ptr(waking).cast(), &TABLE),
            None => RawWaker::new(std::ptr::from_ref(self).cast(), &TABLE_ON_STACK),
        };
        // SAFETY: the functions keep the contract, one table for a pointer to the inside of an `Arc`, whose count is not raised for this one,
        // the other for one to `self`. It is never dropped, and used while `self` is borrowed by whoever polls.
        ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
    }

    fn shared(&self) -> &Arc<Waking> {
        self.shared.waking.get_or_init(|| match unpoisoned(&self.shared.unused).take() {
            Some(waking) => {
                waking.wakes(self.inner);
                waking.seeks_place.store(self.seeks_place, Relaxed);
                waking
            }
            None => Arc::new(Waking::of(self.inner.clone(), self.seeks_place)),
        })
    }
}

/// By what a waker is known to wake the same as one that is kept (`Waker::will_wake`), to be compared without a lock. They are those of the one
/// that is kept, not of the one that it was cloned from: where that pointed, another task's may stand by now. Only who polls writes them.
#[derive(Debug)]
struct Marks(AtomicPtr<()>, AtomicPtr<RawWakerVTable>);

impl Marks {
    fn of(waker: &Waker) -> Marks {
        Marks(AtomicPtr::new(waker.data().cast_mut()), AtomicPtr::new(std::ptr::from_ref(waker.vtable()).cast_mut()))
    }

    fn are_of(&self, waker: &Waker) -> bool {
        let Marks(data, table) = self;
        std::ptr::eq(data.load(Relaxed), waker.data()) && std::ptr::eq(table.load(Relaxed), waker.vtable())
    }

    fn become_of(&self, waker: &Waker) {
        let Marks(data, table) = Marks::of(waker);
        self.0.store(data.into_inner(), Relaxed);
        self.1.store(table.into_inner(), Relaxed);
    }
}

/// What the wakers of a task have in common.
#[derive(Debug)]
pub(crate) struct Waking {
    inner: Mutex<Waker>,
    /// Of that.
    wakes: Marks,
    /// When it was woken, as the clock's number; 0 while it was not.
    woken: AtomicU64,
    seeks_place: AtomicBool,
    place: Mutex<Option<Box<Stack>>>,
}

impl Waking {
    fn of(inner: Waker, seeks_place: bool) -> Waking {
        Waking {
            wakes: Marks::of(&inner),
            inner: Mutex::new(inner),
            woken: AtomicU64::new(0),
            seeks_place: seeks_place.into(),
            place: Mutex::default(),
        }
    }

    /// Wakes this one from now on.
    fn wakes(&self, waker: &Waker) {
        if !self.wakes.are_of(waker) {
            let waker = waker.clone();
            self.wakes.become_of(&waker);
            let before = std::mem::replace(&mut *unpoisoned(&self.inner), waker);
            // without the lock: what that does is its executor's
            drop(before);
        }
    }

    /// For how long the task has been ready to go on, in nanoseconds.
    pub(crate) fn woken_for(&self, at: u64) -> u64 {
        match self.woken.load(Relaxed) {
            0 => 0,
            _ => at.saturating_sub(self.woken.swap(0, Relaxed)),
        }
    }

    /// The stack at the await, if it was looked for.
    pub(crate) fn place(&self) -> Option<Box<Stack>> {
        unpoisoned(&self.place).clone()
    }

    fn cloned(&self) {
        if self.seeks_place.load(Relaxed) || watch::waits() {
            *unpoisoned(&self.place) = place::here();
        }
    }
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // of two who wake it at once either may have been the first
        if self.woken.load(Relaxed) == 0 {
            self.woken.store(clock::now(), Relaxed);
        }
        // by a clone: an executor may poll within, and give another waker
        let inner = unpoisoned(&self.inner).clone();
        inner.wake();
    }
}

static TABLE_ON_STACK: RawWakerVTable =
    RawWakerVTable::new(clone_on_stack, wake_on_stack, wake_on_stack, drop_on_stack);

unsafe fn clone_on_stack(pointer: *const ()) -> RawWaker {
    // SAFETY: it is that of `Around::waker`, which is used while its `Around` lives.
    let around = unsafe { &*pointer.cast::<Around<'_>>() };
    let waking = around.shared();
    waking.cloned();
    RawWaker::new(Arc::into_raw(Arc::clone(waking)).cast(), &TABLE)
}

unsafe fn wake_on_stack(pointer: *const ()) {
    // SAFETY: as above.
    unsafe { &*pointer.cast::<Around<'_>>() }.shared().wake_by_ref();
}

/// There is nothing to drop.
unsafe fn drop_on_stack(_: *const ()) {}

// Not a constant, which may stand at several places: wakers are known to wake the same by where their table is.
static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The task behind a waker, whose count stays as it is.
///
/// # Safety
///
/// The pointer is one of `Waking::around`, or of `clone`, and its waker lives.
unsafe fn borrowed(pointer: *const ()) -> ManuallyDrop<Arc<Waking>> {
    // SAFETY: it came of an `Arc` by `Arc::as_ptr` or `Arc::into_raw`, which the waker keeps alive.
    ManuallyDrop::new(unsafe { Arc::from_raw(pointer.cast()) })
}

unsafe fn clone(pointer: *const ()) -> RawWaker {
    // SAFETY: as the table's contract says.
    let waking = unsafe { borrowed(pointer) };
    waking.cloned();
    RawWaker::new(Arc::into_raw(Arc::clone(&waking)).cast(), &TABLE)
}

unsafe fn wake(pointer: *const ()) {
    // SAFETY: as the table's contract says; the count of this waker is taken over.
    unsafe { Arc::from_raw(pointer.cast::<Waking>()) }.wake();
}

unsafe fn wake_by_ref(pointer: *const ()) {
    // SAFETY: as the table's contract says.
    unsafe { borrowed(pointer) }.wake_by_ref();
}

unsafe fn drop_waker(pointer: *const ()) {
    // SAFETY: as the table's contract says; the count of this waker is given back.
    drop(unsafe { Arc::from_raw(pointer.cast::<Waking>()) });
}
