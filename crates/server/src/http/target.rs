//! The target of a request and its `Host` (RFC 9112 sections 3.2 and 3.3), which must name the site
//! in exactly one way.

use crate::http::authority::Authority;
use crate::http::framing::Refusal;
use httparse::Request;
use hyper::Uri;

/// A target in absolute form, as the clients of proxies send it: `http://club.example/flights`.
pub(crate) struct Absolute<'a> {
    pub(crate) authority: &'a str,
    /// The path with its query. It may be empty, or begin with `?`.
    pub(crate) path: &'a str,
}

impl<'a> Absolute<'a> {
    /// Splits a target in absolute form into its parts. Returns `None` for every other form.
    pub(crate) fn parse(target: &'a str) -> Option<Self> {
        let (scheme, rest) = target.split_once("://")?;
        let is_known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        is_known.then_some(Self { authority, path })
    }
}

/// Returns the path and the query of a request's target.
pub(crate) fn address(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |address| address.as_str())
}

/// Returns whether a target is in absolute form, so that it must be rewritten as a path.
pub(crate) fn is_absolute(target: &str) -> bool {
    !target.starts_with(['/', '*'])
}

/// Refuses a request that does not name its site in exactly one way: by one `Host` over HTTP/1.1,
/// or by at most one over HTTP/1.0.
pub(crate) fn check(request: &Request<'_, '_>) -> Result<(), Refusal> {
    let mut hosts = request.headers.iter().filter(|header| is_host(header.name));
    let (host, more) = (hosts.next(), hosts.next());
    if more.is_some() || host.is_none() && request.version == Some(1) {
        return Err(Refusal::Host);
    }
    if let Some(host) = host {
        let text = std::str::from_utf8(host.value).map_err(|_| Refusal::Host)?;
        Authority::parse(text).ok_or(Refusal::Host)?;
    }
    let target = request.path.unwrap_or_default();
    match target {
        target if target.starts_with('/') => Ok(()),
        "*" if request.method == Some("OPTIONS") => Ok(()),
        target => {
            let absolute = Absolute::parse(target).ok_or(Refusal::Target)?;
            Authority::parse(absolute.authority).map(|_| ()).ok_or(Refusal::Target)
        }
    }
}

/// Returns whether a header's name is `Host`.
pub(crate) fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}
