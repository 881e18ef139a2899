//! What code leaves in a session. The pool has one connection, so that whatever is left is there for the next request.
//!
//! Each attack is made before each of the ordinary requests, which must be answered as on a server whose connections are
//! never used again.

use crate::seen::{Seen, difference};
use crate::served::{GRANTS, Served, config, eventually};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Response};

/// Tables of every kind of ordinary request, one table that only another role may read, and what a changed search path
/// would find in place of the tables.
const SCHEMA: &str = "
    create schema api;
    create schema shadow;
    do $$ begin
      create role test_admin nologin; exception when duplicate_object or unique_violation then null;
    end $$;
    create table api.authors (id int primary key, name text not null);
    insert into api.authors values (1, 'é'), (2, 'b');
    create table api.books (id int primary key, author_id int references api.authors, title text);
    insert into api.books values (1, 1, 'x'), (2, 1, 'y');
    create table api.texts (id int primary key, body text);
    create table api.files (id int primary key, data bytea);
    insert into api.files values (1, '\\x00ff');
    create table api.times (id int primary key, at timestamptz, lasts interval, number float8);
    insert into api.times values (1, '2024-05-06 07:08:09+00', '1 day 2 hours', 0.1::float8 + 0.2);
    create sequence api.numbers;
    -- neither of them reads a setting: they show what the connection was left in
    create view api.session as select pg_backend_pid() as process, current_user::text as role, session_user::text as login;
    create function api.state() returns json stable language sql as $$
      select json_build_object(
        'role', current_user, 'login', session_user, 'claims', current_setting('request.jwt.claims', true),
        'mark', nullif(current_setting('app.mark', true), ''), 'method', current_setting('request.method', true),
        'path', current_setting('request.path', true), 'headers', current_setting('request.headers', true),
        'settings', (select json_object_agg(name, setting order by name) from pg_settings
                     -- those of plpgsql are there once it has been used
                     where name <> 'application_name' and name not like 'plpgsql.%'),
        'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
        'prepared', (select count(*) from pg_prepared_statements where from_sql),
        'cursors', (select count(*) from pg_cursors where is_holdable),
        'channels', (select json_agg(c) from pg_listening_channels() c),
        'temporary', (select count(*) from pg_class where relnamespace = pg_my_temp_schema())) $$;
    create function api.numbered() returns int stable language sql as $$ select currval('api.numbers')::int $$;
    create function api.writes() returns int language sql as $$ insert into api.texts values (99, 'w') returning id $$;
    create table shadow.authors as select 7 as id, 'shadow'::text as name;
    create table shadow.texts as select 7 as id, 'shadow'::text as body;
    grant usage on schema shadow, api to public;
    grant all on all tables in schema shadow to public;
";

/// What is granted once all tables of a story have been made, and the table that nothing is granted on.
const RIGHTS: &str = "
    grant insert, update, delete on api.texts to test_reader;
    grant all on sequence api.numbers to test_reader;
    create table api.secrets (id int primary key, body text);
    insert into api.secrets values (1, 'secret');
    grant all on all tables in schema api to test_admin;
    notify pgrst;
";

/// A request that has nothing to do with an attack.
struct Ordinary {
    method: &'static str,
    target: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
}

impl Ordinary {
    fn ask(&self, served: &Served) -> Seen {
        let mut client = Client::connect(served.address);
        Seen::of(&match self.body {
            "" => client.request(self.method, self.target, self.headers),
            body => client.request_with(self.method, self.target, self.headers, body.as_bytes()),
        })
    }
}

const fn get(target: &'static str, headers: &'static [(&'static str, &'static str)]) -> Ordinary {
    Ordinary { method: "GET", target, headers, body: "" }
}

const fn send(
    method: &'static str,
    target: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
) -> Ordinary {
    Ordinary { method, target, headers, body }
}

const RETURN: (&str, &str) = ("Prefer", "return=representation");
const CSV_BODY: (&str, &str) = ("Content-Type", "text/csv");

/// They leave the tables as they were, so that all can be asked again.
const ORDINARY: &[Ordinary] = &[
    get("/session?select=role,login", &[]),
    get("/authors?id=eq.1", &[]),
    get("/authors?select=id,name,books(title)&order=id", &[]),
    get("/authors?order=id", &[("Accept", "text/csv")]),
    get("/authors?order=id&limit=1", &[("Prefer", "count=exact")]),
    Ordinary { method: "HEAD", target: "/authors", headers: &[("Prefer", "count=exact")], body: "" },
    get("/times", &[]),
    get("/times?at=gt.2024-05-06T06:00:00&select=at::text,lasts::text", &[]),
    get("/times?select=at", &[("Prefer", "timezone=Asia/Tokyo")]),
    get("/secrets", &[]),
    send("POST", "/texts", &[RETURN], r#"{"id":1,"body":"é"}"#),
    get("/texts?body=eq.%C3%A9&select=body", &[]),
    send("PATCH", "/texts?id=eq.1", &[RETURN], r#"{"body":"ö"}"#),
    send("PUT", "/texts?id=eq.1", &[RETURN], r#"{"id":1,"body":"ü"}"#),
    send("DELETE", "/texts?id=eq.1", &[RETURN], ""),
    send("POST", "/texts", &[CSV_BODY], "id,body\n2,é\n3,ß\n"),
    send("DELETE", "/texts?id=in.(2,3)&order=id", &[RETURN], ""),
    send("POST", "/texts", &[("Prefer", "return=minimal")], r#"[{"id":4,"body":"é"},{"id":5,"body":"ß"}]"#),
    send("DELETE", "/texts?id=in.(4,5)&select=body,id", &[RETURN], ""),
    get("/files?id=eq.1&select=data", &[("Accept", "application/octet-stream")]),
    get("/", &[]),
    get("/rpc/state", &[("X-Of", "get")]),
    send("POST", "/rpc/state", &[("X-Of", "post")], ""),
    get("/rpc/numbered", &[]),
    // this one may not write
    get("/rpc/writes", &[]),
    send("POST", "/rpc/writes", &[], ""),
    send("DELETE", "/texts?id=eq.99", &[RETURN], ""),
];

/// A database, a server that has one connection, and what one answers whose connections are never used again.
struct Lap {
    kept: Served,
    expected: Vec<Seen>,
    /// The processes that have answered.
    processes: BTreeSet<String>,
    /// How often the connection could have been found used up.
    attacks: usize,
    // the servers end before it does
    database: Database,
}

impl Lap {
    /// A stage for functions and tables of a story.
    fn new(story: &str) -> Self {
        Self::configured(story, |config| config)
    }

    fn configured(story: &str, configure: impl Fn(Config) -> Config) -> Self {
        let database = Database::new(&format!("{SCHEMA}{story}{GRANTS}{RIGHTS}"));
        let one = |name: &str| {
            let uri = format!("{}&application_name={name}", database.uri());
            // nobody tells the servers what has changed
            let openapi_server_proxy_uri = Some("http://test/".to_owned());
            configure(Config { db_pool: 1, db_channel_enabled: false, openapi_server_proxy_uri, ..config(&uri) })
        };
        let fresh = Served::start(Config { db_pool_max_lifetime: Duration::ZERO, ..one("fresh") });
        let kept = Served::start(one("kept"));
        let expected: Vec<Seen> = ORDINARY.iter().map(|ordinary| ordinary.ask(&fresh)).collect();
        assert_eq!(expected[1].body, r#"[{"id":1,"name":"é"}]"#);
        assert_eq!(expected[9].status, 401);
        Self { kept, expected, processes: BTreeSet::new(), attacks: 0, database }
    }

    /// Makes an attack before each ordinary request. What the attack itself answers is its own business, but it must have
    /// been made.
    fn attack(&mut self, what: &str, attack: impl Fn(&Served) -> Response, works: impl Fn(&Response) -> bool) {
        self.attack_seen_from(what, |served, _| attack(served), works);
    }

    /// The same by an attack that has to look at the database.
    fn attack_seen_from(
        &mut self,
        what: &str,
        attack: impl Fn(&Served, &Database) -> Response,
        works: impl Fn(&Response) -> bool,
    ) {
        for (ordinary, expected) in ORDINARY.iter().zip(&self.expected) {
            let attacked = attack(&self.kept, &self.database);
            self.attacks += 1;
            assert!(works(&attacked), "{what}: {} {}", attacked.status, String::from_utf8_lossy(&attacked.body));
            let seen = ordinary.ask(&self.kept);
            assert!(
                seen == *expected,
                "after {what}: {} {}: {}",
                ordinary.method,
                ordinary.target,
                difference(&seen, expected)
            );
            let process = self.kept.get("/session?select=process");
            assert_eq!(process.status, 200, "after {what}: {}", process.text());
            self.processes.insert(process.text().to_owned());
        }
        let seen = "select count(*), bool_and(pg_try_advisory_xact_lock(42)) from pg_stat_activity
                    where application_name = 'kept' and datname = current_database()";
        let seen = self.database.query(seen).remove(0);
        assert_eq!(
            seen,
            [Some("1".to_owned()), Some("t".to_owned())],
            "{what}: connections, and whether locks are free"
        );
    }

    /// Calls a function of `api`, by both methods in turn.
    fn call(&mut self, function: &str, works: impl Fn(&Response) -> bool) {
        let target = format!("/rpc/{function}");
        let calls = Cell::new(0);
        let call = |served: &Served| match calls.replace(calls.get() + 1) % 2 {
            0 => served.send("POST", &target, &[], ""),
            _ => served.get(&target),
        };
        self.attack(&target, call, works);
    }

    /// The connection that had been attacked was the one that answered: otherwise nothing has been shown. A load replaces it
    /// where the roles that may be taken have changed meanwhile, which are the cluster's, and other tests make some.
    fn was_one_connection(&self) {
        assert!(self.processes.len() * 9 <= self.attacks.max(9), "{} attacks: {:?}", self.attacks, self.processes);
    }
}

fn succeeds(response: &Response) -> bool {
    response.status < 300
}

/// A function of the story, in plpgsql.
fn function(body: &str) -> String {
    format!("create function api.attack() returns void language plpgsql as $attack$ begin {body} end $attack$;")
}

/// One attack by a function whose session is made as new, not given up.
fn by_function(body: &str) {
    let mut stage = Lap::new(&function(body));
    stage.call("attack", succeeds);
    stage.was_one_connection();
}

/// Anonymous requests read as another role: what was exposed was a function in C, whose text says nothing.
#[test]
fn an_extension_that_runs_sql_changes_the_role() {
    let control = "/usr/share/postgresql/15/extension/tablefunc.control";
    if !Path::new(control).exists() {
        eprintln!("skipped: {control} is not there, which Debian's postgresql-15 has");
        return;
    }
    let mut stage = Lap::new("create extension tablefunc schema api;");
    for (name, value) in [("role", "test_admin"), ("search_path", "shadow"), ("client_encoding", "latin1")] {
        let query = format!("select 'a'::text, 'b'::text, set_config('{name}', '{value}', false)");
        let attack = |served: &Served| served.send("POST", "/rpc/crosstab2", &[("Content-Type", "text/plain")], &query);
        stage.attack(&query, attack, succeeds);
    }
    stage.was_one_connection();
}

#[test]
fn a_function_sets_the_role() {
    by_function("set role test_admin;");
}

#[test]
fn a_function_resets_the_role() {
    by_function("reset role;");
}

#[test]
fn a_function_sets_the_schema() {
    by_function("set schema 'shadow';");
}

/// The word order in which the regular expressions did not see it.
#[test]
fn a_function_sets_the_search_path_by_other_words() {
    by_function("execute 'SET' || ' SESSION ' || 'search_path = shadow';");
}

#[test]
fn a_function_makes_transactions_read_only() {
    by_function("set default_transaction_read_only to on;");
}

#[test]
fn a_function_makes_transactions_writable() {
    by_function("set session characteristics as transaction read write; set default_transaction_read_only to off;");
}

#[test]
fn a_function_makes_transactions_serializable() {
    by_function("set session characteristics as transaction isolation level serializable, deferrable;");
}

/// The rest of the attacking request may or may not come within the millisecond, and so may what makes the session as new:
/// one that cannot be made so is closed.
#[test]
fn a_function_sets_a_timeout() {
    let mut stage = Lap::new(&function(
        "set lock_timeout to 1; set idle_session_timeout to 0; set idle_in_transaction_session_timeout to 1000;
         set statement_timeout to 1;",
    ));
    stage.call("attack", |response| response.status < 300 || response.text().contains("57014"));
}

#[test]
fn a_function_sets_the_encoding() {
    by_function("set client_encoding to latin1;");
}

#[test]
fn a_function_sets_the_output_formats() {
    by_function(
        "set datestyle to 'SQL, DMY'; set intervalstyle to 'iso_8601'; set bytea_output to 'escape';
         set extra_float_digits to -5; set timezone to 'Asia/Tokyo'; set xmlbinary to hex;
         set lc_monetary to 'C'; set default_text_search_config to 'pg_catalog.german';
         set standard_conforming_strings to off; set transform_null_equals to on; set array_nulls to off;
         set quote_all_identifiers to on; set enable_indexscan to off; set row_security to off;
         perform set_config('app.mark', 'x', false);",
    );
}

#[test]
fn a_function_resets_everything() {
    by_function("reset all; reset role; reset search_path;");
}

/// A request's settings for the session are not those of the next.
#[test]
fn a_function_tells_others_of_its_request() {
    let mut stage = Lap::new(&function(
        "perform set_config('request.jwt.claims', '{\"role\":\"test_admin\"}', false);
         perform set_config('request.method', 'x', false); perform set_config('request.headers', '{}', false);
         perform set_config('response.status', '418', false);
         perform set_config('response.headers', '[{\"X-Left\":\"1\"}]', false);",
    ));
    stage.call("attack", |response| response.status == 418);
    stage.was_one_connection();
}

/// There is no way back from this but a new connection.
#[test]
fn a_function_sets_the_session_authorization() {
    let mut stage = Lap::new(&function("set session authorization test_admin;"));
    stage.call("attack", succeeds);
    assert!(stage.processes.len() > 1);
}

#[test]
fn a_function_takes_a_lock() {
    by_function("perform pg_advisory_lock(42); perform pg_advisory_lock_shared(43);");
}

/// What is set goes back with the transaction, but a lock does not.
#[test]
fn a_function_takes_a_lock_and_fails() {
    let mut stage = Lap::new(&function("perform pg_advisory_lock(42); raise exception 'failed';"));
    stage.call("attack", |response| response.status == 400);
    stage.was_one_connection();
}

/// A temporary table comes before all others in every search path.
#[test]
fn a_function_makes_temporary_tables() {
    let mut stage = Lap::new(&function(
        "create temporary table authors as select 7 as id, 'temporary'::text as name;
         create temporary table texts as select 7 as id, 'temporary'::text as body;
         create temporary sequence numbers;
         grant all on pg_temp.authors, pg_temp.texts to public;",
    ));
    stage.attack("POST", |served| served.send("POST", "/rpc/attack", &[], ""), succeeds);
    stage.was_one_connection();
}

#[test]
fn a_function_listens() {
    let mut stage = Lap::new(&function("listen everything; notify everything;"));
    stage.attack("POST", |served| served.send("POST", "/rpc/attack", &[], ""), succeeds);
    stage.was_one_connection();
}

/// The names of prepared statements are no secret: SQL makes others of them, which answer in their place.
#[test]
fn a_function_prepares_statements_under_our_names() {
    let mut stage = Lap::new(&function(
        "declare name text; begin
           for name in select s.name from pg_prepared_statements s loop
             execute format('deallocate %I', name);
             execute format('prepare %I as select * from shadow.authors', name);
           end loop; end;",
    ));
    // what follows the call in its own transaction is another statement by then
    stage.call("attack", |response| response.status < 300 || response.text().contains("PGRST111"));
    stage.was_one_connection();
}

#[test]
fn a_function_drops_prepared_statements() {
    by_function("deallocate all;");
}

#[test]
fn a_function_leaves_cursors() {
    by_function(
        "execute 'declare left_over cursor with hold for select * from api.authors';
         declare opened refcursor := 'other'; begin open opened for select * from api.authors; end;",
    );
}

#[test]
fn a_function_counts() {
    let mut stage = Lap::new(&function("perform nextval('api.numbers');"));
    // a GET may not
    stage.attack("POST", |served| served.send("POST", "/rpc/attack", &[], ""), succeeds);
    stage.was_one_connection();
}

/// Everything at once, and then it fails: what is not transactional stays.
#[test]
fn a_function_changes_everything_and_fails() {
    let mut stage = Lap::new(&function(
        "perform pg_advisory_lock(42); perform pg_listening_channels();
         perform set_config('search_path', 'shadow', false); perform set_config('role', 'test_admin', false);
         execute 'prepare left_over as select 1'; execute 'deallocate all';
         raise exception 'failed';",
    ));
    stage.call("attack", |response| response.status == 400);
    stage.was_one_connection();
}

/// Clients that do not wait for the end of what they have begun.
#[test]
fn a_function_that_is_given_up_leaves_nothing() {
    let mut stage = Lap::new(&function(
        "perform pg_advisory_lock(42); set role test_admin; set search_path to shadow; set client_encoding to latin1;
         perform pg_sleep(20);",
    ));
    let give_up = |served: &Served, database: &Database| {
        let mut client = Client::connect(served.address);
        client.send("POST", "/rpc/attack", &[("Content-Length", "0")]);
        let sleeping = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'kept' and wait_event = 'PgSleep'";
        eventually("the function sleeps", || database.value(sleeping) == "1");
        drop(client);
        served.get("/authors?id=eq.1")
    };
    stage.attack_seen_from("giving up", give_up, succeeds);
    stage.was_one_connection();
}

/// PostgreSQL's own view of settings can be updated, and so can views of it: no function of the database's own is named.
#[test]
fn an_update_through_a_view_of_settings() {
    let mut stage = Lap::new(
        "create view api.settings as select name, setting from pg_settings;
         create rule hidden_update as on update to api.settings do instead
           update pg_settings set setting = new.setting where name = old.name;
         grant update on api.settings to public;
         create function api.attack() returns void language sql as $$
           update pg_settings set setting = 'shadow' where name = 'search_path';
           update pg_settings set setting = 'latin1' where name = 'client_encoding' $$;",
    );
    for (name, value) in [("search_path", "shadow"), ("client_encoding", "LATIN1"), ("statement_timeout", "60001")] {
        let (target, body) = (format!("/settings?name=eq.{name}"), format!("{{\"setting\":\"{value}\"}}"));
        stage.attack(&target, |served| served.send("PATCH", &target, &[], &body), succeeds);
    }
    stage.attack("a function", |served| served.send("POST", "/rpc/attack", &[], ""), succeeds);
    stage.was_one_connection();
}

/// What runs before every request may change what it likes, too.
#[test]
fn a_function_before_every_request_changes_the_session() {
    let mut stage = Lap::configured(
        "create function api.before() returns void language plpgsql as $$ begin
           if current_setting('request.headers')::json->>'x-attack' is not null then
             perform set_config('role', 'test_admin', false); perform set_config('search_path', 'shadow', false);
             perform set_config('client_encoding', 'latin1', false); perform pg_advisory_lock(42);
           end if; end $$;",
        |config| Config { db_pre_request: Some((Some("api".to_owned()), "before".to_owned())), ..config },
    );
    let attack = |served: &Served| served.request("GET", "/authors?select=id", &[("X-Attack", "1")]);
    stage.attack("a request before which state is changed", attack, succeeds);
    stage.was_one_connection();
}

/// A default, a domain, a trigger, a policy, an index and an operator may each run a function that changes the session.
#[test]
fn what_tables_run_changes_the_session() {
    let mut stage = Lap::new(
        "create function public.change(text) returns text immutable language plpgsql as $$ begin
           perform set_config('role', 'test_admin', false); perform set_config('search_path', 'shadow', false);
           perform set_config('client_encoding', 'latin1', false); return $1; end $$;
         create function public.change_by_trigger() returns trigger language plpgsql as $$ begin
           perform public.change(''); return new; end $$;
         create function public.changes(text, text) returns boolean immutable language sql as $$
           select public.change($1) = $2 $$;
         create operator public.=== (leftarg = text, rightarg = text, function = public.changes);
         create table api.by_default (id int, a text default public.change('x'));
         create domain public.changing as text check (public.change(value) <> '-');
         create table api.by_domain (id int, a public.changing);
         create table api.by_check (id int, a text check (public.change(a) <> '-'));
         create table api.by_generation (id int, a text, b text generated always as (public.change(a)) stored);
         create table api.by_index (id int, a text); create index on api.by_index (public.change(a));
         create table api.by_trigger (id int, a text);
         create trigger t before insert on api.by_trigger for each row execute function public.change_by_trigger();
         create table api.by_policy (id int, a text); alter table api.by_policy enable row level security;
         create policy p on api.by_policy using (public.change('x') = 'x');
         create table api.by_rule (id int, a text);
         create rule r as on insert to api.by_rule do also select public.change(new.a);
         create view api.by_view as select id, a from api.by_index where a operator(public.===) 'x';
         create table api.by_operator (id int, a text check (a operator(public.===) a));
         grant insert on all tables in schema api to public;",
    );
    for table in [
        "by_default",
        "by_domain",
        "by_check",
        "by_generation",
        "by_index",
        "by_trigger",
        "by_policy",
        "by_rule",
        "by_operator",
    ] {
        let target = format!("/{table}");
        let body = if table == "by_default" { r#"{"id":1}"# } else { r#"{"id":1,"a":"x"}"# };
        let prefer: &[_] = if table == "by_rule" { &[] } else { &[RETURN] };
        let works = |response: &Response| response.status < 300 || table == "by_policy" && response.status == 401;
        stage.attack(&target, |served| served.send("POST", &target, prefer, body), works);
    }
    stage.attack("/by_view", |served| served.get("/by_view"), succeeds);
    stage.was_one_connection();
}

/// What was seeded by one request is no chance for the next: tokens that columns default to could be foretold.
#[test]
fn a_function_seeds_chance() {
    let story = "create function api.chance() returns float8 language sql as 'select random()';";
    let stage = Lap::new(&format!("{}{story}", function("perform setseed(0.5); perform random();")));
    let chances: BTreeSet<String> = (0..5)
        .map(|_| {
            assert!(succeeds(&stage.kept.send("POST", "/rpc/attack", &[], "")));
            stage.kept.get("/rpc/chance").text().to_owned()
        })
        .collect();
    assert_eq!(chances.len(), 5, "{chances:?}");
}
