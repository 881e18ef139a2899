//! Which page answers a path.

use std::collections::BTreeMap;

/// How long a path may be.
pub const PATH_BYTES_MAX: usize = 4 * 1024;
/// How many parts it may have.
pub const PATH_PARTS_MAX: usize = 32;

/// A part of a page's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Literal(String),
    /// `[name]` with what follows it, such as `.csv`.
    Bound {
        name: String,
        suffix: String,
    },
}

/// Why a path can be no page's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// It is longer than `PATH_BYTES_MAX`, or has more parts than `PATH_PARTS_MAX`.
    TooLong,
    /// It does not begin with `/`, has a part that is empty, `.` or `..`, or one that is no UTF-8 or holds control characters once decoded.
    Malformed,
}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PathError::TooLong => "the path is too long",
            PathError::Malformed => "the path is malformed",
        })
    }
}

impl std::error::Error for PathError {}

/// Pages by their paths.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    page: Option<usize>,
    literal: BTreeMap<String, Routes>,
    /// By what follows the value, the longest first.
    bound: Vec<(String, Routes)>,
}

impl Routes {
    /// Adds a page, or says which has this path already.
    pub(crate) fn add(&mut self, parts: &[Part], page: usize) -> Result<(), usize> {
        let Some((first, rest)) = parts.split_first() else {
            return match self.page {
                Some(other) => Err(other),
                None => {
                    self.page = Some(page);
                    Ok(())
                }
            };
        };
        match first {
            Part::Literal(text) => self.literal.entry(text.clone()).or_default().add(rest, page),
            Part::Bound { suffix, .. } => self.bound(suffix).add(rest, page),
        }
    }

    fn bound(&mut self, suffix: &str) -> &mut Routes {
        let at = match self.bound.iter().position(|(known, _)| known == suffix) {
            Some(at) => at,
            None => {
                let at = self.bound.partition_point(|(known, _)| known.len() > suffix.len());
                self.bound.insert(at, (suffix.to_owned(), Routes::default()));
                at
            }
        };
        &mut self.bound[at].1
    }

    /// The page of a path, with what it binds in order. What is written in a path comes before what is bound, from the left.
    pub(crate) fn find(&self, parts: &[String], bound: &mut Vec<String>) -> Option<usize> {
        let Some((first, rest)) = parts.split_first() else { return self.page };
        if let Some(page) = self.literal.get(first).and_then(|routes| routes.find(rest, bound)) {
            return Some(page);
        }
        for (suffix, routes) in &self.bound {
            let Some(value) = first.strip_suffix(suffix.as_str()).filter(|value| !value.is_empty()) else { continue };
            bound.push(value.to_owned());
            if let Some(page) = routes.find(rest, bound) {
                return Some(page);
            }
            bound.pop();
        }
        None
    }
}

/// The parts of a path as a client sends it, decoded.
pub(crate) fn parts(path: &str) -> Result<Vec<String>, PathError> {
    if path.len() > PATH_BYTES_MAX {
        return Err(PathError::TooLong);
    }
    let path = path.strip_prefix('/').ok_or(PathError::Malformed)?;
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = path.split('/').take(PATH_PARTS_MAX + 1).collect();
    if parts.len() > PATH_PARTS_MAX {
        return Err(PathError::TooLong);
    }
    parts.into_iter().map(part).collect()
}

fn part(text: &str) -> Result<String, PathError> {
    let decoded = decode(text).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(PathError::Malformed)?;
    if decoded.is_empty() || decoded == "." || decoded == ".." || decoded.chars().any(char::is_control) {
        return Err(PathError::Malformed);
    }
    Ok(decoded)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        });
    }
    Some(decoded)
}
