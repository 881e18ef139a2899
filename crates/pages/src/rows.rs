//! Rows as templates see them: lazy, over the bytes that PostgreSQL sent.
//!
//! A row is found by its place, a column by its name in the row; only then is its value read. Values are what the JSON API writes: numbers,
//! texts, truth values, lists and maps. A `numeric` with more digits than a number holds is a text.

use crate::pager::Pager;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use thalweg_encode::{EncodeError, Zone, write_scalar};
use thalweg_rows::{Codec, Cursor, Field, Malformed, RowView, Scalar, oid};

/// The rows of a query, as they came.
#[derive(Debug)]
pub struct Table {
    fields: Arc<[Field]>,
    zone: Zone,
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl Table {
    /// Without a row yet. Moments are written in this zone.
    pub fn new(fields: Arc<[Field]>, zone: Zone) -> Table {
        Table { fields, zone, bytes: Vec::new(), ends: Vec::new() }
    }

    /// Keeps a row.
    pub fn push(&mut self, row: RowView<'_>) {
        self.bytes.extend_from_slice(row.body());
        self.ends.push(self.bytes.len());
    }

    /// Forgets all rows, since they will come again.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How much it holds, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    /// All rows as a list, or those of a page of them.
    pub fn into_rows(self, pager: Option<Pager>) -> Value {
        let shown = pager.as_ref().map_or(self.len(), |pager| self.len().min(pager.rows_max()));
        Value::from_object(Rows { table: Arc::new(self), shown, pager })
    }

    /// The first row.
    pub fn into_row(self) -> Option<Value> {
        (!self.is_empty()).then(|| Arc::new(self).row(0))
    }

    /// The value in the first column of the first row, which is none where there is no row.
    pub fn into_value(self) -> Value {
        if self.is_empty() { Value::from(()) } else { Arc::new(self).first_of_row(0) }
    }

    /// The value in the first column of each row.
    pub fn into_values(self) -> Value {
        let table = Arc::new(self);
        Value::from((0..table.len()).map(|at| table.first_of_row(at)).collect::<Vec<Value>>())
    }

    fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start..self.ends[at]
    }

    fn row(self: &Arc<Self>, at: usize) -> Value {
        let bytes = self.range(at);
        Value::from_object(Row { table: self.clone(), fields: self.fields.clone(), bytes, within: Within::Result })
    }

    fn first_of_row(self: &Arc<Self>, at: usize) -> Value {
        let row =
            Row { table: self.clone(), fields: self.fields.clone(), bytes: self.range(at), within: Within::Result };
        row.column(0)
    }

    /// The value of these bytes, which lie in the table's.
    fn value(self: &Arc<Self>, codec: &Codec, bytes: Option<&[u8]>) -> Result<Value, EncodeError> {
        let Some(bytes) = bytes else {
            return Ok(if matches!(codec, Codec::List(_)) {
                Value::from(Vec::<Value>::new())
            } else {
                Value::from(())
            });
        };
        Ok(match codec {
            Codec::Output => text(bytes)?,
            Codec::Digits => number(bytes)?,
            Codec::Flag => Value::from(bytes == b"t"),
            Codec::Scalar(scalar) => self.scalar(*scalar, bytes)?,
            Codec::Array(element) | Codec::List(element) => self.array(element, bytes)?,
            Codec::Row(fields) => {
                let bytes = self.place(bytes);
                Value::from_object(Row { table: self.clone(), fields: fields.clone(), bytes, within: Within::Record })
            }
        })
    }

    fn scalar(&self, scalar: Scalar, bytes: &[u8]) -> Result<Value, EncodeError> {
        let mut cursor = Cursor::new(bytes);
        Ok(match scalar {
            Scalar::Text => text(bytes)?,
            Scalar::Bool => Value::from(cursor.u8()? != 0),
            Scalar::Int2 => Value::from(cursor.i16()?),
            Scalar::Int4 => Value::from(cursor.i32()?),
            Scalar::Int8 => Value::from(cursor.i64()?),
            Scalar::Float4 => shortest(f32::from_bits(cursor.u32()?)),
            Scalar::Float8 => Value::from(f64::from_bits(cursor.i64()? as u64)),
            Scalar::Json => json(bytes)?,
            Scalar::Jsonb => json(bytes.get(1..).unwrap_or_default())?,
            Scalar::Bytea => {
                let mut written = Vec::with_capacity(4 + 2 * bytes.len());
                write_scalar(&mut written, scalar, bytes, &self.zone)?;
                // `"\\x…"`, of which the quotes and the escape go
                text(&written[2..written.len() - 1])?
            }
            _ => {
                let mut written = Vec::with_capacity(40);
                write_scalar(&mut written, scalar, bytes, &self.zone)?;
                match written.as_slice() {
                    [b'"', inner @ .., b'"'] => text(inner)?,
                    digits => number(digits)?,
                }
            }
        })
    }

    /// An array (`array_send`): dimensions, flags, element type, the bounds, then the elements in row-major order.
    fn array(self: &Arc<Self>, element: &Codec, bytes: &[u8]) -> Result<Value, EncodeError> {
        /// PostgreSQL's own limit.
        const DIMENSIONS_MAX: usize = 6;
        let mut cursor = Cursor::new(bytes);
        let dimensions = cursor.i32()? as usize;
        cursor.take(8)?;
        if dimensions > DIMENSIONS_MAX {
            return Err(Malformed("array: too many dimensions").into());
        }
        let mut sizes = Vec::with_capacity(dimensions);
        for _ in 0..dimensions {
            sizes.push(cursor.i32()?);
            cursor.take(4)?;
        }
        if sizes.is_empty() {
            return Ok(Value::from(Vec::<Value>::new()));
        }
        self.elements(element, &sizes, &mut cursor)
    }

    fn elements(
        self: &Arc<Self>,
        element: &Codec,
        sizes: &[i32],
        cursor: &mut Cursor<'_>,
    ) -> Result<Value, EncodeError> {
        let Some((&size, inner)) = sizes.split_first() else { return self.value(element, cursor.value()?) };
        let elements: Result<Vec<Value>, EncodeError> =
            (0..size).map(|_| self.elements(element, inner, cursor)).collect();
        elements.map(Value::from)
    }

    /// Where bytes of the table lie in it.
    fn place(&self, bytes: &[u8]) -> Range<usize> {
        let start = bytes.as_ptr().addr() - self.bytes.as_ptr().addr();
        start..start + bytes.len()
    }
}

/// A list of rows, perhaps one page of more.
#[derive(Debug)]
struct Rows {
    table: Arc<Table>,
    shown: usize,
    pager: Option<Pager>,
}

impl Object for Rows {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(name) => self.get_value_by_str(name),
            None => key.as_usize().filter(|at| *at < self.shown).map(|at| self.table.row(at)),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        self.pager.as_ref()?.value(name, self.table.len())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.shown)
    }
}

/// One row: of a result, or within another.
#[derive(Debug)]
struct Row {
    table: Arc<Table>,
    fields: Arc<[Field]>,
    bytes: Range<usize>,
    within: Within,
}

/// How the values of a row are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Each with its length before it.
    Result,
    /// The same behind their number, each with its type before it (`record_send`).
    Record,
}

impl Row {
    /// The value at a place. What cannot be read is an error where it is used.
    fn column(&self, at: usize) -> Value {
        self.read(at).unwrap_or_else(|error| Value::from(unreadable(error)))
    }

    fn read(&self, at: usize) -> Result<Value, EncodeError> {
        let mut cursor = Cursor::new(&self.table.bytes[self.bytes.clone()]);
        if self.within == Within::Record && cursor.i32()? as usize != self.fields.len() {
            return Err(EncodeError::Stale);
        }
        for field in &self.fields[..at] {
            self.next(&mut cursor, field)?;
        }
        let field = &self.fields[at];
        let bytes = self.next(&mut cursor, field)?;
        self.table.value(&field.codec, bytes)
    }

    fn next<'a>(&self, cursor: &mut Cursor<'a>, field: &Field) -> Result<Option<&'a [u8]>, EncodeError> {
        if self.within == Within::Record {
            let type_oid = cursor.u32()?;
            if !matches!(field.type_oid, 0 | oid::ANYELEMENT) && field.type_oid != type_oid {
                return Err(EncodeError::Stale);
            }
        }
        Ok(cursor.value()?)
    }
}

impl Object for Row {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        let at = self.fields.iter().position(|field| *field.name == *name)?;
        Some(self.column(at))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.fields.iter().map(|field| Value::from(&*field.name)).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.fields.len())
    }

    /// Whichever columns were fetched.
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

fn unreadable(error: EncodeError) -> Error {
    Error::new(ErrorKind::InvalidOperation, "a value of the database cannot be read").with_source(error)
}

/// Whether a page could not be made since the database has changed, and the schema cache does not say so yet.
pub fn is_stale(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if matches!(error.downcast_ref(), Some(EncodeError::Stale)) {
            return true;
        }
        source = error.source();
    }
    false
}

fn text(bytes: &[u8]) -> Result<Value, EncodeError> {
    std::str::from_utf8(bytes).map(Value::from).map_err(|_| Malformed("text: no UTF-8").into())
}

/// How many digits a number with a fraction holds exactly.
const DIGITS_EXACT: usize = 15;

/// The number of PostgreSQL's digits, or these where no number holds them.
fn number(digits: &[u8]) -> Result<Value, EncodeError> {
    let text = std::str::from_utf8(digits).map_err(|_| Malformed("number: no UTF-8"))?;
    // 12.00 is 12
    let whole = text.split_once('.').filter(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'));
    if let Ok(integer) = whole.map_or(text, |(whole, _)| whole).parse::<i64>() {
        return Ok(Value::from(integer));
    }
    let significant = text.bytes().filter(u8::is_ascii_digit).count();
    match text.parse::<f64>() {
        Ok(float) if significant <= DIGITS_EXACT && text.contains('.') => Ok(Value::from(float)),
        Ok(float) if !float.is_finite() => Ok(Value::from(float)),
        _ => Ok(Value::from(text)),
    }
}

/// The number that has the same shortest digits.
fn shortest(float: f32) -> Value {
    Value::from(float.to_string().parse::<f64>().unwrap_or(f64::from(float)))
}

fn json(bytes: &[u8]) -> Result<Value, EncodeError> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|_| Malformed("json"))?;
    Ok(Value::from(minijinja::value::Serde(value)))
}
