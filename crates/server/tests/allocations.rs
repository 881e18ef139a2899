//! How often a request for one row allocates, counted over all threads of the server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use thalweg_gauge::{Allocations, CountingAllocator};
use thalweg_server::{Config, Server};
use thalweg_testkit::Database;

#[global_allocator]
static ALLOCATOR: CountingAllocator<std::alloc::System> = CountingAllocator(std::alloc::System);

/// What there are, and two more where a machine is busy.
const ALLOCATIONS_MAX: u64 = 40;
const REQUESTS: u64 = 1000;

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
