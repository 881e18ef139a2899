-- What a bulk write costs PostgreSQL by each set-based statement, where rows are to be returned or conflicts resolved, so that COPY alone
-- cannot do it. Run with psql on an empty database: 50,000 rows of 15 columns, several times each.
\set QUIET on
create table wide (id int, a text, b text, c int, d int, e numeric, f numeric, g boolean, h boolean, i date, j timestamptz,
  k double precision, l text, m text, n text);
create table source as select i as id, 'name ' || i as a, 'some longer text that is like what people write'::text as b, i as c, i % 7 as d,
  i + 0.25 as e, 0.001 as f, true as g, false as h, date '2026-05-01' as i, timestamptz '2026-05-01 10:00' as j, i + 0.5::float8 as k,
  'x'::text as l, null::text as m, 'last'::text as n from generate_series(1, 50000) i;
select json_agg(source)::text as document from source \gset
select array_agg(id)::text as ids, array_agg(a)::text as aa, array_agg(b)::text as bb, array_agg(c)::text as cc, array_agg(d)::text as dd,
  array_agg(e)::text as ee, array_agg(f)::text as ff, array_agg(g)::text as gg, array_agg(h)::text as hh, array_agg(i)::text as ii,
  array_agg(j)::text as jj, array_agg(k)::text as kk, array_agg(l)::text as ll, array_agg(m)::text as mm, array_agg(n)::text as nn from source \gset
\copy source to 'bulk_source.copy'
\timing on
\echo == json_to_recordset
\o /dev/null
insert into wide select * from json_to_recordset(:'document') as x(id int, a text, b text, c int, d int, e numeric, f numeric, g boolean, h boolean, i date, j timestamptz, k double precision, l text, m text, n text) returning id;
insert into wide select * from json_to_recordset(:'document') as x(id int, a text, b text, c int, d int, e numeric, f numeric, g boolean, h boolean, i date, j timestamptz, k double precision, l text, m text, n text) returning id;
insert into wide select * from json_to_recordset(:'document') as x(id int, a text, b text, c int, d int, e numeric, f numeric, g boolean, h boolean, i date, j timestamptz, k double precision, l text, m text, n text) returning id;
\echo == unnest
insert into wide select * from unnest(:'ids'::int[], :'aa'::text[], :'bb'::text[], :'cc'::int[], :'dd'::int[], :'ee'::numeric[], :'ff'::numeric[], :'gg'::boolean[], :'hh'::boolean[], :'ii'::date[], :'jj'::timestamptz[], :'kk'::float8[], :'ll'::text[], :'mm'::text[], :'nn'::text[]) returning id;
insert into wide select * from unnest(:'ids'::int[], :'aa'::text[], :'bb'::text[], :'cc'::int[], :'dd'::int[], :'ee'::numeric[], :'ff'::numeric[], :'gg'::boolean[], :'hh'::boolean[], :'ii'::date[], :'jj'::timestamptz[], :'kk'::float8[], :'ll'::text[], :'mm'::text[], :'nn'::text[]) returning id;
insert into wide select * from unnest(:'ids'::int[], :'aa'::text[], :'bb'::text[], :'cc'::int[], :'dd'::int[], :'ee'::numeric[], :'ff'::numeric[], :'gg'::boolean[], :'hh'::boolean[], :'ii'::date[], :'jj'::timestamptz[], :'kk'::float8[], :'ll'::text[], :'mm'::text[], :'nn'::text[]) returning id;
\echo == COPY alone
\copy wide from 'bulk_source.copy'
\copy wide from 'bulk_source.copy'
\copy wide from 'bulk_source.copy'
\echo == COPY to a temporary table, then INSERT
begin; create temporary table staged (like wide) on commit drop;
\copy staged from 'bulk_source.copy'
insert into wide select * from staged returning id;
commit;
begin; create temporary table staged (like wide) on commit drop;
\copy staged from 'bulk_source.copy'
insert into wide select * from staged returning id;
commit;
