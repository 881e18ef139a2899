//! Figures as they come, by name, and medians of rounds.

use serde_json::{Map, Value};

/// All that a run measured.
#[derive(Debug, Default)]
pub struct Figures(pub Map<String, Value>);

impl Figures {
    /// Keeps some, and says that they are there.
    pub fn put(&mut self, name: &str, figures: Value) {
        println!("{name}: {figures}");
        self.0.insert(name.to_owned(), figures);
    }
}

/// The middle of some figures.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}
