//! The standard library's locks, watched. What waits for one stands still, and its executor with it.

use super::waiting::{Guard, Known};
use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The standard library's mutex, watched.
pub struct Mutex<T: ?Sized> {
    known: &'static Known,
    inner: std::sync::Mutex<T>,
}

/// The standard library's lock for readers and a writer, watched.
pub struct RwLock<T: ?Sized> {
    known: &'static Known,
    inner: std::sync::RwLock<T>,
}

/// A mutex's value, until it is dropped.
pub type MutexGuard<'a, T> = Guard<std::sync::MutexGuard<'a, T>>;
/// A lock's value to read, until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<std::sync::RwLockReadGuard<'a, T>>;
/// A lock's value to write, until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<std::sync::RwLockWriteGuard<'a, T>>;

/// Takes a lock: at once if it is free, and else as one who waits.
macro_rules! take {
    ($self:ident, $try_it:ident, $wait:ident) => {{
        let place = Location::caller();
        let (inner, is_poisoned) = match $self.inner.$try_it() {
            Ok(inner) => (inner, false),
            Err(TryLockError::Poisoned(error)) => (error.into_inner(), true),
            Err(TryLockError::WouldBlock) => {
                let wait = $self.known.wait();
                let taken = $self.inner.$wait();
                wait.end_blocked();
                match taken {
                    Ok(inner) => (inner, false),
                    Err(error) => (error.into_inner(), true),
                }
            }
        };
        let guard = Guard::new(inner, $self.known, place);
        if is_poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }};
}

macro_rules! try_take {
    ($self:ident, $try_it:ident) => {{
        let place = Location::caller();
        match $self.inner.$try_it() {
            Ok(inner) => Ok(Guard::new(inner, $self.known, place)),
            Err(TryLockError::Poisoned(error)) => {
                let guard = Guard::new(error.into_inner(), $self.known, place);
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }};
}

impl<T> Mutex<T> {
    /// A mutex that goes by the place of this call.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { known: Known::at(Location::caller()), inner: std::sync::Mutex::new(value) }
    }

    /// A mutex that goes by a name.
    pub fn named(name: &str, value: T) -> Self {
        Self { known: Known::named(name), inner: std::sync::Mutex::new(value) }
    }

    /// Its value.
    ///
    /// # Errors
    ///
    /// If who held it panicked.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes it, when it is free.
    ///
    /// # Errors
    ///
    /// If who held it panicked.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        take!(self, try_lock, lock)
    }

    /// Takes it, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not, or who held it panicked.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        try_take!(self, try_lock)
    }
}

impl<T> RwLock<T> {
    /// A lock that goes by the place of this call.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { known: Known::at(Location::caller()), inner: std::sync::RwLock::new(value) }
    }

    /// A lock that goes by a name.
    pub fn named(name: &str, value: T) -> Self {
        Self { known: Known::named(name), inner: std::sync::RwLock::new(value) }
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
        take!(self, try_read, read)
    }

    /// Takes it alone, when it is free.
    ///
    /// # Errors
    ///
    /// If who wrote panicked.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        take!(self, try_write, write)
    }

    /// Takes it beside other readers, if nobody writes.
    ///
    /// # Errors
    ///
    /// If somebody does, or who wrote panicked.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        try_take!(self, try_read)
    }

    /// Takes it alone, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not, or who wrote panicked.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        try_take!(self, try_write)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}
