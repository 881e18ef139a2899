//! The requests of `cases/differential/` beside what PostgREST 12.0.2 answers to them: every difference is listed there
//! with its reason, and every difference that is listed is one.
//!
//! The answers are recorded. `THALWEG_POSTGREST=<its binary> cargo test -p thalweg-server differential` asks it again,
//! on the same database, and records them anew.

use crate::served::{GRANTS, Served};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thalweg_server::Sources;
use thalweg_testkit::{Client, Database, Response};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/differential");

/// The headers that are compared.
const HEADERS: [&str; 17] = [
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
    "www-authenticate",
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
    /// Where its requests, its settings, the answers and the differences are.
    directory: &'static str,
    /// Where its schema is, and its tokens if there are any.
    database: &'static str,
    grants: &'static [&'static str],
    /// Whom the server connects as, unless it is the superuser.
    login: Option<&'static str>,
    requests_min: usize,
    /// Whether every request starts from the same rows, and leaves some that are compared too.
    writes: bool,
    /// What is answered once the server is ready.
    ready: &'static str,
}

#[test]
fn answers_differ_only_where_it_is_said() {
    Suite {
        directory: "",
        database: "",
        grants: &[GRANTS, MORE_GRANTS],
        login: None,
        requests_min: 700,
        writes: false,
        ready: "GET /projects",
    }
    .compare();
}

#[test]
fn writes_differ_only_where_it_is_said() {
    Suite {
        directory: "writing",
        database: "writing",
        grants: &[GRANTS, WRITING_GRANTS],
        login: None,
        requests_min: 500,
        writes: true,
        ready: "GET /projects",
    }
    .compare();
}

#[test]
fn what_is_answered_to_whom_differs_only_where_it_is_said() {
    identity("identity", 550, "GET /pilots||Authorization: Bearer {pilot}").compare();
}

#[test]
fn keys_of_every_kind_differ_only_where_it_is_said() {
    identity("identity/keys", 80, "GET /pilots||Authorization: Bearer {rsa-rs256}").compare();
}

#[test]
fn a_secret_of_bytes_differs_only_where_it_is_said() {
    identity("identity/path", 16, "GET /pilots||Authorization: Bearer {path-pilot}").compare();
}

/// Requests with tokens.
const fn identity(directory: &'static str, requests_min: usize, ready: &'static str) -> Suite {
    let login = Some("id_gate");
    Suite { directory, database: "identity", grants: &[], login, requests_min, writes: true, ready }
}

impl Suite {
    fn compare(&self) {
        let schema = fs::read_to_string(self.beside_schema("schema.sql")).unwrap();
        let database = Database::new(&(schema + &self.grants.concat()));
        let requests = self.requests();
        assert!(requests.len() >= self.requests_min);
        if let Some(binary) = std::env::var_os("THALWEG_POSTGREST") {
            self.record(&requests, Path::new(&binary), &database);
        }
        let recorded: BTreeMap<String, Answer> =
            serde_json::from_str(&fs::read_to_string(self.file("answers.json")).unwrap()).unwrap();
        let sources = Sources::new(Some(&self.file("settings.conf")), self.environment(&database, 0).into_iter());
        let served = Served::start(sources.read().expect("the settings can be read"));
        let messages_are_theirs = database.value("show server_version").starts_with(RECORDED_WITH);
        let listed = self.differences();
        let (mut unlisted, mut vanished) = (String::new(), String::new());
        for (request, ours) in self.ask_all(&requests, served.address, &database) {
            let theirs = recorded.get(request).unwrap_or_else(|| panic!("no answer is recorded to {request}"));
            let differences = theirs.differences(&ours, messages_are_theirs);
            if let Some(Some(said)) = listed.get(request).filter(|_| messages_are_theirs)
                && *said != ours.summary()
            {
                let _ = writeln!(unlisted, "{request}\n→ {said}\n≠ {}", ours.summary());
            }
            match (differences.is_empty(), listed.contains_key(request)) {
                (false, false) => _ = writeln!(unlisted, "{request}\n→ {}\n{differences}", ours.summary()),
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
        let tokens = self.tokens();
        let answer = |request: &'r String| {
            let mut answer = Answer::of(&ask(address, &with_tokens(request, &tokens)));
            // what others do is seen to have left nothing at the end
            if ["GET ", "HEAD ", "OPTIONS "].iter().any(|method| request.starts_with(method)) {
                return (request, answer);
            }
            let left = rows();
            if left != start {
                answer.left = changes(&start, &left);
            }
            // sequences go on although nothing is left
            if self.writes && (left != start || request.starts_with("POST ")) {
                database.execute("call reset()");
            }
            (request, answer)
        };
        let answers = requests.iter().map(answer).collect();
        assert!(rows() == start, "a request that reads has written");
        answers
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(DIRECTORY).join(self.directory).join(name)
    }

    fn beside_schema(&self, name: &str) -> PathBuf {
        Path::new(DIRECTORY).join(self.database).join(name)
    }

    /// What settings.conf does not say.
    fn environment(&self, database: &Database, port: u16) -> Vec<(String, String)> {
        let mut uri = database.uri();
        if let (Some(login), Some(at)) = (self.login, uri.find('@')) {
            uri = format!("postgresql://{login}:{login}{}", &uri[at..]);
        }
        let settings = [("DB_URI", uri), ("SERVER_HOST", "127.0.0.1".to_owned()), ("SERVER_PORT", port.to_string())];
        settings.map(|(name, value)| (format!("PGRST_{name}"), value)).to_vec()
    }

    /// What stands for `{name}` in the headers of requests.
    fn tokens(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.beside_schema("tokens.txt")).unwrap_or_default();
        let named = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
        named.map(|(name, token)| (format!("{{{name}}}"), token.to_owned())).collect()
    }

    fn requests(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("requests.txt")).unwrap();
        text.lines().filter(|line| line.contains(" /") && !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// The requests that may be answered differently below the reason for it, each with the answer that is right if it
    /// is said on the line below.
    fn differences(&self) -> BTreeMap<String, Option<String>> {
        let (mut has_reason, mut last) = (false, String::new());
        let mut listed = BTreeMap::new();
        for line in fs::read_to_string(self.file("differences.txt")).unwrap().lines() {
            if let Some(said) = line.strip_prefix("→ ") {
                listed.insert(last.clone(), Some(said.to_owned()));
            } else if line.starts_with("## ") {
                has_reason = true;
            } else if !line.is_empty() && !line.starts_with('#') {
                assert!(has_reason, "{line} has no reason");
                line.clone_into(&mut last);
                listed.insert(last.clone(), None);
            }
        }
        listed
    }

    fn record(&self, requests: &[String], binary: &Path, database: &Database) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let process = Command::new(binary)
            .arg(self.file("settings.conf"))
            .envs(self.environment(database, port))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let _running = Running(process.expect("PostgREST starts"));
        let deadline = Instant::now() + Duration::from_secs(20);
        let ready = with_tokens(self.ready, &self.tokens());
        while TcpStream::connect(address).is_err() || ask(address, &ready).status != 200 {
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

    /// The status, and what the body says on one line.
    fn summary(&self) -> String {
        let Self { status, body, .. } = self;
        match serde_json::from_str::<serde_json::Value>(body) {
            Ok(error) if error.get("message").is_some() => {
                format!(
                    "{status} {} {}",
                    error["code"].as_str().unwrap_or_default(),
                    error["message"].as_str().unwrap_or_default()
                )
            }
            _ => format!("{status} {}", body.replace('\n', "⏎")).trim_end().to_owned(),
        }
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
            // Theirs is encoded again, ours as it was sent (docs/differences.md). Both name the same resource.
            let is_location = name == "content-location";
            let are_equal = is_location && theirs.map(|url| decoded(url)) == ours.map(|url| decoded(url));
            if theirs != ours && !are_equal {
                let _ = writeln!(found, "  {name}: {theirs:?} ≠ {ours:?}");
            }
        }
        found
    }
}

/// A URL without the encoding of its query.
fn decoded(url: &str) -> Vec<u8> {
    let (bytes, mut at) = (url.as_bytes(), url.find('?').unwrap_or(url.len()));
    let mut out = bytes[..at].to_vec();
    while let Some(&byte) = bytes.get(at) {
        let hex = url.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        at += if hex.is_some() { 3 } else { 1 };
        out.push(hex.unwrap_or(if byte == b'+' { b' ' } else { byte }));
    }
    out
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

fn with_tokens(request: &str, tokens: &[(String, String)]) -> String {
    let (head, body) = request.split_once("|||").map_or((request, None), |(head, body)| (head, Some(body)));
    let head = tokens.iter().fold(head.to_owned(), |head, (name, token)| head.replace(name, token));
    assert!(!head.contains("Bearer {"), "{request} has no such token");
    body.map_or(head.clone(), |body| format!("{head}|||{body}"))
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
