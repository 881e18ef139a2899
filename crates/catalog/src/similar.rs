//! The name most like another, as the protocol's hints measure it (errors §3.3).

use std::collections::HashSet;

/// How many candidates are looked at for a hint: those whose lengths are next to the name's.
const CANDIDATES_MAX: usize = 500;
/// How many pairs of characters are compared for a hint. What clients ask for may be as long as a request's head, and
/// there may be thousands of names that it is compared with.
const COMPARED_PAIRS_MAX: usize = 500_000;

/// The candidate most like `name`, if its likeness (1 is equal) reaches `least`; of equals, the first by name.
///
/// Only names that share pieces of three characters, or else of two, are compared at all; then the edit distance
/// counts, relative to the longer name. Where there are too many to compare, those of other lengths than the name's are
/// left out.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    // two names are as many edits apart as one is longer, at least
    let may_be = |length_of: usize| length.min(length_of) as f64 >= least * length.max(length_of) as f64;
    let mut candidates: Vec<(usize, &str, String)> = candidates
        .map(|candidate| (candidate, candidate.to_lowercase()))
        .map(|(candidate, lower)| (lower.chars().count(), candidate, lower))
        .filter(|(length_of, ..)| may_be(*length_of))
        .map(|(length_of, candidate, lower)| (length.abs_diff(length_of), candidate, lower))
        .collect();
    if candidates.len() > CANDIDATES_MAX {
        candidates.select_nth_unstable(CANDIDATES_MAX);
        candidates.truncate(CANDIDATES_MAX);
    }
    candidates.sort_unstable();
    let marked_name = if candidates.is_empty() { Vec::new() } else { marked(&wanted) };
    let mut pairs_left = COMPARED_PAIRS_MAX;
    [3, 2].into_iter().find_map(|size| {
        let pieces: HashSet<&[char]> = marked_name.windows(size).collect();
        let mut best: Option<(f64, &str)> = None;
        for (_, candidate, lower) in &candidates {
            let of_candidate = marked(lower);
            let pairs = of_candidate.len() * length;
            if pairs > pairs_left || !of_candidate.windows(size).any(|piece| pieces.contains(piece)) {
                continue;
            }
            pairs_left -= pairs;
            let score = strsim::normalized_damerau_levenshtein(&wanted, lower);
            let is_better = |(known, first): (f64, &str)| score > known || (score == known && **candidate < *first);
            if score >= least && best.is_none_or(is_better) {
                best = Some((score, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    })
}

/// The characters of a name that are compared in pieces, its ends marked.
fn marked(name: &str) -> Vec<char> {
    let kept = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | ','));
    ['-'].into_iter().chain(kept).chain(['-']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_of_pieces_then_of_edits() {
        let names = ["flights", "pilots", "sites"];
        let near = |name: &str, least: f64| nearest(name, names.into_iter(), least);
        assert_eq!(near("flihgts", 0.75), Some("flights"));
        assert_eq!(near("FLIGHTS", 0.75), Some("flights"));
        assert_eq!(near("pilot", 0.75), Some("pilots"));
        assert_eq!(near("xyzzy", 0.0), None);
        assert_eq!(near("flits", 0.75), None);
        assert_eq!(near("", 0.33), None);
    }

    #[test]
    fn of_many_names_those_of_other_lengths_are_not_compared() {
        let long: Vec<String> = (0..2 * CANDIDATES_MAX).map(|at| format!("some_long_name_{at:06}")).collect();
        let names = || long.iter().map(String::as_str).chain(["some_name"]);
        assert_eq!(nearest("some_nmae", names(), 0.75), Some("some_name"));
        assert_eq!(nearest("some_long_name_x00001", names(), 0.75), Some("some_long_name_000001"));
        // each is as long as a head can be: to compare one takes as many steps as a thousand usual hints
        let large = ["ab".repeat(30_000), "ba".repeat(30_000)];
        assert_eq!(nearest(&"ab".repeat(29_999), large.iter().map(String::as_str), 0.33), None);
    }
}
