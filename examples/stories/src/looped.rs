//! And then it answered 820 instead of what it could: a list was cloned in a hot loop.

use axum::extract::State;
use std::hint::black_box;
use std::sync::Arc;

/// How often the list is looked at for one answer.
const TIMES: usize = 1_000_000;

/// A list of names.
#[derive(Clone)]
pub(crate) struct Names(Arc<Vec<u32>>);

impl Default for Names {
    fn default() -> Self {
        Names(Arc::new((0..16).collect()))
    }
}

fn longest(names: &[u32], turn: usize) -> usize {
    names[turn % names.len()] as usize
}

/// A list of its own for each look.
pub(crate) async fn cpualloc(State(Names(names)): State<Names>) -> String {
    let mut sum = 0_usize;
    for turn in 0..TIMES {
        let own = Vec::clone(&names);
        sum += longest(black_box(&own), turn);
    }
    sum.to_string()
}

/// One list for all.
pub(crate) async fn cpu(State(Names(names)): State<Names>) -> String {
    let sum: usize = (0..TIMES).map(|turn| longest(black_box(&names), turn)).sum();
    sum.to_string()
}
