-- Pilots, and what each keeps for themselves: gliders, sites, flights and tracks.

-- What is in this schema is served, to those who are granted it.
create schema flightbook;
-- What is in this one is not.
create schema flightbook_private;

-- Roles belong to all databases of a server, so that these may be there already.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['flightbook_anon', 'flightbook_pilot', 'flightbook_accounts'] loop
    begin
      execute format('create role %I nologin', role_name);
    exception when duplicate_object or unique_violation then null;
    end;
    -- whoever serves must be able to become it, as a superuser always is
    if not (select rolsuper from pg_roles where rolname = current_user) then
      execute format('grant %I to %I', role_name, current_user);
    end if;
  end loop;
end $$;

comment on schema flightbook is 'Flight books of paragliding pilots: each sees their own';
comment on schema flightbook_private is 'What the flight book keeps to itself';
grant usage on schema flightbook to flightbook_anon, flightbook_pilot;
-- those of its functions that they are granted
grant usage on schema flightbook_private to flightbook_pilot, flightbook_accounts;

create function flightbook_private.pilot_id() returns int language sql stable parallel safe as
  $$ select (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub')::int $$;
comment on function flightbook_private.pilot_id() is 'Who asks, by the token';
revoke execute on function flightbook_private.pilot_id() from public;
grant execute on function flightbook_private.pilot_id() to flightbook_pilot;

create table flightbook.pilots (
  id            int generated always as identity primary key,
  name          varchar(80) not null constraint pilot_has_name check (btrim(name) <> ''),
  email         varchar(254) not null constraint email_has_form check (email ~ '^[^\s@]+@[^\s@]+\.[^\s@]+$'),
  registered_at timestamptz not null default now()
);
create unique index pilots_email on flightbook.pilots (lower(email));
comment on table flightbook.pilots is 'Who keeps a flight book';
comment on column flightbook.pilots.id is 'The subject (sub) of their tokens';
comment on column flightbook.pilots.name is 'As others see it on flights that are shared';
comment on column flightbook.pilots.email is 'What they sign in with; letters count the same, large and small';
comment on column flightbook.pilots.registered_at is 'Since when they are here';
comment on constraint pilot_has_name on flightbook.pilots is 'A name is needed.';
comment on constraint email_has_form on flightbook.pilots is 'This is no e-mail address.';
comment on index flightbook.pilots_email is 'This address is registered already.';

-- Nobody is granted this table: only functions read it, for the program that serves.
create table flightbook_private.passwords (
  pilot_id   int primary key references flightbook.pilots on delete cascade,
  hash       text not null constraint hash_is_phc check (hash ~ '^\$[a-z0-9-]+\$' and length(hash) <= 512),
  changed_at timestamptz not null default now()
);
comment on table flightbook_private.passwords is 'Hashes of passwords';
comment on column flightbook_private.passwords.pilot_id is 'Whose it is';
comment on column flightbook_private.passwords.hash is 'In the PHC string format, such as $argon2id$v=19$…';
comment on column flightbook_private.passwords.changed_at is 'When it was set last';

create table flightbook.gliders (
  id           int generated always as identity primary key,
  pilot_id     int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  manufacturer varchar(80) not null constraint glider_has_manufacturer check (btrim(manufacturer) <> ''),
  model        varchar(80) not null default '',
  name         text not null generated always as (btrim(manufacturer || ' ' || model)) stored,
  since        date,
  until        date,
  comment      varchar(2000) not null default '',
  constraint glider_until_after_since check (until >= since),
  -- with what lists show of it, so that they read the index alone
  unique (pilot_id, id) include (name)
);
-- the name first: with the pilot first, plans that go from a flight to its glider take this one and read all that the pilot has
create unique index gliders_name on flightbook.gliders (name, pilot_id);
comment on table flightbook.gliders is 'What a pilot flies';
comment on column flightbook.gliders.id is 'Its number in addresses';
comment on column flightbook.gliders.pilot_id is 'Whose it is';
comment on column flightbook.gliders.manufacturer is 'Who made it';
comment on column flightbook.gliders.model is 'What it is called, with its size if that matters';
comment on column flightbook.gliders.name is 'Manufacturer and model';
comment on column flightbook.gliders.since is 'First day in use';
comment on column flightbook.gliders.until is 'Last day in use';
comment on column flightbook.gliders.comment is 'What there is to say of it';
comment on constraint glider_has_manufacturer on flightbook.gliders is 'A manufacturer is needed.';
comment on constraint glider_until_after_since on flightbook.gliders is 'The last day is before the first.';
comment on index flightbook.gliders_name is 'You have this glider already.';

create table flightbook.sites (
  id          int generated always as identity primary key,
  pilot_id    int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  name        varchar(120) not null constraint site_has_name check (btrim(name) <> ''),
  country     varchar(2) not null default '' constraint country_is_code check (country ~ '^([A-Z]{2})?$'),
  elevation_m int constraint elevation_on_earth check (elevation_m between -450 and 8900),
  latitude    double precision constraint latitude_on_earth check (latitude between -90 and 90),
  longitude   double precision constraint longitude_on_earth check (longitude between -180 and 180),
  comment     varchar(2000) not null default '',
  constraint site_has_both_degrees check ((latitude is null) = (longitude is null)),
  -- with what lists show of it
  unique (pilot_id, id) include (name, country)
);
-- the name first, as of gliders
create unique index sites_name on flightbook.sites (name, pilot_id);
comment on table flightbook.sites is 'Where a pilot launches and lands';
comment on column flightbook.sites.id is 'Its number in addresses';
comment on column flightbook.sites.pilot_id is 'Whose it is';
comment on column flightbook.sites.name is 'As the pilot calls it';
comment on column flightbook.sites.country is 'Its code of ISO 3166-1, such as CH, or nothing';
comment on column flightbook.sites.elevation_m is 'Metres above the sea';
comment on column flightbook.sites.latitude is 'Degrees, north of the equator above zero (WGS 84)';
comment on column flightbook.sites.longitude is 'Degrees, east of Greenwich above zero (WGS 84)';
comment on column flightbook.sites.comment is 'What there is to know of it';
comment on constraint site_has_name on flightbook.sites is 'A name is needed.';
comment on constraint country_is_code on flightbook.sites is 'A country has two capital letters, such as CH.';
comment on constraint elevation_on_earth on flightbook.sites is 'From -450 to 8,900 metres.';
comment on constraint latitude_on_earth on flightbook.sites is 'From -90 to 90 degrees.';
comment on constraint longitude_on_earth on flightbook.sites is 'From -180 to 180 degrees.';
comment on constraint site_has_both_degrees on flightbook.sites is 'A position has a latitude and a longitude.';
comment on index flightbook.sites_name is 'You have a site of this name already.';

create type flightbook.track_type as enum
  ('free_flight', 'free_triangle', 'closed_free_triangle', 'fai_triangle', 'closed_fai_triangle');
comment on type flightbook.track_type is 'How XContest scores a flight';

create table flightbook.flights (
  id              int generated always as identity primary key,
  pilot_id        int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  number          int not null constraint number_counts check (number between 1 and 1000000),
  date            date not null constraint date_of_aviation check (date between '1890-01-01' and '2999-12-31'),
  year            smallint not null generated always as (extract(year from date)::smallint) stored,
  glider_id       int,
  launch_site_id  int,
  launch_time     time(0),
  landing_site_id int,
  landing_time    time(0),
  track_distance  numeric(7, 2) constraint track_distance_positive check (track_distance >= 0),
  hike_and_fly    boolean not null default false,
  comment         varchar(10000) not null default '',
  xcontest_url    varchar(500) not null default '' constraint xcontest_url_is_web check (xcontest_url ~ '^(https?://[^\s"<>]+)?$'),
  xcontest_tracktype       flightbook.track_type,
  xcontest_scored_distance numeric(7, 2) constraint scored_distance_positive check (xcontest_scored_distance >= 0),
  video_url       varchar(500) not null default '' constraint video_url_is_web check (video_url ~ '^(https?://[^\s"<>]+)?$'),
  duration        interval(0) constraint duration_of_a_flight check (duration between '0' and '48 hours'),
  airtime         interval(0) generated always as (coalesce(duration, landing_time - launch_time
                    + case when landing_time < launch_time then interval '24 hours' else interval '0' end)) stored,
  altitude_max_m  int,
  height_gain_m   int,
  free_flight_km       numeric(7, 2),
  free_flight_points   numeric(7, 2),
  free_triangle_km     numeric(7, 2),
  free_triangle_points numeric(7, 2),
  fai_triangle_km      numeric(7, 2),
  fai_triangle_points  numeric(7, 2),
  points          numeric(7, 2) generated always as
                    (greatest(free_flight_points, free_triangle_points, fai_triangle_points)) stored,
  unique (pilot_id, id),
  -- with the pilot, so that nobody's flight refers to what is another's: foreign keys see all rows
  constraint glider foreign key (pilot_id, glider_id) references flightbook.gliders (pilot_id, id),
  constraint launch_site foreign key (pilot_id, launch_site_id) references flightbook.sites (pilot_id, id),
  constraint landing_site foreign key (pilot_id, landing_site_id) references flightbook.sites (pilot_id, id)
);
create unique index flights_number on flightbook.flights (pilot_id, number);
-- For each order of the list one with all that it shows, so that no page reads a row of those before it. Each ends by the key, as the
-- list's orders do, so that pages behind the middle are found from the last on.
create index flights_date on flightbook.flights (pilot_id, date, number, id)
  include (glider_id, launch_site_id, landing_site_id, track_distance, hike_and_fly, airtime, points);
create index flights_distance on flightbook.flights (pilot_id, track_distance desc nulls last, number desc, id desc)
  include (glider_id, launch_site_id, landing_site_id, date, hike_and_fly, airtime, points);
create index flights_airtime on flightbook.flights (pilot_id, airtime desc nulls last, number desc, id desc)
  include (glider_id, launch_site_id, landing_site_id, date, hike_and_fly, track_distance, points);
create index flights_points on flightbook.flights (pilot_id, points desc nulls last, number desc, id desc)
  include (glider_id, launch_site_id, landing_site_id, date, hike_and_fly, track_distance, airtime);
create index flights_year on flightbook.flights (pilot_id, year, date, number);
create index flights_glider on flightbook.flights (pilot_id, glider_id);
create index flights_launch_site on flightbook.flights (pilot_id, launch_site_id);
create index flights_landing_site on flightbook.flights (pilot_id, landing_site_id);
comment on table flightbook.flights is 'One row a flight';
comment on column flightbook.flights.id is 'Its number in addresses';
comment on column flightbook.flights.pilot_id is 'Who flew';
comment on column flightbook.flights.number is 'The pilot''s own count; the next one if none is given';
comment on column flightbook.flights.date is 'The day of the launch (UTC)';
comment on column flightbook.flights.year is 'The year of the date';
comment on column flightbook.flights.glider_id is 'On what';
comment on column flightbook.flights.launch_site_id is 'From where';
comment on column flightbook.flights.launch_time is 'When it began (UTC)';
comment on column flightbook.flights.landing_site_id is 'To where';
comment on column flightbook.flights.landing_time is 'When it ended (UTC); before the launch if that was the next day';
comment on column flightbook.flights.track_distance is 'Kilometres along the track';
comment on column flightbook.flights.hike_and_fly is 'Whether the pilot went up on foot';
comment on column flightbook.flights.comment is 'What the pilot remembers';
comment on column flightbook.flights.xcontest_url is 'The flight at XContest';
comment on column flightbook.flights.xcontest_tracktype is 'How XContest scored it';
comment on column flightbook.flights.xcontest_scored_distance is 'Kilometres that XContest scored';
comment on column flightbook.flights.video_url is 'A film of it';
comment on column flightbook.flights.duration is 'From take-off to landing, as the track has it';
comment on column flightbook.flights.airtime is 'The duration, or else the time between launch and landing';
comment on column flightbook.flights.altitude_max_m is 'The highest altitude of the track, in metres';
comment on column flightbook.flights.height_gain_m is 'Metres from the take-off up to the highest altitude';
comment on column flightbook.flights.free_flight_km is 'The longest way over three turnpoints, in kilometres';
comment on column flightbook.flights.free_flight_points is 'What that is worth';
comment on column flightbook.flights.free_triangle_km is 'The perimeter of the best triangle of any shape, in kilometres';
comment on column flightbook.flights.free_triangle_points is 'What that is worth';
comment on column flightbook.flights.fai_triangle_km is 'The perimeter of the best FAI triangle, in kilometres';
comment on column flightbook.flights.fai_triangle_points is 'What that is worth';
comment on column flightbook.flights.points is 'The best of the three scores';
comment on constraint number_counts on flightbook.flights is 'A number is from 1 to 1,000,000.';
comment on constraint date_of_aviation on flightbook.flights is 'Nobody flew on this day.';
comment on constraint track_distance_positive on flightbook.flights is 'A distance is not below zero.';
comment on constraint scored_distance_positive on flightbook.flights is 'A distance is not below zero.';
comment on constraint xcontest_url_is_web on flightbook.flights is 'An address begins with https:// or http://.';
comment on constraint video_url_is_web on flightbook.flights is 'An address begins with https:// or http://.';
comment on constraint duration_of_a_flight on flightbook.flights is 'A flight takes at most 48 hours.';
comment on constraint glider on flightbook.flights is 'You have no such glider, or it has flights.';
comment on constraint launch_site on flightbook.flights is 'You have no such site, or it has flights.';
comment on constraint landing_site on flightbook.flights is 'You have no such site, or it has flights.';
comment on index flightbook.flights_number is 'You have a flight of this number already.';

create function flightbook_private.number_flight() returns trigger language plpgsql as $$
begin
  -- one after the other, so that no two are given the same
  perform from flightbook.pilots where id = new.pilot_id for update;
  new.number := coalesce((select max(number) from flightbook.flights where pilot_id = new.pilot_id), 0) + 1;
  return new;
end $$;
comment on function flightbook_private.number_flight() is 'Gives a flight the pilot''s next number';
create trigger number_flight before insert on flightbook.flights
  for each row when (new.number is null) execute function flightbook_private.number_flight();

-- The tracks stand apart, so that nothing that reads flights ever carries them.
create table flightbook.tracks (
  flight_id   int not null,
  pilot_id    int not null default flightbook_private.pilot_id(),
  igc         bytea not null constraint igc_has_size check (octet_length(igc) between 1 and 16777216),
  igc_name    varchar(255) not null constraint igc_name_is_name check (igc_name ~ '^[^/\\[:cntrl:]]+$'),
  starts_at   timestamptz not null,
  seconds     int[] not null,
  latitudes   double precision[] not null,
  longitudes  double precision[] not null,
  altitudes_m int[] not null,
  climbs_dms  int[] not null,
  primary key (pilot_id, flight_id),
  foreign key (pilot_id, flight_id) references flightbook.flights (pilot_id, id) on delete cascade,
  constraint barogram_is_whole check (cardinality(seconds) between 1 and 10000
    and cardinality(latitudes) = cardinality(seconds) and cardinality(longitudes) = cardinality(seconds)
    and cardinality(altitudes_m) = cardinality(seconds) and cardinality(climbs_dms) = cardinality(seconds))
);
-- Flight recorders' files are text that compresses well, and are read as a whole. Not every PostgreSQL is built with lz4.
do $$
begin
  alter table flightbook.tracks alter column igc set compression lz4;
exception when feature_not_supported then null;
end $$;
comment on table flightbook.tracks is 'The IGC file of a flight, and what is drawn of it';
comment on column flightbook.tracks.flight_id is 'Which flight it is of';
comment on column flightbook.tracks.pilot_id is 'Whose it is';
comment on column flightbook.tracks.igc is 'The file, as it was sent';
comment on column flightbook.tracks.igc_name is 'The file''s name';
comment on column flightbook.tracks.starts_at is 'When the first fix is';
comment on column flightbook.tracks.seconds is 'Of each fix that is drawn, the seconds since the first';
comment on column flightbook.tracks.latitudes is 'Their latitudes, in degrees';
comment on column flightbook.tracks.longitudes is 'Their longitudes, in degrees';
comment on column flightbook.tracks.altitudes_m is 'Their altitudes, in metres';
comment on column flightbook.tracks.climbs_dms is 'How fast they climb there, in tenths of a metre a second';
comment on constraint igc_has_size on flightbook.tracks is 'A track has at most 16 MiB.';
comment on constraint igc_name_is_name on flightbook.tracks is 'A file''s name has no slashes.';
comment on constraint barogram_is_whole on flightbook.tracks is 'A barogram has 1 to 10,000 fixes, each with all its values.';

alter table flightbook.pilots enable row level security;
alter table flightbook_private.passwords enable row level security;
alter table flightbook.gliders enable row level security;
alter table flightbook.sites enable row level security;
alter table flightbook.flights enable row level security;
alter table flightbook.tracks enable row level security;

-- in a subquery, who asks is found out once a statement and not once a row
create policy own on flightbook.pilots to flightbook_pilot using (id = (select flightbook_private.pilot_id()));
create policy own on flightbook.gliders to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
create policy own on flightbook.sites to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
create policy own on flightbook.flights to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
create policy own on flightbook.tracks to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));

-- What is computed, and whose a row is, nobody writes.
grant select, update (name, email) on flightbook.pilots to flightbook_pilot;
grant select, delete,
  insert (manufacturer, model, since, until, comment),
  update (manufacturer, model, since, until, comment) on flightbook.gliders to flightbook_pilot;
grant select, delete,
  insert (name, country, elevation_m, latitude, longitude, comment),
  update (name, country, elevation_m, latitude, longitude, comment) on flightbook.sites to flightbook_pilot;
grant select, delete,
  insert (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance, hike_and_fly, comment,
    xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url, duration, altitude_max_m, height_gain_m,
    free_flight_km, free_flight_points, free_triangle_km, free_triangle_points, fai_triangle_km, fai_triangle_points),
  update (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance, hike_and_fly, comment,
    xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url, duration, altitude_max_m, height_gain_m,
    free_flight_km, free_flight_points, free_triangle_km, free_triangle_points, fai_triangle_km, fai_triangle_points)
  on flightbook.flights to flightbook_pilot;
grant select, delete,
  insert (flight_id, igc, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
  on flightbook.tracks to flightbook_pilot;
