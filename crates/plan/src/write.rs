//! What a request writes: which columns, where their values come from, and what is returned (writes §§2–9).

use crate::codec::base_type;
use crate::error::{ErrorKind, PlanError};
use crate::media::Media;
use crate::once_per_key;
use crate::plan::Context;
use crate::read::{Condition, EmbedRead, FunctionName, Output, Read, Value};
use thalweg_catalog::{Column, Link, Relation, RelationKind, Runs, TypeKind};
use thalweg_request::{
    Action, ApiRequest, Comparison, Form, Key, Missing, Operation, Payload, Resolution, Returning, Rows,
};
use thalweg_rows::oid::{self, Oid};

/// A change of a relation's rows.
#[derive(Debug)]
pub struct Write<'a> {
    /// What is done.
    pub action: Action,
    /// The relation.
    pub relation: &'a Relation,
    /// The columns that are written to.
    pub columns: Vec<WrittenColumn<'a>>,
    /// Where their values come from.
    pub source: Source,
    /// Which rows are updated or deleted.
    pub conditions: Vec<Condition<'a>>,
    /// The key that the URL of a PUT names: columns and their values.
    pub key: Vec<(&'a str, &'a str)>,
    /// What becomes of rows that are there already.
    pub conflict: Option<Conflict<'a>>,
    /// What is returned.
    pub returned: Returned<'a>,
}

/// A column that is written to.
#[derive(Debug)]
pub struct WrittenColumn<'a> {
    /// The column.
    pub column: &'a Column,
    /// The schema and name of its type, as far as the catalog knows it.
    pub type_name: Option<(&'a str, &'a str)>,
    /// The function that reads its JSON, where its domain has one of its own.
    pub read_by: Option<&'a FunctionName>,
    /// True if PostgreSQL reads the column's JSON from a document in which it is the text of a string, since the body is
    /// CSV or a form.
    pub is_json_in_string: bool,
}

/// Where the values that are written come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// There are no rows, or no columns of an update.
    Nothing,
    /// One row of defaults.
    Defaults,
    /// One row, each value a parameter.
    Values(Vec<Bound>),
    /// The body is one JSON document, which PostgreSQL reads.
    Document(Document),
    /// The rows are sent by COPY; what becomes of each column's values.
    Copy(Vec<CopyKind>),
}

/// A JSON document that PostgreSQL reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document {
    /// Whether it is an array.
    pub is_array: bool,
    /// Whether missing keys stand for the column's default.
    pub fills_defaults: bool,
    /// Whether it is read by the relation's row type, since the type of some column has no name here.
    pub by_row_type: bool,
}

/// A value of the body that is a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Which of the body's members.
    pub member: usize,
    /// In which form.
    pub render: Render,
}

/// The form in which a value of the body becomes a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Render {
    /// NULL
    Null,
    /// What a string says; of anything else its JSON.
    Text,
    /// Its JSON.
    Json,
    /// Its bytes.
    Bytes,
}

/// What becomes of the values of a column on their way into a COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// The type has a text form of its own.
    Text,
    /// `json` or `jsonb`.
    Json,
    /// An array of values with a text form of their own.
    Array,
}

/// What becomes of rows that are there already.
#[derive(Debug)]
pub struct Conflict<'a> {
    /// The columns that decide what is a conflict.
    pub target: Vec<&'a str>,
    /// Whether the row is updated, not skipped.
    pub merges: bool,
    /// Whether it must be known how many rows were updated.
    pub counts: bool,
}

/// What a write returns.
#[derive(Debug, PartialEq, Eq)]
pub enum Returned<'a> {
    /// Nothing: no column is named.
    Nothing,
    /// The values of a key, if these columns have one, as text. Whatever else is selected must be readable.
    Key(Vec<&'a str>),
    /// The outputs, by the statement that writes.
    Direct,
    /// The outputs, of these columns of the rows that were written; of all columns where it is `None`.
    Through(Option<Vec<&'a str>>),
    /// The outputs, by a statement of its own: the statement that writes may change what is embedded.
    Afterwards(Vec<ReturnedColumn<'a>>),
}

impl Returned<'_> {
    /// Returns true if the rows that were written are returned.
    pub fn has_rows(&self) -> bool {
        match self {
            Self::Nothing | Self::Key(_) => false,
            Self::Direct | Self::Through(_) | Self::Afterwards(_) => true,
        }
    }
}

/// A column that is stored for the statement that returns the rows.
#[derive(Debug, PartialEq, Eq)]
pub struct ReturnedColumn<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The schema and name of the column's type.
    pub type_name: (&'a str, &'a str),
    /// True for a date or a moment, whose text depends on `DateStyle`.
    pub is_moment: bool,
}

/// Resolves what a request writes. `conditions` are those of the root.
pub(crate) fn write<'a>(
    context: &Context<'a>,
    (request, payload): (&'a ApiRequest<'a>, Option<&'a Payload<'a>>),
    relation: &'a Relation,
    conditions: Vec<Condition<'a>>,
) -> Result<Write<'a>, PlanError> {
    let action = request.action;
    let takes_one = matches!(action, Action::Update | Action::Replace);
    if takes_one && payload.is_some_and(|payload| payload.has_several_rows) {
        return Err(ErrorKind::SeveralRows(action).into());
    }
    if let Some(no_rows) = payload.and_then(|payload| payload.no_rows) {
        return Err(ErrorKind::NoRows(no_rows).into());
    }
    let key = if action == Action::Replace { url_key(request, relation)? } else { Vec::new() };
    let mut keys = request.keys(payload);
    keys.retain(|key| !key.is_optional || relation.column(key.name).is_some());
    let mut columns = keys.iter().map(|key| written(context, relation, key)).collect::<Result<Vec<_>, _>>()?;
    let conflict = conflict(request, relation, &columns);
    let source = payload.map_or(Source::Nothing, |payload| source(context, request, payload, &keys, &columns));
    if matches!(source, Source::Document(_)) && payload.is_some_and(|payload| payload.holds_texts) {
        for written in &mut columns {
            written.is_json_in_string = matches!(class(context, written.column.type_oid), Class::Json { .. });
        }
    }
    Ok(Write { action, relation, columns, source, conditions, key, conflict, returned: Returned::Nothing })
}

impl<'a> Write<'a> {
    /// Chooses how rows are returned, once it is known what of them, and whether they can be sent by COPY.
    pub(crate) fn settle(
        &mut self,
        context: &Context<'a>,
        (request, payload): (&ApiRequest<'a>, Option<&Payload<'a>>),
        read: &Read<'a>,
        media: &Media<'a>,
    ) {
        self.returned = match request.preferences.returning {
            None | Some(Returning::Minimal) => Returned::Nothing,
            Some(Returning::HeadersOnly) => {
                let key = if self.action == Action::Insert { self.relation.primary_key.as_slice() } else { &[] };
                Returned::Key(key.iter().map(|&at| &*self.relation.columns[usize::from(at)].name).collect())
            }
            Some(Returning::Representation) => {
                let plain = read.embeds.is_empty() && read.order.is_empty() && !read.is_grouped();
                let plain = plain && !self.may_change(read);
                match media.of_statement() {
                    Media::Json { .. } | Media::Object { .. } | Media::Csv if plain => Returned::Direct,
                    _ => self.returned_with_embeds(context, read, media),
                }
            }
        };
        // a plan is no COPY's, and what must be checked is no bulk
        let is_bulk = !matches!(media, Media::Explain { .. } | Media::Object { .. });
        let rows = payload.map(|payload| payload.rows);
        if self.action == Action::Insert
            && self.conflict.is_none()
            && self.returned == Returned::Nothing
            && is_bulk
            && matches!(self.source, Source::Document(Document { fills_defaults: false, .. }))
            && matches!(rows, Some(Rows::Many | Rows::Flowing))
            && let Some(kinds) = self.copied(context)
        {
            self.source = Source::Copy(kinds);
        }
    }

    /// Chooses how rows are returned with what is embedded in them. One statement sees other rows as they were when it
    /// began. If it may change rows that it embeds, another statement returns them.
    fn returned_with_embeds(&self, context: &Context<'a>, read: &Read<'a>, media: &Media<'a>) -> Returned<'a> {
        let columns = match media.of_statement() {
            Media::Handler(_) => None,
            _ => once_per_key::columns(read),
        };
        if matches!(media, Media::Explain { .. }) || !self.may_change(read) {
            return Returned::Through(columns);
        }
        let all = || self.relation.columns.iter().map(|column| &*column.name).collect();
        let stored = |name: &'a str| {
            let column = &self.relation.columns[usize::from(self.relation.column(name)?)];
            let type_oid = column.type_oid;
            let is_moment = is_moment(base_type(context, type_oid));
            let type_name = type_name(context, type_oid).filter(|_| self.is_storable(context, type_oid))?;
            Some(ReturnedColumn { name, type_name, is_moment })
        };
        let names: Vec<&'a str> = columns.clone().unwrap_or_else(all);
        let stored: Option<Vec<_>> = names.into_iter().map(stored).collect();
        stored.map_or(Returned::Through(columns), Returned::Afterwards)
    }

    /// Returns true if a value of a type is stored as text and read again as the same value: the type is PostgreSQL's own
    /// or one of the relation's schema, which the role may use, and no setting or lookup decides what its text means.
    fn is_storable(&self, context: &Context<'_>, type_oid: Oid) -> bool {
        let Some(known) = context.catalog.type_of(type_oid) else { return false };
        let is_own = known.schema == self.relation.schema;
        match &known.kind {
            TypeKind::Enum(_) => is_own,
            TypeKind::Domain(base) => is_own && self.is_storable(context, *base),
            TypeKind::Array(element) => !is_moment(*element) && self.is_storable(context, *element),
            TypeKind::Composite(attributes) => {
                let is_kept = |type_oid| !is_moment(type_oid) && self.is_storable(context, type_oid);
                is_own && attributes.iter().all(|attribute| is_kept(attribute.type_oid))
            }
            TypeKind::Base | TypeKind::Range | TypeKind::Multirange => is_storable_base(type_oid),
        }
    }

    /// Returns true if the write may change what embeds and computed columns find: by triggers and rules, since an embed
    /// reads the same relation, or by foreign keys that follow an update. A deletion returns what it deletes.
    fn may_change(&self, read: &Read<'a>) -> bool {
        let is_computed = |output: &Output<'_>| match &output.value {
            Value::Column { column, .. } => column.computed.is_some(),
            Value::Row | Value::Scalar | Value::Embed(_) | Value::Found(..) | Value::Lifted(..) => false,
        };
        // PostgreSQL executes rules in no statement with others, and computed columns alone need no other.
        let has_computed = !self.relation.has_rules && read.outputs.iter().any(is_computed);
        let looks_elsewhere = !read.embeds.is_empty() || has_computed;
        let is_written = |relation: &Relation| {
            relation.oid == self.relation.oid || relation.kind.is_view() || self.relation.kind.is_view()
        };
        let updates = self.action != Action::Insert || self.conflict.is_some();
        let is_cascaded = |embed: &EmbedRead<'a>| match &embed.relationship.link {
            Link::Key(key) => updates && key.columns.iter().any(|&(column, _)| self.writes(embed.origin, column)),
            Link::Junction { near, .. } => updates && near.columns.iter().any(|&(at, _)| self.writes(embed.origin, at)),
            Link::Function { .. } => true,
        };
        let reads_written = |embed: &EmbedRead<'a>| {
            is_written(embed.target) || embed.junction.is_some_and(is_written) || is_cascaded(embed)
        };
        self.action != Action::Delete
            && looks_elsewhere
            && (self.relation.writing == Runs::Anything || any_embed(&read.embeds, &reads_written))
    }

    /// Returns true if a column of a relation is written.
    fn writes(&self, relation: &Relation, column: u16) -> bool {
        let name = &relation.columns[usize::from(column)].name;
        relation.oid == self.relation.oid && self.columns.iter().any(|written| written.column.name == *name)
    }

    /// What becomes of each column's values in a COPY, if the relation allows one (DESIGN.md, decision 5).
    fn copied(&self, context: &Context<'_>) -> Option<Vec<CopyKind>> {
        let relation = self.relation;
        let is_table = matches!(relation.kind, RelationKind::Table | RelationKind::PartitionedTable);
        if !is_table || relation.row_security || relation.has_rules || self.columns.is_empty() {
            return None;
        }
        self.columns
            .iter()
            .map(|written| match class(context, written.column.type_oid) {
                _ if written.column.generated || written.read_by.is_some() => None,
                Class::Plain | Class::Bytes => Some(CopyKind::Text),
                Class::Json { .. } => Some(CopyKind::Json),
                Class::Array { of_plain: true } => Some(CopyKind::Array),
                Class::Array { of_plain: false } | Class::Composite | Class::Unknown => None,
            })
            .collect()
    }
}

/// Returns true if the text of a type's values depends on `DateStyle`.
fn is_moment(type_oid: Oid) -> bool {
    matches!(type_oid, oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ)
}

/// Returns true for the types of PostgreSQL's own whose text is read again as the same value.
fn is_storable_base(type_oid: Oid) -> bool {
    let is_number = matches!(
        type_oid,
        oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8 | oid::BOOL | oid::OID
    );
    let is_text = matches!(
        type_oid,
        oid::BIT | oid::VARBIT | oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::BYTEA | oid::UUID
    );
    let is_time = matches!(type_oid, oid::TIME | oid::TIMETZ | oid::INTERVAL);
    is_number || is_text || is_time || is_moment(type_oid) || matches!(type_oid, oid::JSON | oid::JSONB)
}

/// Returns true if a condition is true of an embed at any level.
fn any_embed<'a>(embeds: &[EmbedRead<'a>], condition: &dyn Fn(&EmbedRead<'a>) -> bool) -> bool {
    embeds.iter().any(|embed| condition(embed) || any_embed(&embed.read.embeds, condition))
}

/// The key that a PUT's URL names (url-grammar §8).
fn url_key<'a>(request: &'a ApiRequest<'a>, relation: &Relation) -> Result<Vec<(&'a str, &'a str)>, PlanError> {
    let query = &request.query;
    let names = relation.primary_key.iter().map(|&at| &relation.columns[usize::from(at)].name);
    let mut key = Vec::new();
    for at in &query.filters {
        let filter = &at.what;
        match &filter.operation {
            Operation::Compare { operator: Comparison::Eq, quantifier: None, value }
                if at.path.is_empty() && filter.field.path.is_empty() && !filter.negated =>
            {
                key.push((&*filter.field.name, &**value));
            }
            _ => return Err(ErrorKind::KeyOfPut.into()),
        }
    }
    let is_whole = names.clone().all(|name| key.iter().any(|(known, _)| **known == **name));
    let is_key = key.iter().all(|(known, _)| names.clone().any(|name| **known == **name));
    if key.is_empty() || !is_whole || !is_key || !query.trees.is_empty() {
        return Err(ErrorKind::KeyOfPut.into());
    }
    Ok(key)
}

fn written<'a>(context: &Context<'a>, relation: &'a Relation, key: &Key<'_>) -> Result<WrittenColumn<'a>, PlanError> {
    let at = relation
        .column(key.name)
        .ok_or_else(|| ErrorKind::PayloadColumn { column: key.name.to_owned(), relation: relation.name.to_string() })?;
    let column = &relation.columns[usize::from(at)];
    let read_by = context.catalog.representation(column.type_oid).and_then(|known| known.from_json.as_ref());
    let type_name = type_name(context, column.type_oid);
    Ok(WrittenColumn { column, type_name, read_by, is_json_in_string: false })
}

/// The schema and name of a type.
pub(crate) fn type_name<'a>(context: &Context<'a>, type_oid: Oid) -> Option<(&'a str, &'a str)> {
    if let Some(known) = context.catalog.type_of(type_oid) {
        return Some((&known.schema, &known.name));
    }
    let relation = context.catalog.relation(context.catalog.of_row_type(type_oid)?);
    Some((&relation.schema, &relation.name))
}

fn conflict<'a>(
    request: &'a ApiRequest<'a>,
    relation: &'a Relation,
    columns: &[WrittenColumn<'_>],
) -> Option<Conflict<'a>> {
    let key = || relation.primary_key.iter().map(|&at| &*relation.columns[usize::from(at)].name).collect();
    match request.action {
        Action::Insert => {
            let resolution = request.preferences.resolution?;
            let target: Vec<&str> = match &request.query.on_conflict {
                Some(names) => names.iter().map(|name| &**name).collect(),
                None => key(),
            };
            if target.is_empty() {
                return None;
            }
            let merges = resolution == Resolution::MergeDuplicates && !columns.is_empty();
            Some(Conflict { target, merges, counts: resolution == Resolution::MergeDuplicates })
        }
        Action::Replace => {
            let counts = request.preferences.returning == Some(Returning::Representation);
            Some(Conflict { target: key(), merges: true, counts })
        }
        _ => None,
    }
}

fn source(
    context: &Context<'_>,
    request: &ApiRequest<'_>,
    payload: &Payload<'_>,
    keys: &[Key<'_>],
    columns: &[WrittenColumn<'_>],
) -> Source {
    let is_insert = matches!(request.action, Action::Insert | Action::Replace);
    // even where no key can be missing: then the body still goes through `jsonb`, and values come out as that writes them
    let fills_defaults = request.preferences.missing == Some(Missing::Default) && request.action != Action::Replace;
    let by_row_type = columns.iter().any(|written| written.type_name.is_none());
    let document = Document { is_array: payload.is_array, fills_defaults, by_row_type };
    match payload.rows {
        Rows::None => Source::Nothing,
        _ if columns.is_empty() && !is_insert => Source::Nothing,
        Rows::One if columns.is_empty() => Source::Defaults,
        Rows::One if !fills_defaults => {
            let bound = keys.iter().zip(columns).map(|(key, written)| {
                let class = if written.read_by.is_some() || by_row_type && request.action == Action::Replace {
                    Class::Unknown
                } else {
                    class(context, written.column.type_oid)
                };
                bound(key, class)
            });
            bound.collect::<Option<_>>().map_or(Source::Document(document), Source::Values)
        }
        _ => Source::Document(document),
    }
}

/// What a type is to JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It has a text form of its own.
    Plain,
    /// `bytea`, which is like that, and whose values can be any bytes.
    Bytes,
    /// JSON itself.
    Json {
        /// `jsonb`
        binary: bool,
    },
    /// An array.
    Array {
        /// Of values with a text form of their own.
        of_plain: bool,
    },
    /// A composite type.
    Composite,
    /// The catalog does not know it.
    Unknown,
}

pub(crate) fn class(context: &Context<'_>, type_oid: Oid) -> Class {
    let base = base_type(context, type_oid);
    match (base, context.catalog.type_of(base).map(|known| &known.kind)) {
        (oid::JSON, _) => Class::Json { binary: false },
        (oid::JSONB, _) => Class::Json { binary: true },
        (oid::BYTEA, _) => Class::Bytes,
        // the separator of their elements is no comma
        (_, Some(TypeKind::Array(oid::BOX))) => Class::Array { of_plain: false },
        (_, Some(TypeKind::Array(element))) => {
            Class::Array { of_plain: matches!(class(context, *element), Class::Plain | Class::Bytes) }
        }
        (_, Some(TypeKind::Composite(_))) => Class::Composite,
        (_, Some(TypeKind::Base | TypeKind::Range | TypeKind::Multirange | TypeKind::Enum(_))) => Class::Plain,
        (_, Some(TypeKind::Domain(_)) | None) => Class::Unknown,
    }
}

/// A value as a parameter, if it can be one without PostgreSQL's reading of JSON.
pub(crate) fn bound(key: &Key<'_>, class: Class) -> Option<Bound> {
    let render = match (key.form, class) {
        (_, Class::Unknown) => return None,
        (Form::Null, _) => Render::Null,
        (Form::File, Class::Bytes) => Render::Bytes,
        (Form::File | Form::Text, _) => Render::Text,
        // `json` keeps its text, and PostgreSQL writes that anew for strings
        (Form::String { escaped: true }, Class::Json { binary: false }) => return None,
        (_, Class::Json { .. }) => Render::Json,
        (Form::String { .. }, _) | (_, Class::Plain | Class::Bytes) => Render::Text,
        (Form::Scalar | Form::Array | Form::Object, Class::Array { .. } | Class::Composite) => return None,
    };
    Some(Bound { member: key.member.unwrap_or_default(), render })
}
