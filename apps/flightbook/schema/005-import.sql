-- Flights from a CSV file: read and checked into rows that their pilot looks at, and then taken over.

create table flightbook.import_rows (
  pilot_id                 int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  line                     int not null,
  number                   text,
  date                     text,
  glider                   text,
  launch_site              text,
  launch_time_utc          text,
  landing_site             text,
  landing_time_utc         text,
  track_distance           text,
  hikeandfly               text,
  comment                  text,
  xcontest_url             text,
  xcontest_tracktype       text,
  xcontest_scored_distance text,
  video_url                text,
  problems                 text[] not null,
  is_good                  boolean not null generated always as (problems = '{}') stored,
  primary key (pilot_id, line)
);
create index import_rows_bad on flightbook.import_rows (pilot_id, line) where not is_good;
comment on table flightbook.import_rows is 'The CSV file that a pilot has sent last, until its flights are taken over';
comment on column flightbook.import_rows.pilot_id is 'Whose it is';
comment on column flightbook.import_rows.line is 'The row''s place in the file, where the head is row 1';
comment on column flightbook.import_rows.number is 'The flight''s number, or nothing for the next';
comment on column flightbook.import_rows.date is 'Such as 2026-05-17';
comment on column flightbook.import_rows.glider is 'Manufacturer and model';
comment on column flightbook.import_rows.launch_site is 'A site''s name';
comment on column flightbook.import_rows.launch_time_utc is 'Such as 11:42';
comment on column flightbook.import_rows.landing_site is 'A site''s name';
comment on column flightbook.import_rows.landing_time_utc is 'Such as 14:08';
comment on column flightbook.import_rows.track_distance is 'Kilometres';
comment on column flightbook.import_rows.hikeandfly is 'Yes or no, as 1 or 0, true or false, yes or no';
comment on column flightbook.import_rows.comment is 'What the pilot remembers';
comment on column flightbook.import_rows.xcontest_url is 'The flight at XContest';
comment on column flightbook.import_rows.xcontest_tracktype is 'Such as free flight and FAI triangle';
comment on column flightbook.import_rows.xcontest_scored_distance is 'Kilometres';
comment on column flightbook.import_rows.video_url is 'A film of it';
comment on column flightbook.import_rows.problems is 'What is wrong with it, by the words for which messages begin with import-';
comment on column flightbook.import_rows.is_good is 'Whether nothing is';

alter table flightbook.import_rows enable row level security;
create policy own on flightbook.import_rows to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));

create view flightbook.import_summary with (security_invoker = true) as
  select count(*)::int as rows, count(*) filter (where is_good)::int as good, count(*) filter (where not is_good)::int as bad
  from flightbook.import_rows;
comment on view flightbook.import_summary is 'How many rows of a CSV file can be taken over';
comment on column flightbook.import_summary.rows is 'All rows but the head';
comment on column flightbook.import_summary.good is 'Those that nothing is wrong with';
comment on column flightbook.import_summary.bad is 'The others';

create function flightbook_private.is_date(text) returns boolean language sql immutable strict as $$
  select case when $1 ~ '^(189[0-9]|19[0-9]{2}|2[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$'
    then to_char(make_date(left($1, 4)::int, substr($1, 6, 2)::int, 1) + (right($1, 2)::int - 1), 'YYYY-MM-DD') = $1
    else false end
$$;
comment on function flightbook_private.is_date(text) is 'Whether there is such a day, and somebody may have flown on it';

create function flightbook_private.is_yes(text) returns boolean language sql immutable as $$
  select case when lower($1) in ('1', 'true', 'yes', 'y', 'ja', 'j', 'x') then true
              when $1 is null or lower($1) in ('0', 'false', 'no', 'n', 'nein') then false end
$$;
comment on function flightbook_private.is_yes(text) is 'Yes, no, or nothing if it is neither';

create function flightbook_private.track_type_of(text) returns flightbook.track_type language sql immutable strict as $$
  select case regexp_replace(lower($1), '[^a-z]+', ' ', 'g')
    when 'free flight' then 'free_flight' when 'free triangle' then 'free_triangle' when 'flat triangle' then 'free_triangle'
    when 'closed free triangle' then 'closed_free_triangle' when 'closed flat triangle' then 'closed_free_triangle'
    when 'fai triangle' then 'fai_triangle' when 'closed fai triangle' then 'closed_fai_triangle'
  end::flightbook.track_type
$$;
comment on function flightbook_private.track_type_of(text) is 'How XContest calls it, in any of its spellings';

create function flightbook_private.text_of(file bytea) returns text language plpgsql immutable as $$
begin
  return convert_from(file, 'UTF8');
exception when character_not_in_repertoire or untranslatable_character then
  -- spreadsheets write so too; a text has no NUL
  return case when position('\x00'::bytea in file) = 0 then convert_from(file, 'LATIN1') end;
end $$;
comment on function flightbook_private.text_of(bytea) is 'A file as text, if it is one';

create function flightbook_private.csv_rows(csv text, separator text) returns table (line int, cells text[])
language plpgsql immutable as $$
declare
  -- a cell, in quotes or without, and what ends it
  pattern constant text := format('("(?:[^"]|"")*"|[^"%1$s\r\n]*)(%1$s|\r?\n|\r|$)', separator);
  matched int := 0;
  found record;
begin
  for found in
    select c.line, sum(length(cell) + length(ending)) as length, array_agg(
      nullif(btrim(case when left(cell, 1) = '"' then replace(substr(cell, 2, length(cell) - 2), '""', '"') else cell end), '') order by n)
      as cells
    from (
      select n, m[1] as cell, m[2] as ending, 1 + count(*) filter (where m[2] ~ '[\r\n]')
        over (order by n rows between unbounded preceding and 1 preceding) as line
      from regexp_matches(csv, pattern, 'g') with ordinality t (m, n)
    ) c
    group by c.line
  loop
    matched := matched + found.length;
    line := found.line;
    cells := found.cells;
    return next;
  end loop;
  if matched <> length(csv) then
    raise 'There are quotes in the file that do not end, or that stand within a cell.'
      using errcode = 'check_violation', column = 'file', constraint = 'csv_quotes';
  end if;
end $$;
comment on function flightbook_private.csv_rows(text, text) is 'The rows of a CSV file (RFC 4180), from 1; blank cells are NULL';

create function flightbook_private.check_import_row() returns trigger language plpgsql as $$
begin
  -- as it is put together of manufacturer and model
  new.glider := nullif(btrim(regexp_replace(new.glider, '\s+', ' ', 'g')), '');
  new.problems := new.problems || array_remove(array[
    case when new.number !~ '^[0-9]{1,7}$' then 'number'
         when new.number::int not between 1 and 1000000 then 'number'
         when exists (select from flightbook.flights f where f.number = new.number::int) then 'number-taken' end,
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
comment on function flightbook_private.check_import_row() is 'Adds what is wrong with a row by itself';
create trigger check_import_row before insert on flightbook.import_rows
  for each row execute function flightbook_private.check_import_row();

create function flightbook.start_import(file bytea) returns int language plpgsql as $$
declare
  file_bytes_max constant int := 2 * 1024 * 1024;
  rows_max constant int := 20000;
  cells_max constant int := 20 * rows_max;
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
  -- one file after the other: a form may be sent twice
  perform from flightbook.pilots for update;
  delete from flightbook.import_rows;
  insert into flightbook.import_rows (line, number, date, glider, launch_site, launch_time_utc, landing_site, landing_time_utc,
    track_distance, hikeandfly, comment, xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url, problems)
  select line, cells[array_position(head, 'number')], cells[array_position(head, 'date')], cells[array_position(head, 'glider')],
    cells[array_position(head, 'launch_site')], cells[array_position(head, 'launch_time_utc')],
    cells[array_position(head, 'landing_site')], cells[array_position(head, 'landing_time_utc')],
    cells[array_position(head, 'track_distance')], cells[array_position(head, 'hikeandfly')],
    cells[array_position(head, 'comment')], cells[array_position(head, 'xcontest_url')],
    cells[array_position(head, 'xcontest_tracktype')], cells[array_position(head, 'xcontest_scored_distance')],
    cells[array_position(head, 'video_url')],
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
comment on function flightbook.start_import(bytea) is
  'Reads a CSV file into import_rows, in the place of one that was read before, and says how many rows it has';

-- Of rows that have just been written PostgreSQL has no statistics: it would look through all sites for each flight.
create function flightbook.finish_import() returns int language plpgsql set enable_nestloop = off as $$
declare
  last_number int;
  taken_over int;
begin
  -- when the form is sent twice, the second finds no rows left
  perform from flightbook.pilots for update;
  insert into flightbook.gliders (manufacturer, model)
  select distinct split_part(glider, ' ', 1), btrim(substr(glider, length(split_part(glider, ' ', 1)) + 1))
  from flightbook.import_rows where is_good and glider is not null
  on conflict do nothing;
  insert into flightbook.sites (name)
  select launch_site from flightbook.import_rows where is_good and launch_site is not null
  union select landing_site from flightbook.import_rows where is_good and landing_site is not null
  on conflict do nothing;
  select coalesce(max(n), 0) into last_number from (
    select max(f.number) from flightbook.flights f
    union all select max(r.number::int) from flightbook.import_rows r where r.is_good
  ) numbers (n);
  insert into flightbook.flights (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance,
    hike_and_fly, comment, xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url)
  select coalesce(r.number::int, last_number + row_number() over (partition by r.number is null order by r.line)), r.date::date, g.id, l.id, r.launch_time_utc::time, d.id, r.landing_time_utc::time, r.track_distance::numeric,
    flightbook_private.is_yes(r.hikeandfly), coalesce(r.comment, ''), coalesce(r.xcontest_url, ''),
    flightbook_private.track_type_of(r.xcontest_tracktype), r.xcontest_scored_distance::numeric, coalesce(r.video_url, '')
  from flightbook.import_rows r
  left join flightbook.gliders g on g.name = r.glider
  left join flightbook.sites l on l.name = r.launch_site
  left join flightbook.sites d on d.name = r.landing_site
  where r.is_good
  order by r.line;
  get diagnostics taken_over = row_count;
  delete from flightbook.import_rows;
  return taken_over;
end $$;
comment on function flightbook.finish_import() is
  'Makes flights of the rows that nothing is wrong with, and the gliders and sites that they need; says how many';

revoke execute on all functions in schema flightbook_private from public;
grant execute on function flightbook_private.is_date(text), flightbook_private.is_yes(text), flightbook_private.track_type_of(text),
  flightbook_private.text_of(bytea), flightbook_private.csv_rows(text, text) to flightbook_pilot;
revoke execute on function flightbook.start_import(bytea), flightbook.finish_import() from public;
grant execute on function flightbook.start_import(bytea), flightbook.finish_import() to flightbook_pilot;
grant select, delete, insert (line, number, date, glider, launch_site, launch_time_utc, landing_site, landing_time_utc, track_distance,
  hikeandfly, comment, xcontest_url, xcontest_tracktype, xcontest_scored_distance, video_url, problems)
  on flightbook.import_rows to flightbook_pilot;
grant select on flightbook.import_summary to flightbook_pilot;
