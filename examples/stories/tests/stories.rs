//! The gauge names what is wrong with each story by file and line, and has nothing to say of those that are mended.

#[path = "service/running.rs"]
mod service;

use serde_json::Value;
use service::{Stories, place};
use std::thread;
use thalweg_testkit::Client;

impl Stories {
    /// So many clients ask so many times each, all at once.
    fn ask(&self, clients: usize, times: usize, method: &str, path: &str, body: &[u8]) {
        thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let mut client = Client::connect(self.clients);
                    for _ in 0..times {
                        let answer = client.request_with(method, path, &[], body);
                        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
                    }
                });
            }
        });
    }

    fn flame(&self, query: &str) -> Vec<u8> {
        let answer = Client::connect(self.operators).request("GET", &format!("/flame?{query}"), &[]);
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        answer.body
    }

    /// The stacks of a flame graph, each with its weights: of a difference those before and after.
    fn folded(&self, query: &str, weights: usize) -> Vec<(String, Vec<u64>)> {
        let text = String::from_utf8(self.flame(&format!("{query}&as=folded"))).unwrap();
        let stack = |line: &str| {
            let mut parts = line.rsplitn(weights + 1, ' ');
            let mut numbers: Vec<u64> = parts.by_ref().take(weights).map(|number| number.parse().unwrap()).collect();
            numbers.reverse();
            (parts.next().unwrap().to_owned(), numbers)
        };
        text.lines().map(stack).collect()
    }
}

#[test]
fn the_guard_across_an_await_is_named_with_both_lines() {
    let stories = Stories::start();
    stories.ask(20, 2, "GET", "/read", b"");
    stories.ask(20, 2, "GET", "/fast", b"");
    let finding = &stories.finding("GET /read", "guard_across_await");
    // the first line of the file that takes the lock, and the first that waits, are those of `read`
    let (taken_at, awaited_at) =
        (place("locked.rs", "clients.lock().await"), place("locked.rs", "    ask_elsewhere().await"));
    assert_eq!(finding["where"]["taken_at"], *taken_at);
    assert_eq!(finding["where"]["awaited_at"], *awaited_at);
    let what = finding["what"].as_str().unwrap();
    for part in ["`GET /read`", "lock `clients`", &taken_at, &awaited_at, "requests/s can pass"] {
        assert!(what.contains(part), "{what}");
    }
    let figures = &finding["figures"];
    assert_eq!((&figures["times"], &figures["lock"]), (&Value::from(40), &Value::from("clients")), "{figures}");
    let most = figures["requests_per_second_max"].as_f64().unwrap();
    assert!(most <= 20.0, "who sleeps 50 ms with the lock lets 20 pass at most, not {most}");
    assert!(figures["behind_max"].as_u64().unwrap() >= 10, "{figures}");
    let waited = figures["waited_ms"].as_f64().unwrap() / figures["wall_ms"].as_f64().unwrap();
    assert!(waited > 0.5, "most of the time is waiting for the lock: {waited}");
    stories.has_none("GET /fast", &["guard_across_await", "lock", "allocations", "copies"]);
    let locks = stories.tell("/locks");
    let clients = locks.as_array().unwrap().iter().find(|lock| lock["lock"] == "clients").unwrap();
    assert_eq!(clients["held_by"][0]["place"], *taken_at);
}

#[test]
fn the_line_that_allocates_in_a_loop_is_named() {
    let stories = Stories::start();
    stories.ask(2, 6, "GET", "/cpualloc", b"");
    stories.ask(2, 6, "GET", "/cpu", b"");
    let finding = stories.finding("GET /cpualloc", "allocations");
    let clone = place("looped.rs", "Vec::clone(&names)");
    assert_eq!(finding["where"]["allocated_at"], *clone);
    let allocations = finding["figures"]["allocations"].as_f64().unwrap();
    assert!((1_000_000.0..1_001_000.0).contains(&allocations), "{allocations}");
    let stacks = stories.folded("of=allocated&route=GET%20/cpualloc", 1);
    let (heaviest, _) = stacks.iter().max_by_key(|(_, weight)| weight[0]).unwrap();
    assert!(heaviest.ends_with(&clone), "on top is the clone's line: {heaviest}");
    assert!(
        !stacks.iter().any(|(stack, _)| stack.contains("thalweg_gauge::tally")),
        "the gauge's own frames are not shown"
    );
    stories.has_none("GET /cpu", &["guard_across_await", "lock", "allocations", "copies"]);
}

#[test]
fn a_wait_is_at_its_await() {
    let stories = Stories::start();
    let (lock, sleep) = (place("locked.rs", "clients.lock().await"), place("locked.rs", "::sleep(ELSEWHERE)"));
    // a route is known once it was asked for
    ["/read", "/fast"].iter().for_each(|path| stories.ask(1, 1, "GET", path, b""));
    thread::scope(|scope| {
        scope.spawn(|| stories.ask(5, 8, "GET", "/read", b""));
        let stacks = stories.folded("of=waits&route=GET%20/read&seconds=1&keep=read", 1);
        let (heaviest, _) = stacks.iter().max_by_key(|(_, weight)| weight[0]).unwrap();
        assert!(heaviest.ends_with(&lock), "most wait for the lock: {heaviest}");
        assert!(
            stacks.iter().any(|(stack, _)| stack.ends_with(&sleep)),
            "and who has it for what it awaits: {stacks:?}"
        );
    });
    // what the mended one waits for, against it: none of it for the lock
    thread::scope(|scope| {
        scope.spawn(|| stories.ask(5, 30, "GET", "/fast", b""));
        let stacks = stories.folded("of=waits&route=GET%20/fast&seconds=1&minus=read", 2);
        let of = |end: &str| -> Vec<(u64, u64)> {
            stacks.iter().filter(|(stack, _)| stack.ends_with(end)).map(|(_, weight)| (weight[0], weight[1])).collect()
        };
        let (before, after) = of(&lock).iter().fold((0, 0), |sum, weight| (sum.0 + weight.0, sum.1 + weight.1));
        assert!(before > 0 && after == 0, "{before} ns before, {after} ns after");
        assert!(of(&sleep).iter().any(|(_, after)| *after > 0), "{stacks:?}");
    });
    assert!(stories.folded("of=waits&route=GET%20/read&seconds=1", 1).is_empty(), "none waits any more");
}

#[test]
#[cfg(target_os = "linux")]
fn a_flame_graph_has_four_forms() {
    let stories = Stories::start();
    stories.ask(1, 1, "GET", "/cpualloc", b"");
    thread::scope(|scope| {
        scope.spawn(|| stories.ask(2, 10, "GET", "/cpualloc", b""));
        let stacks = stories.folded("of=cpu&route=GET%20/cpualloc&seconds=1", 1);
        assert!(stacks.iter().any(|(stack, _)| stack.contains("examples/stories/src/looped.rs")), "{stacks:?}");
    });
    stories.ask(1, 4, "POST", "/upload", &[b'\n'; 4 * 1024 * 1024]);
    let (clone, copy) = (place("looped.rs", "Vec::clone(&names)"), place("uploads.rs", "body.to_vec()"));
    for (query, line) in [("of=allocated&route=GET%20/cpualloc", &clone), ("of=copied&route=POST%20/upload", &copy)] {
        let folded: u64 = stories.folded(query, 1).iter().map(|(_, weight)| weight[0]).sum();
        assert!(stories.folded(query, 1).iter().any(|(stack, _)| stack.ends_with(line)), "{query}");
        let (file, number) = line.rsplit_once(':').unwrap();
        let number: u64 = number.parse().unwrap();

        let svg = String::from_utf8(stories.flame(query)).unwrap();
        assert!(svg.contains("<svg ") && svg.contains(line.as_str()), "{query}");

        let speedscope: Value = serde_json::from_slice(&stories.flame(&format!("{query}&as=speedscope"))).unwrap();
        assert_eq!(speedscope["$schema"], "https://www.speedscope.app/file-format-schema.json");
        let frames = speedscope["shared"]["frames"].as_array().unwrap();
        assert!(
            frames
                .iter()
                .any(|frame| frame["file"].as_str().is_some_and(|known| known.ends_with(file))
                    && frame["line"] == number)
        );
        let profile = &speedscope["profiles"][0];
        let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(
            (samples.len(), weights.iter().map(|weight| weight.as_u64().unwrap()).sum()),
            (weights.len(), folded)
        );
        assert_eq!((profile["unit"].as_str(), profile["endValue"].as_u64()), (Some("bytes"), Some(folded)));
        let indices = samples.iter().flat_map(|sample| sample.as_array().unwrap());
        assert!(indices.into_iter().all(|frame| frame.as_u64().unwrap() < frames.len() as u64));

        let mut pprof = Vec::new();
        let gzip = stories.flame(&format!("{query}&as=pprof"));
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*gzip), &mut pprof).unwrap();
        let fields = fields(&pprof);
        let of = |field: u64| fields.iter().filter(move |(known, _)| *known == field).map(|(_, value)| value);
        // sample (2): location_id = 1, value = 2, both packed: count and weight
        let values = of(2).map(|sample| {
            let sample = self::fields(sample.bytes());
            let value = sample.iter().find(|(field, _)| *field == 2).unwrap().1.bytes();
            numbers(value)[1]
        });
        assert_eq!(values.sum::<u64>(), folded, "{query}");
        // string_table (6)
        let texts: Vec<_> = of(6).map(|text| std::str::from_utf8(text.bytes()).unwrap()).collect();
        assert!(
            texts[0].is_empty() && texts.contains(&"bytes") && texts.iter().any(|text| text.ends_with(file)),
            "{query}"
        );
        // location (4): line = 4: line = 2
        let has_line = of(4).any(|location| {
            let location = self::fields(location.bytes());
            let lines = location.iter().filter(|(field, _)| *field == 4);
            lines.into_iter().any(|(_, line)| self::fields(line.bytes()).contains(&(2, Field::Number(number))))
        });
        assert!(has_line, "{query}");
    }
}

/// A field of a message of protobuf.
#[derive(Debug, PartialEq)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(number) => panic!("{number} is no bytes"),
        }
    }
}

fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    std::iter::from_fn(|| (!bytes.is_empty()).then(|| number(&mut bytes))).collect()
}

/// Source: protobuf.dev, "Encoding".
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(number(&mut bytes)),
            2 => {
                let length = number(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

#[test]
fn a_blob_that_is_serialised_and_not_shown_is_found() {
    let stories = Stories::start();
    stories.ask(2, 6, "GET", "/flights", b"");
    stories.ask(2, 6, "GET", "/flights/shown", b"");
    let finding = stories.finding("GET /flights", "allocations");
    let allocated = finding["figures"]["allocated_bytes"].as_f64().unwrap();
    assert!(allocated >= 20.0 * 500.0 * 1000.0, "all tracks: {allocated}");
    assert!(
        finding["where"]["allocated_at"].as_str().unwrap().starts_with("examples/stories/src/lists.rs:"),
        "{finding}"
    );
    stories.has_none("GET /flights/shown", &["guard_across_await", "lock", "allocations", "copies"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_body_that_is_copied_is_found() {
    let stories = Stories::start();
    let body = vec![b'\n'; 4 * 1024 * 1024];
    stories.ask(1, 10, "POST", "/upload", &body);
    stories.ask(1, 10, "POST", "/upload/once", &body);
    let finding = stories.finding("POST /upload", "copies");
    assert!(finding["figures"]["times"].as_f64().unwrap() >= 3.0, "{finding}");
    assert!(
        finding["where"]["copied_at"].as_str().unwrap().starts_with("examples/stories/src/uploads.rs:"),
        "{finding}"
    );
    stories.has_none("POST /upload/once", &["guard_across_await", "lock", "allocations", "copies"]);
}
