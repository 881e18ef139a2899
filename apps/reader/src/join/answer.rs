//! What `/rpc/gloss` answers: a text's spans with their entries, made a piece at a time as the client takes them.
//!
//! ```text
//!  poll_frame ─ a turn ─ a thread for what blocks: Reading::next ─ a frame ─┐
//!       ▲                                                                   │ the client has taken it
//!       └───────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A text may be read for a minute, so that no thread that answers others reads it.

use super::asked::{self, Failure, Form};
use super::reading::{Manner, PAGE_ENTRIES_PER_SPAN_MAX, Room, Shared};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use thalweg_gloss::{Html, Json, Known, Options, Progress, write_json};
use thalweg_server::ShareError;

/// Number of bytes from which a frame is sent. A frame may reach the size of the entries of a
/// hundred characters, a few megabytes. The server splits it, counts it with the memory of all
/// answers, and requests the next frame when this one has been taken.
const FRAME_BYTES: usize = 64 * 1024;
/// After so many pieces it is another text's turn, if nothing was found in them.
const TURN_PIECES_MAX: usize = 256;

/// Answers a request for a text's words.
pub(super) async fn gloss(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, Failure> {
    if request.method() == Method::OPTIONS {
        return Ok(asked::options());
    }
    let form = Form::of(request.headers());
    let (asked, mut room) = asked::read(request, &shared).await?;
    let known = match asked.known.is_empty() {
        true => None,
        // There may be thousands of words, each of which is looked up.
        false => {
            let known = move |shared: &Shared| Known::of(&shared.dictionary, &asked.known.join("\n"));
            Some(shared.computed(&room.caller, known).await?)
        }
    };
    let own_bytes = asked.text.len() + known.as_ref().map_or(0, Known::memory_bytes);
    room.grow(own_bytes, &shared)?;
    let (kind, entries_per_span_max, writer) = match form {
        Form::Json => (
            "application/json; charset=utf-8",
            Options::default().entries_per_span_max,
            Writer::Json { is_first: true, once: asked.once.then(Json::new) },
        ),
        Form::Html => ("text/html; charset=utf-8", PAGE_ENTRIES_PER_SPAN_MAX, Writer::Html(Html::new())),
    };
    let manner = Manner { names: asked.names, entries_per_span_max, known };
    let reading = Reading { shared, text: asked.text, manner, writer, progress: Progress::default(), own_bytes, room };
    let mut response = Response::new(Body::new(Telling(Stage::Between(Some(Box::new(reading))))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    // what somebody reads is theirs
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// A text that is being read.
struct Reading {
    shared: Arc<Shared>,
    text: String,
    manner: Manner,
    writer: Writer,
    progress: Progress,
    /// Memory of the text and the known words, in bytes.
    own_bytes: usize,
    /// Room for these, and for the record of the entries that have been sent.
    room: Room,
}

enum Writer {
    Json { is_first: bool, once: Option<Json> },
    Html(Html),
}

impl Writer {
    /// Returns the memory of the record of the entries that have been sent, in bytes.
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Json { once, .. } => once.as_ref().map_or(0, Json::memory_bytes),
            Self::Html(html) => html.memory_bytes(),
        }
    }
}

impl Reading {
    /// Returns the next piece of the response, and whether more of the text remains. An error means
    /// that the record of the entries has grown, and that others use all the room for texts.
    fn next(&mut self) -> Result<(Vec<u8>, bool), ShareError> {
        let (mut out, has_more) = self.write_next();
        // The unused rest of a large frame's buffer would otherwise exist for as long as the frame
        // does.
        out.shrink_to_fit();
        self.room.grow(self.own_bytes + self.writer.memory_bytes(), &self.shared)?;
        Ok((out, has_more))
    }

    fn write_next(&mut self) -> (Vec<u8>, bool) {
        let Reading { shared, text, manner, writer, progress, .. } = self;
        let mut out = Vec::new();
        for _ in 0..TURN_PIECES_MAX {
            let is_read = manner.read_next(&shared.dictionary, text, progress, |gloss| match writer {
                Writer::Json { is_first, once } => {
                    for span in gloss.spans() {
                        out.push(if std::mem::take(is_first) { b'[' } else { b',' });
                        match once {
                            Some(json) => json.write(&mut out, span),
                            None => write_json(&mut out, span),
                        }
                    }
                }
                Writer::Html(html) => html.write(&mut out, gloss),
            });
            if !is_read {
                if let Writer::Json { is_first, .. } = writer {
                    out.extend_from_slice(if *is_first { b"[]" } else { b"]" });
                }
                return (out, false);
            }
            if out.len() >= FRAME_BYTES {
                break;
            }
        }
        (out, true)
    }
}

/// The body of an answer.
struct Telling(Stage);

/// A frame, and the reading if more of its text remains.
type NextFrame = Result<(Vec<u8>, Option<Box<Reading>>), BoxError>;
type BoxError = Box<dyn Error + Send + Sync>;

enum Stage {
    /// Nobody reads.
    Between(Option<Box<Reading>>),
    /// A turn is waited for, or a thread reads.
    Reads(Pin<Box<dyn Future<Output = NextFrame> + Send>>),
}

async fn next(mut reading: Box<Reading>) -> NextFrame {
    let permit = reading.shared.permit(&reading.room.caller).await;
    let read = thalweg_gauge::blocking(move || {
        let next = reading.next();
        drop(permit);
        next.map(|(out, has_more)| (out, has_more.then_some(reading)))
    });
    Ok(tokio::task::spawn_blocking(read).await??)
}

impl http_body::Body for Telling {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            match &mut self.0 {
                Stage::Between(reading) => match reading.take() {
                    Some(reading) => self.0 = Stage::Reads(Box::pin(next(reading))),
                    None => return Poll::Ready(None),
                },
                Stage::Reads(told) => {
                    let told = ready!(told.as_mut().poll(cx));
                    self.0 = Stage::Between(None);
                    let (out, reading) = told?;
                    self.0 = Stage::Between(reading);
                    if !out.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(out.into()))));
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Stage::Between(None))
    }
}
