//! What `/rpc/gloss` answers: a text's spans with their entries, made a piece at a time as the client takes them.

use super::asked::{self, Failure, Form};
use super::reading::{Manner, PAGE_ENTRIES_PER_SPAN_MAX, Shared};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use thalweg_gloss::{Html, Json, Known, Options, Progress, write_json};
use tokio::sync::OwnedSemaphorePermit;

/// Answers a request for a text's words.
pub(super) async fn gloss(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, Failure> {
    let form = Form::of(request.headers());
    let (asked, room) = asked::read(request, &shared).await?;
    let known = (!asked.known.is_empty()).then(|| Known::of(&shared.dictionary, &asked.known.join("\n")));
    let (kind, entries_per_span_max, writer) = match form {
        Form::Json => (
            "application/json; charset=utf-8",
            Options::default().entries_per_span_max,
            Writer::Json { is_first: true, once: asked.once.then(Box::default) },
        ),
        Form::Html => ("text/html; charset=utf-8", PAGE_ENTRIES_PER_SPAN_MAX, Writer::Html(Box::default())),
    };
    let manner = Manner { names: asked.names, entries_per_span_max, known };
    let telling = Telling {
        shared,
        text: asked.text,
        manner,
        writer,
        progress: Progress::default(),
        stage: Stage::Piece,
        _room: room,
    };
    let mut response = Response::new(Body::new(telling));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    // what somebody reads is theirs
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// The body of an answer.
struct Telling {
    shared: Arc<Shared>,
    text: String,
    manner: Manner,
    writer: Writer,
    progress: Progress,
    stage: Stage,
    _room: OwnedSemaphorePermit,
}

enum Writer {
    Json { is_first: bool, once: Option<Box<Json>> },
    Html(Box<Html>),
}

/// What comes next.
enum Stage {
    /// A piece of the text.
    Piece,
    /// Another one, once others have had their turn on this thread.
    Pause,
    Ended,
}

impl Telling {
    fn next(&mut self) -> Vec<u8> {
        let Telling { shared, text, manner, writer, progress, .. } = self;
        let mut out = Vec::new();
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
        self.stage = if is_read { Stage::Pause } else { Stage::Ended };
        if !is_read && let Writer::Json { is_first, .. } = writer {
            out.extend_from_slice(if *is_first { b"[]" } else { b"]" });
        }
        out
    }
}

impl http_body::Body for Telling {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.stage {
            Stage::Ended => Poll::Ready(None),
            Stage::Pause => {
                self.stage = Stage::Piece;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Stage::Piece => {
                let out = self.next();
                Poll::Ready((!out.is_empty()).then(|| Ok(Frame::data(out.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }
}
