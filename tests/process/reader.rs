//! `thalweg demo reader`: stories whose words show their entries, as somebody sees it who has just installed the program.

use crate::program::{Directory, Program};
use nix::sys::signal::Signal;
use serde_json::json;
use std::net::SocketAddr;
use thalweg_testkit::{Client, Response};

/// A demo that has greeted.
struct Demo {
    program: Program,
    address: SocketAddr,
}

impl Demo {
    fn start(directory: &Directory, cluster: &str, more: &[&str]) -> Self {
        let mut program = Program::start(&arguments(directory, more), &[]);
        program.line(&format!("{cluster} cluster"));
        program.line("12 stories");
        let address = program.address();
        program.line("curl http://");
        Self { program, address }
    }

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        Client::connect(self.address).request_with(method, target, headers, body)
    }

    fn gloss(&self, text: &str) -> Response {
        gloss(self.address, text)
    }

    fn end(mut self) -> bool {
        self.program.signal(Signal::SIGINT);
        self.program.wait().success()
    }
}

fn gloss(address: SocketAddr, text: &str) -> Response {
    let (headers, body) = ([("content-type", "application/json")], json!({ "text": text }).to_string());
    Client::connect(address).request_with("POST", "/rpc/gloss", &headers, body.as_bytes())
}

fn arguments<'a>(directory: &'a Directory, more: &[&'a str]) -> Vec<&'a str> {
    [&["demo", "reader", "--data-dir", directory.path(), "--port", "0"], more].concat()
}

#[test]
fn the_reader_shows_stories_and_reads_texts() {
    let directory = Directory::new("reader");
    let demo = Demo::start(&directory, "new", &[]);
    let page = |target: &str| demo.ask("GET", target, &[("accept", "text/html")], b"");
    assert_eq!(page("/").text().matches("<a href=\"/stories/").count(), 12);
    let story = page("/stories/1");
    assert!(story.text().contains("<div id=\"w1358280\" class=\"entry\" data-word=\"食べる\""), "{}", story.text());
    assert!(story.text().contains("Electronic Dictionary Research and Development Group"));
    let stories = demo.ask("GET", "/api/stories?select=number,level&order=number&limit=1", &[], b"");
    assert_eq!(stories.json(), json!([{ "number": 1, "level": "N5" }]));

    let told = demo.gloss("食べさせられていた");
    assert_eq!(told.status, 200);
    assert_eq!(told.json()[0]["entries"][0]["reasons"], json!(["causative", "passive", "progressive", "past"]));
    let got = demo.ask("GET", "/rpc/gloss?text=%E7%8C%AB", &[], b"");
    assert_eq!((got.status, &got.json()[0]["entries"][0]["headword"]), (200, &json!("猫")));
    let hostile = demo.ask("GET", "/text?text=%3Cscript%3E%E7%8C%AB%3C/script%3E", &[], b"");
    assert!(hostile.status == 200 && !hostile.text().contains("<script>"), "{}", hostile.text());
    assert_eq!(demo.ask("POST", "/rpc/gloss", &[("content-type", "application/json")], b"{").status, 400);

    // many at once, one of them with a megabyte
    let line = "昨日、母に野菜を食べさせられていました。\n";
    let (long, address) = (line.repeat(1_000_000 / line.len()), demo.address);
    std::thread::scope(|scope| {
        let large = scope.spawn(|| gloss(address, &long));
        let small: Vec<_> = (0..100).map(|_| scope.spawn(|| gloss(address, line))).collect();
        let first = small.into_iter().map(|asked| asked.join().unwrap()).reduce(|first, other| {
            assert_eq!((other.status, &other.body), (200, &first.body));
            first
        });
        assert!(first.is_some_and(|first| first.body.len() > 1000));
        let large = large.join().unwrap();
        assert!(large.status == 200 && large.whole && large.body.len() > long.len());
    });
    assert!(demo.end());
    assert!(Demo::start(&directory, "known", &[]).end());
}

#[test]
fn the_reader_takes_the_dictionary_that_it_is_given() {
    let directory = Directory::new("reader-dictionary");
    let (words, file) = (directory.0.join("words.xml"), directory.0.join("own.dictionary"));
    std::fs::write(&words, WORDS).unwrap();
    let (words, file) = (words.to_str().unwrap(), file.to_str().unwrap());
    let mut build = Program::start(&["gloss", "build", "--words", words, "--out", file], &[]);
    assert!(build.wait().success());
    let demo = Demo::start(&directory, "new", &["--dict", file]);
    let page = demo.ask("GET", "/", &[], b"");
    assert!(page.text().contains(": 1 entry."), "{}", page.text());
    let told = demo.gloss("猫は");
    assert_eq!(told.json().as_array().unwrap().len(), 1, "{}", told.text());
    assert!(demo.end());

    // what is none is said before anything is started
    let mut refused = Program::start(&arguments(&directory, &["--dict", words]), &[]);
    refused.line("words.xml");
    assert_eq!(refused.wait().code(), Some(1));
    for of_the_reader in [&["demo", "--dict", file][..], &["demo", "--full"]] {
        let mut refused = Program::start(of_the_reader, &[]);
        refused.line("--dict and --full are for the reader");
        assert_eq!(refused.wait().code(), Some(1));
    }
}

const WORDS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [
<!ENTITY n "noun (common) (futsuumeishi)">
]>
<!-- JMdict created: 2021-07-05 -->
<JMdict>
<entry>
<ent_seq>1467640</ent_seq>
<k_ele><keb>猫</keb></k_ele>
<r_ele><reb>ねこ</reb></r_ele>
<sense><pos>&n;</pos><gloss>cat</gloss></sense>
</entry>
</JMdict>
"#;
