//! A server of the library for one test.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use thalweg_server::{Config, Server, ServerBuilder, Sources};
pub(crate) use thalweg_testkit::eventually;
use thalweg_testkit::{Client, Response};
use tokio::sync::oneshot;

/// A running server, stopped at the end of its test.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The role that requests run as.
pub(crate) const ROLE: &str = "test_reader";
/// Makes the role, lets it read everything in `api`, and is to be run after the tables have been made.
pub(crate) const GRANTS: &str = "
    do $$ begin
      -- roles belong to the whole cluster, and other tests make this one too
      create role test_reader nologin; exception when duplicate_object or unique_violation then null;
    end $$;
    grant usage on schema api to test_reader;
    grant select on all tables in schema api to test_reader;
";

/// The configuration of most tests.
pub(crate) fn config(uri: &str) -> Config {
    Config {
        db_uri: Some(uri.to_owned()),
        db_schemas: vec!["api".to_owned()],
        db_anon_role: Some(ROLE.to_owned()),
        server_host: "127.0.0.1".to_owned(),
        server_port: 0,
        server_timing_enabled: true,
        ..Config::default()
    }
}

impl Served {
    /// Serves `api` of a database.
    pub(crate) fn database(uri: &str) -> Self {
        Self::start(config(uri))
    }

    /// Serves, and waits until the schema cache has been loaded, or could not be.
    pub(crate) fn start(config: Config) -> Self {
        Self::launch(config, true)
    }

    /// Serves, and waits for nothing.
    #[allow(dead_code, reason = "not every suite looks at how a server starts")]
    pub(crate) fn start_unloaded(config: Config) -> Self {
        Self::launch(config, false)
    }

    /// Serves what sources say, and reads them again when it is told to.
    #[allow(dead_code, reason = "not every suite has sources")]
    pub(crate) fn of_sources(sources: Sources) -> Self {
        Self::serve(Server::builder(sources.read().expect("they can be read")).sources(sources), true)
    }

    fn launch(config: Config, waits: bool) -> Self {
        Self::serve(Server::builder(config), waits)
    }

    /// Serves what was built otherwise than by a configuration alone.
    #[allow(dead_code, reason = "not every suite builds a server")]
    pub(crate) fn of_builder(server: ServerBuilder) -> Self {
        Self::serve(server, true)
    }

    fn serve(server: ServerBuilder, waits: bool) -> Self {
        let (started, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = server.start().await.expect("the server starts");
                if waits {
                    server.loaded().await.expect("the schema cache can be loaded");
                }
                // a Unix socket has no address, and its tests know its path
                started.send(server.local_addr().unwrap_or(([127, 0, 0, 1], 0).into())).unwrap();
                server.serve(async { _ = stopped.await }).await.expect("the server ends in order");
            });
        });
        Self { address: address.recv().expect("the server started"), stop: Some(stop), thread: Some(thread) }
    }

    /// One request on a connection of its own.
    pub(crate) fn request(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Response {
        Client::connect(self.address).request(method, target, headers)
    }

    /// One request with a body on a connection of its own.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Response {
        Client::connect(self.address).request_with(method, target, headers, body.as_ref())
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.request("GET", target, &[])
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}
