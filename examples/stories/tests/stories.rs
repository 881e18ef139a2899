//! The gauge names what is wrong with each story by file and line, and has nothing to say of those that are mended.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use thalweg_testkit::Client;

/// The running service, ended with its test.
struct Stories {
    process: Child,
    clients: SocketAddr,
    operators: SocketAddr,
}

impl Stories {
    fn start() -> Stories {
        let mut process = Command::new(env!("CARGO_BIN_EXE_stories"))
            .args(["--port", "0", "--admin-port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut addresses =
            line.split("http://").skip(1).map(|rest| rest.split([',', '\n']).next().unwrap().parse().unwrap());
        let (clients, operators) = (addresses.next().unwrap(), addresses.next().unwrap());
        Stories { process, clients, operators }
    }

    /// So many clients ask so many times each, all at once.
    fn ask(&self, clients: usize, times: usize, method: &str, path: &str, body: &[u8]) {
        thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let mut client = Client::connect(self.clients);
                    for _ in 0..times {
                        let answer = client.request_with(method, path, &[], body);
                        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
                    }
                });
            }
        });
    }

    fn tell(&self, path: &str) -> Value {
        let answer = Client::connect(self.operators).request("GET", path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// What is found of a route.
    fn findings(&self, route: &str) -> Vec<Value> {
        let findings = self.tell("/findings");
        findings.as_array().unwrap().iter().filter(|finding| finding["route"] == route).cloned().collect()
    }

    fn finding(&self, route: &str, kind: &str) -> Value {
        let found = self.findings(route);
        found.iter().find(|finding| finding["kind"] == kind).unwrap_or_else(|| panic!("{found:?}")).clone()
    }

    /// Of a busy machine any poll may take long, which is found too.
    fn has_none(&self, route: &str, kinds: &[&str]) {
        let found = self.findings(route);
        assert!(!found.iter().any(|finding| kinds.iter().any(|kind| finding["kind"] == *kind)), "{found:?}");
    }
}

impl Drop for Stories {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where a text stands in a file of the service, as a finding says it.
fn place(file: &str, text: &str) -> String {
    let path = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let line = source.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} stands in {file}"));
    format!("examples/stories/src/{file}:{}", line + 1)
}

#[test]
fn the_guard_across_an_await_is_named_with_both_lines() {
    let stories = Stories::start();
    stories.ask(20, 2, "GET", "/read", b"");
    stories.ask(20, 2, "GET", "/fast", b"");
    let finding = &stories.finding("GET /read", "guard_across_await");
    // the first line of the file that takes the lock, and the first that waits, are those of `read`
    let (taken_at, awaited_at) =
        (place("locked.rs", "clients.lock().await"), place("locked.rs", "    ask_elsewhere().await"));
    assert_eq!(finding["where"]["taken_at"], *taken_at);
    assert_eq!(finding["where"]["awaited_at"], *awaited_at);
    let what = finding["what"].as_str().unwrap();
    for part in ["`GET /read`", "lock `clients`", &taken_at, &awaited_at, "requests/s can pass"] {
        assert!(what.contains(part), "{what}");
    }
    let figures = &finding["figures"];
    assert_eq!((&figures["times"], &figures["lock"]), (&Value::from(40), &Value::from("clients")), "{figures}");
    let most = figures["requests_per_second_max"].as_f64().unwrap();
    assert!(most <= 20.0, "who sleeps 50 ms with the lock lets 20 pass at most, not {most}");
    assert!(figures["behind_max"].as_u64().unwrap() >= 10, "{figures}");
    let waited = figures["waited_ms"].as_f64().unwrap() / figures["wall_ms"].as_f64().unwrap();
    assert!(waited > 0.5, "most of the time is waiting for the lock: {waited}");
    stories.has_none("GET /fast", &["guard_across_await", "lock", "allocations", "copies"]);
    let locks = stories.tell("/locks");
    let clients = locks.as_array().unwrap().iter().find(|lock| lock["lock"] == "clients").unwrap();
    assert_eq!(clients["held_by"][0]["place"], *taken_at);
}

#[test]
fn the_line_that_allocates_in_a_loop_is_named() {
    let stories = Stories::start();
    stories.ask(2, 6, "GET", "/cpualloc", b"");
    stories.ask(2, 6, "GET", "/cpu", b"");
    let finding = stories.finding("GET /cpualloc", "allocations");
    let clone = place("looped.rs", "Vec::clone(&names)");
    assert_eq!(finding["where"]["allocated_at"], *clone);
    let allocations = finding["figures"]["allocations"].as_f64().unwrap();
    assert!((1_000_000.0..1_001_000.0).contains(&allocations), "{allocations}");
    let graph =
        Client::connect(stories.operators).request("GET", "/flame?of=allocated&route=GET%20/cpualloc&as=folded", &[]);
    let heaviest = graph.text().lines().max_by_key(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert!(heaviest.unwrap().contains("looped.rs"), "{heaviest:?}");
    assert!(!graph.text().contains("thalweg_gauge::tally"), "the gauge's own frames are not shown");
    stories.has_none("GET /cpu", &["guard_across_await", "lock", "allocations", "copies"]);
}

#[test]
fn a_blob_that_is_serialised_and_not_shown_is_found() {
    let stories = Stories::start();
    stories.ask(2, 6, "GET", "/flights", b"");
    stories.ask(2, 6, "GET", "/flights/shown", b"");
    let finding = stories.finding("GET /flights", "allocations");
    let allocated = finding["figures"]["allocated_bytes"].as_f64().unwrap();
    assert!(allocated >= 20.0 * 500.0 * 1000.0, "all tracks: {allocated}");
    assert!(
        finding["where"]["allocated_at"].as_str().unwrap().starts_with("examples/stories/src/lists.rs:"),
        "{finding}"
    );
    stories.has_none("GET /flights/shown", &["guard_across_await", "lock", "allocations", "copies"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_body_that_is_copied_is_found() {
    let stories = Stories::start();
    let body = vec![b'\n'; 4 * 1024 * 1024];
    stories.ask(1, 10, "POST", "/upload", &body);
    stories.ask(1, 10, "POST", "/upload/once", &body);
    let finding = stories.finding("POST /upload", "copies");
    assert!(finding["figures"]["times"].as_f64().unwrap() >= 3.0, "{finding}");
    assert!(
        finding["where"]["copied_at"].as_str().unwrap().starts_with("examples/stories/src/uploads.rs:"),
        "{finding}"
    );
    stories.has_none("POST /upload/once", &["guard_across_await", "lock", "allocations", "copies"]);
}
