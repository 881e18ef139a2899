//! What the server knows of the database: loaded, kept up to date, and published as immutable snapshots.

mod described;
mod event_trigger;
mod listen;
mod load;
mod reload;
mod snapshot;

pub(crate) use described::described;
pub use event_trigger::event_trigger_sql;
pub(crate) use listen::listen;
pub(crate) use load::{LoadFailure, connect, load};
pub(crate) use reload::{FirstLoad, Reloader, keep_loaded};
pub(crate) use snapshot::Snapshot;
