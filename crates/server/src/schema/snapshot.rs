//! What is known of the database, at one moment.

use crate::config::Config;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_catalog::{Catalog, RoleSetting};
use thalweg_encode::Zone;

/// One schema cache. A request keeps the one it began with.
pub(crate) struct Snapshot {
    /// Which load of this process it is of.
    pub(crate) load: u64,
    pub(crate) catalog: Catalog,
    /// The zone of the sessions, if its offsets are known to be PostgreSQL's.
    pub(crate) zone: Option<Zone>,
    /// Of each exposed schema the search path, as it stands in SQL.
    search_paths: Vec<(String, String)>,
    /// The settings of each role that has some, in a form that is equal where they are.
    role_settings: HashMap<Box<str>, String>,
}

impl Snapshot {
    pub(crate) fn new(catalog: Catalog, zone: Option<Zone>, config: &Config) -> Self {
        let extra = &config.db_extra_search_path;
        let path = |schema: &String| (schema.clone(), search_path(schema, extra));
        let search_paths = config.db_schemas.iter().map(path).collect();
        let text = |settings: &[RoleSetting]| settings.iter().map(|known| format!("{known:?}")).collect();
        let role_settings = &catalog.session().role_settings;
        let role_settings = role_settings.iter().map(|(role, settings)| (role.clone(), text(settings))).collect();
        static LOADS: AtomicU64 = AtomicU64::new(0);
        Self { load: LOADS.fetch_add(1, Ordering::Relaxed), catalog, zone, search_paths, role_settings }
    }

    /// Whether another says the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let Self { load: _, catalog, zone, search_paths, role_settings } = self;
        *catalog == other.catalog
            && zone.is_some() == other.zone.is_some()
            && *search_paths == other.search_paths
            && *role_settings == other.role_settings
    }

    /// The settings of a role, to be compared with those of a session.
    pub(crate) fn role_settings(&self, role: &str) -> &str {
        self.role_settings.get(role).map_or("", String::as_str)
    }

    /// The search path of a schema that is exposed.
    pub(crate) fn search_path(&self, schema: &str) -> &str {
        self.search_paths.iter().find(|(known, _)| known == schema).map_or("", |(_, path)| path)
    }
}

fn search_path(schema: &str, extra: &[String]) -> String {
    let mut path = String::new();
    thalweg_sql::quote(&mut path, schema);
    for schema in extra.iter().filter(|extra| *extra != schema) {
        path.push_str(", ");
        thalweg_sql::quote(&mut path, schema);
    }
    path
}
