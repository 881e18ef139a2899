//! The server for operators: an address of its own, whatever becomes of the database and of the public one.

use crate::program::{Directory, Program, eventually, get};
use nix::sys::signal::Signal;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use thalweg_testkit::{Client, Database, Proxy};

const TABLE: &str = "create schema api; create table api.t as select 1 as id;
                     create view api.slow as select 1 as id, pg_sleep(3)::text as s;";

const ANY_PORT: (&str, &str) = ("PGRST_ADMIN_SERVER_PORT", "0");

/// Where the admin server listens.
fn admin(program: &mut Program) -> SocketAddr {
    let line = program.line("Admin server listening on ");
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn status(address: SocketAddr, path: &str) -> u16 {
    Client::connect(address).request("GET", path, &[]).status
}

fn metrics(address: SocketAddr) -> HashMap<String, f64> {
    let response = Client::connect(address).request("GET", "/metrics", &[]);
    assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
    parsed(response.text())
}

/// What Prometheus makes of it, which is strict: each metric has one head, before its samples, which stand together.
fn parsed(text: &str) -> HashMap<String, f64> {
    let (mut samples, mut kinds, mut current) = (HashMap::new(), HashMap::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, meaning) = help.split_once(' ').unwrap();
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE ")?.strip_prefix(name)).unwrap().trim();
            assert!(!meaning.is_empty() && matches!(kind, "counter" | "gauge" | "summary"), "{line}");
            assert!(kinds.insert(name, kind).is_none(), "{name} has two heads");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            current = name;
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let name = sample.split('{').next().unwrap();
        let is_part = kinds[current] == "summary"
            && ["_sum", "_count"].map(|part| format!("{current}{part}")).contains(&name.to_owned());
        assert!(name == current || is_part, "{line}");
        assert!(["pgrst_", "thalweg_", "gauge_"].iter().any(|prefix| name.starts_with(prefix)), "{line}");
        if let Some(labels) = sample.strip_prefix(name).filter(|labels| !labels.is_empty()) {
            let labels = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix("\"}")).unwrap();
            for label in labels.split("\",") {
                assert!(label.split_once("=\"").is_some_and(|(name, value)| !name.is_empty() && !value.contains('"')));
            }
        }
        assert!(samples.insert(sample.to_owned(), value.parse().unwrap()).is_none(), "{sample} comes twice");
    }
    assert!(text.ends_with('\n') && !samples.is_empty());
    samples
}

#[test]
fn readiness_follows_a_database_that_goes_and_returns() {
    let database = Database::new(TABLE);
    let (proxy, uri) = Proxy::before(&database.uri());
    for listens in ["true", "false"] {
        proxy.open();
        let more = [ANY_PORT, ("PGRST_DB_CHANNEL_ENABLED", listens)];
        let mut program = Program::launch(Program::serving(&uri, &more));
        let admin = admin(&mut program);
        let address = program.address();
        eventually("it is ready", || status(admin, "/ready") == 200);
        assert_eq!(status(admin, "/live"), 200);
        proxy.close();
        eventually("it is not ready", || status(admin, "/ready") == 503);
        assert_eq!(status(admin, "/live"), 200);
        proxy.open();
        eventually("it is ready again", || status(admin, "/ready") == 200);
        assert_eq!(get(address, "/t")[0]["id"], 1);
    }
}

#[test]
fn a_schema_that_cannot_be_loaded_is_not_ready_and_counted() {
    let database = Database::new("");
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    // the address is known, and answers, before anything is loaded
    let admin = admin(&mut program);
    let line = program.line("listening on http://");
    let address: SocketAddr = line.rsplit_once("http://").unwrap().1.parse().unwrap();
    program.line("Failed to load the schema cache");
    assert_eq!((status(admin, "/live"), status(admin, "/ready")), (200, 503));
    let empty = Client::connect(admin).request("GET", "/schema_cache", &[]);
    assert_eq!((empty.status, empty.text()), (200, ""));
    let before = metrics(admin);
    assert!(before["pgrst_schema_cache_loads_total{status=\"FAIL\"}"] >= 1.0);
    assert!(!before.contains_key("pgrst_schema_cache_loads_total{status=\"SUCCESS\"}"));
    assert!(!before.contains_key("pgrst_schema_cache_query_time_seconds"));
    database.execute(TABLE);
    eventually("it is ready", || status(admin, "/ready") == 200);
    assert!(metrics(admin)["pgrst_schema_cache_query_time_seconds"] > 0.0);
    let schema = get(admin, "/schema_cache");
    assert_eq!(schema["dbTables"].as_array().unwrap().len(), 2);
    // one that fails later leaves the old one in force, and says so
    database.execute("alter schema api rename to elsewhere");
    program.signal(Signal::SIGUSR1);
    eventually("it is not ready", || status(admin, "/ready") == 503);
    assert_eq!(get(admin, "/schema_cache"), schema);
    assert_eq!(status(address, "/live"), 404);
}

#[test]
fn the_pages_are_those_of_the_protocol_and_nowhere_else() {
    let database = Database::new(TABLE);
    let more = [
        ANY_PORT,
        ("PGRST_JWT_SECRET", "Hidden, and long enough to be a secret"),
        ("PGRST_APP_SETTINGS_KEY", "Hidden"),
    ];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let admin = admin(&mut program);
    let address = program.address();
    eventually("it is ready", || status(admin, "/ready") == 200);
    let mut client = Client::connect(admin);
    for (method, path, expected) in [
        ("GET", "/live", 200),
        ("OPTIONS", "/ready", 200),
        ("HEAD", "/metrics", 200),
        ("PATCH", "/live?x=1", 200),
        ("GET", "/", 404),
        ("GET", "/live/", 404),
        ("GET", "/t", 404),
    ] {
        let response = client.request(method, path, &[("Origin", "http://x")]);
        assert_eq!(response.status, expected, "{method} {path}");
        assert_eq!(response.header("access-control-allow-origin"), None);
        assert!(response.body.is_empty());
    }
    let config = Client::connect(admin).request("GET", "/config", &[]);
    assert!(config.text().contains("db-schemas = \"api\"\n"), "{}", config.text());
    assert!(!config.text().contains("Hidden") && !config.text().contains("postgres://"), "{}", config.text());
    for path in ["/live", "/ready", "/metrics", "/schema_cache", "/config"] {
        assert_eq!(status(address, path), 404, "{path}");
    }
    let response = Client::connect(address).request("GET", "/t", &[("Authorization", "Bearer x.y.z")]);
    assert_eq!(response.status, 401);
    (0..3).for_each(|_| _ = get(address, "/t?id=eq.1"));
    let found = metrics(admin);
    for (name, expected) in [
        ("pgrst_schema_cache_loads_total{status=\"SUCCESS\"}", 1.0),
        ("pgrst_db_pool_max", 10.0),
        ("pgrst_db_pool_available", 1.0),
        ("pgrst_db_pool_waiting", 0.0),
        ("pgrst_jwt_cache_requests_total", 1.0),
        ("thalweg_requests_total{class=\"2xx\"}", 3.0),
        ("thalweg_requests_total{class=\"4xx\"}", 6.0),
        ("thalweg_known_reads_total{result=\"hit\"}", 1.0),
        ("thalweg_spool_bytes", 0.0),
    ] {
        assert_eq!(found.get(name), Some(&expected), "{name} in {found:?}");
    }
    for absent in ["pgrst_db_pool_timeouts_total", "pgrst_jwt_cache_hits_total", "thalweg_log_lines_dropped_total"] {
        assert!(!found.contains_key(absent), "{absent} has not happened");
    }
}

/// All connections are taken, and more wait: the pages answer, whoever listens to the database.
#[test]
fn a_saturated_pool_can_be_looked_at() {
    let database = Database::new(TABLE);
    for listens in ["true", "false"] {
        let more = [
            ANY_PORT,
            ("PGRST_DB_POOL", "1"),
            ("PGRST_DB_POOL_ACQUISITION_TIMEOUT", "1"),
            ("PGRST_DB_CHANNEL_ENABLED", listens),
        ];
        let mut program = Program::launch(Program::serving(&database.uri(), &more));
        let admin = admin(&mut program);
        let address = program.address();
        eventually("it is ready", || status(admin, "/ready") == 200);
        let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(address)).collect();
        clients.iter_mut().for_each(|client| client.send("GET", "/slow", &[]));
        eventually("two wait", || metrics(admin)["pgrst_db_pool_waiting"] == 2.0);
        assert_eq!((status(admin, "/live"), status(admin, "/ready")), (200, 200));
        assert_eq!(metrics(admin)["thalweg_clients_connected"], 3.0);
        let mut statuses: Vec<u16> = clients.iter_mut().map(|client| client.receive(false).status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 504, 504]);
        assert_eq!(metrics(admin)["pgrst_db_pool_timeouts_total"], 2.0);
    }
}

/// A page on the internet whose name resolves to this machine (DNS rebinding) could read all of these pages.
#[test]
fn the_admin_server_answers_under_its_own_names_only() {
    let database = Database::new(TABLE);
    let names = ("THALWEG_ADMIN_SERVER_ALLOWED_HOSTS", "metrics.club.example, thalweg");
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT, names]));
    let admin = admin(&mut program);
    program.address();
    let port = admin.port();
    let ask = |host: &str, path: &str| Client::connect(admin).request("GET", path, &[("Host", host)]);
    for host in [
        "127.0.0.1",
        &format!("127.0.0.1:{port}"),
        "[::1]:80",
        "10.1.2.3",
        "localhost",
        "metrics.club.example:9100",
        "THALWEG",
    ] {
        assert_eq!(ask(host, "/live").status, 200, "{host}");
    }
    for host in ["evil.example", "test", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:3001"] {
        for path in ["/live", "/ready", "/metrics", "/config", "/schema_cache", "/admin/bill/", "/findings", "/nothing"]
        {
            let refused = ask(host, path);
            assert_eq!(refused.status, 421, "{host} {path}");
            let text = refused.text();
            assert!(text.contains("admin-server-allowed-hosts") && text.contains("TWG28"), "{text}");
        }
    }
    // HTTP/1.0, which no browser sends, needs no Host.
    let mut old = TcpStream::connect(admin).unwrap();
    old.write_all(b"GET /live HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    old.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// 64 clients that sent nothing, or half of a head, delayed `/live` until the server had
/// disconnected all of them.
#[test]
fn slow_clients_do_not_delay_health_checks() {
    let database = Database::new(TABLE);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    program.address();
    eventually("it is ready", || status(admin, "/ready") == 200);
    let slow: Vec<TcpStream> = (0..200)
        .map(|at| {
            let mut stream = TcpStream::connect(admin).unwrap();
            let sent: &[u8] = if at % 2 == 0 { b"" } else { b"GET /live HTTP/1.1\r\nHost:" };
            stream.write_all(sent).unwrap();
            stream
        })
        .collect();
    assert_eq!((status(admin, "/live"), status(admin, "/ready")), (200, 200));
    // The later clients were answered although many of the earlier ones are still connected.
    let is_connected = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0; 1]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    let connected = slow.iter().filter(|stream| is_connected(stream)).count();
    assert!((20..64).contains(&connected), "{connected} are still connected");
}

/// Clients that say nothing have all places: they lose them soon.
#[test]
fn whoever_connects_and_says_nothing_keeps_nobody_out() {
    let database = Database::new(TABLE);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(admin).unwrap()).collect();
    eventually("it is live", || status(admin, "/live") == 200);
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    }
}

#[test]
fn what_cannot_listen_ends_the_program() {
    let database = Database::new(TABLE);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut program = Program::launch(Program::serving(&database.uri(), &[("PGRST_ADMIN_SERVER_PORT", &port)]));
    program.line(&format!("the admin server cannot listen on 127.0.0.1:{port}"));
    assert_eq!(program.wait().code(), Some(1));
    // the public one, with the admin server listening already
    let more = [("PGRST_SERVER_PORT", port.as_str()), ANY_PORT];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    program.line(&format!("cannot listen on 127.0.0.1:{port}"));
    assert_eq!(program.wait().code(), Some(1));
}

#[test]
fn sockets_have_the_modes_that_were_said() {
    let database = Database::new(TABLE);
    let directory = Directory::new("admin-socket");
    let path = |name: &str| directory.0.join(name);
    let (public, own) = (path("api.sock"), path("admin.sock"));
    let more = [
        ("PGRST_SERVER_UNIX_SOCKET", public.to_str().unwrap()),
        ("PGRST_SERVER_UNIX_SOCKET_MODE", "777"),
        ("PGRST_ADMIN_SERVER_UNIX_SOCKET", own.to_str().unwrap()),
        ("PGRST_ADMIN_SERVER_UNIX_SOCKET_MODE", "600"),
    ];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    program.line(&format!("Admin server listening on {}", own.display()));
    program.line("Schema cache loaded");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&public), mode(&own)), (0o777, 0o600));
    let status = |page: &str| {
        let mut stream = UnixStream::connect(&own).unwrap();
        write!(stream, "GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    eventually("it is ready", || status("/ready") == "200");
    // without its file a socket is open to nobody
    std::fs::remove_file(&public).unwrap();
    assert_eq!((status("/live"), status("/ready")), ("500".to_owned(), "500".to_owned()));
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
    assert!(!own.exists());
}

/// While it stops, it is looked at as something that takes no requests any more.
#[test]
fn a_server_that_stops_is_not_live() {
    let database = Database::new(TABLE);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    let mut client = Client::connect(program.address());
    client.send("GET", "/slow?select=id", &[]);
    let busy = || metrics(admin)["thalweg_db_pool_busy"] == 1.0;
    eventually("the request runs", busy);
    program.signal(Signal::SIGTERM);
    eventually("it is not live", || status(admin, "/live") == 500);
    assert_eq!(client.receive(false).status, 200);
    assert!(program.wait().success());
}

#[test]
fn ready_asks_the_admin_server() {
    let database = Database::new(TABLE);
    let mut program = Program::launch(Program::serving(&database.uri(), &[ANY_PORT]));
    let admin = admin(&mut program);
    program.address();
    eventually("it is ready", || status(admin, "/ready") == 200);
    let port = admin.port().to_string();
    let ask = |environment: &[(&str, &str)]| {
        let output = Program::command(&["--ready"], environment).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code())
    };
    let (host, admin_port) = (("PGRST_SERVER_HOST", "127.0.0.1"), ("PGRST_ADMIN_SERVER_PORT", port.as_str()));
    let expected = (format!("OK: http://127.0.0.1:{port}/ready\n"), String::new(), Some(0));
    assert_eq!(ask(&[host, admin_port]), expected);
    let refused = |environment: &[(&str, &str)], why: &str| {
        let (out, error, code) = ask(environment);
        assert!(out.is_empty() && error.starts_with("ERROR: ") && error.contains(why), "{error}");
        assert_eq!(code, Some(1));
    };
    refused(&[host], "Please check admin-server-port");
    refused(&[host, ("PGRST_ADMIN_SERVER_UNIX_SOCKET", "/tmp/x")], "Please check admin-server-port");
    refused(&[admin_port], "configured as \"!4\"");
    refused(&[host, admin_port, ("PGRST_ADMIN_SERVER_HOST", "*6")], "configured as \"*6\"");
    database.execute("alter schema api rename to elsewhere");
    program.signal(Signal::SIGUSR1);
    eventually("it is not ready", || status(admin, "/ready") == 503);
    refused(&[host, admin_port], ": 503");
    drop(program);
    refused(&[host, admin_port], &format!("http://127.0.0.1:{port}/ready: "));
}

#[test]
fn without_recovery_a_lost_database_ends_the_program() {
    let database = Database::new(TABLE);
    for listens in ["true", "false"] {
        let (proxy, uri) = Proxy::before(&database.uri());
        let more = [("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false"), ("PGRST_DB_CHANNEL_ENABLED", listens)];
        let mut program = Program::launch(Program::serving(&uri, &more));
        let address = program.address();
        if listens == "true" {
            program.line("Listening for notifications");
        }
        assert_eq!(get(address, "/t")[0]["id"], 1);
        proxy.close();
        if listens == "false" {
            // a request finds out, and has the schema cache loaded
            let _ = Command::new("curl").args(["-s", &format!("http://{address}/t")]).output();
        }
        program.line("db-pool-automatic-recovery is false");
        assert_eq!(program.wait().code(), Some(1));
    }
    let mut program = Program::launch(Program::serving(
        "postgres://x@127.0.0.1:1/x",
        &[("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false")],
    ));
    assert_eq!(program.wait().code(), Some(1));
}
