-- Who may do what, for the requests beside it and in the folders below. PostgreSQL 14 and later.
-- Roles belong to the whole cluster, and each set of requests makes them.
do $$ begin
  create role id_gate login noinherit password 'id_gate';
  create role id_visitor nologin;
  create role id_pilot nologin;
  create role id_tower nologin;
  create role id_hurried nologin;
  create role id_dressed nologin;
  create role id_stranger nologin;
  create role "id ""odd"" rôle" nologin;
  grant id_visitor, id_pilot, id_tower, id_hurried, id_dressed, "id ""odd"" rôle" to id_gate;
  alter role id_hurried set statement_timeout = '1s';
  alter role id_dressed set statement_timeout = '7s';
  alter role id_dressed set timezone = 'Asia/Kathmandu';
  alter role id_dressed set app.mark = 'of the role';
  alter role id_dressed set default_transaction_isolation = 'repeatable read';
  alter role id_dressed set log_min_messages = 'error';
exception when duplicate_object or unique_violation then null; end $$;

create schema api;
create schema second;
create schema hidden;

create function hidden.claim(name text) returns text stable language sql as
  $$ select current_setting('request.jwt.claims', true)::json ->> name $$;

-- rows of their own
create table api.pilots (id int primary key, name text not null unique);
create table api.flights (
  id int primary key,
  pilot_id int not null references api.pilots default hidden.claim('pilot_id')::int,
  second_id int references api.pilots,
  note text unique,
  km int check (km < 1000)
);
create table api.tags (flight_id int references api.flights on delete cascade, label text, primary key (flight_id, label));
alter table api.flights enable row level security;
create policy own on api.flights using (pilot_id = hidden.claim('pilot_id')::int);
create policy tower on api.flights to id_tower using (true) with check (false);
create view api.logbook as select pilot_id, count(*) as flights from api.flights group by 1;
create function api.flights_of(pilot int) returns setof api.flights stable language sql as
  $$ select * from api.flights where pilot_id = pilot $$;
create function api.km() returns bigint stable language sql as $$ select sum(km) from api.flights $$;
create function api.km_of_all() returns bigint stable security definer language sql as $$ select sum(km) from api.flights $$;
create function api.log_flight(id int, pilot int) returns api.flights language sql as
  $$ insert into api.flights (id, pilot_id) values (id, pilot) returning * $$;

-- never written to, so that what is counted and planned is the same whatever was asked before
create table api.archive as select n as id, n % 4 as pilot_id from generate_series(1, 100) n;
alter table api.archive enable row level security;
create policy own on api.archive using (pilot_id = hidden.claim('pilot_id')::int);
create policy tower on api.archive to id_tower using (true);

-- what is allowed to some
create table api.ledger (id int primary key, amount int);
create table api.partly (id int primary key, seen text, unseen text);
create table api.numbered (id serial primary key, v text);
create table api.public_notes (id int primary key, body text);
create table second.notes (id int primary key, body text);
create function api.only_tower() returns int language sql as $$ select 1 $$;
create function second.answer() returns int language sql as $$ select 42 $$;
revoke execute on function api.only_tower() from public;

-- constraints
create table api.later (id int primary key, next int references api.later deferrable initially deferred);
create domain api.percent as int check (value between 0 and 100);
create table api.strict (id int primary key, name text not null, code varchar(3), pct api.percent, during int4range,
  exclude using gist (during with &&));
create table api.guarded (id int primary key, v text);
create function hidden.guard() returns trigger language plpgsql as $$ begin
  case new.v
    when 'status' then perform set_config('response.status', '418', true);
    when 'header' then perform set_config('response.headers', '[{"X-One": "1"}]', true);
    when 'raise' then raise sqlstate 'PT402' using message = 'Payment Required', detail = 'Quota exceeded', hint = 'Upgrade';
    when 'who' then new.v := current_user || ' ' || hidden.claim('pilot_id');
    when 'denied' then raise insufficient_privilege using message = 'not for you';
    else null;
  end case; return new; end $$;
create trigger guard before insert or update on api.guarded for each row execute function hidden.guard();
create table api.endless (id int primary key);
alter table api.endless enable row level security;
create policy endless on api.endless using (exists (select from api.endless));

-- what SQL sees
create function api.who() returns json language sql stable as
  $$ select json_build_object('user', current_user, 'login', session_user, 'role', current_setting('role')) $$;
create function api.setting(name text) returns text language sql stable as $$ select current_setting(name, true) $$;
create function api.claim(name text) returns text language sql stable as $$ select hidden.claim(name) $$;
create function api.claims() returns jsonb language sql stable as $$ select current_setting('request.jwt.claims', true)::jsonb $$;
create function api.header(name text) returns text language sql stable as
  $$ select current_setting('request.headers', true)::json ->> name $$;
create function api.cookies() returns jsonb language sql stable as $$ select current_setting('request.cookies', true)::jsonb $$;
create function api.asked() returns text language sql as
  $$ select current_setting('request.method', true) || ' ' || current_setting('request.path', true) $$;
create function api.isolation() returns text language sql stable as $$ select current_setting('transaction_isolation') $$;
create function api.become(name text) returns text language plpgsql as
  $$ begin perform set_config('role', name, true); return current_user; end $$;

-- what SQL answers
create function api.respond(status text default '', headers text default '') returns text language plpgsql as $$ begin
  perform set_config('response.status', status, true), set_config('response.headers', headers, true); return 'done'; end $$;
create function api.raises(code text default 'P0001', message text default 'no lift', detail text default '', hint text default '')
  returns void language plpgsql as $$ begin
  raise exception using errcode = code, message = message, detail = detail, hint = hint; end $$;
create function api.raises_plainly() returns void language plpgsql as $$ begin raise 'no lift'; end $$;
create function api.sleeps(s float8) returns void language sql as $$ select pg_sleep(s) $$;
create function api.divides(by int) returns int language sql as $$ select 1 / by $$;
create function api.recurses(n int) returns int language plpgsql as $$ begin return api.recurses(n + 1); end $$;
create function api.asserts() returns void language plpgsql as $$ begin assert false, 'never'; end $$;
create function api.finds_none() returns int language plpgsql as $$ declare n int; begin
  select id into strict n from api.pilots where id = -1; return n; end $$;
create function api.finds_many() returns int language sql as $$ select (select id from api.pilots) $$;
create function api.is_ambiguous() returns int language plpgsql as $$ declare id int; begin
  return (select id from api.pilots limit 1); end $$;
create function api.missing() returns int language plpgsql as $$ begin return (select n from hidden.nothing); end $$;
create function api.calls_missing() returns int language plpgsql as $$ begin return hidden.nothing(1); end $$;
create function api.executes(sql text) returns void language plpgsql as $$ begin execute sql; end $$;
create function api.reads_and_writes() returns void language plpgsql stable as $$ begin
  execute 'insert into api.public_notes values (9)'; end $$;
create function api.overloaded(a int) returns int language sql as $$ select 1 $$;
create function api.overloaded(a text) returns int language sql as $$ select 2 $$;
create function public.before() returns void language plpgsql as $$ begin
  if hidden.claim('banned') = 'true' then
    raise sqlstate 'PGRST' using message = '{"code":"BAN","message":"No more flying"}', detail = '{"status":403,"headers":{"X-Fog":"ban"}}';
  end if;
  if hidden.claim('status') is not null then perform set_config('response.status', hidden.claim('status'), true); end if;
  perform set_config('response.headers', json_build_array(json_build_object('X-One', current_user))::text, true);
  perform set_config('app.before', current_setting('request.method') || ' as ' || current_user, true);
end $$;

grant usage on schema api to id_visitor, id_pilot, id_tower, id_hurried, id_dressed, "id ""odd"" rôle";
grant usage on schema hidden to public;
grant usage on schema second to id_tower;
grant select on api.public_notes to id_visitor;
grant insert on api.public_notes to id_visitor;
grant select on api.pilots to id_pilot, id_tower, id_hurried;
grant select, insert, update, delete on api.flights, api.tags, api.public_notes, api.later, api.strict, api.guarded to id_pilot, id_tower;
grant select on api.logbook, api.endless, api.archive to id_pilot;
grant select on api.archive to id_tower;
grant select (id, seen), insert (id, seen), update (seen) on api.partly to id_pilot;
grant insert on api.numbered to id_pilot;
grant select, insert on second.notes to id_tower;
grant all on api.ledger to id_tower;
grant execute on function api.only_tower() to id_tower;

create procedure public.reset() language plpgsql as $$ begin
  set local session_replication_role = replica;
  delete from api.pilots; delete from api.flights; delete from api.tags; delete from api.ledger; delete from api.partly;
  delete from api.numbered; delete from api.public_notes; delete from second.notes; delete from api.later;
  delete from api.strict; delete from api.guarded;
  alter sequence api.numbered_id_seq restart;
  insert into api.pilots values (1, 'Ada'), (2, 'Bela'), (3, 'Caro');
  insert into api.flights values (1, 1, 2, 'ridge', 100), (2, 2, null, 'wave', 200), (3, 1, null, 'thermal', 300), (4, 2, 1, 'dusk', null);
  insert into api.tags values (1, 'long'), (2, 'long'), (2, 'high'), (3, 'low');
  insert into api.ledger values (1, 500);
  insert into api.partly values (1, 'seen', 'unseen');
  insert into api.public_notes values (1, 'for all');
  insert into second.notes values (1, 'second');
  insert into api.later values (1, 1);
  insert into api.strict values (1, 'one', 'abc', 50, '[1,5)');
  insert into api.guarded values (1, 'one');
end $$;
create function public.everything() returns table (name text, rows text) language plpgsql as $$
begin
  for name in select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname in ('api', 'second') and c.relkind = 'r' loop
    execute format('select string_agg(x::text, '' '' order by x::text) from (select * from %s) x', name) into rows;
    return next;
  end loop;
end $$;
call public.reset();
analyze;
