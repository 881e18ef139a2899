//! A client that writes another address into its request, behind the nginx of docs/proxies.md.

use crate::served::{GRANTS, Served, config};
use axum::Router;
use axum::extract::Extension;
use axum::routing::get;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thalweg_server::{Network, Server};
use thalweg_testkit::{Client, Database};

/// A running nginx, which ends when this is dropped.
struct Nginx {
    process: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// Starts nginx with a configuration of the documents in front of a server, if there is one.
    fn start(example: &str, upstream: SocketAddr) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].map(Path::new).into_iter().find(|path| path.is_file());
        let Some(program) = program else {
            println!("skipped: there is no nginx in /usr/sbin or /usr/bin (Debian's package nginx-light)");
            return None;
        };
        let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (placed, port) = (example.replace("127.0.0.1:3000", &upstream.to_string()), address.port());
        let placed = placed.replacen("server {\n", &format!("server {{\nlisten 127.0.0.1:{port};\n"), 1);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|of| format!("{of}_temp_path {of};\n")).concat();
        let text = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{placed}\n}}\n"
        );
        std::fs::write(folder.path().join("nginx.conf"), text).unwrap();
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut nginx = Self { process, address, _folder: folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            let log = || std::fs::read_to_string(nginx._folder.path().join("error.log")).unwrap_or_default();
            assert!(nginx.process.try_wait().unwrap().is_none() && Instant::now() < deadline, "{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// The example did not set `X-Forwarded-For`, so the value that the client had written into it
/// counted.
#[test]
fn a_client_behind_the_nginx_of_the_documents_cannot_choose_its_address() {
    let document = include_str!("../../../../docs/proxies.md");
    let example = document.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let database = Database::new(&format!("create schema api; create table api.things (id int);{GRANTS}"));
    let network = |Extension(network): Extension<Network>| async move { network.to_string() };
    let router = Router::new().route("/", get(network));
    let served = Served::of_builder(Server::builder(config(&database.uri())).routes("/own", router));
    let Some(nginx) = Nginx::start(example, served.address) else { return };
    for headers in [
        &[][..],
        &[("x-forwarded-for", "203.0.113.9")],
        &[("x-forwarded-for", "203.0.113.9, 198.51.100.1"), ("x-forwarded-for", "192.0.2.1")],
        &[("x-forwarded-for", "unknown")],
        &[("X-FORWARDED-FOR", "203.0.113.9")],
    ] {
        let answer = Client::connect(nginx.address).request("GET", "/own", headers);
        assert_eq!((answer.status, answer.text()), (200, "127.0.0.1"), "{headers:?}");
    }
    // Without the line, clients cannot be distinguished, and an address that a client writes is
    // trusted.
    let without: String =
        example.lines().filter(|line| !line.contains("X-Forwarded-For")).flat_map(|line| [line, "\n"]).collect();
    let Some(nginx) = Nginx::start(&without, served.address) else { return };
    let shown =
        |headers: &[(&str, &str)]| Client::connect(nginx.address).request("GET", "/own", headers).text().to_owned();
    assert_eq!(shown(&[("x-forwarded-for", "203.0.113.9")]), "203.0.113.9");
    assert_eq!(shown(&[]), "unknown");
}
