//! Configuration: PostgREST's keys from a file, `PGRST_*` and `THALWEG_*` (operations §§1, 4).
//!
//! A key is a row of the table in `keys.rs`: the field of [`Config`], its default, how it is read, what is said of a bad value
//! and of unknown keys follow from it. `docs/configuration.md` is held to that table by a test.

/// Makes [`Config`] of the table of keys. A row is
///
/// ```text
/// /// What it means, in a line.
/// "key": "default", more => field: Type = how_it_is_read;
/// ```
///
/// where the default is written as it would be in the environment, `more` is none or some of [`keys::Key`]'s methods, and what
/// reads it is a function of `values.rs`.
macro_rules! config_of_keys {
    ($($(#[doc = $meaning:literal])+
       $name:literal: $default:literal $(, $more:ident $(($older:literal))?)* => $field:ident: $type:ty = $read:expr;)+) => {
        /// What a server is told.
        #[derive(Clone, PartialEq, Eq)]
        pub struct Config {
            $(
                #[doc = concat!("`", $name, "`:")]
                $(#[doc = $meaning])+
                pub $field: $type,
            )+
            /// `app.settings.*`: what SQL can read of the configuration.
            pub app_settings: Vec<(String, String)>,
            /// What is odd about the configuration, in words for the log.
            pub warnings: Vec<String>,
        }

        /// The keys that have an effect. One that sets two fields is named twice.
        pub(super) const KEYS: &[Key] = &[$(Key::new($name, $default, concat!($($meaning),+))$(.$more($($older)?))*),+];

        impl Config {
            /// What the values say, and else the defaults.
            pub(super) fn from_values(values: &Values) -> Result<Self, ConfigError> {
                let mut keys = KEYS.iter();
                Ok(Self {
                    $($field: values.read(keys.next().expect("there is a key for each field"), $read)?,)+
                    app_settings: values.app_settings()?,
                    warnings: values.warnings(),
                })
            }
        }

        impl Config {
            /// Takes over what the values say of keys that may be set in the database.
            pub(super) fn overlay(&mut self, values: &Values) -> Result<(), ConfigError> {
                let mut keys = KEYS.iter();
                $(
                    let key = keys.next().expect("there is a key for each field");
                    if key.is_in_database() && values.mention(key) {
                        self.$field = values.read(key, $read)?;
                    }
                )+
                Ok(())
            }

            /// Takes over from another what is not read again while a server runs.
            pub(super) fn keep_from(&mut self, start: &Self) {
                let mut keys = KEYS.iter();
                $(
                    if keys.next().is_some_and(Key::is_of_start) {
                        self.$field = start.$field.clone();
                    }
                )+
            }
        }

        impl Config {
            /// Each key with its value. One that sets two fields comes twice.
            pub(super) fn shown(&self) -> Vec<(&'static Key, Shown)> {
                KEYS.iter().zip([$(self.$field.show()),+]).collect()
            }
        }

        impl fmt::Debug for Config {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut all = f.debug_struct("Config");
                let mut keys = KEYS.iter();
                $(
                    if keys.next().is_some_and(Key::is_secret) {
                        all.field(stringify!($field), &format_args!("…"));
                    } else {
                        all.field(stringify!($field), &self.$field);
                    }
                )+
                all.finish_non_exhaustive()
            }
        }
    };
}

mod database;
mod dump;
mod file;
mod in_force;
mod jwks_uri;
mod keys;
mod reread;
mod sources;
mod value_file;
mod values;

pub(crate) use in_force::InForce;
pub use jwks_uri::{JwksUri, JwksUriError};
pub use keys::Config;
pub(crate) use reread::{DatabaseSettings, Reading, reread, said_by_database};
pub use sources::Sources;

use std::fmt;
use std::path::Path;
use values::Values;

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

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// As Apache does it, and PostgREST.
    Apache,
    /// Pairs of keys and values.
    Logfmt,
    /// An object a line.
    Json,
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

/// Whether browsers get pages of the API's relations and functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagesBrowse {
    /// Where there is a site.
    Auto,
    /// Yes.
    On,
    /// No: the API answers as PostgREST does.
    Off,
}

/// Bytes that nobody may see. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
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

impl Default for Config {
    fn default() -> Self {
        Self::from_values(&Values::default()).expect("the defaults are valid")
    }
}

impl Config {
    /// The schema of requests that name none.
    pub(crate) fn default_schema(&self) -> &str {
        self.db_schemas.first().map_or("", String::as_str)
    }

    /// The keys that may be set in the database.
    pub(crate) fn keys_in_database() -> Vec<&'static str> {
        let keys = keys::KEYS.iter().filter(|key| key.is_in_database());
        keys.flat_map(|key| std::iter::once(key.name).chain(key.older)).collect()
    }

    /// The same, where settings of the database win over it: of those with the same key the last does.
    pub(crate) fn with_settings(&self, settings: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut config = self.clone();
        config.overlay(&Values::of_database(settings))?;
        Ok(config)
    }

    /// How the database is reached.
    pub(crate) fn wire(&self) -> Result<thalweg_wire::Config, thalweg_wire::Error> {
        let mut wire = thalweg_wire::Config::parse(self.db_uri.as_deref().unwrap_or("postgresql://"))?;
        wire.application_name.get_or_insert_with(|| concat!("thalweg ", env!("CARGO_PKG_VERSION")).to_owned());
        Ok(wire)
    }

    /// What no key says by itself is wrong with it.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        // of 0 each is given a port of its own
        if self.admin_server_port.is_some_and(|port| port != 0 && port == self.server_port) {
            return Err(ConfigError::new("admin-server-port cannot be the same as server-port"));
        }
        if self.admin_server_unix_socket.is_some() && self.admin_server_unix_socket == self.server_unix_socket {
            return Err(ConfigError::new("admin-server-unix-socket cannot be the same as server-unix-socket"));
        }
        let is_for_tls = |name: &String| ["__Host-", "__Secure-"].iter().any(|prefix| name.starts_with(prefix));
        if !self.session_cookie_secure && self.session_cookie.as_ref().is_some_and(is_for_tls) {
            let needed = "session-cookie-secure = false needs a session-cookie whose name does not begin with __Host- or __Secure-";
            return Err(ConfigError::new(needed));
        }
        Ok(())
    }

    /// The same, with what is not read again while a server runs as it was at its start.
    pub(crate) fn after_start(mut self, start: &Self) -> Self {
        self.keep_from(start);
        self
    }

    /// Reads the file, if there is one, and the process's environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Sources::of_process(file)?.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let environment = environment.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Sources::new(None, environment).read()
    }

    fn refused(variable: &str, value: &str) -> String {
        load(&[(variable, value)]).expect_err(value).to_string()
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
            ("PGRST_APP_SETTINGS_Club", ""),
            ("THALWEG_POSTGRES", "fetch"),
        ])
        .unwrap();
        assert_eq!(config.db_anon_role.as_deref(), Some("b"));
        assert_eq!(config.db_schemas, ["x", "y"]);
        assert_eq!((config.db_pool, config.db_max_rows), (10, Some(5)));
        assert_eq!(config.db_extra_search_path, [""; 0]);
        assert!(!config.db_channel_enabled);
        assert_eq!(config.app_settings, [("app.settings.Club".to_owned(), String::new())]);
        assert_eq!(config.warnings, [""; 0]);
    }

    /// As PostgREST 12.0.2 reads them: an older name counts where the newer says nothing, and of the idle times it wins.
    #[test]
    fn older_names() {
        let config = load(&[("PGRST_MAX_ROWS", "5"), ("PGRST_DB_MAX_ROWS", "")]).unwrap();
        assert_eq!(config.db_max_rows, Some(5));
        let config = load(&[("PGRST_MAX_ROWS", "x"), ("PGRST_DB_MAX_ROWS", "6")]).unwrap();
        assert_eq!(config.db_max_rows, Some(6));
        let idle = |older, newer| {
            let config = load(&[("PGRST_DB_POOL_TIMEOUT", older), ("PGRST_DB_POOL_MAX_IDLETIME", newer)]);
            config.unwrap().db_pool_max_idletime.as_secs()
        };
        assert_eq!((idle("5", "8"), idle("", "8"), idle("", "")), (5, 8, 30));
        assert!(refused("PGRST_DB_POOL_TIMEOUT", "x").starts_with("Error in config: PGRST_DB_POOL_TIMEOUT = \"x\": "));
    }

    #[test]
    fn a_bad_value_is_an_error_with_key_value_and_what_would_be_right() {
        const FUNCTION_NEEDED: &str = "a function's name is needed, or schema.name, of at most 63 bytes each, without blanks, \
                                       quotes or parentheses";
        const URI_NEEDED: &str =
            "a URI of http or https is needed, such as https://issuer.example/.well-known/jwks.json";
        let number = "a number from 1 to 10000 is needed";
        for wrong in ["abc", "0", "-1", "+7", "7.5", "10001", "99999999999999999999", "0x10", "true", "1 2"] {
            let expected = format!("Error in config: PGRST_DB_POOL = {wrong:?}: {number}");
            assert_eq!(refused("PGRST_DB_POOL", wrong), expected);
        }
        for (variable, value, needed) in [
            ("THALWEG_SERVER_PORT", "99999", "a number from 0 to 65535 is needed"),
            ("PGRST_DB_POOL_ACQUISITION_TIMEOUT", "10s", "a number of seconds from 0 to 2147483647 is needed"),
            ("PGRST_DB_POOL_MAX_LIFETIME", "2147483648", "a number of seconds from 0 to 2147483647 is needed"),
            ("PGRST_DB_MAX_ROWS", "all", "a number from 0 to 9223372036854775807 is needed"),
            ("PGRST_DB_PLAN_ENABLED", "yes", "true or false is needed"),
            ("PGRST_SERVER_UNIX_SOCKET_MODE", "577", "an octal number from 600 to 777 is needed"),
            ("THALWEG_LOG_FORMAT", "xml", "one of apache, logfmt, json is needed"),
            ("PGRST_LOG_LEVEL", "Info", "one of crit, error, warn, info, debug is needed"),
            (
                "PGRST_DB_TX_END",
                "Commit",
                "one of commit, commit-allow-override, rollback, rollback-allow-override is needed",
            ),
            ("PGRST_DB_SCHEMAS", " , ", "at least one schema is needed"),
            ("PGRST_DB_SCHEMAS", "api,pg_catalog", "db-schemas does not allow schema: 'pg_catalog'"),
            ("PGRST_PRE_REQUEST", "api.", FUNCTION_NEEDED),
            ("PGRST_DB_PRE_REQUEST", "a b", FUNCTION_NEEDED),
            ("THALWEG_JWT_JWKS_URI", "issuer.example/jwks.json", URI_NEEDED),
            ("THALWEG_JWT_JWKS_URI", "ftp://issuer.example/jwks.json", URI_NEEDED),
            ("THALWEG_JWT_JWKS_REFRESH", "0", "a number from 1 to 86400 is needed"),
            ("PGRST_SERVER_TRACE_HEADER", "X Id", "the name of a header is needed"),
            (
                "PGRST_OPENAPI_SERVER_PROXY_URI",
                "x",
                "Malformed proxy uri, a correct example: https://example.com:8443/basePath",
            ),
        ] {
            assert_eq!(refused(variable, value), format!("Error in config: {variable} = {value:?}: {needed}"));
        }
    }

    #[test]
    fn a_bad_value_of_the_file_is_named_by_its_key() {
        let path = std::env::temp_dir().join(format!("thalweg-config-{}.conf", std::process::id()));
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Sources::new(Some(&path), std::iter::empty()).read().map_err(|error| error.to_string())
        };
        let needed = "a number from 1 to 10000 is needed";
        assert_eq!(load("db-pool = \"abc\"").unwrap_err(), format!("Error in config: db-pool = \"abc\": {needed}"));
        assert_eq!(load("db-pool = 7.5").unwrap_err(), format!("Error in config: db-pool = \"7.5\": {needed}"));
        let config =
            load("db-pool = 1e2 server-port = \" 8 \" db-plan-enabled = on db-channel-enabled = \"0\"").unwrap();
        assert_eq!((config.db_pool, config.server_port), (100, 8));
        assert_eq!((config.db_plan_enabled, config.db_channel_enabled), (true, false));
        std::fs::remove_file(path).unwrap();
    }

    /// What PostgREST 12.0.2 prints with `--dump-config` where nothing is set: every key it has, each with its default.
    const ALL_KEYS_OF_POSTGREST: &str = r#"
        db-aggregates-enabled = false
        db-anon-role = ""
        db-channel = "pgrst"
        db-channel-enabled = true
        db-extra-search-path = "public"
        db-max-rows = ""
        db-plan-enabled = false
        db-pool = 10
        db-pool-acquisition-timeout = 10
        db-pool-max-lifetime = 1800
        db-pool-max-idletime = 30
        db-pool-automatic-recovery = true
        db-pre-request = ""
        db-prepared-statements = true
        db-root-spec = ""
        db-schemas = "public"
        db-config = false
        db-pre-config = ""
        db-tx-end = "commit"
        db-uri = "postgresql://"
        jwt-aud = ""
        jwt-role-claim-key = ".\"role\""
        jwt-secret = ""
        jwt-secret-is-base64 = false
        jwt-cache-max-lifetime = 0
        log-level = "error"
        openapi-mode = "follow-privileges"
        openapi-security-active = false
        openapi-server-proxy-uri = ""
        server-cors-allowed-origins = ""
        server-host = "!4"
        server-port = 3000
        server-trace-header = ""
        server-timing-enabled = false
        server-unix-socket = ""
        server-unix-socket-mode = "660"
        admin-server-port = ""
    "#;

    #[test]
    fn every_key_of_postgrest_has_its_default_here() {
        let path = std::env::temp_dir().join(format!("thalweg-config-all-{}.conf", std::process::id()));
        std::fs::write(&path, ALL_KEYS_OF_POSTGREST).unwrap();
        let config = Sources::new(Some(&path), std::iter::empty()).read().unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(config.warnings.iter().all(|warning| warning.ends_with("has no effect yet")), "{:?}", config.warnings);
        // without an address the embedded cluster is served, and responses say what they cost
        // that version asked for nothing in the database unless told to, and later ones do
        let default = Config {
            db_uri: Some("postgresql://".to_owned()),
            db_config: false,
            jwt_role_claim_key: ".\"role\"".to_owned(),
            ..Config::default()
        };
        assert!(config == Config { warnings: config.warnings.clone(), ..default }, "{config:?}");
    }

    /// A password with a character that a URI must escape is where a mistake is likely, and parts of it look like something else.
    #[test]
    fn no_part_of_a_connection_string_is_shown() {
        for wrong in [
            "postgres://gate:Qx/Zk@host/db",
            "postgres://gate:Qx?Zk@host/db",
            "postgres://gate:Qx?Zk=x@host/db",
            "postgres://gate:Qx%Zk@host/db",
            "postgres://gate:Qx@[::1/db",
            "host=h password=Qx Zk",
            "host=h password=Qx Zk=x",
            "host=h password='Qx Zk",
            "host=h password=Qx port=Zk",
        ] {
            let said = refused("PGRST_DB_URI", wrong);
            assert!(said.starts_with("Error in config: PGRST_DB_URI: invalid connection string: "), "{said}");
            assert!(["Qx", "Zk", "gate"].iter().all(|part| !said.contains(part)), "{said}");
        }
        let config =
            load(&[("PGRST_DB_URI", "postgres://gate:Secret@h"), ("PGRST_APP_SETTINGS_KEY", "Secret")]).unwrap();
        let said = format!("{config:?}");
        assert!(!said.contains("Secret") && said.contains("db_pool: 10"), "{said}");
    }

    #[test]
    fn odd_keys_warn() {
        let config = load(&[
            ("PGRST_JWT_CACHE_MAX_LIFETIME", "5"),
            ("PGRST_DB_SHEMAS", "x"),
            ("PGRST_ROOT_SPEC", "x"),
            ("PGRST_DB_REQUEST_SETTINGS", "never"),
        ])
        .unwrap();
        assert_eq!(
            config.warnings,
            [
                "db-request-settings never is read as auto: what code can see is not withheld from it",
                "unknown configuration key db-shemas",
                "the configuration key jwt-cache-max-lifetime has no effect yet"
            ]
        );
        assert_eq!(config.db_root_spec.as_deref(), Some("x"));
    }
}
