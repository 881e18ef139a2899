-- The story's flights: 200, each with a track of as many bytes as the setting bench.track_bytes says:
--   PGOPTIONS='-c bench.track_bytes=500000' psql -f bench/flights.sql
-- Tracks are stored outside of their rows, and as they are. Nothing is logged: a gigabyte of them is made for one run.

create schema pages;
create unlogged table pages.pilots (id int primary key, name text not null, about text);
create unlogged table pages.sites (id int primary key, name text not null, country text not null, about text);
create unlogged table pages.flights (
  id int primary key,
  title text not null,
  pilot_id int not null references pages.pilots,
  site_id int references pages.sites,
  launched_at timestamptz not null,
  duration_minutes int,
  distance_km double precision,
  max_altitude_m int,
  is_public boolean not null default true,
  notes text,
  track bytea not null
);
alter table pages.flights alter track set storage external;

insert into pages.pilots select i, 'Pilot & Co ' || i, repeat('about the pilot ', 20) from generate_series(1, 20) i;
insert into pages.sites select i, 'Site <' || i || '>', 'CH', repeat('about the site ', 20) from generate_series(1, 10) i;
insert into pages.flights
  select i, 'Flight number ' || i || ' over the hills', 1 + i % 20, case when i % 7 > 0 then 1 + i % 10 end,
    timestamptz '2026-05-01T10:00Z' + i * interval '7 hours', i, 10 + i * 0.25, 1000 + i, true, repeat('notes ', 40),
    decode(repeat(lpad(to_hex(i % 256), 2, '0'), current_setting('bench.track_bytes')::int), 'hex')
  from generate_series(1, 200) i;
create index on pages.flights (launched_at);
create index on pages.flights (pilot_id);

grant usage on schema pages to listener, gate;
grant select on all tables in schema pages to listener, gate;

vacuum analyze
