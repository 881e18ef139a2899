//! Ten thousand inflected forms, each found again from its text alone by rewriting its end.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_gloss::grammar::{CHAIN_RULES_MAX, Class, Grammar, grammar};
use thalweg_gloss::{Builder, Dictionary, Entry, Headword, Options, Reader, Reading, Sense, small};

/// A spread of words: each class of a dictionary's words has one at least.
const WORDS: &[(&str, &str)] = &[
    ("v1", "食べる"),
    ("v1", "見る"),
    ("v1", "かける"),
    ("v1-s", "くれる"),
    ("v5b", "遊ぶ"),
    ("v5g", "泳ぐ"),
    ("v5k", "書く"),
    ("v5k-s", "行く"),
    ("v5k-s", "いく"),
    ("v5m", "読む"),
    ("v5n", "死ぬ"),
    ("v5r", "取る"),
    ("v5r", "わかる"),
    ("v5r-i", "ある"),
    ("v5aru", "いらっしゃる"),
    ("irassharu", "いらっしゃる"),
    ("nasaru", "なさる"),
    ("kudasaru", "くださる"),
    ("v5s", "話す"),
    ("vs-c", "愛す"),
    ("v5t", "待つ"),
    ("v5u", "買う"),
    ("v5u-s", "問う"),
    ("v4h", "思ふ"),
    ("v5u-old", "言う"),
    ("v5r-old", "取る"),
    ("v5k-old", "書く"),
    ("v5k-s-old", "行く"),
    ("v5uru", "ありうる"),
    ("v5uru-kanji", "あり得る"),
    ("vk", "くる"),
    ("vk-kanji", "来る"),
    ("vs", "勉強"),
    ("vs-i", "する"),
    ("vs-i-kanji", "為る"),
    ("vs-s", "愛する"),
    ("vz", "信ずる"),
    ("adj-i", "高い"),
    ("adj-i", "悲しい"),
    ("adj-kanji", "高い"),
    ("adj-nai", "もったいない"),
    ("adj-ii", "いい"),
    ("adj-yoi", "よい"),
    ("adj-yoi-kanji", "良い"),
    ("adj-yoi-i", "良い"),
    ("adj-kai", "でかい"),
    ("adj-gai", "ながい"),
    ("adj-sai", "うるさい"),
    ("adj-tai", "いたい"),
    ("adj-bai", "やばい"),
    ("adj-rai", "えらい"),
    ("adj-wai", "こわい"),
    ("adj-koi", "しつこい"),
    ("adj-goi", "すごい"),
    ("adj-soi", "おそい"),
    ("adj-doi", "ひどい"),
    ("adj-roi", "おもしろい"),
    ("adj-shii", "うれしい"),
    ("adj-na", "静か"),
    ("noun", "子供"),
    ("adj-t", "堂々"),
    ("adj-nari", "静か"),
    ("adj-ku", "良し"),
    ("adj-shiku", "悪し"),
    ("cop", "だ"),
    ("desu", "です"),
    ("masu", "ます"),
    ("gozaimasu", "ございます"),
];
/// How many forms are found again.
const FORMS: usize = 10_000;
/// How many false bases a form has at most on average, where no dictionary says which of them are words.
const FALSE_BASES_MAX: usize = 13;
/// How many rules a form's chain has at most.
const RULES_MAX: usize = 13;

/// A form and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    word: String,
    class: usize,
    rules: Vec<u16>,
}

/// Every word that a text may be a form of, by rewriting its end back and back again, with no dictionary.
fn deinflect_naive(grammar: &Grammar, text: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for (number, class) in grammar.classes().iter().enumerate() {
        if class.stands && text.ends_with(class.ending) {
            rewrite(grammar, text, number, &mut Vec::new(), &mut found);
        }
    }
    found
}

fn rewrite(grammar: &Grammar, text: &str, class: usize, rules: &mut Vec<u16>, found: &mut Vec<Source>) {
    let here = &grammar.classes()[class];
    if !here.parts_of_speech.is_empty() && !text.is_empty() && here.takes(text) {
        let chain = rules.iter().rev().copied().collect();
        found.push(Source { word: text.to_owned(), class, rules: chain });
    }
    if rules.len() == CHAIN_RULES_MAX {
        return;
    }
    for (number, rule) in (0_u16..).zip(grammar.rules()) {
        if rule.result != class {
            continue;
        }
        if let Some(stem) = text.strip_suffix(rule.to) {
            rules.push(number);
            let before = [stem, grammar.classes()[rule.class].ending].concat();
            rewrite(grammar, &before, rule.class, rules, found);
            rules.pop();
        }
    }
}

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("it is below a usize")
    }
}

/// Forms of a word, made by rules chosen at random one after another, so that they are of all lengths: the conjugation in its own order is
/// too long to be walked through.
fn some_forms(
    grammar: &Grammar,
    word: &str,
    class: usize,
    numbers: &mut Numbers,
    count: usize,
) -> BTreeSet<(String, Source)> {
    let mut forms = BTreeSet::new();
    for _ in 0..count * 20 {
        let (mut text, mut at, mut rules) = (word.to_owned(), class, Vec::new());
        while rules.len() < RULES_MAX && !grammar.rules_of(at).is_empty() && forms.len() < count {
            let number = grammar.rules_of(at)[numbers.below(grammar.rules_of(at).len())];
            let rule = &grammar.rules()[usize::from(number)];
            let Some(next) = grammar.step(rule, &text) else { break };
            (text, at) = (next, rule.result);
            rules.push(number);
            if grammar.classes()[at].stands {
                forms.insert((text.clone(), Source { word: word.to_owned(), class, rules: rules.clone() }));
            }
        }
    }
    forms
}

#[test]
fn every_class_of_a_dictionary_has_a_word_here() {
    let grammar = grammar();
    for class in grammar.classes().iter().filter(|class| !class.parts_of_speech.is_empty()) {
        assert!(WORDS.iter().any(|&(name, word)| name == class.name && class.takes(word)), "{}", class.name);
    }
}

/// The forms of all words, a spread of those that the rules make.
fn ten_thousand(grammar: &Grammar) -> Vec<(String, Source)> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut forms = BTreeSet::new();
    let mut share = FORMS / WORDS.len();
    while forms.len() < FORMS {
        for &(name, word) in WORDS {
            let class = grammar.class_named(name).expect("the table has the class");
            forms.extend(some_forms(grammar, word, class, &mut numbers, share));
        }
        share = share * 3 / 2;
    }
    let step = forms.len() as f64 / FORMS as f64;
    let all: Vec<_> = forms.into_iter().collect();
    (0..FORMS).map(|place| all[(place as f64 * step) as usize].clone()).collect()
}

#[test]
fn ten_thousand_forms_are_found_again() {
    let grammar = grammar();
    let forms = ten_thousand(grammar);
    let (mut missed, mut chains, mut false_words) = (Vec::new(), 0, 0);
    let mut false_words_most = (0, String::new());
    let mut false_by_class: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lengths = BTreeMap::new();
    for (text, source) in &forms {
        let reasons = source.rules.iter().filter(|&&rule| grammar.rules()[usize::from(rule)].reason.is_some()).count();
        *lengths.entry(reasons).or_insert(0) += 1;
        if source.rules.len() <= 3 {
            let mut forms = grammar.conjugate(&source.word, source.class, source.rules.len());
            assert!(forms.any(|form| form.text == *text && form.rules == source.rules), "{text} ← {}", source.word);
        }
        let found = deinflect_naive(grammar, text);
        chains += found.len();
        if !found.contains(source) {
            missed.push((text, source));
        }
        // A false base is another word, or the same word as one of another part of speech. The text itself, uninflected, is none: any
        // text could be a noun.
        let others: BTreeSet<(&str, usize)> = found
            .iter()
            .filter(|other| !other.rules.is_empty())
            .filter(|other| (other.word.as_str(), other.class) != (source.word.as_str(), source.class))
            .map(|other| (other.word.as_str(), other.class))
            .collect();
        for &(_, class) in &others {
            *false_by_class.entry(grammar.classes()[class].name).or_default() += 1;
        }
        false_words += others.len();
        false_words_most = false_words_most.max((others.len(), text.clone()));
    }
    println!(
        "{} forms, {} found again with their chain; reasons in a chain: {lengths:?}",
        forms.len(),
        forms.len() - missed.len()
    );
    println!(
        "{chains} chains, {false_words} false bases without a dictionary, most {false_words_most:?}: {false_by_class:?}"
    );
    for (text, source) in forms.iter().step_by(499) {
        println!("{text} ← {}", source.word);
    }
    assert_eq!(forms.len(), FORMS);
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(false_words <= FORMS * FALSE_BASES_MAX, "{false_words} false bases");
}

#[test]
fn the_conjugation_is_lazy_and_bounded() {
    let grammar = grammar();
    let v1 = grammar.class_named("v1").expect("the table has the class");
    let v5k = grammar.class_named("v5k").expect("the table has the class");
    assert_eq!(grammar.conjugate("食べる", v5k, 5).next(), None, "食べる does not end in く");
    assert_eq!(grammar.conjugate("食べる", grammar.classes().len(), 5).next(), None, "there is no such class");
    assert_eq!(grammar.conjugate("食べる", v1, 0).next(), None, "no rule, no form");
    assert_eq!(grammar.conjugate("食べる", v1, usize::MAX).take(FORMS).count(), FORMS);
    let forms: Vec<_> = grammar.conjugate("食べる", v1, 5).collect();
    assert!(forms.iter().all(|form| form.rules.len() <= 5 && grammar.classes()[form.class].stands));
    for text in ["食べない", "食べた", "食べて", "食べよう", "食べれば", "食べたら", "食べさせる", "食べられる"]
    {
        assert!(forms.iter().any(|form| form.text == text), "{text}");
    }
    println!("食べる: {} forms within 5 rules", forms.len());
}

/// A dictionary of words of these classes, each numbered by its place from 1 on.
fn dictionary_of<'w>(words: impl IntoIterator<Item = (&'w Class, &'w str)>) -> Dictionary {
    let mut builder = Builder::new();
    for (number, (class, word)) in (1..).zip(words) {
        let is_kana = word.chars().all(|c| matches!(c, 'ぁ'..='ゖ'));
        let reading = if is_kana { word } else { "よみ" };
        let headwords = [word].into_iter().filter(|_| !is_kana);
        let sense = Sense {
            parts_of_speech: class.parts_of_speech.first().map(|part| (*part).to_owned()).into_iter().collect(),
            glosses: vec![word.to_owned()],
            ..Sense::default()
        };
        let entry = Entry {
            number,
            headwords: headwords.map(|text| Headword { text: text.to_owned(), ..Headword::default() }).collect(),
            readings: vec![Reading { text: reading.to_owned(), ..Reading::default() }],
            senses: vec![sense],
            ..Entry::default()
        };
        builder.add(&entry).expect("it is small");
    }
    Dictionary::from_bytes(builder.finish().expect("it is small")).expect("it is whole")
}

/// The words that a whole text may be a form of: their numbers, and how they are written first.
fn words_of_whole<'t>(reader: &'t mut Reader, dictionary: &'t Dictionary, text: &'t str) -> Vec<(u32, String)> {
    let gloss = reader.read(dictionary, text, &Options { names: false, ..Options::default() });
    let whole = gloss.spans().filter(|span| span.text() == text && span.number().is_none());
    whole.flat_map(|span| span.words()).map(|word| (word.number(), word.first_headword().to_owned())).collect()
}

#[test]
fn the_reader_finds_ten_thousand_forms() {
    let grammar = grammar();
    let class = |name| &grammar.classes()[grammar.class_named(name).expect("the table has the class")];
    let dictionary = dictionary_of(WORDS.iter().map(|(name, word)| (class(name), *word)));
    let (small, mut reader) = (small().expect("it is whole"), Reader::new());
    let forms = ten_thousand(grammar);
    let (mut missed, mut false_bases, mut most) = (Vec::new(), 0, (0, String::new()));
    for (text, source) in &forms {
        let found = words_of_whole(&mut reader, &dictionary, text);
        // a word that is of several classes here, as 良い is, is one word to a reader
        if !found.iter().any(|(number, _)| WORDS[*number as usize - 1].1 == source.word) {
            missed.push((text, source));
        }
        let others = words_of_whole(&mut reader, &small, text);
        let others = others.iter().filter(|(_, headword)| *headword != source.word).count();
        false_bases += others;
        most = most.max((others, text.clone()));
    }
    let found = forms.len() - missed.len();
    println!("{} forms, {found} found; {false_bases} other words of the small dictionary, most {most:?}", forms.len());
    assert!(missed.is_empty(), "{} missed: {:#?}", missed.len(), &missed[..missed.len().min(20)]);
}

#[test]
fn the_reader_finds_the_example_of_each_rule() {
    let grammar = grammar();
    let (mut reader, mut stems, mut found, mut missed) = (Reader::new(), 0, 0, Vec::new());
    for rule in grammar.rules() {
        let (form, word) = rule.example;
        // what ends on a stem is no word yet
        if !grammar.classes()[rule.result].stands {
            stems += 1;
            continue;
        }
        let classes = grammar.classes().iter().filter(|class| !class.parts_of_speech.is_empty() && class.takes(word));
        let dictionary = dictionary_of(classes.map(|class| (class, word)));
        if words_of_whole(&mut reader, &dictionary, form).is_empty() {
            missed.push((form, word));
        } else {
            found += 1;
        }
    }
    println!("{found} examples found, {stems} end on a stem");
    assert!(missed.is_empty(), "{missed:#?}");
}
