//! Values read and written without serde, as parts of types that derive `ToJson` and `FromJson`.

use super::number::Kind;
use super::{Map, Number, RawValue, Value};
use crate::derived::{FromMembers, ToMembers, members_of};
use crate::error::{Code, Result};
use crate::read::{FromJson, FromJsonKey, Parser, Text};
use crate::write::{ToJson, Writer};

impl ToJson for Value {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        match self {
            Value::Null => out.null(),
            Value::Bool(value) => out.boolean(*value),
            Value::Number(number) => number.to_json(out),
            Value::String(text) => out.string(text),
            Value::Array(elements) => elements.to_json(out),
            Value::Object(members) => members.to_json(out),
        }
    }
}

impl ToJson for Number {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        match &self.kind {
            Kind::Unsigned(value) => out.integer(*value),
            Kind::Signed(value) => out.integer(*value),
            Kind::Float(value) => out.float(*value),
            Kind::Text(text) => out.raw(text),
        }
    }
}

impl ToJson for Map<String, Value> {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.object(self)
    }
}

impl ToMembers for Map<String, Value> {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        members_of(self.iter(), out, is_first)
    }
}

impl ToJson for RawValue {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.raw(self.get())
    }
}

impl<'de> FromJson<'de> for Value {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        Ok(match parser.peek() {
            Some(b'n') => {
                parser.word(b"null")?;
                Value::Null
            }
            Some(b't' | b'f') => Value::Bool(parser.boolean()?),
            Some(b'"') => Value::String(String::from_json(parser)?),
            Some(b'[') => Value::Array(Vec::from_json(parser)?),
            Some(b'{') => Value::Object(Map::from_json(parser)?),
            Some(b'0'..=b'9' | b'-') => Value::Number(Number::from_json(parser)?),
            Some(_) => return Err(parser.wrong_next(Code::NoValue)),
            None => return Err(parser.wrong(Code::EofInValue)),
        })
    }
}

impl<'de> FromJson<'de> for Number {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        match parser.peek() {
            Some(b'0'..=b'9' | b'-') => parser.number_with_text().map(|(number, text)| Number::of(number, text)),
            _ => Err(parser.other("a JSON number")),
        }
    }
}

/// Of a key that comes twice, the last value counts.
impl<'de> FromJson<'de> for Map<String, Value> {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.object_start()?;
        let (mut members, mut is_first) = (Map::new(), true);
        while let Some(key) = parser.key(&mut is_first)? {
            let key = key.as_str().to_owned();
            parser.colon()?;
            members.insert(key, Value::from_json(parser)?);
        }
        Ok(members)
    }
}

impl<'de> FromMembers<'de> for Map<String, Value> {
    type Members = Self;

    fn start() -> Self {
        Map::new()
    }

    fn member(members: &mut Self, key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<bool> {
        members.insert(String::from_json_key(key)?, Value::from_json(parser)?);
        Ok(true)
    }

    fn finish(members: Self, _: &Parser<'de>) -> Result<Self> {
        Ok(members)
    }
}

impl<'de: 'a, 'a> FromJson<'de> for &'a RawValue {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.raw().map(RawValue::of)
    }
}

impl<'de> FromJson<'de> for Box<RawValue> {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.raw().map(|text| RawValue::of(text).to_owned())
    }
}
