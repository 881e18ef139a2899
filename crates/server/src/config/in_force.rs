//! The configuration that requests are answered by, and what is made of it once for all of them.

use super::{Config, ConfigError};
use hyper::header::HeaderName;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A configuration in force. A request keeps the one that it began with.
pub(crate) struct InForce {
    pub(crate) config: Config,
    /// Which one of this process it is.
    pub(crate) number: u64,
    /// A call of the function that runs before every request.
    pub(crate) pre_request: Option<Arc<str>>,
    /// The header that is sent back as it came.
    pub(crate) trace_header: Option<HeaderName>,
}

impl InForce {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let pre_request = config.db_pre_request.as_ref();
        let pre_request = pre_request.map(|(schema, name)| thalweg_sql::pre_request(schema.as_deref(), name).into());
        let trace_header = config.server_trace_header.as_deref().map(str::parse).transpose();
        let trace_header =
            trace_header.map_err(|_| ConfigError::new("server-trace-header: the name of a header is needed"))?;
        Ok(Self { number: NUMBERS.fetch_add(1, Ordering::Relaxed), pre_request, trace_header, config })
    }
}
