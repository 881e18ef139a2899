//! Bodies in every form, whole and in pieces, right and wrong; what is left in the tables by them.

use crate::served::{GRANTS, Served, config, eventually};
use std::io::Write;
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.rows (id int primary key, name text, n numeric, tags text[], doc jsonb, at timestamptz default now());
    create table api.always (id int generated always as identity primary key, name text);
    create table api.waits (id int primary key, next int references api.waits deferrable initially deferred);
    create table api.secured (id int primary key, owner text);
    alter table api.secured enable row level security;
    create policy mine on api.secured using (owner = 'me') with check (owner = 'me');
    create function api.slow_insert(id int) returns void language sql as
      $$ insert into api.rows (id) values (id); select pg_sleep(30) $$;
    create function api.volatile_rows(n int) returns setof api.rows language sql volatile as
      $$ insert into api.rows (id) select generate_series(1, n) returning * $$;
";
const WRITES: &str = "
    grant insert, update, delete on all tables in schema api to test_reader;
    grant usage on all sequences in schema api to test_reader;
";

fn database() -> Database {
    Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"))
}

fn count(database: &Database) -> String {
    database.value("select count(*) from api.rows")
}

fn code(response: &Response) -> (u16, String) {
    (response.status, response.json()["code"].as_str().unwrap_or_default().to_owned())
}

/// Rows of more than a body may have that is waited for.
fn many(rows: usize) -> Vec<String> {
    (1..=rows)
        .map(|id| format!("{{\"id\":{id},\"name\":\"row {id}\",\"n\":{id}.50,\"tags\":[\"a\",\"{id}\"]}}"))
        .collect()
}

fn array(rows: &[String]) -> String {
    format!("[{}]", rows.join(",\n"))
}

#[test]
fn large_bodies_are_written_as_they_arrive() {
    let database = database();
    let served = Served::database(&database.uri());
    let rows = many(50_000);
    let csv: String = (1..=50_000).map(|id| format!("{id},\"row {id}\",{id}.50,\"{{a,{id}}}\"\r\n")).collect();
    for (content_type, body) in [
        ("application/json", array(&rows)),
        ("application/x-ndjson", rows.join("\n")),
        ("text/csv", format!("id,name,n,tags\r\n{csv}")),
    ] {
        assert!(body.len() > 1024 * 1024);
        let headers = [("Content-Type", content_type), ("Prefer", "count=exact")];
        let response = served.send("POST", "/rows", &headers, body);
        assert_eq!((response.status, response.text()), (201, ""), "{content_type}");
        assert_eq!(response.header("content-range"), Some("*/50000"));
        let sum = "select count(*) || ' ' || sum(id) || ' ' || sum(n) || ' ' || count(distinct tags) || ' ' || max(name) from api.rows";
        assert_eq!(database.value(sum), "50000 1250025000 1250050000.00 50000 row 9999");
        database.execute("truncate api.rows");
    }
    // where rows are returned, PostgreSQL reads the document
    let headers = [("Prefer", "return=representation")];
    let response = served.send("POST", "/rows?select=id", &headers, array(&rows));
    assert_eq!((response.status, response.json().as_array().unwrap().len()), (201, 50_000));
}

#[test]
fn what_is_wrong_with_a_row_of_many_leaves_none() {
    let database = database();
    let served = Served::database(&database.uri());
    for rows in [10, 60_000] {
        let mut wrong = many(rows);
        let last = wrong.len() - 1;
        for (row, expected, place) in [
            (r#"{"id":0,"name":"x","n":"ten","tags":[]}"#, "22P02", Some("column n")),
            (r#"{"id":1,"name":"x","n":1,"tags":[]}"#, "23505", None),
            (r#"{"id":0,"name":"x","n":1,"tags":5}"#, "22P02", Some("column tags")),
            (r#"{"id":0,"name":"x","n":1}"#, "PGRST102", None),
            (r#"{"id":0,"name":"x","n":1,"tags":[],"more":1}"#, "PGRST102", None),
            (r#"{"id":0,"name":"x\u0000","n":1,"tags":[]}"#, "22P05", None),
            (r#"{"id":0,"name":"x","n":1,"tags":[]"#, "PGRST102", None),
            ("5", "PGRST102", None),
        ] {
            wrong[last] = row.to_owned();
            let response = served.send("POST", "/rows", &[], array(&wrong));
            let (status, code) = code(&response);
            assert_eq!(code, expected, "{row}: {}", response.text());
            assert_eq!(status, if expected == "23505" { 409 } else { 400 });
            if rows > 1_000 && code == "PGRST102" && row != "5" {
                assert!(response.text().contains(&format!("\"Row {rows}.\"")), "{}", response.text());
            }
            if let Some(place) = place {
                let text = response.text();
                assert!(text.contains(place) && text.contains(&format!("Row {rows}")), "{text}");
            }
            assert_eq!(count(&database), "0", "{row}");
        }
    }
    // the server is as it was
    assert_eq!(served.send("POST", "/rows", &[], array(&many(3))).status, 201);
}

#[test]
fn a_body_that_is_cut_short_writes_nothing() {
    let database = database();
    let served = Served::database(&database.uri());
    let body = array(&many(60_000));
    for (length, chunked) in [(body.len(), false), (body.len() + 1_000, false), (0, true)] {
        // within the first rows, among those that are sent already, at the very end
        for end in [100, 1_500_000, body.len() - 1, body.len()] {
            let mut client = Client::connect(served.address);
            let framing = if chunked {
                ("Transfer-Encoding", "chunked".to_owned())
            } else {
                ("Content-Length", length.to_string())
            };
            client.send("POST", "/rows", &[(framing.0, &framing.1)]);
            if chunked {
                client.send_bytes(format!("{:x}\r\n", body.len()).as_bytes());
            }
            client.send_bytes(&body.as_bytes()[..end]);
            std::thread::sleep(Duration::from_millis(100));
            let whole = end == length;
            drop(client);
            if !whole {
                std::thread::sleep(Duration::from_millis(100));
                assert_eq!(count(&database), "0", "{end} of {length}");
            }
        }
        eventually("the rows of the whole body are there, or none", || {
            ["0", "60000"].contains(&count(&database).as_str())
        });
        database.execute("truncate api.rows");
    }
    eventually("no transaction is left", || {
        database
            .value("select count(*) from pg_stat_activity where state like 'idle in%' and datname = current_database()")
            == "0"
    });
}

#[test]
fn framings_and_pipelines() {
    let database = database();
    let served = Served::database(&database.uri());
    let mut client = Client::connect(served.address);
    // in chunks cut anywhere
    client.send("POST", "/rows", &[("Transfer-Encoding", "chunked")]);
    for piece in br#"{"id":1,"name":"\u00e9 in pieces","doc":{"a":[1,2]}}"#.chunks(3) {
        client.send_bytes(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send_bytes(piece);
        client.send_bytes(b"\r\n");
    }
    client.send_bytes(b"0\r\n\r\n");
    assert_eq!(client.receive(false).status, 201);
    assert_eq!(database.value("select name || doc from api.rows"), "é in pieces{\"a\": [1, 2]}");
    // several requests in one write, on one connection
    let mut requests = Vec::new();
    for id in 2..=5 {
        let body = format!("{{\"id\":{id}}}");
        write!(requests, "POST /rows HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    }
    requests.extend_from_slice(b"DELETE /rows?id=eq.2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nxyz");
    requests.extend_from_slice(b"GET /rows?select=id&order=id HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send_bytes(&requests);
    for _ in 2..=5 {
        assert_eq!(client.receive(false).status, 201);
    }
    assert_eq!(client.receive(false).status, 204);
    assert_eq!(client.receive(false).text(), "[{\"id\":1},\n{\"id\":3},\n{\"id\":4},\n{\"id\":5}]");
    // what is behind a body is a request again, in which quotes stand unescaped
    client.send_bytes(b"GET /rows?select=id&name=eq.\"x\" HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.receive(false).status, 200);
    // a client that asks first
    client.send("POST", "/rows", &[("Expect", "100-continue"), ("Content-Length", "8")]);
    assert_eq!(client.status_line(), "HTTP/1.1 100 Continue");
    assert_eq!(client.status_line(), "");
    client.send_bytes(b"{\"id\":9}");
    assert_eq!(client.receive(false).status, 201);
    // and is told before it sends
    client.send("POST", "/nope?select=(", &[("Expect", "100-continue"), ("Content-Length", "8")]);
    assert_eq!(client.receive(false).status, 400);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_bodies() {
    let database = database();
    let served = Served::start(Config { client_body_max: 8 * 1024 * 1024, ..config(&database.uri()) });
    let compressed = [("Content-Encoding", "gzip")];
    assert_eq!(served.send("POST", "/rows", &compressed, gzip(b"{\"id\":1,\"name\":\"one\"}")).status, 201);
    assert_eq!(served.send("POST", "/rows", &compressed, gzip(array(&many(50_000)[1..]).as_bytes())).status, 201);
    assert_eq!(count(&database), "50000");
    // several members one behind the other are one body
    let members = [gzip(b"{\"id\":60000,"), gzip(b"\"name\":\"two\"}")].concat();
    assert_eq!(served.send("POST", "/rows", &compressed, members).status, 201);
    for (body, status) in [
        (b"not compressed".to_vec(), 400),
        (gzip(b"{\"id\":60001}")[..20].to_vec(), 400),
        (gzip(&vec![b' '; 32 * 1024 * 1024]), 413),
        (gzip(format!("{{\"id\":60001,\"name\":\"{}\"}}", "x".repeat(20_000_000)).as_bytes()), 413),
        // rows that flow are bounded by how much they were compressed
        (gzip(format!("[{}]", vec!["{\"name\":\"x\"}"; 1_000_000].join(",")).as_bytes()), 413),
    ] {
        let response = served.send("POST", "/always", &compressed, body);
        assert_eq!(code(&response), (status, "PGRST102".to_owned()), "{}", response.text());
    }
    // a coding that is no text was none once, so that JSON was read as it had not been written
    for unknown in ["br", "é", "gzip\u{e9}", "gzip, gzip"] {
        let response = served.send("POST", "/rows", &[("Content-Encoding", unknown)], "{\"id\":60002}");
        assert_eq!(code(&response), (415, "PGRST102".to_owned()), "{unknown}");
        assert_eq!(response.json()["message"], format!("Content-Encoding not acceptable: {unknown}"));
    }
    for unknown in ["é", "text/csv\u{e9}"] {
        let response = served.send("POST", "/rows", &[("Content-Type", unknown)], "{\"id\":60002}");
        assert_eq!(code(&response), (400, "PGRST102".to_owned()), "{unknown}");
        assert_eq!(response.json()["message"], format!("Content-Type not acceptable: {unknown}"));
    }
    assert_eq!((count(&database), database.value("select count(*) from api.always")), ("50001".into(), "0".into()));
}

#[test]
fn bodies_have_bounds() {
    let database = database();
    let served =
        Served::start(Config { client_body_max: 100_000, client_stream_max: 3_000_000, ..config(&database.uri()) });
    let nested = |levels: usize| format!("{{\"id\":1,\"doc\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let keys: Vec<String> = (0..5_000).map(|at| format!("\"k{at}\":1")).collect();
    for (body, status, expected) in [
        (format!("{{\"id\":1,\"name\":\"{}\"}}", "x".repeat(200_000)), 413, "PGRST102"),
        (array(&many(60_000)), 413, "PGRST102"),
        (nested(100_000 / 2 - 20), 400, "PGRST102"),
        (format!("{{{}}}", keys.join(",")), 413, "PGRST102"),
        (format!("{{\"{}\":1}}", "k".repeat(80_000)), 413, "PGRST102"),
    ] {
        let response = served.send("POST", "/rows", &[], body);
        assert_eq!(code(&response), (status, expected.to_owned()), "{}", response.text());
        assert_eq!(count(&database), "0");
    }
    // PostgreSQL's own limit is far above what anybody nests
    assert_eq!(served.send("POST", "/rows", &[], nested(1_000)).status, 201);
}

#[test]
fn a_client_that_is_answered_early_can_read_the_answer() {
    let database = database();
    let served = Served::start(Config { client_body_max: 100_000, ..config(&database.uri()) });
    let body = format!("{{\"id\":1,\"name\":\"{}\"}}", "x".repeat(20_000_000));
    for target in ["/rows", "/nope", "/rows?select=(", "/rpc/nope"] {
        let mut client = Client::connect(served.address);
        let response = client.request_with("POST", target, &[], body.as_bytes());
        assert!((400..=413).contains(&response.status), "{target}: {}", response.status);
        // what was not wanted of the body is read away, and the connection goes on
        assert_eq!(client.request("GET", "/rows", &[]).status, 200);
    }
}

#[test]
fn a_client_that_trickles_holds_no_connection_to_the_database() {
    let database = database();
    let stall = Duration::from_secs(4);
    let served = Served::start(Config { db_pool: 2, client_stall_timeout: stall, ..config(&database.uri()) });
    let body = array(&many(60_000));
    let mut trickling: Vec<Client> = (0..8).map(|_| Client::connect(served.address)).collect();
    for client in &mut trickling {
        client.send("POST", "/rows", &[("Content-Length", &body.len().to_string())]);
        client.send_bytes(&body.as_bytes()[..500_000]);
    }
    for _ in 0..20 {
        assert_eq!(served.get("/rows?limit=1").status, 200);
    }
    // bytes that come one by one are waited for, but not for ever
    for client in &mut trickling {
        client.send_bytes(b" ");
    }
    for mut client in trickling {
        assert_eq!(client.receive(false).status, 408);
    }
    // of those that have a connection, there are no more than half as many as connections
    let mut flowing: Vec<Client> = (0..4).map(|_| Client::connect(served.address)).collect();
    for client in &mut flowing {
        client.send("POST", "/rows", &[("Content-Length", &body.len().to_string())]);
        client.send_bytes(&body.as_bytes()[..2_000_000]);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(served.get("/rows?limit=1").status, 200);
    for client in &mut flowing {
        assert_eq!(client.receive(false).status, 408);
    }
    assert_eq!(count(&database), "0");
    assert_eq!(served.send("POST", "/rows", &[], &body).status, 201);
}

#[test]
fn a_database_that_goes_away_during_a_write() {
    let database = database();
    let served = Served::database(&database.uri());
    let body = array(&many(60_000));
    let terminate = "select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and pid <> pg_backend_pid() and query like 'COPY%'";
    let mut client = Client::connect(served.address);
    client.send("POST", "/rows", &[("Content-Length", &body.len().to_string())]);
    client.send_bytes(&body.as_bytes()[..2_000_000]);
    eventually("rows are being sent", || {
        database
            .value("select count(*) from pg_stat_activity where datname = current_database() and query like 'COPY%'")
            == "1"
    });
    database.execute(terminate);
    client.send_bytes(&body.as_bytes()[2_000_000..]);
    let response = client.receive(false);
    assert_eq!(response.status, 503, "{}", response.text());
    assert_eq!(count(&database), "0");
    assert_eq!(served.send("POST", "/rows", &[], body).status, 201);
}

#[test]
fn transactions_end_as_they_are_told() {
    let database = database();
    let start = |rolls_back, theirs| {
        Served::start(Config { db_tx_rolls_back: rolls_back, db_tx_end_is_theirs: theirs, ..config(&database.uri()) })
    };
    let rolling = start(true, true);
    for (prefer, expected) in [("tx=commit", "1"), ("tx=rollback", "1"), ("return=minimal", "1")] {
        let body = if prefer == "tx=commit" { r#"{"id":1}"# } else { r#"{"id":2}"# };
        assert_eq!(rolling.send("POST", "/rows", &[("Prefer", prefer)], body).status, 201);
        assert_eq!(count(&database), expected, "{prefer}");
    }
    // a session's state that was set in a transaction that was rolled back is set again
    assert_eq!(rolling.get("/rows?select=id").text(), r#"[{"id":1}]"#);
    assert_eq!(rolling.send("POST", "/rows", &[], array(&many(60_000)[1..])).status, 201);
    assert_eq!(count(&database), "1");
    let fixed = start(true, false);
    let response = fixed.send("POST", "/rows", &[("Prefer", "tx=commit, return=representation")], r#"{"id":2}"#);
    assert_eq!((response.status, response.header("preference-applied")), (201, Some("return=representation")));
    assert_eq!(count(&database), "1");
    let committing = start(false, true);
    let response = committing.send("POST", "/waits", &[("Prefer", "tx=rollback")], r#"{"id":1,"next":2}"#);
    assert_eq!(code(&response), (409, "23503".to_owned()));
}

#[test]
fn checks_undo_what_was_done() {
    let database = database();
    let served = Served::database(&database.uri());
    let object = ("Accept", "application/vnd.pgrst.object+json");
    let most = ("Prefer", "handling=strict, max-affected=2");
    database.execute("insert into api.rows (id) values (1), (2), (3)");
    let patched = served.send("PATCH", "/rows", &[most], r#"{"name":"x"}"#);
    assert_eq!(code(&patched), (400, "PGRST124".to_owned()));
    assert_eq!(code(&served.request("DELETE", "/rows", &[object])), (406, "PGRST116".to_owned()));
    let made = served.send("POST", "/rpc/volatile_rows", &[most], r#"{"n":3}"#);
    assert_eq!(code(&made), (409, "23505".to_owned()));
    database.execute("truncate api.rows");
    let made = served.send("POST", "/rpc/volatile_rows", &[most], r#"{"n":3}"#);
    assert_eq!(code(&made), (400, "PGRST124".to_owned()));
    assert_eq!(count(&database), "0");
    let made = served.send("POST", "/rpc/volatile_rows?select=id", &[most], r#"{"n":2}"#);
    assert_eq!((made.status, made.text()), (200, "[{\"id\":1},\n{\"id\":2}]"));
    let put = served.send("PUT", "/rows?id=eq.5", &[], r#"{"id":6}"#);
    assert_eq!(code(&put), (400, "PGRST115".to_owned()));
    assert_eq!(count(&database), "2");
    // reads see the same connection's transactions as read only again
    assert_eq!(served.get("/rows?select=id&limit=1").status, 200);
}

#[test]
fn a_column_that_is_new_is_found() {
    let database = database();
    let served = Served::start(Config { db_channel_enabled: false, ..config(&database.uri()) });
    assert_eq!(code(&served.send("POST", "/rows", &[], r#"{"id":1,"fresh":1}"#)), (400, "PGRST204".to_owned()));
    assert_eq!(served.send("POST", "/rows", &[], r#"{"id":1,"name":"x"}"#).status, 201);
    // a column that is gone is the database's to report, once the schema cache has been loaded again
    database.execute("alter table api.rows drop column name");
    let response = served.send("POST", "/rows", &[], r#"{"id":2,"name":"x"}"#);
    assert_eq!(code(&response), (400, "PGRST204".to_owned()));
    assert_eq!(served.send("POST", "/rows", &[], r#"{"id":2,"n":5}"#).status, 201);
    // and so are policies, with which rows cannot go by COPY any more
    database.execute(
        "alter table api.rows enable row level security; create policy below on api.rows with check (id < 10)",
    );
    assert_eq!(served.send("POST", "/rows", &[], r#"[{"id":3,"n":5},{"id":4,"n":5}]"#).status, 201);
    let response = served.send("POST", "/rows", &[], r#"[{"id":5,"n":5},{"id":14,"n":5}]"#);
    assert_eq!(code(&response), (401, "42501".to_owned()));
}

#[test]
fn a_client_that_goes_away_undoes_its_call() {
    let database = database();
    let served = Served::start(Config { db_pool: 1, ..config(&database.uri()) });
    let mut client = Client::connect(served.address);
    client.send("POST", "/rpc/slow_insert", &[("Content-Length", "8")]);
    client.send_bytes(br#"{"id":1}"#);
    eventually("the function runs", || {
        database.value("select count(*) from pg_stat_activity where datname = current_database() and query like '%slow_insert%' and state = 'active' and pid <> pg_backend_pid()") == "1"
    });
    drop(client);
    // the only connection is used again
    assert_eq!(served.get("/rows").text(), "[]");
    assert_eq!(count(&database), "0");
}

#[test]
fn all_bodies_together_have_a_bound() {
    let database = database();
    let served = Served::start(Config { client_body_max: 1_000_000, ..config(&database.uri()) });
    let body = format!("{{\"id\":1,\"name\":\"{}\"}}", "x".repeat(900_000));
    let mut waiting: Vec<Client> = (0..6).map(|_| Client::connect(served.address)).collect();
    for client in &mut waiting {
        client.send("PATCH", "/rows", &[("Content-Length", &body.len().to_string())]);
        client.send_bytes(&body.as_bytes()[..body.len() - 1]);
        std::thread::sleep(Duration::from_millis(50));
    }
    // four of the largest are held; others are refused at once, and told to come back
    let mut refused = waiting.split_off(4);
    for client in &mut refused {
        let response = client.receive(false);
        assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{}", response.text());
    }
    for client in &mut waiting {
        client.send_bytes(b"}");
        assert_eq!(client.receive(false).status, 204);
    }
    // their room is free again
    assert_eq!(served.send("PATCH", "/rows", &[], body).status, 204);
}

#[test]
fn what_runs_before_a_write_is_part_of_its_transaction() {
    let database = Database::new(&format!(
        "{SCHEMA} create table api.log (method text, path text, claims json);
         create function api.before() returns void language plpgsql as $$ begin
           insert into api.log values (current_setting('request.method'), current_setting('request.path'),
                                       current_setting('request.jwt.claims')::json);
           perform set_config('response.headers', '[{{\"X-Logged\":\"yes\"}}]', true);
           if current_setting('request.headers')::json->>'x-stop' is not null then
             raise sqlstate 'PT403' using message = 'stopped';
           end if;
         end $$; {GRANTS}{WRITES}"
    ));
    let served = Served::start(Config {
        db_pre_request: Some((Some("api".to_owned()), "before".to_owned())),
        ..config(&database.uri())
    });
    let response = served.send("POST", "/rows?select=id", &[("Prefer", "return=representation")], r#"{"id":1}"#);
    assert_eq!((response.status, response.header("x-logged")), (201, Some("yes")));
    assert_eq!(served.send("POST", "/rows", &[], array(&many(60_000)[1..])).header("x-logged"), Some("yes"));
    let stopped = served.send("POST", "/rows", &[("X-Stop", "1")], r#"{"id":70000}"#);
    assert_eq!((stopped.status, stopped.json()["code"].as_str()), (403, Some("PT403")));
    let stopped = served.send("POST", "/rows", &[("X-Stop", "1")], array(&many(60_000)));
    assert_eq!(stopped.status, 403);
    assert_eq!(served.request("DELETE", "/rows?id=gt.1", &[]).status, 204);
    let log = "select string_agg(method || ' ' || path || ' ' || (claims->>'role'), ', ') from api.log";
    let role = crate::served::ROLE;
    let expected = format!("POST /rows {role}, POST /rows {role}, DELETE /rows {role}");
    assert_eq!((database.value(log), count(&database)), (expected, "1".to_owned()));
    // a read may not write, not even so
    assert_eq!(served.get("/rows").status, 405);
}

/// A default says the same whatever the search path of a request is: `api.tenant()` is another function than the one that
/// the column's default names.
#[test]
fn defaults_are_those_of_the_columns() {
    let database = Database::new(&format!(
        "create schema api; create schema other;
         create function public.tenant() returns text language sql as $$ select 'public' $$;
         create function api.tenant() returns text language sql as $$ select 'api' $$;
         create function other.tenant() returns text language sql as $$ select 'other' $$;
         create function public.join_of(text, text) returns text language sql immutable as $$ select 'public: ' || $1 || $2 $$;
         create function api.join_of(text, text) returns text language sql immutable as $$ select 'api: ' || $1 || $2 $$;
         create operator public.||| (leftarg = text, rightarg = text, function = public.join_of);
         create operator api.||| (leftarg = text, rightarg = text, function = api.join_of);
         create domain public.of_domain as text default public.tenant();
         create type public.mood as enum ('calm', 'stormy');
         create type api.mood as enum ('other', 'calm');
         create sequence public.numbers start 100; create sequence api.numbers start 900;
         create table api.t (
           id int default nextval('public.numbers'), a text default public.tenant(), b text default other.tenant(),
           c text default ('x' operator(public.|||) 'y'), d public.of_domain, e text default ('calm'::public.mood)::text,
           f text default ('public.numbers'::regclass::oid > 0)::text, note text
         );
         {GRANTS}{WRITES} grant usage on all sequences in schema public to test_reader;
         grant usage on schema other to test_reader;"
    ));
    let served = Served::start(Config { db_extra_search_path: vec!["public".to_owned()], ..config(&database.uri()) });
    let prefer = ("Prefer", "missing=default, return=representation");
    let columns = "id,a,b,c,d,e,f,note";
    let made = served.send("POST", &format!("/t?columns={columns}"), &[prefer], r#"[{"note":"x"}]"#);
    assert_eq!(made.status, 201, "{}", made.text());
    database.execute("insert into api.t (note) values ('x')");
    let rows = database.query("select a, b, c, d, e, f, note from api.t order by id");
    assert_eq!(rows[0], rows[1]);
    assert_eq!(database.value("select string_agg(id::text, ',' order by id) from api.t"), "100,101");
}

#[test]
fn a_limit_of_an_update_or_a_delete_is_refused() {
    let database = database();
    database.execute("insert into api.rows (id, name) select n, 'x' from generate_series(1, 3) n");
    let served = Served::database(&database.uri());
    for method in ["PATCH", "DELETE"] {
        let body = if method == "PATCH" { r#"{"name":"y"}"# } else { "" };
        for (target, headers) in [
            ("/rows?limit=1&order=id", &[][..]),
            ("/rows?offset=2", &[]),
            ("/rows?id=gt.0&limit=0", &[]),
            ("/rows?limit=-1", &[]),
            ("/rows", &[("range", "0-0")]),
            ("/rows", &[("range", "1-"), ("range-unit", "items")]),
        ] {
            let refused = served.send(method, target, headers, body);
            assert_eq!(code(&refused), (400, "PGRST114".into()), "{method} {target} {headers:?}");
            assert!(refused.json()["hint"].as_str().unwrap().contains("max-affected"), "{}", refused.text());
        }
    }
    assert_eq!(database.value("select string_agg(name, ',') from api.rows"), "x,x,x");
    // These restrict nothing.
    let headers = [("range", "0-"), ("prefer", "return=representation")];
    assert_eq!(served.send("PATCH", "/rows?offset=0", &headers, r#"{"name":"y"}"#).json().as_array().unwrap().len(), 3);
}

#[test]
fn windows_of_embeds_hold_in_what_a_write_returns() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.pilots (id int primary key, name text);
         create table api.flights (id int primary key, pilot_id int references api.pilots);
         insert into api.pilots values (1, 'a');
         insert into api.flights select n, 1 from generate_series(1, 5) n; {GRANTS}{WRITES}"
    ));
    // A write returns all rows that it has written, and all that belong to them.
    let served = Served::start(Config { db_max_rows: Some(2), ..config(&database.uri()) });
    let headers = [("prefer", "return=representation")];
    let ids = |target: &str| {
        let response = served.send("PATCH", target, &headers, r#"{"name":"b"}"#);
        response.json()[0]["flights"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    let select = "/pilots?id=eq.1&select=name,flights(id)&flights.order=id.desc";
    assert_eq!(ids(&format!("{select}&flights.limit=2&flights.offset=1")), [4, 3]);
    assert_eq!(ids(select), [5, 4, 3, 2, 1]);
}

#[test]
fn several_rows_are_refused_where_one_is_used() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int primary key, name text);
         insert into api.t values (1, 'a'), (2, 'b');
         create function api.add_them(a int, b int) returns int language sql as 'select a + b';
         create function api.nothing() returns int language sql as 'select 1';
         create function api.whole(jsonb) returns int language sql as 'select jsonb_array_length($1)';
         {GRANTS}{WRITES} grant execute on all functions in schema api to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let (json, csv, lines) = ("application/json", "text/csv", "application/x-ndjson");
    for (method, target, content_type, body) in [
        ("PATCH", "/t?id=eq.1", json, r#"[{"name":"x"},{"name":"y"}]"#),
        ("PATCH", "/t?id=eq.1&columns=name", json, r#"[{"name":"x"},{"id":7}]"#),
        ("PATCH", "/t?id=eq.1", csv, "name\nx\ny\n"),
        ("PATCH", "/t?id=eq.1", lines, "{\"name\":\"x\"}\n{\"name\":\"y\"}\n"),
        ("PUT", "/t?id=eq.1", json, r#"[{"id":1,"name":"x"},{"id":2,"name":"y"}]"#),
        ("PUT", "/t?id=eq.1", csv, "id,name\n1,x\n2,y\n"),
        ("POST", "/rpc/add_them", json, r#"[{"a":1,"b":2},{"a":3,"b":4}]"#),
        ("POST", "/rpc/add_them?columns=a,b", json, r#"[{"a":1,"b":2},{"a":3}]"#),
        ("POST", "/rpc/add_them", csv, "a,b\n1,2\n3,4\n"),
        ("POST", "/rpc/nothing", json, "[{},{}]"),
    ] {
        let refused = served.send(method, target, &[("content-type", content_type)], body);
        assert_eq!(code(&refused), (400, "PGRST102".into()), "{method} {target} {body}: {}", refused.text());
        assert!(refused.json()["hint"].is_string(), "{}", refused.text());
    }
    assert_eq!(database.value("select string_agg(name, ',' order by id) from api.t"), "a,b");
    for (method, target, content_type, body, expected) in [
        ("PATCH", "/t?id=eq.1&select=name", json, r#"[{"name":"x"}]"#, r#"[{"name":"x"}]"#),
        ("PATCH", "/t?id=eq.1&select=name", csv, "name\ny\n", r#"[{"name":"y"}]"#),
        ("PUT", "/t?id=eq.1&select=name", json, r#"[{"id":1,"name":"z"}]"#, r#"[{"name":"z"}]"#),
        ("POST", "/rpc/add_them", json, r#"[{"a":1,"b":2}]"#, "3"),
        ("POST", "/rpc/add_them", csv, "a,b\n1,2\n", "3"),
        // The array is the argument.
        ("POST", "/rpc/whole", json, r#"[{"a":1},{"a":2}]"#, "2"),
    ] {
        let headers = [("content-type", content_type), ("prefer", "return=representation")];
        let response = served.send(method, target, &headers, body);
        assert_eq!(response.text(), expected, "{method} {target} {body}");
    }
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let function = "create function api.length_of(text) returns int language sql as 'select length($1)';";
    let database = Database::new(&format!("{SCHEMA}{function}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let rows = many(30_000);
    let csv: String = (1..=30_000).map(|id| format!("{id},row {id}\r\n")).collect();
    for (content_type, body) in [
        ("text/csv", "id,name\n1,a\n".to_owned()),
        ("text/csv", "\"id\",name\n1,a\n".to_owned()),
        ("text/csv", format!("id,name\r\n{csv}")),
        ("application/json", r#"{"id":1,"name":"a"}"#.to_owned()),
        ("application/json", r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#.to_owned()),
        ("application/json", array(&rows)),
        ("application/x-ndjson", "{\"id\":1}\n{\"id\":2}\n".to_owned()),
    ] {
        let written = |body: &str| {
            database.execute("truncate api.rows");
            let response = served.send("POST", "/rows", &[("content-type", content_type)], body);
            let rows =
                database.value("select coalesce(md5(string_agg((id, name)::text, ',' order by id)), '') from api.rows");
            (response.status, rows)
        };
        let expected = written(&body);
        assert_eq!(expected.0, 201, "{content_type}");
        assert_eq!(written(&format!("\u{feff}{body}")), expected, "{content_type}");
        // One mark is ignored, and not two.
        assert_eq!(written(&format!("\u{feff}\u{feff}{body}")).0, 400, "{content_type}");
    }
    // Text that a function takes as it is keeps the mark.
    let length = served.send("POST", "/rpc/length_of", &[("content-type", "text/plain")], "\u{feff}ab");
    assert_eq!(length.text(), "3");
}

#[test]
fn an_upsert_does_not_update_its_key() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int generated by default as identity primary key, email text unique, name text, updates int default 0);
         insert into api.t (id, email, name) values (1, 'a@x', 'a');
         create function api.count_update() returns trigger language plpgsql as
           $$ begin new.updates = old.updates + 1; return new; end $$;
         create trigger of_id before update of id on api.t for each row execute function api.count_update();
         {GRANTS} grant insert, update (name, email) on api.t to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let upsert = |method: &str, target: &str, body: &str| {
        let headers = [("prefer", "resolution=merge-duplicates, return=representation")];
        let response = served.send(method, target, &headers, body);
        (response.status, response.text().to_owned())
    };
    for (method, target, body, expected) in [
        ("POST", "/t?select=name", r#"{"id":1,"name":"b"}"#, r#"[{"name":"b"}]"#),
        ("POST", "/t?select=name&columns=id,name", r#"[{"id":1,"name":"c"}]"#, r#"[{"name":"c"}]"#),
        ("POST", "/t?select=name&on_conflict=email", r#"{"email":"a@x","name":"d"}"#, r#"[{"name":"d"}]"#),
        ("PUT", "/t?select=name&id=eq.1", r#"{"id":1,"name":"e"}"#, r#"[{"name":"e"}]"#),
    ] {
        assert_eq!(upsert(method, target, body), (200, expected.to_owned()), "{method} {target}");
    }
    let row = "select id || ' ' || email || ' ' || name || ' ' || updates from api.t";
    assert_eq!(database.value(row), "1 a@x e 0");
    // Columns that are no key are updated, and need the privilege.
    assert_eq!(upsert("POST", "/t?on_conflict=email", r#"{"id":2,"email":"a@x"}"#).0, 401);
    // A body with the key alone returns the row.
    database.execute("grant update on api.t to test_reader");
    assert_eq!(upsert("POST", "/t?select=name", r#"{"id":1}"#), (200, r#"[{"name":"e"}]"#.to_owned()));
}

#[test]
fn a_key_that_a_body_has_twice_is_the_clients_error() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int primary key, email text unique, name text);
         create table api.log (id int primary key, n int);
         create function api.log_it() returns trigger language plpgsql as
           $$ begin insert into api.log values (1, 1), (1, 2) on conflict (id) do update set n = excluded.n; return new; end $$;
         create table api.logged (id int primary key);
         create trigger log_it after insert on api.logged for each row execute function api.log_it();
         {GRANTS}{WRITES}"
    ));
    let served = Served::database(&database.uri());
    let merge = [("prefer", "resolution=merge-duplicates")];
    for (target, body) in [
        ("/t", r#"[{"id":1,"name":"a"},{"id":1,"name":"b"}]"#),
        ("/t?on_conflict=email", r#"[{"id":1,"email":"x"},{"id":2,"email":"x"}]"#),
    ] {
        let refused = served.send("POST", target, &merge, body);
        assert_eq!(code(&refused), (400, "21000".into()), "{}", refused.text());
        assert_eq!(refused.json()["message"], "Several rows of the body have the same key");
        assert!(refused.json()["details"].is_string() && refused.json()["hint"].is_string(), "{}", refused.text());
    }
    let csv = [("prefer", "resolution=merge-duplicates"), ("content-type", "text/csv")];
    assert_eq!(code(&served.send("POST", "/t", &csv, "id,name\n1,a\n1,b\n")), (400, "21000".into()));
    assert_eq!(database.value("select count(*) from api.t"), "0");
    // The body of an upsert within a trigger is not the client's.
    assert_eq!(code(&served.send("POST", "/logged", &[], r#"{"id":1}"#)), (500, "21000".into()));
    // Rows that are skipped are no error.
    let ignore = [("prefer", "resolution=ignore-duplicates")];
    let skipped = served.send("POST", "/t", &ignore, r#"[{"id":1,"name":"a"},{"id":1,"name":"b"}]"#);
    assert_eq!((skipped.status, database.value("select name from api.t")), (201, "a".to_owned()));
}

#[test]
fn a_json_body_without_rows_reaches_functions_that_take_it_and_is_refused_elsewhere() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int primary key, name text);
         create function api.whole(json) returns text language sql immutable as 'select $1::text';
         create function api.binary(jsonb) returns text language sql immutable as 'select $1::text';
         create function api.none() returns text language sql immutable as $$ select 'called' $$;
         create function api.one(a int default 1) returns text language sql immutable as $$ select 'called' $$;
         create function api.words(text) returns text language sql immutable as $$ select $1 $$;
         {GRANTS}{WRITES}"
    ));
    let served = Served::database(&database.uri());
    let documents = [
        "5",
        "-1.50e3",
        "true",
        r#""a \"quoted\" text""#,
        r#"[1,"a",{"b":2},null,[3]]"#,
        "[1]",
        "[null]",
        "[[1],[2]]",
        r#"[{"a":1},{"b":2}]"#,
        r#"[{"a":1},{"a":1,"b":2}]"#,
    ];
    for document in documents {
        for prefer in ["params=single-object", "count=exact", "return=minimal"] {
            let response = served.send("POST", "/rpc/whole", &[("prefer", prefer)], document);
            assert_eq!((response.status, response.json()), (200, document.into()), "{document}");
        }
        let of_columns = served.send("POST", "/rpc/whole?columns=a", &[], document);
        assert_eq!((of_columns.status, of_columns.json()), (200, document.into()), "{document}");
        let binary = served.send("POST", "/rpc/binary", &[], document);
        let expected = database.value(&format!("select $d${document}$d$::jsonb::text"));
        assert_eq!((binary.status, binary.json()), (200, expected.into()), "{document}");
        let is_array = document.starts_with('[');
        let message = match is_array {
            true => "All object keys must match",
            false => "The body is not a JSON object or an array of objects",
        };
        for target in ["/rpc/none", "/rpc/one", "/rpc/words"] {
            let refused = served.send("POST", target, &[], document);
            assert_eq!(code(&refused), (400, "PGRST102".into()), "{target} {document}: {}", refused.text());
            assert_eq!(refused.json()["message"], message, "{target}");
        }
        assert_eq!(code(&served.send("POST", "/rpc/missing", &[], document)), (404, "PGRST202".into()));
        for (method, target) in [("POST", "/t"), ("POST", "/t?select=id"), ("PATCH", "/t"), ("PUT", "/t?id=eq.1")] {
            for prefer in ["return=minimal", "return=representation", "missing=default", "resolution=merge-duplicates"]
            {
                let refused = served.send(method, target, &[("prefer", prefer)], document);
                assert_eq!(code(&refused), (400, "PGRST102".into()), "{method} {target} {document}");
                assert_eq!(refused.json()["message"], message, "{method} {target}");
            }
        }
        let refused = served.send("POST", "/t?columns=id", &[], document);
        assert_eq!(refused.status, 400, "{document}: {}", refused.text());
    }
    assert_eq!(database.value("select count(*) from api.t"), "0");
    // Lines of any JSON become an array.
    let lines = [("content-type", "application/x-ndjson")];
    let joined = served.send("POST", "/rpc/whole", &lines, "{\"a\":1}\n{\"b\":2}\n");
    assert_eq!((joined.status, joined.json()), (200, "[{\"a\":1},{\"b\":2}]".into()));
    // Null is a document, and no arguments. A table has no row for it.
    assert_eq!(served.send("POST", "/rpc/whole", &[], "null").json(), "null");
    assert_eq!(served.send("POST", "/rpc/none", &[], " null").json(), "called");
    assert_eq!(code(&served.send("POST", "/t", &[], "null")), (400, "PGRST102".into()));
    // An empty array has no rows, and is one for a table, too.
    assert_eq!(served.send("POST", "/rpc/whole", &[], "[]").json(), "[]");
    assert_eq!(served.send("POST", "/t", &[], "[]").status, 201);
}
