//! What stands in for signals and unwinding on machines that have no samples.

pub(super) mod handler {
    use crate::sample::ring::Ring;
    use crate::sample::{Stack, Thread};
    use std::io;
    use std::sync::Arc;

    pub(in crate::sample) fn prepare() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::sample) fn begin(_: &Arc<Ring>) {}

    pub(in crate::sample) fn end(_: &Arc<Ring>) {}

    pub(in crate::sample) fn without_signals<T>(done: impl FnOnce() -> T) -> T {
        done()
    }

    /// None: samples are not supported on this machine.
    pub fn stack_of(_: Thread) -> Option<Stack> {
        None
    }

    /// The number of the calling thread; on this machine the same for all.
    pub fn this_thread() -> Thread {
        Thread(0)
    }

    /// Not known here.
    pub(crate) fn lives(_: Thread) -> bool {
        true
    }
}

pub(super) mod timers {
    use std::io;

    pub(in crate::sample) struct Timers;

    impl Timers {
        pub(in crate::sample) fn new(_: usize, _: u32, _: usize) -> Self {
            Self
        }

        pub(in crate::sample) fn follow(&mut self) -> io::Result<u64> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

pub(super) mod unwind {
    use crate::sample::{Loaded, Stack};

    /// Empty: samples are not supported on this machine.
    pub fn stack_here() -> Stack {
        Stack::EMPTY
    }

    pub(in crate::sample) fn loaded() -> &'static [Loaded] {
        &[]
    }
}
