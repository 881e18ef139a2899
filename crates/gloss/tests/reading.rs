//! Texts read along a small dictionary: what is found, and that it is what a search of every substring finds.

use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use thalweg_gloss::grammar::grammar;
use thalweg_gloss::{
    Builder, Dictionary, ENTRIES_PER_SPAN_MAX, Entry, Headword, Known, Meaning, Options, Priority, Reader, Reading,
    Sense, small,
};

/// Headwords, readings and parts of speech.
const WORDS: [(&str, &str, &str); 40] = [
    ("食べる", "たべる", "v1"),
    ("見る", "みる", "v1"),
    ("書く", "かく", "v5k"),
    ("行く", "いく", "v5k-s"),
    ("読む", "よむ", "v5m"),
    ("話す", "はなす", "v5s"),
    ("買う", "かう", "v5u"),
    ("待つ", "まつ", "v5t"),
    ("取る", "とる", "v5r"),
    ("来る", "くる", "vk"),
    ("", "する", "vs-i"),
    ("", "いる", "v1"),
    ("勉強", "べんきょう", "n vs"),
    ("日本", "にほん", "n"),
    ("日本語", "にほんご", "n"),
    ("語", "ご", "n"),
    ("東京", "とうきょう", "n"),
    ("東京都", "とうきょうと", "n"),
    ("京都", "きょうと", "n"),
    ("高い", "たかい", "adj-i"),
    ("美しい", "うつくしい", "adj-i"),
    ("静か", "しずか", "adj-na"),
    ("人", "にん", "ctr"),
    ("人", "ひと", "n"),
    ("人々", "ひとびと", "n"),
    ("", "ラーメン", "n"),
    ("", "お母さん", "n"),
    ("国", "くに", "n"),
    ("学校", "がっこう", "n"),
    ("方", "ほう", "n"),
    ("下", "した", "n"),
    ("", "ない", "adj-i"),
    ("", "だ", "cop"),
    ("着る", "きる", "v1"),
    ("切る", "きる", "v5r"),
    ("愛する", "あいする", "vs-s"),
    ("信ずる", "しんずる", "vz"),
    ("良い", "よい", "adj-i"),
    ("", "を", "prt"),
    ("", "は", "prt"),
];
const NAMES: [(&str, &str, &str); 3] =
    [("田中", "たなか", "Tanaka"), ("高崎", "たかさき", "Takasaki"), ("", "さくら", "Sakura")];

fn dictionary() -> Dictionary {
    dictionary_of(&WORDS)
}

fn dictionary_of(words: &[(&str, &str, &str)]) -> Dictionary {
    let mut builder = Builder::new();
    for (at, (headword, reading, parts)) in words.iter().enumerate() {
        let sense = Sense {
            parts_of_speech: parts.split(' ').map(str::to_owned).collect(),
            glosses: vec![format!("number {at}")],
            ..Sense::default()
        };
        builder.add(&entry(at as u32 + 1, headword, reading, sense)).unwrap();
    }
    for (headword, reading, gloss) in NAMES {
        let sense = Sense { notes: vec!["surname".into()], glosses: vec![gloss.into()], ..Sense::default() };
        builder.add(&Entry { is_name: true, ..entry(0, headword, reading, sense) }).unwrap();
    }
    Dictionary::from_bytes(builder.finish().unwrap()).unwrap()
}

fn entry(number: u32, headword: &str, reading: &str, sense: Sense) -> Entry {
    let priority = Priority { is_common: true, band: 0 };
    let headword = Headword { text: headword.into(), priority, ..Headword::default() };
    Entry {
        number,
        headwords: [headword].into_iter().filter(|form| !form.text.is_empty()).collect(),
        readings: vec![Reading { text: reading.into(), priority, ..Reading::default() }],
        senses: vec![sense],
        ..Entry::default()
    }
}

/// What is found, as `食べた = 食べる たべる < past`.
fn found(text: &str) -> Vec<String> {
    found_of(&dictionary(), text)
}

fn found_of(dictionary: &Dictionary, text: &str) -> Vec<String> {
    let mut reader = Reader::new();
    let gloss = reader.read(dictionary, text, &Options::default());
    let mut lines = Vec::new();
    for span in gloss.spans() {
        assert_eq!(span.text(), text.chars().take(span.end() as usize).skip(span.start() as usize).collect::<String>());
        for meaning in span.meanings() {
            let number = span.number().map_or(String::new(), |number| format!(" ({number})"));
            lines.push(match meaning {
                Meaning::Word(word) => {
                    let reasons: Vec<_> = word.reasons().collect();
                    let reasons = if reasons.is_empty() { String::new() } else { format!(" < {}", reasons.join(", ")) };
                    format!("{} = {} {}{reasons}{number}", span.text(), word.headword(), word.reading())
                }
                Meaning::Name(name) => format!(
                    "{} ~ {} {} {:?}",
                    span.text(),
                    name.headword(),
                    name.reading(),
                    name.glosses().map(|gloss| gloss.to_string()).collect::<Vec<_>>()
                ),
            });
        }
    }
    lines
}

#[test]
fn words_are_found_inflected() {
    assert_eq!(
        found("食べさせられていた")[0],
        "食べさせられていた = 食べる たべる < causative, passive, progressive, past"
    );
    assert_eq!(found("勉強しています")[0], "勉強しています = 勉強 べんきょう < suru, progressive, polite");
    assert_eq!(found("タベタ")[0], "タベタ = 食べる たべる < past");
    assert_eq!(found("来た")[0], "来た = 来る くる < past");
    assert_eq!(found("きた")[0], "きた = 来る くる < past");
    // くる as 来る, not く and る
    assert!(!found("くた").iter().any(|line| line.contains("来る")));
}

#[test]
fn spans_overlap_the_longest_first() {
    let lines = found("東京都");
    assert_eq!(lines, ["東京都 = 東京都 とうきょうと", "東京 = 東京 とうきょう", "京都 = 京都 きょうと"],);
}

#[test]
fn spelling_does_not_hide_a_word() {
    for (text, word) in [
        ("人人", "人人 = 人々 ひとびと"),
        ("國", "國 = 国 くに"),
        ("學校", "學校 = 学校 がっこう"),
        ("らあめん", "らあめん = ラーメン ラーメン"),
        ("ﾗｰﾒﾝ", "ﾗｰﾒﾝ = ラーメン ラーメン"),
        ("トーキョー", "トーキョー = 東京 とうきょう"),
        ("たかーい", "たかーい = 高い たかい"),
        ("ｶﾞｯｺｳ", "ｶﾞｯｺｳ = 学校 がっこう"),
        ("カ\u{3099}ッコウ", "カ\u{3099}ッコウ = 学校 がっこう"),
    ] {
        assert_eq!(found(text)[0], word);
    }
}

#[test]
fn what_is_drawn_out_is_in_one_script() {
    assert_eq!(found("たかーい")[0], "たかーい = 高い たかい");
    assert_eq!(found("タカーイ")[0], "タカーイ = 高い たかい");
    assert!(!found("たカーい").iter().any(|line| line.contains("高い")));
}

#[test]
fn a_particle_does_not_join_the_long_vowel_before_it() {
    let dictionary = dictionary_of(&[
        ("枯葉", "かれは", "n"),
        ("蟹", "かに", "n"),
        ("", "カレー", "n"),
        ("", "カー", "n"),
        ("凄い", "すごい", "adj-i"),
    ]);
    assert_eq!(found_of(&dictionary, "カレーは"), ["カレー = カレー カレー"]);
    assert_eq!(found_of(&dictionary, "カーに"), ["カー = カー カー"]);
    // in one script it is a word that is drawn out
    assert_eq!(found_of(&dictionary, "かれーは")[0], "かれーは = 枯葉 かれは");
    assert_eq!(found_of(&dictionary, "カレーハ")[0], "カレーハ = 枯葉 かれは");
    for text in ["スゴーい", "すごーい", "スゴーイ"] {
        assert_eq!(found_of(&dictionary, text)[0], format!("{text} = 凄い すごい"));
    }
}

#[test]
fn a_number_in_kana_changes_the_sound_of_what_it_counts() {
    let dictionary = dictionary_of(&[
        ("本", "ほん", "ctr"),
        ("匹", "ひき", "ctr"),
        ("階", "かい", "ctr"),
        ("日本", "にほん", "n"),
        ("", "さん", "suf"),
        ("", "が", "prt"),
        ("日", "か", "ctr"),
        ("切り", "きり", "ctr"),
        ("", "はっきり", "adv"),
    ]);
    for (text, told) in [
        ("いっぽん", "いっぽん = 本 ほん (1)"),
        ("さんぼん", "さんぼん = 本 ほん (3)"),
        ("ろっぴき", "ろっぴき = 匹 ひき (6)"),
        ("じゅっかい", "じゅっかい = 階 かい (10)"),
        ("３ぼん", "３ぼん = 本 ほん (3)"),
        ("六ぴき", "六ぴき = 匹 ひき (6)"),
    ] {
        assert!(found_of(&dictionary, text).contains(&told.to_owned()), "{text}: {:?}", found_of(&dictionary, text));
    }
    // what sounds as it does alone is a word sooner, one kana is a particle, and a word is no number
    assert!(found_of(&dictionary, "いっきり").contains(&"いっきり = 切り きり (1)".to_owned()));
    for text in ["にほん", "さんか", "さんが", "いっか", "はっきり"] {
        assert!(!found_of(&dictionary, text).iter().any(|line| line.contains('(')), "{text}");
    }
}

#[test]
fn verbs_are_found_as_they_were_spelled_before_1946() {
    let dictionary = dictionary_of(&[
        ("言う", "いう", "v5u"),
        ("歌う", "うたう", "v5u"),
        ("歌", "うた", "n"),
        ("行く", "いく", "v5k-s"),
        ("取る", "とる", "v5r"),
        ("書く", "かく", "v5k"),
        ("居る", "いる", "v1"),
        ("買う", "かう", "v5u"),
        ("", "から", "prt"),
        ("刈る", "かる", "v5r"),
        ("は", "は", "prt"),
    ]);
    for (text, told) in [
        ("言ふ", "言ふ = 言う いう < old spelling"),
        ("言つた", "言つた = 言う いう < old spelling, past"),
        ("言ひました", "言ひました = 言う いう < old spelling, polite, past"),
        ("言へば", "言へば = 言う いう < old spelling, -ba"),
        ("買はう", "買はう = 買う かう < old spelling, volitional"),
        ("買はれた", "買はれた = 買う かう < old spelling, passive, past"),
        ("行かう", "行かう = 行く いく < volitional"),
        ("行つて", "行つて = 行く いく < old spelling, -te"),
        ("取らう", "取らう = 取る とる < volitional"),
        ("書かう", "書かう = 書く かく < volitional"),
        ("ゐる", "ゐる = 居る いる"),
    ] {
        assert_eq!(found_of(&dictionary, text)[0], told);
    }
    // a noun with a particle, and a particle before another word
    assert_eq!(found_of(&dictionary, "歌はない")[0], "歌 = 歌 うた");
    assert_eq!(found_of(&dictionary, "歌へ")[0], "歌 = 歌 うた");
    assert_eq!(found_of(&dictionary, "からうどん")[0], "から = から から");
}

#[test]
fn entries_outlive_the_reader_and_the_text() {
    let dictionary = dictionary();
    let words: Vec<&str> = {
        let (mut reader, text) = (Reader::new(), "日本語を食べた".to_owned());
        let gloss = reader.read(&dictionary, &text, &Options::default());
        let words = gloss.spans().flat_map(|span| span.words());
        words.flat_map(|word| [word.headword(), word.reading()].into_iter().chain(word.glosses())).collect()
    };
    assert_eq!(words[..3], ["日本語", "にほんご", "number 14"]);
}

#[test]
fn a_kana_of_a_table_of_levels_is_no_level_of_all_that_is_read_so() {
    let mut builder = Builder::new();
    let table = "word,reading,level\n橋,はし,N5\n端,はし,N3\nはし,,N5\nなる,,N5\n成る,なる,N3\n";
    builder.levels("a table", &thalweg_gloss::source::read_levels(table.as_bytes()).unwrap());
    let usual = || Sense { notes: vec!["uk".into()], glosses: vec!["to become".into()], ..Sense::default() };
    let sense = || Sense { glosses: vec!["a thing".into()], ..Sense::default() };
    for (number, headword, reading, sense) in
        [(1, "端", "はし", sense()), (2, "橋", "はし", sense()), (3, "成る", "なる", usual())]
    {
        builder.add(&entry(number, headword, reading, sense)).unwrap();
    }
    let mut rare = entry(4, "嘴", "はし", usual());
    rare.readings[0].priority.is_common = false;
    rare.headwords[0].priority.is_common = false;
    builder.add(&rare).unwrap();
    let dictionary = Dictionary::from_bytes(builder.finish().unwrap()).unwrap();
    let mut reader = Reader::new();
    let mut levels = |text: &str| -> Vec<(u32, Option<u8>)> {
        let gloss = reader.read(&dictionary, text, &Options::default());
        gloss.spans().next().unwrap().words().map(|word| (word.number(), word.level())).collect()
    };
    assert_eq!(levels("はし"), [(2, Some(5)), (1, Some(3)), (4, None)]);
    assert_eq!(levels("なる"), [(3, Some(5))]);
}

#[test]
fn a_mark_repeats_what_is_within_the_word() {
    // not the 国 that ends the word before
    assert_eq!(found("国国語"), ["国 = 国 くに", "国 = 国 くに", "語 = 語 ご"]);
    assert_eq!(found("人々").iter().filter(|line| line.contains("= 人 ")).count(), 2, "{:?}", found("人々"));
}

#[test]
fn names_stand_apart() {
    assert_eq!(found("田中は"), ["田中 ~ 田中 たなか [\"Tanaka\"]", "は = は は"]);
    assert_eq!(found("髙崎")[0], "髙崎 ~ 高崎 たかさき [\"Takasaki\"]");
    assert_eq!(found("さくら"), ["さくら ~ さくら さくら [\"Sakura\"]"]);
    // in katakana it is not that name
    assert_eq!(found("サクラ"), [""; 0]);
}

#[test]
fn numbers_are_counted() {
    assert!(found("三十五人").contains(&"三十五人 = 人 にん (35)".to_owned()));
    assert!(found("１２人").contains(&"１２人 = 人 にん (12)".to_owned()));
    assert!(found("三十五にん").contains(&"三十五にん = 人 にん (35)".to_owned()));
    // from its beginning on only
    assert_eq!(found("１２人").iter().filter(|line| line.contains('(')).count(), 1);
}

#[test]
fn what_counts_is_before_what_only_follows_and_no_number_is_taken_apart() {
    let (dictionary, mut reader) = (thalweg_gloss::small().unwrap(), Reader::new());
    for (text, reading) in [("三人", "にん"), ("１５０円", "えん"), ("３０分", "ふん"), ("１．５円", "えん")]
    {
        let gloss = reader.read(&dictionary, text, &Options::default());
        // what is counted stands behind what is not
        let span = gloss.spans().filter(|span| span.text() == text).last().unwrap();
        assert_eq!(span.words().next().unwrap().reading(), reading, "{text}");
        assert!(span.meanings().all(|meaning| matches!(meaning, Meaning::Word(_))), "{text}: a number counts no name");
    }
    let gloss = reader.read(&dictionary, "１５０円", &Options::default());
    let spans: Vec<_> = gloss.spans().map(|span| span.text()).collect();
    assert_eq!(spans, ["１５０円", "円"]);
}

#[test]
fn what_is_known_is_left_out() {
    let (dictionary, mut reader) = (dictionary(), Reader::new());
    let known = Known::of(&dictionary, "食べる\tsince May\nみる\n\nnothing\n");
    assert_eq!(known.len(), 2);
    let options = Options { known: Some(&known), ..Options::default() };
    let gloss = reader.read(&dictionary, "食べて見て行った", &options);
    let words: Vec<_> = gloss.spans().flat_map(|span| span.words()).map(|word| word.headword()).collect();
    assert_eq!(words, ["行く"]);
    // however it is written
    for list in ["がっこう", "ガッコウ", "ｶﾞｯｺｳ", "か\u{3099}っこう", "學校"] {
        assert_eq!(Known::of(&dictionary, list).len(), 1, "{list}");
    }
}

#[test]
fn what_is_too_much_is_said() {
    let (dictionary, mut reader) = (dictionary(), Reader::new());
    let options = Options { entries_per_span_max: 1, ..Options::default() };
    let gloss = reader.read(&dictionary, "きる", &options);
    let span = gloss.spans().next().unwrap();
    assert_eq!((span.words().count(), span.more()), (1, 1));
}

#[test]
fn what_is_told_and_what_is_more_is_all_there_is() {
    let dictionary = small().unwrap();
    let stories = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/reader/stories");
    for file in std::fs::read_dir(stories).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let counts = |entries_per_span_max| -> Vec<(usize, usize)> {
            let (mut reader, options) = (Reader::new(), Options { entries_per_span_max, ..Options::default() });
            let gloss = reader.read(&dictionary, &text, &options);
            gloss.spans().map(|span| (span.meanings().count(), span.more())).collect()
        };
        let all = counts(ENTRIES_PER_SPAN_MAX);
        for entries_per_span_max in [0, 1, 2, 8] {
            for ((told, more), (all, none)) in counts(entries_per_span_max).into_iter().zip(&all) {
                assert!(told <= 2 * entries_per_span_max && *none == 0);
                assert_eq!(told + more, *all, "{entries_per_span_max}");
            }
        }
    }
}

/// Every substring, in dictionary form and as each form that it may be, looked up in a table.
fn naive(text: &str) -> BTreeSet<(usize, usize, u32)> {
    let mut table = HashMap::<&str, Vec<(u32, &str)>>::new();
    for (at, (headword, reading, parts)) in WORDS.iter().enumerate() {
        for form in [headword, reading].into_iter().filter(|form| !form.is_empty()) {
            table.entry(form).or_default().push((at as u32 + 1, parts));
        }
    }
    // the one word that the texts below spell otherwise than it is listed
    if let Some(people) = table.get("人々").cloned() {
        table.insert("人人", people);
    }
    let chars: Vec<char> = text.chars().collect();
    let mut all = BTreeSet::new();
    for start in 0..chars.len() {
        for end in start + 1..=chars.len() {
            let part: String = chars[start..end].iter().collect();
            for (number, _) in table.get(part.as_str()).into_iter().flatten() {
                all.insert((start, end, *number));
            }
            for (base, parts_of_speech) in bases(&part) {
                for (number, parts) in table.get(base.as_str()).into_iter().flatten() {
                    if parts.split(' ').any(|part| parts_of_speech.contains(&part)) {
                        all.insert((start, end, *number));
                    }
                }
            }
        }
    }
    all
}

/// The words that a form may come from, and what they would have to be.
fn bases(form: &str) -> Vec<(String, Vec<&'static str>)> {
    let grammar = grammar();
    let standing = grammar.classes().iter().enumerate();
    let standing = standing.filter(|(_, class)| class.stands && form.ends_with(class.ending));
    let mut open: Vec<_> = standing.map(|(class, _)| (form.to_owned(), class)).collect();
    let (mut seen, mut bases) = (HashSet::new(), Vec::new());
    while let Some((word, class)) = open.pop() {
        for rule in grammar.rules().iter().filter(|rule| rule.result == class) {
            let Some(stem) = word.strip_suffix(rule.to) else { continue };
            let of = &grammar.classes()[rule.class];
            let base = format!("{stem}{}", of.ending);
            let is_kanji = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
            let stem_fits = !of.after_kanji || stem.chars().next_back().is_some_and(is_kanji);
            if stem_fits && seen.insert((base.clone(), rule.class)) {
                if !of.parts_of_speech.is_empty() {
                    bases.push((base.clone(), of.parts_of_speech.clone()));
                }
                open.push((base, rule.class));
            }
        }
    }
    bases
}

/// What stands in texts: stems, what words end on, and what means nothing.
fn text() -> impl Strategy<Value = String> {
    let pieces = "食べ 見 書 行 読 話 買 待 取 来 勉強 日本 語 東京 都 高 美し 静か 人 国 学校 方 愛 信 良 着 き み か い く う よ む し す た て で だ る れ \
        られ せ させ ない なかっ ます まし ませ ん でし たい そう すぎ ながら ば たら ちゃ とく しまう い いる っ ん り け ろ ろう よう な を は 、 x";
    let pieces: Vec<&str> = pieces.split_whitespace().collect();
    prop::collection::vec(prop::sample::select(pieces), 1..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_is_found_that_a_search_of_every_substring_finds(text in text()) {
        let (dictionary, mut reader) = (dictionary(), Reader::new());
        let gloss = reader.read(&dictionary, &text, &Options { names: false, ..Options::default() });
        let mut all = BTreeSet::new();
        for span in gloss.spans().filter(|span| span.number().is_none()) {
            for word in span.words() {
                prop_assert!(all.insert((span.start() as usize, span.end() as usize, word.number())), "twice: {}", word.headword());
            }
        }
        prop_assert_eq!(all, naive(&text));
    }
}
