//! Two processes that have one dictionary open share its pages.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use thalweg_gloss::{Builder, Dictionary, Options, Reader, source};

/// Where the process that is started finds the dictionary.
const DICTIONARY: &str = "THALWEG_GLOSS_SHARED_DICTIONARY";
const READY: &str = "the dictionary is read";
const KIB: u64 = 1024;

#[test]
fn two_processes_share_one_mapping() {
    let mut builder = Builder::new();
    let words = include_str!("../dictionary/words.xml").as_bytes();
    source::read(words, source::DEFAULT_LANGUAGE, &mut |entry| builder.add(&entry)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dictionary");
    let file = builder.finish().unwrap();
    std::fs::write(&path, &file).unwrap();
    // both have read all of it before either says what it has, and both say so before either ends
    let mut processes = [start(&path), start(&path)];
    processes.iter_mut().for_each(|(_, output)| drop(line_with(output, READY)));
    let go_on = |(child, _): &mut (Child, _)| writeln!(child.stdin.as_mut().unwrap()).unwrap();
    processes.iter_mut().for_each(go_on);
    let said: Vec<String> = processes.iter_mut().map(|(_, output)| line_with(output, "Rss:")).collect();
    processes.iter_mut().for_each(go_on);
    processes.iter_mut().for_each(|(child, _)| assert!(child.wait().unwrap().success()));
    for said in said {
        println!("{said}");
        let kib = |name: &str| -> u64 {
            said.split(name).nth(1).and_then(|behind| behind.split_whitespace().next()).unwrap().parse().unwrap()
        };
        assert!(kib("Rss:") >= file.len() as u64 / KIB, "all of it was read: {said}");
        // dirty is what the disk does not have yet, of a file just written
        assert_eq!(kib("Shared_Clean:") + kib("Shared_Dirty:"), kib("Rss:"), "{said}");
        assert_eq!(kib("Private_Clean:") + kib("Private_Dirty:"), 0, "{said}");
        assert!(kib("Pss:") <= kib("Rss:") / 2 + 4, "{said}");
    }
}

fn start(path: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_of_the_processes", "--nocapture"])
        .env(DICTIONARY, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn line_with(output: &mut impl BufRead, part: &str) -> String {
    output.lines().map(Result::unwrap).find(|line| line.contains(part)).unwrap_or_else(|| panic!("nothing says {part}"))
}

/// Started by the test above; alone it does nothing.
#[test]
fn one_of_the_processes() {
    let Some(path) = std::env::var_os(DICTIONARY) else { return };
    let dictionary = Dictionary::open(Path::new(&path)).unwrap();
    dictionary.verify().unwrap();
    let mut reader = Reader::new();
    assert!(reader.read(&dictionary, "毎日日本語を勉強しています", &Options::default()).spans().len() > 0);
    println!("{READY}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let said = mapping(&path.to_string_lossy());
    // the other process would wait for it
    assert!(said.contains("Rss:"), "the file is not mapped");
    println!("{said}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// What the system says of the pages of a file that is mapped, in KiB.
fn mapping(path: &str) -> String {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let lines = maps.lines().skip_while(|line| !line.ends_with(path)).skip(1);
    let of_it = lines.take_while(|line| line.split_whitespace().next().is_some_and(|first| first.ends_with(':')));
    let wanted = ["Rss:", "Pss:", "Shared_Clean:", "Shared_Dirty:", "Private_Clean:", "Private_Dirty:"];
    of_it.filter(|line| wanted.iter().any(|name| line.starts_with(name))).collect::<Vec<_>>().join(" ")
}
