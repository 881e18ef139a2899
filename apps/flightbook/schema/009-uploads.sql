-- Flights from tracks: each file is taken over once, in one transaction.

alter table flightbook.tracks add column igc_sha256 bytea not null generated always as (sha256(igc)) stored;
create unique index tracks_once on flightbook.tracks (pilot_id, igc_sha256, starts_at);
comment on column flightbook.tracks.igc_sha256 is 'By which the same file is known again';
comment on index flightbook.tracks_once is 'This flight is in your book already.';

create function flightbook_private.nearest_site(latitude double precision, longitude double precision) returns int
language sql stable as $$
  select s.id
  from flightbook.sites s,
    lateral (select 6371000 * acos(least(1, sin(radians(s.latitude)) * sin(radians($1))
      + cos(radians(s.latitude)) * cos(radians($1)) * cos(radians(s.longitude - $2))))) d (metres)
  where d.metres <= 1500
  order by d.metres, s.id
  limit 1
$$;
comment on function flightbook_private.nearest_site(double precision, double precision) is
  'The pilot''s site that is nearest to a place, if one is within 1.5 km';

create function flightbook_private.glider_of(name text) returns int language plpgsql as $$
declare
  words constant text := btrim(regexp_replace(glider_of.name, '\s+', ' ', 'g'));
  found_id int;
begin
  select g.id into found_id from flightbook.gliders g where lower(g.name) = lower(words) order by g.id limit 1;
  if found_id is null and words <> '' then
    insert into flightbook.gliders (manufacturer, model)
    values (left(split_part(words, ' ', 1), 80), left(substr(words, length(split_part(words, ' ', 1)) + 2), 80))
    on conflict do nothing
    returning id into found_id;
  end if;
  return found_id;
end $$;
comment on function flightbook_private.glider_of(text) is 'The pilot''s glider of this name, which is added if there is none';

create function flightbook.add_track(igc bytea, igc_name text, flights jsonb)
returns table (flight_id int, number int, is_new boolean) language plpgsql as $$
declare
  digest constant bytea := sha256(igc);
  flight record;
begin
  -- a pilot's files one after the other, so that none is taken over twice
  perform from flightbook.pilots for update;
  for flight in
    select * from jsonb_to_recordset(flights) as f (
      date date, launch_time time, landing_time time, duration interval, glider text,
      launch_latitude double precision, launch_longitude double precision,
      landing_latitude double precision, landing_longitude double precision,
      track_distance numeric, altitude_max_m int, height_gain_m int,
      free_flight_km numeric, free_flight_points numeric, free_triangle_km numeric, free_triangle_points numeric,
      fai_triangle_km numeric, fai_triangle_points numeric,
      starts_at timestamptz, seconds int[], latitudes double precision[], longitudes double precision[], altitudes_m int[],
      climbs_dms int[], scored_as flightbook.track_type, score_latitudes double precision[], score_longitudes double precision[])
  loop
    select f.id, f.number, false into flight_id, number, is_new
    from flightbook.tracks t join flightbook.flights f on (f.pilot_id, f.id) = (t.pilot_id, t.flight_id)
    where t.pilot_id = flightbook_private.pilot_id() and t.igc_sha256 = digest and t.starts_at = flight.starts_at;
    if not found then
      insert into flightbook.flights as f (date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance,
        duration, altitude_max_m, height_gain_m, free_flight_km, free_flight_points, free_triangle_km, free_triangle_points,
        fai_triangle_km, fai_triangle_points)
      values (flight.date, flightbook_private.glider_of(flight.glider),
        flightbook_private.nearest_site(flight.launch_latitude, flight.launch_longitude), flight.launch_time,
        flightbook_private.nearest_site(flight.landing_latitude, flight.landing_longitude), flight.landing_time, flight.track_distance,
        flight.duration, flight.altitude_max_m, flight.height_gain_m, flight.free_flight_km, flight.free_flight_points,
        flight.free_triangle_km, flight.free_triangle_points, flight.fai_triangle_km, flight.fai_triangle_points)
      returning f.id, f.number, true into flight_id, number, is_new;
      insert into flightbook.tracks (flight_id, igc, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms,
        scored_as, score_latitudes, score_longitudes)
      values (add_track.flight_id, igc, igc_name, flight.starts_at, flight.seconds, flight.latitudes, flight.longitudes,
        flight.altitudes_m, flight.climbs_dms, flight.scored_as, flight.score_latitudes, flight.score_longitudes);
    end if;
    return next;
  end loop;
end $$;
comment on function flightbook.add_track(bytea, text, jsonb) is
  'Takes over the flights of a track, with what was read of each; those that are there already are named, and stay as they are';

create table flightbook.uploads (
  pilot_id  int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  place     int not null,
  file      varchar(255) not null,
  problem   text constraint problem_is_word check (problem ~ '^[a-z0-9-]{1,40}$'),
  flight_id int,
  number    int,
  primary key (pilot_id, place),
  constraint flight foreign key (pilot_id, flight_id) references flightbook.flights (pilot_id, id) on delete cascade
);
create index on flightbook.uploads (pilot_id, flight_id);
comment on table flightbook.uploads is 'What came of the files that a pilot has sent last';
comment on column flightbook.uploads.pilot_id is 'Whose they are';
comment on column flightbook.uploads.place is 'Their order';
comment on column flightbook.uploads.file is 'The file''s name';
comment on column flightbook.uploads.problem is 'What is wrong with it, or to be known of it: a word for which a message begins with track-';
comment on column flightbook.uploads.flight_id is 'The flight that it has become';
comment on column flightbook.uploads.number is 'The flight''s number';
alter table flightbook.uploads enable row level security;
create policy own on flightbook.uploads to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
grant select, delete, insert (place, file, problem, flight_id, number) on flightbook.uploads to flightbook_pilot;

create function flightbook.note_uploads(outcomes jsonb) returns void language sql as $$
  select from flightbook.pilots for update;
  -- the flights before what names them, as a deletion has them, which would wait for this and this for it
  select from flightbook.flights
  where id in (select o.flight_id from jsonb_to_recordset(outcomes) as o (flight_id int))
  order by id for key share;
  delete from flightbook.uploads;
  insert into flightbook.uploads (place, file, problem, flight_id, number)
  select o.place, o.file, o.problem, f.id, o.number
  from jsonb_to_recordset(outcomes) as o (place int, file text, problem text, flight_id int, number int)
  -- one that has been deleted meanwhile
  left join flightbook.flights f on f.id = o.flight_id
$$;
comment on function flightbook.note_uploads(jsonb) is 'Keeps what came of the files that were sent, in the place of those before';

revoke execute on function flightbook_private.nearest_site(double precision, double precision), flightbook_private.glider_of(text) from public;
grant execute on function flightbook_private.nearest_site(double precision, double precision), flightbook_private.glider_of(text)
  to flightbook_pilot;
revoke execute on function flightbook.add_track(bytea, text, jsonb), flightbook.note_uploads(jsonb) from public;
grant execute on function flightbook.add_track(bytea, text, jsonb), flightbook.note_uploads(jsonb) to flightbook_pilot;
