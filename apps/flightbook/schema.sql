-- The flight book: who flew what from where, how far, and the track that shows it.
create schema flightbook;

create table flightbook.sites (
  id          int primary key,
  name        text not null unique,
  country     text not null,
  elevation_m int not null check (elevation_m between -500 and 6000),
  latitude    double precision not null check (latitude between -90 and 90),
  longitude   double precision not null check (longitude between -180 and 180),
  winds       text[] not null default '{}'
);

create table flightbook.pilots (
  id           int primary key,
  name         text not null,
  licence      text not null unique,
  born         date,
  home_site_id int references flightbook.sites
);

create type flightbook.class as enum ('EN-A', 'EN-B', 'EN-C', 'EN-D', 'CCC');

create table flightbook.gliders (
  id     int primary key,
  maker  text not null,
  model  text not null,
  class  flightbook.class not null,
  area_m2 numeric(4, 1) not null,
  unique (maker, model)
);

create table flightbook.flights (
  id              int primary key,
  pilot_id        int not null references flightbook.pilots,
  glider_id       int not null references flightbook.gliders,
  takeoff_site_id int not null constraint takeoff references flightbook.sites,
  landing_site_id int constraint landing references flightbook.sites,
  launched        timestamptz not null,
  duration        interval not null,
  distance_km     numeric(6, 1) not null,
  max_altitude_m  int not null,
  max_climb_ms    real not null,
  remarks         text
);
create index on flightbook.flights (pilot_id);
create index on flightbook.flights (glider_id);
create index on flightbook.flights (takeoff_site_id);
create index on flightbook.flights (landing_site_id);
create index on flightbook.flights (launched);

create table flightbook.tags (
  id    int primary key,
  label text not null unique
);

create table flightbook.flights_tags (
  flight_id int references flightbook.flights on delete cascade,
  tag_id    int references flightbook.tags,
  primary key (flight_id, tag_id)
);
create index on flightbook.flights_tags (tag_id);

-- The tracks stand apart, so that a list of flights never carries them.
create table flightbook.tracks (
  flight_id int primary key references flightbook.flights on delete cascade,
  file_name text not null,
  fixes     int not null,
  igc       bytea not null
);

create view flightbook.seasons as
  select pilot_id, extract(year from launched)::int as year, count(*)::int as flights,
         sum(distance_km) as distance_km, sum(duration) as airtime
  from flightbook.flights group by 1, 2;

comment on schema flightbook is 'A paragliding flight book';
comment on table flightbook.flights is 'One row a flight';
comment on column flightbook.flights.distance_km is 'Over three turnpoints';
comment on table flightbook.tracks is 'The IGC file of a flight';

do $$ begin
  create role flightbook_visitor nologin;
exception when duplicate_object or unique_violation then null;
end $$;
grant flightbook_visitor to current_user;
grant usage on schema flightbook to flightbook_visitor;
grant select on all tables in schema flightbook to flightbook_visitor;
