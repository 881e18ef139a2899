//! Every word of a Japanese text with its dictionary entries.

mod entry;
pub mod grammar;

pub use entry::{Entry, Headword, Priority, Reading, Sense};
