//! The media type of the response, and how it is delivered (representation §§1, 4, 12).

use crate::call::Form;
use crate::error::{ErrorKind, PlanError};
use crate::plan::Context;
use crate::read::{From, Read, Value};
use std::borrow::Cow;
use std::cell::LazyCell;
use thalweg_catalog::{Catalog, MediaHandler, Relation, RelationKind, Returns, Type, TypeKind};
use thalweg_request::{Action, ApiRequest, Item, MediaType};
use thalweg_rows::Format;
use thalweg_rows::oid::{self, Oid};

/// What the rows are turned into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media<'a> {
    /// An array of objects, or what a function's result is as JSON.
    Json {
        /// Whether null members are left out.
        stripped: bool,
    },
    /// One object; an error unless there is exactly one row.
    Object {
        /// Whether null members are left out.
        stripped: bool,
    },
    /// Comma-separated values.
    Csv,
    /// A GeoJSON feature collection, of features that PostGIS writes.
    GeoJson,
    /// A value that the database makes.
    Handler(Handler<'a>),
    /// The one value that is selected, as it is.
    Value(OneValue<'a>),
    /// How PostgreSQL would run the statement for another media type.
    Explain {
        /// That media type.
        of: Box<Media<'a>>,
        /// As JSON, not as text.
        json: bool,
        /// EXPLAIN's options, of [`EXPLAIN_OPTIONS`].
        options: Vec<&'static str>,
    },
}

/// The options of EXPLAIN that a request may ask for.
pub const EXPLAIN_OPTIONS: [&str; 5] = ["analyze", "verbose", "settings", "buffers", "wal"];

/// Who makes a value of a media type that is the database's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler<'a> {
    /// The aggregate, and the relation whose rows it takes; `None` where a function's result is the value.
    pub aggregate: Option<(&'a MediaHandler, Option<&'a Relation>)>,
    /// The media type.
    pub content_type: Cow<'a, str>,
    /// The format in which the value is its bytes.
    pub format: Format,
}

/// A value that is sent as it is: of a `bytea` or text column of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneValue<'a> {
    /// The column.
    pub column: &'a str,
    /// Whether it is text.
    pub is_text: bool,
    /// The column that holds the value's media type: it has the column's name with `_type` behind it.
    pub type_column: Option<&'a str>,
    /// The column that holds the value's file name: it has the column's name with `_name` behind it.
    pub name_column: Option<&'a str>,
    /// Whether rows have a place of their own in the relation, and a version.
    pub has_versions: bool,
    /// The media types of which the value's own must be one, such as `image/png` or `image/*`.
    pub accepted: Vec<&'a str>,
}

/// What is sent where nothing tells what it is.
pub const OCTETS: &str = "application/octet-stream";

/// When the head of the response may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as there is a body to send: rows flow.
    Streamed,
    /// When the last row is known: the status depends on it.
    Buffered,
    /// At once: there is no body, only a count of rows.
    HeadOnly,
}

/// What the choice of a media type depends on.
struct Choice<'c, 'a, Find: FnOnce() -> Option<OneValue<'a>>> {
    context: &'c Context<'a>,
    read: &'c Read<'a>,
    /// Whether all columns and nothing else are selected, so that the rows are the relation's.
    is_whole: bool,
    /// The one value that is selected, if it can be sent as it is; looked for once, whatever is accepted.
    value: LazyCell<Option<OneValue<'a>>, Find>,
}

impl<'a> Media<'a> {
    /// The first accepted media type that can be made.
    pub(crate) fn negotiate(
        context: &Context<'a>,
        request: &ApiRequest<'a>,
        read: &Read<'a>,
        form: Form,
    ) -> Result<Self, PlanError> {
        let is_whole = matches!(request.query.select.as_slice(), [Item::All]);
        let choice =
            Choice { context, read, is_whole, value: LazyCell::new(|| selected_value(context, request, read)) };
        let first = request.accept.iter().find_map(|media| choice.make(media).or_else(|| choice.value(request, media)));
        // a function that returns nothing answers nothing, whatever is accepted
        let media = first.or((form == Form::Nothing).then_some(Self::Json { stripped: false }));
        media.ok_or_else(|| {
            let asked: Vec<&str> = request.accept.iter().map(|media| media.text).collect();
            ErrorKind::MediaType(asked.join(", ")).into()
        })
    }

    /// The `Content-Type` of a response.
    pub fn content_type(&self) -> Cow<'a, str> {
        let name = self.name();
        match (self, &*name) {
            (
                Self::Handler(_),
                "application/json" | "application/geo+json" | "text/csv" | "text/plain" | "text/xml",
            ) => {}
            (Self::Handler(_), _) => return name,
            _ => {}
        }
        match self {
            // what most responses have, without an allocation
            Self::Json { stripped: false } => Cow::Borrowed("application/json; charset=utf-8"),
            _ => Cow::Owned(format!("{name}; charset=utf-8")),
        }
    }

    /// The media type with its parameters.
    fn name(&self) -> Cow<'a, str> {
        Cow::Borrowed(match self {
            Self::Json { stripped: false } => "application/json",
            Self::Json { stripped: true } => "application/vnd.pgrst.array+json;nulls=stripped",
            Self::Object { stripped: false } => "application/vnd.pgrst.object+json",
            Self::Object { stripped: true } => "application/vnd.pgrst.object+json;nulls=stripped",
            Self::Csv => "text/csv",
            Self::GeoJson => "application/geo+json",
            Self::Value(_) => OCTETS,
            Self::Handler(handler) => return handler.content_type.clone(),
            Self::Explain { of, json, options } => {
                let suffix = if *json { "json" } else { "text" };
                let options = match options.as_slice() {
                    [] => String::new(),
                    options => format!("; options={}", options.join("|")),
                };
                let text = format!("application/vnd.pgrst.plan+{suffix}; for=\"{}\"{options}", of.name());
                return Cow::Owned(text);
            }
        })
    }

    /// Whether null members are left out.
    pub fn is_stripped(&self) -> bool {
        match self {
            Self::Json { stripped } | Self::Object { stripped } => *stripped,
            Self::Explain { of, .. } => of.is_stripped(),
            Self::Csv | Self::GeoJson | Self::Handler(_) | Self::Value(_) => false,
        }
    }

    /// Whether the database makes one value of all rows.
    pub(crate) fn is_one_value(&self) -> bool {
        matches!(self, Self::Handler(_) | Self::Explain { .. })
    }

    /// The media type whose statement runs.
    pub fn of_statement(&self) -> &Self {
        match self {
            Self::Explain { of, .. } => of,
            other => other,
        }
    }
}

impl<'a, Find: FnOnce() -> Option<OneValue<'a>>> Choice<'_, 'a, Find> {
    fn make(&self, media: &MediaType<'a>) -> Option<Media<'a>> {
        let is_any = |names: &[&str]| names.iter().any(|name| media.is(name));
        let plan_json = is_any(&["application/vnd.pgrst.plan+json"]);
        if plan_json || is_any(&["application/vnd.pgrst.plan", "application/vnd.pgrst.plan+text"]) {
            if !self.context.plans_are_on {
                return None;
            }
            let of = media.parameter("for").unwrap_or("application/json");
            let of = self.of_rows(&MediaType::of(of))?;
            let asked = media.parameter("options").unwrap_or_default();
            let is_asked = |option: &&str| asked.split('|').any(|asked| asked.trim() == *option);
            let options = EXPLAIN_OPTIONS.into_iter().filter(is_asked).collect();
            return Some(Media::Explain { of: Box::new(of), json: plan_json, options });
        }
        self.of_rows(media)
    }

    /// The vendor's own types cannot be taken over by the database; others can.
    fn of_rows(&self, media: &MediaType<'a>) -> Option<Media<'a>> {
        let is_any = |names: [&str; 2]| names.iter().any(|name| media.is(name));
        let stripped = media.parameter("nulls").is_some_and(|value| value.eq_ignore_ascii_case("stripped"));
        if is_any(["application/vnd.pgrst.object", "application/vnd.pgrst.object+json"]) {
            return Some(Media::Object { stripped });
        }
        let is_array = is_any(["application/vnd.pgrst.array", "application/vnd.pgrst.array+json"]);
        if is_array && stripped {
            return Some(Media::Json { stripped });
        }
        let name = if is_array { "application/json" } else { media.name };
        self.handler(name).or_else(|| match name {
            name if name.eq_ignore_ascii_case("application/json") || name == "*/*" => {
                Some(Media::Json { stripped: false })
            }
            name if name.eq_ignore_ascii_case("text/csv") => Some(Media::Csv),
            name if name.eq_ignore_ascii_case("application/geo+json") => Some(Media::GeoJson),
            _ => None,
        })
    }

    /// The one value that is selected of a relation, if it can be of this type.
    fn value(&self, request: &ApiRequest<'a>, media: &MediaType<'a>) -> Option<Media<'a>> {
        let value = self.value.as_ref()?;
        let is_octets = media.is(OCTETS);
        // whatever else is accepted can only be what the value says that it is
        if !is_octets && (value.type_column.is_none() || media.is("*/*")) {
            return None;
        }
        let all: Vec<&str> = request.accept.iter().map(|media| media.name).collect();
        let is_any = all.iter().any(|name| matches!(*name, OCTETS | "*/*"));
        Some(Media::Value(OneValue { accepted: if is_any { Vec::new() } else { all }, ..value.clone() }))
    }

    /// A handler of the relation or function for any type, for this one, or of any rows for this one.
    fn handler(&self, name: &str) -> Option<Media<'a>> {
        let own = self.is_whole.then(|| self.own("*/*").or_else(|| self.own(name))).flatten();
        own.or_else(|| self.aggregate(None, name)).map(Media::Handler)
    }

    fn own(&self, name: &str) -> Option<Handler<'a>> {
        if let From::Call(call) = &self.read.from
            && let Returns::Scalar(domain) = call.function.returns
            && !call.function.returns_set
            && let Some(known) = named(self.context.catalog, domain, name)
        {
            return Some(handler(self.context.catalog, known, None));
        }
        self.aggregate(Some(self.read.from.relation()?), name)
    }

    fn aggregate(&self, of: Option<&'a Relation>, name: &str) -> Option<Handler<'a>> {
        let has_rows = match &self.read.from {
            From::Relation(_) => true,
            From::Call(call) => !matches!(call.function.returns, Returns::Scalar(_) | Returns::Record | Returns::Void),
        };
        let catalog = self.context.catalog;
        catalog.media_handlers().iter().filter(|_| has_rows).find_map(|known| {
            let domain = named(catalog, known.domain, name)?;
            (known.of == of.map(|relation| relation.row_type)).then(|| handler(catalog, domain, Some((known, of))))
        })
    }
}

/// The one value that is selected of a relation, if it is of a type that can be sent as it is.
fn selected_value<'a>(context: &Context<'a>, request: &ApiRequest<'a>, read: &Read<'a>) -> Option<OneValue<'a>> {
    let (From::Relation(relation), Action::Read) = (&read.from, request.action) else { return None };
    let [output] = read.outputs.as_slice() else { return None };
    let Value::Column { column, shown_by: None, cast: None } = &output.value else { return None };
    if !column.path.is_empty() || column.computed.is_some() || output.aggregate.is_some() {
        return None;
    }
    let known = &relation.columns[usize::from(relation.column(column.name)?)];
    let base = context.catalog.base_type(known.type_oid);
    if !matches!(base, oid::BYTEA | oid::TEXT | oid::VARCHAR) {
        return None;
    }
    let beside = |suffix: &str| {
        let at = &relation.columns[usize::from(relation.column(&format!("{}_{suffix}", known.name))?)];
        let base = context.catalog.base_type(at.type_oid);
        matches!(base, oid::TEXT | oid::VARCHAR).then_some(&*at.name)
    };
    Some(OneValue {
        column: &known.name,
        is_text: base != oid::BYTEA,
        type_column: beside("type"),
        name_column: beside("name"),
        has_versions: relation.kind == RelationKind::Table,
        accepted: Vec::new(),
    })
}

/// The domain, if its name is this media type.
fn named<'a>(catalog: &'a Catalog, domain: Oid, name: &str) -> Option<&'a Type> {
    let known = catalog.type_of(domain)?;
    let is_domain = matches!(known.kind, TypeKind::Domain(_));
    (is_domain && known.name.eq_ignore_ascii_case(name)).then_some(known)
}

fn handler<'a>(
    catalog: &Catalog,
    domain: &'a Type,
    aggregate: Option<(&'a MediaHandler, Option<&'a Relation>)>,
) -> Handler<'a> {
    let content_type = match &*domain.name {
        "*/*" => Cow::Borrowed("application/octet-stream"),
        name => Cow::Owned(name.to_ascii_lowercase()),
    };
    let base = match domain.kind {
        TypeKind::Domain(below) => catalog.base_type(below),
        _ => 0,
    };
    let format = if base == oid::BYTEA { Format::Binary } else { Format::Text };
    Handler { aggregate, content_type, format }
}
