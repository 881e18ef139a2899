//! Many clients, slow ones, and more than there are descriptors for.

use crate::program::{Program, eventually, get};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;
use thalweg_testkit::{Client, Database};

const TABLE: &str = "create schema api; create table api.t as select 1 as id;
                     create view api.slow as select 1 as id, pg_sleep(3)::text as s;";

/// What a client costs that is connected and asks for nothing, or has not asked yet. What is not optimised keeps everything
/// apart.
const CLIENT_BYTES_MAX: u64 = if cfg!(debug_assertions) { 32 } else { 16 } * 1024;

/// How many there are, unless a variable says otherwise; this process may then open as many.
fn number(variable: &str, usually: usize) -> usize {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usually)
}

/// Heads that come byte by byte, of which each is answered at its end, and until then holds nobody up.
#[test]
fn slow_heads_hold_nobody_up() {
    let clients = number("THALWEG_SLOW_CLIENTS", 500);
    let database = Database::new(TABLE);
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let mut quick = Client::connect(address);
    let head = b"GET /t?id=eq.1 HTTP/1.1\r\nHost: x\r\n\r\n";
    // what the first request of all takes is no client's
    assert_eq!(quick.request("GET", "/t", &[]).status, 200);
    let mut slow: Vec<TcpStream> = (0..clients).map(|_| TcpStream::connect(address).unwrap()).collect();
    let before = program.resident_bytes();
    for byte in head {
        for stream in &mut slow {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(quick.request("GET", "/t", &[]).text(), r#"[{"id":1}]"#);
    }
    for stream in &mut slow {
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let each = program.resident_bytes().saturating_sub(before) / clients as u64;
    println!("{each} bytes for each of {clients} slow clients");
    assert!(each <= CLIENT_BYTES_MAX, "{each} bytes a client");
}

#[test]
fn idle_clients_cost_little() {
    let clients = number("THALWEG_IDLE_CLIENTS", 2_000);
    let database = Database::new(TABLE);
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/t");
    let mut idle = Vec::with_capacity(clients);
    for asks in [false, true] {
        let before = program.resident_bytes();
        for _ in 0..clients / 2 {
            let mut client = Client::connect(address);
            if asks {
                assert_eq!(client.request("GET", "/t", &[]).status, 200);
            }
            idle.push(client);
        }
        // whoever connects last has been accepted last
        get(address, "/t");
        let each = program.resident_bytes().saturating_sub(before) / (clients / 2) as u64;
        println!("{each} bytes for each of {} idle clients, who have asked: {asks}", clients / 2);
        assert!(each <= CLIENT_BYTES_MAX, "{each} bytes a client, who has asked: {asks}");
    }
    for client in idle.iter_mut().step_by(97) {
        assert_eq!(client.request("GET", "/t", &[]).status, 200);
    }
}

/// More clients than descriptors: the others wait, and the database still finds one.
#[test]
fn clients_leave_descriptors_for_the_database() {
    number("", 0);
    let database = Database::new(TABLE);
    let serving = Program::serving(&database.uri(), &[("PGRST_DB_POOL", "10")]);
    let mut limited = Program::retargeted(&serving, "sh".as_ref());
    limited.args(["-c", "ulimit -n 100; exec \"$@\"", "sh"]).arg(serving.get_program()).args(serving.get_args());
    let mut program = Program::launch(limited);
    let address = program.address();
    let mut first = Client::connect(address);
    assert_eq!(first.request("GET", "/t", &[]).status, 200);
    // The server keeps two descriptors for each connection of the pool, 32 others, and the gauge's one for each thread that
    // serves. As many clients as there are descriptors left are answered while all stay, and not one more.
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let most = 100 - 2 * 10 - 32 - threads;
    let mut others: Vec<Client> = (1..most).map(|_| Client::connect(address)).collect();
    for client in &mut others {
        assert_eq!(client.request("GET", "/t", &[]).status, 200);
    }
    let mut one_more = TcpStream::connect(address).unwrap();
    one_more.write_all(b"GET /t HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    one_more.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert_eq!(one_more.read(&mut [0; 12]).unwrap_err().kind(), ErrorKind::WouldBlock);
    others.pop();
    one_more.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut status = [0; 12];
    one_more.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    drop((one_more, others));
    let mut crowd: Vec<Client> = (0..150).map(|_| Client::connect(address)).collect();
    crowd.iter_mut().for_each(|client| client.send("GET", "/t", &[]));
    for _ in 0..20 {
        assert_eq!(first.request("GET", "/t", &[]).status, 200);
    }
    // each gets its turn when others go
    drop(first);
    for mut client in crowd {
        assert_eq!(client.receive(false).status, 200);
    }
    program.signal(nix::sys::signal::Signal::SIGTERM);
    program.wait();
    assert!(!program.rest().iter().any(|line| line.contains("cannot accept")));
}

/// Without a descriptor it goes on with what it has, says so once, and takes up the rest when there are some again.
#[test]
fn without_descriptors_it_goes_on() {
    number("", 0);
    let database = Database::new(TABLE);
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let (mut first, mut second) = (Client::connect(address), Client::connect(address));
    for client in [&mut first, &mut second] {
        assert_eq!(client.request("GET", "/t", &[]).status, 200);
    }
    let process = program.process.id().to_string();
    let limit = |files: &str| {
        let set = Command::new("prlimit").args(["--pid", &process, &format!("--nofile={files}:")]).status();
        assert!(set.expect("prlimit runs").success());
    };
    let (before, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // those that are open stay so, and there is no other
    limit("3");
    // one takes the connection that there is, and there is no other
    first.send("GET", "/slow?select=id,s", &[]);
    let running = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    eventually("the slow one runs", || database.value(running) == "1");
    let response = second.request("GET", "/t", &[]);
    assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("PGRST000")), "{}", response.text());
    // The reason is for the operator only.
    assert!(!response.text().contains("Too many open files"), "{}", response.text());
    program.line("Too many open files");
    assert_eq!(response.header("retry-after"), Some("1"));
    // they are connected as far as the system is concerned
    let mut crowd: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
    crowd.iter_mut().for_each(|client| client.send("GET", "/t", &[]));
    program.line("cannot accept connections");
    assert_eq!(first.receive(false).status, 200);
    for _ in 0..20 {
        assert_eq!(first.request("GET", "/t", &[]).status, 200);
        // as long as it waits before it tries again
        std::thread::sleep(Duration::from_millis(50));
    }
    limit(&before.to_string());
    for client in &mut crowd {
        assert_eq!(client.receive(false).status, 200);
    }
    program.signal(nix::sys::signal::Signal::SIGTERM);
    program.wait();
    assert!(!program.rest().iter().any(|line| line.contains("cannot accept")), "it was told once");
}
