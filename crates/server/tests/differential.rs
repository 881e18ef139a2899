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
const HEADERS: [&str; 16] = [
    "location",
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

const WRITING_GRANTS: &str = "
    grant usage on schema second to test_reader;
    grant select, insert, update, delete on all tables in schema api, second to test_reader;
    grant usage on all sequences in schema api to test_reader;
    revoke all on api.forbidden, api.readonly, api.writeonly, api.partly from test_reader;
    grant insert on api.writeonly to test_reader;
    grant select (id, seen), insert (id, seen), update (seen) on api.partly to test_reader;
    call reset();
    analyze;
";

/// Requests, and the database they are asked of.
struct Suite {
    directory: &'static str,
    grants: &'static str,
    requests_min: usize,
    /// Whether every request starts from the same rows, and leaves some that are compared too.
    writes: bool,
}

#[test]
fn answers_differ_only_where_it_is_said() {
    Suite { directory: "", grants: MORE_GRANTS, requests_min: 700, writes: false }.compare();
}

#[test]
fn writes_differ_only_where_it_is_said() {
    Suite { directory: "writing", grants: WRITING_GRANTS, requests_min: 500, writes: true }.compare();
}

impl Suite {
    fn compare(&self) {
        let schema = fs::read_to_string(self.file("schema.sql")).unwrap();
        let database = Database::new(&format!("{schema}{GRANTS}{}", self.grants));
        let requests = self.requests();
        assert!(requests.len() >= self.requests_min);
        if let Some(binary) = std::env::var_os("THALWEG_POSTGREST") {
            self.record(&requests, Path::new(&binary), &database);
        }
        let recorded: BTreeMap<String, Answer> =
            serde_json::from_str(&fs::read_to_string(self.file("answers.json")).unwrap()).unwrap();
        let served = Served::start(Config {
            db_schemas: vec!["api".to_owned(), "second".to_owned()],
            db_extra_search_path: vec!["public".to_owned(), "extra".to_owned()],
            db_aggregates_enabled: true,
            db_plan_enabled: true,
            db_tx_end_is_theirs: self.writes,
            openapi_mode: OpenApiMode::IgnorePrivileges,
            ..config(&database.uri())
        });
        let messages_are_theirs = database.value("show server_version").starts_with(RECORDED_WITH);
        let listed = self.differences();
        let (mut unlisted, mut vanished) = (String::new(), String::new());
        for (request, ours) in self.ask_all(&requests, served.address, &database) {
            let theirs = recorded.get(request).unwrap_or_else(|| panic!("no answer is recorded to {request}"));
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

    fn ask_all<'r>(
        &self,
        requests: &'r [String],
        address: SocketAddr,
        database: &Database,
    ) -> Vec<(&'r String, Answer)> {
        let rows = || if self.writes { database.query("select name, rows from everything()") } else { Vec::new() };
        let start = rows();
        let answer = |request: &'r String| {
            let mut answer = Answer::of(&ask(address, request));
            let left = rows();
            if left != start {
                answer.left = changes(&start, &left);
            }
            // sequences go on although nothing is left
            if self.writes && (left != start || request.contains("POST")) {
                database.execute("call reset()");
            }
            (request, answer)
        };
        requests.iter().map(answer).collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(DIRECTORY).join(self.directory).join(name)
    }

    fn requests(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("requests.txt")).unwrap();
        text.lines().filter(|line| line.contains(" /") && !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// The requests that may be answered differently, with the reason that stands above them.
    fn differences(&self) -> BTreeMap<String, String> {
        let mut reason = String::new();
        let mut listed = BTreeMap::new();
        for line in fs::read_to_string(self.file("differences.txt")).unwrap().lines() {
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

    fn record(&self, requests: &[String], binary: &Path, database: &Database) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let settings = [
            ("DB_URI", database.uri()),
            ("DB_SCHEMAS", "api, second".to_owned()),
            ("DB_EXTRA_SEARCH_PATH", "public, extra".to_owned()),
            ("DB_ANON_ROLE", crate::served::ROLE.to_owned()),
            ("DB_AGGREGATES_ENABLED", "true".to_owned()),
            ("DB_PLAN_ENABLED", "true".to_owned()),
            ("DB_TX_END", if self.writes { "commit-allow-override" } else { "commit" }.to_owned()),
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
        let answers: BTreeMap<&String, Answer> = self.ask_all(requests, address, database).into_iter().collect();
        fs::write(self.file("answers.json"), serde_json::to_string_pretty(&answers).unwrap() + "\n").unwrap();
    }
}

/// The tables of which the rows are others now, with their rows.
fn changes(start: &[Row], left: &[Row]) -> BTreeMap<String, String> {
    let changed = left.iter().filter(|table| !start.contains(table));
    let mut changed = changed.map(|table| table.iter().map(|value| value.clone().unwrap_or_default()));
    changed.by_ref().filter_map(|mut table| Some((table.next()?, table.next()?))).collect()
}

type Row = Vec<Option<String>>;

/// What is compared of an answer.
#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    /// What the tables hold that were changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    left: BTreeMap<String, String>,
}

impl Answer {
    fn of(response: &Response) -> Self {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in response.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
            let all = headers.entry(name.clone()).or_default();
            *all = if all.is_empty() { value.clone() } else { format!("{all} | {value}") };
        }
        let body = String::from_utf8_lossy(&response.body).into_owned();
        Self { status: response.status, headers, body, left: BTreeMap::new() }
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
        if self.left != ours.left {
            let _ = writeln!(found, "  left: {:?}\n      ≠ {:?}", self.left, ours.left);
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
    let (head, body) = request.split_once("|||").map_or((request, None), |(head, body)| (head, Some(body)));
    let mut parts = head.split("||");
    let (method, target) = parts.next().and_then(|line| line.split_once(' ')).unwrap();
    let headers: Vec<(&str, &str)> = parts.filter_map(|header| header.split_once(": ")).collect();
    let mut escaped = String::new();
    for byte in target.bytes() {
        match byte {
            b' ' | 0x80.. => _ = write!(escaped, "%{byte:02X}"),
            _ => escaped.push(char::from(byte)),
        }
    }
    let mut client = Client::connect(address);
    match body {
        Some(body) => client.request_with(method, &escaped, &headers, body.replace('⏎', "\n").as_bytes()),
        None => client.request(method, &escaped, &headers),
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
