create schema api;

-- Roles belong to all databases of a server, so that these may be there already.
do $$ begin create role visitor nologin; exception when duplicate_object or unique_violation then null; end $$;
do $$ begin create role pilot nologin; exception when duplicate_object or unique_violation then null; end $$;
grant usage on schema api to visitor, pilot;

create table api.flights (
  id int generated always as identity primary key,
  site text not null,
  top_m int not null,
  heights int[] not null default '{}',
  pilot text not null default current_setting('request.jwt.claims', true)::json ->> 'sub',
  is_public boolean not null default false
);
grant select on api.flights to visitor, pilot;
grant insert (site, top_m, heights) on api.flights to pilot;

-- Everybody sees what is public, and a pilot what is their own.
alter table api.flights enable row level security;
create policy seen on api.flights for select
  using (is_public or pilot = current_setting('request.jwt.claims', true)::json ->> 'sub');
create policy added on api.flights for insert
  with check (pilot = current_setting('request.jwt.claims', true)::json ->> 'sub');

insert into api.flights (site, top_m, heights, pilot, is_public) values
  ('Fiesch & Bettmeralp', 3400, '{2200,3100,2600,3400}', 'ben', true),
  ('Bassano', 1700, '{1300,1700,900}', 'ben', false);
