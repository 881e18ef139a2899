//! The query string's pairs, split and decoded (url-grammar §2.1).

use crate::error::{ErrorKind, RequestError};
use std::borrow::Cow;

/// The pairs of a query string. What is parsed later borrows from here.
#[derive(Debug, Default)]
pub struct Params<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    valueless: Vec<Cow<'a, str>>,
    /// The query string as it was sent.
    query: &'a str,
}

impl<'a> Params<'a> {
    /// Splits at `&` and `;`, then decodes. A pair without `=` takes part in `Content-Location` only.
    pub fn decode(query: &'a str) -> Result<Self, RequestError> {
        let mut params = Self { query, ..Self::default() };
        for pair in split(query) {
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

    /// Returns the pairs of a query string as they were sent, without those of a name.
    pub fn without(query: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
        let is_named = move |pair: &str| {
            let key = pair.split('=').next().unwrap_or_default();
            decode(key, true, String::new).is_ok_and(|key| key == name)
        };
        split(query).filter(move |pair| !is_named(pair))
    }

    /// How many pairs have a value.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs with a value, in the order of the query string.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// A path with the query behind it as `Content-Location` has it: pairs sorted by key, repeated keys merged. Names and
    /// values are encoded as the client has encoded them, so that the text is no longer than the URL.
    pub fn canonical(&self, path: &str) -> String {
        let (mut with_value, mut valueless) = (self.pairs.iter(), self.valueless.iter());
        let pair = |pair: &'a str| match pair.split_once('=') {
            Some((key, value)) => Some((with_value.next()?.0.as_ref(), false, key, value)),
            None => Some((valueless.next()?.as_ref(), true, pair, "")),
        };
        let mut pairs: Vec<(&str, bool, &str, &str)> = split(self.query).filter_map(pair).collect();
        pairs.sort_by_key(|&(key, is_valueless, ..)| (key, is_valueless));
        let mut out = String::with_capacity(path.len() + self.query.len() + 2);
        out.push_str(path);
        let mut previous = None;
        for (key, _, key_sent, value) in pairs {
            if previous == Some(key) {
                out.push(',');
            } else {
                out.push(if previous.is_some() { '&' } else { '?' });
                encode(&mut out, key_sent);
                out.push('=');
            }
            encode(&mut out, value);
            previous = Some(key);
        }
        out
    }
}

/// The pairs of a query string.
fn split(query: &str) -> impl Iterator<Item = &str> {
    query.split(['&', ';']).filter(|pair| !pair.is_empty())
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

/// Encodes the characters of a query string that a header cannot have.
fn encode(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii_graphic()) {
        let (plain, special) = rest.split_at(at);
        let (special, after) = special.split_at(special.chars().next().map_or(0, char::len_utf8));
        out.push_str(plain);
        for byte in special.bytes() {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_url_is_no_longer_than_the_one_that_was_sent() {
        for (query, canonical) in [
            ("", "/t"),
            ("select=id,embed(a,b:c)&id=in.(1,2)&a=cs.{x}", "/t?a=cs.{x}&id=in.(1,2)&select=id,embed(a,b:c)"),
            ("select=id%2Cname&name=eq.a%26b+c", "/t?name=eq.a%26b+c&select=id%2Cname"),
            ("id=gt.3&limit=2;limit=3&%69d=lt.9", "/t?id=gt.3,lt.9&limit=2,3"),
            ("a=x=y&=&==", "/t?=,=&a=x=y"),
            ("a=%zz%", "/t?a=%zz%"),
        ] {
            let params = Params::decode(query).unwrap();
            assert_eq!(params.canonical("/t"), canonical, "{query}");
            assert!(canonical.len() <= "/t?".len() + query.len());
        }
        let canonical = |query| Params::decode(query).unwrap().canonical("/t");
        assert_eq!(canonical("select&a=1&select=b&a"), "/t?a=1,&select=b,");
        // A header has no other characters, and nor has a valid URL.
        assert_eq!(canonical("a=é\u{1f}b"), "/t?a=%C3%A9%1Fb");
    }

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
