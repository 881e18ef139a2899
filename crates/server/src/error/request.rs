//! What is wrong with a request: its grammar, its body, and names that the schema cache does not know.

use super::{ApiError, Details};
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use thalweg_auth::{Refusal, www_authenticate};
use thalweg_decode::{DecodeError, Problem};
use thalweg_json::write_string;
use thalweg_plan::{Brings, PlanError};
use thalweg_request::{Action, EMBED_LEVELS_MAX, EMBEDS_MAX, NoRows, ORDER_TERMS_MAX, Raw, RequestError, VALUES_MAX};

impl From<DecodeError> for ApiError {
    /// Texts that clients know stand alone; of others the row and column are told.
    fn from(error: DecodeError) -> Self {
        let message = error.to_string();
        let code = match error.problem {
            Problem::Nul => "22P05",
            Problem::NotRecord => "22023",
            Problem::Surrogate | Problem::NotArray | Problem::Dimensions => "22P02",
            Problem::Json | Problem::Nesting | Problem::Keys | Problem::NotObject | Problem::Fields => "PGRST102",
            Problem::Header | Problem::Quotes | Problem::TooLong => "PGRST102",
            Problem::TooManyKeys | Problem::TooManyFields | Problem::TooManyColumns => "PGRST102",
        };
        let status = if error.problem.is_bound() { 413 } else { 400 };
        let mut api = Self::new(status, code, message);
        api.details = match error.problem {
            Problem::Nul => Details::Text("\\u0000 cannot be converted to text.".to_owned()),
            Problem::Nesting => Details::Text("It is nested too deeply.".to_owned()),
            Problem::Json | Problem::Surrogate | Problem::Keys | Problem::NotObject | Problem::NotRecord => {
                Details::Null
            }
            Problem::NotArray | Problem::Dimensions | Problem::Fields | Problem::Header => Details::Null,
            Problem::Quotes | Problem::TooLong => Details::Null,
            Problem::TooManyKeys | Problem::TooManyFields | Problem::TooManyColumns => Details::Null,
        };
        let is_known = matches!(error.problem, Problem::Json | Problem::Keys | Problem::Fields | Problem::Header);
        if error.row > 1 && !is_known || error.column.is_some() { api.at(place(&error)) } else { api }
    }
}

/// Where in a body something is wrong.
pub(super) fn place(error: &DecodeError) -> String {
    match &error.column {
        Some(column) => format!("Row {}, column {column}.", error.row),
        None => format!("Row {}.", error.row),
    }
}

impl From<Refusal> for ApiError {
    /// A token that is refused (auth §§5, 6).
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Token(_) => "PGRST301",
            Refusal::Claims(_) => "PGRST303",
        };
        let message = refusal.to_string();
        let challenge = HeaderValue::try_from(www_authenticate(Some(&message))).ok();
        let mut api = Self::new(401, code, message);
        if let Some(details) = refusal.details() {
            api = api.details(details);
        }
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        api.headers.push((WWW_AUTHENTICATE, challenge));
        api
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        use thalweg_request::ErrorKind as Kind;
        let message = error.to_string();
        match error.kind() {
            Kind::Syntax { details, .. } => Self::new(400, "PGRST100", message).details(details.clone()),
            Kind::Embeds => Self::new(400, "TWG01", message)
                .details(format!("At all levels together there may be {EMBEDS_MAX}."))
                .hint("Ask for some of them in a request of its own."),
            Kind::EmbedLevels => Self::new(400, "TWG05", message)
                .details(format!("There may be {EMBED_LEVELS_MAX}."))
                .hint("Ask for what lies deeper in a request of its own."),
            Kind::Values => Self::values(message),
            Kind::OrderTerms => Self::new(400, "TWG04", message)
                .details(format!("At all levels together there may be {ORDER_TERMS_MAX}."))
                .hint("Order by what tells rows apart."),
            Kind::Range(details) => Self::new(416, "PGRST103", message).details(*details),
            Kind::Path => Self::new(404, "PGRST125", message),
            Kind::ContentType(_) => Self::new(400, "PGRST102", message),
            Kind::WindowOfWrite { action: Action::Replace, .. } => Self::new(400, "PGRST114", message),
            Kind::WindowOfWrite { .. } => Self::new(400, "PGRST114", message)
                .details("The request would apply to all rows that its filters match.")
                .hint("Select the rows by filters, such as id=in.(1,2). Prefer: handling=strict, max-affected=N bounds their number."),
            Kind::Preferences(invalid) => {
                Self::new(400, "PGRST122", message).details(format!("Invalid preferences: {invalid}"))
            }
            Kind::Nul(place) => Self::new(400, "PGRST100", message).details(format!("There is a NUL in {place}.")),
            Kind::Encoding => Self::new(400, "PGRST100", message),
        }
    }
}

impl ApiError {
    /// The error for a request that selects too much, whether that was written or is what asterisks stand for.
    fn values(message: String) -> Self {
        Self::new(400, "TWG02", message)
            .details(format!(
                "At all levels together there may be {VALUES_MAX}. An asterisk selects all columns of a relation."
            ))
            .hint("Select only the columns that are wanted.")
    }
}

impl From<PlanError> for ApiError {
    fn from(error: PlanError) -> Self {
        use thalweg_plan::ErrorKind as Kind;
        let message = error.to_string();
        match error.kind() {
            Kind::Relation { schema, nearest, .. } => {
                let mut api = Self::new(404, "PGRST205", message);
                api.hint = nearest.as_ref().map(|name| format!("Perhaps you meant the table '{schema}.{name}'"));
                api
            }
            Kind::NotEmbedded(name) => Self::new(400, "PGRST108", message)
                .hint(format!("Verify that '{name}' is included in the 'select' query parameter.")),
            Kind::TargetName { name, alias } => Self::new(400, "PGRST108", message)
                .details("Target names are not allowed in filters if they have an alias")
                .hint(format!("Change '{name}' to '{alias}' in filters, orders or limits.")),
            Kind::DuplicateEmbed { name, is_spread, .. } => Self::new(400, "42712", message)
                .details("The embeds of one level need different names.")
                .hint(if *is_spread {
                    format!("Select all columns within one spread: ...{name}(column,other_column).")
                } else {
                    format!("Use an alias, such as other:{name}(…), or select all columns within one embed.")
                }),
            Kind::Values => Self::values(message),
            Kind::AskedConditions(most) => Self::new(400, "TWG03", message)
                .details(format!(
                    "There may be {most}. Each time that a condition or '!inner' asks whether a to-many embed has rows, the \
                     embed's own conditions count, and one for itself."
                ))
                .hint("Ask once whether an embed has rows."),
            Kind::Function { schema, name, arguments, brings, nearest } => {
                let mut with = match arguments.as_slice() {
                    [] => "without parameters".to_owned(),
                    [only] => format!("with parameter {only}"),
                    several => format!("with parameters {}", several.join(", ")),
                };
                match brings {
                    Brings::Names | Brings::Fields => {}
                    Brings::Json | Brings::Document => with.push_str(" or with a single unnamed json/jsonb parameter"),
                    Brings::Raw(Raw::Text) => with = "with a single unnamed text parameter".to_owned(),
                    Brings::Raw(Raw::Xml) => with = "with a single unnamed xml parameter".to_owned(),
                    Brings::Raw(Raw::Octets) => with = "with a single unnamed bytea parameter".to_owned(),
                }
                let mut api = Self::new(404, "PGRST202", message).details(format!(
                    "Searched for the function {schema}.{name} {with}, but no matches were found in the schema cache."
                ));
                api.hint = nearest.as_ref().map(|nearest| format!("Perhaps you meant to call the function {nearest}"));
                api
            }
            Kind::Overloads(_) => Self::new(300, "PGRST203", message).hint(
                "Try renaming the parameters or the function itself in the database so function overloading can be \
                 resolved",
            ),
            Kind::PayloadColumn { .. } => Self::new(400, "PGRST204", message),
            Kind::SeveralRows(Action::Call) => Self::new(400, "PGRST102", message)
                .details("The rows after the first would be ignored.")
                .hint("Send one object. A function with one unnamed parameter of type json receives the whole array."),
            Kind::SeveralRows(_) => Self::new(400, "PGRST102", message)
                .details("The rows after the first would be ignored.")
                .hint("Send one object. POST with Prefer: resolution=merge-duplicates updates many rows by their keys."),
            Kind::NoRows(NoRows::Mixed) => Self::new(400, "PGRST102", message),
            Kind::NoRows(NoRows::Scalar) => Self::new(400, "PGRST102", message)
                .hint("A function with one unnamed parameter of type json receives any JSON document."),
            Kind::KeyOfPut => Self::new(405, "PGRST105", message),
            Kind::NoSet => Self::new(400, "PGRST128", message),
            Kind::Relationship { origin, target, hint, schema, suggestion } => {
                let using = hint.as_ref().map_or(String::new(), |hint| format!(" using the hint '{hint}'"));
                let mut api = Self::new(400, "PGRST200", message).details(format!(
                    "Searched for a foreign key relationship between '{origin}' and '{target}'{using} in the schema \
                     '{schema}', but no matches were found."
                ));
                api.hint = suggestion.clone();
                api
            }
            Kind::Ambiguous { target, candidates, .. } => {
                let mut details = vec![b'['];
                for (at, candidate) in candidates.iter().enumerate() {
                    details.extend_from_slice(if at == 0 { b"{\"cardinality\":" } else { b",{\"cardinality\":" });
                    write_string(&mut details, candidate.cardinality.as_bytes());
                    details.extend_from_slice(b",\"embedding\":");
                    write_string(&mut details, candidate.embedding.as_bytes());
                    details.extend_from_slice(b",\"relationship\":");
                    write_string(&mut details, candidate.relationship.as_bytes());
                    details.push(b'}');
                }
                details.push(b']');
                let choices: Vec<String> = candidates.iter().map(|known| format!("'{}'", known.choice)).collect();
                let mut api = Self::new(300, "PGRST201", message).hint(format!(
                    "Try changing '{target}' to one of the following: {}. Find the desired relationship in the \
                     'details' key.",
                    choices.join(", ")
                ));
                api.details = Details::Json(details);
                api
            }
            Kind::RelatedOrder { origin, target } => Self::new(400, "PGRST118", message)
                .details(format!("'{origin}' and '{target}' do not form a many-to-one or one-to-one relationship")),
            Kind::Aggregates => Self::new(400, "PGRST123", message),
            Kind::NotImplemented(what) => Self::new(400, "PGRST127", message).details(*what),
            Kind::MediaType(_) => Self::new(406, "PGRST107", message),
        }
    }
}
