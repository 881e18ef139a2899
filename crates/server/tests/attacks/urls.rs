//! Requests that are short and cost much: what each bound lets pass and refuses. That planning takes as many steps as a request
//! has parts is counted in `crates/gauge/tests/counted/steps.rs`.

use crate::planned::{catalog, context, request};
use crate::served::{GRANTS, Served};
use thalweg_catalog::Catalog;
use thalweg_plan::plan;
use thalweg_request::{Action, EMBED_LEVELS_MAX, EMBEDS_MAX, NESTING_LEVELS_MAX, ORDER_TERMS_MAX, Params, Target};
use thalweg_testkit::{Database, Response};

const TABLES: &str = "
    create schema api;
    create table api.parents (id int primary key, name text, data jsonb);
    create table api.t (id int primary key, parent_id int references api.parents, a int, data jsonb);
    create table api.children (id int primary key, t_id int references api.t, a int);
    insert into api.parents values (1, 'p', '{}'); insert into api.t values (1, 1, 1, '{}');
    insert into api.children values (1, 1, 1);
    create function api.f(a int default 0, b int default 0) returns int language sql immutable as 'select a + b';
    create function api.sum_of(variadic a int[]) returns bigint language sql immutable
      as 'select pg_catalog.sum(n) from pg_catalog.unnest(a) n';
";

fn served() -> (Database, Served) {
    let database = Database::new(&format!("{TABLES}{GRANTS}"));
    let served = Served::database(&database.uri());
    (database, served)
}

/// `count` parts, each made of its number.
fn parts(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

fn status_and_code(response: &Response) -> (u16, String) {
    let code = response.json()["code"].as_str().map(str::to_owned);
    (response.status, code.unwrap_or_default())
}

/// 2,900 embeds and as many filters in 56 KiB took 25 s of a worker, and 500 embeds all memory of the database's machine.
#[test]
fn there_are_as_many_embeds_as_there_may_be() {
    let (_database, served) = served();
    let select =
        |count: usize, target: &str| format!("/t?select=id,{}", parts(count, ",", |at| format!("e{at}:{target}")));
    for target in ["parents(id)", "children(id)", "parents!inner(id)", "children!inner(id)", "...parents(id)"] {
        let target = if target.starts_with("...") { "parents(id,...t!inner(id))" } else { target };
        let each = 1 + target.matches("...").count();
        let most = EMBEDS_MAX / each;
        assert_eq!(served.get(&select(most, target)).status, 200, "{target}");
        let response = served.get(&select(most + 1, target));
        assert_eq!(status_and_code(&response), (400, "TWG01".to_owned()), "{target}");
        let json = response.json();
        assert_eq!(json["message"], "The request has more than 100 embeds");
        assert_eq!(json["details"], "At all levels together there may be 100.");
        assert_eq!(json["hint"], "Ask for some of them in a request of its own.");
    }
}

#[test]
fn levels_are_as_deep_as_they_may_be() {
    let (_database, served) = served();
    let nested = |levels: usize, end: &str| {
        let open: String = (0..levels).map(|at| if at % 2 == 0 { "parents(" } else { "t(" }).collect();
        format!("/t?select={open}id{}", end.repeat(levels))
    };
    assert_eq!(served.get(&nested(EMBED_LEVELS_MAX, ")")).status, 200);
    let response = served.get(&nested(EMBED_LEVELS_MAX + 1, ")"));
    assert_eq!(status_and_code(&response), (400, "TWG05".to_owned()));
    assert_eq!(response.json()["message"], "The request has more than 20 levels of embeds");
    let tree = |levels: usize| format!("/t?and={}(a.eq.1){}", "(and".repeat(levels - 1), ")".repeat(levels - 1));
    assert_eq!(served.get(&tree(NESTING_LEVELS_MAX)).status, 200);
    assert_eq!(status_and_code(&served.get(&tree(NESTING_LEVELS_MAX + 1))), (400, "PGRST100".to_owned()));
    // what is far deeper than the stack of a worker is refused at the same place
    assert_eq!(status_and_code(&served.get(&nested(10_000, ""))), (400, "TWG05".to_owned()));
    let deep = format!("/t?and={}", "(and".repeat(15_000));
    assert_eq!(status_and_code(&served.get(&deep)), (400, "PGRST100".to_owned()));
    // the database has the bound of these
    let steps = |count: usize| format!("/t?select=data{}", "->a".repeat(count));
    assert_eq!(served.get(&steps(100)).status, 200);
    assert_eq!(served.get("/t?limit=1").status, 200);
}

/// An asterisk is all columns of a relation: 30,000 of them are one request, and were gigabytes.
#[test]
fn as_many_values_are_selected_as_may_be() {
    let (_database, served) = served();
    // three columns each, of which the object has each once
    let stars = |count: usize| format!("/t?select=parents({})", parts(count, ",", |_| "*".to_owned()));
    assert_eq!(served.get(&stars(3_333)).text(), r#"[{"parents":{"id":1,"data":{},"name":"p"}}]"#);
    let response = served.get(&stars(3_334));
    assert_eq!(status_and_code(&response), (400, "TWG02".to_owned()));
    assert_eq!(response.json()["message"], "The request selects more than 10000 values");
    // each level that is lifted has all that is below it
    let lifted = |levels: usize| {
        let open: String = (0..levels).map(|at| if at % 2 == 0 { "...parents(" } else { "...t(" }).collect();
        format!("/t?select={open}{}{}", parts(1_600, ",", |_| "id".to_owned()), ")".repeat(levels))
    };
    assert_ne!(status_and_code(&served.get(&lifted(5))).1, "TWG02");
    assert_eq!(status_and_code(&served.get(&lifted(6))), (400, "TWG02".to_owned()));
    // one level has as many as PostgreSQL's rows
    let columns = |count: usize| format!("/t?select={}", parts(count, ",", |_| "a".to_owned()));
    assert_eq!(served.get(&columns(1_664)).status, 200);
    assert_eq!(status_and_code(&served.get(&columns(1_665))).1, "54011");
}

/// Each condition that asks for rows of a to-many embed has the embed's own: 3,000 and 3,000 were nine million, and three
/// on each of ten levels sixty thousand subqueries.
#[test]
fn embeds_are_asked_for_under_as_many_conditions_as_may_be() {
    let (_database, served) = served();
    let asked = |times: usize, filters: usize| {
        let asks = parts(times, "&", |_| "c=not.is.null".to_owned());
        format!("/t?select=id,c:children(id)&{asks}&{}", parts(filters, "&", |_| "c.a=gt.0".to_owned()))
    };
    // each asks under 99 conditions and is one itself
    assert_eq!(served.get(&asked(10, 99)).text(), r#"[{"id":1,"c":[{"id":1}]}]"#);
    let response = served.get(&asked(11, 90));
    assert_eq!(status_and_code(&response), (400, "TWG03".to_owned()));
    assert_eq!(response.json()["message"], "The request asks for the rows of embeds under more than 1000 conditions");
    let (mut select, mut asks, mut path) = ("id".to_owned(), String::new(), String::new());
    for _ in 0..EMBED_LEVELS_MAX / 2 {
        select = format!("id,c:children(id,t!inner({select}))");
        path.push_str(if path.is_empty() { "c" } else { ".t.c" });
        asks.push_str(&format!("&{path}=not.is.null").repeat(3));
    }
    assert_eq!(status_and_code(&served.get(&format!("/t?select={select}{asks}"))), (400, "TWG03".to_owned()));
}

#[test]
fn there_are_as_many_terms_of_orders_as_there_may_be() {
    let (_database, served) = served();
    let ordered = |terms: usize| format!("/t?select=id&order={}", parts(terms, ",", |at| format!("data->n{at}")));
    assert_eq!(served.get(&ordered(ORDER_TERMS_MAX)).text(), r#"[{"id":1}]"#);
    let response = served.get(&ordered(ORDER_TERMS_MAX + 1));
    assert_eq!(status_and_code(&response), (400, "TWG04".to_owned()));
    assert_eq!(response.json()["message"], "The request orders by more than 1000 terms");
    // the same embed's column more than once
    assert_eq!(served.get("/t?select=id,parents(name)&order=parents(name),parents(name).desc").status, 200);
}

/// PostgreSQL tries orders of joins: 30 by one column took it 2.9 s and a gigabyte, so that it is kept from it.
#[test]
fn few_joins_may_be_put_into_another_order() {
    let (database, served) = served();
    let catalog = catalog(&database.uri());
    let fences =
        |query: &str| texts(&catalog, query).iter().map(|text| text.matches(" OFFSET 0").count()).sum::<usize>();
    let select =
        |count: usize, target: &str| format!("select=id,{}", parts(count, ",", |at| format!("e{at}:{target}")));
    assert_eq!(fences(&select(2, "parents!inner(id)")), 0);
    assert_eq!(fences(&select(30, "parents!inner(id)")), 28);
    assert_eq!(fences(&select(4, "children!inner(id)")), 0);
    assert_eq!(fences(&select(30, "children!inner(id)")), 26);
    assert_eq!(fences(&select(30, "children(id)")), 0);
    // the rows are the same, in the same order, whatever is asked of those that are kept from it
    database.execute("insert into api.parents values (2, 'q'); insert into api.t values (2, 2), (3, null)");
    for (join, rest, rows) in [
        ("", "order=id", 3),
        ("!inner", "order=e3(name).desc", 2),
        ("", "e3.name=eq.q&e3=not.is.null", 1),
        ("", "e3=is.null", 1),
        ("", "e3.limit=1&order=id", 3),
    ] {
        let embed = format!("parents{join}(name)");
        let (alone, among) =
            (format!("select=id,e3:{embed}&id=gt.0&{rest}"), format!("{}&id=gt.0&{rest}", select(4, &embed)));
        assert_eq!((fences(&alone), fences(&among)), (0, 2), "{among}");
        let found = |query: &str| {
            let json = served.get(&format!("/t?{query}")).json();
            let rows = json.as_array().unwrap().iter();
            rows.map(|row| (row["id"].clone(), row["e3"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(found(&among), found(&alone), "{among}");
        assert_eq!(found(&alone).len(), rows, "{alone}");
    }
    // of each array by itself
    let within = "children(id,t(id,a:parents(id),b:parents(id)))";
    assert_eq!(fences(&format!("select=id,c:{within},d:{within}&id=eq.1")), 0);
}

/// A name of 60,000 characters was compared with that of each function, for up to a minute of a worker.
#[test]
fn a_long_name_is_compared_with_none() {
    let functions: String = (0..1_000)
        .map(|at| {
            format!("create function api.some_name_some_name_some_name_{at}() returns int language sql as 'select 1';")
        })
        .collect();
    let database = Database::new(&format!("{TABLES}{functions}{GRANTS}"));
    let served = Served::database(&database.uri());
    let long = "some_name_".repeat(6_000);
    for target in [format!("/rpc/{long}"), format!("/{long}"), format!("/t?select={long}(id)")] {
        let response = served.get(&target);
        assert!(matches!(response.status, 400 | 404), "{}", response.status);
        assert_eq!(response.json()["hint"], serde_json::Value::Null);
    }
    let response = served.get("/rpc/some_name_some_name_some_name_x");
    assert_eq!(status_and_code(&response), (404, "PGRST202".to_owned()));
    assert!(response.json()["hint"].as_str().is_some_and(|hint| hint.contains("some_name_some_name_some_name_")));
}

/// The statements of a read of `t`.
fn texts(catalog: &Catalog, query: &str) -> Vec<String> {
    let params = Params::decode(query).unwrap();
    let request = request(Action::Read, Target::Relation("t"), &params, &[]).unwrap();
    let plan = plan(&request, None, context(catalog)).unwrap();
    thalweg_sql::statements(&plan, None).main.into_iter().map(|(_, statement)| statement.text).collect()
}
