//! The SQL that reads the system catalogs, and the snapshot made from its rows.

use crate::catalog::{Catalog, RelationId};
use crate::function::{Function, Parameter, Volatility};
use crate::relation::{Column, Relation, RelationKind};
use crate::relationship::{ForeignKey, derive};
use crate::types::{Attribute, Type, TypeKind};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use thalweg_rows::oid::Oid;
use thalweg_rows::{Columns, Cursor, Demand, Malformed, RowSink, RowView};

/// Settings of roles, but only those that a request may set: of context `user`, and from version 15 on those that were
/// granted.
macro_rules! role_settings {
    ($may_be_set:literal) => {
        concat!(
            "select r.rolname, split_part(s.setting, '=', 1), substr(s.setting, strpos(s.setting, '=') + 1)
             from pg_auth_members m
             join pg_roles r on r.oid = m.roleid
             join pg_roles me on me.oid = m.member and me.rolname = session_user
             cross join lateral unnest(r.rolconfig) as s (setting)
             join pg_settings p on p.name = split_part(s.setting, '=', 1)
             where ",
            $may_be_set,
            " order by 1, 2"
        )
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
    /// Primary, unique and foreign keys.
    Constraints,
    /// Functions of the exposed schemas and of the extra search path.
    Functions,
    /// Session settings, and what the database can see of them.
    Session,
    /// Settings of the roles that requests may run as.
    RoleSettings,
}

impl Part {
    /// All parts, in the order in which they must be loaded.
    pub const ALL: [Self; 10] = [
        Self::Schemas,
        Self::Types,
        Self::Attributes,
        Self::Labels,
        Self::Relations,
        Self::Columns,
        Self::Constraints,
        Self::Functions,
        Self::Session,
        Self::RoleSettings,
    ];

    /// The statement for a version of PostgreSQL.
    fn sql(self, version_num: u32) -> &'static str {
        match self {
            Self::Schemas => "select n.nspname from pg_namespace n where n.nspname = any($1::text[])",
            // Row types of relations are left out: there are as many as relations.
            Self::Types => {
                "select t.oid, n.nspname, t.typname, t.typtype::text, t.typbasetype,
                        case when t.typsubscript = 'array_subscript_handler'::regproc and t.typlen = -1
                                  and t.typname not in ('int2vector', 'oidvector')
                             then t.typelem else 0::oid end
                 from pg_type t join pg_namespace n on n.oid = t.typnamespace
                 left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
                 left join pg_class c on c.oid = coalesce(nullif(t.typrelid, 0), e.typrelid)
                 where t.typtype <> 'p' and (c.oid is null or c.relkind = 'c')"
            }
            Self::Attributes => {
                "select c.reltype, a.attname, a.atttypid
                 from pg_attribute a join pg_class c on c.oid = a.attrelid
                 where c.relkind = 'c' and a.attnum > 0 and not a.attisdropped
                 order by c.reltype, a.attnum"
            }
            Self::Labels => "select enumtypid, enumlabel from pg_enum order by enumtypid, enumsortorder",
            Self::Relations => {
                "select c.oid, c.reltype, n.nspname, c.relname, c.relkind::text, d.description,
                        case when c.relkind in ('r', 'p') then 28
                             when c.relkind = 'm' then 0
                             else pg_relation_is_updatable(c.oid, true) end,
                        case when c.reltuples >= 0 and c.relkind in ('r', 'm') then c.relpages end
                 from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 left join pg_description d on d.objoid = c.oid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass
                 where n.nspname = any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
                 order by n.nspname, c.relname"
            }
            Self::Columns => {
                "select a.attrelid, a.attnum, a.attname, a.atttypid, a.attnotnull or t.typnotnull,
                        case when a.atthasdef then pg_get_expr(e.adbin, e.adrelid) end,
                        a.attgenerated <> '' or a.attidentity = 'a', a.attidentity <> '', d.description
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
            // What partitions inherit has a parent and is left out.
            Self::Constraints => {
                "select contype::text, conname, conrelid, confrelid,
                        array_to_string(conkey, ','), array_to_string(confkey, ',')
                 from pg_constraint where contype in ('p', 'u', 'f') and (contype <> 'f' or conparentid = 0)
                 order by contype = 'f', conrelid, conname"
            }
            Self::Functions => {
                "select n.nspname, p.proname, p.prorettype, p.proretset, p.provolatile::text, p.pronargs::int4,
                        p.pronargdefaults::int4, p.provariadic <> 0, array_to_string(p.proargtypes, ','),
                        p.proargnames, array_to_string(p.proargmodes, ','), d.description
                 from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                 left join pg_description d on d.objoid = p.oid and d.objsubid = 0 and d.classoid = 'pg_proc'::regclass
                 where n.nspname = any($1::text[]) and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
                   and p.prorettype <> 'event_trigger'::regtype
                 order by n.nspname, p.proname, p.oid"
            }
            // 2077, 3294: current_setting; 2084: pg_show_all_settings; 2078: set_config. Expressions are
            // stored as trees that name functions by these OIDs, function bodies as text or as such trees.
            Self::Session => {
                "with bodies as (
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
                        exists(select from bodies where lanname not in ('sql', 'plpgsql') or prosrc ~*
                               '(current_setting|pg_settings|show_all_settings|\\mshow\\M|\\mexecute\\M)')
                          or exists(select from trees where tree ~ ':funcid (2077|3294|2084|2078)\\M'),
                        exists(select from bodies where lanname not in ('sql', 'plpgsql') or prosrc ~*
                               '(set_config|\\mexecute\\M|\\mdiscard\\M|\\mreset\\M|\\mrole\\M|search_path|\\msession\\M|\\mtransaction\\M|authorization|\\mset\\M[^;]*\\mtime *zone)')
                          or exists(select from trees where tree ~ ':funcid 2078\\M')"
            }
            Self::RoleSettings if version_num >= 150_000 => role_settings!(
                "p.context = 'user'
                 or (p.context = 'superuser' and has_parameter_privilege(session_user, p.name, 'set'))"
            ),
            Self::RoleSettings => role_settings!("p.context = 'user'"),
        }
    }
}

/// PostgreSQL's pages, unless it was built otherwise; sizes are estimates in any case.
const PAGE_BYTES: u64 = 8192;

/// Why a catalog cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// A row is not what its query promises.
    Row(Part, Malformed),
    /// A schema that is to be read does not exist.
    MissingSchema(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(part, cause) => write!(f, "{cause} in the catalog query for {part:?}"),
            Self::MissingSchema(name) => write!(f, "schema \"{name}\" does not exist"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Takes the rows of every part and makes the snapshot.
#[derive(Debug)]
pub struct Loader {
    exposed: Vec<String>,
    all_schemas: Vec<String>,
    found_schemas: HashSet<Box<str>>,
    names: HashSet<Arc<str>>,
    catalog: Catalog,
    by_oid: HashMap<Oid, RelationId>,
    foreign_keys: Vec<RawKey>,
}

#[derive(Debug)]
struct RawKey {
    name: Arc<str>,
    from: RelationId,
    to: RelationId,
    columns: Vec<(u16, u16)>,
}

impl Loader {
    /// A loader of the `exposed` schemas, with the functions of the `extra` ones.
    pub fn new(exposed: &[String], extra: &[String]) -> Self {
        let mut all_schemas = exposed.to_vec();
        all_schemas.extend(extra.iter().filter(|schema| !exposed.contains(schema)).cloned());
        Self {
            exposed: exposed.to_vec(),
            all_schemas,
            found_schemas: HashSet::new(),
            names: HashSet::new(),
            catalog: Catalog::default(),
            by_oid: HashMap::new(),
            foreign_keys: Vec::new(),
        }
    }

    /// A part's statement. Its results are to be asked for in binary.
    pub fn sql(&self, part: Part) -> &'static str {
        part.sql(self.catalog.session.server_version_num)
    }

    /// The parameter of a part's statement, as the text of a `text[]`.
    pub fn parameter(&self, part: Part) -> Option<String> {
        match part {
            Part::Schemas | Part::Functions => Some(array_literal(&self.all_schemas)),
            Part::Relations | Part::Columns => Some(array_literal(&self.exposed)),
            _ => None,
        }
    }

    /// The sink for the rows of a part.
    pub fn sink(&mut self, part: Part) -> impl RowSink<Error = LoadError> {
        PartSink { loader: self, part }
    }

    /// The snapshot, once every part has been loaded.
    pub fn finish(mut self) -> Result<Catalog, LoadError> {
        if let Some(missing) = self.all_schemas.iter().find(|schema| !self.found_schemas.contains(schema.as_str())) {
            return Err(LoadError::MissingSchema(missing.clone()));
        }
        let keys: Vec<ForeignKey> = self
            .foreign_keys
            .drain(..)
            .map(|raw| ForeignKey { name: raw.name, from: raw.from, to: raw.to, columns: raw.columns })
            .collect();
        let mut catalog = self.catalog;
        catalog.relationships = catalog.relations.iter().map(|_| Vec::new()).collect();
        for relationship in derive(&catalog.relations, &keys) {
            catalog.relationships[relationship.origin.0 as usize].push(relationship);
        }
        for relation in &mut catalog.relations {
            relation.columns.shrink_to_fit();
        }
        Ok(catalog)
    }

    /// One allocation for each different name: the same few stand in thousands of tables.
    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }

    fn take(&mut self, part: Part, row: RowView<'_>) -> Result<(), Malformed> {
        let mut row = Reader(row.columns());
        match part {
            Part::Schemas => {
                self.found_schemas.insert(row.text()?.into());
            }
            Part::Types => self.take_type(row)?,
            Part::Attributes => {
                let (of, name, type_oid) = (row.oid()?, row.text()?, row.oid()?);
                let name = self.intern(name);
                if let Some(Type { kind: TypeKind::Composite(attributes), .. }) = self.catalog.types.get_mut(&of) {
                    attributes.push(Attribute { name, type_oid });
                }
            }
            Part::Labels => {
                let (of, label) = (row.oid()?, row.text()?);
                let label = self.intern(label);
                if let Some(Type { kind: TypeKind::Enum(labels), .. }) = self.catalog.types.get_mut(&of) {
                    labels.push(label);
                }
            }
            Part::Relations => self.take_relation(row)?,
            Part::Columns => self.take_column(row)?,
            Part::Constraints => self.take_constraint(row)?,
            Part::Functions => self.take_function(row)?,
            Part::Session => {
                let session = &mut self.catalog.session;
                session.server_version_num = row.i32()? as u32;
                session.time_zone = row.text()?.into();
                session.interval_style_postgres = row.bool()?;
                session.bytea_hex = row.bool()?;
                session.floats_shortest = row.bool()?;
                session.settings_are_read = row.bool()?;
                session.state_is_changed = row.bool()?;
            }
            Part::RoleSettings => {
                let (role, name, value) = (row.text()?, row.text()?, row.text()?);
                let settings = self.catalog.session.role_settings.entry(role.into()).or_default();
                settings.push((name.into(), value.into()));
            }
        }
        Ok(())
    }

    fn take_type(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (oid, schema, name) = (row.oid()?, row.text()?, row.text()?);
        let (typtype, base, element) = (row.text()?, row.oid()?, row.oid()?);
        let kind = match (typtype, element) {
            ("e", _) => TypeKind::Enum(Vec::new()),
            ("d", _) => TypeKind::Domain(base),
            ("c", _) => TypeKind::Composite(Vec::new()),
            (_, 0) => TypeKind::Base,
            (_, element) => TypeKind::Array(element),
        };
        let (schema, name) = (self.intern(schema), self.intern(name));
        self.catalog.types.insert(oid, Type { schema, name, kind });
        Ok(())
    }

    fn take_relation(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (oid, row_type) = (row.oid()?, row.oid()?);
        let (schema, name) = (row.text()?, row.text()?);
        let (schema, name) = (self.intern(schema), self.intern(name));
        let Some(kind) = RelationKind::of(row.text()?.as_bytes()) else { return Ok(()) };
        let comment = row.optional_text()?.map(Into::into);
        let events = row.i32()?;
        let pages = row.optional_i32()?;
        let id = RelationId(self.catalog.relations.len() as u32);
        self.by_oid.insert(oid, id);
        self.catalog.by_name.entry(schema.clone()).or_default().insert(name.clone(), id);
        self.catalog.relations.push(Relation {
            oid,
            row_type,
            schema,
            name,
            kind,
            columns: Vec::new(),
            primary_key: Vec::new(),
            unique: Vec::new(),
            comment,
            size_bytes: pages.map(|pages| u64::from(pages.unsigned_abs()) * PAGE_BYTES),
            // bits by command: 8 insert, 4 update, 16 delete
            writable: (events & 8 != 0, events & 4 != 0, events & 16 != 0),
        });
        Ok(())
    }

    fn take_column(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (relation, number, name, type_oid) = (row.oid()?, row.i16()?, row.text()?, row.oid()?);
        let Some(&id) = self.by_oid.get(&relation) else { return Ok(()) };
        let column = Column {
            name: self.intern(name),
            number,
            type_oid,
            not_null: row.bool()?,
            default: row.optional_text()?.map(Into::into),
            generated: row.bool()?,
            identity: row.bool()?,
            comment: row.optional_text()?.map(Into::into),
        };
        self.catalog.relations[id.0 as usize].columns.push(column);
        Ok(())
    }

    fn take_constraint(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (kind, name) = (row.text()?, row.text()?);
        let (from, to) = (row.oid()?, row.oid()?);
        let Some(&from) = self.by_oid.get(&from) else { return Ok(()) };
        let Some(columns) = self.column_indexes(from, row.optional_text()?) else { return Ok(()) };
        match kind {
            "f" => {
                let Some(&to) = self.by_oid.get(&to) else { return Ok(()) };
                let Some(targets) = self.column_indexes(to, row.optional_text()?) else { return Ok(()) };
                let name = self.intern(name);
                let columns = columns.into_iter().zip(targets).collect();
                self.foreign_keys.push(RawKey { name, from, to, columns });
            }
            kind => {
                let relation = &mut self.catalog.relations[from.0 as usize];
                if kind == "p" {
                    relation.primary_key = columns.clone();
                }
                relation.unique.push(columns);
            }
        }
        Ok(())
    }

    fn column_indexes(&self, relation: RelationId, numbers: Option<&str>) -> Option<Vec<u16>> {
        let columns = &self.catalog.relations[relation.0 as usize].columns;
        numbers?
            .split(',')
            .map(|number| {
                let number = number.parse::<i16>().ok()?;
                columns.binary_search_by_key(&number, |column| column.number).ok().map(|at| at as u16)
            })
            .collect()
    }

    fn take_function(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (schema, name) = (row.text()?, row.text()?);
        let (schema, name) = (self.intern(schema), self.intern(name));
        let (result_type, returns_set) = (row.oid()?, row.bool()?);
        let volatility = match row.text()? {
            "i" => Volatility::Immutable,
            "s" => Volatility::Stable,
            _ => Volatility::Volatile,
        };
        let (count, defaults, variadic) = (row.i32()? as usize, row.i32()? as usize, row.bool()?);
        let types: Vec<Oid> = row.text()?.split(',').filter_map(|oid| oid.parse().ok()).collect();
        let names = row.text_array()?;
        let modes: Vec<&str> = row.optional_text()?.map(|modes| modes.split(',').collect()).unwrap_or_default();
        // Names stand for all arguments, types only for those that a call gives.
        let mut given = (0..).filter(|&at: &usize| modes.get(at).is_none_or(|mode| matches!(*mode, "i" | "b" | "v")));
        let parameters = (0..count)
            .map(|at| {
                let name = given.next().and_then(|at| names.get(at)).map_or("", |name| name);
                Parameter {
                    name: self.intern(name),
                    type_oid: types.get(at).copied().unwrap_or(0),
                    required: at + defaults < count,
                    variadic: variadic && at + 1 == count,
                }
            })
            .collect();
        let comment = row.optional_text()?.map(Into::into);
        let function =
            Function { schema, name: name.clone(), parameters, result_type, returns_set, volatility, comment };
        self.catalog.functions.entry(name).or_default().push(function);
        Ok(())
    }
}

struct PartSink<'a> {
    loader: &'a mut Loader,
    part: Part,
}

impl RowSink for PartSink<'_> {
    type Error = LoadError;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, LoadError> {
        self.loader.take(self.part, row).map_err(|cause| LoadError::Row(self.part, cause))?;
        Ok(Demand::More)
    }
}

/// Reads the binary columns of a catalog query.
struct Reader<'a>(Columns<'a>);

impl<'a> Reader<'a> {
    fn value(&mut self) -> Result<&'a [u8], Malformed> {
        self.0.column()?.ok_or(Malformed("value: null"))
    }

    fn optional_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        let value = self.0.column()?;
        value.map(|bytes| std::str::from_utf8(bytes).map_err(|_| Malformed("text: not UTF-8"))).transpose()
    }

    fn text(&mut self) -> Result<&'a str, Malformed> {
        self.optional_text()?.ok_or(Malformed("value: null"))
    }

    fn oid(&mut self) -> Result<Oid, Malformed> {
        Cursor::new(self.value()?).u32()
    }

    fn i16(&mut self) -> Result<i16, Malformed> {
        Cursor::new(self.value()?).i16()
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        Cursor::new(self.value()?).i32()
    }

    fn optional_i32(&mut self) -> Result<Option<i32>, Malformed> {
        self.0.column()?.map(|value| Cursor::new(value).i32()).transpose()
    }

    fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(Cursor::new(self.value()?).u8()? != 0)
    }

    /// A `text[]` of one dimension; empty where it is null.
    fn text_array(&mut self) -> Result<Vec<&'a str>, Malformed> {
        let Some(bytes) = self.0.column()? else { return Ok(Vec::new()) };
        let mut cursor = Cursor::new(bytes);
        let dimensions = cursor.i32()?;
        cursor.take(8)?;
        if dimensions == 0 {
            return Ok(Vec::new());
        }
        let count = cursor.i32()?;
        cursor.take(4)?;
        (0..count)
            .map(|_| {
                let text = cursor.value()?.unwrap_or_default();
                std::str::from_utf8(text).map_err(|_| Malformed("text: not UTF-8"))
            })
            .collect()
    }
}

/// The text of a `text[]`.
fn array_literal(items: &[String]) -> String {
    let quoted: Vec<String> =
        items.iter().map(|item| format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))).collect();
    format!("{{{}}}", quoted.join(","))
}
