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
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
begin
  if claims ->> 'role' = 'flightbook_pilot'
    and ((claims ->> 'since')::bigint = flightbook_private.password_since((claims ->> 'sub')::int)) is not true then
    -- the browser forgets it
    raise sqlstate 'PGRST' using
      message = '{"code": "401", "message": "This session has ended. Sign in again."}',
      detail = '{"status": 401, "headers": {"Set-Cookie": "__Host-flightbook=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax"}}';
  end if;
end $$;
comment on function flightbook_private.check_session() is 'Refuses who has a token of a password that is not theirs any more: runs before every request';

revoke execute on function flightbook_private.password_since(int), flightbook_private.check_session() from public;
grant usage on schema flightbook_private to flightbook_anon;
grant execute on function flightbook_private.password_since(int) to flightbook_accounts;
grant execute on function flightbook_private.check_session() to flightbook_anon, flightbook_pilot;
