//! Golden cases: what a request becomes at each stage, under `cases/`.
//!
//! A case is a request line, and headers below it. Its snapshot shows the SQL, the parameters and the response apart,
//! so that a difference names its stage. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::served::{GRANTS, Served, config};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use thalweg_catalog::{Catalog, Loader, Part};
use thalweg_plan::{Context, plan};
use thalweg_request::{
    Action, ApiRequest, Params, Preferences, Query, RequestError, Resource, Target, Unreserved, Window, accepted,
};
use thalweg_rows::Format;
use thalweg_server::Config;
use thalweg_testkit::Database;
use thalweg_wire::{Config as WireConfig, Connection, Param, Query as WireQuery};

pub(crate) const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");

#[test]
fn cases_are_as_they_were() {
    let schema = std::fs::read_to_string(Path::new(CASES).join("schema.sql")).unwrap();
    let database = Database::new(&format!("{schema}{GRANTS}"));
    let catalog = catalog(&database.uri());
    let served = Served::start(Config { db_aggregates_enabled: true, ..config(&database.uri()) });
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../../../cases/snapshots" }, {
        insta::glob!("../../../cases", "*/*.http", |path| {
            let text = std::fs::read_to_string(path).unwrap();
            let mut lines = text.lines().filter(|line| !line.is_empty());
            let target = lines.next().unwrap().to_owned();
            let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
            let mut shown = String::new();
            show_sql(&mut shown, &catalog, &target, &headers);
            let response = served.request("GET", &target, &headers);
            let _ = writeln!(shown, "== response: {}", response.status);
            for name in ["content-type", "content-range"] {
                if let Some(value) = response.header(name) {
                    let _ = writeln!(shown, "{name}: {value}");
                }
            }
            let _ = writeln!(shown, "\n{}", response.text());
            insta::assert_snapshot!(shown);
        });
    });
}

fn show_sql(shown: &mut String, catalog: &Catalog, target: &str, headers: &[(&str, &str)]) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let params = Params::decode(query).unwrap();
    let resource = Resource::parse(path).unwrap();
    let (target, unreserved) = match &resource {
        Resource::Relation(name) => (Target::Relation(name), Unreserved::Filters),
        Resource::Function(name) => (Target::Function(name), Unreserved::FiltersOrArguments),
        Resource::Root => return,
    };
    let request = match request(target, unreserved, &params, headers) {
        Ok(request) => request,
        Err(error) => {
            let _ = writeln!(shown, "== request: {error}");
            return;
        }
    };
    let plan = match plan(&request, context(catalog)) {
        Ok(plan) => plan,
        Err(error) => {
            let _ = writeln!(shown, "== plan: {error}");
            return;
        }
    };
    let _ = writeln!(shown, "== plan: {}, {:?}, {:?}", plan.media.content_type(), plan.form, plan.delivery);
    let rows = match (plan.count, plan.call()) {
        (Some(_), Some(_)) => vec![thalweg_sql::rows_and_total(&plan)],
        (Some(_), None) => vec![thalweg_sql::count(&plan, None), thalweg_sql::rows(&plan)],
        (None, _) => vec![thalweg_sql::rows(&plan)],
    };
    for statement in rows {
        let _ = writeln!(shown, "== sql\n{}", statement.text);
        for (at, value) in (1..).zip(&statement.params) {
            let _ = writeln!(shown, "${at} = {value}");
        }
    }
}

/// A request of the library for a request of the wire.
pub(crate) fn request<'a>(
    target: Target<'a>,
    unreserved: Unreserved,
    params: &'a Params<'a>,
    headers: &[(&'a str, &'a str)],
) -> Result<ApiRequest<'a>, RequestError> {
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let query = Query::parse(params, unreserved)?;
    Ok(ApiRequest {
        action: Action::Read,
        payload: None,
        target,
        window: Window::intersect(query.root_window, header("Range"))?,
        query,
        preferences: Preferences::parse(header("Prefer").into_iter()),
        accept: accepted(header("Accept")),
        head_only: false,
    })
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
    }
}

pub(crate) fn catalog(uri: &str) -> Catalog {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = Connection::connect(&WireConfig::parse(uri).unwrap()).await.unwrap();
        let mut loader = Loader::new(&["api".to_owned()], &["public".to_owned()]);
        for part in Part::ALL {
            let params: Vec<Param<'_>> =
                loader.parameter(part).map(|text| Param::Text(Cow::Owned(text))).into_iter().collect();
            let query = WireQuery { params: &params, formats: &[Format::Binary], ..WireQuery::bare(loader.sql(part)) };
            connection
                .run(&[query], &mut loader.sink(part))
                .await
                .unwrap_or_else(|error| panic!("{part:?}: {error:?}"));
        }
        loader.finish().unwrap()
    })
}
