//! What a response is besides its rows: media types, headers, the description of the API, what SQL says of it.

use crate::served::{GRANTS, ROLE, Served, config};
use serde_json::json;
use thalweg_server::{Config, OpenApiMode, RequestSettings};
use thalweg_testkit::{Client, Database, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.sites (id int primary key, name varchar(20) not null default 'it''s', elevation_m bigint);
    create table api.pilots (id int primary key, site_id int references api.sites, born date);
    insert into api.sites select i, 'site ' || i, i * 100 from generate_series(1, 10) i;
    insert into api.pilots select i, i % 3 + 1, null from generate_series(1, 5) i;
    create function api.all_sites() returns setof api.sites language sql stable as $$ select * from api.sites $$;
    create function api.one() returns int language sql stable as $$ select 1 $$;
    create function api.volatile_one() returns int language sql as $$ select 1 $$;
    comment on schema api is E'Flying\n\nWhere and who.';
    comment on table api.sites is E'Sites\nto fly from';
    comment on column api.sites.elevation_m is 'metres';
";

fn served(more: &str, change: impl FnOnce(&mut Config)) -> (Served, Database) {
    let database = Database::new(&format!("{SCHEMA}{more}{GRANTS} analyze;"));
    let mut config = config(&database.uri());
    change(&mut config);
    (Served::start(config), database)
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.header(name).unwrap_or_default()
}

#[test]
fn plans_are_postgresqls() {
    let (served, _database) = served("", |config| config.db_plan_enabled = true);
    let ask = |target: &str, accept: &str| served.request("GET", target, &[("Accept", accept)]);
    let text = ask("/sites?id=eq.1", "application/vnd.pgrst.plan");
    assert_eq!(
        header(&text, "content-type"),
        "application/vnd.pgrst.plan+text; for=\"application/json\"; charset=utf-8"
    );
    assert!(text.text().contains("on sites") && text.text().contains("cost="), "{}", text.text());
    assert!(text.header("content-range").is_none());
    let json =
        ask("/sites?id=eq.1", "application/vnd.pgrst.plan+json; for=\"text/csv\"; options=analyze|verbose|nonsense");
    assert_eq!(
        header(&json, "content-type"),
        "application/vnd.pgrst.plan+json; for=\"text/csv\"; options=analyze|verbose; charset=utf-8"
    );
    let plan = &json.json()[0];
    assert!(plan["Plan"]["Output"].is_array() && plan["Plan"]["Actual Rows"].is_number());
    let call = ask("/rpc/all_sites", "application/vnd.pgrst.plan+json");
    assert!(call.json()[0]["Plan"].is_object());
    let singular = ask("/sites", "application/vnd.pgrst.plan;for=\"application/vnd.pgrst.object+json\"");
    assert_eq!(singular.status, 200);
    assert_eq!(ask("/sites", "application/vnd.pgrst.plan;for=\"text/html\"").status, 406);
    assert_eq!(ask("/sites?nope=eq.1", "application/vnd.pgrst.plan").status, 400);
}

#[test]
fn the_description_follows_privileges() {
    let hidden = "create table api.secret (id int); create function api.hush() returns int language sql stable as $$ select 1 $$;
                  revoke execute on function api.hush() from public;";
    let (served, database) = served("", |_| {});
    database.execute(hidden);
    let document = || served.get("/").json();
    crate::served::eventually("the schema is reloaded", || {
        // a server that has just started may not listen yet
        database.execute("notify pgrst");
        served.get("/secret").status == 401
    });
    let shown = document();
    assert_eq!(shown["swagger"], "2.0");
    assert_eq!(shown["host"], served.address.to_string());
    assert_eq!(shown["info"]["title"], "Flying");
    assert_eq!(shown["info"]["description"], "Where and who.");
    let paths: Vec<&String> = shown["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/", "/pilots", "/rpc/all_sites", "/rpc/one", "/rpc/volatile_one", "/sites"]);
    assert!(shown["paths"]["/rpc/volatile_one"].get("get").is_none());
    let sites = &shown["definitions"]["sites"];
    assert_eq!(sites["required"], serde_json::json!(["id", "name"]));
    assert_eq!(
        sites["properties"]["name"],
        serde_json::json!({"type": "string", "format": "character varying", "maxLength": 20, "default": "it's"})
    );
    assert_eq!(
        sites["properties"]["elevation_m"],
        serde_json::json!({"type": "integer", "format": "int64", "description": "metres"})
    );
    assert_eq!(
        shown["definitions"]["pilots"]["properties"]["site_id"]["description"],
        "Note:\nThis is a Foreign Key to `sites.id`.<fk table='sites' column='id'/>"
    );
    assert_eq!(shown["paths"]["/sites"]["get"]["summary"], "Sites");
    let head = served.request("HEAD", "/", &[]);
    assert_eq!((head.status, header(&head, "content-type")), (200, "application/openapi+json; charset=utf-8"));
    let all = Served::start(Config { openapi_mode: OpenApiMode::IgnorePrivileges, ..config(&database.uri()) });
    assert!(all.get("/").json()["paths"].get("/secret").is_some());
    let none = Served::start(Config { openapi_mode: OpenApiMode::Disabled, ..config(&database.uri()) });
    assert_eq!((none.get("/").status, none.get("/").json()["code"].as_str()), (404, Some("PGRST126")));
    let function = Served::start(Config { db_root_spec: Some("one".into()), ..config(&database.uri()) });
    assert_eq!(function.get("/").text(), "1");
    assert_eq!(function.request("PATCH", "/", &[]).json()["code"], "PGRST101");
}

/// Types and defaults are named as they are under an empty search path.
#[test]
fn the_description_names_what_is_elsewhere() {
    let schema = "
        create schema other;
        create type other.kind as enum ('a', 'b c');
        create domain other.short as varchar(7) default 'dom';
        create domain other.deep as other.short;
        create domain other.kinds as other.kind[];
        create function other.tenant() returns text language sql as $$ select 'x' $$;
        create type other.code;
        create function other.code_in(cstring, oid, int) returns other.code language internal immutable strict as 'varcharin';
        create function other.code_out(other.code) returns cstring language internal immutable strict as 'varcharout';
        create type other.code (input = other.code_in, output = other.code_out, typmod_in = varchartypmodin,
                                typmod_out = varchartypmodout, like = varchar);
        create table api.odd (
          kind other.kind default 'b c', kinds other.kind[] default '{a}', domain other.kinds, deep other.deep,
          code other.code(5), codes other.code(6)[], plain varchar(8)[], n numeric(10, 3) default -1.50,
          at timestamptz default now(), fn text default other.tenant(), who text default current_user,
          made text generated always as ('x') stored, id int default 1 + 1, doc jsonb default '{\"a\": 1}');
        create table api.nothing ();
        create function api.several(a int) returns int language sql stable as $$ select 1 $$;
        create function api.several(a other.short, b other.kind) returns int language sql stable as $$ select 1 $$;
        create function api.several(c text) returns int language sql stable as $$ select 1 $$;";
    let (served, _database) = served(schema, |config| config.openapi_mode = OpenApiMode::IgnorePrivileges);
    let shown = served.get("/").json();
    let column = |name: &str| shown["definitions"]["odd"]["properties"][name].clone();
    let strings = json!({"type": "string"});
    let labels = json!({"type": "string", "enum": ["a", "b c"]});
    for (name, expected) in [
        ("kind", json!({"type": "string", "format": "other.kind", "enum": ["a", "b c"], "default": "b c"})),
        ("kinds", json!({"type": "array", "format": "other.kind[]", "items": labels})),
        ("domain", json!({"type": "array", "format": "other.kinds", "items": labels})),
        ("deep", json!({"type": "string", "format": "character varying", "default": "dom"})),
        ("code", json!({"type": "string", "format": "other.code(5)"})),
        ("codes", json!({"type": "array", "format": "other.code(6)[]", "items": strings})),
        ("plain", json!({"type": "array", "format": "character varying[]", "items": strings})),
        ("n", json!({"type": "number", "format": "numeric", "default": -1.5})),
        ("at", json!({"type": "string", "format": "timestamp with time zone", "default": "now()"})),
        ("fn", json!({"type": "string", "format": "text", "default": "other.tenant()"})),
        ("who", json!({"type": "string", "format": "text", "default": "CURRENT_USER"})),
        ("made", json!({"type": "string", "format": "text", "readOnly": true})),
        ("id", json!({"type": "integer", "format": "int32"})),
        ("doc", json!({"format": "jsonb", "default": {"a": 1}})),
    ] {
        assert_eq!(column(name), expected, "{name}");
    }
    assert_eq!(shown["definitions"]["nothing"], json!({"type": "object"}));
    let filter = &shown["parameters"]["rowFilter.odd.kind"];
    assert_eq!(filter, &json!({"name": "kind", "in": "query", "required": false, "type": "string"}));
    // of several functions of a name the one with the most arguments is shown
    let arguments = &shown["paths"]["/rpc/several"]["post"]["parameters"][0]["schema"]["properties"];
    let domain = json!({"type": "string", "format": "other.short"});
    let kind = json!({"type": "string", "format": "other.kind", "enum": ["a", "b c"]});
    assert_eq!(arguments, &json!({"a": domain, "b": kind}));
}

/// A client that is generated from the description sends and reads the values that the API has.
#[test]
fn the_description_has_the_shape_of_values() {
    let schema = "
        create type api.mood as enum ('sad', 'happy');
        create type api.point as (x int, moods api.mood[]);
        create type api.line as (a api.point, points api.point[]);
        create domain api.place as api.point;
        create domain api.colour as int;
        create function api.colour(json) returns api.colour immutable language sql as $$ select 1 $$;
        create cast (json as api.colour) with function api.colour(json) as implicit;
        create table api.shapes (
          id int primary key generated always as identity, number int not null generated by default as identity,
          line api.line, places api.place[], colour api.colour not null, twice int not null generated always as (2) stored);
        create function api.drawn(line api.line, mood api.mood) returns int stable language sql as $$ select 1 $$;";
    let (served, _database) = served(schema, |config| config.openapi_mode = OpenApiMode::IgnorePrivileges);
    let shown = served.get("/").json();
    let shapes = &shown["definitions"]["shapes"];
    let labels = json!(["sad", "happy"]);
    let moods = json!({"type": "array", "format": "api.mood[]", "items": {"type": "string", "enum": labels}});
    let point = json!({"x": {"type": "integer", "format": "int32"}, "moods": moods});
    let line = json!({"type": "object", "format": "api.line", "properties": {
        "a": {"type": "object", "format": "api.point", "properties": point},
        "points": {"type": "array", "format": "api.point[]", "items": {"type": "object", "properties": point}}}});
    assert_eq!(shapes["properties"]["line"], line);
    assert_eq!(shapes["properties"]["places"]["items"], json!({"type": "object", "properties": point}));
    assert_eq!(shapes["properties"]["colour"], json!({"format": "api.colour"}));
    // Columns that PostgreSQL sets itself are no part of what a client sends.
    assert_eq!(shapes["properties"]["id"]["readOnly"], true);
    assert_eq!(shapes["properties"]["twice"], json!({"type": "integer", "format": "int32", "readOnly": true}));
    assert_eq!(shapes["properties"]["number"].get("readOnly"), None);
    assert_eq!(shapes["required"], json!(["number", "colour"]));
    let drawn = &shown["paths"]["/rpc/drawn"];
    assert_eq!(drawn["post"]["parameters"][0]["schema"]["properties"]["line"], line);
    let mood = json!({"name": "mood", "in": "query", "required": true, "type": "string", "format": "api.mood", "enum": labels});
    assert_eq!(drawn["get"]["parameters"][1], mood);
    assert_eq!(drawn["get"]["parameters"][0]["type"], "string");
}

#[test]
fn sql_sets_status_and_headers() {
    let functions = r#"
        create function api.accepted() returns int language plpgsql stable as $$ begin
          perform set_config('response.status', '202 whatever', true);
          perform set_config('response.headers', '[{"Cache-Control": "no-store"}, {"vary": "Cookie"}, {"Set-Cookie": "a=b"},
                                                   {"Set-Cookie": "c=d"}]', true);
          return 7; end $$;
        create view api.noted as select api.accepted() as seven, i from generate_series(1, 3) i;
        create function api.badly(what text, value text) returns int language plpgsql stable as $$ begin
          perform set_config('response.' || what, value, true); return 1; end $$;
        create function api.raised(message text, detail text) returns int language plpgsql stable as $$ begin
          raise sqlstate 'PGRST' using message = message, detail = detail; end $$;
        create function api.teapot() returns int language plpgsql stable as $$ begin
          raise sqlstate 'PT418' using message = 'I am a teapot', detail = 'short', hint = 'and stout'; end $$;"#;
    let (served, _database) = served(functions, |_| {});
    for (target, body) in
        [("/rpc/accepted", "7"), ("/noted?select=i&seven=eq.7", "[{\"i\":1},\n{\"i\":2},\n{\"i\":3}]")]
    {
        let response = served.get(target);
        assert_eq!((response.status, response.text()), (202, body));
        assert_eq!((header(&response, "cache-control"), header(&response, "vary")), ("no-store", "Cookie"));
        let cookies = response.headers.iter().filter(|(name, _)| name == "set-cookie").count();
        assert_eq!(cookies, 2);
        let head = served.request("HEAD", target, &[]);
        assert_eq!((head.status, header(&head, "cache-control")), (202, "no-store"));
    }
    // what is only selected says it to HEAD as well
    assert_eq!(served.request("HEAD", "/noted?select=seven", &[]).status, 202);
    // where a response ends is not SQL's to say
    let framed = "/rpc/badly?what=headers&value=[{%22Content-Length%22:%221000%22},{%22Transfer-Encoding%22:%22x%22}]";
    let mut client = Client::connect(served.address);
    assert_eq!(client.request("GET", framed, &[]).text(), "1");
    let nothing = client.request("GET", "/rpc/badly?what=status&value=204", &[]);
    assert_eq!((nothing.status, nothing.header("content-length")), (204, None));
    let unchanged = client.request("GET", "/rpc/badly?what=status&value=304", &[]);
    assert_eq!(unchanged.status, 304);
    assert_eq!(client.request("GET", "/rpc/badly?what=status&value=100", &[]).json()["code"], "PGRST112");
    // the next request on the same session sees nothing of it
    assert_eq!(served.get("/sites?limit=1").status, 200);
    for (what, value, code) in [
        ("headers", "{}", "PGRST111"),
        ("headers", r#"[{"a":"1","b":"2"}]"#, "PGRST111"),
        ("headers", r#"[{"a":1}]"#, "PGRST111"),
        ("headers", r#"[{"bad name":"1"}]"#, "PGRST111"),
        ("status", "x", "PGRST112"),
        ("status", "99", "PGRST112"),
    ] {
        let target = format!("/rpc/badly?what={what}&value={}", value.replace('"', "%22").replace(' ', "%20"));
        let response = served.get(&target);
        assert_eq!((response.status, response.json()["code"].as_str()), (500, Some(code)), "{target}");
    }
    let raised = |message: &str, detail: &str| {
        let quoted = |text: &str| text.replace('"', "%22").replace(' ', "%20");
        served.get(&format!("/rpc/raised?message={}&detail={}", quoted(message), quoted(detail)))
    };
    let closed =
        raised(r#"{"code":"W1","message":"closed","hint":"wait"}"#, r#"{"status":423,"headers":{"X-Fog":"thick"}}"#);
    assert_eq!(
        (closed.status, header(&closed, "x-fog"), header(&closed, "proxy-status")),
        (423, "thick", "Thalweg; error=W1")
    );
    assert_eq!(closed.json(), serde_json::json!({"code": "W1", "message": "closed", "details": null, "hint": "wait"}));
    for (message, detail) in
        [("x", "{}"), (r#"{"code":"A"}"#, r#"{"status":400,"headers":{}}"#), (r#"{"code":"A","message":"b"}"#, "{}")]
    {
        assert_eq!(raised(message, detail).json()["code"], "PGRST121", "{message} {detail}");
    }
    let mut client = Client::connect(served.address);
    client.send("GET", "/rpc/teapot", &[]);
    assert_eq!(client.status_line(), "HTTP/1.1 418 I am a teapot");
}

#[test]
fn bare_names_of_aliased_embeds_are_deprecated() {
    let (kind, database) = served("", |_| {});
    let target = "/sites?select=id,p:pilots(id)&pilots.id=eq.1&order=id&limit=2";
    let warned = kind.get(target);
    assert_eq!(warned.text(), "[{\"id\":1,\"p\":[]},\n{\"id\":2,\"p\":[{\"id\":1}]}]");
    assert!(header(&warned, "warning").starts_with("299 PostgRESTv"), "{:?}", warned.headers);
    assert!(header(&warned, "warning").contains("'pilots' to 'p'"));
    assert_eq!(kind.get("/sites?select=id,p:pilots(id)&p.id=eq.1").header("warning"), None);
    let strict = Served::start(Config { url_use_legacy_target_names: false, ..config(&database.uri()) });
    let refused = strict.get(target).json();
    assert_eq!(refused["code"], "PGRST108");
    assert_eq!(refused["hint"], "Change 'pilots' to 'p' in filters, orders or limits.");
    assert_eq!(strict.get("/sites?select=id,p:pilots(id)&p.id=eq.1").status, 200);
}

#[test]
fn totals_are_counted_or_estimated() {
    let (served, database) = served("", |_| {});
    let total = |served: &Served, target: &str, count: &str| {
        let response = served.request("GET", target, &[("Prefer", &format!("count={count}"))]);
        (response.status, header(&response, "content-range").to_owned())
    };
    assert_eq!(total(&served, "/sites?limit=2", "planned"), (206, "0-1/10".into()));
    assert_eq!(total(&served, "/sites?limit=2", "estimated"), (206, "0-1/10".into()));
    assert_eq!(total(&served, "/rpc/all_sites?limit=2", "estimated"), (206, "0-1/10".into()));
    assert_eq!(total(&served, "/rpc/all_sites?limit=2", "planned"), (200, "0-1/*".into()));
    assert_eq!(total(&served, "/rpc/all_sites?id=eq.99&offset=3", "exact"), (416, "*/0".into()));
    assert_eq!(total(&served, "/rpc/one", "exact"), (200, "0-0/1".into()));
    let head = served.request("HEAD", "/rpc/all_sites?limit=2&id=gt.4", &[("Prefer", "count=exact")]);
    assert_eq!((head.status, header(&head, "content-range")), (206, "0-1/6"));
    // up to the cap rows are counted, above it they are estimated
    let capped = Served::start(Config { db_max_rows: Some(4), ..config(&database.uri()) });
    assert_eq!(total(&capped, "/sites?id=lt.4", "estimated"), (200, "0-2/3".into()));
    assert_eq!(total(&capped, "/sites", "estimated"), (206, "0-3/10".into()));
    assert_eq!(total(&capped, "/rpc/all_sites", "exact"), (206, "0-3/10".into()));
}

#[test]
fn a_call_may_be_limited() {
    let (served, _database) = served("", |_| {});
    let ask = |most: &str| {
        served.request("GET", "/rpc/all_sites", &[("Prefer", &format!("handling=strict, max-affected={most}"))])
    };
    let refused = ask("9").json();
    assert_eq!(
        (refused["code"].as_str(), refused["details"].as_str()),
        (Some("PGRST124"), Some("The query affects 10 rows"))
    );
    let answered = ask("10");
    assert_eq!((answered.status, header(&answered, "preference-applied")), (200, "handling=strict, max-affected=10"));
}

#[test]
fn origins_traces_and_terse_errors_are_configured() {
    let (served, _database) = served("", |config| {
        config.server_cors_allowed_origins = Some(vec!["https://a.example".into()]);
        config.server_trace_header = Some("X-Request-Id".into());
        config.client_errors_are_verbose = false;
        config.db_tx_end_is_theirs = true;
    });
    let from = |origin: &str| served.request("GET", "/sites?limit=1", &[("Origin", origin), ("X-Request-Id", "42")]);
    let known = from("https://a.example");
    assert_eq!(header(&known, "access-control-allow-origin"), "https://a.example");
    assert_eq!(header(&known, "access-control-allow-credentials"), "true");
    assert_eq!(header(&known, "x-request-id"), "42");
    assert_eq!(
        (from("https://b.example").status, from("https://b.example").header("access-control-allow-origin")),
        (200, None)
    );
    let preflight = |origin: &str| {
        served.request("OPTIONS", "/sites", &[("Origin", origin), ("Access-Control-Request-Method", "GET")])
    };
    assert!(preflight("https://a.example").header("access-control-allow-methods").is_some());
    assert!(header(&preflight("https://b.example"), "allow").starts_with("OPTIONS,GET,HEAD"));
    let error = served.get("/nope");
    assert_eq!(header(&error, "x-request-id"), "");
    assert_eq!(error.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["code", "message"]);
    let ended = served.request("GET", "/sites?limit=1", &[("Prefer", "tx=rollback, handling=lenient")]);
    assert_eq!(header(&ended, "preference-applied"), "tx=rollback, handling=lenient");
}

#[test]
fn settings_are_sent_as_configured() {
    let seen = "create function api.seen() returns json language sql stable as $$
                  select json_build_object('path', current_setting('request.path', true), 'club', current_setting('app.settings.club', true)) $$;
                create function api.serial() returns text language sql stable set default_transaction_isolation = 'serializable'
                  as $$ select current_setting('transaction_isolation') $$;
                create function api.isolation() returns text language sql stable as $$ select current_setting('transaction_isolation') $$;
                create function api.hurried() returns text language sql stable set statement_timeout = '17s'
                  as $$ select current_setting('statement_timeout') $$;
                create function api.check() returns void language plpgsql as $$ begin
                  if current_setting('request.path', true) = '/pilots' then raise sqlstate 'PT403' using message = 'not these'; end if; end $$;";
    let club = |config: &mut Config| config.app_settings = vec![("app.settings.club".into(), "Ridge".into())];
    let (told, database) = served(seen, club);
    assert_eq!(told.get("/rpc/seen").text(), r#"{"path" : "/rpc/seen", "club" : "Ridge"}"#);
    assert_eq!(
        (told.get("/rpc/serial").text(), told.get("/rpc/isolation").text()),
        ("\"serializable\"", "\"read committed\"")
    );
    assert_eq!(told.get("/rpc/hurried").text(), "\"17s\"");
    let checked =
        Served::start(Config { db_pre_request: Some((Some("api".into()), "check".into())), ..config(&database.uri()) });
    assert_eq!((checked.get("/pilots").status, checked.get("/sites?limit=1").status), (403, 200));
    // where nothing can see a request, one that is to be told of it all the same
    let (always, _other) = served("", |config| {
        club(config);
        config.db_request_settings = RequestSettings::Always;
    });
    assert_eq!(always.get("/sites?limit=1").status, 200);
    assert_eq!(ROLE, "test_reader");
}

#[test]
fn features_are_postgis_own() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    if database.value("select count(*) from pg_available_extensions where name = 'postgis'") == "0" {
        // without PostGIS its function is missed, and the database says so
        let served = Served::database(&database.uri());
        let response = served.request("GET", "/sites", &[("Accept", "application/geo+json")]);
        assert_eq!((response.status, response.json()["code"].as_str()), (404, Some("42883")));
        return;
    }
    database.execute(&format!(
        "create extension postgis schema public;
         create table api.places (id int primary key, at geometry(Point, 4326), site_id int references api.sites);
         insert into api.places values (1, 'SRID=4326;POINT(7 46.5)', 1), (2, null, null); {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let ask = |target: &str| served.request("GET", target, &[("Accept", "application/geo+json")]);
    let places = ask("/places?select=id,at,sites(name)&order=id");
    assert_eq!(header(&places, "content-type"), "application/geo+json; charset=utf-8");
    assert_eq!(
        places.json(),
        serde_json::json!({"type": "FeatureCollection", "features": [
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [7, 46.5]},
             "properties": {"id": 1, "sites": {"name": "site 1"}}},
            {"type": "Feature", "geometry": {"type": null}, "properties": {"id": 2, "sites": null}},
        ]})
    );
    assert_eq!(header(&places, "content-range"), "0-1/*");
    assert_eq!(ask("/places?id=eq.9").json(), serde_json::json!({"type": "FeatureCollection", "features": []}));
    assert_eq!(ask("/places?select=id").status, 400);
    let of_postgis = database.value("select to_json(at) from api.places where id = 1");
    assert_eq!(served.get("/places?select=at&id=eq.1").text(), format!("[{{\"at\":{of_postgis}}}]"));
}
