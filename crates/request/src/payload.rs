//! What is known of a body when a request is planned.

use crate::Target;
use crate::content::Raw;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reads rows, or calls a function that reads.
    Read,
    /// POST on a relation.
    Insert,
    /// PATCH on a relation.
    Update,
    /// PUT on a relation.
    Replace,
    /// DELETE on a relation.
    Delete,
    /// POST on a function.
    Call,
}

impl Action {
    /// What a method asks for (url-grammar §1); `None` where it asks for nothing that can be had of the target.
    pub fn of(method: &str, target: Target<'_>) -> Option<Self> {
        Some(match (method, target) {
            ("GET" | "HEAD", _) => Self::Read,
            ("POST", Target::Function(_)) => Self::Call,
            ("POST", Target::Relation(_)) => Self::Insert,
            ("PATCH", Target::Relation(_)) => Self::Update,
            ("PUT", Target::Relation(_)) => Self::Replace,
            ("DELETE", Target::Relation(_)) => Self::Delete,
            _ => return None,
        })
    }

    /// Returns the method of a request with this action.
    pub fn method(self) -> &'static str {
        match self {
            Self::Read => "GET",
            Self::Insert | Self::Call => "POST",
            Self::Update => "PATCH",
            Self::Replace => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it changes the rows of a relation.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Read | Self::Call)
    }
}

/// A body, as far as it decides a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The keys of its rows.
    pub keys: Vec<Key<'a>>,
    /// How many rows it has.
    pub rows: Rows,
    /// True if the body has more than one row.
    pub has_several_rows: bool,
    /// Whether its document is an array.
    pub is_array: bool,
    /// Whether it is one value, which an argument without a name may take.
    pub raw: Option<Raw>,
    /// Whether it is JSON, which an argument without a name may take as a whole.
    pub is_json: bool,
    /// True if all values of the body are texts, as in CSV and in forms.
    pub holds_texts: bool,
    /// The reason why a JSON body has no rows.
    pub no_rows: Option<NoRows>,
    /// The fields of a form that a function is called with.
    pub arguments: Vec<(&'a str, &'a str)>,
}

impl Payload<'_> {
    /// A body of which nothing is known but that it is there.
    pub fn unknown() -> Self {
        Self {
            keys: Vec::new(),
            rows: Rows::None,
            has_several_rows: false,
            is_array: false,
            raw: None,
            is_json: false,
            holds_texts: false,
            no_rows: None,
            arguments: Vec::new(),
        }
    }
}

/// The reason why a JSON body has no rows. Only a function with one unnamed parameter takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRows {
    /// The body is a string, a number, a boolean or null.
    Scalar,
    /// The body is an array whose elements are not objects with the same keys.
    Mixed,
}

/// How many rows a body has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// None.
    None,
    /// One, whose values can be had one by one.
    One,
    /// Any number; they can be had as one JSON document.
    Many,
    /// It could not be read: PostgreSQL has to, or says why it cannot.
    Unread,
    /// Any number, of which more are to come: they can be read one by one.
    Flowing,
}

/// A key of a body's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// The key.
    pub name: &'a str,
    /// Of one row: which of its members has the value; `None` where it has none.
    pub member: Option<usize>,
    /// Of one row: what the value is.
    pub form: Form,
    /// Whether it is there only for who wants it, such as the name of a file.
    pub is_optional: bool,
}

/// What a value in a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON's `null`, or no value.
    Null,
    /// A number, `true` or `false`.
    Scalar,
    /// A string of JSON.
    String {
        /// Whether it has escapes.
        escaped: bool,
    },
    /// An array of JSON.
    Array,
    /// An object of JSON.
    Object,
    /// Text of a form's field.
    Text,
    /// A file.
    File,
}
