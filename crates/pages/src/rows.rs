//! Rows as templates see them: lazy, over the bytes that PostgreSQL sent.
//!
//! A row is found by its place, a column by its name in the row; only then is its value read. Values are what the JSON API writes: numbers,
//! texts, truth values, lists and maps. A `numeric` with more digits than a number holds is a text.

use crate::pager::Pager;
use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use thalweg_encode::{EncodeError, Zone, write_scalar};
use thalweg_rows::{Codec, Cursor, Field, Malformed, RowView, Scalar, oid, own};

/// The rows of a query, as they came.
#[derive(Debug)]
pub struct Table {
    pub(crate) fields: Arc<[Field]>,
    /// The places of the fields that are a row's own, where there are many. Of those with one name it is the first.
    names: OnceLock<HashMap<Arc<str>, usize>>,
    zone: Zone,
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl Table {
    /// Without a row yet. Moments are written in this zone.
    pub fn new(fields: Arc<[Field]>, zone: Zone) -> Table {
        Table { fields, names: OnceLock::new(), zone, bytes: Vec::new(), ends: Vec::new() }
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
        Value::from_object(Rows { table: Arc::new(self), shown, pager, kept: Kept::default() })
    }

    /// The first row.
    pub fn into_row(self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::from_object(Arc::new(self).row(0)))
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

    /// The place of the field of a name among those of a row.
    fn place_of(&self, fields: &Fields, name: &str) -> Option<usize> {
        if !fields.are_all(&self.fields) || fields.own.len() < NAMES_MANY {
            return fields.iter().find(|(_, field)| *field.name == *name).map(|(at, _)| at);
        }
        let names = self.names.get_or_init(|| {
            let mut names = HashMap::new();
            fields.iter().for_each(|(at, field)| _ = names.entry(field.name.clone()).or_insert(at));
            names
        });
        names.get(name).copied()
    }

    /// The bytes of a row.
    pub(crate) fn row_bytes(&self, at: usize) -> &[u8] {
        &self.bytes[self.range(at)]
    }

    fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start..self.ends[at]
    }

    fn row(self: &Arc<Self>, at: usize) -> Row {
        Row::new(self, Fields::all(&self.fields), self.range(at), Within::Result)
    }

    fn first_of_row(self: &Arc<Self>, at: usize) -> Value {
        self.row(at).column(0)
    }

    /// The value of these bytes, which lie in the table's.
    pub(crate) fn value(self: &Arc<Self>, codec: &Codec, bytes: Option<&[u8]>) -> Result<Value, EncodeError> {
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
            Codec::Found(first, _) => return self.value(&first.codec, Some(bytes)),
            Codec::Scalar(scalar) => self.scalar(*scalar, bytes)?,
            Codec::Array(element) | Codec::List(element) | Codec::Values(element) => self.array(element, bytes)?,
            Codec::Row(fields) => {
                Value::from_object(Row::new(self, Fields::all(fields), self.place(bytes), Within::Record))
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
                inner(&written)?
            }
            _ => WRITTEN.with_borrow_mut(|written| {
                written.clear();
                write_scalar(written, scalar, bytes, &self.zone)?;
                inner(written)
            })?,
        })
    }

    /// An array (`array_send`): dimensions, flags, element type, the bounds, then the elements in row-major order.
    fn array(self: &Arc<Self>, element: &Codec, bytes: &[u8]) -> Result<Value, EncodeError> {
        let (sizes, mut cursor) = dimensions(bytes)?;
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

    /// The row whose columns stand in the result from a place on, and begin these bytes.
    pub(crate) fn found(self: &Arc<Self>, at: usize, bytes: &[u8]) -> Value {
        let fields = Fields::found(&self.fields, at);
        Value::from_object(Row::new(self, fields, self.place(bytes), Within::Result))
    }

    /// Where bytes of the table lie in it.
    fn place(&self, bytes: &[u8]) -> Range<usize> {
        let start = bytes.as_ptr().addr() - self.bytes.as_ptr().addr();
        start..start + bytes.len()
    }
}

/// The sizes of an array's dimensions, of which one that is empty has none, and its elements.
pub(crate) fn dimensions(bytes: &[u8]) -> Result<(Vec<i32>, Cursor<'_>), EncodeError> {
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
    Ok((sizes, cursor))
}

/// A list of rows, perhaps one page of more.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) table: Arc<Table>,
    pub(crate) shown: usize,
    pager: Option<Pager>,
    kept: Kept,
}

/// Rows that were given out, by where they stand: a loop looks at three of them at most, and the memory of one that nobody looks
/// at any more is used again.
#[derive(Debug, Default)]
struct Kept(Mutex<[Option<Arc<Row>>; ROWS_KEPT]>);

const ROWS_KEPT: usize = 4;
/// From how many fields on they are found by a table of their names.
const NAMES_MANY: usize = 32;

impl Kept {
    fn row(&self, at: usize, table: &Arc<Table>, fields: Fields, bytes: Range<usize>, within: Within) -> Value {
        let new = |fields, bytes| Row::new(table, fields, bytes, within);
        let Ok(mut kept) = self.0.try_lock() else { return Value::from_object(new(fields, bytes)) };
        let place = &mut kept[at % ROWS_KEPT];
        let behind = place.as_mut().and_then(Arc::get_mut).filter(|row| row.fields.are(&fields));
        match behind {
            Some(row) => (row.bytes, row.reached) = (bytes, Reached::default()),
            None => *place = Some(Arc::new(new(fields, bytes))),
        }
        place.clone().map_or(Value::UNDEFINED, Value::from_dyn_object)
    }
}

impl Object for Rows {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(name) => self.get_value_by_str(name),
            None => key.as_usize().filter(|at| *at < self.shown).map(|at| {
                let fields = Fields::all(&self.table.fields);
                self.kept.row(at, &self.table, fields, self.table.range(at), Within::Result)
            }),
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
    fields: Fields,
    /// Its columns, and perhaps others behind them.
    bytes: Range<usize>,
    within: Within,
    /// The rows in its columns.
    kept: Kept,
    reached: Reached,
}

/// The column of a row that was read last, by its place and by where its bytes begin: who reads all of them reads each once.
#[derive(Debug, Default)]
struct Reached(AtomicU64);

impl Reached {
    fn get(&self) -> (usize, usize) {
        let both = self.0.load(atomic::Ordering::Relaxed);
        ((both >> 32) as usize, both as u32 as usize)
    }

    /// What is too far on is not noted.
    fn set(&self, at: usize, offset: usize) {
        if let (Ok(at), Ok(offset)) = (u32::try_from(at), u32::try_from(offset)) {
            self.0.store(u64::from(at) << 32 | u64::from(offset), atomic::Ordering::Relaxed);
        }
    }
}

/// How the values of a row are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// Each with its length before it.
    Result,
    /// The same behind their number, each with its type before it (`record_send`).
    Record,
}

/// The fields of a row: all of a list, or those of a row that is found in it (`Codec::Found`).
#[derive(Debug)]
struct Fields {
    all: Arc<[Field]>,
    own: Range<usize>,
    is_found: bool,
}

impl Fields {
    fn all(all: &Arc<[Field]>) -> Fields {
        Fields { all: all.clone(), own: 0..all.len(), is_found: false }
    }

    /// Those of the row that is found at a place.
    fn found(all: &Arc<[Field]>, at: usize) -> Fields {
        let behind = if let Codec::Found(_, behind) = &all[at].codec { *behind } else { 0 };
        Fields { all: all.clone(), own: at..at + 1 + behind, is_found: true }
    }

    fn are(&self, other: &Fields) -> bool {
        Arc::ptr_eq(&self.all, &other.all) && self.own == other.own && self.is_found == other.is_found
    }

    /// The one at a place, counted from the row's first.
    fn field(&self, at: usize) -> &Field {
        match &self.all[self.own.start + at] {
            Field { codec: Codec::Found(first, _), .. } if self.is_found && at == 0 => first,
            field => field,
        }
    }

    /// Whether they are all of a list.
    fn are_all(&self, all: &Arc<[Field]>) -> bool {
        Arc::ptr_eq(&self.all, all) && !self.is_found
    }

    /// The row's own, each with its place. One without a name only tells that there is the row.
    fn iter(&self) -> impl Iterator<Item = (usize, &Field)> {
        let rest = usize::from(self.is_found);
        let first = self.is_found.then(|| (0, self.field(0))).filter(|(_, first)| !first.name.is_empty());
        let behind = own_fields(&self.all[self.own.start + rest..self.own.end]);
        first.into_iter().chain(behind.map(move |(at, field)| (at + rest, field)))
    }
}

/// The fields that are a row's own among these, each with its place.
pub(crate) fn own_fields(fields: &[Field]) -> impl Iterator<Item = (usize, &Field)> {
    own(fields, |field| &field.codec)
}

impl Row {
    fn new(table: &Arc<Table>, fields: Fields, bytes: Range<usize>, within: Within) -> Row {
        Row { table: table.clone(), fields, bytes, within, kept: Kept::default(), reached: Reached::default() }
    }

    fn bytes(&self) -> &[u8] {
        &self.table.bytes[self.bytes.clone()]
    }

    /// The value at a place. What cannot be read is an error where it is used.
    fn column(&self, at: usize) -> Value {
        self.read(at).unwrap_or_else(|error| Value::from(unreadable(error)))
    }

    fn read(&self, at: usize) -> Result<Value, EncodeError> {
        let bytes = self.bytes();
        let mut cursor = self.within.columns(bytes, self.fields.own.len())?;
        let (reached, offset) = self.reached.get();
        let mut next = 0;
        if (1..=at).contains(&reached) {
            (cursor, next) = (Cursor::new(&bytes[offset..]), reached);
        }
        for before in next..at {
            self.within.next(&mut cursor, self.fields.field(before))?;
        }
        self.reached.set(at, bytes.len() - cursor.rest().len());
        let field = self.fields.field(at);
        let from_here = cursor.rest();
        let bytes = self.within.next(&mut cursor, field)?;
        match (&field.codec, bytes) {
            (Codec::Row(fields), Some(bytes)) => {
                Ok(self.kept.row(at, &self.table, Fields::all(fields), self.table.place(bytes), Within::Record))
            }
            (Codec::Found(..), Some(_)) => {
                let fields = Fields::found(&self.fields.all, self.fields.own.start + at);
                Ok(self.kept.row(at, &self.table, fields, self.table.place(from_here), Within::Result))
            }
            (Codec::Found(..), None) => Ok(Value::from(())),
            (codec, bytes) => self.table.value(codec, bytes),
        }
    }
}

impl Within {
    /// The columns of a row of so many.
    pub(crate) fn columns(self, row: &[u8], fields: usize) -> Result<Cursor<'_>, EncodeError> {
        let mut cursor = Cursor::new(row);
        if self == Within::Record && cursor.i32()? as usize != fields {
            return Err(EncodeError::Stale);
        }
        Ok(cursor)
    }

    /// The bytes of the next column.
    pub(crate) fn next<'a>(self, cursor: &mut Cursor<'a>, field: &Field) -> Result<Option<&'a [u8]>, EncodeError> {
        if self == Within::Record {
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
        Some(self.column(self.table.place_of(&self.fields, name)?))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.fields.iter().map(|(_, field)| Value::from(&*field.name)).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.fields.iter().count())
    }

    /// Whichever columns were fetched.
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    /// The engine panics where it orders two values that cannot be read: rows that both hold one are ordered by their bytes.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Row>()?;
        let is_unreadable = |row: &Row| row.fields.iter().any(|(at, _)| row.read(at).is_err());
        (is_unreadable(self) && is_unreadable(other)).then(|| self.bytes().cmp(other.bytes()))
    }
}

pub(crate) fn unreadable(error: EncodeError) -> Error {
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

thread_local! {
    /// What a scalar is written into before it is a value.
    static WRITTEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The value of a scalar's JSON: of a text what is within its quotes, where nothing but a backslash of `bytea` is escaped.
fn inner(written: &[u8]) -> Result<Value, EncodeError> {
    match written {
        [b'"', b'\\', inner @ .., b'"'] | [b'"', inner @ .., b'"'] => text(inner),
        digits => number(digits),
    }
}

fn text(bytes: &[u8]) -> Result<Value, EncodeError> {
    utf8(bytes).map(Value::from)
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, EncodeError> {
    std::str::from_utf8(bytes).map_err(|_| Malformed("text: no UTF-8").into())
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
        // NaN and the infinities; what is only too large for a float is its digits
        Ok(float) if significant == 0 => Ok(Value::from(float)),
        _ => Ok(Value::from(text)),
    }
}

/// The number that has the same shortest digits.
fn shortest(float: f32) -> Value {
    Value::from(float.to_string().parse::<f64>().unwrap_or(f64::from(float)))
}

/// A document; one that is not read here, since it is deeper or has half of a surrogate pair, is its text.
fn json(bytes: &[u8]) -> Result<Value, EncodeError> {
    match thalweg_json::from_slice(bytes) {
        Ok(value) => Ok(of_json(value)),
        Err(_) => text(bytes),
    }
}

/// What templates see of a document. By serde, a number that keeps its text would be an object.
pub fn of_json(value: thalweg_json::Value) -> Value {
    use thalweg_json::Value as Json;
    match value {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(value),
        Json::Number(number) => of_number(&number),
        Json::String(text) => Value::from(text),
        Json::Array(elements) => Value::from(elements.into_iter().map(of_json).collect::<Vec<_>>()),
        Json::Object(members) => {
            Value::from(members.into_iter().map(|(key, value)| (key, of_json(value))).collect::<BTreeMap<_, _>>())
        }
    }
}

/// The number: a whole one of up to 128 bits, or the nearest float; its digits where that is infinite.
fn of_number(number: &thalweg_json::Number) -> Value {
    let integer = number.as_i64().map(Value::from).or_else(|| number.as_u64().map(Value::from));
    let large = || number.as_i128().map(Value::from).or_else(|| number.as_u128().map(Value::from));
    let value = integer.or_else(large).or_else(|| number.as_f64().map(Value::from));
    value.unwrap_or_else(|| Value::from(number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::{Environment, context};

    /// Rows with a number and within each a row with the same.
    fn rows(count: u8) -> Value {
        let field = |name: &str, codec| Field { name: name.into(), codec, type_oid: 0 };
        let inner: Arc<[Field]> = [field("n", Codec::Scalar(Scalar::Int2))].into();
        let fields: Arc<[Field]> = [field("n", Codec::Scalar(Scalar::Int2)), field("of", Codec::Row(inner))].into();
        let mut table = Table::new(fields, Zone::UTC);
        for n in 0..count {
            let columns = [0, 2, 0, 0, 0, 2, 0, n, 0, 0, 0, 14];
            let record = [0, 0, 0, 1, 0, 0, 0, 21, 0, 0, 0, 2, 0, n];
            table.push(RowView::parse(&[&columns[..], &record[..]].concat()).unwrap());
        }
        table.into_rows(None)
    }

    #[test]
    fn a_row_that_is_still_looked_at_stays_what_it_is() {
        let made = |template: &str| {
            let mut environment = Environment::new();
            environment.set_undefined_behavior(minijinja::UndefinedBehavior::Chainable);
            environment.add_template("page", template).unwrap();
            environment.get_template("page").unwrap().render(context! { rows => rows(10) }).unwrap()
        };
        for (template, text) in [
            ("{% for r in rows %}{{ r.n }}{{ r.of.n }} {% endfor %}", "00 11 22 33 44 55 66 77 88 99 "),
            (
                "{% for r in rows %}{{ loop.previtem.of.n }}{{ r.n }}{{ loop.nextitem.n }} {% endfor %}",
                "01 012 123 234 345 456 567 678 789 89 ",
            ),
            (
                "{% set kept = rows[1] %}{% for r in rows %}{{ kept.n }}{{ kept.of.n }}{% endfor %}",
                "11111111111111111111",
            ),
            ("{% for r in rows|reverse %}{{ r.of.n }}{% endfor %}", "9876543210"),
            ("{% for p in rows|batch(5) %}{{ p|map(attribute='of.n')|join }} {% endfor %}", "01234 56789 "),
            (
                "{% for a in rows %}{% for b in rows if b.n == a.n %}{{ a.of.n }}{{ b.of.n }}{% endfor %}{% endfor %}",
                "00112233445566778899",
            ),
            ("{% set of = rows|map(attribute='of')|list %}{{ of|map(attribute='n')|join }}", "0123456789"),
        ] {
            assert_eq!(made(template), text, "{template}");
        }
    }

    #[test]
    fn rows_that_cannot_be_read_have_an_order() {
        let fields: Arc<[Field]> = [Field { name: "n".into(), codec: Codec::Scalar(Scalar::Int2), type_oid: 0 }].into();
        let mut table = Table::new(fields, Zone::UTC);
        for row in [&[0, 1, 0, 0, 0, 1, 7], &[0, 1, 0, 0, 0, 1, 8]] {
            table.push(RowView::parse(row).unwrap());
        }
        let rows = table.into_rows(None);
        let row = |at: usize| rows.get_item(&Value::from(at)).unwrap();
        assert!(row(0) < row(1) && row(1) > row(0) && row(0) == row(0) && row(0) != row(1));
    }

    #[test]
    fn a_number_that_no_float_holds_is_its_digits() {
        let large = format!("1{}.5", "0".repeat(400));
        assert_eq!(number(large.as_bytes()).unwrap(), Value::from(&*large));
        assert_eq!(number(b"-Infinity").unwrap(), Value::from(f64::NEG_INFINITY));
        assert_eq!(number(b"NaN").unwrap().to_string(), "NaN");
    }

    #[test]
    fn documents_have_their_numbers() {
        let shown = |document: &str| {
            let mut environment = Environment::new();
            environment.set_undefined_behavior(minijinja::UndefinedBehavior::Chainable);
            environment
                .add_template("page", "{{ j.n }} {{ j.n is number }} {{ j.n + 1 if j.n is number }} {{ j|tojson }}")
                .unwrap();
            let j = json(document.as_bytes()).unwrap();
            environment.get_template("page").unwrap().render(context! { j }).unwrap()
        };
        for (document, text) in [
            (r#"{"n":1.50}"#, r#"1.5 True 2.5 {"n": 1.5}"#),
            (r#"{"n":-7,"a":[1.0,2e3,{"b":null}]}"#, r#"-7 True -6 {"a": [1.0, 2000.0, {"b": null}], "n": -7}"#),
            (
                r#"{"n":12345678901234567890123}"#,
                r#"12345678901234567890123 True 12345678901234567890124 {"n": 12345678901234567890123}"#,
            ),
            (r#"{"n":1e400}"#, r#"1e400 False  {"n": "1e400"}"#),
        ] {
            assert_eq!(shown(document), text);
        }
    }
}
