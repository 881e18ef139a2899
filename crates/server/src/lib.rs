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

mod body;
mod config;
mod config_file;
mod content_range;
mod copy;
mod cors;
mod download;
mod error;
mod event_trigger;
mod flow;
mod form;
mod http;
mod incoming;
mod listener;
mod log;
mod openapi;
mod reload;
mod request_body;
mod respond;
mod root;
mod schema_cache;
mod server;
mod state;
mod transaction;

pub use config::{Config, ConfigError, LogLevel, OpenApiMode, RequestSettings};
pub use event_trigger::event_trigger_sql;
pub use log::start as start_logging;
pub use server::{Server, ServerBuilder, ServerError};
