//! How often a request for one row allocates, counted over all threads of the server.

#[allow(dead_code, reason = "plans here have no bodies, and one schema")]
mod planned;

use crate::planned::{catalog, context, request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, mpsc};
use thalweg_gauge::{Allocations, CountingAllocator};
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_server::{Config, Server};
use thalweg_testkit::Database;

#[global_allocator]
static ALLOCATOR: CountingAllocator<std::alloc::System> = CountingAllocator(std::alloc::System);

/// What there are, and two more where a machine is busy.
const ALLOCATIONS_MAX: u64 = 28;
const REQUESTS: u64 = 1000;

/// Both tests count what the whole process allocates.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn serve(uri: String) -> SocketAddr {
    let (started, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let config = Config {
                db_uri: Some(uri),
                db_schemas: vec!["api".to_owned()],
                db_anon_role: Some("allocations_reader".to_owned()),
                server_host: "127.0.0.1".to_owned(),
                server_port: 0,
                ..Config::default()
            };
            let server = Server::builder(config).start().await.unwrap();
            server.loaded().await.unwrap();
            started.send(server.local_addr().unwrap()).unwrap();
            server.serve(std::future::pending()).await.unwrap();
        });
    });
    address.recv().unwrap()
}

#[test]
fn a_row_by_key_allocates_little() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let database = Database::new(
        "create schema api;
         create table api.t (id int primary key, name text, a int, b int, c int, d text, e int, f int, g numeric);
         insert into api.t select i, 'name ' || i, i, i, i, 'some text', i, i, 0.99 from generate_series(1, 100) i;
         create role allocations_reader; grant usage on schema api to allocations_reader;
         grant select on api.t to allocations_reader; analyze",
    );
    let mut client = TcpStream::connect(serve(database.uri())).unwrap();
    let mut buffer = [0; 4096];
    let mut exchange = || {
        client.write_all(b"GET /t?id=eq.42 HTTP/1.1\r\nHost: test\r\nAccept: */*\r\n\r\n").unwrap();
        let mut filled = 0;
        while !buffer[..filled].ends_with(b"}]") {
            let count = client.read(&mut buffer[filled..]).unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&buffer[..filled]));
            filled += count;
        }
    };
    for _ in 0..200 {
        exchange();
    }
    let before = Allocations::now();
    for _ in 0..REQUESTS {
        exchange();
    }
    let spent = Allocations::now().since(before);
    let (count, bytes) = (spent.count.div_ceil(REQUESTS), spent.bytes / REQUESTS);
    println!("allocations per request for one row: {count}, {bytes} bytes");
    assert!(count <= ALLOCATIONS_MAX, "{count} allocations per request");
    database.execute("drop owned by allocations_reader; drop role allocations_reader");
}

/// Twice as many parts of a request take twice as many allocations and bytes at most, up to its statements.
#[test]
fn planning_allocates_in_proportion() {
    const PARTS: usize = 40;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let database = Database::new(
        "create schema api;
         create table api.parents (id int primary key, name text);
         create table api.t (id int primary key, parent_id int references api.parents, a int, data jsonb);
         create table api.children (id int primary key, t_id int references api.t, a int)",
    );
    let catalog = catalog(&database.uri());
    let spent = |query: &str| {
        let before = Allocations::now();
        let params = Params::decode(query).unwrap();
        let request = request(Action::Read, Target::Relation("t"), &params, &[]).unwrap();
        let plan = plan(&request, None, context(&catalog)).unwrap();
        let statements = thalweg_sql::statements(&plan, None);
        assert!(!statements.main.is_empty());
        Allocations::now().since(before)
    };
    let list = |count: usize, separator: &str, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(separator)
    };
    type Query<'q> = &'q dyn Fn(usize) -> String;
    let queries: [(&str, Query<'_>); 6] = [
        ("embeds and filters of each", &|n| {
            let select = list(n, ",", &|at| format!("e{at}:parents(*),c{at}:children(*)"));
            let filters = list(n, "&", &|at| format!("e{at}.name=eq.x&c{at}.a=gt.1&c{at}.order=a&c{at}.limit=1"));
            format!("select=id,{select}&{filters}")
        }),
        ("embeds that are asked for", &|n| {
            let select = list(n, ",", &|at| format!("c{at}:children(id)"));
            format!("select=id,{select}&{}", list(n, "&", &|at| format!("c{at}=not.is.null")))
        }),
        ("spreads", &|n| format!("select=id,...children({})", list(10 * n, ",", &|at| format!("n{at}:a")))),
        ("filters", &|n| list(20 * n, "&", &|at| format!("a=neq.{at}"))),
        ("steps into JSON", &|n| format!("select={}", list(100 * n, ",", &|at| format!("data->n{at}")))),
        ("orders by an embed", &|n| {
            let select = list(10 * n, ",", &|at| format!("n{at}:id"));
            format!("select=parents({select})&order={}", list(10 * n, ",", &|at| format!("parents(n{at})")))
        }),
    ];
    for (name, query) in queries {
        // what is made once has been made
        spent(&query(1));
        let (once, twice) = (spent(&query(PARTS / 2)), spent(&query(PARTS)));
        println!("{name}: {once:?}, twice as many: {twice:?}");
        assert!(twice.count * 10 <= once.count * 22, "{name}: {once:?}, twice as many: {twice:?}");
        assert!(twice.bytes * 10 <= once.bytes * 22, "{name}: {once:?}, twice as many: {twice:?}");
    }
}
