//! Locks that say who waited for whom: drop-in `Mutex` and `RwLock`, over tokio's here, over the standard library's in [`blocking`], and, with
//! feature `parking_lot`, over parking_lot's in `parking_lot`.
//!
//! A lock goes by the place where it is made, or by the name that it is given. For each it is known how long it was waited for and held, by the
//! line that held it, and which requests wait while they hold it.

/// What all of them have, whatever they are made of.
macro_rules! watched {
    ($(#[$documentation:meta])* $lock:ident, $($inner:ident)::+) => {
        $(#[$documentation])*
        pub struct $lock<T: ?Sized> {
            known: &'static Known,
            inner: $($inner)::+<T>,
        }

        impl<T> $lock<T> {
            /// A lock that goes by the place of this call.
            #[track_caller]
            pub fn new(value: T) -> Self {
                Self { known: Known::at(Location::caller()), inner: $($inner)::+::new(value) }
            }

            /// A lock that goes by a name.
            pub fn named(name: &str, value: T) -> Self {
                Self { known: Known::named(name), inner: $($inner)::+::new(value) }
            }
        }

        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.inner, f)
            }
        }
    };
}

/// The value of locks that cannot be poisoned, without waiting.
macro_rules! own_value {
    ($lock:ident) => {
        impl<T> $lock<T> {
            /// Its value.
            pub fn into_inner(self) -> T {
                self.inner.into_inner()
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// Its value, which nobody else can have.
            pub fn get_mut(&mut self) -> &mut T {
                self.inner.get_mut()
            }
        }
    };
}

pub mod blocking;
#[cfg(feature = "parking_lot")]
pub mod parking_lot;
mod waiting;

pub use waiting::Guard;
pub(crate) use waiting::{Known, Sums, all};

use std::fmt;
use std::future::Future;
use std::panic::Location;
use tokio::sync;
use tokio::sync::TryLockError;

watched! {
    /// tokio's mutex, watched.
    Mutex, sync::Mutex
}
own_value!(Mutex);

watched! {
    /// tokio's lock for readers and a writer, watched.
    RwLock, sync::RwLock
}
own_value!(RwLock);

/// A mutex's value, until it is dropped.
pub type MutexGuard<'a, T> = Guard<sync::MutexGuard<'a, T>>;
/// A lock's value to read, until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<sync::RwLockReadGuard<'a, T>>;
/// A lock's value to write, until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<sync::RwLockWriteGuard<'a, T>>;

impl<T: ?Sized> Mutex<T> {
    /// Takes it, when it is free.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        self.known.take_later(Location::caller(), || self.inner.try_lock().ok(), self.inner.lock())
    }

    /// Takes it, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let inner = self.inner.try_lock()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes it beside other readers, when nobody writes.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        self.known.take_later(Location::caller(), || self.inner.try_read().ok(), self.inner.read())
    }

    /// Takes it alone, when it is free.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        self.known.take_later(Location::caller(), || self.inner.try_write().ok(), self.inner.write())
    }

    /// Takes it beside other readers, if nobody writes.
    ///
    /// # Errors
    ///
    /// If somebody does.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        let inner = self.inner.try_read()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }

    /// Takes it alone, if it is free.
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        let inner = self.inner.try_write()?;
        Ok(Guard::new(inner, self.known, Location::caller()))
    }
}
