//! What a request says of the file that its client may have.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName};
use thalweg_files::Conditions;

/// The conditions among the headers of a request. What is no text is none.
pub(crate) fn conditions(headers: &HeaderMap) -> Conditions<'_> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    Conditions {
        if_match: text(header::IF_MATCH),
        if_none_match: text(header::IF_NONE_MATCH),
        if_range: text(header::IF_RANGE),
        range: text(header::RANGE),
    }
}
