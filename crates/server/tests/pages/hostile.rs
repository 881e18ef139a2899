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
    // what no float is so large as is its digits
    let large = format!("1{}", "0".repeat(400));
    assert_eq!(served.get("/").text(), format!("{large}1000000-01-01;5874897-12-31;1Mar 15, 44 BC;"));
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

/// What a visitor searches for may be no pattern, or no value, which is no fault of the site; one in a function of the site is.
#[test]
fn what_is_no_pattern_or_no_value_is_the_visitors() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create table api.lasts (days int4range);
         insert into api.lasts values ('[1,5)');
         create function api.odd(n int) returns bool language plpgsql stable as $$ begin return 'a' ~ repeat('(', n); end $$;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let page = |request: &str| format!("+++\nf = \"{request}\"\n+++\n{{{{ f|length }}}}");
    let (served, _folder) = serve(
        &database,
        &[
            ("like.html", &page("/flights?title=like.{q}")),
            ("match.html", &page("/flights?title=imatch.{q}")),
            ("fts.html", &page("/flights?or=(title.fts.{q},id.eq.0)")),
            ("odd.html", &page("/rpc/odd?n={q}")),
            ("when.html", &page("/flights?launched_at=gte.{q}")),
            ("meta.html", &page("/flights?meta=cs.{q}")),
            ("lasts.html", &page("/lasts?days=ov.{q}")),
            ("error.html", "{{ error.code }}"),
            ("404.html", "{{ error.code }}"),
        ],
    );
    for (path, status, said) in [
        ("/like?q=First", 200, "1"),
        ("/like?q=%5C", 400, "22025"),
        ("/match?q=first", 200, "1"),
        ("/match?q=(", 400, "2201B"),
        ("/match?q=a%7B9999%7D", 400, "2201B"),
        ("/fts?q=first", 200, "1"),
        ("/fts?q=a%20b", 400, "42601"),
        ("/fts?q='", 400, "42601"),
        ("/odd?q=1", 500, "TWG09"),
        ("/when?q=2026-05-01%2012:00%20Europe/Zurich", 200, "2"),
        ("/when?q=2026-05-01%2012:00%20No/Where", 404, "TWG10"),
        ("/meta?q=%7B%22glider%22:%22Alpina%22%7D", 200, "1"),
        ("/meta?q=%22%5Cu0000%22", 404, "TWG10"),
        ("/lasts?q=%5B1,3)", 200, "1"),
        ("/lasts?q=%5B3,1)", 404, "TWG10"),
    ] {
        let response = served.get(path);
        assert_eq!((response.status, response.text()), (status, said), "{path}");
    }
}

/// A loop that is written from the bytes shows what the engine shows, which runs it where something is set within: of odd values, of rows
/// within rows, of rows that are not there, and where a filter does not take a value.
#[test]
fn a_loop_without_the_engine_shows_what_the_engine_shows() {
    let values = [
        ("int8", "'-9223372036854775808', '9223372036854775807', '0', null"),
        ("int2", "'-32768', '32767', '-0', null"),
        ("numeric", "'NaN', '-Infinity', '1e-20', '12345678901234567890.10', '-0.00', '100', null"),
        ("float8", "'NaN', '-Infinity', '-0', '5e-324', '1e15', '1e22', '0.1', '-12.50', null"),
        ("float4", "'NaN', 'Infinity', '-0', '0.1', '16777216', '1e-45', null"),
        ("date", "'infinity', '-infinity', '0044-03-15 BC', '0001-01-01', '9999-12-31', '5874897-12-31', null"),
        (
            "timestamp",
            "'infinity', '4713-01-01 BC', '0001-01-01', '9999-12-31 23:59:59.999999', '294276-12-31', '1969-12-31 23:59:59.9', null",
        ),
        (
            "timestamptz",
            "'-infinity', '4713-01-01 BC', '0001-01-01Z', '9999-12-31 23:59:59Z', '2026-03-29 01:30Z', '1883-11-18 12:00Z', null",
        ),
        ("time", "'24:00', '00:00', '12:34:56.789', null"),
        ("timetz", "'24:00+14', '00:00-14', null"),
        ("interval", "'-1 year 2 days', '0', '1.000001 s', null"),
        ("bool", "'t', 'f', null"),
        ("text", "'', '<b>&''\"', E'\\x01\\n', '007', 'true', null"),
        ("\"char\"", "'', '<', null"),
        ("jsonb", "'null', '{\"a\":{\"b\":[1,null]}}', '[]', '\"<\"', '1.0', 'false', null"),
        ("json", "'{\"a\":1,\"a\":2}', ' [1]', '1e400', null"),
        ("bytea", "'', E'\\\\x00ff', null"),
        ("text[]", "'{}', '{a,NULL,\"<\"}', '{{a,b},{c,d}}', '[0:1]={a,b}', null"),
        ("int4range", "'empty', '[1,2)', '(,)', null"),
        ("uuid", "'00000000-0000-0000-0000-000000000000', null"),
        ("inet", "'::1/64', null"),
    ];
    let mut schema = "create schema api;".to_owned();
    let mut files = Vec::new();
    let shown = [
        "{{ r.c }}",
        "{{ r.c|string|length }}{{ r.c is none }}{{ r.c is number }}{{ r.c is string }}",
        "{{ r.c|tojson }}{{ r.c|default('-') }}{{ r.c|default('-', true) }}",
        "{{ 1 if r.c else 0 }}{{ r.c == 0 }}{{ r.c < 1 }}{{ r.c == none }}{{ r.c ~ 'x' if not r.c }}",
        "{{ r.c.a.b }}{{ r.c.a is defined }}{{ r.c.a.b is undefined }}",
        "{{ r.c|number }}",
        "{{ r.c|number(2) }}",
        "{{ r.c|bytes }}",
        "{{ r.c|date }}",
        "{{ r.c|time('short') }}",
        "{{ r.c|datetime('full', zone='Europe/Zurich') }}",
        "{{ r.c|date('%Y-%m-%d') }}",
        "{{ r.one.c }}{{ r.one.c|date }}{{ 1 if r.one else 0 }}{{ r.one is none }}{{ r.one.c is defined }}{{ r.one.two.c|tojson }}",
        "{% for s in r.many %}{{ loop.index }}{{ s.c }}{{ s.c|datetime }}{{ s.c|tojson }}{{ r.n }}{{ 1 if s.one else 0 }}{{ s.one.c }},{% else %}none{% endfor %}",
        "{% for s in r.one.many %}{{ loop.last }}{{ s.c|default('-') }}{% else %}none{% endfor %}",
    ];
    for (at, (name, values)) in values.iter().enumerate() {
        let rows: Vec<String> = values.split(", ").enumerate().map(|(n, value)| format!("({n}, {value})")).collect();
        let count = rows.len();
        schema += &format!(
            "create table api.t{at} (n int primary key, c {name}, up int references api.t{at});
             insert into api.t{at} (n, c) values {};
             update api.t{at} set up = (n + 1) % {count} where n % 3 <> 1;",
            rows.join(", ")
        );
        // what is no document has no members
        let shown = shown.iter().enumerate().filter(|(_, text)| name.starts_with("json") || !text.contains("r.c.a"));
        for (number, text) in shown {
            let request = format!(
                "/t{at}?select=n,c,one:up(c,two:up(c),many:t{at}(c)),many:t{at}(n,c,one:up(c))&order=n&many.order=n&one.many.order=n"
            );
            for (kind, set) in [("direct", ""), ("engine", "{% set x = 1 %}")] {
                let page = format!("+++\nrows = \"{request}\"\n+++\n{{% for r in rows %}}{set}{text};\n{{% endfor %}}");
                files.push((format!("{at}/{number}/{kind}.html"), page));
            }
        }
    }
    let database = Database::new(&format!("{schema}{GRANTS}"));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let (served, _folder) = serve(&database, &files);
    let (mut different, mut made) = (Vec::new(), 0);
    for (at, number) in (0..values.len()).flat_map(|at| (0..shown.len()).map(move |number| (at, number))) {
        let [direct, engine] = ["direct", "engine"].map(|kind| served.get(&format!("/{at}/{number}/{kind}")));
        made += usize::from(direct.status == 200);
        if (direct.status, direct.text()) != (engine.status, engine.text()) {
            let (direct, engine) = (direct.text(), engine.text());
            different.push(format!("{} {}: {direct} and not {engine}", values[at].0, shown[number]));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    // filters refuse some, and so does the engine
    assert!(made > 100, "only {made} pages were made");
}
