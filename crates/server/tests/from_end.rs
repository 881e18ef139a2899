//! Windows behind the middle of what is counted are found from the last row on: the same rows, and as few read as before the middle.

use crate::never_analysed::rows_of;
use crate::planned::{catalog, context, request};
use crate::served::{GRANTS, Served};
use serde_json::Value;
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_sql::{Param, Purpose, statements};
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.sites (id int primary key, name text);
    create table api.pilots (id int primary key, name text);
    create table api.flights (id int primary key, km int, height int, site_id int references api.sites, title text, pilot_id int references api.pilots);
    create table api.notes (id int primary key, flight_id int references api.flights, note text);
    create table api.visits (flight_id int, site_id int, day int, primary key (flight_id, site_id));
    create table api.places (id int primary key, name text);
    create table api.peaks () inherits (api.places);
    create view api.shown as select * from api.flights;
    create index on api.flights (km desc nulls last, id desc);
    insert into api.sites select i, 'site ' || i from generate_series(1, 20) i;
    insert into api.pilots select i, 'pilot ' || i from generate_series(1, 50000) i;
    insert into api.flights select i, nullif(i * 7919 % 40, 7), nullif(i % 3, 0), nullif(i % 21, 0), 'flight ' || i, i * 7 from generate_series(1, 3001) i;
    insert into api.notes select i, i, 'note ' || i from generate_series(1, 3001, 2) i;
    insert into api.visits select i, i % 20, i % 5 from generate_series(1, 3001) i;
    analyze;
";

const EXACT: (&str, &str) = ("Prefer", "count=exact");

/// What the statement of a window is for, and how many rows PostgreSQL reads for it.
fn explained(database: &Database, target: &str) -> (Purpose, f64) {
    let catalog = catalog(&database.uri());
    let (path, query) = target.split_once('?').unwrap();
    let params = Params::decode(query).unwrap();
    let request = request(Action::Read, Target::Relation(&path[1..]), &params, &[EXACT]).unwrap();
    let plan = plan(&request, None, context(&catalog)).unwrap();
    let (purpose, statement) = statements(&plan, None).main.pop().unwrap();
    let mut text = statement.text;
    for (at, param) in statement.params.iter().enumerate().rev() {
        let Param::Text(value) = param else { panic!("{param:?}") };
        text = text.replace(&format!("${}", at + 1), &format!("'{value}'"));
    }
    let explained = database.value(&format!("explain (analyze, format json) {text}"));
    let explained: Value = serde_json::from_str(&explained).unwrap();
    (purpose, rows_of(&explained[0]["Plan"]))
}

/// Orders that leave nothing open.
const TOTAL: &[&str] = &[
    "id",
    "id.desc",
    "km,id",
    "km.desc,id.desc",
    "km.asc.nullsfirst,id.desc",
    "km.desc.nullslast,height.asc.nullsfirst,id",
    "height.nullslast,km.desc.nullsfirst,title,id",
];

const SELECTS: &[&str] = &[
    "id,km",
    "*",
    "title,sites(name)",
    "id,sites(name),notes(note)",
    "title,...sites(site:name),notes(note,id)&notes.order=id",
];

const CONDITIONS: &[&str] = &["", "&height=is.null", "&height=not.is.null", "&or=(km.gt.3,title.like.*11*)"];

const WINDOWS: &[(usize, usize)] =
    &[(1000, 50), (1400, 200), (1500, 1), (1501, 1000), (2950, 50), (2951, 50), (2990, 50), (3000, 1), (1 << 50, 1)];

#[test]
fn a_window_has_the_same_rows_from_both_ends() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let mut found = 0;
    let mut check = |target: &str| {
        let all = served.get(target).json();
        let all = all.as_array().unwrap_or_else(|| panic!("{target}: {all}"));
        for &(offset, limit) in WINDOWS {
            let target = format!("{target}&offset={offset}&limit={limit}");
            let window = served.request("GET", &target, &[EXACT]);
            let range = window.header("content-range").unwrap_or_default();
            if offset >= all.len() {
                let status = if offset == all.len() { 206 } else { 416 };
                assert_eq!((window.status, range), (status, &*format!("*/{}", all.len())), "{target}");
                continue;
            }
            let end = all.len().min(offset + limit);
            assert_eq!(range, format!("{offset}-{}/{}", end - 1, all.len()), "{target}");
            assert_eq!(window.json(), Value::from(&all[offset..end]), "{target}");
            found += 1;
        }
    };
    for (at, order) in TOTAL.iter().enumerate() {
        let (one, condition) = (SELECTS[at % SELECTS.len()], CONDITIONS[at % CONDITIONS.len()]);
        for select in SELECTS {
            check(&format!("/flights?select={select}{condition}&order={order}"));
        }
        for condition in CONDITIONS {
            check(&format!("/flights?select={one}{condition}&order={order}"));
        }
        check(&format!("/flights?select=id,notes(note),sites(name)&notes=is.null&order={order}"));
        check(&format!("/flights?select=id,notes(note),sites()&sites=not.is.null&order={order}"));
    }
    check("/visits?order=day,site_id,flight_id.desc");
    assert!(found > 200, "{found}");
}

#[test]
fn a_window_behind_the_middle_reads_as_few_rows_as_one_before_it() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let select = "/flights?select=id,km,sites(name)";
    for order in ["id", "km.desc.nullslast,id.desc"] {
        let read = |offset: i64| explained(&database, &format!("{select}&order={order}&limit=50&offset={offset}"));
        let (middle, last) = (read(1500), read(2950));
        assert_eq!((middle.0, last.0), (Purpose::RowsAndTotal, Purpose::RowsAndTotal), "{order}");
        // each row is seen by more than one node, and all are counted
        assert!(last.1 + 1000.0 < middle.1, "{order}: {} rows at the end, {} in the middle", last.1, middle.1);
    }
    let as_ever = [
        "order=id&limit=50&offset=999",
        "order=id&limit=50",
        "order=id&offset=2000",
        "order=id&limit=2000&offset=1500",
        "order=id&limit=10001&offset=20000",
        "order=km&limit=50&offset=2000",
        "order=sites(name),id&limit=50&offset=2000",
        "limit=50&offset=2000",
    ];
    let not_found_so = |target: &str| {
        let purpose = explained(&database, target).0;
        assert_eq!(purpose, Purpose::Rows(0), "{target}");
    };
    as_ever.iter().for_each(|rest| not_found_so(&format!("{select}&{rest}")));
    not_found_so("/shown?order=id&limit=50&offset=2000");
    // a place and a peak may have the same key
    not_found_so("/places?order=id&limit=50&offset=2000");
    not_found_so("/visits?order=flight_id&limit=50&offset=2000");
    not_found_so("/flights?select=id,sites!inner(name)&order=id&limit=50&offset=2000");
}

/// How many rows of each are to be found PostgreSQL cannot know, and what it expects must not make it read all that is embedded.
#[test]
fn what_a_window_embeds_is_looked_for_row_by_row() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    for offset in [1000, 1500, 2950] {
        let target = format!("/flights?select=id,pilots(name)&order=id&limit=50&offset={offset}");
        let (purpose, rows) = explained(&database, &target);
        assert_eq!(purpose, Purpose::RowsAndTotal, "{target}");
        assert!(rows < 50_000.0, "{target}: {rows} rows");
    }
}

#[test]
fn a_head_has_the_same_range() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    for (offset, range) in [(1000, "1000-1049/3001"), (2990, "2990-3000/3001"), (3001, "*/3001")] {
        let target = format!("/flights?order=id&limit=50&offset={offset}");
        for method in ["GET", "HEAD"] {
            let answer = served.request(method, &target, &[EXACT]);
            assert_eq!(answer.header("content-range"), Some(range), "{method} {target}");
        }
    }
}
