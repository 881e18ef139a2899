//! A plan whose statements are written: all that it takes to run them and to answer, with nothing borrowed.
//!
//! ```text
//!  Plan, Statements ── Prepared::of ──▶ Prepared      the parameters stand beside it
//!                                          ▲
//!  a read that differs from one that was ──┘  known   neither read again nor planned
//!  prepared before in the values of its
//!  filters only
//! ```

mod known;

pub(crate) use known::{Asked, Era, Known, KnownReads, Question};

use crate::transaction::TOTAL_COLUMNS;
use hyper::header::HeaderValue;
use std::sync::Arc;
use thalweg_catalog::Runs;
use thalweg_encode::{Program, Target};
use thalweg_plan::{Delivery, Form, Media, Plan};
use thalweg_request::{Action, Count, Handling, Missing, Preferences, Resolution, Returning, TxEnd};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Field, Format, Shape};
use thalweg_sql::{Param, Purpose, Statement, Statements};
use thalweg_wire::Query;

/// What is left of a plan when its statements are written.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) statements: Vec<PreparedStatement>,
    /// What is made of the rows.
    pub(crate) program: Arc<Program>,
    /// The columns of the rows.
    pub(crate) fields: Arc<[Field]>,
    /// Above this, rows are not counted one by one.
    pub(crate) count_max: Option<u64>,
    /// Whether the statements must see one snapshot.
    pub(crate) in_one_snapshot: bool,
    /// Whether rows of something that writes could turn out to be other than the plan says while they are read: values within
    /// rows say what they are one by one.
    pub(crate) may_be_unreadable: bool,
    pub(crate) nature: Nature,
    pub(crate) delivery: Delivery,
    pub(crate) form: Form,
    pub(crate) count: Option<Count>,
    /// How many rows are passed over.
    pub(crate) offset_rows: u64,
    /// How many are fetched at most.
    pub(crate) limit_rows: Option<u64>,
    /// How many rows are returned although more are asked for.
    pub(crate) rows_cut: Option<u64>,
    /// Largest number of rows of an embed that are returned, if more may be found.
    pub(crate) embedded_cut: Option<u64>,
    /// How many rows a call may return or a write affect.
    pub(crate) affected_max: Option<i64>,
    /// Whether its answer is known to be large.
    pub(crate) is_large: bool,
    /// Whether one row is wanted, and no other number of them.
    pub(crate) is_one: bool,
    /// Whether what it changes stays only if there are as many rows as there may be.
    pub(crate) is_checked: bool,
    /// Whether its statement makes one value of all rows, behind their number.
    pub(crate) is_made_of_rows: bool,
    pub(crate) explains: bool,
    /// Whether it puts one row in the place of another.
    pub(crate) replaces: bool,
    /// Whether rows are returned.
    pub(crate) has_body: bool,
    pub(crate) head: Head,
}

/// A statement without its parameters.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    pub(crate) purpose: Purpose,
    pub(crate) text: String,
    /// How many parameters it takes.
    pub(crate) params: usize,
    /// How its columns travel.
    pub(crate) formats: Vec<Format>,
    /// The types that they must have; 0 is any.
    pub(crate) types: Option<Vec<Oid>>,
}

/// What a plan does to the database, and what is known of that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nature {
    pub(crate) is_read_only: bool,
    pub(crate) runs: Runs,
    /// Whether rows are sent by COPY.
    pub(crate) copies: bool,
    /// True if the statement calls a function that the request names.
    pub(crate) calls: bool,
    /// Whether the schema cache knows each column that is named.
    pub(crate) knows_all_columns: bool,
    /// Whether the database may set the status and headers of the response.
    pub(crate) response_is_set: bool,
}

/// What the head of a response says whatever the rows are.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) preference_applied: Option<HeaderValue>,
    /// That names are deprecated.
    pub(crate) warning: Option<HeaderValue>,
}

impl Prepared {
    /// Of a plan and its statements, whose parameters stand beside it, one statement's behind the other's.
    pub(crate) fn of<'a>(
        plan: &Plan<'_>,
        statements: Statements<'a>,
        preferences: &Preferences<'_>,
        tx_end_is_theirs: bool,
    ) -> (Self, Vec<Param<'a>>) {
        let is_made_of_rows = plan.is_made_of_rows();
        let program = Arc::new(program(plan, &statements));
        let Statements { main, levels, count_max } = statements;
        let holds_rows =
            |statement: &Statement<'_>| statement.shape.fields.iter().any(|field| field.codec.holds_rows());
        let may_be_unreadable = !plan.is_read_only && main.iter().any(|(_, statement)| holds_rows(statement));
        let mut params = Vec::with_capacity(main.iter().map(|(_, statement)| statement.params.len()).sum());
        let mut fields: Arc<[Field]> = Arc::default();
        let statements = main.into_iter().map(|(purpose, statement)| {
            let (formats, types) = columns(purpose, &statement, is_made_of_rows);
            let count = statement.params.len();
            params.extend(statement.params);
            fields = statement.shape.fields.into();
            PreparedStatement { purpose, text: statement.text, params: count, formats, types }
        });
        let statements = statements.collect();
        let prepared = Self {
            statements,
            program,
            fields,
            count_max,
            in_one_snapshot: !levels.is_empty(),
            may_be_unreadable,
            nature: Nature::of(plan),
            delivery: plan.delivery,
            form: plan.form,
            count: plan.count,
            offset_rows: plan.read.offset_rows.map_or(0, i64::unsigned_abs),
            limit_rows: plan.read.limit_rows.map(i64::unsigned_abs),
            rows_cut: plan.rows_cut,
            embedded_cut: plan.embedded_cut,
            affected_max: plan.affected_max,
            is_large: plan.read.is_large(),
            is_one: matches!(plan.media, Media::Object { .. }),
            is_checked: plan.is_checked(),
            is_made_of_rows,
            explains: plan.explains(),
            replaces: plan.write.as_ref().is_some_and(|write| write.action == Action::Replace),
            has_body: plan.write.as_ref().is_none_or(|write| plan.explains() || write.returned.has_rows()),
            head: Head::of(plan, preferences, tx_end_is_theirs),
        };
        (prepared, params)
    }

    /// One of its statements with its parameters, about to be sent.
    pub(crate) fn query<'q>(
        &'q self,
        statement: &'q PreparedStatement,
        params: &'q [thalweg_wire::Param<'q>],
    ) -> Query<'q> {
        Query {
            text: &statement.text,
            params,
            formats: &statement.formats,
            copy: None,
            columns: statement.types.as_deref(),
            writes: !self.nature.is_read_only,
            is_named: true,
            may_change: self.nature.is_read_only && self.nature.calls,
        }
    }

    /// The statement that comes last: that which returns the rows, of one that reads.
    pub(crate) fn last_text(&self) -> Option<&str> {
        self.statements.last().map(|statement| &*statement.text)
    }

    /// Whether it returns any number of rows or values.
    pub(crate) fn is_set(&self) -> bool {
        matches!(self.form, Form::Rows | Form::Values)
    }

    /// About how much memory it takes, in bytes.
    fn size_bytes(&self) -> usize {
        let of_statement = |statement: &PreparedStatement| {
            // a column's format, type, and what is done with it
            size_of::<PreparedStatement>() + statement.text.len() + statement.formats.len() * 64
        };
        let of_statements: usize = self.statements.iter().map(of_statement).sum();
        let of_fields: usize = self.fields.iter().map(Field::size_bytes).sum();
        size_of::<Self>() + self.program.size_bytes() + of_fields + of_statements + self.head.size_bytes()
    }
}

impl Nature {
    /// That of two plans in one transaction.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            is_read_only: self.is_read_only && other.is_read_only,
            runs: self.runs.max(other.runs),
            copies: self.copies || other.copies,
            calls: self.calls || other.calls,
            knows_all_columns: self.knows_all_columns && other.knows_all_columns,
            response_is_set: self.response_is_set || other.response_is_set,
        }
    }

    pub(crate) fn of(plan: &Plan<'_>) -> Self {
        Self {
            is_read_only: plan.is_read_only,
            runs: plan.runs,
            copies: plan.copies(),
            calls: plan.call().is_some(),
            knows_all_columns: plan.read.knows_all_columns(),
            response_is_set: plan.response_is_set,
        }
    }
}

impl Head {
    fn of(plan: &Plan<'_>, preferences: &Preferences<'_>, tx_end_is_theirs: bool) -> Self {
        // a value that a header cannot hold is left out
        let value = |text: String| HeaderValue::try_from(text).ok();
        let content_type = match plan.media.content_type() {
            // what most responses have is no text of its own
            name if name == JSON => Some(HeaderValue::from_static(JSON)),
            name => value(name.into_owned()),
        };
        let warning = (!plan.deprecated_names.is_empty()).then(|| {
            let pairs: Vec<String> =
                plan.deprecated_names.iter().map(|(name, alias)| format!("'{name}' to '{alias}'")).collect();
            format!(
                "299 PostgRESTv{} \"Target names are deprecated in filters, orders or limits if they have an alias. Change {}.\"",
                env!("CARGO_PKG_VERSION"),
                pairs.join(", ")
            )
        });
        let applied = applied(plan, preferences, tx_end_is_theirs);
        Self { content_type, preference_applied: applied.and_then(value), warning: warning.and_then(value) }
    }

    /// How much memory it takes besides itself, in bytes. A client may have chosen most of it.
    fn size_bytes(&self) -> usize {
        [&self.content_type, &self.preference_applied, &self.warning].into_iter().flatten().map(HeaderValue::len).sum()
    }
}

const JSON: &str = "application/json; charset=utf-8";

/// How the columns of a statement travel, and the types that they must have.
fn columns(purpose: Purpose, statement: &Statement<'_>, made_of_rows: bool) -> (Vec<Format>, Option<Vec<Oid>>) {
    // what stands before the columns of a row
    let before = match purpose {
        Purpose::Rows(_) => usize::from(made_of_rows),
        Purpose::RowsAndTotal => TOTAL_COLUMNS + usize::from(made_of_rows),
        Purpose::Estimate | Purpose::RowCount | Purpose::Key | Purpose::Written | Purpose::Updated => {
            return (vec![Format::Text], None);
        }
        Purpose::Total | Purpose::Head | Purpose::HeadAndTotal => return (vec![Format::Binary], None),
    };
    let fields = &statement.shape.fields;
    let formats = std::iter::repeat_n(Format::Binary, before).chain(fields.iter().map(|field| field.codec.format()));
    let types = std::iter::repeat_n(0, before).chain(fields.iter().map(|field| field.type_oid));
    (formats.collect(), Some(types.collect()))
}

/// What the encoder makes of the rows.
fn program(plan: &Plan<'_>, statements: &Statements<'_>) -> Program {
    if !statements.levels.is_empty() {
        return Program::flat(&statements.levels);
    }
    let returns = |purpose: Purpose| matches!(purpose, Purpose::Rows(_) | Purpose::RowsAndTotal);
    let returning = statements.main.iter().find(|(purpose, _)| returns(*purpose));
    let none = Shape::default();
    let shape = returning.map_or(&none, |(_, statement)| &statement.shape);
    Program::new(shape, target(plan)).stripping(plan.media.is_stripped())
}

fn target(plan: &Plan<'_>) -> Target {
    match (&plan.media, plan.form) {
        (Media::Explain { .. } | Media::Handler(_) | Media::Value(_), _) => Target::Raw,
        (Media::GeoJson, _) => Target::Features,
        (Media::Csv, _) => Target::Csv,
        (_, Form::Value | Form::Nothing) => Target::Value,
        // one of several bare values is an object with a key, as PostgREST has it
        (_, Form::Row) | (Media::Object { .. }, Form::Rows | Form::Values) => Target::Object,
        (Media::Json { .. }, Form::Values) => Target::Values,
        (Media::Json { .. }, Form::Rows) => Target::Array,
    }
}

/// What of the preferences was recognised and has a meaning here (representation §9).
fn applied(plan: &Plan<'_>, preferences: &Preferences<'_>, tx_end_is_theirs: bool) -> Option<String> {
    if plan.explains() {
        return None;
    }
    let action = plan.write.as_ref().map(|write| write.action);
    let has_conflict = plan.write.as_ref().is_some_and(|write| write.conflict.is_some());
    let resolution = preferences.resolution.filter(|_| has_conflict && action == Some(Action::Insert));
    let resolution = resolution.map(|resolution| match resolution {
        Resolution::MergeDuplicates => "resolution=merge-duplicates".to_owned(),
        Resolution::IgnoreDuplicates => "resolution=ignore-duplicates".to_owned(),
    });
    let missing = preferences.missing.filter(|_| matches!(action, Some(Action::Insert | Action::Update)));
    let missing = missing.map(|missing| match missing {
        Missing::Default => "missing=default".to_owned(),
        Missing::Null => "missing=null".to_owned(),
    });
    let returning = preferences.returning.filter(|_| action.is_some()).map(|returning| match returning {
        Returning::Representation => "return=representation".to_owned(),
        Returning::Minimal => "return=minimal".to_owned(),
        Returning::HeadersOnly => "return=headers-only".to_owned(),
    });
    let count = preferences.count.map(|count| match count {
        Count::Exact => "count=exact".to_owned(),
        Count::Planned => "count=planned".to_owned(),
        Count::Estimated => "count=estimated".to_owned(),
    });
    let tx = preferences.tx.filter(|_| tx_end_is_theirs).map(|tx| match tx {
        TxEnd::Commit => "tx=commit".to_owned(),
        TxEnd::Rollback => "tx=rollback".to_owned(),
    });
    let handling = preferences.handling.map(|handling| match handling {
        Handling::Strict => "handling=strict".to_owned(),
        Handling::Lenient => "handling=lenient".to_owned(),
    });
    let timezone = preferences.timezone.map(|zone| format!("timezone={zone}"));
    let most = plan.affected_max.map(|rows| format!("max-affected={rows}"));
    let parts: Vec<String> =
        [resolution, missing, returning, count, tx, handling, timezone, most].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
