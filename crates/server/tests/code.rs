//! What plans may run besides what PostgreSQL ships and is harmless, by relations of every kind.
//!
//! A plan that is said to run nothing relies on the role and the search path that a connection was left in, and behind one
//! that is said to ask questions only the session is not made as new: what is wrongly said of a relation here lets a request
//! run as another.

use crate::planned::{catalog, context, payload, request};
use crate::served::{GRANTS, Served};
use thalweg_catalog::Catalog;
use thalweg_catalog::Runs::{self, Anything, Nothing, Questions};
use thalweg_plan::{Context, plan};
use thalweg_request::{Action, Params, Target};
use thalweg_testkit::Database;

/// What reading a relation runs, and what writing to it does.
type OfRelation = (Runs, Runs);

const HARMLESS: OfRelation = (Nothing, Nothing);
const ALWAYS: OfRelation = (Anything, Anything);
const WHEN_WRITTEN: OfRelation = (Nothing, Anything);
const ASKS: OfRelation = (Questions, Questions);
const ASKS_WHEN_WRITTEN: OfRelation = (Nothing, Questions);

/// Functions and types of the database's own, and schemas that are not exposed.
const BEFORE: &str = "
    create schema api;
    create schema hidden;
    create function public.f() returns text language sql as $$ select 'f'::text $$;
    create function public.f(text) returns text immutable language sql as $$ select $1 $$;
    create function public.f(int, int) returns boolean immutable language sql as $$ select $1 > $2 $$;
    create function public.of_trigger() returns trigger language plpgsql as $$ begin return new; end $$;
    create operator public.>>> (leftarg = int, rightarg = int, function = public.f);
    create type public.mood as enum ('low', 'high');
    create type public.point3 as (x int, y int, z numeric[]);
    create domain public.email as text check (value ~ '@' and length(value) < 100);
    create domain public.checked as text check (public.f(value) <> '');
    create domain public.filled as text default public.f();
    create domain public.tenant as text default current_setting('request.tenant', true);
    create domain public.over_checked as public.checked;
    create type public.of_checked as (a int, b public.over_checked);
    create type public.of_shown as (a int);
    create domain public.shown as int;
    create function public.json(public.of_shown) returns json language sql as $$ select '1'::json $$;
    create cast (public.of_shown as json) with function public.json(public.of_shown);
    create type public.texts as range (subtype = text);
    create type public.ranked as enum ('a', 'b');
    create function public.compares(public.ranked, public.ranked) returns int immutable language sql as $$ select 0 $$;
    create operator class public.by_rank default for type public.ranked using btree as
      operator 1 < (anyenum, anyenum), operator 3 = (anyenum, anyenum),
      function 1 public.compares(public.ranked, public.ranked);
    create table hidden.triggered (id int primary key);
    create trigger t before insert on hidden.triggered for each row execute function public.of_trigger();
    create table hidden.secured (id int primary key, a text);
    alter table hidden.secured enable row level security;
    create view hidden.over_secured as select id from hidden.secured;
    create extension postgres_fdw;
    create server nowhere foreign data wrapper postgres_fdw;
";

/// Relations of `api`: a name, how it is made (its own name stands as `%`), and what it runs.
const RELATIONS: &[(&str, &str, OfRelation)] = &[
    // what most tables are
    ("plain", "create table % (id int primary key, a text not null, b numeric(8,2) check (b > 0))", HARMLESS),
    ("serial", "create table % (id bigserial primary key, a text default 'x', b timestamptz default now())", HARMLESS),
    (
        "identity",
        "create table % (id int generated always as identity primary key, d date default current_date)",
        HARMLESS,
    ),
    ("uuids", "create table % (id uuid default gen_random_uuid() primary key, by name default current_user)", HARMLESS),
    (
        "documents",
        "create table % (a json, b jsonb default '{}', c xml, d tsvector, e bytea, f interval, g inet)",
        HARMLESS,
    ),
    (
        "moods",
        "create table % (a public.mood default 'low', b public.mood[], c int[], d int4range, e int4multirange)",
        HARMLESS,
    ),
    (
        "composites",
        "create table % (a public.point3, b public.point3[], c public.email, d public.email[], e public.texts)",
        HARMLESS,
    ),
    ("generated", "create table % (a text, b text generated always as (lower(a)) stored)", HARMLESS),
    (
        "indexed",
        "create table % (a text, b text); create index on % (lower(a)) where b is not null; create index on % using gin (to_tsvector('english', a))",
        HARMLESS,
    ),
    ("excluded", "create table % (a int4range, exclude using gist (a with &&))", HARMLESS),
    ("child_of_plain", "create table % (c int) inherits (api.plain)", HARMLESS),
    (
        "partitioned",
        "create table % (a int, b text) partition by range (a); create table hidden.p1 partition of % for values from (1) to (9)",
        HARMLESS,
    ),
    (
        "parents",
        "create table % (id int primary key); create table hidden.c1 (id int references % on delete cascade on update set null)",
        HARMLESS,
    ),
    (
        "children",
        "create table % (id int references api.plain deferrable, other int references api.serial on delete set default)",
        HARMLESS,
    ),
    (
        "view",
        "create view % as select p.id, upper(p.a) as a, count(*) over () from api.plain p join api.serial s using (id) where p.b > 1",
        HARMLESS,
    ),
    ("view_of_view", "create view % as select id, max(a) from api.view group by id", HARMLESS),
    ("checked_view", "create view % as select * from api.plain where b > 1 with check option", HARMLESS),
    ("catalog_view", "create view % as select relname from pg_class", WHEN_WRITTEN),
    (
        "materialized",
        "create materialized view % as select public.f() as a, current_setting('TimeZone') as b",
        HARMLESS,
    ),
    (
        "unlogged",
        "create unlogged table % (a int default (random() * 10)::int, at timestamptz default clock_timestamp())",
        HARMLESS,
    ),
    // defaults and generated columns
    ("default_f", "create table % (a text default public.f())", WHEN_WRITTEN),
    ("default_nested", "create table % (a text default coalesce(nullif(upper(public.f()), ''), 'x'))", WHEN_WRITTEN),
    ("default_setting", "create table % (a text default current_setting('request.x', true))", ASKS_WHEN_WRITTEN),
    ("default_set", "create table % (a text default set_config('role', 'postgres', false))", WHEN_WRITTEN),
    ("default_currval", "create sequence public.s; create table % (a int default currval('public.s'))", WHEN_WRITTEN),
    ("default_xml", "create table % (a xml default query_to_xml('select 1', true, true, ''))", WHEN_WRITTEN),
    ("default_lock", "create table % (a bool default pg_try_advisory_lock(1))", WHEN_WRITTEN),
    ("default_operator", "create table % (a bool default 1 operator(public.>>>) 2)", WHEN_WRITTEN),
    ("default_array", "create table % (a text default (array[current_setting('a', true)])[1])", ASKS_WHEN_WRITTEN),
    ("generated_f", "create table % (a text, b text generated always as (public.f(a)) stored)", WHEN_WRITTEN),
    // types
    ("domain_checked", "create table % (a public.checked)", ALWAYS),
    ("domain_filled", "create table % (a public.filled)", ALWAYS),
    ("domain_tenant", "create table % (a public.tenant)", ASKS),
    ("domain_deep", "create table % (a public.over_checked[])", ALWAYS),
    ("composite_checked", "create table % (a public.of_checked[])", ALWAYS),
    ("row_checked", "create table % (a api.composite_checked)", ALWAYS),
    ("composite_cast", "create table % (a public.of_shown)", ALWAYS),
    ("ranked", "create table % (a public.ranked)", ALWAYS),
    ("dropped", "create table % (a public.checked, b int); alter table % drop column a", HARMLESS),
    // checks, indexes and keys
    ("checks", "create table % (a text check (public.f(a) <> ''))", ALWAYS),
    ("checks_setting", "create table % (a text check (a <> current_setting('a', true)))", ASKS),
    ("index_f", "create table % (a text); create index on % (public.f(a))", ALWAYS),
    ("index_where_f", "create table % (a text); create index on % (a) where public.f(a) = ''", ALWAYS),
    ("statistics_f", "create table % (a text, b text); create statistics hidden.st on (public.f(a)), b from %", ALWAYS),
    (
        "partition_key_f",
        "create table % (a text) partition by range (public.f(a)); create table api.partition_of_f partition of % for values from ('a') to ('b')",
        ALWAYS,
    ),
    // policies and triggers
    ("secured", "create table % (a int); alter table % enable row level security", ASKS),
    (
        "policy_claims",
        "create table % (a text); alter table % enable row level security; create policy p on % using (a = current_setting('request.jwt.claims', true)::json ->> 'sub')",
        ASKS,
    ),
    (
        "policy_role",
        "create table % (a text); alter table % enable row level security; create policy p on % for insert with check (a = current_user)",
        ASKS,
    ),
    (
        "policy_reads",
        "create table % (a int); alter table % enable row level security; create policy p on % using (a in (select id from api.plain where a = current_setting('request.x')))",
        ASKS,
    ),
    // without row security it is not asked, but may be from one moment to the next
    ("policy_off", "create table % (a text); create policy p on % using (public.f(a) = 'x')", ALWAYS),
    (
        "policy_f",
        "create table % (a text); alter table % enable row level security; create policy p on % using (public.f(a) = 'x')",
        ALWAYS,
    ),
    (
        "policy_check_f",
        "create table % (a text); alter table % enable row level security; create policy p on % using (true) with check (public.f(a) = 'x')",
        ALWAYS,
    ),
    (
        "policy_set",
        "create table % (a text); alter table % enable row level security; create policy p on % for select using (set_config('role', a, false) is null)",
        ALWAYS,
    ),
    (
        "policy_of_two",
        "create table % (a text); alter table % enable row level security; create policy p on % using (a = current_user); create policy q on % to public using (public.f(a) = 'x')",
        ALWAYS,
    ),
    (
        "policy_type",
        "create table % (a text); alter table % enable row level security; create policy p on % using (a::public.checked is null)",
        ALWAYS,
    ),
    (
        "policy_operator",
        "create table % (a int); alter table % enable row level security; create policy p on % using (a operator(public.>>>) 1)",
        ALWAYS,
    ),
    (
        "policy_reads_f",
        "create table % (a int); alter table % enable row level security; create policy p on % using (exists (select from api.checks))",
        ALWAYS,
    ),
    (
        "policy_reads_settings",
        "create table % (a text); alter table % enable row level security; create policy p on % using (a = (select setting from pg_settings where name = 'x'))",
        ALWAYS,
    ),
    ("view_of_policy_f", "create view % as select * from api.policy_f", ALWAYS),
    (
        "partition_policy_f",
        "create table % (a int) partition by list (a); create table hidden.p9 partition of % for values in (1); alter table hidden.p9 enable row level security; create policy p on hidden.p9 using (public.f(a::text) = 'x')",
        ALWAYS,
    ),
    (
        "triggered",
        "create table % (a int); create trigger t after insert on % execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "trigger_off",
        "create table % (a int); create trigger t before update on % for each row execute function public.of_trigger(); alter table % disable trigger t",
        WHEN_WRITTEN,
    ),
    (
        "constraint_trigger",
        "create table % (a int); create constraint trigger t after delete on % for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "shipped_trigger",
        "create table % (a int); create trigger t before update on % for each row execute function suppress_redundant_updates_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "partition_triggered",
        "create table % (a int) partition by list (a); create table hidden.p2 partition of % for values in (1); create trigger t before insert on hidden.p2 for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "child_triggered",
        "create table % (a int); create table hidden.c2 () inherits (%); create trigger t before update on hidden.c2 for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "child_secured",
        "create table % (a int); create table hidden.c3 () inherits (%); alter table hidden.c3 enable row level security",
        ASKS,
    ),
    (
        "child_indexed",
        "create table % (a text); create table hidden.c4 () inherits (%); create index on hidden.c4 (public.f(a))",
        ALWAYS,
    ),
    (
        "cascades",
        "create table % (id int primary key); create table hidden.c5 (id int references % on delete cascade); create trigger t after delete on hidden.c5 for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "sets_default",
        "create table % (id int primary key); create table hidden.c6 (id int default length(public.f()) references % on update set default)",
        WHEN_WRITTEN,
    ),
    (
        "cascades_far",
        "create table % (id int primary key); create table hidden.c7 (id int primary key references % on delete cascade); create table hidden.c8 (id int references hidden.c7 on delete set null); create trigger t after update on hidden.c8 for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "restricts",
        "create table % (id int primary key); create table hidden.c9 (id int references % on delete restrict); create trigger t after delete on hidden.c9 for each row execute function public.of_trigger()",
        HARMLESS,
    ),
    ("refers_to_secured", "create table % (id int references hidden.secured)", ASKS_WHEN_WRITTEN),
    // rules
    ("rule", "create table % (a int); create rule r as on insert to % do also notify n", WHEN_WRITTEN),
    (
        "rule_setting",
        "create table % (a int); create rule r as on update to % where current_setting('a', true) = 'x' do instead nothing",
        WHEN_WRITTEN,
    ),
    ("view_rule", "create view % as select 1 as a; create rule r as on insert to % do instead nothing", WHEN_WRITTEN),
    // views
    ("view_f", "create view % as select public.f() as a", ALWAYS),
    ("view_f_in_from", "create view % as select * from generate_series(1, length(public.f()))", ALWAYS),
    ("view_f_in_with", "create view % as with a as (select 1 as a where public.f() <> '') select * from a", ALWAYS),
    ("view_f_ordered", "create view % as select id from api.plain order by public.f(a)", ALWAYS),
    ("view_setting", "create view % as select * from api.plain where a = current_setting('request.x', true)", ASKS),
    ("view_set", "create view % as select set_config('role', 'postgres', false) as a", ALWAYS),
    ("view_next", "create view % as select nextval('api.serial_id_seq') as a", ALWAYS),
    ("view_settings", "create view % as select name, setting from pg_settings", ALWAYS),
    ("view_sessions", "create view % as select pid, query from pg_stat_activity", ALWAYS),
    ("view_operator", "create view % as select id operator(public.>>>) 1 as a from api.plain", ALWAYS),
    ("view_secured", "create view % as select * from hidden.secured", ASKS),
    (
        "view_of_view_secured",
        "create view % as select p.id from api.plain p where exists (select from hidden.over_secured o where o.id = p.id)",
        ASKS,
    ),
    ("view_triggered", "create view % as select * from hidden.triggered", WHEN_WRITTEN),
    ("view_of_view_triggered", "create view % as select * from api.view_triggered", WHEN_WRITTEN),
    (
        "view_instead",
        "create view % as select 1 as a; create trigger t instead of insert on % for each row execute function public.of_trigger()",
        WHEN_WRITTEN,
    ),
    (
        "view_default",
        "create view % as select id from api.plain; alter view % alter id set default length(public.f())",
        WHEN_WRITTEN,
    ),
    ("view_cast", "create view % as select ('a' || id)::public.checked is null as a from api.plain", ALWAYS),
    ("view_of_row", "create view % as select to_json(c) as a from api.domain_checked c", ALWAYS),
    (
        "view_recordset",
        "create view % as select a.a is null as a from json_to_record('{}') as a (a public.checked)",
        ALWAYS,
    ),
    ("view_column", "create view % as select null::public.checked as a", ALWAYS),
    ("view_aggregate", "create view % as select public.own_sum(id) as a from api.plain", ALWAYS),
    ("view_window", "create view % as select public.own_sum(id) over () as a from api.plain", ALWAYS),
    ("materialized_checked", "create materialized view % as select 'a'::public.checked as a", ALWAYS),
    ("materialized_index", "create materialized view % as select 'a' as a; create index on % (public.f(a))", ALWAYS),
    // where PostgreSQL is not alone
    ("elsewhere", "create foreign table % (a int) server nowhere", ALWAYS),
    (
        "partly_elsewhere",
        "create table % (a int) partition by list (a); create foreign table hidden.p3 partition of % for values in (1) server nowhere",
        ALWAYS,
    ),
    (
        "own_access_method",
        "create access method own type table handler heap_tableam_handler; create table % (a int) using own",
        ALWAYS,
    ),
];

/// What stands between the functions and the relations.
const AGGREGATE: &str = "
    create function public.adds(int, int) returns int immutable language sql as $$ select $1 $$;
    create aggregate public.own_sum(int) (sfunc = public.adds, stype = int);
";

#[test]
fn relations_run_what_is_behind_them() {
    let relations = RELATIONS.iter().map(|(name, sql, _)| format!("{};\n", sql.replace('%', &format!("api.{name}"))));
    let database = Database::new(&format!("{BEFORE}{AGGREGATE}{}", relations.collect::<String>()));
    let catalog = catalog(&database.uri());
    let mut wrong = Vec::new();
    for (name, _, expected) in RELATIONS {
        let [read, inserted, updated, deleted] =
            [Action::Read, Action::Insert, Action::Update, Action::Delete].map(|action| runs(&catalog, action, name));
        let found = (read, inserted);
        assert_eq!([updated, deleted], [inserted; 2], "{name}");
        // before version 15 PostgreSQL notes what a generated column uses as the relation's
        let is_the_relations = *name == "generated_f" && catalog.session().server_version_num < 150_000;
        let expected = if is_the_relations { &ALWAYS } else { expected };
        if found != *expected {
            wrong.push(format!("{name}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const MUSIC: &str = "
    create schema api;
    create type public.mood as enum ('low', 'high');
    create domain public.named as text;
    create domain public.shown as int;
    create domain public.document as jsonb;
    create function public.json(public.shown) returns json language sql as $$ select '1'::json $$;
    create function public.shown(text) returns public.shown language sql as $$ select 1::public.shown $$;
    create function public.shown(json) returns public.shown language sql as $$ select 1::public.shown $$;
    create cast (public.shown as json) with function public.json(public.shown) as implicit;
    create cast (text as public.shown) with function public.shown(text) as implicit;
    create cast (json as public.shown) with function public.shown(json) as implicit;
    create table api.artist (id int primary key, name varchar, born date, mood public.mood, tags text[], data jsonb,
                             document public.document, words tsvector, alias public.named, price numeric, ids int[]);
    create table api.album (id int primary key, artist_id int references api.artist, title text);
    create table api.genre (id int primary key, name text);
    create table api.album_genre (album_id int references api.album, genre_id int references api.genre,
                                  primary key (album_id, genre_id));
    create table api.secret (id int primary key, artist_id int references api.artist);
    alter table api.secret enable row level security;
    create table api.defaults (id bigint default power(2, 3));
    create table api.domains (id int primary key, a public.shown);
    create function api.label(api.artist) returns text language sql as $$ select 'x'::text $$;
    create function api.favourite(api.artist) returns setof api.album rows 1 language sql as $$ select * from api.album $$;
    create function api.one() returns int language sql as $$ select 1 $$;
    create function api.artists() returns setof api.artist language sql as $$ select * from api.artist $$;
";

/// Requests of which the plan runs nothing.
const HARMLESS_REQUESTS: &[&str] = &[
    "artist",
    "artist?id=eq.1&name=like.*a*&born=gt.2000-01-01&mood=in.(low,high)&tags=cs.{a}&price=gte.1&ids=ov.{1}",
    "artist?name=ilike(any).{a,b}&not.or=(id.eq.1,name.match.a,alias.eq.a,alias.imatch.a)&mood=isdistinct.low&born=is.null",
    "artist?select=id::text,born::date,price::float8,data->a->>b,document->>c&data->>a=eq.1&document->b=eq.2&order=data->a,id.desc",
    "artist?select=price.sum(),id.count()::text,mood,count()",
    "artist?words=fts(english).a&name=plfts.b&data=wfts.c",
    "artist?select=*,album(*,genre(name)),first:album(id)&order=id&album.order=id&album.title=like.a*",
    "album?select=*,...artist(name)",
    "album?select=*,artist!inner(id,name)&order=artist(name)&artist=not.is.null",
    "artist?limit=1&offset=2",
];

/// Requests of which the plan asks for settings at most.
const ASKING_REQUESTS: &[&str] = &["artist?select=*,secret(id)", "album?select=*,artist(id,secret(id))", "secret"];

/// Requests of which the plan may run anything.
const HARMFUL_REQUESTS: &[&str] = &[
    "artist?select=label",
    "artist?label=eq.x",
    "artist?order=label",
    "artist?select=*,favourite(id)",
    // what the catalog does not know is the database's to find
    "artist?select=xmin",
    "artist?nothing=eq.1",
    "artist?order=nothing",
    "artist?or=(id.eq.1,and(id.eq.2,not.and(nothing.eq.1)))",
    "artist?select=*,album(nothing)",
    "album?select=*,artist(id)&order=artist(nothing)",
    "artist?select=id::shown",
    "artist?select=name::regclass",
    "artist?select=id.sum()::mine",
    "domains",
    "domains?a=eq.1",
    "rpc/one",
    "rpc/artists?id=eq.1",
];

#[test]
fn plans_run_what_their_requests_name() {
    let database = Database::new(MUSIC);
    let catalog = catalog(&database.uri());
    for target in HARMLESS_REQUESTS {
        assert_eq!(runs(&catalog, Action::Read, target), Nothing, "{target}");
    }
    for target in ASKING_REQUESTS {
        assert_eq!(runs(&catalog, Action::Read, target), Questions, "{target}");
    }
    for target in HARMFUL_REQUESTS {
        assert_eq!(runs(&catalog, Action::Read, target), Anything, "{target}");
    }
    assert_eq!(runs(&catalog, Action::Update, "genre?name=eq.a"), Nothing);
    assert_eq!(runs(&catalog, Action::Update, "genre?nothing=eq.a"), Anything);
    assert_eq!(runs(&catalog, Action::Insert, "domains"), Anything);
    assert_eq!(runs_with(&catalog, Action::Insert, "album?select=id,artist(name)", &[REPRESENTATION]), Nothing);
    assert_eq!(runs_with(&catalog, Action::Insert, "artist?select=id,secret(*)", &[REPRESENTATION]), Questions);
    // the SQL of a default stands in the statement, and means there what the search path says
    let filled = serde_json::json!([{"id": 1}, {"id": 2}]);
    let missing = [("Prefer", "missing=default")];
    assert_eq!(runs_in(context(&catalog), Action::Insert, "defaults", &missing, &filled), Anything);
    assert_eq!(runs_in(context(&catalog), Action::Insert, "genre", &missing, &filled), Nothing);
    assert_eq!(runs_in(context(&catalog), Action::Insert, "defaults", &[], &filled), Nothing);
    let accept = |media: &'static str| [("Accept", media)];
    assert_eq!(runs_with(&catalog, Action::Read, "artist", &accept("text/csv")), Nothing);
    assert_eq!(runs_with(&catalog, Action::Read, "artist", &accept("application/vnd.pgrst.plan+json")), Nothing);
    assert_eq!(runs_with(&catalog, Action::Read, "secret", &accept("application/vnd.pgrst.plan+json")), Questions);
    assert_eq!(runs_with(&catalog, Action::Read, "artist", &accept("application/geo+json")), Anything);
    let pre_request = Context { has_pre_request: true, ..context(&catalog) };
    assert_eq!(runs_in(pre_request, Action::Read, "artist", &[], &serde_json::json!({})), Anything);
}

const REPRESENTATION: (&str, &str) = ("Prefer", "return=representation");

/// What a database of its own adds, a request that runs it, and one that does not.
const ADDITIONS: &[(&str, &str, Option<&str>)] = &[
    // an operator of a type that PostgreSQL ships, where it ships none that takes just this type
    (
        "create function public.same(int[], int[]) returns bool language sql as $$ select true $$;
         create operator public.&& (leftarg = int[], rightarg = int[], function = public.same)",
        "artist?ids=ov.{1}",
        Some("artist?tags=ov.{1}&ids=cs.{1}"),
    ),
    (
        "create function public.same(varchar, varchar) returns bool language sql as $$ select true $$;
         create operator public.= (leftarg = varchar, rightarg = varchar, function = public.same)",
        "artist?name=in.(a)",
        Some("artist?id=eq.1&alias=eq.a&price=eq.1"),
    ),
    (
        "create function public.same(text, int) returns bool language sql as $$ select true $$;
         create operator public.= (leftarg = text, rightarg = int, function = public.same)",
        "artist?name=isdistinct.a",
        Some("artist?data->>a=eq.1&select=album(title)&album.title=eq.1"),
    ),
    (
        "create function public.same(anyelement, anyelement) returns bool language sql as $$ select true $$;
         create operator public.= (leftarg = anyelement, rightarg = anyelement, function = public.same)",
        "artist?mood=eq.low",
        Some("artist?id=gt.1"),
    ),
    (
        "create function public.same(public.named, text) returns bool language sql as $$ select true $$;
         create operator public.~~ (leftarg = public.named, rightarg = text, function = public.same)",
        "artist?alias=like.a",
        None,
    ),
    (
        "create function public.same(int, int) returns bool language sql as $$ select true $$;
         create operator public.= (leftarg = int, rightarg = int, function = public.same)",
        "artist?or=(nothing.eq.1)",
        Some("artist?id=eq.1&select=*,album(*)"),
    ),
    // a type that text becomes without being asked
    (
        "create type public.tree as (a text);
         create function public.tree(text) returns public.tree language sql as $$ select row($1)::public.tree $$;
         create cast (text as public.tree) with function public.tree(text) as implicit;
         create function public.over(public.tree, public.tree) returns bool language sql as $$ select true $$;
         create operator public.@> (leftarg = public.tree, rightarg = public.tree, function = public.over)",
        "album?title=cs.a",
        Some("album?title=eq.a"),
    ),
    (
        "create function public.over(public.named[], text[]) returns bool language sql as $$ select true $$;
         create operator public.@> (leftarg = public.named[], rightarg = text[], function = public.over)",
        "artist?tags=cs.{a}",
        Some("artist?tags=ov.{a}"),
    ),
    (
        "create function public.over(float8[], float8[]) returns bool language sql as $$ select true $$;
         create operator public.@> (leftarg = float8[], rightarg = float8[], function = public.over)",
        "artist?ids=cs.{1}",
        Some("artist?tags=cs.{a}"),
    ),
    // aggregates and casts
    (
        "create function public.sum(numeric) returns numeric language sql as $$ select 1.0 $$",
        "artist?select=price.sum()",
        Some("artist?select=price"),
    ),
    ("create type public.max as (a int)", "artist?select=name.max()", Some("artist?select=price")),
    (
        "create function public.text_to_int(text) returns int language sql as $$ select 1 $$;
         create cast (text as int) with function public.text_to_int(text)",
        "album?select=title::int",
        Some("album?select=title"),
    ),
    (
        "create function public.int_to_json(int) returns json language sql as $$ select '1'::json $$;
         create cast (int as json) with function public.int_to_json(int) as implicit",
        "album",
        None,
    ),
    // full text
    (
        "create text search template public.own (lexize = dsimple_lexize)",
        "artist?words=fts.a",
        Some("artist?words=is.null"),
    ),
    // overloads of what PostgreSQL ships
    (
        "set allow_system_table_mods to on;
         create function pg_catalog.to_json(api.artist) returns json language sql as $$ select '1'::json $$",
        "album",
        None,
    ),
    (
        "create function public.cmp(json, json) returns int immutable language sql as $$ select 0 $$;
         create function public.same(json, json) returns bool immutable language sql as $$ select true $$;
         create operator public.= (leftarg = json, rightarg = json, function = public.same);
         create operator public.< (leftarg = json, rightarg = json, function = public.same);
         create operator class public.by_json default for type json using btree as
           operator 1 <, operator 3 =, function 1 public.cmp(json, json)",
        "album",
        None,
    ),
];

#[test]
fn what_a_database_adds_to_names_counts() {
    for (sql, harmful, harmless) in ADDITIONS {
        let database = Database::new(&format!("{MUSIC}{sql}"));
        let catalog = catalog(&database.uri());
        assert_eq!(runs(&catalog, Action::Read, harmful), Anything, "{sql}: {harmful}");
        if let Some(harmless) = harmless {
            assert_eq!(runs(&catalog, Action::Read, harmless), Nothing, "{sql}: {harmless}");
        }
    }
}

/// What most policies call, and what keeps it from being understood.
#[test]
fn functions_in_sql_that_only_ask_are_understood() {
    let asks = "select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
                                nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid";
    let policy = |how: &str| {
        let database = Database::new(&format!(
            "create schema api; create schema auth; create table api.own (id uuid primary key);
             alter table api.own enable row level security; {how};
             create policy own on api.own using (id = (select auth.uid()));
             create view api.seen as select auth.uid() as id; create table api.kept (id uuid default auth.uid())"
        ));
        let catalog = catalog(&database.uri());
        assert_eq!(runs(&catalog, Action::Read, "kept"), Nothing, "{how}");
        let of = ["own", "seen"].map(|name| runs(&catalog, Action::Read, name));
        assert_eq!(of, [runs(&catalog, Action::Insert, "kept"); 2], "{how}");
        of[0]
    };
    let function = |how: &str| format!("create function auth.uid() returns uuid {how}");
    assert_eq!(policy(&function(&format!("language sql stable as $$ {asks} $$"))), Questions);
    assert_eq!(policy(&function(&format!("language sql as $$ {asks}; $$"))), Questions);
    let claim = "create function auth.claim(name text) returns text language sql as
                   $$ select current_setting('request.jwt.claims', true)::json ->> name $$;
                 create view api.claimed as select auth.claim('sub')";
    let beside =
        "create extension hstore; create extension pgcrypto; create extension pg_trgm; create extension unaccent";
    assert_eq!(
        policy(&format!("{beside}; {}; {claim}", function(&format!("language sql as $$ {asks} $$")))),
        Questions
    );
    for how in [
        function(&format!("language sql stable security definer as $$ {asks} $$")),
        function(&format!("language sql stable set search_path = api as $$ {asks} $$")),
        function(&format!("language plpgsql stable as $$ begin return ({asks}); end $$")),
        function("language sql as $$ select set_config('role', 'postgres', false)::uuid $$"),
        format!(
            "create domain auth.id as uuid; create function auth.uid() returns auth.id language sql as $$ {asks} $$"
        ),
        // any of its names may mean something else
        format!(
            "create function public.current_setting(text, boolean) returns text language sql as $$ select $1 $$; {}",
            function(&format!("language sql as $$ {asks} $$"))
        ),
        format!(
            "create function public.jsonb(text) returns int language sql as $$ select 1 $$; {}",
            function(&format!("language sql as $$ {asks} $$"))
        ),
        format!("create domain public.jsonb as text; {}", function(&format!("language sql as $$ {asks} $$"))),
        format!(
            "create function public.step(jsonb, text) returns text language sql as $$ select $2 $$;
                 create operator public.->> (leftarg = jsonb, rightarg = text, function = public.step); {}",
            function(&format!("language sql as $$ {asks} $$"))
        ),
        format!(
            "create function public.made(text) returns uuid language sql as $$ select gen_random_uuid() $$;
                 create cast (text as uuid) with function public.made(text); {}",
            function(&format!("language sql as $$ {asks} $$"))
        ),
    ] {
        assert_eq!(policy(&how), Anything, "{how}");
    }
}

/// Functions in SQL that run another function, whose text is one of questions only to who reads it otherwise than PostgreSQL.
const PRETENDERS: &[&str] = &[
    // a default stands in no tree, and is evaluated where a call leaves its argument out
    "create function auth.asks(claims text default auth.runs()) returns text language sql as $$ select claims $$",
    // an argument's name may be that of a function, of a type, or a word of the language
    "create function auth.asks(runs text default null) returns text language sql as $$ select runs() $$",
    "create function auth.asks(set_config text default null) returns text language sql as
       $$ select set_config ('role', 'none', false) $$",
    "create domain auth.checked as text check (auth.runs() <> '');
     create function auth.asks(checked text default null) returns text language sql as $$ select $1::checked $$",
    "create domain auth.checked as text check (auth.runs() <> '');
     create function auth.asks(checked text default null) returns text language sql as $$ select checked 'a' $$",
    "create view auth.shown as select auth.runs() as a;
     create function auth.asks(\"from\" text default null, a text default null, shown text default null) returns text
       language sql as $$ select a from shown $$",
    // a name may have a dollar sign in it
    "create function auth.lower$1(text) returns text language sql as $$ select auth.runs() $$;
     create function auth.asks() returns text language sql as $$ select lower$1('a') $$",
    "create domain auth.text$2 as text check (auth.runs() <> '');
     create function auth.asks() returns text language sql as $$ select 'a'::text$2 $$",
    // a string may become what an operator of the database's own takes, and so may what is cast to that without being asked
    "create type auth.mood as enum ('low');
     create function auth.of(auth.mood, uuid) returns text language sql as $$ select auth.runs() $$;
     create operator auth.|| (leftarg = auth.mood, rightarg = uuid, function = auth.of);
     create function auth.asks() returns text language sql as $$ select 'low' || null::uuid $$",
    "create type auth.mood as enum ('low');
     create function auth.of(auth.mood, anyelement) returns text language sql as $$ select auth.runs() $$;
     create operator auth.-> (leftarg = auth.mood, rightarg = anyelement, function = auth.of);
     create function auth.asks() returns text language sql as $$ select 'low' -> null::uuid $$",
    "create domain auth.id as uuid;
     create function auth.of(auth.id, auth.id) returns text language sql as $$ select auth.runs() $$;
     create operator auth.-> (leftarg = auth.id, rightarg = auth.id, function = auth.of);
     create function auth.asks() returns text language sql as $$ select null::uuid -> null::uuid $$",
    "create type auth.pair as (a text, b text);
     create function auth.of(auth.pair, text) returns text language sql as $$ select auth.runs() $$;
     create operator auth.-> (leftarg = auth.pair, rightarg = text, function = auth.of);
     create function auth.asks() returns text language sql as $$ select ('a', 'b') -> 'c'::text $$",
    "create type auth.mood as enum ('low');
     create function auth.mood(text) returns auth.mood language sql as $$ select 'low'::auth.mood $$;
     create cast (text as auth.mood) with function auth.mood(text) as implicit;
     create function auth.of(auth.mood, auth.mood) returns text language sql as $$ select auth.runs() $$;
     create operator auth.-> (leftarg = auth.mood, rightarg = auth.mood, function = auth.of);
     create function auth.asks() returns text language sql as $$ select 'low'::text -> 'low'::text $$",
];

#[test]
fn functions_in_sql_that_run_more_than_their_text_shows_are_not_understood() {
    for how in PRETENDERS {
        let database = Database::new(&format!(
            "create schema api; create schema auth; set search_path = auth, public;
             create function auth.runs() returns text language plpgsql as
               $$ begin perform set_config('role', 'none', false); return 'a'; end $$;
             {how};
             create table api.own (id text); alter table api.own enable row level security;
             create policy own on api.own using (id = auth.asks());"
        ));
        assert_eq!(runs(&catalog(&database.uri()), Action::Read, "own"), Anything, "{how}");
    }
}

#[test]
fn extensions_are_code_where_they_are_used() {
    const EXTENSIONS: [&str; 7] = ["citext", "hstore", "intarray", "pg_trgm", "ltree", "tablefunc", "unaccent"];
    let sql: Vec<String> = EXTENSIONS.iter().map(|name| format!("create extension {name};")).collect();
    let tables = "
        create table api.case_free (a citext);
        create table api.case_free_arrays (a citext[]);
        create table api.stores (a hstore);
        create table api.trees (a ltree);
        create table api.similar (a text);
        create index on api.similar using gin (a gin_trgm_ops);
        create table api.numbers (a int[]);
        create index on api.numbers using gin (a gin__int_ops);
        create view api.pivot as select * from crosstab('select 1, 2, 3') as c (a int, b int);";
    let database = Database::new(&format!("{MUSIC}{}{tables}", sql.concat()));
    let catalog = catalog(&database.uri());
    for name in ["case_free", "case_free_arrays", "stores", "trees", "similar", "numbers", "pivot"] {
        assert_eq!(runs(&catalog, Action::Read, name), Anything, "{name}");
    }
    // what has nothing to do with them stays quick
    for target in
        ["artist?id=eq.1&name=eq.a&mood=eq.low&alias=like.a*&tags=cs.{a}&price=lt.1", "album?select=*,artist(*)"]
    {
        assert_eq!(runs(&catalog, Action::Read, target), Nothing, "{target}");
    }
    // of arrays of integers PostgreSQL's own operators do not fit as well as those of `intarray`
    assert_eq!(runs(&catalog, Action::Read, "artist?ids=cs.{1}"), Anything);
    // `citext` brings `min` and `max`, `unaccent` a template for text search
    assert_eq!(runs(&catalog, Action::Read, "artist?select=id.max()"), Anything);
    assert_eq!(runs(&catalog, Action::Read, "artist?words=fts.a"), Anything);
}

#[test]
fn a_search_path_that_names_pg_catalog_is_not_relied_on() {
    let database = Database::new(MUSIC);
    let catalog = crate::planned::catalog_of(&database.uri(), &["public", "pg_catalog"]);
    assert_eq!(runs(&catalog, Action::Read, "artist"), Anything);
}

#[test]
fn functions_that_would_fit_better_are_not_called() {
    let traps = "
        create function public.trap() returns void language plpgsql as $$ begin raise 'called'; end $$;
        create function public.to_json(int4range) returns json language sql as $$ select public.trap(); select null::json $$;
        create function public.to_jsonb(int[]) returns jsonb language sql as $$ select public.trap(); select null::jsonb $$;
        create function public.to_tsvector(varchar) returns tsvector language sql as $$ select public.trap(); select null::tsvector $$;
        create function public.to_tsquery(varchar) returns tsquery language sql as $$ select public.trap(); select null::tsquery $$;
        create schema api;
        create table api.spans (id int primary key, period int4range, numbers int[], name varchar);
        insert into api.spans values (1, '[1,5)', '{7}', 'cat');";
    let database = Database::new(&format!("{traps}{GRANTS}"));
    let response = Served::database(&database.uri()).get("/spans?select=period,numbers->0&name=fts.cat");
    assert_eq!((response.status, response.text()), (200, r#"[{"period":"[1,5)","numbers":7}]"#));
}

fn runs(catalog: &Catalog, action: Action, target: &str) -> Runs {
    runs_with(catalog, action, target, &[])
}

fn runs_with(catalog: &Catalog, action: Action, target: &str, headers: &[(&str, &str)]) -> Runs {
    runs_in(context(catalog), action, target, headers, &serde_json::json!({}))
}

/// What the plan of a request runs, with this body if it writes.
fn runs_in(
    context: Context<'_>,
    action: Action,
    target: &str,
    headers: &[(&str, &str)],
    body: &serde_json::Value,
) -> Runs {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let params = Params::decode(query).unwrap();
    let to = match path.strip_prefix("rpc/") {
        Some(name) => Target::Function(name),
        None => Target::Relation(path),
    };
    let payload = action.is_write().then(|| payload(body)).flatten();
    let request = request(action, to, &params, headers).unwrap();
    plan(&request, payload.as_ref(), context).unwrap_or_else(|error| panic!("{target}: {error}")).runs
}
