//! What the types of the standard library are read from.

use super::{FromJson, FromJsonKey, Parser, Text};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

macro_rules! integers {
    ($($read:ident: $($type:ident)*;)*) => {$($(
        impl<'de> FromJson<'de> for $type {
            #[inline(always)]
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                let value = parser.$read(stringify!($type))?;
                value.try_into().map_err(|_| out_of_range(parser, &value, stringify!($type)))
            }
        }

        integer_keys!($type);
    )*)*};
}

macro_rules! integer_keys {
    ($type:ident) => {
        impl<'de> FromJsonKey<'de> for $type {
            fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
                number_key(key.as_str(), stringify!($type))
            }
        }

        impl<'de> FromJson<'de> for NonZero<$type> {
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                let value = $type::from_json(parser)?;
                Self::new(value).ok_or_else(|| out_of_range(parser, &value, concat!("a nonzero ", stringify!($type))))
            }
        }
    };
}

#[cold]
fn out_of_range(parser: &Parser<'_>, value: &dyn std::fmt::Display, expected: &str) -> Error {
    parser.message(format_args!("invalid value: integer `{value}`, expected {expected}"))
}

/// A key's number, written as one of JSON's.
fn number_key<T: std::str::FromStr>(key: &str, expected: &str) -> Result<T> {
    let digits = key.strip_prefix('-').unwrap_or(key);
    // `-0` is a float's
    let is_number = key == "0" || digits.starts_with(|first: char| matches!(first, '1'..='9'));
    let value = if is_number { key.parse().ok() } else { None };
    value.ok_or_else(|| Error::message(format_args!("invalid value: key {key:?}, expected {expected}")))
}

integers! {
    unsigned: u8 u16 u32 u64 usize;
    signed: i8 i16 i32 i64 isize;
}

macro_rules! large {
    ($($type:ident)*) => {$(
        impl<'de> FromJson<'de> for $type {
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                let digits = parser.digits(stringify!($type))?;
                digits.parse().map_err(|_| out_of_range(parser, &digits, stringify!($type)))
            }
        }

        integer_keys!($type);
    )*};
}

large!(u128 i128);

impl<'de> FromJson<'de> for f64 {
    #[inline]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.float()
    }
}

impl<'de> FromJson<'de> for f32 {
    #[inline]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.float32()
    }
}

impl<'de> FromJson<'de> for bool {
    #[inline(always)]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.boolean()
    }
}

impl<'de> FromJsonKey<'de> for bool {
    fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
        match key.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(Error::message(format_args!("invalid value: key {other:?}, expected a boolean"))),
        }
    }
}

impl<'de> FromJson<'de> for () {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        if parser.null()? { Ok(()) } else { Err(parser.other("unit")) }
    }
}

impl<'de> FromJson<'de> for char {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        let text = parser.string()?;
        let character = only_character(text.as_str());
        character.map_err(|error| parser.found_here(error))
    }
}

impl<'de> FromJsonKey<'de> for char {
    fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
        only_character(key.as_str())
    }
}

fn only_character(text: &str) -> Result<char> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(Error::message(format_args!("invalid value: string {text:?}, expected a character"))),
    }
}

impl<'de: 'a, 'a> FromJson<'de> for &'a str {
    #[inline(always)]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        match parser.string()? {
            Text::Borrowed(text) => Ok(text),
            Text::Unescaped(_) => {
                Err(parser.message("invalid type: string with an escape, expected a borrowed string"))
            }
        }
    }
}

impl<'de: 'a, 'a> FromJsonKey<'de> for &'a str {
    fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
        match key {
            Text::Borrowed(text) => Ok(text),
            Text::Unescaped(_) => Err(Error::message("invalid type: key with an escape, expected a borrowed string")),
        }
    }
}

/// Borrowed, unless it has an escape.
impl<'de: 'a, 'a> FromJson<'de> for Cow<'a, str> {
    #[inline]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        parser.string().map(Cow::from)
    }
}

impl<'de: 'a, 'a> FromJsonKey<'de> for Cow<'a, str> {
    fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
        Ok(key.into())
    }
}

impl<'de: 'a, 'a> From<Text<'de, '_>> for Cow<'a, str> {
    #[inline]
    fn from(text: Text<'de, '_>) -> Self {
        match text {
            Text::Borrowed(text) => Self::Borrowed(text),
            Text::Unescaped(text) => Self::Owned(text.to_owned()),
        }
    }
}

/// What is made of a string's characters.
macro_rules! strings {
    ($($type:ty)*) => {$(
        impl<'de> FromJson<'de> for $type {
            #[inline]
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                parser.string().map(|text| text.as_str().into())
            }
        }

        impl<'de> FromJsonKey<'de> for $type {
            #[inline]
            fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
                Ok(key.as_str().into())
            }
        }
    )*};
}

strings!(String Box<str> Rc<str> Arc<str>);

/// What has a text of its own.
macro_rules! parsed {
    ($($type:ty: $expected:literal;)*) => {$(
        impl<'de> FromJson<'de> for $type {
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                let key = <Self as FromJsonKey>::from_json_key(parser.string()?);
                key.map_err(|error| parser.found_here(error))
            }
        }

        impl<'de> FromJsonKey<'de> for $type {
            fn from_json_key(key: Text<'de, '_>) -> Result<Self> {
                let text = key.as_str();
                text.parse().map_err(|_| Error::message(format_args!("invalid value: string {text:?}, expected {}", $expected)))
            }
        }
    )*};
}

parsed! {
    IpAddr: "an IP address";
    Ipv4Addr: "an IPv4 address";
    Ipv6Addr: "an IPv6 address";
    SocketAddr: "a socket address";
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Option<T> {
    #[inline]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        if parser.null()? { Ok(None) } else { T::from_json(parser).map(Some) }
    }

    #[inline]
    fn absent(_: &Parser<'de>, _: &'static str) -> Result<Self> {
        Ok(None)
    }
}

macro_rules! boxed {
    ($($type:ident)*) => {$(
        impl<'de, T: FromJson<'de>> FromJson<'de> for $type<T> {
            #[inline]
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                T::from_json(parser).map(Self::new)
            }
        }
    )*};
}

boxed!(Box Rc Arc);

impl<'de, T: FromJson<'de>> FromJson<'de> for Box<[T]> {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        Vec::from_json(parser).map(Vec::into_boxed_slice)
    }
}

/// Reads an array, each element as it comes.
#[inline(always)]
fn elements<'de, T: FromJson<'de>>(parser: &mut Parser<'de>, mut keep: impl FnMut(T)) -> Result<()> {
    parser.array_start()?;
    let mut is_first = true;
    while parser.element(&mut is_first)? {
        keep(T::from_json(parser)?);
    }
    Ok(())
}

impl<'de, T: FromJson<'de>> FromJson<'de> for Vec<T> {
    #[inline]
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        let mut values = Self::new();
        elements(parser, |value| values.push(value))?;
        Ok(values)
    }
}

macro_rules! sequences {
    ($($type:ident: $keep:ident $(: $bound:ident $(+ $more:ident)*)?;)*) => {$(
        impl<'de, T: FromJson<'de> $(+ $bound $(+ $more)*)?> FromJson<'de> for $type<T> {
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                let mut values = Self::new();
                elements(parser, |value| drop(values.$keep(value)))?;
                Ok(values)
            }
        }
    )*};
}

#[allow(dropping_copy_types)]
mod sequences {
    use super::*;

    sequences! {
        VecDeque: push_back;
        LinkedList: push_back;
        BTreeSet: insert: Ord;
        BinaryHeap: push: Ord;
    }
}

impl<'de, T: FromJson<'de> + Eq + Hash, S: BuildHasher + Default> FromJson<'de> for HashSet<T, S> {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        let mut values = Self::default();
        elements(parser, |value| {
            values.insert(value);
        })?;
        Ok(values)
    }
}

/// Arrays up to this size are read in place, others on the heap first, since the stack has room for them once only.
const IN_PLACE_BYTES: usize = 4096;

impl<'de, T: FromJson<'de>, const N: usize> FromJson<'de> for [T; N] {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        if size_of::<[Option<T>; N]>() > IN_PLACE_BYTES {
            let mut values = Vec::with_capacity(N);
            fill(parser, N, |_, value| values.push(value))?;
            return values.try_into().map_err(|_| parser.message("invalid length"));
        }
        let mut values = [const { None }; N];
        fill(parser, N, |at, value| values[at] = Some(value))?;
        Ok(values.map(|value| value.expect("as many have been read")))
    }
}

/// Reads an array of so many elements, each as it comes.
#[inline(always)]
fn fill<'de, T: FromJson<'de>>(parser: &mut Parser<'de>, count: usize, mut keep: impl FnMut(usize, T)) -> Result<()> {
    parser.array_start()?;
    let (mut is_first, mut length) = (true, 0);
    while parser.element(&mut is_first)? {
        if length == count {
            return Err(parser.wrong_next(crate::error::Code::TrailingCharacters));
        }
        keep(length, T::from_json(parser)?);
        length += 1;
    }
    if length < count { Err(too_short(parser, length, &format!("an array of length {count}"))) } else { Ok(()) }
}

#[cold]
fn too_short(parser: &Parser<'_>, length: usize, expected: &str) -> Error {
    parser.message(format_args!("invalid length {length}, expected {expected}"))
}

/// Reads the key of a member, its colon and its value.
#[inline(always)]
fn members<'de, K: FromJsonKey<'de>, V: FromJson<'de>>(
    parser: &mut Parser<'de>,
    mut keep: impl FnMut(K, V),
) -> Result<()> {
    parser.object_start()?;
    let mut is_first = true;
    while let Some(key) = parser.key(&mut is_first)? {
        let key = K::from_json_key(key);
        let key = key.map_err(|error| parser.found_here(error))?;
        parser.colon()?;
        keep(key, V::from_json(parser)?);
    }
    Ok(())
}

/// Of a key that comes twice, the last value counts.
impl<'de, K: FromJsonKey<'de> + Ord, V: FromJson<'de>> FromJson<'de> for BTreeMap<K, V> {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        let mut values = Self::new();
        members(parser, |key, value| {
            values.insert(key, value);
        })?;
        Ok(values)
    }
}

/// Of a key that comes twice, the last value counts.
impl<'de, K: FromJsonKey<'de> + Eq + Hash, V: FromJson<'de>, S: BuildHasher + Default> FromJson<'de>
    for HashMap<K, V, S>
{
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        let mut values = Self::default();
        members(parser, |key, value| {
            values.insert(key, value);
        })?;
        Ok(values)
    }
}

macro_rules! tuples {
    ($($length:literal: $($name:ident)*;)*) => {$(
        impl<'de, $($name: FromJson<'de>),*> FromJson<'de> for ($($name,)*) {
            fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
                parser.array_start()?;
                let (mut is_first, mut length) = (true, 0);
                let values = ($({
                    if !parser.element(&mut is_first)? {
                        return Err(too_short(parser, length, concat!("a tuple of size ", $length)));
                    }
                    length += 1;
                    $name::from_json(parser)?
                },)*);
                if parser.element(&mut is_first)? {
                    return Err(parser.wrong_next(crate::error::Code::TrailingCharacters));
                }
                let _ = length;
                Ok(values)
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
}
