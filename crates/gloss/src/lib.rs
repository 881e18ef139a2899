//! Every word of a Japanese text with its dictionary entries.

mod entry;

pub use entry::{Entry, Headword, Priority, Reading, Sense};
