//! Levels that are fetched flat and joined by the server are what PostgreSQL joins itself.

use crate::cases::CASES;
use crate::planned::{catalog, context, request};
use crate::served::{GRANTS, Served};
use std::path::Path;
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_testkit::Database;

const REQUESTS: &[(&str, bool)] = &[
    ("/sites?select=name,flights!takeoff(id,pilots(name,logbooks(pages)))&order=id&flights.order=id.desc", true),
    ("/sites?select=*,flights!takeoff(*,pilots(*))&order=id&flights.order=id", true),
    ("/flights?select=pilots(name),id,gliders(reg,full_label)&order=id", true),
    ("/flights?select=flights_tags(tag_id),marks,during,telemetry,launched&order=id&flights_tags.order=tag_id", true),
    ("/pilots?select=name,mentor:mentor_id(name),pupils:pilots(name)&order=id&pupils.order=id", true),
    ("/pilots?select=name,flights(id,d:distance_km)&flights.distance_km=gt.100&order=name.desc&flights.order=id", true),
    ("/flights?select=id,typed(d,e,l)&order=id", true),
    // two levels with the same statement
    ("/flights?select=id,takeoff(name),landing(name)&order=id", true),
    ("/flights?select=id,tags(label)&order=id&tags.order=id", false),
    ("/pilots?select=name,flights(id)&flights.limit=1&order=id&flights.order=id", false),
    ("/pilots?select=name,flights!inner(id)&order=id&flights.order=id", false),
    ("/pilots?select=name,flights(id)&id=eq.1&flights.order=id", false),
    ("/pilots?select=name,flights(id)&limit=2&order=id&flights.order=id", false),
    ("/flights?select=id,...pilots(name)&order=id", false),
    ("/flights?select=id,pilots(name)&order=pilots(name),id", false),
    // no column: PostgreSQL takes it for `count(flights)`, of the flights of each pilot
    ("/pilots?select=name,flights(count)&order=id", false),
];

const MORE: &str = "
    create domain api.dom as int; create type api.en as enum ('x', 'y');
    create table api.typed (flight_id int references api.flights, d api.dom, e api.en, l api.dom[], t text);
    insert into api.typed values (1, 5, 'x', '{1,2}', repeat('t', 1000)), (null, 6, 'y', null, 'unlinked'), (1, null, null, '{}', '');
";

#[test]
fn both_ways_give_the_same() {
    let schema = std::fs::read_to_string(Path::new(CASES).join("schema.sql")).unwrap();
    let database = Database::new(&format!("{schema}{MORE}{GRANTS}"));
    // of a window PostgreSQL joins the levels
    let joined_there = Served::database(&database.uri());
    let windowed = |(target, is_flat): &(&str, bool)| format!("{target}{}", if *is_flat { "&limit=1000" } else { "" });
    let expected: Vec<String> =
        REQUESTS.iter().map(|request| joined_there.get(&windowed(request)).text().to_owned()).collect();
    database.execute("analyze");
    let catalog = catalog(&database.uri());
    let joined_here = Served::database(&database.uri());
    for ((target, is_flat), expected) in REQUESTS.iter().zip(expected) {
        let (path, query) = target.split_once('?').unwrap();
        let params = Params::decode(query).unwrap();
        let relation = Target::Relation(&path[1..]);
        let request = request(Action::Read, relation, &params, &[]).unwrap();
        assert_eq!(plan(&request, None, context(&catalog)).unwrap().is_flat(), *is_flat, "{target}");
        let response = joined_here.get(target);
        assert_eq!((response.status, response.text()), (200, expected.as_str()), "{target}");
    }
}

/// Sizes are estimates of yesterday: what has grown since is joined by PostgreSQL after all.
#[test]
fn relations_that_have_grown_are_not_held() {
    let schema = std::fs::read_to_string(Path::new(CASES).join("schema.sql")).unwrap();
    let database = Database::new(&format!("{schema}{MORE}{GRANTS} analyze;"));
    let served = Served::database(&database.uri());
    let target = "/flights?select=id,typed(t)&order=id&id=lt.3";
    assert_eq!(served.get(target).status, 200);
    database
        .execute("insert into api.typed select 2, i, 'x', null, repeat('grown', 200) from generate_series(1, 40000) i");
    let response = served.get("/flights?select=id,typed(t)&order=id");
    assert!(response.whole);
    let rows = response.json();
    assert_eq!(rows[0]["typed"].as_array().unwrap().len(), 2);
    assert_eq!(rows[1]["typed"].as_array().unwrap().len(), 40_000);
}

/// Ways to fetch embeds without an index on their key: each request, and whether the root's rows are kept while what is
/// embedded in them is found.
const UNINDEXED: &[(&str, bool)] = &[
    ("/owners?select=id,things(id,name)&limit=5&order=name.desc,id&things.order=id.desc", true),
    ("/owners?select=name,things(id,name)&id=in.(3,9,4000)&order=id&things.order=id", true),
    ("/owners?select=name,t:things(id)&t.id=lt.900&offset=2&limit=4&order=id&t.order=id", true),
    ("/owners?select=name,things(id),kinds(name)&limit=3&order=kinds(name).desc,id&things.order=id", true),
    ("/owners?select=id,things!inner(id)&things.name=eq.thing%207&order=id&things.order=id", true),
    ("/owners?select=id,things(id,parts(id))&id=lt.4&order=id&things.order=id&things.parts.order=id", true),
    ("/owners?select=id,...things(t:id,n:name,parts(id))&id=lt.4&order=id&things.order=id&things.parts.order=id", true),
    ("/owners?select=id,...things(t:id,n:name)&order=id&things.order=id", false),
    // in rows that are left out nothing is embedded
    ("/things?select=id,owners(name)&offset=2&limit=4&order=id", true),
    (
        "/things?select=id,...owners(owner:name,kinds(name)),parts(id)&offset=2&limit=4&order=name,id&parts.order=id",
        true,
    ),
    ("/things?select=id,owners(name)&offset=0&limit=100&order=id", true),
    ("/things?select=id,owners(name)&limit=101&order=id", false),
    ("/things?select=id,owners(name)&id=eq.7&limit=4", false),
    ("/things?select=id,owners(name)&offset=2&limit=4&order=owners(name),id", false),
    ("/things?select=id,owners!inner(name)&owners.name=like.*1&offset=2&limit=4&order=id", false),
    ("/things?select=id,owners(name)&owners=not.is.null&offset=2&limit=4&order=id", true),
    // what a row needs besides its columns is not kept
    ("/owners?select=id,loud,things(id)&id=lt.4&order=id&things.order=id", false),
    ("/owners?select=id,things(id)&things.limit=1&id=lt.4&order=id&things.order=id", false),
    ("/owners?select=id,things(count)&id=lt.4&order=id", false),
    // all rows: nothing is kept, each level is read once
    ("/owners?select=id,things(id,parts(id,name))&order=id&things.order=id&things.parts.order=id", false),
];

#[test]
fn rows_are_found_once_where_there_is_no_index() {
    let schema = "
        create schema api;
        create table api.kinds (id int primary key, name text);
        create table api.owners (id int primary key, name text, kind_id int references api.kinds, secret text);
        create table api.things (id int primary key, name text, owner_id int references api.owners, filler text default repeat('x', 300));
        create table api.parts (id int primary key, name text, thing_id int references api.things);
        insert into api.kinds values (1, 'b'), (2, 'a');
        insert into api.owners select i, 'owner ' || i % 50, i % 2 + 1, 's' from generate_series(1, 5000) i;
        insert into api.things select i, 'thing ' || i % 10, nullif(i % 5000, 0) from generate_series(1, 20000) i;
        insert into api.parts select i, 'part ' || i, i % 100 + 1 from generate_series(1, 3000) i;
        create function api.loud(api.owners) returns text language sql stable as $$ select upper($1.name) $$;";
    let database = Database::new(&format!(
        "{schema}{GRANTS} revoke select on api.owners from test_reader;
         grant select (id, name, kind_id) on api.owners to test_reader;"
    ));
    // of a window, a search for each row, which an index makes bearable here
    database.execute(
        "create index things_owner on api.things (owner_id); create index parts_thing on api.parts (thing_id)",
    );
    let each = Served::database(&database.uri());
    let targets = UNINDEXED.iter().filter(|(target, _)| !target.contains("loud"));
    let windowed = |target: &str| format!("{target}{}", if target.contains("limit") { "" } else { "&limit=9999" });
    let expected: Vec<String> =
        targets.clone().map(|(target, _)| each.get(&windowed(target)).text().to_owned()).collect();
    database.execute("drop index api.things_owner; drop index api.parts_thing; analyze");
    let catalog = catalog(&database.uri());
    let once = Served::database(&database.uri());
    for (target, keeps) in UNINDEXED {
        let (path, query) = target.split_once('?').unwrap();
        let params = Params::decode(query).unwrap();
        let request = request(Action::Read, Target::Relation(&path[1..]), &params, &[]).unwrap();
        assert_eq!(plan(&request, None, context(&catalog)).unwrap().read.found_first.is_some(), *keeps, "{target}");
    }
    for ((target, _), expected) in targets.zip(expected) {
        let response = once.request("GET", target, &[("Prefer", "count=exact")]);
        assert!(matches!(response.status, 200 | 206), "{target}: {}", response.text());
        assert_eq!(response.text(), expected, "{target}");
        assert_eq!(once.request("HEAD", target, &[]).status, 200, "{target}");
    }
    assert_eq!(once.get("/owners?select=secret,things(id)&limit=1").status, 401);
}

/// Rows of a relation that was never analysed are fetched as they are afterwards.
#[test]
fn sizes_are_known_of_what_was_never_analysed() {
    let schema = "
        create schema api;
        create table api.genres (id int primary key, name text);
        create table api.tracks (id int primary key, name text, genre_id int references api.genres);
        create table api.notes (track_id int references api.tracks, text text);
        create table api.empty (track_id int references api.tracks, text text);
        create materialized view api.kept as select 1 as id;
        create table api.locked (id int primary key);
        insert into api.genres select i, 'genre ' || i from generate_series(1, 25) i;
        insert into api.tracks select i, 'track ' || i, i % 25 + 1 from generate_series(1, 500) i;
        insert into api.notes select i % 500 + 1, repeat('note ', 50) from generate_series(1, 2000) i;
        insert into api.locked values (1);";
    let database = Database::new(&format!("{schema}{GRANTS}"));
    let requests = [
        "/tracks?select=name,genres(name)&order=id",
        "/genres?select=name,tracks(name,notes(text))&order=id&tracks.order=id",
        "/tracks?select=name,notes(text)&id=lt.5&order=id",
        "/tracks?select=name,notes(text)&order=id&limit=3",
        "/tracks?select=name,...notes(text)&order=id",
        "/genres?select=name,tracks(name)&tracks.limit=1",
    ];
    let planned = |catalog: &thalweg_catalog::Catalog, target: &str| {
        let (path, query) = target.split_once('?').unwrap();
        let params = Params::decode(query).unwrap();
        let request = request(Action::Read, Target::Relation(&path[1..]), &params, &[]).unwrap();
        let plan = plan(&request, None, context(catalog)).unwrap();
        (plan.is_flat(), thalweg_sql::rows(&plan).text)
    };
    let size = |catalog: &thalweg_catalog::Catalog, name: &str| {
        catalog.relation(catalog.find("api", name).unwrap()).size_bytes
    };
    let before = catalog(&database.uri());
    assert_eq!((size(&before, "genres"), size(&before, "kept")), (Some(8192), Some(8192)));
    // what is empty will not stay so, and what is locked is not waited for
    assert_eq!(size(&before, "empty"), None);
    let locks = || database.value("select count(*) from pg_locks where relation = 'api.locked'::regclass");
    let meanwhile = std::thread::scope(|scope| {
        scope.spawn(|| database.try_execute("begin; lock table api.locked; select pg_sleep(600)"));
        crate::served::eventually("the table is locked", || locks() == "1");
        let catalog = catalog(&database.uri());
        assert_eq!(locks(), "1", "the load has waited for the lock");
        database.execute("select pg_terminate_backend(pid) from pg_locks where relation = 'api.locked'::regclass");
        catalog
    });
    assert_eq!((size(&meanwhile, "locked"), size(&meanwhile, "genres")), (None, Some(8192)));
    let empty = Served::database(&database.uri()).get("/tracks?select=id,empty(text)&id=eq.1");
    assert_eq!(empty.text(), r#"[{"id":1,"empty":[]}]"#);
    database.execute("analyze");
    let after = catalog(&database.uri());
    for target in requests {
        assert_eq!(planned(&before, target), planned(&after, target), "{target}");
    }
    assert!(planned(&before, requests[0]).0);
}
