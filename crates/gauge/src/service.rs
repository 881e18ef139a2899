//! A tower layer that bills each request of a service, from its head to the last byte of its answer.

use crate::account::Account;
use crate::route::{self, Bill, Route};
use crate::task::Task;
use crate::watch;
use bytes::Buf;
use http::{Request, Response, header::HeaderName};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::borrow::Cow;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// The longest `traceparent` that is kept, in bytes. Version 00 has 55.
const TRACE_BYTES_MAX: usize = 128;

/// The route of requests that match none.
pub const UNMATCHED: &str = "(unmatched)";

type Name = dyn for<'r> Fn(&'r http::Method, &'r http::Uri, &'r http::Extensions) -> Option<Cow<'r, str>> + Send + Sync;

/// Bills the requests of a service.
#[derive(Clone)]
pub struct BillLayer {
    name: Arc<Name>,
    has_server_timing: bool,
}

impl std::fmt::Debug for BillLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BillLayer").field("has_server_timing", &self.has_server_timing).finish_non_exhaustive()
    }
}

/// A layer that bills requests. With feature `axum` a route is what axum's router matched, with the method; otherwise say by
/// [`BillLayer::routes`] what it is.
#[track_caller]
pub fn layer() -> BillLayer {
    watch::start(Location::caller());
    BillLayer { name: Arc::new(matched), has_server_timing: false }
}

#[cfg(feature = "axum")]
fn matched<'r>(method: &'r http::Method, _: &'r http::Uri, extensions: &'r http::Extensions) -> Option<Cow<'r, str>> {
    let path = extensions.get::<axum::extract::MatchedPath>()?;
    Some(Cow::Owned(format!("{method} {}", path.as_str())))
}

#[cfg(not(feature = "axum"))]
fn matched<'r>(_: &'r http::Method, _: &'r http::Uri, _: &'r http::Extensions) -> Option<Cow<'r, str>> {
    None
}

impl BillLayer {
    /// Names routes: what the framework matched, never the path that a client sent. A handler may say it later by
    /// [`route`](crate::route).
    #[must_use]
    pub fn routes(
        self,
        name: impl for<'r> Fn(&'r http::Method, &'r http::Uri, &'r http::Extensions) -> Option<Cow<'r, str>>
        + Send
        + Sync
        + 'static,
    ) -> BillLayer {
        BillLayer { name: Arc::new(name), ..self }
    }

    /// Tells clients in `Server-Timing` what their request has cost up to the head of its answer: stages, waits, allocations and copied
    /// bytes. Strangers learn much by that, so it is off.
    #[must_use]
    pub fn server_timing(self, tells: bool) -> BillLayer {
        BillLayer { has_server_timing: tells, ..self }
    }
}

impl<S> Layer<S> for BillLayer {
    type Service = Billing<S>;

    fn layer(&self, inner: S) -> Billing<S> {
        Billing { inner, layer: self.clone() }
    }
}

/// A service whose requests are billed.
#[derive(Debug, Clone)]
pub struct Billing<S> {
    inner: S,
    layer: BillLayer,
}

impl<S, B, R> Service<Request<B>> for Billing<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Body,
{
    type Response = Response<BilledBody<R>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let name = (self.layer.name)(request.method(), request.uri(), request.extensions());
        let route = route::named(name.as_deref().unwrap_or(UNMATCHED));
        let mut account = Account::new(Some(route.clone()));
        let trace = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
        account.trace = trace.filter(|trace| trace.len() <= TRACE_BYTES_MAX).map(Into::into);
        account.bytes_in.store(request.body().size_hint().exact().unwrap_or(0), Relaxed);
        let serving = Serving::new(account, route);
        let future = serving.task.within(|| self.inner.call(request));
        Answering { future, serving: Some(serving), has_server_timing: self.layer.has_server_timing }
    }
}

/// A request that is being served. When it is dropped the bill is made out.
#[derive(Debug)]
struct Serving {
    task: Task,
    /// Where it counts as under way.
    route: Arc<Route>,
    status: u16,
}

impl Serving {
    fn new(account: Account, route: Arc<Route>) -> Serving {
        route.in_flight.fetch_add(1, Relaxed);
        Serving { task: Task::new(Arc::new(account)), route, status: 0 }
    }
}

/// From how long on a request's bill is told as an event, in nanoseconds.
static TOLD_FROM: AtomicU64 = AtomicU64::new(u64::MAX);

/// Tells the whole bill of each request that takes longer, as an event of `tracing` with the target `bill`.
pub fn tell_requests_above(bound: Option<Duration>) {
    TOLD_FROM.store(bound.map_or(u64::MAX, |bound| bound.as_nanos() as u64), Relaxed);
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.end();
        let account = &self.task.account;
        let bill = Bill::of(account, self.status);
        let route = account.route().unwrap_or_else(|| self.route.clone());
        if bill.wall >= TOLD_FROM.load(Relaxed) {
            let text = bill.to_json().to_string();
            tracing::info!(target: "bill", route = %route.name, bill = %text);
        }
        self.route.in_flight.fetch_sub(1, Relaxed);
        route.add(bill);
    }
}

pin_project! {
    /// An answer that is awaited.
    #[derive(Debug)]
    pub struct Answering<F> {
        #[pin]
        future: F,
        serving: Option<Serving>,
        has_server_timing: bool,
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<BilledBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(serving) = this.serving else { return Poll::Pending };
        let answer = ready!(serving.task.poll(cx, |cx| this.future.poll(cx)));
        let Some(mut serving) = this.serving.take() else { return Poll::Pending };
        let mut response = answer?;
        serving.status = response.status().as_u16();
        if *this.has_server_timing {
            let bill = Bill::of(&serving.task.account, serving.status);
            if let Ok(value) = bill.server_timing().try_into() {
                response.headers_mut().append(SERVER_TIMING, value);
            }
        }
        Poll::Ready(Ok(response.map(|body| BilledBody { body, serving: Some(serving) })))
    }
}

pin_project! {
    /// A body whose making is billed.
    #[derive(Debug)]
    pub struct BilledBody<B> {
        #[pin]
        body: B,
        serving: Option<Serving>,
    }
}

impl<B: Body> Body for BilledBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let Some(serving) = this.serving else { return this.body.poll_frame(cx) };
        let frame = ready!(serving.task.poll(cx, |cx| this.body.poll_frame(cx)));
        match &frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                serving.task.account.bytes_out.fetch_add(bytes as u64, Relaxed);
            }
            Some(Err(_)) => {}
            None => drop(this.serving.take()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
