//! How frequent words are, from a list with a word and its count a line, with a tab between them.

use super::recognise::plain_text;
use super::{Error, ErrorKind};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Read;

/// The words of a list.
const WORDS_MAX: usize = 2_000_000;

/// How frequent a word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frequency {
    /// As it is written.
    pub word: String,
    /// How often it was counted.
    pub count: u64,
    /// Its place in the list, 1 the most frequent.
    pub rank: u32,
}

/// Reads a list of `word<TAB>count` or `count<TAB>word` lines; columns after these two are not looked at, and lines that begin with `#` are
/// remarks. A rank is the place in the list, which is put into the order of its counts if it is not in it. A word counted twice, as
/// two parts of speech, has its higher place.
///
/// # Errors
///
/// If the input fails, or if a line has no word and count.
pub fn read_frequencies(input: impl Read) -> Result<Vec<Frequency>, Error> {
    let mut list: Vec<Frequency> = Vec::new();
    let mut order: Option<Order> = None;
    plain_text(input)?.each_line(&mut |line| {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut columns = line.split('\t').map(str::trim);
        let (Some(first), Some(second)) = (columns.next(), columns.next()) else {
            return Err(Error::malformed("a line is `word<TAB>count` or `count<TAB>word`"));
        };
        // Words that are numbers are found in either column: the first line that leaves no doubt decides, and until then a count is first.
        let order = match (first.parse::<u64>(), second.parse::<u64>()) {
            (Ok(_), Err(_)) => *order.get_or_insert(Order::CountFirst),
            (Err(_), Ok(_)) => *order.get_or_insert(Order::WordFirst),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => order.unwrap_or(Order::CountFirst),
        };
        let (word, count) = match order {
            Order::WordFirst => (first, second),
            Order::CountFirst => (second, first),
        };
        let count = count.parse().map_err(|_| Error::malformed(format!("{} is no count", Error::quoted(count, 20))))?;
        // Lists that a segmenter counted have spaces among their words.
        if word.is_empty() {
            return Ok(());
        }
        if list.len() == WORDS_MAX {
            return Err(Error::new(ErrorKind::TooLarge, format!("there are more than {WORDS_MAX} words")));
        }
        list.push(Frequency { word: word.to_owned(), count, rank: 0 });
        Ok(())
    })?;
    Ok(ranked(list))
}

/// Which column holds what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    WordFirst,
    CountFirst,
}

fn ranked(mut list: Vec<Frequency>) -> Vec<Frequency> {
    list.sort_by_key(|frequency| Reverse(frequency.count));
    let mut seen = HashSet::with_capacity(list.len());
    let is_first: Vec<bool> = list.iter().map(|frequency| seen.insert(frequency.word.as_str())).collect();
    let mut is_first = is_first.into_iter();
    list.retain(|_| is_first.next().unwrap_or_default());
    for (frequency, rank) in list.iter_mut().zip(1..) {
        frequency.rank = rank;
    }
    list
}
