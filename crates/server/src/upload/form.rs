//! Forms: what their fields mean for a row or for a call.
//!
//! A part with a file name is a file. Its name and its media type are values too, for columns or arguments that have the
//! part's name with `_name` and `_type` behind it.

use crate::error::ApiError;
use bytes::Bytes;
use std::collections::HashSet;
use thalweg_decode::Chunks;
use thalweg_files::{Part, parts};
use thalweg_json::write_string;
use thalweg_request::{Form, Key};

/// Text parts up to this size are arguments as those of other forms are, in bytes; larger ones are not copied for that.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// A field of a form with files.
pub(crate) struct Field {
    name: String,
    form: Form,
    /// Whether it is there only for who wants it.
    is_optional: bool,
    /// Whether it has become an argument.
    pub(crate) is_argument: bool,
    /// Its value, in the chunks that it came in.
    pub(crate) content: Vec<Bytes>,
}

impl Field {
    /// What a plan has to know of it; `at` is its place among the fields.
    pub(crate) fn key(&self, at: usize) -> Key<'_> {
        Key { name: &self.name, member: Some(at), form: self.form, is_optional: self.is_optional }
    }

    fn size_bytes(&self) -> usize {
        self.content.iter().map(Bytes::len).sum()
    }
}

/// The fields of a body. Of several parts with one name, all stand there in their order.
pub(crate) fn fields(body: &Chunks, boundary: &str) -> Result<Vec<Field>, ApiError> {
    let found = parts(body, boundary).map_err(|error| ApiError::not_multipart(&error))?;
    let mut fields: Vec<Field> = Vec::with_capacity(found.len());
    for part in found {
        let Part { name, file_name, content_type, content } = part;
        let field = |name: String, form: Form, is_optional: bool, content: Vec<Bytes>| Field {
            name,
            form,
            is_optional,
            is_argument: false,
            content,
        };
        let Some(file_name) = file_name else {
            fields.push(field(name, Form::Text, false, content));
            continue;
        };
        // what a browser sends for a file that was not chosen
        if file_name.is_empty() && content.iter().all(Bytes::is_empty) {
            continue;
        }
        let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        for (suffix, value) in [("name", file_name), ("type", content_type)] {
            fields.push(field(format!("{name}_{suffix}"), Form::Text, true, vec![value.into()]));
        }
        fields.push(field(name, Form::File, false, content));
    }
    Ok(fields)
}

/// Whether a field counts: one that is sent does before one that is derived, and of several the last.
pub(crate) fn counts(fields: &[Field], at: usize) -> bool {
    let field = &fields[at];
    let rank = |at: usize, field: &Field| (!field.is_optional, at);
    let others = fields.iter().enumerate().filter(|(_, other)| other.name == field.name && !other.is_argument);
    !field.is_argument && others.map(|(at, other)| rank(at, other)).max() == Some(rank(at, field))
}

/// Makes arguments of the text fields of a call.
pub(crate) fn arguments(fields: &mut [Field]) -> Vec<(String, String)> {
    let mut arguments = Vec::new();
    for field in fields.iter_mut().filter(|field| field.form == Form::Text && !field.is_optional) {
        if field.size_bytes() <= ARGUMENT_BYTES_MAX
            && let Ok(text) = String::from_utf8(field.content.concat())
        {
            field.is_argument = true;
            arguments.push((field.name.clone(), text));
        }
    }
    arguments
}

/// A JSON object of strings.
pub(crate) fn object<'a>(members: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut object = vec![b'{'];
    for (at, (key, value)) in members.enumerate() {
        object.extend_from_slice(if at == 0 { b"" } else { b"," });
        write_string(&mut object, key);
        object.push(b':');
        write_string(&mut object, value);
    }
    object.push(b'}');
    object
}

/// The fields of a form without files as a JSON object. Of several with one name the last counts.
pub(crate) fn last_of_each(fields: &[(String, String)]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let mut kept: Vec<_> = fields.iter().rev().filter(|(name, _)| seen.insert(name)).collect();
    kept.reverse();
    object(kept.into_iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

/// The fields as a JSON object, where PostgreSQL reads them.
pub(crate) fn document(fields: &[Field]) -> Vec<u8> {
    let values: Vec<Vec<u8>> = fields.iter().map(|field| field.content.concat()).collect();
    object(fields.iter().zip(&values).map(|(field, value)| (field.name.as_bytes(), value.as_slice())))
}
