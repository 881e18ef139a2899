//! A read abridged for people who look at it: texts are cut, and of binary values only the size comes.
//!
//! What filters, orders or joins is the value itself: only what is returned of it is less.

use crate::plan::Plan;
use crate::read::{Output, Read, Value};
use thalweg_catalog::{Catalog, Runs};
use thalweg_rows::oid;
use thalweg_rows::{Codec, Scalar};

/// What comes in place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abridged {
    /// Its output form, up to so many characters.
    Text {
        /// How many characters come at most.
        chars_max: u32,
    },
    /// How many bytes it has.
    Size,
}

/// The first OID that PostgreSQL gives to what is not its own (`FirstNormalObjectId` in its source).
const FIRST_OTHER_OID: oid::Oid = 16_384;

impl Plan<'_> {
    /// Lets texts end after so many characters, and says of binary values how many bytes they have, here and in what is
    /// embedded. Whatever has no other form comes in the one in which PostgreSQL shows it.
    pub fn abridge(&mut self, catalog: &Catalog, chars_max: u32) {
        let casts_other_types = self.read.abridge(chars_max);
        if casts_other_types || catalog.own_code().casts {
            self.runs = Runs::Anything;
        }
    }
}

impl Read<'_> {
    /// Whether a value is cast to text whose type is not one of PostgreSQL's own, so that the cast may not be either.
    fn abridge(&mut self, chars_max: u32) -> bool {
        let mut casts_other_types = false;
        for below in self.embeds.iter_mut().filter(|below| !below.spread && !below.as_json) {
            casts_other_types |= below.read.abridge(chars_max);
        }
        for output in &mut self.outputs {
            match output.value {
                Value::Embed(index) => output.codec = self.embeds[index].codec(),
                Value::Found(..) => {}
                Value::Lifted(..) if output.codec.holds_rows() => {}
                Value::Column { .. } | Value::Row | Value::Scalar | Value::Lifted(..) => {
                    casts_other_types |= output.abridge(chars_max);
                }
            }
        }
        casts_other_types
    }
}

impl Output<'_> {
    fn abridge(&mut self, chars_max: u32) -> bool {
        let is_short = matches!(
            self.codec,
            Codec::Scalar(Scalar::Bool | Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Oid) | Codec::Flag
        );
        if is_short && !self.to_json {
            return false;
        }
        // of a value that PostgreSQL would write as JSON, the type is not known here
        let is_other = self.to_json || !(1..FIRST_OTHER_OID).contains(&self.base_oid);
        let (abridged, scalar, type_oid) = match self.base_oid {
            oid::BYTEA => (Abridged::Size, Scalar::Int4, oid::INT4),
            _ => (Abridged::Text { chars_max }, Scalar::Text, oid::TEXT),
        };
        (self.abridged, self.codec, self.to_json, self.stripped) =
            (Some(abridged), Codec::Scalar(scalar), false, false);
        (self.type_oid, self.base_oid) = (type_oid, type_oid);
        is_other
    }
}
