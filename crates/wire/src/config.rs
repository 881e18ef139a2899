//! Connection strings as libpq reads them (PostgreSQL's manual, section 34.1.1).

use crate::error::{Error, ErrorKind};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where and as whom to connect. `Debug` leaves out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// The hosts, tried in order.
    pub hosts: Vec<Host>,
    /// The role to connect as.
    pub user: String,
    /// Its password.
    pub password: Option<String>,
    /// The database; the user's name if there is none.
    pub dbname: Option<String>,
    /// Whether and how to encrypt. Where nothing is said of TLS, that is [`SslMode::Allow`] on this machine (a loopback address, or
    /// `localhost` where that has no other), and [`SslMode::Prefer`] elsewhere.
    pub ssl_mode: Option<SslMode>,
    /// The certificates that are trusted: a file, or `system`.
    pub ssl_root_cert: Option<String>,
    /// The client's certificate and key.
    pub ssl_client: Option<(PathBuf, PathBuf)>,
    /// Which of the hosts will do.
    pub target_session: TargetSession,
    /// Whether to insist on SCRAM's channel binding.
    pub require_channel_binding: bool,
    /// How long to try one host.
    pub connect_timeout: Duration,
    /// `application_name`
    pub application_name: Option<String>,
    /// Command-line options for the session, such as `-c statement_timeout=5s`.
    pub options: Option<String>,
}

/// One host of a connection string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name or address, and a port.
    Tcp {
        /// The name, against which a certificate is checked.
        name: String,
        /// An address to use without looking the name up.
        address: Option<String>,
        /// The port.
        port: u16,
    },
    /// A directory that holds the server's socket, and the port in the socket's name.
    Unix {
        /// The directory.
        directory: PathBuf,
        /// The port.
        port: u16,
    },
}

/// Whether and how to encrypt (libpq's `sslmode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SslMode {
    Disable,
    /// If the server lets nobody in without, and without checking who it is.
    Allow,
    /// If the server can, without checking who it is.
    Prefer,
    /// Always; with a root certificate given, as `verify-ca`.
    Require,
    VerifyCa,
    VerifyFull,
}

/// Which of several hosts will do (libpq's `target_session_attrs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TargetSession {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("hosts", &self.hosts)
            .field("user", &self.user)
            .field("dbname", &self.dbname)
            .field("ssl_mode", &self.ssl_mode)
            .field("target_session", &self.target_session)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { name, port, .. } => write!(f, "{name}:{port}"),
            Self::Unix { directory, port } => write!(f, "{}/.s.PGSQL.{port}", directory.display()),
        }
    }
}

impl Config {
    /// Reads a URI or a `key=value` string; what it does not say comes from libpq's environment variables.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_with(text, |name| std::env::var(name).ok())
    }

    /// [`Config::parse`] with another source of environment variables. Where the text may hold a password, an error quotes
    /// nothing of it: one with a character that should have been escaped is read as something else.
    pub fn parse_with(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let text = text.trim();
        let pairs = match text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://")) {
            Some(rest) => uri_pairs(rest),
            None => keyword_pairs(text),
        };
        let config = pairs.and_then(|pairs| Settings { pairs, env: &env }.config());
        let may_hold_a_password = text.contains('@') || text.to_ascii_lowercase().contains("password");
        if may_hold_a_password { config.map_err(without_quotation) } else { config }
    }
}

type Pairs = Vec<(String, String)>;

struct Settings<'a> {
    pairs: Pairs,
    env: &'a dyn Fn(&str) -> Option<String>,
}

/// Options that are understood, and the environment variable behind each.
const KNOWN: [(&str, Option<&str>); 17] = [
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("port", Some("PGPORT")),
    ("user", Some("PGUSER")),
    ("password", Some("PGPASSWORD")),
    ("dbname", Some("PGDATABASE")),
    ("passfile", Some("PGPASSFILE")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("application_name", Some("PGAPPNAME")),
    ("fallback_application_name", None),
    ("options", Some("PGOPTIONS")),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("channel_binding", Some("PGCHANNELBINDING")),
];

/// Options of libpq that change nothing here.
const IGNORED: [&str; 12] = [
    "client_encoding",
    "gssencmode",
    "krbsrvname",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "sslcompression",
    "sslsni",
    "ssl_min_protocol_version",
    "load_balance_hosts",
];

/// Who gives one of these wants TLS where it can be had.
const SAID_OF_TLS: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

const CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

impl Settings<'_> {
    /// An option's value; the last one given wins, an empty one counts as not given.
    fn get(&self, key: &str) -> Option<String> {
        let given = self.pairs.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        let variable = KNOWN.iter().find(|(known, _)| *known == key).and_then(|(_, variable)| *variable);
        given.or_else(|| variable.and_then(|name| (self.env)(name))).filter(|value| !value.is_empty())
    }

    fn config(&self) -> Result<Config, Error> {
        for (key, _) in &self.pairs {
            if !KNOWN.iter().any(|(known, _)| known == key) && !IGNORED.contains(&key.as_str()) {
                return Err(invalid(format!("invalid connection option \"{key}\"")));
            }
        }
        let user = self
            .get("user")
            .or_else(|| (self.env)("USER"))
            .or_else(|| (self.env)("LOGNAME"))
            .unwrap_or_else(|| "postgres".to_owned());
        let hosts = self.hosts()?;
        let dbname = self.get("dbname");
        let password = self.get("password").or_else(|| self.password_file(&hosts, dbname.as_deref(), &user));
        let ssl_mode = match self.get("sslmode").as_deref() {
            None if SAID_OF_TLS.iter().any(|key| self.get(key).is_some()) => Some(SslMode::Prefer),
            None => None,
            Some("disable") => Some(SslMode::Disable),
            Some("allow") => Some(SslMode::Allow),
            Some("prefer") => Some(SslMode::Prefer),
            Some("require") => Some(SslMode::Require),
            Some("verify-ca") => Some(SslMode::VerifyCa),
            Some("verify-full") => Some(SslMode::VerifyFull),
            Some(other) => return Err(invalid(format!("invalid sslmode value: \"{other}\""))),
        };
        let target_session = match self.get("target_session_attrs").as_deref() {
            None | Some("any") => TargetSession::Any,
            Some("read-write") => TargetSession::ReadWrite,
            Some("read-only") => TargetSession::ReadOnly,
            Some("primary") => TargetSession::Primary,
            Some("standby") => TargetSession::Standby,
            Some("prefer-standby") => TargetSession::PreferStandby,
            Some(other) => return Err(invalid(format!("invalid target_session_attrs value: \"{other}\""))),
        };
        let require_channel_binding = match self.get("channel_binding").as_deref() {
            None | Some("prefer" | "disable") => false,
            Some("require") => true,
            Some(other) => return Err(invalid(format!("invalid channel_binding value: \"{other}\""))),
        };
        let connect_timeout = match self.get("connect_timeout") {
            None => CONNECT_TIMEOUT_DEFAULT,
            Some(text) => match text.trim().parse::<i64>() {
                Ok(seconds) if seconds > 0 => Duration::from_secs(seconds as u64),
                Ok(_) => CONNECT_TIMEOUT_DEFAULT,
                Err(_) => return Err(invalid(format!("invalid integer value \"{text}\" for \"connect_timeout\""))),
            },
        };
        let ssl_client = match (self.get("sslcert"), self.get("sslkey")) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            _ => None,
        };
        Ok(Config {
            hosts,
            user,
            password,
            dbname,
            ssl_mode,
            ssl_root_cert: self.get("sslrootcert"),
            ssl_client,
            target_session,
            require_channel_binding,
            connect_timeout,
            application_name: self.get("application_name").or_else(|| self.get("fallback_application_name")),
            options: self.get("options"),
        })
    }

    fn hosts(&self) -> Result<Vec<Host>, Error> {
        let list = |key| -> Vec<String> {
            self.get(key).map(|text| text.split(',').map(|item| item.trim().to_owned()).collect()).unwrap_or_default()
        };
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
        let count = names.len().max(addresses.len()).max(1);
        if ports.len() > 1 && ports.len() != count {
            return Err(invalid(format!("could not match {} port numbers to {count} hosts", ports.len())));
        }
        if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
            return Err(invalid(format!(
                "could not match {} host names to {} hostaddr values",
                names.len(),
                addresses.len()
            )));
        }
        (0..count)
            .map(|at| {
                let port = match ports.get(at).or(ports.first()).map_or("", String::as_str) {
                    "" => 5432,
                    text => text.parse().map_err(|_| invalid(format!("invalid port number: \"{text}\"")))?,
                };
                let name = names.get(at).filter(|name| !name.is_empty());
                let address = addresses.get(at).filter(|address| !address.is_empty()).cloned();
                Ok(match (name, address) {
                    (Some(name), None) if name.starts_with('/') => Host::Unix { directory: name.into(), port },
                    (Some(name), address) => Host::Tcp { name: name.clone(), address, port },
                    (None, Some(address)) => Host::Tcp { name: address.clone(), address: Some(address), port },
                    (None, None) => default_host(port),
                })
            })
            .collect()
    }

    /// The password that `~/.pgpass` holds for the first host (PostgreSQL's manual, section 34.16).
    fn password_file(&self, hosts: &[Host], dbname: Option<&str>, user: &str) -> Option<String> {
        let path = self.get("passfile").or_else(|| Some(format!("{}/.pgpass", (self.env)("HOME")?)))?;
        let text = std::fs::read_to_string(path).ok()?;
        let (host, port) = match hosts.first()? {
            Host::Tcp { name, port, .. } => (name.clone(), *port),
            Host::Unix { port, .. } => ("localhost".to_owned(), *port),
        };
        let wanted = [host, port.to_string(), dbname.unwrap_or(user).to_owned(), user.to_owned()];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut fields = passfile_fields(line).into_iter();
            let fits = wanted.iter().all(|wanted| fields.next().is_some_and(|field| field == "*" || field == *wanted));
            if fits { fields.next() } else { None }
        })
    }
}

/// Fields are parted by colons; a backslash makes the next character literal.
fn passfile_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            '\\' => fields[last].extend(chars.next()),
            ':' => fields.push(String::new()),
            c => fields[last].push(c),
        }
    }
    fields
}

fn default_host(port: u16) -> Host {
    let socket = |directory: &str| {
        let directory = PathBuf::from(directory);
        directory.join(format!(".s.PGSQL.{port}")).exists().then_some(Host::Unix { directory, port })
    };
    socket("/var/run/postgresql").or_else(|| socket("/tmp")).unwrap_or_else(|| Host::Tcp {
        name: "localhost".to_owned(),
        address: None,
        port,
    })
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config(what.into()))
}

fn without_quotation(error: Error) -> Error {
    let what = match error.kind() {
        ErrorKind::Config(what) => what.split('"').next().unwrap_or_default().trim_end_matches([' ', ':']).to_owned(),
        _ => return error,
    };
    invalid(format!(
        "{what} (what it is is not shown, since it may be of a password; in a URI's, write %25, %2F, %3F and %40 for % / ? and @)"
    ))
}

/// The part of a URI behind its scheme: `user:password@host:port,host:port/dbname?key=value&…`.
fn uri_pairs(rest: &str) -> Result<Pairs, Error> {
    let mut pairs = Pairs::new();
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (authority, dbname) = rest.split_once('/').map_or((rest, None), |(a, d)| (a, Some(d)));
    let hosts = match authority.rsplit_once('@') {
        Some((login, hosts)) => {
            let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
            pairs.push(("user".into(), decode(user)?));
            if let Some(password) = password {
                pairs.push(("password".into(), decode(password)?));
            }
            hosts
        }
        None => authority,
    };
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (name, port) = match host.strip_prefix('[') {
            Some(v6) => {
                let (name, port) = v6.split_once(']').ok_or_else(|| invalid("missing matching \"]\" in IPv6 host"))?;
                (name, port.strip_prefix(':').unwrap_or(""))
            }
            None => host.split_once(':').unwrap_or((host, "")),
        };
        names.push(decode(name)?);
        ports.push(port);
    }
    if names.iter().any(|name| !name.is_empty()) {
        pairs.push(("host".into(), names.join(",")));
    }
    if ports.iter().any(|port| !port.is_empty()) {
        pairs.push(("port".into(), ports.join(",")));
    }
    if let Some(dbname) = dbname.filter(|name| !name.is_empty()) {
        pairs.push(("dbname".into(), decode(dbname)?));
    }
    for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| invalid(format!("missing key/value separator \"=\" in \"{pair}\"")))?;
        match (key, value) {
            ("ssl", "true") => pairs.push(("sslmode".into(), "require".into())),
            _ => pairs.push((decode(key)?, decode(value)?)),
        }
    }
    Ok(pairs)
}

fn decode(text: &str) -> Result<String, Error> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            decoded.push(byte.ok_or_else(|| invalid(format!("invalid percent-encoded token: \"{text}\"")))?);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_err(|_| invalid("a percent-encoded token is not UTF-8"))
}

/// `key = value` pairs parted by blanks; values may stand in single quotes, a backslash escapes.
fn keyword_pairs(text: &str) -> Result<Pairs, Error> {
    let mut pairs = Pairs::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(pairs);
        }
        let mut key = String::new();
        while let Some(c) = chars.next_if(|&c| c != '=' && !c.is_whitespace()) {
            key.push(c);
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.next() != Some('=') {
            return Err(invalid(format!("missing \"=\" after \"{key}\"")));
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let quoted = chars.next_if_eq(&'\'').is_some();
        let mut value = String::new();
        loop {
            match chars.next() {
                Some('\\') => value.extend(chars.next()),
                Some('\'') if quoted => break,
                Some(c) if !quoted && c.is_whitespace() => break,
                Some(c) => value.push(c),
                None if quoted => return Err(invalid("unterminated quoted string")),
                None => break,
            }
        }
        pairs.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let env = |name: &str| (name == "PGUSER").then(|| "env".to_owned());
        Config::parse_with(text, env).map_err(|error| error.to_string())
    }

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.into(), address: None, port }
    }

    #[test]
    fn uris() {
        let config = parse(
            "postgres://us%40er:p%3Aw@a:1,[::1]:2,%2Ftmp%2Fs/db?sslmode=verify-full&target_session_attrs=read-write&connect_timeout=3",
        );
        let config = config.unwrap();
        let unix = Host::Unix { directory: "/tmp/s".into(), port: 5432 };
        // a list of ports is as long as the list of hosts, an empty one is the default
        assert_eq!(config.hosts, [tcp("a", 1), tcp("::1", 2), unix]);
        assert_eq!((config.user.as_str(), config.password.as_deref()), ("us@er", Some("p:w")));
        assert!(!format!("{config:?}").contains("p:w"));
        assert_eq!((config.dbname.as_deref(), config.ssl_mode), (Some("db"), Some(SslMode::VerifyFull)));
        assert_eq!((config.target_session, config.connect_timeout.as_secs()), (TargetSession::ReadWrite, 3));
        assert_eq!(parse("postgresql://h").unwrap().user, "env");
        assert_eq!(
            parse("postgresql:///x?host=/run/pg&port=7").unwrap().hosts,
            [Host::Unix { directory: "/run/pg".into(), port: 7 }]
        );
    }

    #[test]
    fn keywords() {
        let config = parse(r"host = a,b port=1,2 user='o\'b' password = 'x y' dbname=d").unwrap();
        assert_eq!(config.hosts, [tcp("a", 1), tcp("b", 2)]);
        assert_eq!((config.user.as_str(), config.password.as_deref()), ("o'b", Some("x y")));
        assert_eq!(parse("host=a,b port=9").unwrap().hosts, [tcp("a", 9), tcp("b", 9)]);
    }

    #[test]
    fn what_is_said_of_tls() {
        for (text, mode) in [
            ("host=h", None),
            ("host=h sslmode=''", None),
            ("host=h sslmode=disable", Some(SslMode::Disable)),
            ("host=h sslmode=allow sslrootcert=x", Some(SslMode::Allow)),
            ("host=h sslmode=prefer", Some(SslMode::Prefer)),
            ("host=h sslrootcert=x", Some(SslMode::Prefer)),
            ("host=h sslcert=x sslkey=y", Some(SslMode::Prefer)),
            ("postgres://h?ssl=true", Some(SslMode::Require)),
        ] {
            assert_eq!(parse(text).unwrap().ssl_mode, mode, "{text}");
        }
        let env = |name: &str| (name == "PGSSLMODE").then(|| "verify-ca".to_owned());
        assert_eq!(Config::parse_with("host=h", env).unwrap().ssl_mode, Some(SslMode::VerifyCa));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, what) in [
            ("postgres://h?nonsense=1", "invalid connection option \"nonsense\""),
            ("host", "missing \"=\" after \"host\""),
            ("host='a", "unterminated quoted string"),
            ("postgres://h:x", "invalid port number: \"x\""),
            ("host=a,b,c port=1,2", "could not match 2 port numbers to 3 hosts"),
            ("postgres://h?sslmode=maybe", "invalid sslmode value: \"maybe\""),
            ("postgres://%zz", "invalid percent-encoded token: \"%zz\""),
            ("postgres://[::1", "missing matching \"]\" in IPv6 host"),
        ] {
            assert_eq!(parse(text), Err(format!("invalid connection string: {what}")), "{text}");
        }
        // a password whose slash is not escaped ends the hosts
        let said = parse("postgres://user:pass/word@h").unwrap_err();
        assert!(
            said.starts_with("invalid connection string: invalid port number (") && !said.contains("\"pass"),
            "{said}"
        );
    }

    #[test]
    fn fields_of_a_password_file() {
        assert_eq!(passfile_fields(r"h:*:d\:b:u:p\\w"), ["h", "*", "d:b", "u", r"p\w"]);
    }
}
