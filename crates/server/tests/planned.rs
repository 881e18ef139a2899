//! Requests planned beside a server, from the catalog of a database.

use std::borrow::Cow;
use thalweg_catalog::{Catalog, Loader, Part};
use thalweg_plan::Context;
use thalweg_request::{Action, ApiRequest, Form, Headers, Key, Params, Payload, RequestError, Rows, Target};
use thalweg_rows::Format;
use thalweg_wire::{Config as WireConfig, Connection, Param, Query as WireQuery};

/// What the server would find in a JSON body.
pub(crate) fn payload(body: &serde_json::Value) -> Option<Payload<'_>> {
    let rows: &[serde_json::Value] = match body {
        serde_json::Value::Null => return None,
        serde_json::Value::Array(rows) => rows,
        row => std::slice::from_ref(row),
    };
    let members = rows.first().and_then(|row| row.as_object()).into_iter().flatten();
    let form = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Form::Null,
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => Form::Scalar,
        serde_json::Value::String(_) => Form::String { escaped: false },
        serde_json::Value::Array(_) => Form::Array,
        serde_json::Value::Object(_) => Form::Object,
    };
    let mut keys = Vec::new();
    for (at, (name, value)) in members.enumerate() {
        keys.push(Key { name, member: Some(at), form: form(value), is_optional: false });
    }
    let count = match rows.len() {
        0 => Rows::None,
        1 => Rows::One,
        _ => Rows::Many,
    };
    Some(Payload {
        keys,
        rows: count,
        is_array: body.is_array(),
        has_several_rows: count == Rows::Many,
        is_json: true,
        ..Payload::unknown()
    })
}

/// A request of the library for a request of the wire.
pub(crate) fn request<'a>(
    action: Action,
    target: Target<'a>,
    params: &'a Params<'a>,
    headers: &[(&'a str, &'a str)],
) -> Result<ApiRequest<'a>, RequestError> {
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let prefer = header("Prefer").into_iter().collect();
    let headers = Headers { accept: header("Accept"), range: header("Range"), prefer };
    ApiRequest::parse(action, target, false, params, &headers)
}

/// What plans depend on in these tests.
pub(crate) fn context(catalog: &Catalog) -> Context<'_> {
    Context {
        catalog,
        schema: "api",
        rows_max: None,
        zone_is_known: true,
        formats_are_changed: false,
        aggregates_are_on: true,
        plans_are_on: true,
        legacy_target_names: true,
        has_pre_request: false,
        is_flat_allowed: true,
        narrowing: None,
        limit_is_fixed: false,
    }
}

pub(crate) fn catalog(uri: &str) -> Catalog {
    catalog_of(uri, &["public"])
}

/// The catalog of `api` with these schemas behind it in the search path.
pub(crate) fn catalog_of(uri: &str, extra: &[&str]) -> Catalog {
    let extra: Vec<String> = extra.iter().map(|&schema| schema.to_owned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = Connection::connect(&WireConfig::parse(uri).unwrap()).await.unwrap();
        connection.execute(&["BEGIN", Loader::FIRST]).await.unwrap();
        let mut loader = Loader::new(&["api".to_owned()], &extra);
        for part in Part::ALL {
            let params: Vec<Param<'_>> =
                loader.parameter(part).map(|text| Param::Text(Cow::Owned(text))).into_iter().collect();
            let query = WireQuery { params: &params, formats: &[Format::Binary], ..WireQuery::bare(loader.sql(part)) };
            connection
                .run(&[query], &mut loader.sink(part))
                .await
                .unwrap_or_else(|error| panic!("{part:?}: {error:?}"));
        }
        loader.finish(None).unwrap()
    })
}
