//! Callers of handlers: no client takes the share of another, or counts as another.

use crate::served::{GRANTS, ROLE, Served, config};
use crate::signed::{token, with_secret};
use axum::Router;
use axum::extract::{Extension, State};
use axum::routing::get;
use std::sync::Arc;
use std::time::Duration;
use thalweg_server::{ApiFailure, Attempts, Caller, Config, Network, Server, Shares};
use thalweg_testkit::{Client, Database, Response};
use tokio::sync::Notify;

const SCHEMA: &str = "create schema api; create table api.things (id int);";

fn serve(config: Config, router: Router) -> Served {
    Served::of_builder(Server::builder(config).routes("/own", router))
}

fn shown(caller: &Caller) -> String {
    match caller {
        Caller::Account(account) => format!("account {account}"),
        Caller::Token(hash) => format!("token {hash}"),
        Caller::Network(network) => format!("network {network}"),
    }
}

fn callers() -> Router {
    let caller = |Extension(caller): Extension<Caller>, Extension(network): Extension<Network>| async move {
        assert!(matches!(caller, Caller::Account(_) | Caller::Token(_)) || caller == Caller::Network(network));
        shown(&caller)
    };
    Router::new().route("/", get(caller).post(caller))
}

#[test]
fn a_caller_is_an_account_or_a_token_or_a_network_and_none_can_be_forged() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let config = Config {
        session_cookie: Some("__Host-club".to_owned()),
        server_trusted_proxies: vec!["192.0.2.0/24".parse().unwrap()],
        ..with_secret(&database.uri())
    };
    let served = serve(config, callers());
    let caller = |headers: &[(&str, &str)]| served.request("GET", "/own", headers).text().to_owned();
    let bearer = |claims: serde_json::Value| format!("Bearer {}", token(&claims));
    let ann = bearer(serde_json::json!({ "role": ROLE, "sub": "ann" }));
    let far = ("x-forwarded-for", "203.0.113.9, 198.51.100.1, 192.0.2.7");
    assert_eq!(caller(&[far]), "network 198.51.100.1");
    assert_eq!(caller(&[("x-forwarded-for", "2001:db8::1:2:3:4")]), "network 2001:db8::/64");
    assert_eq!(caller(&[]), "network unknown", "the proxy hides its clients");
    assert_eq!(caller(&[("x-forwarded-for", "203.0.113.9, unknown")]), "network unknown");
    assert_eq!(caller(&[far, ("authorization", &ann)]), "account ann");
    assert_eq!(caller(&[("authorization", &bearer(serde_json::json!({ "role": ROLE, "sub": 7 })))]), "account 7");
    // A token without an account is a caller of its own.
    let nameless = |more: u32| caller(&[("authorization", &bearer(serde_json::json!({ "role": ROLE, "more": more })))]);
    assert!(nameless(1).starts_with("token ") && nameless(1) == nameless(1) && nameless(1) != nameless(2));
    // A client cannot make itself many callers by tokens that are not valid.
    let forged = format!("{}x", &ann[..ann.len() - 1]);
    let expired = bearer(serde_json::json!({ "role": ROLE, "sub": "ann", "exp": 1 }));
    for wrong in [&*forged, &expired, "Bearer ann", "Basic YW5uOmFubg=="] {
        assert_eq!(caller(&[far, ("authorization", wrong)]), "network 198.51.100.1", "{wrong}");
    }
    // A page of another site cannot use up an account's share with the cookie that the browser
    // sends along.
    let cookie = format!("__Host-club={}", &ann["Bearer ".len()..]);
    let by_cookie = |method, site| {
        let headers = [far, ("cookie", &cookie), ("sec-fetch-site", site)];
        served.request(method, "/own", &headers).text().to_owned()
    };
    assert_eq!(by_cookie("GET", "none"), "account ann");
    assert_eq!(by_cookie("POST", "same-origin"), "account ann");
    assert_eq!(by_cookie("POST", "cross-site"), "network 198.51.100.1");
}

#[derive(Clone)]
struct Held {
    shares: Shares,
    attempts: Arc<Attempts>,
    release: Arc<Notify>,
}

/// One client requests all permits. Others still get theirs, and the client learns that it has used
/// its share.
#[test]
fn one_client_uses_up_its_own_share_only() {
    let held = Held {
        shares: Shares::new(3, 2, Duration::ZERO),
        attempts: Arc::new(Attempts::new(2, Duration::from_secs(3600))),
        release: Arc::default(),
    };
    let hold = |State(held): State<Held>, Extension(caller): Extension<Caller>| async move {
        let _permit = held.shares.acquire(&caller).await?;
        held.release.notified().await;
        Ok::<_, ApiFailure>("held")
    };
    let attempt = |State(held): State<Held>, Extension(network): Extension<Network>| async move {
        held.attempts.take(&network)?;
        Ok::<_, ApiFailure>("tried")
    };
    let router = Router::new().route("/hold", get(hold)).route("/attempt", get(attempt)).with_state(held.clone());
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = serve(config(&database.uri()), router);
    let ask = |path: &str, client: &str| served.request("GET", path, &[("x-forwarded-for", client)]);
    let refused = |response: &Response| {
        let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        (response.status, body["code"].as_str().unwrap_or_default().to_owned())
    };
    std::thread::scope(|scope| {
        let holding = ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map(|client| {
            let free = held.shares.free();
            let holding = scope.spawn(move || ask("/own/hold", client));
            crate::served::eventually("it holds a permit", || held.shares.free() < free);
            holding
        });
        let own = ask("/own/hold", "192.0.2.1");
        assert_eq!((refused(&own), own.header("retry-after")), ((429, "TWG34".to_owned()), Some("1")));
        let other = ask("/own/hold", "192.0.2.3");
        assert_eq!((refused(&other), other.header("retry-after")), ((503, "TWG35".to_owned()), Some("1")));
        holding.iter().for_each(|_| held.release.notify_one());
        for holding in holding {
            assert_eq!(holding.join().unwrap().text(), "held");
        }
    });
    // A client that leaves releases its permit.
    let mut leaving = Client::connect(served.address);
    leaving.send("GET", "/own/hold", &[("x-forwarded-for", "192.0.2.1")]);
    crate::served::eventually("it holds a permit", || held.shares.free() == 2);
    drop(leaving);
    crate::served::eventually("its permit is free again", || held.shares.free() == 3);
    // Attempts are counted by network, so that one machine with many addresses is one client.
    for (client, allowed) in [("2001:db8::1", true), ("2001:db8::2", true), ("2001:db8::3", false), ("192.0.2.1", true)]
    {
        let tried = ask("/own/attempt", client);
        assert_eq!(tried.status == 200, allowed, "{client}");
        if !allowed {
            assert_eq!(refused(&tried), (429, "TWG34".to_owned()));
            let after: u64 = tried.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=3600).contains(&after));
        }
    }
}

/// A site whose visitors sign in by a function of SQL.
struct Club {
    served: Served,
    _database: Database,
    _folder: tempfile::TempDir,
}

const FORM: &str = "+++\n[form]\ncall = \"/rpc/login\"\nsession = true\n+++\n{{ form.error }}";
const OUT: &str = "+++\n[form]\ncall = \"/rpc/logout\"\nsession = true\n+++\nout";

impl Club {
    fn start(with: impl FnOnce(Config) -> Config) -> Self {
        let token = token(&serde_json::json!({ "role": ROLE, "sub": "ann", "exp": 4_000_000_000_u64 }));
        let database = Database::new(&format!(
            "{SCHEMA}{GRANTS}
             create function api.login(email text, password text) returns text language sql stable as
               $$ select case when password = 'right' then '{token}' end $$;
             create function api.enter(email text, password text) returns text language sql stable as
               $$ select api.login(email, password) $$;
             create function api.logout() returns text language sql as $$ select null::text $$;"
        ));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sign_in.html"), FORM).unwrap();
        std::fs::write(folder.path().join("sign_out.html"), OUT).unwrap();
        let config = Config {
            session_cookie: Some("__Host-club".to_owned()),
            pages_dir: Some(folder.path().to_owned()),
            sign_in_attempts: 5,
            sign_in_interval: Duration::from_secs(3600),
            ..with_secret(&database.uri())
        };
        Self { served: Served::start(with(config)), _database: database, _folder: folder }
    }

    /// Calls a function with a password as a client of an address.
    fn call(&self, function: &str, client: &str, prefer: &str, password: &str) -> Response {
        let headers = [
            ("content-type", "application/json"),
            ("origin", "http://test"),
            ("x-forwarded-for", client),
            ("prefer", prefer),
        ];
        let body = format!("{{\"email\": \"ann\", \"password\": \"{password}\"}}");
        self.served.send("POST", &format!("/api/rpc/{function}"), &headers, body)
    }

    fn submit(&self, page: &str, client: &str, body: &str) -> Response {
        let form = "application/x-www-form-urlencoded";
        let headers = [("content-type", form), ("origin", "http://test"), ("x-forwarded-for", client)];
        self.served.send("POST", page, &headers, body)
    }
}

/// Passwords were guessed as fast as the database answered, by a function that a site signs in with.
#[test]
fn passwords_of_a_site_without_code_are_not_guessed_for_long() {
    let club = Club::start(|config| config);
    let session = |client: &str, password: &str| club.call("login", client, "session", password);
    // An attempt of a client that signs in does not count.
    for _ in 0..10 {
        assert_eq!(session("192.0.2.1", "right").status, 204);
    }
    for _ in 0..5 {
        assert_eq!(session("192.0.2.1", "wrong").status, 204);
    }
    let refused = session("192.0.2.1", "right");
    let body: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!((refused.status, &body["code"]), (429, &serde_json::json!("TWG34")));
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3600).contains(&after) && refused.header("set-cookie").is_none());
    // There is no way around the limit: neither a call without the cookie, nor GET, a page of the
    // API, or the form.
    assert_eq!(club.call("login", "192.0.2.1", "", "right").status, 429);
    for (accept, more) in [("application/json", ""), ("text/csv", ""), ("text/html", ""), ("text/html", "&as=csv")] {
        let headers = [("x-forwarded-for", "192.0.2.1"), ("accept", accept)];
        let address = format!("/api/rpc/login?email=ann&password=right{more}");
        assert_eq!(club.served.request("GET", &address, &headers).status, 429, "{accept} {more}");
    }
    let refused = club.submit("/sign_in", "192.0.2.1", "email=ann&password=right");
    assert_eq!((refused.status, refused.header("set-cookie")), (429, None));
    assert!(refused.header("retry-after").is_some());
    // A refused client can sign out, and others can sign in.
    let out = club.submit("/sign_out", "192.0.2.1", "");
    assert_eq!((out.status, out.header("set-cookie").is_some_and(|put| put.contains("Max-Age=0"))), (303, true));
    assert_eq!(session("192.0.2.2", "right").status, 204);
    let entered = club.submit("/sign_in", "192.0.2.3", "email=ann&password=right");
    assert_eq!(entered.status, 303, "{}", entered.text());
    assert!(entered.header("set-cookie").is_some_and(|put| put.starts_with("__Host-club=ey")));
    // A client cannot become another caller by writing into the header.
    let forged = club.call("login", "192.0.2.9, 192.0.2.1", "session", "right");
    assert_eq!(forged.status, 429);
}

#[test]
fn a_function_that_no_form_calls_is_named_in_the_configuration() {
    for (named, guesses) in [("", 8), ("enter", 5), ("api.enter", 5), ("other.enter", 8)] {
        let club = Club::start(|config| Config {
            sign_in_functions: Some(named.to_owned()).filter(|named| !named.is_empty()).into_iter().collect(),
            ..config
        });
        let wrong = (0..8).filter(|_| club.call("enter", "192.0.2.1", "", "wrong").status == 200).count();
        assert_eq!(wrong, guesses, "{named}");
        // A response in another form, which has no token, is not a success either.
        let as_csv = || {
            let headers = [("x-forwarded-for", "192.0.2.3"), ("accept", "text/csv")];
            club.served.request("GET", "/api/rpc/enter?email=ann&password=wrong", &headers).status == 200
        };
        assert_eq!((0..8).filter(|_| as_csv()).count(), guesses, "{named}, as CSV");
        let right = club.call("enter", "192.0.2.2", "", "right");
        assert!(right.status == 200 && right.text().starts_with("\"ey"), "{}", right.text());
    }
}

#[test]
fn clients_that_a_proxy_hides_do_not_lock_each_other_out() {
    let club = Club::start(|config| config);
    for _ in 0..20 {
        assert_eq!(club.call("login", "unknown", "session", "wrong").status, 204);
    }
    let unlimited = Club::start(|config| Config { sign_in_attempts: 0, ..config });
    for _ in 0..20 {
        assert_eq!(unlimited.call("login", "192.0.2.1", "session", "wrong").status, 204);
    }
}
