//! What the stories ask the gauge for, in programs without it: tokio's lock, or the same as hotpath watches it.

#[cfg(feature = "hotpath")]
use hotpath::wrap::tokio::sync::Mutex as Inner;
use std::ops::Deref;
#[cfg(not(feature = "hotpath"))]
use tokio::sync::Mutex as Inner;

/// The gauge's kinds of waits of which the stories have one.
pub(crate) enum Wait {
    Timer,
}

pub(crate) fn waiting<F>(_: Wait, future: F) -> F {
    future
}

/// A lock with a name.
pub(crate) struct Mutex<T>(Inner<T>);

impl<T> Mutex<T> {
    #[cfg(feature = "hotpath")]
    pub(crate) fn named(name: &'static str, value: T) -> Self {
        Mutex(hotpath::mutex!(tokio::sync::Mutex::new(value), label = name))
    }

    #[cfg(not(feature = "hotpath"))]
    pub(crate) fn named(_: &'static str, value: T) -> Self {
        Mutex(Inner::new(value))
    }
}

impl<T> Deref for Mutex<T> {
    type Target = Inner<T>;

    fn deref(&self) -> &Inner<T> {
        &self.0
    }
}
