//! Which function a call means, and what it is given (functions §§2, 4).

use crate::columns::Columns;
use crate::error::{ErrorKind, PlanError};
use crate::plan::Context;
use crate::write::{Bound, Class, bound, class, type_name};
use std::collections::{HashMap, HashSet};
use thalweg_catalog::{Catalog, Function, Parameter, Relation, Returns, TypeKind};
use thalweg_request::{ApiRequest, KnownParameter, Params, Payload, Raw, Rows};
use thalweg_rows::oid::{self, Oid};

/// A call of a function.
#[derive(Debug)]
pub struct Call<'a> {
    /// The function.
    pub function: &'a Function,
    /// What it is given, each by name.
    pub arguments: Vec<Argument<'a>>,
    /// The relation whose rows it returns, if it is one of the function's schema.
    pub relation: Option<&'a Relation>,
}

/// An argument of a call.
#[derive(Debug)]
pub struct Argument<'a> {
    /// The parameter's name; empty where it has none and takes the whole body.
    pub name: &'a str,
    /// The schema of the parameter's type.
    pub type_schema: &'a str,
    /// The name of the parameter's type.
    pub type_name: &'a str,
    /// Whether it takes the rest of the arguments.
    pub variadic: bool,
    /// What it is given.
    pub given: Given<'a>,
}

/// What an argument is given.
#[derive(Debug, PartialEq, Eq)]
pub enum Given<'a> {
    /// Text of the request's; one, unless the parameter is variadic.
    Texts(Vec<&'a str>),
    /// A value of the body.
    Bound(Bound),
    /// A value of the body, which is a JSON document that PostgreSQL reads.
    Document {
        /// Whether it is an array, whose first element counts.
        is_array: bool,
        /// True if the value is JSON that is the text of a string in the document, since the body is CSV.
        is_json_in_string: bool,
    },
    /// The whole body.
    Body,
    /// The bytes of the whole body, which comes as text: `bytea` would read escapes in it.
    BytesOfBody,
}

/// What becomes of what a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any number of rows.
    Rows,
    /// One row.
    Row,
    /// Any number of bare values.
    Values,
    /// One bare value.
    Value,
    /// Nothing.
    Nothing,
}

impl Form {
    pub(crate) fn of(function: &Function) -> Self {
        match (&function.returns, function.returns_set) {
            (Returns::Void, _) => Self::Nothing,
            // a record's columns are known only to the call, which returns it as one value
            (Returns::Scalar(_) | Returns::Record, true) => Self::Values,
            (Returns::Scalar(_) | Returns::Record, false) => Self::Value,
            (Returns::Row(_) | Returns::Columns(_), true) => Self::Rows,
            (Returns::Row(_) | Returns::Columns(_), false) => Self::Row,
        }
    }
}

/// How alike the argument lists of two functions must be for one to be offered for the other.
const ARGUMENTS_SIMILARITY_MIN: f64 = 0.33;

/// What a call brings besides the names of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    /// Nothing.
    Names,
    /// A body of names and values that is not JSON: a form, or CSV.
    Fields,
    /// A JSON body, which one unnamed argument can take.
    Json,
    /// A JSON body without rows, which only one unnamed argument can take.
    Document,
    /// A body that only one unnamed argument can take.
    Raw(Raw),
}

impl Brings {
    fn fits(self, type_oid: Oid) -> bool {
        match self {
            Self::Names | Self::Fields => false,
            Self::Json | Self::Document => matches!(type_oid, oid::JSON | oid::JSONB),
            Self::Raw(Raw::Text) => type_oid == oid::TEXT,
            Self::Raw(Raw::Xml) => type_oid == oid::XML,
            Self::Raw(Raw::Octets) => type_oid == oid::BYTEA,
        }
    }
}

/// The function of a name that takes these arguments, and no other but optional ones; or else the body as its only one.
pub(crate) fn resolve<'a>(
    catalog: &'a Catalog,
    (schema, name): (&str, &str),
    given: &[&str],
    optional: &[&str],
    brings: Brings,
) -> Result<&'a Function, PlanError> {
    let candidates: Vec<&Function> = catalog.callable(schema, name).collect();
    // as often as a name may be given, it is looked for once
    let given_once: HashSet<&str> = given.iter().copied().collect();
    let fits = |function: &&&Function| {
        let is_given = |name: &str| given_once.contains(name) || optional.contains(&name);
        let named = |parameter: &Parameter| is_given(&parameter.name);
        // the empty name is that of the argument without one, which takes the body that has the name
        let known = |name: &str| {
            (!name.is_empty() || brings != Brings::Names)
                && function.parameters.iter().any(|known| *known.name == *name)
        };
        !matches!(brings, Brings::Document | Brings::Raw(_))
            && function.parameters.iter().all(|parameter| !parameter.required || named(parameter))
            && given_once.len() <= function.parameters.len()
            && given_once.iter().all(|name| known(name))
    };
    let mut fitting: Vec<&Function> = candidates.iter().filter(fits).copied().collect();
    if fitting.is_empty() {
        let takes = |function: &&&Function| function.takes_body() && brings.fits(function.parameters[0].type_oid);
        fitting.extend(candidates.iter().filter(takes));
    }
    match fitting.as_slice() {
        [only] => Ok(only),
        [] => Err(not_found(catalog, schema, name, given, brings, &candidates)),
        several => Err(ErrorKind::Overloads(several.iter().map(|known| signature(catalog, known)).collect()).into()),
    }
}

/// The function of a schema that a request names without arguments.
pub fn function<'a>(catalog: &'a Catalog, schema: &str, name: &str) -> Result<&'a Function, PlanError> {
    resolve(catalog, (schema, name), &[], &[], Brings::Names)
}

/// Returns the parameters that a query string may give arguments for, of the functions of this name: of those whose required
/// parameters are all given, or else of all.
pub fn parameters<'a>(catalog: &'a Catalog, schema: &str, name: &str, given: &Params<'_>) -> Vec<KnownParameter<'a>> {
    let functions: Vec<&Function> = catalog.callable(schema, name).collect();
    let keys: HashSet<&str> =
        if functions.len() > 1 { given.iter().map(|(key, _)| key).collect() } else { HashSet::new() };
    let is_complete = |function: &&Function| {
        function.parameters.iter().all(|parameter| !parameter.required || keys.contains(&*parameter.name))
    };
    let are_some_complete = functions.iter().any(is_complete);
    let of_functions = functions.into_iter().filter(|function| !are_some_complete || is_complete(function));
    let named = of_functions.flat_map(|function| &function.parameters).filter(|parameter| !parameter.name.is_empty());
    named.map(|parameter| KnownParameter { name: &parameter.name, takes_all: parameter.variadic }).collect()
}

fn not_found(
    catalog: &Catalog,
    schema: &str,
    name: &str,
    given: &[&str],
    brings: Brings,
    candidates: &[&Function],
) -> PlanError {
    let mut names: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names.dedup();
    let nearest = if matches!(brings, Brings::Raw(_)) {
        None
    } else if candidates.is_empty() {
        catalog.nearest_function(schema, name).map(|nearest| format!("{schema}.{nearest}"))
    } else {
        let lists: Vec<String> = candidates
            .iter()
            .map(|function| {
                let mut names: Vec<&str> = function.parameters.iter().map(|parameter| &*parameter.name).collect();
                names.sort_unstable();
                format!("({})", names.join(", "))
            })
            .collect();
        let wanted = format!("({})", names.join(", "));
        // without arguments, nothing is like anything
        let lists = lists.into_iter().filter(|list| !names.is_empty() || *list == wanted).collect::<Vec<_>>();
        thalweg_catalog::nearest(&wanted, lists.iter().map(String::as_str), ARGUMENTS_SIMILARITY_MIN)
            .map(|list| format!("{schema}.{name}{list}"))
    };
    ErrorKind::Function { schema: schema.to_owned(), name: name.to_owned(), arguments: names, brings, nearest }.into()
}

/// `api.f(a => integer, b => text)`
fn signature(catalog: &Catalog, function: &Function) -> String {
    let parameter = |parameter: &Parameter| {
        let format = catalog.type_of(parameter.type_oid).map_or("unknown", |known| &known.format);
        format!("{} => {format}", parameter.name)
    };
    let parameters: Vec<String> = function.parameters.iter().map(parameter).collect();
    format!("{}.{}({})", function.schema, function.name, parameters.join(", "))
}

/// The call that a request makes of a function of this name. Of a repeated argument the last counts, but a variadic one
/// takes all.
pub(crate) fn call<'a>(
    context: &Context<'a>,
    request: &'a ApiRequest<'a>,
    payload: Option<&'a Payload<'a>>,
    name: &str,
) -> Result<Call<'a>, PlanError> {
    let of_query = request.query.arguments.iter().map(|(name, value)| (&**name, *value));
    let of_form = payload.into_iter().flat_map(|payload| payload.arguments.iter().copied());
    let texts: Vec<(&str, &str)> = of_query.chain(of_form).collect();
    let keys = request.keys(payload);
    let optional: Vec<&str> = keys.iter().filter(|key| key.is_optional).map(|key| key.name).collect();
    let keys_of_body = keys.iter().filter(|key| !key.is_optional).map(|key| key.name);
    let names: Vec<&str> = texts.iter().map(|(name, _)| *name).chain(keys_of_body).collect();
    let brings = match payload {
        Some(Payload { raw: Some(raw), .. }) => Brings::Raw(*raw),
        Some(Payload { no_rows: Some(_), .. }) => Brings::Document,
        Some(Payload { is_json: true, .. }) => Brings::Json,
        Some(_) => Brings::Fields,
        None => Brings::Names,
    };
    let function = resolve(context.catalog, (context.schema, name), &names, &optional, brings)
        .map_err(|error| takes_no_document(context, name, payload).unwrap_or(error))?;
    let mut arguments = Vec::with_capacity(function.parameters.len());
    let mut texts = by_name(texts);
    let mut of_body = by_name(keys.iter().map(|key| (key.name, key)));
    for parameter in &function.parameters {
        let mut values = texts.remove(&*parameter.name).unwrap_or_default();
        if !parameter.variadic {
            values.drain(..values.len().saturating_sub(1));
        }
        // what is sent counts before what is derived from it
        let keys = of_body.remove(&*parameter.name).unwrap_or_default();
        let key = keys.into_iter().find(|key| !key.is_optional || values.is_empty());
        let given = if parameter.name.is_empty() && brings != Brings::Names {
            let is_text = !matches!(brings, Brings::Raw(_));
            if is_text && parameter.type_oid == oid::BYTEA { Given::BytesOfBody } else { Given::Body }
        } else if let (Some(key), Some(payload)) = (key, payload) {
            // what the catalog does not know is a pseudo-type: the database decides
            let known = context.catalog.type_of(parameter.type_oid);
            let class = known.map_or(Class::Plain, |_| class(context, parameter.type_oid));
            let is_json_in_string = payload.holds_texts && matches!(class, Class::Json { .. });
            let document = Given::Document { is_array: payload.is_array, is_json_in_string };
            match payload.rows {
                Rows::One => bound(key, class).map_or(document, Given::Bound),
                _ => document,
            }
        } else if values.is_empty() {
            continue;
        } else {
            Given::Texts(values)
        };
        let (type_schema, type_name) = type_name(context, parameter.type_oid).unwrap_or(("pg_catalog", "text"));
        arguments.push(Argument { name: &parameter.name, type_schema, type_name, variadic: parameter.variadic, given });
    }
    let takes_document = arguments.iter().any(|argument| matches!(argument.given, Given::Body | Given::BytesOfBody));
    if !takes_document && payload.is_some_and(|payload| payload.has_several_rows) {
        return Err(ErrorKind::SeveralRows(request.action).into());
    }
    Ok(Call { function, arguments, relation: relation_of(context, function) })
}

/// Returns the error for a body without rows, if there are functions of this name, but none that
/// takes the whole body.
fn takes_no_document(context: &Context<'_>, name: &str, payload: Option<&Payload<'_>>) -> Option<PlanError> {
    let no_rows = payload?.no_rows?;
    let takes = |function: &Function| function.takes_body() && Brings::Document.fits(function.parameters[0].type_oid);
    let mut candidates = context.catalog.callable(context.schema, name).peekable();
    candidates.peek()?;
    (!candidates.any(takes)).then(|| ErrorKind::NoRows(no_rows).into())
}

/// What belongs to each name, in its order.
fn by_name<'a, T>(named: impl IntoIterator<Item = (&'a str, T)>) -> HashMap<&'a str, Vec<T>> {
    let mut found: HashMap<&str, Vec<T>> = HashMap::new();
    named.into_iter().for_each(|(name, value)| found.entry(name).or_default().push(value));
    found
}

/// The relation whose rows a function returns: one of its own schema with the name of its row type.
fn relation_of<'a>(context: &Context<'a>, function: &Function) -> Option<&'a Relation> {
    let Returns::Row(row_type) = function.returns else { return None };
    let relation = context.catalog.relation(context.catalog.of_row_type(row_type)?);
    (*relation.schema == *function.schema).then_some(relation)
}

/// The columns of what a call returns.
pub(crate) fn columns<'a>(context: &Context<'a>, call: &Call<'a>) -> Columns<'a> {
    match (&call.function.returns, call.relation) {
        (_, Some(relation)) => Columns::Relation(relation),
        (Returns::Columns(attributes), _) => Columns::Attributes(attributes),
        (Returns::Row(row_type), _) => match context.catalog.of_row_type(*row_type) {
            Some(id) => Columns::Relation(context.catalog.relation(id)),
            None => match context.catalog.type_of(*row_type).map(|known| &known.kind) {
                Some(TypeKind::Composite(attributes)) => Columns::Attributes(attributes),
                _ => Columns::Unknown,
            },
        },
        _ => Columns::Unknown,
    }
}
