//! Locks that say who waited for whom: drop-in `Mutex` and `RwLock`, over tokio's here, over the standard library's in [`blocking`], and over
//!
//! A lock goes by the place where it is made, or by the name that it is given. For each it is known how long it was waited for and held, by the
//! line that held it, and which requests wait while they hold it.

pub mod blocking;
mod waiting;

pub(crate) use waiting::{Known, all};

use crate::account::Wait;
use crate::task::waiting as waiting_for;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use waiting::Holding;

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

macro_rules! guard {
    ($name:ident, $of:ident, $inner:ident, $doc:literal) => {
        #[doc = $doc]
        pub struct $name<'a, T: ?Sized> {
            // given back before the time is noted
            inner: tokio::sync::$inner<'a, T>,
            _holding: Holding,
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.inner
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }
    };
}

guard!(MutexGuard, Mutex, MutexGuard, "A mutex's value, until it is dropped.");
guard!(RwLockReadGuard, RwLock, RwLockReadGuard, "A lock's value to read, until it is dropped.");
guard!(RwLockWriteGuard, RwLock, RwLockWriteGuard, "A lock's value to write, until it is dropped.");

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

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
                return MutexGuard { inner, _holding: self.known.taken(place) };
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.lock()).await;
            wait.end();
            MutexGuard { inner, _holding: self.known.taken(place) }
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
        Ok(MutexGuard { inner, _holding: self.known.taken(Location::caller()) })
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
                return RwLockReadGuard { inner, _holding: self.known.taken(place) };
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.read()).await;
            wait.end();
            RwLockReadGuard { inner, _holding: self.known.taken(place) }
        }
    }

    /// Takes it alone, when it is free.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        async move {
            if let Ok(inner) = self.inner.try_write() {
                return RwLockWriteGuard { inner, _holding: self.known.taken(place) };
            }
            let wait = self.known.wait();
            let inner = waiting_for(Wait::Lock, self.inner.write()).await;
            wait.end();
            RwLockWriteGuard { inner, _holding: self.known.taken(place) }
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
        Ok(RwLockReadGuard { inner, _holding: self.known.taken(Location::caller()) })
    }

    /// Takes it alone, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, tokio::sync::TryLockError> {
        let inner = self.inner.try_write()?;
        Ok(RwLockWriteGuard { inner, _holding: self.known.taken(Location::caller()) })
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
