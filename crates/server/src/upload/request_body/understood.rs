//! What a body is, found out as it comes.

use super::Received;
use crate::error::ApiError;
use crate::upload::form::{self, Field};
use crate::upload::held::Keeper;
use crate::upload::make::{PIECE_BYTES, Stint};
use bytes::Bytes;
use thalweg_decode::{CsvReader, FormDocument, FormReader, Rewrite, Root, Scan};
use thalweg_files::PartsReader;
use thalweg_request::{Action, Content, Raw};

/// From this size on, a body that can be read row by row is not waited for, in bytes.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;

/// What a body is.
#[derive(Default)]
pub(super) enum Understood {
    Json(Box<Scan>),
    /// A form that is read as a row: a JSON object of strings is made of it, and kept in its place.
    Form(Box<(FormDocument, Scan)>),
    Csv(Box<CsvReader>),
    /// The fields of a form.
    Pairs(Box<FormReader>),
    /// The parts of a form with files as they are found.
    Multipart(Box<PartsReader>),
    /// The parts of a form with files, and those of them that are arguments.
    Parts {
        fields: Vec<Field>,
        arguments: Vec<(String, String)>,
    },
    /// One value.
    Raw(Raw),
    /// There is none, or it is not read.
    #[default]
    Nothing,
}

impl Understood {
    /// A body of which nothing has been read, by what it says it is.
    pub(super) fn of(content: Content<'_>, action: Action) -> Self {
        match content {
            Content::Json => Self::Json(Box::new(Scan::new(false))),
            Content::Ndjson => Self::Json(Box::new(Scan::new(true))),
            Content::Csv => Self::Csv(Box::default()),
            Content::Raw(raw) => Self::Raw(raw),
            Content::Form if action == Action::Call => Self::Pairs(Box::default()),
            Content::Form => Self::Form(Box::new((FormDocument::default(), Scan::new(false)))),
            Content::Multipart(boundary) => Self::Multipart(Box::new(PartsReader::new(boundary))),
        }
    }
}

impl Received {
    /// Looks at what has come, and keeps what may be wanted of it.
    pub(super) async fn take(&mut self, chunk: Bytes) -> Result<(), ApiError> {
        if !matches!(self.understood, Understood::Json(_) | Understood::Csv(_)) {
            return self.take_text(chunk).await;
        }
        for part in self.mark.feed(chunk).into_iter().filter(|part| !part.is_empty()) {
            self.take_text(part).await?;
        }
        Ok(())
    }

    /// Looks at bytes that are no byte order mark, and keeps what may be wanted of them.
    async fn take_text(&mut self, chunk: Bytes) -> Result<(), ApiError> {
        if self.first_byte.is_none() {
            self.first_byte = chunk.iter().copied().find(|byte| !byte.is_ascii_whitespace());
        }
        match &mut self.understood {
            Understood::Json(scan) if self.failure.is_none() => self.failure = scan.feed(&chunk).err(),
            Understood::Csv(reader) if self.failure.is_none() => self.failure = reader.feed(&chunk).err(),
            Understood::Multipart(reader) => {
                reader.feed(&chunk).map_err(ApiError::not_multipart)?;
                self.found.resize(reader.size_bytes(), self.kept.holds())?;
            }
            Understood::Pairs(reader) => {
                let mut stint = Stint::default();
                for piece in chunk.chunks(PIECE_BYTES) {
                    reader.feed(piece)?;
                    self.found.resize(reader.size_bytes(), self.kept.holds())?;
                    stint.worked(piece.len()).await;
                }
                return Ok(());
            }
            Understood::Form(form) => {
                let (document, scan) = &mut **form;
                let mut stint = Stint::default();
                for piece in chunk.chunks(PIECE_BYTES) {
                    document.feed(piece)?;
                    // not byte by byte, if it comes so
                    if document.ready_bytes() >= PIECE_BYTES {
                        keep_made(document, scan, &mut self.kept)?;
                    }
                    stint.worked(piece.len()).await;
                }
                return Ok(());
            }
            Understood::Json(_) | Understood::Csv(_) => {}
            Understood::Parts { .. } | Understood::Raw(_) | Understood::Nothing => {}
        }
        self.kept.keep(chunk)
    }

    /// Whether rows can be read one by one from here on.
    pub(super) fn can_flow(&self) -> bool {
        let rows_are_known = match &self.understood {
            Understood::Json(scan) => {
                scan.first_is_whole() && matches!(scan.root(), Some(Root::Array | Root::Sequence))
            }
            Understood::Csv(reader) => reader.header().is_some(),
            Understood::Form(_) | Understood::Pairs(_) | Understood::Multipart(_) | Understood::Parts { .. } => false,
            Understood::Raw(_) | Understood::Nothing => false,
        };
        rows_are_known && self.failure.is_none() && self.kept.size_bytes() >= WHOLE_BYTES_MAX
    }

    pub(super) async fn ended(&mut self) -> Result<(), ApiError> {
        let rest = self.mark.finish();
        if !rest.is_empty() {
            self.take_text(rest).await?;
        }
        self.kept.settle()?;
        match std::mem::take(&mut self.understood) {
            Understood::Json(mut scan) => {
                // a call without a body is one without arguments
                let is_empty = self.kept.size_bytes() == 0 && self.action == Some(Action::Call);
                if is_empty {
                    self.failure = scan.feed(b"{}").err();
                }
                if self.failure.is_none() {
                    self.failure = scan.finish().err();
                }
                self.understood = Understood::Json(scan);
            }
            Understood::Form(form) => {
                let (mut document, mut scan) = *form;
                document.finish()?;
                keep_made(&mut document, &mut scan, &mut self.kept)?;
                scan.finish()?;
                self.understood = Understood::Json(Box::new(scan));
            }
            Understood::Csv(mut reader) => {
                if self.failure.is_none() {
                    self.failure = reader.finish().err();
                }
                self.understood = Understood::Csv(reader);
            }
            Understood::Pairs(mut reader) => {
                reader.finish();
                self.understood = if self.action == Some(Action::Call) {
                    Understood::Pairs(reader)
                } else {
                    let mut fields = form::of_pairs(reader.into_pairs());
                    form::choose(&mut fields);
                    Understood::Parts { fields, arguments: Vec::new() }
                };
            }
            Understood::Multipart(reader) => {
                let found = reader.finish(self.kept.chunks()).map_err(ApiError::not_multipart)?;
                let (mut fields, mut arguments) = (form::fields(found), Vec::new());
                if self.action == Some(Action::Call) {
                    arguments = form::arguments(&mut fields, &mut self.found, self.kept.holds())?;
                }
                form::choose(&mut fields);
                self.understood = Understood::Parts { fields, arguments };
            }
            other @ (Understood::Parts { .. } | Understood::Raw(_) | Understood::Nothing) => self.understood = other,
        }
        Ok(())
    }
}

/// Looks at what has been made of a form, and keeps it.
fn keep_made(document: &mut FormDocument, scan: &mut Scan, kept: &mut Keeper) -> Result<(), ApiError> {
    let made = document.take();
    scan.feed(&made)?;
    kept.keep_made(made)
}
