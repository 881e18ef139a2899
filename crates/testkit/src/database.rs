//! One PostgreSQL a test process, one database a test.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_embedded_postgres::{Cluster, Collation, Options};
use thalweg_wire::{Config, Connection, Query, Texts};

static CLUSTER: OnceLock<(Cluster, PathBuf)> = OnceLock::new();
static NUMBER: AtomicUsize = AtomicUsize::new(0);
const PREFIX: &str = "thalweg-test-";

fn cluster() -> &'static (Cluster, PathBuf) {
    CLUSTER.get_or_init(|| {
        remove_leftovers();
        let data_dir = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        // what is analysed in the middle of a test is planned in another way, and rows come in another order
        let settings =
            [("fsync", "off"), ("max_connections", "200"), ("log_min_messages", "fatal"), ("autovacuum", "off")];
        let options = Options {
            data_dir: Some(data_dir.clone()),
            fresh: true,
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            // The golden and the differential cases have the order of bytes.
            collation: Collation::Bytes,
        };
        (Cluster::start(&options).expect("PostgreSQL starts"), data_dir)
    })
}

/// Clusters of test processes that have ended: nobody else removes them.
fn remove_leftovers() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix(PREFIX) else { continue };
        if process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists() && Path::new("/proc/1").exists()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The connection string of a database of the test process's cluster, over TCP.
pub fn cluster_uri(database: &str) -> String {
    cluster().0.tcp_uri(database)
}

/// Where the test process's cluster keeps its files.
pub fn data_dir() -> PathBuf {
    cluster().1.join("cluster")
}

/// A database that is this test's alone, dropped at its end.
#[derive(Debug)]
pub struct Database {
    name: String,
}

impl Database {
    /// A database in which a script has been run.
    pub fn new(script: &str) -> Self {
        let database = Self::with("");
        database.execute(script);
        database
    }

    /// An empty database, made with options of `create database`.
    pub fn with(options: &str) -> Self {
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        run(&cluster_uri("postgres"), &format!("create database {name} {options}"));
        Self { name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its connection string, over TCP.
    pub fn uri(&self) -> String {
        cluster_uri(&self.name)
    }

    /// Its connection string, over the Unix socket.
    pub fn unix_uri(&self) -> String {
        cluster().0.uri(&self.name)
    }

    /// Runs a script.
    pub fn execute(&self, script: &str) {
        run(&self.uri(), script);
    }

    /// Runs a script that may fail; whether it did not.
    pub fn try_execute(&self, script: &str) -> bool {
        block_on(async { connect(&self.uri()).await.simple(script).await.is_ok() })
    }

    /// A query's rows, as text.
    pub fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        query_at(&self.uri(), sql)
    }

    /// The one value of a query.
    pub fn value(&self, sql: &str) -> String {
        self.query(sql).into_iter().next().and_then(|row| row.into_iter().next().flatten()).unwrap_or_default()
    }
}

/// A query's rows, as text, on a connection of its own that leaves nothing in the session, which may be a pooler's.
pub fn query_at(uri: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    block_on(async {
        let mut connection = connect(uri).await;
        connection.share_session();
        let mut texts = Texts::default();
        let query = Query::bare(sql);
        connection.run(&[query], &mut texts).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        connection.terminate().await;
        texts.rows
    })
}

impl Drop for Database {
    fn drop(&mut self) {
        run(&cluster_uri("postgres"), &format!("drop database {} with (force)", self.name));
    }
}

fn run(uri: &str, script: &str) {
    block_on(async {
        let mut connection = connect(uri).await;
        connection.simple(script).await.unwrap_or_else(|error| panic!("{script}: {error}"));
        connection.terminate().await;
    });
}

async fn connect(uri: &str) -> Connection {
    let config = Config::parse(uri).expect("the connection string is right");
    Connection::connect(&config).await.expect("PostgreSQL answers")
}

/// Runs on a thread of its own, so that a test may be in a runtime already.
fn block_on<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(work)
        });
        match worker.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
