//! The name most like another, as the protocol's hints measure it (errors §3.3).

use std::collections::HashMap;

/// The candidate most like `name`, if its likeness (1 is equal) reaches `least`; of equals, the first by name.
///
/// Only names that share pieces of three characters, or else of two, are compared at all; then the edit distance
/// counts, relative to the longer name.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let candidates: Vec<(&str, String)> = candidates.map(|candidate| (candidate, candidate.to_lowercase())).collect();
    [3, 2].into_iter().find_map(|length| {
        let of_wanted = pieces(&wanted, length);
        candidates
            .iter()
            .filter(|(_, lower)| cosine(&of_wanted, &pieces(lower, length)) > 0.0)
            .map(|(candidate, lower)| (strsim::normalized_damerau_levenshtein(&wanted, lower), *candidate))
            .filter(|(score, _)| *score >= least)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))
            .map(|(_, candidate)| candidate)
    })
}

/// How often each run of so many characters occurs in a name, its ends marked.
fn pieces(name: &str, length: usize) -> HashMap<Vec<char>, u32> {
    let kept = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | ','));
    let marked: Vec<char> = ['-'].into_iter().chain(kept).chain(['-']).collect();
    let mut found = HashMap::new();
    for piece in marked.windows(length) {
        *found.entry(piece.to_vec()).or_insert(0) += 1;
    }
    found
}

fn cosine(a: &HashMap<Vec<char>, u32>, b: &HashMap<Vec<char>, u32>) -> f64 {
    let dot: u32 = a.iter().filter_map(|(piece, count)| Some(count * b.get(piece)?)).sum();
    let norm = |of: &HashMap<Vec<char>, u32>| f64::from(of.values().map(|count| count * count).sum::<u32>()).sqrt();
    f64::from(dot) / (norm(a) * norm(b)).max(1.0)
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
}
