//! Golden cases: what a request becomes at each stage, under `cases/`.
//!
//! A case is a target, after a method if that is not GET, headers below it, and a body behind an empty line. What is written is
//! rolled back. Its snapshot shows the SQL, the parameters and the response apart,
//! so that a difference names its stage. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::planned::{catalog, context, payload, request};
use crate::served::{GRANTS, Served, config};
use std::fmt::Write;
use std::path::Path;
use thalweg_catalog::Catalog;
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Resource, Target};
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

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
            if matches!(method, "GET" | "HEAD") {
                for _ in 0..2 {
                    assert_same(&response, &served.request(method, target, &headers), target);
                }
            }
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

/// What is asked for again is known by then, and answered without being planned: the answer must be the same.
fn assert_same(one: &Response, other: &Response, target: &str) {
    let headers = |response: &Response| -> Vec<(String, String)> {
        let varies = |name: &str| matches!(name, "date" | "server-timing");
        response.headers.iter().filter(|(name, _)| !varies(name)).cloned().collect()
    };
    assert_eq!(one.status, other.status, "{target}");
    assert_eq!(headers(one), headers(other), "{target}");
    // a plan's costs are what they are
    if !one.text().contains("cost") {
        assert_eq!(one.text(), other.text(), "{target}");
    }
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
