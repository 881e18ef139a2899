//! What a client sends costs work in proportion: of twice as much, twice as many steps. Something that compares each part with
//! each takes four times as many, and something that begins again at each chunk, too.
//!
//! A step is a call for bytes to be copied or compared, or sixteen of these bytes. In a build without optimisation nothing is
//! moved without one.

use crate::STEPS;
use crate::planned::{catalog, context, payload, request};
use thalweg_catalog::Catalog;
use thalweg_decode::{
    Column, CsvDocument, CsvReader, CsvRows, DecodeError, FIELDS_MAX, FormDocument, FormReader, JsonRows, KEYS_MAX,
    Kind, Rewrite, Scan,
};
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_testkit::Database;

/// How many parts there are in the larger of two attempts: as many as a head has room for.
const PARTS: usize = 20_000;

/// Does something with half of so many parts, and with all.
fn in_proportion<T>(what: &str, parts: usize, prepare: impl Fn(usize) -> T, work: impl Fn(&T)) {
    let steps = |parts: usize| {
        let prepared = prepare(parts);
        let before = STEPS.get();
        work(&prepared);
        STEPS.get() - before
    };
    // what is made once has been made
    steps(parts / 2);
    let (once, twice) = (steps(parts / 2), steps(parts));
    println!("{what}: {once} steps, of twice as much {twice}");
    assert!(once >= parts as u64 / 4, "{what}: {once} steps are too few to be all");
    assert!(twice * 10 <= once * 22, "{what}: {once} steps, of twice as much {twice}");
}

/// So many parts, each made of its number.
fn list(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

/// Whether a read is planned, as far as its SQL.
fn planned(catalog: &Catalog, path: &str, query: &str) -> bool {
    let params = Params::decode(query).unwrap();
    let target = match path.strip_prefix("/rpc/") {
        Some(name) => Target::Function(name),
        None => Target::Relation(&path[1..]),
    };
    let request = request(Action::Read, target, &params, &[]).unwrap();
    plan(&request, None, context(catalog)).is_ok_and(|plan| !thalweg_sql::statements(&plan, None).main.is_empty())
}

/// What cannot be bounded by its number: 25 s of a worker went into the embeds of one request once, each compared with each.
#[test]
fn planning_takes_as_many_steps_as_a_request_has_parts() {
    let database = Database::new(
        "create schema api;
         create table api.t (id int primary key, a int, data jsonb);
         create function api.f(a int default 0, b int default 0) returns int language sql immutable as 'select a + b';
         create function api.sum_of(variadic a int[]) returns bigint language sql immutable
           as 'select pg_catalog.sum(n) from pg_catalog.unnest(a) n'",
    );
    let catalog = catalog(&database.uri());
    type Query<'q> = &'q dyn Fn(usize) -> String;
    let queries: [(&str, &str, bool, Query<'_>); 6] = [
        ("windows of levels that there are not", "/t", false, &|n| list(n, "&", |at| format!("n{at:06}.limit=1"))),
        ("steps into JSON", "/t", true, &|n| format!("data{}=eq.1", list(n, "", |at| format!("->n{at:06}")))),
        ("arguments of the same name", "/rpc/sum_of", true, &|n| list(n, "&", |_| "a=1".to_owned())),
        ("arguments of different names", "/rpc/f", false, &|n| list(n, "&", |at| format!("n{at:06}=1"))),
        ("elements", "/t", true, &|n| format!("id=in.({})", list(n, ",", |at| format!("{at:06}")))),
        ("quoted elements", "/t", true, &|n| format!("and=(a.in.({}))", list(n, ",", |_| "\"\\".to_owned()))),
    ];
    for (what, path, is_planned, query) in queries {
        in_proportion(what, PARTS, query, |query| assert_eq!(planned(&catalog, path, query), is_planned, "{what}"));
    }
    let prepare = |n: usize| {
        let keys = (0..n).map(|at| (format!("n{at:06}"), serde_json::Value::Null)).collect();
        (serde_json::Value::Object(keys), format!("columns={}", list(n, ",", |at| format!("n{at:06}"))), n)
    };
    in_proportion("columns", PARTS, prepare, |(body, columns, n)| {
        let params = Params::decode(columns).unwrap();
        let request = request(Action::Insert, Target::Relation("t"), &params, &[]).unwrap();
        assert_eq!(request.keys(payload(body).as_ref()).len(), *n);
    });
}

/// A name of 60,000 characters was compared with that of each function, for up to a minute of a worker.
#[test]
fn a_long_name_is_compared_with_none() {
    const FUNCTIONS: usize = 300;
    let functions = list(FUNCTIONS, ";", |at| {
        format!("create function api.some_name_some_name_some_name_{at}() returns int language sql as 'select 1'")
    });
    let database = Database::new(&format!("create schema api; create table api.t (id int); {functions}"));
    let catalog = catalog(&database.uri());
    for (path, query) in [("/rpc/", ""), ("/", ""), ("/t", "(id)")] {
        let prepare = |n: usize| {
            let name = "some_name_".repeat(n);
            if query.is_empty() {
                (format!("{path}{name}"), String::new())
            } else {
                (path.to_owned(), format!("select={name}{query}"))
            }
        };
        in_proportion(path, 12_000, prepare, |(path, query)| assert!(!planned(&catalog, path, query)));
    }
}

/// Reads a body in chunks of ten bytes, each of which a client can send by itself.
fn in_pieces<E: std::fmt::Debug>(body: &[u8], feed: impl FnMut(&[u8]) -> Result<(), E>) {
    body.chunks(10).try_for_each(feed).unwrap();
}

/// Makes other text of a body, which is taken when there is enough of it, as the server does.
fn rewrite(mut rewrite: impl Rewrite, body: &str) -> usize {
    let mut made = 0;
    in_pieces(body.as_bytes(), |piece| {
        rewrite.feed(piece)?;
        if rewrite.ready_bytes() >= 48 * 1024 {
            made += rewrite.take().len();
        }
        Ok::<(), DecodeError>(())
    });
    rewrite.finish().unwrap();
    made + rewrite.take().len()
}

fn object(mut keys: impl Iterator<Item = usize>) -> String {
    let first = keys.next().map(|at| format!("\"k{at:06}\":1")).unwrap_or_default();
    format!("{{{first}{}}}", keys.map(|at| format!(",\"k{at:06}\":1")).collect::<String>())
}

/// 120,000 keys, each compared with all before it, took eight seconds. That the parts of a form are found by looking at each byte
/// once is asserted beside the code that does it.
#[test]
fn bodies_are_read_in_as_many_steps_as_they_have_parts() {
    in_proportion(
        "keys",
        KEYS_MAX,
        |n| object(0..n),
        |body| {
            let mut scan = Scan::new(false);
            in_pieces(body.as_bytes(), |piece| scan.feed(piece));
            scan.finish().unwrap();
        },
    );
    let later = |n: usize| format!("[{{\"k000001\":1}},{}]", object(0..n));
    in_proportion("keys of a later row", PARTS, later, |body| {
        let mut scan = Scan::new(false);
        in_pieces(body.as_bytes(), |piece| scan.feed(piece));
        scan.finish().unwrap();
    });
    let columns =
        |n: usize| (0..n).map(|at| Column { name: format!("k{at:06}"), kind: Kind::Text }).collect::<Vec<_>>();
    let in_the_worst_order = |n: usize| (columns(n), format!("[{0},{0}]", object((0..n).rev())));
    in_proportion("rows in the worst order", 1_600, in_the_worst_order, |(columns, body)| {
        let columns = columns.iter().map(|column| Column { name: column.name.clone(), kind: column.kind }).collect();
        assert!(rewrite(JsonRows::new(columns, false, false), body) > 0);
    });
    in_proportion(
        "fields of a form",
        FIELDS_MAX,
        |n| list(n, "&", |at| format!("k{at:06}=%41")),
        |body| {
            let (mut pairs, mut document) = (FormReader::default(), FormDocument::default());
            in_pieces(body.as_bytes(), |piece| pairs.feed(piece));
            in_pieces(body.as_bytes(), |piece| document.feed(piece));
            pairs.finish();
            document.finish().unwrap();
            assert_eq!(pairs.pairs().len(), body.split('&').count());
        },
    );
    let csv = |n: usize| {
        format!("{}\n{}\n", list(n, ",", |at| format!("k{at:06}")), list(n, ",", |_| "\"x\"\"\"".to_owned()))
    };
    in_proportion("columns of CSV", 1_600, csv, |body| {
        let mut reader = CsvReader::default();
        in_pieces(body.as_bytes(), |piece| reader.feed(piece));
        reader.finish().unwrap();
        let header = reader.header().unwrap();
        let reversed: Vec<String> = header.iter().rev().cloned().collect();
        assert!(rewrite(CsvRows::new(&reversed, header), body) > 0);
        assert!(rewrite(CsvDocument::default(), body) > 0);
    });
}
