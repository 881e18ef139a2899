//! `jwt-role-claim-key`: where in the claims the role stands.

mod evaluate;
mod older;
mod parse;
mod query;

use crate::claims::Claims;
use crate::refusal::{ClaimError, ClaimErrorKind};
use crate::tree::Value;
use query::Query;
use std::fmt;

/// How many bytes a path has at most.
pub const PATH_BYTES_MAX: usize = 4096;
pub use evaluate::STEPS_MAX;

/// Where in the claims the role stands: a JSONPath (RFC 9535), or the syntax before it.
#[derive(Debug, Clone)]
pub struct RolePath {
    text: String,
    query: Query,
    is_deprecated: bool,
}

impl RolePath {
    /// Reads a path. Of RFC 9535's functions there is only `search`, and its pattern is a literal: it is made once, and a
    /// pattern that cannot be read is an error here and not a filter that never holds.
    ///
    /// # Errors
    ///
    /// What is neither syntax, is longer than [`PATH_BYTES_MAX`], or nests filters and parentheses deeper than 8.
    pub fn parse(text: &str) -> Result<Self, RolePathError> {
        let read = if text.len() > PATH_BYTES_MAX {
            Err(Fault { at: PATH_BYTES_MAX, expected: "no more than 4096 bytes" })
        } else if text.starts_with('$') {
            parse::query(text).map(|query| (query, false))
        } else {
            older::query(text).map(|query| (query, true))
        };
        match read {
            Ok((query, is_deprecated)) => Ok(Self { text: text.to_owned(), query, is_deprecated }),
            Err(fault) => Err(RolePathError { text: text.chars().take(256).collect(), fault }),
        }
    }

    /// Whether it is written in the syntax that only versions before 16 had, of which the log should warn.
    pub fn is_deprecated(&self) -> bool {
        self.is_deprecated
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The role: the first value that the path leads to, as its JSON text if it is no string. `None` if it leads nowhere.
    ///
    /// # Errors
    ///
    /// [`ClaimErrorKind::RoleTooFar`] once the search has taken [`STEPS_MAX`] steps: what a token may cost has a bound, and to
    /// let it pass as nobody's would be to guess.
    pub fn role(&self, claims: &Claims) -> Result<Option<String>, ClaimError> {
        let role = evaluate::first(&self.query, &claims.tree);
        let role = role.map_err(|evaluate::TooFar| ClaimError::new(ClaimErrorKind::RoleTooFar))?;
        Ok(role.map(|value| match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                let mut text = Vec::new();
                value.write(&mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        }))
    }
}

/// `$.role`.
impl Default for RolePath {
    fn default() -> Self {
        Self { text: "$.role".to_owned(), query: Query::member("role"), is_deprecated: false }
    }
}

/// `jwt-role-claim-key` is no path. As text, what the configuration's error says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolePathError {
    /// The path, or the beginning of a long one.
    text: String,
    fault: Fault,
}

/// What a path lacks, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fault {
    at: usize,
    expected: &'static str,
}

impl RolePathError {
    /// The byte of the path at which something else was expected.
    pub fn at(&self) -> usize {
        self.fault.at
    }
}

impl fmt::Display for RolePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { at, expected } = self.fault;
        write!(f, "failed to parse role-claim-key value ({}): expected {expected} at byte {at}", self.text)
    }
}

impl std::error::Error for RolePathError {}

#[cfg(test)]
mod tests;
