//! The real program, started as a user starts it.

mod clients;
mod crowd;
mod kills;
mod log;
mod memory;
mod program;
mod starting;
mod stopping;
