//! What a client sends: bodies, read as they arrive.
//!
//! ```text
//!  chunks of HTTP
//!    │ incoming       in time (pace), decompressed, within bounds
//!    │ request_body   held (held), and understood as far as a plan needs
//!    │   form         fields and files
//!    │   make         what is made of a body that is held
//!    ▼ copy           or made into rows of a COPY as they come
//! ```

pub(crate) mod copy;
mod form;
mod held;
mod incoming;
mod make;
mod pace;
mod request_body;

pub(crate) use form::Field;
pub(crate) use held::HeldBytes;
pub(crate) use incoming::{BodyLimits, Incoming};
pub(crate) use make::Stint;
pub(crate) use request_body::{CopyRows, Received, RequestBody};
