//! Random rows of every kind of column, as PostgreSQL sends them and as it never should.

use super::Choices;
use crate::pager::Pager;
use crate::rows::Table;
use minijinja::value::Value;
use std::sync::Arc;
use thalweg_encode::Zone;
use thalweg_rows::{Codec, Field, RowView, Scalar};

/// What is wrong with the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Faults {
    None,
    /// Of values that hold no others.
    Values,
    /// Of rows within rows.
    Records,
}

/// The columns that a row may have besides those that hold others.
const SCALARS: [(&str, &[Scalar]); 13] = [
    ("title", &[Scalar::Text]),
    ("n", &[Scalar::Int4, Scalar::Int2, Scalar::Int8]),
    ("x", &[Scalar::Float8, Scalar::Float4]),
    ("amount", &[Scalar::Numeric]),
    ("flag", &[Scalar::Bool]),
    ("day", &[Scalar::Date]),
    ("at", &[Scalar::Timestamp, Scalar::TimestampTz]),
    ("clock", &[Scalar::Time, Scalar::TimeTz]),
    ("span", &[Scalar::Interval]),
    ("id", &[Scalar::Uuid]),
    ("meta", &[Scalar::Json, Scalar::Jsonb]),
    ("blob", &[Scalar::Bytea]),
    ("oid", &[Scalar::Oid]),
];

const TEXTS: [&str; 11] = [
    "Alps",
    "",
    "<b>&\"'",
    "a,b\n\"c\"",
    "żółw 🦉",
    "sixteen bytes or more, and then <",
    "\u{1}\u{b}x",
    "</script>",
    "12",
    "2026-11-22",
    "2026-11-22T20:36:37.5+00:00",
];
const DIGITS: [&str; 12] = [
    "1",
    "123456789012345678901234567890",
    "0",
    "-42",
    "12.50",
    "12.00",
    "NaN",
    "-Infinity",
    "9223372036854775807",
    "9223372036854775808",
    "12345678901234567890.10",
    "0.000123",
];
const DOCUMENTS: [&str; 9] = [
    "{\"a\": \"<i>\", \"n\": 1.5, \"list\": [1, \"&\"]}",
    "{\"a\": {\"a\": {\"n\": -1}}}",
    "[1, 2]",
    "\"text <\"",
    "null",
    "true",
    "1e400",
    "12345678901234567890123",
    "{\"n\": null}",
];
const DAYS: [i32; 12] = [
    9822,
    0,
    i32::MAX,
    i32::MIN,
    -730_119,
    -730_120,
    2_921_574,
    2_921_575,
    2_921_939,
    2_921_940,
    2_145_031_948,
    -2_451_507,
];
const DAY_MICROS: i64 = 86_400_000_000;

/// The fields of a result.
pub(super) fn fields(choices: &mut Choices<'_>) -> Arc<[Field]> {
    fields_of(choices, 0).into()
}

fn fields_of(choices: &mut Choices<'_>, depth: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    for (name, scalars) in SCALARS {
        if choices.is_one_in(3) {
            let codec = Codec::Scalar(scalars[choices.below(scalars.len())]);
            let is_text = depth == 0 && choices.is_one_in(2);
            fields.push(field(name, if is_text { codec.as_column() } else { codec }));
        }
    }
    if choices.is_one_in(3) {
        let element = [Scalar::Text, Scalar::Int4][choices.below(2)];
        fields.push(field("tags", Codec::Array(Codec::Scalar(element).into())));
    }
    if depth == 2 {
        return fields;
    }
    if !choices.is_one_in(3) {
        let mut columns = fields_of(choices, depth + 1);
        if depth == 0 && choices.is_one_in(2) {
            // of nothing that is wanted PostgreSQL says that it is never null
            let nameless = columns.is_empty() || choices.is_one_in(2);
            let first = if nameless { field("", Codec::Flag) } else { columns.remove(0) };
            fields.push(field("pilot", Codec::Found(Box::new(first), columns.len())));
            fields.extend(columns);
        } else {
            fields.push(field("pilot", Codec::Row(columns.into())));
        }
    }
    if !choices.is_one_in(3) {
        let rows = Codec::Row(fields_of(choices, depth + 1).into()).into();
        fields.push(field("parts", if choices.is_one_in(20) { Codec::Array(rows) } else { Codec::List(rows) }));
    }
    // what stands behind rows is found too
    fields.push(field("last", Codec::Scalar(Scalar::Int4)));
    fields
}

fn field(name: &str, codec: Codec) -> Field {
    Field { name: name.into(), codec, type_oid: 0 }
}

/// Rows of these fields as templates see them.
pub(super) fn rows(choices: &mut Choices<'_>, fields: &Arc<[Field]>) -> (Value, Faults) {
    let faults = match choices.below(12) {
        10 => Faults::Values,
        11 => Faults::Records,
        _ => Faults::None,
    };
    let zone = Zone::named(choices.of(&["UTC", "Europe/Zurich", "America/New_York", "Asia/Kathmandu"]));
    let mut table = Table::new(fields.clone(), zone.unwrap_or(Zone::UTC));
    for _ in 0..(1 + choices.below(4)) % 4 {
        let mut message = (fields.len() as u16).to_be_bytes().to_vec();
        let mut bytes = Bytes { choices, faults };
        bytes.columns(fields, |_, value| message.extend(prefixed(value)));
        table.push(RowView::parse(&message).unwrap());
    }
    let pager =
        Pager { page: Some(1), per_page: 2, total: Some(9), address: "/flights".into(), parameter: "page".into() };
    (table.into_rows(choices.is_one_in(4).then_some(pager)), faults)
}

struct Bytes<'c, 'a> {
    choices: &'c mut Choices<'a>,
    faults: Faults,
}

impl Bytes<'_, '_> {
    /// Each column of a row. Those of a row that is not there are null.
    fn columns(&mut self, fields: &[Field], mut take: impl FnMut(&Field, Option<Vec<u8>>)) {
        let mut missing = 0;
        for field in fields {
            let value = match &field.codec {
                _ if missing > 0 => {
                    missing -= 1;
                    None
                }
                Codec::Found(_, behind) if self.choices.is_one_in(2) => {
                    missing = *behind;
                    None
                }
                Codec::Found(first, _) => Some(self.value(&first.codec)),
                _ if self.choices.is_one_in(5) => None,
                _ => Some(self.value(&field.codec)),
            };
            take(field, value);
        }
    }

    fn value(&mut self, codec: &Codec) -> Vec<u8> {
        match codec {
            Codec::Output => self.torn(|choices| choices.of(&TEXTS).as_bytes().to_vec()),
            Codec::Digits => self.choices.of(&DIGITS).into(),
            Codec::Flag => self.choices.of(&["t", "f"]).into(),
            Codec::Found(first, _) => self.value(&first.codec),
            Codec::Scalar(scalar) => self.torn(|choices| scalar_bytes(*scalar, choices)),
            Codec::Array(element) | Codec::List(element) | Codec::Values(element) => self.array(element),
            Codec::Row(fields) => {
                let is_torn = self.faults == Faults::Records && self.choices.is_one_in(6);
                let mut record = (fields.len() as i32 + i32::from(is_torn)).to_be_bytes().to_vec();
                self.columns(fields, |field, value| {
                    record.extend(field.type_oid.to_be_bytes());
                    record.extend(prefixed(value));
                });
                record
            }
        }
    }

    /// Of one dimension, or two where none of its elements is a row.
    fn array(&mut self, element: &Codec) -> Vec<u8> {
        let is_flat = matches!(element, Codec::Row(_)) || !self.choices.is_one_in(4);
        let sizes = if is_flat { vec![self.choices.below(4)] } else { vec![2, self.choices.below(3)] };
        let count: usize = sizes.iter().product();
        let sizes = if count == 0 { Vec::new() } else { sizes };
        let mut bytes: Vec<u8> = [sizes.len() as i32, 0, 0].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend(sizes.iter().flat_map(|size| [*size as i32, 1]).flat_map(i32::to_be_bytes));
        for _ in 0..count {
            let value = if self.choices.is_one_in(9) { None } else { Some(self.value(element)) };
            bytes.extend(prefixed(value));
        }
        bytes
    }

    /// A value, which ends early or is no text now and then.
    fn torn(&mut self, value: impl FnOnce(&mut Choices<'_>) -> Vec<u8>) -> Vec<u8> {
        let mut bytes = value(self.choices);
        if self.faults == Faults::Values && self.choices.is_one_in(8) {
            match self.choices.below(3) {
                0 => _ = bytes.pop(),
                1 => bytes.insert(0, 0xff),
                _ => bytes.clear(),
            }
        }
        bytes
    }
}

fn prefixed(value: Option<Vec<u8>>) -> Vec<u8> {
    let Some(value) = value else { return (-1_i32).to_be_bytes().to_vec() };
    [&(value.len() as i32).to_be_bytes()[..], &value].concat()
}

fn scalar_bytes(scalar: Scalar, choices: &mut Choices<'_>) -> Vec<u8> {
    let zones = [0_i32, -3600, 20_700, 2048];
    match scalar {
        Scalar::Bool => vec![choices.below(2) as u8],
        Scalar::Int2 => [1, 0, -1, i16::MAX, i16::MIN][choices.below(5)].to_be_bytes().into(),
        Scalar::Int4 => [1, 0, 2, i32::MAX, i32::MIN][choices.below(5)].to_be_bytes().into(),
        Scalar::Int8 => [1, 0, 2, i64::MAX, i64::MIN][choices.below(5)].to_be_bytes().into(),
        Scalar::Float4 => {
            [1.5, 0.1, -0.0, f32::NAN, f32::INFINITY, f32::MAX, 1e-7][choices.below(7)].to_be_bytes().into()
        }
        Scalar::Float8 => [1.5, 12.0, 0.1, -0.0, f64::NAN, f64::NEG_INFINITY, 1e300, 5e-324, 1e15][choices.below(9)]
            .to_be_bytes()
            .into(),
        Scalar::Numeric => numeric(choices),
        Scalar::Bytea => [&b"\x00\xff'<"[..], b""][choices.below(2)].into(),
        Scalar::Uuid => vec![choices.below(256) as u8; 16],
        Scalar::Oid => [17, u32::MAX][choices.below(2)].to_be_bytes().into(),
        Scalar::Date => DAYS[choices.below(DAYS.len())].to_be_bytes().into(),
        Scalar::Time => time(choices).to_be_bytes().into(),
        Scalar::TimeTz => {
            let (time, zone) = (time(choices), zones[choices.below(zones.len())]);
            [&time.to_be_bytes()[..], &zone.to_be_bytes()].concat()
        }
        Scalar::Timestamp | Scalar::TimestampTz => {
            let infinity = [None, Some(i64::MAX), Some(i64::MIN)][choices.below(20) / 18];
            let days = DAYS[choices.below(DAYS.len())].clamp(-2_451_507, 106_751_990);
            infinity.unwrap_or_else(|| i64::from(days) * DAY_MICROS + time(choices)).to_be_bytes().into()
        }
        Scalar::Interval => {
            let (days, months) = (choices.below(40) as i32 - 9, choices.below(30) as i32 - 9);
            [&time(choices).to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat()
        }
        Scalar::Json => choices.of(&DOCUMENTS).into(),
        Scalar::Jsonb => [&[1], choices.of(&DOCUMENTS).as_bytes()].concat(),
        _ => choices.of(&TEXTS).into(),
    }
}

/// A time of day, to the midnight that ends it.
fn time(choices: &mut Choices<'_>) -> i64 {
    [74_197_500_000, 0, 1, DAY_MICROS - 1, DAY_MICROS][choices.below(5)]
}

/// The number of its digits to the base 10000, the weight of the first, the sign, and how many decimals are shown.
fn numeric(choices: &mut Choices<'_>) -> Vec<u8> {
    let parts: [&[u16]; 7] = [
        &[2, 0, 0, 2, 12, 5000],
        &[0, 0, 0, 0],
        &[1, 0, 0x4000, 0, 42],
        &[0, 0, 0xc000, 0],
        &[0, 0, 0xd000, 0],
        &[0, 0, 0xf000, 0],
        &[6, 4, 0, 2, 1234, 5678, 9012, 3456, 7890, 1000],
    ];
    choices.of(&parts).iter().flat_map(|part| part.to_be_bytes()).collect()
}
