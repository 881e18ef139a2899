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

-- An export puts an apostrophe before the first character of a formula, so that a spreadsheet reads the cell as a text
-- (apps/flightbook/src/join/csv.rs). An import removes it.
create function flightbook_private.csv_value(cell text) returns text language sql immutable strict parallel safe as $$
  select regexp_replace(
    regexp_replace(cell, U&'^''(''*[\0009\000A\000D])', '\1'),
    U&'(^|[;\0009\000A\000D])(["'' ]*)''([=+@\FF1D\FF0B\FF20\FF0D-])', '\1\2\3', 'g')
$$;
comment on function flightbook_private.csv_value(text) is 'The original text of a cell of an export';

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
  asking constant int := flightbook_private.pilot_id();
begin
  perform flightbook_private.take_place(asking);
  -- The imports of a pilot run one after the other, since a form may be sent twice.
  perform from flightbook.pilots where id = asking for no key update;
  return asking;
end $$;
comment on function flightbook_private.enter_import() is
  'Returns the pilot who calls it, once no other import of the pilot runs. Each waiting import holds a connection, so one pilot may '
  'have three';

create or replace function flightbook.start_import(file bytea) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  file_bytes_max constant int := 2 * 1024 * 1024;
  rows_max constant int := 20000;
  cells_max constant int := 20 * rows_max;
  head_bytes_max constant int := 16 * 1024;
  columns_max constant int := 100;
  asking int;
  csv text;
  head_line text;
  separator text;
  head text[];
  found_rows int;
begin
  if octet_length(file) > file_bytes_max then
    raise 'A CSV file has at most 2 MiB.' using errcode = 'check_violation', column = 'file', constraint = 'csv_size';
  end if;
  -- All work that follows is done for at most three files of a pilot, one after the other.
  asking := flightbook_private.enter_import();
  csv := ltrim(flightbook_private.text_of(file), U&'\FEFF');
  if csv is null then
    raise 'This is no text.' using errcode = 'check_violation', column = 'file', constraint = 'csv_text';
  end if;
  head_line := substring(left(csv, head_bytes_max + 1) from '^[^\r\n]*');
  separator := case when position(';' in head_line) > 0 then ';' else ',' end;
  if octet_length(head_line) > head_bytes_max
      or length(head_line) - length(replace(head_line, separator, '')) >= columns_max then
    raise 'The first row of a CSV file has at most 16 KiB and 100 columns.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_columns';
  end if;
  if length(csv) - length(translate(csv, separator || E'\r\n', '')) > cells_max then
    raise 'A CSV file has 1 to 20,000 rows below its head.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_rows';
  end if;
  select array_agg(lower(cell) order by place) into head
  from flightbook_private.csv_rows(head_line, separator) r, unnest(r.cells) with ordinality c (cell, place)
  where r.line = 1;
  if array_position(head, 'date') is null then
    raise 'The first row must name the columns, and date among them.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_head';
  end if;
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
revoke execute on function flightbook_private.enter_import(), flightbook_private.csv_value(text) from public;
