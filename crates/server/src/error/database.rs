//! What PostgreSQL reports, as the protocol shows it (errors §5).

use super::{ApiError, CLIENT_ERROR, Details, FINAL_STATUS_MIN, Fault, NO_ROOM, Retry};
use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use std::borrow::Cow;
use thalweg_encode::EncodeError;
use thalweg_wire::{DbError, ErrorKind as WireKind, PoolError, StepError};

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

impl ApiError {
    /// What PostgreSQL reported (errors §5). `anonymous` tells whether the request ran as the anonymous role.
    fn database(error: &DbError, anonymous: bool) -> Self {
        if error.code == "PGRST" {
            return Self::raised(error);
        }
        let ends_session = matches!(error.severity.as_str(), "FATAL" | "PANIC");
        let status = match &*error.code {
            // Another process of PostgreSQL has crashed, or the session was unused for too long.
            // Neither is a fault of the request.
            "57P02" | "57P05" if ends_session => 503,
            "21000" if is_repeated_key(error) => 400,
            code => status_of(code, &error.message, anonymous),
        };
        let mut api = Self::new(status, "", error.message.clone());
        api.code = Cow::Owned(error.code.clone());
        api.details = error.detail.clone().map_or(Details::Null, Details::Text);
        api.hint = error.hint.clone();
        if is_repeated_key(error) {
            api.message = "Several rows of the body have the same key".to_owned();
            api.details = Details::Text(error.message.clone());
            api.hint = Some("Send one row for each key: those of the primary key, or of on_conflict.".to_owned());
        }
        if let Some(message) = machine_error_message(error) {
            let words = [Some(&error.message), error.detail.as_ref(), error.hint.as_ref()];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            api.fault = Some(Box::new(Fault::from(words.join(" "))));
            (api.message, api.details, api.hint) = (message.to_owned(), Details::Null, None);
        }
        if error.code.starts_with("PT") {
            api.reason = Some(error.message.clone());
        }
        // what ends a session, SQL cannot raise
        api.load_is_due = ends_session;
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
        let Ok(message) = thalweg_json::from_str::<RaisedMessage>(&error.message) else {
            return malformed("MESSAGE", Some(&error.message), MESSAGE_KEYS);
        };
        let Some(detail) = error.detail.as_deref() else { return malformed("DETAIL", None, DETAIL_KEYS) };
        let Ok(raised) = thalweg_json::from_str::<RaisedDetail>(detail) else {
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

    pub(crate) fn wire(error: &thalweg_wire::Error, anonymous: bool) -> Self {
        if error.may_have_committed() {
            return Self::may_have_been_executed(error);
        }
        match error.kind() {
            WireKind::Database(database) => {
                let mut api = Self::database(database, anonymous);
                api.reported = Some(database.clone());
                if let Some(place) = database.context.as_deref().and_then(row_of_copy) {
                    api = api.at(place);
                }
                if error.nothing_was_written() {
                    api.retry =
                        if error.is_of_known_statement() { Retry::AfterSuspectedLoad } else { retry_of(database) };
                }
                api
            }
            WireKind::Stale => {
                let retry = if error.nothing_was_written() { Retry::AfterLoad } else { Retry::Never };
                Self::fallen_behind(retry)
            }
            WireKind::TooLarge => Self::body_too_large("PostgreSQL takes"),
            WireKind::Connect(_) | WireKind::Authentication(_) | WireKind::Config(_) => Self::connecting(error),
            WireKind::Broken | WireKind::Protocol(_) => Self::lost("PGRST001", CLIENT_ERROR).logged(error.to_string()),
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
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout => Self::new(504, NO_ROOM, "Timed out acquiring connection from connection pool."),
            PoolError::QueueFull => {
                Self::unavailable(NO_ROOM, "Too many requests are waiting for a connection from the pool.")
                    .hint("Try again after the seconds in Retry-After.")
            }
            PoolError::Connect(error) => Self::connecting(&error),
        }
    }
}

/// Returns whether an upsert of the server has met one key twice. An upsert within a function or a
/// trigger has a context, and its body is not the client's.
fn is_repeated_key(error: &DbError) -> bool {
    error.code == "21000" && error.routine.as_deref() == Some("ExecOnConflictUpdate") && error.context.is_none()
}

/// Returns whether an outdated schema cache can have caused an error. Errors within functions,
/// triggers and policies have a context, and loading the schema cache does not remedy them.
fn retry_of(error: &DbError) -> Retry {
    match (error.code.as_str(), error.routine.as_deref()) {
        _ if error.context.is_some() => Retry::Never,
        // A column or a relation does not exist.
        ("42703" | "42P01", _) => Retry::AfterSuspectedLoad,
        // No function, or more than one, has these arguments. For operators, PostgreSQL reports
        // these codes from another routine.
        ("42883" | "42725", Some("ParseFuncOrColumn")) => Retry::AfterSuspectedLoad,
        // A type or an operator does not exist, or a value has another type.
        ("42704" | "42804" | "42846" | "42883" | "42725", _) => Retry::AfterLoadInProgress,
        _ => Retry::Never,
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

/// Returns the message for clients about an error of the machine that runs PostgreSQL. PostgreSQL's
/// own words name files and memory of that machine, and go only to the log. An error that a
/// function raises has the words of SQL, and is shown unchanged.
fn machine_error_message(error: &DbError) -> Option<&'static str> {
    if error.routine.as_deref() == Some("exec_stmt_raise") {
        return None;
    }
    match (error.code.get(..2)?, error.code.as_str()) {
        (_, "53100") => Some("The database has no room on its disk."),
        (_, "53200") => Some("The database has too little memory."),
        (_, "53000") | ("58", _) => Some("The system of the database has failed."),
        // PostgreSQL derives these codes from the error number of a call of the system that failed.
        (_, "42501" | "42809" | "XX000") if error.message.starts_with("could not ") => {
            Some("The system of the database has failed.")
        }
        ("F0", _) => Some("The configuration of the database is wrong."),
        (_, "XX001" | "XX002") => Some("The data of the database is damaged."),
        _ => None,
    }
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
        ("PT", _) => code[2..].parse().ok().filter(|status| (FINAL_STATUS_MIN..=999).contains(status)).unwrap_or(500),
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first status of a row counts. Further statuses depend on the message or the role.
    #[test]
    fn sqlstates_have_the_statuses_of_the_manual() {
        let manual = include_str!("../../../../docs/errors.md");
        let (_, table) = manual.split_once("## PostgreSQL's codes").unwrap();
        let mut codes_seen = 0;
        for row in table.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            for code in cells[0].split(", ").map(|code| code.trim_matches('`')).filter(|code| *code != "PGRST") {
                let code = code.replace('…', "999");
                assert_eq!(status_of(&code, "", false).to_string(), cells[1], "{code}");
                codes_seen += 1;
            }
        }
        assert!(codes_seen > 30, "{codes_seen}");
    }

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
            // whatever the request has asked for: so PostgREST says of all that is too complex for PostgreSQL
            ("54000", "", false, 500),
            ("54001", "stack depth limit exceeded", false, 500),
            ("54011", "target lists can have at most 1664 entries", false, 500),
            ("54023", "", false, 500),
            ("57014", "", false, 500),
            ("57P01", "", false, 503),
            ("53300", "", false, 503),
            ("53400", "", false, 500),
            ("40001", "", false, 500),
            ("PT418", "", false, 418),
            ("PT999", "", false, 999),
            ("PT100", "", false, 500),
            ("PT40A", "", false, 500),
            ("PTé", "", false, 500),
            ("", "", false, 400),
        ] {
            assert_eq!(status_of(code, message, anonymous), status, "{code}");
        }
    }
}
