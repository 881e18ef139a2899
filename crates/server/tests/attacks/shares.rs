//! One client that takes what others need, or is taken for another: whom a handler's request is counted as.

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
fn a_caller_is_an_account_or_a_token_or_a_network_and_none_can_be_made_up() {
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
    // Without an account a token is its own.
    let nameless = |more: u32| caller(&[("authorization", &bearer(serde_json::json!({ "role": ROLE, "more": more })))]);
    assert!(nameless(1).starts_with("token ") && nameless(1) == nameless(1) && nameless(1) != nameless(2));
    // A client cannot make itself many callers by tokens that are not valid.
    let forged = format!("{}x", &ann[..ann.len() - 1]);
    let expired = bearer(serde_json::json!({ "role": ROLE, "sub": "ann", "exp": 1 }));
    for wrong in [&*forged, &expired, "Bearer ann", "Basic YW5uOmFubg=="] {
        assert_eq!(caller(&[far, ("authorization", wrong)]), "network 198.51.100.1", "{wrong}");
    }
    // Another site's page cannot use up what an account has, by the cookie that the browser sends along.
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

/// One client asks for all permits. Then others still get theirs, and the client is told that it has used its share.
#[test]
fn one_client_takes_its_share_and_no_other_ones() {
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
    // A client that leaves gives its permit back.
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
