//! What the gauge shows: pages and JSON, for an address of an operator's own.

use crate::account::unpoisoned;
use crate::route;
use crate::sample::{Options, Sampler, Samples};
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
use tower_service::Service;

/// How long samples are taken at most, in seconds.
const SECONDS_MAX: u32 = 60;
/// How many sets of samples are kept to be subtracted from later ones.
const KEPT_MAX: usize = 8;
/// The longest name of one, in bytes.
const KEPT_NAME_BYTES_MAX: usize = 64;

const PAGE: &str = include_str!("admin/page.html");

/// A service with the gauge's pages. It knows no password: give it an address that operators only reach.
///
/// | path | |
/// |---|---|
/// | `/` | the page |
/// | `/routes`, `/route?name=` | sums by route; one with its histogram, its worst requests, and over time |
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
        "/" => of("text/html; charset=utf-8", PAGE.into()),
        "/routes" => json(&told::routes()),
        "/route" => match query.get("name").and_then(|name| route::known(&name)) {
            Some(route) => json(&told::whole_route(route)),
            None => refused(StatusCode::NOT_FOUND, "there is no route of this name"),
        },
        "/findings" => {
            // names are looked up in the program's file
            let findings = tokio::task::spawn_blocking(finding::findings).await.unwrap_or_default();
            json(&serde_json::to_value(findings).unwrap_or_default())
        }
        "/locks" => json(&told::locks()),
        "/metrics" => of("text/plain; version=0.0.4; charset=utf-8", told::prometheus().into()),
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
    response
}

fn json(value: &serde_json::Value) -> Answer {
    of("application/json", value.to_string().into())
}

fn refused(status: StatusCode, why: &str) -> Answer {
    let mut response = json(&serde_json::json!({ "message": why }));
    *response.status_mut() = status;
    response
}

/// The parameters of an address.
struct Query<'a>(Vec<(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)>);

impl<'a> Query<'a> {
    fn of(text: &'a str) -> Query<'a> {
        Query(form_urlencoded::parse(text.as_bytes()).collect())
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone().into_owned())
    }
}

static KEPT: Mutex<VecDeque<(String, Samples)>> = Mutex::new(VecDeque::new());

type Refusal = (StatusCode, String);

async fn flame(query: &Query<'_>) -> Result<Answer, Refusal> {
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
    let mut samples = taken(&kind, seconds).await?;
    if let Some(route) = &route {
        samples = samples.of_tag(route.tag);
    }
    if let Some(name) = query.get("keep") {
        if name.is_empty() || name.len() > KEPT_NAME_BYTES_MAX {
            return Err(bad("keep: a name of up to 64 bytes"));
        }
        let mut kept = unpoisoned(&KEPT);
        kept.retain(|(known, _)| *known != name);
        kept.push_back((name, samples.clone()));
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
    }
    let before = match query.get("minus") {
        None => None,
        Some(name) => {
            let kept = unpoisoned(&KEPT).iter().find(|(known, _)| *known == name).map(|(_, samples)| samples.clone());
            Some(kept.ok_or_else(|| (StatusCode::NOT_FOUND, "nothing is kept by this name".to_owned()))?)
        }
    };
    let title = format!("{kind} of {}", route.as_ref().map_or("all routes", |route| &route.name));
    let made = tokio::task::spawn_blocking(move || formed(&samples, before.as_ref(), &form, &title)).await;
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

fn formed(samples: &Samples, before: Option<&Samples>, form: &str, title: &str) -> Result<Answer, Refusal> {
    let failed = |error: std::io::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let (svg, text, gzip) = ("image/svg+xml; charset=utf-8", "text/plain; charset=utf-8", "application/gzip");
    let profile = samples.named().without_innermost(place::is_of_gauge);
    Ok(match before {
        None => match form {
            "folded" => of(text, profile.folded().into()),
            "pprof" => of(gzip, profile.pprof().into()),
            "speedscope" => of("application/json", profile.speedscope(title).into()),
            _ => of(svg, profile.svg(title).map_err(failed)?.into()),
        },
        Some(before) => {
            let difference = profile.minus(&before.named().without_innermost(place::is_of_gauge));
            match form {
                "folded" => of(text, difference.folded().into()),
                "pprof" => of(gzip, difference.pprof().into()),
                "speedscope" => of("application/json", difference.speedscope(title).into()),
                _ => of(svg, difference.svg(title).map_err(failed)?.into()),
            }
        }
    })
}
