//! Request bodies: read as they arrive, held within bounds, and understood as far as a plan needs.
//!
//! ```text
//!  receive        reads all of it, or as much as it takes to go on while the rest arrives
//!    │ understood   what a body is, found out chunk by chunk
//!    ▼
//!  Received       what is here
//!    │ payload      for a plan: keys, arguments, how many rows
//!    ▼ values       for PostgreSQL: the whole as a document, a row's values, the rows of a COPY
//! ```
//!
//! A body's chunks are kept as they came from the HTTP connection. What passes through to PostgreSQL goes on in them.

mod mark;
mod payload;
mod understood;
mod values;

pub(crate) use values::CopyRows;

use crate::error::ApiError;
use crate::upload::form::{self, Field};
use crate::upload::held::{HeldBytes, Hold, Holds, Keeper};
use crate::upload::{BodyLimits, Incoming};
use bytes::Bytes;
use hyper::header::{self, HeaderMap};
use mark::MarkRemover;
use std::sync::Arc;
use thalweg_decode::DecodeError;
use thalweg_files::PartsReader;
use thalweg_request::{Action, ApiRequest, Content, Missing, Payload, Preferences, Returning};
use understood::Understood;

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
    mark: MarkRemover,
    understood: Understood,
    /// True if all values of the body are texts, as in CSV and in forms.
    holds_texts: bool,
    /// What could not be understood.
    failure: Option<DecodeError>,
    /// The first byte that is no white space.
    first_byte: Option<u8>,
    is_whole: bool,
    /// Whether it has been read as far as a plan needs.
    is_received: bool,
}

impl RequestBody {
    /// The body of a request, of which nothing has been read.
    pub(crate) fn new(incoming: Incoming, limits: BodyLimits, all: Arc<HeldBytes>) -> Self {
        let holds = Holds::new(all, limits.held_bytes_max);
        let received = Received {
            action: None,
            found: holds.nothing(),
            kept: Keeper::new(holds),
            mark: MarkRemover::default(),
            understood: Understood::default(),
            holds_texts: false,
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
        self.received.holds_texts = matches!(content, Content::Csv | Content::Form | Content::Multipart(_));
        self.received.understood = Understood::of(content, action);
        (self.received.action, self.received.is_received) = (Some(action), true);
        self.read(may_flow, request.names_keys()).await
    }

    /// Reads the form of a page. Its fields are values of a row, whatever the form does. `meant`
    /// returns the value that a typed text means where that is another text. The fields of an array
    /// are joined, and the page sets some values itself.
    pub(crate) async fn receive_form(
        &mut self,
        headers: &HeaderMap,
        meant: impl Fn(&str, &str) -> Option<String>,
        arrays: impl Iterator<Item = &str>,
        set: &[(&str, String)],
    ) -> Result<(), ApiError> {
        if self.received.is_received {
            return Ok(());
        }
        let content_type = headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let understood = match Content::parse(content_type.as_deref(), false) {
            Ok(Content::Form) => Understood::Pairs(Box::default()),
            Ok(Content::Multipart(boundary)) => Understood::Multipart(Box::new(PartsReader::new(boundary))),
            Ok(Content::Json | Content::Ndjson | Content::Csv | Content::Raw(_)) | Err(_) => {
                return Err(ApiError::no_form());
            }
        };
        self.incoming.decode(headers)?;
        (self.received.understood, self.received.holds_texts) = (understood, true);
        (self.received.action, self.received.is_received) = (Some(Action::Insert), true);
        self.read(false, false).await?;
        let Received { understood: Understood::Parts { fields, .. }, kept, .. } = &mut self.received else {
            return Ok(());
        };
        form::unify_line_ends(fields, kept.holds()).await?;
        form::replace_typed(fields, meant);
        for name in arrays {
            form::gather(fields, name, kept.holds()).await?;
        }
        set.iter().for_each(|(name, value)| form::set(fields, name, value));
        Ok(())
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
    /// Whether more of the body is to come.
    pub(crate) fn flows(&self) -> bool {
        self.is_received && !self.is_whole
    }

    /// The chunks that are held.
    pub(crate) fn held(&self) -> &[Bytes] {
        self.kept.chunks().list()
    }

    /// The fields of a form whose fields are values of a row.
    pub(crate) fn fields(&self) -> &[Field] {
        match &self.understood {
            Understood::Parts { fields, .. } => fields,
            Understood::Json(_) | Understood::Form(_) | Understood::Csv(_) | Understood::Pairs(_) => &[],
            Understood::Multipart(_) | Understood::Raw(_) | Understood::Nothing => &[],
        }
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
