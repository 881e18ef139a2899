-- A session ends when its pilot's password is changed, and when the pilot is gone: the token says since when its password holds.

create function flightbook_private.password_since(pilot_id int) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select (extract(epoch from w.changed_at) * 1000000)::bigint from flightbook_private.passwords w
  where w.pilot_id = password_since.pilot_id
$$;
comment on function flightbook_private.password_since(int) is
  'When a pilot''s password was set, in microseconds since 1970: the claim since of their tokens; nothing if there is no such pilot';

create function flightbook_private.check_session() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- the demo's, which is served without TLS
  cookie constant text := nullif(current_setting('app.settings.session_cookie', true), '');
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
begin
  -- What the book asks is of one pilot, and no plan is better for other values: the list's took half a millisecond to be made
  -- anew for each page, since PostgreSQL takes few rows to be left behind an OFFSET.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  -- not by password_since, which PostgreSQL would plan anew for each request
  if claims ->> 'role' = 'flightbook_pilot' and not exists (
      select from flightbook_private.passwords w
      where w.pilot_id = (claims ->> 'sub')::int and (extract(epoch from w.changed_at) * 1000000)::bigint = (claims ->> 'since')::bigint) then
    -- the browser forgets it
    raise sqlstate 'PGRST' using
      message = '{"code": "401", "message": "This session has ended. Sign in again."}',
      detail = format('{"status": 401, "headers": {"Set-Cookie": "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax%s"}}',
        coalesce(cookie, '__Host-flightbook'), case when cookie is null then '; Secure' else '' end);
  end if;
end $$;
comment on function flightbook_private.check_session() is 'Refuses who has a token of a password that is not theirs any more: runs before every request';

revoke execute on function flightbook_private.password_since(int), flightbook_private.check_session() from public;
grant usage on schema flightbook_private to flightbook_anon;
grant execute on function flightbook_private.password_since(int) to flightbook_accounts;
grant execute on function flightbook_private.check_session() to flightbook_anon, flightbook_pilot;
