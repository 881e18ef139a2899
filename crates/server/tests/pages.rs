//! Pages of a site: what they show, what they fetch, and whose rows they are.

mod asked;
mod hostile;
mod names;
mod narrowed;

use crate::round_trips::transactions;
use crate::served::{GRANTS, Served, config, eventually};
use crate::signed::{token, with_secret};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use thalweg_server::{Config, Server, Visitor};
use thalweg_testkit::{Database, Proxy};

const SCHEMA: &str = "
    create schema api;
    create table api.pilots (id int primary key, name text not null, photo bytea);
    create table api.sites (id int primary key, name text not null);
    create table api.flights (id int primary key, title text not null, pilot_id int not null references api.pilots,
      site_id int references api.sites, launched_at timestamptz, distance_km numeric(8,2), is_public bool not null default true,
      tags text[] not null default '{}', meta jsonb, track bytea);
    create function api.longer(api.flights) returns numeric language sql stable as $$ select $1.distance_km * 2 $$;
    create function api.add_them(a int, b int) returns int language sql immutable as $$ select a + b $$;
    create function api.words() returns setof text language sql immutable as $$ values ('one'), ('two & three') $$;
    create function api.longest() returns api.flights language sql stable
      as $$ select * from api.flights order by distance_km desc nulls last limit 1 $$;
    create function api.of_pilot(pilot int) returns setof api.flights language sql stable
      as $$ select * from api.flights where pilot_id = pilot $$;
    create function api.statistics() returns table (n bigint, farthest numeric) language sql stable
      as $$ select count(*), max(distance_km) from api.flights $$;
    create function api.nothing() returns void language sql stable as $$ select $$;
    insert into api.pilots values (1, 'Anna & Co'), (2, 'Ben'), (3, 'Nobody');
    insert into api.sites values (1, 'Fiesch'), (2, 'Bassano <east>');
    insert into api.flights (id, title, pilot_id, site_id, launched_at, distance_km, is_public, tags, meta, track) values
      (1, 'First', 1, 1, '2026-05-01T10:00Z', 12.50, true, '{alps,\"first, one\"}', '{\"glider\": \"Alpina\", \"class\": {\"en\": \"C\"}}', '\\x00ff'),
      (2, '<b>Second</b>', 1, null, null, 100, false, '{}', null, null),
      (3, 'Third, \"quoted\"', 2, 2, '2026-06-01T10:30:15.5Z', null, true, '{x}', '[1,2]', '\\x01');
";

/// A site of these files.
fn site(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A server of a site on a database.
fn serve(database: &Database, files: &[(&str, &str)]) -> (Served, TempDir) {
    let folder = site(files);
    let served = Served::start(Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) });
    (served, folder)
}

/// What a page of this text says.
fn page(database: &Database, text: &str) -> String {
    let (served, _folder) = serve(database, &[("index.html", text)]);
    let response = served.get("/");
    assert_eq!(response.status, 200, "{}", response.text());
    response.text().to_owned()
}

/// Whether two values are equal, as numbers are: 12.0 is 12.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

fn database() -> Database {
    Database::new(&format!("{SCHEMA}{GRANTS}"))
}

#[test]
fn a_page_shows_the_rows_of_its_queries() {
    let list = r#"+++
flights = "/flights?select=*,pilot:pilots(*),sites(name)&order=id"
longest = { one = "/flights?order=distance_km.desc.nullslast" }
+++
{% extends "_layout.html" %}
{% block body %}{% for flight in flights %}{{ loop.index }} {{ flight.title }} {{ flight.pilot.name }} {{ flight.sites.name }} {{ flight.launched_at }} {{ flight.distance_km }} {{ flight.is_public }} {{ flight.tags|join("+") }} {{ flight.meta.class.en }}
{% endfor %}{{ longest.title }}{% endblock %}"#;
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[
            ("flights/index.html", list),
            ("_layout.html", "<title>{{ flights|length }}</title>{% block body %}{% endblock %}|{{ role }}"),
        ],
    );
    let response = served.get("/flights");
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(
        response.text(),
        "<title>3</title>1 First Anna &amp; Co Fiesch 2026-05-01T10:00:00+00:00 12.5 true alps+first, one C\n\
         2 &lt;b&gt;Second&lt;/b&gt; Anna &amp; Co   100 false  \n\
         3 Third, &quot;quoted&quot; Ben Bassano &lt;east&gt; 2026-06-01T10:30:15.5+00:00  true x \n\
         &lt;b&gt;Second&lt;/b&gt;|test_reader"
    );
}

#[test]
fn a_page_fetches_only_what_it_shows() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}update api.flights set track = decode(repeat('00', 1000000), 'hex');
         update api.pilots set photo = decode(repeat('00', 1000000), 'hex');"
    ));
    let (proxy, uri) = Proxy::before(&database.uri());
    let rows = "+++\nflights = \"/flights?select=*,pilots(*)\"\n+++\n";
    let pages = [
        ("shown.html", "{% for flight in flights %}{{ flight.title }} {{ flight.pilots.name }}{% endfor %}"),
        ("counted.html", "{{ flights|length }}"),
        // all columns but the large ones
        ("whole.html", "{% for flight in flights %}{{ flight }}{% endfor %}"),
        (
            "named.html",
            "{% set name = \"title\" %}{% for flight in flights %}{{ flight[request.query.column] }}{% endfor %}",
        ),
        ("large.html", "{% for flight in flights %}{{ flight.track|length }} {{ flight.pilots.name }}{% endfor %}"),
    ];
    let pages = pages.map(|(name, text)| (name, format!("{rows}{text}")));
    let files: Vec<(&str, &str)> = pages.iter().map(|(name, text)| (*name, &**text)).collect();
    let folder = site(&files);
    let served = Served::start(Config {
        pages_dir: Some(folder.path().to_owned()),
        db_pool: 1,
        db_channel_enabled: false,
        ..config(&uri)
    });
    for (path, bytes_max) in [("/shown", 2_000), ("/counted", 1_000), ("/whole", 4_000), ("/named?column=title", 4_000)]
    {
        proxy.take_recorded();
        let response = served.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        let bytes = proxy.take_recorded().len();
        assert!(bytes < bytes_max, "{path}: {bytes} bytes came from PostgreSQL");
    }
    // what is named is fetched, whatever it is
    assert_eq!(served.get("/large").text(), "2000002 Anna &amp; Co".to_owned() + "2000002 Anna &amp; Co2000002 Ben");
    assert_eq!(served.get("/named?column=title").text(), "First&lt;b&gt;Second&lt;/b&gt;Third, &quot;quoted&quot;");
}

#[test]
fn all_queries_of_a_page_are_one_round_trip_in_one_snapshot() {
    let database = database();
    let (proxy, uri) = Proxy::before(&database.uri());
    let one = "+++\nflights = \"/flights\"\n+++\n{% for f in flights %}{{ f.title }}{% endfor %}";
    let many = "+++\na = { rows = \"/flights\", per_page = 2, count = \"exact\" }\nb = \"/pilots\"\nc = { one = \"/sites?id=eq.{id=1}\" }\n+++\n\
                {{ a.total }}{% for f in a %}{{ f.title }}{% endfor %}{{ b|length }}{{ c.name }}";
    let folder = site(&[("one.html", one), ("many.html", many), ("none.html", "plain")]);
    let served = Served::start(Config {
        pages_dir: Some(folder.path().to_owned()),
        db_pool: 1,
        db_channel_enabled: false,
        ..config(&uri)
    });
    for (path, counted) in [("/one", vec![1]), ("/many", vec![5]), ("/none", vec![])] {
        // the first prepares its statements
        for round in 0..3 {
            proxy.take_recorded();
            assert_eq!(served.get(path).status, 200);
            if round > 0 {
                assert_eq!(transactions(&proxy.take_recorded()), counted, "{path}");
            }
        }
    }
    assert_eq!(served.get("/many?id=2").text(), "3First&lt;b&gt;Second&lt;/b&gt;3Bassano &lt;east&gt;");
}

#[test]
fn two_people_see_their_own_rows_at_one_address() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}
         alter table api.flights enable row level security;
         create policy own on api.flights using (is_public or pilot_id = (current_setting('request.jwt.claims', true)::json->>'pilot')::int);"
    ));
    let absent = "{% if is_signed_in %}{{ claims.pilot }}{% else %}nobody{% endif %}";
    let folder = site(&[
        ("404.html", absent),
        (
            "index.html",
            "+++\nflights = \"/flights?order=id\"\nmine = \"/flights?pilot_id=eq.{claims.pilot=0}&order=id\"\n+++\n\
         {% for f in flights %}{{ f.id }} {% endfor %}/{% for f in mine %} {{ f.id }}{% endfor %} {{ claims.pilot }} {{ is_signed_in }}",
        ),
    ]);
    let pages_dir = Some(folder.path().to_owned());
    let served =
        Served::start(Config { pages_dir, session_cookie: Some("club".into()), ..with_secret(&database.uri()) });
    let seen = |pilot: Option<i32>| {
        let claims = pilot.map(|pilot| json!({"role": "test_reader", "pilot": pilot}));
        let cookie = claims.map(|claims| format!("club={}", token(&claims)));
        let headers: Vec<(&str, &str)> = cookie.iter().map(|cookie| ("Cookie", &**cookie)).collect();
        let seen = |path: &str| {
            let response = served.request("GET", path, &headers);
            let private = response.header("cache-control").unwrap().contains("private");
            assert_eq!(private, pilot.is_some(), "{path}");
            response.text().to_owned()
        };
        assert_eq!(seen("/absent"), pilot.map_or("nobody".to_owned(), |pilot| pilot.to_string()));
        seen("/")
    };
    for _ in 0..3 {
        assert_eq!(seen(Some(1)), "1 2 3 / 1 2 1 true");
        assert_eq!(seen(Some(2)), "1 3 / 3 2 true");
        assert_eq!(seen(None), "1 3 /  false");
    }
    let refused = served.request("GET", "/", &[("Cookie", "club=nonsense")]);
    assert_eq!((refused.status, refused.header("content-type")), (401, Some("text/html; charset=utf-8")));
    assert!(refused.header("set-cookie").unwrap().starts_with("club=; "));
    let absent = served.request("GET", "/absent", &[("Cookie", "club=nonsense")]);
    assert_eq!((absent.status, absent.text()), (404, "nobody"));
}

#[test]
fn what_is_not_there_is_404() {
    let one = "+++\nflight = { one = \"/flights?id=eq.{id}\" }\n+++\n{{ flight.title }}";
    let list = "+++\nflights = { rows = \"/flights?order=id&title=like.*{q=}*\", per_page = 2, page_by = \"p\" }\n+++\n\
                {% for f in flights %}{{ f.id }}{% endfor %} {{ flights.previous }} {{ flights.next }} {{ flights.total }}";
    let database = database();
    let (served, folder) = serve(
        &database,
        &[
            ("flights/[id].html", one),
            ("flights/index.html", list),
            ("a/b.html", "+++\nx = \"/flights?id=eq.{n}\"\n+++\n{{ x|length }}"),
        ],
    );
    assert_eq!(served.get("/flights/1").text(), "First");
    for (path, status) in [
        ("/flights/9", 404),
        ("/flights/x", 404),
        ("/flights/99999999999999", 404),
        ("/flights/1%27%20or%201=1", 404),
        ("/flights/1%26select=track", 404),
        ("/flights/1/2", 404),
        ("/", 404),
        ("/nothing", 404),
        ("/flights?p=0", 404),
        ("/flights?p=x", 404),
        ("/flights?p=99999999999999999999", 404),
        ("/a", 404),
        ("/a/b", 400),
        ("/flights/../flights", 400),
        ("/flights/%2e%2e/flights", 400),
        ("/flights//1", 400),
        ("/%ff", 400),
        ("/a%00", 400),
        ("/_layout", 404),
        ("/flights/[id]", 404),
        ("/flights/[id].html", 404),
    ] {
        let response = served.get(path);
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(response.text().contains(&format!("<h1>{status} ")), "{path}");
    }
    assert_eq!(served.get("/flights").text(), "12  /flights?p=2 ");
    assert_eq!(served.get("/flights?p=2&q=").text(), "3 /flights?q=  ");
    assert_eq!(served.get("/flights?q=ir").text(), "13   ");
    let moved = served.get("/flights/?q=ir");
    assert_eq!((moved.status, moved.header("location")), (308, Some("/flights?q=ir")));
    assert_eq!(served.request("POST", "/flights", &[]).status, 405);
    // the site's own, with a query of its own
    drop(served);
    let own = "+++\nsites = \"/sites?order=id\"\n+++\n{{ error.status }} {{ error.message }} {{ request.path }} {{ sites[0].name }}";
    write(folder.path(), &[("404.html", own), ("error.html", "{{ error.code }}|{{ sites|default('-') }}|{{ role }}")]);
    let served = Served::start(Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) });
    let absent = served.get("/nothing/%3Cb%3E");
    assert_eq!((absent.status, absent.text()), (404, "404 There is no such page. /nothing/%3Cb%3E Fiesch"));
    let many = served.get(&format!("/flights?{}", "a=1&".repeat(1_001)));
    assert_eq!((many.status, many.text()), (400, "TWG11|-|test_reader"));
    let missing = served.get("/a/b");
    assert_eq!((missing.status, missing.text()), (400, "TWG11|-|test_reader"));
}

#[test]
fn values_of_an_address_change_no_query() {
    let text = "+++\na = \"/flights?title=eq.{t=}&order=id\"\nb = \"/flights?title=in.({t=},x)&order=id\"\n\
                c = \"/flights?or=(title.eq.{t=},id.eq.3)&order=id\"\nd = \"/flights?tags=cs.{{{t=}}}&order=id\"\n\
                e = \"/rpc/of_pilot?pilot={n=1}&order=id\"\nf = \"/flights?limit={m=1}&order=id\"\n+++\n\
                {% for rows in [a, b, c, d, e, f] %}{% for r in rows %}{{ r.id }}{% endfor %};{% endfor %}";
    let database =
        Database::new(&format!("{SCHEMA}{GRANTS}grant execute on all functions in schema api to test_reader;"));
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    assert_eq!(served.get("/?t=First").text(), "1;1;13;;12;1;");
    assert_eq!(served.get("/?t=alps&n=2&m=2").text(), ";;3;1;3;12;");
    assert_eq!(served.get("/?t=first%2C%20one").text(), ";;3;1;12;1;");
    assert_eq!(served.get("/?t=Third%2C%20%22quoted%22").text(), "3;3;3;;12;1;");
    for hostile in [
        "x)%26select=*",
        "%22%29%2Cid.gt.0",
        "x%7D%26id=gt.0",
        "*",
        "x,1)",
        "\\%22",
        "1%2Cid.gt.0%29",
        "%27--",
        "&or=(id.gt.0)",
    ] {
        let response = served.get(&format!("/?t={hostile}"));
        assert_eq!((response.status, response.text()), (200, ";;3;;12;1;"), "{hostile}");
    }
    for hostile in ["1%20or%201=1", "1%26limit=9", "-1", "1e9", ""] {
        let response = served.get(&format!("/?n={hostile}"));
        assert!(matches!(response.status, 200 | 404 | 416), "{hostile}: {} {}", response.status, response.text());
        assert!(!response.text().starts_with(";;3;;123"), "{hostile}");
    }
    for hostile in ["1%20or%201=1", "1%26offset=9", "-1", "1e9", "abc"] {
        let response = served.get(&format!("/?m={hostile}"));
        assert_eq!(response.status, 400, "{hostile}");
        assert!(response.text().contains("TWG11"), "{hostile}: {}", response.text());
    }
}

#[test]
fn functions_give_what_they_return() {
    let database =
        Database::new(&format!("{SCHEMA}{GRANTS}grant execute on all functions in schema api to test_reader;"));
    let text = "+++\nsum = \"/rpc/add_them?a={a=1}&b=2\"\nwords = \"/rpc/words\"\nlongest = \"/rpc/longest\"\n\
                flights = { rows = \"/rpc/of_pilot?pilot=1&order=id\", count = \"exact\" }\nstatistics = { one = \"/rpc/statistics\" }\nnothing = \"/rpc/nothing\"\n+++\n\
                {{ sum + 1 }}|{% for w in words %}{{ w }},{% endfor %}|{{ longest.title }}|{{ flights.total }}{% for f in flights %} {{ f.id }}{% endfor %}|{{ statistics.n }} {{ statistics.farthest }}|{{ nothing }}|";
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    let shown = "|one,two &amp; three,|&lt;b&gt;Second&lt;/b&gt;|2 1 2|3 100||";
    assert_eq!(served.get("/").text(), format!("4{shown}"));
    assert_eq!(served.get("/?a=40").text(), format!("43{shown}"));
}

/// As templates see a value it is what the API's JSON says.
#[test]
fn values_are_those_of_the_api() {
    let database = Database::new(&format!(
        "create schema api;
         create type api.mood as enum ('sad', 'glad');
         create type api.pair as (a int, b text);
         create domain api.email as text;
         create table api.kinds (b bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, t text, c char(3), u uuid, d date, ti time,
           tt timetz, ts timestamp, tz timestamptz, iv interval, j json, jb jsonb, by bytea, m api.mood, p api.pair, e api.email, ai int[],
           at text[], aa int[], ap api.pair[], r int4range, ip inet, mo money, pt point, x xml, o oid, bi bit(3), v tsvector);
         insert into api.kinds values (true, 1, -2, 9007199254740993, 1.1, 0.1, 12.5, 'ü \"q\"', 'ab', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-11-22',
           '10:11:12.5', '10:11:12+02', '2026-11-22 10:11:12', '2026-11-22 10:11:12.25+02', '1 day 02:03:04', '{{\"a\": [1, null]}}', '{{\"b\": {{\"c\": true}}}}',
           '\\x00ff', 'glad', '(1,\"x,y\")', 'a@b.example', '{{1,null,3}}', '{{a,\"b,c\",null}}', '{{{{1,2}},{{3,4}}}}', array[(1,'x')::api.pair, null], '[1,5)', '10.0.0.1/8',
           '1.50', '(1,2)', '<a/>', 42, '101', 'a b');
         insert into api.kinds default values;
         {GRANTS}"
    ));
    let folder = site(&[("index.txt", "+++\nkinds = \"/kinds\"\n+++\n{{ kinds|tojson }}")]);
    let served = Served::start(Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) });
    let (page, api) = (served.get("/index.txt").json(), served.get("/api/kinds").json());
    let (page, api) = (page[0].as_object().unwrap(), api[0].as_object().unwrap());
    for (name, value) in api {
        // of bytes only those are fetched that are named
        if name != "by" {
            assert!(is_same(&page[name], value), "{name}: {} {value}", page[name]);
        }
    }
    assert_eq!(page.len(), api.len() - 1);
}

#[test]
fn names_that_no_column_has_stop_the_start() {
    let database = database();
    for (files, wrong) in [
        (
            vec![("a.html", "+++\nf = \"/flights\"\n+++\n\n{% for x in f %}{{ x.titel }}{% endfor %}")],
            "a.html:5:22: f has no titel; perhaps title is meant",
        ),
        (
            vec![("a.html", "+++\nf = \"/flights?select=id\"\n+++\n{% for x in f %}{{ x.title }}{% endfor %}")],
            "f has a column title, which its select leaves out",
        ),
        (
            vec![
                (
                    "a.html",
                    "+++\nf = \"/flights?select=id,pilots(name)\"\n+++\n{% for x in f %}{% include \"_p.html\" %}{% endfor %}",
                ),
                ("_p.html", "\n{{ x.pilots.nam }}"),
            ],
            "_p.html:2:13: pilots has no nam; perhaps name is meant",
        ),
        (
            vec![("a.html", "+++\nf = \"/flights\"\n+++\n{% for x in f %}{{ x.title.en }}{% endfor %}")],
            "title of f is a column, which has no en",
        ),
        (
            vec![(
                "a.html",
                "+++\np = \"/pilots?select=*,flights(*)\"\n+++\n{% for x in p %}{{ x.flights.title }}{% endfor %}",
            )],
            "a.html:4:30: flights is a list of rows: a loop finds title in each",
        ),
        (
            vec![("a.html", "+++\nf = \"/flihts\"\n+++\n")],
            "a.html: f: Could not find the table 'api.flihts' in the schema cache",
        ),
        (vec![("a.html", "+++\nf = \"/flights?select=id,nothing(name)\"\n+++\n")], "f: Could not find a relationship"),
        (vec![("a.html", "+++\nf = \"/flights?id=equals.3\"\n+++\n")], "f: \"failed to parse filter"),
        (vec![("a.html", "+++\nf = \"/rpc/add_them?a=1\"\n+++\n")], "f: Could not find the function"),
        (vec![("a.html", "+++\nf = \"/flights?titel=eq.3\"\n+++\n")], "f: no column is called titel"),
        (vec![("a.html", "+++\nf = \"/flights?order=titel\"\n+++\n")], "f: no column is called titel"),
        (
            vec![("a.html", "+++\nf = \"/flights?select=id,titel\"\n+++\n")],
            "f: no column is called titel, which it selects",
        ),
        (
            vec![("a.html", "+++\nf = \"/flights?select=id,...pilots(who:nam)\"\n+++\n{{ f[0].who }}")],
            "f: no column is called nam, which it selects",
        ),
        (
            vec![("a.html", "+++\nf = \"/flights?select=id,pilots(id)&pilots.or=(nam.eq.1,id.eq.2)\"\n+++\n")],
            "f: no column is called nam",
        ),
        (
            vec![("a.html", "+++\nf = \"/rpc/of_pilot?pilot=1&title={t=eq.1}\"\n+++\n")],
            "f: Could not find the function api.of_pilot(pilot, title)",
        ),
        (
            vec![("a.html", "+++\nf = \"/flights?id=not.{x}\"\n+++\n")],
            "a.html:2:5: f: a value stands behind an operator",
        ),
        (vec![("a.html", "{% for x in %}")], "a.html:1"),
        (vec![("a.html", "+++\nf = \"/flights\"\n+++\n{{ f.title }}")], "a.html:4:6: title is asked of a list of rows"),
    ] {
        let folder = site(&files);
        let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ended =
            runtime.block_on(async { Server::builder(config).start().await?.serve(std::future::pending()).await });
        let said = ended.unwrap_err().to_string();
        assert!(said.contains(wrong), "{files:?}: {said}");
    }
}

#[test]
fn a_column_that_goes_takes_its_page_with_it_and_no_other() {
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[
            (
                "flights.html",
                "+++\nflights = \"/flights?order=id\"\n+++\n{% for f in flights %}{{ f.title }}{% endfor %}",
            ),
            ("pilots.html", "+++\npilots = \"/pilots?order=id\"\n+++\n{% for p in pilots %}{{ p.name }}{% endfor %}"),
        ],
    );
    assert_eq!(served.get("/flights").status, 200);
    database.execute("alter table api.flights rename title to name; notify pgrst, 'reload schema';");
    eventually("the page is wrong", || served.get("/flights").status == 500);
    // whoever visits it is not told which columns there are
    let wrong = served.get("/flights");
    assert!(wrong.text().contains("The page cannot be made.") && !wrong.text().contains("title\""), "{}", wrong.text());
    assert_eq!(served.get("/pilots").text(), "Anna &amp; CoBenNobody");
    database.execute("alter table api.flights rename name to title; notify pgrst, 'reload schema';");
    eventually("the page is there again", || served.get("/flights").status == 200);
}

#[test]
fn who_has_a_page_is_told_so() {
    let database = database();
    let (served, _folder) =
        serve(&database, &[("index.html", "+++\nflights = \"/flights\"\n+++\n{{ flights|length }}")]);
    for path in ["/", "/api/flights?select=id&order=id"] {
        let first = served.get(path);
        let tag = first.header("etag").unwrap();
        assert_eq!((first.status, tag.len()), (200, 34));
        let weak = format!("\"x\", W/{tag}");
        for known in [tag, &weak, "*"] {
            let again = served.request("GET", path, &[("If-None-Match", known)]);
            assert_eq!((again.status, again.text(), again.header("etag")), (304, "", Some(tag)), "{path} {known}");
            assert_eq!(again.header("content-type"), None);
        }
        let other = served.request("GET", path, &[("If-None-Match", "\"x\"")]);
        assert_eq!((other.status, other.text()), (200, first.text()));
    }
    let head = served.request("HEAD", "/", &[]);
    assert_eq!((head.status, head.header("content-length"), head.text()), (200, Some("1"), ""));
    // what writes has no validator
    assert_eq!(served.get("/api/flights?id=eq.99").header("etag"), served.get("/api/pilots?id=eq.99").header("etag"));
}

#[test]
fn each_kind_of_file_is_escaped_as_its_kind_is() {
    let rows = "+++\nflights = \"/flights?id=neq.1&order=id\"\n+++\n{% for f in flights %}";
    let text = |middle: &str| format!("{rows}{middle}{{% endfor %}}");
    let (csv, xml, json, txt) = (
        text("{{ f.id }},{{ f.title }},{{ f.distance_km }}\n"),
        text("<t>{{ f.title }}</t>"),
        text("{{ f.title }}{{ f.distance_km }};"),
        text("{{ f.title }};"),
    );
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[
            ("data.csv", &csv),
            ("feed.xml", &xml),
            ("data.json", &json),
            ("plain.txt", &txt),
            ("flights/[id].csv", "{{ id }}"),
            ("script.html", &text("<script>x = {{ f|tojson }}</script>")),
        ],
    );
    for (path, media_type, body) in [
        ("/data.csv", "text/csv; charset=utf-8", "2,<b>Second</b>,100\n3,\"Third, \"\"quoted\"\"\",\n"),
        (
            "/feed.xml",
            "application/xml; charset=utf-8",
            "<t>&lt;b&gt;Second&lt;/b&gt;</t><t>Third, &quot;quoted&quot;</t>",
        ),
        ("/plain.txt", "text/plain; charset=utf-8", "<b>Second</b>;Third, \"quoted\";"),
        ("/flights/a%2Cb.csv", "text/csv; charset=utf-8", "\"a,b\""),
        ("/data.json", "application/json; charset=utf-8", "\"<b>Second</b>\"100;\"Third, \\\"quoted\\\"\"null;"),
    ] {
        let response = served.get(path);
        assert_eq!(response.text(), body, "{path}");
        assert_eq!(response.header("content-type"), Some(media_type));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    }
    let script = served.get("/script");
    assert!(!script.text().contains("<b>") && script.text().contains("\\u003cb\\u003e"), "{}", script.text());
}

#[test]
fn where_there_are_pages_the_api_is_below_them() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}grant insert on api.sites to test_reader;"));
    let (served, _folder) =
        serve(&database, &[("index.html", "home"), ("api.html", "not reached"), ("apiary.html", "bees")]);
    assert_eq!(served.get("/").text(), "home");
    assert_eq!(served.get("/apiary").text(), "bees");
    assert_eq!(served.get("/api/sites?select=id&order=id").json(), json!([{"id": 1}, {"id": 2}]));
    assert_eq!(served.get("/api/nothing").json()["code"], "PGRST205");
    for root in ["/api", "/api/"] {
        let described = served.get(root).json();
        assert_eq!(described["basePath"], "/api", "{root}");
        assert!(described["paths"]["/flights"].is_object());
    }
    let made = served.send("POST", "/api/sites", &[("Prefer", "return=headers-only")], r#"{"id": 9, "name": "New"}"#);
    assert_eq!((made.status, made.header("location")), (201, Some("/api/sites?id=eq.9")));
    let read = served.get(made.header("location").unwrap());
    assert_eq!(read.header("content-location"), Some("/api/sites?id=eq.9"));
    assert_eq!(read.json()[0]["name"], "New");
    assert_eq!(served.get("/flights").status, 404);
}

/// A page that is larger than may be made at once is made aside, and goes to disk.
#[test]
fn a_page_may_be_of_any_size() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}create view api.many as select n, repeat('x', 1000) as text from generate_series(1, 20000) n;
         create view api.too_many as select n, repeat('x', 10000) as text from generate_series(1, 20000) n; {GRANTS}"
    ));
    let many = "+++\nmany = \"/many?order=n\"\n+++\n{% for m in many %}{{ m.n }}{{ m.text }}\n{% endfor %}";
    let grown = "+++\nflights = \"/flights?order=id\"\n+++\n{% for i in range(100000) %}{% for f in flights %}{{ f.title }}{{ f.title }}{{ f.title }}\n{% endfor %}{% endfor %}";
    let too_many = "+++\nmany = \"/too_many\"\n+++\n{% for m in many %}{{ m.text }}{% endfor %}";
    let (served, _folder) = serve(&database, &[("many.txt", many), ("grown.txt", grown), ("too_many.html", too_many)]);
    let response = served.get("/many.txt");
    let expected: String = (1..=20000).map(|n| format!("{n}{}\n", "x".repeat(1000))).collect();
    assert!(response.text() == expected && response.header("etag").is_none());
    assert_eq!(served.get("/grown.txt").text().lines().count(), 300_000);
    let refused = served.get("/too_many");
    assert_eq!(refused.status, 500);
    assert!(refused.text().contains("more than can be held"), "{}", refused.text());
    // and the connections are as they were
    assert_eq!(page(&database, "+++\nf = \"/flights\"\n+++\n{{ f|length }}"), "3");
    assert_eq!(served.get("/api/flights?select=id&id=eq.1").json(), json!([{"id": 1}]));
}

/// What a page itself asks wrongly is its mistake, not the visitor's.
#[test]
fn a_constant_of_the_wrong_type_is_the_pages_mistake() {
    let database = database();
    let (served, _folder) = serve(&database, &[("a.html", "+++\nf = \"/flights?id=eq.abc\"\n+++\n{{ f|length }}")]);
    assert_eq!(served.get("/a").status, 500);
}

#[test]
fn a_template_that_fails_tells_visitors_nothing_of_itself() {
    let database = database();
    let (served, _folder) =
        serve(&database, &[("a.html", "+++\nf = \"/flights\"\n+++\n\n{{ f|map(attribute=\"title\")|sum }}")]);
    let response = served.get("/a");
    assert_eq!(response.status, 500);
    assert!(!response.text().contains("a.html:5"), "{}", response.text());
}

#[test]
fn files_are_served_as_they_are() {
    let database = database();
    let (served, folder) = serve(
        &database,
        &[
            ("index.html", "{{ static(\"style.css\") }}"),
            ("wrong.html", "{{ static(\"x.css\") }}"),
            ("static/style.css", "body { color: red }"),
            ("secret.txt", "secret"),
        ],
    );
    let url = served.get("/").text().to_owned();
    assert!(url.starts_with("/static/style.css?v="), "{url}");
    let style = served.get(&url);
    assert_eq!((style.text(), style.header("content-type")), ("body { color: red }", Some("text/css; charset=utf-8")));
    assert_eq!(style.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let part = served.request("GET", "/static/style.css", &[("Range", "bytes=0-3")]);
    assert_eq!((part.status, part.text(), part.header("cache-control")), (206, "body", Some("no-cache")));
    let known = served.request("GET", &url, &[("If-None-Match", style.header("etag").unwrap())]);
    assert_eq!((known.status, known.text()), (304, ""));
    for path in [
        "/static/",
        "/static/x.css",
        "/static/../secret.txt",
        "/static/..%2fsecret.txt",
        "/static/%2e%2e/secret.txt",
        "/static//style.css",
        "/static/style.css%00",
        "/static/style.css/",
        "/static",
    ] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    let wrong = served.get("/wrong");
    assert_eq!(wrong.status, 500);
    assert_eq!(served.request("POST", &url, &[]).status, 405);
    drop(folder);
}

#[test]
fn a_page_speaks_the_language_of_its_reader() {
    let text = "+++\nflights = { rows = \"/flights?id=lt.3&order=id\", count = \"exact\" }\n+++\n\
                {{ t(\"flights\", count=flights.total) }} {% for f in flights %}{{ f.distance_km|number(1) }} {{ f.launched_at|date }};{% endfor %}{{ locale }}{{ \" \" ~ zone if zone == \"Asia/Tokyo\" }}";
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[
            ("index.html", text),
            ("[locale]/flights.html", text),
            ("messages/en.ftl", "flights = { $count ->\n    [one] one flight\n   *[other] { $count } flights\n }\n"),
            ("messages/de.ftl", "flights = { $count ->\n    [one] ein Flug\n   *[other] { $count } Flüge\n }\n"),
        ],
    );
    let (en, de) = ("2 flights 12.5 May 1, 2026;100.0 ;en", "2 Flüge 12,5 01.05.2026;100,0 ;de");
    for (path, headers, expected) in [
        ("/", vec![], en),
        ("/", vec![("Accept-Language", "fr, de-CH;q=0.9, en;q=0.1")], de),
        ("/", vec![("Cookie", "locale=de"), ("Accept-Language", "en")], de),
        ("/en/flights", vec![("Cookie", "locale=de"), ("Accept-Language", "de")], en),
        ("/de/flights", vec![], de),
        ("/", vec![("Cookie", "zone=Asia/Tokyo")], "2 flights 12.5 May 1, 2026;100.0 ;en Asia/Tokyo"),
        ("/", vec![("Cookie", "zone=../../etc/passwd")], en),
        ("/", vec![("Accept-Language", ";;q=,,*;q=x")], en),
    ] {
        let response = served.request("GET", path, &headers);
        assert_eq!((response.status, response.text()), (200, expected), "{path} {headers:?}");
        assert!(response.header("vary").unwrap().contains("Accept-Language"));
    }
    assert_eq!(served.get("/fr/flights").status, 404);
}

#[test]
fn what_a_page_reads_is_explained() {
    let database = database();
    let folder = site(&[
        (
            "flights/[id].html",
            "+++\nflight = { one = \"/flights?id=eq.{id}&select=*,pilots(*)\" }\n+++\n{{ flight.title }} {{ flight.pilots.name }}",
        ),
        ("all.html", "+++\nflights = \"/flights\"\n+++\n{{ flights }}"),
        (
            "many.html",
            "+++\nflights = { rows = \"/flights?order=title,id\", per_page = 50, count = \"exact\" }\n+++\n{{ flights.total }}",
        ),
    ]);
    let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let explain = |address| runtime.block_on(thalweg_server::explain(&config, address, Visitor::default()));
    let of_page = explain("/flights/1").unwrap();
    for line in [
        "page       flights/[id].html",
        "flight     /flights?id=eq.1&select=*,pilots(*)",
        "    title        flights/[id].html:4:11",
        "    pilots.name  flights/[id].html:4:37",
        "    track         no template names it",
        "    pilots.photo  no template names it",
        "    $1 = 1",
        "  plan for test_reader",
    ] {
        assert!(of_page.lines().any(|found| found == line), "{line}: {of_page}");
    }
    let sql = of_page.lines().find(|line| line.contains("SELECT")).unwrap();
    assert!(sql.contains("\"flights\".\"title\"") && !sql.contains("\"track\""), "{sql}");
    let whole = explain("/all").unwrap();
    assert!(whole.contains("all columns shown as a whole, all.html:4:4"), "{whole}");
    assert!(whole.contains("track  binary, and no template names it"), "{whole}");
    let (first, deep) = (explain("/many").unwrap(), explain("/many?page=200").unwrap());
    assert!(!first.contains("thalweg_ends") && deep.contains("thalweg_ends"), "{first}\n{deep}");
    let of_api = explain("/api/flights?select=id&id=eq.1").unwrap();
    assert!(of_api.contains("request    /flights?select=id&id=eq.1") && of_api.contains("Index"), "{of_api}");
    assert!(of_api.contains("not selected title, pilot_id,"), "{of_api}");
    for (address, wrong) in [
        ("/nothing", "There is no such page."),
        ("/api/nothing", "Could not find the table"),
        ("flights", "is no address such as /flights"),
    ] {
        let error = explain(address).unwrap_err().to_string();
        assert!(error.contains(wrong), "{address}: {error}");
    }
}

/// A site that is being written is read again when it changes, and shows what is wrong with it.
#[test]
fn a_site_that_is_being_written_shows_its_mistakes() {
    let database = database();
    let folder = site(&[("index.html", "first line\n{% for x in %}\nlast line")]);
    let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
    let served = Served::of_builder(Server::builder(config).development(true));
    let shows = |texts: &[&str]| {
        eventually(texts[0], || {
            let page = served.get("/");
            texts.iter().all(|text| page.text().contains(text))
        });
    };
    shows(&["index.html:2", "&gt;    2 | {% for x in %}", "     1 | first line", "<script>"]);
    write(
        folder.path(),
        &[("index.html", "+++\nflights = \"/flights\"\n+++\n{% for f in flights %}{{ f.titel }}{% endfor %}")],
    );
    shows(&["flights has no titel; perhaps title is meant", "&gt;    4 | {% for f in"]);
    write(
        folder.path(),
        &[("index.html", "+++\nflights = \"/flights\"\n+++\n{{ flights|length }}{{ static(\"a.css\") }}")],
    );
    shows(&["there is no static/a.css"]);
    let before = served.get("/").text().to_owned();
    let number = before.split("changes?").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| served.get(&format!("/.thalweg/changes?{number}")).text().to_owned());
        write(folder.path(), &[("static/a.css", "body {}")]);
        waiting.join().unwrap()
    });
    assert_ne!(waiting, number);
    shows(&["3/static/a.css?v="]);
    // a browser that comes with the number of another server is told at once
    assert_ne!(served.get("/.thalweg/changes?1").text(), "1");
}
