//! One value, from PostgreSQL's binary form to JSON.

use crate::date_time;
use crate::error::EncodeError;
use crate::number::numeric;
use crate::program::{Node, Program, Slot};
use crate::zone::Zone;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_json::{append, write_f32, write_f64, write_hex, write_int, write_string};
use thalweg_rows::{Cursor, Malformed, RowView, Scalar};

/// Writes one element of an array.
type WriteElement<'a> = dyn Fn(&mut Vec<u8>, Option<&[u8]>) -> Result<(), EncodeError> + 'a;

/// Writes rows by a program, in a time zone.
#[derive(Debug)]
pub(crate) struct ValueWriter {
    pub(crate) program: Arc<Program>,
    pub(crate) zone: Zone,
    /// Largest number of rows of an embed that are written.
    pub(crate) embedded_max: usize,
    /// True once rows of an embed have been left out.
    pub(crate) has_cut: AtomicBool,
}

impl ValueWriter {
    /// Appends a row as an object.
    #[inline]
    pub(crate) fn object(&self, out: &mut Vec<u8>, row: RowView<'_>) -> Result<(), EncodeError> {
        let mut columns = row.columns();
        if self.program.stripped {
            let start = out.len();
            for slot in &self.program.slots {
                self.member(out, slot, columns.column()?)?;
            }
            close_stripped(out, start);
            return Ok(());
        }
        for slot in &self.program.slots {
            self.program.key(out, slot);
            // what most columns are, without a call
            match (&slot.node, columns.column()?) {
                (Node::Digits, Some(bytes)) if bytes.last().is_some_and(u8::is_ascii_digit) => append(out, bytes),
                (Node::Output, Some(bytes)) => write_string(out, bytes),
                (node, bytes) => self.value(out, node, bytes)?,
            }
        }
        close_object(out, &self.program.slots);
        Ok(())
    }

    /// Appends the value in a row's first column.
    pub(crate) fn first(&self, out: &mut Vec<u8>, row: RowView<'_>) -> Result<(), EncodeError> {
        match self.program.slots.first() {
            Some(slot) => self.value(out, &slot.node, row.columns().column()?),
            // a function that returns nothing
            None => {
                append(out, b"null");
                Ok(())
            }
        }
    }

    /// Appends a value.
    #[inline]
    pub(crate) fn value(&self, out: &mut Vec<u8>, node: &Node, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        match (bytes, node) {
            (None, Node::List(_)) => append(out, b"[]"),
            (None, _) => append(out, b"null"),
            (Some(bytes), Node::Digits) if bytes.last().is_some_and(u8::is_ascii_digit) => append(out, bytes),
            (Some(bytes), Node::Output | Node::Digits) => write_string(out, bytes),
            (Some(bytes), Node::Flag) => append(out, if bytes == b"t" { b"true" } else { b"false" }),
            (Some(bytes), Node::Scalar(scalar)) => self.scalar(out, *scalar, bytes)?,
            (Some(bytes), Node::Array(element)) => {
                self.array(out, (bytes, usize::MAX), &|out, bytes| self.value(out, element, bytes))?;
            }
            (Some(bytes), Node::List(element) | Node::Values(element)) => {
                let limited = (bytes, self.embedded_max);
                self.array(out, limited, &|out, bytes| self.value(out, element, bytes))?;
            }
            (Some(bytes), Node::Row(slots)) => self.row(out, slots, bytes)?,
        }
        Ok(())
    }

    /// A composite value (`record_send`): the number of fields, then each with its type and value.
    fn row(&self, out: &mut Vec<u8>, slots: &[Slot], bytes: &[u8]) -> Result<(), EncodeError> {
        let mut cursor = Cursor::new(bytes);
        if cursor.i32()? as usize != slots.len() {
            return Err(EncodeError::Stale);
        }
        let start = out.len();
        for slot in slots {
            let type_oid = cursor.u32()?;
            if slot.type_oid != 0 && slot.type_oid != type_oid {
                return Err(EncodeError::Stale);
            }
            let bytes = cursor.value()?;
            if self.program.stripped {
                self.member(out, slot, bytes)?;
                continue;
            }
            self.program.key(out, slot);
            self.value(out, &slot.node, bytes)?;
        }
        if self.program.stripped {
            close_stripped(out, start);
        } else {
            close_object(out, slots);
        }
        Ok(())
    }

    /// A member of an object, unless its value is null, which a JSON value may be too.
    fn member(&self, out: &mut Vec<u8>, slot: &Slot, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        let before = out.len();
        self.program.key(out, slot);
        let value = out.len();
        self.value(out, &slot.node, bytes)?;
        if &out[value..] == b"null" {
            out.truncate(before);
        }
        Ok(())
    }

    /// An array (`array_send`): dimensions, flags, element type, the bounds, then the elements in row-major order.
    /// Elements beyond `elements_max` are left out.
    fn array(
        &self,
        out: &mut Vec<u8>,
        (bytes, elements_max): (&[u8], usize),
        element: &WriteElement<'_>,
    ) -> Result<(), EncodeError> {
        /// PostgreSQL's own limit.
        const DIMENSIONS_MAX: usize = 6;
        let mut cursor = Cursor::new(bytes);
        let dimensions = cursor.i32()? as usize;
        cursor.take(8)?;
        if dimensions == 0 {
            out.extend_from_slice(b"[]");
            return Ok(());
        }
        if dimensions > DIMENSIONS_MAX {
            return Err(Malformed("array: too many dimensions").into());
        }
        let mut sizes = [0; DIMENSIONS_MAX];
        for size in &mut sizes[..dimensions] {
            *size = cursor.i32()?;
            cursor.take(4)?;
        }
        if sizes[0].max(0) as usize > elements_max {
            sizes[0] = elements_max as i32;
            self.has_cut.store(true, Ordering::Relaxed);
        }
        level(out, &mut cursor, &sizes[..dimensions], element)
    }

    #[inline]
    fn scalar(&self, out: &mut Vec<u8>, scalar: Scalar, bytes: &[u8]) -> Result<(), EncodeError> {
        write_scalar(out, scalar, bytes, &self.zone)
    }
}

/// Appends a scalar in binary as JSON.
///
/// # Errors
///
/// Bytes that are no value of this type.
#[inline]
pub fn write_scalar(out: &mut Vec<u8>, scalar: Scalar, bytes: &[u8], zone: &Zone) -> Result<(), EncodeError> {
    let mut cursor = Cursor::new(bytes);
    match scalar {
        Scalar::Int4 => write_int(out, cursor.i32()?),
        Scalar::Text => write_string(out, bytes),
        Scalar::Int8 => write_int(out, cursor.i64()?),
        Scalar::Int2 => write_int(out, cursor.i16()?),
        Scalar::Bool => append(out, if cursor.u8()? == 0 { b"false" } else { b"true" }),
        Scalar::Numeric => numeric(out, bytes)?,
        Scalar::Float4 => write_f32(out, f32::from_bits(cursor.u32()?)),
        Scalar::Float8 => write_f64(out, f64::from_bits(cursor.i64()? as u64)),
        Scalar::Json => out.extend_from_slice(bytes),
        Scalar::Jsonb => {
            if cursor.u8()? != 1 {
                return Err(Malformed("jsonb: unknown version").into());
            }
            out.extend_from_slice(cursor.rest());
        }
        Scalar::Oid | Scalar::Bytea | Scalar::Uuid => {
            out.push(b'"');
            match scalar {
                Scalar::Oid => write_int(out, cursor.u32()?),
                Scalar::Bytea => {
                    out.extend_from_slice(b"\\\\x");
                    write_hex(out, bytes);
                }
                _ => {
                    for (at, length) in [4, 2, 2, 2, 6].into_iter().enumerate() {
                        if at > 0 {
                            out.push(b'-');
                        }
                        write_hex(out, cursor.take(length)?);
                    }
                }
            }
            out.push(b'"');
        }
        _ => {
            append(out, b"\"");
            match scalar {
                Scalar::Date => {
                    let days = cursor.i32()?;
                    date_time::line(out, |line| date_time::date(line, days));
                }
                Scalar::Time => {
                    let micros = cursor.i64()?;
                    date_time::line(out, |line| date_time::time(line, micros));
                }
                Scalar::TimeTz => {
                    let (micros, zone) = (cursor.i64()?, cursor.i32()?);
                    date_time::line(out, |line| date_time::timetz(line, micros, zone));
                }
                Scalar::Timestamp => {
                    let micros = cursor.i64()?;
                    date_time::line(out, |line| date_time::timestamp(line, micros));
                }
                Scalar::TimestampTz => {
                    let micros = cursor.i64()?;
                    date_time::line(out, |line| date_time::timestamptz(line, micros, zone));
                }
                Scalar::Interval => {
                    let (micros, days, months) = (cursor.i64()?, cursor.i32()?, cursor.i32()?);
                    date_time::line(out, |line| date_time::interval(line, micros, days, months));
                }
                _ => return Err(Malformed("value: of a type that is not known").into()),
            }
            append(out, b"\"");
        }
    }
    Ok(())
}

fn level(
    out: &mut Vec<u8>,
    cursor: &mut Cursor<'_>,
    sizes: &[i32],
    element: &WriteElement<'_>,
) -> Result<(), EncodeError> {
    let Some((&size, inner)) = sizes.split_first() else { return element(out, cursor.value()?) };
    out.push(b'[');
    for at in 0..size {
        if at > 0 {
            out.push(b',');
        }
        level(out, cursor, inner, element)?;
    }
    out.push(b']');
    Ok(())
}

/// Closes an object from which members were left out, the first perhaps.
fn close_stripped(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(first) => *first = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

fn close_object(out: &mut Vec<u8>, slots: &[Slot]) {
    // the opening brace stands before the first key
    append(out, if slots.is_empty() { b"{}" } else { b"}" });
}
