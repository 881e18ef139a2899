-- Flights as an export gives them, with the columns that an import reads (005-import.sql).

create view flightbook.flights_exported with (security_invoker = true) as
  select f.number, f.date, g.name as glider, l.name as launch_site, f.launch_time as launch_time_utc, d.name as landing_site,
         f.landing_time as landing_time_utc, f.track_distance, f.hike_and_fly::int as hikeandfly, f.comment, f.xcontest_url,
         f.xcontest_tracktype, f.xcontest_scored_distance, f.video_url
  from flightbook.flights f
  left join flightbook.gliders g on g.id = f.glider_id
  left join flightbook.sites l on l.id = f.launch_site_id
  left join flightbook.sites d on d.id = f.landing_site_id;
comment on view flightbook.flights_exported is 'A pilot''s flights, as a CSV file has them';
comment on column flightbook.flights_exported.number is 'The pilot''s own count';
comment on column flightbook.flights_exported.date is 'The day of the launch (UTC)';
comment on column flightbook.flights_exported.glider is 'Manufacturer and model';
comment on column flightbook.flights_exported.launch_site is 'The site''s name';
comment on column flightbook.flights_exported.launch_time_utc is 'When it began';
comment on column flightbook.flights_exported.landing_site is 'The site''s name';
comment on column flightbook.flights_exported.landing_time_utc is 'When it ended';
comment on column flightbook.flights_exported.track_distance is 'Kilometres';
comment on column flightbook.flights_exported.hikeandfly is '1 or 0';
comment on column flightbook.flights_exported.comment is 'What the pilot remembers';
comment on column flightbook.flights_exported.xcontest_url is 'The flight at XContest';
comment on column flightbook.flights_exported.xcontest_tracktype is 'How XContest scored it';
comment on column flightbook.flights_exported.xcontest_scored_distance is 'Kilometres that XContest scored';
comment on column flightbook.flights_exported.video_url is 'A film of it';
grant select on flightbook.flights_exported to flightbook_pilot;
