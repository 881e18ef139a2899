//! A reader of one parameter's text that remembers where it is.

use crate::error::{ErrorKind, RequestError};
use crate::filter::{Field, JsonStep, Operand};
use std::borrow::Cow;

#[derive(Clone)]
pub(crate) struct Scanner<'a> {
    parameter: &'static str,
    text: &'a str,
    at: usize,
    /// Added to the reported column: characters that stand before `text` in what the protocol shows.
    offset: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(parameter: &'static str, text: &'a str) -> Self {
        Self { parameter, text, at: 0, offset: 0 }
    }

    pub(crate) fn shifted(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Whether the last character that was read is one of these.
    pub(crate) fn is_behind(&self, characters: &[char]) -> bool {
        self.text[..self.at].ends_with(characters)
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Eats `token` only where it is a whole word.
    pub(crate) fn eat_word(&mut self, token: &str) -> bool {
        let follows = self.rest().strip_prefix(token).map(|rest| rest.chars().next());
        match follows {
            Some(next) if !next.is_some_and(is_name_char) => self.eat(token),
            _ => false,
        }
    }

    pub(crate) fn expect(&mut self, token: &'static str) -> Result<(), RequestError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("\"{token}\""))) }
    }

    pub(crate) fn blanks(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    pub(crate) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn take_rest(&mut self) -> &'a str {
        let rest = self.rest();
        self.at = self.text.len();
        rest
    }

    pub(crate) fn expected(&self, what: &str) -> RequestError {
        let found = match self.peek() {
            // the quotes are those that clients of the protocol know
            Some(c) if what.contains("end of input") => format!("unexpected {c:?}"),
            Some(c) => format!("unexpected {:?}", c.to_string()),
            None => "unexpected end of input".to_owned(),
        };
        self.error(format!("{found} expecting {what}"))
    }

    pub(crate) fn error(&self, details: String) -> RequestError {
        ErrorKind::Syntax {
            parameter: self.parameter,
            text: self.text.to_owned(),
            column: self.offset + self.text[..self.at].chars().count() + 1,
            details,
        }
        .into()
    }

    /// A quoted or bare name (url-grammar §2.4).
    pub(crate) fn name(&mut self) -> Result<Cow<'a, str>, RequestError> {
        if self.peek() == Some('"') {
            return self.quoted();
        }
        let start = self.at;
        loop {
            if self.take_while(is_name_char).is_empty() {
                if start == self.at {
                    return Err(self.expected("field name (* or [a..z0..9_$])"));
                }
                break;
            }
            let mut after_dash = self.rest().chars();
            if after_dash.next() == Some('-') && after_dash.next().is_some_and(is_name_char) {
                self.at += 1;
            } else {
                break;
            }
        }
        let raw = &self.text[start..self.at];
        if raw.contains('-') && raw.split('-').any(|run| run.trim_matches(' ') != run) {
            let runs: Vec<&str> = raw.split('-').map(|run| run.trim_matches(' ')).collect();
            return Ok(Cow::Owned(runs.join("-")));
        }
        match raw.trim_matches(' ') {
            "" => Err(self.expected("field name (* or [a..z0..9_$])")),
            name => Ok(Cow::Borrowed(name)),
        }
    }

    /// Text between double quotes, where a backslash makes the next character literal.
    pub(crate) fn quoted(&mut self) -> Result<Cow<'a, str>, RequestError> {
        self.expect("\"")?;
        let plain = self.take_while(|c| c != '"' && c != '\\');
        if self.eat("\"") {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            if self.eat("\\") {
                let c = self.peek().ok_or_else(|| self.expected("any character"))?;
                self.at += c.len_utf8();
                text.push(c);
            } else if self.eat("\"") {
                return Ok(Cow::Owned(text));
            } else if self.at_end() {
                return Err(self.expected("\"\\\"\""));
            }
            text.push_str(self.take_while(|c| c != '"' && c != '\\'));
        }
    }

    /// A name and the JSON path behind it.
    pub(crate) fn field(&mut self) -> Result<Field<'a>, RequestError> {
        let name = self.name()?;
        let mut path = Vec::new();
        while self.eat("->") {
            let as_text = self.eat(">");
            path.push(JsonStep { as_text, operand: self.json_operand()? });
        }
        // neither a name nor a key ends with it: it begins an arrow that is none
        if self.eat("-") {
            return Err(self.expected("\">\""));
        }
        Ok(Field { name, path })
    }

    fn json_operand(&mut self) -> Result<Operand<'a>, RequestError> {
        let mut ahead = self.clone();
        let start = ahead.at;
        let is_negative = ahead.eat("-");
        let digits = ahead.take_while(|c| c.is_ascii_digit());
        let ends = ["->", "::", ".", ","].iter().any(|end| ahead.rest().starts_with(end)) || ahead.at_end();
        // a closing parenthesis ends it too: the path may stand inside an embed or a tree
        if !digits.is_empty()
            && (ends || ahead.peek() == Some(')'))
            && let Ok(index) = self.text[start..ahead.at].parse::<i32>()
        {
            self.at = ahead.at;
            return Ok(Operand::Index(index));
        }
        // no key begins with it
        if is_negative {
            let or_end =
                if digits.is_empty() { "digit" } else { "digit, \"->\", \"::\", \".\", \",\" or end of input" };
            return Err(ahead.expected(or_end));
        }
        if self.peek() == Some('"') {
            return self.quoted().map(Operand::Key);
        }
        let key = self.rest();
        let mut end = 0;
        for (at, c) in key.char_indices() {
            let follows = key[at + c.len_utf8()..].chars().next();
            let inside = match c {
                ':' | '.' | ',' | '>' | '(' | ')' => false,
                '-' => at > 0 && follows.is_some_and(|n| !matches!(n, '-' | ':' | '.' | ',' | '>' | '(' | ')')),
                _ => true,
            };
            if !inside {
                break;
            }
            end = at + c.len_utf8();
        }
        if end == 0 {
            return Err(self.expected("any non reserved character different from: .,>()"));
        }
        self.at += end;
        Ok(Operand::Key(Cow::Borrowed(&key[..end])))
    }
}

pub(crate) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ' ' | '$')
}
