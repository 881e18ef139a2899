//! The server as a library: flow, configuration, responses, errors.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!  ► ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! [`Server::builder`] takes a [`Config`], [`Server::serve`] answers until it is told to stop. What one request
//! goes through stands in `flow.rs`, one line a stage.
//!
//! Rust code joins in beside pages and API: handlers ([`ServerBuilder::routes`]), functions and filters of templates
//! ([`ServerBuilder::function`]), and the API without HTTP in between ([`Api`]).

mod admin;
mod answer;
mod api;
mod auth;
mod callers;
mod computations;
mod config;
mod error;
mod explain;
mod flow;
mod frames;
mod http;
mod inspect;
mod log;
mod opened_file;
mod overload;
mod pace;
mod prepared;
mod routes;
mod schema;
mod sent_forms;
mod server;
mod site;
mod spool;
mod state;
mod transaction;
mod turns;
mod upload;

pub use api::{Api, ApiBody, ApiCall, ApiFailure, ApiResponse, percent_encoded};
pub use callers::{Attempts, Caller, Network, Permit, ShareError, Shares, TrustedProxy, TrustedProxyError};
pub use computations::{ComputationPermit, Computations, NotComputed};
pub use config::{
    Config, ConfigError, JwksUri, JwksUriError, LogFormat, LogLevel, OpenApiMode, PagesBrowse, RequestSettings, Secret,
    Sources,
};
pub use explain::{Visitor, explain};
pub use inspect::{effective_config, ready, schema_cache_json};
pub use log::{FlushedAtEnd, print, print_error, start as start_logging};
pub use routes::{ClientBody, CrossOrigin, Peer};
pub use schema::event_trigger_sql;
pub use site::is_of_site;
// what the signatures need is given out again
pub use server::{Server, ServerBuilder, ServerError};
pub use {bytes, http_body, hyper, minijinja, tower_service};
