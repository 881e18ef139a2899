//! Loops over rows that are written from the rows' bytes, without a value for each column.
//!
//! ```text
//!  load    template ─► read.rs   a loop whose body is text, columns, and what is made of columns
//!                                a call of it stands before the loop, which is the engine's where the call cannot be made
//!  page    rows     ─► bind.rs   where each column lies in a row, once
//!                   ─► write.rs  row by row
//!                   ─► chunk.rs  into the page's own chunk
//! ```
//!
//! A loop over anything but the rows of a query, and one whose body sets, includes, breaks or shows a row as a whole, is run by the
//! engine. What is written is the same, which `tests.rs` holds for random templates and rows; where it fails, the engine is asked again, since
//! its errors name their lines.

mod bind;
mod chunk;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use chunk::Chunks;
pub(crate) use chunk::Lender;
pub(crate) use read::{Called, read};
pub(crate) use write::Direct;

use crate::rows::Rows;
use minijinja::Environment;
use minijinja::value::Value;
use read::Loop;
use std::sync::Arc;

/// The name of the test and of the filter that a template calls a loop by, with its number: no author's filter has it.
const NAME: &str = "__direct";

/// Loops of all templates, by number.
pub(crate) type Loops = Vec<Arc<Loop>>;

/// Adds the calls to the engine.
pub(crate) fn register(environment: &mut Environment<'static>, loops: Loops) {
    let loops: Arc<[Arc<Loop>]> = loops.into();
    let known = loops.clone();
    environment.add_test(NAME, move |rows: &Value, number: usize| {
        let rows = rows.downcast_object_ref::<Rows>();
        rows.zip(known.get(number)).is_some_and(|(rows, known)| Direct::can_be(rows, known))
    });
    environment.add_filter(NAME, move |rows: &Value, number: usize| {
        let rows = rows.downcast_object::<Rows>();
        rows.zip(loops.get(number)).map(|(rows, known)| Value::from_object(Direct::new(rows, known.clone())))
    });
}
