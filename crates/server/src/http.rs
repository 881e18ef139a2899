//! A client's connection, between the socket and hyper.
//!
//! ```text
//!  socket
//!    │ socket    stalls are found out, what does not end in order is reset
//!    │ reader    bytes that have been judged, and no others, are handed on
//!    │   framing   where a request ends                     pure
//!    │   chunked   where a chunked body ends                pure
//!    │   target    which site a request is for              pure
//!    │   mend      heads that hyper would refuse            pure
//!    │   refused   what hyper reads for a refused request   pure
//!    ▼ client    requests, by hyper
//! ```

mod authority;
mod chunked;
mod client;
mod framing;
mod head_timer;
mod listener;
mod mend;
mod reader;
mod refused;
mod socket;
mod target;

use hyper::header::HeaderName;

pub(crate) use authority::{Authority, Host};
pub(crate) use client::{HEAD_TIMEOUT, client};
pub(crate) use framing::{HEADERS_MAX, Refusal};
pub(crate) use listener::{Accepted, Listener, Place, is_all_addresses};
pub(crate) use reader::Framed;
pub(crate) use refused::RefusedRequest;
pub(crate) use socket::{Reset, Socket};
pub(crate) use target::address;

/// Headers that are looked for in each request and put into many responses; by such a name they are found without it being
/// read each time.
pub(crate) const ACCEPT_PROFILE: HeaderName = HeaderName::from_static("accept-profile");
pub(crate) const CONTENT_PROFILE: HeaderName = HeaderName::from_static("content-profile");
pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
pub(crate) const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Value of the `Server` header.
pub(crate) const SERVER_NAME: &str = concat!("thalweg/", env!("CARGO_PKG_VERSION"));

/// The longest head of a request, in bytes. It is also how much of what a client sends is read at a time.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
