//! What a request cost: time by stage, allocations.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!  ► beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Usable by any Rust service: [`Bill`] is a stopwatch with named laps that writes a `Server-Timing` header,
//! [`CountingAllocator`] is a global allocator that counts.

mod allocations;
mod bill;
#[cfg(feature = "mimalloc")]
mod memory;
pub mod sample;

pub use allocations::{Allocations, CountingAllocator};
pub use bill::{Bill, ServerTiming, Stage};
#[cfg(feature = "mimalloc")]
pub use memory::give_back_at_once;
