//! What a request asks for, as its method, its path and its headers say.

use crate::config::{Config, OpenApiMode};
use crate::error::ApiError;
use crate::http::{ACCEPT_PROFILE, CONTENT_PROFILE, PREFER};
use hyper::Method;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use thalweg_request::{Action, Headers, Resource, Target};

/// What a request wants.
pub(super) enum Wanted<'a> {
    /// Rows, read or written.
    Rows(Action, Target<'a>),
    /// What can be done with something; `None` is the root.
    Options(Option<Target<'a>>),
    /// What there is.
    Description,
}

impl<'a> Wanted<'a> {
    /// What a path and a method ask for (url-grammar §1).
    pub(super) fn of(config: &'a Config, resource: &'a Resource<'_>, parts: &Parts) -> Result<Self, ApiError> {
        let method = &parts.method;
        let target = match (resource, &config.db_root_spec) {
            (Resource::Root, _) if config.openapi_mode == OpenApiMode::Disabled => {
                return Err(ApiError::new(404, "PGRST126", "Root endpoint metadata is disabled"));
            }
            (Resource::Root, Some(name)) => Some(Target::Function(name)),
            (Resource::Root, None) => None,
            (Resource::Relation(name), _) => Some(Target::Relation(name)),
            (Resource::Function(name), _) => Some(Target::Function(name)),
        };
        if *method == Method::OPTIONS {
            return Ok(Self::Options(target));
        }
        let Some(target) = target else {
            return match *method {
                Method::GET | Method::HEAD => Ok(Self::Description),
                _ => Err(ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {method}"))),
            };
        };
        let action = Action::of(method.as_str(), target).ok_or_else(|| match target {
            Target::Function(_) => ApiError::new(405, "PGRST101", format!("Cannot use the {method} method on RPC")),
            Target::Relation(_) => ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {method}")),
        })?;
        Ok(Self::Rows(action, target))
    }
}

/// The header that names the schema.
fn profile(parts: &Parts) -> Option<&HeaderValue> {
    let name = if matches!(parts.method, Method::GET | Method::HEAD) { ACCEPT_PROFILE } else { CONTENT_PROFILE };
    parts.headers.get(name)
}

/// The schema that a header names, else the default one.
pub(super) fn schema<'a>(config: &'a Config, parts: &Parts) -> Result<&'a str, ApiError> {
    let exposed = &config.db_schemas;
    match profile(parts).and_then(|value| value.to_str().ok()) {
        None => Ok(config.default_schema()),
        Some(profile) => {
            let known = exposed.iter().find(|schema| *schema == profile);
            known.map(String::as_str).ok_or_else(|| ApiError::schema(profile, exposed))
        }
    }
}

/// Whether responses say which schema they are from.
pub(super) fn shows_profile(config: &Config, parts: &Parts) -> bool {
    config.db_schemas.len() > 1 || profile(parts).is_some()
}

/// The headers that a request is understood from.
pub(super) fn headers(parts: &Parts) -> Headers<'_> {
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let prefer = parts.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    Headers { accept: text(header::ACCEPT), range: text(header::RANGE), prefer: prefer.collect() }
}
