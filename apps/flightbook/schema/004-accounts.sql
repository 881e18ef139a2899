-- What the program that serves asks and says of accounts. It makes and checks the hashes: no password reaches the database.

create function flightbook_private.register(name text, email text, hash text) returns int
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with pilot as (
    insert into flightbook.pilots (name, email) values (btrim(register.name), btrim(register.email)) returning id
  )
  insert into flightbook_private.passwords (pilot_id, hash) select pilot.id, register.hash from pilot returning pilot_id
$$;
comment on function flightbook_private.register(text, text, text) is
  'Adds a pilot and gives their id. 23505 of pilots_email: registered already; 23514 of pilot_has_name or email_has_form, 22001: refused';

create function flightbook_private.credentials(email text) returns table (pilot_id int, address text, hash text)
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select p.id, p.email, w.hash
  from flightbook.pilots p
  join flightbook_private.passwords w on w.pilot_id = p.id
  where lower(p.email) = lower(btrim(credentials.email))
$$;
comment on function flightbook_private.credentials(text) is 'What a password is held against, or no row';

create function flightbook_private.credentials_of(pilot_id int) returns table (email text, hash text)
language sql stable security definer set search_path = pg_catalog, pg_temp rows 1 as $$
  select p.email, w.hash
  from flightbook.pilots p
  join flightbook_private.passwords w on w.pilot_id = p.id
  where p.id = credentials_of.pilot_id
$$;
comment on function flightbook_private.credentials_of(int) is 'The same of somebody who has signed in, or no row';

create function flightbook_private.set_password(pilot_id int, hash text) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with changed as (
    update flightbook_private.passwords w set hash = set_password.hash, changed_at = now()
    where w.pilot_id = set_password.pilot_id returning 1
  )
  select exists (select from changed)
$$;
comment on function flightbook_private.set_password(int, text) is 'Puts another hash in the place of a pilot''s; false if there is no such pilot';

revoke execute on all functions in schema flightbook_private from public;
grant execute on function flightbook_private.register(text, text, text), flightbook_private.credentials(text),
  flightbook_private.credentials_of(int), flightbook_private.set_password(int, text) to flightbook_accounts;

-- These end a session: what they return is the next token, and that is none.
create function flightbook.sign_out() returns text language sql as $$ select null::text $$;
comment on function flightbook.sign_out() is 'Ends the session';

create function flightbook.delete_account(email text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from flightbook.pilots p
  where p.id = flightbook_private.pilot_id() and lower(p.email) = lower(btrim(delete_account.email)) for update;
  if not found then
    raise 'This is not your address.' using errcode = 'check_violation', column = 'email', constraint = 'email_is_own';
  end if;
  -- before the gliders and sites that they name, as an edit has them, which would wait for this and this for it
  delete from flightbook.flights f where f.pilot_id = flightbook_private.pilot_id();
  delete from flightbook.pilots p where p.id = flightbook_private.pilot_id();
  return null;
end $$;
comment on function flightbook.delete_account(text) is 'Deletes whoever asks, with all that is theirs, and ends the session; the address is asked for lest it be done unawares';

revoke execute on function flightbook.sign_out(), flightbook.delete_account(text) from public;
grant execute on function flightbook.sign_out() to flightbook_anon, flightbook_pilot;
grant execute on function flightbook.delete_account(text) to flightbook_pilot;
