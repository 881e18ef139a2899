//! Profiles in protobuf, as `go tool pprof` reads them (source: `proto/profile.proto` of github.com/google/pprof).

use super::names::Place;
use super::profile::NamedStack;
use super::samples::Unit;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::io::Write as _;

/// A profile in gzip. Each place is a location of its own, so that what was inlined is a frame as any other.
pub(super) fn written(unit: Unit, places: &[Place], stacks: &[NamedStack]) -> Vec<u8> {
    let mut texts = Texts::default();
    // the table begins with the empty text
    texts.index("");
    let mut profile = Message::default();
    let (kind, measure) = unit.names();
    for (kind, measure) in [("samples", "count"), (kind, measure)] {
        let (kind, measure) = (texts.index(kind), texts.index(measure));
        profile.message(1, |value_type| {
            value_type.number(1, kind);
            value_type.number(2, measure);
        });
    }
    let labels = [texts.index("tag"), texts.index("thread")];
    for stack in stacks {
        profile.message(2, |sample| {
            sample.numbers(1, stack.frames.iter().rev().map(|frame| *frame as u64 + 1));
            sample.numbers(2, [stack.count, stack.weight].map(signed));
            let values = [stack.tag, stack.thread as u64];
            for (label, value) in labels.into_iter().zip(values).filter(|(_, value)| *value != 0) {
                sample.message(3, |pair| {
                    pair.number(1, label);
                    pair.number(3, value);
                });
            }
        });
    }
    let mut functions: HashMap<(u64, u64), u64> = HashMap::new();
    for (at, place) in places.iter().enumerate() {
        let key = (texts.index(&place.function), texts.index(place.file.as_deref().unwrap_or_default()));
        let new = functions.len() as u64 + 1;
        let function = *functions.entry(key).or_insert(new);
        if function == new {
            profile.message(5, |message| {
                message.number(1, function);
                message.number(2, key.0);
                message.number(3, key.0);
                message.number(4, key.1);
            });
        }
        profile.message(4, |location| {
            location.number(1, at as u64 + 1);
            location.message(4, |line| {
                line.number(1, function);
                line.number(2, place.line.unwrap_or_default().into());
            });
        });
    }
    for text in &texts.all {
        profile.bytes(6, text.as_bytes());
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    // what is written to memory does not fail
    let _ = gzip.write_all(&profile.0);
    gzip.finish().unwrap_or_default()
}

/// An `int64` as protobuf has it: two's complement.
fn signed(value: i128) -> u64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64
}

/// The table of texts, to which all others refer by number.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A message being written (source: protobuf.dev, "Encoding").
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: u64, value: u64) {
        self.variable(field << 3);
        self.variable(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.variable(field << 3 | 2);
        self.variable(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Numbers, packed.
    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut inner = Self::default();
        values.into_iter().for_each(|value| inner.variable(value));
        self.bytes(field, &inner.0);
    }

    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
