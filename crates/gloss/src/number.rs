//! Numbers in a text: 12, １２, 三十五, 3万5千.

use crate::fold::is_hiragana;

/// A number that begins at a place of a folded text: where it ends, and how much it is where that is a whole number of 64 bits.
pub(crate) fn number(text: &[char], from: usize) -> Option<(usize, Option<u64>)> {
    let len = text[from..].iter().take(NUMBER_CHARS_MAX).take_while(|c| is_part(**c)).count();
    let mut len = len;
    // a mark within a number is no end of one
    while len > 0 && is_mark(text[from + len - 1]) {
        len -= 1;
    }
    let these = &text[from..from + len];
    let begins = these.first().is_some_and(|c| !is_mark(*c));
    begins.then(|| (from + len, value(these)))
}

/// A number in kana before what changes its sound behind it: いっ of いっぽん, さん of さんびき. Where it ends, and how much it is. What sounds as
/// it does alone, as に of にほん, may be anything.
#[inline]
pub(crate) fn in_kana(text: &[char], from: usize) -> Option<(usize, u64)> {
    let may_be = matches!(text.get(from + 1), Some('っ' | 'ん' | 'ゅ' | 'ゃ'));
    if may_be { begun_in_kana(text, from) } else { None }
}

fn begun_in_kana(text: &[char], from: usize) -> Option<(usize, u64)> {
    let (len, value) = match &text[from..] {
        ['い', 'っ', ..] => (2, 1),
        ['さ', 'ん', ..] => (2, 3),
        ['ろ', 'っ', ..] => (2, 6),
        ['は', 'っ', ..] => (2, 8),
        ['じ', 'っ', ..] => (2, 10),
        ['じ', 'ゅ', 'っ', ..] => (3, 10),
        ['ひ', 'ゃ', 'っ', ..] => (3, 100),
        ['せ', 'ん', ..] => (2, 1000),
        _ => return None,
    };
    let (end, behind) = (from + len, *text.get(from + len)?);
    let changes = unchanged(behind).is_some() || (text[end - 1] == 'っ' && is_hard(behind));
    changes.then_some((end, value))
}

/// What a counter begins with where it is not behind a number that changes its sound: ほん of ぼん and ぽん.
pub(crate) fn unchanged(c: char) -> Option<char> {
    match c {
        'ば' | 'ぱ' => Some('は'),
        'び' | 'ぴ' => Some('ひ'),
        'ぶ' | 'ぷ' => Some('ふ'),
        'べ' | 'ぺ' => Some('へ'),
        'ぼ' | 'ぽ' => Some('ほ'),
        _ => None,
    }
}

/// Whether っ may stand before a kana that it does not change: か, さ and た, and what is in their rows.
fn is_hard(c: char) -> bool {
    matches!(c, 'か' | 'き' | 'く' | 'け' | 'こ' | 'さ' | 'し' | 'す' | 'せ' | 'そ' | 'た' | 'ち' | 'つ' | 'て' | 'と')
}

/// Whether a character may be within a number, though it is no numeral.
#[inline]
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c, ',' | '.')
}

fn is_part(c: char) -> bool {
    is_numeral(c) || is_mark(c)
}

/// Whether a word takes a number apart: 12 of 120 and, where it begins within one, behind its first character, 2月 of 12月 and 二月 of 十二月, but not 十二 of 二十二.
#[inline]
pub(crate) fn is_cut(text: &[char], is_within: bool, from: usize, end: usize) -> bool {
    let ends_within = || text[end - 1].is_ascii_digit() && text.get(end).is_some_and(char::is_ascii_digit);
    let goes_beyond = || text[from].is_ascii_digit() || !text[from..end].iter().all(|c| is_numeral(*c));
    ends_within() || (is_within && goes_beyond())
}

/// Whether a character is a digit or a unit.
#[inline]
pub(crate) fn is_numeral(c: char) -> bool {
    // half of a text is hiragana, of which none is
    !is_hiragana(c) && (c.is_ascii_digit() || is_numeral_in_kanji(c))
}

fn is_numeral_in_kanji(c: char) -> bool {
    matches!(c, '〇' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九') || is_unit(c)
}

fn is_unit(c: char) -> bool {
    small_unit(c).is_some() || large_unit(c).is_some()
}

const NUMBER_CHARS_MAX: usize = 32;

fn digit(c: char) -> Option<u64> {
    c.to_digit(10)
        .map(u64::from)
        .or_else(|| "〇一二三四五六七八九".chars().position(|digit| digit == c).map(|at| at as u64))
}

fn small_unit(c: char) -> Option<u64> {
    match c {
        '十' => Some(10),
        '百' => Some(100),
        '千' => Some(1000),
        _ => None,
    }
}

fn large_unit(c: char) -> Option<u64> {
    match c {
        '万' => Some(10_000),
        '億' => Some(100_000_000),
        '兆' => Some(1_000_000_000_000),
        _ => None,
    }
}

fn value(text: &[char]) -> Option<u64> {
    // all before a large unit, and what is to be added before a small one
    let (mut sum, mut group, mut digits, mut has_digits) = (0_u64, 0_u64, 0_u64, false);
    for c in text.iter().filter(|c| **c != ',') {
        if let Some(digit) = digit(*c) {
            digits = digits.checked_mul(10)?.checked_add(digit)?;
            has_digits = true;
        } else if let Some(unit) = small_unit(*c) {
            group = group.checked_add(unit.checked_mul(if has_digits { digits } else { 1 })?)?;
            (digits, has_digits) = (0, false);
        } else {
            let unit = large_unit(*c)?;
            let before = group.checked_add(digits)?;
            let before = if before == 0 && !has_digits { 1 } else { before };
            sum = sum.checked_add(before.checked_mul(unit)?)?;
            (group, digits, has_digits) = (0, 0, false);
        }
    }
    sum.checked_add(group)?.checked_add(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_kana_change_what_they_count() {
        for (text, found) in [
            ("いっぽん", Some((2, 1))),
            ("さんびき", Some((2, 3))),
            ("ろっぴき", Some((2, 6))),
            ("じゅっかい", Some((3, 10))),
            ("ひゃっぽん", Some((3, 100))),
            ("さんにん", None),
            ("さんがい", None),
            ("いっ", None),
            ("いっん", None),
            ("にほん", None),
            ("せ", None),
        ] {
            assert_eq!(in_kana(&text.chars().collect::<Vec<_>>(), 0), found, "{text}");
        }
        assert_eq!(unchanged('ぽ'), Some('ほ'));
        assert_eq!(unchanged('ば'), Some('は'));
        assert_eq!(unchanged('ほ'), None);
    }

    #[test]
    fn numbers_are_read() {
        for (text, len, worth) in [
            ("35人", 2, Some(35)),
            ("三十五人", 3, Some(35)),
            ("二〇二六年", 4, Some(2026)),
            ("3万5千円", 4, Some(35_000)),
            ("一億二千万人", 5, Some(120_000_000)),
            ("1,234.円", 5, Some(1234)),
            ("1.5倍", 3, None),
            ("千円", 1, Some(1000)),
            ("万一", 2, Some(10_001)),
            ("99999999999999999999兆", 21, None),
        ] {
            let text: Vec<char> = text.chars().collect();
            assert_eq!(number(&text, 0), Some((len, worth)), "{text:?}");
        }
        assert_eq!(number(&['人'], 0), None);
        for (text, from, end, is_taken_apart) in [
            ("120円", 0, 2, true),
            ("120円", 0, 3, false),
            ("12月", 1, 3, true),
            ("十二月", 1, 3, true),
            ("十二月", 0, 3, false),
            ("二十二", 1, 3, false),
            ("人一人", 1, 3, false),
        ] {
            let text: Vec<char> = text.chars().collect();
            let is_within = from > 0 && is_numeral(text[from]) && is_numeral(text[from - 1]);
            assert_eq!(is_cut(&text, is_within, from, end), is_taken_apart, "{text:?} {from}..{end}");
        }
        assert_eq!(number(&[',', '1'], 0), None);
    }
}
