//! What requests see and what responses say: settings, roles, headers, several schemas.

use crate::served::{GRANTS, Served, config};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, name text);
    insert into api.t select i, 'n' || i from generate_series(1, 15) i;
";

#[test]
fn headers_of_a_read() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let response = served.get("/t?select=id&order=id&id=gt.3&limit=2&limit=3&id=lt.9");
    assert_eq!(response.text(), "[{\"id\":4},\n{\"id\":5},\n{\"id\":6}]");
    for (name, value) in [
        ("content-type", "application/json; charset=utf-8"),
        ("content-range", "0-2/*"),
        ("content-location", "/t?id=gt.3,lt.9&limit=2,3&order=id&select=id"),
        ("vary", "Accept, Prefer, Range"),
        ("content-length", "30"),
    ] {
        assert_eq!(response.header(name), Some(value));
    }
    assert!(response.header("server").unwrap().starts_with("thalweg/"));
    for stage in ["jwt", "parse", "plan", "transaction", "response", "wait"] {
        assert!(response.header("server-timing").unwrap().contains(&format!("{stage};dur=")));
    }
    for count in ["allocations", "allocated", "copied"] {
        assert!(response.header("server-timing").unwrap().contains(&format!(", {count};desc=\"")));
    }
    assert_eq!(response.header("content-profile"), None);
    let ranged = served.request("GET", "/t?order=id&select=id", &[("Range", "2-3"), ("Prefer", "count=exact")]);
    assert_eq!((ranged.status, ranged.header("content-range")), (206, Some("2-3/15")));
    assert_eq!(ranged.header("preference-applied"), Some("count=exact"));
    let beyond = served.request("GET", "/t?offset=20", &[("Prefer", "count=exact")]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("*/15")));
    assert_eq!(beyond.json()["details"], "An offset of 20 was requested, but there are only 15 rows.");
    assert_eq!(served.get("/t?offset=20").status, 200);
}

#[test]
fn fields_of_csv_are_those_of_records() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int, b boolean, s text, a text[], y bytea, j jsonb);
         insert into api.t values (1, true, 'a, b', '{{x,\"y z\"}}', '\\xde', '{{\"k\": 1}}'), (2, null, '', null, null, null);
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let csv = |target| served.request("GET", target, &[("Accept", "text/csv")]);
    let response = csv("/t?order=id");
    assert_eq!(response.header("content-type"), Some("text/csv; charset=utf-8"));
    let expected = "id,b,s,a,y,j\n1,t,\"a, b\",\"{x,\"\"y z\"\"}\",\"\\xde\",\"{\"\"k\"\": 1}\"\n2,,\"\",,,";
    assert_eq!(response.text(), expected);
    assert_eq!(csv("/t?id=eq.3").text(), "id,b,s,a,y,j");
    // Each line is PostgreSQL's own record without its parentheses, whose backslashes are doubled.
    let records = database.query("select substr(t::text, 2, length(t::text) - 2) from api.t t order by id");
    let lines: Vec<String> = expected.lines().skip(1).map(|line| line.replace('\\', "\\\\")).collect();
    assert_eq!(records.iter().map(|row| row[0].as_deref().unwrap()).collect::<Vec<_>>(), lines);
}

#[test]
fn schemas_are_chosen_by_profile() {
    let database = Database::new(&format!(
        "{SCHEMA} create schema other; create table other.t as select 'other' as which; {GRANTS}
         grant usage on schema other to test_reader; grant select on other.t to test_reader;"
    ));
    let served = Served::start(Config { db_schemas: vec!["api".into(), "other".into()], ..config(&database.uri()) });
    let other = served.request("GET", "/t", &[("Accept-Profile", "other")]);
    assert_eq!((other.text(), other.header("content-profile")), (r#"[{"which":"other"}]"#, Some("other")));
    let default = served.get("/t?limit=1&select=id");
    assert_eq!((default.text(), default.header("content-profile")), (r#"[{"id":1}]"#, Some("api")));
    let refused = served.request("GET", "/t", &[("Accept-Profile", "public")]).json();
    assert_eq!(refused["hint"], "Only the following schemas are exposed: api, other");
}

#[test]
fn sql_sees_the_request_where_it_asks() {
    let database = Database::new(&format!(
        "create schema api;
         create view api.seen as select current_user::text as role, current_setting('request.method', true) as method,
           current_setting('request.path', true) as path,
           current_setting('request.headers', true)::json->>'x-test' as header,
           current_setting('request.cookies', true)::json->>'c' as cookie,
           current_setting('request.jwt.claims', true)::json->>'role' as claim,
           current_setting('search_path') as search_path, current_setting('transaction_read_only') as read_only;
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let mut client = Client::connect(served.address);
    for value in ["one", "two"] {
        let seen = client.request("GET", "/seen", &[("X-Test", value), ("Cookie", "a=b; c=d")]).json();
        assert_eq!(
            seen[0],
            serde_json::json!({"role": "test_reader", "method": "GET", "path": "/seen", "header": value, "cookie": "d",
                "claim": "test_reader", "search_path": "\"api\", \"public\"", "read_only": "on"})
        );
    }
}

/// A database that changes its session's state cannot make one request run in the state of another.
#[test]
fn state_does_not_leak_between_requests() {
    let database = Database::new(&format!(
        "create schema api;
         create function api.become_owner() returns text language plpgsql as $$
           begin perform set_config('role', 'none', false); perform set_config('search_path', 'nowhere', false);
           return current_user; end $$;
         create view api.escalates as select api.become_owner() as now;
         create view api.whoami as select current_user::text as role, current_setting('search_path') as path;
         {GRANTS}"
    ));
    let served = Served::start(Config { db_pool: 1, ..config(&database.uri()) });
    for _ in 0..3 {
        assert_eq!(served.get("/escalates").status, 200);
        assert_eq!(served.get("/whoami").json()[0]["role"], "test_reader");
        assert_eq!(served.get("/whoami").json()[0]["path"], "\"api\", \"public\"");
    }
}

#[test]
fn settings_of_the_role_apply() {
    let database = Database::new(&format!(
        "create schema api; create view api.seen as select current_setting('statement_timeout') as timeout,
           '1 day 01:00:00'::interval as i; {GRANTS}
         drop role if exists test_timed; create role test_timed nologin in role test_reader;
         grant test_timed to current_user;
         alter role test_timed set statement_timeout = '1234ms'; alter role test_timed set intervalstyle = 'iso_8601';"
    ));
    let served = Served::start(Config { db_anon_role: Some("test_timed".into()), ..config(&database.uri()) });
    assert_eq!(served.get("/seen").text(), r#"[{"timeout":"1234ms","i":"P1DT1H"}]"#);
    database.execute("drop role test_timed");
}

/// A plan without statistics looks long: it is not compiled, unless somebody wants that.
#[test]
fn statements_are_not_compiled_unless_somebody_says_so() {
    let database = Database::new(&format!(
        "create schema api; create view api.seen as select current_setting('jit') as jit;
         create table api.rows (id int primary key); {GRANTS}
         drop role if exists test_compiles; create role test_compiles nologin in role test_reader;
         grant test_compiles to current_user; alter role test_compiles set jit = on;"
    ));
    // a session that keeps its role shows its settings in a plan only
    let plan = [("Accept", "application/vnd.pgrst.plan+text; options=settings")];
    let seen = |role: &str| {
        let config = Config { db_anon_role: Some(role.into()), db_plan_enabled: true, ..config(&database.uri()) };
        let served = Served::start(config);
        let kept = served.request("GET", "/rows", &plan).text().contains("jit = 'off'");
        (served.get("/seen").json()[0]["jit"].as_str().unwrap().to_owned(), kept)
    };
    assert_eq!(seen("test_reader"), ("off".to_owned(), true));
    assert_eq!(seen("test_compiles"), ("on".to_owned(), false));
    database.execute(&format!("alter database {} set jit = on", database.name()));
    assert_eq!(seen("test_reader"), ("on".to_owned(), false));
    database.execute("drop role test_compiles");
}

/// What only the connecting role may set is set before a session has the role of a request, what only that role may set
/// behind it, and what neither may is left out.
#[test]
fn settings_are_set_by_who_may() {
    let database = Database::new(&format!(
        "create schema api; create view api.seen as select current_setting('log_min_duration_statement') as both,
           current_setting('log_statement') as ours, current_setting('deadlock_timeout') as theirs,
           current_setting('track_activities') as inherited, current_setting('log_lock_waits') as nobodys,
           current_setting('statement_timeout') as everyones; {GRANTS}
         drop role if exists test_gate; drop role if exists test_web; drop role if exists test_of_web;
         create role test_gate login noinherit password 'gate'; create role test_of_web nologin;
         create role test_web nologin in role test_reader, test_of_web; grant test_web to test_gate;
         alter role test_web set log_min_duration_statement = '61ms'; alter role test_web set log_statement = 'ddl';
         alter role test_web set deadlock_timeout = '1100ms'; alter role test_web set track_activities = off;
         alter role test_web set log_lock_waits = on; alter role test_web set statement_timeout = '62s';"
    ));
    let has_grants = database.value("show server_version_num").parse::<u32>().unwrap() >= 150_000;
    if has_grants {
        database.execute(
            "grant set on parameter log_min_duration_statement to test_gate, test_web;
             grant set on parameter log_statement to test_gate; grant set on parameter deadlock_timeout to test_web;
             grant set on parameter track_activities to test_of_web;",
        );
    }
    let uri = database.uri();
    let (_, place) = uri.rsplit_once('@').unwrap();
    let uri = format!("postgres://test_gate:gate@{place}");
    let served = Served::start(Config { db_anon_role: Some("test_web".into()), ..config(&uri) });
    let seen = served.get("/seen");
    drop(served);
    let defaults = database.query(
        "select current_setting('log_min_duration_statement'), current_setting('log_statement'),
           current_setting('deadlock_timeout'), current_setting('track_activities'), current_setting('log_lock_waits')",
    );
    if has_grants {
        database.execute(
            "revoke set on parameter log_min_duration_statement, log_statement, deadlock_timeout, track_activities
             from test_gate, test_web, test_of_web",
        );
    }
    database.execute("drop role test_gate; drop role test_web; drop role test_of_web");
    let default = |at: usize| defaults[0][at].clone().unwrap_or_default();
    let expected = match has_grants {
        true => ["61ms", "ddl", "1100ms", "off"].map(str::to_owned),
        false => [default(0), default(1), default(2), default(3)],
    };
    let seen = (seen.status, seen.json());
    assert_eq!(
        seen,
        (
            200,
            serde_json::json!([{
                "both": expected[0], "ours": expected[1], "theirs": expected[2], "inherited": expected[3],
                "nobodys": default(4), "everyones": "62s",
            }])
        )
    );
}

#[test]
fn cross_origin_requests_are_answered() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let preflight = served.request(
        "OPTIONS",
        "/t",
        &[
            ("Origin", "https://a.example"),
            ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "X-Foo"),
        ],
    );
    assert_eq!(preflight.status, 200);
    assert_eq!(
        preflight.header("access-control-allow-headers"),
        Some("Authorization, X-Foo, Accept, Accept-Language, Content-Language")
    );
    let read = served.request("GET", "/t?limit=1", &[("Origin", "https://a.example")]);
    assert_eq!(read.header("access-control-allow-origin"), Some("*"));
    assert!(read.header("access-control-expose-headers").unwrap().contains("Content-Range"));
    assert_eq!(served.get("/t?limit=1").header("access-control-allow-origin"), None);
    assert_eq!(served.request("OPTIONS", "/t", &[]).header("allow"), Some("OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"));
}

#[test]
fn rows_are_capped_at_every_level() {
    let database = Database::new(&format!(
        "{SCHEMA} create table api.c (id int primary key, t_id int references api.t);
         insert into api.c select i, 1 from generate_series(1, 9) i; {GRANTS}"
    ));
    let served = Served::start(Config { db_max_rows: Some(4), ..config(&database.uri()) });
    let cut = served.get("/t");
    assert_eq!((cut.json().as_array().unwrap().len(), cut.header("content-range")), (4, Some("0-3/*")));
    assert_eq!(cut.header("warning"), Some("299 Thalweg \"There are more rows: db-max-rows is 4.\""));
    let within = served.get("/t?limit=2");
    assert_eq!((within.json().as_array().unwrap().len(), within.header("warning")), (2, None));
    assert_eq!(served.get("/t?limit=4").header("warning"), None);
    let head = served.request("HEAD", "/t", &[("Prefer", "count=exact")]);
    assert!(head.header("content-range").is_some_and(|range| range.starts_with("0-3/")), "{head:?}");
    assert!(head.header("warning").is_some());
    let csv = served.request("GET", "/t?limit=100", &[("Accept", "text/csv")]);
    assert_eq!((csv.text().lines().count(), csv.header("warning").is_some()), (5, true));
    let embedded = served.get("/t?select=id,c(id)&id=eq.1").json();
    assert_eq!(embedded[0]["c"].as_array().unwrap().len(), 4);
}

/// A wrapper that can do nothing yet failed the whole load of the schema cache.
#[test]
fn foreign_tables_without_a_handler_are_no_obstacle() {
    let database = Database::new(&format!(
        "create schema api; create table api.t as select 1 as id;
         create foreign data wrapper none; create server nowhere foreign data wrapper none;
         create foreign table api.far (id int) server nowhere; {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").json(), serde_json::json!([{"id": 1}]));
    assert_eq!(served.get("/far").json()["code"], "55000");
}

#[test]
fn a_limit_that_is_no_integer_is_refused_at_every_level() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.pilots (id int primary key);
         create table api.flights (id int primary key, pilot_id int references api.pilots);
         insert into api.pilots values (1), (2);
         insert into api.flights select n, 1 from generate_series(1, 5) n;
         create function api.all_flights() returns setof api.flights stable language sql as 'table api.flights';
         {GRANTS} grant execute on all functions in schema api to test_reader;"
    ));
    let served = Served::database(&database.uri());
    for target in
        ["/pilots?limit=", "/pilots?offset=", "/rpc/all_flights?limit=", "/pilots?select=id,flights(id)&flights.limit="]
    {
        for value in ["", "abc", "1.5", "1e2", "5%20", "%2B5"] {
            let refused = served.get(&format!("{target}{value}"));
            assert_eq!((refused.status, &refused.json()["code"]), (400, &"PGRST100".into()), "{target}{value}");
            assert!(refused.json()["message"].as_str().unwrap().contains("failed to parse"), "{}", refused.text());
        }
        // No table has that many rows.
        let huge = served.get(&format!("{target}99999999999999999999"));
        assert_eq!((huge.status, huge.text() == "[]"), (200, target.contains("offset")), "{target}");
    }
    let embedded = served.get("/pilots?select=id,flights(id)&flights.offset=99999999999999999999&id=eq.1");
    assert_eq!(embedded.text(), r#"[{"id":1,"flights":[]}]"#);
    assert_eq!(served.request("GET", "/pilots", &[("range", "99999999999999999999-")]).text(), "[]");
    assert_eq!(
        served.request("GET", "/pilots?order=id", &[("range", "1-99999999999999999999")]).text(),
        r#"[{"id":2}]"#
    );
}

#[test]
fn null_the_empty_string_and_an_asterisk_can_be_looked_for() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int primary key, name text, n int);
         insert into api.t values (1, 'a*b', 1), (2, 'axb', null), (3, '', 3), (4, null, 4), (5, 'null', 5), (6, 'a%b', 6), (7, 'a\\b', 7);
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let ids = |filter: &str| {
        let response = served.get(&format!("/t?select=id&order=id&{filter}"));
        let rows = response.json();
        let Some(rows) = rows.as_array() else { panic!("{filter}: {}", response.text()) };
        rows.iter().map(|row| row["id"].to_string()).collect::<String>()
    };
    for (filter, expected) in [
        ("n=isdistinct.null", "134567"),
        ("n=not.isdistinct.null", "2"),
        ("n=isdistinct.1", "234567"),
        ("name=isdistinct.null", "123567"),
        ("and=(name.isdistinct.\"null\")", "123467"),
        ("or=(name.not.isdistinct.null,id.eq.1)", "14"),
        ("name=in.(\"\")", "3"),
        ("name=not.in.(\"\")", "12567"),
        ("name=in.(\"\",null)", "35"),
        ("name=in.()", ""),
        ("name=in.(%20)", ""),
        ("name=not.in.()", "1234567"),
        ("or=(name.in.(\"\"),id.eq.1)", "13"),
        ("name=like.a*b", "1267"),
        ("name=like.a%5C*b", "1"),
        ("name=ilike.A%5C*B", "1"),
        ("name=like.a%5C%5C*b", "7"),
        ("name=like.a%5C%25b", "6"),
        ("name=like(any).{a%5C*b,n*}", "15"),
        ("name=like(any).{a%5C%5C*b}", "1"),
        ("or=(name.like.\"a%5C%5C*b\",id.eq.4)", "14"),
        ("name=contains.*", "1"),
        ("name=contains.%25", "6"),
        ("name=contains.%5C", "7"),
        ("name=contains._", ""),
        ("name=icontains.A*B", "1"),
        ("name=contains.A", ""),
        ("name=contains.", "123567"),
        ("name=not.icontains.A", "35"),
        ("or=(name.contains.%25,name.not.icontains.\"A\")", "356"),
    ] {
        // A second request may use what the first has prepared.
        assert_eq!((ids(filter), ids(filter)), (expected.to_owned(), expected.to_owned()), "{filter}");
    }
}
