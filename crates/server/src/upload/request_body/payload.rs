//! What a plan has to know of a body.

use super::Received;
use super::understood::Understood;
use crate::error::ApiError;
use crate::upload::form::Field;
use thalweg_decode::{DecodeError, KEYS_MAX, Problem, Root, Scan};
use thalweg_request::{Action, ApiRequest, Form, Key, NoRows, Payload, RequestError, Rows};

impl Received {
    /// What a plan has to know of the body.
    pub(crate) fn payload<'a>(&'a self, request: &ApiRequest<'_>) -> Result<Option<Payload<'a>>, ApiError> {
        let unknown = Payload::unknown();
        let payload = match &self.understood {
            Understood::Nothing => return Ok(None),
            // which are read to their end before anybody asks
            Understood::Pairs(_) | Understood::Form(_) | Understood::Multipart(_) => unknown,
            Understood::Raw(raw) => Payload { raw: Some(*raw), ..unknown },
            Understood::Parts { fields, .. } => {
                let key = |(at, field): (usize, &'a Field)| field.key(at);
                let keys = fields.iter().enumerate().filter(|(_, field)| field.counts).map(key);
                Payload { keys: keys.collect(), rows: Rows::One, ..unknown }
            }
            Understood::Csv(reader) => {
                let header = reader.header().unwrap_or_default().iter().map(String::as_str);
                let rows = match (self.flows(), reader.rows()) {
                    (true, _) => Rows::Flowing,
                    (false, 0) => Rows::None,
                    (false, _) => Rows::Many,
                };
                let has_several_rows = reader.rows() > 1;
                Payload { keys: header.map(key_of_many).collect(), rows, has_several_rows, is_array: true, ..unknown }
            }
            Understood::Json(scan) => self.json(scan, request.names_keys())?,
        };
        if payload.keys.len() > KEYS_MAX {
            return Err(ApiError::too_many_keys(KEYS_MAX));
        }
        let arguments = self.pairs().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let payload = Payload { arguments, holds_texts: self.holds_texts, ..payload };
        // nothing in the database has such a name
        let mut names = payload.keys.iter().map(|key| key.name).chain(payload.arguments.iter().map(|(name, _)| *name));
        if names.any(|name| name.contains('\0')) {
            return Err(RequestError::nul("a key of the body").into());
        }
        Ok(Some(payload))
    }

    fn json<'a>(&'a self, scan: &'a Scan, keys_are_named: bool) -> Result<Payload<'a>, ApiError> {
        let members = scan.members().iter().enumerate().map(|(at, member)| Key {
            name: &member.key,
            member: Some(at),
            form: if self.holds_texts { Form::Text } else { member.form },
            is_optional: false,
        });
        let is_array = match scan.root() {
            Some(root) => root != Root::Object,
            None => self.failure.is_none(),
        };
        let has_rows = scan.root() != Some(Root::Other) && scan.rows() > 0 && scan.are_objects();
        if self.failure.is_some() || keys_are_named && !has_rows {
            // PostgreSQL reads what it is, or says what is wrong with it
            let is_array = self.first_byte != Some(b'{');
            return Ok(Payload { rows: Rows::Unread, is_array, is_json: true, ..Payload::unknown() });
        }
        let is_call = self.action == Some(Action::Call);
        let is_scalar = scan.root() == Some(Root::Other);
        // A call with null is one without arguments.
        let is_null = is_call && is_scalar && self.first_byte == Some(b'n');
        let no_rows = match scan.is_uniform() {
            _ if keys_are_named || is_null => None,
            false if !is_call => {
                return Err(DecodeError { problem: Problem::Keys, row: scan.rows(), column: None }.into());
            }
            false => Some(NoRows::Mixed),
            true => is_scalar.then_some(NoRows::Scalar),
        };
        if no_rows.is_some() {
            return Ok(Payload { is_array: !is_scalar, is_json: true, no_rows, ..Payload::unknown() });
        }
        let rows = match (scan.root(), scan.rows()) {
            _ if self.flows() => Rows::Flowing,
            (None | Some(Root::Other), _) | (_, 0) => Rows::None,
            (Some(Root::Object | Root::Array | Root::Sequence), 1) => Rows::One,
            // A call takes several rows only as one document.
            (Some(_), _) if is_call => Rows::One,
            (Some(Root::Object | Root::Array | Root::Sequence), _) => Rows::Many,
        };
        let has_several_rows = scan.rows() > 1;
        Ok(Payload { keys: members.collect(), rows, has_several_rows, is_array, is_json: true, ..Payload::unknown() })
    }

    /// The fields of a form that have become arguments.
    fn pairs(&self) -> &[(String, String)] {
        match &self.understood {
            Understood::Pairs(reader) => reader.pairs(),
            Understood::Parts { arguments, .. } => arguments,
            Understood::Json(_) | Understood::Form(_) | Understood::Csv(_) => &[],
            Understood::Multipart(_) | Understood::Raw(_) | Understood::Nothing => &[],
        }
    }
}

/// A key of rows whose values are not looked at.
fn key_of_many(name: &str) -> Key<'_> {
    Key { name, member: None, form: Form::Null, is_optional: false }
}
