//! The head of a page: the data it reads, in TOML between two lines of `+++`.

use crate::error::{Error, ErrorKind, Place};
use crate::form::{FORMS_MAX, Form, Location};
use crate::messages;
use crate::query::{Query, Shows, is_name};
use std::collections::BTreeMap;
use thalweg_request::Count;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How many queries a page may have.
pub const QUERIES_MAX: usize = 64;
/// How many rows one page of a list may have.
pub const PER_PAGE_MAX: u64 = 10_000;

const FENCE: &str = "+++";
const FORMS: &str = "a form is a table: [form], or [forms.delete] of one with a name";
const REQUEST: &str = "a request is needed: \"/flights?order=id\"";
const TABLE: &str = "a table has a request: { one = \"…\" } for a single row, { rows = \"…\", per_page = 20, count = \"exact\" } for many";
/// The keys of a head that are no queries.
const KEYS: [&str; 3] = ["form", "forms", "sign_in"];
/// Names that mean something in templates already, or to their filters.
const RESERVED: [&str; 25] = [
    messages::FUNCTION,
    "static",
    "range",
    "dict",
    "namespace",
    "debug",
    "locale",
    "zone",
    "loop",
    "self",
    "super",
    "caller",
    "form",
    "forms",
    "request",
    "error",
    "origin",
    "sign_in",
    "claims",
    "role",
    "is_signed_in",
    "true",
    "false",
    "none",
    "not",
];

/// Those of them that a path may say.
const OF_PATHS: [&str; 2] = ["locale", "zone"];

/// Whether a path can bind this name: templates take it for nothing else.
pub(crate) fn can_be_bound(name: &str) -> bool {
    is_free(name) || OF_PATHS.contains(&name)
}

/// Whether a query can have this name.
fn is_free(name: &str) -> bool {
    is_name(name) && !RESERVED.contains(&name)
}

/// A message about the query of a head, which may be another key of the head that is misspelled.
pub fn of_query(name: &str, message: &str) -> String {
    format!("{name}: {message}{}", nearest_key(name))
}

/// The key of a head that a name may be a misspelling of, as the end of a message.
fn nearest_key(name: &str) -> String {
    let is_near = |key: &&str| {
        let edits = strsim::osa_distance(key, name);
        edits == 1 || edits == 2 && key.len() > 5
    };
    match KEYS.iter().find(|key| is_near(key)) {
        Some(key) => format!("; {name} is read as the name of a query, perhaps {key} is meant"),
        None => String::new(),
    }
}

/// What a page says before its template begins.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// The queries as they are written, with the names under which the template finds their rows.
    pub queries: Vec<(String, Query)>,
    /// The forms: `[form]` without a name, and `[forms.name]`.
    pub forms: BTreeMap<String, Form>,
    /// Where who has not signed in is sent, if the page is for others only.
    pub sign_in: Option<Location>,
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
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            match name {
                "form" => {
                    front.forms.insert(String::new(), self.form(value, at)?);
                    continue;
                }
                "forms" => {
                    self.forms(&mut front.forms, value, at)?;
                    continue;
                }
                "sign_in" => {
                    front.sign_in = Some(self.sign_in(value)?);
                    continue;
                }
                _ => {}
            }
            if !is_free(name) {
                let hint = nearest_key(name);
                return Err(self.error(at, format!("{name} cannot be the name of a query: letters, digits and _ can, but for words of the templates{hint}")));
            }
            if front.queries.len() == QUERIES_MAX {
                return Err(self.error(at, format!("a page has at most {QUERIES_MAX} queries")));
            }
            let query = self.query(name, value.get_ref(), value.span().start)?;
            if let Some(parameter) = query.page_by()
                && let Some((other, _)) = front.queries.iter().find(|(_, other)| other.page_by() == Some(parameter))
            {
                let message =
                    format!("{other} and {name} would turn their pages together: give one a page_by of its own");
                return Err(self.error(value.span().start, message));
            }
            front.queries.push((name.to_owned(), query));
        }
        Ok(front)
    }

    fn forms(&self, forms: &mut BTreeMap<String, Form>, value: &Spanned<DeValue<'_>>, at: usize) -> Result<(), Error> {
        let DeValue::Table(table) = value.get_ref() else { return Err(self.error(at, FORMS)) };
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            if !is_name(name) {
                return Err(self.error(at, FORMS));
            }
            if forms.len() >= FORMS_MAX {
                return Err(self.error(at, format!("a page has at most {FORMS_MAX} forms")));
            }
            forms.insert(name.to_owned(), self.form(value, at)?);
        }
        Ok(())
    }

    fn form(&self, value: &Spanned<DeValue<'_>>, at: usize) -> Result<Form, Error> {
        let DeValue::Table(table) = value.get_ref() else { return Err(self.error(at, FORMS)) };
        Form::read(table, at, self.place(at)).map_err(|(at, message)| self.error(at, message))
    }

    fn sign_in(&self, value: &Spanned<DeValue<'_>>) -> Result<Location, Error> {
        let text = if let DeValue::String(text) = value.get_ref() { text } else { "" };
        Location::of_sign_in(text).map_err(|message| self.error(value.span().start, message))
    }

    fn query(&self, name: &str, value: &DeValue<'_>, at: usize) -> Result<Query, Error> {
        let wrong = |at, message: &str| self.error(at, of_query(name, message));
        let (text, at, shows, count) = match value {
            DeValue::String(text) => (text, at, Shows::All, None),
            DeValue::Table(table) => {
                let (request, is_one) = match (table.get("one"), table.get("rows")) {
                    (Some(request), None) => (request, true),
                    (None, Some(request)) => (request, false),
                    _ => return Err(wrong(at, TABLE)),
                };
                let DeValue::String(text) = request.get_ref() else { return Err(wrong(request.span().start, REQUEST)) };
                (text, request.span().start, self.shows(name, table, is_one)?, self.count(name, table)?)
            }
            _ => return Err(wrong(at, REQUEST)),
        };
        Query::parse(text, shows, count).map_err(|(_, message)| wrong(at, &message))
    }

    fn shows(&self, name: &str, table: &DeTable<'_>, is_one: bool) -> Result<Shows, Error> {
        let wrong =
            |value: &Spanned<DeValue<'_>>, message: &str| self.error(value.span().start, of_query(name, message));
        const KNOWN: [&str; 5] = ["one", "rows", "per_page", "page_by", "count"];
        if let Some((key, value)) = table.iter().find(|(key, _)| !KNOWN.contains(&key.get_ref().as_ref())) {
            return Err(wrong(value, &format!("{} is none of {}", key.get_ref(), KNOWN.join(", "))));
        }
        let parameter = match table.get("page_by").map(|value| (value, value.get_ref())) {
            None => "page".to_owned(),
            Some((_, DeValue::String(name))) if is_name(name) => name.to_string(),
            Some((value, _)) => return Err(wrong(value, "page_by is the name of a parameter")),
        };
        let Some(value) = table.get("per_page") else { return Ok(if is_one { Shows::One } else { Shows::All }) };
        let per_page = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match per_page.filter(|rows| !is_one && (1..=PER_PAGE_MAX).contains(rows)) {
            Some(per_page) => Ok(Shows::Some { per_page, parameter }),
            None => Err(wrong(value, &format!("per_page is a number of rows, from 1 to {PER_PAGE_MAX}"))),
        }
    }

    fn count(&self, name: &str, table: &DeTable<'_>) -> Result<Option<Count>, Error> {
        let Some(value) = table.get("count") else { return Ok(None) };
        let count = match value.get_ref() {
            DeValue::String(text) => match &**text {
                "exact" => Some(Count::Exact),
                "planned" => Some(Count::Planned),
                "estimated" => Some(Count::Estimated),
                _ => None,
            },
            _ => None,
        };
        let message =
            || self.error(value.span().start, format!("{name}: count is \"exact\", \"planned\" or \"estimated\""));
        count.map(Some).ok_or_else(message)
    }

    fn not_toml(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().map_or(0, |span| span.start), error.message().to_owned())
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Front, self.place(at), message)
    }

    fn place(&self, at: usize) -> Place {
        let before = &self.text[..self.begin + at.min(self.toml.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { file: self.file.to_owned(), line, column }
    }
}
