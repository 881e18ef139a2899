-- What maps show of a track besides its course: the turnpoints of its best score, and a short line for the map of all flights.

-- Means of neighbours, in which the circles of a thermal become the way that it drifts.
create function flightbook_private.short_line(degrees double precision[]) returns double precision[]
language sql immutable parallel safe as $$
  select array_agg(mean order by part)
  from (
    -- beyond the 180th meridian it goes on, instead of all round the world
    select part, round(avg(degree - 360 * round((degree - degrees[1]) / 360))::numeric, 4)::double precision as mean
    from unnest(degrees) with ordinality fix (degree, n),
      lateral (select case when n = 1 then 0 when n = cardinality(degrees) then 21 else 1 + (n - 2) * 20 / (cardinality(degrees) - 2) end) p (part)
    group by part
  ) parts
$$;
comment on function flightbook_private.short_line(double precision[]) is 'The first and the last value, and between them the means of 20 parts';
revoke execute on function flightbook_private.short_line(double precision[]) from public;
-- a generated column is computed as who writes the row
grant execute on function flightbook_private.short_line(double precision[]) to flightbook_pilot;

alter table flightbook.tracks
  add column line_latitudes double precision[] not null generated always as (flightbook_private.short_line(latitudes)) stored,
  add column line_longitudes double precision[] not null generated always as (flightbook_private.short_line(longitudes)) stored,
  add column scored_as flightbook.track_type,
  add column score_latitudes double precision[] not null default '{}',
  add column score_longitudes double precision[] not null default '{}',
  add constraint score_is_whole check (cardinality(score_latitudes) = case when scored_as is null then 0 else 5 end
    and cardinality(score_longitudes) = cardinality(score_latitudes));
comment on column flightbook.tracks.line_latitudes is 'Latitudes of at most 22 points, which make the line on the map of all flights';
comment on column flightbook.tracks.line_longitudes is 'Their longitudes; beyond the 180th meridian they go on';
comment on column flightbook.tracks.scored_as is 'What the best score is of';
comment on column flightbook.tracks.score_latitudes is 'Latitudes of its start, its three turnpoints and its finish, in degrees';
comment on column flightbook.tracks.score_longitudes is 'Their longitudes, in degrees';
comment on constraint score_is_whole on flightbook.tracks is 'A score has a start, three turnpoints and a finish.';
grant insert (scored_as, score_latitudes, score_longitudes) on flightbook.tracks to flightbook_pilot;

-- what a function returns cannot be changed, only made anew
drop function flightbook.shared_track(text);
create function flightbook.shared_track(token text)
returns table (starts_at timestamptz, seconds int[], latitudes double precision[], longitudes double precision[], altitudes_m int[],
  climbs_dms int[], scored_as flightbook.track_type, score_latitudes double precision[], score_longitudes double precision[])
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select t.starts_at, t.seconds, t.latitudes, t.longitudes, t.altitudes_m, t.climbs_dms, t.scored_as, t.score_latitudes, t.score_longitudes
  from flightbook.shares s
  join flightbook.tracks t on (t.pilot_id, t.flight_id) = (s.pilot_id, s.flight_id)
  where s.token = shared_track.token
$$;
comment on function flightbook.shared_track(text) is 'What is drawn of the flight that a link leads to';
revoke execute on function flightbook.shared_track(text) from public;
grant execute on function flightbook.shared_track(text) to flightbook_anon, flightbook_pilot;
