//! What a client sends: bodies, read as they arrive.
//!
//! ```text
//!  chunks of HTTP
//!    │ incoming       in time, decompressed, within bounds
//!    │ request_body   held, and understood as far as a plan needs
//!    │   form         fields and files
//!    ▼ copy           or made into rows of a COPY as they come
//! ```

pub(crate) mod copy;
mod form;
mod incoming;
mod request_body;

pub(crate) use incoming::{BodyLimits, Incoming};
pub(crate) use request_body::{CopyRows, Received, RequestBody};
