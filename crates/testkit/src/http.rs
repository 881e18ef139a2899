//! An HTTP/1.1 client that shows what came over the socket.

use socket2::{Domain, Socket, Type};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, unchunked.
    pub body: Vec<u8>,
    /// Whether the body ended as its framing says it must.
    pub whole: bool,
}

/// A row of `/proc/net/tcp`: the ports of a connection, and the bytes that wait in its queues.
struct Queues {
    local: u16,
    remote: u16,
    unsent: u64,
    unread: u64,
}

impl Queues {
    /// Parses a row such as `0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 …`.
    fn parse(row: &str) -> Option<Self> {
        let mut words = row.split_whitespace().skip(1);
        let port = |word: &str| u16::from_str_radix(word.split_once(':')?.1, 16).ok();
        let (local, remote) = (port(words.next()?)?, port(words.next()?)?);
        let (unsent, unread) = words.nth(1)?.split_once(':')?;
        let bytes = |word: &str| u64::from_str_radix(word, 16).ok();
        Some(Self { local, remote, unsent: bytes(unsent)?, unread: bytes(unread)? })
    }
}

const TIMEOUT: Duration = Duration::from_secs(60);

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout can be set");
        Self { stream: BufReader::with_capacity(64 * 1024, stream) }
    }

    /// Connects as a client for which the operating systems buffer as little as possible, so that
    /// the server's program must store a response that the client does not read.
    pub fn connect_narrow(address: SocketAddr) -> Self {
        const RECEIVED_BYTES_MAX: usize = 4096;
        const SEGMENT_BYTES: u32 = 536;
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).expect("a socket can be made");
        socket.set_recv_buffer_size(RECEIVED_BYTES_MAX).expect("its buffer can be set");
        socket.set_tcp_mss(SEGMENT_BYTES).expect("its segments can be set");
        socket.connect(&address.into()).expect("the server accepts");
        socket.set_read_timeout(Some(10 * TIMEOUT)).expect("a timeout can be set");
        Self { stream: BufReader::with_capacity(RECEIVED_BYTES_MAX, socket.into()) }
    }

    /// Sends a request without a body and reads the answer.
    pub fn request(&mut self, method: &str, target: &str, headers: &[(&str, &str)]) -> Response {
        self.send(method, target, headers);
        self.receive(method == "HEAD")
    }

    /// Sends a request with a body and reads the answer.
    pub fn request_with(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let length = body.len().to_string();
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([("Content-Length", &*length)]).collect();
        self.send(method, target, &headers);
        self.send_bytes(body);
        self.receive(false)
    }

    /// Sends bytes as they are; whether the server took them.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Sends as many of the bytes as are taken without anybody waiting for them; how many.
    pub fn send_some(&mut self, bytes: &[u8]) -> usize {
        let stream = self.stream.get_mut();
        stream.set_nonblocking(true).expect("a socket can be told not to block");
        let mut sent = 0;
        while let Ok(count @ 1..) = stream.write(&bytes[sent..]) {
            sent += count;
        }
        stream.set_nonblocking(false).expect("a socket can be told to block");
        sent
    }

    /// Waits until the server's program has read all bytes that were sent: until Linux holds none of
    /// them for the connection, on either side.
    ///
    /// # Panics
    ///
    /// If the server does not read for a minute.
    pub fn wait_until_read(&self) {
        let stream = self.stream.get_ref();
        let port = |address: std::io::Result<SocketAddr>| address.expect("the client is connected").port();
        let (own, server) = (port(stream.local_addr()), port(stream.peer_addr()));
        for _ in 0..6_000 {
            let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux lists its connections");
            let waits = table.lines().filter_map(Queues::parse).any(|queues| {
                let is_sent = (queues.local, queues.remote) == (own, server) && queues.unsent > 0;
                let is_unread = (queues.local, queues.remote) == (server, own) && queues.unread > 0;
                is_sent || is_unread
            });
            if !waits {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not read");
    }

    /// Sends the head of a request. Its `Host` is `test`, unless `headers` has another one.
    pub fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)]) {
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = if has_host { "" } else { "Host: test\r\n" };
        let mut head = format!("{method} {target} HTTP/1.1\r\n{host}");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        self.stream.get_mut().write_all(head.as_bytes()).expect("the request can be sent");
    }

    /// Reads the first line of an answer.
    pub fn status_line(&mut self) -> String {
        self.line()
    }

    /// Reads an answer.
    pub fn receive(&mut self, head_only: bool) -> Response {
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {status_line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response { status, headers, body: Vec::new(), whole: true };
        if head_only || status == 204 {
            return response;
        }
        if response.header("transfer-encoding").is_some() {
            response.whole = self.chunks(&mut response.body);
        } else {
            let length = response.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            response.body.resize(length, 0);
            response.whole = self.stream.read_exact(&mut response.body).is_ok();
        }
        response
    }

    /// Waits until something of the answer has come, and takes nothing of it.
    pub fn wait(&mut self) {
        self.stream.fill_buf().expect("the server answers");
    }

    /// Reads at most so many bytes as they come.
    pub fn read_some(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut piece = vec![0; bytes_max];
        let read = self.stream.read(&mut piece).unwrap_or(0);
        piece.truncate(read);
        piece
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let Ok(size) = usize::from_str_radix(self.line().trim(), 16) else { return false };
            let start = body.len();
            body.resize(start + size, 0);
            if self.stream.read_exact(&mut body[start..]).is_err() || !self.line().is_empty() {
                return false;
            }
            if size == 0 {
                return true;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line);
        line.trim_end_matches(['\r', '\n']).to_owned()
    }
}

impl Response {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
