//! Values as they were given, and how each type of them is read (operations §1.1).

use super::keys::{KEYS, Key, NOT_YET, REQUEST_SETTINGS_NEVER};
use super::{ConfigError, JwksUri, JwksUriError, Secret, value_file};
use crate::callers::{TrustedProxy, TrustedProxyError};
use hyper::header::HeaderName;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What the names of environment variables begin with; the later wins.
pub(super) const PREFIXES: [&str; 2] = ["PGRST_", "THALWEG_"];

/// As long as a number of seconds in PostgreSQL's settings may be; what is added to the time of day must not overflow.
const SECONDS_MAX: u64 = i32::MAX as u64;
/// PostgreSQL cuts longer names off.
const NAME_BYTES_MAX: usize = 63;

/// The owner may connect at least.
const SOCKET_MODE_MIN: u32 = 0o600;
const SOCKET_MODE_MAX: u32 = 0o777;

const FREE_SETTINGS: &str = "app.settings.";

/// The values that were given, by key; each hides those of lower sources.
#[derive(Debug, Default)]
pub(super) struct Values {
    given: BTreeMap<String, Value>,
}

#[derive(Debug)]
struct Value {
    text: String,
    /// Where it came from, unless that is the file.
    variable: Option<String>,
}

impl Values {
    /// The file's entries, and what the environment says instead.
    pub(super) fn new(entries: BTreeMap<String, String>, environment: impl Iterator<Item = (String, String)>) -> Self {
        let from_file = |(key, text)| (key, Value { text, variable: None });
        let mut given: BTreeMap<String, Value> = entries.into_iter().map(from_file).collect();
        let environment: BTreeMap<String, String> = environment.collect();
        for prefix in PREFIXES {
            for (variable, text) in &environment {
                let Some(name) = variable.strip_prefix(prefix) else { continue };
                let key = match name.strip_prefix("APP_SETTINGS_") {
                    Some(setting) => format!("{FREE_SETTINGS}{setting}"),
                    None => name.to_ascii_lowercase().replace('_', "-"),
                };
                // what is not meant for the server: where to find PostgreSQL
                if prefix == "PGRST_" || !matches!(key.as_str(), "postgres" | "maven-url") {
                    given.insert(key, Value { text: text.clone(), variable: Some(variable.clone()) });
                }
            }
        }
        Self { given }
    }

    /// What settings of the database say, by key.
    pub(super) fn of_database(settings: &[(String, String)]) -> Self {
        let value = |(key, text): &(String, String)| {
            let variable = format!("pgrst.{}", key.replace('-', "_"));
            (key.clone(), Value { text: text.clone(), variable: Some(variable) })
        };
        Self { given: settings.iter().map(value).collect() }
    }

    /// Whether they say something of a key, be it that it is unset.
    pub(super) fn mention(&self, key: &Key) -> bool {
        std::iter::once(key.name).chain(key.older).any(|name| self.given.contains_key(name))
    }

    /// What a key has been set to, or else its default. `read` says what it needs where it cannot read a text.
    pub(super) fn read<T>(&self, key: &Key, read: impl Fn(&str) -> Result<T, String>) -> Result<T, ConfigError> {
        let says_something = |value: &&Value| key.may_be_empty || !value.text.is_empty();
        let value_of = |name: &str| self.given.get_key_value(name).filter(|(_, value)| says_something(value));
        let (newer, older) = (value_of(key.name), key.older.and_then(value_of));
        let Some((name, value)) = (if key.older_wins { older.or(newer) } else { newer.or(older) }) else {
            return read(key.default).map_err(|needed| ConfigError::new(format!("{}: {needed}", key.name)));
        };
        read(&value.text).map_err(|needed| {
            let name = value.variable.as_ref().unwrap_or(name);
            ConfigError::new(match key.is_secret() {
                true => format!("{name}: {needed}"),
                false => format!("{name} = {:?}: {needed}", value.text),
            })
        })
    }

    /// What SQL can read. A value may be a secret, so that nothing is said of it.
    pub(super) fn app_settings(&self) -> Result<Vec<(String, String)>, ConfigError> {
        let free = self.given.iter().filter(|(key, _)| key.starts_with(FREE_SETTINGS));
        free.map(|(key, value)| match is_name_of_setting(key) {
            true => Ok((key.clone(), value.text.clone())),
            false => {
                let name = value.variable.as_ref().unwrap_or(key);
                Err(ConfigError::new(format!("{name}: a name that PostgreSQL takes is needed: {SETTING_NAME}")))
            }
        })
        .collect()
    }

    /// What is odd about them, in words for the log.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.given.iter().filter_map(|(key, value)| warning(key, &value.text)).collect()
    }
}

const SETTING_NAME: &str =
    "letters, digits, _ and $, in parts between dots none of which is empty or begins with a digit or $";

/// Whether PostgreSQL takes it for the name of a setting that it does not know (`valid_custom_variable_name` in its source). It
/// looks at bytes, of which those beyond ASCII are letters.
fn is_name_of_setting(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
    name.split('.').all(|part| {
        let is_inside = |byte: u8| is_letter(byte) || byte.is_ascii_digit() || byte == b'$';
        part.bytes().next().is_some_and(is_letter) && part.bytes().all(is_inside)
    })
}

fn warning(key: &str, value: &str) -> Option<String> {
    let is_known = KEYS.iter().any(|known| known.name == key || known.older == Some(key));
    if (key, value) == ("db-request-settings", REQUEST_SETTINGS_NEVER) {
        Some("db-request-settings never is read as auto: what code can see is not withheld from it".to_owned())
    } else if is_known || key.starts_with(FREE_SETTINGS) {
        None
    } else if NOT_YET.contains(&key) {
        Some(format!("the configuration key {key} has no effect yet"))
    } else {
        Some(format!("unknown configuration key {key}"))
    }
}

/// What `read` reads; nothing where the text is empty.
pub(super) fn optional<T>(read: impl Fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |given| if given.is_empty() { Ok(None) } else { read(given).map(Some) }
}

/// A number in decimal digits, from one to another.
pub(super) fn number<T: TryFrom<u64>>(min: u64, max: u64) -> impl Fn(&str) -> Result<T, String> {
    move |given| {
        let number = digits(given).filter(|number| (min..=max).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("a number from {min} to {max} is needed"))
    }
}

pub(super) fn seconds(given: &str) -> Result<Duration, String> {
    let seconds = digits(given).filter(|&seconds| seconds <= SECONDS_MAX);
    let seconds = seconds.ok_or_else(|| format!("a number of seconds from 0 to {SECONDS_MAX} is needed"))?;
    Ok(Duration::from_secs(seconds))
}

/// `true`, `false`, or an integer, of which those above 0 are true.
pub(super) fn boolean(given: &str) -> Result<bool, String> {
    let given = given.trim();
    if given.eq_ignore_ascii_case("true") {
        return Ok(true);
    }
    if given.eq_ignore_ascii_case("false") {
        return Ok(false);
    }
    let below_zero = given.strip_prefix('-').and_then(digits).is_some();
    let number = if below_zero { Some(0) } else { digits(given) };
    number.map(|number| number > 0).ok_or_else(|| "true or false is needed".to_owned())
}

/// One of these words.
pub(super) fn choice<T: Copy>(words: &[(&str, T)]) -> impl Fn(&str) -> Result<T, String> {
    move |given| {
        words.iter().find(|(word, _)| *word == given).map(|(_, meant)| *meant).ok_or_else(|| {
            let words = words.iter().map(|(word, _)| *word).filter(|word| *word != REQUEST_SETTINGS_NEVER);
            format!("one of {} is needed", words.collect::<Vec<_>>().join(", "))
        })
    }
}

pub(super) fn text(given: &str) -> Result<String, String> {
    Ok(given.to_owned())
}

pub(super) fn path(given: &str) -> Result<PathBuf, String> {
    Ok(given.into())
}

/// Permissions of a socket's file, in octal digits.
pub(super) fn socket_mode(given: &str) -> Result<u32, String> {
    let mode =
        u32::from_str_radix(given.trim(), 8).ok().filter(|mode| (SOCKET_MODE_MIN..=SOCKET_MODE_MAX).contains(mode));
    mode.filter(|_| !given.contains('+')).ok_or_else(|| "an octal number from 600 to 777 is needed".to_owned())
}

/// Items between commas, without the blanks around them.
pub(super) fn list(given: &str) -> Result<Vec<String>, String> {
    Ok(given.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
}

/// Parses host names without ports, separated by commas.
pub(super) fn hosts(given: &str) -> Result<Vec<String>, String> {
    let hosts = list(given)?;
    let is_host = |text: &String| {
        crate::http::Authority::parse(text).is_some_and(|authority| authority.port.is_none() && !text.ends_with(':'))
    };
    match hosts.iter().find(|text| !is_host(text)) {
        Some(text) => Err(format!("host names without ports are needed, and {text:?} is not one")),
        None => Ok(hosts),
    }
}

pub(super) fn schemas(given: &str) -> Result<Vec<String>, String> {
    let schemas = list(given)?;
    if schemas.is_empty() {
        return Err("at least one schema is needed".to_owned());
    }
    match schemas.iter().find(|schema| matches!(schema.as_str(), "pg_catalog" | "information_schema")) {
        Some(schema) => Err(format!("db-schemas does not allow schema: '{schema}'")),
        None => Ok(schemas),
    }
}

/// A function's name, with its schema if there is one; the first dot parts them. They are names as PostgreSQL keeps them, so that
/// what would stand around one in SQL is no part of it: no function is called so, but by mistake.
pub(super) fn function(given: &str) -> Result<(Option<String>, String), String> {
    let is_name = |name: &str| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '(' | ')' | ',' | ';');
        !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(is_odd)
    };
    let (schema, name) = given.split_once('.').map_or((None, given), |(schema, name)| (Some(schema), name));
    if !is_name(name) || !schema.is_none_or(is_name) {
        let each = format!("of at most {NAME_BYTES_MAX} bytes each, without blanks, quotes or parentheses");
        return Err(format!("a function's name is needed, or schema.name, {each}"));
    }
    Ok((schema.map(str::to_owned), name.to_owned()))
}

/// Parses names of functions, separated by commas.
pub(super) fn functions(given: &str) -> Result<Vec<String>, String> {
    let names = list(given)?;
    names.iter().try_for_each(|name| function(name).map(drop))?;
    Ok(names)
}

/// A connection string, or after `@` the name of the file that holds it. What is said of it holds none of its values.
pub(super) fn connection(given: &str) -> Result<String, String> {
    let uri = match given.strip_prefix('@') {
        Some(path) => {
            let bytes = value_file::read(path)?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{path}: text in UTF-8 is needed"))?;
            text.trim_end_matches('\n').to_owned()
        }
        None => given.to_owned(),
    };
    thalweg_wire::Config::parse(&uri).map_err(|error| error.to_string())?;
    Ok(uri)
}

/// A secret, or after `@` the name of the file that holds it, less one line feed at its end.
pub(super) fn secret(given: &str) -> Result<Secret, String> {
    let Some(path) = given.strip_prefix('@') else { return Ok(Secret::new(given)) };
    let mut bytes = value_file::read(path)?;
    bytes.pop_if(|last| *last == b'\n');
    Ok(Secret::new(bytes))
}

pub(super) fn proxy(given: &str) -> Result<String, String> {
    match crate::answer::Proxy::parse(given) {
        Some(_) => text(given),
        None => Err("Malformed proxy uri, a correct example: https://example.com:8443/basePath".to_owned()),
    }
}

/// Parses addresses and networks, separated by commas.
pub(super) fn trusted_proxies(given: &str) -> Result<Vec<TrustedProxy>, String> {
    let proxies = list(given)?.into_iter().map(|proxy| proxy.parse());
    proxies.collect::<Result<_, _>>().map_err(|needed: TrustedProxyError| needed.to_string())
}

pub(super) fn jwks_uri(given: &str) -> Result<JwksUri, String> {
    given.parse().map_err(|needed: JwksUriError| needed.to_string())
}

pub(super) fn cookie_name(given: &str) -> Result<String, String> {
    // what a header's name may be, a cookie's may be too (RFC 6265 section 4.1.1)
    match HeaderName::from_bytes(given.as_bytes()) {
        Ok(_) => text(given),
        Err(_) => Err("the name of a cookie is needed".to_owned()),
    }
}

/// A language tag (BCP 47): `en`, `de-CH`.
pub(super) fn language(given: &str) -> Result<String, String> {
    let is_part = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_tag = given.len() <= thalweg_pages::LOCALE_BYTES_MAX && given.split('-').all(is_part);
    if is_tag { text(given) } else { Err("a language tag is needed: en, de-CH".to_owned()) }
}

/// A path to put before the API's: `/api`.
pub(super) fn api_prefix(given: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !matches!(part, "" | "." | ".." | "static")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'))
    };
    match given.strip_prefix('/') {
        Some(path) if path.split('/').all(is_part) => text(given),
        _ => Err("a path such as /api is needed, with letters, digits, - _ . ~ in its parts".to_owned()),
    }
}

/// A scheme and a host, with a port or without: `https://club.example`.
pub(super) fn origin(given: &str) -> Result<String, String> {
    let host = given.strip_prefix("https://").or_else(|| given.strip_prefix("http://"));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'[' | b']');
    match crate::answer::Proxy::parse(given) {
        Some(_) if host.is_some_and(|host| host.bytes().all(is_plain)) => text(given),
        _ => Err("an origin is needed: https://example.com".to_owned()),
    }
}

pub(super) fn trace_header(given: &str) -> Result<String, String> {
    match HeaderName::from_bytes(given.as_bytes()) {
        Ok(_) => text(given),
        Err(_) => Err("the name of a header is needed".to_owned()),
    }
}

/// Digits with blanks around them, and neither sign nor fraction.
fn digits(given: &str) -> Option<u64> {
    let given = given.trim();
    given.bytes().all(|byte| byte.is_ascii_digit()).then(|| given.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgREST 12.0.2 reads them with `--dump-config`; what it takes for the default in silence is an error here.
    #[test]
    fn booleans_as_postgrest_reads_them() {
        for (given, expected) in [
            ("true", Ok(true)),
            ("True", Ok(true)),
            ("TRUE", Ok(true)),
            (" true ", Ok(true)),
            ("1", Ok(true)),
            ("2", Ok(true)),
            ("false", Ok(false)),
            ("FALSE", Ok(false)),
            ("0", Ok(false)),
            ("-1", Ok(false)),
            ("on", Err(())),
            ("off", Err(())),
            ("yes", Err(())),
            ("t", Err(())),
            ("1.0", Err(())),
            ("-", Err(())),
            ("", Err(())),
        ] {
            assert_eq!(boolean(given).map_err(drop), expected, "{given:?}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for given in ["https://club.example", "http://localhost:3000", "http://[::1]:80"] {
            assert_eq!(origin(given).as_deref(), Ok(given));
        }
        for wrong in
            ["club.example", "https://", "https://club.example/", "https://a@b", "ftp://a", "http://a b", "http://a:x"]
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_up_to_their_bounds() {
        let port = number::<u16>(0, 65_535);
        assert_eq!((port("0"), port(" 65535 "), port("0080")), (Ok(0), Ok(65_535), Ok(80)));
        for wrong in ["65536", "-0", "1e3", "", "18446744073709551616"] {
            assert!(port(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(number::<u64>(0, u64::MAX)("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(seconds("2147483647"), Ok(Duration::from_secs(SECONDS_MAX)));
        assert!(std::time::Instant::now().checked_add(Duration::from_secs(SECONDS_MAX)).is_some());
    }

    #[test]
    fn modes_of_sockets() {
        assert_eq!((socket_mode("600"), socket_mode("0660"), socket_mode("777")), (Ok(0o600), Ok(0o660), Ok(0o777)));
        for wrong in ["577", "1000", "680", "", "rw", "-660", "+660", "0x1b0"] {
            assert!(socket_mode(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn names_of_functions() {
        let named = |schema: Option<&str>, name: &str| Ok((schema.map(str::to_owned), name.to_owned()));
        assert_eq!(function("check"), named(None, "check"));
        assert_eq!(function("a.b.c"), named(Some("a"), "b.c"));
        assert_eq!(function("Über_check-1$"), named(None, "Über_check-1$"));
        let long = "n".repeat(NAME_BYTES_MAX);
        assert_eq!(function(&format!("{long}.{long}")), named(Some(&long), &long));
        for wrong in
            [".x", "x.", ".", "a b", " a", "a.b ", "check()", "\"api\".\"check\"", "a;b", "a.b\0", "a,b", "a\u{a0}b"]
        {
            assert!(function(wrong).is_err(), "{wrong}");
        }
        assert!(function(&format!("{long}n")).is_err() && function(&format!("{long}n.{long}")).is_err());
    }
}
