//! `/rpc/gloss`, as programs ask it.

use crate::site::{Site, encoded};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;
use thalweg_testkit::{Client, Response};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const PATHS: [&str; 2] = ["/rpc/gloss", "/api/rpc/gloss"];

fn asked(site: &Site, body: &Value) -> Response {
    site.post("/rpc/gloss", &JSON, body.to_string().as_bytes())
}

fn headwords(spans: &Value) -> Vec<&str> {
    let entries = spans.as_array().unwrap().iter().flat_map(|span| span["entries"].as_array().unwrap());
    entries.map(|entry| entry["headword"].as_str().unwrap()).collect()
}

#[test]
fn a_text_is_told_as_json() {
    let site = Site::start();
    let text = "食べさせられていた";
    for path in PATHS {
        let posted = site.post(path, &JSON, json!({ "text": text }).to_string().as_bytes());
        assert_eq!((posted.status, posted.header("content-type")), (200, Some("application/json; charset=utf-8")));
        let spans = posted.json();
        assert_eq!((&spans[0]["start"], &spans[0]["end"]), (&json!(0), &json!(9)));
        let entry = &spans[0]["entries"][0];
        assert_eq!((&entry["headword"], &entry["reading"]), (&json!("食べる"), &json!("たべる")));
        assert_eq!(entry["reasons"], json!(["causative", "passive", "progressive", "past"]));
        let got = site.get(&format!("{path}?text={}", encoded(text)));
        assert_eq!((got.status, got.json()), (200, spans));
    }
    assert_eq!(asked(&site, &json!({ "text": "" })).json(), json!([]));
    let head = Client::connect(site.address).request("HEAD", "/rpc/gloss?text=a", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    // beside what the database has
    assert_eq!(site.get("/api/stories?select=number&limit=1").status, 200);
}

#[test]
fn known_words_and_names_are_left_out() {
    let site = Site::start();
    let text = "田中さんは猫を見た。";
    let all = asked(&site, &json!({ "text": text })).json();
    assert!(headwords(&all).contains(&"猫") && headwords(&all).contains(&"見る"), "{all}");
    let some = asked(&site, &json!({ "text": text, "known": ["猫"], "names": false })).json();
    assert!(!headwords(&some).contains(&"猫") && headwords(&some).contains(&"見る"), "{some}");
    let is_name = |spans: &Value| spans.to_string().contains("\"name\":true");
    assert!(is_name(&all) && !is_name(&some), "{all}");
    let unnamed = site.get(&format!("/rpc/gloss?names=false&text={}", encoded(text))).json();
    assert!(!is_name(&unnamed) && headwords(&unnamed).contains(&"猫"));
}

#[test]
fn each_entry_is_told_once_where_that_is_asked() {
    let site = Site::start();
    // longer than what is read at once
    let text = "子どもに野菜を食べさせた。".repeat(50);
    let once = asked(&site, &json!({ "text": text, "once": true })).json();
    let entries: Vec<&Value> =
        once.as_array().unwrap().iter().flat_map(|span| span["entries"].as_array().unwrap()).collect();
    let eaten: Vec<&&Value> = entries.iter().filter(|entry| entry["id"] == "w1358280").collect();
    assert_eq!((eaten.len(), &eaten[0]["headword"]), (3 * 50, &json!("食べる")));
    assert_eq!(*eaten[149], &json!({ "id": "w1358280", "reasons": eaten[2]["reasons"] }));
    let all = asked(&site, &json!({ "text": text })).json();
    assert_eq!(headwords(&all).len(), entries.len());
    let got = site.get(&format!("/rpc/gloss?once=true&text={}", encoded("食べる食べる")));
    let got = got.text();
    assert_eq!((got.matches("\"w1358280\"").count(), got.matches("\"食べる\",\"reading\"").count()), (4, 1), "{got}");
}

#[test]
fn what_is_no_request_is_an_error_in_the_protocols_form() {
    let site = Site::start();
    let post = |headers: &[(&str, &str)], body: &[u8]| site.post("/rpc/gloss", headers, body);
    let large = json!({ "text": "猫".repeat(1 << 20) }).to_string();
    let words: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    let many = json!({ "text": "猫", "known": words }).to_string();
    let chunked = [JSON[0], ("transfer-encoding", "chunked")];
    let refused = [
        (post(&JSON, b""), 400),
        (post(&JSON, b"{"), 400),
        (post(&JSON, b"[]"), 400),
        (post(&JSON, "[\"本\"]".as_bytes()), 400),
        (post(&JSON, b"{}"), 400),
        (post(&JSON, br#"{"text": 1}"#), 400),
        (post(&JSON, br#"{"text": "a", "more": 1}"#), 400),
        (post(&JSON, b"{\"text\": \"\xff\"}"), 400),
        (post(&JSON, br#"{"text": "\ud800"}"#), 400),
        (post(&[("content-type", "text/csv")], b"text"), 415),
        (post(&JSON, large.as_bytes()), 413),
        (post(&JSON, many.as_bytes()), 413),
        (site.get("/rpc/gloss"), 400),
        (site.get("/rpc/gloss?text=a&text=b"), 400),
        (site.get("/rpc/gloss?text=a&names=perhaps"), 400),
        (Client::connect(site.address).request("DELETE", "/rpc/gloss?text=a", &[]), 405),
        (Client::connect(site.address).request("PUT", "/api/rpc/gloss", &[]), 405),
    ];
    assert_eq!(refused[refused.len() - 1].0.header("allow"), Some("OPTIONS,GET,HEAD,POST"));
    for (number, (answer, status)) in refused.iter().enumerate() {
        assert_eq!(answer.status, *status, "{number}: {}", answer.text());
        let error = answer.json();
        for part in ["code", "message"] {
            assert!(error[part].is_string(), "{number}: {error}");
        }
        assert!(error.get("details").is_some() && error.get("hint").is_some(), "{number}: {error}");
    }
    // a body whose length nobody has said
    let mut client = Client::connect(site.address);
    client.send("POST", "/rpc/gloss", &chunked);
    let piece = vec![b' '; 64 << 10];
    for _ in 0..40 {
        client.send_bytes(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send_bytes(&piece);
        client.send_bytes(b"\r\n");
    }
    client.send_bytes(b"0\r\n\r\n");
    assert_eq!(client.receive(false).status, 413);
}

/// As the API's own functions are: scripts of other sites read it, and ask first.
#[test]
fn scripts_of_other_sites_may_ask() {
    let site = Site::start();
    let origin = ("origin", "https://elsewhere.example");
    for path in PATHS {
        let asked = |method: &str, headers: &[(&str, &str)]| {
            Client::connect(site.address).request(method, &format!("{path}?text=a"), headers)
        };
        for answer in [asked("GET", &[origin]), asked("DELETE", &[origin])] {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
            let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
            assert!(exposed.contains("Content-Type"), "{path}: {exposed}");
        }
        assert_eq!(asked("GET", &[]).header("access-control-allow-origin"), None, "{path}");
        let preflight =
            [origin, ("access-control-request-method", "POST"), ("access-control-request-headers", "Content-Type")];
        let preflight = asked("OPTIONS", &preflight);
        assert_eq!((preflight.status, preflight.body.len()), (200, 0), "{path}");
        let allowed = |name: &str| preflight.header(name).unwrap_or_default();
        assert!(allowed("access-control-allow-methods").contains("POST"), "{path}");
        assert!(allowed("access-control-allow-headers").contains("Content-Type"), "{path}");
        assert_eq!(allowed("access-control-allow-origin"), "*", "{path}");
        let options = asked("OPTIONS", &[]);
        assert_eq!((options.status, options.header("allow")), (200, Some("OPTIONS,GET,HEAD,POST")), "{path}");
    }
    // and not what is a page
    let page = Client::connect(site.address).request("GET", "/", &[origin]);
    assert_eq!(page.header("access-control-allow-origin"), None);
}

#[test]
fn markup_in_a_text_stays_text() {
    let site = Site::start();
    let text = "</div><script>alert('猫')</script><img src=x onerror=\"猫\">&lt;\0";
    let body = json!({ "text": text }).to_string();
    let told = site.post("/rpc/gloss", &[JSON[0], ("accept", "text/html")], body.as_bytes());
    assert_eq!((told.status, told.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let html = told.text();
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains('\0'), "{html}");
    assert!(html.contains("data-word=\"猫\"") && html.contains("&amp;lt;"), "{html}");
    // a browser that takes both, JSON more gladly, and one that is sent there
    for (accept, kind) in [
        ("application/json, text/html", "application/json; charset=utf-8"),
        ("*/*", "application/json; charset=utf-8"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("TEXT/HTML", "text/html; charset=utf-8"),
        ("application/json;q=0.1, text/html", "text/html; charset=utf-8"),
        ("text/html;q=0, application/json", "application/json; charset=utf-8"),
        ("text/html;q=0.5, application/json;q=0.9", "application/json; charset=utf-8"),
    ] {
        let told = site.post("/rpc/gloss", &[JSON[0], ("accept", accept)], body.as_bytes());
        assert_eq!(told.header("content-type"), Some(kind), "{accept}");
    }
    let spans = asked(&site, &json!({ "text": text })).json();
    let cat = spans.as_array().unwrap().iter().find(|span| span["text"] == "猫").unwrap();
    assert_eq!(cat["start"], text.chars().position(|c| c == '猫').unwrap());
}

#[test]
fn a_long_text_is_told_as_each_of_its_parts() {
    let site = Site::start();
    let story = site.database.value("select text from reader.stories where number = 1");
    let times = 60;
    let all = asked(&site, &json!({ "text": story.repeat(times) }));
    assert!(all.status == 200 && all.whole, "{}", all.status);
    let (all, one) = (all.json(), asked(&site, &json!({ "text": story })).json());
    let chars = story.chars().count() as u64;
    // a story in the middle is told as one that stands alone, but for what goes over its end
    let within = |spans: &Value, from: u64| -> Vec<Value> {
        let spans = spans.as_array().unwrap().iter().map(|span| {
            let place = |name: &str| span[name].as_u64().unwrap();
            (place("start"), place("end"), &span["entries"])
        });
        let spans = spans.filter(|(start, end, _)| *start >= from && *end <= from + chars);
        spans.map(|(start, end, entries)| json!([start - from, end - from, entries])).collect()
    };
    assert_eq!(within(&all, chars * (times as u64 / 2)), within(&one, 0));
}

#[test]
fn a_text_of_a_megabyte_is_told_as_it_is_read() {
    let site = Site::start();
    let story = site.database.value("select text from reader.stories where number = 9");
    let text = story.repeat(1_000_000 / story.len() + 1);
    let headers = [JSON[0], ("accept", "text/html")];
    let began = Instant::now();
    let told = site.post("/rpc/gloss", &headers, json!({ "text": text }).to_string().as_bytes());
    println!("{} bytes, {} of HTML, {:.1?}", text.len(), told.body.len(), began.elapsed());
    assert!(told.status == 200 && told.whole, "{}", told.status);
    let html = told.text();
    // each piece is a part of the text, and an entry is on the page once
    assert!(html.matches("<div class=\"text\"").count() >= text.len() / 4096);
    assert_eq!(html.matches("<div id=\"w1358280\"").count(), 1);
    let ids: Vec<&str> = html.split("<div id=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), ids.len());
}

/// Where nothing begins nothing is told; what comes behind it is.
#[test]
fn an_answer_is_whole_wherever_words_are() {
    let site = Site::start();
    let texts = ["。", "\n", "本", &(" ".repeat(300) + "本"), &format!("本{}本", "。".repeat(200))];
    let more = [format!("本\n{}\n本", "-".repeat(900)), " ".repeat(1 << 20) + "本", "가".repeat(200) + "本"];
    for text in texts.into_iter().chain(more.iter().map(String::as_str)) {
        let answer = asked(&site, &json!({ "text": text }));
        let spans = answer.json();
        let found = spans.as_array().unwrap().iter().filter(|span| span["text"] == "本").count();
        assert_eq!(found, text.matches('本').count(), "{}", text.len());
    }
}

#[test]
fn others_are_answered_while_long_texts_are_read() {
    let site = Site::start();
    let body = json!({ "text": "だし".repeat(300_000) }).to_string();
    let length = body.len().to_string();
    let (told, is_enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(site.address);
                client.send("POST", "/rpc/gloss", &[JSON[0], ("content-length", &length)]);
                client.send_bytes(body.as_bytes());
                // as fast as it comes
                while !is_enough.load(Relaxed) {
                    if client.read_some(1 << 20).ends_with(b"0\r\n\r\n") {
                        told.fetch_add(1, Relaxed);
                    }
                }
            });
        }
        for _ in 0..20 {
            assert_eq!(site.get("/").status, 200);
            assert_eq!(asked(&site, &json!({ "text": "本" })).status, 200);
        }
        is_enough.store(true, Relaxed);
    });
    assert_eq!(told.load(Relaxed), 0, "the texts are too short to say anything");
}

/// One client took all the room for texts, and no other client could read one.
#[test]
fn one_client_leaves_room_for_the_texts_of_others() {
    let site = Site::start();
    let large = vec![b' '; 2 * 1024 * 1024 - 1];
    let length = (large.len() + 1).to_string();
    let begun = |headers: &[(&str, &str)]| {
        let mut client = Client::connect(site.address);
        client.send("POST", "/rpc/gloss", headers);
        client
    };
    // A request that has sent nothing takes no room.
    let silent: Vec<Client> = (0..150).map(|_| begun(&[JSON[0], ("transfer-encoding", "chunked")])).collect();
    assert_eq!(asked(&site, &json!({ "text": " ".repeat(1 << 20) + "本" })).status, 200);
    drop(silent);
    let long = json!({ "text": " ".repeat(1 << 17) + "本" }).to_string();
    let ask =
        |client: &str, body: &str| site.post("/rpc/gloss", &[JSON[0], ("x-forwarded-for", client)], body.as_bytes());
    // Sends the beginnings of texts until a client is refused. The refusal persists.
    let fill = |client: &str| {
        let mut held = Vec::new();
        loop {
            let refused = ask(client, &long);
            if refused.status != 200 || held.len() > 300 {
                return (refused, held);
            }
            let mut holding = begun(&[JSON[0], ("content-length", &length), ("x-forwarded-for", client)]);
            holding.send_bytes(&large);
            holding.wait_until_read();
            held.push(holding);
        }
    };
    let (refused, mut held) = fill("192.0.2.1");
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("TWG34")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    // A text that stays begun for 10 s is dropped (408), so that a slow machine begins more of them.
    assert!((24..=300).contains(&held.len()), "{}", held.len());
    // The client may still read short texts, and others may read long ones.
    assert_eq!(ask("192.0.2.1", &json!({ "text": "本" }).to_string()).status, 200);
    assert_eq!(ask("192.0.2.2", &long).status, 200);
    for client in ["192.0.2.2", "192.0.2.3", "192.0.2.4"] {
        held.extend(fill(client).1);
    }
    // All clients together have taken all the room for long texts.
    let refused = ask("192.0.2.5", &json!({ "text": " ".repeat(2_000_000) }).to_string());
    assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("TWG35")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(ask("192.0.2.5", &json!({ "text": "本" }).to_string()).status, 200);
}

#[test]
fn a_hundred_ask_at_once() {
    let site = Site::start();
    let story = site.database.value("select text from reader.stories where number = 9");
    let body = json!({ "text": story }).to_string();
    let first = site.post("/rpc/gloss", &JSON, body.as_bytes());
    std::thread::scope(|scope| {
        let asking = || scope.spawn(|| site.post("/rpc/gloss", &JSON, body.as_bytes()));
        let asked: Vec<_> = (0..100).map(|_| asking()).collect();
        for answer in asked {
            let answer = answer.join().unwrap();
            assert!(answer.status == 200 && answer.body == first.body, "{}", answer.status);
        }
    });
}
