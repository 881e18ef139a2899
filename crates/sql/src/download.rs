//! Statements that fetch one value: what is known of it, then its bytes in slices.

use crate::Statement;
use crate::read::{Scope, Writer};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;
use thalweg_plan::{OneValue, Plan};
use thalweg_rows::{Codec, Field, Scalar, Shape, oid};

/// How long a slice of a value is, in bytes.
const SLICE_BYTES: u64 = 256 * 1024;

/// The statement that tells of the value: its size in bytes, its version, its media type and its name, and a column that
/// says nothing. It returns two rows at most. Without `by_place` the version is made of the value itself.
pub fn describe<'a>(plan: &'a Plan<'a>, value: &'a OneValue<'a>, by_place: bool) -> Statement<'a> {
    let mut writer = Writer::new();
    let scope = writer.scope(&plan.read, None);
    writer.text.push_str("SELECT pg_catalog.octet_length(");
    writer.octets(scope, value);
    writer.text.push_str(")::pg_catalog.text, ");
    if by_place {
        writer.named(scope, "xmin");
        writer.text.push_str("::pg_catalog.text || '.' || ");
        writer.named(scope, "ctid");
        writer.text.push_str("::pg_catalog.text");
    } else {
        writer.text.push_str("pg_catalog.md5(");
        writer.named(scope, value.column);
        writer.text.push(')');
    }
    for column in [value.type_column, value.name_column] {
        writer.text.push_str(", ");
        match column {
            Some(column) => {
                writer.named(scope, column);
                writer.text.push_str("::pg_catalog.text");
            }
            None => writer.text.push_str("NULL::pg_catalog.text"),
        }
    }
    writer.text.push_str(", NULL");
    writer.rows_of_value(scope, plan, 2);
    Statement { text: writer.text, params: writer.params, shape: Shape::default() }
}

/// The statement for these bytes of the value, in slices. It sees the row that [`describe`] has seen.
pub fn bytes<'a>(plan: &'a Plan<'a>, value: &'a OneValue<'a>, range: Range<u64>) -> Statement<'a> {
    let mut writer = Writer::new();
    let number = |writer: &mut Writer<'a>, number: u64, type_name: &str| {
        writer.param(Cow::Owned(number.to_string()));
        writer.text.push_str(type_name);
    };
    let is_one = range.end - range.start <= SLICE_BYTES;
    writer.text.push_str("SELECT substring(thalweg_value.v FROM ");
    if !is_one {
        writer.text.push_str("thalweg_slice.at FOR least(");
        number(&mut writer, SLICE_BYTES, "::int, ");
        number(&mut writer, range.end + 1, "::int - thalweg_slice.at)");
    } else {
        number(&mut writer, range.start + 1, "::int FOR ");
        number(&mut writer, range.end - range.start, "::int");
    }
    writer.text.push_str(") FROM (SELECT ");
    let scope = writer.scope(&plan.read, None);
    // of a value that is sliced often, what it is made of is put together once
    writer.octets(scope, value);
    writer.text.push_str(if is_one { "" } else { " || ''::pg_catalog.bytea" });
    writer.text.push_str(" AS v");
    writer.rows_of_value(scope, plan, 1);
    writer.text.push_str(") AS thalweg_value");
    if !is_one {
        writer.text.push_str(", pg_catalog.generate_series(");
        number(&mut writer, range.start + 1, "::int, ");
        number(&mut writer, range.end, "::int, ");
        number(&mut writer, SLICE_BYTES, "::int) AS thalweg_slice(at)");
    }
    let field = Field { name: Arc::from("substring"), codec: Codec::Scalar(Scalar::Bytea), type_oid: oid::BYTEA };
    Statement { text: writer.text, params: writer.params, shape: Shape { fields: vec![field] } }
}

impl<'a> Writer<'a> {
    /// The value as `bytea`.
    fn octets(&mut self, scope: Scope<'a>, value: &'a OneValue<'a>) {
        self.text.push_str(if value.is_text { "pg_catalog.convert_to(" } else { "" });
        self.named(scope, value.column);
        self.text.push_str(if value.is_text { "::pg_catalog.text, 'UTF8')" } else { "::pg_catalog.bytea" });
    }

    /// `FROM … WHERE … ORDER BY … LIMIT …` of the rows that hold the value.
    fn rows_of_value(&mut self, scope: Scope<'a>, plan: &'a Plan<'a>, rows_max: i64) {
        let read = &plan.read;
        self.from(scope, read, true);
        self.conditions(scope, read, " WHERE ");
        self.order(scope, read);
        let rows = read.limit_rows.map_or(rows_max, |limit| limit.min(rows_max));
        let _ = write!(self.text, " LIMIT {rows} OFFSET {}", read.offset_rows.unwrap_or(0));
    }
}
