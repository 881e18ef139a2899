//! Random sequences of requests by random people, who differ in token, role and claims, on two databases that are the same:
//! a server with few connections, which it keeps, answers each as one whose connections are never used again, and both
//! leave the same rows.
//!
//! There are 400 requests, or as many as `THALWEG_SEQUENCE_REQUESTS` says, from `THALWEG_SEQUENCE_SEED` on. A sequence that
//! fails is made shorter for as long as it fails.

use crate::random::{Draws, FIRST_ID, Kind, RETURN, SCHEMAS, SEED, database, kinds, serve};
use crate::seen::{Seen, difference};
use crate::served::Served;
use crate::signed::{SECRET, token};
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;
use thalweg_server::{Config, Secret};
use thalweg_testkit::{Client, Database};

/// How many requests meet the same two databases.
const LENGTH: usize = 200;
const REQUESTS: usize = 400;
const POOL_MAX: usize = 3;
/// How many requests may be under way at once, if all of them only read.
const TOGETHER_MAX: usize = 3;
/// How often a sequence that fails is tried with fewer requests.
const TRIES: usize = 60;

/// What depends on who asks, and on what was asked before, in each schema.
const MORE_SQL: &str = "
    create function SCHEMA.me() returns int stable language sql as
      $$ select (current_setting('request.jwt.claims', true)::json ->> 'n')::int $$;
    create table SCHEMA.owned (id bigint primary key, n int not null default SCHEMA.me(), body text);
    insert into SCHEMA.owned select i, i % 4, 'body ' || i from generate_series(1, 40) i;
    create table SCHEMA.parts_of (id bigint primary key, owned_id bigint references SCHEMA.owned on delete cascade);
    insert into SCHEMA.parts_of select i, 1 + i % 40 from generate_series(1, 80) i;
    alter table SCHEMA.owned enable row level security;
    create policy own on SCHEMA.owned using (n = SCHEMA.me());
    create policy readable on SCHEMA.owned for select to random_b using (true);
    create function SCHEMA.slow() returns text language plpgsql stable as $$ begin
      perform set_config('app.mark', 'slow', false), pg_sleep(0.03); return current_user; end $$;
    create function SCHEMA.before() returns void language plpgsql as $$ begin
      if SCHEMA.me() = 3 then set local role random_c; end if;
      perform set_config('app.before', current_user, false); end $$;
    create function SCHEMA.own_before() returns text language sql stable as $$ select current_setting('app.before', true) $$;
    grant select, insert, update, delete on SCHEMA.owned, SCHEMA.parts_of to random_a, random_b;
    grant select on SCHEMA.owned to random_c;
";

/// Somebody who asks.
#[derive(Debug)]
struct Person {
    name: &'static str,
    authorization: Option<String>,
}

/// How many of the people, who are the last, get nothing but errors.
const REFUSED: usize = 3;

fn people() -> Vec<Person> {
    let of = |name, claims| Person { name, authorization: Some(format!("Bearer {}", token(&claims))) };
    vec![
        Person { name: "nobody", authorization: None },
        of("a as 1", json!({"role": "random_a", "n": 1})),
        of("a as 2", json!({"role": "random_a", "n": 2})),
        of("b as 1", json!({"role": "random_b", "n": 1})),
        of("b as 3", json!({"role": "random_b", "n": 3})),
        of("c", json!({"role": "random_c", "text": "é\"'"})),
        of("nobody with claims", json!({"n": 2})),
        of("a, expired", json!({"role": "random_a", "n": 1, "exp": 1})),
        of("no role", json!({"role": "random_nobody"})),
        Person { name: "no token", authorization: Some("Bearer x.y.z".to_owned()) },
    ]
}

/// Those of `random.rs`, and those whose answers depend on who asks or on what was written before.
fn all_kinds() -> Vec<Kind> {
    let upsert = ("Prefer", "resolution=merge-duplicates, return=representation");
    let mut all = kinds();
    all.extend([
        Kind::of("GET", "/owned?select=id,body&order=id", &[], ""),
        Kind::of(
            "GET",
            "/owned?select=id,parts_of(id)&order=id&parts_of.order=id&limit=5",
            &[("Prefer", "count=exact")],
            "",
        ),
        Kind::of("GET", "/parts_of?select=id,owned(n,body)&order=id&limit=9", &[], ""),
        Kind::of("GET", "/owned?select=n,count()&order=n", &[], ""),
        Kind::of("GET", "/owned?id=eq.5", &[("Accept", "application/vnd.pgrst.object+json")], ""),
        Kind::of("HEAD", "/owned", &[("Prefer", "count=exact")], ""),
        Kind::of("GET", "/times", &[("Prefer", "count=planned")], ""),
        Kind::of("GET", "/times", &[("Prefer", "count=estimated")], ""),
        Kind::of("GET", "/times?id=eq.1", &[("Accept", "application/vnd.pgrst.plan+json; options=verbose")], ""),
        Kind::of("GET", "/owned?order=id", &[("Accept", "text/csv")], ""),
        Kind::of("GET", "/rpc/slow", &[], ""),
        Kind::of("GET", "/rpc/own_before", &[], ""),
        Kind::of("GET", "/owned?id=eq.x", &[], ""),
        Kind::of("GET", "/owned?select=nope", &[], ""),
        Kind::of("GET", "/nope", &[], ""),
        Kind::of("POST", "/owned", &[RETURN], r#"{"id":ID,"body":"own"}"#),
        Kind::of("POST", "/owned", &[RETURN], r#"{"id":ID,"n":2,"body":"of 2"}"#),
        Kind::of("POST", "/owned", &[], r#"[{"id":ID,"n":1,"body":"1"},{"id":7,"n":2,"body":"2"}]"#),
        Kind::of("POST", "/owned", &[("Content-Type", "text/csv")], "id,n,body\nID,1,a\n"),
        Kind::of("POST", "/owned", &[upsert], r#"[{"id":1,"n":1,"body":"ID"},{"id":5,"n":1,"body":"ID"}]"#),
        Kind::of(
            "POST",
            "/owned",
            &[("Prefer", "resolution=ignore-duplicates, return=representation")],
            r#"[{"id":6},{"id":ID}]"#,
        ),
        Kind::of("PUT", "/owned?id=eq.9", &[RETURN], r#"{"id":9,"n":1,"body":"ID"}"#),
        Kind::of("PATCH", "/owned?id=lt.9&order=id&select=id,body", &[RETURN], r#"{"body":"ID"}"#),
        Kind::of("PATCH", "/owned?id=eq.5", &[], r#"{"n":2}"#),
        Kind::of("PATCH", "/owned", &[("Prefer", "handling=strict, max-affected=2")], r#"{"body":"ID"}"#),
        Kind::of("DELETE", "/owned?id=in.(13,14)&order=id", &[RETURN], ""),
        Kind::of("DELETE", "/owned?id=gt.39", &[("Prefer", "count=exact")], ""),
        Kind::of("POST", "/parts_of", &[], r#"{"id":ID,"owned_id":1}"#),
        Kind::of("POST", "/parts_of", &[], r#"{"id":ID,"owned_id":-1}"#),
        Kind::of("POST", "/keyed", &[upsert], r#"[{"id":3,"body":"ID"}]"#),
        Kind::of("POST", "/keyed", &[], r#"{"id":3,"body":"ID"}"#),
        Kind::of("DELETE", "/keyed?id=eq.3", &[RETURN], ""),
        Kind::get("/keyed?select=id,body&order=id", &[]),
    ]);
    all
}

/// What is asked of both servers.
#[derive(Debug, Clone, Copy)]
struct Request {
    kind: usize,
    person: usize,
    schema: usize,
    id: u64,
    rolls_back: bool,
    /// Whether its client does not wait for the answer.
    goes_away: bool,
    /// Whether it is sent without waiting for the one before it.
    together: bool,
}

/// A sequence, and what the servers have that answer it.
struct Sequence {
    seed: u64,
    pool: usize,
    has_pre_request: bool,
    requests: Vec<Request>,
}

impl Sequence {
    fn draw(seed: u64, length: usize, kinds: &[Kind], people: &[Person]) -> Self {
        let mut draws = Draws(seed);
        let (pool, has_pre_request) = (1 + draws.below(POOL_MAX), draws.below(2) == 0);
        let requests = (FIRST_ID..).take(length).map(|id| {
            let (kind, schema) = (draws.below(kinds.len()), draws.below(SCHEMAS.len()));
            // seldom: whoever is refused at the door changes nothing
            let is_refused = draws.below(10) == 0;
            let welcome = people.len() - REFUSED;
            let person = if is_refused { welcome + draws.below(REFUSED) } else { draws.below(welcome) };
            let rolls_back = draws.below(5) == 0;
            let reads = only_reads(&kinds[kind]);
            // a write of which nobody knows whether it was done would let the databases part
            let goes_away =
                (reads || rolls_back && kinds[kind].steps.len() == 1 && !advances(&kinds[kind])) && draws.below(6) == 0;
            Request { kind, person, schema, id, rolls_back, goes_away, together: reads && draws.below(2) == 0 }
        });
        Self { seed, pool, has_pre_request, requests: requests.collect() }
    }

    fn with(&self, requests: Vec<Request>) -> Self {
        Self { requests, ..*self }
    }

    /// The first requests that are answered in another way, where they end in the sequence, and the difference.
    fn failure(&self, kinds: &[Kind], people: &[Person]) -> Option<(usize, String)> {
        let databases = [database(MORE_SQL), database(MORE_SQL)];
        let config = |database| Config {
            db_pool: self.pool,
            db_plan_enabled: true,
            db_pre_request: self.has_pre_request.then(|| (Some("one".to_owned()), "before".to_owned())),
            jwt_secret: Some(Secret::new(SECRET)),
            ..serve(database, "random_c")
        };
        let kept = Served::start(config(&databases[0]));
        let fresh = Served::start(Config { db_pool_max_lifetime: Duration::ZERO, ..config(&databases[1]) });
        let mut at = 0;
        while at < self.requests.len() {
            let more = self.requests[at + 1..].iter().take_while(|request| request.together).take(TOGETHER_MAX - 1);
            let count = if only_reads(&kinds[self.requests[at].kind]) { 1 + more.count() } else { 1 };
            let these = &self.requests[at..at + count];
            let answers = [&kept, &fresh].map(|served| ask_all(these, served, kinds, people));
            at += count;
            for (request, (kept, fresh)) in these.iter().zip(answers[0].iter().zip(&answers[1])) {
                if let Some((kept, fresh)) = kept.iter().zip(fresh).find(|(kept, fresh)| kept != fresh) {
                    return Some((at, format!("{}: {}", told(request, kinds, people), difference(kept, fresh))));
                }
            }
        }
        drop((kept, fresh));
        let [kept, fresh] = databases.each_ref().map(rows);
        let differ: Vec<_> = kept.iter().zip(&fresh).filter(|(kept, fresh)| kept != fresh).collect();
        (!differ.is_empty()).then(|| (at, format!("other rows are left: {differ:?}")))
    }

    /// The same failure with fewer requests, as far as leaving some out shows it.
    fn shortened(mut self, mut failure: (usize, String), kinds: &[Kind], people: &[Person]) -> (Self, String) {
        self.requests.truncate(failure.0);
        let (mut tries, mut piece) = (0, self.requests.len() / 2);
        while piece > 0 && tries < TRIES {
            let mut start = 0;
            while start < self.requests.len() && tries < TRIES {
                let end = (start + piece).min(self.requests.len());
                let fewer = self.with([&self.requests[..start], &self.requests[end..]].concat());
                tries += 1;
                match fewer.failure(kinds, people) {
                    Some(found) => {
                        self = fewer;
                        self.requests.truncate(found.0);
                        failure = found;
                    }
                    None => start = end,
                }
            }
            piece /= 2;
        }
        (self, failure.1)
    }
}

/// Whether all that a kind of request does is to read, or to change the session.
fn only_reads(kind: &Kind) -> bool {
    kind.stores.is_empty() && kind.steps.iter().all(|step| matches!(step.method, "GET" | "HEAD"))
}

/// Whether it does what is not rolled back.
fn advances(kind: &Kind) -> bool {
    kind.steps.iter().any(|step| step.target == "/rpc/post_count")
}

/// The answers to requests that are under way at once; none to those whose clients go away or may be told anything.
fn ask_all(requests: &[Request], served: &Served, kinds: &[Kind], people: &[Person]) -> Vec<Vec<Seen>> {
    let answer = |request: &Request| {
        let kind = &kinds[request.kind];
        let mut more = Vec::new();
        more.extend(people[request.person].authorization.as_deref().map(|text| ("Authorization", text)));
        more.extend(request.rolls_back.then_some(("Prefer", "tx=rollback")));
        let mut client = Client::connect(served.address);
        if request.goes_away {
            kind.steps[0].send(&mut client, SCHEMAS[request.schema], request.id, &more);
            return Vec::new();
        }
        let seen = kind.steps.iter().map(|step| step.ask(&mut client, SCHEMAS[request.schema], request.id, &more));
        let seen: Vec<Seen> = seen.collect();
        if kind.answers_anything { Vec::new() } else { seen }
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = requests.iter().map(|request| scope.spawn(|| answer(request))).collect();
        asked.into_iter().map(|asked| asked.join().expect("a client is answered")).collect()
    })
}

/// Every table, and its rows.
fn rows(database: &Database) -> Vec<(String, String)> {
    let tables = "select format('%I.%I', table_schema, table_name) from information_schema.tables
                  where table_schema in ('one', 'two', 'three') and table_type = 'BASE TABLE' order by 1";
    let of = |table: String| {
        let rows = database.value(&format!("select string_agg(x::text, E'\\n' order by x::text) from {table} x"));
        (table, rows)
    };
    database.query(tables).into_iter().filter_map(|mut row| row.remove(0)).map(of).collect()
}

fn told(request: &Request, kinds: &[Kind], people: &[Person]) -> String {
    let steps = kinds[request.kind]
        .steps
        .iter()
        .map(|step| format!("{} {} {:?} {}", step.method, step.target, step.headers, step.body));
    let Request { schema, id, rolls_back, goes_away, together, .. } = request;
    let flags = [(*rolls_back, " (tx=rollback)"), (*goes_away, " (goes away)"), (*together, " (together)")];
    let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag).collect();
    format!(
        "{} in {}, id {id}{flags}: {}",
        people[request.person].name,
        SCHEMAS[*schema],
        steps.collect::<Vec<_>>().join("; then ")
    )
}

#[test]
fn sequences_are_answered_as_on_fresh_connections() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("THALWEG_SEQUENCE_SEED").unwrap_or(SEED);
    let requests = number("THALWEG_SEQUENCE_REQUESTS").map_or(REQUESTS, |count| count as usize);
    let (kinds, people) = (all_kinds(), people());
    for (seed, start) in (seed..).zip((0..requests).step_by(LENGTH)) {
        let sequence = Sequence::draw(seed, LENGTH.min(requests - start), &kinds, &people);
        let Some(failure) = sequence.failure(&kinds, &people) else { continue };
        let (shortest, difference) = sequence.shortened(failure, &kinds, &people);
        let mut all = String::new();
        shortest.requests.iter().for_each(|request| _ = writeln!(all, "{}", told(request, &kinds, &people)));
        let Sequence { seed, pool, has_pre_request, .. } = shortest;
        panic!(
            "THALWEG_SEQUENCE_SEED={seed}, a pool of {pool}, a function before: {has_pre_request}\n{all}{difference}"
        );
    }
}
