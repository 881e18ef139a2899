//! Which path is which page. To add one, add a row to `PAGES`, and to [`Pages::answer`] what it says.

use super::{health::Database, metrics};
use crate::answer::Body;
use crate::error::ApiError;
use crate::schema::described;
use crate::state::State;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Response, StatusCode, Uri};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

const PAGES: [(&str, Page); 5] = [
    ("/live", Page::Live),
    ("/ready", Page::Ready),
    ("/metrics", Page::Metrics),
    ("/schema_cache", Page::SchemaCache),
    ("/config", Page::Config),
];

#[derive(Clone, Copy)]
enum Page {
    Live,
    Ready,
    Metrics,
    SchemaCache,
    Config,
}

/// Where the gauge's pages are.
const BILL: &str = "/admin/bill";

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

/// The pages of a server.
pub(super) struct Pages {
    state: Arc<State>,
    database: Database,
    /// Which load of the schema cache has been described last, and that as long as somebody reads it. It is made by one at a
    /// time: of a large schema it takes a while, and much memory.
    described: Mutex<(u64, Weak<Vec<u8>>)>,
}

impl Pages {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state, database: Database::default(), described: Mutex::new((0, Weak::new())) }
    }

    /// Returns the response to a request for a path, whatever its method is. The memory of the body
    /// is counted with that of other responses, and the body goes to disk if its client is slow.
    pub(super) async fn answer(&self, address: &Uri) -> Response<Body> {
        self.page(address).await.map(|body| body.counted(&self.state.outlet))
    }

    async fn page(&self, address: &Uri) -> Response<Body> {
        let (path, query) = (address.path(), address.query().unwrap_or_default());
        let of_bill = path
            .strip_prefix(BILL)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .or(Some(path).filter(|path| *path == "/findings"));
        if let Some(of_bill) = of_bill {
            return bill(of_bill, query).await;
        }
        let Some((_, page)) = PAGES.iter().find(|(known, _)| *known == path) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let state = &*self.state;
        match page {
            Page::Live => empty(state.vitals.live()),
            Page::Ready => empty(self.database.ready(state).await),
            Page::Metrics => {
                // of ten thousand routes it takes long enough to hold requests up
                let state = self.state.clone();
                let written = tokio::task::spawn_blocking(move || metrics::written(&state)).await;
                whole(TEXT, written.unwrap_or_default().into())
            }
            Page::SchemaCache => match self.described().await {
                Some(described) => whole(JSON, described),
                None => empty(StatusCode::OK),
            },
            Page::Config => whole(TEXT, state.in_force().config.dump_masked().into()),
        }
    }

    /// The schema cache as JSON; `None` before the first has been loaded.
    async fn described(&self) -> Option<Bytes> {
        let mut last = self.described.lock().await;
        let snapshot = self.state.snapshot.load_full()?;
        if let (true, Some(known)) = (last.0 == snapshot.load, last.1.upgrade()) {
            return Some(Bytes::from_owner(Shared(known)));
        }
        let load = snapshot.load;
        let made = tokio::task::spawn_blocking(move || described(&snapshot.catalog)).await;
        let made = Arc::new(made.unwrap_or_default());
        *last = (load, Arc::downgrade(&made));
        Some(Bytes::from_owner(Shared(made)))
    }
}

/// What requests cost.
async fn bill(path: &str, query: &str) -> Response<Body> {
    if path.is_empty() {
        // a page finds what it shows beside itself
        let mut response = empty(StatusCode::PERMANENT_REDIRECT);
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("bill/"));
        return response;
    }
    let (head, body) = thalweg_gauge::admin::answer(path, query).await.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    Response::from_parts(head, Body::whole(body))
}

/// Bytes that whoever reads them keeps.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the response to a refused request, as plain text.
pub(super) fn failure(error: &ApiError) -> Response<Body> {
    let mut response = whole(TEXT, format!("{} ({})\n", error.words(), error.code).into());
    *response.status_mut() = error.status;
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

fn whole(media_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
