//! Locks that say who waited for whom: drop-in `Mutex` and `RwLock`, over tokio's here, over the standard library's in [`blocking`], and over
//!
//! A lock goes by the place where it is made, or by the name that it is given. For each it is known how long it was waited for and held, by the
//! line that held it, and which requests wait while they hold it.

pub mod blocking;
mod waiting;

pub use waiting::Guard;
pub(crate) use waiting::{Known, all};

use crate::account::Wait;
use crate::task::waiting as waiting_for;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// tokio's mutex, watched.
pub struct Mutex<T: ?Sized> {
    known: &'static Known,
    inner: tokio::sync::Mutex<T>,
}

/// tokio's lock for readers and a writer, watched.
pub struct RwLock<T: ?Sized> {
    known: &'static Known,
    inner: tokio::sync::RwLock<T>,
}

/// A mutex's value, until it is dropped.
pub type MutexGuard<'a, T> = Guard<tokio::sync::MutexGuard<'a, T>>;
/// A lock's value to read, until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<tokio::sync::RwLockReadGuard<'a, T>>;
/// A lock's value to write, until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<tokio::sync::RwLockWriteGuard<'a, T>>;

impl<T> Mutex<T> {
    /// A mutex that goes by the place of this call.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { known: Known::at(Location::caller()), inner: tokio::sync::Mutex::new(value) }
    }

    /// A mutex that goes by a name.
    pub fn named(name: &str, value: T) -> Self {
        Self { known: Known::named(name), inner: tokio::sync::Mutex::new(value) }
    }

    /// Its value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes it, when it is free.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let place = Location::caller();
        async move {
            if let Ok(inner) = self.inner.try_lock() {
                return Guard::new(inner, self.known, place);
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.lock()).await;
            wait.end();
            Guard::new(inner, self.known, place)
        }
    }

    /// Takes it, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, tokio::sync::TryLockError> {
        let inner = self.inner.try_lock()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }

    /// Its value, which nobody else can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

impl<T> RwLock<T> {
    /// A lock that goes by the place of this call.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { known: Known::at(Location::caller()), inner: tokio::sync::RwLock::new(value) }
    }

    /// A lock that goes by a name.
    pub fn named(name: &str, value: T) -> Self {
        Self { known: Known::named(name), inner: tokio::sync::RwLock::new(value) }
    }

    /// Its value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes it beside other readers, when nobody writes.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        async move {
            if let Ok(inner) = self.inner.try_read() {
                return Guard::new(inner, self.known, place);
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.read()).await;
            wait.end();
            Guard::new(inner, self.known, place)
        }
    }

    /// Takes it alone, when it is free.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        async move {
            if let Ok(inner) = self.inner.try_write() {
                return Guard::new(inner, self.known, place);
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.write()).await;
            wait.end();
            Guard::new(inner, self.known, place)
        }
    }

    /// Takes it beside other readers, if nobody writes.
    ///
    /// # Errors
    ///
    /// If somebody does.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, tokio::sync::TryLockError> {
        let inner = self.inner.try_read()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }

    /// Takes it alone, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, tokio::sync::TryLockError> {
        let inner = self.inner.try_write()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }

    /// Its value, which nobody else can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
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
