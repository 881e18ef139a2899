//! A tower layer that bills each request of a service, from its head to the last byte of its answer.

use crate::account::{self, Account, Adding, Wait};
use crate::clock;
use crate::ledger;
use crate::route::{self, Bill, Route};
use crate::task::Main;
use crate::watch;
use bytes::Buf;
use http::{Request, Response, header::HeaderName};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::borrow::Cow;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// The longest `traceparent` that is kept, in bytes. Version 00 has 55.
const TRACE_BYTES_MAX: usize = 128;
/// How many headers are looked through one by one.
const FEW_HEADERS: usize = 6;

/// The route of requests that match none.
pub const UNMATCHED: &str = "(unmatched)";

type Name = dyn for<'r> Fn(&'r http::Method, &'r http::Uri, &'r http::Extensions) -> Option<Cow<'r, str>> + Send + Sync;

/// Bills the requests of a service.
#[derive(Clone)]
pub struct BillLayer {
    /// What axum's router matched, if nothing is said.
    name: Option<Arc<Name>>,
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
    BillLayer { name: None, has_server_timing: false }
}

#[cfg(feature = "axum")]
fn matched<B>(request: &Request<B>) -> &'static Route {
    match request.extensions().get::<axum::extract::MatchedPath>() {
        Some(path) => route::of_parts([request.method().as_str(), " ", path.as_str()]),
        None => unmatched(),
    }
}

#[cfg(not(feature = "axum"))]
fn matched<B>(_: &Request<B>) -> &'static Route {
    unmatched()
}

fn unmatched() -> &'static Route {
    static ROUTE: OnceLock<&'static Route> = OnceLock::new();
    ROUTE.get_or_init(|| route::named(UNMATCHED))
}

impl BillLayer {
    /// Names routes: what the framework matched, never the path that a client sent. A handler may say it later by
    /// [`route`](crate::route), which a framework without names needs, such as warp.
    ///
    /// A method of gRPC is its path, if it is known:
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// const METHODS: [&str; 2] = ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"];
    ///
    /// let layer = thalweg_gauge::layer()
    ///     .routes(|_, uri, _| METHODS.iter().find(|known| **known == uri.path()).map(|known| Cow::Borrowed(*known)));
    /// ```
    #[must_use]
    pub fn routes(
        self,
        name: impl for<'r> Fn(&'r http::Method, &'r http::Uri, &'r http::Extensions) -> Option<Cow<'r, str>>
        + Send
        + Sync
        + 'static,
    ) -> BillLayer {
        BillLayer { name: Some(Arc::new(name)), ..self }
    }

    /// Tells clients in `Server-Timing` what their request has cost up to the head of its answer: stages, waits, allocations and copied
    /// bytes. Strangers learn much by that, so it is off.
    #[must_use]
    pub fn server_timing(self, tells: bool) -> BillLayer {
        BillLayer { has_server_timing: tells, ..self }
    }

    /// Bills one request, in servers without tower.
    ///
    /// ```
    /// # use http::{Request, Response};
    /// # use http_body_util::Full;
    /// # async fn answer(request: Request<Full<bytes::Bytes>>) -> Result<Response<Full<bytes::Bytes>>, std::io::Error> {
    /// #     Ok(Response::new(request.into_body()))
    /// # }
    /// # async fn serve(layer: thalweg_gauge::BillLayer, request: Request<Full<bytes::Bytes>>) {
    /// let response = layer.bill(request, answer).await;
    /// # }
    /// ```
    #[inline]
    pub fn bill<B, A, F, R, E>(
        &self,
        mut request: Request<B>,
        answer: A,
    ) -> Answering<impl Future<Output = F::Output> + use<B, A, F, R, E>>
    where
        B: Body + 'static,
        A: FnOnce(Request<B>) -> F,
        F: Future<Output = Result<Response<R>, E>>,
    {
        let serving = self.served(&mut request);
        // what it begins with is a part of its first poll
        Answering { future: async move { answer(request).await }, serving, has_server_timing: self.has_server_timing }
    }

    #[inline]
    fn served<B: Body + 'static>(&self, request: &mut Request<B>) -> Serving {
        match account::current().filter(|outer| outer.within.is_some()) {
            None => self.opened(request, None),
            // what the gauge allocates is no part of the bill that it is asked for
            Some(outer) => account::uncharged(|| self.opened(request, Some(outer))),
        }
    }

    #[inline]
    fn opened<B: Body + 'static>(&self, request: &mut Request<B>, outer: Option<Arc<Account>>) -> Serving {
        let route = match &self.name {
            None => matched(request),
            Some(name) => {
                let name = name(request.method(), request.uri(), request.extensions());
                name.map_or_else(unmatched, |name| route::named(&name))
            }
        };
        let trace = trace(request.headers());
        if let Some(within) = outer.as_ref().and_then(|outer| outer.within.as_ref()) {
            within.begun.fetch_add(1, Relaxed);
        }
        let main = ledger::begun(route, trace, outer);
        match request.body().size_hint().exact() {
            Some(length) => main.account().bytes_in.store(length, Relaxed),
            None => count(request, main.account()),
        }
        Serving(Some(main))
    }
}

/// The request that this one is part of, as its client says.
#[inline]
fn trace(headers: &http::HeaderMap) -> Option<Box<str>> {
    // of a few that is seen sooner than the name's hash
    let is_sent = headers.keys_len() > FEW_HEADERS || headers.keys().any(|name| *name == TRACEPARENT);
    if is_sent { trace_of_many(headers) } else { None }
}

#[inline(never)]
fn trace_of_many(headers: &http::HeaderMap) -> Option<Box<str>> {
    let trace = headers.get(TRACEPARENT)?.to_str().ok()?;
    (trace.len() <= TRACE_BYTES_MAX).then(|| trace.into())
}

/// Counts a body of unknown length as it comes, where its type allows that.
#[cfg(feature = "axum")]
fn count<B: 'static>(request: &mut Request<B>, account: &Arc<Account>) {
    let body = (request.body_mut() as &mut dyn std::any::Any).downcast_mut::<axum::body::Body>();
    if let Some(body) = body {
        let (came, account) = (std::mem::take(body), account.clone());
        *body = axum::body::Body::new(http_body_util::BodyExt::map_frame(came, move |frame: Frame<bytes::Bytes>| {
            let bytes = frame.data_ref().map_or(0, Buf::remaining);
            account.bytes_in.fetch_add(bytes as u64, Relaxed);
            frame
        }));
    }
}

#[cfg(not(feature = "axum"))]
fn count<B>(_: &mut Request<B>, _: &Arc<Account>) {}

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
    B: Body + 'static,
    R: Body,
{
    type Response = Response<BilledBody<R>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let mut serving = self.layer.served(&mut request);
        let future = serving.begin(|| self.inner.call(request));
        Answering { future, serving, has_server_timing: self.layer.has_server_timing }
    }
}

/// A request that is being served, unless it is no more. When it is dropped the bill is made out.
#[derive(Debug, Default)]
struct Serving(Option<Main>);

/// From how long on a request's bill is told as an event, in nanoseconds.
static TOLD_FROM: AtomicU64 = AtomicU64::new(u64::MAX);

/// Tells the whole bill of each request that takes longer, as an event of `tracing` with the target `bill`.
pub fn tell_requests_above(bound: Option<Duration>) {
    TOLD_FROM.store(bound.map_or(u64::MAX, |bound| bound.as_nanos() as u64), Relaxed);
}

impl Serving {
    /// Does what it begins with.
    fn begin<T>(&mut self, then: impl FnOnce() -> T) -> T {
        match &mut self.0 {
            Some(main) => main.begin(then),
            None => then(),
        }
    }

    /// Ends it if that was all. Otherwise it waits for its client from now on until it is asked for more.
    fn unless(mut self, is_all: bool, at: u64) -> Serving {
        match &mut self.0 {
            Some(main) if is_all => main.account().ended.store(at, Relaxed),
            Some(main) => {
                main.pause(at, Wait::Io);
                return self;
            }
            None => {}
        }
        Serving::default()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let Some(main) = self.0.take() else { return };
        let ended = match main.account().ended.load(Relaxed) {
            0 => clock::now(),
            ended => ended,
        };
        let account = main.end(ended);
        account.ended.store(ended, Relaxed);
        if ended.saturating_sub(account.started) >= TOLD_FROM.load(Relaxed) {
            let bill = Bill::of(&account, ended).to_json().to_string();
            let route = account.route().map_or("", |route| &route.name);
            tracing::info!(target: "bill", route = %route, bill = %bill);
        }
        if let Some(outer) = &account.outer {
            return account::uncharged(|| {
                outer.add(&account);
                if let Some(within) = &outer.within {
                    within.ended.fetch_add(1, Relaxed);
                }
                ledger::ended(account.clone());
            });
        }
        ledger::ended(account);
    }
}

pin_project! {
    /// An answer that is awaited.
    #[derive(Debug)]
    pub struct Answering<F> {
        #[pin]
        future: F,
        serving: Serving,
        has_server_timing: bool,
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
{
    type Output = Result<Response<BilledBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(main) = &mut this.serving.0 else { return Poll::Pending };
        let (polled, at) = main.poll(cx, |cx| this.future.poll(cx));
        let answer = ready!(polled);
        let mut response = match answer {
            Ok(response) => response,
            Err(error) => {
                *this.serving = Serving::default();
                return Poll::Ready(Err(error));
            }
        };
        main.account().status.store(response.status().as_u16(), Relaxed);
        if *this.has_server_timing {
            let bill = Bill::of(main.account(), at);
            if let Ok(value) = bill.server_timing().try_into() {
                response.headers_mut().append(SERVER_TIMING, value);
            }
        }
        let whole = main.account().whole.load(Relaxed);
        Adding::to(main.account()).add(|account| &account.bytes_out, whole.saturating_sub(1));
        let is_all = whole > 0 || response.body().is_end_stream();
        let serving = std::mem::take(this.serving).unless(is_all, at);
        Poll::Ready(Ok(response.map(|body| BilledBody { body, serving })))
    }
}

pin_project! {
    /// A body whose making is billed.
    #[derive(Debug)]
    pub struct BilledBody<B> {
        #[pin]
        body: B,
        serving: Serving,
    }
}

impl<B: Body> Body for BilledBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(main) = &mut this.serving.0 else { return this.body.poll_frame(cx) };
        let (polled, at) = main.poll(cx, |cx| this.body.as_mut().poll_frame(cx));
        let frame = ready!(polled);
        if let Some(Ok(frame)) = &frame {
            let bytes = frame.data_ref().map_or(0, Buf::remaining);
            Adding::to(main.account()).add(|account| &account.bytes_out, bytes as u64);
        }
        let is_all = frame.is_none() || this.body.is_end_stream();
        *this.serving = std::mem::take(this.serving).unless(is_all, at);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
