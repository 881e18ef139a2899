-- The language of the pages, which a visitor chooses without an account.

create function flightbook.choose_language(language text) returns void language plpgsql as $$
begin
  if language is null or language not in ('en', 'de') then
    raise 'There is no such language here.' using errcode = 'check_violation', column = 'language', constraint = 'language_is_known';
  end if;
  perform set_config('response.headers',
    format('[{"Set-Cookie": "locale=%s; Path=/; Max-Age=31536000; SameSite=Lax"}]', language), true);
end $$;
comment on function flightbook.choose_language(text) is 'Keeps the language of the pages, en or de, in a cookie for a year';
revoke execute on function flightbook.choose_language(text) from public;
grant execute on function flightbook.choose_language(text) to flightbook_anon, flightbook_pilot;
