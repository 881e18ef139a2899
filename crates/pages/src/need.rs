//! What a page needs of a query: some columns, each with what is needed of it, or all.

use crate::error::Place;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a page can touch of a query's rows, of an embed's, or of a value.
///
/// That there are rows, how many, and that a row is there needs no column.
#[derive(Clone, Debug, Default)]
pub struct Need {
    /// The names that are read, each with what is needed of it. They are kept beside `whole` too, so that all can be looked up.
    pub columns: BTreeMap<String, Column>,
    /// All columns are needed, and all below them. A column that is no embed is needed as a whole wherever it is named.
    pub whole: Option<Whole>,
    /// All columns are needed if this is one row, as of an embed to one, and no more than `columns` if it is a list of rows: a loop over a
    /// list sees rows, and over one row the names of its columns.
    pub whole_if_one: Option<Whole>,
}

/// A column, an embed, or a member of a JSON value.
#[derive(Clone, Debug)]
pub struct Column {
    /// Where it is named first.
    pub place: Place,
    /// Everywhere where it is meant. It must be there, unless each of these places finds the name in other rows too: a macro may be given
    /// rows of several kinds. What a template only asks for (`"title" in flight`) need not be there.
    pub named: Vec<Arc<Place>>,
    /// Those of them that ask what it is a column of, and no element of that: a list of rows has none.
    pub of_one: Vec<Arc<Place>>,
    /// What is needed of it.
    pub need: Need,
}

/// Why no less than all is needed, and where.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Why.
    pub why: Why,
    /// Where.
    pub place: Place,
}

/// Why no less than all is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It is written as it is, as by `{{ flight }}`.
    Shown,
    /// What is read is named by a value, as by `{{ flight[name] }}`.
    Named,
    /// It is compared with something that may be a row too.
    Compared,
    /// A row's columns are looped over, unpacked, or counted.
    Counted,
    /// It is an operand of what needs all of its operands.
    Computed,
    /// A filter, a test or a function takes it that may look at all of it.
    Taken(String),
    /// Which template is included, imported or extended is known only when the page is made.
    Included,
    /// More is nested within each other than is followed.
    TooDeep,
    /// The templates are more intricate than is followed.
    TooMuch,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Shown => "shown as a whole",
            Why::Named => "a column named by a value",
            Why::Compared => "compared as a whole",
            Why::Counted => "its columns are looped over or counted",
            Why::Computed => "computed with as a whole",
            Why::Taken(name) => return write!(f, "taken by {name}"),
            Why::Included => "a template named by a value",
            Why::TooDeep => "nested too deeply",
            Why::TooMuch => "too intricate",
        })
    }
}
