//! Configuration: PostgREST's keys from a file, `PGRST_*` and `THALWEG_*` (operations §§1, 4).

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a server is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `db-uri`: the connection string; `None` where nobody said.
    pub db_uri: Option<String>,
    /// `db-schemas`: the exposed schemas, the default one first.
    pub db_schemas: Vec<String>,
    /// `db-anon-role`: the role of requests without a token.
    pub db_anon_role: Option<String>,
    /// `db-pool`: how many connections are open at most.
    pub db_pool: usize,
    /// `db-pool-acquisition-timeout`: how long a request waits for one.
    pub db_pool_acquisition_timeout: Duration,
    /// `db-pool-max-idletime`: how long an unused one is kept.
    pub db_pool_max_idletime: Duration,
    /// `db-pool-max-lifetime`: how old one gets.
    pub db_pool_max_lifetime: Duration,
    /// `db-max-rows`: how many rows any level may return.
    pub db_max_rows: Option<u64>,
    /// `db-extra-search-path`: schemas behind the exposed one in the search path.
    pub db_extra_search_path: Vec<String>,
    /// `db-channel`: where reloads are notified.
    pub db_channel: String,
    /// `db-channel-enabled`: whether to listen there.
    pub db_channel_enabled: bool,
    /// `server-host`: the address to listen on.
    pub server_host: String,
    /// `server-port`: 0 is any free one.
    pub server_port: u16,
    /// `server-unix-socket`: a path to listen on instead.
    pub server_unix_socket: Option<PathBuf>,
    /// How long a client may take nothing of a response, or send nothing of a body. No key sets it yet.
    pub client_stall_timeout: Duration,
    /// `client-body-max`, a key of Thalweg's own: how large a body may be of which all must be here at once, in bytes.
    pub client_body_max: u64,
    /// `client-stream-max`, a key of Thalweg's own: how large a body may be that is read row by row, in bytes.
    pub client_stream_max: u64,
    /// `db-aggregates-enabled`: whether requests may aggregate.
    pub db_aggregates_enabled: bool,
    /// `db-plan-enabled`: whether requests may ask how they would be run.
    pub db_plan_enabled: bool,
    /// `db-root-spec`: the function that answers `/`.
    pub db_root_spec: Option<String>,
    /// `db-pre-request`: the function that runs before every request, with its schema if that was said.
    pub db_pre_request: Option<(Option<String>, String)>,
    /// `db-hoisted-tx-settings`: the settings of a function that hold for the whole transaction.
    pub db_hoisted_tx_settings: Vec<String>,
    /// `db-tx-end`: whether transactions are rolled back.
    pub db_tx_rolls_back: bool,
    /// `db-tx-end`: whether requests may say how their transaction ends.
    pub db_tx_end_is_theirs: bool,
    /// `db-request-settings`, a key of Thalweg's own: what a session is told of a request.
    pub db_request_settings: RequestSettings,
    /// `db-prepared-statements`: whether statements are kept prepared and state is kept in sessions; not behind a pooler.
    pub db_prepared_statements: bool,
    /// `app.settings.*`: what SQL can read of the configuration.
    pub app_settings: Vec<(String, String)>,
    /// `openapi-mode`: what the description of `/` covers.
    pub openapi_mode: OpenApiMode,
    /// `openapi-security-active`: whether it mentions tokens.
    pub openapi_security_active: bool,
    /// `openapi-server-proxy-uri`: where clients find the server.
    pub openapi_server_proxy_uri: Option<String>,
    /// `server-cors-allowed-origins`: all where it is not set.
    pub server_cors_allowed_origins: Option<Vec<String>>,
    /// `server-trace-header`: a header that is sent back as it came.
    pub server_trace_header: Option<String>,
    /// `server-timing-enabled`: whether responses tell what they cost; on unless it is turned off.
    pub server_timing_enabled: bool,
    /// `client-error-verbosity`: whether errors have details and a hint.
    pub client_errors_are_verbose: bool,
    /// `url-use-legacy-target-names`: whether an embed's bare name addresses it although it has an alias.
    pub url_use_legacy_target_names: bool,
    /// `log-level`
    pub log_level: LogLevel,
    /// What is odd about the configuration, in words for the log.
    pub warnings: Vec<String>,
}

/// From which status on requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LogLevel {
    Crit,
    Error,
    Warn,
    Info,
    Debug,
}

/// What a database session is told of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestSettings {
    /// Everything that code in the database can see; nothing where a request runs none.
    Auto,
    /// Everything, for each transaction.
    Always,
}

/// What the description of `/` covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiMode {
    /// What the role may use.
    FollowPrivileges,
    /// Everything.
    IgnorePrivileges,
    /// There is none.
    Disabled,
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error in config: {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The keys that have an effect, with the older names that are read where the newer is not set.
const KEYS: [(&str, Option<&str>); 33] = [
    ("db-uri", None),
    ("db-schemas", Some("db-schema")),
    ("db-anon-role", None),
    ("db-pool", None),
    ("db-pool-acquisition-timeout", None),
    ("db-pool-max-idletime", Some("db-pool-timeout")),
    ("db-pool-max-lifetime", None),
    ("db-max-rows", Some("max-rows")),
    ("db-extra-search-path", None),
    ("db-channel", None),
    ("db-channel-enabled", None),
    ("server-host", None),
    ("server-port", None),
    ("server-unix-socket", None),
    ("log-level", None),
    ("db-aggregates-enabled", None),
    ("db-plan-enabled", None),
    ("db-root-spec", Some("root-spec")),
    ("db-pre-request", Some("pre-request")),
    ("db-hoisted-tx-settings", None),
    ("db-tx-end", None),
    ("db-request-settings", None),
    ("db-prepared-statements", None),
    ("openapi-mode", None),
    ("openapi-security-active", None),
    ("openapi-server-proxy-uri", None),
    ("server-cors-allowed-origins", None),
    ("server-trace-header", None),
    ("client-error-verbosity", None),
    ("url-use-legacy-target-names", None),
    ("server-timing-enabled", None),
    ("client-body-max", None),
    ("client-stream-max", None),
];

impl Default for Config {
    fn default() -> Self {
        Self {
            db_uri: None,
            db_schemas: vec!["public".to_owned()],
            db_anon_role: None,
            db_pool: 10,
            db_pool_acquisition_timeout: Duration::from_secs(10),
            db_pool_max_idletime: Duration::from_secs(30),
            db_pool_max_lifetime: Duration::from_secs(1800),
            db_max_rows: None,
            db_extra_search_path: vec!["public".to_owned()],
            db_channel: "pgrst".to_owned(),
            db_channel_enabled: true,
            server_host: "!4".to_owned(),
            server_port: 3000,
            server_unix_socket: None,
            client_stall_timeout: Duration::from_secs(30),
            client_body_max: 256 * 1024 * 1024,
            client_stream_max: u64::MAX,
            db_aggregates_enabled: false,
            db_plan_enabled: false,
            db_root_spec: None,
            db_pre_request: None,
            db_hoisted_tx_settings: [
                "statement_timeout",
                "plan_filter.statement_cost_limit",
                "default_transaction_isolation",
            ]
            .map(str::to_owned)
            .to_vec(),
            db_tx_rolls_back: false,
            db_tx_end_is_theirs: false,
            db_request_settings: RequestSettings::Auto,
            db_prepared_statements: true,
            app_settings: Vec::new(),
            openapi_mode: OpenApiMode::FollowPrivileges,
            openapi_security_active: false,
            openapi_server_proxy_uri: None,
            server_cors_allowed_origins: None,
            server_trace_header: None,
            server_timing_enabled: true,
            client_errors_are_verbose: true,
            url_use_legacy_target_names: true,
            log_level: LogLevel::Error,
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the file, if there is one, and the process's environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::load_with(file, std::env::vars())
    }

    /// [`Config::load`] with another environment. `THALWEG_*` wins over `PGRST_*`, which wins over the file.
    pub fn load_with(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut values = file.map(file::read).transpose()?.unwrap_or_default();
        let environment: BTreeMap<String, String> = environment.collect();
        for prefix in ["PGRST_", "THALWEG_"] {
            for (variable, value) in &environment {
                let Some(name) = variable.strip_prefix(prefix) else { continue };
                let key = match name.strip_prefix("APP_SETTINGS_") {
                    Some(setting) => format!("app.settings.{setting}"),
                    None => name.to_ascii_lowercase().replace('_', "-"),
                };
                // what is not meant for the server: where to find PostgreSQL
                if prefix == "PGRST_" || !matches!(key.as_str(), "postgres" | "maven-url") {
                    values.insert(key, value.clone());
                }
            }
        }
        Self::from_values(&values)
    }

    fn from_values(values: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let raw = |key: &str| {
            let older = KEYS.iter().find(|(known, _)| *known == key).and_then(|(_, older)| *older);
            // of the two names for the idle time, the older wins
            let (first, second) = if key == "db-pool-max-idletime" { (older, Some(key)) } else { (Some(key), older) };
            first.and_then(|key| values.get(key)).or_else(|| second.and_then(|key| values.get(key)))
        };
        let text = |key: &str| raw(key).filter(|value| !value.is_empty()).cloned();
        let integer = |key: &str| text(key).and_then(|value| value.trim().parse::<u64>().ok());
        let seconds = |key: &str, default: Duration| integer(key).map_or(default, Duration::from_secs);
        let list = |value: &str| -> Vec<String> {
            value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
        };
        let default = Self::default();
        let db_schemas = text("db-schemas").map_or(default.db_schemas, |value| list(&value));
        for schema in &db_schemas {
            if matches!(schema.as_str(), "pg_catalog" | "information_schema") {
                return Err(ConfigError::new(format!("db-schemas does not allow schema: '{schema}'")));
            }
        }
        let db_uri = match text("db-uri") {
            Some(value) => Some(match value.strip_prefix('@') {
                Some(path) => std::fs::read_to_string(path)
                    .map(|text| text.trim_end_matches('\n').to_owned())
                    .map_err(|cause| ConfigError::new(format!("db-uri: {path}: {cause}")))?,
                None => value,
            }),
            None => None,
        };
        let flag = |key: &str, default: bool| text(key).map_or(default, |value| boolean(&value));
        let choice = |key: &'static str, words: &[&str]| -> Result<usize, ConfigError> {
            let Some(value) = text(key) else { return Ok(0) };
            let at = words.iter().position(|word| *word == value);
            at.ok_or_else(|| ConfigError::new(format!("Invalid {key}: {value}. Check your configuration.")))
        };
        let db_request_settings = match choice("db-request-settings", &["auto", "always", "never"])? {
            1 => RequestSettings::Always,
            // what code can see is never withheld from it
            _ => RequestSettings::Auto,
        };
        let openapi_mode = match choice("openapi-mode", &["follow-privileges", "ignore-privileges", "disabled"])? {
            0 => OpenApiMode::FollowPrivileges,
            1 => OpenApiMode::IgnorePrivileges,
            _ => OpenApiMode::Disabled,
        };
        let ends = ["commit", "rollback", "commit-allow-override", "rollback-allow-override"];
        let end = choice("db-tx-end", &ends)?;
        let (db_tx_rolls_back, db_tx_end_is_theirs) = (end % 2 == 1, end >= 2);
        let client_errors_are_verbose = choice("client-error-verbosity", &["verbose", "minimal"])? == 0;
        let openapi_server_proxy_uri = text("openapi-server-proxy-uri");
        if openapi_server_proxy_uri.as_deref().is_some_and(|uri| crate::answer::Proxy::parse(uri).is_none()) {
            return Err(ConfigError::new("Malformed proxy uri, a correct example: https://example.com:8443/basePath"));
        }
        let app_settings = values
            .iter()
            .filter(|(key, _)| key.starts_with("app.settings."))
            .map(|(key, value)| (key.clone(), value.clone()));
        let log_level = match text("log-level").as_deref() {
            None | Some("error") => LogLevel::Error,
            Some("crit") => LogLevel::Crit,
            Some("warn") => LogLevel::Warn,
            Some("info") => LogLevel::Info,
            Some("debug") => LogLevel::Debug,
            Some(other) => {
                return Err(ConfigError::new(format!("Invalid logging level: {other}. Check your configuration.")));
            }
        };
        Ok(Self {
            db_uri,
            db_schemas,
            db_anon_role: text("db-anon-role"),
            db_pool: integer("db-pool").map_or(default.db_pool, |size| size.clamp(1, 10_000) as usize),
            db_pool_acquisition_timeout: seconds("db-pool-acquisition-timeout", default.db_pool_acquisition_timeout),
            db_pool_max_idletime: seconds("db-pool-max-idletime", default.db_pool_max_idletime),
            db_pool_max_lifetime: seconds("db-pool-max-lifetime", default.db_pool_max_lifetime),
            db_max_rows: integer("db-max-rows"),
            // here alone the empty string is a value: no schema
            db_extra_search_path: raw("db-extra-search-path").map_or(default.db_extra_search_path, |value| list(value)),
            db_channel: text("db-channel").unwrap_or(default.db_channel),
            db_channel_enabled: text("db-channel-enabled").map_or(default.db_channel_enabled, |value| boolean(&value)),
            server_host: text("server-host").unwrap_or(default.server_host),
            server_port: integer("server-port")
                .and_then(|port| u16::try_from(port).ok())
                .unwrap_or(default.server_port),
            server_unix_socket: text("server-unix-socket").map(PathBuf::from),
            client_stall_timeout: default.client_stall_timeout,
            client_body_max: integer("client-body-max").unwrap_or(default.client_body_max),
            client_stream_max: integer("client-stream-max").unwrap_or(default.client_stream_max),
            db_aggregates_enabled: flag("db-aggregates-enabled", default.db_aggregates_enabled),
            db_plan_enabled: flag("db-plan-enabled", default.db_plan_enabled),
            db_root_spec: text("db-root-spec"),
            db_pre_request: text("db-pre-request").map(|name| match name.split_once('.') {
                Some((schema, name)) => (Some(schema.to_owned()), name.to_owned()),
                None => (None, name),
            }),
            db_hoisted_tx_settings: text("db-hoisted-tx-settings")
                .map_or(default.db_hoisted_tx_settings, |value| list(&value)),
            db_tx_rolls_back,
            db_tx_end_is_theirs,
            db_request_settings,
            db_prepared_statements: flag("db-prepared-statements", default.db_prepared_statements),
            app_settings: app_settings.collect(),
            openapi_mode,
            openapi_security_active: flag("openapi-security-active", default.openapi_security_active),
            openapi_server_proxy_uri,
            server_cors_allowed_origins: text("server-cors-allowed-origins").map(|value| list(&value)),
            server_trace_header: text("server-trace-header"),
            server_timing_enabled: flag("server-timing-enabled", default.server_timing_enabled),
            client_errors_are_verbose,
            url_use_legacy_target_names: flag("url-use-legacy-target-names", default.url_use_legacy_target_names),
            log_level,
            warnings: values.iter().filter_map(|(key, value)| warning(key, value)).collect(),
        })
    }
}

fn boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.trim().parse::<i64>().is_ok_and(|number| number > 0)
}

/// PostgREST's keys that are understood as such, and have no effect yet.
const NOT_YET: [&str; 17] = [
    "admin-server-host",
    "admin-server-port",
    "admin-server-unix-socket",
    "admin-server-unix-socket-mode",
    "db-config",
    "db-pool-automatic-recovery",
    "db-pre-config",
    "jwt-aud",
    "jwt-cache-max-entries",
    "jwt-role-claim-key",
    "role-claim-key",
    "jwt-secret",
    "jwt-secret-is-base64",
    "secret-is-base64",
    "log-query",
    "server-reuseport",
    "server-unix-socket-mode",
];

fn warning(key: &str, value: &str) -> Option<String> {
    let is_known = KEYS.iter().any(|(known, older)| *known == key || *older == Some(key));
    if (key, value) == ("db-request-settings", "never") {
        Some("db-request-settings never is read as auto: what code can see is not withheld from it".to_owned())
    } else if is_known || key.starts_with("app.settings.") {
        None
    } else if NOT_YET.contains(&key) {
        Some(format!("the configuration key {key} has no effect yet"))
    } else {
        Some(format!("unknown configuration key {key}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::load_with(None, environment.iter().map(|(name, value)| (name.to_string(), value.to_string())))
    }

    #[test]
    fn thalweg_wins_over_pgrst_and_an_empty_value_unsets() {
        let config = load(&[
            ("PGRST_DB_ANON_ROLE", "a"),
            ("THALWEG_DB_ANON_ROLE", "b"),
            ("PGRST_DB_SCHEMA", "x, y ,"),
            ("PGRST_DB_POOL", "7"),
            ("THALWEG_DB_POOL", ""),
            ("PGRST_DB_EXTRA_SEARCH_PATH", ""),
            ("PGRST_MAX_ROWS", "5"),
            ("PGRST_DB_CHANNEL_ENABLED", "False"),
            ("THALWEG_POSTGRES", "fetch"),
        ])
        .unwrap();
        assert_eq!(config.db_anon_role.as_deref(), Some("b"));
        assert_eq!(config.db_schemas, ["x", "y"]);
        assert_eq!((config.db_pool, config.db_max_rows), (10, Some(5)));
        assert_eq!(config.db_extra_search_path, [""; 0]);
        assert!(!config.db_channel_enabled);
        assert_eq!(config.warnings, [""; 0]);
    }

    #[test]
    fn odd_keys_warn_and_wrong_values_are_errors() {
        let config = load(&[("PGRST_JWT_SECRET", "x"), ("PGRST_DB_SHEMAS", "x"), ("PGRST_DB_POOL", "many")]).unwrap();
        assert_eq!(
            config.warnings,
            ["unknown configuration key db-shemas", "the configuration key jwt-secret has no effect yet"]
        );
        assert_eq!(config.db_pool, 10);
        assert!(load(&[("PGRST_LOG_LEVEL", "loud")]).unwrap_err().to_string().starts_with("Error in config"));
        assert!(load(&[("PGRST_DB_SCHEMAS", "api,pg_catalog")]).is_err());
    }
}
