//! How often a track that a pilot sends to the flight book is copied on its way into the database.

use crate::COPIED;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use thalweg_flightbook::{FlightBook, join};
use thalweg_server::{Config, Secret, Server};
use thalweg_testkit::{Client, Database};

/// How much is sent.
const TRACK_BYTES: usize = 1024 * 1024;
/// The file is put into one piece, to be read; what passes through besides is the edges of chunks.
const ONCE: f64 = 1.05;

fn serve(uri: String) -> SocketAddr {
    let (started, address) = mpsc::channel();
    std::thread::spawn(move || {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/flightbook");
        let config = Config {
            db_uri: Some(uri),
            jwt_secret: Some(Secret::new("thermals-over-the-ridge-at-noon!")),
            server_port: 0,
            ..Config::load(Some(&folder.join("thalweg.conf"))).unwrap()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            thalweg_flightbook::migrate(&folder, &config).await.unwrap();
            let server = join::join(Server::builder(config.clone()), &config).unwrap().start().await.unwrap();
            server.loaded().await.unwrap();
            started.send(server.local_addr().unwrap()).unwrap();
            server.serve(std::future::pending()).await.unwrap();
        });
    });
    address.recv().unwrap()
}

/// A track of a long day, with comments of its pilot that make it so large, and how often `é` stands in it.
fn track() -> (Vec<u8>, usize) {
    let mut igc = FlightBook::new(10).flights().last().unwrap().igc;
    let comment = "LXTHPilot: é é é é é é é é é é é é é é é é\r\n";
    while igc.len() < TRACK_BYTES {
        igc.push_str(comment);
    }
    let count = igc.matches('é').count();
    assert!(count > 10_000, "{count}");
    (igc.into_bytes(), count)
}

#[test]
fn a_track_is_copied_once() {
    let _alone = crate::alone();
    let database = Database::new("");
    let address = serve(database.uri());
    let entered = Client::connect(address).request_with(
        "POST",
        "/do/register",
        &[("content-type", "application/x-www-form-urlencoded"), ("origin", "http://test")],
        b"name=Ann&email=ann%40club.example&password=over+the+ridge+at+noon",
    );
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a session");
    let (track, count) = track();
    let file = "--b\r\nContent-Disposition: form-data; name=\"igc\"; filename=\"long.igc\"\r\n\r\n";
    let end = "\r\n--b--\r\n";
    let head = format!(
        "POST /do/tracks HTTP/1.1\r\nHost: test\r\nOrigin: http://test\r\nCookie: {cookie}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n",
        file.len() + track.len() + end.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    let before = COPIED.load(Ordering::Relaxed);
    for part in [head.as_bytes(), file.as_bytes(), &track, end.as_bytes()] {
        stream.write_all(part).unwrap();
    }
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer).unwrap();
    let copies = (COPIED.load(Ordering::Relaxed) - before) as f64 / count as f64;
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 303") && answer.contains("location: /flights/1\r\n"), "{answer}");
    println!("a track of {} KiB: {copies:.4}", track.len() / 1024);
    assert!((0.5..=ONCE).contains(&copies), "{copies} copies a byte");
    assert_eq!(database.value("select octet_length(igc) from flightbook.track_files"), track.len().to_string());
}
