//! Errors in the protocol's form.

use crate::served::{GRANTS, Served, config};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const SCHEMA: &str = "
    create schema api;
    create table api.sites (id int primary key, name text);
    create table api.flights (id int primary key, takeoff_site_id int constraint takeoff references api.sites,
      landing_site_id int constraint landing references api.sites, remarks text, telemetry jsonb);
    create table api.lonely (id int primary key);
    create function api.raises() returns int language plpgsql as $$ begin raise sqlstate 'PT418' using message = 'teapot'; end $$;
    create view api.teapot as select api.raises() as x;
    create function api.writes() returns int language sql as $$ insert into api.lonely values (1) returning 1 $$;
    create view api.writing as select api.writes() as x;
";

#[test]
fn each_error_has_its_status_and_code() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS} create table api.secret (id int); grant insert on api.lonely to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let accept = |value| vec![("Accept", value)];
    let prefer = |value| vec![("Prefer", value)];
    for (method, target, headers, status, code) in [
        ("GET", "/flihgts", vec![], 404, "PGRST205"),
        ("GET", "/flights/", vec![], 404, "PGRST125"),
        ("GET", "/a/b", vec![], 404, "PGRST125"),
        ("GET", "/%ff", vec![], 400, "PGRST100"),
        ("POST", "/", vec![], 405, "PGRST117"),
        ("GET", "/", accept("text/csv"), 406, "PGRST107"),
        ("GET", "/rpc/raises", vec![], 418, "PT418"),
        ("GET", "/rpc/raise", vec![], 404, "PGRST202"),
        ("GET", "/rpc/writes", vec![], 405, "25006"),
        ("GET", "/rpc/raises", prefer("handling=strict, max-affected=1"), 400, "PGRST128"),
        ("GET", "/flights", accept("application/vnd.pgrst.plan"), 406, "PGRST107"),
        ("GET", "/flights?select=takeoff(id),takeoff(name)", vec![], 400, "42712"),
        ("PATCH", "/rpc/raises", vec![], 405, "PGRST101"),
        ("DELETE", "/flights", vec![], 401, "42501"),
        ("TRACE", "/flights", vec![], 405, "PGRST117"),
        ("GET", "/flights", vec![("Accept-Profile", "other")], 406, "PGRST106"),
        ("GET", "/flights?id=gte50", vec![], 400, "PGRST100"),
        ("GET", "/flights?select=id,", vec![], 400, "PGRST100"),
        ("GET", "/flights?order=id.up", vec![], 400, "PGRST100"),
        ("GET", "/flights?or=()", vec![], 400, "PGRST100"),
        ("GET", "/flights?limit=-1", vec![], 416, "PGRST103"),
        ("GET", "/flights", vec![("Range", "4-2")], 416, "PGRST103"),
        ("GET", "/flights?id=eq.abc", vec![], 400, "22P02"),
        ("GET", "/flights?nonsense=eq.1", vec![], 400, "42703"),
        ("GET", "/flights?select=nonsense", vec![], 400, "42703"),
        ("GET", "/flights?order=nonsense", vec![], 400, "42703"),
        ("GET", "/flights?remarks=cs.{a}", vec![], 404, "42883"),
        ("GET", "/flights?select=id::nonsense", vec![], 400, "42704"),
        ("GET", "/flights?remarks=match.(", vec![], 400, "2201B"),
        ("GET", "/flights?id=eq.99999999999", vec![], 400, "22003"),
        ("GET", "/flights?select=sites(name)", vec![], 300, "PGRST201"),
        ("GET", "/flights?select=lonely(id)", vec![], 400, "PGRST200"),
        ("GET", "/flights?select=sites!nonsense(name)", vec![], 400, "PGRST200"),
        ("GET", "/flights?takeoff.name=eq.x", vec![], 400, "PGRST108"),
        ("GET", "/flights?order=takeoff(name)", vec![], 400, "PGRST108"),
        ("GET", "/sites?select=id,flights!takeoff(id)&order=flights(id)", vec![], 400, "PGRST118"),
        ("GET", "/flights?select=id.sum()", vec![], 400, "PGRST123"),
        ("GET", "/flights", accept("text/html"), 406, "PGRST107"),
        ("GET", "/flights", accept("application/vnd.pgrst.object+json"), 406, "PGRST116"),
        ("GET", "/flights", prefer("handling=strict, nonsense"), 400, "PGRST122"),
        ("GET", "/secret", vec![], 401, "42501"),
        ("GET", "/teapot", vec![], 418, "PT418"),
        ("GET", "/writing", vec![], 405, "25006"),
        ("GET", "/flights", vec![("Authorization", "Bearer x")], 500, "PGRST300"),
    ] {
        let response = served.request(method, target, &headers);
        let body = response.json();
        assert_eq!((response.status, body["code"].as_str()), (status, Some(code)), "{method} {target}: {body}");
        let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "details", "hint", "message"]);
        assert_eq!(response.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(response.header("proxy-status"), Some(format!("Thalweg; error={code}").as_str()));
        assert!(response.header("server-timing").is_some());
        assert_eq!(response.header("www-authenticate").is_some(), status == 401);
    }
}

#[test]
fn hints_name_what_was_meant() {
    let database = Database::new(&format!(
        "{SCHEMA} create schema hidden; create table hidden.x (id int primary key); create table api.one_site (id int); create table api.end_1 (id int primary key);
         create table api.end_2 (id int primary key); create table api.end_3 (id int primary key references hidden.x);
         create table hidden.junction (a int references api.end_1, b int references api.end_2, primary key (a, b));
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let hint = |target: &str| served.get(target).json()["hint"].as_str().unwrap_or_default().to_owned();
    assert_eq!(hint("/flihgts"), "Perhaps you meant the table 'api.flights'");
    assert_eq!(hint("/FLIGHTS"), "Perhaps you meant the table 'api.flights'");
    assert_eq!(hint("/xyzzy"), "");
    assert_eq!(hint("/flights?select=remark"), "Perhaps you meant to reference the column \"flights.remarks\".");
    assert_eq!(hint("/flights?select=sitess(id)"), "Perhaps you meant 'sites' instead of 'sitess'.");
    assert_eq!(hint("/lonely?select=sites(id)"), "");
    assert_eq!(hint("/one_site?select=flights(id)"), "Perhaps you meant 'sites' instead of 'one_site'.");
    assert_eq!(
        hint("/flights?select=takeoff(id),takeoff(name)"),
        "Use an alias, such as other:takeoff(…), or select all columns within one embed."
    );
    assert_eq!(
        hint("/flights?select=...takeoff(id),...takeoff(name)"),
        "Select all columns within one spread: ...takeoff(column,other_column)."
    );
    let twice = served.get("/flights?select=takeoff(id),takeoff(name)").json();
    assert_eq!(twice["message"], "'takeoff' is embedded more than once in 'flights'");
    let apart = served.get("/flights?select=takeoff(id),other:takeoff(name)&limit=0");
    assert_eq!((apart.status, apart.text()), (200, "[]"));
    // what a junction out of sight relates is not strange to each other
    assert_eq!(hint("/end_1?select=end_2(id)"), "");
    assert_eq!(hint("/end_3?select=end_2(id)"), "Perhaps you meant 'end_1' instead of 'end_3'.");
    let ambiguous = served.get("/flights?select=sites(name)").json();
    assert_eq!(
        ambiguous["hint"],
        "Try changing 'sites' to one of the following: 'sites!landing', 'sites!takeoff'. Find the desired relationship \
         in the 'details' key."
    );
    assert_eq!(ambiguous["details"][1]["relationship"], "takeoff using flights(takeoff_site_id) and sites(id)");
    let singular = served.request("GET", "/sites", &[("Accept", "application/vnd.pgrst.object+json")]).json();
    assert_eq!(singular["details"], "The result contains 0 rows");
}

#[test]
fn head_has_the_headers_of_the_error_without_its_body() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let mut client = Client::connect(served.address);
    let response = client.request("HEAD", "/nothing", &[]);
    assert_eq!((response.status, response.header("proxy-status")), (404, Some("Thalweg; error=PGRST205")));
    // the connection is still in step
    assert_eq!(client.request("GET", "/sites", &[]).text(), "[]");
}

#[test]
fn roles_are_as_the_protocol_says() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let no_anonymous = Served::start(Config { db_anon_role: None, ..config(&database.uri()) });
    let response = no_anonymous.get("/sites");
    assert_eq!((response.status, response.json()["code"].as_str()), (401, Some("PGRST302")));
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
    let unknown = Served::start(Config { db_anon_role: Some("no_such_role".into()), ..config(&database.uri()) });
    let response = unknown.get("/sites");
    assert_eq!((response.status, response.json()["code"].as_str()), (401, Some("22023")));
}

#[test]
fn hostile_requests_get_an_answer() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let deep = format!("/flights?select={}id{}", "takeoff(".repeat(5000), ")".repeat(5000));
    let tree = format!("/flights?or={}id.eq.1{}", "(or".repeat(5000), ")".repeat(5000));
    let many: String = (0..5000).map(|at| format!("id=neq.{at}&")).collect();
    for (target, status) in [
        (deep, 400),
        (tree, 400),
        (format!("/flights?{many}"), 200),
        ("/flights?select=%22a%22%22b".to_owned(), 400),
        ("/flights?id=in.(%22".to_owned(), 400),
        ("/flights?remarks=eq.%00".to_owned(), 400),
        ("/flights?select=telemetry-%3E%27x%27-%3E%3E%22%3Bdrop%20table%20api.sites%3B--%22".to_owned(), 200),
        ("/flights?remarks=eq.%27%3Bdrop%20table%20api.sites;--".to_owned(), 200),
    ] {
        let response = served.get(&target);
        assert_eq!(response.status, status, "{:.80}: {}", target, response.text());
    }
    assert_eq!(served.get("/sites").status, 200);
}

/// PostgreSQL's protocol ends the text of a statement at a NUL, so that none may get into one: neither by a name that is
/// quoted, nor by what stands in literals.
#[test]
fn a_nul_is_a_mistake_wherever_it_stands() {
    const JSON: &str = "application/json";
    let database = Database::new(&format!(
        "{SCHEMA}
         create view api.session as select pg_backend_pid() as pid;
         create function api.f(\"a b\" text default '') returns text language sql as $$ select 'called' $$;
         {GRANTS} grant insert, update, delete on all tables in schema api to test_reader;"
    ));
    let served = Served::start(Config { db_pool: 1, db_plan_enabled: true, ..config(&database.uri()) });
    let session = || served.get("/session?select=pid").text().to_owned();
    let before = session();
    let media =
        [JSON, "application/geo+json", "text/csv", "application/vnd.pgrst.object+json", "application/octet-stream"];
    for accept in media.into_iter().chain(["application/vnd.pgrst.plan+json; for=\"application/geo+json\""]) {
        for target in [
            "/fli%00ghts",
            "/rpc/f%00",
            "/flights?select=telemetry-%3E%22a%00b%22",
            "/flights?select=telemetry-%3E%3Ea%00b",
            "/flights?select=%22a%00%22:id",
            "/flights?select=id::te%00xt",
            "/flights?select=%22sites%00%22!takeoff(id)",
            "/flights?select=sites!%22take%00off%22(id)",
            "/flights?select=...sites!takeoff(%22na%00me%22)",
            "/flights?telemetry-%3E%22a%00%22=eq.1",
            "/flights?%22remarks%00%22=eq.1",
            "/flights?remarks=eq.%00",
            "/flights?remarks=fts(eng%00lish).x",
            "/flights?remarks=in.(a,%22%00%22)",
            "/flights?or=(remarks.eq.%22%00%22,id.eq.1)",
            "/flights?order=%22id%00%22",
            "/flights?order=telemetry-%3E%22%00%22",
            "/flights?columns=%22id%00%22",
            "/flights?on_conflict=%22id%00%22",
            "/flights?limit=1%00",
            "/flights?%00",
            "/rpc/f?%22a%20b%00%22=x",
            "/rpc/f?%22a%20b%22=x%00",
        ] {
            let response = served.request("GET", target, &[("Accept", accept)]);
            let body = response.json();
            assert_eq!((response.status, body["code"].as_str()), (400, Some("PGRST100")), "{accept} {target}: {body}");
            assert!(body["details"].as_str().is_some_and(|details| details.contains("NUL")), "{body}");
        }
    }
    let form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=b";
    for (content_type, body) in [
        ("text/csv", "id\0\n1\n"),
        (form, "id%00=1"),
        (multipart, "--b\r\nContent-Disposition: form-data; name=\"id\0\"\r\n\r\n1\r\n--b--\r\n"),
    ] {
        for (method, target) in [("POST", "/sites"), ("PATCH", "/sites?id=eq.1"), ("POST", "/rpc/f")] {
            let response = served.send(method, target, &[("Content-Type", content_type)], body);
            let error = response.json();
            // the row of a form is made JSON, which has an error of its own
            let code = if content_type == form && target != "/rpc/f" { "22P05" } else { "PGRST100" };
            assert_eq!((response.status, error["code"].as_str()), (400, Some(code)), "{target} {body}: {error}");
        }
    }
    // a body's values are parameters: what PostgreSQL says of them is the answer
    for (content_type, body) in
        [(JSON, "{\"id\": 1, \"name\": \"a\\u0000\"}"), (form, "id=1&name=a%00"), ("text/csv", "id,name\n1,a\0\n")]
    {
        let response = served.send("POST", "/sites", &[("Content-Type", content_type)], body);
        assert_eq!(response.status, 400, "{body}: {}", response.text());
    }
    let mut client = Client::connect(served.address);
    client.send_bytes(b"GET /flights HTTP/1.1\r\nHost: x\r\nPrefer: timezone=a\0b\r\n\r\n");
    assert_eq!(client.status_line(), "HTTP/1.1 400 Bad Request");
    assert_eq!(session(), before);
}

#[test]
fn overloads_are_listed_in_the_protocols_order() {
    let database = Database::new(&format!(
        "create schema api; create schema other; create type other.kind as enum ('a');
         create table api.clients (id int);
         create function api.f(z text) returns int language sql as $$ select 1 $$;
         create function api.f(z int) returns int language sql as $$ select 1 $$;
         create function api.f(z bigint) returns int language sql as $$ select 1 $$;
         create function api.f(z numeric, y int default 1) returns int language sql as $$ select 1 $$;
         create function api.f(z int, a int default 1) returns int language sql as $$ select 1 $$;
         create function api.f(z other.kind) returns int language sql as $$ select 1 $$;
         create function api.f(z varchar) returns int language sql as $$ select 1 $$;
         create function api.f(z api.clients) returns int language sql as $$ select 1 $$;
         create function api.f(z float, b int default 1, c int default 2) returns int language sql as $$ select 1 $$;
         create function api.f(variadic z oid[]) returns int language sql as $$ select 1 $$;
         comment on function api.f(int) is 'second'; comment on function api.f(bigint) is 'first';
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let error = served.get("/rpc/f?z=1").json();
    let listed =
        error["message"].as_str().unwrap().strip_prefix("Could not choose the best candidate function between: ");
    assert_eq!(
        listed.unwrap().split("), ").collect::<Vec<_>>(),
        [
            "api.f(z => api.clients",
            "api.f(z => character varying",
            "api.f(z => oid[]",
            "api.f(z => other.kind",
            "api.f(z => text",
            "api.f(z => bigint",
            "api.f(z => integer",
            "api.f(z => integer, a => integer",
            "api.f(z => numeric, y => integer",
            "api.f(z => double precision, b => integer, c => integer)",
        ]
    );
}
