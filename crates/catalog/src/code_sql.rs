//! The SQL that reads what may run code (see `code.rs`).

/// Functions that PostgreSQL ships and that are not harmless: those that are neither its own C code nor SQL (12 and 14
/// are these languages); volatile ones, but for a few that only make values; and those that see or set what a session is
/// in, run what a text or an OID names (to show a type or an expression runs what its type was made with), or look at a
/// session's own things; and what is said of a function besides: that it only asks for a setting, or only draws a number.
pub(crate) const DENIED: &str = "
    select p.oid, case p.proname when 'current_setting' then 'asks' when 'nextval' then 'draws' else '' end
    from pg_proc p
    where p.oid < 16384
      and (p.prolang not in (12, 14)
           or p.provolatile = 'v'
              and p.proname not in ('random', 'random_normal', 'clock_timestamp', 'timeofday',
                                    'gen_random_uuid', 'uuidv4', 'uuidv7', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until')
           or p.proname ~ '^(current_setting|set_config|setseed|pg_show_|pg_settings_|pg_listening_|pg_prepared_|pg_cursor|currval|lastval|pg_my_temp_|pg_is_other_temp_|pg_client_encoding|pg_event_trigger_|lo_|pg_advisory_|pg_try_advisory_)'
           or p.proname ~ '^((table|schema|database|cursor|query)_to_xml|ts_stat|ts_rewrite|ts_parse|ts_token_type|ts_debug|pg_input_|pg_get_|format_type|to_reg|fmgr_)'
           or p.proname ~ '^(domain|array|record|range|multirange)_(in|recv)$'
           or p.proname ~ 'tsquery|tsvector|^ts_'
              and (exists(select from pg_ts_template where oid >= 16384)
                   or exists(select from pg_ts_parser where oid >= 16384)))";

/// Functions of the database's own in SQL that may do no more than ask for settings (`code_text.rs`): whether they say that
/// they always answer the same, their bodies and the names of their arguments, but for keywords. The parameter holds all names that such a body may use: nothing of the
/// database's own has one that could be meant. Of an operator on a type of the database's own that may be where a string,
/// which has no type yet, a row, or a value is made one of that type without being asked. Defaults of arguments are in no tree.
pub(crate) const IN_SQL: &str = "
    with of_bodies as (
      select oid, typname from pg_type
      where oid < 16384 and (typname = any($1::text[]) or typname = 'name' or typtype = 'p')
    )
    select p.oid, p.oid::regprocedure::text, p.provolatile = 'i', p.prosrc,
           array(select name from unnest(p.proargnames) as name
                 where name not in (select word from pg_get_keywords() where catcode <> 'U'))
    from pg_proc p
    where p.oid >= 16384 and p.prolang = 14 and p.prokind = 'f' and not p.proretset and p.prosqlbody is null
      and not p.prosecdef and p.proconfig is null and p.prosupport = 0 and length(p.prosrc) < 2000
      and not exists(select from unnest(p.proargtypes::oid[] || p.prorettype) as t (oid) join pg_type using (oid)
                     where t.oid >= 16384 or typname <> all($1::text[]))
      and p.proallargtypes is null and p.pronargdefaults = 0
      and not exists(select from pg_proc where oid >= 16384 and proname = any($1::text[]))
      and not exists(select from pg_type where oid >= 16384 and typname = any($1::text[]))
      and not exists(
        select from pg_operator o
        where o.oid >= 16384 and o.oprname = any($1::text[])
          and (o.oprleft < 16384
               or o.oprright in (select oid from of_bodies)
                  and not exists(select from pg_operator s
                                 where s.oid < 16384 and s.oprname = o.oprname and s.oprright = o.oprright)
               or exists(select from pg_type t where t.oid in (o.oprleft, o.oprright) and t.oid >= 16384
                                                 and (t.typtype in ('c', 'd') or t.typcategory = 'S' or t.typispreferred))
               or exists(select from pg_cast c join of_bodies t on t.oid = c.castsource
                         where c.oid >= 16384 and c.casttarget in (o.oprleft, o.oprright) and c.castcontext = 'i'
                           -- of two texts PostgreSQL has these itself
                           and not (t.typname = 'text' and o.oprright >= 16384 and o.oprname in ('=', '<>', '||')))))
      and not exists(select from pg_cast where oid >= 16384 and castsource < 16384 and casttarget < 16384 and castfunc <> 0)";

/// What is done (`use`, `read`, `write`), of which type or relation, and the type or function that it uses, or 0 where it
/// runs code by itself; how relations hang together; and what bare names may mean.
///
/// `used` is what PostgreSQL notes of everything that it does not ship: functions, operators, index and sort orders,
/// access methods, text search, and types. Rules and triggers need no look into what they use: they count as code always.
pub(crate) const USES: &str = "
    with used as materialized (
      select distinct d.classid, d.objid,
             case when d.refclassid in ('pg_type'::regclass, 'pg_proc'::regclass) then d.refobjid else 0 end as used,
             d.refclassid = 'pg_proc'::regclass as is_function
      from pg_depend d
      where d.refobjid >= 16384
        and d.refclassid in ('pg_type'::regclass, 'pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass,
                             'pg_opfamily'::regclass, 'pg_am'::regclass, 'pg_cast'::regclass, 'pg_language'::regclass,
                             'pg_conversion'::regclass, 'pg_ts_config'::regclass, 'pg_ts_dict'::regclass,
                             'pg_ts_parser'::regclass, 'pg_ts_template'::regclass)
    )
    select 'use', u.objid, u.used, u.is_function from used u where u.classid = 'pg_type'::regclass
    union all
    select 'use', c.reltype, u.used, u.is_function
    from used u join pg_class c on c.oid = u.objid
    where u.classid = 'pg_class'::regclass and c.reltype <> 0 and u.used <> 0 and not u.is_function
    union all
    select 'read', coalesce(i.indrelid, u.objid), u.used, u.is_function
    from used u left join pg_index i on i.indexrelid = u.objid
    where u.classid = 'pg_class'::regclass
    union all
    select case w.ev_type when '1' then 'read' else 'write' end, w.ev_class, u.used, u.is_function
    from used u join pg_rewrite w on w.oid = u.objid join pg_class c on c.oid = w.ev_class
    where u.classid = 'pg_rewrite'::regclass and c.relkind <> 'm'
    union all
    select case a.attgenerated when 'v' then 'read' else 'write' end, e.adrelid, u.used, u.is_function
    from used u join pg_attrdef e on e.oid = u.objid
    join pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum
    where u.classid = 'pg_attrdef'::regclass
    union all
    select o.deed, o.oid, u.used, u.is_function
    from used u join pg_constraint c on c.oid = u.objid
    cross join lateral (values (case c.contype when 'f' then 'write' else 'read' end, c.conrelid),
                               ('write', c.confrelid), ('use', c.contypid)) as o (deed, oid)
    where u.classid = 'pg_constraint'::regclass and o.oid <> 0
    union all
    select 'read', s.stxrelid, u.used, u.is_function
    from used u join pg_statistic_ext s on s.oid = u.objid
    where u.classid = 'pg_statistic_ext'::regclass
    union all
    select 'use', t.oid, 0, false
    from pg_type t
    where t.oid >= 16384 and t.typtype in ('b', 'p')
      and t.typinput <> 'pg_catalog.array_in(cstring, oid, integer)'::regprocedure
    union all
    select 'use', c.castsource, 0, false
    from pg_cast c where c.castsource >= 16384 and c.casttarget < 16384 and c.castfunc <> 0
    union all
    select 'use', o.opcintype, 0, false from pg_opclass o where o.oid >= 16384 and o.opcdefault
    union all
    select 'read', c.oid, 0, false from pg_class c where c.relkind = 'f'
    union all
    select 'secured', c.oid, 0, false from pg_class c where c.relrowsecurity
    union all
    select 'read', p.polrelid, u.used, u.is_function
    from used u join pg_policy p on p.oid = u.objid
    where u.classid = 'pg_policy'::regclass
    union all
    select distinct 'policy', p.polrelid, d.refobjid, false
    from pg_policy p
    join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
    where d.refobjid <> p.polrelid
    union all
    select 'write', t.tgrelid, 0, false from pg_trigger t where not t.tgisinternal or t.tgfoid >= 16384
    union all
    select 'write', w.ev_class, 0, false from pg_rewrite w where w.ev_class >= 16384 and w.ev_type <> '1'
    union all
    select distinct 'view', w.ev_class, d.refobjid, false
    from pg_rewrite w join pg_class c on c.oid = w.ev_class
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    where w.ev_class >= 16384 and c.relkind = 'v' and d.refobjid <> w.ev_class
    union all
    select case when c.relispartition then 'partition' else 'child' end, i.inhparent, i.inhrelid, false
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relkind in ('r', 'p', 'f')
    union all
    select distinct case when c.confupdtype in ('c', 'n', 'd') or c.confdeltype in ('c', 'n', 'd')
                         then 'cascade' else 'key' end, c.confrelid, c.conrelid, false
    from pg_constraint c where c.contype = 'f'
    union all
    select 'aggregates', 0, 0, false
    where exists(select from pg_proc where oid >= 16384 and proname in ('sum', 'avg', 'count', 'max', 'min'))
       or exists(select from pg_type where oid >= 16384 and typname in ('sum', 'avg', 'count', 'max', 'min'))
    union all
    select 'casts', 0, 0, false
    where exists(select from pg_cast where oid >= 16384 and castsource < 16384 and casttarget < 16384 and castfunc <> 0)
    union all
    select 'text search', 0, 0, false
    where exists(select from pg_ts_template where oid >= 16384) or exists(select from pg_ts_parser where oid >= 16384)
    union all
    select 'everything', 0, 0, false
    where exists(select from pg_proc where oid < 16384 and prolang not in (12, 13, 14))
       or exists(select from pg_proc p join pg_proc s on s.proname = p.proname and s.pronamespace = p.pronamespace
                 where p.oid >= 16384 and s.oid < 16384)
       or exists(select from pg_conversion where oid >= 16384 and condefault)
       or exists(select from pg_cast where oid >= 16384 and castcontext = 'i'
                                       and castsource < 16384 and casttarget < 16384 and castfunc <> 0)
       or exists(select from pg_opclass where oid >= 16384 and opcdefault and opcintype < 16384
                                          and opcmethod in (select oid from pg_am where amname in ('btree', 'hash')))
       or exists(select from pg_amop where oid >= 16384 and amopfamily < 16384)
       or exists(select from pg_amproc where oid >= 16384 and amprocfamily < 16384)";

/// What is evaluated when something is done, as trees.
macro_rules! expressions {
    ($more:literal) => {
        concat!(
            "select 'write', e.adrelid, e.adbin::text from pg_attrdef e
             union all
             select case c.conrelid when 0 then 'use' else 'read' end, greatest(c.conrelid, c.contypid), c.conbin::text
             from pg_constraint c where c.oid >= 16384 and c.conbin is not null
             union all
             select 'read', i.indrelid, concat(i.indexprs::text, i.indpred::text)
             from pg_index i where i.indexprs is not null or i.indpred is not null
             union all
             select 'read', p.partrelid, p.partexprs::text from pg_partitioned_table p where p.partexprs is not null
             union all
             select 'read', p.polrelid, concat(p.polqual::text, p.polwithcheck::text) from pg_policy p
             union all
             select 'use', t.oid, t.typdefaultbin::text
             from pg_type t where t.oid >= 16384 and t.typdefaultbin is not null",
            $more
        )
    };
}

pub(crate) const EXPRESSIONS: &str = expressions!("");

/// From version 18 on, generated columns may be computed when they are read.
pub(crate) const EXPRESSIONS_18: &str = expressions!(
    "
     union all
     select 'read', e.adrelid, e.adbin::text
     from pg_attribute a join pg_attrdef e on e.adrelid = a.attrelid and e.adnum = a.attnum
     where a.attgenerated = 'v'"
);

/// Operators that PostgreSQL does not ship and whose names stand in the SQL of requests, each with the types that it takes
/// on its left side: its own, those that become that without being asked, elements of arrays among them; 0 for all
/// types where many become it. The last column tells whether PostgreSQL ships one that takes just this type.
pub(crate) const OPERATORS: &str = "
    with own as (
      select distinct o.oprname, t.oid, e.oid as element,
             t.typtype in ('p', 'c', 'd') or coalesce(e.typtype in ('p', 'c', 'd'), false) as takes_many
      from pg_operator o join pg_type t on t.oid = o.oprleft
      left join pg_type e on e.oid = t.typelem and t.typinput = 'pg_catalog.array_in(cstring, oid, integer)'::regprocedure
      where o.oid >= 16384
        and o.oprname in ('=', '<>', '<', '<=', '>', '>=', '~~', '!~~', '~~*', '!~~*', '~', '!~', '~*', '!~*', '@>', '<@',
                          '&&', '<<', '>>', '&<', '&>', '-|-', '@@', '->', '->>', '#>', '#>>', '||', '+', '-')
    ), operands as (
      select oprname, case when takes_many then 0 else oid end as type from own
      union select o.oprname, c.castsource from own o join pg_cast c on c.casttarget = o.oid and c.castcontext = 'i'
      union select o.oprname, s.typarray
            from own o join pg_cast c on c.casttarget = o.element and c.castcontext = 'i'
            join pg_type s on s.oid = c.castsource
    )
    select o.oprname::text, o.type::oid,
           exists(select from pg_operator s
                  where s.oid < 16384 and s.oprname = o.oprname and s.oprleft = o.type and s.oprright = o.type)
    from operands o";
