//! Responses that are no errors.

use crate::body::Body;
use crate::content_range::ContentRange;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use thalweg_plan::Plan;
use thalweg_request::{Count, Handling, Params, Preferences};

/// The response to a read (representation §8). `range` is `None` where the number of rows is not known yet.
pub(crate) fn read(
    plan: &Plan<'_>,
    params: &Params<'_>,
    path: &str,
    preferences: &Preferences<'_>,
    show_profile: bool,
    range: Option<ContentRange>,
    body: Body,
) -> Response<Body> {
    let size = body.size_bytes();
    let mut response = Response::new(body);
    *response.status_mut() = range.map_or(StatusCode::OK, ContentRange::status);
    let headers = response.headers_mut();
    headers.reserve(10);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(plan.media.content_type()));
    if let Some(size) = size.filter(|_| plan.delivery != thalweg_plan::Delivery::HeadOnly) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    }
    if let Some(range) = range {
        headers.insert(header::CONTENT_RANGE, range.value());
    }
    let query = params.canonical();
    let separator = if query.is_empty() { "" } else { "?" };
    text(headers, header::CONTENT_LOCATION, [path, separator, &query].concat());
    if show_profile {
        text(headers, HeaderName::from_static("content-profile"), plan.schema.to_owned());
    }
    if let Some(applied) = applied(preferences) {
        text(headers, HeaderName::from_static("preference-applied"), applied);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Prefer, Range"));
    response
}

/// What of the preferences was recognised and has a meaning for reads (representation §9).
fn applied(preferences: &Preferences<'_>) -> Option<String> {
    let count = preferences.count.map(|count| match count {
        Count::Exact => "count=exact".to_owned(),
        Count::Planned => "count=planned".to_owned(),
        Count::Estimated => "count=estimated".to_owned(),
    });
    let handling = preferences.handling.map(|handling| match handling {
        Handling::Strict => "handling=strict".to_owned(),
        Handling::Lenient => "handling=lenient".to_owned(),
    });
    let timezone = preferences.timezone.map(|zone| format!("timezone={zone}"));
    let parts: Vec<String> = [count, handling, timezone].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The response to OPTIONS: what can be done here.
pub(crate) fn options(allowed: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Prefer, Range"));
    response
}

fn text(headers: &mut header::HeaderMap, name: HeaderName, value: String) {
    // A value that a header cannot hold is left out.
    if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
        headers.insert(name, value);
    }
}
