//! The rows of a page's queries, kept until the page is made of them.

use crate::transaction::{Reply, Tally, set_by_sql};
use thalweg_encode::EncodeError;
use thalweg_pages::Table;
use thalweg_rows::{Demand, RowSink, RowView};
use thalweg_sql::Purpose;

/// How much the rows of a page may take, in bytes.
const PAGE_ROWS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What was found for a query.
pub(crate) struct Found {
    pub(crate) table: Table,
    pub(crate) tally: Tally,
}

/// Hands the rows of each statement to the query that it belongs to.
pub(crate) struct Collected {
    /// Of each statement the query, and what it answers.
    replies: Vec<(usize, Reply)>,
    at: usize,
    found: Vec<Found>,
    bytes: usize,
    /// How many rows there are, of all queries.
    pub(crate) rows: u64,
    pub(crate) set_by_sql: (Option<String>, Option<String>),
}

impl Collected {
    pub(crate) fn new(replies: Vec<(usize, Reply)>, found: Vec<Found>) -> Self {
        Self { replies, at: 0, found, bytes: 0, rows: 0, set_by_sql: (None, None) }
    }

    /// Whether there is more than a page may be made of.
    pub(crate) fn is_too_much(&self) -> bool {
        self.bytes > PAGE_ROWS_BYTES_MAX
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }

    fn keep(&mut self, query: usize, row: RowView<'_>) -> Demand {
        self.bytes += row.size_bytes() + size_of::<usize>();
        self.rows += 1;
        if self.is_too_much() {
            return Demand::Pause;
        }
        self.found[query].table.push(row);
        Demand::More
    }
}

impl RowSink for Collected {
    type Error = EncodeError;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        let Some(&(query, reply)) = self.replies.get(self.at) else { return Ok(Demand::More) };
        match reply {
            Reply::Of(Purpose::Rows(_)) => return Ok(self.keep(query, row)),
            Reply::Of(Purpose::RowsAndTotal) => {
                let mut columns = row.columns();
                self.found[query].tally.counted(columns.column()?)?;
                if columns.column()?.is_some() {
                    return Ok(self.keep(query, columns.rest()));
                }
            }
            Reply::Of(Purpose::Total) => self.found[query].tally.counted(row.columns().column()?)?,
            Reply::Of(Purpose::Estimate) => self.found[query].tally.estimated(row.columns().column()?),
            Reply::SetBySql => self.set_by_sql = set_by_sql(row)?,
            Reply::Nothing | Reply::Of(_) => {}
        }
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        (self.at, self.bytes, self.rows, self.set_by_sql) = (0, 0, 0, (None, None));
        for found in &mut self.found {
            found.table.clear();
            found.tally.clear();
        }
        true
    }

    fn end_of_statement(&mut self, _: u64) {
        self.at += 1;
    }
}
