-- Fills the flight book for `cargo xtask bench-flightbook`: the first pilot, who has registered and sent a track, has 10,000 flights
-- then; 200 others have 300 each and know the same password.
insert into flightbook.pilots (name, email)
  select 'Pilot ' || n, 'pilot' || n || '@club.example' from generate_series(1, 200) n;
insert into flightbook_private.passwords (pilot_id, hash)
  select pilots.id, first.hash from flightbook.pilots, (select hash from flightbook_private.passwords limit 1) first
  on conflict do nothing;
insert into flightbook.gliders (pilot_id, manufacturer, model, since)
  select id, 'Maker ' || n, 'Model ' || n, date '2010-01-01' + n * 365 from flightbook.pilots, generate_series(1, 8) n;
insert into flightbook.sites (pilot_id, name, country, elevation_m, latitude, longitude)
  select id, 'Site ' || n, (array['CH', 'FR', 'IT', 'AT'])[n % 4 + 1], 400 + n * 37 % 2000, 44 + n * 0.05, 6 + n * 0.1
  from flightbook.pilots, generate_series(1, 60) n
  on conflict do nothing;
insert into flightbook.flights (pilot_id, number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance,
    hike_and_fly, comment, duration, altitude_max_m, free_flight_km, free_flight_points, free_triangle_km, free_triangle_points)
  select pilot.id, n + 1000, date '2010-03-01' + n * 5000 / pilot.flights, glider.ids[n % 8 + 1], site.ids[n * 7 % 60 + 1], time '10:00' + n % 240 * interval '1 min',
    site.ids[n * 11 % 60 + 1], time '14:00' + n % 300 * interval '1 min', n * 13 % 2000 / 10.0, n % 9 = 0,
    case when n % 5 = 0 then 'Flight ' || n || ': smooth near the ridge, then up to the base.' else '' end,
    interval '1 h' + n % 240 * interval '1 min', 1500 + n % 2500, n * 13 % 1500 / 10.0, n * 13 % 1500 / 10.0, n * 7 % 900 / 10.0, n * 7 % 1080 / 10.0
  from (select id, case when email like 'ann@%' then 10000 else 300 end as flights from flightbook.pilots) pilot
  join lateral (select array_agg(id) as ids from flightbook.gliders where pilot_id = pilot.id) glider on true
  join lateral (select array_agg(id) as ids from flightbook.sites where pilot_id = pilot.id) site on true
  cross join lateral generate_series(1, pilot.flights) n;
-- everybody has flown the first pilot's track ten times
insert into flightbook.track_files (pilot_id, igc)
  select pilots.id, igc from flightbook.pilots, (select igc from flightbook.track_files limit 1) file
  on conflict do nothing;
insert into flightbook.tracks (flight_id, pilot_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
  select flights.id, flights.pilot_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms
  from flightbook.flights, (select * from flightbook.tracks limit 1) track where number between 1001 and 1010
  on conflict do nothing;
