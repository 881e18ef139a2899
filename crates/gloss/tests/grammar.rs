//! The table of inflection: what it says of each rule holds, and a reader's forms are explained as a teacher would.

use std::collections::BTreeSet;

use thalweg_gloss::grammar::{CHAIN_RULES_MAX, Grammar, grammar};

/// The chains that make a form of a word of a class.
fn chains(grammar: &Grammar, word: &str, class: usize, form: &str) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    go_on(grammar, (word, class), form, &mut Vec::new(), &mut found);
    found
}

/// What is before the ending only grows, so that a chain is given up as soon as that is no beginning of the form.
fn go_on(
    grammar: &Grammar,
    (word, class): (&str, usize),
    form: &str,
    rules: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) {
    for number in grammar.rules_of(class).iter().map(|&number| usize::from(number)) {
        let rule = &grammar.rules()[number];
        let Some(next) = grammar.step(rule, word) else { continue };
        rules.push(number);
        if next == form {
            found.push(rules.clone());
        }
        let begins =
            next.strip_suffix(grammar.classes()[rule.result].ending).is_some_and(|begin| form.starts_with(begin));
        if begins && rules.len() < CHAIN_RULES_MAX {
            go_on(grammar, (&next, rule.result), form, rules, found);
        }
        rules.pop();
    }
}

/// The ways to explain a form as one of a word of a class, each as the reasons that a reader is shown.
fn explanations(class: &str, word: &str, form: &str) -> BTreeSet<String> {
    let grammar = grammar();
    let class = grammar.class_named(class).unwrap_or_else(|| panic!("no class is named {class}"));
    assert!(grammar.classes()[class].takes(word), "{word} is of another class");
    let stands =
        |chain: &&Vec<usize>| chain.last().is_some_and(|&last| grammar.classes()[grammar.rules()[last].result].stands);
    let reasons = |chain: &Vec<usize>| {
        chain.iter().filter_map(|&number| grammar.rules()[number].reason).collect::<Vec<_>>().join(", ")
    };
    chains(grammar, word, class, form).iter().filter(stands).map(reasons).collect()
}

#[test]
fn every_example_is_made_by_its_rule() {
    let grammar = grammar();
    let mut failures = Vec::new();
    for (number, rule) in grammar.rules().iter().enumerate() {
        let (form, word) = rule.example;
        let found = grammar.classes().iter().enumerate().any(|(place, class)| {
            !class.parts_of_speech.is_empty()
                && class.takes(word)
                && chains(grammar, word, place, form).iter().any(|chain| chain.last() == Some(&number))
        });
        if !found {
            failures.push(format!("{} → {}: {form} ← {word}", grammar.classes()[rule.class].name, rule.to));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn there_are_a_hundred_reasons() {
    let grammar = grammar();
    let reasons: BTreeSet<&str> = grammar.rules().iter().filter_map(|rule| rule.reason).collect();
    let of_entries = grammar.classes().iter().filter(|class| !class.parts_of_speech.is_empty()).count();
    println!(
        "{} classes, {of_entries} of entries, {} rules, {} reasons",
        grammar.classes().len(),
        grammar.rules().len(),
        reasons.len()
    );
    assert!(reasons.len() >= 100, "{}", reasons.len());
}

/// A form, the word and its class, and all the ways to explain it, with ` / ` between them.
const EXPLAINED: &[(&str, &str, &str, &str)] = &[
    ("食べさせられていた", "食べる", "v1", "causative, passive, progressive, past"),
    ("食べました", "食べる", "v1", "polite, past"),
    ("食べませんでした", "食べる", "v1", "polite, negative, past"),
    ("食べましょう", "食べる", "v1", "polite, volitional"),
    ("食べなかった", "食べる", "v1", "negative, past"),
    ("食べなくて", "食べる", "v1", "negative, -te"),
    ("食べないで", "食べる", "v1", "negative, -naide"),
    ("食べないでください", "食べる", "v1", "negative, -naide, -te kudasai"),
    ("食べなければ", "食べる", "v1", "negative, -ba"),
    ("食べなきゃ", "食べる", "v1", "negative, -ba (contracted)"),
    ("食べなくちゃ", "食べる", "v1", "negative, -cha"),
    ("食べなくても", "食べる", "v1", "negative, -te mo"),
    ("食べられなかった", "食べる", "v1", "passive or potential, negative, past"),
    ("食べれない", "食べる", "v1", "potential (short), negative"),
    ("食べさせてください", "食べる", "v1", "causative, -te kudasai"),
    ("食べさせていただきます", "食べる", "v1", "causative, -te itadaku, polite"),
    ("食べたかった", "食べる", "v1", "-tai, past"),
    ("食べたくない", "食べる", "v1", "-tai, negative"),
    ("食べたくなかったら", "食べる", "v1", "-tai, negative, -tara"),
    ("食べたがっている", "食べる", "v1", "-tai, -garu, progressive"),
    ("食べすぎてしまった", "食べる", "v1", "-sugiru, -te shimau, past"),
    ("食べ過ぎちゃった", "食べる", "v1", "-sugiru, -chau, past"),
    ("食べてる", "食べる", "v1", "progressive (contracted)"),
    ("食べてた", "食べる", "v1", "progressive (contracted), past"),
    ("食べてない", "食べる", "v1", "progressive (contracted), negative"),
    ("食べてみたい", "食べる", "v1", "-te miru, -tai"),
    ("食べてん", "食べる", "v1", "progressive (contracted), る as ん"),
    ("食べとらん", "食べる", "v1", "progressive (western), -n"),
    ("食べてくんない", "食べる", "v1", "-te kureru, negative (contracted)"),
    ("食べたろ", "食べる", "v1", "-tarou (short)"),
    ("食べてごらんなさい", "食べる", "v1", "-te goran"),
    ("食べてございます", "食べる", "v1", "-te gozaru, polite"),
    ("話さへんかった", "話す", "v5s", "negative (Kansai), past"),
    ("おいしゅうございました", "おいしい", "adj-shii", "-u gozaru, polite, past"),
    ("ございませんでした", "ございます", "gozaimasu", "negative, past"),
    ("いらした", "いらっしゃる", "irassharu", "past"),
    ("なすった", "なさる", "nasaru", "past"),
    ("食べてしまいそうだった", "食べる", "v1", "-te shimau, -sou, past"),
    ("食べよう", "食べる", "v1", "volitional"),
    ("食べろ", "食べる", "v1", "imperative"),
    ("食べるな", "食べる", "v1", "prohibitive"),
    ("食べるべき", "食べる", "v1", "-beki"),
    ("食べ", "食べる", "v1", "stem"),
    ("食べて", "食べる", "v1", "-te"),
    ("食べたら", "食べる", "v1", "-tara"),
    ("食べたり", "食べる", "v1", "-tari"),
    ("食べず", "食べる", "v1", "-zu"),
    ("食べずに", "食べる", "v1", "-zu ni"),
    ("食べながら", "食べる", "v1", "-nagara"),
    ("食べやすくて", "食べる", "v1", "-yasui, -te"),
    ("食べ始めた", "食べる", "v1", "-hajimeru, past"),
    ("食べそうな", "食べる", "v1", "-sou, attributive"),
    ("食べていられない", "食べる", "v1", "progressive, potential, negative"),
    ("食べといた", "食べる", "v1", "-te oku (contracted), past"),
    ("食べときます", "食べる", "v1", "-te oku (contracted), polite"),
    ("食べたげる", "食べる", "v1", "-te ageru (contracted)"),
    ("見られる", "見る", "v1", "passive or potential"),
    ("見てられない", "見る", "v1", "progressive (contracted), potential, negative"),
    ("待ってなさい", "待つ", "v5t", "progressive (contracted), -nasai"),
    ("していたい", "する", "vs-i", "progressive, -tai"),
    ("何もしてやがらない", "何もする", "vs-i", "progressive (contracted), -yagaru, negative"),
    ("あり得ます", "ある", "v5r-i", "-uru, polite"),
    ("いた", "いる", "v1", "past"),
    ("いらっしゃいました", "いらっしゃる", "v5aru", "polite, past"),
    ("ください", "くださる", "v5aru", "imperative"),
    ("ございます", "ござる", "v5aru", "polite"),
    ("くれ", "くれる", "v1-s", "imperative"),
    ("くれない", "くれる", "v1-s", "negative"),
    ("書いた", "書く", "v5k", "past"),
    ("書かない", "書く", "v5k", "negative"),
    ("書ける", "書く", "v5k", "potential"),
    ("書けない", "書く", "v5k", "potential, negative"),
    ("書け", "書く", "v5k", "imperative / potential, stem"),
    ("書けば", "書く", "v5k", "-ba"),
    ("書こう", "書く", "v5k", "volitional"),
    ("書かれた", "書く", "v5k", "passive, past"),
    ("書かせる", "書く", "v5k", "causative"),
    ("書かせた", "書く", "v5k", "causative, past"),
    ("書かせられた", "書く", "v5k", "causative, passive, past"),
    ("書かされた", "書く", "v5k", "causative (short), passive, past"),
    ("書かして", "書く", "v5k", "causative (short), -te"),
    ("書いてある", "書く", "v5k", "resultative"),
    ("書いてあった", "書く", "v5k", "resultative, past"),
    ("書いておいてください", "書く", "v5k", "-te oku, -te kudasai"),
    ("書かなければ", "書く", "v5k", "negative, -ba"),
    ("書かざる", "書く", "v5k", "-zaru"),
    ("書きなさい", "書く", "v5k", "-nasai"),
    ("書いていました", "書く", "v5k", "progressive, polite, past"),
    ("行って", "行く", "v5k-s", "-te"),
    ("行かなきゃ", "行く", "v5k-s", "negative, -ba (contracted)"),
    ("行きたい", "行く", "v5k-s", "-tai"),
    ("行きてえ", "行く", "v5k-s", "-tai, contraction to -ee"),
    ("行けます", "行く", "v5k-s", "potential, polite"),
    ("行ってきます", "行く", "v5k-s", "-te kuru, polite"),
    ("持ってった", "持つ", "v5t", "-te iku (contracted), past"),
    ("持ってきました", "持つ", "v5t", "-te kuru, polite, past"),
    ("持って来た", "持つ", "v5t", "-te kuru, past"),
    ("持ってこない", "持つ", "v5t", "-te kuru, negative"),
    ("泳いだ", "泳ぐ", "v5g", "past"),
    ("泳げない", "泳ぐ", "v5g", "potential, negative"),
    ("読んでいる", "読む", "v5m", "progressive"),
    ("読んでる", "読む", "v5m", "progressive (contracted)"),
    ("読んじゃった", "読む", "v5m", "-chau, past"),
    ("読まれています", "読む", "v5m", "passive, progressive, polite"),
    ("読んだら", "読む", "v5m", "-tara"),
    ("死んだ", "死ぬ", "v5n", "past"),
    ("遊んでばかり", "遊ぶ", "v5b", ""),
    ("遊びに", "遊ぶ", "v5b", ""),
    ("話した", "話す", "v5s", "past"),
    ("話せば", "話す", "v5s", "-ba"),
    ("話させる", "話す", "v5s", "causative"),
    ("話される", "話す", "v5s", "passive"),
    ("話し合った", "話す", "v5s", "-au, past"),
    ("待ってください", "待つ", "v5t", "-te kudasai"),
    ("待たせてしまい", "待つ", "v5t", "causative, -te shimau, stem"),
    ("待ちましょう", "待つ", "v5t", "polite, volitional"),
    ("買わない", "買う", "v5u", "negative"),
    ("買おう", "買う", "v5u", "volitional"),
    ("買ってもらった", "買う", "v5u", "-te morau, past"),
    ("買ってくれた", "買う", "v5u", "-te kureru, past"),
    ("買ってあげたい", "買う", "v5u", "-te ageru, -tai"),
    ("言われました", "言う", "v5u", "passive, polite, past"),
    ("問うた", "問う", "v5u-s", "past"),
    ("言うた", "言う", "v5u", "te-form with う (western), past"),
    ("帰ろっ", "帰る", "v5r", "volitional (short)"),
    ("心配しなさんな", "心配", "vs", "suru, -nasaru, prohibitive (contracted)"),
    ("行きましょ", "行く", "v5k-s", "polite, volitional (short)"),
    ("でしょ", "だ", "cop", "polite, presumptive (short)"),
    ("すんな", "する", "vs-i", "prohibitive (contracted)"),
    ("愛さない", "愛す", "vs-c", "negative"),
    ("取りゃ", "取る", "v5r", "-ba (contracted)"),
    ("分かりました", "分かる", "v5r", "polite, past"),
    ("分かんない", "分かる", "v5r", "negative (contracted)"),
    ("分からねえ", "分かる", "v5r", "negative, contraction to -ee"),
    ("なっていた", "なる", "v5r", "progressive, past"),
    ("なりそうです", "なる", "v5r", "-sou, polite"),
    ("あった", "ある", "v5r-i", "past"),
    ("ありません", "ある", "v5r-i", "polite, negative"),
    ("あろう", "ある", "v5r-i", "volitional"),
    ("ありえない", "ある", "v5r-i", "-uru, negative"),
    ("した", "する", "vs-i", "past"),
    ("しない", "する", "vs-i", "negative"),
    ("される", "する", "vs-i", "passive"),
    ("させられた", "する", "vs-i", "causative, passive, past"),
    ("せず", "する", "vs-i", "-zu"),
    ("せざる", "する", "vs-i", "-zaru"),
    ("すれば", "する", "vs-i", "-ba"),
    ("しよう", "する", "vs-i", "volitional"),
    ("しろ", "する", "vs-i", "imperative"),
    ("せよ", "する", "vs-i", "imperative (written)"),
    ("すべき", "する", "vs-i", "-beki"),
    ("するべき", "する", "vs-i", "-beki"),
    ("しています", "する", "vs-i", "progressive, polite"),
    ("勉強しています", "勉強", "vs", "suru, progressive, polite"),
    ("勉強できなかった", "勉強", "vs", "suru: potential, negative, past"),
    ("勉強させられる", "勉強", "vs", "suru, causative, passive"),
    ("愛される", "愛する", "vs-s", "passive"),
    ("愛さない", "愛する", "vs-s", "negative"),
    ("愛している", "愛する", "vs-s", "progressive"),
    ("信じられない", "信ずる", "vz", "modern -jiru, passive or potential, negative"),
    ("こない", "くる", "vk", "negative"),
    ("きた", "くる", "vk", "past"),
    ("きます", "くる", "vk", "polite"),
    ("これば", "くる", "vk", ""),
    ("くれば", "くる", "vk", "-ba"),
    ("こい", "くる", "vk", "imperative"),
    ("こよう", "くる", "vk", "volitional"),
    ("来ない", "来る", "vk-kanji", "negative"),
    ("来た", "来る", "vk-kanji", "past"),
    ("来い", "来る", "vk-kanji", "imperative"),
    ("来られません", "来る", "vk-kanji", "passive or potential, polite, negative"),
    ("高くない", "高い", "adj-i", "negative"),
    ("高くなかった", "高い", "adj-i", "negative, past"),
    ("高かった", "高い", "adj-i", "past"),
    ("高ければ", "高い", "adj-i", "-ba"),
    ("高く", "高い", "adj-i", "adverbial"),
    ("高くて", "高い", "adj-i", "-te"),
    ("高すぎる", "高い", "adj-i", "-sugiru"),
    ("高そうに", "高い", "adj-i", "-sou, adverbial"),
    ("高さ", "高い", "adj-i", "-sa"),
    ("高くありませんでした", "高い", "adj-i", "polite negative, past"),
    ("寒がって", "寒い", "adj-i", "-garu, -te"),
    ("美しき", "美しい", "adj-i", "classical attributive"),
    ("高ぇ", "高い", "adj-kanji", "contraction to -ee"),
    ("すげえ", "すごい", "adj-goi", "contraction to -ee"),
    ("やべー", "やばい", "adj-bai", "contraction to -ee"),
    ("よかった", "いい", "adj-ii", "past"),
    ("よくない", "いい", "adj-ii", "negative"),
    ("よさそう", "いい", "adj-ii", "-sou"),
    ("良さそうな", "良い", "adj-yoi-i", "-sou, attributive"),
    ("よければ", "よい", "adj-yoi", "-ba"),
    ("良くなかった", "良い", "adj-yoi-kanji", "negative, past"),
    ("なさそう", "ない", "adj-nai", "-sou"),
    ("なかった", "ない", "adj-i", "past"),
    ("静かさ", "静か", "adj-na", "-sa"),
    ("静かすぎて", "静か", "adj-na", "-sugiru, -te"),
    ("子供っぽく", "子供", "noun", "-ppoi, adverbial"),
    ("堂々たる", "堂々", "adj-t", "-taru"),
    ("だった", "だ", "cop", "past"),
    ("ではありませんでした", "だ", "cop", "polite negative, past"),
    ("じゃなかった", "だ", "cop", "negative, past"),
    ("でしょう", "だ", "cop", "polite, presumptive"),
    ("であった", "だ", "cop", "de aru, past"),
    ("でございます", "だ", "cop", "de gozaru, polite"),
    ("でした", "です", "desu", "past"),
];

#[test]
fn forms_are_explained_as_a_teacher_would() {
    let mut failures = Vec::new();
    for &(form, word, class, expected) in EXPLAINED {
        let expected: BTreeSet<String> =
            expected.split(" / ").filter(|way| !way.is_empty()).map(str::to_owned).collect();
        let found = explanations(class, word, form);
        if found != expected {
            failures.push(format!("{form} ← {word} ({class}): {found:?}, not {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// What no Japanese says: a form, the word and its class.
const WRONG: &[(&str, &str, &str)] = &[
    ("食べられられる", "食べる", "v1"),
    ("食べさせさせる", "食べる", "v1"),
    ("書かられる", "書く", "v5k"),
    ("書かさせる", "書く", "v5k"),
    ("書かさす", "書く", "v5k"),
    ("書けられる", "書く", "v5k"),
    ("書きない", "書く", "v5k"),
    ("書くた", "書く", "v5k"),
    ("書くて", "書く", "v5k"),
    ("書きて", "書く", "v5k"),
    ("書って", "書く", "v5k"),
    ("行いて", "行く", "v5k-s"),
    ("読みた", "読む", "v5m"),
    ("読んた", "読む", "v5m"),
    ("読んちゃう", "読む", "v5m"),
    ("書いじゃう", "書く", "v5k"),
    ("書いで", "書く", "v5k"),
    ("買あない", "買う", "v5u"),
    ("買いゃ", "買う", "v5u"),
    ("話ささせる", "話す", "v5s"),
    ("話さす", "話す", "v5s"),
    ("あらない", "ある", "v5r-i"),
    ("あれる", "ある", "v5r-i"),
    ("くださります", "いらっしゃる", "v5aru"),
    ("いらっしゃれ", "いらっしゃる", "v5aru"),
    ("さない", "する", "vs-i"),
    ("しず", "する", "vs-i"),
    ("せない", "する", "vs-i"),
    ("しれば", "する", "vs-i"),
    ("きない", "くる", "vk"),
    ("くない", "くる", "vk"),
    ("きよう", "くる", "vk"),
    ("来ろ", "来る", "vk-kanji"),
    ("食べよない", "食べる", "v1"),
    ("食べゃ", "食べる", "v1"),
    ("高いだった", "高い", "adj-i"),
    ("高いくない", "高い", "adj-i"),
    ("高なさそう", "高い", "adj-i"),
    ("高くないで", "高い", "adj-i"),
    ("美しし", "美しい", "adj-i"),
    ("いかった", "いい", "adj-ii"),
    ("いくない", "いい", "adj-ii"),
    ("よそう", "いい", "adj-ii"),
    ("静かかった", "静か", "adj-na"),
    ("だない", "だ", "cop"),
];

#[test]
fn what_no_japanese_says_is_not_made() {
    for &(form, word, class) in WRONG {
        assert_eq!(explanations(class, word, form), BTreeSet::new(), "{form} ← {word}");
    }
}

#[test]
fn what_must_follow_a_kanji_follows_one() {
    let grammar = grammar();
    let yoi = &grammar.classes()[grammar.class_named("adj-yoi-kanji").expect("the table has the class")];
    assert!(yoi.takes("良い") && yoi.takes("心地良い"));
    assert!(!yoi.takes("よい") && !yoi.takes("い"));
    assert!(explanations("vk-kanji", "来る", "来ない").contains("negative"));
    assert!(explanations("vk", "くる", "くない").is_empty());
}
