//! Handlers of code that joins in, beside pages and API.
//!
//! ```text
//!  a request ── below a prefix of theirs ──▶ handler ──▶ its response, as it comes
//!      │            (body: sent.rs)            │
//!      │                                       ▼ Api (api.rs): no HTTP between
//!      └── else: pages and API ────────────▶ flow.rs
//! ```

mod sent;

pub use sent::ClientBody;

use crate::answer::{Body, cors};
use crate::api::Api;
use crate::auth::{self, Who, cookie::Cookie};
use crate::config::{Config, InForce};
use crate::error::ApiError;
use crate::flow::{self, Answer};
use crate::frames::{BoxError, Frames};
use crate::log;
use crate::site;
use crate::state::State;
use crate::upload::Incoming;
use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, Uri};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use thalweg_gauge::Laps;
use tower_service::Service;

/// Address of the connection that a request came through, in the extensions of a handler's request;
/// `-` on a Unix socket. Behind a proxy it is the proxy's address; the client is the
/// [`Network`](crate::Network) or the [`Caller`](crate::Caller) there.
#[derive(Debug, Clone)]
pub struct Peer(pub Box<str>);

/// In the extensions of a handler's response: scripts of other sites may read it, as what the API answers, if `server-cors-allowed-origins`
/// lets them. Their preflights come to the handler as any OPTIONS does, and are answered as the API's are where its response has this.
#[derive(Debug, Clone, Copy)]
pub struct CrossOrigin;

/// The handlers of a server.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    mounts: Vec<Mount>,
}

/// A handler, and what its paths begin with.
pub(crate) struct Mount {
    prefix: String,
    handler: Box<dyn Fn(Request<ClientBody>) -> Answering + Send + Sync>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Frames>, BoxError>> + Send>>;

impl Routes {
    pub(crate) fn add<S, B>(&mut self, prefix: &str, service: S)
    where
        S: Service<Request<ClientBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let handler = move |request| -> Answering {
            let mut service = service.clone();
            Box::pin(async move {
                poll_fn(|cx| service.poll_ready(cx)).await.map_err(Into::into)?;
                let response = service.call(request).await.map_err(Into::into)?;
                Ok(response.map(Frames::of))
            })
        };
        self.mounts.push(Mount { prefix: prefix.to_owned(), handler: Box::new(handler) });
    }

    /// Says which prefix cannot be one beside pages and API, and why.
    pub(crate) fn check(&self, config: &Config) -> Result<(), String> {
        let of_site =
            config.pages_dir.as_ref().map(|_| [config.pages_api_prefix.clone(), format!("/{}", site::STATIC)]);
        let is_function = |prefix: &str| {
            let name = below(prefix, &config.pages_api_prefix).and_then(|rest| rest.strip_prefix("/rpc/"));
            config.pages_dir.is_some() && name.is_some_and(|name| !name.contains('/'))
        };
        for (number, Mount { prefix, .. }) in self.mounts.iter().enumerate() {
            let wrong = |why: &str| Err(format!("routes cannot be below {prefix:?}: {why}"));
            let parts = prefix.strip_prefix('/').map(|rest| rest.split('/'));
            if !parts.is_some_and(|mut parts| parts.all(is_part)) {
                return wrong("a path is needed, as /hooks, of letters, digits, and - . _ ~");
            }
            if self.mounts[..number].iter().any(|other| other.prefix == *prefix) {
                return wrong("others are");
            }
            let is_within = |one: &str, other: &str| below(one, other).is_some();
            let is_taken = |taken: &String| is_within(prefix, taken) || is_within(taken, prefix);
            if !is_function(prefix) && of_site.iter().flatten().any(is_taken) {
                return wrong("the API of a site is, or its files");
            }
        }
        Ok(())
    }

    /// Whose a path is: that of the longest prefix.
    pub(crate) fn find(&self, path: &str) -> Option<&Mount> {
        let found = self.mounts.iter().filter(|mount| below(path, &mount.prefix).is_some());
        found.max_by_key(|mount| mount.prefix.len())
    }
}

/// What a path has below another; `None` if it is not below.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_part(part: &str) -> bool {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    is_plain && !matches!(part, "" | "." | "..")
}

impl Mount {
    /// Lets the handler answer. What goes wrong with it is its own affair, and no other's.
    pub(crate) async fn answer<'a>(
        &self,
        state: &Arc<State>,
        in_force: &'a InForce,
        peer: &str,
        parts: &Parts,
        body: Incoming,
    ) -> Answer<'a> {
        let is_verbose = in_force.config.client_errors_are_verbose;
        let api = Api::of_request(state, parts);
        let mut asked = parts.clone();
        asked.uri = self.within(&parts.uri);
        asked.extensions.insert(api.clone());
        asked.extensions.insert(Peer(peer.into()));
        let network = state.callers.network(&in_force.config, peer, &parts.headers);
        asked.extensions.insert(network);
        asked.extensions.insert(auth::caller(state, in_force, parts, network));
        flow::route::of_handler(&parts.method, &self.prefix);
        let request = Request::from_parts(asked, ClientBody::new(body, is_verbose));
        let (mut response, code) = match caught(async { (self.handler)(request).await }).await {
            Ok(response) => (response.map(|frames| Body::of_handler(&state.outlet, frames)), None),
            Err(cause) => {
                log::error_line(&format!("a handler of {} failed: {cause}", self.prefix));
                let error = ApiError::of_handler();
                (error.response(is_verbose), Some(error.code))
            }
        };
        if response.extensions_mut().remove::<CrossOrigin>().is_some() {
            match cors::preflight(&in_force.config, &parts.method, &parts.headers) {
                Some(preflight) => response = preflight,
                None => cors::expose(&in_force.config, &parts.headers, response.headers_mut()),
            }
        }
        let cookie = in_force.config.session_cookie.as_deref().map(|name| Cookie::find(name, &parts.headers));
        flow::sign(in_force, parts, cookie, response.headers_mut());
        let who = api.asked().map(|identity| Who::known(identity, in_force));
        Answer { response, bill: Laps::start(), code, rows: None, who }
    }

    /// The address as the handler sees it.
    fn within(&self, uri: &Uri) -> Uri {
        let rest = below(uri.path(), &self.prefix).unwrap_or_default();
        let slash = if rest.is_empty() { "/" } else { "" };
        let (mark, query) = uri.query().map_or(("", ""), |query| ("?", query));
        let target = PathAndQuery::from_maybe_shared(Bytes::from([slash, rest, mark, query].concat()));
        target.map_or_else(|_| uri.clone(), Uri::from)
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// What a handler answers, unless it fails or panics.
async fn caught<T>(handler: impl Future<Output = Result<T, BoxError>>) -> Result<T, String> {
    let mut handler = pin!(handler);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
        Ok(polled) => polled.map_err(|error| error.to_string()),
        Err(_) => Poll::Ready(Err("it panicked".to_owned())),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::task::Context;

    #[derive(Clone)]
    struct Nothing;

    impl Service<Request<ClientBody>> for Nothing {
        type Response = Response<String>;
        type Error = std::convert::Infallible;
        type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<ClientBody>) -> Self::Future {
            std::future::ready(Ok(Response::new(String::new())))
        }
    }

    fn routes(prefixes: &[&str]) -> Routes {
        let mut routes = Routes::default();
        prefixes.iter().for_each(|prefix| routes.add(prefix, Nothing));
        routes
    }

    #[test]
    fn the_longest_prefix_has_a_path_part_by_part() {
        let routes = routes(&["/hooks", "/hooks/paid", "/h"]);
        let found = |path: &str| {
            let address = Uri::try_from(path).unwrap();
            routes.find(address.path()).map(|mount| (&*mount.prefix, mount.within(&address)))
        };
        let is_of = |path: &str, prefix: &str, within: &str| {
            let (found, address) = found(path).unwrap();
            assert_eq!((found, address.to_string()), (prefix, within.to_owned()), "{path}");
        };
        is_of("/hooks", "/hooks", "/");
        is_of("/hooks/", "/hooks", "/");
        is_of("/hooks?a=1", "/hooks", "/?a=1");
        is_of("/hooks/paid/17?a=/hooks", "/hooks/paid", "/17?a=/hooks");
        is_of("/hooks/paidx", "/hooks", "/paidx");
        is_of("/hooks//paid", "/hooks", "//paid");
        is_of("/hooks/%2e%2e/api", "/hooks", "/%2e%2e/api");
        for path in ["/", "/hook", "/hooksx", "//hooks", "/%68ooks", "/Hooks", "/api/hooks", "*"] {
            assert!(found(path).is_none(), "{path}");
        }
    }

    #[test]
    fn a_prefix_is_a_path_of_its_own() {
        let site = Config { pages_dir: Some(PathBuf::from("pages")), ..Config::default() };
        for prefixes in [&["/hooks"][..], &["/hooks", "/hooks/paid"], &["/apis", "/.well-known/x"], &["/api/rpc/own"]] {
            assert_eq!(routes(prefixes).check(&site), Ok(()), "{prefixes:?}");
        }
        for prefix in ["", "/", "hooks", "/hooks/", "//hooks", "/a/../b", "/a b", "/%61", "/a?b", "/{id}"] {
            assert!(routes(&[prefix]).check(&Config::default()).is_err(), "{prefix}");
        }
        assert!(routes(&["/hooks", "/hooks"]).check(&site).is_err());
        for prefix in ["/api", "/api/hooks", "/api/rpc", "/api/rpc/own/more", "/static"] {
            assert!(routes(&[prefix]).check(&site).is_err(), "{prefix}");
            assert_eq!(routes(&[prefix]).check(&Config::default()), Ok(()), "{prefix}");
        }
    }
}
