//! Files on their way in and out: multipart bodies, byte ranges, validators, names.
//!
//! ```text
//!  HTTP bytes
//!  ► │ files     body → parts; headers → a range          pure
//!    │ decode    body → COPY rows, parameters             pure
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure. A part of a body is a slice of the chunks that the body came in: nothing of a file is copied.

mod disposition;
mod media_type;
mod multipart;
mod range;

pub use disposition::disposition;
pub use media_type::{MEDIA_TYPE_BYTES_MAX, MediaType};
pub use multipart::{HEADERS_BYTES_MAX, MultipartError, PARTS_MAX, Part, PartsReader};
pub use range::{Conditions, Selection, Verdict, is_named};
