-- Public links to single flights, which their pilots can withdraw.

create table flightbook.shares (
  flight_id int not null,
  pilot_id  int not null default flightbook_private.pilot_id(),
  token     text not null default replace(gen_random_uuid()::text, '-', '') unique,
  shared_at timestamptz not null default now(),
  primary key (pilot_id, flight_id),
  foreign key (pilot_id, flight_id) references flightbook.flights (pilot_id, id) on delete cascade
);
comment on table flightbook.shares is 'Flights that whoever has the link may see; without the row the link leads nowhere';
comment on column flightbook.shares.flight_id is 'Which flight';
comment on column flightbook.shares.pilot_id is 'Whose it is';
comment on column flightbook.shares.token is '122 random bits, which stand in the link and that nobody guesses';
comment on column flightbook.shares.shared_at is 'Since when';

alter table flightbook.shares enable row level security;
create policy own on flightbook.shares to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
grant select, insert (flight_id), delete on flightbook.shares to flightbook_pilot;

-- These read as their owner: the token is what is asked for, and its flight is all that is given.
create function flightbook.shared_flight(token text)
returns table (
  pilot text, number int, date date, glider text, launch_site text, launch_country text, launch_time time, landing_site text,
  landing_time time, airtime interval, track_distance numeric, hike_and_fly boolean, comment text, xcontest_url text, video_url text,
  altitude_max_m int, height_gain_m int, free_flight_km numeric, free_flight_points numeric, free_triangle_km numeric,
  free_triangle_points numeric, fai_triangle_km numeric, fai_triangle_points numeric, has_track boolean
)
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select p.name, f.number, f.date, g.name, l.name, l.country, f.launch_time, d.name,
         f.landing_time, f.airtime, f.track_distance, f.hike_and_fly, f.comment, f.xcontest_url, f.video_url,
         f.altitude_max_m, f.height_gain_m, f.free_flight_km, f.free_flight_points, f.free_triangle_km,
         f.free_triangle_points, f.fai_triangle_km, f.fai_triangle_points, t.flight_id is not null
  from flightbook.shares s
  join flightbook.flights f on f.id = s.flight_id
  join flightbook.pilots p on p.id = f.pilot_id
  left join flightbook.gliders g on g.id = f.glider_id
  left join flightbook.sites l on l.id = f.launch_site_id
  left join flightbook.sites d on d.id = f.landing_site_id
  left join flightbook.tracks t on (t.pilot_id, t.flight_id) = (f.pilot_id, f.id)
  where s.token = shared_flight.token
$$;
comment on function flightbook.shared_flight(text) is 'The flight that a link leads to';

create function flightbook.shared_track(token text)
returns table (starts_at timestamptz, seconds int[], latitudes double precision[], longitudes double precision[], altitudes_m int[],
  climbs_dms int[])
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select t.starts_at, t.seconds, t.latitudes, t.longitudes, t.altitudes_m, t.climbs_dms
  from flightbook.shares s
  join flightbook.tracks t on (t.pilot_id, t.flight_id) = (s.pilot_id, s.flight_id)
  where s.token = shared_track.token
$$;
comment on function flightbook.shared_track(text) is 'What is drawn of the flight that a link leads to';

-- a function is everybody's until that is taken away
revoke execute on function flightbook.shared_flight(text), flightbook.shared_track(text) from public;
grant execute on function flightbook.shared_flight(text), flightbook.shared_track(text) to flightbook_anon, flightbook_pilot;
