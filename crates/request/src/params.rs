//! The query string's pairs, split and decoded (url-grammar §2.1).

use crate::error::{ErrorKind, RequestError};
use std::borrow::Cow;

/// The pairs of a query string. What is parsed later borrows from here.
#[derive(Debug, Default)]
pub struct Params<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    valueless: Vec<Cow<'a, str>>,
}

impl<'a> Params<'a> {
    /// Splits at `&` and `;`, then decodes. A pair without `=` takes part in `Content-Location` only.
    pub fn decode(query: &'a str) -> Result<Self, RequestError> {
        let mut params = Self::default();
        for pair in query.split(['&', ';']).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((key, value)) => {
                    let key = decode(key, true, || "a name of the query string".to_owned())?;
                    let value = decode(value, true, || format!("the value of '{key}'"))?;
                    params.pairs.push((key, value));
                }
                None => params.valueless.push(decode(pair, true, || "a name of the query string".to_owned())?),
            }
        }
        Ok(params)
    }

    /// How many pairs have a value.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs with a value, in the order of the query string.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// A path with the query behind it as `Content-Location` has it: pairs sorted by key, repeated keys merged, values
    /// encoded again.
    pub fn canonical(&self, path: &str) -> String {
        let valueless = self.valueless.iter().map(|key| (key.as_ref(), None));
        let mut pairs: Vec<_> = self.iter().map(|(key, value)| (key, Some(value))).chain(valueless).collect();
        pairs.sort_by_key(|&(key, _)| key);
        // as long as it is where nothing has to be encoded
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.map_or(0, str::len) + 2).sum();
        let mut out = String::with_capacity(path.len() + bytes);
        out.push_str(path);
        let mut previous = None;
        for (key, value) in pairs {
            if previous == Some(key) {
                out.push(',');
            } else {
                out.push(if previous.is_some() { '&' } else { '?' });
                encode(&mut out, key);
                out.push('=');
            }
            encode(&mut out, value.unwrap_or(""));
            previous = Some(key);
        }
        out
    }
}

/// Decodes `%XX`, and `+` as a space where `plus` says so. A malformed escape stays as it is.
///
/// A NUL is refused here, before anything is made of the text: PostgreSQL has no such character, and its protocol ends
/// the text of a statement there. `place` names what holds it.
pub(crate) fn decode(text: &str, plus: bool, place: impl Fn() -> String) -> Result<Cow<'_, str>, RequestError> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | 0) || (plus && byte == b'+')) {
        return Ok(Cow::Borrowed(text));
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|&digit| (digit as char).to_digit(16));
        match bytes[at] {
            b'+' if plus => decoded.push(b' '),
            b'%' => match (hex(1), hex(2)) {
                (Some(high), Some(low)) => {
                    decoded.push((high * 16 + low) as u8);
                    at += 2;
                }
                _ => decoded.push(b'%'),
            },
            byte => decoded.push(byte),
        }
        at += 1;
    }
    if decoded.contains(&0) {
        return Err(ErrorKind::Nul(place()).into());
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| ErrorKind::Encoding.into())
}

/// Encodes everything that is not unreserved in a URL (RFC 3986 section 2.3).
fn encode(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_refused_wherever_it_stands() {
        for (query, place) in [
            ("a=1&se%00lect=x", "a name of the query string"),
            ("flag%00", "a name of the query string"),
            ("select=d->\"a%00b\"", "the value of 'select'"),
            ("a=\0", "the value of 'a'"),
        ] {
            let error = Params::decode(query).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Nul(place.to_owned()), "{query}");
        }
        // what only looks like one is text
        assert!(Params::decode("a=%2500&b=\\u0000&c=%0").is_ok());
    }
}
