//! All statements of a plan, each with what it is for.

use crate::{Statement, count, estimate, flat, head, head_and_total, rows, rows_and_total, updated, write, written};
use thalweg_plan::{Delivery, Form, Plan, Returned};
use thalweg_request::Count;
use thalweg_rows::Level;

/// What a statement of a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Counts all rows.
    Total,
    /// Tells how many rows the planner expects.
    Estimate,
    /// Counts all rows, and those that the response would have.
    HeadAndTotal,
    /// Counts the rows that the response would have.
    Head,
    /// Returns the rows, of the level with this index where they come flat.
    Rows(usize),
    /// Returns the rows, each behind the total and whether it is one.
    RowsAndTotal,
    /// Writes rows and returns nothing.
    RowCount,
    /// Writes rows and returns the key of each, before a column that says nothing.
    Key,
    /// Writes rows and stores them for the next statement, which returns them.
    Written,
    /// Tells how many rows the statement before it updated instead of inserting them.
    Updated,
}

/// The SQL of a plan.
#[derive(Debug)]
pub struct Statements<'a> {
    /// The statements, in the order in which they run.
    pub main: Vec<(Purpose, Statement<'a>)>,
    /// How the rows of several statements join.
    pub levels: Vec<Level>,
    /// Above this, rows are not counted one by one.
    pub count_max: Option<u64>,
}

/// All statements of a plan. `rows_max` is `db-max-rows`, up to which an estimated count counts.
pub fn statements<'a>(plan: &'a Plan<'a>, rows_max: Option<u64>) -> Statements<'a> {
    match &plan.write {
        Some(changes) => {
            let purpose = match changes.returned {
                _ if plan.explains() => Purpose::Rows(0),
                Returned::Nothing => Purpose::RowCount,
                Returned::Key(_) => Purpose::Key,
                Returned::Direct | Returned::Through(_) => Purpose::Rows(0),
                Returned::Afterwards(_) => Purpose::Written,
            };
            let mut main = vec![(purpose, write(plan, changes))];
            if let Returned::Afterwards(columns) = &changes.returned {
                main.push((Purpose::Rows(0), written(plan, columns)));
            }
            if changes.conflict.as_ref().is_some_and(|conflict| conflict.counts) && !plan.explains() {
                main.push((Purpose::Updated, updated()));
            }
            Statements { main, levels: Vec::new(), count_max: None }
        }
        None => of_read(plan, rows_max),
    }
}

fn of_read<'a>(plan: &'a Plan<'a>, rows_max: Option<u64>) -> Statements<'a> {
    let (mut main, mut levels) = (Vec::with_capacity(1), Vec::new());
    let is_call = plan.call().is_some();
    let count_max = rows_max.filter(|_| plan.count == Some(Count::Estimated) && !is_call);
    // the total of a call comes with its rows, since the function runs once
    let is_counted_call =
        is_call && matches!(plan.count, Some(Count::Exact | Count::Estimated)) && plan.form != Form::Nothing;
    let in_one = is_counted_call || plan.read.from_end;
    if !is_call && !in_one {
        if matches!(plan.count, Some(Count::Exact | Count::Estimated)) {
            main.push((Purpose::Total, count(plan, count_max.map(|most| most.saturating_add(1)))));
        }
        // Without `db-max-rows`, all rows are counted, and an estimate says nothing more.
        if plan.count == Some(Count::Planned) || count_max.is_some() {
            main.push((Purpose::Estimate, estimate(plan)));
        }
    }
    match plan.delivery {
        Delivery::HeadOnly if in_one => main.push((Purpose::HeadAndTotal, head_and_total(plan))),
        Delivery::HeadOnly => main.push((Purpose::Head, head(plan))),
        Delivery::Streamed | Delivery::Buffered if in_one => {
            main.push((Purpose::RowsAndTotal, rows_and_total(plan)));
        }
        Delivery::Streamed | Delivery::Buffered if plan.is_flat() => {
            for (at, (statement, level)) in flat(plan).into_iter().enumerate() {
                main.push((Purpose::Rows(at), statement));
                levels.push(level);
            }
        }
        Delivery::Streamed | Delivery::Buffered => main.push((Purpose::Rows(0), rows(plan))),
    }
    Statements { main, levels, count_max }
}
