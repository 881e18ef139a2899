//! Everything summed, sent to a collector of OpenTelemetry: OTLP over HTTP with JSON, cumulative.
//!
//! ```no_run
//! # fn main() -> Result<(), thalweg_gauge::otlp::OptionsError> {
//! use thalweg_gauge::otlp::{Options, send};
//!
//! # let _ = async {
//! tokio::spawn(send(Options::of_environment("shop")?));
//! # Ok::<(), thalweg_gauge::otlp::OptionsError>(())
//! # };
//! # Ok(())
//! # }
//! ```
//!
//! | metric | unit | attributes |
//! |---|---|---|
//! | `http.server.request.duration` (histogram, to 3 %) | s | `http.request.method`, `http.route`; `gauge.route` where a route's name is not made of both |
//! | `http.server.active_requests` | | the same, as of all that follow |
//! | `gauge.request.errors`, `gauge.request.rows` | | |
//! | `gauge.request.cpu` | s | |
//! | `gauge.request.longest_poll` (histogram) | s | |
//! | `gauge.request.wait` | s | `gauge.wait`: what for |
//! | `gauge.request.stage` | s | `gauge.stage`: which |
//! | `gauge.request.count` | | `gauge.count`: of what, as the service says |
//! | `gauge.request.allocations` | | |
//! | `gauge.request.allocated`, `.copied`, `.bytes_in`, `.bytes_out` | By | |
//! | `gauge.request.peak` (the largest) | By | |
//! | `gauge.lock.wait`, `gauge.lock.hold` (histograms) | s | `gauge.lock`: its name |
//! | `gauge.process.allocations`, `.allocated`, `.copied` | | of the whole process |
//!
//! A status code is no attribute: requests are not summed by it. A collector that is away, slow or wrong is told all of it the next time, since
//! sums are cumulative: nothing is kept for it, and nothing sent again before that. It speaks plain HTTP only, to a collector beside the service.

mod metrics;
mod options;

pub use options::{Options, OptionsError};

use bytes::Bytes;
use http::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// How large the head of a collector's answer is at most.
const COLLECTOR_HEAD_BYTES_MAX: usize = 32 * 1024;
/// How large its body is at most.
const COLLECTOR_BODY_BYTES_MAX: usize = 64 * 1024;
/// How much is read for it in all.
const COLLECTOR_BYTES_MAX: u64 = 128 * 1024;
/// The longest time that a collector can ask to be left alone.
const LEFT_ALONE_TIME_MAX: Duration = Duration::from_secs(3600);

/// Sends the sums again and again, until it is dropped: a task for `tokio::spawn`. What fails is told once in the log, as an event of `tracing`,
/// and so is that it succeeds again.
pub async fn send(options: Options) {
    let mut failed = false;
    loop {
        let sent = send_once(&options).await;
        match &sent {
            Err(error) if !failed => tracing::warn!(endpoint = %options.endpoint(), %error, "metrics are not taken"),
            Ok(()) if failed => tracing::info!(endpoint = %options.endpoint(), "metrics are taken again"),
            _ => {}
        }
        failed = sent.is_err();
        let asked = sent.err().and_then(|error| error.retry_after()).unwrap_or_default();
        tokio::time::sleep(options.interval.max(asked.min(LEFT_ALONE_TIME_MAX))).await;
    }
}

/// Sends the sums once, as before a program ends.
///
/// # Errors
///
/// If the collector does not take them.
pub async fn send_once(options: &Options) -> Result<(), SendError> {
    for at in 0.. {
        let resource = options.resource.clone();
        // many routes are much to write
        let message = tokio::task::spawn_blocking(move || metrics::message(&resource, at)).await;
        let Some(message) = message.map_err(|panic| SendError::of(Kind::Io(io::Error::other(panic))))? else { break };
        let answered = tokio::time::timeout(options.timeout, exchange(options, message)).await;
        answered.unwrap_or_else(|_| Err(SendError::of(Kind::TooSlow(options.timeout))))?;
    }
    Ok(())
}

async fn exchange(options: &Options, message: String) -> Result<(), SendError> {
    let (host, port) = options.address();
    let stream = TcpStream::connect((host, port)).await?;
    let (reader, writer) = tokio::io::split(stream);
    let stream = tokio::io::join(reader.take(COLLECTOR_BYTES_MAX), writer);
    let mut builder = http1::Builder::new();
    builder.max_buf_size(COLLECTOR_HEAD_BYTES_MAX);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let mut request = Request::post(options.target())
        .header(HOST, options.authority())
        .header(USER_AGENT, concat!("thalweg-gauge/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(CONNECTION, "close");
    for (name, value) in &options.headers {
        request = request.header(name, value);
    }
    let request =
        request.body(Full::new(Bytes::from(message))).expect("its parts have been read as those of a request");
    let mut answered = pin!(async { read(sender.send_request(request).await?).await });
    // polled by whoever waits for the answer, so that nothing is left of it when that is dropped
    tokio::select! {
        biased;
        answered = &mut answered => return answered,
        _ = connection => {}
    }
    answered.await
}

async fn read(answer: Response<Incoming>) -> Result<(), SendError> {
    let (head, body) = answer.into_parts();
    if head.status != StatusCode::OK {
        let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return Err(SendError { kind: Kind::Status(head.status), retry_after: seconds.map(Duration::from_secs) });
    }
    let body = Limited::new(body, COLLECTOR_BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| SendError::of(Kind::Io(io::Error::other(error))))?.to_bytes();
    // an answer in another form is that of a collector that took it
    let answer: thalweg_json::Value = thalweg_json::from_slice(&body).unwrap_or_default();
    let refused = &answer["partialSuccess"]["rejectedDataPoints"];
    match refused.as_str().map_or(refused.as_u64(), |text| text.parse().ok()) {
        None | Some(0) => Ok(()),
        Some(points) => {
            let why = answer["partialSuccess"]["errorMessage"].as_str().unwrap_or_default().to_owned();
            Err(SendError::of(Kind::Refused { points, why }))
        }
    }
}

/// Why a collector did not take the sums.
#[derive(Debug)]
pub struct SendError {
    kind: Kind,
    retry_after: Option<Duration>,
}

#[derive(Debug)]
enum Kind {
    Io(io::Error),
    Http(hyper::Error),
    TooSlow(Duration),
    Status(StatusCode),
    Refused { points: u64, why: String },
}

impl SendError {
    fn of(kind: Kind) -> SendError {
        SendError { kind, retry_after: None }
    }

    /// What it answered, if it was not 200.
    pub fn status(&self) -> Option<StatusCode> {
        match self.kind {
            Kind::Status(status) => Some(status),
            Kind::Io(_) | Kind::Http(_) | Kind::TooSlow(_) | Kind::Refused { .. } => None,
        }
    }

    /// For how long it asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl From<io::Error> for SendError {
    fn from(error: io::Error) -> SendError {
        SendError::of(Kind::Io(error))
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> SendError {
        SendError::of(Kind::Http(error))
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Io(cause) => write!(f, "the collector cannot be asked: {cause}"),
            Kind::Http(cause) => write!(f, "the collector's answer is no HTTP: {cause}"),
            Kind::TooSlow(bound) => write!(f, "the collector took more than {} s", bound.as_secs_f64()),
            Kind::Status(status) => write!(f, "the collector answered {status}"),
            Kind::Refused { points, why } => write!(f, "the collector refused {points} data points: {why}"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Io(cause) => Some(cause),
            Kind::Http(cause) => Some(cause),
            Kind::TooSlow(_) | Kind::Status(_) | Kind::Refused { .. } => None,
        }
    }
}
