//! One value of one row as a file: described first, then sent in slices, all of one transaction.

use crate::answer::conditions::conditions;
use crate::answer::respond::{self, NOSNIFF};
use crate::answer::{Body, Flowing};
use crate::config::Config;
use crate::error::ApiError;
use crate::prepared::Nature;
use crate::state::State;
use crate::transaction::{Entered, Replies, Reply, SET_BY_SQL, Session, enter, failed, texts};
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::ops::Range;
use thalweg_encode::{EncodeError, Encoder, Program, Target, Zone};
use thalweg_files::{MediaType, Selection, Verdict, disposition};
use thalweg_gauge::{Lap, Laps};
use thalweg_plan::{OneValue, Plan};
use thalweg_rows::Format;
use thalweg_rows::oid::BYTEA;
use thalweg_sql::{Purpose, Statement};
use thalweg_wire::{Progress, Query, StepError};

/// A request for one value.
pub(crate) struct Download<'a> {
    pub(crate) state: &'a State,
    pub(crate) config: &'a Config,
    pub(crate) parts: &'a Parts,
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) value: &'a OneValue<'a>,
    pub(crate) session: &'a Session<'a>,
}

/// What is known of a value.
struct Described {
    size_bytes: u64,
    tag: String,
    content_type: Option<String>,
    name: Option<String>,
    set_by_sql: (Option<String>, Option<String>),
}

/// What the database does not allow to be read of every row: its place.
const NOT_ALLOWED: &str = "42501";

impl Download<'_> {
    /// Answers it.
    pub(crate) async fn answer(self, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        let (mut entered, described) = match self.describe(self.value.has_versions, bill).await {
            Err(error) if error.code == NOT_ALLOWED && self.value.has_versions => self.describe(false, bill).await?,
            described => described?,
        };
        let Some(described) = described else {
            self.finish(&mut entered).await?;
            return Ok(self.empty(StatusCode::NO_CONTENT));
        };
        let accepted = &self.value.accepted;
        let media_type = media_type_of(described.content_type.as_deref());
        if !accepted.is_empty() && !accepted.iter().any(|accepted| media_type.is_of(accepted)) {
            self.finish(&mut entered).await?;
            return Err(ApiError::media_type_names(accepted));
        }
        let size_bytes = described.size_bytes;
        let (status, wanted) = self.wanted(&described);
        let is_sent = matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
        let body = if is_sent && self.parts.method != Method::HEAD && !wanted.is_empty() {
            self.send(entered, wanted.clone(), bill).await?
        } else {
            self.finish(&mut entered).await?;
            Body::whole(Bytes::new())
        };
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(self.beyond(size_bytes));
        }
        let mut response = self.empty(status);
        *response.body_mut() = body;
        let headers = response.headers_mut();
        respond::text(headers, header::ETAG, described.tag);
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if is_sent {
            respond::text(headers, header::CONTENT_TYPE, media_type.text().to_owned());
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(wanted.end - wanted.start));
            let disposition = disposition(media_type, described.name.as_deref());
            respond::text(headers, header::CONTENT_DISPOSITION, disposition);
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
            // With `sandbox`, the file runs no script and has no origin, however a browser renders
            // it. PDF is excepted: Chromium does not show a PDF in a sandbox, and runs its viewer
            // in an origin of the browser's own.
            if !media_type.is_pdf() {
                headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
            }
        }
        if status == StatusCode::PARTIAL_CONTENT {
            let text = format!("bytes {}-{}/{size_bytes}", wanted.start, wanted.end - 1);
            respond::text(headers, header::CONTENT_RANGE, text);
        }
        respond::set_by_sql(&mut response, described.set_by_sql)?;
        Ok(response)
    }

    /// Takes a connection, and asks in a transaction that is left open what is known of the value; `None` is NULL.
    async fn describe(&self, by_place: bool, bill: &mut Laps) -> Result<(Entered, Option<Described>), ApiError> {
        let mut entered = enter(self.state, self.session).await?;
        bill.lap(Lap::Wait);
        let statement = thalweg_sql::describe(self.plan, self.value, by_place);
        let params = texts(&statement.params);
        let mut queries = vec![Query { params: &params, ..Query::bare(&statement.text) }];
        let mut answers = vec![Reply::Nothing; entered.statements_before()];
        answers.push(Reply::Of(Purpose::Key));
        if self.plan.response_is_set {
            queries.push(Query::unnamed(SET_BY_SQL));
            answers.push(Reply::SetBySql);
        }
        let mut replies = replies(answers, &statement);
        entered.begin(&queries, &mut replies).await.map_err(|error| self.failed(error))?;
        bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
        let rows = replies.rows();
        if rows != 1 {
            self.finish(&mut entered).await?;
            return Err(ApiError::not_singular(rows));
        }
        let mut known = replies.key.take().unwrap_or_default().into_iter();
        let mut next = || known.next().flatten();
        let (size, tag, content_type, name) = (next(), next(), next(), next());
        let Some(size_bytes) = size.and_then(|size| size.parse().ok()) else { return Ok((entered, None)) };
        // a place is two numbers between brackets
        let tag = tag.unwrap_or_default().replace(['(', ')'], "").replace(',', "-");
        let tag = format!("\"{size_bytes}-{tag}\"");
        let set_by_sql = std::mem::take(&mut replies.set_by_sql);
        Ok((entered, Some(Described { size_bytes, tag, content_type, name, set_by_sql })))
    }

    fn failed(&self, error: StepError<EncodeError>) -> ApiError {
        failed(&error, Nature::of(self.plan), true, self.session.is_anonymous())
    }

    /// The status, and which bytes are sent.
    fn wanted(&self, described: &Described) -> (StatusCode, Range<u64>) {
        match conditions(&self.parts.headers).verdict(&described.tag, described.size_bytes) {
            Verdict::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, 0..0),
            Verdict::NotModified => (StatusCode::NOT_MODIFIED, 0..0),
            Verdict::Send(Selection::Whole) => (StatusCode::OK, 0..described.size_bytes),
            Verdict::Send(Selection::Part(part)) => (StatusCode::PARTIAL_CONTENT, part),
            Verdict::Send(Selection::Beyond) => (StatusCode::RANGE_NOT_SATISFIABLE, 0..0),
        }
    }

    /// Sends the bytes and ends the transaction.
    async fn send(&self, mut entered: Entered, wanted: Range<u64>, bill: &mut Laps) -> Result<Body, ApiError> {
        let State { outlet, turns, .. } = self.state;
        let statement = thalweg_sql::bytes(self.plan, self.value, wanted.clone());
        let params = texts(&statement.params);
        let types = [BYTEA];
        let query = Query {
            params: &params,
            formats: &[Format::Binary],
            columns: Some(&types),
            ..Query::bare(&statement.text)
        };
        let mut replies = replies(vec![Reply::Of(Purpose::Rows(0))], &statement);
        replies.encoder.set_stock(outlet.stock().clone());
        let progress = entered.end(&[query], &mut replies).await.map_err(|error| self.failed(error))?;
        bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
        if progress == Progress::Done {
            return Ok(Body::whole(replies.encoder.finish().into()));
        }
        let mut held = outlet.hold();
        held.push(replies.encoder.take());
        let flowing = Flowing { entered, replies, billed_rows: None, turn: turns.take() };
        Ok(Body::flowing_bytes(held, flowing, wanted.end - wanted.start))
    }

    /// Ends a transaction of which nothing more is wanted.
    async fn finish(&self, entered: &mut Entered) -> Result<(), ApiError> {
        let mut replies =
            replies(Vec::new(), &Statement { text: String::new(), params: Vec::new(), shape: Default::default() });
        entered.end(&[], &mut replies).await.map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn empty(&self, status: StatusCode) -> Response<Body> {
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = status;
        response.headers_mut().insert(header::VARY, HeaderValue::from_static(respond::VARY));
        response
    }

    fn beyond(&self, size_bytes: u64) -> Response<Body> {
        let error = ApiError::new(416, "PGRST103", "Requested range not satisfiable");
        let mut response = error.response(self.config.client_errors_are_verbose);
        respond::text(response.headers_mut(), header::CONTENT_RANGE, format!("bytes */{size_bytes}"));
        response
    }
}

/// The sink of statements of which one at most returns bytes.
fn replies(answers: Vec<Reply>, statement: &Statement<'_>) -> Replies {
    let encoder = Encoder::new(Program::new(&statement.shape, Target::Bytes), Zone::UTC);
    Replies::new(answers, encoder, None, false)
}

/// Returns the stored media type, or `application/octet-stream` if the text is not one media type.
fn media_type_of(stored: Option<&str>) -> MediaType<'_> {
    stored.and_then(MediaType::parse).unwrap_or(MediaType::OCTETS)
}
