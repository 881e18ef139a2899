//! Random requests by three roles in three schemas over kept connections, among them functions that change every state
//! that a session has: each response is what a connection gives that is never used again, and each write is there once.
//!
//! There are 10,000 requests, or as many as `THALWEG_RANDOM_REQUESTS` says.

use crate::seen::{Seen, difference};
use crate::served::{Served, config, eventually};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

pub(crate) const ROLES: [&str; 3] = ["random_a", "random_b", "random_c"];
pub(crate) const SCHEMAS: [&str; 3] = ["one", "two", "three"];
const CLIENTS: usize = 8;
pub(crate) const SEED: u64 = 0x7468_616c_7765_6721;
/// Ids that all have the same length, so that they can be exchanged in texts.
pub(crate) const FIRST_ID: u64 = 1_000_000_000;
/// How often a column's type is changed, without a word to the servers.
const CHANGES: usize = 18;
const MISMATCHES_SHOWN: usize = 8;

/// Bodies of functions name tables as their callers' search path has them.
const ROLES_SQL: &str = "
    set check_function_bodies to off;
    do $$ declare name text; begin
      foreach name in array array['random_a', 'random_b', 'random_c', 'random_admin'] loop
        begin
          execute format('create role %I nologin', name);
          execute format('grant %I to postgres', name);
          case name
            when 'random_a' then alter role random_a set statement_timeout = '61s'; alter role random_a set app.mark = 'of a';
            when 'random_b' then alter role random_b set timezone = 'Europe/Berlin'; alter role random_b set work_mem = '5MB';
            when 'random_c' then alter role random_c set default_transaction_isolation = 'repeatable read';
            else null;
          end case;
        exception when duplicate_object or unique_violation then null; end;
      end loop; end $$;
";

/// What is in each of the schemas; its name stands as `SCHEMA`.
const SCHEMA_SQL: &str = "
    create schema SCHEMA;
    create table SCHEMA.plain (id int primary key, body text not null, of_role text);
    insert into SCHEMA.plain select n, 'SCHEMA é ' || n, (array['random_a', 'random_b', 'random_c'])[1 + n % 3]
      from generate_series(1, 9) n;
    create table SCHEMA.parts (id int primary key, plain_id int references SCHEMA.plain, n numeric);
    insert into SCHEMA.parts select n, 1 + n % 9, n / 4.0 from generate_series(1, 30) n;
    create table SCHEMA.times (id int primary key, at timestamptz, lasts interval, number float8, data bytea, day date);
    insert into SCHEMA.times
      values (1, '2024-05-06 07:08:09+00', '1 day 2 hours', 0.1::float8 + 0.2, '\\x00ff', '2024-05-06');
    create table SCHEMA.secured as select * from SCHEMA.plain;
    alter table SCHEMA.secured enable row level security;
    create policy own on SCHEMA.secured using (of_role = current_user) with check (of_role = current_user);
    create table SCHEMA.only_a (id bigint, body text);
    insert into SCHEMA.only_a values (1, 'SCHEMA');
    create sequence SCHEMA.numbers;
    create table SCHEMA.audit (id bigint, asked text, role text);
    create table SCHEMA.notes (id bigint, body text not null, by_role name default current_user);
    create table SCHEMA.keyed (id bigint primary key, body text);
    create table SCHEMA.defaults (id bigint, body text,
      asked text default current_setting('request.headers', true)::json->>'x-of', path text default current_setting('search_path'));
    create table SCHEMA.triggered (id bigint, asked text, role text);
    create table SCHEMA.ruled (id bigint, body text);
    create table SCHEMA.changing (id bigint, n int);
    create rule audit as on insert to SCHEMA.ruled
      where current_setting('request.headers', true)::json->>'x-of' is not null
      do also insert into SCHEMA.audit
        values (new.id, current_setting('request.headers', true)::json->>'x-of', current_user);
    create view SCHEMA.whoami as select current_user::text as role, session_user::text as login;
    create view SCHEMA.asked as
      select current_setting('request.headers', true)::json->>'x-of' as of, current_setting('request.method', true) as method,
             current_setting('request.jwt.claims', true) as claims, current_setting('search_path') as path;
    create view SCHEMA.over_notes as select id, body from SCHEMA.notes where body is not null;
    create function SCHEMA.fill() returns trigger language plpgsql as $$ begin
      new.asked := current_setting('request.headers', true)::json->>'x-of'; new.role := current_user; return new; end $$;
    create trigger fill before insert on SCHEMA.triggered for each row execute function SCHEMA.fill();

    create function SCHEMA.state() returns json language sql volatile as $$ select json_build_object(
      'role', current_user, 'login', session_user, 'schema', current_schema(), 'mark', nullif(current_setting('app.mark', true), ''),
      'settings', (select json_object_agg(name, setting order by name) from pg_settings
                   where name ~ '^(search_path|default_transaction|transaction_read_only|.*_timeout|client_encoding|TimeZone|DateStyle|IntervalStyle|bytea_output|extra_float|row_security|xml|enable_|array_nulls|work_mem)'),
      'method', current_setting('request.method', true), 'path', current_setting('request.path', true),
      'headers', current_setting('request.headers', true), 'claims', current_setting('request.jwt.claims', true),
      'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
      'prepared', (select count(*) from pg_prepared_statements where from_sql),
      'cursors', (select count(*) from pg_cursors where is_holdable),
      'channels', (select json_agg(c) from pg_listening_channels() c),
      'temporary', (select count(*) from pg_class where relnamespace = pg_my_temp_schema())) $$;
    create function SCHEMA.read_state() returns json language sql stable as $$ select SCHEMA.state() $$;
    create function SCHEMA.found() returns text language plpgsql stable as $$ begin
      return (select min(body) from plain); end $$;
    create function SCHEMA.numbered() returns bigint language sql stable as $$ select currval('SCHEMA.numbers') $$;
    create function SCHEMA.last() returns bigint language sql as $$ select lastval() $$;
    create function SCHEMA.tenant(of text default current_setting('request.headers', true)::json->>'x-of') returns text
      language sql stable as $$ select of $$;
    create function SCHEMA.rows_of(first int) returns setof SCHEMA.plain language sql stable as $$
      select * from plain where id >= first $$;
    create function SCHEMA.note(id bigint, body text) returns SCHEMA.notes language sql as $$
      insert into notes values (id, body) returning * $$;
    create function SCHEMA.note_and_fail(id bigint) returns void language plpgsql as $$ begin
      insert into notes values (id, 'failed'); raise exception 'failed'; end $$;
";

/// Functions that change what a session is in. Names that begin with `post_` cannot run in a transaction that only reads.
const CHANGES_SQL: &[(&str, &str)] = &[
    ("set_role", "set role random_admin;"),
    ("reset_role", "reset role;"),
    ("set_path", "set search_path to two, pg_temp;"),
    ("set_schema", "set schema 'three';"),
    ("read_only", "set default_transaction_read_only to on;"),
    ("writable", "set default_transaction_read_only to off; set session characteristics as transaction read write;"),
    ("isolated", "set session characteristics as transaction isolation level serializable;"),
    ("timeouts", "set statement_timeout to 60001; set lock_timeout to 1; set idle_in_transaction_session_timeout to 60002;"),
    ("any_timeout", "set statement_timeout to 1;"),
    ("any_encoding", "set client_encoding to latin1;"),
    (
        "formats",
        "set datestyle to 'SQL, DMY'; set intervalstyle to 'iso_8601'; set bytea_output to 'escape'; set timezone to 'Asia/Tokyo';
         set extra_float_digits to -5; set xmlbinary to hex; set enable_indexscan to off; set work_mem to '65kB';",
    ),
    ("no_policies", "set row_security to off;"),
    ("reset_all", "reset all;"),
    ("authorization", "set session authorization random_admin;"),
    ("lock", "perform pg_advisory_lock_shared(42);"),
    ("any_lock_and_fail", "perform pg_advisory_lock_shared(42); set role random_admin; raise exception 'failed';"),
    ("post_temporary", "create temporary table plain as select 7 as id, 'temporary'::text as body; create temporary sequence numbers;"),
    ("post_listen", "listen everything; notify everything;"),
    ("any_prepare", "declare name text; begin for name in select s.name from pg_prepared_statements s loop
        execute format('deallocate %I', name); execute format('prepare %I as select * from three.plain', name);
      end loop; end;"),
    ("any_deallocate", "deallocate all;"),
    ("cursor", "execute 'declare left_over cursor with hold for select * from two.plain';"),
    ("post_count", "perform nextval('numbers');"),
    (
        "tell",
        "perform set_config('request.headers', '{\"x-of\":\"left\"}', false); perform set_config('app.mark', 'left', false);
         perform set_config('request.jwt.claims', '{\"role\":\"random_admin\"}', false);",
    ),
    ("status", "perform set_config('response.status', '418', false);"),
    ("seed", "perform setseed(0.5);"),
    (
        "any_settings",
        "update pg_settings set setting = 'three' where name = 'search_path';
         update pg_settings set setting = 'LATIN1' where name = 'client_encoding';",
    ),
];

const GRANTS_SQL: &str = "
    grant usage on schema SCHEMA to public;
    grant select, insert, update, delete on all tables in schema SCHEMA to public;
    grant all on all sequences in schema SCHEMA to public;
    revoke all on SCHEMA.only_a from public;
    grant all on SCHEMA.only_a to random_a;
    grant all on all tables in schema SCHEMA to random_admin;
";

/// One request; `ID` stands for an id that no other has.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: &'static str,
}

/// Requests that come one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) steps: Vec<Step>,
    /// Where the id is found afterwards if all steps succeed.
    pub(crate) stores: &'static [&'static str],
    /// Whether what it answers is its own business: it changes how it is answered.
    pub(crate) answers_anything: bool,
    /// Whether it changes a state of the session.
    changes: bool,
}

impl Kind {
    pub(crate) fn of(
        method: &'static str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &'static str,
    ) -> Self {
        let step = Step { method, target: target.to_owned(), headers: headers.to_vec(), body };
        Self { steps: vec![step], stores: &[], answers_anything: false, changes: false }
    }

    pub(crate) fn get(target: &str, headers: &[(&'static str, &'static str)]) -> Self {
        Self::of("GET", target, headers, "")
    }

    pub(crate) fn then(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }

    fn storing(self, stores: &'static [&'static str]) -> Self {
        Self { stores, ..self }
    }
}

pub(crate) const RETURN: (&str, &str) = ("Prefer", "return=representation");
const CSV: (&str, &str) = ("Content-Type", "text/csv");
const X_OF: (&str, &str) = ("X-Of", "this");

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        Kind::get("/plain?id=eq.3", &[]),
        Kind::get("/plain?id=eq.4&select=body", &[("Accept", "application/vnd.pgrst.object+json")]),
        Kind::get("/plain?select=id,parts(n)&order=id&limit=5", &[]),
        Kind::get("/parts?select=id,plain(body,of_role)&order=id&n=gt.3", &[]),
        Kind::get("/plain?or=(id.eq.1,body.like.*7)&order=id.desc", &[]),
        Kind::get("/plain?order=id", &[("Accept", "text/csv")]),
        Kind::get("/plain?order=id&limit=2&offset=1", &[("Prefer", "count=exact")]),
        Kind::get("/plain?select=count()", &[]),
        Kind::of("HEAD", "/plain", &[("Prefer", "count=exact")], ""),
        Kind::get("/whoami", &[]),
        Kind::get("/whoami", &[("Accept", "text/csv")]),
        Kind::get("/asked", &[X_OF]),
        Kind::get("/secured?select=id&order=id", &[]),
        Kind::get("/only_a?id=eq.1", &[]),
        Kind::get("/times", &[]),
        Kind::get("/times?select=at::text,lasts::text,number::text,day::text", &[]),
        Kind::get("/times?at=gt.2024-05-06T06:00:00&day=eq.2024-05-06", &[]),
        Kind::get("/times?select=at", &[("Prefer", "timezone=Asia/Tokyo")]),
        Kind::get("/times?id=eq.1&select=data", &[("Accept", "application/octet-stream")]),
        Kind::get("/", &[]),
        Kind::get("/rpc/read_state", &[X_OF]),
        Kind::of("POST", "/rpc/state", &[X_OF], "{}"),
        Kind::get("/rpc/found", &[]),
        Kind::get("/rpc/numbered", &[]),
        Kind::of("POST", "/rpc/last", &[], "{}"),
        Kind::get("/rpc/tenant", &[X_OF]),
        Kind::get("/rpc/rows_of?first=8&order=id&select=id,body,parts(id)", &[]),
        // what writes
        Kind::of("POST", "/notes", &[RETURN], r#"{"id":ID,"body":"é"}"#).storing(&["notes"]),
        Kind::of("POST", "/notes", &[], r#"[{"id":ID,"body":"ß"}]"#).storing(&["notes"]),
        Kind::of("POST", "/notes", &[CSV], "id,body\nID,é\n").storing(&["notes"]),
        Kind::of("POST", "/notes?select=id", &[CSV, RETURN], "id,body\nID,é\n").storing(&["notes"]),
        Kind::of("POST", "/over_notes", &[RETURN], r#"{"id":ID,"body":"é"}"#).storing(&["notes"]),
        Kind::of("POST", "/notes", &[RETURN], r#"{"id":ID,"body":null}"#).storing(&["notes"]),
        Kind::of(
            "POST",
            "/notes",
            &[("Prefer", "return=representation, tx=rollback")],
            r#"{"id":ID,"body":"rolled back"}"#,
        ),
        Kind::of("POST", "/keyed", &[("Prefer", "return=headers-only")], r#"{"id":ID,"body":"é"}"#).storing(&["keyed"]),
        Kind::of("PUT", "/keyed?id=eq.ID", &[RETURN], r#"{"id":ID,"body":"ü"}"#).storing(&["keyed"]),
        Kind::of(
            "POST",
            "/keyed",
            &[("Prefer", "resolution=merge-duplicates, return=representation")],
            r#"{"id":ID,"body":"a"}"#,
        )
        .then(Kind::of("PATCH", "/keyed?id=eq.ID", &[RETURN], r#"{"body":"b"}"#))
        .storing(&["keyed"]),
        Kind::of("POST", "/keyed", &[], r#"{"id":ID,"body":"x"}"#)
            .then(Kind::of("DELETE", "/keyed?id=eq.ID", &[RETURN], ""))
            .then(Kind::get("/keyed?id=eq.ID", &[])),
        Kind::of("POST", "/keyed", &[], r#"{"id":ID,"body":"x"}"#)
            .then(Kind::of("POST", "/keyed", &[RETURN], r#"{"id":ID,"body":"x"}"#))
            .then(Kind::of("DELETE", "/keyed?id=eq.ID", &[], "")),
        Kind::of("POST", "/defaults", &[RETURN, X_OF], r#"{"id":ID,"body":"é"}"#).storing(&["defaults"]),
        Kind::of(
            "POST",
            "/defaults?columns=id,asked",
            &[("Prefer", "return=representation, missing=default"), X_OF],
            r#"{"id":ID}"#,
        )
        .storing(&["defaults"]),
        Kind::of("POST", "/triggered", &[RETURN, X_OF], r#"{"id":ID}"#).storing(&["triggered"]),
        Kind::of("POST", "/ruled", &[X_OF], r#"{"id":ID,"body":"é"}"#).storing(&["ruled", "audit"]),
        Kind::of("POST", "/secured?select=id", &[RETURN], r#"{"id":1,"body":"é","of_role":"random_admin"}"#),
        Kind::of("POST", "/only_a", &[RETURN], r#"{"id":ID,"body":"é"}"#).storing(&["only_a"]),
        Kind::of("POST", "/rpc/note", &[], r#"{"id":ID,"body":"é"}"#).storing(&["notes"]),
        Kind::get("/rpc/note?id=ID&body=x", &[]).storing(&["notes"]),
        Kind::of("POST", "/rpc/note_and_fail", &[], r#"{"id":ID}"#).storing(&["notes"]),
    ];
    let changing = Kind::of("POST", "/changing", &[RETURN], r#"{"id":ID,"n":5}"#).storing(&["changing"]);
    kinds.extend([changing.clone(), changing]);
    for (name, _) in CHANGES_SQL {
        let answers_anything = name.starts_with("any_");
        let target = format!("/rpc/{name}");
        kinds.push(Kind { answers_anything, changes: true, ..Kind::of("POST", &target, &[], "{}") });
        if !name.starts_with("post_") {
            kinds.push(Kind { answers_anything, changes: true, ..Kind::get(&target, &[]) });
        }
    }
    kinds
}

impl Step {
    /// Sends it, and waits for nothing.
    pub(crate) fn send(&self, client: &mut Client, schema: &str, id: u64, more: &[(&str, &str)]) {
        let id = id.to_string();
        let (target, body) = (self.target.replace("ID", &id), self.body.replace("ID", &id));
        let length = body.len().to_string();
        let mut headers: Vec<(&str, &str)> = self.headers.iter().chain(more).copied().collect();
        headers.extend([("Accept-Profile", schema), ("Content-Profile", schema)]);
        headers.extend((!body.is_empty()).then_some(("Content-Length", length.as_str())));
        client.send(self.method, &target, &headers);
        client.send_bytes(body.as_bytes());
    }

    pub(crate) fn ask(&self, client: &mut Client, schema: &str, id: u64, more: &[(&str, &str)]) -> Seen {
        self.send(client, schema, id, more);
        let response = client.receive(self.method == "HEAD");
        let id = id.to_string();
        // a description tells of the column whose type changes
        let text = |text: &str| match &*self.target {
            "/" => text.replace("int64", "int32"),
            _ => text.replace(&id, "ID"),
        };
        Seen::with(&response, text)
    }
}

/// The generator "SplitMix64".
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// The schemas, with `more` in each of them.
pub(crate) fn database(more: &str) -> Database {
    let mut script = ROLES_SQL.to_owned();
    for schema in SCHEMAS {
        script += &SCHEMA_SQL.replace("SCHEMA", schema);
        for (name, body) in CHANGES_SQL {
            script += &format!(
                "create function {schema}.{name}() returns void language plpgsql as $f$ begin {body} end $f$;"
            );
        }
    }
    SCHEMAS.iter().for_each(|schema| script += &format!("{GRANTS_SQL}{more}").replace("SCHEMA", schema));
    Database::new(&script)
}

pub(crate) fn serve(database: &Database, role: &str) -> Config {
    Config {
        db_schemas: SCHEMAS.map(str::to_owned).to_vec(),
        db_anon_role: Some(role.to_owned()),
        db_pool: 3,
        db_pool_acquisition_timeout: Duration::from_secs(60),
        db_channel_enabled: false,
        db_aggregates_enabled: true,
        db_tx_end_is_theirs: true,
        openapi_server_proxy_uri: Some("http://test/".to_owned()),
        ..config(&database.uri())
    }
}

/// What each kind of request is to answer, by role, schema and kind: asked where connections are never used again.
fn expectations(database: &Database, kinds: &[Kind], ids: &AtomicU64) -> HashMap<(usize, usize, usize), Vec<Seen>> {
    let of_role = |role: usize| {
        let served = Served::start(Config { db_pool_max_lifetime: Duration::ZERO, ..serve(database, ROLES[role]) });
        let mut client = Client::connect(served.address);
        let mut expected = Vec::new();
        for (schema, name) in SCHEMAS.iter().enumerate() {
            // what changes a state answers the same everywhere
            let is_asked = |kind: &Kind| !kind.answers_anything && (!kind.changes || (role, schema) == (0, 0));
            for (at, kind) in kinds.iter().enumerate().filter(|(_, kind)| is_asked(kind)) {
                let id = ids.fetch_add(1, Ordering::Relaxed);
                let seen = kind.steps.iter().map(|step| step.ask(&mut client, name, id, &[])).collect();
                expected.push(((role, schema, at), seen));
            }
        }
        expected
    };
    std::thread::scope(|scope| {
        let of_role = &of_role;
        let workers: Vec<_> = (0..ROLES.len()).map(|role| scope.spawn(move || of_role(role))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no thread panicked")).collect()
    })
}

/// What has come of the writes: ids that must be there once, by schema and table, and ids that must not be.
#[derive(Default)]
struct Written {
    stored: BTreeMap<(&'static str, &'static str), BTreeSet<u64>>,
    mismatches: Vec<String>,
    mismatched: usize,
    /// How often a request met a change of a column's type and was refused.
    refused_for_changes: Vec<String>,
}

impl Written {
    fn take(&mut self, other: Self) {
        for (place, ids) in other.stored {
            self.stored.entry(place).or_default().extend(ids);
        }
        self.mismatches.extend(other.mismatches);
        self.mismatched += other.mismatched;
        self.refused_for_changes.extend(other.refused_for_changes);
    }
}

#[test]
fn random_requests_are_answered_as_on_fresh_connections() {
    let requests = std::env::var("THALWEG_RANDOM_REQUESTS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let (database, kinds, ids) = (database(""), kinds(), AtomicU64::new(FIRST_ID));
    let expected = expectations(&database, &kinds, &ids);
    check_expectations(&kinds, &expected);
    let tables = "select string_agg(format('truncate %I.%I', table_schema, table_name), ';')
                  from information_schema.tables
                  where table_schema in ('one', 'two', 'three') and table_type = 'BASE TABLE'
                    and table_name in ('notes', 'keyed', 'defaults', 'triggered', 'ruled', 'audit', 'changing')";
    database.execute(&database.value(tables));
    database.execute("delete from one.only_a where id > 1; delete from two.only_a where id > 1; delete from three.only_a where id > 1");
    let servers = ROLES.map(|role| Served::start(serve(&database, role)));
    let (asked, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let written = Mutex::new(Written::default());
    std::thread::scope(|scope| {
        scope.spawn(|| change_types(&database, requests, &asked, &is_over));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (servers, kinds, expected) = (&servers, &kinds, &expected);
                let (ids, asked, written) = (&ids, &asked, &written);
                scope.spawn(move || {
                    let mut clients = servers.each_ref().map(|served| Client::connect(served.address));
                    let (mut draws, mut own) = (Draws(SEED + client as u64), Written::default());
                    while asked.fetch_add(1, Ordering::Relaxed) < requests {
                        let drawn = (draws.below(ROLES.len()), draws.below(SCHEMAS.len()), draws.below(kinds.len()));
                        let id = ids.fetch_add(1, Ordering::Relaxed);
                        let kind = &kinds[drawn.2];
                        let expected = expected.get(&if kind.changes { (0, 0, drawn.2) } else { drawn });
                        ask(&mut clients[drawn.0], drawn, kind, id, expected, &mut own);
                    }
                    written.lock().expect("no thread panicked").take(own);
                })
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|ended| ended.expect("no client panicked"));
    });
    let written = written.into_inner().expect("no thread panicked");
    let refused: BTreeSet<&String> = written.refused_for_changes.iter().collect();
    println!("{requests} requests, {} refused as a type had changed: {refused:?}", written.refused_for_changes.len());
    assert!(written.mismatches.is_empty(), "{} mismatches:\n{}", written.mismatched, written.mismatches.join("\n"));
    eventually("no session keeps a lock", || database.value("select pg_try_advisory_xact_lock(42)") == "t");
    drop(servers);
    for schema in SCHEMAS {
        for table in ["notes", "keyed", "defaults", "triggered", "ruled", "audit", "changing", "only_a"] {
            let found = database.query(&format!("select id from {schema}.{table} where id > 1 order by id"));
            let found: Vec<u64> = found.into_iter().filter_map(|mut row| row.remove(0)?.parse().ok()).collect();
            let stored = written.stored.get(&(schema, table));
            let stored: Vec<u64> = stored.into_iter().flatten().copied().collect();
            assert!(found == stored, "{schema}.{table}: {} rows for {} acknowledged", found.len(), stored.len());
            assert!(!stored.is_empty(), "{schema}.{table}: nothing was written");
        }
    }
}

/// The fresh connections answer what they must, so that equal answers are right answers.
fn check_expectations(kinds: &[Kind], expected: &HashMap<(usize, usize, usize), Vec<Seen>>) {
    for ((role, schema, at), seen) in expected {
        let (role, schema, target) = (ROLES[*role], SCHEMAS[*schema], kinds[*at].steps[0].target.as_str());
        let body = seen[0].body.as_str();
        match target {
            "/plain?id=eq.3" => assert!(body.contains(&format!("{schema} é 3")), "{body}"),
            "/whoami" => assert!(body.contains(role) && body.contains("postgres"), "{body}"),
            "/asked" => assert!(body.contains("\"of\":\"this\"") && body.contains(role), "{body}"),
            "/only_a" | "/only_a?id=eq.1" => assert_eq!(seen[0].status < 300, role == "random_a", "{role}: {body}"),
            "/rpc/read_state" => assert!(body.contains(&format!("\"schema\" : \"{schema}\"")), "{body}"),
            "/rpc/numbered" => assert!(body.contains("55000"), "{body}"),
            _ => {}
        }
        let is_wrong = |seen: &Seen| seen.status >= 500 && !seen.body.contains("\"55000\"");
        assert!(!seen.iter().any(is_wrong), "{target}: {seen:?}");
    }
}

/// Asks one kind of request, and compares.
fn ask(
    client: &mut Client,
    (role, schema, _): (usize, usize, usize),
    kind: &Kind,
    id: u64,
    expected: Option<&Vec<Seen>>,
    written: &mut Written,
) {
    let mut succeeds = true;
    for (at, step) in kind.steps.iter().enumerate() {
        let seen = step.ask(client, SCHEMAS[schema], id, &[]);
        succeeds &= seen.status < 300;
        let Some(expected) = expected.map(|all| &all[at]) else { continue };
        if seen == *expected {
            continue;
        }
        if step.target == "/changing" && seen.status >= 400 {
            written.refused_for_changes.push(format!("{} {}", seen.status, seen.body));
            continue;
        }
        written.mismatched += 1;
        if written.mismatches.len() < MISMATCHES_SHOWN {
            let role = ROLES[role];
            written.mismatches.push(format!(
                "{role} in {}: {} {}: {}",
                SCHEMAS[schema],
                step.method,
                step.target,
                difference(&seen, expected)
            ));
        }
    }
    if succeeds {
        for table in kind.stores {
            written.stored.entry((SCHEMAS[schema], table)).or_default().insert(id);
        }
    }
}

/// Changes the type of a column now and then, of which nobody is told.
fn change_types(database: &Database, requests: usize, asked: &AtomicUsize, is_over: &AtomicBool) {
    for change in 1..=CHANGES {
        while asked.load(Ordering::Relaxed) < change * requests / (CHANGES + 1) {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let to = if change % 2 == 1 { "bigint" } else { "int" };
        for schema in SCHEMAS {
            database.execute(&format!("alter table {schema}.changing alter n type {to}"));
        }
    }
}
