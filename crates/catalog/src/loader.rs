//! The snapshot, made from the rows of the system catalogs.

use crate::catalog::{Catalog, RelationId};
use crate::code::{Code, Runs, SHIPPED_SCHEMA};
use crate::code_text;
use crate::function::{Function, MediaHandler, Parameter, Returns, Volatility};
use crate::part::Part;
use crate::relation::{Column, Relation, RelationKind};
use crate::relationship::{ForeignKey, Keys};
use crate::session::RoleSetting;
use crate::types::{Attribute, Representation, Type, TypeKind};
use crate::view::{self, ViewColumns};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Columns, Cursor, Demand, Malformed, RowSink, RowView};

/// PostgreSQL's pages, unless it was built otherwise; sizes are estimates in any case.
const PAGE_BYTES: u64 = 8192;

/// Why a catalog cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// A row is not what its query promises.
    Row(Part, Malformed),
    /// These exposed schemas do not exist.
    MissingSchemas(Vec<String>),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(part, cause) => write!(f, "{cause} in the catalog query for {part:?}"),
            Self::MissingSchemas(names) => {
                f.write_str("these schemas of db-schemas do not exist: ")?;
                for (at, name) in names.iter().enumerate() {
                    write!(f, "{}\"{name}\"", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
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
    views: HashMap<Oid, ViewColumns>,
    keys: Keys,
    code: Code,
    /// Views that were locked, of which it is not known what can be written.
    unseen: Vec<RelationId>,
}

impl Loader {
    /// What a transaction runs before the parts. With an empty search path PostgreSQL writes expressions and types so that
    /// they mean the same under any other: whatever is not its own has its schema before it. What is locked is left out; a
    /// lock that is taken at the wrong moment, or that lies on a row type within an expression, fails the load rather than
    /// make it wait. All this ends with the transaction, since behind a pooler the session is somebody else's afterwards.
    pub const FIRST: &str =
        "SELECT pg_catalog.set_config('search_path', '', true), pg_catalog.set_config('lock_timeout', '1s', true)";

    /// A loader of the `exposed` schemas, with the functions of the `extra` ones.
    pub fn new(exposed: &[String], extra: &[String]) -> Self {
        let mut all_schemas = exposed.to_vec();
        all_schemas.extend(extra.iter().filter(|schema| !exposed.contains(schema)).cloned());
        Self {
            exposed: exposed.to_vec(),
            all_schemas,
            found_schemas: HashSet::new(),
            names: HashSet::new(),
            catalog: Catalog { extra_search_path: extra.to_vec(), ..Catalog::default() },
            by_oid: HashMap::new(),
            views: HashMap::new(),
            keys: Keys::default(),
            code: Code::default(),
            unseen: Vec::new(),
        }
    }

    /// A part's statement. Its results are to be asked for in binary.
    pub fn sql(&self, part: Part) -> &'static str {
        part.sql(self.catalog.session.server_version_num)
    }

    /// The parameter of a part's statement, as the text of a `text[]`.
    pub fn parameter(&self, part: Part) -> Option<String> {
        match part {
            Part::Schemas | Part::Functions | Part::Views => Some(array_literal(&self.all_schemas)),
            Part::Relations | Part::Columns | Part::Indexes | Part::MediaHandlers => Some(array_literal(&self.exposed)),
            Part::InSql => Some(array_literal(&code_text::names())),
            _ => None,
        }
    }

    /// The sink for the rows of a part.
    pub fn sink(&mut self, part: Part) -> impl RowSink<Error = LoadError> {
        PartSink { loader: self, part }
    }

    /// The snapshot, once every part has been loaded. What was locked is taken from the one that is `known`.
    pub fn finish(mut self, known: Option<&Catalog>) -> Result<Catalog, LoadError> {
        let is_missing = |schema: &&String| !self.found_schemas.contains(schema.as_str());
        let missing: Vec<String> = self.exposed.iter().filter(is_missing).cloned().collect();
        if !missing.is_empty() {
            return Err(LoadError::MissingSchemas(missing));
        }
        // PostgreSQL ignores missing schemas in a search path, and many databases have no `public`.
        self.catalog.missing_extra_schemas =
            self.catalog.extra_search_path.iter().filter(is_missing).cloned().collect();
        // named in a search path, it no longer stands first, and any name may mean something else
        if self.all_schemas.iter().any(|schema| schema == SHIPPED_SCHEMA) {
            self.code.suspect_everything();
        }
        let (running, own_code) = self.code.trace();
        self.catalog.own_code = own_code;
        for relation in &mut self.catalog.relations {
            (relation.reading, relation.writing) = running.of_relation(relation.oid);
        }
        self.catalog.is_partial = !self.unseen.is_empty();
        for id in &self.unseen {
            let relation = &mut self.catalog.relations[id.0 as usize];
            let before = known.and_then(|known| Some(known.relation(known.find(&relation.schema, &relation.name)?)));
            relation.writable =
                before.filter(|before| before.oid == relation.oid).map_or_else(Default::default, |b| b.writable);
        }
        let views = view::trace(&self.views);
        self.keys.give(&mut self.catalog.relations, &views);
        let mut catalog = self.catalog;
        catalog.order_overloads();
        catalog.relationships = catalog.relations.iter().map(|_| Vec::new()).collect();
        let (relationships, hidden) = self.keys.derive(&catalog.relations, &self.by_oid, &views);
        catalog.related_out_of_sight = hidden;
        for relationship in relationships {
            catalog.relationships[relationship.origin.0 as usize].push(relationship);
        }
        catalog.relate_by_functions(&self.exposed);
        for relation in &mut catalog.relations {
            relation.columns.shrink_to_fit();
            relation.sort_names();
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
            Part::Views => {
                let (oid, is_loaded, is_read_through, tree) = (row.oid()?, row.bool()?, row.bool()?, row.text()?);
                if is_loaded {
                    self.views.insert(oid, view::select_list(tree));
                }
                if is_read_through {
                    self.code.take_view(oid, tree);
                }
            }
            Part::Constraints => self.take_constraint(row)?,
            Part::Indexes => {
                let (oid, number) = (row.oid()?, row.i16()?);
                if let Some(id) = self.by_oid.get(&oid) {
                    let relation = &mut self.catalog.relations[id.0 as usize];
                    relation.indexed.extend(relation.by_number(number));
                }
            }
            Part::Functions => self.take_function(row)?,
            Part::MediaHandlers => {
                let (domain, schema, name) = (row.oid()?, row.text()?, row.text()?);
                let (schema, name) = (self.intern(schema), self.intern(name));
                let of = Some(row.oid()?).filter(|&of| of != oid::ANYELEMENT);
                self.catalog.media_handlers.push(MediaHandler { domain, schema, name, of });
            }
            Part::Representations => {
                let (source, target) = (row.oid()?, row.oid()?);
                let (schema, name) = (row.text()?, row.text()?);
                let function = Some((self.intern(schema), self.intern(name)));
                let (domain, set): (_, fn(&mut Representation) -> &mut _) = match (source, target) {
                    (domain, oid::JSON) => (domain, |of| &mut of.to_json),
                    (oid::JSON, domain) => (domain, |of| &mut of.from_json),
                    (_, domain) => (domain, |of| &mut of.from_text),
                };
                *set(self.catalog.representations.entry(domain).or_default()) = function;
            }
            Part::Session => {
                let session = &mut self.catalog.session;
                session.server_version_num = row.i32()? as u32;
                session.time_zone = row.text()?.into();
                session.interval_style_postgres = row.bool()?;
                session.bytea_hex = row.bool()?;
                session.floats_shortest = row.bool()?;
                session.compiles_by_default = row.bool()?;
                session.roles = row.text()?.into();
                session.response_is_set = row.bool()?;
            }
            Part::RoleSettings => {
                let (role, name, value) = (row.text()?, row.text()?, row.text()?);
                let setting = RoleSetting { name: name.into(), value: value.into(), is_the_roles: row.bool()? };
                self.catalog.session.role_settings.entry(role.into()).or_default().push(setting);
            }
            Part::Denied => self.code.take_shipped(row.oid()?, row.text()?),
            Part::InSql => {
                let (function, name, is_immutable, body) = (row.oid()?, row.text()?, row.bool()?, row.text()?);
                let only_asks = self.code.take_in_sql(function, body, &row.text_array()?);
                if only_asks && is_immutable && code_text::asks(body) {
                    self.catalog.wrongly_immutable.push(name.to_owned());
                }
            }
            Part::Uses => self.code.take_use(row.text()?, row.oid()?, row.oid()?, row.bool()?),
            Part::Expressions => self.code.take_expression(row.text()?, row.oid()?, row.text()?),
            Part::Operators => self.code.own.add_operator(row.text()?, row.oid()?, row.bool()?),
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
            ("r", _) => TypeKind::Range,
            ("m", _) => TypeKind::Multirange,
            (_, 0) => TypeKind::Base,
            (_, element) => TypeKind::Array(element),
        };
        let (schema, name) = (self.intern(schema), self.intern(name));
        let format = row.text()?;
        let format = self.intern(format);
        self.catalog.types.insert(oid, Type { schema, name, format, kind });
        Ok(())
    }

    fn take_relation(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (oid, row_type) = (row.oid()?, row.oid()?);
        let (schema, name) = (row.text()?, row.text()?);
        let (schema, name) = (self.intern(schema), self.intern(name));
        let Some(kind) = RelationKind::of(row.text()?.as_bytes()) else { return Ok(()) };
        let comment = row.optional_text()?.map(Into::into);
        let events = row.optional_i32()?;
        let pages = row.optional_i32()?;
        let is_analysed = row.bool()?;
        let (row_security, has_rules) = (row.bool()?, row.bool()?);
        let id = RelationId(self.catalog.relations.len() as u32);
        if events.is_none() {
            self.unseen.push(id);
        }
        let events = events.unwrap_or(0);
        self.by_oid.insert(oid, id);
        self.catalog.by_row_type.insert(row_type, id);
        self.catalog.by_name.entry(schema.clone()).or_default().insert(name.clone(), id);
        self.catalog.relations.push(Relation {
            oid,
            row_type,
            schema,
            name,
            kind,
            columns: Vec::new(),
            by_name: Vec::new(),
            primary_key: Vec::new(),
            indexed: Vec::new(),
            comment,
            size_bytes: pages.map(|pages| u64::from(pages.unsigned_abs()) * PAGE_BYTES),
            is_analysed,
            row_security,
            has_rules,
            // until what they run has been traced
            reading: Runs::Anything,
            writing: Runs::Anything,
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
            never_null: row.bool()?,
            default: row.optional_text()?.map(Into::into),
            generated: row.bool()?,
            identity: row.bool()?,
            type_modifier: row.i32()?,
            modified_type: row.optional_text()?.map(Into::into),
            comment: row.optional_text()?.map(Into::into),
        };
        self.catalog.relations[id.0 as usize].columns.push(column);
        Ok(())
    }

    fn take_constraint(&mut self, mut row: Reader<'_>) -> Result<(), Malformed> {
        let (kind, name) = (row.text()?, row.text()?);
        let (from, to) = (row.oid()?, row.oid()?);
        let columns = numbers(row.optional_text()?);
        match kind {
            "f" => {
                let name = self.intern(name);
                let columns = columns.into_iter().zip(numbers(row.optional_text()?)).collect();
                self.keys.foreign.push(ForeignKey { name, from, to, columns });
            }
            kind => {
                if kind == "p" {
                    self.keys.primary.insert(from, columns.clone());
                }
                self.keys.unique.entry(from).or_default().push(columns);
            }
        }
        Ok(())
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
        let types: Vec<Oid> = numbers(Some(row.text()?));
        let names = row.text_array()?;
        let modes: Vec<&str> = row.optional_text()?.map(|modes| modes.split(',').collect()).unwrap_or_default();
        let all_types: Vec<Oid> = numbers(row.optional_text()?);
        let returns_one = row.bool()?;
        let settings = row.text_array()?;
        let settings =
            settings.iter().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into()));
        let settings = settings.collect();
        let comment = row.optional_text()?.map(Into::into);
        // Names stand for all arguments, types only for those that a call gives.
        let mode = |at: usize| modes.get(at).copied().unwrap_or("i");
        let mut given = (0..).filter(|&at: &usize| matches!(mode(at), "i" | "b" | "v"));
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
        let returned = all_types.iter().enumerate().filter(|&(at, _)| matches!(mode(at), "o" | "b" | "t"));
        let returned: Vec<Attribute> = returned
            .map(|(at, &type_oid)| {
                // an argument without a name is known by its place among those that are returned
                let name = names.get(at).copied().unwrap_or("");
                Attribute { name: self.intern(name), type_oid }
            })
            .collect();
        let returned = returned
            .into_iter()
            .enumerate()
            .map(|(at, attribute)| match &*attribute.name {
                "" => Attribute { name: self.intern(&format!("column{}", at + 1)), ..attribute },
                _ => attribute,
            })
            .collect::<Vec<_>>();
        let returns = self.returns(result_type, returned);
        let function = Function {
            schema,
            name: name.clone(),
            parameters,
            returns,
            result_type,
            returns_set,
            returns_one,
            volatility,
            settings,
            comment,
        };
        self.catalog.functions.entry(name).or_default().push(function);
        Ok(())
    }

    /// What a function returns; the types of the catalog are known already.
    fn returns(&self, result_type: Oid, returned: Vec<Attribute>) -> Returns {
        if !returned.is_empty() {
            return Returns::Columns(returned);
        }
        let base = self.catalog.base_type(result_type);
        match self.catalog.types.get(&base).map(|known| &known.kind) {
            _ if result_type == oid::VOID => Returns::Void,
            _ if base == oid::RECORD => Returns::Record,
            Some(TypeKind::Composite(_)) => Returns::Row(base),
            _ => Returns::Scalar(result_type),
        }
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

/// Numbers between commas.
fn numbers<T: std::str::FromStr>(list: Option<&str>) -> Vec<T> {
    list.unwrap_or_default().split(',').filter_map(|number| number.parse().ok()).collect()
}

/// The text of a `text[]`.
fn array_literal(items: &[String]) -> String {
    let quoted: Vec<String> =
        items.iter().map(|item| format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))).collect();
    format!("{{{}}}", quoted.join(","))
}
