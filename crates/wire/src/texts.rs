//! A sink that keeps rows as texts, for who asks for few.

use thalweg_rows::{Demand, Malformed, RowSink, RowView};

/// Rows as texts: of all statements, or of one alone.
#[derive(Debug, Default)]
pub struct Texts {
    /// The rows, each with its values.
    pub rows: Vec<Vec<Option<String>>>,
    /// The place of the statement whose rows these are, if not of all.
    of: Option<usize>,
    at: usize,
}

impl Texts {
    /// Of the statement at this place of several, from 0 on.
    pub fn of_statement(place: usize) -> Self {
        Self { of: Some(place), ..Self::default() }
    }
}

impl RowSink for Texts {
    type Error = Malformed;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
        if self.of.is_none_or(|place| place == self.at) {
            let mut columns = row.columns();
            let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            self.rows.push((0..row.len()).map(|_| columns.column().map(text)).collect::<Result<_, _>>()?);
        }
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        (self.rows, self.at) = (Vec::new(), 0);
        true
    }

    fn end_of_statement(&mut self, _: u64) {
        self.at += 1;
    }
}
