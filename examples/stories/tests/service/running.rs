//! The stories' service as it runs, for the tests.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use thalweg_testkit::Client;

/// The running service, ended with its test.
pub(crate) struct Stories {
    process: Child,
    pub(crate) clients: SocketAddr,
    pub(crate) operators: SocketAddr,
}

impl Stories {
    pub(crate) fn start() -> Stories {
        // thousands of clients are as many open files, if the machine lets it
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -n 8192; exec \"$0\" --port 0 --admin-port 0", env!("CARGO_BIN_EXE_stories")])
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

    pub(crate) fn tell(&self, path: &str) -> Value {
        let answer = Client::connect(self.operators).request("GET", path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// What is found of a route.
    pub(crate) fn findings(&self, route: &str) -> Vec<Value> {
        let findings = self.tell("/findings");
        findings.as_array().unwrap().iter().filter(|finding| finding["route"] == route).cloned().collect()
    }

    pub(crate) fn finding(&self, route: &str, kind: &str) -> Value {
        let found = self.findings(route);
        found.iter().find(|finding| finding["kind"] == kind).unwrap_or_else(|| panic!("{found:?}")).clone()
    }

    /// Of a busy machine any poll may take long, which is found too.
    pub(crate) fn has_none(&self, route: &str, kinds: &[&str]) {
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
pub(crate) fn place(file: &str, text: &str) -> String {
    let path = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let line = source.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} stands in {file}"));
    format!("examples/stories/src/{file}:{}", line + 1)
}
