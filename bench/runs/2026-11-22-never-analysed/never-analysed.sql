-- Makes PostgreSQL forget what ANALYZE and VACUUM have found out of a schema's tables: `psql -v schema=bigraw -f never-analysed.sql`,
-- as a superuser, with autovacuum off.
update pg_class set reltuples = -1, relpages = 0, relallvisible = 0 where relnamespace = :'schema'::regnamespace and relkind = 'r';
delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = :'schema'::regnamespace);
