//! Values that look like something else, rows that are odd, and what a database does wrong, on pages.

use super::{SCHEMA, database, serve, site};
use crate::served::{GRANTS, Served, config};
use crate::signed::{token, with_secret};
use serde_json::json;
use thalweg_server::Config;
use thalweg_testkit::Database;

/// What a value says is never read as a filter, even of a function, whose arguments and filters stand side by side.
#[test]
fn an_argument_is_never_a_filter() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.titled(wanted text default null, title text default null) returns setof api.flights language sql stable
           as $$ select * from api.flights where flights.title = wanted or wanted is null $$;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let text = "+++\nf = \"/rpc/titled?wanted={t}&order=id\"\ng = \"/rpc/titled?title={t}&order=id\"\n+++\n\
                {% for x in f %}{{ x.id }}{% endfor %};{% for x in g %}{{ x.id }}{% endfor %}";
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    assert_eq!(served.get("/?t=First").text(), "1;123");
    for value in ["neq.x", "not.is.null", "in.(First)", "is.null", "eq.First", "gt.A", "like.*", "fts.First", "(First)"]
    {
        let response = served.get(&format!("/?t={value}"));
        assert_eq!((response.status, response.text()), (200, ";123"), "{value}");
    }
}

/// `db-max-rows` is for who asks the API: a page's author says how many rows it shows.
#[test]
fn a_limit_of_the_apis_rows_loses_none_of_a_page() {
    let database = database();
    let text = "+++\nall = \"/flights?order=id\"\nlist = { rows = \"/flights?order=id\", per_page = 2, count = \"exact\" }\n+++\n\
                {% for f in all %}{{ f.id }}{% endfor %};{% for f in list %}{{ f.id }}{% endfor %};{{ list.next }}";
    let folder = site(&[("index.html", text)]);
    let config = Config { pages_dir: Some(folder.path().to_owned()), db_max_rows: Some(1), ..config(&database.uri()) };
    let served = Served::start(config);
    assert_eq!(served.get("/").text(), "123;12;/?page=2");
    assert_eq!(served.get("/?page=2").text(), "123;3;");
    assert_eq!(served.get("/api/flights").json().as_array().unwrap().len(), 1);
}

/// One row that somebody has written takes no page away from others.
#[test]
fn a_value_that_cannot_be_read_is_shown_as_it_is() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let database = Database::new(&format!(
        "create schema api;
         create table api.odd (id int primary key, j jsonb, d date);
         insert into api.odd values (1, '{{\"n\": 1e400}}', '1000000-01-01'), (2, '{deep}', '5874897-12-31'), (3, '{{\"n\": 1}}', '0044-03-15 BC');
         {GRANTS}"
    ));
    let text = "+++\nodd = \"/odd?order=id\"\n+++\n{% for o in odd %}{{ o.j.n }}{{ o.d|date }};{% endfor %}";
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    assert_eq!(served.get("/").text(), "1000000-01-01;5874897-12-31;1Mar 15, 44 BC;");
}

/// What a function or a view does wrong is told to the log, and not to visitors.
#[test]
fn a_fault_of_the_database_is_the_sites_own() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.broken() returns int language plpgsql stable as $$ begin return (select 1 from private_stuff); end $$;
         create view api.divided as select 1 / (id - 1) as x from api.flights;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let (served, _folder) = serve(
        &database,
        &[
            ("a.html", "+++\nx = \"/rpc/broken\"\n+++\n{{ x }}"),
            ("b.html", "+++\nx = \"/divided\"\n+++\n{% for y in x %}{{ y.x }}{% endfor %}"),
        ],
    );
    for path in ["/a", "/b"] {
        let response = served.get(path);
        assert_eq!(response.status, 500, "{path}");
        assert!(!response.text().contains("private_stuff") && !response.text().contains("zero"), "{}", response.text());
    }
}

/// A token whose role is not there is refused on pages as by the API: it is no fault of the site.
#[test]
fn a_role_that_is_not_there_is_refused() {
    let database = database();
    let folder = site(&[("index.html", "+++\nf = \"/flights\"\n+++\n{{ f|length }}")]);
    let pages_dir = Some(folder.path().to_owned());
    let served = Served::start(Config { pages_dir, ..with_secret(&database.uri()) });
    for role in ["nobody_at_all", "none"] {
        let bearer = format!("Bearer {}", token(&json!({"role": role})));
        for path in ["/", "/api/flights"] {
            let response = served.request("GET", path, &[("Authorization", &bearer)]);
            assert_eq!(response.status, 401, "{role} {path}: {}", response.text());
        }
    }
}

/// Which of several functions is called depends on what an address leaves out: that none takes the rest is the site's mistake, and the names
/// of others are nobody's business.
#[test]
fn an_argument_that_is_left_out_tells_of_no_function() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.found() returns int language sql immutable as $$ select 0 $$;
         create function api.found(a int, b int) returns int language sql immutable as $$ select a + b $$;
         create function api.listed() returns int language sql immutable as $$ select 0 $$;
         create function api.listed(a int, c text default '') returns int language sql immutable as $$ select a $$;
         create function api.listed(a int, d bool default true) returns int language sql immutable as $$ select a $$;
         create function api.listed(a int, b int) returns int language sql immutable as $$ select a + b $$;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let page = |name: &str| format!("+++\nx = \"/rpc/{name}?a={{a?}}&b={{b?}}\"\n+++\n{{{{ x }}}}");
    let (served, _folder) = serve(&database, &[("found.html", &page("found")), ("listed.html", &page("listed"))]);
    for path in ["/found", "/listed"] {
        assert_eq!(served.get(path).text(), "0");
        assert_eq!(served.get(&format!("{path}?a=1&b=2")).text(), "3");
        let response = served.get(&format!("{path}?a=1"));
        assert_eq!(response.status, 500, "{path}: {}", response.text());
        assert!(!response.text().contains("api."), "{path}: {}", response.text());
    }
}

/// A template that runs over the parameters of an address looks each up among all, of which a head has room for twenty thousand.
#[test]
fn an_address_has_so_many_parameters() {
    let database = database();
    let text = "{% for name in request.query %}{{ request.query[name] }}{% endfor %}";
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    let address = |count: usize| (0..count).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    assert_eq!(served.get(&format!("/?{}", address(1_000))).text(), "1".repeat(1_000));
    let response = served.get(&format!("/?{}", address(1_001)));
    assert_eq!(response.status, 400);
    assert!(response.text().contains("TWG11"), "{}", response.text());
}
