//! Where the statements of a file are (PostgreSQL's manual, section 4.1; `BEGIN ATOMIC` as psql tells it).
//!
//! Each is run by itself, so that an error without a position is told with its statement's line, and so that what a file may not
//! hold is found before any of it has run.

use std::ops::Range;

/// A file may not hold this, which stands at this byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

const META_COMMAND: &str = "commands of psql's, which begin with a backslash, cannot be used in a migration";
const NUL: &str = "a character with the code 0 cannot stand in SQL";
const TRANSACTION: &str =
    "a migration cannot begin or end a transaction: it runs in one of its own, together with its record";

/// How many words at its beginning tell what a statement is.
const WORDS: usize = 4;

/// The statements of a text, without the blanks and comments between them and the semicolons at their ends.
pub(crate) fn statements(text: &str) -> Result<Vec<Range<usize>>, Fault> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    let mut found = Vec::new();
    while let Some(statement) = reader.statement()? {
        found.push(statement);
    }
    Ok(found)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// What is known of a statement that is being read.
#[derive(Default)]
struct Statement<'a> {
    /// Where it begins and ends so far.
    range: Option<Range<usize>>,
    /// Its first words, and how many there are in all.
    words: [&'a str; WORDS],
    count: usize,
    parentheses: usize,
    /// How deep it is in a body that `BEGIN ATOMIC` begins.
    bodies: usize,
    goes_back_to_savepoint: bool,
}

impl<'a> Statement<'a> {
    fn word(&mut self, word: &'a str) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
        }
        self.count += 1;
        self.goes_back_to_savepoint |= word.eq_ignore_ascii_case("to");
        if !self.makes_routine() || self.parentheses > 0 {
            return;
        }
        if word.eq_ignore_ascii_case("begin") || self.bodies > 0 && word.eq_ignore_ascii_case("case") {
            self.bodies += 1;
        } else if word.eq_ignore_ascii_case("end") {
            self.bodies = self.bodies.saturating_sub(1);
        }
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        words.iter().zip(self.words).all(|(expected, word)| word.eq_ignore_ascii_case(expected))
    }

    fn makes_routine(&self) -> bool {
        [
            ["create", "function"].as_slice(),
            &["create", "procedure"],
            &["create", "or", "replace", "function"],
            &["create", "or", "replace", "procedure"],
        ]
        .iter()
        .any(|words| self.begins_with(words))
    }

    fn is_of_transaction(&self) -> bool {
        let ends = ["begin", "start", "commit", "end", "abort"].iter().any(|word| self.begins_with(&[word]));
        ends || self.begins_with(&["prepare", "transaction"])
            || self.begins_with(&["rollback"]) && !self.goes_back_to_savepoint
    }
}

impl<'a> Reader<'a> {
    /// The next statement, if there is another.
    fn statement(&mut self) -> Result<Option<Range<usize>>, Fault> {
        let mut statement = Statement::default();
        while let Some(&byte) = self.bytes.get(self.at) {
            let start = self.at;
            match byte {
                b';' if statement.parentheses == 0 && statement.bodies == 0 => {
                    self.at += 1;
                    match statement.range {
                        Some(_) => break,
                        None => continue,
                    }
                }
                _ if self.skip_blank() => continue,
                b'\\' => return Err(Fault { at: start, what: META_COMMAND }),
                0 => return Err(Fault { at: start, what: NUL }),
                b'(' => {
                    statement.parentheses += 1;
                    self.at += 1;
                }
                b')' => {
                    statement.parentheses = statement.parentheses.saturating_sub(1);
                    self.at += 1;
                }
                b'\'' | b'"' => self.quoted(byte, false),
                b'e' | b'E' if self.bytes.get(self.at + 1) == Some(&b'\'') => {
                    self.at += 1;
                    self.quoted(b'\'', true);
                }
                b'$' => self.dollar_quoted(),
                b'0'..=b'9' => self.at = self.end_of(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                _ if is_of_name(byte) => {
                    self.at = self.end_of(|byte| is_of_name(byte) || byte == b'$');
                    statement.word(&self.text[start..self.at]);
                }
                _ => self.at += 1,
            }
            let first = statement.range.map_or(start, |range| range.start);
            statement.range = Some(first..self.at);
        }
        match statement.range {
            Some(ref range) if statement.is_of_transaction() => Err(Fault { at: range.start, what: TRANSACTION }),
            range => Ok(range),
        }
    }

    /// Skips a blank or a comment, if one is next.
    fn skip_blank(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        if rest[0].is_ascii_whitespace() || rest[0] == 0x0b {
            self.at += 1;
        } else if rest.starts_with(b"--") {
            self.at = self.end_of(|byte| byte != b'\n' && byte != b'\r');
        } else if rest.starts_with(b"/*") {
            self.comment();
        } else {
            return false;
        }
        true
    }

    /// Comments nest.
    fn comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"/*") {
                (depth, self.at) = (depth + 1, self.at + 2);
            } else if rest.starts_with(b"*/") {
                (depth, self.at) = (depth - 1, self.at + 2);
                if depth == 0 {
                    return;
                }
            } else {
                self.at += 1;
            }
        }
    }

    /// A quote that is written twice ends one text and begins the next, which comes to the same.
    fn quoted(&mut self, quote: u8, escapes: bool) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += if escapes && byte == b'\\' { 2 } else { 1 };
            if byte != quote {
                continue;
            }
            // a text goes on in the same way behind the end of a line, or where its quote is written twice
            let next = self.end_of(|byte| byte.is_ascii_whitespace());
            let goes_on = next == self.at || self.bytes[self.at..next].contains(&b'\n');
            if !(escapes && goes_on && self.bytes.get(next) == Some(&quote)) {
                break;
            }
            self.at = next + 1;
        }
        self.at = self.at.min(self.bytes.len());
    }

    /// `$tag$ … $tag$`, or a dollar alone.
    fn dollar_quoted(&mut self) {
        let start = self.at;
        self.at += 1;
        let is_tag = self.bytes.get(self.at).is_some_and(|byte| is_of_name(*byte) && !byte.is_ascii_digit());
        let end = if is_tag { self.end_of(is_of_name) } else { self.at };
        if self.bytes.get(end) != Some(&b'$') {
            return;
        }
        let tag = &self.text[start..=end];
        self.at = self.text[end + 1..].find(tag).map_or(self.bytes.len(), |at| end + 1 + at + tag.len());
    }

    /// Where the bytes end that are like this.
    fn end_of(&self, is: impl Fn(u8) -> bool) -> usize {
        self.bytes[self.at..].iter().position(|byte| !is(*byte)).map_or(self.bytes.len(), |length| self.at + length)
    }
}

/// Whether a name may hold it; all beyond ASCII are letters to PostgreSQL.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        statements(text).unwrap().into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn semicolons_part_statements_but_where_they_are_within_something() {
        for (text, expected) in [
            ("", &[][..]),
            (" ;; -- nothing;\n /* ; /* ; */ ; */ ;", &[]),
            ("a; b", &["a", "b"]),
            ("-- first\na -- not; here\n b; /* c; */ d", &["a -- not; here\n b", "d"]),
            ("'a;''b;'; \"c;\"\"d\"; e", &["'a;''b;'", "\"c;\"\"d\"", "e"]),
            (r"'a\'; b", &[r"'a\'", "b"]),
            (r"e'a\';'; E'b\\'; c", &[r"e'a\';'", r"E'b\\'", "c"]),
            (r"e'a''\';'; b", &[r"e'a''\';'", "b"]),
            ("e'a'\n  '\\';'; b", &["e'a'\n  '\\';'", "b"]),
            (r"name'a\'; b", &[r"name'a\'", "b"]),
            ("$$a;$$; $t$ $$;$u$; $t$; a$b$c; $1; $ü$;$ü$", &["$$a;$$", "$t$ $$;$u$; $t$", "a$b$c", "$1", "$ü$;$ü$"]),
            ("create rule r as on insert to t do (a; b); c", &["create rule r as on insert to t do (a; b)", "c"]),
            (
                "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end; b",
                &[
                    "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end",
                    "b",
                ],
            ),
            ("create procedure p() BEGIN ATOMIC a; END; b", &["create procedure p() BEGIN ATOMIC a; END", "b"]),
            ("rollback to s; savepoint s; release s", &["rollback to s", "savepoint s", "release s"]),
            ("'never ends; a", &["'never ends; a"]),
            ("$$ never ends; a", &["$$ never ends; a"]),
            ("e'\\", &["e'\\"]),
            ("/* never ends; a", &[]),
        ] {
            assert_eq!(texts(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_migration_may_not_hold_is_found() {
        for (text, at, what) in [
            ("a;\n\\copy t from 'f'", 3, META_COMMAND),
            ("select 1 \\gset", 9, META_COMMAND),
            ("a\0", 1, NUL),
            ("a; begin; b", 3, TRANSACTION),
            (" Start transaction", 1, TRANSACTION),
            ("a; COMMIT", 3, TRANSACTION),
            ("end", 0, TRANSACTION),
            ("abort", 0, TRANSACTION),
            ("rollback /* to */ work", 0, TRANSACTION),
            ("prepare transaction 'x'", 0, TRANSACTION),
        ] {
            assert_eq!(statements(text), Err(Fault { at, what }), "{text}");
        }
        assert!(statements("prepare p as select 1; do $$ begin commit; end $$; select e'\\n'").is_ok());
    }
}
