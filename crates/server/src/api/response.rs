//! What the API answers to code in the same process.

use super::ApiFailure;
use crate::answer::{Body, Data};
use crate::error::ApiError;
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How large a response may be that is held, in bytes.
const COLLECTED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What the API answers.
#[derive(Debug)]
pub struct ApiResponse {
    response: Response<ApiBody>,
}

/// The body of a response. Rows come as they are taken; a reader that takes its time has them from disk.
pub struct ApiBody {
    body: Body,
    /// What of it is here.
    data: Data,
    is_verbose: bool,
}

impl ApiResponse {
    pub(crate) fn of(response: Response<Body>, is_verbose: bool) -> Self {
        Self { response: response.map(|body| ApiBody::of(body, is_verbose)) }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers: `Content-Range`, `Location`, `Set-Cookie` of who signs in.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// All of the body.
    ///
    /// # Errors
    ///
    /// 64 MiB are too much (`TWG21`): such a body is for [`ApiResponse::into_http`]. Rows can break off.
    pub async fn bytes(self) -> Result<Bytes, ApiFailure> {
        let mut body = self.response.into_body();
        let mut all = BytesMut::new();
        while let Some(chunk) = poll_fn(|cx| body.poll_chunk(cx)).await {
            let chunk = chunk?;
            if all.len() + chunk.len() > COLLECTED_BYTES_MAX {
                return Err(body.failure(ApiError::answer_too_large(COLLECTED_BYTES_MAX)));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }

    /// What the body says, as JSON.
    ///
    /// # Errors
    ///
    /// As [`ApiResponse::bytes`]; a body that is not what is wanted (`TWG22`).
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, ApiFailure> {
        let is_verbose = self.response.body().is_verbose;
        let bytes = self.bytes().await?;
        thalweg_json::from_slice(&bytes)
            .map_err(|error| ApiFailure::of(ApiError::answer_not_understood(&error), is_verbose))
    }

    /// The response as HTTP has it, to be sent on as it is, or taken chunk by chunk.
    pub fn into_http(self) -> Response<ApiBody> {
        self.response
    }
}

impl ApiBody {
    pub(super) fn of(body: Body, is_verbose: bool) -> Self {
        Self { body, data: Data::default(), is_verbose }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiFailure>>> {
        loop {
            let chunk = self.data.take_first();
            if !chunk.is_empty() {
                return Poll::Ready(Some(Ok(chunk)));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(_)) => return Poll::Ready(Some(Err(self.failure(ApiError::answer_torn())))),
                Some(Ok(frame)) => self.data = frame.into_data().unwrap_or_default(),
            }
        }
    }

    fn failure(&self, error: ApiError) -> ApiFailure {
        ApiFailure::of(error, self.is_verbose)
    }
}

impl http_body::Body for ApiBody {
    type Data = Bytes;
    type Error = ApiFailure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ApiFailure>>> {
        self.poll_chunk(cx).map(|next| next.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let here = bytes::Buf::remaining(&self.data) as u64;
        self.body.size_bytes().map_or_else(SizeHint::default, |left| SizeHint::with_exact(here + left))
    }
}

impl fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiBody").finish_non_exhaustive()
    }
}

/// Bytes as a body.
pub(super) struct Whole(Bytes);

impl Whole {
    pub(super) fn of(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}
