//! A reader that is served.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use thalweg_gloss::Dictionary;
use thalweg_reader::{demo, join, migrate};
use thalweg_server::{Config, Server};
use thalweg_testkit::{Admin, Client, Database, Response};
use tokio::sync::oneshot;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// A server on a database of its own, with the small dictionary or another one.
pub(crate) struct Site {
    pub(crate) database: Database,
    pub(crate) address: SocketAddr,
    pub(crate) admin: Admin,
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
        Self { database, address, admin: Admin(admin), stop: Some(stop), serving: Some(serving) }
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
