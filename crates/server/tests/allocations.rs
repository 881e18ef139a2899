//! How often a request for one row allocates, and one for a page, counted over all threads of the server.

#[allow(dead_code, reason = "plans here have no bodies, and one schema")]
mod planned;

use crate::planned::{catalog, context, request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, mpsc};
use thalweg_gauge::{CountingAllocator, Counts};
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_server::{Config, Server};
use thalweg_testkit::{Database, Proxy, eventually};

#[global_allocator]
static ALLOCATOR: CountingAllocator<std::alloc::System> = CountingAllocator(std::alloc::System);

/// What there are, and two more where a machine is busy.
const ALLOCATIONS_MAX: u64 = 28;
/// Allocations of a refused request. Most are those of hyper, which parses the head of the request
/// and writes that of the response. Two are the account of what the response holds.
const ALLOCATIONS_OF_REFUSAL_MAX: u64 = 9;
const REQUESTS: u64 = 1000;

/// Of a row of the page below whose loop is the engine's: its title, its moment, and what the engine keeps of a turn of a loop.
const ALLOCATIONS_OF_PAGE_ROW_MAX: f64 = 4.0;
/// The same of a loop that is written without the engine: a date that none of the rows before it had.
const ALLOCATIONS_OF_DIRECT_ROW_MAX: f64 = 0.1;

/// All tests count what the whole process allocates.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn config(uri: String) -> Config {
    Config {
        db_uri: Some(uri),
        db_schemas: vec!["api".to_owned()],
        db_anon_role: Some("allocations_reader".to_owned()),
        server_host: "127.0.0.1".to_owned(),
        server_port: 0,
        ..Config::default()
    }
}

fn serve(config: Config) -> SocketAddr {
    let (started, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
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
    let mut client = TcpStream::connect(serve(config(database.uri()))).unwrap();
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
    let before = Counts::of_process();
    for _ in 0..REQUESTS {
        exchange();
    }
    let spent = Counts::of_process().since(before);
    let (count, bytes) = (spent.allocations.div_ceil(REQUESTS), spent.allocated_bytes / REQUESTS);
    println!("allocations per request for one row: {count}, {bytes} bytes");
    assert!(count <= ALLOCATIONS_MAX, "{count} allocations per request");
    database.execute("drop owned by allocations_reader; drop role allocations_reader");
}

/// Sends one request for a row on a connection, and returns the status of its answer. It allocates
/// nothing itself.
fn status(client: &mut TcpStream) -> u16 {
    let mut buffer = [0; 4096];
    client.write_all(b"GET /t?id=eq.42 HTTP/1.1\r\nHost: test\r\nAccept: */*\r\n\r\n").unwrap();
    let mut filled = 0;
    while !buffer[..filled].ends_with(b"}") && !buffer[..filled].ends_with(b"}]") {
        let count = client.read(&mut buffer[filled..]).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&buffer[..filled]));
        filled += count;
    }
    buffer[9..12].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
}

/// A request that is refused because too many others wait is not parsed, planned or sent to the
/// database, and its response is prepared.
#[test]
fn a_refusal_allocates_little() {
    const CLIENTS: u64 = 200;
    /// `WAITING_MIN` of `thalweg-wire`, and one request that is served.
    const WAITING: usize = 101;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let database = Database::new(
        "create schema api; create table api.t (id int primary key, name text); insert into api.t values (42, 'x');
         create role allocations_reader; grant usage on schema api to allocations_reader;
         grant select on api.t to allocations_reader; analyze",
    );
    let address = serve(Config {
        db_pool: 1,
        db_pool_acquisition_timeout: std::time::Duration::from_secs(60),
        ..config(database.uri())
    });
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut spent = |expected: u16| {
        let before = Counts::of_process();
        clients.iter_mut().for_each(|client| assert_eq!(status(client), expected));
        Counts::of_process().since(before)
    };
    (0..3).for_each(|_| _ = spent(200));
    let answered = spent(200);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| database.try_execute("begin; lock table api.t; select pg_sleep(600)"));
        let lock =
            "select 1 from pg_locks where relation = 'api.t'::regclass and mode = 'AccessExclusiveLock' and granted";
        eventually("the table is locked", || !database.query(lock).is_empty());
        let mut waiting: Vec<TcpStream> = (0..WAITING).map(|_| TcpStream::connect(address).unwrap()).collect();
        let request = b"GET /t?id=eq.42 HTTP/1.1\r\nHost: test\r\n\r\n";
        waiting.iter_mut().for_each(|client| client.write_all(request).unwrap());
        // After some time the queue counts as stalled, and the next request is refused, or the
        // oldest.
        let mut probe = TcpStream::connect(address).unwrap();
        probe.write_all(request).unwrap();
        waiting.insert(0, probe);
        let mut first = [0; 12];
        for client in &waiting {
            client.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        }
        eventually("a request is refused", || waiting.iter().any(|client| client.peek(&mut first).is_ok()));
        assert_eq!(&first, b"HTTP/1.1 503");
        let refused = spent(503);
        database.query("select pg_terminate_backend(l.pid) from pg_locks l where mode = 'AccessExclusiveLock' and relation = 'api.t'::regclass");
        refused
    });
    println!("200 answers: {answered:?}, as many refusals: {refused:?}");
    // The rest of its work in the server must not be counted by the next test.
    drop(clients);
    let mut before = Counts::of_process();
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let now = Counts::of_process();
        if now.allocations == before.allocations {
            break;
        }
        before = now;
    }
    let of_each = refused.allocations.div_ceil(CLIENTS);
    assert!(of_each <= ALLOCATIONS_OF_REFUSAL_MAX, "{of_each} allocations per refusal");
    database.execute("drop owned by allocations_reader; drop role allocations_reader");
}

/// A list of flights whose tracks it does not show.
const FLIGHTS: &str = r#"+++
flights = "/flights?select=*,pilots(*),sites(*)&order=launched_at.desc&limit={rows}"
+++
<table>
{% for flight in flights %}<tr><td>{{ flight.title }}</td><td>{{ flight.pilots.name }}</td><td>{{ flight.sites.name }}</td>
<td>{{ flight.launched_at|date }}</td><td>{{ flight.distance_km }}</td></tr>{% endfor %}
</table>"#;

fn flights() -> Database {
    Database::new(
        "create schema api;
         create table api.pilots (id int primary key, name text not null);
         create table api.sites (id int primary key, name text not null);
         create table api.flights (id int primary key, title text not null, pilot_id int not null references api.pilots,
           site_id int not null references api.sites, launched_at timestamptz not null, distance_km numeric(8,2), track bytea);
         alter table api.flights alter track set storage external;
         insert into api.pilots select i, 'Pilot & Co ' || i from generate_series(1, 20) i;
         insert into api.sites select i, 'Site ' || i from generate_series(1, 20) i;
         insert into api.flights select i, 'Flight number ' || i || ' over the hills', 1 + i % 20, 1 + i % 20,
           timestamptz '2026-05-01T10:00Z' + i * interval '7 hours', i * 1.25 from generate_series(1, 200) i;
         create role allocations_reader; grant usage on schema api to allocations_reader;
         grant select on all tables in schema api to allocations_reader; analyze",
    )
}

/// Gives the last flights tracks of this size.
fn set_tracks(database: &Database, bytes: usize) {
    database.execute(&format!("update api.flights set track = decode(repeat('a7', {bytes}), 'hex') where id > 192"));
}

/// One request for a page of so many rows.
fn page(client: &mut TcpStream, name: &str, rows: u32) {
    let mut buffer = [0; 64 * 1024];
    client.write_all(format!("GET /{name}?rows={rows} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
    let mut filled = 0;
    while !buffer[..filled].ends_with(b"</table>") {
        let count = client.read(&mut buffer[filled..]).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&buffer[..filled]));
        filled += count;
    }
    assert_eq!(buffer[..filled].windows(4).filter(|four| four == b"<tr>").count(), rows as usize);
}

#[test]
fn a_page_costs_what_it_shows() {
    const SMALL_BYTES: usize = 1_000;
    const LARGE_BYTES: usize = 5_000_000;
    const PAGES: u64 = 100;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let database = flights();
    set_tracks(&database, SMALL_BYTES);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flights.html"), FLIGHTS).unwrap();
    let of_engine = FLIGHTS.replace("<tr>", "{% set _ = 1 %}<tr>");
    std::fs::write(folder.path().join("engine.html"), of_engine).unwrap();
    let site = |uri: String| Config { pages_dir: Some(folder.path().to_owned()), ..config(uri) };
    let mut client = TcpStream::connect(serve(site(database.uri()))).unwrap();
    let mut spent = |name: &str, rows: u32| {
        (0..20).for_each(|_| page(&mut client, name, rows));
        let before = Counts::of_process();
        (0..PAGES).for_each(|_| page(&mut client, name, rows));
        Counts::of_process().since(before)
    };
    for (name, most) in [("flights", ALLOCATIONS_OF_DIRECT_ROW_MAX), ("engine", ALLOCATIONS_OF_PAGE_ROW_MAX)] {
        let (whole, half) = (spent(name, 200), spent(name, 100));
        let of_row = (whole.allocations as f64 - half.allocations as f64) / (PAGES * 100) as f64;
        println!(
            "{name}: allocations per row of a page: {of_row}, of a page of 200 rows: {}",
            whole.allocations / PAGES
        );
        assert!(of_row <= most, "{name}: {of_row} allocations per row of a page");
    }

    let (proxy, through) = Proxy::before(&database.uri());
    let mut proxied = TcpStream::connect(serve(site(through))).unwrap();
    let mut sent = || {
        page(&mut proxied, "flights", 8);
        proxy.take_recorded();
        page(&mut proxied, "flights", 8);
        proxy.take_recorded().len() as f64
    };
    let small = (spent("flights", 8).allocated_bytes as f64, sent());
    set_tracks(&database, LARGE_BYTES);
    let large = (spent("flights", 8).allocated_bytes as f64, sent());
    println!("8 flights: allocated, and sent by PostgreSQL: {small:?}, with large tracks {large:?} bytes");
    assert!(small.1 > 0.0, "the proxy has seen what is compared");
    for (what, small, large) in [("allocated", small.0, large.0), ("sent", small.1, large.1)] {
        assert!(
            (0.95..=1.05).contains(&(large / small)),
            "{what}: {small} bytes with small tracks, {large} with large"
        );
    }
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
        let before = Counts::of_process();
        let params = Params::decode(query).unwrap();
        let request = request(Action::Read, Target::Relation("t"), &params, &[]).unwrap();
        let plan = plan(&request, None, context(&catalog)).unwrap();
        let statements = thalweg_sql::statements(&plan, None);
        assert!(!statements.main.is_empty());
        Counts::of_process().since(before)
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
        assert!(twice.allocations * 10 <= once.allocations * 22, "{name}: {once:?}, twice as many: {twice:?}");
        assert!(twice.allocated_bytes * 10 <= once.allocated_bytes * 22, "{name}: {once:?}, twice as many: {twice:?}");
    }
}
