//! Comparison of `docs/errors.md` with the sources: each error code has a row, and the row lists
//! each status with which the code is used.

use std::collections::{BTreeMap, BTreeSet};

/// Folders whose error codes clients can receive.
const ROOTS: [&str; 3] = ["crates/", "apps/", "src/"];
/// Words with which the last cell of a row begins.
const ADVICE: [&str; 3] = ["repeat", "check first", "do not repeat"];
/// Functions that make an error with the status 503 from a code.
const UNAVAILABLE: [&str; 2] = ["unavailable(", "lost("];

/// Returns the faults in the tables of a document, each with its remedy.
pub(crate) fn faults(document: &str, sources: &[(String, String)]) -> Vec<String> {
    let (mut faults, mut rows) = (Vec::new(), BTreeMap::new());
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [code, statuses, _meaning, advice] = cells[..] else {
            faults.push(format!("four cells are needed (code, status, meaning, what a client may do): {line}"));
            continue;
        };
        let Some(code) = code.strip_prefix('`').and_then(|code| code.strip_suffix('`')).filter(|code| is_ours(code))
        else {
            continue;
        };
        if !ADVICE.iter().any(|word| advice.starts_with(word)) {
            faults.push(format!("{code}: the last cell begins with one of {ADVICE:?}, and not with {advice:?}"));
        }
        if rows.insert(code, statuses).is_some() {
            faults.push(format!("{code} has two rows: remove one"));
        }
    }
    let used = used(sources);
    for (code, uses) in &used {
        let Some(statuses) = rows.get(code.as_str()) else {
            let (file, _) = uses.first().expect("a code is used somewhere");
            faults.push(format!(
                "{file} uses {code}, which has no row: add `| `{code}` | status | meaning | do not repeat |`"
            ));
            continue;
        };
        for (file, status) in uses.iter().filter_map(|(file, status)| Some((file, status.as_deref()?))) {
            if !statuses.split(", ").any(|known| known == status) {
                faults.push(format!(
                    "{file} answers {code} with {status}, and its row has {statuses}: add {status} to the row"
                ));
            }
        }
    }
    let unused = rows.keys().filter(|code| !used.contains_key(**code));
    faults.extend(unused.map(|code| format!("{code} has a row, and nothing in the sources uses it: remove the row")));
    faults
}

/// Returns the codes in the sources, each with the files that use it and the statuses beside it.
fn used(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<(String, Option<String>)>> {
    let mut used: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let is_code = |name: &str| name.ends_with(".rs") && ROOTS.iter().any(|root| name.starts_with(root));
    let is_test = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    for (name, text) in sources.iter().filter(|(name, _)| is_code(name) && !is_test(name)) {
        let code_only = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut parts = code_only.split('"');
        let mut before = parts.next().unwrap_or_default();
        while let (Some(quoted), Some(after)) = (parts.next(), parts.next()) {
            if is_ours(quoted) {
                used.entry(quoted.to_owned()).or_default().insert((name.clone(), status(before)));
            }
            before = after;
        }
    }
    used
}

/// Returns the status that precedes a code, as in `new(400, "TWG01"`.
fn status(before: &str) -> Option<String> {
    let before = before.trim_end();
    if UNAVAILABLE.iter().any(|function| before.ends_with(function)) {
        return Some("503".to_owned());
    }
    let before = before.strip_suffix(',')?;
    let digits = before.len().checked_sub(3).and_then(|at| before.get(at..))?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = !before[..before.len() - 3].ends_with(|before: char| before.is_ascii_alphanumeric());
    (is_number && is_whole).then(|| digits.to_owned())
}

/// Returns whether a text is a code of PostgREST or of Thalweg.
fn is_ours(text: &str) -> bool {
    let rest = text
        .strip_prefix("PGRST")
        .filter(|rest| rest.len() == 3)
        .or_else(|| text.strip_prefix("TWG").filter(|rest| rest.len() == 2));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        Self::new(400, "TWG01", "m");
        Self::new(
            403,
            "TWG06",
        );
        Self::unavailable("PGRST003", "no room");
        Self::new(status, "TWG11", "m")
        #[cfg(test)]
        "TWG99"
    "#;

    fn of(rows: &str) -> Vec<String> {
        faults(rows, &[("crates/a/src/b.rs".to_owned(), SOURCE.to_owned())])
    }

    #[test]
    fn each_code_has_a_row_with_its_statuses() {
        let right = "| `TWG01` | 400 | m | do not repeat |\n| `TWG06` | 401, 403 | m | do not repeat |\n\
                     | `PGRST003` | 503 | m | repeat |\n| `TWG11` | 400 | m | check first |\n| `22P02` | 400 | m | do not repeat |";
        assert_eq!(of(right), [] as [&str; 0]);
        for (from, to, fault) in [
            ("| `TWG01` | 400 | m | do not repeat |\n", "", "crates/a/src/b.rs uses TWG01, which has no row"),
            ("`TWG06` | 401, 403", "`TWG06` | 401", "answers TWG06 with 403, and its row has 401"),
            ("503", "500", "answers PGRST003 with 503"),
            ("check first", "wait", "TWG11: the last cell"),
            ("`22P02`", "`TWG12`", "TWG12 has a row, and nothing in the sources uses it"),
            ("`22P02`", "`TWG01`", "TWG01 has two rows"),
            ("| 400 | m | check first", "| m | check first", "four cells are needed"),
        ] {
            let faults = of(&right.replacen(from, to, 1));
            assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}");
        }
    }
}
