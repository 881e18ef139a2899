-- Pilots write only what they enter. Computed columns, and rows that an import has checked, are
-- written by functions that check all their arguments, since the owner of a token can call
-- everything that a page can.

-- Tracks, scores and the outcomes of uploads come from flightbook_private.add_track and note_uploads (012-track-files.sql).
revoke insert on flightbook.tracks, flightbook.uploads, flightbook.import_rows from flightbook_pilot;
revoke insert, update on flightbook.flights from flightbook_pilot;
grant
  insert (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance, hike_and_fly, comment,
    xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url),
  update (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance, hike_and_fly, comment,
    xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url)
  on flightbook.flights to flightbook_pilot;

-- A spreadsheet runs a cell that begins with one of = + - @ as a formula. An apostrophe before that character makes the cell a text.
-- Where the list separator is a semicolon, a spreadsheet also splits cells at semicolons, tabs and line ends, so that their parts are
-- cells too. Plain numbers stay as they are.
create function flightbook_private.csv_cell(value text) returns text language sql immutable strict parallel safe as $$
  select case
    when value ~ '^[+-]?[0-9]+([.,][0-9]+)?$' then value
    else regexp_replace(
      regexp_replace(value, U&'(^|[;\0009\000A\000D])(["'' ]*)([=+@\FF1D\FF0B\FF20\FF0D-])', '\1\2''\3', 'g'),
      U&'^(''*[\0009\000A\000D])', '''\1')
  end
$$;
comment on function flightbook_private.csv_cell(text) is
  'A text as a cell that no spreadsheet takes for a formula; csv_value is its inverse';

create function flightbook_private.csv_value(cell text) returns text language sql immutable strict parallel safe as $$
  select regexp_replace(
    regexp_replace(cell, U&'^''(''*[\0009\000A\000D])', '\1'),
    U&'(^|[;\0009\000A\000D])(["'' ]*)''([=+@\FF1D\FF0B\FF20\FF0D-])', '\1\2\3', 'g')
$$;
comment on function flightbook_private.csv_value(text) is 'The text that csv_cell has made a cell of';

-- Where the list separator is a semicolon, the first cell of a line goes on with the others of the line, so that it is no plain number.
create function flightbook_private.csv_first_cell(value text) returns text language sql immutable strict parallel safe as $$
  select regexp_replace(flightbook_private.csv_cell(value), '^[+-]', '''\&')
$$;
comment on function flightbook_private.csv_first_cell(text) is
  'A text as the first cell of a line that no spreadsheet takes for a formula; csv_value is its inverse';

drop view flightbook.flights_exported;
create view flightbook.flights_exported with (security_invoker = true) as
  select f.number, f.date, flightbook_private.csv_cell(g.name) as glider, flightbook_private.csv_cell(l.name) as launch_site,
         f.launch_time as launch_time_utc, flightbook_private.csv_cell(d.name) as landing_site, f.landing_time as landing_time_utc,
         f.track_distance, f.hike_and_fly::int as hikeandfly, flightbook_private.csv_cell(f.comment) as comment,
         flightbook_private.csv_cell(f.xcontest_url) as xcontest_url, f.xcontest_tracktype, f.xcontest_scored_distance,
         flightbook_private.csv_cell(f.video_url) as video_url
  from flightbook.flights f
  left join flightbook.gliders g on g.id = f.glider_id
  left join flightbook.sites l on l.id = f.launch_site_id
  left join flightbook.sites d on d.id = f.landing_site_id;
comment on view flightbook.flights_exported is 'A pilot''s flights, as a CSV file has them: texts are cells that no spreadsheet runs';
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

create view flightbook.gliders_exported with (security_invoker = true) as
  select flightbook_private.csv_first_cell(manufacturer) as manufacturer, flightbook_private.csv_cell(model) as model, since, until,
         flightbook_private.csv_cell(comment) as comment
  from flightbook.gliders;
comment on view flightbook.gliders_exported is 'A pilot''s gliders, as a CSV file has them: texts are cells that no spreadsheet runs';
comment on column flightbook.gliders_exported.manufacturer is 'The maker';
comment on column flightbook.gliders_exported.model is 'The model, with its size if that matters';
comment on column flightbook.gliders_exported.since is 'First day in use';
comment on column flightbook.gliders_exported.until is 'Last day in use';
comment on column flightbook.gliders_exported.comment is 'Remarks of the pilot';

create view flightbook.sites_exported with (security_invoker = true) as
  select flightbook_private.csv_first_cell(name) as name, country, elevation_m, latitude, longitude,
         flightbook_private.csv_cell(comment) as comment
  from flightbook.sites;
comment on view flightbook.sites_exported is 'A pilot''s sites, as a CSV file has them: texts are cells that no spreadsheet runs';
comment on column flightbook.sites_exported.name is 'The site''s name';
comment on column flightbook.sites_exported.country is 'Its code of ISO 3166-1';
comment on column flightbook.sites_exported.elevation_m is 'Metres above the sea';
comment on column flightbook.sites_exported.latitude is 'Degrees, north of the equator above zero (WGS 84)';
comment on column flightbook.sites_exported.longitude is 'Degrees, east of Greenwich above zero (WGS 84)';
comment on column flightbook.sites_exported.comment is 'Remarks of the pilot';
grant select on flightbook.flights_exported, flightbook.gliders_exported, flightbook.sites_exported to flightbook_pilot;

-- An import reads and writes as the owner of the tables, so each statement names the pilot.
create or replace function flightbook_private.check_import_row() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- The name in the form in which it is composed of manufacturer and model.
  new.glider := nullif(btrim(regexp_replace(new.glider, '\s+', ' ', 'g')), '');
  new.problems := new.problems || array_remove(array[
    case when new.number !~ '^[0-9]{1,7}$' then 'number'
         when new.number::int not between 1 and 1000000 then 'number'
         when exists (select from flightbook.flights f where f.pilot_id = new.pilot_id and f.number = new.number::int)
         then 'number-taken' end,
    case when new.date is null then 'date-missing' when not flightbook_private.is_date(new.date) then 'date' end,
    case when length(new.glider) > 80 then 'glider' end,
    case when length(new.launch_site) > 120 then 'launch-site' end,
    case when length(new.landing_site) > 120 then 'landing-site' end,
    case when new.launch_time_utc !~ '^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$' then 'launch-time' end,
    case when new.landing_time_utc !~ '^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$' then 'landing-time' end,
    case when new.track_distance !~ '^[0-9]{1,4}(\.[0-9]+)?$' then 'track-distance' end,
    case when flightbook_private.is_yes(new.hikeandfly) is null then 'hike-and-fly' end,
    case when length(new.comment) > 10000 then 'comment' end,
    case when new.xcontest_url !~ '^https?://[^\s"<>]+$' or length(new.xcontest_url) > 500 then 'xcontest-url' end,
    case when new.xcontest_tracktype is not null and flightbook_private.track_type_of(new.xcontest_tracktype) is null
         then 'xcontest-tracktype' end,
    case when new.xcontest_scored_distance !~ '^[0-9]{1,4}(\.[0-9]+)?$' then 'scored-distance' end,
    case when new.video_url !~ '^https?://[^\s"<>]+$' or length(new.video_url) > 500 then 'video-url' end
  ], null);
  return new;
end $$;

create function flightbook_private.enter_import() returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  places_max constant int := 3;
  lock_class constant int := 1179402058;
  asking constant int := flightbook_private.pilot_id();
begin
  for place in 1..places_max loop
    if pg_try_advisory_xact_lock(lock_class + place, asking) then
      -- The imports of a pilot run one after the other, since a form may be sent twice.
      perform from flightbook.pilots where id = asking for update;
      return asking;
    end if;
  end loop;
  raise sqlstate 'PT503' using message = 'Your other imports are still running.', hint = 'Try again when they have ended.';
end $$;
comment on function flightbook_private.enter_import() is
  'The pilot who asks, whose import runs alone when this returns. Each that waits holds a connection, so that few of one pilot may';

create or replace function flightbook.start_import(file bytea) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  file_bytes_max constant int := 2 * 1024 * 1024;
  rows_max constant int := 20000;
  cells_max constant int := 20 * rows_max;
  asking int;
  csv text;
  separator text;
  head text[];
  found_rows int;
begin
  if octet_length(file) > file_bytes_max then
    raise 'A CSV file has at most 2 MiB.' using errcode = 'check_violation', column = 'file', constraint = 'csv_size';
  end if;
  csv := ltrim(flightbook_private.text_of(file), U&'\FEFF');
  if csv is null then
    raise 'This is no text.' using errcode = 'check_violation', column = 'file', constraint = 'csv_text';
  end if;
  separator := case when substring(csv from '^[^\r\n]*') ~ ';' then ';' else ',' end;
  if length(csv) - length(translate(csv, separator || E'\r\n', '')) > cells_max then
    raise 'A CSV file has 1 to 20,000 rows below its head.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_rows';
  end if;
  select array_agg(lower(cell) order by place) into head
  from flightbook_private.csv_rows(substring(csv from '^[^\r\n]*'), separator) r, unnest(r.cells) with ordinality c (cell, place)
  where r.line = 1;
  if array_position(head, 'date') is null then
    raise 'The first row must name the columns, and date among them.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_head';
  end if;
  asking := flightbook_private.enter_import();
  delete from flightbook.import_rows where pilot_id = asking;
  insert into flightbook.import_rows (pilot_id, line, number, date, glider, launch_site, launch_time_utc, landing_site, landing_time_utc,
    track_distance, hikeandfly, comment, xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url, problems)
  select asking, line, cells[array_position(head, 'number')], cells[array_position(head, 'date')],
    flightbook_private.csv_value(cells[array_position(head, 'glider')]),
    flightbook_private.csv_value(cells[array_position(head, 'launch_site')]), cells[array_position(head, 'launch_time_utc')],
    flightbook_private.csv_value(cells[array_position(head, 'landing_site')]), cells[array_position(head, 'landing_time_utc')],
    cells[array_position(head, 'track_distance')], cells[array_position(head, 'hikeandfly')],
    flightbook_private.csv_value(cells[array_position(head, 'comment')]),
    flightbook_private.csv_value(cells[array_position(head, 'xcontest_url')]), cells[array_position(head, 'xcontest_tracktype')],
    cells[array_position(head, 'xcontest_scored_distance')], flightbook_private.csv_value(cells[array_position(head, 'video_url')]),
    case when number is not null and row_number() over (partition by number order by line) > 1
      then array['number-twice'] else '{}' end
  from flightbook_private.csv_rows(csv, separator),
    substring(cells[array_position(head, 'number')] from '^0*([0-9]{1,7})$') as number
  where line > 1 and array_remove(cells, null) <> '{}';
  get diagnostics found_rows = row_count;
  if found_rows not between 1 and rows_max then
    raise 'A CSV file has 1 to 20,000 rows below its head.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_rows';
  end if;
  return found_rows;
end $$;

-- PostgreSQL has no statistics of rows that have just been written. A nested loop would read all
-- sites for each flight.
create or replace function flightbook.finish_import() returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
declare
  -- When the form is sent twice, the second finds no rows left.
  asking constant int := flightbook_private.enter_import();
  last_number int;
  added int;
begin
  insert into flightbook.gliders (pilot_id, manufacturer, model)
  select distinct asking, split_part(glider, ' ', 1), btrim(substr(glider, length(split_part(glider, ' ', 1)) + 1))
  from flightbook.import_rows where pilot_id = asking and is_good and glider is not null
  on conflict do nothing;
  insert into flightbook.sites (pilot_id, name)
  select asking, launch_site from flightbook.import_rows where pilot_id = asking and is_good and launch_site is not null
  union select asking, landing_site from flightbook.import_rows where pilot_id = asking and is_good and landing_site is not null
  on conflict do nothing;
  select coalesce(max(n), 0) into last_number from (
    select max(f.number) from flightbook.flights f where f.pilot_id = asking
    union all select max(r.number::int) from flightbook.import_rows r where r.pilot_id = asking and r.is_good
  ) numbers (n);
  insert into flightbook.flights (pilot_id, number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time,
    track_distance, hike_and_fly, comment, xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url)
  select asking, coalesce(r.number::int, last_number + row_number() over (partition by r.number is null order by r.line)), r.date::date,
    g.id, l.id, r.launch_time_utc::time, d.id, r.landing_time_utc::time, r.track_distance::numeric,
    flightbook_private.is_yes(r.hikeandfly), coalesce(r.comment, ''), coalesce(r.xcontest_url, ''),
    flightbook_private.track_type_of(r.xcontest_tracktype), r.xcontest_scored_distance::numeric, coalesce(r.video_url, '')
  from flightbook.import_rows r
  left join flightbook.gliders g on g.pilot_id = asking and g.name = r.glider
  left join flightbook.sites l on l.pilot_id = asking and l.name = r.launch_site
  left join flightbook.sites d on d.pilot_id = asking and d.name = r.landing_site
  where r.pilot_id = asking and r.is_good
  order by r.line;
  get diagnostics added = row_count;
  delete from flightbook.import_rows where pilot_id = asking;
  return added;
end $$;

-- These are now called only by functions that run as their owner.
revoke execute on function flightbook_private.is_date(text), flightbook_private.is_yes(text), flightbook_private.track_type_of(text),
  flightbook_private.text_of(bytea), flightbook_private.csv_rows(text, text), flightbook_private.short_line(double precision[])
  from flightbook_pilot;
revoke execute on function flightbook_private.enter_import(), flightbook_private.csv_cell(text),
  flightbook_private.csv_first_cell(text), flightbook_private.csv_value(text)
  from public;
-- The views of an export call these functions with the role of their reader.
grant execute on function flightbook_private.csv_cell(text), flightbook_private.csv_first_cell(text) to flightbook_pilot;
