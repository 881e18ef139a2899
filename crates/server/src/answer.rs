//! What a client gets: heads, bodies, downloads, descriptions.

mod body;
pub(crate) mod conditions;
mod content_range;
pub(crate) mod cors;
mod download;
pub(crate) mod etag;
mod openapi;
mod outlet;
pub(crate) mod respond;
mod root;

pub(crate) use body::{Body, Data};
pub(crate) use content_range::ContentRange;
pub(crate) use download::Download;
pub(crate) use openapi::Proxy;
pub(crate) use outlet::{Flowing, Held, Outlet, REFUSED_BYTES_MIN};
pub(crate) use root::describe;
