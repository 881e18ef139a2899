//! parking_lot's locks, watched. What waits for one stands still, and its executor with it.

use super::waiting::{Guard, Known};
use ::parking_lot as inner;
use std::fmt;
use std::panic::Location;

watched! {
    /// parking_lot's mutex, watched.
    Mutex, inner::Mutex
}
own_value!(Mutex);

watched! {
    /// parking_lot's lock for readers and a writer, watched.
    RwLock, inner::RwLock
}
own_value!(RwLock);

/// A mutex's value, until it is dropped.
pub type MutexGuard<'a, T> = Guard<inner::MutexGuard<'a, T>>;
/// A lock's value to read, until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<inner::RwLockReadGuard<'a, T>>;
/// A lock's value to write, until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<inner::RwLockWriteGuard<'a, T>>;

impl<T: ?Sized> Mutex<T> {
    /// Takes it, when it is free.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.known.take(Location::caller(), self.inner.try_lock(), || self.inner.lock())
    }

    /// Takes it, if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let place = Location::caller();
        self.inner.try_lock().map(|inner| Guard::new(inner, self.known, place))
    }

    /// Whether somebody holds it.
    pub fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes it beside other readers, when nobody writes.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.known.take(Location::caller(), self.inner.try_read(), || self.inner.read())
    }

    /// Takes it alone, when it is free.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.known.take(Location::caller(), self.inner.try_write(), || self.inner.write())
    }

    /// Takes it beside other readers, if nobody writes.
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        self.inner.try_read().map(|inner| Guard::new(inner, self.known, place))
    }

    /// Takes it alone, if it is free.
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        self.inner.try_write().map(|inner| Guard::new(inner, self.known, place))
    }

    /// Whether somebody holds it.
    pub fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }
}
