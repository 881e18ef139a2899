//! Words found in texts, measured: ours beside the ancestor's way, and the structures that keys could be in.
//!
//! ```text
//!   prepare ──► dictionary, lines, keys ──► compare ──► figures ──► report
//!   (sources)                               ├─ ancestor, ours: rounds in turn
//!                                           ├─ structures: rounds in turn
//!                                           └─ counted, itself again: a process for each
//! ```

pub mod ancestor;
pub mod figures;
#[allow(dead_code, reason = "the file is the library's, of which only some is used here")]
#[path = "../../../crates/gloss/src/fold.rs"]
pub(crate) mod fold;
pub mod ours;
pub mod prepare;
pub mod process;
pub mod report;
pub mod structures;
pub mod texts;
#[allow(dead_code, reason = "the file is the library's, of which only some is used here")]
#[path = "../../../crates/gloss/src/trie.rs"]
pub(crate) mod trie;

/// What goes wrong here ends the run.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
