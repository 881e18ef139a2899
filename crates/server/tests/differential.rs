//! The requests of `cases/differential/` beside what PostgREST 12.0.2 answers to them: every difference is listed there
//! with its reason, and every difference that is listed is one.
//!
//! The answers are recorded. `THALWEG_POSTGREST=<its binary> cargo test -p thalweg-server differential` asks it again,
//! on the same database, and records them anew.

use crate::served::{GRANTS, Served, config};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thalweg_server::{Config, OpenApiMode};
use thalweg_testkit::{Client, Database, Response};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/differential");

/// The headers that are compared.
const HEADERS: [&str; 15] = [
    "content-type",
    "content-range",
    "content-location",
    "content-profile",
    "preference-applied",
    "allow",
    "access-control-allow-origin",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-max-age",
    "access-control-expose-headers",
    "cache-control",
    "set-cookie",
    "x-one",
    "x-fog",
];

/// The version of PostgreSQL that the recorded messages are from.
const RECORDED_WITH: &str = "15";

const MORE_GRANTS: &str = "
    grant usage on schema second to test_reader;
    grant select on all tables in schema second to test_reader;
    grant insert on api.no_rows to test_reader;
    analyze;
";

#[test]
fn answers_differ_only_where_it_is_said() {
    let schema = fs::read_to_string(file("schema.sql")).unwrap();
    let database = Database::new(&format!("{schema}{GRANTS}{MORE_GRANTS}"));
    let requests = requests();
    assert!(requests.len() >= 400);
    if let Some(binary) = std::env::var_os("THALWEG_POSTGREST") {
        record(&requests, Path::new(&binary), &database.uri());
    }
    let recorded: BTreeMap<String, Answer> =
        serde_json::from_str(&fs::read_to_string(file("answers.json")).unwrap()).unwrap();
    let served = Served::start(Config {
        db_schemas: vec!["api".to_owned(), "second".to_owned()],
        db_extra_search_path: vec!["public".to_owned(), "extra".to_owned()],
        db_aggregates_enabled: true,
        db_plan_enabled: true,
        openapi_mode: OpenApiMode::IgnorePrivileges,
        ..config(&database.uri())
    });
    let messages_are_theirs = database.value("show server_version").starts_with(RECORDED_WITH);
    let listed = differences();
    let (mut unlisted, mut vanished) = (String::new(), String::new());
    for request in &requests {
        let theirs = recorded.get(request).unwrap_or_else(|| panic!("no answer is recorded to {request}"));
        let ours = Answer::of(&ask(served.address, request));
        let differences = theirs.differences(&ours, messages_are_theirs);
        match (differences.is_empty(), listed.contains_key(request)) {
            (false, false) => _ = writeln!(unlisted, "{request}\n{differences}"),
            // in another version the message may not differ
            (true, true) if messages_are_theirs => _ = writeln!(vanished, "{request}"),
            _ => {}
        }
    }
    for request in listed.keys().filter(|listed| !requests.contains(listed)) {
        let _ = writeln!(vanished, "not asked at all: {request}");
    }
    assert!(unlisted.is_empty(), "differences that are not listed:\n{unlisted}");
    assert!(vanished.is_empty(), "differences that are listed and are none:\n{vanished}");
}

fn file(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn requests() -> Vec<String> {
    let text = fs::read_to_string(file("requests.txt")).unwrap();
    text.lines().filter(|line| line.contains(" /") && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The requests that may be answered differently, with the reason that stands above them.
fn differences() -> BTreeMap<String, String> {
    let mut reason = String::new();
    let mut listed = BTreeMap::new();
    for line in fs::read_to_string(file("differences.txt")).unwrap().lines() {
        match line.strip_prefix("## ") {
            Some(text) => reason = text.to_owned(),
            None if !line.is_empty() && !line.starts_with('#') => {
                assert!(!reason.is_empty(), "{line} has no reason");
                listed.insert(line.to_owned(), reason.clone());
            }
            None => {}
        }
    }
    listed
}

/// What is compared of an answer.
#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answer {
    fn of(response: &Response) -> Self {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in response.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
            let all = headers.entry(name.clone()).or_default();
            *all = if all.is_empty() { value.clone() } else { format!("{all} | {value}") };
        }
        Self { status: response.status, headers, body: String::from_utf8_lossy(&response.body).into_owned() }
    }

    fn differences(&self, ours: &Self, messages_are_theirs: bool) -> String {
        let mut found = String::new();
        if self.status != ours.status {
            let _ = writeln!(found, "  status: {} ≠ {}", self.status, ours.status);
        }
        let (theirs_body, ours_body) =
            (comparable(&self.body, messages_are_theirs), comparable(&ours.body, messages_are_theirs));
        if theirs_body != ours_body {
            let _ = writeln!(found, "  body: {}\n      ≠ {}", self.body, ours.body);
        }
        for name in HEADERS {
            let (theirs, ours) = (self.headers.get(name), ours.headers.get(name));
            if theirs != ours {
                let _ = writeln!(found, "  {name}: {theirs:?} ≠ {ours:?}");
            }
        }
        found
    }
}

/// A body without what may differ in every answer: white space outside strings, the free text in the details of a
/// syntax error, and the words of another version of PostgreSQL.
fn comparable(body: &str, messages_are_theirs: bool) -> String {
    if let Ok(serde_json::Value::Object(mut error)) = serde_json::from_str(body)
        && let Some(code) = error.get("code").and_then(|code| code.as_str()).map(str::to_owned)
    {
        if code == "PGRST100" {
            error.remove("details");
        }
        if !code.starts_with("PGRST") && !messages_are_theirs {
            ["message", "details", "hint"].iter().for_each(|key| _ = error.remove(*key));
        }
        return serde_json::Value::Object(error).to_string();
    }
    if !body.starts_with(['[', '{']) {
        return body.to_owned();
    }
    let (mut out, mut in_string, mut escaped) = (String::new(), false, false);
    for c in body.chars() {
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
        if in_string || !c.is_whitespace() {
            out.push(c);
        }
    }
    out
}

fn ask(address: SocketAddr, request: &str) -> Response {
    let mut parts = request.split("||");
    let (method, target) = parts.next().and_then(|line| line.split_once(' ')).unwrap();
    let headers: Vec<(&str, &str)> = parts.filter_map(|header| header.split_once(": ")).collect();
    let mut escaped = String::new();
    for byte in target.bytes() {
        match byte {
            b' ' | 0x80.. => _ = write!(escaped, "%{byte:02X}"),
            _ => escaped.push(char::from(byte)),
        }
    }
    Client::connect(address).request(method, &escaped, &headers)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn record(requests: &[String], binary: &Path, uri: &str) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let settings = [
        ("DB_URI", uri.to_owned()),
        ("DB_SCHEMAS", "api, second".to_owned()),
        ("DB_EXTRA_SEARCH_PATH", "public, extra".to_owned()),
        ("DB_ANON_ROLE", crate::served::ROLE.to_owned()),
        ("DB_AGGREGATES_ENABLED", "true".to_owned()),
        ("DB_PLAN_ENABLED", "true".to_owned()),
        ("OPENAPI_MODE", "ignore-privileges".to_owned()),
        ("SERVER_HOST", "127.0.0.1".to_owned()),
        ("SERVER_PORT", port.to_string()),
    ];
    let process = Command::new(binary)
        .envs(settings.map(|(name, value)| (format!("PGRST_{name}"), value)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _running = Running(process.expect("PostgREST starts"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(address).is_err() || ask(address, "GET /projects").status != 200 {
        assert!(Instant::now() < deadline, "PostgREST answers");
        std::thread::sleep(Duration::from_millis(50));
    }
    let answers: BTreeMap<&String, Answer> =
        requests.iter().map(|request| (request, Answer::of(&ask(address, request)))).collect();
    fs::write(file("answers.json"), serde_json::to_string_pretty(&answers).unwrap() + "\n").unwrap();
}
