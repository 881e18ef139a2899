//! A request to the API that is written as a text, as a page's head and the command line have it: taken apart, then read.

use crate::error::ApiError;
use std::borrow::Cow;
use thalweg_catalog::Catalog;
use thalweg_pages::{Query, Shows};
use thalweg_request::{Action, ApiRequest, Count, Headers, KnownParameter, Params, RequestError, Resource, Target};

/// The text of a request, `/flights?id=eq.1`, taken apart.
#[derive(Default)]
pub(crate) struct RequestText<'a> {
    name: Cow<'a, str>,
    calls: bool,
    pub(crate) params: Params<'a>,
    pub(crate) headers: Headers<'a>,
    /// The query of a page whose text it is.
    query: Option<&'a Query>,
}

impl<'a> RequestText<'a> {
    /// A text, with what is preferred besides.
    pub(crate) fn of(text: &'a str, prefer: Option<&'a str>) -> Result<Self, ApiError> {
        let (path, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (name, calls) = match Resource::parse(path)? {
            Resource::Relation(name) => (name, false),
            Resource::Function(name) => (name, true),
            Resource::Root => {
                let message = "a query names a relation, or a function behind /rpc/";
                return Err(ApiError::new(404, "PGRST125", message));
            }
        };
        let headers = Headers { prefer: prefer.into_iter().collect(), ..Headers::default() };
        Ok(Self { name, calls, params: Params::decode(parameters)?, headers, query: None })
    }

    /// The text of a page's query, with its values.
    pub(crate) fn of_query(text: &'a str, query: &'a Query) -> Result<Self, ApiError> {
        let prefer = query.count.map(|count| match count {
            Count::Exact => "count=exact",
            Count::Planned => "count=planned",
            Count::Estimated => "count=estimated",
        });
        Ok(Self { query: Some(query), ..Self::of(text, prefer)? })
    }

    /// A target's query string.
    pub(crate) fn of_target(target: Target<'a>, query: &'a str, headers: Headers<'a>) -> Result<Self, ApiError> {
        let (name, calls) = match target {
            Target::Relation(name) => (name, false),
            Target::Function(name) => (name, true),
        };
        Ok(Self { name: name.into(), calls, params: Params::decode(query)?, headers, query: None })
    }

    /// What it asks for rows of.
    pub(crate) fn target(&self) -> Target<'_> {
        if self.calls { Target::Function(&self.name) } else { Target::Relation(&self.name) }
    }

    /// The request. Of what a page shows as one row, one is fetched.
    pub(crate) fn request(
        &self,
        action: Action,
        (catalog, schema): (&Catalog, &str),
    ) -> Result<ApiRequest<'_>, RequestError> {
        let arguments = self.query.map_or(&[][..], |query| &query.arguments);
        let mut known: Vec<KnownParameter<'_>> =
            arguments.iter().map(|name| KnownParameter { name, takes_all: true }).collect();
        if let Target::Function(name) = self.target() {
            known.extend(thalweg_plan::parameters(catalog, schema, name, &self.params));
        }
        let given = (action, self.target(), false);
        let mut request = ApiRequest::parse_given(given, &self.params, &self.headers, &known)?;
        if self.query.is_some_and(|query| query.shows == Shows::One) {
            request.window.limit_rows = Some(request.window.limit_rows.map_or(1, |limit| limit.min(1)));
        }
        Ok(request)
    }
}
