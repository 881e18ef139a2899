//! What the gauge shows: pages and JSON, for an address of an operator's own.

use crate::account::unpoisoned;
use crate::route;
use crate::sample::{Options, Profile, Sampler, Samples};
use crate::{finding, place, told, watch};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;
use tower_service::Service;

/// How long samples are taken at most, in seconds.
const SECONDS_MAX: u32 = 60;
/// How many sets of samples are kept to be subtracted from later ones.
const KEPT_MAX: usize = 8;
/// The longest name of one, in bytes.
const KEPT_NAME_BYTES_MAX: usize = 64;

const PAGE: &str = include_str!("admin/page.html");
/// The page's own style and script, and its own address, are all that it may use. A test says the checksums.
const PAGE_MAY: &str = "default-src 'none'; style-src 'sha256-FbBfSxaMt1mAR4CGHBN+IZ8iugj0t2+YLbfoss8CsIA='; script-src 'sha256-ZrnbcwrWOkeWSI0fkoKlwEUZ7v7UxsJtUoZdAOBhIXU='; connect-src 'self'; \
                        img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// A flame graph has a script that searches and zooms. It runs as a stranger's, so that nothing in a name could ask for anything here.
const FLAME_MAY: &str = "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                         frame-ancestors 'none'";
const OTHERS_MAY: &str = "default-src 'none'; frame-ancestors 'none'";

/// A service with the gauge's pages. It knows no password: give it an address that operators only reach.
///
/// | path | |
/// |---|---|
/// | `/` | the page |
/// | `/routes` | sums by route: `like` part of its name, so many as `most` says, by `order` (a column of the page) and `up` to 1 |
/// | `/route?name=` | one with its histogram, its worst requests, over time, and the shapes of its queries |
/// | `/findings` | what is wrong |
/// | `/locks` | who waited for whom |
/// | `/flame?route=&of=cpu` | a flame graph: `of` is `cpu`, `waits`, `allocated` or `copied`; `seconds` up to 60; `as` is `svg`, `folded`, `pprof` or `speedscope`; `keep=NAME` keeps it, and `minus=NAME` subtracts |
/// | `/metrics` | all sums for Prometheus |
pub fn admin() -> Admin {
    Admin
}

/// See [`admin`].
#[derive(Debug, Clone, Copy)]
pub struct Admin;

type Answer = Response<Full<Bytes>>;

impl<B> Service<Request<B>> for Admin {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let (path, query) = (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
        Box::pin(async move {
            Ok(if is_read { answer(&path, &query).await } else { refused(StatusCode::METHOD_NOT_ALLOWED, "only GET") })
        })
    }
}

/// Answers a GET of the gauge's pages, for servers without tower: a path as [`admin`] has it, and what stands behind its question mark.
pub async fn answer(path: &str, query: &str) -> Answer {
    let query = Query::of(query);
    match path {
        "/" | "" => allowed(PAGE_MAY, of("text/html; charset=utf-8", PAGE.into())),
        "/routes" => routes(&query).await,
        "/route" => match query.get("name").and_then(|name| route::known(&name)) {
            Some(route) => {
                let mut told = told::whole_route(route);
                told["kept"] = unpoisoned(&KEPT).iter().map(|kept| kept.name.clone()).collect();
                json(&told)
            }
            None => refused(StatusCode::NOT_FOUND, "there is no route of this name"),
        },
        "/findings" => {
            // names are looked up in the program's file
            let findings = tokio::task::spawn_blocking(finding::findings).await.unwrap_or_default();
            json(&thalweg_json::to_value(findings).unwrap_or_default())
        }
        "/locks" => json(&told::locks()),
        "/metrics" => {
            // ten thousand routes take their time here too
            let told = tokio::task::spawn_blocking(told::prometheus).await.unwrap_or_default();
            of("text/plain; version=0.0.4; charset=utf-8", told.into())
        }
        "/flame" => flame(&query).await.unwrap_or_else(|(status, why)| refused(status, &why)),
        _ => refused(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

fn of(media_type: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, header::HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, header::HeaderValue::from_static("no-referrer"));
    allowed(OTHERS_MAY, response)
}

/// What a browser may do with an answer.
fn allowed(policy: &'static str, mut answer: Answer) -> Answer {
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, header::HeaderValue::from_static(policy));
    answer
}

fn json(value: &thalweg_json::Value) -> Answer {
    of("application/json", value.to_string().into())
}

fn refused(status: StatusCode, why: &str) -> Answer {
    let mut response = json(&thalweg_json::json!({ "message": why }));
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
    }
    response
}

async fn routes(query: &Query<'_>) -> Answer {
    let bad = |why| refused(StatusCode::BAD_REQUEST, why);
    let order = query.get("order").unwrap_or_else(|| "wall".to_owned());
    let Some(order) = told::ORDERS.into_iter().find(|known| *known == order) else {
        return bad("order: the name of a column");
    };
    let Ok(most) = query.get("most").map_or(Ok(usize::MAX), |most| most.parse()) else {
        return bad("most: how many routes");
    };
    let (like, is_up) = (query.get("like").unwrap_or_default(), query.get("up").is_some_and(|up| up == "1"));
    // ten thousand take their time
    let told = tokio::task::spawn_blocking(move || told::routes(order, is_up, &like, most).to_string()).await;
    told.map_or_else(
        |error| refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        |told| of("application/json", told.into()),
    )
}

/// The parameters of an address.
struct Query<'a>(Vec<(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)>);

impl<'a> Query<'a> {
    fn of(text: &'a str) -> Query<'a> {
        Query(form_urlencoded::parse(text.as_bytes()).collect())
    }

    /// What a name is given. Nothing is none, as forms have it.
    fn get(&self, name: &str) -> Option<String> {
        let value = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone().into_owned());
        value.filter(|value| !value.is_empty())
    }
}

/// Samples that are subtracted from later ones.
struct Kept {
    name: String,
    kind: String,
    samples: Samples,
}

static KEPT: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());

type Refusal = (StatusCode, String);

/// How many flame graphs are made at once: each holds copies of stacks, of which there are 20 MiB at most.
const FLAMES_MAX: usize = 4;
static PLACES: Semaphore = Semaphore::const_new(FLAMES_MAX);

async fn flame(query: &Query<'_>) -> Result<Answer, Refusal> {
    let _place = PLACES.try_acquire().map_err(|_| {
        let why = format!("{FLAMES_MAX} flame graphs are being made");
        (StatusCode::SERVICE_UNAVAILABLE, why)
    })?;
    let bad = |why: &str| (StatusCode::BAD_REQUEST, why.to_owned());
    let kind = query.get("of").unwrap_or_else(|| "cpu".to_owned());
    let seconds = query.get("seconds").map(|text| text.parse::<u32>()).transpose();
    let seconds = seconds.ok().filter(|seconds| seconds.is_none_or(|seconds| seconds <= SECONDS_MAX));
    let seconds = seconds.ok_or_else(|| bad("seconds: a number up to 60"))?;
    let route = match query.get("route") {
        None => None,
        Some(name) => Some(
            route::known(&name).ok_or_else(|| (StatusCode::NOT_FOUND, "there is no route of this name".to_owned()))?,
        ),
    };
    let form = query.get("as").unwrap_or_else(|| "svg".to_owned());
    if !["svg", "folded", "pprof", "speedscope"].contains(&&*form) {
        return Err(bad("as: svg, folded, pprof or speedscope"));
    }
    let keep = query.get("keep");
    if keep.as_ref().is_some_and(|name| name.len() > KEPT_NAME_BYTES_MAX) {
        return Err(bad("keep: a name of up to 64 bytes"));
    }
    let before = match query.get("minus") {
        None => None,
        Some(name) => {
            let kept = unpoisoned(&KEPT);
            let kept = kept.iter().find(|known| known.name == name);
            let kept = kept.ok_or_else(|| (StatusCode::NOT_FOUND, "nothing is kept by this name".to_owned()))?;
            if kept.kind != kind {
                return Err(bad("minus: what is kept by this name is of another kind"));
            }
            Some(kept.samples.clone())
        }
    };
    let mut samples = taken(&kind, seconds).await?;
    if let Some(route) = &route {
        samples = samples.of_tag(route.tag);
    }
    if let Some(name) = keep {
        let mut kept = unpoisoned(&KEPT);
        kept.retain(|known| known.name != name);
        kept.push_back(Kept { name, kind: kind.clone(), samples: samples.clone() });
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
    }
    let title = format!("{kind} of {}", route.as_ref().map_or("all routes", |route| &route.name));
    let made = tokio::task::spawn_blocking(move || formed(&samples, before.as_ref(), &kind, &form, &title)).await;
    made.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?
}

async fn taken(kind: &str, seconds: Option<u32>) -> Result<Samples, Refusal> {
    let pause = |seconds: u32| tokio::time::sleep(Duration::from_secs(seconds.into()));
    match kind {
        "cpu" => {
            let seconds = seconds.unwrap_or(5).max(1);
            let options = Options { seconds, hz: 499, ..Options::default() };
            let session =
                Sampler::start(options).map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
            pause(seconds).await;
            Ok(session.stop())
        }
        "waits" => {
            let before = watch::so_far(&watch::WAITED);
            let wants = watch::WantsWaits::new();
            pause(seconds.unwrap_or(5).max(1)).await;
            drop(wants);
            Ok(watch::so_far(&watch::WAITED).since(&before))
        }
        "allocated" | "copied" => {
            let taken = if kind == "copied" { &watch::COPIED } else { &watch::ALLOCATED };
            let before = watch::so_far(taken);
            let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else { return Ok(before) };
            pause(seconds).await;
            Ok(watch::so_far(taken).since(&before))
        }
        _ => Err((StatusCode::BAD_REQUEST, "of: cpu, waits, allocated or copied".to_owned())),
    }
}

/// On top is the line that says something: of a wait the await's, not where the library keeps the waker; of allocations and copies whose it is that
/// has the standard library make them.
fn named(samples: &Samples, kind: &str) -> Profile {
    let profile = samples.named().without_innermost(place::is_of_gauge);
    let profile = match kind {
        "cpu" => profile,
        "waits" => profile.ending_at(place::is_of_application),
        _ => profile.ending_at(|place| !place::is_of_std(place)),
    };
    profile.with_files(|file| place::from_built_in(file).to_owned())
}

fn formed(samples: &Samples, before: Option<&Samples>, kind: &str, form: &str, title: &str) -> Result<Answer, Refusal> {
    let failed = |error: std::io::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let (svg, text, gzip) = ("image/svg+xml; charset=utf-8", "text/plain; charset=utf-8", "application/gzip");
    // a profile and a difference have the same forms, and no type in common
    macro_rules! formed {
        ($profile:expr) => {
            match form {
                "folded" => of(text, $profile.folded().into()),
                "pprof" => of(gzip, $profile.pprof().into()),
                "speedscope" => of("application/json", $profile.speedscope(title).into()),
                _ => allowed(FLAME_MAY, of(svg, $profile.svg(title).map_err(failed)?.into())),
            }
        };
    }
    let profile = named(samples, kind);
    Ok(match before {
        None => formed!(profile),
        Some(before) => formed!(profile.minus(&named(before, kind))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_page_may_run_what_stands_in_it() {
        for (name, is_of) in [("style", "style-src"), ("script", "script-src")] {
            let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
            let [(at, _)] = *PAGE.match_indices(&begin).collect::<Vec<_>>() else { panic!("one {name}") };
            let text = &PAGE[at + begin.len()..PAGE.find(&end).unwrap()];
            let checksum = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
            let wanted = format!("{is_of} 'sha256-{checksum}';");
            assert!(PAGE_MAY.contains(&wanted), "PAGE_MAY has to say {wanted}");
        }
        assert!(!PAGE.contains("://"), "no address but its own");
    }
}
