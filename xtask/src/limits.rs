//! Holds `docs/limits.md` to the code: each figure in its tables is the constant, or the default of the key, that its row names.

use std::path::Path;

/// What a row names for a figure that is not ours.
const THEIRS: &str = "PostgreSQL's";
/// Where the keys stand with their defaults.
const KEYS: &str = "crates/server/src/config/keys.rs";

/// The code, by the names of its files.
pub(crate) struct Sources<'a>(pub(crate) &'a [(String, String)]);

/// What is wrong with the tables of a document.
pub(crate) fn faults(document: &str, sources: &Sources<'_>) -> Vec<String> {
    let (mut faults, mut rows) = (Vec::new(), 0);
    for line in document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what |")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, default, _key, _error, names] = cells[..] else {
            faults.push(format!("five cells are needed: {line}"));
            continue;
        };
        rows += 1;
        let figures: Vec<Figure> = figures(what).into_iter().chain(figures(default)).collect();
        let names: Vec<&str> = match names {
            "–" => Vec::new(),
            names => names.split(", ").map(|name| name.trim_matches('`')).collect(),
        };
        if figures.len() != names.len() {
            let written: Vec<&str> = figures.iter().map(|figure| &*figure.written).collect();
            faults.push(format!("{what}: the figures {written:?} need a name each, not {names:?}"));
            continue;
        }
        let wrong = figures.iter().zip(names).filter(|(_, name)| *name != THEIRS);
        faults
            .extend(wrong.filter_map(|(figure, name)| sources.fault(figure, name)).map(|why| format!("{what}: {why}")));
    }
    if rows == 0 {
        faults.push("there are no tables".to_owned());
    }
    faults
}

/// A figure as it is written, such as `64 KiB/s`, and what it comes to in bytes, seconds, or as it is.
#[derive(Debug, PartialEq, Eq)]
struct Figure {
    written: String,
    value: u64,
}

/// The figures of a text, but for those in code.
fn figures(text: &str) -> Vec<Figure> {
    let prose: String = text.split('`').step_by(2).collect();
    let words: Vec<&str> = prose.split_whitespace().map(|word| word.trim_matches([',', ';', '.', '(', ')'])).collect();
    let mut figures = Vec::new();
    for (at, word) in words.iter().enumerate() {
        // of a part, such as 1/4, what it is divided by
        let digits = word.strip_prefix("1/").unwrap_or(word).replace(',', "");
        let Ok(number) = digits.parse::<u64>() else { continue };
        let next = words.get(at + 1).copied().unwrap_or_default();
        let unit = match next.trim_end_matches("/s") {
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            "s" | "bytes" => Some(1),
            _ => None,
        };
        let written = unit.map_or_else(|| (*word).to_owned(), |_| format!("{word} {next}"));
        figures.push(Figure { written, value: number * unit.unwrap_or(1) });
    }
    figures
}

impl Sources<'_> {
    /// What is wrong with a figure that a name stands for.
    fn fault(&self, figure: &Figure, name: &str) -> Option<String> {
        let Figure { written, value } = figure;
        if name.contains('-') {
            let default = self.default(name);
            return (default != Some(*value)).then(|| format!("{written} is not the default of {name}, {default:?}"));
        }
        let expressions = self.constants(name);
        let [expression] = expressions[..] else {
            return Some(format!("{name} is the name of {} constants, not of one", expressions.len()));
        };
        // in SQL, as PostgreSQL writes it
        let is_said = expression.contains(&format!("'{}'", written.replace(' ', "")));
        (!is_said && self.value(expression) != Some(*value)).then(|| format!("{written} is not {name} = {expression}"))
    }

    /// The default of a key, if it is a number.
    fn default(&self, key: &str) -> Option<u64> {
        let (_, keys) = self.0.iter().find(|(file, _)| file == KEYS)?;
        let (_, default) = keys.split_once(&format!("\n    \"{key}\": \""))?;
        default.split('"').next()?.parse().ok()
    }

    /// What the constants of a name are, such as `NAME`, or `room::file::NAME` where there are others elsewhere.
    fn constants(&self, name: &str) -> Vec<&str> {
        let (rooms, name) = name.rsplit_once("::").unwrap_or(("", name));
        let is_there = |file: &str| {
            let stem = file.trim_end_matches(".rs");
            rooms.split("::").filter(|room| !room.is_empty()).all(|room| stem.split('/').any(|part| part == room))
        };
        let beginning = format!("const {name}: ");
        let code = self.0.iter().filter(|(file, _)| is_code(file) && is_there(file));
        code.flat_map(|(_, text)| text.split(&beginning).skip(1))
            .filter_map(|rest| rest.split_once(";\n")?.0.split_once('=').map(|(_, expression)| expression.trim()))
            .collect()
    }

    /// What a constant comes to, in bytes or seconds if it is of them.
    fn value(&self, expression: &str) -> Option<u64> {
        if let Some(seconds) = expression.strip_prefix("Duration::from_secs(") {
            return self.value(seconds.strip_suffix(')')?);
        }
        expression
            .split('*')
            .map(|factor| match factor.trim().replace('_', "").parse() {
                Ok(number) => Some(number),
                Err(_) => match self.constants(factor.trim().trim_start_matches("crate::"))[..] {
                    [other] => self.value(other),
                    _ => None,
                },
            })
            .try_fold(1, |product, factor| Some(product * factor?))
    }
}

/// Returns whether a document may name constants of a file: those of the code, and of the test that
/// measures memory per client.
fn is_code(file: &str) -> bool {
    if file == "tests/process/unread.rs" {
        return true;
    }
    let is_room = ["crates/", "apps/"].iter().any(|rooms| file.starts_with(rooms));
    is_room && Path::new(file).components().nth(2).is_some_and(|part| part.as_os_str() == "src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_what_it_is_named_after_or_a_fault() {
        let files = [
            (
                "crates/a/src/one.rs",
                "pub const ROOM_BYTES: usize = 4 * 1024;\nconst WAIT: Duration = Duration::from_secs(3);\n",
            ),
            (
                "crates/a/src/two.rs",
                "const WAIT: Duration = Duration::from_secs(5);\nconst SQL: &str =\n    \"set x '1s'\";\n",
            ),
            (KEYS, "config_of_keys! {\n    \"some-key\": \"1000\" => x;\n"),
        ];
        let files = files.map(|(file, text)| (file.to_owned(), text.to_owned()));
        let judged = |row: &str| faults(row, &Sources(&files));
        for good in [
            "| room of 4 KiB | 1,000, in 3 s | `x` | 1 | `ROOM_BYTES`, `some-key`, `one::WAIT` |",
            "| waiting, 1/4096 of it | 1 s | – | – | `ROOM_BYTES`, `SQL` |",
            "| columns of `1` | 1,664 | – | – | PostgreSQL's |",
            "| what it takes | what there is | – | 503 | – |",
        ] {
            assert_eq!(judged(good), [""; 0], "{good}");
        }
        for (wrong, why) in [
            ("| room | 5 KiB | – | – | `ROOM_BYTES` |", "room: 5 KiB is not ROOM_BYTES = 4 * 1024"),
            ("| wait | 3 s | – | – | `WAIT` |", "wait: WAIT is the name of 2 constants, not of one"),
            ("| keys | 10 | – | – | `some-key` |", "keys: 10 is not the default of some-key, Some(1000)"),
            ("| lock | 2 s | – | – | `SQL` |", "lock: 2 s is not SQL = \"set x '1s'\""),
            ("| more | 2 s | – | – | – |", "more: the figures [\"2 s\"] need a name each, not []"),
            ("| few | – | – |", "five cells are needed: | few | – | – |"),
            ("", "there are no tables"),
        ] {
            assert_eq!(judged(wrong).first().map(String::as_str), Some(why), "{wrong}");
        }
    }
}
