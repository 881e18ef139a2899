//! The SQL that reads the system catalogs.

use crate::code_sql;

/// Settings of the roles that the connecting role can assume, but only those that a request may set: of context `user`,
/// and from version 15 on those that were granted, to the connecting role or to the role itself. A setting for this
/// database precedes one for all databases. The last column says whether only the role may set it.
macro_rules! role_settings {
    ($ours:literal, $the_roles:literal) => {
        concat!(
            "select distinct on (r.rolname, p.name) r.rolname, p.name, substr(c.setting, strpos(c.setting, '=') + 1), not (",
            $ours,
            ")
             from pg_roles r
             join pg_db_role_setting s on s.setrole = r.oid
             cross join lateral unnest(s.setconfig) as c (setting)
             join pg_settings p on p.name = split_part(c.setting, '=', 1)
             where r.rolname <> session_user and pg_has_role(session_user, r.oid, 'member')
               and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
               and (",
            $ours,
            " or ",
            $the_roles,
            ") order by r.rolname, p.name, s.setdatabase desc"
        )
    };
}

/// The types that functions take or return, and what domains and arrays among them are made of.
macro_rules! used_types {
    () => {
        "with direct as (
           select distinct u.oid
           from pg_proc p
           cross join lateral unnest(p.proargtypes::oid[] || p.prorettype || coalesce(p.proallargtypes, '{}')) as u (oid)
           where p.pronamespace <> 'pg_catalog'::regnamespace
         )
         select oid from direct
         union select t.typelem from direct join pg_type t using (oid) where t.typelem <> 0
         union select t.typbasetype from direct join pg_type t using (oid) where t.typbasetype <> 0"
    };
}

/// One query of the load. Each is set-based: its cost grows with the rows it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Schemas that exist, of those that are to be read.
    Schemas,
    /// Types.
    Types,
    /// Attributes of composite types.
    Attributes,
    /// Labels of enums.
    Labels,
    /// Relations of the exposed schemas.
    Relations,
    /// Columns of the exposed schemas' relations.
    Columns,
    /// The queries of views.
    Views,
    /// Primary, unique and foreign keys, of all schemas: a view may stand for a table of any.
    Constraints,
    /// Columns by which rows are found without reading them all.
    Indexes,
    /// Functions of the exposed schemas and of the extra search path.
    Functions,
    /// Aggregates that make a media type of rows.
    MediaHandlers,
    /// Casts that say how the values of a domain travel.
    Representations,
    /// Session settings, and what the database can see of them.
    Session,
    /// Settings of the roles that requests may run as.
    RoleSettings,
    /// Functions that PostgreSQL ships and that read or change a session's state, or run what is not theirs.
    Denied,
    /// Functions in SQL that may do no more than ask for settings.
    InSql,
    /// What is done when types and relations are used, read or written.
    Uses,
    /// What is evaluated when types and relations are used, read or written.
    Expressions,
    /// Operators that PostgreSQL does not ship.
    Operators,
}

impl Part {
    /// All parts, in the order in which they must be loaded.
    pub const ALL: [Self; 19] = [
        Self::Schemas,
        Self::Types,
        Self::Attributes,
        Self::Labels,
        Self::Relations,
        Self::Columns,
        // trees are searched for these as they come
        Self::Denied,
        Self::InSql,
        Self::Views,
        Self::Constraints,
        Self::Indexes,
        Self::Functions,
        Self::MediaHandlers,
        Self::Representations,
        Self::Session,
        Self::RoleSettings,
        Self::Uses,
        Self::Expressions,
        Self::Operators,
    ];

    /// The statement for a version of PostgreSQL.
    pub(crate) fn sql(self, version_num: u32) -> &'static str {
        match self {
            Self::Schemas => "select n.nspname from pg_namespace n where n.nspname = any($1::text[])",
            // Row types of relations are left out, unless a function takes or returns them: there are as many as relations.
            Self::Types => {
                concat!(
                    "with used as materialized (",
                    used_types!(),
                    ")
                 select t.oid, n.nspname, t.typname, t.typtype::text, t.typbasetype,
                        case when t.typsubscript = 'array_subscript_handler'::regproc and t.typlen = -1
                                  and t.typname not in ('int2vector', 'oidvector')
                             then t.typelem else 0::oid end, format_type(t.oid, null)
                 from pg_type t join pg_namespace n on n.oid = t.typnamespace
                 left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
                 left join pg_class c on c.oid = coalesce(nullif(t.typrelid, 0), e.typrelid)
                 where (t.typtype <> 'p' or t.typname in ('void', 'record'))
                   and (c.oid is null or c.relkind = 'c' or t.oid in (select oid from used))"
                )
            }
            Self::Attributes => {
                concat!(
                    "with used as materialized (",
                    used_types!(),
                    ")
                 select c.reltype, a.attname, a.atttypid
                 from pg_attribute a join pg_class c on c.oid = a.attrelid
                 where (c.relkind = 'c' or c.reltype in (select oid from used)) and a.attnum > 0 and not a.attisdropped
                 order by c.reltype, a.attnum"
                )
            }
            Self::Labels => "select enumtypid, enumlabel from pg_enum order by enumtypid, enumsortorder",
            // How large a relation is that was never analysed is asked of its files, and what can be written of views of
            // themselves and of the views that they read; both wait for who has locked them: what is locked stays unknown,
            // and so does how large is what is still empty and will not stay so. Who may not read a table is not told what
            // ANALYZE found: of one that an index or VACUUM has counted it is clear that it never ran where all of the rows came
            // within the memory of the statistics of use, and it did not. These are lost in a crash and not kept on a standby.
            Self::Relations => {
                "with recursive locked as materialized (
                   select l.relation from pg_locks l
                   where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and l.pid <> pg_backend_pid()
                     and l.database = (select d.oid from pg_database d where d.datname = current_database())
                 ), waiting (oid) as (
                   select relation from locked
                   union
                   select w.ev_class from waiting
                   join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = waiting.oid
                                       and d.classid = 'pg_rewrite'::regclass
                   join pg_rewrite w on w.oid = d.objid
                 )
                 select c.oid, c.reltype, n.nspname, c.relname, c.relkind::text, d.description,
                        case when c.relkind in ('r', 'p') then 28
                             when c.relkind = 'm' then 0
                             -- a wrapper without a handler cannot be asked
                             when c.relkind = 'f' and not exists(
                               select from pg_foreign_table f join pg_foreign_server s on s.oid = f.ftserver
                               join pg_foreign_data_wrapper w on w.oid = s.srvfdw
                               where f.ftrelid = c.oid and w.fdwhandler <> 0) then 0
                             when c.oid in (select oid from waiting) then null
                             else pg_relation_is_updatable(c.oid, true) end,
                        case when c.relkind in ('r', 'm') and (c.reltuples >= 0 or files.pages > 0) then
                             least(coalesce(files.pages, c.relpages::int8)
                                   + coalesce(beside.pages, s.relpages::int8, 0), 2147483647)::int end,
                        c.relkind not in ('r', 'm')
                        or c.reltuples >= 0
                           and (pg_stat_get_last_analyze_time(c.oid) is not null
                                or pg_stat_get_last_autoanalyze_time(c.oid) is not null
                                or pg_stat_get_mod_since_analyze(c.oid) < greatest(c.reltuples, 1)),
                        c.relrowsecurity, c.relhasrules
                 from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 left join pg_description d on d.objoid = c.oid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass
                 left join lateral (
                   select pg_relation_size(c.oid) / current_setting('block_size')::int as pages
                   where c.reltuples < 0 and c.relkind in ('r', 'm') and c.oid not in (select relation from locked)
                 ) as files on true
                 -- where values are kept that are too large for their rows
                 left join pg_class s on s.oid = c.reltoastrelid
                 left join lateral (
                   select pg_relation_size(s.oid) / current_setting('block_size')::int as pages
                   where s.reltuples < 0
                     and c.oid not in (select relation from locked) and s.oid not in (select relation from locked)
                 ) as beside on true
                 where n.nspname = any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
                 order by n.nspname, c.relname"
            }
            // With a relation's name, expressions are shown only once nobody has locked it. What a column is computed from is of
            // no use to anybody, and other defaults name no columns.
            Self::Columns => {
                "select a.attrelid, a.attnum, a.attname, a.atttypid, a.attnotnull or t.typnotnull,
                        -- what inherits from a table may do without the constraint, and what is elsewhere may not keep it
                        a.attnotnull and (c.relkind = 'p' or c.relkind = 'r' and not c.relhassubclass),
                        case when a.attgenerated <> '' then null
                             when a.atthasdef then pg_get_expr(e.adbin, 0)
                             else pg_get_expr(t.typdefaultbin, 0) end,
                        a.attgenerated <> '' or a.attidentity = 'a', a.attidentity <> '',
                        case when t.typtype = 'd' then t.typtypmod else a.atttypmod end,
                        case when a.atttypmod >= 0 and t.typnamespace <> 'pg_catalog'::regnamespace
                             then format_type(a.atttypid, a.atttypmod) end,
                        d.description
                 from pg_attribute a
                 join pg_class c on c.oid = a.attrelid
                 join pg_namespace n on n.oid = c.relnamespace
                 join pg_type t on t.oid = a.atttypid
                 left join pg_attrdef e on a.atthasdef and e.adrelid = a.attrelid and e.adnum = a.attnum
                 left join pg_description d
                        on d.objoid = a.attrelid and d.objsubid = a.attnum and d.classoid = 'pg_class'::regclass
                 where n.nspname = any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f')
                   and not c.relispartition and a.attnum > 0 and not a.attisdropped
                 order by a.attrelid, a.attnum"
            }
            // A view may stand on one of a schema that is not exposed. Materialized views are read like tables.
            Self::Views => {
                "select c.oid, n.nspname = any($1::text[]), c.relkind = 'v', r.ev_action::text
                 from pg_rewrite r join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
                 where r.rulename = '_RETURN' and (c.relkind = 'v' and c.oid >= 16384
                                                   or c.relkind in ('v', 'm') and n.nspname = any($1::text[]))"
            }
            // What partitions inherit has a parent and is left out.
            Self::Constraints => {
                "select contype::text, conname, conrelid, confrelid,
                        array_to_string(conkey, ','), array_to_string(confkey, ',')
                 from pg_constraint
                 where contype in ('p', 'u', 'f') and conrelid <> 0 and (contype <> 'f' or conparentid = 0)
                   and connamespace <> 'pg_catalog'::regnamespace
                 order by contype = 'f', conrelid, conname"
            }
            Self::Indexes => {
                "select i.indrelid, i.indkey[0]
                 from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = any($1::text[]) and i.indisvalid and i.indpred is null and i.indkey[0] > 0"
            }
            Self::Functions => {
                "select n.nspname, p.proname, p.prorettype, p.proretset, p.provolatile::text, p.pronargs::int4,
                        p.pronargdefaults::int4, p.provariadic <> 0, array_to_string(p.proargtypes, ','),
                        p.proargnames, array_to_string(p.proargmodes, ','), array_to_string(p.proallargtypes, ','),
                        p.prorows = 1, p.proconfig, d.description
                 from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                 left join pg_description d on d.objoid = p.oid and d.objsubid = 0 and d.classoid = 'pg_proc'::regclass
                 where n.nspname = any($1::text[]) and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
                   and p.prorettype <> 'event_trigger'::regtype
                 order by n.nspname, p.proname, p.oid"
            }
            Self::MediaHandlers => {
                "select p.prorettype, n.nspname, p.proname, p.proargtypes[0]
                 from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_type t on t.oid = p.prorettype
                 where n.nspname = any($1::text[]) and p.prokind = 'a' and p.pronargs = 1 and t.typtype = 'd'
                   and (t.typname ~ '^[A-Za-z0-9.-]+/[A-Za-z0-9.+-]+$' or t.typname = '*/*')
                 order by n.nspname, p.proname"
            }
            Self::Representations => {
                "select c.castsource, c.casttarget, n.nspname, p.proname
                 from pg_cast c join pg_proc p on p.oid = c.castfunc join pg_namespace n on n.oid = p.pronamespace
                 join pg_type s on s.oid = c.castsource join pg_type t on t.oid = c.casttarget
                 where c.castcontext = 'i' and c.castmethod = 'f' and has_function_privilege(c.castfunc, 'execute')
                   and (s.typtype = 'd' and t.oid = 'json'::regtype
                        or t.typtype = 'd' and s.oid in ('json'::regtype, 'text'::regtype))"
            }
            // Whether code sets `response.*` is read from its text, where it is SQL or PL/pgSQL: it decides only whether a
            // response that runs code waits for that. 114 … 46 is the text "response." as trees hold it.
            Self::Session => {
                // Where a role must be allowed to be taken, that shows in the JSON of a membership from version 16 on.
                "with recursive mine as (
                   select oid, rolsuper from pg_roles where rolname = session_user
                   union select m.roleid, false from mine join pg_auth_members m on m.member = mine.oid
                         and coalesce((to_jsonb(m) ->> 'set_option')::bool, true)
                 ), bodies as (
                   select l.lanname, p.prosrc, p.prosqlbody::text as tree
                   from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
                   where l.lanname not in ('internal', 'c') and n.nspname not in ('pg_catalog', 'information_schema')
                 ), trees as (
                   select tree from bodies where tree is not null
                   union all select r.ev_action::text from pg_rewrite r where r.ev_class >= 16384
                   union all select adbin::text from pg_attrdef
                   union all select polqual::text from pg_policy
                   union all select polwithcheck::text from pg_policy
                   union all select conbin::text from pg_constraint where conbin is not null
                   union all select tgqual::text from pg_trigger where tgqual is not null
                   union all select indexprs::text from pg_index where indexprs is not null
                   union all select indpred::text from pg_index where indpred is not null
                 )
                 select current_setting('server_version_num')::int4, current_setting('TimeZone'),
                        current_setting('IntervalStyle') = 'postgres', current_setting('bytea_output') = 'hex',
                        current_setting('extra_float_digits')::int4 > 0,
                        exists(select from pg_settings where name = 'jit' and setting = 'on' and source = 'default'),
                        (select coalesce(md5(string_agg(r.oid || ' ' || r.rolname, ',' order by r.oid)), '') from pg_roles r
                         where r.oid in (select oid from mine) or (select bool_or(rolsuper) from mine)),
                        exists(select from bodies where lanname not in ('sql', 'plpgsql') or prosrc ~* '(response\\.|\\mexecute\\M)')
                          or exists(select from trees where tree ~ ' 114 101 115 112 111 110 115 101 46 ')"
            }
            Self::RoleSettings if version_num >= 150_000 => role_settings!(
                "p.context = 'user'
                 or (p.context = 'superuser' and has_parameter_privilege(session_user, p.name, 'set'))",
                "(p.context = 'superuser' and has_parameter_privilege(r.oid, p.name, 'set'))"
            ),
            Self::RoleSettings => role_settings!("p.context = 'user'", "false"),
            Self::Denied => code_sql::DENIED,
            Self::InSql => code_sql::IN_SQL,
            Self::Uses => code_sql::USES,
            Self::Expressions if version_num >= 180_000 => code_sql::EXPRESSIONS_18,
            Self::Expressions => code_sql::EXPRESSIONS,
            Self::Operators => code_sql::OPERATORS,
        }
    }
}
