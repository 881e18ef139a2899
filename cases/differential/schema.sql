-- A schema as odd as one can make it, for the requests beside it. PostgreSQL 14 and later.
create schema api;
create schema hidden;
create schema second;
create schema extra;

-- what everyone knows
create table api.clients (id int primary key, name text not null);
create table api.projects (id int primary key, name text not null, client_id int references api.clients);
create table api.tasks (id int primary key, name text not null, project_id int references api.projects);
create table api.users (id int primary key, name text not null, boss_id int references api.users);
create table api.users_tasks (user_id int references api.users, task_id int references api.tasks, primary key (user_id, task_id));
create table api.users_projects (user_id int references api.users, project_id int references api.projects,
                                 primary key (user_id, project_id));
create table api.comments (id int primary key, commenter_id int not null, user_id int not null, task_id int not null, content text,
                           foreign key (task_id, user_id) references api.users_tasks (task_id, user_id),
                           constraint comments_commenter foreign key (commenter_id) references api.users);
insert into api.clients values (1, 'Microsoft'), (2, 'Apple'), (3, 'Empty & Sons');
insert into api.projects values (1, 'Windows 7', 1), (2, 'Windows 10', 1), (3, 'IOS', 2), (4, 'OSX', 2), (5, 'Orphan', null);
insert into api.tasks values (1, 'Design w7', 1), (2, 'Code w7', 1), (3, 'Design w10', 2), (4, 'Code w10', 2), (5, 'Design IOS', 3),
  (6, 'Code IOS', 3), (7, 'Design OSX', 4), (8, 'Code OSX', 4);
insert into api.users values (1, 'Angela Martin', null), (2, 'Michael Scott', 1), (3, 'Dwight Schrute', 2);
insert into api.users_tasks values (1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (3, 1), (3, 5);
insert into api.users_projects values (1, 1), (1, 2), (2, 3), (2, 4), (3, 1), (3, 3);
insert into api.comments values (1, 1, 2, 6, 'Needs to be delivered ASAP'), (2, 3, 1, 1, null);

-- several keys between two tables
create table api.addresses (id int primary key, street text);
create table api.orders (id int primary key, name text,
                         billing_id int constraint billing references api.addresses,
                         shipping_id int constraint shipping references api.addresses);
insert into api.addresses values (1, 'first st'), (2, 'second "av"'), (3, 'third, way');
insert into api.orders values (1, 'order 1', 1, 2), (2, 'order 2', 3, null), (3, 'order 3', null, null);

-- composite keys, of which one is the junction's that has more
create table api.plants (country text, code int, title text, primary key (country, code));
create table api.suppliers (id int primary key, title text);
create table api.deliveries (country text, code int, supplier_id int references api.suppliers, day date, tons numeric(6,2),
                             primary key (country, code, supplier_id, day),
                             foreign key (country, code) references api.plants);
insert into api.plants values ('at', 1, 'Linz'), ('at', 2, 'Graz'), ('de', 1, 'Ulm');
insert into api.suppliers values (1, 'Acme'), (2, 'Beta'), (3, 'None');
insert into api.deliveries values ('at', 1, 1, '2026-01-02', 1.50), ('at', 1, 2, '2026-01-02', 20.00), ('de', 1, 1, '2026-01-03', 0.05),
  ('at', 1, 1, '2026-02-01', 7.25);

-- one to one, by primary key and by unique constraint; a plain unique index does not count
create table api.passports (user_id int primary key references api.users, number text);
create table api.desks (id int primary key, user_id int unique references api.users, room text);
create table api.lockers (id int primary key, user_id int references api.users);
create unique index on api.lockers (user_id);
insert into api.passports values (1, 'P1'), (3, 'P3');
insert into api.desks values (10, 1, 'north'), (11, 2, 'south'), (12, null, 'hall');
insert into api.lockers values (20, 3), (21, 1);

-- views: renamed, joined, over views, over hidden tables, with expressions, with unions, with CTEs
create view api.projects_view as select * from api.projects;
create view api.projects_renamed as select id as p_id, name as "the name", client_id as c_id from api.projects;
create view api.tasks_of_clients as
  select t.id, t.name, p.client_id, t.project_id from api.tasks t join api.projects p on p.id = t.project_id;
create view api.view_of_view as select id, project_id from (select v.id, v.project_id, 1 as one from api.tasks_of_clients v) as s;
create view api.projects_cte as with p as (select id, client_id from api.projects) select p.id, p.client_id, 'x' || p.id as label from p;
create view api.projects_union as select id, client_id from api.projects union all select id, client_id from api.projects where false;
create view api.clients_twice as select a.id, b.id as other_id, a.name from api.clients a join api.clients b on b.id = a.id;
create materialized view api.clients_kept as select id, name from api.clients;
create table hidden.articles (id int primary key, body text, author_id int references api.users);
create table hidden.article_stars (article_id int references hidden.articles, user_id int references api.users,
                                   primary key (article_id, user_id));
create view api.articles as select id, body, author_id from hidden.articles;
create view api.article_stars as select article_id, user_id from hidden.article_stars;
create view hidden.middle as select id, client_id from api.projects;
create view api.broken_chain as select id, client_id from hidden.middle;
create view extra.linked as select id, client_id from api.projects;
create view api.whole_chain as select id, client_id from extra.linked;
create view api.expressions as select id + 0 as id, client_id as client_id, name::varchar(3) as name from api.projects;
create view api.sorted as select name from api.clients order by id desc;
insert into hidden.articles values (1, 'No… It''s a thing', 1), (2, E'line\nbreak\ttab "quoted" back\\slash', 2), (3, null, null);
insert into hidden.article_stars values (1, 1), (1, 2), (2, 3);

-- partitions
create table api.cars (plate text, year int, maker_id int, primary key (plate, year)) partition by range (year);
create table api.makers (id int primary key, name text);
create table api.cars_2020 partition of api.cars for values from (2020) to (2021);
create table api.cars_2021 partition of api.cars for values from (2021) to (2022);
alter table api.cars add constraint cars_maker foreign key (maker_id) references api.makers;
create table api.fines (id int primary key, plate text, year int, foreign key (plate, year) references api.cars);
insert into api.makers values (1, 'Vauxhall'), (2, 'Saab');
insert into api.cars values ('AA', 2020, 1), ('BB', 2021, 1), ('CC', 2021, null);
insert into api.fines values (1, 'AA', 2020), (2, 'CC', 2021), (3, null, null);

-- names
create table api."Ünï çødé ﻡ" ("id" int primary key, "a.b" text, "c,d" text, "e(f)" text, "g""h" text, "i:j" text, "sp ace" text,
                             "select" int, "order" int, "and" int, "ÄÖ" boolean, "dash-ed" text, "dol$lar" text, "*" text);
insert into api."Ünï çødé ﻡ" values (1, 'dot', 'comma', 'parens', 'quote', 'colon', 'space', 1, 2, 3, true, 'dash', 'dollar', 'star'),
  (2, null, '', 'x', 'y', 'z', ' ', 4, 5, 6, false, '-', '$', '*');
create table api."a/b" (id int primary key, rpc text);
insert into api."a/b" values (1, 'slash');
create table api.rpc (id int primary key);
insert into api.rpc values (7);
create table api.limits ("limit" int primary key, "offset" int);
insert into api.limits values (1, 2), (3, 4);
create table api.no_columns ();
insert into api.no_columns default values;
create table api.no_rows (id int primary key, t text);

-- JSON, arrays, composites, ranges, search
create type api.mood as enum ('sad', 'ok', 'happy');
create type api.point2 as (x int, y int);
create type api.segment as (start api.point2, "the end" api.point2, tags text[]);
create domain api.email as text check (value like '%@%');
create domain api.emails as api.email[];
create domain api.words as tsvector;
create table api.items (id int primary key, data jsonb, raw json, tags text[], matrix int[], pos api.point2, seg api.segment,
                        span int4range, spans int4multirange, during daterange, mood api.mood, moods api.mood[], mail api.email,
                        mails api.emails, doc tsvector, words api.words, prose text, net inet, money numeric(8,3), bits bit(4),
                        vbits bit varying(5), code char(4), bin bytea, ts timestamp, tz timestamptz, d date, t time, ttz timetz,
                        iv interval, r real, f double precision, b boolean, u uuid, big bigint, small smallint, x xml, pt point);
insert into api.items values
  (1, '{"a": {"b": [1, 2, {"c": "deep"}]}, "k-ey": 1, "n": null, "num": 10}', '{"z": 1, "a": [true, null], "z": 2}', '{x,y}', '{{1,2},{3,4}}',
   '(1,2)', '("(1,2)","(3,)","{p,""q r""}")', '[1,5)', '{[1,3),[7,9)}', '[2026-01-01,2026-02-01)', 'happy', '{sad,NULL,ok}', 'a@b', '{c@d}',
   'impossible fun', 'much ado', 'It is impossible and fun', '192.168.1.0/24', 1.500, '1010', '101', 'ab', '\xdeadbeef',
   '2026-01-02 03:04:05.123456', '2026-01-02 03:04:05.1+02', '2026-01-02', '03:04:05', '03:04:05+02', '1 day 2 hours', 1.5, 0.1, true,
   '00000000-0000-0000-0000-00000000000a', 9007199254740993, -5, '<a>b</a>', '(1,2)'),
  (2, '[]', 'null', '{}', '{}', '(,)', null, 'empty', '{}', '(,)', 'sad', '{}', null, '{}', '', '', '', '::1', -0.001, '0000', '', '',
   '', 'infinity', '-infinity', '0001-01-01 BC', '24:00', '00:00:00-15:59', '-1 mons +2 days', 'NaN', '-Infinity', false, null,
   -9223372036854775808, 32767, '', null),
  (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
   null, null, null, null, null, null, null, null, null, null, null, null, null, null),
  (4, '"text"', '7', '{NULL,"null","a,b","c\"d","{}"}', '[2:3]={5,6}', '(-1,0)', '(,,)', '[3,3]', '{[1,1]}', '[2026-03-01,)', 'ok', '{ok}', 'x@y',
   '{"a@b","c@d"}', 'cat:3A fat:2B', 'x', 'the fat cats ate rats', '10.0.0.1', 99999.999, '1111', '1', 'abcd', '\x00', '1999-12-31 23:59:59.999999',
   '2026-07-01 00:00+00', '9999-12-31', '00:00:00.000001', '12:00+05:30', '00:00:00.000001', 1e-7, 1e21, null, 'ffffffff-ffff-ffff-ffff-ffffffffffff',
   1, 0, null, '(-1.5,1e3)');

-- computed fields and relationships
create function api.shout(api.clients) returns text language sql stable as $$ select upper($1.name) $$;
create function api.project_count(c api.clients) returns bigint language sql stable
  as $$ select count(*) from api.projects p where p.client_id = c.id $$;
create function api.latest_project(api.clients) returns setof api.projects rows 1 language sql stable
  as $$ select * from api.projects p where p.client_id = $1.id order by id desc limit 1 $$;
create function api.all_tasks(api.clients) returns setof api.tasks language sql stable
  as $$ select t.* from api.tasks t join api.projects p on p.id = t.project_id where p.client_id = $1.id $$;
create function api.boss(api.users) returns setof api.users rows 1 language sql stable as $$ select * from api.users u where u.id = $1.boss_id $$;
create function api.minions(api.users) returns setof api.users language sql stable as $$ select * from api.users u where u.boss_id = $1.id $$;
create table api.designers (id int primary key, name text);
create table api.games (id int primary key, name text, designer_id int references api.designers);
insert into api.designers values (1, 'Sid'), (2, 'Hironobu');
insert into api.games values (1, 'Civ I', 1), (2, 'Final Fantasy', 2), (3, 'Unknown', null);
create function api.designers(api.games) returns setof api.designers rows 1 language sql stable
  as $$ select d.id, 'computed ' || d.name from api.designers d where d.id = $1.designer_id $$;
create function api.one_client(api.projects_union) returns api.clients language sql stable
  as $$ select * from api.clients c where c.id = $1.client_id $$;

-- functions
create function api.add_them(a int, b int) returns int language sql immutable as $$ select a + b $$;
create function api.hello(name text) returns text language sql immutable as $$ select 'Hello, ' || name $$;
create function api.nothing() returns void language sql stable as $$ select $$;
create function api.null_value() returns int language sql stable as $$ select null::int $$;
create function api.an_array() returns int[] language sql immutable as $$ select '{1,2}'::int[] $$;
create function api.a_range() returns int4range language sql immutable as $$ select '[1,5)'::int4range $$;
create function api.some_json() returns json language sql immutable as $$ select '{"a":  1, "a": 2}'::json $$;
create function api.some_ints() returns setof int language sql immutable as $$ select * from unnest(array[3, 1, 2]) $$;
create function api.some_nulls() returns setof text language sql immutable as $$ values ('a'), (null) $$;
create function api.one_project(id int) returns api.projects language sql stable as $$ select * from api.projects p where p.id = $1 $$;
create function api.projects_below(id int) returns setof api.projects language sql stable as $$ select * from api.projects p where p.id < $1 $$;
create function api.all_projects() returns setof api.projects language sql stable as $$ select * from api.projects $$;
create function api.a_table(n int default 2) returns table (x int, "y z" text) language sql immutable
  as $$ select i, 'row ' || i from generate_series(1, n) i $$;
create function api.one_column() returns table (x int) language sql immutable as $$ values (1), (2) $$;
create function api.out_one(out o int) language sql immutable as $$ select 5 $$;
create function api.out_many(i int, out a int, inout b text, out c json) language sql immutable as $$ select i, b, '[1]'::json $$;
create function api.out_set(out a int, out b text) returns setof record language sql immutable as $$ values (1, 'x'), (2, null) $$;
create function api.a_record() returns record language sql immutable as $$ select 1 as a, 'x'::text as b $$;
create function api.records() returns setof record language sql immutable as $$ values (1, 'x'::text), (2, 'y') $$;
create function api.a_point() returns api.point2 language sql immutable as $$ select (1, 2)::api.point2 $$;
create function api.points() returns setof api.point2 language sql immutable as $$ values (1, 2), (3, null) $$;
create function api.null_row() returns api.projects language sql stable as $$ select null::api.projects $$;
create function api.defaults(a int, b int default 10, c text default 'c') returns text language sql immutable as $$ select a || ':' || b || ':' || c $$;
create function api.variadic_sum(variadic v int[] default '{}') returns int language sql immutable as $$ select coalesce(sum(x), 0)::int from unnest(v) x $$;
create function api.over(a int) returns text language sql immutable as $$ select 'int ' || a $$;
create function api.over(a int, b int) returns text language sql immutable as $$ select 'two ' || a || b $$;
create function api.over(c text) returns text language sql immutable as $$ select 'text ' || c $$;
create function api.ambiguous(a int) returns int language sql immutable as $$ select a $$;
create function api.ambiguous(a text) returns text language sql immutable as $$ select a $$;
create function api.takes(arr text[], comp api.point2, rng int4range, j jsonb, m api.mood, ch char, vb bit varying) returns text
  language sql immutable as $$ select concat_ws('|', arr, comp, rng, j, m, ch, vb) $$;
create function api.unnamed(json) returns json language sql immutable as $$ select $1 $$;
create function api.volatile_read() returns int language sql volatile as $$ select 42 $$;
create function api.volatile_write() returns int language plpgsql volatile as $$ begin insert into api.no_rows values (1, 'x'); return 1; end $$;
create function api."odd ""fn"" name"("the arg" text) returns text language sql immutable as $$ select $1 $$;
create function api.raises() returns int language plpgsql as $$ begin raise exception 'no lift' using detail = 'd', hint = 'h'; end $$;
create function api.raises_pt() returns int language plpgsql as $$ begin raise sqlstate 'PT418' using message = 'teapot', detail = 'd', hint = 'h'; end $$;
create function api.raises_pgrst() returns int language plpgsql as $$ begin raise sqlstate 'PGRST' using
  message = '{"code":"W1","message":"closed","details":"fog","hint":"wait"}', detail = '{"status":423,"headers":{"X-Fog":"thick"}}'; end $$;
create function api.raises_pgrst_badly() returns int language plpgsql as $$ begin raise sqlstate 'PGRST' using message = 'x', detail = '{}'; end $$;
create function api.sets_status() returns int language sql stable as $$ select set_config('response.status', '202', true); select 1 $$;
create function api.sets_headers() returns int language sql stable
  as $$ select set_config('response.headers', '[{"X-One": "1"}, {"Set-Cookie": "a=b"}, {"Set-Cookie": "c=d"}, {"Cache-Control": "no-store"}]', true); select 1 $$;
create function api.sets_headers_badly() returns int language sql stable as $$ select set_config('response.headers', '{"a":1}', true); select 1 $$;
create function api.sets_status_badly() returns int language sql stable as $$ select set_config('response.status', 'x', true); select 1 $$;
create function api.who() returns json language sql stable as $$ select json_build_object('role', current_user, 'method', current_setting('request.method', true),
  'path', current_setting('request.path', true), 'search_path', current_setting('search_path')) $$;
create function api.header(name text) returns text language sql stable as $$ select current_setting('request.headers', true)::json ->> name $$;
create function api.cookie(name text) returns text language sql stable as $$ select current_setting('request.cookies', true)::json ->> name $$;
create function api.slow_setting() returns text language sql stable set statement_timeout = '17s' as $$ select current_setting('statement_timeout') $$;
create function api.now_zone() returns text language sql stable as $$ select current_setting('timezone') $$;

-- domains that travel by functions of their own
create domain api.color as int;
create function api.color_json(api.color) returns json language sql immutable as $$ select to_json('#' || lpad(upper(to_hex($1)), 6, '0')) $$;
create function api.color_in(text) returns api.color language sql immutable as $$ select (('x' || lpad(replace($1, '#', ''), 8, '0'))::bit(32)::int)::api.color $$;
create cast (api.color as json) with function api.color_json(api.color) as implicit;
create cast (text as api.color) with function api.color_in(text) as implicit;
create table api.paints (id int primary key, hue api.color, alt api.color);
insert into api.paints values (1, 0, 255), (2, 123456, null), (3, 16777215, 0);
create view api.paints_view as select id, hue from api.paints;

-- media types
create domain api."text/plain" as text;
create domain api."image/png" as bytea;
create domain api."application/vnd.twkb" as bytea;
create domain api."*/*" as bytea;
create function api.as_text() returns api."text/plain" language sql immutable as $$ select 'plain'::api."text/plain" $$;
create function api.as_png() returns api."image/png" language sql immutable as $$ select '\x89504e47'::bytea::api."image/png" $$;
create function api.as_any() returns api."*/*" language sql stable as $$ select '\x616e79'::bytea::api."*/*" $$;
create function api.names_step(state text, one api.clients) returns text language sql immutable as $$ select coalesce(state || ';', '') || one.name $$;
create function api.names_final(state text) returns api."text/plain" language sql immutable as $$ select state::api."text/plain" $$;
create aggregate api.names_agg(api.clients) (sfunc = api.names_step, stype = text, finalfunc = api.names_final);
create function api.twkb_step(state bytea, one anyelement) returns bytea language sql immutable as $$ select state || convert_to(one::text, 'UTF8') $$;
create function api.twkb_final(state bytea) returns api."application/vnd.twkb" language sql immutable as $$ select state::api."application/vnd.twkb" $$;
create aggregate api.twkb_agg(anyelement) (sfunc = api.twkb_step, stype = bytea, initcond = '', finalfunc = api.twkb_final);

-- several schemas
create table second.clients (id int primary key, alias text);
create table second.children (id int primary key, client_id int references second.clients, api_client_id int references api.clients);
insert into second.clients values (1, 'second one');
insert into second.children values (1, 1, 2);
create function second.parents(second.children) returns setof api.clients rows 1 language sql stable as $$ select * from api.clients c where c.id = $1.api_client_id $$;
create function second.hello(name text) returns text language sql immutable as $$ select 'Second hello, ' || name $$;

comment on schema api is E'Odd things\nA schema\nof many.';
comment on table api.clients is E'Clients\nThose who pay.';
comment on column api.clients.name is 'What they are called';
comment on function api.add_them(int, int) is E'Adds\ntwo numbers';
