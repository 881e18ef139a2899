//! How long a schema of 10,000 tables takes to load, what it takes in memory, and what requests see of it meanwhile.

use crate::Outcome;
use crate::bench::{Server, start_servers_of};
use crate::measure::resident_bytes;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use thalweg_embedded_postgres::Cluster;

/// What one server took.
pub(crate) struct SchemaLoad {
    pub(crate) server: &'static str,
    pub(crate) seconds: f64,
    pub(crate) resident_bytes: u64,
    pub(crate) answered_per_second: f64,
    pub(crate) slowest_ms: f64,
}

const TABLES: u32 = 10_000;
/// Each in a transaction of its own, whose locks are counted.
const TABLES_AT_ONCE: u32 = 500;
const PROCEDURE: &str = "
create schema many;
create procedure many.make(a int, b int) language plpgsql as $$
declare columns text := (select string_agg('c' || i || ' ' || (array['int', 'text', 'timestamptz', 'numeric', 'jsonb'])[1 + i % 5],
                                           ', ') from generate_series(3, 20) i);
begin
  for i in a..b loop
    execute format('create table many.t%s (id int primary key, parent_id int references many.t%s, %s)',
                   i, case when i % 10 = 1 then i else i - 1 end, columns);
  end loop;
end $$;
grant usage on schema many to listener, gate;";

pub(crate) fn run(cluster: &Cluster, postgrest: &Path) -> Outcome<Vec<SchemaLoad>> {
    println!("making {TABLES} tables");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let uri = cluster.uri("postgres");
    runtime.block_on(async {
        let mut connection = thalweg_wire::Connection::connect(&thalweg_wire::Config::parse(&uri)?).await?;
        connection.simple(PROCEDURE).await?;
        for first in (1..=TABLES).step_by(TABLES_AT_ONCE as usize) {
            connection.simple(&format!("call many.make({first}, {})", first + TABLES_AT_ONCE - 1)).await?;
        }
        connection.simple("vacuum analyze").await?;
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    let mut found = Vec::new();
    for name in ["thalweg", "postgrest"] {
        let started = Instant::now();
        let servers = start_servers_of(cluster, postgrest, &[name], "music, many")?;
        let server = &servers[0];
        let mut client = Client::connect(server)?;
        while client.ask()?.0 != 200 {
            std::thread::sleep(Duration::from_millis(2));
        }
        let seconds = started.elapsed().as_secs_f64();
        // what the load needed only for itself is given back meanwhile
        std::thread::sleep(Duration::from_secs(2));
        let resident_bytes = resident_bytes(server.process.id());
        let (mut slowest, mut answered, started) = (Duration::ZERO, 0_u32, Instant::now());
        for _ in 0..3 {
            let process = server.process.id().to_string();
            std::process::Command::new("kill").args(["-USR1", &process]).status()?;
            let until = Instant::now() + Duration::from_secs(3);
            while Instant::now() < until {
                let (status, took) = client.ask()?;
                if status != 200 {
                    return Err(format!("{name} answers {status} while it loads").into());
                }
                slowest = slowest.max(took);
                answered += 1;
            }
        }
        let load = SchemaLoad {
            server: server.name,
            seconds,
            resident_bytes,
            answered_per_second: f64::from(answered) / started.elapsed().as_secs_f64(),
            slowest_ms: slowest.as_secs_f64() * 1e3,
        };
        println!("schema load · {name} · {seconds:.2} s · {} MB", resident_bytes / 1_000_000);
        found.push(load);
    }
    Ok(found)
}

/// One connection, one request at a time.
struct Client(TcpStream);

impl Client {
    fn connect(server: &Server) -> Outcome<Self> {
        let stream = TcpStream::connect(("127.0.0.1", server.port))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// The status of a small answer, and how long it took.
    fn ask(&mut self) -> Outcome<(u16, Duration)> {
        let started = Instant::now();
        self.0.write_all(b"GET /genre?genre_id=eq.1 HTTP/1.1\r\nHost: bench\r\n\r\n")?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        // with a length or chunked: both bodies end as they must
        while !ends(&answer) {
            let count = self.0.read(&mut buffer)?;
            if count == 0 {
                return Err("the server closed the connection".into());
            }
            answer.extend_from_slice(&buffer[..count]);
        }
        let status = String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.ok_or("no status")?, started.elapsed()))
    }
}

fn ends(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    match head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => body.ends_with("0\r\n\r\n"),
    }
}
