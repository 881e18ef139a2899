//! The head of a page: the data it reads, in TOML between two lines of `+++`.

use crate::error::{Error, ErrorKind, Place};
use crate::query::{Query, is_name};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// How many queries a page may have.
pub const QUERIES_MAX: usize = 64;

const FENCE: &str = "+++";
/// Names that mean something in templates already.
const RESERVED: [&str; 9] = ["loop", "self", "super", "caller", "form", "true", "false", "none", "not"];

/// What a page says before its template begins.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// The queries by the names under which the template finds their rows.
    pub queries: BTreeMap<String, Query>,
    /// `[form]`, as it is written.
    pub form: Option<toml::Table>,
}

/// A page's head read, and where its template begins: the byte, and the lines before it.
pub(crate) fn read(file: &str, text: &str) -> Result<(Front, (usize, usize)), Error> {
    let Some(begin) = line_end(text, 0).filter(|_| is_fence(text, 0)) else { return Ok((Front::default(), (0, 0))) };
    let mut end = begin;
    while !is_fence(text, end) {
        end = line_end(text, end).ok_or_else(|| {
            let place = Place { file: file.to_owned(), line: 1, column: 1 };
            Error::new(ErrorKind::Front, place, "a second line of +++ is missing, behind which the template begins")
        })?;
    }
    let body = line_end(text, end).unwrap_or(text.len());
    let head = Head { file, text, begin, toml: &text[begin..end] };
    Ok((head.read()?, (body, text[..body].matches('\n').count())))
}

fn is_fence(text: &str, from: usize) -> bool {
    let rest = &text[from..];
    rest.split('\n').next().is_some_and(|line| line.trim_end() == FENCE)
}

/// Behind the end of the line that begins here, if it has one.
fn line_end(text: &str, from: usize) -> Option<usize> {
    text[from..].find('\n').map(|end| from + end + 1)
}

struct Head<'a> {
    file: &'a str,
    text: &'a str,
    begin: usize,
    toml: &'a str,
}

impl Head<'_> {
    fn read(&self) -> Result<Front, Error> {
        let table = DeTable::parse(self.toml).map_err(|error| self.not_toml(&error))?;
        let mut front = Front::default();
        for (key, value) in table.get_ref() {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            if name == "form" {
                let whole = self.toml.parse::<toml::Table>().map_err(|error| self.not_toml(&error))?;
                front.form = whole.get("form").and_then(|form| form.as_table()).cloned();
                if front.form.is_none() {
                    return Err(self.error(at, "form is a table: [form]"));
                }
                continue;
            }
            if !is_name(name) || RESERVED.contains(&name) {
                return Err(self.error(at, format!("{name} cannot be the name of a query: letters, digits and _ can, but for words of the templates")));
            }
            if front.queries.len() == QUERIES_MAX {
                return Err(self.error(at, format!("a page has at most {QUERIES_MAX} queries")));
            }
            front.queries.insert(name.to_owned(), self.query(name, value.get_ref(), value.span().start)?);
        }
        Ok(front)
    }

    fn query(&self, name: &str, value: &DeValue<'_>, at: usize) -> Result<Query, Error> {
        let (text, at, one) = match value {
            DeValue::String(text) => (text, at, false),
            DeValue::Table(table) => match table.get("one") {
                Some(one) if table.len() == 1 => match one.get_ref() {
                    DeValue::String(text) => (text, one.span().start, true),
                    _ => return Err(self.error(one.span().start, "one is a text: { one = \"/flights?id=eq.{id}\" }")),
                },
                _ => return Err(self.error(at, format!("{name} is a request, or {{ one = \"…\" }} for a single row"))),
            },
            _ => return Err(self.error(at, format!("{name} is a request: {name} = \"/flights?order=id\""))),
        };
        Query::parse(text, one).map_err(|(_, message)| self.error(at, format!("{name}: {message}")))
    }

    fn not_toml(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().map_or(0, |span| span.start), error.message().to_owned())
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let before = &self.text[..self.begin + at.min(self.toml.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::new(ErrorKind::Front, Place { file: self.file.to_owned(), line, column }, message)
    }
}
