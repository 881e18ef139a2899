//! One look at what an issuer publishes: a request, and an answer that is bounded in all its parts.

use crate::config::JwksUri;
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_auth::{KeyError, Keys};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long it takes at most, from the name to the last byte.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10);
/// How long one address of several is tried.
const ADDRESS_TIME_MAX: Duration = Duration::from_secs(3);
/// How large a document is at most: those of large issuers have 10 KiB.
const JWKS_BYTES_MAX: usize = 256 * 1024;
/// How large the head of an answer is at most.
const ANSWER_HEAD_BYTES_MAX: usize = 32 * 1024;
/// How much is read for it in all: chunks have their sizes with them, and before an answer others may come that say nothing.
const ANSWER_BYTES_MAX: usize = 512 * 1024;

/// Why there are no keys.
#[derive(Debug)]
pub(super) enum FetchError {
    Connect(io::Error),
    /// The certificate is wrong, or there is none.
    Encrypt(io::Error),
    /// This machine trusts nobody.
    NoRoots,
    Http(hyper::Error),
    Status(StatusCode),
    TooLarge,
    TooSlow,
    Keys(KeyError),
}

/// Fetches keys.
pub(super) async fn fetch(uri: &JwksUri) -> Result<Keys, FetchError> {
    let document = tokio::time::timeout(FETCH_TIME_MAX, document(uri)).await;
    let document = document.unwrap_or(Err(FetchError::TooSlow))?;
    Keys::parse_public(&document, "jwt-jwks-uri").map_err(FetchError::Keys)
}

async fn document(uri: &JwksUri) -> Result<Vec<u8>, FetchError> {
    let stream = connect(uri).await.map_err(FetchError::Connect)?;
    match uri.is_encrypted() {
        true => exchange(encrypt(stream, uri).await?, uri).await,
        false => exchange(stream, uri).await,
    }
}

/// Connects to the first address that answers.
async fn connect(uri: &JwksUri) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in lookup_host((uri.host(), uri.port())).await? {
        let connected = tokio::time::timeout(ADDRESS_TIME_MAX, TcpStream::connect(address)).await;
        match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn encrypt(stream: TcpStream, uri: &JwksUri) -> Result<TlsStream<TcpStream>, FetchError> {
    // read each time, so that an authority that was added or taken away counts; that takes files
    let config = tokio::task::spawn_blocking(client_config).await;
    let config = config.map_err(|panic| FetchError::Encrypt(io::Error::other(panic)))??;
    let name =
        ServerName::try_from(uri.host().to_owned()).map_err(|cause| FetchError::Encrypt(io::Error::other(cause)))?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(FetchError::Encrypt)
}

/// Trusts whom this machine trusts.
fn client_config() -> Result<ClientConfig, FetchError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(FetchError::NoRoots);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|cause| FetchError::Encrypt(io::Error::other(cause)))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(stream: S, uri: &JwksUri) -> Result<Vec<u8>, FetchError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(ANSWER_HEAD_BYTES_MAX);
    let (reader, writer) = tokio::io::split(stream);
    let stream = tokio::io::join(reader.take(ANSWER_BYTES_MAX as u64), writer);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(FetchError::Http)?;
    let request = Request::get(uri.target())
        .header(HOST, uri.authority())
        .header(USER_AGENT, concat!("thalweg/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "application/json, application/jwk-set+json")
        .header(CONNECTION, "close")
        .body(Nothing)
        .expect("a URI's parts are those of a request");
    let mut answered = pin!(async { read(sender.send_request(request).await.map_err(FetchError::Http)?).await });
    // polled by whoever waits for the answer, so that nothing is left of it when that is dropped
    tokio::select! {
        biased;
        answered = &mut answered => return answered,
        _ = connection => {}
    }
    // all that was sent has been read, and says what went wrong if it is not enough
    answered.await
}

/// The whole of an answer. A redirect is not followed: who says where keys are is the configuration.
async fn read(answer: Response<Incoming>) -> Result<Vec<u8>, FetchError> {
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status(answer.status()));
    }
    let (mut body, mut document) = (answer.into_body(), Vec::new());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(bytes) = frame.map_err(FetchError::Http)?.into_data() else { continue };
        if document.len() + bytes.len() > JWKS_BYTES_MAX {
            return Err(FetchError::TooLarge);
        }
        document.extend_from_slice(&bytes);
    }
    Ok(document)
}

/// The body of a request that has none.
struct Nothing;

impl Body for Nothing {
    type Data = bytes::Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(cause) => write!(f, "it cannot be connected to: {cause}"),
            Self::Encrypt(cause) => write!(f, "its TLS is not trusted: {cause}"),
            Self::NoRoots => {
                f.write_str("this machine has no certificates of authorities (SSL_CERT_FILE names a file)")
            }
            Self::Http(cause) => match std::error::Error::source(cause) {
                Some(source) => write!(f, "its answer is no HTTP: {cause}: {source}"),
                None => write!(f, "its answer is no HTTP: {cause}"),
            },
            Self::Status(status) if status.is_redirection() => {
                write!(f, "it answered {status}, and redirects are not followed: name the place itself")
            }
            Self::Status(status) => write!(f, "it answered {status}"),
            Self::TooLarge => write!(f, "its answer has more than {JWKS_BYTES_MAX} bytes"),
            Self::TooSlow => write!(f, "it took more than {} s", FETCH_TIME_MAX.as_secs()),
            Self::Keys(cause) => cause.fmt(f),
        }
    }
}
