-- Each track file is stored once for its pilot, and its flights refer to it. Pilots have quotas. Only the program adds tracks: it
-- connects as flightbook_accounts, which no pilot can become.

create table flightbook.track_files (
  pilot_id int not null default flightbook_private.pilot_id() references flightbook.pilots on delete cascade,
  igc      bytea not null constraint igc_has_size check (octet_length(igc) between 1 and 16777216),
  sha256   bytea not null generated always as (sha256(igc)) stored,
  bytes    int not null generated always as (octet_length(igc)) stored,
  -- Includes the size, so that a pilot's stored bytes are added up from the index alone.
  primary key (pilot_id, sha256) include (bytes)
);
-- IGC files are text that compresses well and that is read as a whole. Not every PostgreSQL is built with lz4.
do $$
begin
  alter table flightbook.track_files alter column igc set compression lz4;
exception when feature_not_supported then null;
end $$;
comment on table flightbook.track_files is 'The IGC files of a pilot, each stored once however many flights it holds';
comment on column flightbook.track_files.pilot_id is 'The pilot who sent the file';
comment on column flightbook.track_files.igc is 'The file, as it was sent';
comment on column flightbook.track_files.sha256 is 'Its SHA-256, by which flights refer to it and a repeated file is recognised';
comment on column flightbook.track_files.bytes is 'Its size, which counts towards the quota of the pilot';
comment on constraint igc_has_size on flightbook.track_files is 'A track has at most 16 MiB.';

alter table flightbook.track_files enable row level security;
create policy own on flightbook.track_files to flightbook_pilot using (pilot_id = (select flightbook_private.pilot_id()));
grant select on flightbook.track_files to flightbook_pilot;

-- Files of the existing flights, each once.
insert into flightbook.track_files (pilot_id, igc)
select distinct on (pilot_id, igc_sha256) pilot_id, igc from flightbook.tracks order by pilot_id, igc_sha256, flight_id;
alter table flightbook.tracks alter column igc_sha256 drop expression;
alter table flightbook.tracks drop column igc;
alter table flightbook.tracks add constraint track_file
  foreign key (pilot_id, igc_sha256) references flightbook.track_files (pilot_id, sha256);
-- Writes the table again without the dropped column, whose files would otherwise keep their space on disk.
cluster flightbook.tracks using tracks_pkey;
alter table flightbook.tracks set without cluster;
comment on table flightbook.tracks is 'The recorded course of a flight, as it is drawn';
comment on column flightbook.tracks.igc_sha256 is 'The file in track_files that the flight was read from';

create view flightbook.igc_files with (security_invoker = true) as
  select t.flight_id, t.igc_name, t.starts_at, f.igc
  from flightbook.tracks t join flightbook.track_files f on f.pilot_id = t.pilot_id and f.sha256 = t.igc_sha256;
comment on view flightbook.igc_files is 'The IGC files of a pilot by flight';
comment on column flightbook.igc_files.flight_id is 'The flight';
comment on column flightbook.igc_files.igc_name is 'The name of the file';
comment on column flightbook.igc_files.starts_at is 'When the first fix of the flight is';
comment on column flightbook.igc_files.igc is 'The file, as it was sent';
grant select on flightbook.igc_files to flightbook_pilot;

create function flightbook_private.delete_unused_file() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- The lock makes the later of two deletions see what the earlier one left, and an upload of the same file wait for both.
  perform from flightbook.track_files f where f.pilot_id = old.pilot_id and f.sha256 = old.igc_sha256 for update;
  delete from flightbook.track_files f
  where f.pilot_id = old.pilot_id and f.sha256 = old.igc_sha256
    and not exists (select from flightbook.tracks t where t.pilot_id = f.pilot_id and t.igc_sha256 = f.sha256);
  return null;
end $$;
comment on function flightbook_private.delete_unused_file() is 'Deletes a file with the last of its tracks';
create trigger delete_unused_file after delete on flightbook.tracks
  for each row execute function flightbook_private.delete_unused_file();

-- Quotas of each pilot. An operator changes them by updating the row.
create table flightbook_private.quotas (
  is_only_row boolean primary key default true check (is_only_row),
  flights     int not null default 20000,
  gliders     int not null default 5000,
  sites       int not null default 5000,
  track_bytes bigint not null default 2147483648
);
insert into flightbook_private.quotas default values;
comment on table flightbook_private.quotas is 'The quotas of each pilot, in one row';
comment on column flightbook_private.quotas.is_only_row is 'True, so that there is one row';
comment on column flightbook_private.quotas.flights is 'Flights of a pilot';
comment on column flightbook_private.quotas.gliders is 'Gliders of a pilot';
comment on column flightbook_private.quotas.sites is 'Sites of a pilot';
comment on column flightbook_private.quotas.track_bytes is 'Bytes of a pilot''s IGC files, as they were sent';
grant select on flightbook_private.quotas to flightbook_pilot;

-- The writes of a pilot run one after the other. Each that waits holds a connection, so that few wait, and not for long.
create function flightbook_private.take_place(owner int) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  places_max constant int := 3;
begin
  for place in 1..places_max loop
    -- Nothing else in this database uses advisory locks with two keys.
    if pg_try_advisory_xact_lock(place, owner) then
      return;
    end if;
  end loop;
  raise sqlstate 'PT503' using message = 'Your other requests are still running, and nothing was done.', hint = 'Try again when they have ended.';
end $$;
comment on function flightbook_private.take_place(int) is
  'Takes one of three places for requests of a pilot that wait for each other, until the transaction ends; PT503: none is free';

create function flightbook_private.lock_pilot_of(owner int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
  if owner is null then
    return;
  end if;
  perform from flightbook.pilots where id = owner for no key update skip locked;
  if not found then
    perform flightbook_private.take_place(owner);
    perform from flightbook.pilots where id = owner for no key update;
  end if;
exception when lock_not_available then
  raise sqlstate 'PT503' using message = 'Another request of yours takes long, and nothing was done.', hint = 'Try again when it has ended.';
end $$;
comment on function flightbook_private.lock_pilot_of(int) is
  'Locks the row of a pilot until the transaction ends, and waits two seconds at most; PT503: the pilot''s other requests take longer';

create function flightbook_private.lock_pilot() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform flightbook_private.lock_pilot_of(flightbook_private.pilot_id());
  return null;
end $$;
comment on function flightbook_private.lock_pilot() is
  'Makes the writes of a pilot wait for each other, so that together they stay within a quota; taken before any other lock';

create function flightbook_private.check_rows(kind text, owner int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  rows_max int;
  is_over boolean;
begin
  execute format('select %I from flightbook_private.quotas', kind) into rows_max;
  -- Reads at most one row more than the quota.
  execute format('select exists (select from flightbook.%I where pilot_id = $1 offset $2 limit 1)', kind)
    into is_over using owner, rows_max;
  if is_over then
    raise '%', format('A pilot has at most %s %s.', rows_max, kind)
      using errcode = 'check_violation', constraint = kind || '_quota', schema = 'flightbook', table = kind,
      hint = 'Delete some that are no longer needed.';
  end if;
end $$;
comment on function flightbook_private.check_rows(text, int) is
  'Refuses flights, gliders or sites beyond what flightbook_private.quotas lets a pilot have';

create function flightbook_private.check_quota() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform flightbook_private.check_rows(tg_table_name, pilot_id) from (select distinct pilot_id from added) pilots;
  return null;
end $$;
comment on function flightbook_private.check_quota() is 'Checks the quota of each pilot for whom rows were added';

create function flightbook_private.check_quota_so_far() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  counter constant text := 'flightbook.added_' || tg_table_name;
  added constant int := coalesce(nullif(current_setting(counter, true), ''), '0')::int + 1000;
  is_many boolean;
begin
  perform set_config(counter, added::text, true);
  -- The pilot's rows are read only if this transaction alone may have reached the quota.
  execute format('select $1 > %I from flightbook_private.quotas', tg_table_name) into is_many using added;
  if is_many then
    perform flightbook_private.check_rows(tg_table_name, new.pilot_id);
  end if;
  return new;
end $$;
comment on function flightbook_private.check_quota_so_far() is
  'Checks the quota while rows are added, once for about a thousand, so that a statement with many rows ends soon after the quota';

do $$
declare
  kind text;
begin
  foreach kind in array array['flights', 'gliders', 'sites', 'shares'] loop
    execute format('create trigger lock_pilot before insert or update or delete on flightbook.%I
      for each statement execute function flightbook_private.lock_pilot()', kind);
  end loop;
  foreach kind in array array['flights', 'gliders', 'sites'] loop
    execute format('create trigger check_quota after insert on flightbook.%I referencing new table as added
      for each statement execute function flightbook_private.check_quota()', kind);
    -- Ids are consecutive within a statement, but for those that others take meanwhile.
    execute format('create trigger check_quota_so_far before insert on flightbook.%I for each row when (new.id %% 1000 = 0)
      execute function flightbook_private.check_quota_so_far()', kind);
  end loop;
end $$;
create trigger lock_pilot before update on flightbook.pilots for each statement execute function flightbook_private.lock_pilot();

create or replace function flightbook.delete_account(email text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform flightbook_private.lock_pilot_of(flightbook_private.pilot_id());
  perform from flightbook.pilots p
  where p.id = flightbook_private.pilot_id() and lower(p.email) = lower(btrim(delete_account.email)) for update;
  if not found then
    raise 'This is not your address.' using errcode = 'check_violation', column = 'email', constraint = 'email_is_own';
  end if;
  -- The flights are deleted before the gliders and sites that they name, in the order in which an edit locks them.
  delete from flightbook.flights f where f.pilot_id = flightbook_private.pilot_id();
  delete from flightbook.pilots p where p.id = flightbook_private.pilot_id();
  return null;
end $$;

create view flightbook.storage with (security_invoker = true) as
  select (select count(*) from flightbook.flights)::int as flights, q.flights as flights_max,
         (select coalesce(sum(bytes), 0) from flightbook.track_files)::bigint as track_bytes, q.track_bytes as track_bytes_max
  from flightbook_private.quotas q;
comment on view flightbook.storage is 'The data that a pilot has stored, and the quotas';
comment on column flightbook.storage.flights is 'Flights in the book';
comment on column flightbook.storage.flights_max is 'Flights that the book may have';
comment on column flightbook.storage.track_bytes is 'Bytes of the IGC files, each counted once';
comment on column flightbook.storage.track_bytes_max is 'Bytes that the IGC files may have';
grant select on flightbook.storage to flightbook_pilot;

-- One upload has a budget for scoring, so a score may be the best that was found and not the best
-- that exists.
alter table flightbook.flights add column scores_are_proven boolean;
comment on column flightbook.flights.scores_are_proven is
  'False if the search for better scores was given up; null if there are no scores, or if this was not recorded';

-- PostgreSQL cannot change the columns that a function returns, so the function is created again.
drop function flightbook.shared_flight(text);
create function flightbook.shared_flight(token text)
returns table (
  pilot text, number int, date date, glider text, launch_site text, launch_country text, launch_time time, landing_site text,
  landing_time time, airtime interval, track_distance numeric, hike_and_fly boolean, comment text, xcontest_url text, video_url text,
  altitude_max_m int, height_gain_m int, free_flight_km numeric, free_flight_points numeric, free_triangle_km numeric,
  free_triangle_points numeric, fai_triangle_km numeric, fai_triangle_points numeric, scores_are_proven boolean, has_track boolean
)
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select p.name, f.number, f.date, g.name, l.name, l.country, f.launch_time, d.name,
         f.landing_time, f.airtime, f.track_distance, f.hike_and_fly, f.comment, f.xcontest_url, f.video_url,
         f.altitude_max_m, f.height_gain_m, f.free_flight_km, f.free_flight_points, f.free_triangle_km,
         f.free_triangle_points, f.fai_triangle_km, f.fai_triangle_points, f.scores_are_proven, t.flight_id is not null
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
revoke execute on function flightbook.shared_flight(text) from public;
grant execute on function flightbook.shared_flight(text) to flightbook_anon, flightbook_pilot;

drop function flightbook.add_track(bytea, text, jsonb);
drop function flightbook.note_uploads(jsonb);
drop function flightbook_private.glider_of(text);
drop function flightbook_private.nearest_site(double precision, double precision);

create function flightbook_private.nearest_site(owner int, latitude double precision, longitude double precision) returns int
language sql stable set search_path = pg_catalog, pg_temp as $$
  select s.id
  from flightbook.sites s,
    lateral (select 6371000 * acos(least(1, sin(radians(s.latitude)) * sin(radians($2))
      + cos(radians(s.latitude)) * cos(radians($2)) * cos(radians(s.longitude - $3))))) d (metres)
  where s.pilot_id = owner and d.metres <= 1500
  order by d.metres, s.id
  limit 1
$$;
comment on function flightbook_private.nearest_site(int, double precision, double precision) is
  'A pilot''s site that is nearest to a place, if one is within 1.5 km';

create function flightbook_private.glider_of(owner int, name text) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  words constant text := btrim(regexp_replace(glider_of.name, '\s+', ' ', 'g'));
  found_id int;
begin
  select g.id into found_id from flightbook.gliders g
  where g.pilot_id = owner and lower(g.name) = lower(words) order by g.id limit 1;
  if found_id is null and words <> '' then
    insert into flightbook.gliders (pilot_id, manufacturer, model)
    values (owner, left(split_part(words, ' ', 1), 80), left(substr(words, length(split_part(words, ' ', 1)) + 2), 80))
    on conflict do nothing
    returning id into found_id;
  end if;
  return found_id;
end $$;
comment on function flightbook_private.glider_of(int, text) is 'A pilot''s glider of this name, which is added if there is none';

create function flightbook_private.add_track(owner int, igc bytea, igc_name text, flights jsonb)
returns table (flight_id int, number int, outcome text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  digest constant bytea := sha256(igc);
  bytes_max bigint;
  flight record;
  is_proven boolean;
begin
  -- The files of a pilot are added one after the other, so that none is added twice and the quota holds. This lock lets other
  -- requests add rows that refer to the pilot.
  perform from flightbook.pilots p where p.id = owner for no key update;
  if not found then
    raise 'There is no such pilot.' using errcode = 'foreign_key_violation', constraint = 'pilot_is_there';
  end if;
  select q.track_bytes into bytes_max from flightbook_private.quotas q;
  if bytes_max - octet_length(igc) < (
      select coalesce(sum(f.bytes), 0) from flightbook.track_files f where f.pilot_id = owner and f.sha256 <> digest) then
    raise '%', format('The IGC files of a pilot have at most %s bytes together.', bytes_max)
      using errcode = 'check_violation', constraint = 'tracks_quota', hint = 'Delete flights with tracks that are no longer needed.';
  end if;
  -- A file that exists already is not changed, but locked until this transaction ends, so that it
  -- cannot be deleted meanwhile.
  insert into flightbook.track_files as f (pilot_id, igc) values (owner, add_track.igc)
  on conflict (pilot_id, sha256) do update set pilot_id = f.pilot_id where false;
  for flight in
    select * from jsonb_to_recordset(flights) as f (
      date date, launch_time time, landing_time time, duration interval, glider text,
      launch_latitude double precision, launch_longitude double precision,
      landing_latitude double precision, landing_longitude double precision,
      track_distance numeric, altitude_max_m int, height_gain_m int,
      free_flight_km numeric, free_flight_points numeric, free_triangle_km numeric, free_triangle_points numeric,
      fai_triangle_km numeric, fai_triangle_points numeric, scores_are_proven boolean,
      starts_at timestamptz, seconds int[], latitudes double precision[], longitudes double precision[], altitudes_m int[],
      climbs_dms int[], scored_as flightbook.track_type, score_latitudes double precision[], score_longitudes double precision[])
  loop
    select f.id, f.number, f.scores_are_proven, 'known' into flight_id, number, is_proven, outcome
    from flightbook.tracks t join flightbook.flights f on f.pilot_id = t.pilot_id and f.id = t.flight_id
    where t.pilot_id = owner and t.igc_sha256 = digest and t.starts_at = flight.starts_at;
    if not found then
      insert into flightbook.flights as f (pilot_id, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time,
        track_distance, duration, altitude_max_m, height_gain_m, free_flight_km, free_flight_points, free_triangle_km,
        free_triangle_points, fai_triangle_km, fai_triangle_points, scores_are_proven)
      values (owner, flight.date, flightbook_private.glider_of(owner, flight.glider),
        flightbook_private.nearest_site(owner, flight.launch_latitude, flight.launch_longitude), flight.launch_time,
        flightbook_private.nearest_site(owner, flight.landing_latitude, flight.landing_longitude), flight.landing_time,
        flight.track_distance, flight.duration, flight.altitude_max_m, flight.height_gain_m, flight.free_flight_km,
        flight.free_flight_points, flight.free_triangle_km, flight.free_triangle_points, flight.fai_triangle_km,
        flight.fai_triangle_points, flight.scores_are_proven)
      returning f.id, f.number, 'new' into flight_id, number, outcome;
      insert into flightbook.tracks (pilot_id, flight_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m,
        climbs_dms, scored_as, score_latitudes, score_longitudes)
      values (owner, add_track.flight_id, digest, add_track.igc_name, flight.starts_at, flight.seconds, flight.latitudes,
        flight.longitudes, flight.altitudes_m, flight.climbs_dms, flight.scored_as, flight.score_latitudes, flight.score_longitudes);
    elsif not is_proven and flight.scores_are_proven then
      update flightbook.flights f set (free_flight_km, free_flight_points, free_triangle_km, free_triangle_points, fai_triangle_km,
          fai_triangle_points, scores_are_proven) =
        (flight.free_flight_km, flight.free_flight_points, flight.free_triangle_km, flight.free_triangle_points,
          flight.fai_triangle_km, flight.fai_triangle_points, true)
      where f.pilot_id = owner and f.id = add_track.flight_id;
      update flightbook.tracks t set (scored_as, score_latitudes, score_longitudes) =
        (flight.scored_as, flight.score_latitudes, flight.score_longitudes)
      where t.pilot_id = owner and t.flight_id = add_track.flight_id;
      outcome := 'scored';
    end if;
    return next;
  end loop;
end $$;
comment on function flightbook_private.add_track(int, bytea, text, jsonb) is
  'Stores a pilot''s file once and adds its flights, with what was read of each. The outcome of a flight is new, known if it is there '
  'already and stays as it is, or scored if it is there and its scores are proven only now. 23514 of tracks_quota or flights_quota: '
  'the pilot''s quota; 23503 of pilot_is_there: no such pilot';

-- A file of many flights has an outcome for each.
alter table flightbook.uploads alter column file drop not null;
comment on table flightbook.uploads is 'The outcomes of a pilot''s last upload, in order';
comment on column flightbook.uploads.file is 'The name of the file; null for a further flight of the same file, and for the outcomes beyond the bound';
comment on column flightbook.uploads.problem is
  'A word for which a message begins with track-: what is wrong with the file, or what is to be known of it; null if nothing is';
comment on column flightbook.uploads.number is 'The number of the flight; if the problem is more, the number of outcomes beyond the bound';

create function flightbook_private.note_uploads(owner int, outcomes jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select from flightbook.pilots p where p.id = owner for no key update;
  -- The flights are locked before the rows that name them, in the order in which a deletion locks them.
  select from flightbook.flights f
  where f.pilot_id = owner and f.id in (select o.flight_id from jsonb_to_recordset(outcomes) as o (flight_id int))
  order by f.id for key share;
  delete from flightbook.uploads u where u.pilot_id = owner;
  insert into flightbook.uploads (pilot_id, place, file, problem, flight_id, number)
  select owner, o.place, o.file, o.problem, f.id, o.number
  from jsonb_to_recordset(outcomes) as o (place int, file text, problem text, flight_id int, number int)
  -- A flight may have been deleted meanwhile.
  left join flightbook.flights f on f.pilot_id = owner and f.id = o.flight_id
$$;
comment on function flightbook_private.note_uploads(int, jsonb) is
  'Stores the outcomes of a pilot''s last upload, and deletes the preceding ones';

revoke execute on function flightbook_private.delete_unused_file(), flightbook_private.take_place(int), flightbook_private.lock_pilot_of(int),
  flightbook_private.lock_pilot(), flightbook_private.check_rows(text, int), flightbook_private.check_quota(),
  flightbook_private.check_quota_so_far(),
  flightbook_private.nearest_site(int, double precision, double precision), flightbook_private.glider_of(int, text),
  flightbook_private.add_track(int, bytea, text, jsonb), flightbook_private.note_uploads(int, jsonb) from public;
grant execute on function flightbook_private.add_track(int, bytea, text, jsonb), flightbook_private.note_uploads(int, jsonb)
  to flightbook_accounts;
