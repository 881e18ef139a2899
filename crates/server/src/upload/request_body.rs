//! Request bodies: read as they arrive, held within bounds, and understood as far as a plan needs.
//!
//! A body's chunks are kept as they came from the HTTP connection. What passes through to PostgreSQL goes on in them.

use crate::error::ApiError;
use crate::upload::form::{self, Field};
use crate::upload::held::{HeldBytes, Hold, Holds, Keeper};
use crate::upload::make::{PIECE_BYTES, Stint, made};
use crate::upload::{BodyLimits, Incoming};
use bytes::Bytes;
use hyper::header::{self, HeaderMap};
use std::sync::Arc;
use thalweg_decode::{
    Column, CsvDocument, CsvReader, CsvRows, DecodeError, FormDocument, FormReader, JoinedRows, JsonRows, KEYS_MAX,
    Kind, Problem, Rewrite, Root, Scan, Unescaped,
};
use thalweg_files::PartsReader;
use thalweg_plan::{Bound, CopyKind, Render, Source, Write};
use thalweg_request::{
    Action, ApiRequest, Content, Form, Key, Missing, Payload, Preferences, Raw, RequestError, Returning, Rows,
};
use thalweg_rows::Format;

/// From this size on, a body that can be read row by row is not waited for, in bytes.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;

/// A request's body.
pub(crate) struct RequestBody {
    incoming: Incoming,
    received: Received,
}

/// What of a body is here.
pub(crate) struct Received {
    action: Option<Action>,
    kept: Keeper,
    /// What has been found in it, and is kept beside it.
    found: Hold,
    understood: Understood,
    /// What could not be understood.
    failure: Option<DecodeError>,
    /// The first byte that is no white space.
    first_byte: Option<u8>,
    is_whole: bool,
    /// Whether it has been read as far as a plan needs.
    is_received: bool,
}

/// What a body is.
#[derive(Default)]
enum Understood {
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

impl RequestBody {
    /// The body of a request, of which nothing has been read.
    pub(crate) fn new(incoming: Incoming, limits: BodyLimits, all: Arc<HeldBytes>) -> Self {
        let holds = Holds::new(all, limits.held_bytes_max);
        let received = Received {
            action: None,
            found: holds.nothing(),
            kept: Keeper::new(holds),
            understood: Understood::default(),
            failure: None,
            first_byte: None,
            is_whole: false,
            is_received: false,
        };
        Self { incoming, received }
    }

    /// What has been read of it, and what is still to come.
    pub(crate) fn split(&mut self) -> (&Received, &mut Incoming) {
        (&self.received, &mut self.incoming)
    }

    /// What has not been read of it.
    pub(crate) fn into_incoming(self) -> Incoming {
        self.incoming
    }

    /// Whether some of it is gone for good, so that the request cannot be tried again.
    pub(crate) fn is_consumed(&self) -> bool {
        self.incoming.is_consumed()
    }

    /// Whether more of it is to come.
    pub(crate) fn flows(&self) -> bool {
        self.received.flows()
    }

    /// What a plan has to know of it.
    pub(crate) fn payload<'a>(&'a self, request: &ApiRequest<'_>) -> Result<Option<Payload<'a>>, ApiError> {
        self.received.payload(request)
    }

    /// Reads it, if the request wants one: all of it, or as much as it takes to go on while it arrives, which is enough of
    /// one whose rows can be read one by one. Once is enough, however often the request is tried.
    pub(crate) async fn receive(&mut self, headers: &HeaderMap, request: &ApiRequest<'_>) -> Result<(), ApiError> {
        let action = request.action;
        if matches!(action, Action::Read | Action::Delete) || self.received.is_received {
            return Ok(());
        }
        // what is no text is no type that anybody knows
        let content_type = headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content = Content::parse(content_type.as_deref(), action == Action::Call)?;
        let Preferences { returning, resolution, missing, .. } = request.preferences;
        let may_flow = action == Action::Insert
            && matches!(returning, None | Some(Returning::Minimal))
            && resolution.is_none()
            && missing != Some(Missing::Default);
        self.incoming.decode(headers)?;
        self.received.understood = Understood::of(content, action);
        (self.received.action, self.received.is_received) = (Some(action), true);
        self.read(may_flow, request.names_keys()).await
    }

    /// Reads what is left of it.
    pub(crate) async fn complete(&mut self, request: &ApiRequest<'_>) -> Result<(), ApiError> {
        self.read(false, request.names_keys()).await
    }

    async fn read(&mut self, may_flow: bool, keys_are_named: bool) -> Result<(), ApiError> {
        let Self { incoming, received } = self;
        while !(received.is_whole || may_flow && received.can_flow()) {
            match incoming.next_held(received.kept.size_bytes()).await? {
                Some(chunk) => received.take(chunk).await?,
                None => {
                    received.is_whole = true;
                    received.ended().await?;
                }
            }
            // PostgreSQL says what is wrong with a document of which only some keys count
            let is_json = matches!(received.understood, Understood::Json(_));
            let is_left_to_it = |failure: &DecodeError| keys_are_named && is_json && !failure.problem.is_bound();
            if let Some(failure) = received.failure.take_if(|failure| !is_left_to_it(failure)) {
                return Err(failure.into());
            }
        }
        received.kept.settle()
    }
}

impl Received {
    /// Looks at what has come, and keeps what may be wanted of it.
    async fn take(&mut self, chunk: Bytes) -> Result<(), ApiError> {
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
    fn can_flow(&self) -> bool {
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

    async fn ended(&mut self) -> Result<(), ApiError> {
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
                self.understood = Understood::Pairs(reader);
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

    /// Whether more of the body is to come.
    pub(crate) fn flows(&self) -> bool {
        self.is_received && !self.is_whole
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
                Payload { keys: header.map(key_of_many).collect(), rows, is_array: true, ..unknown }
            }
            Understood::Json(scan) => self.json(scan, request.names_keys())?,
        };
        if payload.keys.len() > KEYS_MAX {
            return Err(ApiError::too_many_keys(KEYS_MAX));
        }
        let arguments = self.pairs().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let payload = Payload { arguments, ..payload };
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
            form: member.form,
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
        if !keys_are_named && !scan.is_uniform() {
            return Err(DecodeError { problem: Problem::Keys, row: scan.rows(), column: None }.into());
        }
        let rows = match (scan.root(), scan.rows()) {
            _ if self.flows() => Rows::Flowing,
            (None | Some(Root::Other), _) | (_, 0) => Rows::None,
            // of several, a call takes the first
            (Some(Root::Object | Root::Array | Root::Sequence), 1) => Rows::One,
            (Some(_), _) if self.action == Some(Action::Call) => Rows::One,
            (Some(Root::Object | Root::Array | Root::Sequence), _) => Rows::Many,
        };
        Ok(Payload { keys: members.collect(), rows, is_array, is_json: true, ..Payload::unknown() })
    }

    /// The whole body as one value: as it came, or as the JSON document that PostgreSQL reads.
    pub(crate) async fn document(&self) -> Result<Vec<Bytes>, ApiError> {
        let (held, holds) = (self.held(), self.holds());
        match &self.understood {
            Understood::Json(scan) if scan.root() == Some(Root::Sequence) => {
                made(JoinedRows::default(), held, holds).await
            }
            Understood::Json(scan) if scan.root() == Some(Root::Other) && self.action == Some(Action::Call) => {
                Ok(vec![Bytes::from_static(b"[]")])
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

    /// The chunks that are held.
    pub(crate) fn held(&self) -> &[Bytes] {
        self.kept.chunks().list()
    }

    /// How much is held, in bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.kept.size_bytes()
    }

    /// The right to hold what is made of it.
    pub(crate) fn holds(&self) -> &Holds {
        self.kept.holds()
    }
}

impl Understood {
    /// A body of which nothing has been read, by what it says it is.
    fn of(content: Content<'_>, action: Action) -> Self {
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

/// A key of rows whose values are not looked at.
fn key_of_many(name: &str) -> Key<'_> {
    Key { name, member: None, form: Form::Null, is_optional: false }
}

/// Looks at what has been made of a form, and keeps it.
fn keep_made(document: &mut FormDocument, scan: &mut Scan, kept: &mut Keeper) -> Result<(), ApiError> {
    let made = document.take();
    scan.feed(&made)?;
    kept.keep_made(made)
}

/// Makes rows of a COPY.
pub(crate) type CopyRows = Box<dyn Rewrite>;
