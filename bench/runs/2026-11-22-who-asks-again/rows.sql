-- behind bench/music.sql: the rows of the run before
\ir ../2026-11-22-who-asks/rows.sql
-- the same by a function of the database's own in SQL, as most have it
create schema auth; grant usage on schema auth to pilot;
create function auth.pilot() returns int language sql stable as $$ select (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int $$;
create table music.logbook2 as select * from music.logbook; alter table music.logbook2 add primary key (id);
alter table music.logbook2 enable row level security;
create policy own on music.logbook2 using (pilot_id = auth.pilot());
grant select on music.logbook2 to pilot; vacuum analyze music.logbook2;
