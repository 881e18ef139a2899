//! PostgreSQL as a hot standby, promoted while the server runs, and stopped without closing its
//! connections.

use crate::program::{Directory, Program, eventually, get};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_testkit::{Client, query_at};

const ANY_PORT: (&str, &str) = ("PGRST_ADMIN_SERVER_PORT", "0");
const SCHEMA: &str = "create schema api; create table api.t as select 1 as id;
                      create function api.f() returns int language sql as 'select 7';";

fn start(data_dir: &Path) -> Cluster {
    let settings = [("fsync", "off"), ("hot_standby", "on"), ("autovacuum", "off")];
    let options = Options {
        data_dir: Some(data_dir.to_owned()),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..Options::default()
    };
    Cluster::start(&options).expect("PostgreSQL starts")
}

fn execute(cluster: &Cluster, statements: &str) {
    for statement in statements.split(';').filter(|statement| !statement.trim().is_empty()) {
        query_at(&cluster.tcp_uri("postgres"), statement);
    }
}

/// A primary, and a standby that was copied from its files and follows it.
fn primary_and_standby(directory: &Directory) -> (Cluster, Cluster) {
    let [first, second] = ["first", "second"].map(|name| PathBuf::from(directory.path()).join(name));
    let primary = start(&first);
    execute(&primary, SCHEMA);
    // The files are consistent while PostgreSQL is stopped.
    primary.stop().expect("PostgreSQL stops");
    let copied = Command::new("cp").arg("-a").args([&first, &second]).status().expect("cp runs");
    assert!(copied.success());
    let primary = start(&first);
    let home = second.join("cluster");
    fs::write(home.join("standby.signal"), "").expect("the copy can be written to");
    let mut settings =
        OpenOptions::new().append(true).open(home.join("postgresql.auto.conf")).expect("there are settings");
    writeln!(settings, "primary_conninfo = '{}'", primary.tcp_uri("postgres")).expect("the copy can be written to");
    let standby = start(&second);
    eventually("the standby follows", || {
        query_at(&primary.tcp_uri("postgres"), "select count(*) from pg_stat_replication")[0][0].as_deref() == Some("1")
    });
    (primary, standby)
}

fn admin(program: &mut Program) -> SocketAddr {
    let line = program.line("Admin server listening on ");
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn status(address: SocketAddr, path: &str) -> u16 {
    Client::connect(address).request("GET", path, &[]).status
}

/// Formerly, `/ready` was 503 forever, since a standby refuses LISTEN.
#[test]
fn a_standby_is_ready_follows_its_primary_and_may_be_promoted() {
    let directory = Directory::new("standby");
    let (primary, standby) = primary_and_standby(&directory);
    let mut program = Program::launch(Program::serving(&standby.tcp_uri("postgres"), &[ANY_PORT]));
    let admin = admin(&mut program);
    let address = program.address();
    eventually("it is ready", || status(admin, "/ready") == 200);
    program.line("The database is a standby");
    assert_eq!(get(address, "/t")[0]["id"], 1);
    assert_eq!(get(address, "/rpc/f"), 7);
    let written = Client::connect(address).request_with("POST", "/t", &[], br#"{"id":2}"#);
    assert_eq!((written.status, written.json()["code"].as_str()), (405, Some("25006")), "{}", written.text());
    // The standby has the schema of the primary, and receives no notification.
    execute(&primary, "create table api.new as select 2 as id");
    eventually("the new table is known", || status(address, "/new") == 200);
    execute(&primary, "drop table api.new");
    eventually("it is known to be gone", || status(address, "/new") == 404);
    assert_eq!(status(admin, "/ready"), 200);
    // A new primary notifies, and the server need not be restarted.
    primary.stop().expect("the primary stops");
    execute(&standby, "select pg_promote()");
    program.line("The standby has been promoted");
    program.line("Listening for notifications");
    assert_eq!(status(admin, "/ready"), 200);
    execute(&standby, "create table api.late as select 3 as id; notify pgrst");
    eventually("the notification arrives", || status(address, "/late") == 200);
    eventually("it takes writes", || {
        Client::connect(address).request_with("POST", "/late", &[], br#"{"id":4}"#).status == 201
    });
}

/// Processes that are stopped until this is dropped.
struct Stopped(Vec<Pid>);

impl Stopped {
    fn new(processes: Vec<Pid>) -> Self {
        processes.iter().for_each(|process| _ = kill(*process, Signal::SIGSTOP));
        Self(processes)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.iter().for_each(|process| _ = kill(*process, Signal::SIGCONT));
    }
}

/// Formerly, `/ready` was 200, because the listener's connection was still open.
#[test]
fn a_postgresql_that_was_stopped_is_not_ready() {
    let directory = Directory::new("stopped");
    let data_dir = PathBuf::from(directory.path()).join("first");
    let cluster = start(&data_dir);
    execute(&cluster, SCHEMA);
    for listens in ["true", "false"] {
        let more = [ANY_PORT, ("PGRST_DB_CHANNEL_ENABLED", listens)];
        let mut program = Program::launch(Program::serving(&cluster.tcp_uri("postgres"), &more));
        let admin = admin(&mut program);
        eventually("it is ready", || status(admin, "/ready") == 200);
        let pid_file = fs::read_to_string(data_dir.join("cluster/postmaster.pid")).unwrap();
        let pid = |text: &str| Pid::from_raw(text.trim().parse().unwrap());
        let postmaster = pid(pid_file.lines().next().unwrap());
        let rows =
            query_at(&cluster.tcp_uri("postgres"), "select pid from pg_stat_activity where pid <> pg_backend_pid()");
        let others: Vec<Pid> = rows.iter().map(|row| pid(row[0].as_deref().unwrap())).collect();
        // First only the process that accepts connections is stopped, then all of them.
        for processes in [vec![postmaster], others.into_iter().chain([postmaster]).collect()] {
            let stopped = Stopped::new(processes);
            eventually("it is not ready", || status(admin, "/ready") == 503);
            assert_eq!(status(admin, "/live"), 200);
            drop(stopped);
            eventually("it is ready again", || status(admin, "/ready") == 200);
        }
    }
}
