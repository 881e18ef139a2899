//! A real pgbouncer between the servers and the database, with fewer sessions than the servers have connections, so that
//! each session is everybody's.
//!
//! There may be two: the distribution's, and one that keeps track of prepared statements itself (1.21 and later), which
//! `TEST_PGBOUNCER` names. `.ci/run` installs the first and builds the second.

use crate::served::{Served, config};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use thalweg_server::{Config, Server};
use thalweg_testkit::{Client, Database, Response, cluster_uri, query_at};

/// How many sessions the pooler has.
const SESSIONS: usize = 3;
const CLIENTS: usize = 8;
/// How many rounds of requests there are, of all clients together.
const ROUNDS: u64 = 500;
/// Ids above this are those of clients that wait for the answer; 2 is that of rows which must never be there.
const FIRST_ID: u64 = 1_000_000;

/// A running pgbouncer, ended when this is dropped.
struct Bouncer {
    process: Child,
    directory: PathBuf,
    port: u16,
}

/// Where a pgbouncer is, and what is added to its configuration.
struct Flavour {
    program: PathBuf,
    settings: &'static str,
}

/// What can be tried on this machine; says so where that is nothing.
fn flavours() -> Vec<Flavour> {
    let mut found = Vec::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // it is a server's program, which not everybody has on the path
    let directories = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    if let Some(program) = directories.map(|directory| directory.join("pgbouncer")).find(|path| path.is_file()) {
        found.push(Flavour { program, settings: "" });
    } else {
        println!("skipped: there is no pgbouncer on the path or in /usr/sbin (Debian's package pgbouncer)");
    }
    match std::env::var_os("TEST_PGBOUNCER").map(PathBuf::from).filter(|path| path.is_file()) {
        Some(program) => {
            found.push(Flavour { program: program.clone(), settings: "max_prepared_statements = 0" });
            found.push(Flavour { program, settings: "max_prepared_statements = 100" });
        }
        None => {
            println!("skipped: TEST_PGBOUNCER names no pgbouncer 1.21 or later with prepared statements of its own")
        }
    }
    found
}

impl Bouncer {
    /// Starts one in front of the test process's cluster.
    fn start(flavour: &Flavour, mode: &str, sessions: usize) -> Self {
        let uri = cluster_uri("postgres");
        let (login, rest) = uri["postgresql://".len()..].split_once('@').expect("the connection string has a user");
        let (user, password) = login.split_once(':').expect("and a password");
        let upstream = rest.split_once('/').and_then(|(host, _)| host.split_once(':')).expect("and a port").1;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("the listener has an address").port();
        drop(listener);
        let directory = std::env::temp_dir().join(format!("thalweg-pgbouncer-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory can be made");
        let ini = directory.join("pgbouncer.ini");
        let settings = flavour.settings;
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={upstream} user={user} password={password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\ndefault_pool_size = {sessions}\nmax_client_conn = 200\nlog_connections = 0\n\
             log_disconnections = 0\nquery_wait_timeout = 60\n{settings}\n"
        );
        std::fs::write(&ini, text).expect("the configuration can be written");
        let mut command = Command::new(&flavour.program);
        if is_root() {
            // it refuses to be root
            command.args(["-u", "postgres"]);
        }
        let log = std::fs::File::create(directory.join("log")).expect("a file can be made");
        let process = command.arg(&ini).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let process = process.expect("pgbouncer starts");
        let bouncer = Self { process, directory, port };
        let address = ("127.0.0.1", port);
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "pgbouncer listens: {}", bouncer.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        bouncer
    }

    fn uri(&self, database: &Database) -> String {
        format!("postgresql://postgres@127.0.0.1:{}/{}?sslmode=disable", self.port, database.name())
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = (self.process.kill(), self.process.wait());
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("there is /proc")) == 0
}

/// Two schemas that have the same names for other things, and a role for each.
fn database() -> Database {
    let of_schema = |schema: &str| {
        "create schema SCHEMA;
         create table SCHEMA.items (id bigint primary key, SCHEMA_body text);
         insert into SCHEMA.items select n, 'SCHEMA ' || n from generate_series(1, 50) n;
         create table SCHEMA.parts (id int primary key, item_id bigint references SCHEMA.items);
         insert into SCHEMA.parts select n, n from generate_series(1, 50) n;
         create table SCHEMA.written (id bigint, body text, by_role name default current_user,
           path text default current_setting('request.path', true));
         create table SCHEMA.big as select n as id, repeat('SCHEMA', 100) as body from generate_series(1, 20000) n;
         create view SCHEMA.whoami as select current_user::text as role;
         create function SCHEMA.who() returns json language sql stable as $$
           select json_build_object('role', current_user, 'schema', current_schema(),
             'items', (select count(*) from items where SCHEMA_body like 'SCHEMA%')) $$;
         create function SCHEMA.add(id bigint) returns bigint language plpgsql as $$ begin
           insert into written values (add.id, 'SCHEMA'); return add.id; end $$;
         create function SCHEMA.slow(id bigint) returns bigint language plpgsql as $$ begin
           insert into written values (slow.id, 'SCHEMA'); perform pg_sleep(0.2); return slow.id; end $$;
         grant usage on schema SCHEMA to pooled_SCHEMA;
         grant select, insert, update, delete on all tables in schema SCHEMA to pooled_SCHEMA;"
            .replace("SCHEMA", schema)
    };
    Database::new(&format!(
        "do $$ declare name text; begin
           foreach name in array array['pooled_a', 'pooled_b'] loop
             begin execute format('create role %I nologin', name);
             exception when duplicate_object or unique_violation then null; end;
           end loop; end $$;
         set check_function_bodies to off; {}{}",
        of_schema("a"),
        of_schema("b")
    ))
}

fn serve(uri: &str, schema: &str, prepares: bool) -> Config {
    Config {
        db_schemas: vec![schema.to_owned()],
        db_anon_role: Some(format!("pooled_{schema}")),
        db_pool: 6,
        db_pool_acquisition_timeout: Duration::from_secs(60),
        db_prepared_statements: prepares,
        // sessions that are shared cannot be listened on
        db_channel_enabled: false,
        ..config(uri)
    }
}

/// What any session is like for whoever gets it.
const LEFT: &str = "select current_user = session_user, (select count(*) from pg_prepared_statements),
       (select count(*) from pg_listening_channels()), current_setting('search_path'),
       current_setting('row_security'), coalesce(current_setting('request.path', true), ''),
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())";

fn assert_nothing_is_left(uri: &str) {
    let left: Vec<String> = query_at(uri, LEFT).remove(0).into_iter().flatten().collect();
    assert_eq!(left, ["t", "0", "0", "\"$user\", public", "on", "", "0"]);
}

/// One round of requests, each with what it must answer, to the letter.
fn round(client: &mut Client, schema: &str, id: u64) -> Vec<u64> {
    let at = id % 50 + 1;
    let check = |response: Response, status: u16, expected: String| {
        let seen = (response.status, response.text().replace(",\n", ","));
        assert_eq!(seen, (status, expected), "{schema} {id}");
    };
    let returning = [("Prefer", "return=representation")];
    let role = format!("pooled_{schema}");
    check(
        client.request("GET", &format!("/items?id=eq.{at}"), &[]),
        200,
        format!("[{{\"id\":{at},\"{schema}_body\":\"{schema} {at}\"}}]"),
    );
    check(client.request("GET", "/whoami", &[]), 200, format!("[{{\"role\":\"{role}\"}}]"));
    check(
        client.request("GET", &format!("/parts?id=eq.{at}&select=id,items({schema}_body)"), &[]),
        200,
        format!("[{{\"id\":{at},\"items\":{{\"{schema}_body\":\"{schema} {at}\"}}}}]"),
    );
    check(
        client.request("GET", "/rpc/who", &[]),
        200,
        format!("{{\"role\" : \"{role}\", \"schema\" : \"{schema}\", \"items\" : 50}}"),
    );
    let own = [4 * id, 4 * id + 1, 4 * id + 2].map(|own| own + FIRST_ID + 1);
    check(
        client.request_with(
            "POST",
            "/written",
            &returning,
            format!("{{\"id\":{},\"body\":\"{schema}\"}}", own[0]).as_bytes(),
        ),
        201,
        format!("[{{\"id\":{},\"body\":\"{schema}\",\"by_role\":\"{role}\",\"path\":\"/written\"}}]", own[0]),
    );
    check(
        client.request_with("POST", "/rpc/add", &[], format!("{{\"id\":{}}}", own[1]).as_bytes()),
        200,
        own[1].to_string(),
    );
    let rows = format!("id,body\n{},{schema}\n", own[2]);
    check(
        client.request_with("POST", "/written", &[("Content-Type", "text/csv")], rows.as_bytes()),
        201,
        String::new(),
    );
    check(
        client.request_with(
            "PATCH",
            &format!("/written?id=eq.{}&select=id", own[0]),
            &returning,
            b"{\"body\":\"changed\"}",
        ),
        200,
        format!("[{{\"id\":{}}}]", own[0]),
    );
    check(
        client.request("DELETE", &format!("/written?id=eq.{}&select=body", own[2]), &returning),
        200,
        format!("[{{\"body\":\"{schema}\"}}]"),
    );
    own[..2].to_vec()
}

/// Clients of two servers at once, while another looks into sessions through the same pooler.
fn both_are_served(bouncer: &Bouncer, database: &Database, prepares: bool, rounds: u64) {
    let uri = bouncer.uri(database);
    let servers = ["a", "b"].map(|schema| (schema, Served::start(serve(&uri, schema, prepares))));
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut stored = [Vec::new(), Vec::new()];
    std::thread::scope(|scope| {
        let (next, is_over, servers, uri) = (&next, &is_over, &servers, &uri);
        let looking = scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                assert_nothing_is_left(uri);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // what is given up in the middle: a call, a large response, a body
        let giving_up = scope.spawn(move || {
            for at in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let mut client = Client::connect(servers[at as usize % 2].1.address);
                match at % 3 {
                    0 => {
                        let body = format!("{{\"id\":{}}}", at + 10);
                        client.send("POST", "/rpc/slow", &[("Content-Length", &body.len().to_string())]);
                        client.send_bytes(body.as_bytes());
                    }
                    1 => client.send("GET", "/big", &[]),
                    _ => {
                        client.send("POST", "/written", &[("Content-Type", "text/csv"), ("Content-Length", "1000000")]);
                        client.send_bytes(format!("id,body\n{}", "2,never\n".repeat(20_000)).as_bytes());
                    }
                }
                std::thread::sleep(Duration::from_millis(50));
                drop(client);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn(move || {
                    let (schema, served) = &servers[client % 2];
                    let (mut client_of, mut own) = (Client::connect(served.address), Vec::new());
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        if id >= rounds {
                            return (client % 2, own);
                        }
                        own.extend(round(&mut client_of, schema, id));
                    }
                })
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        for ended in ended {
            let (of, own) = ended.expect("every answer was right");
            stored[of].extend(own);
        }
        looking.join().expect("nothing was left in a session");
        giving_up.join().expect("clients can give up");
    });
    drop(servers);
    for (schema, mut stored) in ["a", "b"].into_iter().zip(stored) {
        let found = database.query(&format!("select id from {schema}.written where id > {FIRST_ID} order by id"));
        let found: Vec<u64> = found.into_iter().filter_map(|mut row| row.remove(0)?.parse().ok()).collect();
        stored.sort_unstable();
        assert!(found == stored, "{schema}: {} rows for {} acknowledged", found.len(), stored.len());
        let strange = format!(
            "select count(*) - count(distinct id) + count(*) filter (where id = 2 or by_role <> 'pooled_{schema}'
               or body not in ('{schema}', 'changed')) from {schema}.written"
        );
        assert_eq!(database.value(&strange), "0", "{schema}");
    }
    database.execute("truncate a.written, b.written");
    for _ in 0..20 {
        assert_nothing_is_left(&uri);
    }
}

/// Numbers named statements, so that each session had others under them: 383 responses held another table's rows.
#[test]
fn sessions_of_a_transaction_are_everybodys() {
    for flavour in flavours() {
        for prepares in [false, true] {
            println!("{} {} {prepares}", flavour.program.display(), flavour.settings);
            let database = database();
            let bouncer = Bouncer::start(&flavour, "transaction", SESSIONS);
            both_are_served(&bouncer, &database, prepares, ROUNDS);
        }
    }
}

/// What code leaves in a session stays there, since it is not ours to make as new. Whatever a transaction can say for itself
/// it says, so that requests are answered all the same.
#[test]
fn what_code_leaves_in_everybodys_session() {
    let leavings = [
        ("role", "set role pooled_b"),
        ("path", "set search_path to b"),
        ("read_only", "set default_transaction_read_only to on"),
        ("encoding", "set client_encoding to latin1"),
        ("formats", "set datestyle to ''SQL, DMY''; set bytea_output to escape; set timezone to ''Asia/Tokyo''"),
        ("policies", "set row_security to off"),
        ("told", "perform set_config(''request.path'', ''left'', false)"),
    ];
    for flavour in flavours() {
        for prepares in [false, true] {
            let database = database();
            for (name, statement) in leavings {
                database.execute(&format!(
                    "create function a.leave_{name}() returns void language plpgsql as 'begin {statement}; end'"
                ));
            }
            let bouncer = Bouncer::start(&flavour, "transaction", SESSIONS);
            let uri = bouncer.uri(&database);
            let servers = ["a", "b"].map(|schema| Served::start(serve(&uri, schema, prepares)));
            for (at, (name, _)) in (0..).zip(leavings) {
                for again in 0..2 {
                    let left = servers[0].send("POST", &format!("/rpc/leave_{name}"), &[], "");
                    assert_eq!(left.status, 204, "{name}: {}", left.text());
                    for (schema, served) in ["a", "b"].into_iter().zip(&servers) {
                        round(&mut Client::connect(served.address), schema, at * 2 + again);
                    }
                }
            }
        }
    }
}

/// The sessions are the servers' own, but they cannot know it.
#[test]
fn sessions_of_a_connection_are_its_own() {
    for flavour in flavours() {
        for prepares in [false, true] {
            let database = database();
            // both servers, their loads, and the looks
            let bouncer = Bouncer::start(&flavour, "session", 20);
            both_are_served(&bouncer, &database, prepares, ROUNDS / 10);
        }
    }
}

/// Who listens behind a pooler leaves no statement prepared either.
#[test]
fn listeners_leave_no_statement() {
    for flavour in flavours() {
        let database = database();
        let bouncer = Bouncer::start(&flavour, "transaction", SESSIONS);
        let uri = bouncer.uri(&database);
        let with_channel = |schema| Config { db_channel_enabled: true, ..serve(&uri, schema, false) };
        let servers = ["a", "b"].map(|schema| Served::start(with_channel(schema)));
        let listening =
            "select count(*) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()";
        // what has run last in a session is all that can be seen, and the session is everybody's: another may have come between
        let waits_until = Instant::now() + Duration::from_secs(5);
        while database.value(listening) == "0" && Instant::now() < waits_until {
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..50 {
            assert_eq!(servers[0].get("/whoami").text(), r#"[{"role":"pooled_a"}]"#);
            assert_eq!(servers[1].get("/whoami").text(), r#"[{"role":"pooled_b"}]"#);
            let prepared = query_at(&uri, "select name, statement from pg_prepared_statements");
            assert!(prepared.is_empty(), "{prepared:?}");
        }
    }
}

/// A server that cannot have transactions ends, and says why.
#[test]
fn sessions_of_a_statement_are_refused() {
    for flavour in flavours() {
        for prepares in [false, true] {
            let database = database();
            let bouncer = Bouncer::start(&flavour, "statement", SESSIONS);
            let config = serve(&bouncer.uri(&database), "a", prepares);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let ended = runtime.expect("a runtime starts").block_on(async {
                match Server::builder(config).start().await {
                    Ok(server) => server.serve(std::future::pending()).await,
                    Err(refused) => Err(refused),
                }
            });
            let refused = ended.expect_err("it serves nothing").to_string();
            assert!(refused.contains("statement mode is not supported"), "{refused}");
        }
    }
}
