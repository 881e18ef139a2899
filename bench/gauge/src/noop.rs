//! A layer that wraps a handler's future and its body and does nothing: what axum itself takes for one.

use axum::body::{Body, Bytes};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

#[derive(Clone)]
pub(crate) struct Layer;

impl<S> tower_layer::Layer<S> for Layer {
    type Service = Wrapped<S>;

    fn layer(&self, inner: S) -> Wrapped<S> {
        Wrapped(inner)
    }
}

#[derive(Clone)]
pub(crate) struct Wrapped<S>(S);

impl<S: Service<Request<Body>, Response = Response<Body>>> Service<Request<Body>> for Wrapped<S> {
    type Response = Response<WrappedBody>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Answering { future: self.0.call(request) }
    }
}

pin_project! {
    pub(crate) struct Answering<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future<Output = Result<Response<Body>, E>>, E> Future for Answering<F> {
    type Output = Result<Response<WrappedBody>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().future.poll(context).map_ok(|response| response.map(|body| WrappedBody { body }))
    }
}

pin_project! {
    pub(crate) struct WrappedBody {
        #[pin]
        body: Body,
    }
}

impl http_body::Body for WrappedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.project().body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
