-- A session is a row, and ends when the row is deleted, however many copies of its token exist.
-- Each token names its session. Tokens of former versions name none, so their sessions have ended.

-- No role is granted this table: only functions read it.
create table flightbook_private.sessions (
  id         uuid primary key default gen_random_uuid(),
  pilot_id   int not null references flightbook.pilots on delete cascade,
  began_at   timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 days'
);
create index sessions_pilot on flightbook_private.sessions (pilot_id, began_at);
comment on table flightbook_private.sessions is 'Sessions that have not been ended';
comment on column flightbook_private.sessions.id is 'The claim session of the token';
comment on column flightbook_private.sessions.pilot_id is 'The pilot whose session it is';
comment on column flightbook_private.sessions.began_at is 'When the pilot signed in';
comment on column flightbook_private.sessions.expires_at is 'When the token expires';
alter table flightbook_private.sessions enable row level security;

create function flightbook_private.begin_session(pilot_id int, hash text) returns uuid
language sql security definer set search_path = pg_catalog, pg_temp as $$
  -- Only the newest 100 sessions of a pilot are kept.
  delete from flightbook_private.sessions s
  where s.pilot_id = begin_session.pilot_id and (s.expires_at <= now() or s.id in (
    select o.id from flightbook_private.sessions o
    where o.pilot_id = begin_session.pilot_id order by o.began_at desc offset 99));
  -- The lock waits for a change of the password that is in progress. The hash is compared
  -- afterwards.
  with pilot as (
    select w.pilot_id from flightbook_private.passwords w
    where w.pilot_id = begin_session.pilot_id and w.hash = begin_session.hash for share
  )
  insert into flightbook_private.sessions (pilot_id) select pilot.pilot_id from pilot returning id
$$;
comment on function flightbook_private.begin_session(int, text) is
  'Begins a session of a pilot whose password has this hash, and returns its id; null if the password has been changed meanwhile';

create or replace function flightbook_private.set_password(pilot_id int, hash text) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update flightbook_private.passwords w set hash = set_password.hash, changed_at = now()
  where w.pilot_id = set_password.pilot_id;
  -- Sessions that began before the update locked its row are deleted too.
  delete from flightbook_private.sessions s where s.pilot_id = set_password.pilot_id;
  select exists (select from flightbook_private.passwords w where w.pilot_id = set_password.pilot_id)
$$;
comment on function flightbook_private.set_password(int, text) is
  'Replaces a pilot''s hash and ends all their sessions; false if there is no such pilot';

create or replace function flightbook.sign_out() returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from flightbook_private.sessions s
  where s.id = (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'session')::uuid;
  select null::text
$$;
comment on function flightbook.sign_out() is 'Ends the session';

create function flightbook.sign_out_everywhere() returns text
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from flightbook_private.sessions s where s.pilot_id = flightbook_private.pilot_id();
  select null::text
$$;
comment on function flightbook.sign_out_everywhere() is 'Ends all sessions of the pilot';

create or replace function flightbook_private.check_session() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- The cookie of the demo, which is served without TLS.
  cookie constant text := nullif(current_setting('app.settings.session_cookie', true), '');
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
begin
  -- All queries of the book are about one pilot, so no plan is better for other values. Without
  -- this setting, PostgreSQL planned the list again for each page, which took half a millisecond,
  -- because it expects few rows after an OFFSET.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  -- A statement that takes longer holds a connection that others need. This bounds the request's own
  -- statement, which follows. A bound that an operator has set remains.
  if current_setting('statement_timeout') = '0' then
    perform set_config('statement_timeout', '60s', true);
  end if;
  if claims ->> 'role' = 'flightbook_pilot' and not exists (
      select from flightbook_private.sessions s
      where s.id = (claims ->> 'session')::uuid and s.pilot_id = (claims ->> 'sub')::int) then
    -- The response deletes the cookie in the browser.
    raise sqlstate 'PGRST' using
      message = '{"code": "401", "message": "This session has ended. Sign in again."}',
      detail = format('{"status": 401, "headers": {"Set-Cookie": "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax%s"}}',
        coalesce(cookie, '__Host-flightbook'), case when cookie is null then '; Secure' else '' end);
  end if;
end $$;
comment on function flightbook_private.check_session() is
  'Refuses a token whose session has ended, and bounds the time of the statement that follows; runs before every request';

drop function flightbook_private.password_since(int);

revoke execute on function flightbook_private.begin_session(int, text), flightbook.sign_out_everywhere() from public;
grant execute on function flightbook_private.begin_session(int, text) to flightbook_accounts;
grant execute on function flightbook.sign_out_everywhere() to flightbook_pilot;
