//! Every error as the protocol shows it: one table from what happened to a status and a code.

mod database;
mod request;

use crate::answer::Body;
use crate::callers::ShareError;
use crate::http::{HEAD_BYTES_MAX, HEAD_TIMEOUT, HEADERS_MAX, PROXY_STATUS, Refusal};
use crate::overload::RETRY_AFTER_S;
use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{
    ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE,
};
use hyper::{Method, Response, StatusCode};
use std::borrow::Cow;
use thalweg_decode::DecodeError;
use thalweg_files::{MEDIA_TYPE_BYTES_MAX, MultipartError};
use thalweg_json::write_string;
use thalweg_pages::{Place, ROWS_MAX, Source, Unfilled};
use thalweg_wire::DbError;

/// An error on its way to the client.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    details: Details,
    pub(crate) hint: Option<String>,
    /// What only the log says.
    fault: Option<Box<Fault>>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The reason phrase, where it is not the standard one.
    reason: Option<String>,
    /// Whether the request may be tried again.
    pub(crate) retry: Retry,
    /// Whether the schema cache is to be loaded: it has fallen behind, or the database is away, and may come back with
    /// another schema. A status that SQL has chosen never says so.
    pub(crate) load_is_due: bool,
    /// What PostgreSQL reported, if it is that.
    pub(crate) reported: Option<Box<DbError>>,
}

/// Condition under which a failed request is tried again. For a request that may have been
/// committed it is always `Never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    /// The columns or policies of the database differ from the schema cache. The request is retried
    /// after a load.
    AfterLoad,
    /// The database does not find a name that the schema cache has. The request is retried after a
    /// load. It causes that load, unless such a load has just found nothing new.
    AfterSuspectedLoad,
    /// Either the schema cache or the client may be wrong. The request is retried only after a load
    /// that is due, is running, or has ended since the request began. It causes no load.
    AfterLoadInProgress,
    /// The request is retried with a plan that buffers less in memory.
    NotFlat,
}

impl Retry {
    /// Returns whether the error shows that the schema cache is older than the schema of the
    /// database.
    pub(crate) fn is_of_schema(self) -> bool {
        matches!(self, Self::AfterLoad | Self::AfterSuspectedLoad)
    }
}

/// What is wrong with a page, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Option<Place>,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn of(error: &thalweg_pages::Error) -> Self {
        Self { place: Some(error.place().clone()), message: error.to_string() }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { place: None, message }
    }
}

#[derive(Debug)]
enum Details {
    Null,
    Text(String),
    Json(Vec<u8>),
}

/// Below are statuses after which another must follow.
pub(crate) const FINAL_STATUS_MIN: u16 = 200;
/// Code of a request that is refused because there is no room for connections, bodies or answers.
pub(crate) const NO_ROOM: &str = "PGRST003";
/// Code of the errors of a write that may have been executed.
pub(crate) const MAYBE_EXECUTED: &str = "TWG24";
const CLIENT_ERROR: &str = "Database client error. Retrying the connection.";

impl ApiError {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: Cow::Borrowed(code),
            message: message.into(),
            details: Details::Null,
            hint: None,
            fault: None,
            headers: Vec::new(),
            reason: None,
            retry: Retry::Never,
            load_is_due: false,
            reported: None,
        }
    }

    fn details(mut self, text: impl Into<String>) -> Self {
        self.details = Details::Text(text.into());
        self
    }

    /// Adds words for the log that clients must not see, such as an address or the message of a
    /// library.
    fn logged(mut self, words: String) -> Self {
        self.fault = Some(Box::new(Fault::from(words)));
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
        let mut api = Self::new(503, code, message);
        api.headers.push((RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S)));
        api
    }

    /// The database cannot be reached, or not talked to.
    fn lost(code: &'static str, message: &str) -> Self {
        let mut api = Self::unavailable(code, message);
        api.load_is_due = true;
        api
    }

    /// A connection could not be opened, whatever the reason (errors §3.1): that is never the request's fault.
    fn connecting(error: &thalweg_wire::Error) -> Self {
        Self::lost("PGRST000", "Database connection error.").logged(error.to_string())
    }

    /// Returns whether the server refused the request before PostgreSQL executed any of it, so that
    /// the client may repeat it: it is answered with `Retry-After`, and not in PostgreSQL's words.
    pub(crate) fn is_before_execution(&self) -> bool {
        self.reported.is_none() && self.headers.iter().any(|(name, _)| name == RETRY_AFTER)
    }

    /// The schema cache has not been loaded yet, or cannot be loaded. `missing` is a message about
    /// exposed schemas that do not exist, if they are the reason.
    pub(crate) fn no_schema_cache(missing: Option<String>) -> Self {
        let api = Self::unavailable("PGRST002", "Could not query the database for the schema cache. Retrying.");
        match missing {
            Some(missing) => api.details(missing).hint("Create the schemas, or change db-schemas."),
            None => api,
        }
    }

    /// The schema changed again after each load that this request waited for.
    pub(crate) fn schema_in_motion() -> Self {
        Self::unavailable("TWG25", "The schema of the database changes faster than it can be loaded.")
    }

    /// The end of a write's transaction was sent, and its result never arrived. The error has no
    /// `Retry-After`, and no status that clients take as permission to repeat the request
    /// (`docs/errors.md`).
    pub(crate) fn may_have_been_executed(cause: &dyn std::fmt::Display) -> Self {
        let mut api = Self::new(
            500,
            MAYBE_EXECUTED,
            "The connection to the database was lost. The request may have been executed.",
        )
        .details("The end of the transaction was sent, and PostgreSQL did not report how it ended.")
        .logged(cause.to_string())
        .hint("Find out whether it was executed before you send it again.");
        api.load_is_due = true;
        api
    }

    /// A form with a key was sent before, and its response cannot be sent again.
    pub(crate) fn form_may_have_been_executed() -> Self {
        Self::new(500, MAYBE_EXECUTED, "The same form was sent before, and may have been executed.")
            .hint("Find out whether it was executed before you send it again.")
    }

    /// The response would have no end but the connection's, and that does not show whether it is whole.
    pub(crate) fn version_without_length() -> Self {
        Self::new(505, "PGRST127", "Feature not implemented")
            .details("Over HTTP/1.0 and a Unix socket, a response of unknown length that breaks off looks whole.")
            .hint("Use HTTP/1.1.")
    }

    /// A request was refused before all of it had been read.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Head => Self::new(400, "TWG27", "The head of the request is not valid HTTP/1.1")
                .details("It is malformed, or declares the end of the request in more than one way.")
                .hint(
                    "End lines with CR LF, and send one Content-Length, or one Transfer-Encoding: chunked, or neither.",
                ),
            Refusal::Host => Self::new(400, "TWG27", "The request does not have exactly one valid Host header")
                .details("HTTP/1.1 needs one Host: a name or an address, with a port or without, and no user name.")
                .hint("Send one header such as Host: club.example."),
            Refusal::Target => {
                Self::new(400, "TWG27", "The target of the request is neither a path nor an http address")
                    .hint("Send a target that begins with /, such as /flights.")
            }
            Refusal::HeadTooLarge => Self::new(431, "TWG27", "The head of the request is too large")
                .details(format!("It may have {HEAD_BYTES_MAX} bytes and {HEADERS_MAX} headers.")),
            Refusal::HeadTooSlow => Self::new(408, "TWG27", "The head of the request did not arrive in time")
                .details(format!("A head may take {} s.", HEAD_TIMEOUT.as_secs())),
            Refusal::Body => Self::new(400, "PGRST102", "The chunks of the body are malformed"),
        }
    }

    /// A request names the admin server by a host that it does not answer to.
    pub(crate) fn of_other_host() -> Self {
        Self::new(421, "TWG28", "The admin server does not answer for the host name of this request.")
            .hint("Use its address, or add the name to admin-server-allowed-hosts.")
    }

    /// A token, and nothing that it could be verified with.
    pub(crate) fn no_secret() -> Self {
        Self::new(500, "PGRST300", "Server lacks JWT secret")
    }

    /// A token, and its issuer's keys have not been fetched yet: nobody can say that it is bad.
    pub(crate) fn no_keys() -> Self {
        Self::unavailable("TWG08", "The keys that tokens are verified with could not be fetched yet")
    }

    /// A request presents a cookie or asks for one, and no page of the site's own origin sends it.
    pub(crate) fn of_other_site() -> Self {
        Self::new(
            403,
            "TWG06",
            "A form, a request by cookie that may change something, or one with Prefer: session, must come from the same origin",
        )
        .details("Origin does not name the scheme, host and port of this site, or Sec-Fetch-Site is not same-origin.")
        .hint(
            "Clients other than browsers send the token in the Authorization header, and sign in without Prefer: session. \
             Behind a proxy that changes Host, set pages-origin.",
        )
    }

    /// What a function returned was to be a token.
    pub(crate) fn no_token_returned() -> Self {
        Self::new(500, "TWG07", "The function returned no token that the server accepts")
            .hint("With Prefer: session it returns a token, or NULL to sign out.")
    }

    /// The same, and the browser is told to put this cookie.
    pub(crate) fn putting(mut self, cookie: &str) -> Self {
        self.headers.extend(HeaderValue::try_from(cookie).ok().map(|value| (SET_COOKIE, value)));
        self
    }

    /// No token, and anonymous access is off.
    pub(crate) fn anonymous_disabled() -> Self {
        Self::new(401, "PGRST302", "Anonymous access is disabled").header(WWW_AUTHENTICATE, "Bearer")
    }

    /// A role that PostgreSQL does not have, in its words.
    pub(crate) fn no_such_role(role: &str) -> Self {
        Self::new(401, "22023", format!("role \"{role}\" does not exist")).header(WWW_AUTHENTICATE, "Bearer")
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

    /// SQL has set a `Content-Type` in `response.headers` that is not one media type.
    pub(crate) fn media_type_of_sql() -> Self {
        Self::headers_of_sql()
            .details(format!(
                "Content-Type must be one media type of at most {MEDIA_TYPE_BYTES_MAX} bytes, without a comma."
            ))
            .hint("Check a stored media type before it is set as the Content-Type of a response.")
    }

    /// SQL has repeated a header in `response.headers` that a response may have only once.
    pub(crate) fn header_of_sql_repeated(name: &HeaderName) -> Self {
        Self::headers_of_sql().details(format!("The header {name} is set more than once."))
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

    /// What must be made of the body is larger than a body may be.
    pub(crate) fn made_too_large(most: u64) -> Self {
        Self::new(413, "PGRST102", format!("What is made of the body is larger than {most} bytes"))
    }

    /// A row is larger than a body may be of which all must be here at once.
    pub(crate) fn row_too_large(most: u64) -> Self {
        Self::new(413, "PGRST102", format!("A row of the body is larger than {most} bytes"))
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
        Self::new(400, "PGRST102", "The body broke off")
            .details("The connection ended, or a chunk was malformed, before the body was whole.")
            .logged(cause.to_string())
    }

    /// The body is not what its `Content-Encoding` says.
    pub(crate) fn not_compressed(cause: &dyn std::error::Error) -> Self {
        Self::new(400, "PGRST102", "The body cannot be decompressed")
            .details("It is not valid gzip data.")
            .logged(cause.to_string())
    }

    /// What was kept of the body on disk cannot be read.
    pub(crate) fn body_lost() -> Self {
        Self::unavailable(NO_ROOM, "The body was kept on disk, and cannot be read.")
    }

    /// Something is wrong with a row of a body too large to be looked through for it: its place is told in any case.
    pub(crate) fn in_stream(error: DecodeError) -> Self {
        let place = request::place(&error);
        let api = Self::from(error);
        if matches!(api.details, Details::Null) { api.at(place) } else { api }
    }

    /// Other requests' bodies take all the room there is.
    pub(crate) fn too_many_bodies() -> Self {
        Self::unavailable(NO_ROOM, "Too many large bodies are being received.")
    }

    /// Too many computations wait for a permit, or this one has waited for too long.
    pub(crate) fn too_many_computations() -> Self {
        Self::unavailable(NO_ROOM, "Too many requests wait for a CPU. Retry later.")
    }

    /// Responses that other clients do not read take all the room there is.
    pub(crate) fn too_many_answers() -> Self {
        Self::unavailable(NO_ROOM, "Too many large responses wait for their clients.")
    }

    /// The request has been carried out, and there is no room for its response because other
    /// clients do not read theirs.
    pub(crate) fn answer_not_held() -> Self {
        Self::new(500, "TWG32", "The request may have been carried out, but there is no room for its response.")
            .details("Too many large responses wait for their clients.")
            .hint("Check what the request has changed before you repeat it.")
    }

    /// The body is no form with parts.
    pub(crate) fn not_multipart(cause: MultipartError) -> Self {
        let status = match cause {
            MultipartError::TooMany => 413,
            MultipartError::MediaType => return Self::part_without_one_media_type(cause),
            MultipartError::Start | MultipartError::End | MultipartError::Headers | MultipartError::Name => 400,
        };
        Self::new(status, "PGRST102", cause.to_string())
    }

    /// The `Content-Type` of a form's part is one that browsers and the server could read
    /// differently.
    fn part_without_one_media_type(cause: MultipartError) -> Self {
        Self::new(400, "TWG29", cause.to_string())
            .details(format!("A list, a comma and more than {MEDIA_TYPE_BYTES_MAX} bytes are refused."))
            .hint("Send one header with one media type, such as Content-Type: image/png, or none.")
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

    /// A page that cannot be made. Why is told to the log, and to who writes the site.
    pub(crate) fn of_page(fault: Fault) -> Self {
        Self { fault: Some(Box::new(fault)), ..Self::new(500, "TWG09", "The page cannot be made.") }
    }

    /// A template that fails while a page is made of it.
    pub(crate) fn of_template(error: &minijinja::Error) -> Self {
        Self::of_page(Fault::of(&thalweg_pages::of_engine(error)))
    }

    /// What only the log says.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// The same for who writes the site, who is shown why.
    pub(crate) fn revealed(mut self, show: impl Fn(&Fault) -> String) -> Self {
        if let Some(fault) = self.fault.take() {
            self.details = Details::Text(show(&fault));
        }
        self
    }

    pub(crate) fn page_too_large() -> Self {
        Self::new(500, "TWG09", "The rows of the page are more than can be held.")
            .hint("Give its queries a limit, or per_page.")
    }

    pub(crate) fn no_page() -> Self {
        Self::new(404, "TWG10", "There is no such page.")
    }

    pub(crate) fn no_row() -> Self {
        Self::new(404, "TWG10", "There is nothing by that name.")
    }

    /// A value that a page needs, and that is not there.
    pub(crate) fn value_of_page(value: &thalweg_pages::Value) -> Self {
        let name = &value.name;
        match value.source {
            Source::Address => Self::new(400, "TWG11", format!("The address must say {name}.")),
            Source::Cookie => Self::new(400, "TWG11", format!("There must be a cookie {name}.")),
            Source::Claims => {
                let message = format!("One must be signed in for this, by a token that says {name}.");
                Self::new(401, "TWG11", message).header(WWW_AUTHENTICATE, "Bearer")
            }
        }
    }

    /// A query of a page, some of whose values the visitor must say otherwise.
    pub(crate) fn of_unfilled(unfilled: Unfilled<'_>) -> Self {
        match unfilled {
            Unfilled::Absent(value) => Self::value_of_page(value),
            Unfilled::NotListed(value, listed) => {
                let message = format!("The address says {} otherwise than this page has it.", value.name);
                Self::new(400, "TWG11", message).hint(format!("It is one of {}.", listed.join(" | ")))
            }
            Unfilled::NotANumber(value) => {
                let source = match value.source {
                    Source::Address => "parameter",
                    Source::Cookie => "cookie",
                    Source::Claims => "claim",
                };
                let message = format!("The {source} {} must be a whole number.", value.name);
                Self::new(400, "TWG11", message).hint(format!("Send digits only, for a number of at most {ROWS_MAX}."))
            }
        }
    }

    pub(crate) fn of_parameters(most: usize) -> Self {
        Self::new(400, "TWG11", format!("The address of a page has at most {most} parameters."))
    }

    pub(crate) fn of_path(error: &thalweg_pages::PathError) -> Self {
        let status = if *error == thalweg_pages::PathError::TooLong { 414 } else { 400 };
        Self::new(status, "TWG11", error.to_string())
    }

    pub(crate) fn method_of_page(method: &Method, has_forms: bool) -> Self {
        let allowed = if has_forms { "GET, HEAD, POST" } else { "GET, HEAD" };
        Self::new(405, "PGRST117", format!("Unsupported HTTP method: {method}")).header(ALLOW, allowed)
    }

    /// What was sent to a page is no form.
    pub(crate) fn no_form() -> Self {
        Self::new(400, "TWG13", "A form is application/x-www-form-urlencoded or multipart/form-data")
    }

    /// The page has no form that the address names.
    pub(crate) fn no_such_form(name: &str) -> Self {
        match name {
            "" => Self::new(400, "TWG13", "The page has forms with names only").hint("The address says which: ?form=…"),
            name => Self::new(400, "TWG13", format!("The page has no form {name}")),
        }
    }

    /// A caller has used its own share, or other callers hold all shares.
    pub(crate) fn of_share(error: ShareError) -> Self {
        let mut api = Self::new(error.status().as_u16(), error.code(), error.to_string());
        api.headers.push((RETRY_AFTER, HeaderValue::from(error.retry_after_s())));
        api
    }

    /// A handler that has failed; why is in the log.
    pub(crate) fn of_handler() -> Self {
        Self::new(500, "TWG20", "The server could not answer.")
    }

    /// What code in the same process asks, and nobody could send.
    pub(crate) fn not_sent(message: String) -> Self {
        Self::new(400, "TWG22", message)
    }

    pub(crate) fn answer_too_large(most: usize) -> Self {
        Self::new(500, "TWG21", format!("The response is larger than {most} bytes"))
            .hint("ApiResponse::into_http gives it chunk by chunk.")
    }

    pub(crate) fn answer_torn() -> Self {
        Self::new(500, "TWG23", "The rows of the response broke off")
    }

    pub(crate) fn answer_not_understood(cause: &thalweg_json::Error) -> Self {
        Self::new(500, "TWG22", "The response is not the JSON that is wanted").details(cause.to_string())
    }

    /// What it says to people, each part with its name.
    pub(crate) fn parts(&self, verbose: bool) -> impl Iterator<Item = (&'static str, String)> {
        let details = match &self.details {
            Details::Null => None,
            Details::Text(text) => Some(text.clone()),
            Details::Json(json) => Some(String::from_utf8_lossy(json).into_owned()),
        };
        let said = [("message", Some(self.message.clone())), ("code", Some(self.code.to_string()))];
        let more = [("details", details), ("hint", self.hint.clone())];
        said.into_iter().chain(more.into_iter().filter(move |_| verbose)).filter_map(|(name, text)| Some((name, text?)))
    }

    /// The same in one line, for the log and for who runs the program.
    pub(crate) fn words(&self) -> String {
        let parts = self.parts(true).filter(|(name, _)| *name != "code").map(|(_, text)| text);
        let parts: Vec<String> = parts.chain(self.fault.iter().map(|fault| fault.message.clone())).collect();
        parts.join(" ")
    }

    /// The protocol's form, without details and hint where clients are not to see them.
    pub(crate) fn json(&self, verbose: bool) -> Vec<u8> {
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
        // A long message may have doubled the capacity, which a client that reads nothing would hold.
        body.shrink_to_fit();
        body
    }

    /// What the head says of it, whatever the body is.
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&format!("Thalweg; error={}", self.code)) {
            headers.insert(PROXY_STATUS, value);
        }
        headers.extend(self.headers.iter().cloned());
    }

    /// Body and headers.
    pub(crate) fn response(&self, verbose: bool) -> Response<Body> {
        let body = self.json(verbose);
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        self.mark(headers);
        if let Some(reason) = self.reason.as_deref().and_then(|text| ReasonPhrase::try_from(text.as_bytes()).ok()) {
            response.extensions_mut().insert(reason);
        }
        *response.body_mut() = Body::whole(body.into());
        response
    }
}
