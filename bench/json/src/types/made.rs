//! What is made here: the record of the story, a table, lines of a log, deep nesting.

use serde::{Deserialize, Serialize};
use thalweg_json::{FromJson, ToJson};

/// A request, as a web server notes it.
#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Clone)]
pub struct Log {
    pub date: String,
    pub size: u64,
    pub request: Request,
    pub response: Response,
    pub client: Client,
    pub agent: String,
    pub referrer: String,
    pub session: String,
    pub micros: u64,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub protocol: String,
    pub host: String,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub bytes: u64,
    pub content_type: String,
    pub is_cached: bool,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Clone)]
pub struct Client {
    pub address: String,
    pub port: u16,
    pub country: String,
    pub user: Option<String>,
}

impl Log {
    /// Of 605 bytes.
    pub fn example() -> Log {
        let text = |text: &str| text.to_owned();
        Log {
            date: text("2026-11-24T12:34:56.789012Z"),
            size: 48_213,
            request: Request {
                method: text("GET"),
                path: text("/flights/2026/11/24/the-long-one-over-the-alps"),
                query: text("select=id,title,pilot(name)&order=started.desc&limit=50"),
                protocol: text("HTTP/1.1"),
                host: text("flights.example.org"),
            },
            response: Response {
                status: 200,
                bytes: 635_112,
                content_type: text("application/json; charset=utf-8"),
                is_cached: false,
            },
            client: Client {
                address: text("203.0.113.195"),
                port: 51_724,
                country: text("CH"),
                user: Some(text("ann")),
            },
            agent: text("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
            referrer: text("https://flights.example.org/"),
            session: text("b1f2c7d8e9a04b6c"),
            micros: 1_843,
        }
    }
}

/// A row of a table.
#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
pub struct Row {
    id: i64,
    name: String,
    email: String,
    is_active: bool,
    score: f64,
    balance: i64,
    tags: Vec<String>,
    note: Option<String>,
    created: String,
}

/// So many, always the same.
pub fn rows(count: u64) -> Vec<Row> {
    let mut chance = Chance(count);
    let row = |id: u64| Row {
        id: id as i64,
        name: format!("Pilot {}", chance.next() % 10_000),
        email: format!("pilot.{}@example.org", chance.next() % 1_000_000),
        is_active: chance.next() % 3 == 0,
        score: (chance.next() % 1_000_000) as f64 / 1000.0,
        balance: chance.next() as i64 >> (chance.next() % 60),
        tags: (0..chance.next() % 4).map(|at| format!("tag{at}")).collect(),
        note: (chance.next().is_multiple_of(2)).then(|| "landed in a field beside the river".to_owned()),
        created: format!(
            "2026-{:02}-{:02}T{:02}:15:30+00:00",
            chance.next() % 12 + 1,
            chance.next() % 28 + 1,
            chance.next() % 24
        ),
    };
    (0..count).map(row).collect()
}

/// A line of a log, of whose message a twentieth must be escaped.
#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
pub struct Line {
    at: u64,
    level: String,
    message: String,
}

pub fn lines(count: u64) -> Vec<Line> {
    let mut chance = Chance(count);
    let mut character = || match chance.next() % 100 {
        0 | 1 => '"',
        2 | 3 => '\\',
        4 => '\n',
        other => char::from(b'a' + (other % 26) as u8),
    };
    (0..count)
        .map(|at| Line {
            at: 1_700_000_000_000 + at,
            level: "INFO".to_owned(),
            message: (0..150).map(|_| character()).collect(),
        })
        .collect()
}

/// One within the other.
#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
pub struct Node {
    value: u32,
    child: Option<Box<Node>>,
}

pub fn nested(count: u32) -> Vec<Node> {
    let node =
        |value| (0..100).fold(Node { value, child: None }, |child, value| Node { value, child: Some(Box::new(child)) });
    (0..count).map(node).collect()
}

/// xorshift64
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.max(1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
