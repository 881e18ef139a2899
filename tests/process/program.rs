//! A program that runs for one test, and what it says.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use thalweg_testkit::Client;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// A running `thalweg` and the lines it has printed.
pub(crate) struct Program {
    pub(crate) process: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Program {
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::launch(Self::command(arguments, environment))
    }

    /// What starts it, or the program that TEST_PROGRAM names, with nothing of the machine's user but where PostgreSQL is.
    pub(crate) fn command(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
        let built = env!("CARGO_BIN_EXE_thalweg").to_owned();
        let mut command = Command::new(std::env::var("TEST_PROGRAM").unwrap_or(built));
        for (name, _) in std::env::vars() {
            let ours = name.starts_with("THALWEG_") && name != "THALWEG_POSTGRES" && name != "THALWEG_MAVEN_URL";
            if ours || name.starts_with("PGRST_") || name.starts_with("PG") {
                command.env_remove(name);
            }
        }
        command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another program, started as this one would be, but for its arguments.
    pub(crate) fn retargeted(command: &Command, program: &Path) -> Command {
        let mut other = Command::new(program);
        other.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other
    }

    /// Starts it, and reads what is not sent elsewhere.
    pub(crate) fn launch(mut command: Command) -> Self {
        let mut process = command.spawn().expect("the program starts");
        let (sender, lines) = channel();
        let output = process.stdout.take().map(|output| Box::new(output) as Box<dyn Read + Send>);
        let error = process.stderr.take().map(|output| Box::new(output) as Box<dyn Read + Send>);
        for output in [output, error].into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(output).lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
            });
        }
        Self { process, lines, seen: Vec::new() }
    }

    /// Serves the schema `api` of a database on any free port.
    pub(crate) fn serve(uri: &str) -> Self {
        Self::launch(Self::serving(uri, &[]))
    }

    /// The same, not started yet, with more that is said to it.
    pub(crate) fn serving(uri: &str, more: &[(&str, &str)]) -> Command {
        let environment = [
            ("PGRST_DB_URI", uri),
            ("PGRST_DB_SCHEMAS", "api"),
            ("PGRST_DB_ANON_ROLE", "postgres"),
            ("PGRST_SERVER_PORT", "0"),
            ("PGRST_SERVER_HOST", "127.0.0.1"),
            // The name that the tests' client sends in Host.
            ("THALWEG_ADMIN_SERVER_ALLOWED_HOSTS", "test"),
        ];
        Self::command(&["serve"], &[&environment, more].concat())
    }

    /// Waits for a line with this in it. Lines come by two ways, so that it may have come before one that was waited for.
    pub(crate) fn line(&mut self, part: &str) -> String {
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

    /// The lines that nobody has waited for, once it has ended.
    pub(crate) fn rest(mut self) -> Vec<String> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.extend(self.lines.iter());
        seen
    }

    pub(crate) fn address(&mut self) -> SocketAddr {
        let line = self.line("listening on http://");
        self.line("Schema cache loaded");
        line.rsplit_once("http://").unwrap().1.parse().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).expect("the program runs");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
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
    pub(crate) fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").unwrap();
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.memory_bytes("VmHWM:")
    }

    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory_bytes("VmRSS:")
    }

    fn memory_bytes(&self, of: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(of)).unwrap();
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
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-process-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn get(address: SocketAddr, target: &str) -> serde_json::Value {
    let response = Client::connect(address).request("GET", target, &[]);
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

pub(crate) fn runs(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// Waits until a condition holds, which may take a program long on a busy machine.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    thalweg_testkit::within(TIMEOUT, what, holds);
}
