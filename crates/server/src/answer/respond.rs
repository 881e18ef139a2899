//! Responses that are no errors.

use crate::answer::ContentRange;
use crate::answer::{Body, Held};
use crate::error::{ApiError, FINAL_STATUS_MIN};
use crate::http::{CONTENT_PROFILE, PREFERENCE_APPLIED};
use crate::prepared::Prepared;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use std::borrow::Cow;
use std::fmt::Write as _;
use thalweg_files::MediaType;
use thalweg_plan::{Delivery, Form, Returned, Write};
use thalweg_request::{Action, Count, Params};

/// What a response depends on besides what was prepared.
pub(crate) struct Facts<'a> {
    pub(crate) params: &'a Params<'a>,
    /// The path as it was asked for.
    pub(crate) path: Cow<'a, str>,
    /// Where the API is, if not at the root.
    pub(crate) prefix: &'a str,
    pub(crate) head_only: bool,
    /// The limit of every response, where it cut this one off.
    pub(crate) rows_cut: Option<u64>,
    /// `db-max-rows`, if it has cut off rows of an embed.
    pub(crate) embedded_cut: Option<u64>,
    /// The schema, where it is named.
    pub(crate) profile: Option<&'a str>,
}

/// The response to a read or a call (representation §8). `range` is `None` where the number of rows is not known yet.
pub(crate) fn read(prepared: &Prepared, facts: &Facts<'_>, range: Option<ContentRange>, body: Body) -> Response<Body> {
    let size = body.size_bytes();
    let is_empty = prepared.form == Form::Nothing && range.is_some();
    let mut response = Response::new(if is_empty { Body::whole(Bytes::new()) } else { body });
    *response.status_mut() = range.map_or(StatusCode::OK, ContentRange::status);
    if is_empty {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let headers = response.headers_mut();
    headers.reserve(10);
    if !is_empty {
        known(headers, header::CONTENT_TYPE, &prepared.head.content_type);
        if let Some(size) = size.filter(|_| prepared.delivery != Delivery::HeadOnly && !facts.head_only) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
        }
    }
    if let Some(range) = range {
        headers.insert(header::CONTENT_RANGE, range.value());
    }
    if !prepared.nature.calls && !prepared.explains {
        text(headers, header::CONTENT_LOCATION, facts.params.canonical(&facts.path));
    }
    if let Some(schema) = facts.profile.filter(|_| !is_empty) {
        text(headers, CONTENT_PROFILE, schema.to_owned());
    }
    known(headers, PREFERENCE_APPLIED, &prepared.head.preference_applied);
    known(headers, header::WARNING, &prepared.head.warning);
    let cut = [("rows", facts.rows_cut), ("rows of an embed", facts.embedded_cut)];
    for (rows, most) in cut.into_iter().filter_map(|(rows, most)| Some((rows, most?))) {
        let warning = format!("299 Thalweg \"There are more {rows}: db-max-rows is {most}.\"");
        if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(warning)) {
            headers.append(header::WARNING, value);
        }
    }
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// The response to a write (writes §§3–9).
pub(crate) fn write(
    prepared: &Prepared,
    write: &Write<'_>,
    facts: &Facts<'_>,
    written: WriteCounts,
    body: Body,
) -> Response<Body> {
    let WriteCounts { rows, updated, key } = written;
    let has_body = write.returned.has_rows();
    let merges = write.conflict.as_ref().is_some_and(|conflict| conflict.counts);
    let size = body.size_bytes();
    let mut response = Response::new(if has_body { body } else { Body::whole(Bytes::new()) });
    *response.status_mut() = match write.action {
        Action::Insert if merges && rows <= updated => StatusCode::OK,
        Action::Insert => StatusCode::CREATED,
        Action::Replace if has_body && updated == 0 => StatusCode::CREATED,
        _ if has_body => StatusCode::OK,
        _ => StatusCode::NO_CONTENT,
    };
    let total = matches!(prepared.count, Some(Count::Exact | Count::Estimated)).then_some(rows);
    let headers = response.headers_mut();
    if has_body {
        known(headers, header::CONTENT_TYPE, &prepared.head.content_type);
        if let Some(schema) = facts.profile {
            text(headers, CONTENT_PROFILE, schema.to_owned());
        }
    }
    if has_body || write.action == Action::Insert {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(if has_body { size.unwrap_or(0) } else { 0 }));
    }
    let range = match write.action {
        Action::Update => Some(ContentRange { offset: 0, rows, total }),
        Action::Insert | Action::Delete => Some(ContentRange { offset: 0, rows: 0, total }),
        _ => None,
    };
    if let Some(range) = range {
        headers.insert(header::CONTENT_RANGE, range.value());
    }
    if let (1, Returned::Key(names), Some(values)) = (rows, &write.returned, key)
        && !names.is_empty()
    {
        text(headers, header::LOCATION, location(facts.prefix, &write.relation.name, names, &values));
    }
    known(headers, PREFERENCE_APPLIED, &prepared.head.preference_applied);
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// What has become of a write.
pub(crate) struct WriteCounts {
    /// How many rows were written.
    pub(crate) rows: u64,
    /// How many of them were there before.
    pub(crate) updated: u64,
    /// The key of the first.
    pub(crate) key: Option<Vec<Option<String>>>,
}

/// Where a row is found: `/relation?column=eq.value`. The relation's name stands there as it is.
fn location(prefix: &str, relation: &str, names: &[&str], values: &[Option<String>]) -> String {
    let mut location = [prefix, "/", relation].concat();
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        location.push(if at == 0 { '?' } else { '&' });
        escape(&mut location, name);
        match value {
            Some(value) => {
                location.push_str("=eq.");
                escape(&mut location, value);
            }
            None => location.push_str("=is.null"),
        }
    }
    location
}

/// Appends text with all but RFC 3986's unreserved characters escaped.
pub(crate) fn escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
}

pub(crate) const VARY: &str = "Accept, Prefer, Range";

/// Puts in what SQL has set: a status, and headers in place of those of the same name (functions §7).
pub(crate) fn set_by_sql(
    response: &mut Response<Body>,
    (headers, status): (Option<String>, Option<String>),
) -> Result<(), ApiError> {
    if let Some(headers) = headers.filter(|text| !text.is_empty()) {
        let set = parse_headers(&headers).ok_or_else(ApiError::headers_of_sql)?;
        check_headers(&set)?;
        for (name, _) in set.iter().filter(|(name, _)| name != header::CONTENT_LENGTH) {
            response.headers_mut().remove(name);
        }
        // where a response ends is not SQL's to say
        let framing = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];
        for (name, value) in set.into_iter().filter(|(name, _)| !framing.contains(name)) {
            // Without `nosniff`, a browser could find HTML in a body whose type SQL has chosen.
            if name == header::CONTENT_TYPE && !response.headers().contains_key(header::X_CONTENT_TYPE_OPTIONS) {
                response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
            }
            response.headers_mut().append(name, value);
        }
    }
    if let Some(status) = status.filter(|text| !text.is_empty()) {
        let digits = status.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let code = digits[..end].parse().ok().and_then(|code| StatusCode::from_u16(code).ok());
        let code = code.filter(|code| code.as_u16() >= FINAL_STATUS_MIN).ok_or_else(ApiError::status_of_sql)?;
        *response.status_mut() = code;
        if matches!(code, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            *response.body_mut() = Body::whole(Bytes::new());
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
    }
    Ok(())
}

/// Headers that a response may have only once. Clients differ on which one of several they obey.
const SINGLE_HEADERS: [HeaderName; 10] = [
    header::CONTENT_TYPE,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::RETRY_AFTER,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::X_CONTENT_TYPE_OPTIONS,
];

pub(crate) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Refuses headers set by SQL that a browser could interpret differently than the server.
fn check_headers(set: &[(HeaderName, HeaderValue)]) -> Result<(), ApiError> {
    for (at, (name, value)) in set.iter().enumerate() {
        if SINGLE_HEADERS.contains(name) && set[..at].iter().any(|(other, _)| other == name) {
            return Err(ApiError::header_of_sql_repeated(name));
        }
        let is_type = || value.to_str().is_ok_and(|text| MediaType::parse(text.trim()).is_some());
        if name == header::CONTENT_TYPE && !is_type() {
            return Err(ApiError::media_type_of_sql());
        }
    }
    Ok(())
}

/// A JSON array of objects, each with one key and a string.
fn parse_headers(text: &str) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let objects: Vec<std::collections::BTreeMap<String, String>> = thalweg_json::from_str(text).ok()?;
    let one = |object: std::collections::BTreeMap<String, String>| {
        let mut members = object.into_iter();
        let (name, value) = members.next().filter(|_| members.len() == 0)?;
        Some((name.parse().ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    objects.into_iter().map(one).collect()
}

/// The description of the API.
pub(crate) fn description(document: Held, profile: Option<&str>, head_only: bool) -> Response<Body> {
    let size = document.bytes();
    let mut response = Response::new(if head_only { Body::whole(Bytes::new()) } else { Body::held(document) });
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/openapi+json; charset=utf-8"));
    if !head_only {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    }
    if let Some(profile) = profile {
        text(headers, CONTENT_PROFILE, profile.to_owned());
    }
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// The response to OPTIONS: what can be done here.
pub(crate) fn options(allowed: &str) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    let headers = response.headers_mut();
    text(headers, header::ALLOW, allowed.to_owned());
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// Puts in what does not depend on the rows, where there is such a thing.
fn known(headers: &mut HeaderMap, name: HeaderName, value: &Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value.clone());
    }
}

pub(crate) fn text(headers: &mut HeaderMap, name: HeaderName, value: String) {
    // A value that a header cannot hold is left out.
    if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
        headers.insert(name, value);
    }
}
