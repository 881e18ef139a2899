//! The keys, one a row, and those of PostgREST's that have no effect yet.
//!
//! To add one, write a row here and a row in `docs/configuration.md`.

use super::dump::{Show, Shown};
use super::values::{
    Values, api_prefix, boolean, choice, connection, cookie_name, function, functions, hosts, jwks_uri, language, list,
    number, optional, origin, path, proxy, schemas, seconds, secret, socket_mode, text, trace_header, trusted_proxies,
};
use super::{ConfigError, JwksUri, LogFormat, LogLevel, OpenApiMode, PagesBrowse, RequestSettings, Secret};
use crate::callers::TrustedProxy;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// PostgreSQL's `bigint` is the type of its limits.
const ROWS_MAX: u64 = i64::MAX as u64;
const BYTES_MAX: u64 = u64::MAX;
const CONNECTIONS_MAX: u64 = 10_000;
const CLIENTS_MAX: u64 = 1_000_000;
const ATTEMPTS_MAX: u64 = 1_000_000;
/// A day: keys that were withdrawn are no good for longer.
const JWKS_REFRESH_S_MAX: u64 = 86_400;

config_of_keys! {
    /// the connection string; `None` where nobody said.
    "db-uri": "", at_start, secret => db_uri: Option<String> = optional(connection);
    /// the exposed schemas, the default one first.
    "db-schemas": "public", in_database, older("db-schema") => db_schemas: Vec<String> = schemas;
    /// the role of requests without a token.
    "db-anon-role": "", in_database => db_anon_role: Option<String> = optional(text);
    /// what tokens are verified with: a text, a JWK, a set of them, or after `@` the name of the file that holds it.
    "jwt-secret": "", in_database, secret => jwt_secret: Option<Secret> = optional(secret);
    /// whether it is in base64.
    "jwt-secret-is-base64": "false", in_database, older("secret-is-base64") => jwt_secret_is_base64: bool = boolean;
    /// a key of Thalweg's own: where the issuer of tokens publishes the public keys that they are signed with.
    "jwt-jwks-uri": "", in_database => jwt_jwks_uri: Option<JwksUri> = optional(jwks_uri);
    /// a key of Thalweg's own: after how many seconds they are fetched again.
    "jwt-jwks-refresh": "300", in_database => jwt_jwks_refresh: Duration = |given: &str| number(1, JWKS_REFRESH_S_MAX)(given).map(Duration::from_secs);
    /// whom tokens must be meant for.
    "jwt-aud": "", in_database => jwt_aud: Option<String> = optional(text);
    /// where in a token's claims the role stands.
    "jwt-role-claim-key": "$.role", in_database, older("role-claim-key") => jwt_role_claim_key: String = text;
    /// how many tokens are remembered that were verified.
    "jwt-cache-max-entries": "1000", in_database => jwt_cache_max_entries: usize = at_least_none;
    /// a key of Thalweg's own: the cookie in which a token may come.
    "session-cookie": "" => session_cookie: Option<String> = optional(cookie_name);
    /// a key of Thalweg's own: whether browsers send it over TLS only.
    "session-cookie-secure": "true" => session_cookie_secure: bool = boolean;
    /// A key of Thalweg's own: functions whose calls are attempts to sign in, besides the functions
    /// that a form or a request with `Prefer: session` calls.
    "sign-in-functions": "" => sign_in_functions: Vec<String> = functions;
    /// A key of Thalweg's own: the number of attempts to sign in that a client has at once. 0 means
    /// no limit.
    "sign-in-attempts": "30", at_start => sign_in_attempts: usize = number(0, ATTEMPTS_MAX);
    /// A key of Thalweg's own: the number of seconds after which a client has another attempt.
    "sign-in-interval": "2", at_start => sign_in_interval: Duration = at_least_a_second;
    /// a key of Thalweg's own: whether rows are counted by the planner's estimates where that is asked for, or exactly.
    "db-count-estimates": "true" => db_count_estimates: bool = boolean;
    /// a key of Thalweg's own: the folder whose templates are the pages of a site.
    "pages-dir": "", at_start => pages_dir: Option<PathBuf> = optional(path);
    /// a key of Thalweg's own: where the API is, if there are pages.
    "pages-api-prefix": "/api", at_start => pages_api_prefix: String = api_prefix;
    /// a key of Thalweg's own: the language of pages whose site has no messages, and of messages that others do not have.
    "pages-language": "en", at_start => pages_language: String = language;
    /// a key of Thalweg's own: where the site is, as its absolute addresses begin.
    "pages-origin": "" => pages_origin: Option<String> = optional(origin);
    /// a key of Thalweg's own: whether browsers get pages of the API's relations and functions.
    "pages-browse": "auto" => pages_browse: PagesBrowse = choice(&[
        ("auto", PagesBrowse::Auto),
        ("on", PagesBrowse::On),
        ("off", PagesBrowse::Off),
    ]);
    /// how many connections are open at most.
    "db-pool": "10", at_start => db_pool: usize = number(1, CONNECTIONS_MAX);
    /// how long a request waits for one.
    "db-pool-acquisition-timeout": "10", at_start => db_pool_acquisition_timeout: Duration = seconds;
    /// how long an unused one is kept.
    "db-pool-max-idletime": "30", at_start, older("db-pool-timeout"), older_wins => db_pool_max_idletime: Duration = seconds;
    /// how old one gets.
    "db-pool-max-lifetime": "1800", at_start => db_pool_max_lifetime: Duration = seconds;
    /// whether the database is tried again once it has been lost; else the program ends.
    "db-pool-automatic-recovery": "true" => db_pool_automatic_recovery: bool = boolean;
    /// how many rows any level may return.
    "db-max-rows": "", in_database, older("max-rows") => db_max_rows: Option<u64> = optional(number(0, ROWS_MAX));
    /// schemas behind the exposed one in the search path.
    "db-extra-search-path": "public", in_database, may_be_empty => db_extra_search_path: Vec<String> = list;
    /// where reloads are notified.
    "db-channel": "pgrst" => db_channel: String = text;
    /// whether to listen there.
    "db-channel-enabled": "true" => db_channel_enabled: bool = boolean;
    /// the address to listen on.
    "server-host": "!4", at_start => server_host: String = text;
    /// 0 is any free one.
    "server-port": "3000", at_start => server_port: u16 = number(0, 65_535);
    /// a path to listen on instead.
    "server-unix-socket": "", at_start => server_unix_socket: Option<PathBuf> = optional(path);
    /// who may connect there.
    "server-unix-socket-mode": "660", at_start => server_unix_socket_mode: u32 = socket_mode;
    /// A key of Thalweg's own: addresses and networks of proxies whose `X-Forwarded-For` is
    /// trusted, besides this machine's own addresses.
    "server-trusted-proxies": "" => server_trusted_proxies: Vec<TrustedProxy> = trusted_proxies;
    /// whether several processes may listen on the port; then it is opened once the schema cache has been loaded.
    "server-reuseport": "false", at_start => server_reuseport: bool = boolean;
    /// A key of Thalweg's own: the host names under which the admin server answers, besides
    /// addresses and `localhost`.
    "admin-server-allowed-hosts": "", at_start => admin_server_allowed_hosts: Option<Vec<String>> = optional(hosts);
    /// where the admin server listens, if not at `server-host`.
    "admin-server-host": "", at_start => admin_server_host: Option<String> = optional(text);
    /// its port, without which there is none.
    "admin-server-port": "", at_start => admin_server_port: Option<u16> = optional(number(0, 65_535));
    /// a path to listen on instead.
    "admin-server-unix-socket": "", at_start => admin_server_unix_socket: Option<PathBuf> = optional(path);
    /// who may connect there.
    "admin-server-unix-socket-mode": "660", at_start => admin_server_unix_socket_mode: u32 = socket_mode;
    /// a key of Thalweg's own: how large a body may be of which all must be here at once, in bytes.
    "client-body-max": "268435456" => client_body_max: u64 = number(0, BYTES_MAX);
    /// a key of Thalweg's own: how large a body may be that is read row by row, in bytes.
    "client-stream-max": "" => client_stream_max: u64 = |given: &str| match given {
        "" => Ok(BYTES_MAX),
        given => number(0, BYTES_MAX)(given),
    };
    /// a key of Thalweg's own: how long a client may take nothing of a response, or send nothing of a body.
    "client-stall-timeout": "30" => client_stall_timeout: Duration = at_least_a_second;
    /// a key of Thalweg's own: how much clients that are slower than the database may keep on disk, in bytes.
    "client-spool-max": "4294967296", at_start => client_spool_max: u64 = number(0, BYTES_MAX);
    /// a key of Thalweg's own: where that is.
    "client-spool-dir": "/var/tmp", at_start => client_spool_dir: PathBuf = path;
    /// a key of Thalweg's own: how many clients may be connected.
    "server-clients-max": "10000", at_start => server_clients_max: usize = number(1, CLIENTS_MAX);
    /// whether requests may aggregate.
    "db-aggregates-enabled": "false", in_database => db_aggregates_enabled: bool = boolean;
    /// whether requests may ask how they would be run.
    "db-plan-enabled": "false", in_database => db_plan_enabled: bool = boolean;
    /// the function that answers `/`.
    "db-root-spec": "", in_database, older("root-spec") => db_root_spec: Option<String> = optional(text);
    /// the function that runs before every request, with its schema if that was said.
    "db-pre-request": "", in_database, older("pre-request") => db_pre_request: Option<(Option<String>, String)> = optional(function);
    /// the settings of a function that hold for the whole transaction.
    "db-hoisted-tx-settings": "statement_timeout, plan_filter.statement_cost_limit, default_transaction_isolation", in_database
        => db_hoisted_tx_settings: Vec<String> = list;
    /// whether transactions are rolled back.
    "db-tx-end": "commit", in_database => db_tx_rolls_back: bool = |given: &str| tx_end(given).map(|(rolls_back, _)| rolls_back);
    /// whether requests may say how their transaction ends.
    "db-tx-end": "commit", in_database => db_tx_end_is_theirs: bool = |given: &str| tx_end(given).map(|(_, is_theirs)| is_theirs);
    /// a key of Thalweg's own: what a session is told of a request.
    "db-request-settings": "auto" => db_request_settings: RequestSettings = choice(&[
        ("auto", RequestSettings::Auto),
        ("always", RequestSettings::Always),
        // what code can see is never withheld from it
        (REQUEST_SETTINGS_NEVER, RequestSettings::Auto),
    ]);
    /// whether statements are kept prepared and state is kept in sessions; not behind a pooler.
    "db-prepared-statements": "true", in_database => db_prepared_statements: bool = boolean;
    /// whether the database is asked for configuration and for the settings of roles.
    "db-config": "true" => db_config: bool = boolean;
    /// the function that sets some of it, with its schema if that was said.
    "db-pre-config": "", in_database => db_pre_config: Option<(Option<String>, String)> = optional(function);
    /// what the description of `/` covers.
    "openapi-mode": "follow-privileges", in_database => openapi_mode: OpenApiMode = choice(&[
        ("follow-privileges", OpenApiMode::FollowPrivileges),
        ("ignore-privileges", OpenApiMode::IgnorePrivileges),
        ("disabled", OpenApiMode::Disabled),
    ]);
    /// whether it mentions tokens.
    "openapi-security-active": "false", in_database => openapi_security_active: bool = boolean;
    /// where clients find the server.
    "openapi-server-proxy-uri": "", in_database => openapi_server_proxy_uri: Option<String> = optional(proxy);
    /// all where it is not set.
    "server-cors-allowed-origins": "", in_database => server_cors_allowed_origins: Option<Vec<String>> = optional(list);
    /// a header that is sent back as it came.
    "server-trace-header": "", in_database => server_trace_header: Option<String> = optional(trace_header);
    /// whether responses tell what they cost; on unless it is turned off.
    "server-timing-enabled": "false", in_database => server_timing_enabled: bool = boolean;
    /// whether errors have details and a hint.
    "client-error-verbosity": "verbose", in_database => client_errors_are_verbose: bool = choice(&[("verbose", true), ("minimal", false)]);
    /// whether an embed's bare name addresses it although it has an alias.
    "url-use-legacy-target-names": "true", in_database => url_use_legacy_target_names: bool = boolean;
    /// from which status on requests are logged.
    "log-level": "error" => log_level: LogLevel = choice(&[
        ("crit", LogLevel::Crit),
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
    ]);
    /// a key of Thalweg's own: how log lines are written.
    "log-format": "apache" => log_format: LogFormat = choice(&[
        ("apache", LogFormat::Apache),
        ("logfmt", LogFormat::Logfmt),
        ("json", LogFormat::Json),
    ]);
    /// a key of Thalweg's own: whether the query of a request's URL is logged with it.
    "log-url-query": "true" => log_url_query: bool = boolean;
    /// whether the SQL of a request is logged with it.
    "log-query": "false" => log_query: bool = boolean;
}

/// PostgREST's keys that are understood as such, and have no effect yet.
pub(super) const NOT_YET: [&str; 1] = ["jwt-cache-max-lifetime"];

pub(super) const REQUEST_SETTINGS_NEVER: &str = "never";

/// Whether transactions are rolled back, and whether requests may say so.
fn tx_end(given: &str) -> Result<(bool, bool), String> {
    choice(&[
        ("commit", (false, false)),
        ("commit-allow-override", (false, true)),
        ("rollback", (true, false)),
        ("rollback-allow-override", (true, true)),
    ])(given)
}

/// A number, of which those below 0 are as good as 0.
fn at_least_none(given: &str) -> Result<usize, String> {
    match given.trim().strip_prefix('-') {
        Some(below) => number::<u64>(0, ROWS_MAX)(below).map(|_| 0),
        None => number(0, ROWS_MAX)(given),
    }
}

fn at_least_a_second(given: &str) -> Result<Duration, String> {
    match seconds(given)? {
        Duration::ZERO => Err("a number of seconds from 1 on is needed".to_owned()),
        some => Ok(some),
    }
}

/// One key: its name, its default, and what is particular about it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// As it would be written in the environment; empty where the key is unset.
    pub(super) default: &'static str,
    /// What it means, in a line.
    pub(super) meaning: &'static str,
    pub(super) older: Option<&'static str>,
    pub(super) older_wins: bool,
    pub(super) may_be_empty: bool,
    is_secret: bool,
    is_in_database: bool,
    is_of_start: bool,
}

impl Key {
    const fn new(name: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            default,
            meaning,
            older: None,
            older_wins: false,
            may_be_empty: false,
            is_secret: false,
            is_in_database: false,
            is_of_start: false,
        }
    }

    /// A name that is read where this one says nothing.
    const fn older(self, name: &'static str) -> Self {
        Self { older: Some(name), ..self }
    }

    /// The older name is read first.
    const fn older_wins(self) -> Self {
        Self { older_wins: true, ..self }
    }

    /// The empty text is a value, and not the same as none.
    const fn may_be_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }

    /// Its value is never printed.
    const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    /// It may be set in the database.
    const fn in_database(self) -> Self {
        Self { is_in_database: true, ..self }
    }

    /// It keeps the value of the start.
    const fn at_start(self) -> Self {
        Self { is_of_start: true, ..self }
    }

    pub(super) fn is_secret(&self) -> bool {
        self.is_secret
    }

    pub(super) fn is_in_database(&self) -> bool {
        self.is_in_database
    }

    pub(super) fn is_of_start(&self) -> bool {
        self.is_of_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    const DOCS: &str = include_str!("../../../../docs/configuration.md");

    /// The rows of the table of keys: key, default, meaning.
    fn documented() -> Vec<[&'static str; 3]> {
        let rows = DOCS.lines().skip_while(|line| *line != "| key | default | meaning |").skip(2);
        rows.take_while(|line| line.starts_with('|'))
            .map(|line| {
                let cells: Vec<&str> = line.trim_matches('|').splitn(3, '|').map(str::trim).collect();
                cells.try_into().unwrap_or_else(|_| panic!("three cells are needed: {line}"))
            })
            .collect()
    }

    #[test]
    fn the_documentation_has_every_key_with_its_default_and_no_other() {
        let mut rows = BTreeMap::new();
        for [key, default, meaning] in documented() {
            let key = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')).expect("a key is code");
            assert_eq!(rows.insert(key, (default, meaning)), None, "{key} has two rows");
        }
        let (_, about_free_settings) = rows.remove("app.settings.*").expect("app.settings.* has a row");
        assert!(!about_free_settings.is_empty());
        let known: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(rows.keys().copied().collect::<BTreeSet<_>>(), known);
        for key in KEYS {
            let (default, meaning) = rows[key.name];
            let expected = match key.default {
                "" => "–".to_owned(),
                text => format!("`{text}`"),
            };
            assert_eq!(default, expected, "the default of {}", key.name);
            assert!(!meaning.is_empty(), "what {} means", key.name);
            if let Some(older) = key.older {
                assert!(meaning.contains(&format!("`{older}`")), "the older name of {} is {older}", key.name);
            }
        }
    }

    #[test]
    fn the_documentation_lists_the_keys_without_effect() {
        let (_, list) = DOCS.split_once("Keys of PostgREST's without effect: ").expect("they are listed");
        let (list, _) = list.split_once(".\n").expect("the list is a sentence");
        let listed: BTreeSet<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, NOT_YET.into_iter().collect());
    }

    #[test]
    fn a_name_means_one_thing() {
        let mut names = BTreeMap::new();
        for key in KEYS {
            for name in std::iter::once(key.name).chain(key.older) {
                let meant = *names.entry(name).or_insert(key.name);
                assert_eq!(meant, key.name, "{name}");
                assert!(!NOT_YET.contains(&name), "{name} has an effect");
            }
            let twice = KEYS.iter().find(|other| other.name == key.name).unwrap();
            assert_eq!((twice.default, twice.older), (key.default, key.older), "{}", key.name);
        }
    }
}
