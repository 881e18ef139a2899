//! JSON in memory, with its numbers as they were written: what a token's header, its claims and a JWK are read into.
//!
//! Members keep their order. Where a name comes twice in an object, the last member counts and the others are gone, as for
//! PostgreSQL's `->>`.

use crate::number::Number;
use std::collections::HashSet;
use std::ops::Range;
use thalweg_json::{Container, ReadError, Reader, Scalar, Visitor, write_string};

/// How deep arrays and objects may be nested. Whoever walks the tree calls itself as often.
pub(crate) const NESTING_LEVELS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Vec<Member>),
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Where the member is written, from the quote before its name to the end of its value.
    pub(crate) at: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeError {
    NotJson,
    TooDeep,
    /// A name occurs twice in an object.
    Repeated,
}

impl Value {
    /// Parses a text as [`Self::parse`] does, and refuses an object in which a name occurs twice.
    pub(crate) fn parse_unrepeated(text: &[u8]) -> Result<Self, TreeError> {
        let (tree, has_repeated) = Self::read(text)?;
        if has_repeated { Err(TreeError::Repeated) } else { Ok(tree) }
    }

    /// Takes what RFC 8259 takes, but for `\u0000` and half of a surrogate pair, which no text of PostgreSQL's can hold.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, TreeError> {
        Self::read(text).map(|(tree, _)| tree)
    }

    /// Parses a text, and returns whether a name occurs twice in one of its objects.
    fn read(text: &[u8]) -> Result<(Self, bool), TreeError> {
        std::str::from_utf8(text).map_err(|_| TreeError::NotJson)?;
        let mut tree = Builder::default();
        let mut reader = Reader::document();
        let read = reader.feed(text, &mut tree).and_then(|()| reader.finish(&mut tree));
        read.map_err(|error| match error {
            ReadError::Visitor(error) => error,
            ReadError::Nesting => TreeError::TooDeep,
            ReadError::Syntax(_) | ReadError::Nul | ReadError::Surrogate => TreeError::NotJson,
        })?;
        let has_repeated = tree.has_repeated;
        tree.done.map(|value| (value, has_repeated)).ok_or(TreeError::NotJson)
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    pub(crate) fn elements(&self) -> Option<&[Value]> {
        match self {
            Self::Array(elements) => Some(elements),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Object(_) => None,
        }
    }

    pub(crate) fn string(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Returns a string that is not empty, or the text of a number.
    pub(crate) fn as_name(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text).filter(|text| !text.is_empty()).map(String::as_str),
            Self::Number(number) => Some(number.text()),
            Self::Null | Self::Bool(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// The value of an object's member.
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.members()?.iter().find(|member| member.name == name).map(|member| &member.value)
    }

    /// As [`Self::member`], but a `null` counts as absent.
    pub(crate) fn present(&self, name: &str) -> Option<&Value> {
        self.member(name).filter(|value| !matches!(value, Self::Null))
    }

    /// Appends the value's JSON text, without white space.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(number) => out.extend_from_slice(number.text().as_bytes()),
            Self::String(text) => write_string(out, text.as_bytes()),
            Self::Array(elements) => {
                out.push(b'[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    element.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_string(out, member.name.as_bytes());
                    out.push(b':');
                    member.value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// A container that is still open.
enum Open {
    Array(Vec<Value>),
    Object {
        members: Vec<Member>,
        /// The name before the value that comes next, and where it began.
        name: String,
        from: usize,
    },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// The string or number that is being read.
    text: Vec<u8>,
    done: Option<Value>,
    /// True if a name occurred twice in an object.
    has_repeated: bool,
}

impl Builder {
    fn take_text(&mut self) -> Result<String, TreeError> {
        String::from_utf8(std::mem::take(&mut self.text)).map_err(|_| TreeError::NotJson)
    }

    /// A value has ended before `to`.
    fn value(&mut self, value: Value, to: usize) {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::Array(elements)) => elements.push(value),
            Some(Open::Object { members, name, from }) => {
                members.push(Member { name: std::mem::take(name), value, at: *from..to });
            }
        }
    }
}

impl Visitor for Builder {
    type Error = TreeError;

    fn open(&mut self, container: Container, depth: usize, _at: u64) -> Result<(), TreeError> {
        if depth > NESTING_LEVELS_MAX {
            return Err(TreeError::TooDeep);
        }
        self.open.push(match container {
            Container::Array => Open::Array(Vec::new()),
            Container::Object => Open::Object { members: Vec::new(), name: String::new(), from: 0 },
        });
        Ok(())
    }

    fn close(&mut self, _container: Container, _depth: usize, at: u64) -> Result<(), TreeError> {
        let value = match self.open.pop() {
            None => return Err(TreeError::NotJson),
            Some(Open::Array(elements)) => Value::Array(elements),
            Some(Open::Object { members, name: _, from: _ }) => {
                let count = members.len();
                let members = without_repeated(members);
                self.has_repeated |= members.len() < count;
                Value::Object(members)
            }
        };
        self.value(value, at as usize);
        Ok(())
    }

    fn string_start(&mut self, is_key: bool, _depth: usize, at: u64) -> Result<(), TreeError> {
        self.text.clear();
        if let (true, Some(Open::Object { from, .. })) = (is_key, self.open.last_mut()) {
            *from = at as usize - 1;
        }
        Ok(())
    }

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), TreeError> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn string_escape(&mut self, _raw: &[u8], character: char) -> Result<(), TreeError> {
        self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn string_end(&mut self, is_key: bool, _depth: usize, at: u64) -> Result<(), TreeError> {
        let text = self.take_text()?;
        match (is_key, self.open.last_mut()) {
            (true, Some(Open::Object { name, .. })) => *name = text,
            (true, Some(Open::Array(_)) | None) => return Err(TreeError::NotJson),
            (false, _) => self.value(Value::String(text), at as usize + 1),
        }
        Ok(())
    }

    fn scalar_start(&mut self, _depth: usize, _at: u64) -> Result<(), TreeError> {
        self.text.clear();
        Ok(())
    }

    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), TreeError> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn scalar_end(&mut self, scalar: Scalar, _depth: usize, at: u64) -> Result<(), TreeError> {
        let value = match scalar {
            Scalar::Number => Value::Number(Number::of_json(self.take_text()?)),
            Scalar::True => Value::Bool(true),
            Scalar::False => Value::Bool(false),
            Scalar::Null => Value::Null,
        };
        self.value(value, at as usize);
        Ok(())
    }
}

/// Leaves the last of the members that have one name.
fn without_repeated(members: Vec<Member>) -> Vec<Member> {
    let mut known = HashSet::with_capacity(members.len());
    let is_last: Vec<bool> = members.iter().rev().map(|member| known.insert(member.name.as_str())).collect();
    if is_last.iter().all(|is_last| *is_last) {
        return members;
    }
    members
        .into_iter()
        .zip(is_last.into_iter().rev())
        .filter_map(|(member, is_last)| is_last.then_some(member))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        Value::parse(text.as_bytes()).unwrap().write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_and_order_stay() {
        let text = r#"{"z":123456789012345678901234567890,"a":[1.0e9,-0,1E+400,0.10],"ü":"\"\\\n😀"}"#;
        assert_eq!(written(text), text);
        assert_eq!(written(" { \"a\" : [ ] , \"b\" : { } } "), r#"{"a":[],"b":{}}"#);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        assert_eq!(written(r#"{"a":1,"b":2,"\u0061":3,"c":{"x":1,"x":2}}"#), r#"{"b":2,"a":3,"c":{"x":2}}"#);
    }

    #[test]
    fn parse_unrepeated_refuses_repeated_names() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"[{"b":{"x":1,"x":2}}]"#] {
            assert_eq!(Value::parse_unrepeated(text.as_bytes()).unwrap_err(), TreeError::Repeated, "{text}");
        }
        assert!(Value::parse_unrepeated(br#"{"a":{"b":1},"b":{"b":1},"A":2}"#).is_ok());
    }

    #[test]
    fn a_member_knows_where_it_is_written() {
        let text = br#"{ "a" : [1, 2] ,"b":"x\n" , "c" : 12 }"#;
        let tree = Value::parse(text).unwrap();
        let written: Vec<&str> =
            tree.members().unwrap().iter().map(|m| std::str::from_utf8(&text[m.at.clone()]).unwrap()).collect();
        assert_eq!(written, [r#""a" : [1, 2]"#, r#""b":"x\n""#, r#""c" : 12"#]);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Value::parse(nested(NESTING_LEVELS_MAX).as_bytes()).is_ok());
        assert_eq!(Value::parse(nested(NESTING_LEVELS_MAX + 1).as_bytes()).unwrap_err(), TreeError::TooDeep);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["", " ", "{", "{]", "[1,]", "01", "nul", "\"\\u0000\"", "\"\\ud800\"", "{\"a\":1}x", "\u{feff}{}", "NaN"]
        {
            assert_eq!(Value::parse(text.as_bytes()).unwrap_err(), TreeError::NotJson, "{text}");
        }
        assert_eq!(Value::parse(b"\"\xff\"").unwrap_err(), TreeError::NotJson);
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_json_reads(text in r#"[\[\]{}:,"\\ a0-9.eE+\-truefalsn]{0,24}"#) {
            let ours = Value::parse(text.as_bytes());
            match serde_json::from_str::<serde_json::Value>(&text) {
                Ok(theirs) => prop_assert_eq!(
                    serde_json::from_str::<serde_json::Value>(&written(&text)).unwrap(), theirs),
                // what is out of a float's range they refuse, and we keep
                Err(error) => prop_assert!(ours.is_err() || error.to_string().contains("out of range")),
            }
        }
    }
}
