//! Rust code beside pages and API: its handlers, the API that they ask, and what its templates have of it.

use crate::served::{GRANTS, Served, config, eventually};
use crate::signed::{token, with_secret};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::future::{pending, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tempfile::TempDir;
use thalweg_server::http_body::{Body as _, Frame};
use thalweg_server::{Api, ApiFailure, ApiResponse, ClientBody, Config, Server, ServerBuilder, ServerError};
use thalweg_testkit::{Client, Database};
use tokio::sync::Notify;

const SCHEMA: &str = "
    create schema api;
    create table api.flights (id int primary key, title text not null, pilot text not null
      default current_setting('request.jwt.claims', true)::json ->> 'sub', km int check (km > 0), track text);
    insert into api.flights values (1, 'First', 'anna', 10, 'AAAA'), (2, '<b>Second</b>', 'ben', 20, 'BBBB');
    create table api.words (word text);
    create function api.sent() returns json language sql stable as $$ select current_setting('request.headers')::json $$;
";

/// Two pilots who see their own flights, and nobody who sees any.
const OWN: &str = "
    do $$ begin create role pilot nologin; exception when duplicate_object or unique_violation then null; end $$;
    grant usage on schema api to pilot; grant select, insert, update, delete on api.flights to pilot;
    alter table api.flights enable row level security;
    create policy own on api.flights using (pilot = current_setting('request.jwt.claims', true)::json ->> 'sub');
";

/// A server with routes below `/own`.
fn serve(config: Config, router: Router) -> Served {
    Served::of_builder(Server::builder(config).routes("/own", router))
}

fn site(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn with_pages(config: Config, folder: &Path) -> Config {
    Config { pages_dir: Some(folder.to_owned()), ..config }
}

/// The error that starting ends with.
fn refusal(server: ServerBuilder) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    match runtime.block_on(server.start()) {
        Err(ServerError::Joined(error)) => error,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it started"),
    }
}

async fn titles(api: Api) -> Result<Json<Value>, ApiFailure> {
    Ok(Json(api.get("/flights?select=title&order=id").await?.json().await?))
}

#[test]
fn routes_stand_beside_pages_and_api() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let folder =
        site(&[("index.html", "page"), ("own.html", "covered"), ("owner.html", "owner"), ("static/a.txt", "file")]);
    let router = Router::new()
        .route("/", get(|| async { "own" }))
        .route("/titles", get(titles))
        .route("/echo/{*rest}", any(|request: Request| async move { request.uri().to_string() }));
    let served = serve(with_pages(config(&database.uri()), folder.path()), router);
    let said = |target: &str| {
        let response = served.get(target);
        (response.status, response.text().to_owned())
    };
    assert_eq!(said("/"), (200, "page".into()));
    assert_eq!(said("/owner"), (200, "owner".into()));
    assert_eq!(said("/static/a.txt"), (200, "file".into()));
    assert_eq!(said("/api/flights?select=id&id=eq.1"), (200, r#"[{"id":1}]"#.into()));
    // what begins with their prefix is the routes', whatever page there is
    assert_eq!(said("/own"), (200, "own".into()));
    assert_eq!(said("/own/"), (200, "own".into()));
    assert_eq!(said("/own?a=b"), (200, "own".into()));
    assert_eq!(said("/own/titles"), (200, r#"[{"title":"First"},{"title":"<b>Second</b>"}]"#.into()));
    assert_eq!(said("/own/nothing"), (404, String::new()));
    assert_eq!(said("/own/echo/a%2F..%2Fb//c?x=%26y"), (200, "/echo/a%2F..%2Fb//c?x=%26y".into()));
    // a path that only looks like theirs, or only is theirs once somebody has rewritten it, is not
    for target in ["//own/titles", "/%6fwn/titles", "/api/own/titles", "/OWN/titles", "/./own/titles"] {
        let response = served.get(target);
        assert!(matches!(response.status, 400 | 404) && !response.body.is_empty(), "{target}");
    }
    for target in ["/own/../api/flights", "/own//titles", "/own/%2e%2e/api/flights", "/own/api/flights"] {
        assert_eq!(said(target), (404, String::new()), "{target}");
    }
    let absolute = served.get("http://elsewhere/own/titles");
    assert_eq!((absolute.status, &absolute.body), (200, &served.get("/own/titles").body));
    let head = served.request("HEAD", "/own", &[]);
    assert_eq!((head.status, head.header("content-length")), (200, Some("3")));
    assert!(head.header("server").is_some_and(|name| name.starts_with("thalweg/")));
    assert_eq!(served.request("POST", "/own", &[]).status, 405);
}

#[test]
fn without_pages_routes_come_before_the_api() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let routes = |text: &'static str| Router::new().fallback(move || async move { text });
    let server =
        Server::builder(config(&database.uri())).routes("/own", routes("outer")).routes("/own/inner", routes("inner"));
    let served = Served::of_builder(server);
    assert_eq!(served.get("/flights?select=id&limit=1").text(), r#"[{"id":1}]"#);
    assert_eq!(served.get("/own/x").text(), "outer");
    assert_eq!(served.get("/own/inner/x").text(), "inner");
    assert_eq!(served.get("/own/innermost").text(), "outer");
    assert_eq!(served.get("/owner").status, 404);
}

#[test]
fn what_is_taken_cannot_be_joined() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let server = || Server::builder(config(&database.uri()));
    assert!(refusal(server().routes("own", Router::<()>::new())).contains("a path is needed"));
    let twice = server().routes("/own", Router::<()>::new()).routes("/own", Router::<()>::new());
    assert!(refusal(twice).contains("others are"));
    let folder = site(&[("index.html", "page")]);
    let of_site = || Server::builder(with_pages(config(&database.uri()), folder.path()));
    assert!(refusal(of_site().routes("/api/own", Router::<()>::new())).contains("the API of a site"));
    let length = refusal(of_site().filter("length", |text: String| text.len()));
    assert_eq!(length, "templates have a filter length already, which cannot be replaced");
    assert!(refusal(of_site().function("static", |text: String| text)).contains("a function static already"));
}

async fn add(api: Api, Json(flight): Json<Value>) -> Result<ApiResponse, ApiFailure> {
    api.post("/flights").header("prefer", "return=representation").json(&flight).await
}

async fn take_away(api: Api) -> Result<String, ApiFailure> {
    let removed = api.delete("/flights?id=gt.2").header("prefer", "count=exact").await?;
    Ok(removed.headers()["content-range"].to_str().unwrap_or_default().to_owned())
}

#[test]
fn the_api_is_asked_as_the_caller() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{OWN}"));
    let as_nobody = |api: Api| async move { titles(api.as_anonymous()).await };
    let of_ben = token(&json!({ "role": "pilot", "sub": "ben" }));
    let as_ben = move |api: Api| async move { titles(api.with_token(&of_ben)).await };
    let router = Router::new().route("/", get(titles).post(add).delete(take_away));
    let router = router.route("/nobody", get(as_nobody)).route("/ben", get(as_ben));
    let served = serve(with_secret(&database.uri()), router);
    let ask = |method: &str, target: &str, who: Option<&str>, body: &str| {
        let bearer = who.map(|who| format!("Bearer {}", token(&json!({ "role": "pilot", "sub": who }))));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let response = served.send(method, target, &headers, body);
        (response.status, response.text().to_owned())
    };
    let (of_anna, of_ben) = (r#"[{"title":"First"}]"#, r#"[{"title":"<b>Second</b>"}]"#);
    assert_eq!(ask("GET", "/own", Some("anna"), ""), (200, of_anna.into()));
    assert_eq!(ask("GET", "/own", Some("ben"), ""), (200, of_ben.into()));
    assert_eq!(ask("GET", "/own", None, ""), (200, "[]".into()));
    assert_eq!(ask("GET", "/own/nobody", Some("anna"), ""), (200, "[]".into()));
    assert_eq!(ask("GET", "/own/ben", Some("anna"), ""), (200, of_ben.into()));
    let added = ask("POST", "/own", Some("anna"), r#"{"id": 3, "title": "Third", "km": 5}"#);
    assert_eq!(added, (201, r#"[{"id":3,"title":"Third","pilot":"anna","km":5,"track":null}]"#.into()));
    // policies, privileges and constraints say what they say to a client, which is told so
    let of_another = ask("POST", "/own", Some("anna"), r#"{"id": 4, "title": "Fourth", "pilot": "ben"}"#);
    assert_eq!((of_another.0, of_another.1.contains(r#""code":"42501""#)), (403, true), "{}", of_another.1);
    assert_eq!(ask("POST", "/own", Some("anna"), r#"{"id": 5, "title": "Fifth", "km": 0}"#).0, 400);
    assert_eq!(ask("POST", "/own", None, r#"{"id": 5, "title": "Fifth"}"#).0, 401);
    assert_eq!(ask("DELETE", "/own", Some("ben"), ""), (200, "*/0".into()));
    assert_eq!(ask("DELETE", "/own", Some("anna"), ""), (200, "*/1".into()));
    // no handler makes a token good
    let forged = served.request("GET", "/own", &[("authorization", "Bearer no.token.atall")]);
    assert_eq!((forged.status, forged.json()["code"].as_str()), (401, Some("PGRST301")));
}

/// A page of another site makes a browser send its cookie. What a handler does with it beside the database nobody sees.
#[test]
fn a_cookie_counts_for_a_page_of_the_same_site_only() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{OWN}"));
    let config = Config { session_cookie: Some("session".to_owned()), ..with_secret(&database.uri()) };
    let write = |api: Api| async move { api.patch("/flights?id=eq.1").json(&json!({ "km": 11 })).await };
    let served =
        serve(config, Router::new().route("/", get(titles).post(titles)).route("/write", get(write).post(write)));
    let cookie = format!("session={}", token(&json!({ "role": "pilot", "sub": "anna" })));
    let ask = |method: &str, target: &str, site: &str| {
        served.request(method, target, &[("cookie", &cookie), ("sec-fetch-site", site)])
    };
    let own = ask("GET", "/own", "same-origin");
    assert_eq!((own.status, own.text()), (200, r#"[{"title":"First"}]"#));
    assert_eq!((own.header("vary"), own.header("cache-control")), (Some("Cookie"), Some("private")));
    for (method, target, site, status) in [
        ("GET", "/own", "cross-site", 200),
        ("POST", "/own", "same-origin", 200),
        ("POST", "/own", "cross-site", 403),
        ("POST", "/own/write", "same-origin", 204),
        ("POST", "/own/write", "cross-site", 403),
        ("GET", "/own/write", "cross-site", 403),
    ] {
        assert_eq!(ask(method, target, site).status, status, "{method} {target} {site}");
    }
}

#[test]
fn errors_say_what_they_are() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let failing = |api: Api| async move {
        let mut said = Vec::new();
        for path in ["/flihgts", "/flights?id=eq.x", "flights", "/fl ights", "/rpc/sent?x=1"] {
            let failure = api.get(path).await.expect_err("nothing is there");
            said.push(json!([
                failure.status().as_u16(),
                failure.code(),
                failure.message(),
                failure.details(),
                failure.hint()
            ]));
        }
        let header = api.get("/flights").header("a b", "c").await.expect_err("no header");
        let not_json = api.get("/flights").header("accept", "text/csv").await.unwrap().json::<Value>().await;
        said.push(json!([header.code(), header.to_string(), not_json.expect_err("CSV").code()]));
        Json(said)
    };
    let served = serve(config(&database.uri()), Router::new().route("/", get(failing)));
    let said = served.get("/own").json();
    assert_eq!(said[0][0], 404);
    assert_eq!(said[0][1], "PGRST205");
    assert_eq!(said[0][4], "Perhaps you meant the table 'api.flights'");
    assert_eq!(said[1], json!([400, "22P02", "invalid input syntax for type integer: \"x\"", null, null]));
    assert_eq!((&said[2][0], &said[2][1]), (&json!(400), &json!("TWG22")));
    assert_eq!(said[3][1], "TWG22");
    assert_eq!(said[4][1], "PGRST202");
    assert_eq!(said[5], json!(["TWG22", "\"a b\" cannot be a header of this value (TWG22)", "TWG22"]));
}

#[test]
fn a_parameter_is_one_whatever_it_holds() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let titled = |request: Request| async move {
        let api = request.extensions().get::<Api>().cloned().unwrap();
        let title = axum::body::to_bytes(request.into_body(), 1024).await.unwrap();
        let title = String::from_utf8(title.to_vec()).unwrap();
        api.get("/flights?select=id").param("title", format!("eq.{title}")).await
    };
    let served = serve(config(&database.uri()), Router::new().route("/", post(titled)));
    for (title, rows) in
        [("First", r#"[{"id":1}]"#), ("<b>Second</b>", r#"[{"id":2}]"#), ("x&or=(id.gt.0)", "[]"), ("ä #%00+ ?", "[]")]
    {
        assert_eq!(served.send("POST", "/own", &[], title).text(), rows, "{title}");
    }
}

/// What SQL sees of the caller's headers, and not of those that were about the message that came.
#[test]
fn sql_sees_the_headers_of_who_asks() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}grant execute on function api.sent to test_reader;"));
    let sent = |api: Api| async move { api.get("/rpc/sent").header("x-own", "1").await };
    let served = serve(config(&database.uri()), Router::new().route("/", any(sent)));
    let headers =
        [("x-key", "k"), ("x-own", "0"), ("prefer", "count=exact"), ("accept", "text/plain"), ("range", "0-1")];
    let seen = served.send("POST", "/own", &headers, "body");
    assert_eq!((seen.status, seen.json()), (200, json!({ "host": "test", "x-key": "k", "x-own": "1" })));
}

/// Gives a body of so many mebibytes, and counts how many have been made.
struct Made {
    left: u64,
    made: Arc<AtomicU64>,
}

impl thalweg_server::http_body::Body for Made {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        self.made.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; 1 << 20])))))
    }
}

/// Waits until a count stands still.
fn still(count: &AtomicU64) -> u64 {
    loop {
        let before = count.load(Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(300));
        if before > 0 && count.load(Ordering::Relaxed) == before {
            return before;
        }
    }
}

#[test]
fn a_response_is_made_as_its_client_takes_it() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let made = Arc::new(AtomicU64::new(0));
    let counted = made.clone();
    let big = move || async move { Response::new(Body::new(Made { left: 256, made: counted.clone() })) };
    let served = serve(config(&database.uri()), Router::new().route("/", get(big)));
    let mut client = Client::connect(served.address);
    client.send("GET", "/own", &[]);
    client.wait();
    // sockets hold a few
    assert!(still(&made) < 64, "{made:?}");
    let response = client.receive(false);
    assert!(response.whole && response.body.len() == 256 << 20 && made.load(Ordering::Relaxed) == 256);
}

#[test]
fn a_request_is_taken_as_its_handler_reads_it() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let go_on = Arc::new(Notify::new());
    let waits = go_on.clone();
    let count = move |request: Request| async move {
        let mut body = request.into_body();
        let mut bytes = 0;
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            if bytes == 0 {
                waits.notified().await;
            }
            bytes += frame.unwrap().into_data().map_or(0, |data| data.len());
        }
        bytes.to_string()
    };
    let config = Config { client_body_max: 1 << 30, ..config(&database.uri()) };
    let served = serve(config, Router::new().route("/", post(count)));
    let mut client = Client::connect(served.address);
    let body = vec![b'x'; 256 << 20];
    client.send("POST", "/own", &[("content-length", &body.len().to_string())]);
    let (mut sent, mut before) = (0, usize::MAX);
    while sent != before {
        before = sent;
        sent += client.send_some(&body[sent..]);
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    assert!(sent < 64 << 20, "{sent}");
    go_on.notify_one();
    assert!(client.send_bytes(&body[sent..]));
    assert_eq!(client.receive(false).text(), body.len().to_string());
}

#[test]
fn a_body_has_the_bounds_of_a_body() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let read = |body: Bytes| async move { body.len().to_string() };
    let why = |request: Request<Body>| async move {
        match axum::body::to_bytes(request.into_body(), usize::MAX).await {
            Ok(bytes) => bytes.len().to_string(),
            Err(error) => error.to_string(),
        }
    };
    let ignore = || async { "nothing was read" };
    let config = Config {
        client_body_max: 100_000,
        client_stall_timeout: std::time::Duration::from_secs(1),
        ..config(&database.uri())
    };
    let router = Router::new().route("/", post(read)).route("/why", post(why)).route("/ignore", post(ignore));
    let served = serve(config, router);
    assert_eq!(served.send("POST", "/own", &[], vec![b'x'; 100_000]).text(), "100000");
    assert_eq!(served.send("POST", "/own", &[], vec![b'x'; 100_001]).status, 400);
    let too_large = served.send("POST", "/own/why", &[], vec![b'x'; 1_000_000]);
    assert_eq!(too_large.text(), "The body is larger than 100000 bytes (PGRST102)");
    // the client sends no more than a part
    let mut client = Client::connect(served.address);
    client.send("POST", "/own/why", &[("content-length", "10")]);
    client.send_bytes(b"12345");
    assert_eq!(client.receive(false).text(), "The body did not arrive in time (PGRST102)");
    // what is not read does no harm to what follows on the connection
    let mut client = Client::connect(served.address);
    for _ in 0..3 {
        let response = client.request_with("POST", "/own/ignore", &[], &vec![b'x'; 1 << 20]);
        assert_eq!(response.text(), "nothing was read");
    }
}

#[test]
fn a_handler_that_panics_harms_nobody_else() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    async fn panics() -> &'static str {
        panic!("on purpose")
    }
    struct Breaks(bool);
    impl thalweg_server::http_body::Body for Breaks {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            assert!(!std::mem::replace(&mut self.0, true), "on purpose");
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"begun")))))
        }
    }
    let breaks = || async { Response::new(Body::new(Breaks(false))) };
    let torn = || async { Response::new(Body::new(ClientTorn)) };
    struct ClientTorn;
    impl thalweg_server::http_body::Body for ClientTorn {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            Poll::Ready(Some(Err(std::io::Error::other("on purpose"))))
        }
    }
    let router = Router::new().route("/", get(panics)).route("/breaks", get(breaks)).route("/torn", get(torn));
    let served = serve(config(&database.uri()), router);
    let mut client = Client::connect(served.address);
    for _ in 0..3 {
        let response = client.request("GET", "/own", &[]);
        let said = json!({ "code": "TWG20", "details": null, "hint": null, "message": "The server could not answer." });
        assert_eq!((response.status, response.json()), (500, said));
    }
    for target in ["/own/breaks", "/own/torn"] {
        let mut client = Client::connect(served.address);
        client.send("GET", target, &[]);
        let (mut received, mut piece) = (Vec::new(), client.read_some(1024));
        while !piece.is_empty() {
            received.extend_from_slice(&piece);
            piece = client.read_some(1024);
        }
        // what ends in order has a last chunk
        assert!(!received.ends_with(b"0\r\n\r\n"), "{target}");
    }
    assert_eq!(client.request("GET", "/flights?select=id&limit=1", &[]).text(), r#"[{"id":1}]"#);
}

#[test]
fn a_handler_that_never_answers_ends_with_its_client() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    struct Noted(Arc<AtomicBool>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (begun, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (begins, noted) = (begun.clone(), dropped.clone());
    let never = move || async move {
        let _noted = Noted(noted.clone());
        begins.store(true, Ordering::Relaxed);
        pending::<()>().await;
    };
    let served = serve(config(&database.uri()), Router::new().route("/", get(never)));
    let mut client = Client::connect(served.address);
    client.send("GET", "/own", &[]);
    eventually("the handler begins", || begun.load(Ordering::Relaxed));
    assert!(!dropped.load(Ordering::Relaxed));
    drop(client);
    eventually("the handler ends", || dropped.load(Ordering::Relaxed));
}

/// A body is sent on as it comes, and rows come back so: nobody holds them.
#[test]
fn bodies_go_through_a_handler_to_the_api_and_back() {
    let database = Database::new(&format!("{SCHEMA}grant usage on schema api to test_reader;"));
    database.execute(&format!("{GRANTS}grant insert on api.words to test_reader;"));
    let upload = |api: Api, request: Request| async move {
        api.post("/words").header("content-type", "text/csv").stream(request.into_body()).await
    };
    let all = |api: Api| async move { api.get("/words").await };
    let held = |api: Api| async move { api.get("/words").await?.bytes().await.map(|bytes| bytes.len().to_string()) };
    let router = Router::new().route("/", post(upload).get(all)).route("/held", get(held));
    let served = serve(config(&database.uri()), router);
    let row = format!("{}\n", "x".repeat(99));
    let body = format!("word\n{}", row.repeat(300_000));
    assert_eq!(served.send("POST", "/own", &[], &body).status, 201);
    assert_eq!(database.value("select count(*) from api.words"), "300000");
    let back = served.get("/own");
    assert!(back.whole);
    assert_eq!(back.body, served.get("/words").body);
    assert_eq!(served.get("/own/held").text(), back.body.len().to_string());
    database.execute("insert into api.words select repeat('y', 1000) from generate_series(1, 40000)");
    let refused = served.get("/own/held");
    assert_eq!((refused.status, refused.json()["code"].as_str()), (500, Some("TWG21")));
}

#[test]
fn the_api_is_there_without_a_request() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder(config(&database.uri())).start().await.unwrap();
        server.loaded().await.unwrap();
        let api = server.api();
        let flights: Value = api.get("/flights?select=id&order=id").await.unwrap().json().await.unwrap();
        assert_eq!(flights, json!([{ "id": 1 }, { "id": 2 }]));
        let counted = api.call(Method::HEAD, "/flights").header("prefer", "count=exact").await.unwrap();
        assert_eq!(
            (counted.status(), &counted.headers()["content-range"]),
            (StatusCode::OK, &"0-1/2".parse().unwrap())
        );
        assert_eq!(api.post("/flights").body("{}").await.unwrap_err().status(), StatusCode::UNAUTHORIZED);
    });
}

#[test]
fn templates_have_functions_and_filters_of_the_program() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let page = "+++\nflights = \"/flights?order=id\"\n+++\n\
                {% for flight in flights %}{{ flight.title|shout }} {{ twice(flight.km) }} {% endfor %}{{ plain('<i>') }}";
    let whole =
        "+++\nflights = \"/flights?order=id\"\n+++\n{% for flight in flights %}{{ names(flight) }} {% endfor %}";
    let panics = "{{ 1|panics }}";
    let folder = site(&[("index.html", page), ("whole.html", whole), ("panics.html", panics), ("own.html", "never")]);
    let server = Server::builder(with_pages(config(&database.uri()), folder.path()))
        .filter("shout", |text: String| text.to_uppercase())
        .filter("panics", |_: i64| -> i64 { panic!("on purpose") })
        .function("twice", |km: i64| 2 * km)
        .function("plain", |text: String| text)
        .function(
            "names",
            |row: thalweg_server::minijinja::Value| -> Result<String, thalweg_server::minijinja::Error> {
                Ok(row.try_iter()?.map(|name| name.to_string()).collect::<Vec<_>>().join("+"))
            },
        );
    let served = Served::of_builder(server);
    let said = |target: &str| served.get(target).text().to_owned();
    assert_eq!(said("/"), "FIRST 20 &lt;B&gt;SECOND&lt;/B&gt; 40 &lt;i&gt;");
    assert_eq!(said("/whole"), "id+title+pilot+km+track id+title+pilot+km+track ");
    let failed = served.get("/panics");
    assert_eq!(failed.status, 500);
    assert!(failed.text().contains("TWG09") && !failed.text().contains("on purpose"), "{}", failed.text());
    // what a function is given is fetched, and nothing else: the track is no column that the role may read
    database.execute(
        "revoke select on api.flights from test_reader; grant select (id, title, km) on api.flights to test_reader;",
    );
    assert_eq!(said("/"), "FIRST 20 &lt;B&gt;SECOND&lt;/B&gt; 40 &lt;i&gt;");
    assert!(served.get("/whole").status >= 400);
}

/// A service by hand, without axum.
#[derive(Clone)]
struct ByHand;

impl thalweg_server::tower_service::Service<thalweg_server::hyper::Request<ClientBody>> for ByHand {
    type Response = thalweg_server::hyper::Response<String>;
    type Error = String;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, String>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: thalweg_server::hyper::Request<ClientBody>) -> Self::Future {
        Box::pin(async move {
            let api = request.extensions().get::<Api>().cloned().ok_or("no API")?;
            let flights = api.get("/flights?select=id&order=id").await.map_err(|failure| failure.to_string())?;
            let flights = flights.bytes().await.map_err(|failure| failure.to_string())?;
            match request.uri().path() {
                "/" => Ok(Self::Response::new(String::from_utf8_lossy(&flights).into_owned())),
                path => Err(format!("nothing is at {path}")),
            }
        })
    }
}

#[test]
fn any_service_answers_and_its_error_is_one() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::of_builder(Server::builder(config(&database.uri())).routes("/own", ByHand));
    assert_eq!(served.get("/own").json(), json!([{ "id": 1 }, { "id": 2 }]));
    let failed = served.get("/own/elsewhere");
    assert_eq!((failed.status, failed.json()["code"].as_str()), (500, Some("TWG20")));
    assert!(!failed.text().contains("elsewhere"));
}
