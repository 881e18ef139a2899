//! What the statements of a transaction answer, and the sink for all their rows.

use crate::computations::in_place;
use thalweg_encode::{EncodeError, Encoder};
use thalweg_rows::{Cursor, Demand, RowSink, RowView};
use thalweg_sql::Purpose;

/// Size of a row, in bytes, from which encoding the row takes some milliseconds.
const LARGE_ROW_BYTES_MIN: usize = 1024 * 1024;

/// What a statement of the transaction answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Nothing: it sets the session's state, or ends the transaction.
    Nothing,
    /// What the plan asks for.
    Of(Purpose),
    /// Which status and headers SQL has set.
    SetBySql,
}

/// How many rows there are in all, as far as it was asked: counted, estimated, or both (representation §5).
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    /// Above this, a count has been cut off.
    count_max: Option<u64>,
    counted: Option<u64>,
    estimated: Option<u64>,
}

impl Tally {
    pub(crate) fn new(count_max: Option<u64>) -> Self {
        Self { count_max, ..Self::default() }
    }

    /// Takes what a statement has counted.
    pub(crate) fn counted(&mut self, value: Option<&[u8]>) -> Result<(), EncodeError> {
        self.counted = Some(count(value)?);
        Ok(())
    }

    /// Takes the plan in which PostgreSQL says how many rows it expects.
    pub(crate) fn estimated(&mut self, plan: Option<&[u8]>) {
        self.estimated = planned_rows(plan.unwrap_or_default());
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.count_max);
    }

    /// Returns the number of all rows if they were counted to the end.
    pub(crate) fn exact(&self) -> Option<u64> {
        let is_whole = |counted: &u64| self.count_max.is_none_or(|most| *counted <= most);
        self.counted.filter(is_whole)
    }

    /// Returns the number of all rows. PostgreSQL's estimate is corrected by the rows that were found.
    pub(crate) fn total(&self, found: FoundRows) -> Option<u64> {
        self.exact().or_else(|| Some(found.correct(self.counted.max(self.estimated)?)))
    }
}

/// The rows that a statement with a window has found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRows {
    pub(crate) offset: u64,
    pub(crate) rows: u64,
    pub(crate) limit: Option<u64>,
}

impl FoundRows {
    /// Corrects an estimate of the number of all rows.
    fn correct(self, estimate: u64) -> u64 {
        let end = self.offset.saturating_add(self.rows);
        match self.limit.is_some_and(|limit| self.rows >= limit) {
            // The window is full, so that more rows may follow.
            true => estimate.max(end),
            false if self.rows > 0 || self.offset == 0 => end,
            // The rows end before the window.
            false => estimate.min(self.offset),
        }
    }
}

/// Hands each statement's rows to where they belong.
pub(crate) struct Replies {
    replies: Vec<Reply>,
    at: usize,
    /// Whether a column before the others of a result says of how many rows it was made.
    made_of_rows: bool,
    tally: Tally,
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
    pub(crate) fn new(replies: Vec<Reply>, encoder: Encoder, count_max: Option<u64>, made_of_rows: bool) -> Self {
        Self {
            made_of_rows,
            replies,
            at: 0,
            tally: Tally::new(count_max),
            head: None,
            set_by_sql: (None, None),
            affected: None,
            updated: 0,
            key: None,
            encoder,
        }
    }

    /// Returns the counts of all rows, as far as they were requested.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How many rows the response has, or would have if it returned those that were written.
    pub(crate) fn rows(&self) -> u64 {
        self.affected.or(self.head).unwrap_or(self.encoder.rows())
    }

    /// Encodes a row of the response. During a row that takes long, another thread serves the other
    /// tasks of this thread.
    fn encode(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        match row.size_bytes() < LARGE_ROW_BYTES_MIN {
            true => self.encoder.row(row),
            false => in_place(|| self.encoder.row(row)),
        }
    }

    fn reply(&self) -> Reply {
        self.replies.get(self.at).copied().unwrap_or(Reply::Nothing)
    }
}

impl RowSink for Replies {
    type Error = EncodeError;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        let mut columns = row.columns();
        match self.reply() {
            Reply::Nothing | Reply::Of(Purpose::RowCount | Purpose::Written) => {}
            Reply::Of(Purpose::Key) if self.key.is_none() => {
                let mut key = Vec::new();
                while let Ok(value) = columns.column() {
                    key.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
                }
                key.pop();
                self.key = Some(key);
            }
            Reply::Of(Purpose::Key) => {}
            Reply::Of(Purpose::Updated) => {
                let digits = columns.column()?.and_then(|bytes| std::str::from_utf8(bytes).ok());
                self.updated = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
            }
            Reply::Of(Purpose::Total) => self.tally.counted(columns.column()?)?,
            Reply::Of(Purpose::Estimate) => self.tally.estimated(columns.column()?),
            Reply::Of(Purpose::Head) => self.head = Some(count(columns.column()?)?),
            Reply::Of(Purpose::HeadAndTotal) => {
                self.tally.counted(columns.column()?)?;
                self.head = Some(count(columns.column()?)?);
            }
            Reply::SetBySql => self.set_by_sql = set_by_sql(row)?,
            Reply::Of(Purpose::Rows(_)) if self.made_of_rows => {
                self.head = Some(count(columns.column()?)?);
                return self.encode(columns.rest());
            }
            Reply::Of(Purpose::Rows(_)) => return self.encode(row),
            Reply::Of(Purpose::RowsAndTotal) => {
                self.tally.counted(columns.column()?)?;
                let found = columns.column()?.is_some();
                if self.made_of_rows {
                    self.head = Some(count(columns.column()?)?);
                }
                if found {
                    return self.encode(columns.rest());
                }
            }
        }
        Ok(Demand::More)
    }

    /// Possible until the first row has been written.
    fn restart(&mut self) -> bool {
        let clean = self.encoder.restart();
        if clean {
            self.tally.clear();
            (self.at, self.head) = (0, None);
            (self.affected, self.key) = (None, None);
        }
        clean
    }

    fn end_of_statement(&mut self, affected_rows: u64) {
        match self.reply() {
            Reply::Of(Purpose::Rows(_)) => self.encoder.next_level(),
            Reply::Of(Purpose::RowCount | Purpose::Key) => self.affected = Some(affected_rows),
            _ => {}
        }
        self.at += 1;
    }
}

/// `response.headers` and `response.status`, as SQL has set them.
pub(crate) fn set_by_sql(row: RowView<'_>) -> Result<(Option<String>, Option<String>), EncodeError> {
    let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut columns = row.columns();
    Ok((text(columns.column()?), text(columns.column()?)))
}

fn count(value: Option<&[u8]>) -> Result<u64, EncodeError> {
    Ok(Cursor::new(value.unwrap_or_default()).i64()?.max(0) as u64)
}

/// How many columns stand before those of a row: the total, and whether there is a row.
pub(crate) const TOTAL_COLUMNS: usize = 2;

/// The row estimate of a plan's topmost node, from EXPLAIN's JSON, in which that node's comes first.
fn planned_rows(plan: &[u8]) -> Option<u64> {
    const KEY: &str = "\"Plan Rows\": ";
    let plan = std::str::from_utf8(plan).ok()?;
    let digits = &plan[plan.find(KEY)? + KEY.len()..];
    digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}
