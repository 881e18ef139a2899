//! The configuration written down, as a file that reads back as the same (operations §11).

use super::keys::{KEYS, Key};
use super::{Config, JwksUri, LogFormat, LogLevel, OpenApiMode, PagesBrowse, RequestSettings, Secret};
use crate::callers::TrustedProxy;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// A value as it is written in a file.
pub(super) enum Shown {
    /// Between quotes.
    Text(String),
    /// As it is.
    Bare(String),
    /// What cannot be written between quotes.
    Bytes(Vec<u8>),
}

/// How the values of a type are written.
pub(super) trait Show {
    fn show(&self) -> Shown;
}

/// What stands for a secret.
const MASK: &str = "…";

impl Config {
    /// All keys with their values, sorted. Secrets are shown.
    pub fn dump(&self) -> String {
        self.written(false)
    }

    /// The same with something else in the place of secrets.
    pub(crate) fn dump_masked(&self) -> String {
        self.written(true)
    }

    /// A file in which each key stands with its meaning and its default, behind a `#`.
    pub fn example() -> String {
        let mut text = String::from(
            "# A configuration of Thalweg's, with the defaults. Each key may also be said in the environment: PGRST_ and its\n\
             # name in upper case, with _ for -.\n\n# what SQL can read by current_setting('app.settings.club'):\n\
             # app.settings.club = \"Ridge Soarers\"\n",
        );
        let values = Self::default().values(false);
        for (name, value) in values {
            let meaning = KEYS.iter().find(|key| key.name == name).map_or("", |key| key.meaning);
            let _ = write!(text, "\n#{meaning}\n# {name} = {value}\n");
        }
        text
    }

    fn written(&self, is_masked: bool) -> String {
        let mut lines: BTreeMap<String, String> = self
            .values(is_masked)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), format!("{name} = {value}")))
            .collect();
        for (name, value) in &self.app_settings {
            let value = if is_masked { MASK } else { value };
            let can_be_key = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
            let line = match can_be_key {
                true => format!("{name} = {}", quoted(value)),
                // only a variable can say it
                false => format!("# {:?} = {}", name, quoted(value)),
            };
            lines.insert(name.clone(), line);
        }
        lines.values().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// The keys with their values as they are written, sorted.
    fn values(&self, is_masked: bool) -> BTreeMap<&'static str, String> {
        let mut values = BTreeMap::new();
        let mut is_encoded = false;
        for (key, shown) in self.shown() {
            let value = match (self.in_words(key), shown) {
                (Some(word), _) => quoted(word),
                (None, Shown::Bare(text)) => text,
                (None, Shown::Text(text)) if is_masked && key.is_secret() && !text.is_empty() => quoted(MASK),
                (None, Shown::Text(text)) => quoted(&text),
                (None, Shown::Bytes(_)) if is_masked => quoted(MASK),
                (None, Shown::Bytes(bytes)) => {
                    is_encoded = true;
                    quoted(&STANDARD.encode(bytes))
                }
            };
            values.insert(key.name, value);
        }
        if is_encoded {
            values.insert("jwt-secret-is-base64", "true".to_owned());
        }
        values
    }

    /// The value of a key whose field is not of the type that the key is of.
    fn in_words(&self, key: &Key) -> Option<&'static str> {
        match key.name {
            "db-tx-end" => Some(match (self.db_tx_rolls_back, self.db_tx_end_is_theirs) {
                (false, false) => "commit",
                (false, true) => "commit-allow-override",
                (true, false) => "rollback",
                (true, true) => "rollback-allow-override",
            }),
            "client-error-verbosity" => Some(if self.client_errors_are_verbose { "verbose" } else { "minimal" }),
            "client-stream-max" if self.client_stream_max == u64::MAX => Some(""),
            _ => None,
        }
    }
}

/// A text as the file's grammar has it between quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '$' => quoted.push_str("$$"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

impl Show for String {
    fn show(&self) -> Shown {
        Shown::Text(self.clone())
    }
}

impl Show for bool {
    fn show(&self) -> Shown {
        Shown::Bare(self.to_string())
    }
}

impl Show for u16 {
    fn show(&self) -> Shown {
        Shown::Bare(self.to_string())
    }
}

impl Show for u64 {
    /// A file's numbers are read as floating ones, which larger integers are not.
    fn show(&self) -> Shown {
        const EXACT_MAX: u64 = 1 << 49;
        match *self {
            0..=EXACT_MAX => Shown::Bare(self.to_string()),
            _ => Shown::Text(self.to_string()),
        }
    }
}

impl Show for usize {
    fn show(&self) -> Shown {
        (*self as u64).show()
    }
}

/// Permissions of a file.
impl Show for u32 {
    fn show(&self) -> Shown {
        Shown::Text(format!("{self:o}"))
    }
}

impl Show for Duration {
    fn show(&self) -> Shown {
        Shown::Bare(self.as_secs().to_string())
    }
}

impl Show for PathBuf {
    fn show(&self) -> Shown {
        Shown::Text(self.display().to_string())
    }
}

impl Show for Vec<String> {
    fn show(&self) -> Shown {
        Shown::Text(self.join(","))
    }
}

impl Show for Vec<TrustedProxy> {
    fn show(&self) -> Shown {
        Shown::Text(self.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

/// The name of a function.
impl Show for (Option<String>, String) {
    fn show(&self) -> Shown {
        let (schema, name) = self;
        Shown::Text(schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}")))
    }
}

impl Show for Secret {
    /// What a file held may be no text, or look like the name of another file.
    fn show(&self) -> Shown {
        match std::str::from_utf8(self.bytes()) {
            Ok(text) if !text.starts_with('@') && !text.contains('\0') => Shown::Text(text.to_owned()),
            _ => Shown::Bytes(self.bytes().to_owned()),
        }
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> Shown {
        self.as_ref().map_or(Shown::Text(String::new()), Show::show)
    }
}

impl Show for JwksUri {
    fn show(&self) -> Shown {
        Shown::Text(self.text().to_owned())
    }
}

impl Show for RequestSettings {
    fn show(&self) -> Shown {
        let word = match self {
            Self::Auto => "auto",
            Self::Always => "always",
        };
        Shown::Text(word.to_owned())
    }
}

impl Show for OpenApiMode {
    fn show(&self) -> Shown {
        let word = match self {
            Self::FollowPrivileges => "follow-privileges",
            Self::IgnorePrivileges => "ignore-privileges",
            Self::Disabled => "disabled",
        };
        Shown::Text(word.to_owned())
    }
}

impl Show for PagesBrowse {
    fn show(&self) -> Shown {
        let word = match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        };
        Shown::Text(word.to_owned())
    }
}

impl Show for LogLevel {
    fn show(&self) -> Shown {
        let word = match self {
            Self::Crit => "crit",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        };
        Shown::Text(word.to_owned())
    }
}

impl Show for LogFormat {
    fn show(&self) -> Shown {
        let word = match self {
            Self::Apache => "apache",
            Self::Logfmt => "logfmt",
            Self::Json => "json",
        };
        Shown::Text(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    /// What a file of this text is read as.
    fn read(text: &str) -> Config {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("thalweg-dump-{}-{number}.conf", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let config = Sources::new(Some(&path), std::iter::empty()).read();
        std::fs::remove_file(path).unwrap();
        config.unwrap_or_else(|error| panic!("{error} in:\n{text}"))
    }

    /// A value of each key that is not its default.
    const OTHERS: &[(&str, &str)] = &[
        ("db-uri", "postgres://gate:p%22$$\\\\ss@h/db"),
        ("db-schemas", "api, archive"),
        ("db-anon-role", "a \\\"b\\\" \\\\ $$c"),
        ("jwt-secret", "a secret of more than 32 bytes \\\\ \\\" $$ \\n."),
        ("jwt-secret-is-base64", "true"),
        ("jwt-jwks-uri", "https://issuer.example/keys?p=1"),
        ("jwt-jwks-refresh", "60"),
        ("jwt-aud", "club"),
        ("jwt-role-claim-key", "$$.club[\\\"role\\\"]"),
        ("jwt-cache-max-entries", "7"),
        ("db-pool", "3"),
        ("db-pool-acquisition-timeout", "4"),
        ("db-pool-max-idletime", "5"),
        ("db-pool-max-lifetime", "6"),
        ("db-pool-automatic-recovery", "false"),
        ("db-max-rows", "9223372036854775807"),
        ("db-extra-search-path", ""),
        ("db-channel", "ch\\tannel"),
        ("db-channel-enabled", "false"),
        ("server-host", "127.0.0.1"),
        ("server-port", "8"),
        ("server-unix-socket", "/tmp/a socket"),
        ("server-unix-socket-mode", "777"),
        ("server-reuseport", "true"),
        ("admin-server-allowed-hosts", "metrics.club.example,thalweg"),
        ("admin-server-host", "localhost"),
        ("admin-server-port", "0"),
        ("admin-server-unix-socket", "/tmp/b"),
        ("admin-server-unix-socket-mode", "600"),
        ("client-body-max", "18446744073709551615"),
        ("client-stream-max", "12"),
        ("client-stall-timeout", "9"),
        ("client-spool-max", "10"),
        ("client-spool-dir", "/tmp"),
        ("server-clients-max", "11"),
        ("db-aggregates-enabled", "true"),
        ("db-plan-enabled", "true"),
        ("db-root-spec", "root"),
        ("db-pre-request", "ops.check"),
        ("db-hoisted-tx-settings", "a, b"),
        ("db-tx-end", "rollback-allow-override"),
        ("db-request-settings", "always"),
        ("db-prepared-statements", "false"),
        ("db-config", "false"),
        ("db-pre-config", "settings"),
        ("openapi-mode", "disabled"),
        ("openapi-security-active", "true"),
        ("openapi-server-proxy-uri", "https://example.com:8443/basePath"),
        ("server-cors-allowed-origins", "https://a.example, https://b.example"),
        ("server-trace-header", "X-Id"),
        ("session-cookie", "club"),
        ("session-cookie-secure", "false"),
        ("sign-in-functions", "login,api.enter"),
        ("sign-in-attempts", "13"),
        ("sign-in-interval", "14"),
        ("server-trusted-proxies", "192.0.2.7, 10.0.0.0/8"),
        ("db-count-estimates", "false"),
        ("pages-dir", "/srv/club/pages"),
        ("pages-api-prefix", "/rest"),
        ("pages-language", "de-CH"),
        ("pages-origin", "https://club.example"),
        ("pages-browse", "off"),
        ("server-timing-enabled", "true"),
        ("client-error-verbosity", "minimal"),
        ("url-use-legacy-target-names", "false"),
        ("log-level", "debug"),
        ("log-format", "json"),
        ("log-url-query", "false"),
        ("log-query", "true"),
    ];

    #[test]
    fn what_is_dumped_reads_back_as_the_same() {
        let default = Config::default();
        assert!(read(&default.dump()) == default, "{}", default.dump());
        let names: Vec<&str> = OTHERS.iter().map(|(name, _)| *name).collect();
        for key in KEYS {
            assert!(names.contains(&key.name), "{} has no other value here", key.name);
        }
        let mut all = String::new();
        for (name, value) in OTHERS {
            let entry = format!("{name} = \"{value}\"\n");
            let one = read(&entry);
            assert!(one != default, "{entry} says nothing");
            assert!(read(&one.dump()) == one, "{entry} is dumped as\n{}", one.dump());
            all.push_str(&entry);
        }
        all.push_str("app.settings.club = \"Ridge \\\"$$\\\" Soarers\"\n");
        for end in ["commit", "commit-allow-override", "rollback"] {
            let one = read(&format!("db-tx-end = \"{end}\""));
            assert!(read(&one.dump()) == one);
        }
        let all = read(&all);
        let dumped = all.dump();
        assert!(read(&dumped) == all, "{dumped}");
        // as sorted as they are unique
        let keys: Vec<&str> = dumped.lines().map(|line| line.split_once(" = ").unwrap().0).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{dumped}");
        assert_eq!(keys.len(), OTHERS.len() + 1);
    }

    #[test]
    fn values_are_written_as_the_protocol_has_them() {
        let dumped =
            read("db-schemas = \"a, b\"\njwt-role-claim-key = \"$$.r\"\nserver-unix-socket-mode = \"700\"").dump();
        for line in [
            "db-schemas = \"a,b\"",
            "jwt-role-claim-key = \"$$.r\"",
            "server-unix-socket-mode = \"700\"",
            "db-pool = 10",
            "db-config = true",
            "db-max-rows = \"\"",
            "db-uri = \"\"",
            "log-level = \"error\"",
        ] {
            assert!(dumped.lines().any(|dumped| dumped == line), "{line} in\n{dumped}");
        }
    }

    #[test]
    fn a_secret_that_is_no_text_is_the_same_secret() {
        for secret in
            [&b"\xff\0 binary, and long enough to be a secret"[..], b"@looks-like-a-file-but-is-the-secret-itself"]
        {
            let config = Config { jwt_secret: Some(Secret::new(secret)), ..Config::default() };
            let again = read(&config.dump());
            assert!(again.jwt_secret_is_base64);
            assert_eq!(STANDARD.decode(again.jwt_secret.unwrap().bytes()).unwrap(), secret);
        }
    }

    #[test]
    fn what_is_masked_shows_no_secret() {
        let config = read(
            "db-uri = \"postgres://gate:Hidden@h\"\njwt-secret = \"Hidden\"\napp.settings.key = \"Hidden\"\ndb-anon-role = \"seen\"",
        );
        let shown = config.dump_masked();
        assert!(!shown.contains("Hidden") && shown.contains("db-anon-role = \"seen\""), "{shown}");
        assert_eq!(shown.matches(MASK).count(), 3);
        // what is not said is not hidden
        assert!(!Config::default().dump_masked().contains(MASK));
    }

    #[test]
    fn the_example_is_a_file_of_the_defaults() {
        let example = Config::example();
        assert!(read(&example) == Config::default());
        let is_entry = |line: &&str| line.starts_with("# ") && line.contains(" = ");
        let entries: String = example.lines().filter(is_entry).flat_map(|line| [&line[2..], "\n"]).collect();
        let read = read(&entries);
        assert_eq!(read.app_settings.len(), 1);
        assert!(Config { app_settings: Vec::new(), ..read } == Config::default(), "{entries}");
    }
}
