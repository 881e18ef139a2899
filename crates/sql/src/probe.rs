//! Statements that find out whether a text is a value of something.

use crate::quote::quote;

/// Whether a text (`$2`) is a value of a relation's column (`$1`), with what its type was declared with.
pub fn value_of_column(schema: &str, relation: &str) -> String {
    let mut text = String::from("SELECT pg_catalog.jsonb_populate_record(NULL::");
    named(&mut text, schema, relation);
    text.push_str(", pg_catalog.jsonb_build_object($1::pg_catalog.text, $2::pg_catalog.text)) IS NULL");
    text
}

/// Whether a text (`$1`) is a value of a type.
pub fn value_of_type(schema: &str, name: &str) -> String {
    let mut text = String::from("SELECT $1::");
    named(&mut text, schema, name);
    text.push_str(" IS NULL");
    text
}

/// Which checks of a relation a row breaks. The row is given by a document (`$1`), and a check by its
/// expression as PostgreSQL writes it, whose columns are those of the relation.
pub fn broken_checks<'a>(schema: &str, relation: &str, expressions: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("SELECT ");
    for (at, expression) in expressions.enumerate() {
        text.push_str(if at > 0 { ", (" } else { "(" });
        text.push_str(expression);
        text.push_str(") IS FALSE");
    }
    text.push_str(" FROM pg_catalog.jsonb_populate_record(NULL::");
    named(&mut text, schema, relation);
    text.push_str(", $1::pg_catalog.jsonb) AS ");
    quote(&mut text, relation);
    text
}

fn named(text: &mut String, schema: &str, name: &str) {
    quote(text, schema);
    text.push('.');
    quote(text, name);
}
