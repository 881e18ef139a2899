//! A list of flights took over a second: whole rows went into the template's context as JSON, tracks among them that it never showed.

use axum::extract::State;
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;

const TRACK_BYTES: usize = 500 * 1024;

/// A row as the database has it.
#[derive(Serialize)]
pub(crate) struct Flight {
    title: String,
    kilometres: f64,
    track: String,
}

/// The flights of the list.
#[derive(Clone)]
pub(crate) struct Flights(Arc<Vec<Flight>>);

impl Default for Flights {
    fn default() -> Self {
        let flight = |number: u32| Flight {
            title: format!("Flight {number}"),
            kilometres: f64::from(number) * 1.5,
            track: "B1101355206343N00006198WA0058700558".repeat(TRACK_BYTES / 35),
        };
        Flights(Arc::new((0..20).map(flight).collect()))
    }
}

/// By a context that holds whole rows.
pub(crate) async fn flights(State(Flights(flights)): State<Flights>) -> String {
    let context = serde_json::to_value(&*flights).unwrap_or_default();
    let mut page = String::new();
    for flight in context.as_array().into_iter().flatten() {
        let _ = writeln!(page, "{} {}", flight["title"], flight["kilometres"]);
    }
    page
}

/// By what is shown.
pub(crate) async fn shown(State(Flights(flights)): State<Flights>) -> String {
    let mut page = String::new();
    for flight in &*flights {
        let _ = writeln!(page, "{:?} {}", flight.title, flight.kilometres);
    }
    page
}
