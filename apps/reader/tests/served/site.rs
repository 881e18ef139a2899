//! A reader that is served.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use thalweg_gloss::Dictionary;
use thalweg_reader::{demo, join, migrate};
use thalweg_server::{Config, Server};
use thalweg_testkit::{Client, Database, Response};
use tokio::sync::oneshot;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// A server on a database of its own, with the small dictionary or another one.
pub(crate) struct Site {
    pub(crate) database: Database,
    pub(crate) address: SocketAddr,
    admin: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

impl Site {
    pub(crate) fn start() -> Self {
        Self::start_with(thalweg_gloss::small().unwrap())
    }

    pub(crate) fn start_with(dictionary: Dictionary) -> Self {
        let database = Database::new("");
        let file = format!("{FOLDER}/thalweg.conf");
        let config = Config {
            db_uri: Some(database.uri()),
            pages_dir: Some(format!("{FOLDER}/pages").into()),
            server_port: 0,
            admin_server_port: Some(0),
            ..Config::load(Some(file.as_ref())).unwrap()
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (report, addresses) = std::sync::mpsc::channel();
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                migrate(FOLDER.as_ref(), &config).await.unwrap();
                let uri = config.db_uri.as_deref().unwrap();
                for _ in 0..2 {
                    assert_eq!(demo::load(FOLDER.as_ref(), uri).await.unwrap(), 12);
                }
                let server = join::join(Server::builder(config.clone()), &config, dictionary).start().await.unwrap();
                server.loaded().await.unwrap();
                report.send((server.local_addr().unwrap(), server.admin_addr().unwrap())).unwrap();
                server.serve(async { _ = stopped.await }).await.unwrap();
            });
        });
        let (address, admin) = addresses.recv().expect("the server starts");
        Self { database, address, admin, stop: Some(stop), serving: Some(serving) }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        Client::connect(self.address).request("GET", path, &[])
    }

    /// What a page shows, which must be there.
    pub(crate) fn page(&self, path: &str) -> String {
        let page = self.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        page.text().to_owned()
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        Client::connect(self.address).request_with("POST", path, headers, body)
    }

    /// Returns the findings of the gauge that name a route which holds up its executor.
    pub(crate) fn blocked_executor(&self) -> Vec<serde_json::Value> {
        let findings = Client::connect(self.admin).request("GET", "/admin/bill/findings", &[("host", "localhost")]);
        assert_eq!(findings.status, 200, "{}", findings.text());
        let findings = findings.json();
        let is_blocked = |finding: &&serde_json::Value| finding["kind"] == "blocked_executor";
        findings.as_array().unwrap().iter().filter(is_blocked).cloned().collect()
    }

    /// Returns the number of requests that the gauge has billed to a route.
    pub(crate) fn requests(&self, route: &str) -> u64 {
        let name: String = route.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let route = Client::connect(self.admin).request(
            "GET",
            &format!("/admin/bill/route?name={name}"),
            &[("host", "localhost")],
        );
        if route.status == 200 { route.json()["requests"].as_u64().unwrap() } else { 0 }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server has panicked");
        }
    }
}

/// A text as an address has it.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
