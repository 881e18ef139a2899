//! Forms: what their fields mean for a row or for a call.
//!
//! A part with a file name is a file. Its name and its media type are values too, for columns or arguments that have the
//! part's name with `_name` and `_type` behind it.

use crate::error::ApiError;
use crate::upload::held::{Hold, Holds};
use crate::upload::make::{Making, PIECE_BYTES};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use thalweg_files::Part;
use thalweg_json::{write_inside, write_string};
use thalweg_request::{Form, Key};

/// Text parts up to this size are arguments as those of other forms are, in bytes; larger ones are not copied for that.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// A field of a form with files.
pub(crate) struct Field {
    name: String,
    form: Form,
    /// Whether it is there only for who wants it.
    is_optional: bool,
    /// Whether it was not sent, but is made of others or given by the page.
    is_made: bool,
    /// Whether it has become an argument.
    is_argument: bool,
    /// Whether it counts: it has become no argument, and of those with its name that is so for none that comes before it.
    pub(crate) counts: bool,
    /// The text that was typed, if the value is another one.
    typed: Option<String>,
    /// Its value, in the chunks that it came in.
    pub(crate) content: Vec<Bytes>,
}

impl Field {
    /// What a plan has to know of it; `at` is its place among the fields.
    pub(crate) fn key(&self, at: usize) -> Key<'_> {
        Key { name: &self.name, member: Some(at), form: self.form, is_optional: self.is_optional }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it was typed in: it is no file, nor made of one or of other fields.
    pub(crate) fn is_typed(&self) -> bool {
        self.form == Form::Text && !self.is_optional && !self.is_made
    }

    /// Returns whether the field is made of other fields, or given by the page.
    pub(crate) fn is_made(&self) -> bool {
        self.is_made
    }

    pub(crate) fn is_file(&self) -> bool {
        self.form == Form::File
    }

    /// Its text, if that is no more than so many bytes. A file has none.
    pub(crate) fn text(&self, bytes_max: usize) -> Option<Cow<'_, str>> {
        let is_text = self.form == Form::Text && self.size_bytes() <= bytes_max;
        is_text.then(|| match self.content.as_slice() {
            [only] => String::from_utf8_lossy(only),
            several => Cow::Owned(String::from_utf8_lossy(&several.concat()).into_owned()),
        })
    }

    /// Returns the text that was typed, if it has at most `bytes_max` bytes.
    pub(crate) fn typed(&self, bytes_max: usize) -> Option<Cow<'_, str>> {
        match &self.typed {
            Some(typed) => Some(Cow::Borrowed(typed.as_str())).filter(|typed| typed.len() <= bytes_max),
            None => self.text(bytes_max),
        }
    }

    /// Whether nothing was typed into it.
    pub(crate) fn is_blank(&self) -> bool {
        self.form == Form::Text && self.content.iter().all(Bytes::is_empty)
    }

    fn of_text(name: String, content: Vec<Bytes>) -> Self {
        let (form, typed) = (Form::Text, None);
        Self { name, form, is_optional: false, is_made: false, is_argument: false, counts: false, typed, content }
    }

    /// Puts a field in the place of all that were sent under its name.
    fn replace(fields: &mut Vec<Field>, name: &str, content: Vec<Bytes>) {
        fields.iter_mut().filter(|field| field.name == name).for_each(|field| field.counts = false);
        fields.push(Field { counts: true, is_made: true, ..Field::of_text(name.to_owned(), content) });
    }

    fn size_bytes(&self) -> usize {
        self.content.iter().map(Bytes::len).sum()
    }
}

/// The fields of a body. Of several parts with one name, all stand there in their order.
pub(crate) fn fields(found: Vec<Part>) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::with_capacity(found.len());
    for part in found {
        let Part { name, file_name, content_type, content } = part;
        let field = |name: String, form: Form, is_optional: bool, content: Vec<Bytes>| Field {
            name,
            form,
            is_optional,
            is_made: false,
            is_argument: false,
            counts: false,
            typed: None,
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
    fields
}

/// The fields of a form without files.
pub(crate) fn of_pairs(pairs: Vec<(String, String)>) -> Vec<Field> {
    pairs.into_iter().map(|(name, value)| Field::of_text(name, vec![value.into()])).collect()
}

/// Size of the longest typed text that may mean another value, in bytes.
const MEANT_BYTES_MAX: usize = 128;

/// Replaces short texts that were typed by the values that they mean.
pub(crate) fn replace_typed(fields: &mut [Field], meant: impl Fn(&str, &str) -> Option<String>) {
    for field in fields.iter_mut().filter(|field| field.is_typed()) {
        let Some(typed) = field.text(MEANT_BYTES_MAX).map(Cow::into_owned) else { continue };
        if let Some(value) = meant(&field.name, &typed) {
            (field.content, field.typed) = (vec![value.into()], Some(typed));
        }
    }
}

/// Makes line feeds of the ends of lines in what was typed, which browsers send as CR LF: they count
/// a line feed for `maxlength`, as the database does for `length`.
pub(crate) async fn unify_line_ends(fields: &mut [Field], holds: &Holds) -> Result<(), ApiError> {
    let has_returns = |field: &&mut Field| field.is_typed() && field.content.iter().any(|chunk| chunk.contains(&b'\r'));
    for field in fields.iter_mut().filter(has_returns) {
        let mut making = Making::new(holds);
        let mut after_return = false;
        for piece in field.content.iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
            making.write(|out| after_return = append_lines(out, piece, after_return)).await?;
        }
        if after_return {
            making.write(|out| out.push(b'\r')).await?;
        }
        field.content = making.finish()?;
    }
    Ok(())
}

/// Appends a part of a text without the returns before line feeds. `after_return` says whether the
/// part before it ended with a return, which was not appended. Returns the same of this part.
fn append_lines(out: &mut Vec<u8>, piece: &[u8], mut after_return: bool) -> bool {
    for &byte in piece {
        if after_return && byte != b'\n' {
            out.push(b'\r');
        }
        after_return = byte == b'\r';
        if !after_return {
            out.push(byte);
        }
    }
    after_return
}

/// Sets a value, whatever was sent under its name.
pub(crate) fn set(fields: &mut Vec<Field>, name: &str, value: &str) {
    Field::replace(fields, name, vec![value.to_owned().into()]);
}

/// Makes an array of all that was typed into fields of one name, blank ones left out. One alone that begins with a brace is an array's text already.
pub(crate) async fn gather(fields: &mut Vec<Field>, name: &str, holds: &Holds) -> Result<(), ApiError> {
    let sent: Vec<&Field> = fields.iter().filter(|field| field.name == name && field.is_typed()).collect();
    let is_array = |field: &Field| field.content.iter().flatten().next() == Some(&b'{');
    if sent.is_empty() || matches!(sent.as_slice(), [only] if is_array(only)) {
        return Ok(());
    }
    let mut making = Making::new(holds);
    making.write(|out| out.push(b'{')).await?;
    for (at, field) in sent.into_iter().filter(|field| !field.is_blank()).enumerate() {
        making.write(|out| out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" })).await?;
        for piece in field.content.iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
            making.write(|out| element(out, piece)).await?;
        }
        making.write(|out| out.push(b'"')).await?;
    }
    making.write(|out| out.push(b'}')).await?;
    let made = making.finish()?;
    Field::replace(fields, name, made);
    Ok(())
}

/// Writes a part of an array's element, between the quotes of which all else stands for itself (PostgreSQL's manual, section 8.15.6).
fn element(out: &mut Vec<u8>, piece: &[u8]) {
    for &byte in piece {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

/// Finds the fields that count: one that is sent does before one that is derived, and of several the last.
pub(crate) fn choose(fields: &mut [Field]) {
    let rank = |at: usize, field: &Field| (!field.is_optional, at);
    let mut chosen: HashMap<&str, (bool, usize)> = HashMap::new();
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_argument) {
        let best = chosen.entry(&field.name).or_insert(rank(at, field));
        *best = rank(at, field).max(*best);
    }
    let chosen: Vec<usize> = chosen.into_values().map(|(_, at)| at).collect();
    chosen.into_iter().for_each(|at| fields[at].counts = true);
}

/// Makes arguments of the text fields of a call, which count as long as something holds them.
pub(crate) fn arguments(
    fields: &mut [Field],
    hold: &mut Hold,
    holds: &Holds,
) -> Result<Vec<(String, String)>, ApiError> {
    let is_short =
        |field: &&mut Field| field.form == Form::Text && !field.is_optional && field.size_bytes() <= ARGUMENT_BYTES_MAX;
    let (mut arguments, mut size_bytes) = (Vec::new(), 0);
    for field in fields.iter_mut().filter(is_short) {
        size_bytes += field.name.len() + field.size_bytes();
        hold.resize(size_bytes, holds)?;
        if let Ok(text) = String::from_utf8(field.content.concat()) {
            field.is_argument = true;
            arguments.push((field.name.clone(), text));
        }
    }
    Ok(arguments)
}

/// Makes a JSON object of strings.
async fn object<'a, V: Iterator<Item = &'a [u8]>>(
    members: impl Iterator<Item = (&'a str, V)>,
    holds: &Holds,
) -> Result<Vec<Bytes>, ApiError> {
    let mut making = Making::new(holds);
    making.write(|out| out.push(b'{')).await?;
    for (at, (key, value)) in members.enumerate() {
        let start = |out: &mut Vec<u8>| {
            out.extend_from_slice(if at == 0 { b"" } else { b"," });
            write_string(out, key.as_bytes());
            out.extend_from_slice(b":\"");
        };
        making.write(start).await?;
        for piece in value.flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
            making.write(|out| write_inside(out, piece)).await?;
        }
        making.write(|out| out.push(b'"')).await?;
    }
    making.write(|out| out.push(b'}')).await?;
    making.finish()
}

/// The fields of a form without files as a JSON object. Of several with one name the last counts.
pub(crate) async fn last_of_each(fields: &[(String, String)], holds: &Holds) -> Result<Vec<Bytes>, ApiError> {
    let mut seen = HashSet::new();
    let mut kept: Vec<_> = fields.iter().rev().filter(|(name, _)| seen.insert(name)).collect();
    kept.reverse();
    let members = kept.into_iter().map(|(name, value)| (name.as_str(), std::iter::once(value.as_bytes())));
    object(members, holds).await
}

/// The fields as a JSON object, where PostgreSQL reads them.
pub(crate) async fn document(fields: &[Field], holds: &Holds) -> Result<Vec<Bytes>, ApiError> {
    let members = fields.iter().map(|field| (field.name.as_str(), field.content.iter().map(|chunk| &chunk[..])));
    object(members, holds).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_unified_wherever_a_text_is_cut() {
        let text = b"a\r\nb\r\r\n\nc\rd\r";
        for size in 1..=text.len() {
            let (mut out, mut after_return) = (Vec::new(), false);
            for piece in text.chunks(size) {
                after_return = append_lines(&mut out, piece, after_return);
            }
            assert_eq!((&out[..], after_return), (&b"a\nb\r\n\nc\rd"[..], true), "in pieces of {size}");
        }
    }
}
