//! For tests only: databases, an HTTP client, a browser, a proxy between the two ends of a wire.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Tests need no service to be running: the first database that a test process asks for starts a PostgreSQL,
//! which ends with the process. Blocking, so that a test reads from top to bottom.

mod admin;
mod browser;
mod database;
mod http;
mod proxy;
mod wait;

pub use admin::Admin;
pub use browser::Browser;
pub use database::{Database, cluster_uri, data_dir, query_at};
pub use http::{Client, Response};
pub use proxy::Proxy;
pub use wait::{eventually, within};
