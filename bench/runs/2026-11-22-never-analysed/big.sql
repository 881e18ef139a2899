\set ON_ERROR_STOP on
-- A larger music store: `psql -f big.sql`, then the same with `s/\bbig\b/bigraw/g`, `vacuum`, `analyze`, and never-analysed.sql.
create schema big;
create table big.artist (artist_id int primary key, name varchar(120));
create table big.album (album_id int primary key, title varchar(160) not null, artist_id int not null references big.artist);
create table big.genre (genre_id int primary key, name varchar(120));
create table big.track (track_id int primary key, name varchar(200) not null, album_id int references big.album,
  genre_id int references big.genre, composer varchar(220), milliseconds int not null, unit_price numeric(10,2) not null);
create table big.playlist (playlist_id int primary key, name varchar(120));
create table big.playlist_track (playlist_id int references big.playlist, track_id int references big.track, primary key (playlist_id, track_id));
insert into big.artist select i, 'artist ' || md5(i::text) from generate_series(1,5000) i;
insert into big.album select i, 'album ' || md5(i::text), 1 + abs(hashint4(i)) % 5000 from generate_series(1,50000) i;
insert into big.genre select i, 'genre ' || i from generate_series(1,25) i;
insert into big.track select i, 'track ' || md5(i::text), 1 + (i-1)/10, 1 + abs(hashint4(i/10)) % 25, case when i % 4 > 0 then md5((i/3)::text) end, 120000 + abs(hashint4(i)) % 300000, 0.99 from generate_series(1,500000) i;
insert into big.playlist select i, 'list ' || i from generate_series(1,2000) i;
insert into big.playlist_track select distinct 1 + abs(hashint4(i)) % 2000, 1 + abs(hashint4(i+7777777)) % 500000 from generate_series(1,100000) i;
create index on big.album (artist_id);
create index on big.track (album_id);
create index on big.track (genre_id);
create index on big.playlist_track (track_id);
create index on big.playlist (name);
grant usage on schema big to listener; grant select on all tables in schema big to listener;
