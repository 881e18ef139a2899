//! Sums reach a collector over a socket, and one that is away, slow or wrong costs nothing but itself.

use crate::{ask_gauge, ended};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thalweg_gauge::otlp::{Options, send, send_once};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type Received = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A collector that takes everything.
async fn collector() -> (SocketAddr, Received) {
    async fn take(State(received): State<Received>, headers: HeaderMap, body: Bytes) -> &'static str {
        received.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap()));
        "{}"
    }
    let received = Received::default();
    let app = Router::new()
        .route("/v1/metrics", post(take))
        .layer(axum::extract::DefaultBodyLimit::max(64 << 20))
        .with_state(received.clone());
    let (listener, address) = listen().await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, received)
}

fn to(address: SocketAddr) -> Options {
    Options::new("billed").at(&format!("http://{address}/v1/metrics")).unwrap()
}

/// Every data point of a metric that has all of these attributes.
fn points(received: &Received, metric: &str, wanted: &[(&str, &str)]) -> Vec<Value> {
    let received = received.lock().unwrap();
    let metrics = received.iter().flat_map(|(_, message)| {
        message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap().clone()
    });
    let points = metrics.filter(|each| each["name"] == metric).flat_map(|each| {
        let kind = ["sum", "histogram", "gauge"].into_iter().find(|kind| each.get(kind).is_some()).unwrap();
        each[kind]["dataPoints"].as_array().unwrap().clone()
    });
    points
        .filter(|point| {
            let attributes = point["attributes"].as_array().unwrap();
            wanted.iter().all(|(key, value)| {
                attributes.iter().any(|each| each["key"] == *key && each["value"]["stringValue"] == *value)
            })
        })
        .collect()
}

fn point(received: &Received, metric: &str, wanted: &[(&str, &str)]) -> Value {
    let found = points(received, metric, wanted);
    assert_eq!(found.len(), 1, "{metric} {wanted:?}: {found:?}");
    found.into_iter().next().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

async fn serve(path: &str, times: usize) {
    let app = Router::new().route(
        "/otlp/{id}",
        post(|body: Bytes| async move {
            let stage = thalweg_gauge::stage("think");
            thalweg_gauge::waiting(thalweg_gauge::Wait::Database, tokio::time::sleep(Duration::from_millis(12))).await;
            drop(stage);
            thalweg_gauge::rows(2);
            let lock = thalweg_gauge::lock::Mutex::named("otlp", ());
            drop(lock.lock().await);
            Bytes::from(body.to_vec())
        })
        .get(|| async { StatusCode::INTERNAL_SERVER_ERROR }),
    );
    let mut app = app.layer(thalweg_gauge::layer());
    for _ in 0..times {
        let request = Request::post(path).body(Full::new(Bytes::from_static(&[7; 100_000]))).unwrap();
        let answer = tower_service::Service::call(&mut app, request).await.unwrap();
        assert_eq!(ended(answer).await.len(), 100_000);
    }
}

#[tokio::test]
async fn everything_summed_is_received() {
    let (address, received) = collector().await;
    serve("/otlp/1", 3).await;
    let options = to(address).header("authorization", "Basic YQ==").unwrap();
    send_once(&options).await.unwrap();
    {
        let messages = received.lock().unwrap();
        assert!(messages.len() >= 2);
        for (headers, message) in &*messages {
            assert!(headers["content-type"] == "application/json" && headers["authorization"] == "Basic YQ==");
            let service = &message["resourceMetrics"][0]["resource"]["attributes"][0];
            assert_eq!((&service["key"], &service["value"]["stringValue"]), (&"service.name".into(), &"billed".into()));
        }
        if let Some(folder) = std::env::var_os("OTLP_FOLDER") {
            for (at, (_, message)) in messages.iter().enumerate() {
                std::fs::write(std::path::Path::new(&folder).join(format!("{at}.json")), message.to_string()).unwrap();
            }
        }
    }
    let route = [("http.request.method", "POST"), ("http.route", "/otlp/{id}")];
    let duration = point(&received, "http.server.request.duration", &route);
    assert_eq!(number(&duration["count"]), 3, "{duration}");
    assert!((0.036..10.0).contains(&duration["sum"].as_f64().unwrap()), "{duration}");
    let (bounds, counts) =
        (duration["explicitBounds"].as_array().unwrap(), duration["bucketCounts"].as_array().unwrap());
    assert_eq!(counts.len(), bounds.len() + 1);
    assert_eq!(counts.iter().map(number).sum::<u64>(), 3);
    assert_eq!(
        (counts[0].as_str(), counts[1].as_str()),
        (Some("0"), Some("0")),
        "each took more than 12 ms: {duration}"
    );
    let (began, now) = (number(&duration["startTimeUnixNano"]), number(&duration["timeUnixNano"]));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    assert!(began < now && now <= clock && clock - now < 60_000_000_000, "{began} {now} {clock}");

    let count = |metric: &str| number(&point(&received, metric, &route)["asInt"]);
    assert_eq!((count("gauge.request.bytes_in"), count("gauge.request.bytes_out")), (300_000, 300_000));
    assert_eq!((count("gauge.request.rows"), count("gauge.request.errors")), (6, 0));
    assert!((300_000..400_000).contains(&count("gauge.request.copied")));
    assert!(count("gauge.request.allocated") >= 300_000 && count("gauge.request.peak") >= 100_000);
    assert_eq!(count("http.server.active_requests"), 0);
    // the same as the gauge's own page has
    let told = ask_gauge("/route", "name=POST%20/otlp/%7Bid%7D").await;
    let mean = told["allocations"]["mean"].as_f64().unwrap();
    assert_eq!(count("gauge.request.allocations"), (mean * 3.0).round() as u64);

    let time = |metric: &str, key: &str, value: &str| {
        point(&received, metric, &[route[0], route[1], (key, value)])["asDouble"].as_f64().unwrap()
    };
    assert!(time("gauge.request.wait", "gauge.wait", "database") > 0.03);
    assert!(time("gauge.request.stage", "gauge.stage", "think") > 0.036);
    assert!(point(&received, "gauge.request.cpu", &route)["asDouble"].as_f64().unwrap() > 0.0);
    assert_eq!(number(&point(&received, "gauge.lock.hold", &[("gauge.lock", "otlp")])["count"]), 3);
    assert!(number(&point(&received, "gauge.process.allocations", &[])["asInt"]) > 100);

    // they go on from where they were, since the same time
    received.lock().unwrap().clear();
    serve("/otlp/2", 1).await;
    send_once(&options).await.unwrap();
    let later = point(&received, "http.server.request.duration", &route);
    assert_eq!((number(&later["count"]), number(&later["startTimeUnixNano"])), (4, began));
}

/// A collector that does something with each connection.
async fn wrong<F: Future<Output = ()> + Send>(
    then: impl Fn(tokio::net::TcpStream) -> F + Send + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let (listener, address) = listen().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read(&mut [0; 1024]).await;
            then(stream).await;
        }
    });
    (address, asked)
}

async fn is_silent(stream: tokio::net::TcpStream) {
    tokio::time::sleep(Duration::from_secs(60)).await;
    drop(stream);
}

async fn answering(text: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    wrong(move |mut stream| async move {
        let _ = stream.write_all(text.as_bytes()).await;
        // all of what it is sent is read, so that the answer is not lost with a reset
        let _ = tokio::time::timeout(Duration::from_millis(100), tokio::io::copy(&mut stream, &mut tokio::io::sink()))
            .await;
    })
    .await
}

#[tokio::test]
async fn a_collector_that_is_wrong_is_an_error_within_a_bound() {
    let soon = |address| to(address).timeout(Duration::from_millis(500));
    let error = |options: Options| async move { send_once(&options).await.unwrap_err() };

    let (listener, away) = listen().await;
    drop(listener);
    assert!(error(soon(away)).await.to_string().starts_with("the collector cannot be asked: "));

    let (silent, _) = wrong(is_silent).await;
    let started = Instant::now();
    assert_eq!(error(soon(silent)).await.to_string(), "the collector took more than 0.5 s");
    assert!(started.elapsed() < Duration::from_secs(5));

    for (text, status) in [
        ("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", 400),
        ("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 3\r\n\r\nno\n", 500),
        ("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", 307),
    ] {
        let (address, _) = answering(text).await;
        assert_eq!(error(soon(address)).await.status().map(|status| status.as_u16()), Some(status));
    }
    let (busy, _) = answering("HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(error(soon(busy)).await.retry_after(), Some(Duration::from_secs(7)));
    let (garbage, _) = answering("SSH-2.0-OpenSSH_9.9\r\n").await;
    assert!(error(soon(garbage)).await.to_string().starts_with("the collector's answer is no HTTP: "));
    let (partial, _) = answering(
        "HTTP/1.1 200 OK\r\ncontent-length: 73\r\n\r\n{\"partialSuccess\": {\"rejectedDataPoints\": \"2\", \"errorMessage\": \"late\" }}\n",
    )
    .await;
    assert_eq!(error(soon(partial)).await.to_string(), "the collector refused 2 data points: late");
    // one that never ends is not read to its end
    let (endless, _) = wrong(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n").await;
        while stream.write_all(&[b'x'; 8192]).await.is_ok() {}
    })
    .await;
    assert!(send_once(&soon(endless)).await.is_err());
}

#[tokio::test]
async fn who_fails_is_asked_no_sooner_than_it_says_and_requests_go_on() {
    let (failing, asked) = answering("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n").await;
    let (busy, asked_busy) =
        answering("HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n").await;
    let (silent, asked_silent) = wrong(is_silent).await;
    let every = Duration::from_millis(200);
    let senders = [failing, busy, silent].map(|address| tokio::spawn(send(to(address).every(every))));

    let app = Router::new().route("/otlp/beside", get(|| async { "served" })).layer(thalweg_gauge::layer());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        let request = Request::get("/otlp/beside").body(Full::<Bytes>::default()).unwrap();
        let answer = tower_service::Service::call(&mut app.clone(), request).await.unwrap();
        assert_eq!(&*ended(answer).await, b"served");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    assert!((2..=10).contains(&of(&asked)), "asked {} times in 2 s, once in 200 ms", of(&asked));
    assert_eq!((of(&asked_busy), of(&asked_silent)), (1, 1));
    senders.iter().for_each(|sender| sender.abort());
}
