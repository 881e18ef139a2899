//! What the server knows of the database: loaded, kept up to date, and published as immutable snapshots.

mod described;
mod event_trigger;
mod load;
mod reload;
mod snapshot;

pub(crate) use described::described;
pub use event_trigger::event_trigger_sql;
pub(crate) use load::{LoadFailure, connect, load};
pub(crate) use reload::{FirstLoad, Reloader, keep_loaded, listen};
pub(crate) use snapshot::Snapshot;
