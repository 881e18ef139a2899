//! The statements of one request, in one round trip, and the sink for all their rows.

use thalweg_encode::{EncodeError, Encoder};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Cursor, Demand, RowSink, RowView};

/// What a statement of the pipeline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sets the session's state; its row says nothing.
    Session,
    /// Counts all rows.
    Total,
    /// Counts the rows that the response would have.
    Head,
    /// Returns the rows, of the level with this index where they come flat.
    Rows(usize),
}

/// Hands each statement's rows to where they belong.
pub(crate) struct Replies {
    roles: Vec<Role>,
    at: usize,
    /// The types that each statement's columns must have; 0 is any.
    announced: Vec<Vec<Oid>>,
    pub(crate) total: Option<u64>,
    pub(crate) head: Option<u64>,
    pub(crate) encoder: Encoder,
}

impl Replies {
    pub(crate) fn new(roles: Vec<Role>, announced: Vec<Vec<Oid>>, encoder: Encoder) -> Self {
        Self { roles, at: 0, announced, total: None, head: None, encoder }
    }

    /// How many rows the response has.
    pub(crate) fn rows(&self) -> u64 {
        self.head.unwrap_or(self.encoder.rows())
    }

    fn role(&self) -> Role {
        self.roles.get(self.at).copied().unwrap_or(Role::Session)
    }
}

impl RowSink for Replies {
    type Error = EncodeError;

    /// The columns must have the types for which the encoder was made, before any of them is read.
    fn start_of_statement(&mut self, types: &[Oid]) -> Result<(), EncodeError> {
        let Role::Rows(level) = self.role() else { return Ok(()) };
        let fits = |(expected, found): (&Oid, &Oid)| *expected == 0 || expected == found;
        let expected = self.announced.get(level).map_or(&[][..], Vec::as_slice);
        if expected.len() != types.len() || !expected.iter().zip(types).all(fits) {
            return Err(EncodeError::Stale);
        }
        Ok(())
    }

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        let count = |row: RowView<'_>| -> Result<u64, EncodeError> {
            let value = row.columns().column()?.unwrap_or_default();
            Ok(Cursor::new(value).i64()?.max(0) as u64)
        };
        match self.role() {
            Role::Session => {}
            Role::Total => self.total = Some(count(row)?),
            Role::Head => self.head = Some(count(row)?),
            Role::Rows(_) => return self.encoder.row(row),
        }
        Ok(Demand::More)
    }

    /// Possible until the first row has been written.
    fn restart(&mut self) -> bool {
        let clean = self.encoder.restart();
        if clean {
            (self.at, self.total, self.head) = (0, None, None);
        }
        clean
    }

    fn end_of_statement(&mut self) {
        if matches!(self.role(), Role::Rows(_)) {
            self.encoder.next_level();
        }
        self.at += 1;
    }
}
