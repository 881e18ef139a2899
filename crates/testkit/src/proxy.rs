//! A TCP proxy that can cut what passes through it into pieces, and cut it off.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What PostgreSQL says when a session has begun, or a transaction has ended.
const READY_FOR_QUERY: &[u8] = b"Z\0\0\0\x05I";

/// Time between two checks for data from clients or the server.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);

/// A proxy in front of a server.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    open: AtomicBool,
    /// Whether connections are taken that lead nowhere.
    silent: AtomicBool,
    /// How many bytes of an answer are handed on at a time; 0 is all there are.
    piece_bytes: AtomicUsize,
    /// Whether nothing is handed on once a session has begun.
    stalls: AtomicBool,
    /// True if data from the server is read and dropped.
    drops_answers: AtomicBool,
    /// True if data from clients is read and dropped.
    drops_requests: AtomicBool,
    /// True if no data from clients is read.
    ignores_requests: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    /// Number of pieces that clients have sent.
    requests: AtomicUsize,
    recorded: Mutex<Vec<u8>>,
}

impl Proxy {
    /// A proxy in front of the host of a PostgreSQL connection string, and the string that leads through it.
    pub fn before(uri: &str) -> (Self, String) {
        let (login, rest) = uri.split_once('@').expect("the connection string has a user");
        let (host, path) = rest.split_once('/').expect("the connection string has a database");
        let target = host.to_socket_addrs().ok().and_then(|mut found| found.next()).expect("the host has an address");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let shared = Arc::new(Shared {
            target,
            open: AtomicBool::new(true),
            silent: AtomicBool::new(false),
            piece_bytes: AtomicUsize::new(0),
            stalls: AtomicBool::new(false),
            drops_answers: AtomicBool::new(false),
            drops_requests: AtomicBool::new(false),
            ignores_requests: AtomicBool::new(false),
            connections: Mutex::default(),
            requests: AtomicUsize::new(0),
            recorded: Mutex::default(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                serving.clone().forward(client);
            }
        });
        (Self { shared }, format!("{login}@{address}/{path}"))
    }

    /// Cuts all connections, and refuses new ones until it is opened again.
    pub fn close(&self) {
        self.shared.open.store(false, Ordering::SeqCst);
        for connection in self.shared.connections.lock().expect("no thread panicked").drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub fn open(&self) {
        self.shared.open.store(true, Ordering::SeqCst);
    }

    /// Leaves the connections that there are, and gives new ones no answer, until it is told otherwise.
    pub fn set_silent(&self, silent: bool) {
        self.shared.silent.store(silent, Ordering::SeqCst);
    }

    /// Hands answers on in pieces of so many bytes.
    pub fn split(&self, piece_bytes: usize) {
        self.shared.piece_bytes.store(piece_bytes, Ordering::SeqCst);
    }

    /// Lets sessions begin, and hands nothing on from there.
    pub fn stall(&self, stalls: bool) {
        self.shared.stalls.store(stalls, Ordering::SeqCst);
    }

    /// Reads and drops all data from the server from now on, so that the server works and its
    /// answers are lost.
    pub fn drop_answers(&self, drops: bool) {
        self.shared.drops_answers.store(drops, Ordering::SeqCst);
    }

    /// Reads and drops all data from clients from now on, so that the server never receives it.
    pub fn drop_requests(&self, drops: bool) {
        self.shared.drops_requests.store(drops, Ordering::SeqCst);
    }

    /// Stops reading data from clients after their next piece, so that they can send only as much
    /// as the operating system buffers.
    pub fn ignore_requests(&self, ignores: bool) {
        self.shared.ignores_requests.store(ignores, Ordering::SeqCst);
    }

    /// Returns the number of pieces that clients have sent.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes that the server has sent since they were last taken.
    pub fn answered_bytes(&self) -> usize {
        self.shared.recorded.lock().expect("no thread panicked").len()
    }

    /// What the server has sent since this was last asked.
    pub fn take_recorded(&self) -> Vec<u8> {
        std::mem::take(&mut self.shared.recorded.lock().expect("no thread panicked"))
    }
}

impl Shared {
    fn forward(self: Arc<Self>, client: TcpStream) {
        if !self.open.load(Ordering::SeqCst) {
            return;
        }
        if self.silent.load(Ordering::SeqCst) {
            // kept open, until all are cut
            self.connections.lock().expect("no thread panicked").push(client);
            return;
        }
        let Ok(server) = TcpStream::connect(self.target) else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let pair = (client.try_clone(), server.try_clone());
        let (Ok(client_reader), Ok(server_reader)) = pair else { return };
        let mut connections = self.connections.lock().expect("no thread panicked");
        connections.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
        drop(connections);
        let upstream = self.clone();
        thread::spawn(move || upstream.pump(client_reader, server, false));
        thread::spawn(move || self.pump(server_reader, client, true));
    }

    fn pump(&self, mut from: TcpStream, mut to: TcpStream, answers: bool) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let bytes = &buffer[..count];
            if answers {
                self.recorded.lock().expect("no thread panicked").extend_from_slice(bytes);
            }
            if !answers {
                self.requests.fetch_add(1, Ordering::SeqCst);
            }
            let drops = if answers { &self.drops_answers } else { &self.drops_requests };
            if drops.load(Ordering::SeqCst) {
                continue;
            }
            while !answers && self.ignores_requests.load(Ordering::SeqCst) && self.open.load(Ordering::SeqCst) {
                thread::sleep(POLL_INTERVAL);
            }
            let piece_bytes = match self.piece_bytes.load(Ordering::SeqCst) {
                n @ 1.. if answers => n,
                _ => count,
            };
            if bytes.chunks(piece_bytes).any(|piece| to.write_all(piece).is_err()) {
                break;
            }
            if answers && self.stalls.load(Ordering::SeqCst) && bytes.ends_with(READY_FOR_QUERY) {
                while matches!(from.read(&mut buffer), Ok(1..)) {}
                break;
            }
        }
        let _ = (to.shutdown(std::net::Shutdown::Both), from.shutdown(std::net::Shutdown::Both));
    }
}
