//! What derived code calls, and what it flattens.

use crate::error::{Error, Result};
use crate::read::{FromJson, FromJsonKey, Parser, Text};
use crate::write::{ToJson, ToJsonKey, Writer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

/// What can be written among the members of an object: maps, and structs that derive it.
pub trait ToMembers {
    /// Writes the members, with commas before those that do not come first.
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o>;
}

/// What can be read from some of the members of an object: maps, and structs that derive it.
pub trait FromMembers<'de>: Sized {
    /// What has been read of it.
    type Members;

    /// Nothing has been read yet.
    fn start() -> Self::Members;

    /// Reads a member's value, if the key is one of its own; whether it was.
    fn member(members: &mut Self::Members, key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<bool>;

    /// A member whose key nobody knows.
    #[doc(hidden)]
    fn unknown(_key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<()> {
        parser.skip()
    }

    /// What it is.
    fn finish(members: Self::Members, parser: &Parser<'de>) -> Result<Self>;
}

/// Where a text may stand in a table without two of its names in one slot.
#[doc(hidden)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn slot(text: &[u8], seed: u64, shift: u32) -> usize {
    let len = text.len();
    let (first, last) = match (text.first_chunk(), text.last_chunk(), text) {
        (Some(first), Some(last), _) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        (_, _, [a, b, c, d, .., _] | [a, b, c, d]) => {
            let last = text.last_chunk::<4>().map_or(0, |last| u32::from_le_bytes(*last));
            (u32::from_le_bytes([*a, *b, *c, *d]).into(), last.into())
        }
        (_, _, [first, .., last] | [first @ last]) => {
            (u64::from(*first) | u64::from(text[len / 2]) << 8, u64::from(*last))
        }
        (_, _, []) => (0, 0),
    };
    ((first ^ last.rotate_left(29) ^ (len as u64) << 57).wrapping_mul(seed) >> shift) as usize
}

/// Reads a value where its field was not expected: not in line, since that is once for each field more.
#[doc(hidden)]
#[inline(never)]
pub fn elsewhere<'de, T: FromJson<'de>>(parser: &mut Parser<'de>) -> Result<T> {
    T::from_json(parser)
}

/// How names are listed that something may have, as serde lists them.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => "there are none".to_owned(),
        [one] => format!("expected `{one}`"),
        [one, other] => format!("expected `{one}` or `{other}`"),
        _ => format!("expected one of {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// What derived code asks of a parser.
#[doc(hidden)]
impl<'de> Parser<'de> {
    /// Behind the bracket that opens an object: whether a member comes, up to whose key is read; otherwise the bracket that closes it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn first_member(&mut self) -> Result<bool> {
        if self.starts_with(b"\"") { Ok(true) } else { self.first_member_behind_blanks() }
    }

    #[inline(never)]
    fn first_member_behind_blanks(&mut self) -> Result<bool> {
        self.member(&mut true)
    }

    /// Behind a member: whether another one comes, up to whose key is read; otherwise the bracket that closes the object.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn next_member(&mut self) -> Result<bool> {
        if self.starts_with(b",\"") {
            self.advance();
            return Ok(true);
        }
        self.next_member_behind_blanks()
    }

    /// As [`Self::next_member`], behind the member that should be the last.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn last_member(&mut self) -> Result<bool> {
        if self.starts_with(b"}") {
            self.close();
            return Ok(false);
        }
        self.next_member()
    }

    #[inline(never)]
    fn next_member_behind_blanks(&mut self) -> Result<bool> {
        if self.quote_behind_comma() { Ok(true) } else { self.member(&mut false) }
    }

    /// Reads a member's key with its colon, if it is this one that comes, without white space. It is given with the comma before it, behind
    /// which all of that is one comparison; what is there otherwise is told by `is_open` as by [`Self::next_member`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn expect_next(&mut self, key: &'static str, is_behind: &mut bool, is_open: &mut bool) -> Result<bool> {
        if *is_behind {
            if self.expect(key) {
                return Ok(true);
            }
            *is_behind = false;
            *is_open = self.next_member_otherwise()?;
        }
        Ok(*is_open && self.expect(&key[1..]))
    }

    #[inline(never)]
    fn next_member_otherwise(&mut self) -> Result<bool> {
        self.next_member()
    }

    #[inline(always)]
    fn expect(&mut self, text: &'static str) -> bool {
        let is_there = self.starts_with(text.as_bytes());
        if is_there {
            self.advance_by(text.len());
        }
        is_there
    }

    /// Reads a key, up to which has been read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn key_here(&mut self) -> Result<Text<'de, '_>> {
        // whoever calls this by hand may stand within a character
        if !self.starts_with(b"\"") {
            return Err(self.no_key());
        }
        self.string_behind_quote()
    }

    #[cold]
    fn no_key(&self) -> Error {
        self.wrong_next(crate::error::Code::KeyString)
    }

    #[cold]
    pub fn unknown_field(&mut self, field: &str, names: &[&str]) -> Error {
        self.peek();
        self.message(format_args!("unknown field `{field}`, {}", one_of(names)))
    }

    #[cold]
    pub fn unknown_variant(&mut self, variant: &str, names: &[&str]) -> Error {
        self.message(format_args!("unknown variant `{variant}`, {}", one_of(names)))
    }

    /// A name alone stands for a variant that has more.
    #[cold]
    pub fn unit_variant(&mut self, expected: &str) -> Error {
        self.message(format_args!("invalid type: unit variant, expected {expected}"))
    }

    #[cold]
    pub fn invalid_length(&mut self, length: usize, expected: &str) -> Error {
        self.message(format_args!("invalid length {length}, expected {expected}"))
    }

    /// The value that comes next is none of those that an enum is written as.
    #[cold]
    pub fn no_variant(&mut self) -> Error {
        match self.peek() {
            Some(_) => self.wrong_next(crate::error::Code::NoValue),
            None => self.wrong(crate::error::Code::EofInValue),
        }
    }

    /// An object without a member names no variant.
    #[cold]
    pub fn no_name(&self) -> Error {
        self.wrong(crate::error::Code::NoValue)
    }

    /// The error of a value that is no variant's: what is wrong with it as JSON, if it is none.
    #[cold]
    pub fn unmatched(&mut self, message: &str) -> Error {
        let start = self.mark();
        if !self.is_attempted()
            && let Err(error) = self.skip()
        {
            return error;
        }
        self.jump(start);
        self.message(message)
    }

    /// The bracket that closes an array of which all elements have been read.
    #[inline]
    pub fn array_end(&mut self, is_first: &mut bool) -> Result<()> {
        if self.element(is_first)? { Err(self.wrong_next(crate::error::Code::TrailingCharacters)) } else { Ok(()) }
    }

    /// The bracket that closes an object of which all members have been read.
    #[inline]
    pub fn object_end(&mut self, is_first: &mut bool) -> Result<()> {
        if self.member(is_first)? { Err(self.wrong(crate::error::Code::NoValue)) } else { Ok(()) }
    }

    /// The string that an object has behind a key, if it has it. The object is read afterwards.
    pub fn tag(&mut self, key: &'static str) -> Result<Cow<'de, str>> {
        let mark = self.mark();
        self.object_start()?;
        let mut is_first = true;
        while let Some(found) = self.key(&mut is_first)? {
            let is_tag = found.as_str() == key;
            self.colon()?;
            if is_tag {
                let tag = self.string()?.into();
                self.retry(mark)?;
                return Ok(tag);
            }
            self.skip()?;
        }
        Err(self.missing_field(key))
    }
}

/// What derived code asks of a parser where a value is read twice.
#[doc(hidden)]
impl<'de> Parser<'de> {
    /// The string behind a key, and where the value behind another stands, of an object that is read whole.
    pub fn tag_and_content(
        &mut self,
        tag: &'static str,
        content: &'static str,
        is_denied: bool,
    ) -> Result<(Cow<'de, str>, Option<crate::read::Mark>)> {
        self.object_start()?;
        let (mut is_first, mut name, mut place) = (true, None, None);
        while let Some(found) = self.key(&mut is_first)? {
            let (is_tag, is_content) = (found.as_str() == tag, found.as_str() == content);
            if is_denied && !is_tag && !is_content {
                let message = format!("unknown field `{}`, expected `{tag}` or `{content}`", found.as_str());
                return Err(self.message(message));
            }
            self.colon()?;
            if (is_tag && name.is_some()) || (is_content && place.is_some()) {
                return Err(self.duplicate_field(if is_tag { tag } else { content }));
            }
            if is_tag {
                name = Some(self.string()?.into());
                continue;
            }
            if is_content {
                self.peek();
                place = Some(self.mark());
            }
            self.skip()?;
        }
        Ok((name.ok_or_else(|| self.missing_field(tag))?, place))
    }

    /// The error of a value that is none of those that were expected.
    #[cold]
    pub fn expected(&mut self, expected: &str) -> Error {
        self.other(expected)
    }
}

impl<T: ToMembers + ?Sized> ToMembers for &T {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        (**self).to_members(out, is_first)
    }
}

impl<T: ToMembers + ?Sized> ToMembers for Box<T> {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        (**self).to_members(out, is_first)
    }
}

/// Nothing of nothing.
impl<T: ToMembers> ToMembers for Option<T> {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        match self {
            Some(value) => value.to_members(out, is_first),
            None => out,
        }
    }
}

pub(crate) fn members_of<'o, 'm, K: ToJsonKey + 'm, V: ToJson + 'm>(
    members: impl Iterator<Item = (&'m K, &'m V)>,
    out: Writer<'o>,
    is_first: &mut bool,
) -> Writer<'o> {
    members.fold(out, |out, (key, value)| {
        let out = if std::mem::replace(is_first, false) { out } else { out.literal(",") };
        key.to_json_key(out).literal(":").value(value)
    })
}

impl<K: ToJsonKey, V: ToJson> ToMembers for BTreeMap<K, V> {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        members_of(self.iter(), out, is_first)
    }
}

impl<K: ToJsonKey, V: ToJson, S> ToMembers for HashMap<K, V, S> {
    fn to_members<'o>(&self, out: Writer<'o>, is_first: &mut bool) -> Writer<'o> {
        members_of(self.iter(), out, is_first)
    }
}

impl<'de, T: FromMembers<'de>> FromMembers<'de> for Box<T> {
    type Members = T::Members;

    fn start() -> T::Members {
        T::start()
    }

    fn member(members: &mut T::Members, key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<bool> {
        T::member(members, key, parser)
    }

    fn unknown(key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<()> {
        T::unknown(key, parser)
    }

    fn finish(members: T::Members, parser: &Parser<'de>) -> Result<Self> {
        T::finish(members, parser).map(Box::new)
    }
}

/// Nothing where it cannot be made of the members that are there, as in serde.
impl<'de, T: FromMembers<'de>> FromMembers<'de> for Option<T> {
    /// Whether all of them could be read, too.
    type Members = (T::Members, bool);

    fn start() -> Self::Members {
        (T::start(), true)
    }

    fn member(members: &mut Self::Members, key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<bool> {
        if let Some(is_its_own) = parser.attempt(|parser| T::member(&mut members.0, key, parser))? {
            return Ok(is_its_own);
        }
        members.1 = false;
        parser.skip()?;
        Ok(true)
    }

    fn unknown(key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<()> {
        T::unknown(key, parser)
    }

    fn finish(members: Self::Members, parser: &Parser<'de>) -> Result<Self> {
        Ok(if members.1 { parser.quietly(|parser| T::finish(members.0, parser)).ok() } else { None })
    }
}

macro_rules! maps {
    ($($map:ident<$($parameter:ident),*> where $($bounded:ident: $bound:path),*;)*) => {$(
        impl<'de, K: FromJsonKey<'de>, V: FromJson<'de>, $($parameter),*> FromMembers<'de> for $map<K, V, $($parameter),*>
        where
            $($bounded: $bound,)*
            K: Eq,
        {
            type Members = Self;

            fn start() -> Self {
                Self::default()
            }

            fn member(members: &mut Self, key: Text<'de, '_>, parser: &mut Parser<'de>) -> Result<bool> {
                let key = K::from_json_key(key).map_err(|error| parser.found_here(error))?;
                members.insert(key, V::from_json(parser)?);
                Ok(true)
            }

            fn finish(members: Self, _: &Parser<'de>) -> Result<Self> {
                Ok(members)
            }
        }
    )*};
}

maps! {
    BTreeMap<> where K: Ord;
    HashMap<S> where K: Hash, S: BuildHasher, S: Default;
}
