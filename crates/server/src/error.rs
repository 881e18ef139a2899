//! Every error as the protocol shows it: one table from what happened to a status and a code.

use crate::body::Body;
use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use std::borrow::Cow;
use thalweg_decode::{DecodeError, Problem};
use thalweg_encode::EncodeError;
use thalweg_json::write_string;
use thalweg_plan::{Brings, PlanError};
use thalweg_request::{Raw, RequestError};
use thalweg_wire::{DbError, ErrorKind as WireKind, PoolError, StepError};

/// An error on its way to the client.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    message: String,
    details: Details,
    hint: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The reason phrase, where it is not the standard one.
    reason: Option<String>,
    /// Whether the request may be tried again.
    pub(crate) retry: Retry,
    /// Whether the schema cache is to be loaded: it has fallen behind, or the database is away, and may come back with
    /// another schema. A status that SQL has chosen never says so.
    pub(crate) load_is_due: bool,
}

/// MESSAGE of an error that SQL made itself.
#[derive(serde::Deserialize)]
struct RaisedMessage {
    code: String,
    message: String,
    details: Option<String>,
    hint: Option<String>,
}

/// DETAIL of an error that SQL made itself.
#[derive(serde::Deserialize)]
struct RaisedDetail {
    status: u16,
    status_text: Option<String>,
    headers: std::collections::BTreeMap<String, String>,
}

/// Whether a request that failed may be tried again. No error of something that may have been committed says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    /// The database has other columns or policies than the schema cache says: once that has been loaded.
    AfterLoad,
    /// The database does not know a name that the schema cache knows, which may be a view's mistake: once that has been
    /// loaded, unless this has happened just now.
    AfterLoadIfDue,
    /// In another way, which keeps less in memory.
    NotFlat,
}

#[derive(Debug)]
enum Details {
    Null,
    Text(String),
    Json(Vec<u8>),
}

/// Below are statuses after which another must follow.
pub(crate) const FINAL_STATUS_MIN: u16 = 200;
const CLIENT_ERROR: &str = "Database client error. Retrying the connection.";

impl ApiError {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: Cow::Borrowed(code),
            message: message.into(),
            details: Details::Null,
            hint: None,
            headers: Vec::new(),
            reason: None,
            retry: Retry::Never,
            load_is_due: false,
        }
    }

    fn details(mut self, text: impl Into<String>) -> Self {
        self.details = Details::Text(text.into());
        self
    }

    pub(crate) fn retried(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    pub(crate) fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }

    /// Says where in the body something is wrong, where there is room for that.
    pub(crate) fn at(mut self, place: String) -> Self {
        match self.details {
            Details::Null => self.details = Details::Text(place),
            _ => _ = self.hint.get_or_insert(place),
        }
        self
    }

    fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    fn unavailable(code: &'static str, message: &str) -> Self {
        Self::new(503, code, message).header(RETRY_AFTER, "1")
    }

    /// The database cannot be reached, or not talked to.
    fn lost(code: &'static str, message: &str) -> Self {
        let mut api = Self::unavailable(code, message);
        api.load_is_due = true;
        api
    }

    /// A connection could not be opened, whatever the reason (errors §3.1): that is never the request's fault.
    fn connecting(error: &thalweg_wire::Error) -> Self {
        Self::lost("PGRST000", "Database connection error.").details(error.to_string())
    }

    /// No schema cache has been loaded yet.
    pub(crate) fn no_schema_cache() -> Self {
        Self::unavailable("PGRST002", "Could not query the database for the schema cache. Retrying.")
    }

    /// The response would have no end but the connection's, and that does not show whether it is whole.
    pub(crate) fn version_without_length() -> Self {
        Self::new(505, "PGRST127", "Feature not implemented")
            .details("Over HTTP/1.0 and a Unix socket, a response of unknown length that breaks off looks whole.")
            .hint("Use HTTP/1.1.")
    }

    /// No token, and anonymous access is off.
    pub(crate) fn anonymous_disabled() -> Self {
        Self::new(401, "PGRST302", "Anonymous access is disabled").header(WWW_AUTHENTICATE, "Bearer")
    }

    /// A singular media type was asked for, and there is not exactly one row.
    pub(crate) fn not_singular(rows: u64) -> Self {
        let message = "Cannot coerce the result to a single JSON object";
        Self::new(406, "PGRST116", message).details(format!("The result contains {rows} rows"))
    }

    /// None of the accepted media types can be made.
    pub(crate) fn media_type(accept: &[thalweg_request::MediaType<'_>]) -> Self {
        Self::media_type_names(&accept.iter().map(|media| media.text).collect::<Vec<_>>())
    }

    /// The same, of the media types' names.
    pub(crate) fn media_type_names(asked: &[&str]) -> Self {
        Self::new(406, "PGRST107", format!("None of these media types are available: {}", asked.join(", ")))
    }

    /// `response.headers` is not what it must be.
    pub(crate) fn headers_of_sql() -> Self {
        let message =
            "response.headers guc must be a JSON array composed of objects with a single key and a string value";
        Self::new(500, "PGRST111", message)
    }

    /// `response.status` is not what it must be.
    pub(crate) fn status_of_sql() -> Self {
        Self::new(500, "PGRST112", "response.status guc must be a valid status code")
    }

    /// A call returned more rows than the client allows.
    pub(crate) fn too_many(rows: u64) -> Self {
        let message = "Query result exceeds max-affected preference constraint";
        Self::new(400, "PGRST124", message).details(format!("The query affects {rows} rows"))
    }

    /// The body is encoded in a way that nobody reads.
    pub(crate) fn content_encoding(name: &str) -> Self {
        Self::new(415, "PGRST102", format!("Content-Encoding not acceptable: {name}"))
    }

    /// The body is larger than something allows.
    pub(crate) fn body_too_large(allowed: &str) -> Self {
        Self::new(413, "PGRST102", format!("The body is larger than {allowed}"))
    }

    /// The rows of the body have more keys than any relation has columns.
    pub(crate) fn too_many_keys(most: usize) -> Self {
        Self::new(413, "PGRST102", format!("The rows of the body have more than {most} keys"))
    }

    /// The body did not come, or too slowly.
    pub(crate) fn body_too_slow() -> Self {
        Self::new(408, "PGRST102", "The body did not arrive in time")
    }

    /// The body ended before its end.
    pub(crate) fn body_broke_off(cause: &dyn std::error::Error) -> Self {
        Self::new(400, "PGRST102", "The body broke off").details(cause.to_string())
    }

    /// The body is not what its `Content-Encoding` says.
    pub(crate) fn not_compressed(cause: &dyn std::error::Error) -> Self {
        Self::new(400, "PGRST102", "The body cannot be decompressed").details(cause.to_string())
    }

    /// Something is wrong with a row of a body too large to be looked through for it: its place is told in any case.
    pub(crate) fn in_stream(error: DecodeError) -> Self {
        let place = place(&error);
        let api = Self::from(error);
        if matches!(api.details, Details::Null) { api.at(place) } else { api }
    }

    /// Other requests' bodies take all the room there is.
    pub(crate) fn too_many_bodies() -> Self {
        Self::unavailable("PGRST003", "Too many large bodies are being received.")
    }

    /// The body is no form with parts.
    pub(crate) fn not_multipart(cause: &dyn std::error::Error) -> Self {
        Self::new(400, "PGRST102", cause.to_string())
    }

    /// The rows of a PUT are not the one that its URL names.
    pub(crate) fn not_the_key() -> Self {
        Self::new(400, "PGRST115", "Payload values do not match URL in primary key column(s)")
    }

    pub(crate) fn offset_beyond(offset: u64, total: u64) -> Self {
        Self::new(416, "PGRST103", "Requested range not satisfiable")
            .details(format!("An offset of {offset} was requested, but there are only {total} rows."))
    }

    pub(crate) fn schema(name: &str, exposed: &[String]) -> Self {
        Self::new(406, "PGRST106", format!("Invalid schema: {name}"))
            .hint(format!("Only the following schemas are exposed: {}", exposed.join(", ")))
    }

    /// What PostgreSQL reported (errors §5). `anonymous` tells whether the request ran as the anonymous role.
    fn database(error: &DbError, anonymous: bool) -> Self {
        if error.code == "PGRST" {
            return Self::raised(error);
        }
        let status = status_of(&error.code, &error.message, anonymous);
        let mut api = Self::new(status, "", error.message.clone());
        api.code = Cow::Owned(error.code.clone());
        api.details = error.detail.clone().map_or(Details::Null, Details::Text);
        api.hint = error.hint.clone();
        if error.code.starts_with("PT") {
            api.reason = Some(error.message.clone());
        }
        // what ends a session, SQL cannot raise
        api.load_is_due = matches!(error.severity.as_str(), "FATAL" | "PANIC");
        match status {
            401 => api.header(WWW_AUTHENTICATE, "Bearer"),
            503 => api.header(RETRY_AFTER, "1"),
            _ => api,
        }
    }

    /// An error that SQL made itself (functions §8.1).
    fn raised(error: &DbError) -> Self {
        const MESSAGE: &str = "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error";
        let malformed = |what: &str, text: Option<&str>, keys: &str| {
            let details = match text {
                Some(text) => format!("Invalid JSON value for {what}: '{text}'"),
                None => "DETAIL is missing in the RAISE statement".to_owned(),
            };
            Self::new(500, "PGRST121", MESSAGE)
                .details(details)
                .hint(format!("{what} must be a JSON object with {keys}"))
        };
        const MESSAGE_KEYS: &str = "obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'.";
        const DETAIL_KEYS: &str = "obligatory keys: 'status', 'headers' and optional key: 'status_text'.";
        let Ok(message) = serde_json::from_str::<RaisedMessage>(&error.message) else {
            return malformed("MESSAGE", Some(&error.message), MESSAGE_KEYS);
        };
        let Some(detail) = error.detail.as_deref() else { return malformed("DETAIL", None, DETAIL_KEYS) };
        let Ok(raised) = serde_json::from_str::<RaisedDetail>(detail) else {
            return malformed("DETAIL", Some(detail), DETAIL_KEYS);
        };
        let status = StatusCode::from_u16(raised.status).ok().filter(|status| status.as_u16() >= FINAL_STATUS_MIN);
        let Some(status) = status else {
            return malformed("DETAIL", Some(detail), DETAIL_KEYS);
        };
        let mut api = Self::new(500, "", message.message);
        api.status = status;
        api.code = Cow::Owned(message.code);
        api.details = message.details.map_or(Details::Null, Details::Text);
        api.hint = message.hint;
        api.reason = raised.status_text;
        for (name, value) in raised.headers {
            if let (Ok(name), Ok(value)) = (name.parse(), HeaderValue::from_str(&value)) {
                api.headers.push((name, value));
            }
        }
        api
    }

    fn wire(error: &thalweg_wire::Error, anonymous: bool) -> Self {
        match error.kind() {
            WireKind::Database(database) => {
                let mut api = Self::database(database, anonymous);
                if let Some(place) = database.context.as_deref().and_then(row_of_copy) {
                    api = api.at(place);
                }
                if matches!(database.code.as_str(), "42703" | "42P01") && error.nothing_was_written() {
                    api.retry = Retry::AfterLoadIfDue;
                }
                api
            }
            WireKind::Stale => {
                let retry = if error.nothing_was_written() { Retry::AfterLoad } else { Retry::Never };
                Self::fallen_behind(retry)
            }
            WireKind::TooLarge => Self::body_too_large("PostgreSQL takes"),
            WireKind::Connect(_) | WireKind::Authentication(_) | WireKind::Config(_) => Self::connecting(error),
            WireKind::Broken | WireKind::Protocol(_) => Self::lost("PGRST001", CLIENT_ERROR).details(error.to_string()),
        }
    }

    /// A failure of a pipeline.
    pub(crate) fn step(error: &StepError<EncodeError>, anonymous: bool) -> Self {
        match error {
            StepError::Wire(error) => Self::wire(error, anonymous),
            StepError::Sink(EncodeError::Stale) => Self::fallen_behind(Retry::Never),
            StepError::Sink(error) => {
                let retry = if *error == EncodeError::HeldTooMuch { Retry::NotFlat } else { Retry::Never };
                Self::new(500, "PGRSTX00", error.to_string()).retried(retry)
            }
        }
    }

    fn fallen_behind(retry: Retry) -> Self {
        let mut api = Self::new(500, "PGRSTX00", "The schema cache has fallen behind the database").retried(retry);
        api.load_is_due = true;
        api
    }

    /// Body and headers; without details and hint where clients are not to see them.
    pub(crate) fn response(&self, verbose: bool) -> Response<Body> {
        let mut body = Vec::with_capacity(256);
        body.extend_from_slice(b"{\"code\":");
        write_string(&mut body, self.code.as_bytes());
        if verbose {
            body.extend_from_slice(b",\"details\":");
            match &self.details {
                Details::Null => body.extend_from_slice(b"null"),
                Details::Text(text) => write_string(&mut body, text.as_bytes()),
                Details::Json(json) => body.extend_from_slice(json),
            }
            body.extend_from_slice(b",\"hint\":");
            match &self.hint {
                None => body.extend_from_slice(b"null"),
                Some(hint) => write_string(&mut body, hint.as_bytes()),
            }
        }
        body.extend_from_slice(b",\"message\":");
        write_string(&mut body, self.message.as_bytes());
        body.push(b'}');
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        if let Ok(value) = HeaderValue::from_str(&format!("Thalweg; error={}", self.code)) {
            headers.insert(HeaderName::from_static("proxy-status"), value);
        }
        headers.extend(self.headers.iter().cloned());
        if let Some(reason) = self.reason.as_deref().and_then(|text| ReasonPhrase::try_from(text.as_bytes()).ok()) {
            response.extensions_mut().insert(reason);
        }
        *response.body_mut() = Body::whole(body.into());
        response
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout => Self::new(504, "PGRST003", "Timed out acquiring connection from connection pool."),
            PoolError::QueueFull => {
                Self::unavailable("PGRST003", "Too many requests are waiting for a connection from the pool.")
            }
            PoolError::Connect(error) => Self::connecting(&error),
        }
    }
}

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
        };
        let status = if error.problem == Problem::TooLong { 413 } else { 400 };
        let mut api = Self::new(status, code, message);
        api.details = match error.problem {
            Problem::Nul => Details::Text("\\u0000 cannot be converted to text.".to_owned()),
            Problem::Nesting => Details::Text("It is nested too deeply.".to_owned()),
            Problem::Json | Problem::Surrogate | Problem::Keys | Problem::NotObject | Problem::NotRecord => {
                Details::Null
            }
            Problem::NotArray | Problem::Dimensions | Problem::Fields | Problem::Header => Details::Null,
            Problem::Quotes | Problem::TooLong => Details::Null,
        };
        let is_known = matches!(error.problem, Problem::Json | Problem::Keys | Problem::Fields | Problem::Header);
        if error.row > 1 && !is_known || error.column.is_some() { api.at(place(&error)) } else { api }
    }
}

/// Where in a body something is wrong.
fn place(error: &DecodeError) -> String {
    match &error.column {
        Some(column) => format!("Row {}, column {column}.", error.row),
        None => format!("Row {}.", error.row),
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        use thalweg_request::ErrorKind as Kind;
        let message = error.to_string();
        match error.kind() {
            Kind::Syntax { details, .. } => Self::new(400, "PGRST100", message).details(details.clone()),
            Kind::Range(details) => Self::new(416, "PGRST103", message).details(*details),
            Kind::Path => Self::new(404, "PGRST125", message),
            Kind::ContentType(_) => Self::new(400, "PGRST102", message),
            Kind::WindowOfPut => Self::new(400, "PGRST114", message),
            Kind::Preferences(invalid) => {
                Self::new(400, "PGRST122", message).details(format!("Invalid preferences: {invalid}"))
            }
            Kind::Nul(place) => Self::new(400, "PGRST100", message).details(format!("There is a NUL in {place}.")),
            Kind::Encoding => Self::new(400, "PGRST100", message),
        }
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
            Kind::DuplicateEmbed(_) => Self::new(400, "42712", message),
            Kind::Function { schema, name, arguments, brings, nearest } => {
                let mut with = match arguments.as_slice() {
                    [] => "without parameters".to_owned(),
                    [only] => format!("with parameter {only}"),
                    several => format!("with parameters {}", several.join(", ")),
                };
                match brings {
                    Brings::Names | Brings::Fields => {}
                    Brings::Json => with.push_str(" or with a single unnamed json/jsonb parameter"),
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

/// Which row and column of a COPY an error is about, of a context like `COPY t, line 3, column a: "x"`.
fn row_of_copy(context: &str) -> Option<String> {
    let context = context.lines().find_map(|line| line.strip_prefix("COPY "))?;
    let (_, place) = context.split_once(", line ")?;
    let digits = place.find(|c: char| !c.is_ascii_digit()).unwrap_or(place.len());
    let (row, rest) = place.split_at(digits);
    let column = rest.strip_prefix(", column ").map(|rest| rest.split_once(": ").map_or(rest, |(column, _)| column));
    Some(match column {
        Some(column) => format!("Row {row}, column {column}."),
        None => format!("Row {row}."),
    })
}

/// The status of an SQLSTATE; the first row that fits decides (errors §5).
fn status_of(code: &str, message: &str, anonymous: bool) -> u16 {
    let class = code.get(..2).unwrap_or_default();
    match (class, code) {
        ("08", _) => 503,
        ("09", _) => 500,
        ("0L" | "0P", _) => 403,
        (_, "23503" | "23505") => 409,
        (_, "25006") => 405,
        (_, "21000") if message.ends_with("requires a WHERE clause") => 400,
        (_, "21000") => 500,
        (_, "22023") if message.starts_with("role") && message.ends_with("does not exist") => 401,
        (_, "22023") => 400,
        ("25", _) => 500,
        ("28", _) => 403,
        ("2D" | "38" | "39" | "3B" | "40", _) => 500,
        (_, "53400") => 500,
        ("53", _) => 503,
        ("54" | "55", _) => 500,
        (_, "57P01") => 503,
        ("57" | "58" | "F0" | "HV", _) => 500,
        (_, "P0001") => 400,
        ("P0" | "XX", _) => 500,
        (_, "42883") if message.starts_with("function xmlagg(") => 406,
        (_, "42883") => 404,
        (_, "42P01") => 404,
        (_, "42P17") => 500,
        (_, "42501") if anonymous => 401,
        (_, "42501") => 403,
        ("PT", _) => code[2..].parse().ok().filter(|status| (200..=599).contains(status)).unwrap_or(500),
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_map_to_statuses() {
        for (code, message, anonymous, status) in [
            ("22P02", "", false, 400),
            ("42703", "", false, 400),
            ("42P01", "", false, 404),
            ("42883", "operator does not exist", false, 404),
            ("42501", "", true, 401),
            ("42501", "", false, 403),
            ("22023", "role \"x\" does not exist", false, 401),
            ("22023", "invalid value for parameter", false, 400),
            ("57014", "", false, 500),
            ("57P01", "", false, 503),
            ("53300", "", false, 503),
            ("53400", "", false, 500),
            ("40001", "", false, 500),
            ("PT418", "", false, 418),
            ("PT40A", "", false, 500),
            ("PTé", "", false, 500),
            ("", "", false, 400),
        ] {
            assert_eq!(status_of(code, message, anonymous), status, "{code}");
        }
    }
}
