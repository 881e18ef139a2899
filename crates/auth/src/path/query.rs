//! A path as a tree.

use crate::tree::Value;
use regex::Regex;

#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) from: Origin,
    pub(super) segments: Vec<Segment>,
}

/// Where a query begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// `$`: the claims.
    Root,
    /// `@`: the value that a filter is asked about.
    Current,
}

#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// `..`: of the value and of all that is in it.
    pub(super) is_deep: bool,
    pub(super) selectors: Vec<Selector>,
}

#[derive(Debug, Clone)]
pub(super) enum Selector {
    Name(String),
    Any,
    Index(i64),
    Slice(Slice),
    Filter(Condition),
    /// The older syntax's filter: of an array, the strings that are so.
    Strings(StringTest, String),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: i64,
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Query),
    Compare(Operand, Comparison, Operand),
    Search(Operand, Regex),
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Literal(Value),
    /// A query that leads to one value at most.
    Query(Query),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Equal,
    Differs,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum StringTest {
    Equal,
    Differs,
    Starts,
    Ends,
    Contains,
}

impl Query {
    pub(super) fn member(name: &str) -> Self {
        Self { from: Origin::Root, segments: vec![Segment::of(Selector::Name(name.to_owned()))] }
    }

    /// RFC 9535 §2.3.5.1: one name or index a segment, and nothing deep.
    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            !segment.is_deep && matches!(segment.selectors.as_slice(), [Selector::Name(_) | Selector::Index(_)])
        })
    }
}

impl Segment {
    pub(super) fn of(selector: Selector) -> Self {
        Self { is_deep: false, selectors: vec![selector] }
    }
}
