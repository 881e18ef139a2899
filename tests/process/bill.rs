//! What requests cost, as the server for operators tells it.

use crate::program::{Directory, Program, eventually};
use crate::sites::{ON_ANY_PORT, new_site};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use thalweg_testkit::{Browser, Client, Database};

const ANY_PORT: (&str, &str) = ("THALWEG_ADMIN_SERVER_PORT", "0");
const SCHEMA: &str = "create schema api; create schema more; create table api.t as select i as id from generate_series(1, 3) i;
                      create table more.t as select 1 as id;
                      create function api.twice(n int) returns int language sql as 'select 2 * n';
                      create view api.large as select i as id, repeat('x', 1000) as text from generate_series(1, 20000) i;
                      create view api.slow as select 1 as id, pg_sleep(0.3)::text as s;";

/// Where the server for operators listens.
fn admin(program: &mut Program) -> SocketAddr {
    program.line("Admin server listening on ").rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn ask(admin: SocketAddr, target: &str) -> Value {
    let response = Client::connect(admin).request("GET", target, &[]);
    assert_eq!(response.status, 200, "{target}: {}", response.text());
    response.json()
}

/// The routes by name.
fn routes(admin: SocketAddr) -> Vec<(String, Value)> {
    let routes = ask(admin, "/admin/bill/routes")["routes"].take();
    let named = |route: &Value| (route["route"].as_str().unwrap().to_owned(), route.clone());
    let mut routes: Vec<_> = routes.as_array().unwrap().iter().map(named).collect();
    routes.sort_by(|one, other| one.0.cmp(&other.0));
    routes
}

fn worst(admin: SocketAddr, route: &str) -> Value {
    let name: String = route.bytes().map(|byte| format!("%{byte:02x}")).collect();
    ask(admin, &format!("/admin/bill/route?name={name}"))
}

#[test]
fn a_request_is_billed_to_what_it_asks_for() {
    let database = Database::new(SCHEMA);
    let more = [ANY_PORT, ("PGRST_DB_SCHEMAS", "api, more")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let admin = admin(&mut program);
    let address = program.address();
    let mut client = Client::connect(address);
    eventually("it is ready", || Client::connect(address).request("GET", "/t", &[]).status == 200);
    let before = routes(admin).into_iter().find(|(name, _)| name == "GET /t").unwrap().1;
    for (method, target, headers, status) in [
        ("GET", "/t?id=gt.1", &[][..], 200),
        // the same, written otherwise
        ("GET", "/%74", &[], 200),
        ("GET", "/t?nothing=eq.1", &[], 400),
        ("GET", "/t", &[("accept-profile", "more")], 200),
        ("GET", "/rpc/twice?n=4", &[], 200),
        ("HEAD", "/t", &[], 200),
        ("OPTIONS", "/t", &[], 200),
        ("GET", "/", &[], 200),
        ("GET", "/nothing-there", &[], 404),
        ("GET", "/rpc/nothing-there", &[], 404),
        ("BREW", "/t", &[], 405),
    ] {
        let response = client.request(method, target, headers);
        assert_eq!(response.status, status, "{method} {target}: {}", response.text());
    }
    let routes = routes(admin);
    let names: Vec<_> = routes.iter().map(|(name, _)| &**name).collect();
    let expected = ["(unmatched)", "GET /", "GET /rpc/twice", "GET /t", "GET /t of more", "HEAD /t", "OPTIONS /t"];
    assert_eq!(names, expected);
    let of = |wanted: &str| &routes.iter().find(|(name, _)| name == wanted).unwrap().1;
    assert_eq!(of("GET /t")["requests"].as_u64().unwrap() - before["requests"].as_u64().unwrap(), 3);
    assert_eq!(of("(unmatched)")["requests"].as_u64().unwrap(), 3);
    assert!(routes.iter().all(|(_, route)| route["in_flight"] == 0));
}

#[test]
fn a_bill_says_what_the_database_did() {
    let database = Database::new(SCHEMA);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    let address = program.address();
    let mut client = Client::connect(address);
    eventually("it is ready", || Client::connect(address).request("GET", "/rpc/twice?n=1", &[]).status == 200);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let answered = client.request("GET", "/t?id=gt.1", &[("traceparent", trace)]);
    let route = worst(admin, "GET /t");
    let bill = &route["worst"][0];
    assert_eq!((&bill["status"], &bill["trace"], &bill["rows"]), (&200.into(), &trace.into(), &2.into()), "{bill}");
    assert_eq!(bill["bytes_out"], answered.body.len());
    assert_eq!(bill["counts"]["round_trips"], 1);
    assert!(bill["counts"]["statements"].as_u64().unwrap() >= 1, "{bill}");
    assert!(bill["counts"]["postgresql_bytes"].as_u64().unwrap() > 20, "{bill}");
    assert!(bill["allocations"].as_u64().unwrap() > 0 && bill["peak_bytes"].as_u64().unwrap() > 0, "{bill}");
    assert!(["plan", "transaction"].iter().all(|stage| bill["stages_ms"][stage].as_f64() > Some(0.0)), "{bill}");
    let shapes = route["shapes"].to_string();
    assert!(shapes.contains("FROM \\\"api\\\".\\\"t\\\"") && shapes.contains("$1"), "{shapes}");

    // a body whose length its head does not say is counted as it comes
    let mut chunks = TcpStream::connect(address).unwrap();
    let head = "POST /t HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
    write!(chunks, "{head}\r\n\r\n4\r\n[{{\"i\r\n7\r\nd\": 4}}]\r\n0\r\n\r\n").unwrap();
    let mut answer = String::new();
    chunks.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(worst(admin, "POST /t")["worst"][0]["bytes_in"], 11);

    // time in the database is a wait for it, and it is under way as what it asks for
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| client.request("GET", "/slow", &[]).status);
        let is_under_way = |(name, of): &(String, Value)| name == "GET /slow" && of["in_flight"] == 1;
        eventually("it is under way", || routes(admin).iter().any(is_under_way));
        assert_eq!(asking.join().unwrap(), 200);
    });
    let bill = worst(admin, "GET /slow")["worst"][0].take();
    let ms = |value: &Value| value.as_f64().unwrap();
    assert!(ms(&bill["waits"]["database_ms"]) > 290.0 && ms(&bill["cpu_ms"]) < 100.0, "{bill}");

    // counted to the last byte, and of a client that leaves as far as it came
    let answered = client.request("GET", "/large", &[]);
    let bill = worst(admin, "GET /large")["worst"][0].take();
    assert_eq!((&bill["bytes_out"], &bill["rows"]), (&answered.body.len().into(), &20_000.into()), "{bill}");
    assert!(bill["counts"]["postgresql_bytes"].as_u64().unwrap() > 20_000_000, "{bill}");
    let mut leaving = Client::connect(address);
    leaving.send("GET", "/large", &[]);
    leaving.read_some(100_000);
    drop(leaving);
    eventually("it is billed too", || worst(admin, "GET /large")["requests"] == 2);
    assert_eq!(worst(admin, "GET /large")["in_flight"], 0);
    let rows =
        worst(admin, "GET /large")["worst"].as_array().unwrap().iter().map(|bill| bill["rows"].as_u64().unwrap()).min();
    assert!((1..20_000).contains(&rows.unwrap()), "{rows:?}");
}

#[test]
fn pages_are_known_by_their_templates() {
    let directory = Directory::new("billed");
    let site = new_site(&directory);
    let mut program = Program::start(
        &["serve", site.to_str().unwrap()],
        &[ON_ANY_PORT, ANY_PORT, ("THALWEG_ADMIN_SERVER_ALLOWED_HOSTS", "test")],
    );
    let admin = admin(&mut program);
    let mut client = Client::connect(program.address());
    for target in ["/books/1", "/books/2", "/books/9", "/api/books", "/static/nothing", "/nothing"] {
        client.request("GET", target, &[]);
    }
    let names: Vec<_> = routes(admin).into_iter().map(|(name, route)| (name, route["requests"].as_u64())).collect();
    let expected = [("(unmatched)", 1), ("GET /api/books", 1), ("GET /static/", 1), ("GET books/[id].html", 3)];
    assert_eq!(names, expected.map(|(name, requests)| (name.to_owned(), Some(requests))));
    let page = worst(admin, "GET books/[id].html");
    assert!(page["shapes"].to_string().contains("$1"), "{}", page["shapes"]);
    assert_eq!(page["worst"][0]["counts"]["round_trips"], 1);
}

#[test]
fn a_route_s_page_shows_what_it_asks_the_database() {
    let Some(mut browser) = Browser::start() else { return };
    // a name that would be more than a name
    let schema = r#"create schema api; create table api."<img src=x>" as select i as id from generate_series(1, 3) i;"#;
    let database = Database::new(schema);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    let address = program.address();
    let target = "/%3Cimg%20src=x%3E?id=gt.1";
    eventually("it is ready", || Client::connect(address).request("GET", target, &[]).status == 200);
    browser.open(&format!("http://{admin}/admin/bill/"));
    browser.wait_for("document.querySelector('#routes a[href*=img]')");
    browser.click("#routes a[href*=img]");
    browser.wait_for("document.querySelector('#route pre')");
    let shape = "[...document.querySelectorAll('#route pre')].map(shape => shape.textContent).join()";
    let shape = browser.evaluate(shape);
    let shape = shape.as_str().unwrap();
    assert!(shape.contains(r#"FROM "api"."<img src=x>""#) && shape.contains("$1"), "{shape}");
    assert_eq!(browser.evaluate("document.querySelectorAll('#route img').length"), 0);
    browser.click("#route > div > details summary");
    let shown = browser.text();
    assert_eq!(shown.matches("round trips").count(), 2, "of the route and of its worst request: {shown}");
    assert!(shown.contains("statements") && shown.contains("postgresql bytes"), "{shown}");
}

#[test]
fn the_bill_is_for_operators_only() {
    let database = Database::new(SCHEMA);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    let address = program.address();
    let mut client = Client::connect(address);
    eventually("it is ready", || Client::connect(address).request("GET", "/t", &[]).status == 200);
    for path in ["/admin/bill", "/admin/bill/", "/admin/bill/routes", "/findings"] {
        assert_eq!(client.request("GET", path, &[]).status, 404, "{path}");
    }
    let mut operator = Client::connect(admin);
    let sent_on = operator.request("GET", "/admin/bill", &[]);
    assert_eq!((sent_on.status, sent_on.header("location")), (308, Some("bill/")));
    let page = operator.request("GET", "/admin/bill/", &[]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(operator.request("GET", "/findings", &[]).json(), ask(admin, "/admin/bill/findings"));
    for path in ["/admin", "/admin/billing", "/admin/bill/nothing", "/routes"] {
        assert_eq!(operator.request("GET", path, &[]).status, 404, "{path}");
    }
    for of in ["cpu&seconds=1", "allocated"] {
        let graph = operator.request("GET", &format!("/admin/bill/flame?as=folded&of={of}"), &[]);
        assert_eq!(graph.status, 200, "{of}: {}", graph.text());
    }
}

#[test]
fn a_collector_is_told_where_one_is_named() {
    let database = Database::new(SCHEMA);
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let more = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_METRIC_EXPORT_INTERVAL", "200")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let address = program.address();
    eventually("it is ready", || Client::connect(address).request("GET", "/t", &[]).status == 200);
    // what it is told is read here as it comes, and taken
    let told = (0..200).find_map(|_| {
        let (mut stream, _) = collector.accept().unwrap();
        let mut told = Vec::new();
        let mut piece = [0; 65536];
        while !(told.ends_with(b"]}]}") || told.ends_with(b"}]}]}")) {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                bytes => told.extend_from_slice(&piece[..bytes]),
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        let told = String::from_utf8(told).unwrap();
        told.contains("\"http.route\"").then_some(told)
    });
    let told = told.expect("no route was told");
    assert!(told.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{told}");
    let body: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["resourceMetrics"][0]["resource"]["attributes"][0]["value"]["stringValue"], "thalweg");
    assert!(told.contains("\"stringValue\":\"/t\"") && told.contains("postgresql_bytes"), "{told}");
}
