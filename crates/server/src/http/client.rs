//! One client: its requests answered one after the other.

use super::head_timer::HeadTimer;
use super::reader::Framed;
use super::socket::{Reset, Socket};
use super::{HEAD_BYTES_MAX, RefusedRequest, mend};
use crate::answer::{Body, REFUSED_BYTES_MIN};
use crate::config::InForce;
use crate::error::ApiError;
use crate::flow::{self, Answer};
use crate::log;
use crate::overload::StayAway;
use crate::routes::Mount;
use crate::sent_forms::Outlives;
use crate::site::Route;
use crate::state::{State, body_limits};
use crate::upload::{Incoming, RequestBody};
use hyper::body::Incoming as HttpBody;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::os::fd::AsRawFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// How long a client may take for the head of a request.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client that has asked for nothing yet may take for that once the server stops.
const FIRST_REQUEST_TIME_MAX: Duration = Duration::from_millis(500);

/// One client's connection, request by request.
pub(crate) async fn client<S: AsyncRead + AsyncWrite + AsRawFd + Reset + Unpin>(
    state: Arc<State>,
    stream: S,
    peer: String,
    mut closed: watch::Receiver<bool>,
) {
    let asked = Notify::new();
    let client = Arc::new(Client { peer, stay_away: StayAway::default(), shows_cuts: S::SHOWS_CUTS });
    let socket = Socket::new(stream, state.in_force().config.client_stall_timeout);
    let untaken = socket.untaken();
    let service = service_fn(|request: Request<HttpBody>| {
        let (state, client, untaken) = (&state, &client, &untaken);
        asked.notify_one();
        async move {
            untaken.taken().await;
            state.bills.bill(request, |request| exchange(state, client, request)).await
        }
    });
    let stream = Framed::new(socket);
    let mut connection = http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .timer(HeadTimer::default())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        _ = closed.wait_for(|closed| *closed) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            // whoever has just connected is about to ask, and was promised an answer by being let in
            tokio::select! {
                _ = &mut connection => return,
                _ = tokio::time::timeout(FIRST_REQUEST_TIME_MAX, asked.notified()) => {}
            }
            Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    match ended {
        Ok(()) => {}
        // The connection of a client that sends no further request ends in order. A client that has
        // begun a request gets an answer that gives the reason.
        Err(error) if error.is_timeout() => {
            let framed = connection.into_parts().io.into_inner();
            let begun = framed.begun();
            let mut stream = framed.into_inner();
            if let Some(begun) = begun {
                let answer = too_slow(&state, &client.peer, &begun);
                // The client may have gone, in which case nobody reads the answer.
                let _ = stream.write_all(&answer).await;
            }
            let _ = stream.shutdown().await;
        }
        // fewer bytes came than the head had promised
        Err(error) if error.is_body_write_aborted() => {
            log::error_line(&format!("a response was cut: {error}"));
        }
        // What else goes wrong with a connection is the client's affair, or has been logged where it was found.
        Err(_) => {}
    }
}

/// State that all requests of a connection share.
struct Client {
    peer: String,
    stay_away: StayAway,
    /// True if the client can distinguish a cut connection from one that ended in order.
    shows_cuts: bool,
}

impl Client {
    /// Delays a request that came too early after a refusal, if it would be refused again.
    async fn wait_after_refusal(&self, state: &State, parts: &Parts) {
        let is_file = || state.site.is_some() && parts.uri.path().starts_with("/static/");
        if let Some(until) = self.stay_away.rest()
            && state.pool.is_full()
            && !is_file()
        {
            // Boxed: few requests wait here, and an unboxed timer would enlarge the future of every
            // client.
            Box::pin(tokio::time::sleep_until(until)).await;
        }
    }

    /// Holds a refusal back if the server has sent too many.
    async fn hold_back(&self, state: &State) {
        let delay = state.refusals.delay(tokio::time::Instant::now(), state.pool.is_stalled());
        if !delay.is_zero() {
            Box::pin(tokio::time::sleep(delay)).await;
        }
        self.stay_away.begin();
    }
}

/// Returns whether a request sends a form, which may be one of a page, and has no task of its own yet.
fn is_form(state: &State, request: &Request<HttpBody>) -> bool {
    const TYPES: [&[u8]; 2] = [b"application/x-www-form-urlencoded", b"multipart/form-data"];
    let has_task = request.extensions().get::<Outlives>().is_some();
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let is_of_form = |known: &&[u8]| content_type.get(..known.len()).is_some_and(|of| of.eq_ignore_ascii_case(known));
    request.method() == Method::POST && TYPES.iter().any(is_of_form) && state.answers_pages() && !has_task
}

/// An exchange in a task of its own, which may outlive the connection: the task is aborted with the
/// connection, unless a form is being carried out that a second request may ask for. Boxed: few
/// requests are forms, and the future of every client would have room for it.
fn exchange_form(
    state: Arc<State>,
    client: Arc<Client>,
    mut request: Request<HttpBody>,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>> {
    struct Abort(AbortHandle, Outlives);
    impl Drop for Abort {
        fn drop(&mut self) {
            if !self.1.goes_on() {
                self.0.abort();
            }
        }
    }
    let outlives = state.sent_forms.outlives();
    request.extensions_mut().insert(outlives.clone());
    let exchange = async move { exchange(&state, &client, request).await };
    let task = tokio::spawn(thalweg_gauge::billed(exchange));
    let abort = Abort(task.abort_handle(), outlives);
    Box::pin(async move {
        let _abort = abort;
        match task.await {
            Ok(exchanged) => exchanged,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime shuts down.
                Err(_) => std::future::pending().await,
            },
        }
    })
}

async fn exchange(
    state: &Arc<State>,
    client: &Arc<Client>,
    request: Request<HttpBody>,
) -> Result<Response<Body>, Infallible> {
    if is_form(state, &request) {
        return exchange_form(state.clone(), client.clone(), request).await;
    }
    let (mut parts, body) = request.into_parts();
    mend::unpack(&mut parts.headers);
    client.wait_after_refusal(state, &parts).await;
    let in_force = state.in_force();
    if let Some(refused) = RefusedRequest::from_replacement(&parts.headers, parts.version) {
        let (mut response, _) = refuse(state, &in_force, &client.peer, &refused);
        flow::sign(&in_force, &parts, None, response.headers_mut());
        return Ok(response);
    }
    if let Some(mount) = state.routes.find(parts.uri.path()) {
        // boxed: pages and API would have room for it
        return Ok(Box::pin(by_handler(state, mount, client, (&parts, body))).await);
    }
    let asked = state.site.as_ref().map(|_| parts.uri.clone());
    let site = state.site.as_deref().filter(|site| site.route(&mut parts.uri) == Route::Page);
    let limits = body_limits(&in_force.config);
    let incoming = Incoming::new(body, &parts.headers, limits);
    let mut body = RequestBody::new(incoming, limits, state.held_bytes.clone());
    let (answer, queries) = {
        // by reference: a future that is handed over takes its place twice, for each client
        let answering = pin!(flow::answer(state, &in_force, (&parts, &client.peer), &mut body, site));
        log::noting_queries(in_force.config.log_query, answering).await
    };
    if answer.is_refusal() {
        client.hold_back(state).await;
    }
    let asked = asked.as_ref().unwrap_or(&parts.uri);
    let of = if site.is_some() { Origin::Code } else { Origin::Api };
    let response = tell(state, &in_force, client, (&parts, asked), (answer, queries), of);
    let incoming = body.into_incoming();
    if !incoming.has_ended() {
        tokio::spawn(incoming.discard());
    }
    Ok(response)
}

/// Counts and logs a refused request. Returns its response, and the error that the response
/// reports.
fn refuse(state: &State, in_force: &InForce, peer: &str, refused: &RefusedRequest) -> (Response<Body>, ApiError) {
    let error = refused.error();
    let response = error.response(in_force.config.client_errors_are_verbose);
    state.vitals.answered(response.status(), false);
    log::refused(peer, refused, &response, &error.code);
    (response, error)
}

/// Returns the bytes of the response to a client whose head did not arrive in time. hyper cannot
/// send it, since it has read no request.
fn too_slow(state: &State, peer: &str, begun: &RefusedRequest) -> Vec<u8> {
    let in_force = state.in_force();
    let (response, error) = refuse(state, &in_force, peer, begun);
    let mut answer = format!("HTTP/1.1 {}\r\nconnection: close\r\n", response.status()).into_bytes();
    for (name, value) in response.headers() {
        answer.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    answer.extend_from_slice(b"\r\n");
    answer.extend_from_slice(&error.json(in_force.config.client_errors_are_verbose));
    answer
}

/// An exchange with code that joins in.
async fn by_handler(
    state: &Arc<State>,
    mount: &Mount,
    client: &Client,
    (parts, body): (&Parts, HttpBody),
) -> Response<Body> {
    let in_force = state.in_force();
    let incoming = Incoming::new(body, &parts.headers, body_limits(&in_force.config));
    let answering = mount.answer(state, &in_force, &client.peer, parts, incoming);
    let answered = log::noting_queries(in_force.config.log_query, answering).await;
    if answered.0.is_refusal() {
        client.hold_back(state).await;
    }
    tell(state, &in_force, client, (parts, &parts.uri), answered, Origin::Code)
}

/// Origin of a response.
#[derive(Clone, Copy)]
enum Origin {
    Api,
    /// A page of the site, or a handler.
    Code,
}

/// Logs a request and returns its response, whose memory is counted from here on. A large response
/// is refused while others hold too much memory.
fn tell(
    state: &State,
    in_force: &InForce,
    client: &Client,
    (parts, asked): (&Parts, &Uri),
    (mut answer, queries): (Answer<'_>, Vec<String>),
    of: Origin,
) -> Response<Body> {
    if !client.shows_cuts && answer.response.body().ends_with_connection(parts.version) {
        // with the body goes the connection that its rows come from, and what they may have written
        let error = ApiError::version_without_length();
        answer.response = error.response(in_force.config.client_errors_are_verbose);
        (answer.code, answer.rows) = (Some(error.code), None);
    }
    let is_too_much = || state.outlet.is_full() && answer.response.body().memory_bytes() >= REFUSED_BYTES_MIN;
    let refusal = match (of, parts.method.is_safe()) {
        (_, true) => is_too_much().then(ApiError::too_many_answers),
        (Origin::Code, false) => is_too_much().then(ApiError::answer_not_held),
        // The rows that a write returns are never refused.
        (Origin::Api, false) => None,
    };
    if let Some(error) = refusal {
        answer.response = error.response(in_force.config.client_errors_are_verbose);
        (answer.code, answer.rows) = (Some(error.code), None);
    }
    state.vitals.answered(answer.response.status(), answer.is_refusal());
    answer.bill.charge();
    log::access(&client.peer, (parts, asked), &answer, &queries);
    if let Some(bytes) = answer.response.body().piece_bytes()
        && log::sends_body(&parts.method, answer.response.status())
    {
        thalweg_gauge::answer_is_whole(bytes);
    }
    answer.response.map(|body| body.counted(&state.outlet))
}
