//! Every format is read as it is documented, in each encoding, compressed or not; what is broken is an error.

use encoding_rs::EUC_JP;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::{self, Read, Write};
use thalweg_gloss::source::{DEFAULT_LANGUAGE, Format, Frequency, Level, Source, read, read_frequencies, read_levels};
use thalweg_gloss::{Entry, Priority, Sense};
use thalweg_gloss::{Error, ErrorKind};

const JMDICT: &str = include_str!("sources/jmdict.xml");
const JMNEDICT: &str = include_str!("sources/jmnedict.xml");
const EDICT: &str = include_str!("sources/edict.txt");
const EDICT2: &str = include_str!("sources/edict2.txt");
const ENAMDICT: &str = include_str!("sources/enamdict.txt");
const ALL: [(&str, Format); 5] = [
    (JMDICT, Format::JMdict),
    (JMNEDICT, Format::JMnedict),
    (EDICT, Format::Edict),
    (EDICT2, Format::Edict2),
    (ENAMDICT, Format::Enamdict),
];

fn all_of(bytes: impl AsRef<[u8]>) -> Result<(Source, Vec<Entry>), Error> {
    in_language(bytes, DEFAULT_LANGUAGE)
}

fn in_language(bytes: impl AsRef<[u8]>, language: &str) -> Result<(Source, Vec<Entry>), Error> {
    let mut entries = Vec::new();
    let source = read(bytes.as_ref(), language, &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    assert_eq!(source.entries, entries.len() as u64);
    Ok((source, entries))
}

/// What kind of error it is, at which line.
fn error_of(bytes: impl AsRef<[u8]>) -> (ErrorKind, Option<u64>) {
    let error = all_of(bytes).expect_err("it is broken");
    (error.kind(), error.line())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// In EUC-JP; characters that its encoder does not have become others of the same kind.
fn euc_jp(text: &str) -> Vec<u8> {
    let text = text.replace("encoding=\"UTF-8\"", "encoding=\"EUC-JP\"");
    let (bytes, _, has_unmappable) = EUC_JP.encode(&text);
    assert!(!has_unmappable);
    bytes.into_owned()
}

fn parts(sense: &Sense) -> Vec<&str> {
    sense.parts_of_speech.iter().map(String::as_str).collect()
}

#[test]
fn jmdict_is_read() {
    let (source, entries) = all_of(JMDICT).expect("it is whole");
    assert_eq!((source.title.as_str(), source.created.as_deref()), ("JMdict", Some("2021-07-05")));
    assert_eq!(source.tags.len(), 11);
    assert_eq!(source.tags[1], ("ik".to_owned(), "irregular kana".to_owned()));
    let [walk, cat] = &entries[..] else { panic!("the third entry has no gloss in English: {entries:#?}") };

    assert_eq!((walk.number, walk.is_name), (1_000_001, false));
    assert_eq!(walk.headwords[0].text, "歩く");
    assert_eq!(walk.headwords[0].priority, Priority { is_common: true, band: 7 });
    assert_eq!(walk.headwords[1].marks, ["iK"]);
    assert_eq!(walk.headwords[1].priority, Priority::default());
    assert_eq!(walk.readings[0].priority, Priority { is_common: true, band: 0 });
    assert!(walk.readings[1].is_apart && !walk.readings[0].is_apart);
    assert_eq!((&walk.readings[2].of[..], &walk.readings[2].marks[..]), (&[1][..], &["ik".to_owned()][..]));

    let [first, second, third] = &walk.senses[..] else { panic!("three senses are in English: {walk:#?}") };
    assert_eq!(parts(first), ["v5k", "vi"]);
    assert_eq!(first.glosses, ["to walk", "to go on one's feet & 歩く"]);
    assert_eq!(parts(second), ["v5k", "vi"], "they are those of the sense before");
    assert_eq!(second.notes, ["comp", "uk", "ksb"]);
    assert_eq!(second.remark.as_deref(), Some("seldom <so>"));
    assert_eq!((&second.of_headwords[..], &second.of_readings[..]), (&[1][..], &[0][..]));
    assert_eq!(parts(third), ["suf"]);

    assert_eq!(cat.senses[0].glosses, ["shiny cat"]);
    assert_eq!(cat.senses[1].glosses, ["a <polished> cat"]);
    assert_eq!(parts(&cat.senses[1]), ["n", "adj-no"]);
    assert!(cat.headwords.is_empty());
}

#[test]
fn another_language_has_any_part_of_speech_of_the_entry() {
    let (_, entries) = in_language(JMDICT, "ger").expect("it is whole");
    let [walk, cat] = &entries[..] else { panic!("two entries have a gloss in German: {entries:#?}") };
    assert_eq!(walk.senses.len(), 1);
    assert_eq!(walk.senses[0].glosses, ["gehen", "laufen"]);
    assert_eq!(parts(&walk.senses[0]), ["v5k", "vi", "suf"]);
    assert_eq!((cat.number, parts(&cat.senses[0])), (1_000_003, vec!["n"]));
    let (source, _) = in_language(JMDICT, "tlh").expect("it is whole");
    assert_eq!(source.entries, 0);
    assert_eq!(source.languages, ["eng", "ger", "dut"], "so that it can be said which it has");
    let many: String = (0..100).map(|number| format!("<gloss xml:lang=\"{number}\">a</gloss>")).collect();
    let (source, _) = all_of(JMDICT.replacen("<gloss>", &format!("{many}<gloss>"), 1)).expect("it is whole");
    assert_eq!(source.languages.len(), 16);
    // what a name is in Latin letters is of no language
    assert_eq!(in_language(JMNEDICT, "ger").expect("it is whole"), all_of(JMNEDICT).expect("it is whole"));
}

#[test]
fn jmnedict_is_read() {
    let (source, entries) = all_of(JMNEDICT).expect("it is whole");
    assert_eq!((source.title.as_str(), source.created.as_deref()), ("JMnedict", Some("2020-02-29")));
    assert!(entries.iter().all(|entry| entry.is_name));
    assert_eq!(entries[0].senses[0].notes, ["place", "surname"]);
    assert_eq!(entries[1].senses[0].glosses, ["Nyanko", "Nyanco"]);
}

#[test]
fn edict2_is_read() {
    let (source, entries) = all_of(EDICT2).expect("it is whole");
    assert_eq!(source.title, "EDICT2 sample, its words written for these tests");
    assert_eq!(source.created.as_deref(), Some("2018-03-13"));
    assert!(source.tags.contains(&("v5k".to_owned(), "godan verb in ku".to_owned())));
    let [walk, shiny, cat] = &entries[..] else { panic!("a word without a gloss is no entry: {entries:#?}") };

    assert_eq!(walk.number, 1_000_001);
    assert!(walk.headwords[0].priority.is_common && !walk.headwords[1].priority.is_common);
    assert_eq!(walk.headwords[1].marks, ["oK"]);
    assert_eq!((&walk.readings[1].of[..], &walk.readings[1].marks[..]), (&[1][..], &["ik".to_owned()][..]));
    let [first, second, third] = &walk.senses[..] else { panic!("{walk:#?}") };
    assert_eq!(parts(first), ["v5k", "vi"]);
    assert_eq!(first.glosses, ["to walk", "to go (on foot)"]);
    assert_eq!(parts(second), ["v5k", "vi"]);
    assert_eq!(second.notes, ["comp", "math", "uk"]);
    assert_eq!(second.remark.as_deref(), Some("often 走る instead"));
    assert_eq!((&second.of_headwords[..], &second.of_readings[..]), (&[1][..], &[][..]));
    assert_eq!((parts(third), &third.notes[..]), (vec!["suf"], &["ksb".to_owned()][..]));
    assert_eq!(third.of_readings, [0]);

    assert_eq!(shiny.readings[0].of, [0, 1]);
    assert_eq!(shiny.readings[1].of, [1]);
    assert_eq!(shiny.senses[0].glosses, ["(musical) cat", "cat of 2 (3) colours"]);
    assert!(cat.headwords.is_empty());
    assert!(cat.readings[0].priority.is_common && !cat.readings[1].priority.is_common);
}

#[test]
fn edict_is_read() {
    let (_, entries) = all_of(EDICT).expect("it is whole");
    let [walk, old, shiny, cat] = &entries[..] else { panic!("{entries:#?}") };
    assert_eq!(walk.senses.len(), 3);
    assert_eq!(walk.senses[1].notes, ["comp", "uk"]);
    assert_eq!(parts(&walk.senses[2]), ["suf"]);
    assert!(walk.headwords[0].priority.is_common && walk.readings[0].priority.is_common);
    assert_eq!((&old.headwords[0].marks[..], parts(&old.senses[0])), (&["oK".to_owned()][..], vec!["v5k", "vi"]));
    assert_eq!(shiny.senses[0].glosses, ["(person) with a shiny cat"]);
    assert_eq!((cat.headwords.len(), cat.readings[0].text.as_str()), (0, "ねこ"));
    assert!(!cat.readings[0].priority.is_common);
}

#[test]
fn enamdict_has_the_kinds_of_jmnedict() {
    let (source, entries) = all_of(ENAMDICT).expect("it is whole");
    assert!(source.tags.contains(&("surname".to_owned(), "surname".to_owned())));
    assert!(entries.iter().all(|entry| entry.is_name));
    assert_eq!(entries[0].senses[0].notes, ["place", "surname"]);
    assert_eq!(entries[1].senses[0].glosses, ["Nekoko (1941-)"]);
    assert_eq!(entries[2].senses[0].glosses, ["Neko Company", "Neko"]);
    assert_eq!(entries[2].senses[1].notes, ["station", "abbr"]);
    assert_eq!(entries[3].senses[0].notes, ["unclass"]);
    assert_eq!(entries[3].senses[0].glosses, ["Nyanko", "Nyanco"]);
}

#[test]
fn each_format_is_known_in_each_encoding() {
    for (text, format) in ALL {
        // 步 is of JIS X 0212, which encoders to EUC-JP leave out.
        let text = text.replace('步', "渉");
        let wanted = all_of(&text).expect("it is whole");
        assert_eq!(wanted.0.format, format);
        assert_eq!(all_of(format!("\u{feff}{text}")).expect("with a byte order mark"), wanted);
        assert_eq!(all_of(text.replace('\n', "\r\n")).expect("with ends of lines of Windows"), wanted);
        assert_eq!(all_of(gzip(text.as_bytes())).expect("compressed"), wanted);
        assert_eq!(all_of(euc_jp(&text)).expect("in EUC-JP"), wanted);
        assert_eq!(all_of(gzip(&euc_jp(&text))).expect("in EUC-JP, compressed"), wanted);
    }
}

#[test]
fn euc_jp_has_characters_of_three_bytes() {
    // 丂, of JIS X 0212, is in the headword.
    let line = [b"\x8f\xb0\xa1".as_slice(), &euc_jp("猫 [ねこ] /(n) cat/\n")].concat();
    let (_, entries) = all_of(line).expect("it is whole");
    assert_eq!(entries[0].headwords[0].text, "丂猫");
}

/// Input as it comes from a connection: a byte at a time.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

#[test]
fn input_may_come_in_any_pieces() {
    for bytes in [euc_jp(ENAMDICT), gzip(JMDICT.as_bytes())] {
        let mut entries = Vec::new();
        let source = read(Slow(&bytes), DEFAULT_LANGUAGE, &mut |entry| {
            entries.push(entry);
            Ok(())
        });
        assert_eq!((source.expect("it is whole"), entries), all_of(&bytes).expect("it is whole"));
    }
}

#[test]
fn what_is_no_dictionary_is_refused_with_the_formats_that_are_known() {
    let cedict = "中國 中国 [Zhong1 guo2] /China/\n";
    for other in
        ["", "\n", "word,reading\n", "a\tb\n", cedict, "<html><p>/", "<a><b></a>", "<!-- -->", "\0\u{1}", "\u{1f}"]
    {
        let error = all_of(other).expect_err("it is no dictionary");
        assert_eq!(error.kind(), ErrorKind::Unrecognised, "{other:?}");
        assert!(error.to_string().contains("JMdict") && error.to_string().contains("EDICT2"), "{error}");
    }
}

#[test]
fn a_cut_file_is_an_error_wherever_it_is_cut() {
    let compressed = gzip(JMDICT.as_bytes());
    for end in 0..compressed.len() {
        assert!(all_of(&compressed[..end]).is_err(), "compressed, cut at {end}");
    }
    for text in [JMDICT, JMNEDICT] {
        let end_of_root = text.trim_end().len();
        for end in 0..end_of_root {
            assert!(all_of(&text.as_bytes()[..end]).is_err(), "cut at {end}");
        }
    }
    assert_eq!(error_of(&compressed[..compressed.len() - 9]).0, ErrorKind::Malformed);
    let cut = JMDICT.find("<gloss>walker").expect("it is there");
    assert_eq!(error_of(&JMDICT[..cut]), (ErrorKind::Malformed, Some(1 + JMDICT[..cut].matches('\n').count() as u64)));
    let cut = EDICT2.find("/cat of 2").expect("it is there");
    assert_eq!(error_of(&EDICT2[..cut]), (ErrorKind::Malformed, Some(3)));
}

#[test]
fn text_in_another_encoding_is_an_error_with_its_line() {
    let sound = "猫 [ねこ] /(n) cat/\n".repeat(10_000);
    let shift_jis = [b"\x94\x4c [\x82\xcb\x82\xb1] /cat/\n".as_slice()].concat();
    assert_eq!(error_of(&shift_jis).0, ErrorKind::Encoding);
    let later = [sound.as_bytes(), &shift_jis, sound.as_bytes()].concat();
    assert_eq!(error_of(&later), (ErrorKind::Encoding, Some(10_001)));
    let later = [&euc_jp(&sound)[..], &shift_jis, &euc_jp(&sound)].concat();
    assert_eq!(error_of(&later), (ErrorKind::Encoding, Some(10_001)));
    let declared = JMDICT.replace("UTF-8", "Shift_JIS");
    assert_eq!(error_of(declared), (ErrorKind::Encoding, Some(1)));
    let wrong = JMDICT.replace("UTF-8", "EUC-JP");
    assert_eq!(error_of(wrong).0, ErrorKind::Encoding);
}

#[test]
fn a_line_or_an_entry_that_is_too_large_is_refused() {
    let ten_megabytes = "a".repeat(10_000_000);
    let line = format!("猫 [ねこ] /(n) cat/\n{}猫 [ねこ] /{ten_megabytes}/\n", "犬 [いぬ] /(n) dog/\n".repeat(5_000));
    assert_eq!(error_of(line), (ErrorKind::TooLarge, Some(5_002)));
    for place in ["<gloss>", "<!-- Rev", "<entry>\n", "<!DOCTYPE JMdict [", "<JMdict"] {
        let large = JMDICT.replacen(place, &format!("{place} {ten_megabytes}"), 1);
        assert_eq!(error_of(large).0, ErrorKind::TooLarge, "{place}");
    }
    let senses = format!("{}<sense>", "<sense><gloss>a</gloss></sense>\n".repeat(2_000));
    assert_eq!(error_of(JMDICT.replacen("<sense>", &senses, 1)).0, ErrorKind::TooLarge);
    let parts = "<pos>&n;</pos>\n".repeat(100);
    assert_eq!(error_of(JMDICT.replacen("<pos>", &format!("{parts}<pos>"), 1)).0, ErrorKind::TooLarge);
    let senses = "/(n) (1) cat".repeat(2_000).replacen("(1)", "", 1);
    assert_eq!(error_of(format!("{EDICT2}猫 [ねこ] {senses}/\n")), (ErrorKind::TooLarge, Some(6)));
    let parts = vec!["n"; 100].join(",");
    assert_eq!(error_of(format!("{EDICT2}猫 [ねこ] /({parts}) cat/\n")), (ErrorKind::TooLarge, Some(6)));
    let readings = format!("猫 [{}] /(n) cat/\n", vec!["ねこ"; 2000].join(";"));
    assert_eq!(error_of(format!("{EDICT2}{readings}")), (ErrorKind::TooLarge, Some(6)));
}

#[test]
fn entities_are_no_bomb() {
    let doubled = "<!ENTITY a \"aaaaaaaaaa\">\n<!ENTITY b \"&a;&a;&a;\">\n<!ENTITY vi";
    let text = |glosses: &str| JMDICT.replace("<!ENTITY vi", doubled).replace("to walk", glosses);
    let (_, entries) = all_of(text("&b;")).expect("it is whole");
    assert_eq!(entries[0].senses[0].glosses[0], "&a;&a;&a;", "what an entity is replaced by is not looked at again");
    assert_eq!(error_of(text(&"&a;".repeat(100_000))).0, ErrorKind::TooLarge);
    assert_eq!(error_of(text("&unheard;")).0, ErrorKind::Malformed);
    assert_eq!(error_of(text("&#x110000;")).0, ErrorKind::Malformed);
    let deep = JMDICT.replace("to walk", &"<b>".repeat(50_000));
    assert_eq!(error_of(deep).0, ErrorKind::Malformed);
    let deep = |more: usize| JMDICT.replace("to walk", &format!("{}to{}", "<b>".repeat(more), "</b>".repeat(more)));
    assert!(all_of(deep(12)).is_ok());
    assert_eq!(error_of(deep(13)).0, ErrorKind::Malformed);
}

#[test]
fn entities_are_bounded_and_so_is_how_often_they_are_named() {
    let declared =
        |count: usize| -> String { (0..count).map(|number| format!("<!ENTITY e{number} \"\">\n")).collect() };
    let text = |count: usize| JMDICT.replacen("<!ENTITY", &format!("{}<!ENTITY", declared(count)), 1);
    assert!(all_of(text(4_000)).is_ok());
    assert_eq!(error_of(text(4_096)).0, ErrorKind::TooLarge);
    // each is looked up, though it says nothing
    let named = |count: usize| text(4_000).replace("to walk", &format!("to{}", "&e3999;".repeat(count)));
    assert!(all_of(named(60_000)).is_ok());
    assert_eq!(error_of(named(70_000)).0, ErrorKind::TooLarge);
    for long in [format!("<!ENTITY {} \"\">", "e".repeat(65)), format!("<!ENTITY e \"{}\">", "e".repeat(1_025))] {
        assert_eq!(error_of(JMDICT.replacen("<!ENTITY", &format!("{long}\n<!ENTITY"), 1)).0, ErrorKind::TooLarge);
    }
}

#[test]
fn a_code_is_short() {
    // it is that of each sense behind it, too
    let coded = |bytes: usize| JMDICT.replacen("<pos>&v5k;", &format!("<pos>{}", "v".repeat(bytes)), 1);
    assert!(all_of(coded(64)).is_ok());
    assert_eq!(error_of(coded(65)).0, ErrorKind::TooLarge);
}

#[test]
fn a_carriage_return_alone_ends_no_line() {
    for text in [EDICT, EDICT2, ENAMDICT] {
        assert_eq!(error_of(text.replace('\n', "\r")), (ErrorKind::Malformed, Some(1)));
    }
    assert_eq!(error_of("猫 [ねこ] /(n) cat/\r犬 [いぬ] /(n) dog/\r"), (ErrorKind::Malformed, Some(1)));
    let table = read_levels("word,reading,level\r日,ひ,N5\r".as_bytes());
    assert_eq!(table.expect_err("it is one line").kind(), ErrorKind::Malformed);
}

#[test]
fn what_does_not_keep_to_its_format_is_refused() {
    for (place, other) in [
        ("<ent_seq>1000001", "<ent_seq>one"),
        ("<k_ele>\n<keb>歩く</keb>", "<keb>歩く</keb><k_ele>"),
        ("<reb>あるく</reb>", ""),
        ("<sense>\n<pos>&v5k;</pos>", "<pos>&v5k;</pos><sense>"),
        ("</JMdict>", "</JMdict><JMdict></JMdict>"),
        ("</entry>\n<entry>", "<entry></entry></entry>\n<entry>"),
        ("</sense>", "</sens>"),
    ] {
        let text = JMDICT.replacen(place, other, 1);
        assert_ne!(text, JMDICT);
        assert_eq!(error_of(text).0, ErrorKind::Malformed, "{other}");
    }
    for line in ["猫", "猫 [ねこ /cat/", "猫 ねこ [ねこ] /cat/", "猫 [ねこ] /cat", " /cat/", "猫(a [ねこ] /cat/"]
    {
        assert_eq!(error_of(format!("{EDICT}{line}\n")), (ErrorKind::Malformed, Some(6)), "{line}");
    }
}

#[test]
fn the_taker_ends_the_reading() {
    for (text, _) in ALL {
        let mut taken = 0;
        let result = read(text.as_bytes(), DEFAULT_LANGUAGE, &mut |_| {
            taken += 1;
            Err(Error::stopped("enough"))
        });
        let error = result.expect_err("it was stopped");
        assert_eq!((error.kind(), error.to_string(), taken), (ErrorKind::Stopped, "enough".to_owned(), 1));
    }
    // and says by what
    let stopped = |_| Err(Error::stopped_by("the disk is full", io::Error::other("no room")));
    let error = read(ALL[0].0.as_bytes(), DEFAULT_LANGUAGE, &mut { stopped }).expect_err("it was stopped");
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Stopped, "the disk is full: no room"));
    assert_eq!(std::error::Error::source(&error).map(ToString::to_string).as_deref(), Some("no room"));
}

#[test]
fn what_a_message_shows_of_a_source_is_cut() {
    let long = "猫".repeat(100_000);
    let refused = [
        read_levels(format!("word,reading,level\nねこ,,{long}\n").as_bytes()).map(|_| ()),
        read_frequencies(format!("ねこ\t1\nねこ\t{long}\n").as_bytes()).map(|_| ()),
        all_of(format!("{EDICT}猫 {long} [ねこ] /cat/\n")).map(|_| ()),
        all_of(format!("<?xml version=\"1.0\"?><{long}></{long}>")).map(|_| ()),
    ];
    for error in refused.map(|refused| refused.expect_err("it is refused").to_string()) {
        assert!(error.contains("猫猫猫…\"") || error.contains("猫猫猫\"…"), "{error}");
        assert!(error.chars().count() < 200, "{error}");
    }
}

#[test]
fn of_which_headwords_a_reading_is_is_found_at_once() {
    // 255 headwords, of which a reading names each a hundred times
    let headword = |number: u32| format!("猫{}", char::from_u32(0x4e00 + number).unwrap());
    let headwords: String = (0..255).map(|number| format!("<k_ele><keb>{}</keb></k_ele>", headword(number))).collect();
    let of: String = (0..25_500).map(|number| format!("<re_restr>{}</re_restr>", headword(number % 255))).collect();
    let entry = format!(
        "<entry><ent_seq>1</ent_seq>{headwords}<r_ele><reb>ねこ</reb>{of}<re_restr>犬</re_restr></r_ele>\
         <sense><pos>n</pos><gloss>cat</gloss></sense></entry>"
    );
    let (_, entries) = all_of(format!("<JMdict>{entry}</JMdict>")).unwrap();
    assert_eq!(entries[0].readings[0].of, (0..255).collect::<Vec<u16>>());
}

#[test]
fn levels_are_read() {
    let table = include_str!("sources/levels.csv");
    let levels = read_levels(table.as_bytes()).expect("it is whole");
    let level = |word: &str, reading: Option<&str>, level| Level {
        word: word.to_owned(),
        reading: reading.map(str::to_owned),
        level,
    };
    let wanted = [
        level("歩く", Some("あるく"), 5),
        level("キロ", None, 4),
        level("キロメートル", None, 4),
        level("四", Some("し"), 5),
        level("四", Some("よん"), 5),
        level("しまう", None, 3),
    ];
    assert_eq!(levels, wanted);
    let twice = read_levels(gzip(format!("{table}{table}").as_bytes()).as_slice()).expect("it is whole");
    assert_eq!(twice.len(), 2 * wanted.len());

    let kind = |text: &str| read_levels(text.as_bytes()).expect_err("it is broken").kind();
    assert_eq!(kind("character,level\n日,N5\n"), ErrorKind::Unrecognised);
    assert_eq!(kind("word,reading,level\n日,ひ,N6\n"), ErrorKind::Malformed);
    assert_eq!(kind("word,reading,level\n日,ひ,\"N5\n"), ErrorKind::Malformed);
    assert_eq!(kind(&format!("word,reading,level\n日,ひ,\"{}", "a\n".repeat(1_000_000))), ErrorKind::TooLarge);
    let forms = |words: usize| format!("word,reading,level\n{},{},N5\n", "日/".repeat(words), "ひ/".repeat(1_000));
    assert_eq!(read_levels(forms(1_000).as_bytes()).expect("it is whole").len(), 1_000_000);
    assert_eq!(kind(&forms(1_001)), ErrorKind::TooLarge);
}

#[test]
fn frequencies_are_ranked() {
    let frequency = |word: &str, count, rank| Frequency { word: word.to_owned(), count, rank };
    let list = read_frequencies(include_str!("sources/frequencies.txt").as_bytes()).expect("it is whole");
    let wanted = [
        frequency("の", 3_711_420, 1),
        frequency("は", 1_950_996, 2),
        frequency("100", 12, 3),
        frequency("歩く", 7, 4),
    ];
    assert_eq!(list, wanted);
    let list = read_frequencies(include_str!("sources/frequencies-by-count.txt").as_bytes()).expect("it is whole");
    assert_eq!(list, [frequency("の", 3_711_420, 1), frequency("歩く", 12, 2), frequency("100", 12, 3)]);
    for (broken, line) in [("の\n", 1), ("の\t1\nは\tmany\n", 2), ("# a\nの\tは\n", 2)] {
        let error = read_frequencies(broken.as_bytes()).expect_err("it is broken");
        assert_eq!((error.kind(), error.line()), (ErrorKind::Malformed, Some(line)), "{broken:?}");
    }
    let many = "a\t1\n".repeat(2_000_001);
    assert_eq!(read_frequencies(&many.as_bytes()[4..]).expect("it is whole").len(), 1);
    let error = read_frequencies(many.as_bytes()).expect_err("it is too much");
    assert_eq!((error.kind(), error.line()), (ErrorKind::TooLarge, Some(2_000_001)));
}

/// One of the samples with some of its bytes replaced.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8);
    (0..ALL.len(), any::<bool>(), any::<bool>(), damage).prop_map(|(sample, in_euc_jp, is_packed, damage)| {
        let text = ALL[sample].0.replace('步', "渉");
        let mut bytes = if in_euc_jp { euc_jp(&text) } else { text.into_bytes() };
        if is_packed {
            bytes = gzip(&bytes);
        }
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

/// An entry can be compiled: its references are to forms that it has.
fn is_sound(entry: &Entry) -> bool {
    let forms = (entry.headwords.len(), entry.readings.len());
    let is_form = |place: &u16, count| usize::from(*place) < count;
    entry.readings.iter().all(|reading| reading.of.iter().all(|place| is_form(place, forms.0)))
        && entry.senses.iter().all(|sense| {
            sense.of_headwords.iter().all(|place| is_form(place, forms.0))
                && sense.of_readings.iter().all(|place| is_form(place, forms.1))
                && !sense.glosses.is_empty()
        })
        && forms.0 + forms.1 > 0
        && !entry.senses.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = all_of(&bytes);
        let _ = read_levels(bytes.as_slice());
        let _ = read_frequencies(bytes.as_slice());
    }

    #[test]
    fn a_damaged_dictionary_is_read_or_refused(bytes in damaged()) {
        if let Ok((_, entries)) = all_of(bytes) {
            prop_assert!(entries.iter().all(is_sound));
        }
    }

    #[test]
    fn any_line_is_read_or_refused(line in "[(){}\\[\\]/;,. :P0-9a-z猫ねこ]{0,60}") {
        let line = format!("猫 [ねこ] /(n) cat/\n猫 [ねこ] /{line}/\n");
        let entries = all_of(format!("{EDICT2}{line}")).map(|(_, entries)| entries).unwrap_or_default();
        prop_assert!(entries.iter().all(is_sound));
        let _ = all_of(format!("{EDICT2}猫 [ねこ] /(n) cat/\n{line} /cat/\n"));
    }
}
