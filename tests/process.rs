//! The real program, started as a user starts it.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use thalweg_testkit::{Client, Database};

const TIMEOUT: Duration = Duration::from_secs(120);

/// A running `thalweg` and the lines it has printed.
struct Program {
    process: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Program {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        // what the machine's user has set is no part of a test, but for where PostgreSQL is
        for (name, _) in std::env::vars() {
            let ours = name.starts_with("THALWEG_") && name != "THALWEG_POSTGRES" && name != "THALWEG_MAVEN_URL";
            if ours || name.starts_with("PGRST_") || name.starts_with("PG") {
                command.env_remove(name);
            }
        }
        command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(process.stdout.take().unwrap()), Box::new(process.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(output).lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
            });
        }
        Self { process, lines, seen: Vec::new() }
    }

    /// Serves the schema `api` of a database on any free port.
    fn serve(uri: &str) -> Self {
        let environment = [
            ("PGRST_DB_URI", uri),
            ("PGRST_DB_SCHEMAS", "api"),
            ("PGRST_DB_ANON_ROLE", "postgres"),
            ("PGRST_SERVER_PORT", "0"),
            ("PGRST_SERVER_HOST", "127.0.0.1"),
        ];
        Self::start(&["serve"], &environment)
    }

    /// Waits for a line with this in it. Lines come by two ways, so that it may have come before one that was waited for.
    fn line(&mut self, part: &str) -> String {
        if let Some(at) = self.seen.iter().position(|line| line.contains(part)) {
            return self.seen.remove(at);
        }
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => self.seen.push(line),
                Err(_) => panic!("no line with {part:?} in:\n{}", self.seen.join("\n")),
            }
        }
    }

    fn address(&mut self) -> SocketAddr {
        let line = self.line("listening on http://");
        self.line("Schema cache loaded");
        line.rsplit_once("http://").unwrap().1.parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).expect("the program runs");
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets the peak be measured from here on.
    fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").unwrap();
    }

    fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A directory of this test's, removed at its end. PostgreSQL's user must be able to enter it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-process-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn get(address: SocketAddr, target: &str) -> serde_json::Value {
    let response = Client::connect(address).request("GET", target, &[]);
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

fn runs(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

#[test]
fn the_demo_starts_stops_and_recovers() {
    let directory = Directory::new("demo");
    let arguments = ["demo", "--data-dir", directory.path(), "--port", "0", "--flights", "30"];
    let postmaster = || {
        let pid_file = directory.0.join("cluster/postmaster.pid");
        std::fs::read_to_string(pid_file).ok().and_then(|text| text.lines().next().map(str::to_owned))
    };

    let mut first = Program::start(&arguments, &[]);
    first.line("new cluster");
    first.line("30 flights");
    let address = first.address();
    assert_eq!(get(address, "/flights?select=id").as_array().unwrap().len(), 30);
    let flights = get(address, "/flights?select=id,pilots(name),tracks(fixes)&id=eq.10");
    assert!(flights[0]["tracks"]["fixes"].as_i64().unwrap() > 10_000, "{flights}");
    // another start on the same directory says who has it, and does no harm
    let mut second = Program::start(&arguments, &[]);
    second.line(&format!("in use by process {}", first.process.id()));
    assert_eq!(second.wait().code(), Some(1));
    assert_eq!(get(address, "/flights?select=id&limit=1").as_array().unwrap().len(), 1);
    // ctrl-C stops both
    let server = postmaster().unwrap();
    first.signal(Signal::SIGINT);
    assert!(first.wait().success());
    assert!(!runs(&server) && postmaster().is_none());

    let mut third = Program::start(&arguments, &[]);
    third.line("known cluster");
    let address = third.address();
    assert_eq!(get(address, "/flights?select=id").as_array().unwrap().len(), 30);
    third.signal(Signal::SIGKILL);
    third.wait();

    // whatever the killed one left behind is cleared up
    let mut fourth = Program::start(&arguments, &[]);
    fourth.line("known cluster");
    let address = fourth.address();
    assert_eq!(get(address, "/flights?select=id").as_array().unwrap().len(), 30);
    fourth.signal(Signal::SIGTERM);
    assert!(fourth.wait().success());

    let fresh = ["demo", "--data-dir", directory.path(), "--port", "0", "--flights", "3", "--fresh"];
    let mut fifth = Program::start(&fresh, &[]);
    fifth.line("new cluster");
    let address = fifth.address();
    assert_eq!(get(address, "/flights?select=id").as_array().unwrap().len(), 3);
    fifth.signal(Signal::SIGINT);
    assert!(fifth.wait().success());
}

#[test]
fn serve_without_a_database_serves_its_own() {
    let directory = Directory::new("own");
    let environment =
        [("PGRST_DB_ANON_ROLE", "postgres"), ("PGRST_SERVER_PORT", "0"), ("PGRST_SERVER_HOST", "127.0.0.1")];
    let mut program = Program::start(&["serve", "--data-dir", directory.path()], &environment);
    let address = program.address();
    let response = Client::connect(address).request("GET", "/nothing", &[]);
    assert_eq!((response.status, response.json()["code"].as_str()), (404, Some("PGRST205")));
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
}

#[test]
fn a_file_configures_and_signals_are_followed() {
    let database = Database::new("create schema api; create table api.t as select 1 as id;");
    let directory = Directory::new("file");
    let file = directory.0.join("thalweg.conf");
    let socket = directory.0.join("api.sock");
    std::fs::write(
        &file,
        format!(
            "# a PostgREST file\ndb-uri = \"{}\"\ndb-schemas = \"$(TEST_SCHEMA)\"\ndb-anon-role = \"nobody\"\n\
             server-unix-socket = \"{}\"\njwt-secret = \"x\"\nno-such-key = 1\nlog-level = \"info\"\n",
            database.uri(),
            socket.display()
        ),
    )
    .unwrap();
    let environment = [("TEST_SCHEMA", "api"), ("PGRST_DB_ANON_ROLE", "someone"), ("THALWEG_DB_ANON_ROLE", "postgres")];
    let mut program = Program::start(&["serve", file.to_str().unwrap()], &environment);
    program.line("jwt-secret has no effect yet");
    program.line("unknown configuration key no-such-key");
    program.line("listening on");
    program.line("Schema cache loaded");
    let ask = |target: &str| {
        let output =
            Command::new("curl").arg("-sS").arg("--unix-socket").arg(&socket).arg(format!("http://x{target}")).output();
        String::from_utf8(output.expect("curl runs").stdout).unwrap()
    };
    assert_eq!(ask("/t"), r#"[{"id":1}]"#);
    assert!(program.line("access").contains("method=\"GET\" path=\"/t\""));
    database.execute("create table api.new as select 2 as id");
    assert!(ask("/new").contains("PGRST205"));
    program.signal(Signal::SIGUSR1);
    program.line("Schema cache loaded");
    assert_eq!(ask("/new"), r#"[{"id":2}]"#);
    // what is not read again yet is said, and does not end the program
    database.execute("create table api.newer as select 3 as id");
    program.signal(Signal::SIGUSR2);
    program.line("reloading the configuration has no effect yet");
    program.line("Schema cache loaded");
    assert_eq!(ask("/newer"), r#"[{"id":3}]"#);
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
    assert!(!socket.exists());
}

#[test]
fn what_cannot_work_ends_with_a_word() {
    let database = Database::new("");
    let uri = database.uri();
    let wrong_password = uri.replacen("://postgres:", "://postgres:x", 1);
    for (arguments, environment, said) in [
        (vec!["serve", "/no/such/file"], vec![], "Error in config: /no/such/file"),
        (vec!["serve"], vec![("PGRST_DB_URI", "postgres://h?x=1")], "invalid connection option \"x\""),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_LOG_LEVEL", "loud")],
            "Error in config: PGRST_LOG_LEVEL = \"loud\": one of crit, error, warn, info, debug is needed",
        ),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("THALWEG_DB_POOL", "abc")],
            "Error in config: THALWEG_DB_POOL = \"abc\": a number from 1 to 10000 is needed",
        ),
        (vec!["serve"], vec![("PGRST_DB_URI", wrong_password.as_str())], "authentication failed"),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_SERVER_HOST", "203.0.113.1")],
            "cannot listen on 203.0.113.1",
        ),
        (vec!["nonsense"], vec![], "unrecognized subcommand"),
    ] {
        let mut program = Program::start(&arguments, &environment);
        program.line(said);
        assert!(!program.wait().success(), "{said}");
    }
}

#[test]
fn event_trigger_sql_is_printed_for_the_channel_of_the_configuration() {
    let mut program = Program::start(&["event-trigger-sql"], &[("PGRST_DB_CHANNEL", "the \"channel\"")]);
    program.line(r#"notify "the ""channel""", 'reload schema';"#);
    assert!(program.wait().success());
}

/// What a client sees as a reset, the log explains.
#[test]
fn cuts_are_logged_with_their_reason() {
    let database = Database::new(
        "create schema api;
         create view api.export as select generate_series(1, 2000000000) as id, repeat('x', 1000) as filler;",
    );
    let mut program = Program::serve(&database.uri());
    let mut client = TcpStream::connect(program.address()).unwrap();
    client.write_all(b"GET /export HTTP/1.0\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 100_000]).unwrap();
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'active' and pid <> pg_backend_pid()",
    );
    let end = client.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    let line = program.line("a response was cut");
    // a backend that is ended in the middle of a write goes without a word
    let reasons = ["terminating connection due to administrator command", "no connection to the server"];
    assert!(reasons.iter().any(|reason| line.contains(reason)), "{line}");
}

/// Requests in progress are finished when the program is told to stop.
#[test]
fn stopping_lets_requests_finish() {
    let database = Database::new("create schema api; create view api.slow as select 1 as id, pg_sleep(1)::text as s;");
    let environment = [
        ("PGRST_DB_URI", database.uri()),
        ("PGRST_DB_SCHEMAS", "api".to_owned()),
        ("PGRST_DB_ANON_ROLE", "postgres".to_owned()),
        ("PGRST_SERVER_PORT", "0".to_owned()),
        ("PGRST_SERVER_HOST", "127.0.0.1".to_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut program = Program::start(&["serve"], &environment);
    let mut client = Client::connect(program.address());
    client.send("GET", "/slow?select=id", &[]);
    std::thread::sleep(Duration::from_millis(300));
    program.signal(Signal::SIGTERM);
    let response = client.receive(false);
    assert_eq!((response.status, response.text()), (200, r#"[{"id":1}]"#));
    assert!(program.wait().success());
}

/// What a large export takes beyond what the program takes at rest.
#[test]
fn an_export_takes_little_memory() {
    const GROWTH_BYTES_MAX: u64 = 16 * 1024 * 1024;
    let database = Database::new(
        "create schema api;
         create view api.listens as select i as id, i % 59 as customer_id, i % 3503 as track_id, 'kitchen radio' as device,
           timestamptz '2024-01-01' + i * interval '13.37 s' as at, (i % 30000) / 100.0 as seconds, i % 7 = 0 as paid
         from generate_series(1, 2000000) i;
         create function api.all_listens() returns table (id int, device text) language sql stable
           as $$ select id, device from api.listens $$;
         create table api.customers as select i as id, 'customer ' || i as name from generate_series(1, 50000) i;
         create table api.plays as select i as id, i % 50000 + 1 as customer_id, 'kitchen radio' as device, i * 1.5 as seconds
           from generate_series(1, 1000000) i;
         alter table api.customers add primary key (id);
         alter table api.plays add primary key (id), add foreign key (customer_id) references api.customers;
         create index on api.plays (customer_id);
         analyze;",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/listens?limit=1");
    let rest = program.peak_bytes();
    for (path, accept) in [
        ("/listens", "application/json"),
        ("/listens", "text/csv"),
        ("/listens", "application/vnd.pgrst.array;nulls=stripped"),
        ("/rpc/all_listens", "application/json"),
        ("/customers?select=*,plays(*)", "application/json"),
        ("/plays?select=*,...customers(*)", "application/json"),
        ("/customers?select=*,...plays(id,device,seconds)", "application/json"),
    ] {
        let output = Command::new("curl")
            .args(["-sS", "-o", "/dev/null", "-w", "%{size_download} %{http_code}", "-H", &format!("Accept: {accept}")])
            .arg(format!("http://{address}{path}"))
            .output()
            .expect("curl runs");
        let text = String::from_utf8(output.stdout).unwrap();
        let (size, status) = text.split_once(' ').unwrap();
        assert_eq!(status, "200");
        assert!(size.parse::<u64>().unwrap() > 30_000_000, "{path}: {size}");
        // the kernel's figure is a little behind at times
        let growth = program.peak_bytes().saturating_sub(rest);
        println!("{path} as {accept}: {size} bytes took {} KiB above rest", growth / 1024);
        assert!(growth <= GROWTH_BYTES_MAX, "{path}: {growth} bytes above rest");
    }
}

/// A body that is made while it is sent: a head, rows, an end.
struct Sent<'a> {
    method: &'a str,
    target: &'a str,
    content_type: &'a str,
    head: Vec<u8>,
    piece: Vec<u8>,
    pieces: usize,
    end: Vec<u8>,
}

impl Sent<'_> {
    fn size_bytes(&self) -> usize {
        self.head.len() + self.piece.len() * self.pieces + self.end.len()
    }

    fn send(&self, address: SocketAddr) {
        let mut client = Client::connect(address);
        let length = self.size_bytes().to_string();
        client.send(self.method, self.target, &[("Content-Type", self.content_type), ("Content-Length", &length)]);
        assert!(client.send_bytes(&self.head));
        // what is sent at a time
        let at_once = (64 * 1024 / self.piece.len()).max(1);
        let block = self.piece.repeat(at_once);
        for _ in 0..self.pieces / at_once {
            assert!(client.send_bytes(&block), "{}: {}", self.target, client.receive(false).text());
        }
        client.send_bytes(&self.piece.repeat(self.pieces % at_once));
        client.send_bytes(&self.end);
        let response = client.receive(false);
        assert!([200, 201, 204].contains(&response.status), "{}: {}", self.target, response.text());
    }
}

/// What bodies take beyond what the program takes at rest: a value its own size, rows that flow next to nothing.
#[test]
fn bodies_take_little_memory() {
    const FLOWING_BYTES_MAX: u64 = 16 * 1024 * 1024;
    const BESIDE_A_VALUE_BYTES_MAX: u64 = 6_000_000;
    let database = Database::new(
        "create schema api;
         create unlogged table api.rows (id int, name text, note text);
         create unlogged table api.docs (id int primary key, doc jsonb, data bytea, t text);
         alter table api.docs alter column doc set storage external, alter column t set storage external;
         insert into api.docs values (0);
         create function api.size_of(t text) returns int language sql as 'select length(t)';",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/rows?limit=1");
    let rest = program.peak_bytes();
    let growth = |what: &str, growth_max: u64| {
        let growth = program.peak_bytes().saturating_sub(rest);
        println!("{what}: {} KiB above rest", growth / 1024);
        assert!(growth <= growth_max, "{what}: {growth} bytes above rest, at most {growth_max} wanted");
    };
    let bytes = |text: &str| text.as_bytes().to_vec();
    let object = r#"{"id":1,"name":"a small object","note":"quite short"}"#;
    for rows in [1_000, 10_000, 100_000, 2_000_000] {
        program.forget_peak();
        let piece = bytes(&format!(",{object}"));
        let head = bytes(&format!("[{object}"));
        let end = bytes("]");
        let json = "application/json";
        Sent { method: "POST", target: "/rows", content_type: json, head, piece, pieces: rows - 1, end }.send(address);
        growth(&format!("array of {rows} objects"), FLOWING_BYTES_MAX);
        assert_eq!(database.value("select count(*) from api.rows"), rows.to_string());
        database.execute("truncate api.rows");
    }
    let note = "x".repeat(950);
    let line = bytes(&format!("{{\"id\":1,\"name\":\"line\",\"note\":\"{note}\"}}\n"));
    let record = bytes(&format!("1,line,\"{note}\"\n"));
    for (content_type, head, piece) in
        [("application/x-ndjson", Vec::new(), line), ("text/csv", bytes("id,name,note\n"), record)]
    {
        program.forget_peak();
        let pieces = (1 << 30) / piece.len() + 1;
        let sent = Sent { method: "POST", target: "/rows", content_type, head, piece, pieces, end: Vec::new() };
        assert!(sent.size_bytes() >= 1 << 30);
        sent.send(address);
        growth(&format!("1 GiB as {content_type}"), FLOWING_BYTES_MAX);
        assert_eq!(database.value("select count(*) from api.rows"), pieces.to_string());
        database.execute("truncate api.rows");
    }
    for size in [1_000_000, 10_000_000, 50_000_000] {
        for (method, target, head, end) in [
            ("POST", "/docs", "{\"id\":1,\"t\":\"", "\"}"),
            ("POST", "/docs", "{\"id\":2,\"doc\":{\"key\":\"", "\"}}"),
            ("POST", "/rpc/size_of", "{\"t\":\"", "\"}"),
            ("PATCH", "/docs?id=eq.0", "{\"doc\":{\"key\":\"", "\"}}"),
            ("PATCH", "/docs?id=eq.0", "{\"t\":\"", "\"}"),
        ] {
            program.forget_peak();
            let (piece, pieces) = (vec![b'v'; 1_000], size / 1_000);
            let json = "application/json";
            Sent { method, target, content_type: json, head: bytes(head), piece, pieces, end: bytes(end) }
                .send(address);
            growth(&format!("{size} bytes by {method} {target} {head}"), size as u64 + BESIDE_A_VALUE_BYTES_MAX);
        }
        let sizes = "select max(length(t)) || ' ' || max(length(doc->>'key')) from api.docs";
        assert_eq!(database.value(sizes), format!("{size} {size}"));
        database.execute("delete from api.docs where id > 0");
    }
    program.forget_peak();
    let part = |name: &str, rest: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{rest}\r\n\r\n");
    let head = bytes(&format!("{}5\r\n{}", part("id", ""), part("data", "; filename=\"f\"")));
    let (piece, pieces) = ((0..=255).cycle().take(64_000).collect(), 1_000);
    let content_type = "multipart/form-data; boundary=b";
    Sent { method: "POST", target: "/docs", content_type, head, piece, pieces, end: bytes("\r\n--b--\r\n") }
        .send(address);
    growth("a file of 64 MB by multipart", 64_000_000 + BESIDE_A_VALUE_BYTES_MAX);
    program.forget_peak();
    let mut client = Client::connect(address);
    let file = client.request("GET", "/docs?id=eq.5&select=data", &[("Accept", "application/octet-stream")]);
    assert_eq!((file.status, file.whole, file.body.len()), (200, true, 64_000_000));
    growth("its download", FLOWING_BYTES_MAX);
}
