//! Tables, views and what else can be read like one.

use crate::code::Runs;
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// Something with columns and rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its OID in `pg_class`.
    pub oid: Oid,
    /// The OID of its row type.
    pub row_type: Oid,
    /// The schema it lies in.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    pub kind: RelationKind,
    /// Its columns in their order, dropped ones left out.
    pub columns: Vec<Column>,
    /// The indexes into `columns`, by the columns' names.
    pub(crate) by_name: Vec<u16>,
    /// The primary key's columns as indexes into `columns`; of a view, those that stand for a table's key.
    pub primary_key: Vec<u16>,
    /// The columns that come first in some index, by their indexes in `columns`.
    pub indexed: Vec<u16>,
    /// Its comment.
    pub comment: Option<Box<str>>,
    /// How large its rows are, in bytes, with values that are kept apart from them: as PostgreSQL last knew, or as its
    /// files say where it never looked; `None` if neither is known.
    pub size_bytes: Option<u64>,
    /// Whether PostgreSQL may know how its values are spread: not of a table that was certainly never analysed.
    pub is_analysed: bool,
    /// Whether policies decide which rows a role sees.
    pub row_security: bool,
    /// Whether rules rewrite what is done to it.
    pub has_rules: bool,
    /// What reading its rows runs.
    pub reading: Runs,
    /// What writing to it runs, which reads it too.
    pub writing: Runs,
    /// Whether rows can be inserted, updated and deleted, privileges apart.
    pub writable: (bool, bool, bool),
}

impl Relation {
    /// The index of a column by its number.
    pub(crate) fn by_number(&self, number: i16) -> Option<u16> {
        self.columns.binary_search_by_key(&number, |column| column.number).ok().map(|at| at as u16)
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<u16> {
        let name_of = |at: &u16| &*self.columns[usize::from(*at)].name;
        let place = self.by_name.binary_search_by(|at| name_of(at).cmp(name)).ok()?;
        Some(self.by_name[place])
    }

    /// Whether a column comes first in some index, and is not all of the primary key, of which one value is one row.
    pub fn has_index_of_many(&self, column: u16) -> bool {
        self.indexed.contains(&column) && *self.primary_key != [column]
    }

    /// Lets columns be found, once all are there.
    pub(crate) fn sort_names(&mut self) {
        self.by_name = (0..self.columns.len() as u16).collect();
        self.by_name
            .sort_unstable_by(|&a, &b| self.columns[usize::from(a)].name.cmp(&self.columns[usize::from(b)].name));
    }
}

/// What a relation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RelationKind {
    Table,
    PartitionedTable,
    View,
    MaterializedView,
    ForeignTable,
}

impl RelationKind {
    /// Whether it is defined by a query.
    pub fn is_view(self) -> bool {
        matches!(self, Self::View | Self::MaterializedView)
    }

    /// Whether reading its rows runs nothing but PostgreSQL's own code, policies apart.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Table | Self::PartitionedTable | Self::MaterializedView)
    }

    pub(crate) fn of(relkind: &[u8]) -> Option<Self> {
        Some(match relkind {
            b"r" => Self::Table,
            b"p" => Self::PartitionedTable,
            b"v" => Self::View,
            b"m" => Self::MaterializedView,
            b"f" => Self::ForeignTable,
            _ => return None,
        })
    }
}

/// A column of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// `attnum`, from 1, with gaps where columns were dropped.
    pub number: i16,
    /// The OID of its type, which may be a domain.
    pub type_oid: Oid,
    /// `NOT NULL`, of the column or of its domain.
    pub not_null: bool,
    /// Whether no row that is read of the relation has null here: a domain, a view, a foreign table or a table that others inherit from may be
    /// declared so, and have one.
    pub never_null: bool,
    /// Its default or that of its domain, or the expression of a generated column, as SQL.
    pub default: Option<Box<str>>,
    /// Whether its value can never be given: generated, or identity *always*.
    pub generated: bool,
    /// Whether it is an identity column.
    pub identity: bool,
    /// What its type was declared with, such as a length, in PostgreSQL's encoding; −1 for nothing.
    pub type_modifier: i32,
    /// Its type with what it was declared with as SQL writes them, such as `public.geometry(Point,4326)`, where the type is
    /// not PostgreSQL's own.
    pub modified_type: Option<Box<str>>,
    /// Its comment.
    pub comment: Option<Box<str>>,
}
