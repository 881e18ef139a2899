//! What is the same of query strings that differ in nothing but the values of their filters.

use crate::filter;
use crate::params::Params;
use crate::query::Parameter;

/// A query string without the values of its filters, which stand beside it. Two with the same text are read the same way
/// ([`Query::parse`](crate::Query::parse) with [`Unreserved::Filters`](crate::Unreserved::Filters)), except for these values,
/// which the database alone looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline<'a> {
    /// What is the same. It has no other meaning.
    pub text: Vec<u8>,
    /// The values, in the order of the query string. Lists, trees, and what a pattern's `*` has to be looked for in stand in
    /// the text as they are.
    pub values: Vec<&'a str>,
}

impl<'a> Outline<'a> {
    /// Of what the text begins with, and parameters.
    pub fn of(mut text: Vec<u8>, params: &'a Params<'_>) -> Self {
        let mut values = Vec::with_capacity(params.len());
        for (key, value) in params.iter() {
            field(&mut text, key.as_bytes());
            let (_, parameter) = Parameter::of(key);
            match filter::operand_start(value).filter(|_| parameter == Parameter::Unreserved) {
                Some(start) => {
                    let (operator, operand) = value.split_at(start);
                    text.push(1);
                    field(&mut text, operator.as_bytes());
                    values.push(operand);
                }
                None => {
                    text.push(0);
                    field(&mut text, value.as_bytes());
                }
            }
        }
        Self { text, values }
    }
}

/// Appends bytes behind their number, so that texts made of other fields differ. No query string is longer than 4 GiB.
fn field(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    text.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Query, Unreserved};
    use proptest::prelude::*;

    fn outline(query: &str) -> (Vec<u8>, Vec<String>) {
        let params = Params::decode(query).unwrap();
        let outline = Outline::of(Vec::new(), &params);
        (outline.text, outline.values.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn the_values_of_filters_are_left_out_and_nothing_else() {
        let values = |query: &str| outline(query).1;
        assert_eq!(values("a=eq.1&b.c=not.gte.x.y&limit=3&d->>e=fts.cat"), ["1", "x.y", "cat"]);
        assert_eq!(values("a=like.x%25&a=ilike.*x&b=isdistinct.&c=wfts.z"), ["x%", "", "z"]);
        for whole in [
            "a=in.(1,2)",
            "a=is.null",
            "a=eq(any).{1}",
            "a=isdistinct.null",
            "a=fts(english).x",
            "a=contains.x",
            "a=not.icontains.x",
            "and=(a.eq.1)",
            "a=1",
            "a=eq",
        ] {
            assert_eq!(values(whole), [""; 0], "{whole}");
        }
        // what is no filter is what it is, whatever its value looks like
        for reserved in ["select", "order", "x.order", "limit", "offset", "columns", "on_conflict", "or", "not.and"] {
            assert_eq!(values(&format!("{reserved}=eq.1")), [""; 0], "{reserved}");
        }
        assert_eq!(outline("a=eq.1&b=lt.2").0, outline("a=eq.xyz&b=lt.").0);
        for (one, other) in [
            ("a=eq.1", "b=eq.1"),
            ("a=eq.1", "a=neq.1"),
            ("a=eq.1", "a=not.eq.1"),
            ("a=eq.1", "a=eq.1&a=eq.1"),
            ("a=eq.1&b=eq.1", "b=eq.1&a=eq.1"),
            ("limit=1", "limit=2"),
            ("a=like.*x", "a=like.x"),
            ("a=like.*x", "a=like.*y"),
            ("a=eq", "a=eq."),
        ] {
            assert_ne!(outline(one).0, outline(other).0, "{one} {other}");
        }
    }

    /// A query whose filters have their values replaced.
    fn without_values(query: &str) -> Option<Result<String, String>> {
        let params = Params::decode(query).ok()?;
        let parsed = Query::parse(&params, Unreserved::Filters);
        Some(match parsed {
            Ok(mut query) => {
                for filter in &mut query.filters {
                    match &mut filter.what.operation {
                        Operation::Compare { quantifier: None, value, .. }
                        | Operation::Distinct(Some(value))
                        | Operation::Fts { config: None, value, .. } => *value = "".into(),
                        Operation::Compare { .. } | Operation::Fts { .. } | Operation::In(_) | Operation::Is(_) => {}
                        Operation::Distinct(None) => {}
                    }
                }
                Ok(format!("{query:?}"))
            }
            Err(error) => Err(error.to_string()),
        })
    }

    proptest! {
        #[test]
        fn what_has_the_same_outline_is_read_the_same_way(
            keys in proptest::collection::vec("([ab.]{1,3}|select|order|limit|and|a\\.or|\\(a|a->>b)", 1..4),
            operators in proptest::collection::vec("(not\\.)?(eq|like|in|is|fts|isdistinct|cs|eq\\(any\\)|or|x)\\.", 1..4),
            one in proptest::collection::vec("null|[a1.,(){}*\" ]{0,4}", 4),
            other in proptest::collection::vec("null|[a1.,(){}*\" ]{0,4}", 4),
        ) {
            let query = |values: &[String]| {
                let pairs = keys.iter().zip(operators.iter().cycle()).zip(values);
                let pairs: Vec<String> = pairs.map(|((key, operator), value)| format!("{key}={operator}{value}")).collect();
                pairs.join("&")
            };
            let (one, other) = (query(&one), query(&other));
            if outline(&one).0 == outline(&other).0 {
                prop_assert_eq!(without_values(&one), without_values(&other), "{} {}", one, other);
            }
        }
    }
}
