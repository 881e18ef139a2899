//! Databases that are away, pools that are full.

use crate::served::{GRANTS, Served, config, eventually};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Proxy, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.t as select 1 as id;
    create view api.slow as select 1 as id, pg_sleep(3)::text as x;
";

#[test]
fn a_database_that_goes_and_returns() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served = Served::database(&uri);
    assert_eq!(served.get("/t").text(), r#"[{"id":1}]"#);
    proxy.close();
    for _ in 0..3 {
        let response = served.get("/t");
        let code = response.json()["code"].as_str().unwrap_or_default().to_owned();
        assert_eq!(response.status, 503, "{code}");
        assert!(["PGRST000", "PGRST001"].contains(&code.as_str()), "{code}");
        assert!(response.header("retry-after").is_some());
    }
    proxy.open();
    eventually("the server is back", || served.get("/t").status == 200);
}

#[test]
fn a_database_that_is_away_at_the_start() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    proxy.close();
    let served = Served::database(&uri);
    let response = served.get("/t");
    assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("PGRST002")));
    assert!(response.header("retry-after").is_some());
    proxy.open();
    eventually("the server is back", || served.get("/t").status == 200);
}

#[test]
fn sessions_that_are_terminated_are_replaced() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").status, 200);
    database.execute(&format!(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = '{}' and pid <> pg_backend_pid()",
        database.name()
    ));
    std::thread::sleep(Duration::from_millis(200));
    // idle connections that were closed meanwhile are found out before they are used
    assert_eq!(served.get("/t").status, 200);
}

#[test]
fn a_pool_that_is_full() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config {
        db_pool: 1,
        db_pool_acquisition_timeout: Duration::from_secs(1),
        ..config(&database.uri())
    });
    let mut busy = Client::connect(served.address);
    busy.send("GET", "/slow", &[]);
    eventually("the connection is in use", || {
        database.value(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
        ) == "1"
    });
    let response = served.get("/t");
    assert_eq!((response.status, response.json()["code"].as_str()), (504, Some("PGRST003")));
    // what needs no connection is answered all the same
    assert_eq!(served.request("OPTIONS", "/t", &[]).status, 200);
    assert_eq!(busy.receive(false).status, 200);
    assert_eq!(served.get("/t").status, 200);
}

/// How a database refuses a connection is nothing that the request has done.
#[test]
fn whatever_fails_while_connecting_is_unavailable() {
    let login = "grant test_reader to faults_login";
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS} drop role if exists faults_login; create role faults_login login password 'x'; {login}"
    ));
    let name = database.name();
    // from where a database can be closed and renamed
    let beside = Database::new("");
    let (_, place) = database.uri().split_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let served = Served::database(&format!("postgres://faults_login:x@{place}"));
    let terminate = || {
        beside.execute(&format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"));
    };
    let close = format!("alter database {name} allow_connections false");
    let open = format!("alter database {name} allow_connections true");
    let rename = format!("alter database {name} rename to {name}_elsewhere");
    let rename_back = format!("alter database {name}_elsewhere rename to {name}");
    let nobody = format!("revoke connect on database {name} from public");
    let everybody = format!("grant connect on database {name} to public");
    for (refuse, told, allow) in [
        (vec![&*close], "55000", vec![]),
        // no session is left that would forbid it
        (vec![&*rename], "3D000", vec![&*rename_back, &*open]),
        (vec![&*nobody], "42501", vec![&*everybody]),
        (vec!["alter role faults_login nologin"], "28000", vec!["alter role faults_login login"]),
        (
            vec!["alter role faults_login connection limit 0"],
            "53300",
            vec!["alter role faults_login connection limit -1"],
        ),
    ] {
        refuse.iter().for_each(|sql| beside.execute(sql));
        terminate();
        let refused = |response: &Response| {
            assert_eq!(response.status, 503, "{told}: {}", response.text());
            assert_eq!(response.header("retry-after"), Some("1"));
            response.json()["code"] == "PGRST000"
        };
        // a session that is just ending may still be met
        eventually("a new connection is refused", || refused(&served.get("/t")));
        let error = served.get("/t").json();
        assert_eq!(error["message"], "Database connection error.");
        // The reason names roles and databases, and only the log contains it.
        assert!(error["details"].is_null() && !error.to_string().contains(told), "{error}");
        allow.iter().for_each(|sql| beside.execute(sql));
        if !allow.is_empty() {
            eventually("the server is back", || served.get("/t").status == 200);
        }
    }
    drop(served);
    database.execute("drop owned by faults_login; drop role faults_login");
}

#[test]
fn a_server_listens_before_it_has_loaded() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let locked =
        "from pg_locks where relation = 'pg_description'::regclass and mode = 'AccessExclusiveLock' and granted";
    std::thread::scope(|scope| {
        // the first load waits for this
        scope.spawn(|| {
            database.try_execute("begin; lock table pg_catalog.pg_description; select pg_sleep(600)");
        });
        eventually("the lock is held", || database.value(&format!("select count(*) {locked}")) == "1");
        let (proxy, uri) = Proxy::before(&database.uri());
        let served = Served::start_unloaded(Config { db_channel_enabled: false, ..config(&uri) });
        for _ in 0..3 {
            let response = served.get("/t");
            assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("PGRST002")));
            assert_eq!(response.header("retry-after"), Some("1"));
        }
        database.execute(&format!("select pg_terminate_backend(pid) {locked}"));
        eventually("the schema cache is loaded", || served.get("/t").status == 200);
        // those who came too early did not ask for another load: there was one, and the last request's session
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(sessions(&proxy.take_recorded()), 2);
    });
}

/// How many sessions have begun, in a recorded stream of answers: each by a message that says that its user is known.
fn sessions(recorded: &[u8]) -> usize {
    recorded.windows(9).filter(|message| message == b"R\0\0\0\x08\0\0\0\0").count()
}

/// A status that SQL chose says nothing of the database: each of these caused a load, and each load a session.
#[test]
fn statuses_chosen_by_sql_load_nothing() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.fails(state text) returns int language plpgsql as
           $$ begin raise exception 'away' using errcode = state; end $$;
         create function api.answers() returns int language plpgsql as
           $$ begin raise sqlstate 'PGRST' using message = '{{\"code\":\"X\",\"message\":\"m\"}}',
              detail = '{{\"status\":503,\"headers\":{{}}}}'; end $$;
         {GRANTS}"
    ));
    let (proxy, uri) = Proxy::before(&database.uri());
    // of more connections, another is opened while the one that code has run in is made as new
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&uri) });
    assert_eq!(served.get("/t").status, 200);
    proxy.take_recorded();
    for _ in 0..20 {
        for state in ["PT503", "57P01", "57P03", "08006", "53300"] {
            let response = served.send("POST", "/rpc/fails", &[], format!("{{\"state\":\"{state}\"}}"));
            assert_eq!(response.status, if state == "57P03" { 500 } else { 503 }, "{state}: {}", response.text());
        }
        assert_eq!(served.send("POST", "/rpc/answers", &[], "{}").status, 503);
    }
    // a load that was asked for begins after a moment
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(sessions(&proxy.take_recorded()), 0);
}
