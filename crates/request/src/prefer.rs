//! Preferences (representation §9).

use crate::error::{ErrorKind, RequestError};

/// What the `Prefer` headers say. The first of each group wins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preferences<'a> {
    /// `count=…`
    pub count: Option<Count>,
    /// `handling=…`
    pub handling: Option<Handling>,
    /// `tx=…`
    pub tx: Option<TxEnd>,
    /// `return=…`
    pub returning: Option<Returning>,
    /// `resolution=…`
    pub resolution: Option<Resolution>,
    /// `missing=…`
    pub missing: Option<Missing>,
    /// `timezone=…`, not checked here.
    pub timezone: Option<&'a str>,
    /// `max-affected=…`
    pub max_affected: Option<i64>,
    /// `session`, Thalweg's own: what a function returns is a token that becomes a cookie.
    pub session: bool,
    invalid: Vec<&'a str>,
}

/// How the total is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Count {
    Exact,
    Planned,
    Estimated,
}

/// What happens to preferences that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Handling {
    Strict,
    Lenient,
}

/// How the transaction should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TxEnd {
    Commit,
    Rollback,
}

/// What a write answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Returning {
    Representation,
    Minimal,
    HeadersOnly,
}

/// What becomes of rows that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Resolution {
    MergeDuplicates,
    IgnoreDuplicates,
}

/// What is written where a key is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Missing {
    Default,
    Null,
}

impl<'a> Preferences<'a> {
    /// Asks for no estimate.
    pub fn count_exactly(&mut self) {
        self.count = self.count.map(|_| Count::Exact);
    }

    /// Reads the values of all `Prefer` headers, in order.
    pub fn parse(headers: impl Iterator<Item = &'a str>) -> Self {
        let mut found = Self::default();
        for item in headers.flat_map(|header| header.split(',')).map(str::trim).filter(|item| !item.is_empty()) {
            match item {
                "count=exact" => found.count = found.count.or(Some(Count::Exact)),
                "count=planned" => found.count = found.count.or(Some(Count::Planned)),
                "count=estimated" => found.count = found.count.or(Some(Count::Estimated)),
                "session" => found.session = true,
                "handling=strict" => found.handling = found.handling.or(Some(Handling::Strict)),
                "handling=lenient" => found.handling = found.handling.or(Some(Handling::Lenient)),
                "tx=commit" => found.tx = found.tx.or(Some(TxEnd::Commit)),
                "tx=rollback" => found.tx = found.tx.or(Some(TxEnd::Rollback)),
                "return=representation" => found.returning = found.returning.or(Some(Returning::Representation)),
                "return=minimal" => found.returning = found.returning.or(Some(Returning::Minimal)),
                "return=headers-only" => found.returning = found.returning.or(Some(Returning::HeadersOnly)),
                "missing=default" => found.missing = found.missing.or(Some(Missing::Default)),
                "missing=null" => found.missing = found.missing.or(Some(Missing::Null)),
                "resolution=merge-duplicates" => {
                    found.resolution = found.resolution.or(Some(Resolution::MergeDuplicates));
                }
                "resolution=ignore-duplicates" => {
                    found.resolution = found.resolution.or(Some(Resolution::IgnoreDuplicates));
                }
                _ => match item.split_once('=') {
                    Some(("timezone", zone)) => found.timezone = found.timezone.or(Some(zone)),
                    Some(("max-affected", rows)) => match rows.parse() {
                        Ok(rows) => found.max_affected = found.max_affected.or(Some(rows)),
                        Err(_) => found.invalid.push(item),
                    },
                    _ => found.invalid.push(item),
                },
            }
        }
        found
    }

    /// Under `handling=strict`, an error for what nobody knows.
    pub fn check(&self) -> Result<(), RequestError> {
        if self.handling == Some(Handling::Strict) && !self.invalid.is_empty() {
            return Err(ErrorKind::Preferences(self.invalid.join(", ")).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_group_wins_and_the_unknown_count_only_when_strict() {
        let lenient = Preferences::parse(["count=exact, count=planned", " foo ,timezone=UTC"].into_iter());
        assert_eq!((lenient.count, lenient.timezone), (Some(Count::Exact), Some("UTC")));
        assert_eq!(lenient.check(), Ok(()));
        let strict =
            Preferences::parse(["foo, handling=strict, return=minimal, max-affected=3, count=none"].into_iter());
        assert_eq!(strict.check(), Err(ErrorKind::Preferences("foo, count=none".into()).into()));
    }
}
