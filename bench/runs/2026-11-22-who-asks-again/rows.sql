-- behind bench/music.sql: rows that a policy gives to who has the claim
create role pilot nologin; grant pilot to gate; grant usage on schema music to pilot;
create table music.logbook as select i as id, i % 1000 as pilot_id, 'flight ' || i as note, i * 3 as km from generate_series(1, 100000) i;
alter table music.logbook add primary key (id);
alter table music.logbook enable row level security;
create policy own on music.logbook using (pilot_id = (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int);
grant select on music.logbook to pilot; vacuum analyze music.logbook;
-- the same by a function of the database's own in SQL, as most have it
create schema auth; grant usage on schema auth to pilot;
create function auth.pilot() returns int language sql stable as $$ select (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int $$;
create table music.logbook2 as select * from music.logbook; alter table music.logbook2 add primary key (id);
alter table music.logbook2 enable row level security;
create policy own on music.logbook2 using (pilot_id = auth.pilot());
grant select on music.logbook2 to pilot; vacuum analyze music.logbook2;
