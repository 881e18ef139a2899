//! The gauge's address answers as it says, over a real socket, whatever routes and locks are called.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use std::alloc::System;
use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::time::Duration;
use thalweg_gauge::lock::Mutex;
use thalweg_testkit::Client;
use tower_service::Service;

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<System> = thalweg_gauge::CountingAllocator(System);

const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "GET /\"quoted\"'&amp;\\",
    "two\nlines `and` ]]>",
    "%zz #hash ?of=1&x",
    "ü 🦀 \u{202e}backwards",
    "__proto__",
];
const LOCK: &str = "<img src=x onerror=alert(1)> \"lock\"";
const TRACE: &str = "00-<b>\"trace\"</b>-01";

static HELD: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::named(LOCK, 0));

async fn handler() -> String {
    let _stage = thalweg_gauge::stage("<i>stage</i>");
    let mut held = HELD.lock().await;
    *held += 1;
    tokio::time::sleep(Duration::from_millis(2)).await;
    std::hint::black_box(vec![1_u8; 4 * 1024 * 1024]);
    held.to_string()
}

/// The gauge at `/` and, as within another service, at `/admin/bill`.
async fn served() -> SocketAddr {
    let name = |request: &axum::http::Extensions| request.get::<String>().cloned().map(Cow::Owned);
    let mut app =
        Router::new().fallback(handler).layer(thalweg_gauge::layer().routes(move |_, _, extensions| name(extensions)));
    let long = format!("GET /{}", "ü".repeat(300));
    for route in HOSTILE.into_iter().chain([&*long]) {
        for _ in 0..12 {
            let request = Request::builder().header("traceparent", TRACE).extension(route.to_owned());
            let answer = app.call(request.body(Body::empty()).unwrap()).await.unwrap();
            http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
        }
    }
    let admin =
        Router::new().nest_service("/admin/bill", thalweg_gauge::admin()).fallback_service(thalweg_gauge::admin());
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, admin).await });
    address
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn the_address_answers_as_it_says() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let address = runtime.block_on(served());
    let ask = |method: &str, path: &str| Client::connect(address).request(method, path, &[]);
    let json = "application/json";
    let svg = "image/svg+xml; charset=utf-8";
    let first = encoded(HOSTILE[0]);
    for (path, status, media_type) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/admin/bill", 200, "text/html; charset=utf-8"),
        ("/admin/bill/routes", 200, json),
        ("/routes?order=p99&up=1&most=2&like=GET", 200, json),
        ("/routes?order=p98", 400, json),
        ("/routes?most=-1", 400, json),
        ("/route", 404, json),
        ("/route?name=unknown", 404, json),
        ("/findings", 200, json),
        ("/locks", 200, json),
        ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/flame?of=allocated", 200, svg),
        ("/flame?of=copied&minus=", 200, svg),
        ("/flame?of=allocated&as=folded", 200, "text/plain; charset=utf-8"),
        ("/flame?of=allocated&as=pprof", 200, "application/gzip"),
        ("/flame?of=allocated&as=speedscope", 200, json),
        ("/flame?of=else", 400, json),
        ("/flame?of=allocated&as=else", 400, json),
        ("/flame?of=allocated&seconds=61", 400, json),
        ("/flame?of=allocated&seconds=x", 400, json),
        ("/flame?of=allocated&route=unknown", 404, json),
        ("/flame?of=allocated&minus=unknown", 404, json),
        (&format!("/flame?of=allocated&keep={}", "x".repeat(65)), 400, json),
        ("/flame?of=allocated&keep=before", 200, svg),
        ("/flame?of=allocated&minus=before", 200, svg),
        // bytes allocated and bytes copied are not subtracted from each other
        ("/flame?of=copied&minus=before", 400, json),
        ("/nothing", 404, json),
        ("/../routes", 404, json),
    ] {
        for method in ["GET", "HEAD"] {
            let mut client = Client::connect(address);
            client.send(method, path, &[]);
            let answer = client.receive(method == "HEAD");
            assert_eq!((answer.status, answer.header("content-type")), (status, Some(media_type)), "{method} {path}");
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
                ("referrer-policy", "no-referrer"),
                ("cache-control", "no-store"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{method} {path}");
            }
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
            assert_eq!(policy.starts_with("sandbox"), media_type == svg, "{path}: {policy}");
            assert_eq!(answer.body.is_empty(), method == "HEAD", "{method} {path}");
        }
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = ask(method, "/flame");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }

    // names come back as they are in JSON, and escaped where a text has a form
    let all = ask("GET", "/routes").json();
    let routes = all["routes"].as_array().unwrap();
    assert_eq!((all["known"].as_u64(), routes.len()), (Some(7), 7));
    for name in HOSTILE {
        assert!(routes.iter().any(|route| route["route"] == name), "{name}");
        let route = ask("GET", &format!("/route?name={}", encoded(name))).json();
        assert_eq!((route["requests"].as_u64(), &route["worst"][0]["trace"]), (Some(12), &TRACE.into()), "{name}");
        assert!(route["stages_ms"]["<i>stage</i>"].as_f64().unwrap() > 0.0 && route["kept"][0] == "before", "{route}");
        let (powers, histogram) = (&route["over_time"][0]["powers"], &route["histogram"]);
        for pairs in [powers, histogram] {
            let pairs = pairs.as_array().unwrap();
            assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair[0].is_f64() && pair[1].is_u64()), "{pairs:?}");
        }
        let graph = ask("GET", &format!("/flame?of=allocated&route={}", encoded(name)));
        is_well_formed(graph.text());
    }
    assert!(routes.iter().any(|route| route["route"].as_str().unwrap().len() <= 200));
    assert_eq!(ask("GET", "/locks").json()[0]["lock"], LOCK);
    let findings = ask("GET", "/findings").json();
    let finding = findings.as_array().unwrap().iter().find(|finding| finding["kind"] == "guard_across_await").unwrap();
    assert!(finding["what"].as_str().unwrap().contains(LOCK), "{finding}");
    let page = ask("GET", "/").text().to_owned();
    assert!(!HOSTILE.iter().any(|name| page.contains(name)), "the page itself has no names in it");

    // by order: the names' own, and the other way round
    let names = |path: &str| -> Vec<String> {
        let told = ask("GET", path).json();
        told["routes"].as_array().unwrap().iter().map(|route| route["route"].as_str().unwrap().to_owned()).collect()
    };
    let (up, down) = (names("/routes?order=route&up=1"), names("/routes?order=route"));
    assert!(up.is_sorted() && up.iter().eq(down.iter().rev()), "{up:?}");
    assert_eq!(names("/routes?like=QUOTED"), [HOSTILE[1]], "whatever the case");

    // each line of Prometheus's text: NAME{LABEL="VALUE",…} NUMBER
    let metrics = ask("GET", "/metrics");
    for line in metrics.text().lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let labels = series.split_once('{').unwrap().1.strip_suffix('}').unwrap();
        let (mut quotes, mut is_escaped) = (0, false);
        for c in labels.chars() {
            quotes += usize::from(c == '"' && !is_escaped);
            is_escaped = c == '\\' && !is_escaped;
        }
        assert!(quotes == 2 || quotes == 4, "{line}");
    }
    assert!(metrics.text().contains(r#"route="two\nlines `and` ]]>""#));
    assert!(metrics.text().contains(r#"route="GET /\"quoted\"'&amp;\\""#));
    assert!(ask("GET", &format!("/flame?of=allocated&route={first}")).text().contains("&lt;script&gt;alert(1)"));
}

/// Tags are closed in the order in which they were opened, and nothing but tags, references and `CDATA` begins as they do.
fn is_well_formed(svg: &str) {
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some(at) = rest.find(['<', '&']) {
        rest = &rest[at..];
        let end = |end: &str| {
            rest.find(end).unwrap_or_else(|| panic!("{end} after {}", &rest[..rest.len().min(60)])) + end.len()
        };
        let until = if rest.starts_with("<![CDATA[") {
            end("]]>")
        } else if rest.starts_with("<!--") {
            end("-->")
        } else if rest.starts_with('&') {
            let until = end(";");
            assert!(rest[1..until - 1].chars().all(|c| c.is_ascii_alphanumeric() || c == '#'), "{}", &rest[..until]);
            until
        } else {
            let until = end(">");
            let tag = &rest[1..until - 1];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.starts_with(['?', '!']) && !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap());
            }
            until
        };
        rest = &rest[until..];
    }
    assert!(open.is_empty() && svg.contains("<svg "), "{open:?}");
}
