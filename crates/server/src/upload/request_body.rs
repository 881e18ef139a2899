//! Request bodies: read as they arrive, held within bounds, and understood as far as a plan needs.
//!
//! A body's chunks are kept as they came from the HTTP connection. What passes through to PostgreSQL goes on in them.

use crate::error::ApiError;
use crate::upload::Incoming;
use crate::upload::form::{self, Field};
use bytes::Bytes;
use hyper::header::{self, HeaderMap};
use thalweg_decode::{
    Chunks, Column, CsvReader, CsvRows, DecodeError, JsonRows, Kind, Problem, Root, Scan, csv_as_json, join_rows,
    pairs, unescape,
};
use thalweg_plan::{Bound, CopyKind, Render, Source, Write};
use thalweg_request::{
    Action, ApiRequest, Content, Form, Key, Missing, Payload, Preferences, Raw, RequestError, Returning, Rows,
};
use thalweg_rows::Format;

/// From this size on, a body that can be read row by row is not waited for, in bytes.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;
/// How many keys the rows of a body may have: more than a relation can have columns.
const KEYS_MAX: usize = 2_000;

/// A request's body.
pub(crate) struct RequestBody {
    incoming: Incoming,
    received: Received,
}

/// What of a body is here.
#[derive(Default)]
pub(crate) struct Received {
    action: Option<Action>,
    held: Chunks,
    understood: Understood,
    /// What could not be understood.
    failure: Option<DecodeError>,
    is_whole: bool,
    /// Whether it has been read as far as a plan needs.
    is_received: bool,
}

/// What a body is.
#[derive(Default)]
enum Understood {
    Json(Box<Scan>),
    Csv(Box<CsvReader>),
    /// The fields of a form.
    Pairs(Vec<(String, String)>),
    /// The parts of a form with files, once it is here, and the parts of it that are arguments.
    Parts {
        boundary: String,
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
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self { incoming, received: Received::default() }
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
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content = Content::parse(content_type, action == Action::Call)?;
        let Preferences { returning, resolution, missing, .. } = request.preferences;
        let may_flow = action == Action::Insert
            && matches!(returning, None | Some(Returning::Minimal))
            && resolution.is_none()
            && missing != Some(Missing::Default);
        self.incoming.decode(headers)?;
        let understood = Understood::of(content);
        self.received = Received { action: Some(action), understood, is_received: true, ..Received::default() };
        self.read(may_flow, request.names_keys()).await
    }

    /// Reads what is left of it.
    pub(crate) async fn complete(&mut self, request: &ApiRequest<'_>) -> Result<(), ApiError> {
        self.read(false, request.names_keys()).await
    }

    async fn read(&mut self, may_flow: bool, keys_are_named: bool) -> Result<(), ApiError> {
        let Self { incoming, received } = self;
        while !(received.is_whole || may_flow && received.can_flow()) {
            match incoming.next().await? {
                Some(chunk) => {
                    incoming.hold(chunk.len())?;
                    received.look(|understood| understood.feed(&chunk));
                    received.held.push(chunk);
                }
                None => {
                    received.is_whole = true;
                    received.ended()?;
                }
            }
            // PostgreSQL says what is wrong with a document of which only some keys count
            let is_json = matches!(received.understood, Understood::Json(_));
            if let Some(failure) = received.failure.take_if(|_| !(keys_are_named && is_json)) {
                return Err(failure.into());
            }
        }
        Ok(())
    }
}

impl Received {
    fn look(&mut self, look: impl FnOnce(&mut Understood) -> Result<(), DecodeError>) {
        if self.failure.is_none() {
            self.failure = look(&mut self.understood).err();
        }
    }

    /// Whether rows can be read one by one from here on.
    fn can_flow(&self) -> bool {
        let rows_are_known = match &self.understood {
            Understood::Json(scan) => {
                scan.first_is_whole() && matches!(scan.root(), Some(Root::Array | Root::Sequence))
            }
            Understood::Csv(reader) => reader.header().is_some(),
            _ => false,
        };
        rows_are_known && self.failure.is_none() && self.held.size_bytes() >= WHOLE_BYTES_MAX
    }

    fn ended(&mut self) -> Result<(), ApiError> {
        // a call without a body is one without arguments
        if let Understood::Json(scan) = &mut self.understood
            && self.action == Some(Action::Call)
            && scan.root().is_none()
            && self.failure.is_none()
            && self.held.size_bytes() == 0
        {
            self.understood = Understood::Json(Box::new(Scan::new(false)));
            self.look(|understood| understood.feed(b"{}"));
        }
        self.look(Understood::finish);
        if let Understood::Parts { boundary, fields, arguments } = &mut self.understood {
            *fields = form::fields(&self.held, boundary)?;
            if self.action == Some(Action::Call) {
                *arguments = form::arguments(fields);
            }
            return Ok(());
        }
        let Understood::Pairs(fields) = &mut self.understood else { return Ok(()) };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        *fields = pairs(&self.held.list().concat()).into_iter().map(|(key, value)| (key, text(value))).collect();
        if self.action == Some(Action::Call) {
            return Ok(());
        }
        // a row of strings, of which the last with a name counts
        let object = form::object(fields.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())));
        let mut scan = Scan::new(false);
        self.failure = scan.feed(&object).and_then(|()| scan.finish()).err();
        self.understood = Understood::Json(Box::new(scan));
        self.held = object.into();
        Ok(())
    }

    /// Whether more of the body is to come.
    pub(crate) fn flows(&self) -> bool {
        self.is_received && !self.is_whole
    }

    /// The fields of a form that have become arguments.
    fn pairs(&self) -> &[(String, String)] {
        match &self.understood {
            Understood::Pairs(fields) | Understood::Parts { arguments: fields, .. } => fields,
            Understood::Json(_) | Understood::Csv(_) | Understood::Raw(_) | Understood::Nothing => &[],
        }
    }

    /// What a plan has to know of the body.
    pub(crate) fn payload<'a>(&'a self, request: &ApiRequest<'_>) -> Result<Option<Payload<'a>>, ApiError> {
        let unknown = Payload::unknown();
        let payload = match &self.understood {
            Understood::Nothing => return Ok(None),
            Understood::Pairs(_) => unknown,
            Understood::Raw(raw) => Payload { raw: Some(*raw), ..unknown },
            Understood::Parts { fields, .. } => {
                let key = |(at, field): (usize, &'a Field)| field.key(at);
                let keys = fields.iter().enumerate().filter(|(at, _)| form::counts(fields, *at)).map(key);
                Payload { keys: keys.collect(), rows: Rows::One, ..unknown }
            }
            Understood::Csv(reader) => {
                let header = reader.header().unwrap_or_default().iter().map(String::as_str);
                let rows = match (self.flows(), reader.rows()) {
                    (true, _) => Rows::Flowing,
                    (false, 0) => Rows::None,
                    _ => Rows::Many,
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
            let is_array = first_byte(&self.held) != Some(b'{');
            return Ok(Payload { rows: Rows::Unread, is_array, is_json: true, ..Payload::unknown() });
        }
        if !keys_are_named && !scan.is_uniform() {
            return Err(DecodeError { problem: Problem::Keys, row: scan.rows(), column: None }.into());
        }
        let rows = match (scan.root(), scan.rows()) {
            _ if self.flows() => Rows::Flowing,
            (None | Some(Root::Other), _) | (_, 0) => Rows::None,
            // of several, a call takes the first
            (_, 1) => Rows::One,
            _ if self.action == Some(Action::Call) => Rows::One,
            _ => Rows::Many,
        };
        Ok(Payload { keys: members.collect(), rows, is_array, is_json: true, ..Payload::unknown() })
    }

    /// The whole body as one value: as it came, or as the JSON document that PostgreSQL reads.
    pub(crate) fn document(&self) -> Result<Vec<Bytes>, ApiError> {
        match &self.understood {
            Understood::Json(scan) if scan.root() == Some(Root::Sequence) => Ok(vec![join_rows(&self.held)?.into()]),
            Understood::Json(scan) if scan.root() == Some(Root::Other) && self.action == Some(Action::Call) => {
                Ok(vec![Bytes::from_static(b"[]")])
            }
            Understood::Csv(_) => Ok(vec![csv_as_json(self.held.list().iter().map(|chunk| &chunk[..]))?.into()]),
            Understood::Parts { fields, .. } => Ok(vec![form::document(fields).into()]),
            Understood::Pairs(fields) => Ok(vec![form::last_of_each(fields).into()]),
            _ => Ok(self.held.list().to_vec()),
        }
    }

    /// The format of the whole body as one value.
    pub(crate) fn document_format(&self) -> Format {
        match self.understood {
            Understood::Raw(Raw::Octets) => Format::Binary,
            _ => Format::Text,
        }
    }

    /// A value of the body's row, as a parameter; `None` is NULL.
    pub(crate) fn value(&self, bound: Bound) -> Result<Option<(Format, Vec<Bytes>)>, ApiError> {
        let format = if bound.render == Render::Bytes { Format::Binary } else { Format::Text };
        if let Understood::Parts { fields, .. } = &self.understood {
            let field = fields.get(bound.member).filter(|_| bound.render != Render::Null);
            return Ok(field.map(|field| (format, field.content.clone())));
        }
        let Understood::Json(scan) = &self.understood else { return Ok(None) };
        let Some(member) = scan.members().get(bound.member) else { return Ok(None) };
        let (range, is_string) = (member.range.clone(), matches!(member.form, Form::String { .. }));
        let pieces = match (bound.render, member.form) {
            (Render::Null, _) => return Ok(None),
            (Render::Text, Form::String { escaped: true }) => vec![unescape(&self.held.slice(range))?.into()],
            // with the quotes around it
            (Render::Json, _) if is_string => self.held.slice(range.start - 1..range.end + 1),
            _ => self.held.slice(range),
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
                Some(CopyRows::Csv(CsvRows::new(&columns, reader.header().unwrap_or_default())))
            }
            Understood::Json(scan) => {
                let kind = |kind: &CopyKind| match kind {
                    CopyKind::Text => Kind::Text,
                    CopyKind::Json => Kind::Json,
                    CopyKind::Array => Kind::Array,
                };
                let columns = names.zip(kinds).map(|(name, of)| Column { name, kind: kind(of) }).collect();
                let is_sequence = scan.root() == Some(Root::Sequence);
                Some(CopyRows::Json(Box::new(JsonRows::new(columns, request.names_keys(), is_sequence))))
            }
            _ => None,
        }
    }

    /// The chunks that are held.
    pub(crate) fn held(&self) -> &[Bytes] {
        self.held.list()
    }
}

impl Understood {
    /// A body of which nothing has been read, by what it says it is.
    fn of(content: Content<'_>) -> Self {
        match content {
            Content::Json => Self::Json(Box::new(Scan::new(false))),
            Content::Ndjson => Self::Json(Box::new(Scan::new(true))),
            Content::Csv => Self::Csv(Box::default()),
            Content::Raw(raw) => Self::Raw(raw),
            Content::Form => Self::Pairs(Vec::new()),
            Content::Multipart(boundary) => {
                Self::Parts { boundary: boundary.to_owned(), fields: Vec::new(), arguments: Vec::new() }
            }
        }
    }

    fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        match self {
            Self::Json(scan) => scan.feed(chunk),
            Self::Csv(reader) => reader.feed(chunk),
            Self::Pairs(_) | Self::Parts { .. } | Self::Raw(_) | Self::Nothing => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        match self {
            Self::Json(scan) => scan.finish(),
            Self::Csv(reader) => reader.finish(),
            Self::Pairs(_) | Self::Parts { .. } | Self::Raw(_) | Self::Nothing => Ok(()),
        }
    }
}

/// A key of rows whose values are not looked at.
fn key_of_many(name: &str) -> Key<'_> {
    Key { name, member: None, form: Form::Null, is_optional: false }
}

fn first_byte(chunks: &Chunks) -> Option<u8> {
    chunks.list().iter().flatten().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Makes rows of a COPY.
pub(crate) enum CopyRows {
    Json(Box<JsonRows>),
    Csv(CsvRows),
}

impl CopyRows {
    /// Reads a chunk.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        match self {
            Self::Json(rows) => rows.feed(chunk),
            Self::Csv(rows) => rows.feed(chunk),
        }
    }

    /// The body has ended.
    pub(crate) fn finish(&mut self) -> Result<(), DecodeError> {
        match self {
            Self::Json(rows) => rows.finish(),
            Self::Csv(rows) => rows.finish(),
        }
    }

    /// How many bytes of whole rows there are.
    pub(crate) fn ready_bytes(&self) -> usize {
        match self {
            Self::Json(rows) => rows.ready_bytes(),
            Self::Csv(rows) => rows.ready_bytes(),
        }
    }

    /// Takes the rows that are whole.
    pub(crate) fn take(&mut self) -> Bytes {
        match self {
            Self::Json(rows) => rows.take(),
            Self::Csv(rows) => rows.take(),
        }
        .into()
    }
}
