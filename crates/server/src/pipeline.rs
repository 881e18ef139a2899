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
    /// Tells how many rows the planner expects.
    Estimate,
    /// Counts all rows, and those that the response would have.
    HeadAndTotal,
    /// Tells which status and headers SQL has set.
    Response,
    /// Counts the rows that the response would have.
    Head,
    /// Returns the rows, of the level with this index where they come flat.
    Rows(usize),
    /// Returns the rows, each behind the total and whether it is one.
    RowsAndTotal,
    /// Writes rows and returns nothing.
    Written,
    /// Writes rows and returns the key of each, before a column that says nothing.
    Key,
    /// Tells how many rows the statement before it updated instead of inserting them.
    Updated,
}

/// Hands each statement's rows to where they belong.
pub(crate) struct Replies {
    roles: Vec<Role>,
    at: usize,
    /// The types that each statement's columns must have; 0 is any.
    announced: Vec<Vec<Oid>>,
    /// Whether a column before the others of a result says of how many rows it was made.
    made_of_rows: bool,
    /// Above this, a count has been cut off.
    count_max: Option<u64>,
    counted: Option<u64>,
    estimated: Option<u64>,
    pub(crate) head: Option<u64>,
    /// `response.headers` and `response.status`, as SQL has set them.
    pub(crate) set_by_sql: (Option<String>, Option<String>),
    /// How many rows were written, where none is returned.
    affected: Option<u64>,
    pub(crate) updated: u64,
    /// The key of the first row that was written.
    pub(crate) key: Option<Vec<Option<String>>>,
    pub(crate) encoder: Encoder,
}

impl Replies {
    pub(crate) fn new(
        roles: Vec<Role>,
        announced: Vec<Vec<Oid>>,
        encoder: Encoder,
        count_max: Option<u64>,
        made_of_rows: bool,
    ) -> Self {
        Self {
            made_of_rows,
            roles,
            at: 0,
            announced,
            count_max,
            counted: None,
            estimated: None,
            head: None,
            set_by_sql: (None, None),
            affected: None,
            updated: 0,
            key: None,
            encoder,
        }
    }

    /// How many rows there are in all, as far as it was asked: counted, or else estimated (representation §5).
    pub(crate) fn total(&self) -> Option<u64> {
        match (self.counted, self.estimated) {
            (Some(counted), Some(_)) if self.count_max.is_some_and(|most| counted <= most) => Some(counted),
            (counted, estimated) => counted.max(estimated),
        }
    }

    /// Whether the total is exactly what has been counted.
    pub(crate) fn is_exact(&self) -> bool {
        self.counted.is_some() && self.estimated.is_none()
    }

    /// How many rows the response has, or would have if it returned those that were written.
    pub(crate) fn rows(&self) -> u64 {
        self.affected.or(self.head).unwrap_or(self.encoder.rows())
    }

    fn role(&self) -> Role {
        self.roles.get(self.at).copied().unwrap_or(Role::Session)
    }
}

impl RowSink for Replies {
    type Error = EncodeError;

    /// The columns must have the types for which the encoder was made, before any of them is read.
    fn start_of_statement(&mut self, types: &[Oid]) -> Result<(), EncodeError> {
        let (level, types) = match self.role() {
            Role::Rows(level) => (level, types),
            Role::RowsAndTotal => (0, types.get(TOTAL_COLUMNS..).unwrap_or_default()),
            _ => return Ok(()),
        };
        let types = types.get(usize::from(self.made_of_rows)..).unwrap_or_default();
        let fits = |(expected, found): (&Oid, &Oid)| *expected == 0 || expected == found;
        let expected = self.announced.get(level).map_or(&[][..], Vec::as_slice);
        if expected.len() != types.len() || !expected.iter().zip(types).all(fits) {
            return Err(EncodeError::Stale);
        }
        Ok(())
    }

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        let count = |value: Option<&[u8]>| -> Result<u64, EncodeError> {
            Ok(Cursor::new(value.unwrap_or_default()).i64()?.max(0) as u64)
        };
        let mut columns = row.columns();
        match self.role() {
            Role::Session | Role::Written => {}
            Role::Key if self.key.is_none() => {
                let mut key = Vec::new();
                while let Ok(value) = columns.column() {
                    key.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
                }
                key.pop();
                self.key = Some(key);
            }
            Role::Key => {}
            Role::Updated => {
                let digits = columns.column()?.and_then(|bytes| std::str::from_utf8(bytes).ok());
                self.updated = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
            }
            Role::Total => self.counted = Some(count(columns.column()?)?),
            Role::Estimate => self.estimated = planned_rows(columns.column()?.unwrap_or_default()),
            Role::Head => self.head = Some(count(columns.column()?)?),
            Role::HeadAndTotal => {
                self.counted = Some(count(columns.column()?)?);
                self.head = Some(count(columns.column()?)?);
            }
            Role::Response => {
                let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                self.set_by_sql = (text(columns.column()?), text(columns.column()?));
            }
            Role::Rows(_) if self.made_of_rows => {
                self.head = Some(count(columns.column()?)?);
                return self.encoder.row(columns.rest());
            }
            Role::Rows(_) => return self.encoder.row(row),
            Role::RowsAndTotal => {
                self.counted = Some(count(columns.column()?)?);
                let found = columns.column()?.is_some();
                if self.made_of_rows {
                    self.head = Some(count(columns.column()?)?);
                }
                if found {
                    return self.encoder.row(columns.rest());
                }
            }
        }
        Ok(Demand::More)
    }

    /// Possible until the first row has been written.
    fn restart(&mut self) -> bool {
        let clean = self.encoder.restart();
        if clean {
            (self.at, self.counted, self.estimated, self.head) = (0, None, None, None);
            (self.affected, self.key) = (None, None);
        }
        clean
    }

    fn end_of_statement(&mut self, affected_rows: u64) {
        match self.role() {
            Role::Rows(_) => self.encoder.next_level(),
            Role::Written | Role::Key => self.affected = Some(affected_rows),
            _ => {}
        }
        self.at += 1;
    }
}

/// How many columns stand before those of a row: the total, and whether there is a row.
const TOTAL_COLUMNS: usize = 2;

/// The row estimate of a plan's topmost node, from EXPLAIN's JSON, in which that node's comes first.
fn planned_rows(plan: &[u8]) -> Option<u64> {
    const KEY: &str = "\"Plan Rows\": ";
    let plan = std::str::from_utf8(plan).ok()?;
    let digits = &plan[plan.find(KEY)? + KEY.len()..];
    digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}
