\set ON_ERROR_STOP on
-- The large tables' rows in no order: `psql -f shuffled.sql` after ../2026-11-22-never-analysed/big.sql, then never-analysed.sql with schema=shuffled.
create schema shuffled;
create table shuffled.album as select * from big.album order by md5(album_id::text);
alter table shuffled.album add primary key (album_id);
create table shuffled.track as select * from big.track order by md5(track_id::text);
alter table shuffled.track add primary key (track_id);
create index on shuffled.track (genre_id);
grant usage on schema shuffled to listener;
grant select on all tables in schema shuffled to listener;
