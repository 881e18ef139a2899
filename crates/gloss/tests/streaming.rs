//! A text that comes a piece at a time: what is found does not depend on the pieces.

use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::{self, Read};
use thalweg_gloss::{Gloss, Html, Meaning, Options, Progress, Reader, small, write_columns, write_json};

/// Hands out a text in pieces of these lengths, over and over.
struct Pieces<'t> {
    rest: &'t [u8],
    lengths: VecDeque<usize>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.lengths.front().copied().unwrap_or(1);
        self.lengths.rotate_left(1);
        let count = length.min(buffer.len()).min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}

/// Each meaning of each span, in order.
fn told(gloss: Gloss<'_, '_>, out: &mut Vec<String>) {
    for span in gloss.spans() {
        let place = format!("{}-{} {:?} {}", span.start(), span.end(), span.number(), span.text());
        for meaning in span.meanings() {
            out.push(match meaning {
                Meaning::Word(word) => format!("{place} {} {:?}", word.key(), word.reasons().collect::<Vec<_>>()),
                Meaning::Name(name) => format!("{place} {} ~ {}", name.headword(), name.reading()),
            });
        }
    }
}

/// Texts longer than what is read at once, of what depends on what is around it: numbers, marks that repeat, long endings, names.
fn text() -> impl Strategy<Value = String> {
    let pieces = "私は 毎日 日本語を 勉強しています。 食べさせられていた 飲みすぎちゃった 三 十 五 千 万 1 , 2 . 人 々 人 時々 ー ゝ ﾊﾟ ｶ ﾞ \
        す ご い しまわなければならなかった 田中 利根川 山田太郎 北海道 東京都 お 母 さ ん 会う た め び いっ ろっ さん ぽん ぴき ぼん カレー は 言ふ つた x 𠮟 \u{3099} 。 話し合 える";
    let pieces: Vec<&str> = pieces.split_whitespace().collect();
    prop::collection::vec(prop::sample::select(pieces), 0..6000).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pieces_are_read_as_the_whole(text in text(), lengths in prop::collection::vec(1_usize..20_000, 1..8), small_pieces in any::<bool>()) {
        let (dictionary, mut reader, options) = (small().unwrap(), Reader::new(), Options::default());
        let lengths = lengths.iter().map(|length| if small_pieces { length % 7 + 1 } else { *length }).collect();
        let (mut whole, mut pieces, mut copied) = (Vec::new(), Vec::new(), String::new());
        told(reader.read(&dictionary, &text, &options), &mut whole);
        let input = Pieces { rest: text.as_bytes(), lengths };
        reader.read_all(&dictionary, input, &options, &mut |gloss| {
            told(gloss, &mut pieces);
            copied.push_str(&gloss.text()[gloss.part()]);
            Ok(())
        }).unwrap();
        prop_assert!(copied == text, "the pieces are the text");
        if let Some(at) = (0..whole.len().max(pieces.len())).find(|at| whole.get(*at) != pieces.get(*at)) {
            prop_assert!(false, "at {}: {:?} is {:?}", at, whole.get(at), pieces.get(at));
        }
    }

    /// What nobody writes, in runs that are longer than any word: marks before anything, halves of kana, kanji beyond the Basic Multilingual Plane.
    #[test]
    fn any_text_is_told_in_any_pieces(
        runs in prop::collection::vec((prop_oneof![any::<char>(), prop::sample::select(ODD.to_vec())], 1_usize..90), 0..60),
    ) {
        let text: String = runs.iter().flat_map(|(c, times)| std::iter::repeat_n(*c, *times)).collect();
        let (dictionary, mut reader, options) = (small().unwrap(), Reader::new(), Options::default());
        let (mut whole, mut pieces, mut out) = (Vec::new(), Vec::new(), Vec::new());
        let gloss = reader.read(&dictionary, &text, &options);
        told(gloss, &mut whole);
        for span in gloss.spans() {
            let chars = text.chars().skip(span.start() as usize).take((span.end() - span.start()) as usize);
            prop_assert!(chars.eq(span.text().chars()));
            write_json(&mut out, span);
            write_columns(&mut out, span);
        }
        Html::new().write(&mut out, gloss);
        prop_assert!(std::str::from_utf8(&out).is_ok());
        let mut progress = Progress::default();
        while let Some(gloss) = reader.read_next(&dictionary, &text, &mut progress, &options) {
            told(gloss, &mut pieces);
        }
        prop_assert_eq!(whole, pieces);
    }
}

const ODD: [char; 24] = [
    'ー', '々', 'ゝ', 'ゞ', '\u{3099}', '\u{309a}', 'ﾞ', 'ﾟ', 'ﾊ', 'ｶ', 'う', 'お', 'が', 'っ', 'さ', 'ん', '人', '十',
    '1', ',', '～', '𠮟', '\0', '\u{fe00}',
];
