//! How the program ends, and what then ends with it.

use crate::program::{Directory, Program, eventually};
use nix::sys::signal::Signal;
use nix::unistd::{User, geteuid};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::Duration;
use thalweg_testkit::{Client, Database};

/// Requests in progress are finished when the program is told to stop.
#[test]
fn stopping_lets_requests_finish() {
    let database = Database::new("create schema api; create view api.slow as select 1 as id, pg_sleep(1)::text as s;");
    let mut program = Program::serve(&database.uri());
    let mut client = Client::connect(program.address());
    client.send("GET", "/slow", &[]);
    eventually("the request is in progress", || {
        database.value(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
        ) == "1"
    });
    program.signal(Signal::SIGTERM);
    let response = client.receive(false);
    assert_eq!((response.status, response.text()), (200, r#"[{"id":1,"s":""}]"#));
    assert!(program.wait().success());
}

const SLOW: &str = "create schema api; create view api.slow as select 1 as id, pg_sleep(600)::text as s;";

/// The number of processes that run for a directory, PostgreSQL's among them.
fn processes_of(directory: &Directory) -> usize {
    let directory = directory.path().as_bytes();
    let names = |process: &PathBuf| std::fs::read(process.join("cmdline")).unwrap_or_default();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(|process| names(process).windows(directory.len()).any(|part| part == directory)).count()
}

/// What was ignored for half a minute, in which requests may finish.
#[test]
fn a_second_signal_ends_it_at_once() {
    let database = Database::new(SLOW);
    for (first, second, code) in [
        (Signal::SIGTERM, Signal::SIGTERM, 143),
        (Signal::SIGINT, Signal::SIGINT, 130),
        (Signal::SIGINT, Signal::SIGTERM, 143),
    ] {
        let mut program = Program::serve(&database.uri());
        let address = program.address();
        let mut client = Client::connect(address);
        client.send("GET", "/slow", &[]);
        let running =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
        eventually("the request runs", || database.value(running) == "1");
        program.signal(first);
        eventually("it listens no more", || TcpStream::connect(address).is_err());
        assert!(program.process.try_wait().unwrap().is_none(), "the request may finish");
        program.signal(second);
        assert_eq!(program.wait().code(), Some(code));
        database.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'");
        eventually("the request has ended", || database.value(running) == "0");
    }
}

/// Whoever waits for a database that does not answer can stop waiting.
#[test]
fn a_signal_ends_it_while_the_first_load_hangs() {
    let database = Database::new("create schema api");
    let locked =
        "from pg_locks where relation = 'pg_description'::regclass and mode = 'AccessExclusiveLock' and granted";
    std::thread::scope(|scope| {
        scope.spawn(|| database.try_execute("begin; lock table pg_catalog.pg_description; select pg_sleep(600)"));
        eventually("the lock is held", || database.value(&format!("select count(*) {locked}")) == "1");
        let mut program = Program::serve(&database.uri());
        program.line("listening on");
        let waiting = "select count(*) from pg_locks where relation = 'pg_description'::regclass and not granted";
        eventually("the load waits", || database.value(waiting) == "1");
        program.signal(Signal::SIGTERM);
        assert!(program.wait().success());
        database.execute(&format!("select pg_terminate_backend(pid) {locked}"));
    });
}

/// Ended at whatever moment of its start, it leaves no PostgreSQL behind, and the next start finds all in order.
#[test]
fn a_signal_while_the_cluster_starts() {
    let environment =
        [("PGRST_DB_ANON_ROLE", "postgres"), ("PGRST_SERVER_PORT", "0"), ("PGRST_SERVER_HOST", "127.0.0.1")];
    let directory = Directory::new("ended");
    let start = || Program::start(&["serve", "--data-dir", directory.path()], &environment);
    for (signal, code, reached) in [
        (Signal::SIGTERM, 143, "lock"),
        (Signal::SIGINT, 130, "cluster.partial/PG_VERSION"),
        (Signal::SIGTERM, 143, "cluster/postmaster.pid"),
        (Signal::SIGINT, 130, "cluster/postmaster.pid"),
    ] {
        let mut program = start();
        eventually("it has come so far", || directory.0.join(reached).exists());
        program.signal(signal);
        assert_eq!(program.wait().code(), Some(code), "at {reached}");
        eventually("nothing is left of it", || processes_of(&directory) == 0);
        let _ = std::fs::remove_file(directory.0.join("lock"));
    }
    // signals that ask for a reload are none to end by
    let mut program = start();
    eventually("it starts", || directory.0.join("lock").exists());
    for _ in 0..20 {
        program.signal(Signal::SIGUSR1);
        program.signal(Signal::SIGUSR2);
        std::thread::sleep(Duration::from_millis(5));
    }
    let address = program.address();
    assert_eq!(Client::connect(address).request("GET", "/nothing", &[]).status, 404);
    // told twice while it serves
    let mut client = Client::connect(address);
    client.send_bytes(b"GET /nothing HTTP/1.1\r\nHost:");
    program.signal(Signal::SIGTERM);
    eventually("it listens no more", || TcpStream::connect(address).is_err());
    program.signal(Signal::SIGINT);
    let status = program.wait();
    assert!(status.code() == Some(130) || status.success(), "{status}");
    eventually("nothing is left of it", || processes_of(&directory) == 0);
}

/// A repository that accepts and says nothing.
#[test]
fn a_signal_while_postgresql_is_fetched() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let directory = Directory::new("fetched");
    let environment = [
        ("THALWEG_POSTGRES", "fetch"),
        ("THALWEG_MAVEN_URL", &url),
        ("HOME", directory.path()),
        ("XDG_CACHE_HOME", directory.path()),
    ];
    let mut command = Program::command(&["serve", "--data-dir", directory.path()], &environment);
    if let Some(nobody) = User::from_name("nobody").unwrap().filter(|_| geteuid().is_root()) {
        // root has one cache for all, which may hold what would be fetched
        let copy = directory.0.join("copy");
        std::fs::copy(command.get_program(), &copy).unwrap();
        chown(&directory.0, Some(nobody.uid.as_raw()), Some(nobody.gid.as_raw())).unwrap();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        command = Program::retargeted(&command, &copy);
        command.args(arguments);
        command.uid(nobody.uid.as_raw()).gid(nobody.gid.as_raw());
    }
    let mut program = Program::launch(command);
    // what is fetched first is asked for on this connection
    silent.set_nonblocking(true).unwrap();
    let mut asked = loop {
        match silent.accept() {
            Ok((asked, _)) => break asked,
            Err(_) if program.process.try_wait().unwrap().is_some() => panic!("it ended: {:?}", program.rest()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    asked.set_nonblocking(false).unwrap();
    asked.read_exact(&mut [0; 4]).unwrap();
    program.signal(Signal::SIGUSR1);
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait().code(), Some(143));
}

/// Over HTTP/1.0 a response may have no end but the connection's: one that is cut by a second signal must not seem to end.
#[test]
fn a_second_signal_resets_responses() {
    let database = Database::new(
        "create schema api; create view api.numbers as select i, repeat('x', 1000) as x from generate_series(1, 100000) i;",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /numbers HTTP/1.0\r\nAccept: text/csv\r\n\r\n").unwrap();
    stream.read_exact(&mut vec![0; 1024 * 1024]).unwrap();
    program.signal(Signal::SIGTERM);
    eventually("it listens no more", || TcpStream::connect(address).is_err());
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait().code(), Some(128 + Signal::SIGTERM as i32));
    let rest = stream.read_to_end(&mut Vec::new());
    assert_eq!(rest.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}
