//! What a statement's rows look like, known before the statement runs.

use crate::oid::{self, Oid};
use std::sync::Arc;

/// The columns of a result, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// One for each column that the statement returns.
    pub fields: Vec<Field>,
}

/// A named value: a column of a row, an attribute of a composite, a key of an embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The key in the result.
    pub name: Arc<str>,
    /// How its bytes are read.
    pub codec: Codec,
    /// The type that PostgreSQL must announce for it, so that a catalog that has fallen behind is found out: for a
    /// column of the result below any domains, for a field of a composite value as it was declared. 0 where that is
    /// not known.
    pub type_oid: Oid,
}

impl Field {
    /// About how much memory it takes, in bytes.
    pub fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.codec.size_bytes()
    }
}

/// Those of a list that are a row's own, each with its place: behind one of a row that is found stand that row's.
pub fn own<T>(list: &[T], codec: impl Fn(&T) -> &Codec) -> impl Iterator<Item = (usize, &T)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let (at, item) = (next, list.get(next)?);
        next += 1 + if let Codec::Found(_, behind) = codec(item) { *behind } else { 0 };
        Some((at, item))
    })
}

/// One of several flat results that are joined here: the deepest comes first, the root last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// All its columns, those included that are only for joining.
    pub shape: Shape,
    /// The members of its objects, in order.
    pub members: Vec<Member>,
    /// The columns whose values say to which outer row a row belongs; none for the root.
    pub link: Vec<usize>,
    /// Whether an outer row has at most one of its rows.
    pub to_one: bool,
}

/// A member of an object of a [`Level`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// The column with this index; its name is the key.
    Column(usize),
    /// The rows of another level.
    Embed {
        /// The key.
        name: Arc<str>,
        /// The index of the level.
        level: usize,
        /// The columns of this level whose values the other's link must equal.
        key: Vec<usize>,
    },
}

/// In which of PostgreSQL's two formats a column travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The type's output form.
    Text,
    /// The type's `send` form.
    Binary,
}

impl Format {
    /// The protocol's code of the format.
    pub fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// How the bytes of a value are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codec {
    /// The value's output form, in text format: a string in JSON.
    Output,
    /// The output form of an integer or a `numeric`: the JSON number itself, unless it is `NaN` or infinite.
    Digits,
    /// The output form of a `boolean`: `t` or `f`.
    Flag,
    /// A row whose columns stand among those of the row around it: the first here, which is null only where there is no such row,
    /// the others in the next so many fields. A first one without a name is none of its columns.
    Found(Box<Field>, usize),
    /// A scalar in binary.
    Scalar(Scalar),
    /// An array in binary, of any number of dimensions.
    Array(Box<Codec>),
    /// A composite value in binary: a column of a row type, or one embedded row.
    Row(Arc<[Field]>),
    /// An array in binary where null stands for no element: an embed to many, whose elements are rows.
    List(Box<Codec>),
    /// An array in binary with a value for each row of an embed to many, whose keys are lifted.
    Values(Box<Codec>),
}

impl Codec {
    /// The format that the column must be asked for in.
    pub fn format(&self) -> Format {
        match self {
            Self::Output | Self::Digits | Self::Flag => Format::Text,
            Self::Found(first, _) => first.codec.format(),
            _ => Format::Binary,
        }
    }

    /// How much memory it takes besides itself, in bytes.
    fn size_bytes(&self) -> usize {
        match self {
            Self::Output | Self::Digits | Self::Flag | Self::Scalar(_) => 0,
            Self::Found(first, _) => first.size_bytes(),
            Self::Array(element) | Self::List(element) | Self::Values(element) => {
                size_of::<Self>() + element.size_bytes()
            }
            Self::Row(fields) => fields.iter().map(Field::size_bytes).sum(),
        }
    }

    /// Whether rows lie within, whose values say one by one of which types they are.
    pub fn holds_rows(&self) -> bool {
        match self {
            Self::Row(_) => true,
            Self::Array(element) | Self::List(element) | Self::Values(element) => element.holds_rows(),
            Self::Found(first, _) => first.codec.holds_rows(),
            Self::Output | Self::Digits | Self::Flag | Self::Scalar(_) => false,
        }
    }

    /// The same values where they stand for those of a row that may not be there: no row is null, and no empty array.
    pub fn lifted(&self) -> Self {
        match self {
            Self::List(element) => Self::Values(element.clone()),
            other => other.clone(),
        }
    }

    /// The same values in text format, where that is cheaper for PostgreSQL to send and as cheap to read: its
    /// `send` functions begin each value with a kilobyte of memory (`bench/runs/2026-11-21-shapes`). Only columns of the result itself can have it;
    /// what lies within a row is binary.
    pub fn as_column(self) -> Self {
        match self {
            Self::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Numeric) => Self::Digits,
            Self::Scalar(Scalar::Bool) => Self::Flag,
            Self::Scalar(Scalar::Text | Scalar::Uuid) => Self::Output,
            Self::Found(mut first, behind) => {
                first.codec = first.codec.as_column();
                Self::Found(first, behind)
            }
            other => other,
        }
    }
}

/// The scalar types that are read in binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scalar {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`
    Numeric,
    /// `text`, `varchar`, `char(n)`, `name` and every enum: the bytes are the value.
    Text,
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// `oid`
    Oid,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `timetz`
    TimeTz,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`, written in the zone that the encoder was given
    TimestampTz,
    /// `interval`
    Interval,
    /// `json`: the bytes are JSON
    Json,
    /// `jsonb`: a version byte, then JSON
    Jsonb,
}

impl Scalar {
    /// The scalar of a built-in type, or `None` where PostgreSQL must write the JSON itself.
    pub fn of(type_oid: Oid) -> Option<Self> {
        Some(match type_oid {
            oid::BOOL => Self::Bool,
            oid::INT2 => Self::Int2,
            oid::INT4 => Self::Int4,
            oid::INT8 => Self::Int8,
            oid::FLOAT4 => Self::Float4,
            oid::FLOAT8 => Self::Float8,
            oid::NUMERIC => Self::Numeric,
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME => Self::Text,
            oid::BYTEA => Self::Bytea,
            oid::UUID => Self::Uuid,
            oid::OID => Self::Oid,
            oid::DATE => Self::Date,
            oid::TIME => Self::Time,
            oid::TIMETZ => Self::TimeTz,
            oid::TIMESTAMP => Self::Timestamp,
            oid::TIMESTAMPTZ => Self::TimestampTz,
            oid::INTERVAL => Self::Interval,
            oid::JSON => Self::Json,
            oid::JSONB => Self::Jsonb,
            _ => return None,
        })
    }
}
