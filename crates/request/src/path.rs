//! Which resource a path names (url-grammar §1).

use crate::error::{ErrorKind, RequestError};
use crate::params::decode;
use std::borrow::Cow;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource<'a> {
    /// `/`
    Root,
    /// `/{relation}`
    Relation(Cow<'a, str>),
    /// `/rpc/{function}`
    Function(Cow<'a, str>),
}

impl<'a> Resource<'a> {
    /// Splits a path at `/`, then decodes its segments.
    pub fn parse(path: &'a str) -> Result<Self, RequestError> {
        let Some(path) = path.strip_prefix('/') else { return Err(ErrorKind::Path.into()) };
        if path.is_empty() {
            return Ok(Self::Root);
        }
        let mut segments = path.split('/');
        match (segments.next(), segments.next(), segments.next()) {
            (Some(relation), None, _) => Ok(Self::Relation(name(relation)?)),
            (Some("rpc"), Some(function), None) => Ok(Self::Function(name(function)?)),
            _ => Err(ErrorKind::Path.into()),
        }
    }
}

fn name(segment: &str) -> Result<Cow<'_, str>, RequestError> {
    decode(segment, false, || "the path".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_relations_functions_or_nothing() {
        let relation = |name: &'static str| Ok(Resource::Relation(name.into()));
        assert_eq!(Resource::parse("/"), Ok(Resource::Root));
        assert_eq!(Resource::parse("/flights"), relation("flights"));
        assert_eq!(Resource::parse("/a%2Fb+c%20d"), relation("a/b+c d"));
        assert_eq!(Resource::parse("/rpc"), relation("rpc"));
        assert_eq!(Resource::parse("/rpc/f"), Ok(Resource::Function("f".into())));
        for wrong in ["/flights/", "//flights", "/rpc/f/", "/a/b", "flights", ""] {
            assert_eq!(Resource::parse(wrong), Err(ErrorKind::Path.into()), "{wrong}");
        }
        assert_eq!(Resource::parse("/%ff"), Err(ErrorKind::Encoding.into()));
        for nul in ["/a%00b", "/rpc/f%00"] {
            assert_eq!(Resource::parse(nul), Err(ErrorKind::Nul("the path".to_owned()).into()), "{nul}");
        }
    }
}
