//! What PostgreSQL is sent of a body: all of it, or values of its row, or rows.

use super::Received;
use super::understood::Understood;
use crate::error::ApiError;
use crate::upload::form;
use crate::upload::make::made;
use bytes::Bytes;
use thalweg_decode::{Column, CsvDocument, CsvRows, JoinedRows, JsonRows, Kind, Rewrite, Root, Unescaped};
use thalweg_plan::{Bound, CopyKind, Render, Source, Write};
use thalweg_request::{ApiRequest, Form, Raw};
use thalweg_rows::Format;

/// Makes rows of a COPY.
pub(crate) type CopyRows = Box<dyn Rewrite>;

impl Received {
    /// The whole body as one value: as it came, or as the JSON document that PostgreSQL reads.
    pub(crate) async fn document(&self) -> Result<Vec<Bytes>, ApiError> {
        let (held, holds) = (self.held(), self.holds());
        match &self.understood {
            Understood::Json(scan) if scan.root() == Some(Root::Sequence) => {
                made(JoinedRows::default(), held, holds).await
            }
            Understood::Csv(_) => made(CsvDocument::default(), held, holds).await,
            Understood::Parts { fields, .. } => form::document(fields, holds).await,
            Understood::Pairs(reader) => form::last_of_each(reader.pairs(), holds).await,
            Understood::Json(_) | Understood::Form(_) | Understood::Multipart(_) => Ok(held.to_vec()),
            Understood::Raw(_) | Understood::Nothing => Ok(held.to_vec()),
        }
    }

    /// The format of the whole body as one value.
    pub(crate) fn document_format(&self) -> Format {
        match self.understood {
            Understood::Raw(Raw::Octets) => Format::Binary,
            Understood::Raw(Raw::Text | Raw::Xml) | Understood::Nothing => Format::Text,
            Understood::Json(_) | Understood::Form(_) | Understood::Csv(_) => Format::Text,
            Understood::Pairs(_) | Understood::Multipart(_) | Understood::Parts { .. } => Format::Text,
        }
    }

    /// A value of the body's row, as a parameter; `None` is NULL.
    pub(crate) async fn value(&self, bound: Bound) -> Result<Option<(Format, Vec<Bytes>)>, ApiError> {
        let format = if bound.render == Render::Bytes { Format::Binary } else { Format::Text };
        if let Understood::Parts { fields, .. } = &self.understood {
            let field = fields.get(bound.member).filter(|_| bound.render != Render::Null);
            return Ok(field.map(|field| (format, field.content.clone())));
        }
        let Understood::Json(scan) = &self.understood else { return Ok(None) };
        let Some(member) = scan.members().get(bound.member) else { return Ok(None) };
        let (range, is_string) = (member.range.clone(), matches!(member.form, Form::String { .. }));
        let kept = self.kept.chunks();
        let pieces = match (bound.render, member.form) {
            (Render::Null, _) => return Ok(None),
            (Render::Text, Form::String { escaped: true }) => {
                made(Unescaped::default(), &kept.slice(range), self.holds()).await?
            }
            // with the quotes around it
            (Render::Json, _) if is_string => kept.slice(range.start - 1..range.end + 1),
            (Render::Text | Render::Json | Render::Bytes, _) => kept.slice(range),
        };
        Ok(Some((format, pieces)))
    }

    /// What makes rows of a COPY of the body, if the plan sends them so.
    pub(crate) fn copy(&self, write: &Write<'_>, request: &ApiRequest<'_>) -> Option<CopyRows> {
        let Source::Copy(kinds) = &write.source else { return None };
        let names = write.columns.iter().map(|written| written.column.name.to_string());
        match &self.understood {
            Understood::Csv(reader) => {
                let columns: Vec<String> = names.collect();
                Some(Box::new(CsvRows::new(&columns, reader.header().unwrap_or_default())))
            }
            Understood::Json(scan) => {
                let kind = |kind: &CopyKind| match kind {
                    CopyKind::Text => Kind::Text,
                    CopyKind::Json => Kind::Json,
                    CopyKind::Array => Kind::Array,
                };
                let columns = names.zip(kinds).map(|(name, of)| Column { name, kind: kind(of) }).collect();
                let is_sequence = scan.root() == Some(Root::Sequence);
                Some(Box::new(JsonRows::new(columns, request.names_keys(), is_sequence)))
            }
            Understood::Form(_) | Understood::Pairs(_) | Understood::Multipart(_) | Understood::Parts { .. } => None,
            Understood::Raw(_) | Understood::Nothing => None,
        }
    }
}
