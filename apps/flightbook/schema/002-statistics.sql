-- What a pilot's flights come to, by year, month, glider and site. The views read as whoever asks.

create view flightbook.flights_by_year with (security_invoker = true) as
  select year,
         count(*)::int as flights,
         count(*) filter (where hike_and_fly)::int as hikes,
         sum(airtime) as airtime,
         sum(track_distance) as track_distance,
         max(track_distance) as longest_distance,
         max(airtime) as longest_airtime,
         max(points) as best_points
  from flightbook.flights
  group by year;
comment on view flightbook.flights_by_year is 'A pilot''s years';
comment on column flightbook.flights_by_year.year is 'Which year';
comment on column flightbook.flights_by_year.flights is 'How many flights';
comment on column flightbook.flights_by_year.hikes is 'How many of them were hike and fly';
comment on column flightbook.flights_by_year.airtime is 'How long they were together';
comment on column flightbook.flights_by_year.track_distance is 'How far they went together, in kilometres';
comment on column flightbook.flights_by_year.longest_distance is 'How far the farthest went, in kilometres';
comment on column flightbook.flights_by_year.longest_airtime is 'How long the longest was';
comment on column flightbook.flights_by_year.best_points is 'The best score';

create view flightbook.flights_by_month with (security_invoker = true) as
  select year,
         extract(month from date)::smallint as month,
         count(*)::int as flights,
         sum(airtime) as airtime,
         sum(track_distance) as track_distance,
         max(points) as best_points
  from flightbook.flights
  group by year, extract(month from date)::smallint;
comment on view flightbook.flights_by_month is 'A pilot''s months';
comment on column flightbook.flights_by_month.year is 'Of which year';
comment on column flightbook.flights_by_month.month is 'Which month, from 1 to 12';
comment on column flightbook.flights_by_month.flights is 'How many flights';
comment on column flightbook.flights_by_month.airtime is 'How long they were together';
comment on column flightbook.flights_by_month.track_distance is 'How far they went together, in kilometres';
comment on column flightbook.flights_by_month.best_points is 'The best score';

create view flightbook.flights_by_glider with (security_invoker = true) as
  select g.id as glider_id, g.name, g.since, g.until,
         coalesce(f.flights, 0) as flights, f.airtime, f.track_distance, f.best_points, f.first_date, f.last_date
  from flightbook.gliders g
  left join (
    select pilot_id, glider_id, count(*)::int as flights, sum(airtime) as airtime, sum(track_distance) as track_distance,
           max(points) as best_points, min(date) as first_date, max(date) as last_date
    from flightbook.flights
    group by pilot_id, glider_id
  ) f on (f.pilot_id, f.glider_id) = (g.pilot_id, g.id);
comment on view flightbook.flights_by_glider is 'A pilot''s gliders, flown or not';
comment on column flightbook.flights_by_glider.glider_id is 'Which glider';
comment on column flightbook.flights_by_glider.name is 'Manufacturer and model';
comment on column flightbook.flights_by_glider.since is 'First day in use';
comment on column flightbook.flights_by_glider.until is 'Last day in use';
comment on column flightbook.flights_by_glider.flights is 'How many flights';
comment on column flightbook.flights_by_glider.airtime is 'How long they were together';
comment on column flightbook.flights_by_glider.track_distance is 'How far they went together, in kilometres';
comment on column flightbook.flights_by_glider.best_points is 'The best score';
comment on column flightbook.flights_by_glider.first_date is 'The first flight''s day';
comment on column flightbook.flights_by_glider.last_date is 'The last flight''s day';

create view flightbook.flights_by_site with (security_invoker = true) as
  select s.id as site_id, s.name, s.country, s.elevation_m, s.latitude, s.longitude,
         coalesce(l.launches, 0) as launches, coalesce(d.landings, 0) as landings,
         l.airtime, l.track_distance, l.best_points, greatest(l.last_date, d.last_date) as last_date
  from flightbook.sites s
  left join (
    select pilot_id, launch_site_id, count(*)::int as launches, sum(airtime) as airtime, sum(track_distance) as track_distance,
           max(points) as best_points, max(date) as last_date
    from flightbook.flights
    group by pilot_id, launch_site_id
  ) l on (l.pilot_id, l.launch_site_id) = (s.pilot_id, s.id)
  left join (
    select pilot_id, landing_site_id, count(*)::int as landings, max(date) as last_date
    from flightbook.flights
    group by pilot_id, landing_site_id
  ) d on (d.pilot_id, d.landing_site_id) = (s.pilot_id, s.id);
comment on view flightbook.flights_by_site is 'A pilot''s sites, used or not';
comment on column flightbook.flights_by_site.site_id is 'Which site';
comment on column flightbook.flights_by_site.name is 'As the pilot calls it';
comment on column flightbook.flights_by_site.country is 'Its code of ISO 3166-1';
comment on column flightbook.flights_by_site.elevation_m is 'Metres above the sea';
comment on column flightbook.flights_by_site.latitude is 'Degrees north';
comment on column flightbook.flights_by_site.longitude is 'Degrees east';
comment on column flightbook.flights_by_site.launches is 'How many flights began there';
comment on column flightbook.flights_by_site.landings is 'How many flights ended there';
comment on column flightbook.flights_by_site.airtime is 'How long those that began there were together';
comment on column flightbook.flights_by_site.track_distance is 'How far they went together, in kilometres';
comment on column flightbook.flights_by_site.best_points is 'The best score of those that began there';
comment on column flightbook.flights_by_site.last_date is 'The day on which it was used last';

-- Of a pilot who has not flown yet this is one row too.
create view flightbook.flights_in_all with (security_invoker = true) as
  select count(*)::int as flights,
         count(distinct date)::int as days,
         count(*) filter (where hike_and_fly)::int as hikes,
         sum(airtime) as airtime,
         sum(track_distance) as track_distance,
         max(track_distance) as longest_distance,
         max(airtime) as longest_airtime,
         max(altitude_max_m) as highest_m,
         max(points) as best_points,
         max(number) as last_number
  from flightbook.flights;
comment on view flightbook.flights_in_all is 'All of a pilot''s flights';
comment on column flightbook.flights_in_all.flights is 'How many flights';
comment on column flightbook.flights_in_all.days is 'On how many days';
comment on column flightbook.flights_in_all.hikes is 'How many of them were hike and fly';
comment on column flightbook.flights_in_all.airtime is 'How long they were together';
comment on column flightbook.flights_in_all.track_distance is 'How far they went together, in kilometres';
comment on column flightbook.flights_in_all.longest_distance is 'How far the farthest went, in kilometres';
comment on column flightbook.flights_in_all.longest_airtime is 'How long the longest was';
comment on column flightbook.flights_in_all.highest_m is 'The highest altitude, in metres';
comment on column flightbook.flights_in_all.best_points is 'The best score';
comment on column flightbook.flights_in_all.last_number is 'The highest number';

-- From year to year along the index, of which a list of all flights would read everything.
create view flightbook.flight_years with (security_invoker = true) as
  with recursive years as (
    (select year from flightbook.flights order by year desc limit 1)
    union all
    select (select f.year from flightbook.flights f where f.year < years.year order by f.year desc limit 1)
    from years where years.year is not null
  )
  select year from years where year is not null;
comment on view flightbook.flight_years is 'The years in which a pilot has flown';
comment on column flightbook.flight_years.year is 'One of them';

grant select on flightbook.flights_by_year, flightbook.flights_by_month, flightbook.flights_by_glider, flightbook.flights_by_site,
  flightbook.flights_in_all, flightbook.flight_years to flightbook_pilot;
