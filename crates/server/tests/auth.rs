//! Who asks: tokens, roles and what SQL sees of them (the protocol's auth), over a real socket.

use crate::served::{GRANTS, ROLE, Served, config, eventually};
use crate::signed::{SECRET, token, with_secret};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_server::{Config, Secret};
use thalweg_testkit::{Database, Response};

const PILOT: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoicGlsb3QifQ.fyAqry7tzVoo3oxdR2TtallcZ6nkVV1Pl92gystZCr0";
const EXPIRED: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoicGlsb3QiLCJleHAiOjF9.fvczEqmd0b7bWYfRE5p3SMLz0qMa2gcrZOpHQeXASlY";

/// A request with a token.
pub(crate) fn ask(served: &Served, method: &str, target: &str, token: &str) -> Response {
    served.request(method, target, &[("authorization", &format!("Bearer {token}"))])
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Roles belong to the whole cluster, and other tests make theirs.
const PILOTS: &str = "
    do $$ begin create role pilot nologin; exception when duplicate_object or unique_violation then null; end $$;
    grant usage on schema api to pilot; grant select on api.flights, api.seen, api.me to pilot;
";

const SCHEMA: &str = "
    create schema api;
    create table api.flights (id int primary key, pilot_id int default (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int, km int);
    insert into api.flights values (1, 1, 10), (2, 2, 20), (3, 1, 30);
    create table api.secrets as select 1 as id;
    create view api.me as select current_user::text as role, session_user::text as login;
    create view api.seen as select current_setting('request.jwt.claims', true)::json as claims,
      current_setting('request.headers', true)::json ->> 'authorization' as header, current_user::text as role;
";

fn code(response: &Response) -> (u16, String, String) {
    let error = response.json();
    let text = |member: &str| error[member].as_str().unwrap_or("null").to_owned();
    (response.status, text("code"), text("message"))
}

#[test]
fn the_vectors_of_the_protocol() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let served = Served::start(with_secret(&database.uri()));
    assert_eq!(ask(&served, "GET", "/me", PILOT).json()[0]["role"], "pilot");
    assert_eq!(served.get("/me").json()[0]["role"], ROLE);
    let refused = ask(&served, "GET", "/me", EXPIRED);
    assert_eq!(code(&refused), (401, "PGRST303".into(), "JWT expired".into()));
    let challenge = "Bearer error=\"invalid_token\", error_description=\"JWT expired\"";
    assert_eq!(refused.header("www-authenticate"), Some(challenge));
    let (text, signature) = PILOT.rsplit_once('.').unwrap();
    let refused = ask(&served, "GET", "/me", &format!("{text}.g{}", &signature[1..]));
    assert_eq!(code(&refused), (401, "PGRST301".into(), "No suitable key or wrong key type".into()));
    assert_eq!(refused.json()["details"], "None of the keys was able to decode the JWT");
    let refused = ask(&served, "GET", "/me", "a.b");
    assert_eq!(code(&refused), (401, "PGRST301".into(), "Expected 3 parts in JWT; got 2".into()));
    assert_eq!((&refused.json()["details"], &refused.json()["hint"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_header_says_who_asks() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let served = Served::start(with_secret(&database.uri()));
    let role = |header: &str| {
        let response = served.request("GET", "/me", &[("authorization", header)]);
        if response.status == 200 { response.json()[0]["role"].as_str().unwrap().to_owned() } else { code(&response).2 }
    };
    for header in [format!("Bearer {PILOT}"), format!("bEARER  \t {PILOT}")] {
        assert_eq!(role(&header), "pilot", "{header}");
    }
    for header in ["Basic cGlsb3Q6eA==", "", PILOT, "Bearerx y"] {
        assert_eq!(role(header), ROLE, "{header}");
    }
    for header in ["Bearer", "Bearer ", "bearer   "] {
        assert_eq!(role(header), "Empty JWT is sent in Authorization header", "{header}");
    }
    // only the first counts
    let bearer = format!("Bearer {PILOT}");
    let two = [("authorization", "Basic x"), ("authorization", &*bearer)];
    assert_eq!(served.request("GET", "/me", &two).json()[0]["role"], ROLE);
    // whatever the path, and before it is looked at; a preflight is not asked
    for (method, target) in
        [("GET", "/nothing"), ("GET", "/"), ("OPTIONS", "/me"), ("DELETE", "/rpc/nothing"), ("TRACE", "/me")]
    {
        assert_eq!(ask(&served, method, target, EXPIRED).status, 401, "{method} {target}");
    }
    let preflight = [("authorization", "Bearer x"), ("origin", "http://x"), ("access-control-request-method", "GET")];
    assert_eq!(served.request("OPTIONS", "/me", &preflight).status, 200);
}

#[test]
fn claims_are_what_sql_sees() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let served = Served::start(with_secret(&database.uri()));
    let seen = |claims: Value| ask(&served, "GET", "/seen", &token(&claims)).json()[0].clone();
    let claims =
        json!({"role": "pilot", "pilot_id": 1, "big": 12345678901234567890u64, "text": "é\"\\ \u{1F600}", "n": null});
    assert_eq!(seen(claims.clone())["claims"], claims);
    // the role is written over where it came from elsewhere
    assert_eq!(seen(json!({"role": "pilot", "role2": 1}))["role"], "pilot");
    let nobody = seen(json!({"sub": "x"}));
    assert_eq!((&nobody["claims"], &nobody["role"]), (&json!({"sub": "x", "role": ROLE}), &json!(ROLE)));
    let header = seen(json!({"role": "pilot"}))["header"].clone();
    assert!(header.as_str().unwrap().starts_with("Bearer ey"), "{header}");
    assert_eq!(served.get("/seen").json()[0]["claims"], json!({"role": ROLE}));
    // nothing of one request is seen by the next
    assert_eq!(served.get("/seen").json()[0]["header"], Value::Null);
}

#[test]
fn claims_are_checked_each_time() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let served = Served::start(Config { jwt_aud: Some("club".into()), ..with_secret(&database.uri()) });
    let says = |claims: Value| {
        let response = ask(&served, "GET", "/me", &token(&claims));
        if response.status == 200 { "".to_owned() } else { code(&response).2 }
    };
    let now = now();
    for (claims, expected) in [
        (json!({"exp": now + 5}), ""),
        (json!({"exp": now - 20}), ""),
        (json!({"exp": now - 40}), "JWT expired"),
        (json!({"exp": now as f64 + 1000.5}), ""),
        (json!({"exp": now as f64 - 100.5}), "JWT expired"),
        (json!({"exp": 1e30}), ""),
        (json!({"nbf": now as f64 + 1000.5}), "JWT not yet valid"),
        (json!({"iat": now as f64 + 1000.5}), "JWT issued at future"),
        (json!({"iat": now as f64 - 0.5}), ""),
        (json!({"exp": "x"}), "The JWT 'exp' claim must be a number"),
        (json!({"nbf": now + 40}), "JWT not yet valid"),
        (json!({"nbf": now + 20}), ""),
        (json!({"iat": now + 40}), "JWT issued at future"),
        (json!({"aud": "club"}), ""),
        (json!({"aud": ["x", "club"]}), ""),
        (json!({"aud": []}), ""),
        (json!({"aud": "x"}), "JWT not in audience"),
        (json!({"aud": 1}), "The JWT 'aud' claim must be a string or an array of strings"),
    ] {
        let mut with_role = claims.clone();
        with_role["role"] = json!("pilot");
        assert_eq!(says(with_role.clone()), expected, "{claims}");
        assert_eq!(says(with_role), expected, "{claims}, again");
    }
    // one that is remembered expires all the same
    let short = json!({"role": "pilot", "exp": now - 28});
    assert_eq!(says(short.clone()), "");
    eventually("it has expired", || says(short.clone()) == "JWT expired");
}

#[test]
fn errors_tell_who_may_not() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}{PILOTS} revoke select on api.secrets from {ROLE};
         do $$ begin create role auth_gate login noinherit password 'x'; exception when duplicate_object then null; end $$;
         do $$ begin create role not_granted; exception when duplicate_object then null; end $$;
         grant pilot, {ROLE} to auth_gate; grant usage on schema api to not_granted"
    ));
    let uri = database.uri();
    let uri = format!("postgresql://auth_gate:x@{}", uri.rsplit_once('@').unwrap().1);
    let served = Served::start(with_secret(&uri));
    let asked = |claims: Value, target: &str| {
        let response = ask(&served, "GET", target, &token(&claims));
        (code(&response).0, code(&response).1, response.header("www-authenticate").map(str::to_owned))
    };
    let bearer = Some("Bearer".to_owned());
    for target in ["/flights", "/me"] {
        assert_eq!(asked(json!({"role": "no such role"}), target), (401, "22023".into(), bearer.clone()), "{target}");
        assert_eq!(asked(json!({"role": "not_granted"}), target), (403, "42501".into(), None), "{target}");
    }
    assert_eq!(asked(json!({"role": "pilot"}), "/secrets"), (403, "42501".into(), None));
    assert_eq!(asked(json!({"role": ROLE}), "/secrets"), (401, "42501".into(), bearer.clone()));
    assert_eq!(asked(json!({"role": 5}), "/me"), (401, "22023".into(), bearer.clone()));
    let anonymous = served.get("/secrets");
    assert_eq!((anonymous.status, anonymous.header("www-authenticate")), (401, Some("Bearer")));
    drop(served);

    let served = Served::start(Config { db_anon_role: None, ..with_secret(&uri) });
    assert_eq!(code(&served.get("/me")), (401, "PGRST302".into(), "Anonymous access is disabled".into()));
    assert_eq!(served.get("/me").header("www-authenticate"), Some("Bearer"));
    assert_eq!(code(&ask(&served, "GET", "/me", &token(&json!({"sub": 1})))).1, "PGRST302");
    assert_eq!(ask(&served, "GET", "/me", PILOT).status, 200);
    // without such a role nobody is anonymous
    assert_eq!(ask(&served, "GET", "/secrets", &token(&json!({"role": ROLE}))).status, 403);
    drop(served);

    let served = Served::database(&uri);
    let response = ask(&served, "GET", "/me", PILOT);
    assert_eq!(code(&response), (500, "PGRST300".into(), "Server lacks JWT secret".into()));
    assert_eq!(response.header("www-authenticate"), None);
    assert_eq!(code(&ask(&served, "GET", "/me", "")).1, "PGRST300");
}

/// `SET ROLE none` is PostgreSQL's for the role that logged in, which no token gives by this word.
#[test]
fn none_is_no_role() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let served = Served::start(with_secret(&database.uri()));
    for target in ["/me", "/flights", "/"] {
        let refused = ask(&served, "GET", target, &token(&json!({"role": "none"})));
        assert_eq!(code(&refused), (401, "22023".into(), "role \"none\" does not exist".into()), "{target}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{target}");
    }
    let served = Served::start(Config { db_anon_role: Some("none".into()), ..with_secret(&database.uri()) });
    assert_eq!(code(&served.get("/me")).1, "22023");
}

/// What a session keeps of a role is nothing that another role's transaction begins with, that policies are asked by, or that
/// changes what is said.
#[test]
fn settings_of_a_role_are_its_own() {
    // of this database's alone: roles belong to the whole cluster
    let role = format!("settled_{}", std::process::id());
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}{PILOTS}
         create view api.isolation as select current_setting('transaction_isolation') as level;
         grant select on api.isolation to pilot;"
    ));
    database.execute(&format!(
        "create role {role} nologin; grant {role} to current_user; grant usage on schema api to {role}; grant select on api.flights, api.isolation to {role};
         alter table api.flights add column name text default 'é';
         alter role {role} set default_transaction_isolation = 'serializable';
         alter role {role} set client_encoding = 'LATIN1'; alter role {role} set row_security = on"
    ));
    let served = Served::start(Config { db_pool: 1, ..with_secret(&database.uri()) });
    let settled = token(&json!({"role": role, "pilot_id": 1}));
    let ids = |target: &str| ask(&served, "GET", target, &settled).text().to_owned();
    for _ in 0..2 {
        assert_eq!(ids("/flights?select=id&name=eq.%C3%A9&limit=1"), r#"[{"id":1}]"#);
        let level = ask(&served, "GET", "/isolation?select=level", PILOT).json()[0]["level"].clone();
        assert_eq!(level, "read committed");
    }
    // switched on, and nobody tells: the policy is asked for the claims of the request, not for those of a session
    database.execute(
        "alter table api.flights enable row level security;
         create policy own on api.flights
           using (pilot_id = coalesce((current_setting('request.jwt.claims')::json ->> 'pilot_id')::int, 2))",
    );
    let own: Value = serde_json::from_str(&ids("/flights?select=id")).unwrap();
    assert_eq!(own, json!([{"id": 1}, {"id": 3}]));
    // a role that wants to be refused rather than be shown some rows is, whatever was asked in between; what has no policies is not
    database.execute(&format!("alter role {role} set row_security = off; notify pgrst"));
    eventually("the role's setting is known", || ids("/flights?select=id").contains("42501"));
    for _ in 0..3 {
        assert_eq!(ids("/isolation?select=level"), r#"[{"level":"serializable"}]"#);
        assert!(ids("/flights?select=id").contains("42501"));
    }
    drop(served);
    database.execute(&format!("drop owned by {role}; drop role {role}"));
}

#[test]
fn a_role_that_changes_keeps_no_rights_beyond_a_reload() {
    let name = "auth_changes";
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}{PILOTS}
         do $$ begin create role {name}; exception when duplicate_object then null; end $$;
         do $$ begin create role auth_keeper login noinherit password 'x'; exception when duplicate_object then null; end $$;
         grant {name}, {ROLE} to auth_keeper; grant usage on schema api to {name}; grant select on api.flights to {name}"
    ));
    let uri = database.uri();
    let served = Served::start(with_secret(&format!("postgresql://auth_keeper:x@{}", uri.rsplit_once('@').unwrap().1)));
    let status = || ask(&served, "GET", "/flights?select=id", &token(&json!({"role": name}))).status;
    let all_kept = || (0..20).for_each(|_| assert_eq!(status(), 200));
    all_kept();
    database.execute(&format!("revoke {name} from auth_keeper; notify pgrst"));
    eventually("it is not granted any more", || status() == 403);
    (0..20).for_each(|_| assert_eq!(status(), 403));
    database.execute(&format!("grant {name} to auth_keeper; notify pgrst"));
    eventually("it is granted again", || status() == 200);
    all_kept();
    database.execute(&format!("alter role {name} rename to {name}_2; notify pgrst"));
    eventually("it has another name", || status() == 401);
    (0..20).for_each(|_| assert_eq!(status(), 401));
    database.execute(&format!("alter role {name}_2 rename to {name}; notify pgrst"));
    eventually("it has its name again", || status() == 200);
    all_kept();
    database.execute(&format!(
        "drop owned by {name}; drop role {name}; create role {name}; grant {name} to auth_keeper; notify pgrst"
    ));
    eventually("another has its name", || status() == 403);
    (0..20).for_each(|_| assert_eq!(status(), 403));
    drop(served);
    database.execute(&format!("drop owned by {name}, auth_keeper; drop role {name}; drop role auth_keeper"));
}

#[test]
fn keys_change_with_the_configuration() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    let directory = std::env::temp_dir();
    let name = |kind: &str| directory.join(format!("thalweg-auth-{}.{kind}", std::process::id()));
    let (file, secret) = (name("conf"), name("secret"));
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let text = format!(
        "db-uri = \"{}\"\ndb-schemas = \"api\"\ndb-anon-role = \"{ROLE}\"\nserver-host = \"127.0.0.1\"\nserver-port = 0\n\
         jwt-secret = \"@{}\"\njwt-role-claim-key = \"$$.club.roles[1]\"\n",
        database.uri(),
        secret.display()
    );
    std::fs::write(&file, &text).unwrap();
    let served = Served::of_sources(thalweg_server::Sources::new(Some(&file), std::iter::empty()));
    let role = |claims: Value| {
        let response = ask(&served, "GET", "/me", &token(&claims));
        if response.status == 200 { response.json()[0]["role"].as_str().unwrap().to_owned() } else { code(&response).1 }
    };
    let claims = json!({"club": {"roles": ["x", "pilot"]}});
    (0..3).for_each(|_| assert_eq!(role(claims.clone()), "pilot"));
    std::fs::write(&secret, "another secret, which is 32 bytes long").unwrap();
    database.execute("notify pgrst, 'reload config'");
    eventually("the old key is forgotten", || role(claims.clone()) == "PGRST301");
    // a key that cannot be one is dropped
    std::fs::write(&secret, "short").unwrap();
    database.execute("notify pgrst, 'reload config'");
    database.execute("create table api.late (id int); grant select on api.late to test_reader; notify pgrst");
    eventually("the schema is loaded all the same", || served.get("/late").status == 200);
    assert_eq!(role(claims.clone()), "PGRST301");
    // a set of keys, one of which is the old one
    let key = BASE64_URL_SAFE_NO_PAD.encode(SECRET);
    std::fs::write(&secret, json!({"keys": [{"kty": "new"}, {"kty": "oct", "k": key}]}).to_string()).unwrap();
    std::fs::write(&file, text.replace("$$.club.roles[1]", ".role")).unwrap();
    database.execute("notify pgrst, 'reload config'");
    eventually("the new set counts", || role(json!({"role": "pilot"})) == "pilot");
    assert_eq!(role(claims), ROLE, "the claims name none where it is looked for now");
    std::fs::remove_file(file).unwrap();
    std::fs::remove_file(secret).unwrap();
}

#[test]
fn every_kind_of_signature_is_read() {
    let tokens: Value =
        serde_json::from_str(include_str!("../../auth/tests/tokens/tokens.json")).expect("what another library made");
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"));
    for made in tokens["tokens"].as_array().unwrap() {
        let secret = made["public"].to_string();
        let served = Served::start(Config { jwt_secret: Some(Secret::new(secret)), ..config(&database.uri()) });
        let answered = |member: &str| ask(&served, "GET", "/me", made[member].as_str().unwrap());
        let by = &made["alg"];
        assert_eq!(answered("token").json()[0]["role"], "pilot", "{by}");
        assert_eq!(code(&answered("signed_by_another")).1, "PGRST301", "{by}");
    }
}

const LOGIN: &str = "
    create function api.login(token text) returns text stable language sql as $$ select token $$;
    create function api.sign_in(token text) returns json volatile language sql as $$ select json_build_object('token', token) $$;
    create function api.sign_in_and_go(token text) returns text volatile language sql as $$
      select set_config('response.status', '303', true), set_config('response.headers', '[{\"Location\": \"/home\"}]', true); select token $$;
    create function api.rows() returns setof api.secrets language sql as $$ select * from api.secrets $$;
    create function api.logout() returns text volatile language sql as $$ select null::text $$;
    create function api.change() returns text volatile language sql as $$ select current_user::text $$;
    revoke execute on all functions in schema api from public;
    grant execute on all functions in schema api to test_reader, pilot;
";

/// Over plain HTTP some browsers take no cookie that is for TLS, and forget none.
#[test]
fn a_session_may_do_without_tls() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}{LOGIN}"));
    let session = Config { session_cookie: Some("club".into()), ..with_secret(&database.uri()) };
    let served = Served::start(Config { session_cookie_secure: false, ..session });
    let headers = [("prefer", "session"), ("content-type", "application/json"), ("sec-fetch-site", "same-origin")];
    let token = token(&json!({"role": "pilot"}));
    let entered = served.send("POST", "/rpc/login", &headers, json!({"token": token}).to_string());
    assert_eq!(entered.header("set-cookie"), Some(&*format!("club={token}; Path=/; HttpOnly; SameSite=Lax")));
    for (method, target, cookie) in [("POST", "/rpc/logout", token.as_str()), ("GET", "/", EXPIRED)] {
        let cookie = format!("club={cookie}");
        let left = served.send(method, target, &[&headers[..], &[("cookie", &cookie)]].concat(), "");
        assert_eq!(left.header("set-cookie"), Some("club=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"), "{target}");
    }
}

#[test]
fn a_browser_has_a_session() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}{LOGIN}"));
    let config = Config { session_cookie: Some("__Host-club".into()), ..with_secret(&database.uri()) };
    let served = Served::start(config);
    let sign_in = |function: &str, token: &str, more: &[(&str, &str)]| {
        let body = json!({"token": token}).to_string();
        let own = [("prefer", "session"), ("content-type", "application/json")];
        served.send("POST", &format!("/rpc/{function}"), &[&own, more].concat(), body)
    };
    let from_here = [("sec-fetch-site", "same-origin")];
    let pilot = token(&json!({"role": "pilot", "exp": now() + 1000}));

    for function in ["login", "sign_in"] {
        let response = sign_in(function, &pilot, &from_here);
        let cookie = response.header("set-cookie").unwrap();
        let (start, end) = cookie.split_once(&pilot).expect("it is the token");
        assert_eq!(start, "__Host-club=");
        let age =
            end.strip_prefix("; Path=/; Max-Age=").and_then(|end| end.strip_suffix("; HttpOnly; Secure; SameSite=Lax"));
        assert!((990..=1000).contains(&age.unwrap().parse::<u32>().unwrap()), "{cookie}");
        // no script sees the token, and no cache keeps it
        assert_eq!((response.status, response.text(), response.header("cache-control")), (204, "", Some("no-store")));
        assert_eq!(response.header("preference-applied"), Some("session"));
    }
    // what the server would not take back is not put
    for (wrong, function) in [("x.y.z", "login"), (EXPIRED, "sign_in")] {
        let response = sign_in(function, wrong, &from_here);
        assert_eq!((code(&response).1, response.header("set-cookie")), ("TWG07".into(), None));
    }
    let rows = served.send(
        "POST",
        "/rpc/rows",
        &[("prefer", "session"), from_here[0], ("content-type", "application/json")],
        "{}",
    );
    assert_eq!(code(&rows).1, "TWG07");
    // nobody signs another in
    for other in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "http://evil.example")],
    ] {
        let response = sign_in("login", &pilot, other);
        assert_eq!((response.status, code(&response).1, response.header("set-cookie")), (403, "TWG06".into(), None));
    }
    // nor by a GET, which needs no more than a header; what has no body signs nobody out
    let get = format!("/rpc/login?token={pilot}");
    let signs_in = |method: &str, site: &str| {
        let response = served.request(method, &get, &[("prefer", "session"), ("sec-fetch-site", site)]);
        (response.status, response.header("set-cookie").map(|cookie| cookie.contains(&pilot)))
    };
    assert_eq!(signs_in("GET", "cross-site"), (403, None));
    assert_eq!(signs_in("GET", "same-origin"), (204, Some(true)));
    assert_eq!(signs_in("HEAD", "same-origin"), (200, None));
    // who is sent on has the cookie too, and no script the token
    let sent_on = sign_in("sign_in_and_go", &pilot, &from_here);
    assert_eq!((sent_on.status, sent_on.text(), sent_on.header("location")), (303, "", Some("/home")));
    assert!(sent_on.header("set-cookie").is_some_and(|cookie| cookie.contains(&pilot)));
    // without the preference a token is a value
    let plain =
        served.send("POST", "/rpc/login", &[("content-type", "application/json")], json!({"token": "t"}).to_string());
    assert_eq!((plain.text(), plain.header("set-cookie")), ("\"t\"", None));

    let cookie = format!("a=b; __Host-club={pilot}; __Host-club=second");
    let with = |method: &str, target: &str, more: &[(&str, &str)]| {
        served.request(method, target, &[&[("cookie", cookie.as_str())], more].concat())
    };
    let me = with("GET", "/me", &[]);
    assert_eq!(me.json()[0]["role"], "pilot");
    assert_eq!(me.header("cache-control"), Some("private"));
    assert!(me.headers.iter().any(|(name, value)| name == "vary" && value == "Cookie"));
    // who is not signed in may be what a cache keeps, but not for everybody
    let nobody = served.get("/me");
    assert_eq!((&nobody.json()[0]["role"], nobody.header("cache-control")), (&json!(ROLE), None));
    assert!(nobody.headers.iter().any(|(name, value)| name == "vary" && value == "Cookie"));
    // a header wins over it
    let bearer = format!("Bearer {}", token(&json!({"role": ROLE})));
    assert_eq!(with("GET", "/me", &[("authorization", &bearer)]).json()[0]["role"], ROLE);

    // what may change something comes from the same site
    // as the test's client names it
    let host = "test";
    let (here, elsewhere) = (format!("https://{host}"), format!("https://{host}.evil.example"));
    for (more, status) in [
        (&[][..], 403),
        (&[("sec-fetch-site", "cross-site"), ("origin", &*here)], 403),
        (&[("sec-fetch-site", "none")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", &*elsewhere)], 403),
        (&[("origin", &*here)], 200),
        (&[("origin", "HTTPS://test")], 403),
        (&[("origin", "https://TEST:443")], 200),
        (&[("origin", "https://test:8443")], 403),
        // one of them was sent by a page, and nobody knows which
        (&[("origin", &*here), ("origin", &*here)], 403),
        (&[("origin", &*here), ("origin", &*elsewhere)], 403),
        (&[("origin", &*here), ("host", "evil.example")], 403),
        (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], 403),
        (&[("sec-fetch-site", "same-origin")], 200),
        // A page on another port or a sibling domain.
        (&[("sec-fetch-site", "same-site")], 403),
        (&[("sec-fetch-site", "same-site"), ("origin", &*here)], 403),
        (&[("sec-fetch-site", "same-origin"), ("origin", &*elsewhere)], 403),
        (&[("sec-fetch-site", "same-origin"), ("origin", "null")], 403),
        (&[("sec-fetch-site", "same-origin"), ("origin", &*here)], 200),
    ] {
        let response = with("POST", "/rpc/change", more);
        assert_eq!(response.status, status, "{more:?}: {}", response.text());
        for method in ["PATCH", "DELETE", "PUT"] {
            assert_eq!(
                with(method, "/flights?id=eq.9", more).status == 403 && status == 403,
                status == 403,
                "{method} {more:?}"
            );
        }
    }
    assert_eq!(with("OPTIONS", "/flights", &[]).status, 200);

    // sign-out, and a cookie that is no good any more
    let out = with("POST", "/rpc/logout", &[("prefer", "session"), from_here[0]]);
    let forgotten = "__Host-club=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax";
    assert_eq!((out.status, out.header("set-cookie")), (204, Some(forgotten)));
    let stale = served.request("GET", "/me", &[("cookie", &format!("__Host-club={EXPIRED}"))]);
    assert_eq!((stale.status, stale.header("set-cookie")), (401, Some(forgotten)));
    drop(served);

    // without a secret nobody is signed out
    let served = Served::start(Config { session_cookie: Some("__Host-club".into()), ..self::config(&database.uri()) });
    let unread = served.request("GET", "/me", &[("cookie", cookie.as_str())]);
    assert_eq!((code(&unread).1, unread.header("set-cookie")), ("PGRST300".into(), None));
    drop(served);

    let served = Served::start(with_secret(&database.uri()));
    let me = served.request("GET", "/me", &[("cookie", cookie.as_str())]);
    assert_eq!(
        (&me.json()[0]["role"], me.header("cache-control")),
        (&json!(ROLE), None),
        "cookies count where they are named"
    );
}
