-- A music store of Chinook's size, generated. The same rows on every machine.
create schema music;

create function pg_temp.words(seed int, low int, high int) returns text language sql immutable as $$
  select initcap(string_agg((array['river', 'stone', 'light', 'over', 'the', 'hill', 'night', 'blue', 'heart', 'of',
    'fire', 'winter', 'song', 'for', 'nobody', 'slow', 'train', 'home', 'again', 'glass', 'moon', 'and', 'salt',
    'road', 'quiet', 'storm', 'before', 'rain', 'golden', 'hours', 'last', 'dance'])
    [1 + abs(hashint4(seed * 31 + i)) % 32], ' ' order by i))
  from generate_series(1, low + abs(hashint4(seed)) % (high - low + 1)) i
$$;

create table music.artist (artist_id int primary key, name varchar(120));
create table music.album (
  album_id int primary key, title varchar(160) not null, artist_id int not null references music.artist);
create table music.media_type (media_type_id int primary key, name varchar(120));
create table music.genre (genre_id int primary key, name varchar(120));
create table music.track (
  track_id int primary key, name varchar(200) not null, album_id int references music.album,
  media_type_id int not null references music.media_type, genre_id int references music.genre,
  composer varchar(220), milliseconds int not null, bytes int, unit_price numeric(10, 2) not null);
create table music.playlist (playlist_id int primary key, name varchar(120));
create table music.playlist_track (
  playlist_id int references music.playlist, track_id int references music.track,
  primary key (playlist_id, track_id));
create table music.employee (
  employee_id int primary key, last_name varchar(20) not null, first_name varchar(20) not null, title varchar(30),
  reports_to int references music.employee, hire_date timestamp);
create table music.customer (
  customer_id int primary key, first_name varchar(40) not null, last_name varchar(20) not null, country varchar(40),
  email varchar(60) not null, support_rep_id int references music.employee);
create table music.invoice (
  invoice_id int primary key, customer_id int not null references music.customer, invoice_date timestamp not null,
  total numeric(10, 2) not null);
create table music.invoice_line (
  invoice_line_id int primary key, invoice_id int not null references music.invoice,
  track_id int not null references music.track, unit_price numeric(10, 2) not null, quantity int not null);
create table music.listen (
  id int primary key, customer_id int not null, track_id int not null, device text not null,
  at timestamptz not null, seconds real not null, paid boolean not null);

insert into music.artist select i, pg_temp.words(i, 1, 3) from generate_series(1, 275) i;
insert into music.album select i, pg_temp.words(i + 1000, 2, 6), 1 + abs(hashint4(i)) % 275 from generate_series(1, 347) i;
insert into music.media_type select i, (array['MPEG audio file', 'Protected AAC audio file',
  'Protected MPEG-4 video file', 'Purchased AAC audio file', 'AAC audio file'])[i] from generate_series(1, 5) i;
insert into music.genre select i, pg_temp.words(i + 2000, 1, 2) from generate_series(1, 25) i;
insert into music.track
  select i, pg_temp.words(i + 3000, 1, 6), 1 + (i - 1) * 347 / 3503, 1 + abs(hashint4(i)) % 5,
         1 + abs(hashint4(i / 10)) % 25,
         case when i % 4 > 0 then pg_temp.words(i + 9000, 1, 4) || ', ' || pg_temp.words(i / 3 + 20000, 1, 3) end,
         120000 + abs(hashint4(i)) % 300000, 3000000 + abs(hashint4(i + 1)) % 9000000,
         case when i % 16 = 0 then 1.99 else 0.99 end
  from generate_series(1, 3503) i;
insert into music.playlist select i, pg_temp.words(i + 4000, 1, 3) from generate_series(1, 18) i;
insert into music.playlist_track
  select p, t from generate_series(1, 18) p, generate_series(1, 3503) t where abs(hashint4(t * 18 + p)) % 1000 < 138;
insert into music.employee
  select i, pg_temp.words(i + 5000, 1, 1), pg_temp.words(i + 5100, 1, 1), 'Sales support',
         nullif(i / 3, 0), timestamp '2002-04-01' + i * interval '40 days' from generate_series(1, 8) i;
insert into music.customer
  select i, pg_temp.words(i + 6000, 1, 1), pg_temp.words(i + 6100, 1, 1),
         (array['Brazil', 'Germany', 'Canada', 'Norway', 'India', 'USA'])[1 + i % 6], 'customer' || i || '@example.com',
         3 + i % 3 from generate_series(1, 59) i;
insert into music.invoice
  select i, 1 + i % 59, timestamp '2021-01-01' + i * interval '106 hours', 0.99 * (1 + i % 14) from generate_series(1, 412) i;
insert into music.invoice_line
  select i, 1 + (i - 1) * 412 / 2240, 1 + abs(hashint4(i)) % 3503, 0.99, 1 from generate_series(1, 2240) i;
insert into music.listen
  select i, 1 + i % 59, 1 + abs(hashint4(i)) % 3503, (array['phone', 'car', 'kitchen radio'])[1 + i % 3],
         timestamptz '2024-01-01 00:00:00+00' + i * interval '13.37 seconds', (i % 30000) / 100.0, i % 7 = 0
  from generate_series(1, 2000000) i;

create index on music.album (artist_id);
create index on music.track (album_id);
create index on music.track (genre_id);
create index on music.track (media_type_id);
create index on music.playlist_track (track_id);
create index on music.invoice (customer_id);
create index on music.invoice_line (invoice_id);
create index on music.invoice_line (track_id);

create function music.listens(n int) returns setof music.listen language sql stable
  as $$ select * from music.listen where id <= n $$;

create role gate login noinherit password 'bench';
create role listener nologin;
grant listener to gate;
grant usage on schema music to listener, gate;
grant select on all tables in schema music to listener, gate;
vacuum analyze;
