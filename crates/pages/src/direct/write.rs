//! Rows of a loop, written one by one from their bytes.

use super::bind::{self, Bound, Cell, bind};
use super::chunk::Sink;
use super::read::{Column, Expr, Loop, LoopField, Operator, Step};
use crate::escape;
use crate::format::Prepared;
use crate::rows::{Rows, Table, unreadable};
use minijinja::value::{Kwargs, Object, Value, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State};
use std::sync::Arc;
use thalweg_rows::{Codec, Cursor, Scalar};

/// A loop and the rows it runs over, as the value that stands for what they show.
#[derive(Debug)]
pub(crate) struct Direct {
    rows: Arc<Rows>,
    known: Arc<Loop>,
}

impl Object for Direct {}

impl Direct {
    pub(super) fn new(rows: Arc<Rows>, known: Arc<Loop>) -> Direct {
        Direct { rows, known }
    }

    /// Whether the loop can run over these rows. Over none it is the engine's, which has something for that case perhaps.
    pub(super) fn can_be(rows: &Rows, known: &Loop) -> bool {
        rows.shown > 0 && bind(known, &rows.table.fields).is_some()
    }

    /// Writes what the loop shows of all rows.
    pub(crate) fn write(&self, out: &mut Output<'_>, state: &mut State<'_, '_>) -> Result<(), Error> {
        let Some(bound) = bind(&self.known, &self.rows.table.fields) else {
            return Err(Error::new(ErrorKind::InvalidOperation, "these are not the loop's rows"));
        };
        let names = self.known.names.iter().map(|name| state.lookup(name).unwrap_or(Value::UNDEFINED)).collect();
        let filters = self.known.filters.iter().map(|(name, others)| Prepared::of(state, name, others)).collect();
        let is_html = *state.auto_escape() == AutoEscape::Html;
        let table = &self.rows.table;
        let mut writer =
            Writer { table, known: &self.known, bound: &bound, names, filters, is_html, frames: Vec::new() };
        let count = self.rows.shown;
        writer.frames.push(Frame::new(&bound[0], count));
        let mut sink = Sink::open(out)?;
        let written = (0..count).try_for_each(|at| writer.row(0, at, Some(table.row_bytes(at)), &mut sink, state));
        sink.close()?;
        written
    }
}

struct Writer<'a> {
    table: &'a Arc<Table>,
    known: &'a Loop,
    bound: &'a [Bound<'a>],
    names: Vec<Value>,
    filters: Vec<Option<Prepared>>,
    is_html: bool,
    /// The loops that run, the innermost last.
    frames: Vec<Frame<'a>>,
}

/// A loop that runs.
struct Frame<'a> {
    bound: &'a Bound<'a>,
    cells: Vec<Cell<'a>>,
    at: usize,
    count: usize,
}

impl<'a> Frame<'a> {
    fn new(bound: &'a Bound<'a>, count: usize) -> Frame<'a> {
        Frame { bound, cells: vec![None; bound.columns.len()], at: 0, count }
    }
}

impl<'a> Writer<'a> {
    /// Writes a row of the innermost loop. One that is null has no columns.
    fn row(
        &mut self,
        level: usize,
        at: usize,
        row: Option<&'a [u8]>,
        sink: &mut Sink<'_, '_>,
        state: &mut State<'_, '_>,
    ) -> Result<(), Error> {
        if let Some(frame) = self.frames.last_mut() {
            frame.at = at;
            match row {
                Some(row) => frame.bound.read(row, &mut frame.cells).map_err(unreadable)?,
                None => frame.cells.fill(None),
            }
        }
        let known = self.known;
        self.steps(&known.levels[level].body, sink, state)
    }

    fn steps(&mut self, steps: &'a [Step], sink: &mut Sink<'_, '_>, state: &mut State<'_, '_>) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Text(literal) => sink.literal(literal)?,
                Step::Show(expr) => self.show(expr, sink, state)?,
                Step::If { test, then, otherwise } => {
                    let steps = if self.value(test, state)?.is_true() { then } else { otherwise };
                    self.steps(steps, sink, state)?;
                }
                Step::For { over, level, otherwise } => match bind::rows(self.cell(*over).0).map_err(unreadable)? {
                    (0, _) => self.steps(otherwise, sink, state)?,
                    (count, rows) => self.within(*level, count, rows, sink, state)?,
                },
            }
        }
        Ok(())
    }

    /// Writes the rows of a loop within the others.
    fn within(
        &mut self,
        level: usize,
        count: usize,
        mut rows: Cursor<'a>,
        sink: &mut Sink<'_, '_>,
        state: &mut State<'_, '_>,
    ) -> Result<(), Error> {
        self.frames.push(Frame::new(&self.bound[level], count));
        for at in 0..count {
            let row = rows.value().map_err(|error| unreadable(error.into()))?;
            self.row(level, at, row, sink, state)?;
        }
        self.frames.pop();
        Ok(())
    }

    fn show(&self, expr: &Expr, sink: &mut Sink<'_, '_>, state: &mut State<'_, '_>) -> Result<(), Error> {
        match expr {
            Expr::Column(column) if self.is_html => {
                let (cell, bound) = self.cell(*column);
                if let (Some(Some(bytes)), []) = (cell, bound.rest)
                    && simple(bound.codec, bytes, sink)?
                {
                    return Ok(());
                }
            }
            Expr::Filtered(number, column) => {
                let (cell, bound) = self.cell(*column);
                if let (Some(Some(bytes)), [], Some(filter)) = (cell, bound.rest, &self.filters[*number])
                    && let Some(text) = filter.of_bytes(bound.codec, bytes)
                {
                    return self.escaped(&text?, sink, state);
                }
            }
            _ => {}
        }
        let value = self.value(expr, state)?;
        self.escaped(&value, sink, state)
    }

    fn escaped(&self, value: &Value, sink: &mut Sink<'_, '_>, state: &mut State<'_, '_>) -> Result<(), Error> {
        match value.as_str() {
            Some(text) if self.is_html && !value.is_safe() => sink.html(text.as_bytes()),
            _ => sink.by_engine(|out| escape::write(out, state, value)),
        }
    }

    /// A column of the innermost loop or of one around it.
    fn cell(&self, column: Column) -> (Cell<'a>, &'a bind::Column<'a>) {
        let frame = &self.frames[self.frames.len() - 1 - column.up];
        (frame.cells[column.path], &frame.bound.columns[column.path])
    }

    fn column(&self, column: Column) -> Result<Value, Error> {
        let (cell, bound) = self.cell(column);
        let Some(bytes) = cell else { return Ok(Value::UNDEFINED) };
        let mut value = match (bound.codec, bytes) {
            (Codec::Found(..), Some(bytes)) => self.table.found(bound.at, bytes),
            (codec, bytes) => self.table.value(codec, bytes).map_err(unreadable)?,
        };
        for name in bound.rest {
            value = valid(value.get_attr(name).unwrap_or_default())?;
        }
        Ok(value)
    }

    fn value(&self, expr: &Expr, state: &mut State<'_, '_>) -> Result<Value, Error> {
        Ok(match expr {
            Expr::Constant(value) => value.clone(),
            Expr::Column(column) => self.column(*column)?,
            Expr::Loop(field) => self.field(*field),
            Expr::Name(name) => valid(self.names[*name].clone())?,
            Expr::Attribute(of, name) => valid(self.value(of, state)?.get_attr(name).unwrap_or_default())?,
            Expr::Not(value) => Value::from(!self.value(value, state)?.is_true()),
            Expr::And(left, right) => {
                let left = self.value(left, state)?;
                if left.is_true() { self.value(right, state)? } else { left }
            }
            Expr::Or(left, right) => {
                let left = self.value(left, state)?;
                if left.is_true() { left } else { self.value(right, state)? }
            }
            Expr::If(test, then, otherwise) => match (self.value(test, state)?.is_true(), otherwise) {
                (true, _) => self.value(then, state)?,
                (false, Some(otherwise)) => self.value(otherwise, state)?,
                (false, None) => Value::UNDEFINED,
            },
            Expr::Compare(first, others) => self.compared(first, others, state)?,
            Expr::Filtered(number, column) => {
                let (name, others) = &self.known.filters[*number];
                let input = self.column(*column)?;
                if let Some(text) = self.filters[*number].as_ref().and_then(|filter| filter.of_value(&input)) {
                    return text;
                }
                let mut arguments = Vec::with_capacity(1 + others.len());
                arguments.push(input);
                arguments.extend_from_slice(others);
                state.apply_filter(name, &arguments)?
            }
            Expr::Filter(name, arguments) => {
                let arguments = self.values(arguments, state)?;
                state.apply_filter(name, &arguments)?
            }
            Expr::Test(name, arguments) => {
                let arguments = self.values(arguments, state)?;
                Value::from(state.perform_test(name, &arguments)?)
            }
            Expr::Call(name, arguments) => {
                let arguments = self.values(arguments, state)?;
                self.names[*name].call(state, &arguments)?
            }
            Expr::Named(named) => {
                let mut values = Vec::with_capacity(named.len());
                for (name, value) in named {
                    values.push((&**name, self.value(value, state)?));
                }
                Kwargs::from_iter(values).into()
            }
        })
    }

    fn values(&self, exprs: &[Expr], state: &mut State<'_, '_>) -> Result<Vec<Value>, Error> {
        exprs.iter().map(|expr| self.value(expr, state)).collect()
    }

    /// Whether each holds with the one before it.
    fn compared(&self, first: &Expr, others: &[(Operator, Expr)], state: &mut State<'_, '_>) -> Result<Value, Error> {
        let mut left = self.value(first, state)?;
        for (operator, right) in others {
            let right = self.value(right, state)?;
            let holds = match operator {
                Operator::Eq => left == right,
                Operator::Ne => left != right,
                Operator::Lt => left < right,
                Operator::Lte => left <= right,
                Operator::Gt => left > right,
                Operator::Gte => left >= right,
            };
            if !holds {
                return Ok(Value::from(false));
            }
            left = right;
        }
        Ok(Value::from(true))
    }

    /// A field of the innermost loop.
    fn field(&self, field: LoopField) -> Value {
        let Some(&Frame { at, count, .. }) = self.frames.last() else { return Value::UNDEFINED };
        match field {
            LoopField::Index => Value::from(at + 1),
            LoopField::Index0 => Value::from(at),
            LoopField::Revindex => Value::from(count - at),
            LoopField::Revindex0 => Value::from(count - at - 1),
            LoopField::First => Value::from(at == 0),
            LoopField::Last => Value::from(at + 1 == count),
            LoopField::Length => Value::from(count),
        }
    }
}

/// What cannot be read is an error where it is used.
fn valid(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Invalid => Err(Error::new(ErrorKind::BadSerialization, "a value cannot be read")),
        _ => Ok(value),
    }
}

/// Writes values that need no more than their bytes into HTML; of others it says no.
fn simple(codec: &Codec, bytes: &[u8], sink: &mut Sink<'_, '_>) -> Result<bool, Error> {
    let mut cursor = Cursor::new(bytes);
    match codec {
        Codec::Output | Codec::Scalar(Scalar::Text) => sink.html(bytes)?,
        Codec::Digits if bytes.iter().all(u8::is_ascii_digit) => sink.bytes(bytes)?,
        Codec::Scalar(Scalar::Int2) => integer(sink, cursor.i16().map(i64::from))?,
        Codec::Scalar(Scalar::Int4) => integer(sink, cursor.i32().map(i64::from))?,
        Codec::Scalar(Scalar::Int8) => integer(sink, cursor.i64())?,
        Codec::Scalar(Scalar::Float8) => {
            let bits = cursor.i64().map_err(|error| unreadable(error.into()))?;
            escape::write_float(sink, f64::from_bits(bits as u64))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn integer(sink: &mut Sink<'_, '_>, read: Result<i64, thalweg_rows::Malformed>) -> Result<(), Error> {
    let integer = read.map_err(|error| unreadable(error.into()))?;
    sink.text(itoa::Buffer::new().format(integer))
}
