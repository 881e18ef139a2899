//! A flight book that is served, and who visits it.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use thalweg_flightbook::join;
use thalweg_server::{Config, Server};
use thalweg_testkit::{Admin, Client, Database, Response};
use tokio::sync::oneshot;

pub(crate) const PASSWORD: &str = "over the ridge at noon";
const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const SECRET: &str = "thermals-over-the-ridge-at-noon!";

/// A server on a database of its own.
pub(crate) struct Book {
    pub(crate) database: Database,
    pub(crate) address: SocketAddr,
    pub(crate) admin: Admin,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

impl Book {
    pub(crate) fn start() -> Self {
        Self::start_on(Database::new(""))
    }

    pub(crate) fn start_on(database: Database) -> Self {
        Self::start_as(database, |config| config)
    }

    /// Starts a server with a modified configuration.
    pub(crate) fn start_as(database: Database, configure: impl FnOnce(Config) -> Config) -> Self {
        let file = format!("{FOLDER}/thalweg.conf");
        let config = configure(Config {
            db_uri: Some(database.uri()),
            jwt_secret: Some(thalweg_server::Secret::new(SECRET)),
            pages_dir: Some(format!("{FOLDER}/pages").into()),
            server_port: 0,
            admin_server_port: Some(0),
            ..Config::load(Some(file.as_ref())).unwrap()
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let (report, addresses) = std::sync::mpsc::channel();
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                thalweg_flightbook::migrate(FOLDER.as_ref(), &config).await.unwrap();
                let server = join::join(Server::builder(config.clone()), &config).unwrap().start().await.unwrap();
                server.loaded().await.unwrap();
                report.send((server.local_addr().unwrap(), server.admin_addr().unwrap())).unwrap();
                server.serve(async { _ = stopped.await }).await.unwrap();
            });
        });
        let (address, admin) = addresses.recv().expect("the server starts");
        Self { database, address, admin: Admin(admin), stop: Some(stop), serving: Some(serving) }
    }

    pub(crate) fn visitor(&self) -> Visitor {
        Visitor { address: self.address, cookie: None, device: None, language: "en" }
    }

    /// The same pilot in another window.
    pub(crate) fn again(&self, pilot: &Visitor) -> Visitor {
        Visitor { cookie: pilot.cookie.clone(), ..self.visitor() }
    }

    /// Somebody who has registered, and is in.
    pub(crate) fn pilot(&self, name: &str) -> Visitor {
        let mut visitor = self.visitor();
        let email = format!("{}@club.example", name.to_lowercase());
        let entered = visitor.submit("/do/register", &[("name", name), ("email", &email), ("password", PASSWORD)]);
        assert_eq!((entered.status, entered.header("location")), (303, Some("/flights")), "{}", entered.text());
        assert!(visitor.cookie.is_some());
        visitor
    }

    /// Returns whether a transaction has locked a table against writes.
    pub(crate) fn is_held(&self, table: &str) -> bool {
        let held = format!(
            "select count(*) from pg_locks where relation = 'flightbook.{table}'::regclass and granted and mode = 'ShareLock'"
        );
        self.database.value(&held) == "1"
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server has panicked");
        }
    }
}

/// A browser, as far as headers and cookies go.
pub(crate) struct Visitor {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: Option<String>,
    /// The device cookie, which the browser retains when its session ends.
    pub(crate) device: Option<String>,
    pub(crate) language: &'static str,
}

impl Visitor {
    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.ask("GET", path, &[], b"")
    }

    /// What a page shows, which must be there.
    pub(crate) fn page(&mut self, path: &str) -> String {
        let page = self.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        page.text().to_owned()
    }

    /// Sends a form without files.
    pub(crate) fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let form = [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://test")];
        self.ask("POST", path, &form, body.join("&").as_bytes())
    }

    /// Sends tracks.
    pub(crate) fn upload(&mut self, files: &[(&str, &[u8])]) -> Response {
        self.send_files("/do/tracks", "igc", files)
    }

    /// Sends a form whose field has files.
    pub(crate) fn send_files(&mut self, path: &str, field: &str, files: &[(&str, &[u8])]) -> Response {
        let head = format!("--B0undary\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"");
        let mut body = Vec::new();
        for (name, content) in files {
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(b"\"\r\nContent-Type: application/octet-stream\r\n\r\n");
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--B0undary--\r\n");
        let form = [("content-type", "multipart/form-data; boundary=B0undary"), ("origin", "http://test")];
        self.ask("POST", path, &form, &body)
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut all = vec![("accept-language", self.language)];
        all.extend_from_slice(headers);
        let cookies = [self.cookie.clone(), self.device.clone()];
        all.extend(cookies.iter().flatten().map(|cookie| ("cookie", cookie.as_str())));
        // The server closes a connection that has been idle for long, as it is while a test computes.
        let response = Client::connect(self.address).request_with(method, path, &all, body);
        for (_, cookie) in response.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let value = cookie.split(';').next().unwrap_or_default().to_owned();
            match value.split('=').next() {
                Some("__Host-flightbook") => self.cookie = Some(value).filter(|value| !value.ends_with('=')),
                Some("__Host-flightbook-device") => self.device = Some(value),
                _ => {}
            }
        }
        response
    }
}
