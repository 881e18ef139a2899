-- What is in this schema is served, to those who are granted it.
create schema api;

-- Whoever has not signed in. Roles belong to all databases of a server, so that this one may be there already.
do $$ begin
  create role visitor nologin;
exception when duplicate_object or unique_violation then null;
end $$;
-- Whoever serves must be able to become it, as a superuser always is.
do $$ begin
  if not (select rolsuper from pg_roles where rolname = current_user) then
    grant visitor to current_user;
  end if;
end $$;
grant usage on schema api to visitor;

create table api.books (
  id int generated always as identity primary key,
  title text not null check (title <> ''),
  author text not null,
  year int not null,
  about text
);
comment on table api.books is 'Books that somebody thinks others should read';
comment on column api.books.about is 'What it is about, in a sentence or two';

grant select on api.books to visitor;

insert into api.books (title, author, year, about) values
  ('Frankenstein', 'Mary Shelley', 1818, 'A student makes a human being, and runs away from it.'),
  ('Middlemarch', 'George Eliot', 1872, 'A town, its marriages, and what became of good intentions.'),
  ('Three Men in a Boat', 'Jerome K. Jerome', 1889, 'Up the Thames for a rest, with a dog and a tin of pineapple.');
