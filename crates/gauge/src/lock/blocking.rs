//! The standard library's locks, watched. What waits for one stands still, and its executor with it.

use super::waiting::{Guard, Known};
use std::fmt;
use std::panic::Location;
use std::sync;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

watched! {
    /// The standard library's mutex, watched.
    Mutex, sync::Mutex
}

watched! {
    /// The standard library's lock for readers and a writer, watched.
    RwLock, sync::RwLock
}

/// A mutex's value, until it is dropped.
pub type MutexGuard<'a, T> = Guard<sync::MutexGuard<'a, T>>;
/// A lock's value to read, until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<sync::RwLockReadGuard<'a, T>>;
/// A lock's value to write, until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<sync::RwLockWriteGuard<'a, T>>;

/// Takes a lock: at once if it is free, and else as one who waits.
#[track_caller]
fn take<G>(
    known: &'static Known,
    free: TryLockResult<G>,
    wait: impl FnOnce() -> LockResult<G>,
) -> LockResult<Guard<G>> {
    let free = match free {
        Ok(inner) => Some(Ok(inner)),
        Err(TryLockError::Poisoned(error)) => Some(Err(error)),
        Err(TryLockError::WouldBlock) => None,
    };
    let mut is_poisoned = false;
    let mut unpoisoned = |taken: LockResult<G>| {
        is_poisoned = taken.is_err();
        taken.unwrap_or_else(PoisonError::into_inner)
    };
    let guard = match free {
        Some(free) => Guard::new(unpoisoned(free), known, Location::caller()),
        None => known.take(Location::caller(), None, || unpoisoned(wait())),
    };
    if is_poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

#[track_caller]
fn try_take<G>(known: &'static Known, free: TryLockResult<G>) -> TryLockResult<Guard<G>> {
    let place = Location::caller();
    match free {
        Ok(inner) => Ok(Guard::new(inner, known, place)),
        Err(TryLockError::Poisoned(error)) => {
            Err(TryLockError::Poisoned(PoisonError::new(Guard::new(error.into_inner(), known, place))))
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

/// Their values, without waiting.
macro_rules! own_value {
    ($lock:ident) => {
        impl<T> $lock<T> {
            /// Its value.
            ///
            /// # Errors
            ///
            /// If who held it panicked.
            pub fn into_inner(self) -> LockResult<T> {
                self.inner.into_inner()
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// Its value, which nobody else can have.
            ///
            /// # Errors
            ///
            /// If who held it panicked.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.inner.get_mut()
            }
        }
    };
}

own_value!(Mutex);
own_value!(RwLock);

impl<T: ?Sized> Mutex<T> {
    /// Takes it, when it is free.
    ///
    /// # Errors
    ///
    /// If who held it panicked.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        take(self.known, self.inner.try_lock(), || self.inner.lock())
    }

    /// Takes it, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not, or who held it panicked.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        try_take(self.known, self.inner.try_lock())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes it beside other readers, when nobody writes.
    ///
    /// # Errors
    ///
    /// If who wrote panicked.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        take(self.known, self.inner.try_read(), || self.inner.read())
    }

    /// Takes it alone, when it is free.
    ///
    /// # Errors
    ///
    /// If who wrote panicked.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        take(self.known, self.inner.try_write(), || self.inner.write())
    }

    /// Takes it beside other readers, if nobody writes.
    ///
    /// # Errors
    ///
    /// If somebody does, or who wrote panicked.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        try_take(self.known, self.inner.try_read())
    }

    /// Takes it alone, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not, or who wrote panicked.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        try_take(self.known, self.inner.try_write())
    }
}
