//! What the values in a page's queries come from, and the queries with these in them.

use super::BoundQuery;
use crate::config::InForce;
use crate::error::ApiError;
use hyper::Uri;
use hyper::header::{self, HeaderMap};
use std::borrow::Cow;
use std::fmt::Write;
use thalweg_pages::{Query, Shows, Source, Value};
use thalweg_request::Params;

/// The last page of a list that can be asked for.
const PAGE_MAX: u64 = 1_000_000_000;

/// How many parameters the address of a page may have: a template may look each up among all.
const PARAMETERS_MAX: usize = 1_000;

/// What the values in a page's queries come from.
pub(crate) struct Asked<'a> {
    pub(crate) bound: Vec<(&'a str, &'a str)>,
    pub(crate) params: Params<'a>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) claims: thalweg_json::Value,
}

impl<'a> Asked<'a> {
    /// Of a request whose path binds these, by whom these claims are of.
    pub(crate) fn of(
        (uri, headers): (&'a Uri, &'a HeaderMap),
        bound: &'a [(&'a str, String)],
        claims: &str,
    ) -> Result<Self, ApiError> {
        let params = Params::decode(uri.query().unwrap_or(""))?;
        if params.iter().count() > PARAMETERS_MAX {
            return Err(ApiError::of_parameters(PARAMETERS_MAX));
        }
        Ok(Self {
            bound: bound.iter().map(|(name, value)| (*name, &**value)).collect(),
            params,
            headers,
            claims: thalweg_json::from_str(claims).unwrap_or_default(),
        })
    }

    /// A query with its values, and which page of its list that is.
    pub(crate) fn filled(&self, query: &BoundQuery) -> Result<(String, Option<u64>), ApiError> {
        let mut filled = self.request(&query.query)?;
        let Shows::Some { per_page, parameter } = &query.query.shows else { return Ok((filled, None)) };
        let page = self.of_address(parameter).map_or(Some(1), |text| text.parse::<u64>().ok());
        let page = page.filter(|page| (1..=PAGE_MAX).contains(page)).ok_or_else(ApiError::no_page)?;
        let mark = if filled.contains('?') { '&' } else { '?' };
        _ = write!(filled, "{mark}limit={}&offset={}", per_page + 1, (page - 1) * per_page);
        Ok((filled, Some(page)))
    }

    /// A request with its values.
    pub(crate) fn request(&self, query: &Query) -> Result<String, ApiError> {
        let values: Vec<Option<Cow<'_, str>>> = query.values().map(|value| self.value(value)).collect();
        let at = |wanted: &Value| query.values().position(|value| std::ptr::eq(value, wanted));
        let filled = query.fill(|value| at(value).and_then(|at| values[at].as_deref()));
        filled.map_err(ApiError::of_unfilled)
    }

    pub(crate) fn value(&self, wanted: &Value) -> Option<Cow<'_, str>> {
        let found = self.found(wanted)?;
        if !wanted.is_searched {
            return Some(found);
        }
        let searched = match found {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        Some(searched).filter(|text| !text.is_empty())
    }

    fn found(&self, wanted: &Value) -> Option<Cow<'_, str>> {
        match wanted.source {
            Source::Address => self.of_address(&wanted.name).map(Cow::Borrowed),
            Source::Cookie => cookie(self.headers, &wanted.name).map(Cow::Borrowed),
            Source::Claims => match self.claims.get(&wanted.name)? {
                thalweg_json::Value::Null => None,
                thalweg_json::Value::String(text) => Some(Cow::Borrowed(text)),
                other => Some(Cow::Owned(other.to_string())),
            },
        }
    }

    /// The language of a page: what its path binds as `locale`, a cookie of that name, or what the browser prefers, of those that
    /// the site has messages in.
    pub(crate) fn locale(&self, pages: &thalweg_pages::Site, in_force: &InForce) -> String {
        let accepted = self.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let chosen = pages.messages().choose(self.bound_locale(), cookie(self.headers, "locale"), accepted);
        chosen.unwrap_or(&in_force.config.pages_language).to_owned()
    }

    fn bound_locale(&self) -> Option<&str> {
        self.bound.iter().find(|(name, _)| *name == "locale").map(|(_, value)| *value)
    }

    /// Whether the path names a language that the site has no messages in.
    pub(crate) fn is_of_no_language(&self, pages: &thalweg_pages::Site) -> bool {
        let mut languages = pages.messages().languages();
        let known = |bound: &str| languages.any(|known| known.eq_ignore_ascii_case(bound));
        !self.bound_locale().is_none_or(known) && pages.messages().default_language().is_some()
    }

    /// What the path binds, or else the query string's first of the name. A field of a form that was left empty says nothing.
    pub(crate) fn of_address(&self, name: &str) -> Option<&str> {
        let bound = self.bound.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let mut given = self.params.iter().filter(|(known, value)| *known == name && !value.is_empty());
        bound.or_else(|| given.next().map(|(_, value)| value))
    }
}

pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}
