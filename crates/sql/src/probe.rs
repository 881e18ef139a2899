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

fn named(text: &mut String, schema: &str, name: &str) {
    quote(text, schema);
    text.push('.');
    quote(text, name);
}
