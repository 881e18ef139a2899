//! What code asks of a request is never withheld from it, wherever that code stands, and what is known of a table's
//! policies may be old, but is never taken for their absence.

use crate::served::{GRANTS, Served, config, eventually};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

/// A server with one connection, which nobody tells what has changed.
fn serve(database: &Database) -> Served {
    Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&database.uri()) })
}

/// The tenant that each request names in a header; it stands for `TENANT()` in the stories.
const TENANT: &str = "current_setting('request.headers', true)::json->>'x-tenant'";

fn schema(story: &str) -> String {
    let story = story.replace("TENANT()", TENANT);
    format!(
        "create schema api;
         create table api.plain (id int primary key);
         insert into api.plain values (1);
         {story}{GRANTS}
         grant insert, update, delete on all tables in schema api to test_reader;
         grant execute on all functions in schema api to test_reader;"
    )
}

/// Asks after a request that leaves the connection with an identity and nothing of a request.
fn ask(served: &Served, method: &str, target: &str, tenant: &str, body: &str) -> Response {
    assert_eq!(served.get("/plain").text(), r#"[{"id":1}]"#);
    let headers = [("X-Tenant", tenant), ("Prefer", "return=representation")];
    match body {
        "" => served.request(method, target, &headers),
        body => served.send(method, target, &headers, body),
    }
}

/// Rows are sent each in a line.
fn in_one_line(response: &Response) -> String {
    response.text().replace(",\n", ",")
}

/// Inserts into a table whose second column, `tenant`, is filled by code that asks which tenant it is.
fn fills_the_tenant(story: &str) {
    let database = Database::new(&schema(story));
    let served = serve(&database);
    for (id, tenant) in [(1, "a"), (2, "b")] {
        let response = ask(&served, "POST", "/t?select=id,tenant", tenant, &format!("{{\"id\":{id}}}"));
        assert_eq!(response.text(), format!("[{{\"id\":{id},\"tenant\":\"{tenant}\"}}]"), "{story}");
    }
    assert_eq!(database.value("select string_agg(tenant, ',' order by id) from api.t"), "a,b", "{story}");
}

#[test]
fn a_column_default() {
    fills_the_tenant("create table api.t (id int, tenant text default TENANT());");
}

/// The default calls a function whose argument's default asks: the tree of the column names neither.
#[test]
fn the_default_of_a_functions_argument() {
    fills_the_tenant(
        "create function public.tenant(of text default TENANT()) returns text language sql as 'select of';
         create table api.t (id int, tenant text default public.tenant());",
    );
}

#[test]
fn the_default_of_a_domain() {
    fills_the_tenant(
        "create domain public.tenant as text default TENANT();
         create table api.t (id int, tenant public.tenant);",
    );
}

#[test]
fn the_default_of_a_domain_over_a_domain() {
    fills_the_tenant(
        "create domain public.tenant as text default TENANT();
         create domain public.own_tenant as public.tenant;
         create table api.t (id int, tenant public.own_tenant);",
    );
}

#[test]
fn a_trigger() {
    fills_the_tenant(
        "create function public.fill() returns trigger language plpgsql as $$ begin
           new.tenant := TENANT(); return new; end $$;
         create table api.t (id int, tenant text);
         create trigger fill before insert on api.t for each row execute function public.fill();",
    );
}

/// A generated column may call immutable functions only, and who declares one is believed.
#[test]
fn a_generated_column() {
    fills_the_tenant(
        "create function public.tenant(int) returns text immutable language plpgsql as $$ begin
           return TENANT(); end $$;
         create table api.t (id int, tenant text generated always as (public.tenant(id)) stored);",
    );
}

#[test]
fn the_default_of_a_table_under_a_view() {
    fills_the_tenant(
        "create schema hidden; create table hidden.t (id int, tenant text default TENANT());
         create view api.t as select id, tenant from hidden.t;",
    );
}

#[test]
fn the_default_of_a_view() {
    fills_the_tenant(
        "create schema hidden; create table hidden.t (id int, tenant text);
         create view api.t as select id, tenant from hidden.t;
         alter view api.t alter tenant set default TENANT();",
    );
}

/// `missing=default` evaluates the default as the catalog shows it.
#[test]
fn a_column_default_that_is_asked_for() {
    let database = Database::new(&schema("create table api.t (id int, tenant text default TENANT());"));
    let served = serve(&database);
    assert_eq!(served.get("/plain").status, 200);
    let headers = [("X-Tenant", "a"), ("Prefer", "missing=default, return=representation")];
    let body = r#"[{"id":1},{"id":2,"tenant":"own"}]"#;
    let response = served.send("POST", "/t?columns=id,tenant", &headers, body);
    assert_eq!(in_one_line(&response), r#"[{"id":1,"tenant":"a"},{"id":2,"tenant":"own"}]"#);
}

/// An argument's default of the called function itself.
#[test]
fn the_default_of_a_called_functions_argument() {
    let database = Database::new(&schema(
        "create function api.tenant(of text default TENANT()) returns text stable language sql as 'select of';",
    ));
    let served = serve(&database);
    assert_eq!(ask(&served, "GET", "/rpc/tenant", "a", "").text(), r#""a""#);
    assert_eq!(ask(&served, "POST", "/rpc/tenant", "b", "{}").text(), r#""b""#);
}

/// The audit rule's condition asks who it is, and wrote nothing where it was not told.
#[test]
fn the_condition_of_a_rule() {
    let database = Database::new(&schema(
        "create table api.audit (id int, tenant text);
         create table api.t (id int);
         create rule audit as on insert to api.t where (TENANT()) is not null
           do also insert into api.audit values (new.id, TENANT());
         create rule audit_of_deletions as on delete to api.t where (TENANT()) <> 'silent'
           do also insert into api.audit values (-old.id, TENANT());",
    ));
    let served = serve(&database);
    assert_eq!(served.get("/plain").status, 200);
    assert_eq!(served.send("POST", "/t", &[("X-Tenant", "a")], r#"{"id":1}"#).status, 201);
    assert_eq!(served.get("/plain").status, 200);
    assert_eq!(served.request("DELETE", "/t?id=eq.1", &[("X-Tenant", "b")]).status, 204);
    let audit = "select string_agg(id || ' ' || tenant, ', ' order by tenant) from api.audit";
    assert_eq!(database.value(audit), "1 a, -1 b");
}

/// A check that asks refuses the rows of others, and no row of one's own.
#[test]
fn a_check() {
    for of in ["table", "domain"] {
        let database = Database::new(&schema(match of {
            "table" => "create table api.t (id int, tenant text, check (tenant = TENANT()));",
            _ => {
                "create domain public.tenant as text check (value = TENANT());
                 create table api.t (id int, tenant public.tenant);"
            }
        }));
        let served = serve(&database);
        assert_eq!(ask(&served, "POST", "/t", "a", r#"{"id":1,"tenant":"a"}"#).status, 201, "{of}");
        assert_eq!(ask(&served, "POST", "/t", "a", r#"{"id":1,"tenant":"b"}"#).json()["code"], "23514", "{of}");
    }
}

/// What a policy, a view and a computed column ask while rows are read.
#[test]
fn what_is_read() {
    let database = Database::new(&schema(
        "create table api.t (id int primary key, tenant text);
         insert into api.t values (1, 'a'), (2, 'b');
         create view api.seen as select id from api.t where tenant = TENANT();
         create function api.mine(api.t) returns boolean stable language sql as $$ select $1.tenant = TENANT() $$;
         create table api.secured (id int primary key, tenant text);
         insert into api.secured values (1, 'a'), (2, 'b');
         alter table api.secured enable row level security;
         create policy own on api.secured using (tenant = TENANT()) with check (tenant = TENANT());
         create table api.parts (id int primary key, of int references api.secured);
         insert into api.parts values (1, 1), (2, 2);",
    ));
    let served = serve(&database);
    assert_eq!(ask(&served, "GET", "/seen", "b", "").text(), r#"[{"id":2}]"#);
    assert_eq!(ask(&served, "GET", "/t?mine=is.true&select=id", "a", "").text(), r#"[{"id":1}]"#);
    assert_eq!(ask(&served, "GET", "/secured?select=id", "a", "").text(), r#"[{"id":1}]"#);
    let embedded = ask(&served, "GET", "/parts?select=id,secured(tenant)&order=id", "b", "");
    assert_eq!(in_one_line(&embedded), r#"[{"id":1,"secured":null},{"id":2,"secured":{"tenant":"b"}}]"#);
    let written = ask(&served, "PATCH", "/secured?select=id", "b", r#"{"tenant":"b"}"#);
    assert_eq!(written.text(), r#"[{"id":2}]"#);
    assert_eq!(ask(&served, "POST", "/secured", "b", r#"{"id":3,"tenant":"a"}"#).json()["code"], "42501");
}

/// Row-level security was switched on after the catalog had been loaded, with a policy that takes the absence of a request
/// for the owner's own tools, as many do. All rows were returned.
#[test]
fn policies_that_are_new() {
    let database = Database::new(&schema(
        "create table api.t (id int primary key, tenant text);
         insert into api.t values (1, 'a'), (2, 'b'), (3, 'b');
         create table api.parts (id int primary key, of int references api.t);
         insert into api.parts values (1, 1), (2, 2);
         create view api.over as select id from api.t;",
    ));
    // what it reads, its owner must be allowed to
    database.execute("alter view api.over owner to test_reader");
    let requests = [
        ("GET", "/t?select=id&order=id", "", r#"[{"id":1}]"#),
        ("GET", "/t?id=eq.2", "", "[]"),
        ("GET", "/t?select=count()", "", r#"[{"count":1}]"#),
        ("GET", "/over?order=id", "", r#"[{"id":1}]"#),
        ("GET", "/parts?select=id,t(tenant)&order=id", "", r#"[{"id":1,"t":{"tenant":"a"}},{"id":2,"t":null}]"#),
        ("PATCH", "/t?id=gt.1&select=id", r#"{"tenant":"c"}"#, "[]"),
        ("DELETE", "/t?id=eq.3&select=id", "", "[]"),
        ("GET", "/t?select=id&order=id", "", r#"[{"id":1}]"#),
    ];
    for (method, target, body, expected) in requests {
        // each meets a server that does not know of the policy, on a connection that has been used for the like
        let served = Served::start(Config {
            db_pool: 1,
            db_channel_enabled: false,
            db_aggregates_enabled: true,
            ..config(&database.uri())
        });
        for _ in 0..2 {
            let before = served.get("/t?select=id");
            assert_eq!(in_one_line(&before), r#"[{"id":1},{"id":2},{"id":3}]"#);
        }
        let warm = ask(&served, "GET", "/parts?select=id,t(tenant)&order=id", "a", "");
        assert_eq!(warm.status, 200);
        database.execute(
            "alter table api.t enable row level security;
             create policy own on api.t using (
               coalesce(current_setting('request.headers', true), '') = ''
               or tenant = current_setting('request.headers', true)::json->>'x-tenant')",
        );
        let response = ask(&served, method, target, "a", body);
        assert!(
            response.status >= 400 || in_one_line(&response) == expected,
            "{method} {target}: {} {}",
            response.status,
            response.text()
        );
        // it reloads, and then knows
        let is_known = || in_one_line(&ask(&served, method, target, "a", body)) == expected;
        eventually("the policy is known", is_known);
        drop(served);
        database.execute("drop policy own on api.t; alter table api.t disable row level security");
        assert_eq!(database.value("select string_agg(tenant, '' order by id) from api.t"), "abb", "{method} {target}");
    }
}

/// The same of a download: a file is described and then read, all by plain statements.
#[test]
fn policies_that_are_new_to_a_download() {
    let database = Database::new(&schema(
        "create table api.t (id int primary key, data bytea);
         insert into api.t values (1, 'secret');",
    ));
    let served = serve(&database);
    let octets = [("Accept", "application/octet-stream")];
    for _ in 0..2 {
        assert_eq!(served.request("GET", "/t?id=eq.1&select=data", &octets).body, b"secret");
    }
    database.execute(
        "alter table api.t enable row level security;
         create policy own on api.t using (current_setting('request.headers', true)::json ->> 'x-tenant' = 'a')",
    );
    // of what the policy allows nothing is lost
    let allowed = served.request("GET", "/t?id=eq.1&select=data", &[octets[0], ("X-Tenant", "a")]);
    assert_eq!((allowed.status, allowed.body.as_slice()), (200, b"secret".as_slice()));
    for _ in 0..3 {
        let response = served.request("GET", "/t?id=eq.1&select=data", &octets);
        assert_eq!((response.status, response.json()["code"].as_str()), (406, Some("PGRST116")));
    }
}

/// What else is new since the catalog was loaded, and runs code that asks: it must be told, or refused.
#[test]
fn defaults_and_triggers_that_are_new() {
    let changes = [
        "alter table api.t alter tenant set default TENANT()",
        "create function public.fill() returns trigger language plpgsql as $$ begin
           new.tenant := TENANT(); return new; end $$;
         create trigger fill before insert on api.t for each row execute function public.fill()",
    ];
    for change in changes {
        let database = Database::new(&schema("create table api.t (id int, tenant text);"));
        let served = Served::start(Config {
            db_pool: 1,
            db_pool_max_lifetime: Duration::from_secs(60),
            ..config(&database.uri())
        });
        assert_eq!(ask(&served, "POST", "/t?select=id", "a", r#"{"id":1}"#).status, 201);
        database.execute(&change.replace("TENANT()", TENANT));
        database.execute("notify pgrst");
        eventually("the change is known", || {
            ask(&served, "POST", "/t?select=tenant", "a", r#"{"id":2}"#).text() == r#"[{"tenant":"a"}]"#
        });
    }
}
