//! What is embedded of tables that were never analysed is found by reading no more than of analysed ones.

use crate::planned::{catalog, context, request};
use crate::served::{GRANTS, Served, config};
use serde_json::Value;
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_server::Config;
use thalweg_testkit::Database;

/// Of `tracks` an index that came last has counted the rows; of the other tables nothing is known.
const SCHEMA: &str = "
    create schema api;
    create table api.artists (id int primary key, name text);
    create table api.albums (id int primary key, title text, artist_id int references api.artists, released date);
    create table api.genres (id int primary key, name text);
    create table api.tracks (id bigint primary key, name text, album_id int references api.albums, genre_id int references api.genres);
    create table api.playlists (id int primary key, name text);
    create table api.entries (playlist_id int references api.playlists, track_id bigint references api.tracks,
                              primary key (playlist_id, track_id));
    create index on api.albums (artist_id);
    create index on api.albums (released);
    create index on api.tracks (album_id);
    create index on api.entries (track_id);
    insert into api.artists select i, 'artist ' || i from generate_series(1, 400) i;
    insert into api.albums select i, 'album ' || md5(i::text), 1 + i * 7 % 400, date '2000-01-01' + i from generate_series(1, 4000) i;
    insert into api.genres select i, 'genre ' || i from generate_series(1, 10) i;
    insert into api.tracks select i, 'track ' || md5(i::text), 1 + (i - 1) / 10, nullif(1 + i / 10 * 3 % 11, 11) from generate_series(1, 40000) i;
    insert into api.playlists select i, 'list ' || md5(i::text) from generate_series(1, 1000) i;
    insert into api.entries select 1 + i * 13 % 1000, 1 + i * 3 from generate_series(1, 13000) i;
    create index on api.tracks (genre_id);";

/// Each with what its statement says only of tables that were never analysed.
const REQUESTS: &[(&str, &str)] = &[
    ("/albums?select=id,tracks(name)&tracks.genre_id=eq.3&order=id&limit=20&tracks.order=id", "COALESCE("),
    ("/albums?select=id,...tracks(names:name)&tracks.genre_id=in.(3,4)&order=id&limit=20&tracks.order=id", "COALESCE("),
    ("/albums?select=id,tracks(name)&tracks.genre_id=is.null&order=id&limit=20&tracks.order=id", "COALESCE("),
    (
        "/albums?select=id,tracks(name)&tracks.not.or=(genre_id.eq.3,id.lt.5)&order=id&limit=20&tracks.order=id",
        "COALESCE(",
    ),
    (
        "/albums?select=id,tracks(name,genres!inner(name))&tracks.genres.id=eq.3&order=id&limit=20&tracks.order=id",
        "COALESCE(",
    ),
    (
        "/artists?select=id,albums(id,artists!inner(name))&albums.artists.name=like.*1*&order=id&limit=20&albums.order=id",
        "OFFSET 0",
    ),
    ("/artists?select=id,albums!inner(title)&albums.id=lte.50&order=id&albums.order=id", "'-2147483648'"),
    ("/artists?select=id,albums!inner(title)&albums.id=gt.3950&order=id&albums.order=id", "'2147483647'"),
    (
        "/artists?select=id,albums!inner(title)&albums.or=(id.lt.20,released.gt.2010-12-01)&order=id&albums.order=id",
        "'infinity'",
    ),
    (
        "/artists?select=id,albums!inner(title,tracks!inner(name))&albums.tracks.id=lte.50&order=id&albums.order=id",
        "'-9223372036854775808'",
    ),
    ("/tracks?select=id,playlists(name)&order=id&limit=50&playlists.order=id", "= ANY(ARRAY["),
    (
        "/albums?select=title,tracks(name,playlists(name))&order=id&limit=20&tracks.order=id&tracks.playlists.order=id",
        "= ANY(ARRAY[",
    ),
    ("/tracks?select=id,name,genres!inner(name)&genres.id=eq.3&limit=50", "(SELECT NULL"),
    ("/tracks?select=id,name,genres(name),albums(title)&genre_id=eq.3&limit=50", "(SELECT NULL"),
    ("/tracks?select=id,name,genres(name)&id=lte.40&limit=50", "'-9223372036854775808'"),
    ("/tracks?select=id,name,genres(name)&id=lt.39000&limit=50", "'-9223372036854775808'"),
    ("/tracks?select=id,name&order=id", "(SELECT NULL"),
    (
        "/tracks?select=id,name,entries(playlist_id)&album_id=eq.7&limit=50&entries.order=playlist_id",
        "MATERIALIZED (SELECT * FROM",
    ),
    (
        "/tracks?select=name,albums(title),playlists(name)&album_id=eq.7&limit=50&playlists.order=id",
        "MATERIALIZED (SELECT * FROM",
    ),
    (
        "/tracks?select=id,name,entries(playlist_id)&album_id=eq.7&entries.order=playlist_id",
        "thalweg_root AS MATERIALIZED",
    ),
    ("/tracks?select=name,playlists(name)&album_id=eq.7&order=name&playlists.order=id", "thalweg_root AS MATERIALIZED"),
];

/// What is read as if tables were analysed: where an index would have to find all rows, or one.
const AS_EVER: &[&str] = &[
    "/tracks?select=id,genres(name)&genre_id=eq.3&limit=2000",
    "/tracks?select=id,genres(name)&genre_id=eq.3&limit=50&offset=1",
    "/tracks?select=id,genres(name)&genre_id=eq.3&name=eq.x&limit=50",
    "/tracks?select=id,genres(name)&id=eq.3&limit=50",
    "/albums?select=id,artists(name)&artist_id=eq.8&limit=50",
    "/tracks?select=id,genres!inner(name)&genres.name=eq.x&limit=50",
    "/tracks?select=id,albums!inner(id)&albums.id=neq.3&limit=50",
    "/tracks?select=id,name&order=id&genre_id=eq.3",
    "/tracks?select=id,name&order=name",
    "/tracks?select=id,genres(name)&order=id,name",
    "/tracks?select=id,name&order=id&offset=1",
    "/albums?select=id,title&order=id",
];

#[test]
fn as_few_rows_are_read_of_what_was_never_analysed() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let read = || {
        let served = Served::start(Config { db_plan_enabled: true, ..config(&database.uri()) });
        let catalog = catalog(&database.uri());
        let of = |target: &str| {
            let accept = "application/vnd.pgrst.plan+json; options=analyze";
            let explained = served.request("GET", target, &[("Accept", accept)]);
            let explained: Value = serde_json::from_str(explained.text()).unwrap();
            let (path, query) = target.split_once('?').unwrap();
            let params = Params::decode(query).unwrap();
            let request = request(Action::Read, Target::Relation(&path[1..]), &params, &[]).unwrap();
            let statement = thalweg_sql::rows(&plan(&request, None, context(&catalog)).unwrap()).text;
            (rows_of(&explained[0]["Plan"]), statement, served.get(target).text().to_owned())
        };
        REQUESTS.iter().map(|(target, _)| of(target)).collect::<Vec<_>>()
    };
    let before = read();
    database.execute("analyze");
    let after = read();
    for (((target, says), before), after) in REQUESTS.iter().zip(before).zip(after) {
        assert!(before.1.contains(says) && !after.1.contains(says), "{target}\n{}\n{}", before.1, after.1);
        assert_eq!(before.2, after.2, "{target}");
        // a bitmap's rows are counted twice
        let (found, expected) = (before.0, after.0);
        assert!(found <= expected * 2.0 + 100.0, "{target}: {found} rows, and {expected} once analysed");
    }
}

#[test]
fn rows_in_the_order_of_their_key_are_not_sorted() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config { db_plan_enabled: true, ..config(&database.uri()) });
    for target in ["/tracks?select=id,name&order=id", "/tracks?select=id,tags:name&order=id.desc"] {
        let explained = served.request("GET", target, &[("Accept", "application/vnd.pgrst.plan+text")]);
        assert!(explained.text().contains("Index Scan") && !explained.text().contains("Sort"), "{}", explained.text());
    }
    // what is joined by the program has its root read so too
    let target = "/tracks?select=id,name,genres(name)&order=id";
    let catalog = catalog(&database.uri());
    let params = Params::decode(target.split_once('?').unwrap().1).unwrap();
    let request = request(Action::Read, Target::Relation("tracks"), &params, &[]).unwrap();
    let plan = plan(&request, None, context(&catalog)).unwrap();
    assert!(plan.is_flat());
    assert!(thalweg_sql::flat(&plan).last().unwrap().0.text.ends_with("LIMIT (SELECT NULL::pg_catalog.int8)"));
    let never = served.get(target).text().to_owned();
    database.execute("analyze");
    assert_eq!(never, Served::start(config(&database.uri())).get(target).text());
}

#[test]
fn what_an_index_finds_as_well_at_once_is_said_as_ever() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let texts = || {
        let catalog = catalog(&database.uri());
        let of = |target: &&str| {
            let (path, query) = target.split_once('?').unwrap();
            let params = Params::decode(query).unwrap();
            let request = request(Action::Read, Target::Relation(&path[1..]), &params, &[]).unwrap();
            thalweg_sql::rows(&plan(&request, None, context(&catalog)).unwrap()).text
        };
        AS_EVER.iter().map(of).collect::<Vec<_>>()
    };
    let before = texts();
    database.execute("analyze");
    assert_eq!(before, texts());
}

/// How many rows a part of a plan and all below it handled.
pub(crate) fn rows_of(node: &Value) -> f64 {
    let number = |name: &str| node[name].as_f64().unwrap_or(0.0);
    let each = number("Actual Rows") + number("Rows Removed by Filter") + number("Rows Removed by Join Filter");
    let below = node["Plans"].as_array().into_iter().flatten().map(rows_of);
    each * number("Actual Loops") + below.sum::<f64>()
}
