//! What a body is said to be (writes §1, functions §3).

use crate::error::{ErrorKind, RequestError};

/// The form of a body, by its `Content-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// An object, or an array of objects.
    Json,
    /// Objects, one a line.
    Ndjson,
    /// Comma-separated values below a header line.
    Csv,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/form-data`, with its boundary.
    Multipart(&'a str),
    /// The whole body is one argument of a function.
    Raw(Raw),
}

/// What a body is that is one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Raw {
    Text,
    Xml,
    Octets,
}

impl<'a> Content<'a> {
    /// Reads a `Content-Type`. Bodies that are one value are for functions.
    pub fn parse(header: Option<&'a str>, for_function: bool) -> Result<Self, RequestError> {
        let Some(header) = header else { return Ok(Self::Json) };
        let name = header.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let raw = |raw| if for_function { Some(Self::Raw(raw)) } else { None };
        let found = match name {
            _ if is("application/json") || name.is_empty() => Some(Self::Json),
            _ if is("text/csv") => Some(Self::Csv),
            _ if is("application/x-www-form-urlencoded") => Some(Self::Form),
            _ if is("application/x-ndjson") || is("application/jsonl") => Some(Self::Ndjson),
            _ if is("multipart/form-data") => boundary(header).map(Self::Multipart),
            _ if is("text/plain") => raw(Raw::Text),
            _ if is("text/xml") => raw(Raw::Xml),
            _ if is("application/octet-stream") => raw(Raw::Octets),
            _ => None,
        };
        found.ok_or_else(|| ErrorKind::ContentType(name.to_owned()).into())
    }
}

/// The `boundary` of a multipart type, which may be quoted (RFC 2046 §5.1.1).
fn boundary(header: &str) -> Option<&str> {
    let value = header.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    })?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    (1..=70).contains(&value.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types() {
        let parse = |header, for_function| Content::parse(header, for_function).ok();
        assert_eq!(parse(None, false), Some(Content::Json));
        assert_eq!(parse(Some("Application/JSON; charset=utf-8"), false), Some(Content::Json));
        assert_eq!(parse(Some("text/plain"), false), None);
        assert_eq!(parse(Some("text/plain; x=y"), true), Some(Content::Raw(Raw::Text)));
        assert_eq!(parse(Some("multipart/form-data; boundary=\"a b\""), false), Some(Content::Multipart("a b")));
        assert_eq!(parse(Some("multipart/form-data"), false), None);
    }
}
