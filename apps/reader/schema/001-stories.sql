-- Stories in Japanese, which everybody may read.

create schema reader;

-- Roles belong to all databases of a server, so that it may be there already.
do $$
begin
  begin
    create role reader_anon nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  -- whoever serves must be able to become it, as a superuser always is
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant reader_anon to %I', current_user);
  end if;
end $$;

comment on schema reader is 'Stories in Japanese, from easy to hard';
grant usage on schema reader to reader_anon;

create table reader.stories (
  number     int primary key,
  title      varchar(200) not null constraint story_has_title check (btrim(title) <> ''),
  level      text not null constraint level_is_known check (level in ('N5', 'N4', 'N3', 'N2', 'N1')),
  text       text not null constraint text_has_length check (octet_length(text) between 1 and 8192),
  characters int not null generated always as (length(regexp_replace(text, '\s', '', 'g'))) stored
);
comment on table reader.stories is 'What there is to read';
comment on column reader.stories.number is 'Its place in the list, and its number in addresses';
comment on column reader.stories.title is 'As it stands above the story';
comment on column reader.stories.level is 'Which level of the JLPT it is for, from N5, the first, to N1';
comment on column reader.stories.text is 'The story, a paragraph a line';
comment on column reader.stories.characters is 'How long it is, without spaces';
grant select on reader.stories to reader_anon;
