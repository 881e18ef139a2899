//! One level of a read, resolved: what it selects, filters and orders, and the levels below it.

use crate::abridge::Abridged;
use crate::call::Call;
use std::sync::Arc;
use thalweg_catalog::{Function, Relation, Relationship};
use thalweg_request::{Aggregate, Direction, Filter, JsonStep, Nulls};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Codec, Field as ShapeField, Scalar, own};

/// The rows of one relation or call, with what is embedded in them.
#[derive(Debug)]
pub struct Read<'a> {
    /// Where the rows come from.
    pub from: From<'a>,
    /// What is returned of each.
    pub outputs: Vec<Output<'a>>,
    /// What each must satisfy.
    pub conditions: Vec<Condition<'a>>,
    /// Their order.
    pub order: Vec<Order<'a>>,
    /// How many are passed over.
    pub offset_rows: Option<i64>,
    /// How many are returned at most.
    pub limit_rows: Option<i64>,
    /// True if that is `db-max-rows`, and not a limit of the request's own.
    pub is_capped: bool,
    /// Whether that stands in the statement itself: of a parameter PostgreSQL takes it for a tenth of the rows, once it no longer plans
    /// for each value.
    pub limit_is_fixed: bool,
    /// What is embedded, whether it is returned or not.
    pub embeds: Vec<EmbedRead<'a>>,
    /// Where the rows are found first, and kept by the statement while what is embedded in them is found: the columns
    /// that it keeps.
    pub found_first: Option<Vec<&'a str>>,
    /// Where PostgreSQL would find all rows before it returns the first, since it knows nothing of their table, and an index
    /// has them one by one: which of them are wanted.
    pub streamed: Option<Streamed>,
    /// Whether rows behind the middle of all are found from the last on. The statement that returns them counts them all.
    pub from_end: bool,
}

/// Which rows of a table that was never analysed are to come one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// All, in the order of the primary key.
    InOrder,
    /// The first ones that satisfy a condition.
    First,
}

/// Where the rows of a level come from.
#[derive(Debug)]
pub enum From<'a> {
    /// A relation, or a function that stands for a relationship to it.
    Relation(&'a Relation),
    /// A function that the request calls.
    Call(Call<'a>),
}

impl<'a> From<'a> {
    /// The name by which the rows go in SQL.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Relation(relation) => &relation.name,
            Self::Call(call) => &call.function.name,
        }
    }

    /// The relation whose rows these are.
    pub fn relation(&self) -> Option<&'a Relation> {
        match self {
            Self::Relation(relation) => Some(relation),
            Self::Call(call) => call.relation,
        }
    }
}

impl Read<'_> {
    /// Whether some output is an aggregate, so that the others group.
    pub fn is_grouped(&self) -> bool {
        self.outputs.iter().any(|output| output.aggregate.is_some())
    }

    /// Whether the catalog knows every column that is named, here and below.
    pub fn knows_all_columns(&self) -> bool {
        self.knows_its_columns() && self.embeds.iter().all(|embed| embed.read.knows_all_columns())
    }

    /// A column of a relation that is filtered or ordered by, here or below, and that the catalog does not know.
    pub fn unknown_column(&self) -> Option<&str> {
        fn within<'r>(condition: &'r Condition<'_>) -> Option<&'r str> {
            match condition {
                Condition::Filter { column, .. } => Some(column.name).filter(|_| !column.known),
                Condition::Found(..) => None,
                Condition::Group { children, .. } => children.iter().find_map(within),
            }
        }
        let own = || {
            let ordered_by = self.order.iter().find_map(|term| match &term.key {
                OrderKey::Column(column) if !column.known => Some(column.name),
                OrderKey::Column(_) | OrderKey::Related(..) | OrderKey::Unselected(..) => None,
            });
            self.conditions.iter().find_map(within).or(ordered_by)
        };
        // what a function returns may be known to the database only
        let own = self.from.relation().and_then(|_| own());
        own.or_else(|| self.embeds.iter().find_map(|embed| embed.read.unknown_column()))
    }

    /// A column of a relation that is selected, here or below, and that the catalog does not know, nor is it one of those that PostgreSQL
    /// has of its own, which takes `count` for `count(row)`.
    pub fn unknown_output(&self) -> Option<&str> {
        const OWN: [&str; 7] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "count"];
        let own = self.outputs.iter().find_map(|output| match &output.value {
            Value::Column { column, .. } if !column.known && !OWN.contains(&column.name) => Some(column.name),
            _ => None,
        });
        let own = self.from.relation().and(own);
        own.or_else(|| self.embeds.iter().find_map(|embed| embed.read.unknown_output()))
    }

    /// What is ordered by of an embed, here or below, that the embed does not select.
    pub fn unselected_column(&self) -> Option<&str> {
        let own = self.order.iter().find_map(|term| match term.key {
            OrderKey::Unselected(_, name) => Some(name),
            OrderKey::Column(_) | OrderKey::Related(..) => None,
        });
        own.or_else(|| self.embeds.iter().find_map(|embed| embed.read.unselected_column()))
    }

    /// The outputs but for those that are columns of another row ([`Codec::Found`]).
    pub fn own_outputs(&self) -> impl Iterator<Item = &Output<'_>> {
        own(&self.outputs, |output| &output.codec).map(|(_, output)| output)
    }

    /// Whether the catalog knows every column that this level names. What it does not know may be an aggregate: PostgreSQL
    /// takes `album.count` for `count(album)`, which counts the rows of one outer row only where they are found for it.
    pub(crate) fn knows_its_columns(&self) -> bool {
        fn within(condition: &Condition<'_>) -> bool {
            match condition {
                Condition::Filter { column, .. } => column.known,
                Condition::Found(..) => true,
                Condition::Group { children, .. } => children.iter().all(within),
            }
        }
        self.outputs.iter().all(|output| !matches!(&output.value, Value::Column { column, .. } if !column.known))
            && self.conditions.iter().all(within)
            && self.order.iter().all(|term| !matches!(&term.key, OrderKey::Column(column) if !column.known))
    }
}

/// A value that a level returns.
#[derive(Debug)]
pub struct Output<'a> {
    /// Its key.
    pub key: Arc<str>,
    /// Where it comes from.
    pub value: Value<'a>,
    /// The aggregate that is made of it over the rows of a group, and a cast of the result.
    pub aggregate: Option<(Aggregate, Option<&'a str>)>,
    /// How it travels.
    pub codec: Codec,
    /// Whether PostgreSQL writes its JSON.
    pub to_json: bool,
    /// Whether null members are taken out of its JSON.
    pub stripped: bool,
    /// What comes in its place for people who look at it.
    pub abridged: Option<Abridged>,
    /// The type it is declared as; 0 where that is not known.
    pub type_oid: Oid,
    /// The type below any domains, which PostgreSQL announces for a column of a result.
    pub base_oid: Oid,
}

impl Output<'_> {
    /// What a shape says of it within a row.
    pub(crate) fn field(&self) -> ShapeField {
        ShapeField { name: self.key.clone(), codec: self.codec.clone(), type_oid: self.type_oid }
    }

    /// What a shape says of it as a column of a result.
    pub fn column(&self) -> ShapeField {
        ShapeField { name: self.key.clone(), codec: self.codec.clone().as_column(), type_oid: self.base_oid }
    }
}

/// A function by its schema and name.
pub type FunctionName = (Arc<str>, Arc<str>);

/// Where a value comes from.
#[derive(Debug)]
pub enum Value<'a> {
    /// A column or computed field.
    Column {
        /// Which one.
        column: ColumnRef<'a>,
        /// The function that makes its JSON, where its domain has one of its own.
        shown_by: Option<&'a FunctionName>,
        /// A type it is cast to.
        cast: Option<&'a str>,
    },
    /// The row itself, for counting.
    Row,
    /// What a function returns, where that is no row.
    Scalar,
    /// The embed with this index, as one value.
    Embed(usize),
    /// Whether a row is found for the embed with this index: the output of it that is never null, or else `t`.
    Found(usize, Option<usize>),
    /// An output of an embed whose keys are lifted: the embed's index and the output's.
    Lifted(usize, usize),
}

/// A column and the path into it.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// The function that computes it, where it is no column, and the relation whose rows it takes.
    pub computed: Option<(&'a Function, &'a Relation)>,
    /// The steps into its value.
    pub path: &'a [JsonStep<'a>],
    /// Whether it must become `jsonb` before the steps.
    pub via_jsonb: bool,
    /// Whether the catalog knows it. What it does not know is the database's to find or to refuse.
    pub known: bool,
}

impl ColumnRef<'_> {
    /// The place of the column among the relation's, where it is one and taken as it is.
    pub(crate) fn place_in(&self, relation: &Relation) -> Option<u16> {
        relation.column(self.name).filter(|_| self.computed.is_none() && self.path.is_empty())
    }
}

/// What a row must satisfy.
#[derive(Debug)]
pub enum Condition<'a> {
    /// A comparison.
    Filter {
        /// What is compared.
        column: ColumnRef<'a>,
        /// How.
        filter: &'a Filter<'a>,
        /// Whether the column must be turned into a `tsvector` for a full-text search.
        to_tsvector: bool,
        /// The function that reads the value, where the column's domain has one of its own.
        read_by: Option<&'a FunctionName>,
        /// The kind of range that must contain the value.
        contained_in: Option<RangeKind>,
        /// A comparison that every value satisfies, with which PostgreSQL expects few rows where it knows nothing.
        other_bound: Option<&'static str>,
    },
    /// Whether the embed with this index finds a row, or none.
    Found(usize, bool),
    /// Conditions joined.
    Group {
        /// `not`
        negated: bool,
        /// `and`, not `or`.
        all: bool,
        /// What is joined.
        children: Vec<Condition<'a>>,
    },
}

/// A kind of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeKind {
    /// A range.
    Range,
    /// A multirange.
    Multirange,
}

/// One term of an order.
#[derive(Debug)]
pub struct Order<'a> {
    /// What is ordered by.
    pub key: OrderKey<'a>,
    /// The direction.
    pub direction: Option<Direction>,
    /// Where nulls go.
    pub nulls: Option<Nulls>,
}

/// What is ordered by.
#[derive(Debug)]
pub enum OrderKey<'a> {
    /// A column of the level.
    Column(ColumnRef<'a>),
    /// An output of a to-one embed: the embed's index, the output's, and a path into it.
    Related(usize, usize, &'a [JsonStep<'a>]),
    /// What a to-one embed does not select, by the embed's index and the name: the database's to refuse.
    Unselected(usize, &'a str),
}

/// How the rows of an embed are fetched. What each costs is measured in `bench/runs/2026-11-21-embeds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// For each outer row.
    PerRow,
    /// Once for all outer rows, grouped by the key that links them, and joined by PostgreSQL.
    OncePerKey,
    /// All of them, by a statement of their own, and joined by Thalweg.
    Flat,
}

/// A level below another.
#[derive(Debug)]
pub struct EmbedRead<'a> {
    /// How it is joined.
    pub relationship: &'a Relationship,
    /// Where the relationship starts.
    pub origin: &'a Relation,
    /// Where it leads.
    pub target: &'a Relation,
    /// The relation between, for many-to-many.
    pub junction: Option<&'a Relation>,
    /// Whether outer rows without related ones go.
    pub inner: bool,
    /// Whether its keys are lifted into the outer row.
    pub spread: bool,
    /// Whether PostgreSQL writes its JSON, here and below.
    pub as_json: bool,
    /// How its rows are fetched.
    pub fetch: Fetch,
    /// Whether its rows are found by the key that links them where they are found for each outer row, although PostgreSQL may
    /// think that something else finds as few; of to-one embeds where the outer rows are found so.
    pub by_link: bool,
    /// The level itself.
    pub read: Read<'a>,
}

impl EmbedRead<'_> {
    /// How it travels as one value.
    pub(crate) fn codec(&self) -> Codec {
        let row = Codec::Row(self.read.outputs.iter().map(Output::field).collect());
        match (self.as_json, self.is_to_one()) {
            (true, _) => Codec::Scalar(Scalar::Jsonb),
            (false, true) => row,
            (false, false) => Codec::List(Box::new(row)),
        }
    }

    /// Whether at most one row is related.
    pub fn is_to_one(&self) -> bool {
        self.relationship.cardinality.is_to_one()
    }
}
