//! Golden cases: what a request becomes at each stage, under `cases/`.
//!
//! A case is a target, after a method if that is not GET, headers below it, and a body behind an empty line. What is written is
//! rolled back. Its snapshot shows the SQL, the parameters and the response apart,
//! so that a difference names its stage. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::served::{GRANTS, Served, config};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use thalweg_catalog::{Catalog, Loader, Part};
use thalweg_plan::{Context, plan};
use thalweg_request::{Action, ApiRequest, Form, Headers, Key, Params, Payload, RequestError, Resource, Rows, Target};
use thalweg_rows::Format;
use thalweg_server::Config;
use thalweg_testkit::Database;
use thalweg_wire::{Config as WireConfig, Connection, Param, Query as WireQuery};

pub(crate) const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");

const WRITES: &str = "
    grant insert, update, delete on all tables in schema api to test_reader;
    grant usage on all sequences in schema api to test_reader;
";

#[test]
fn cases_are_as_they_were() {
    let schema = std::fs::read_to_string(Path::new(CASES).join("schema.sql")).unwrap();
    let database = Database::new(&format!("{schema}{GRANTS}{WRITES}"));
    let catalog = catalog(&database.uri());
    let served =
        Served::start(Config { db_aggregates_enabled: true, db_tx_rolls_back: true, ..config(&database.uri()) });
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../../../cases/snapshots" }, {
        insta::glob!("../../../cases", "*/*.http", |path| {
            let text = std::fs::read_to_string(path).unwrap();
            let (head, body) = text.split_once("\n\n").map_or((text.as_str(), None), |(head, body)| (head, Some(body.trim_end())));
            let mut lines = head.lines();
            let first = lines.next().unwrap();
            let (method, target) = first.split_once(" /").map_or(("GET", first), |(method, _)| (method, &first[method.len() + 1..]));
            let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
            let mut shown = String::new();
            show_sql(&mut shown, &catalog, (method, target), &headers, body);
            let response = match body {
                Some(body) => served.send(method, target, &headers, body),
                None => served.request(method, target, &headers),
            };
            let _ = writeln!(shown, "== response: {}", response.status);
            for name in ["content-type", "content-range", "location", "preference-applied"] {
                if let Some(value) = response.header(name) {
                    let _ = writeln!(shown, "{name}: {value}");
                }
            }
            let _ = writeln!(shown, "\n{}", response.text());
            insta::assert_snapshot!(shown);
        });
    });
}

fn show_sql(
    shown: &mut String,
    catalog: &Catalog,
    (method, target): (&str, &str),
    headers: &[(&str, &str)],
    body: Option<&str>,
) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let params = Params::decode(query).unwrap();
    let resource = Resource::parse(path).unwrap();
    let target = match &resource {
        Resource::Relation(name) => Target::Relation(name),
        Resource::Function(name) => Target::Function(name),
        Resource::Root => return,
    };
    let action = Action::of(method, target).unwrap();
    let body: serde_json::Value = body.map_or(serde_json::Value::Null, |body| serde_json::from_str(body).unwrap());
    let payload = payload(&body);
    let request = match request(action, target, &params, headers) {
        Ok(request) => request,
        Err(error) => {
            let _ = writeln!(shown, "== request: {error}");
            return;
        }
    };
    let plan = match plan(&request, payload.as_ref(), context(catalog)) {
        Ok(plan) => plan,
        Err(error) => {
            let _ = writeln!(shown, "== plan: {error}");
            return;
        }
    };
    let _ = writeln!(shown, "== plan: {}, {:?}, {:?}", plan.media.content_type(), plan.form, plan.delivery);
    for (_, statement) in thalweg_sql::statements(&plan, None).main {
        let _ = writeln!(shown, "== sql\n{}", statement.text);
        for (at, value) in (1..).zip(&statement.params) {
            let _ = writeln!(shown, "${at} = {value}");
        }
    }
}

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
    Some(Payload { keys, rows: count, is_array: body.is_array(), is_json: true, ..Payload::unknown() })
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
