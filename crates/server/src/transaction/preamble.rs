//! What a transaction begins with: its mode, the state of the session, and the function that runs before every request.

use super::session::Session;
use crate::auth::claims_of;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use thalweg_catalog::{RoleSetting, Runs};
use thalweg_json::write_string;
use thalweg_wire::{Connection, Identity, Param, Query};

/// The statements before those of a request.
pub(super) struct Preamble {
    mode: Option<&'static str>,
    isolation: Option<&'static str>,
    /// What takes back the settings of an identity that the session was given before.
    reset: Option<&'static str>,
    /// What takes back which numbers of sequences others have drawn.
    discard: Option<&'static str>,
    set: Option<Settings>,
    /// What SQL may ask of the request, where the rest is kept.
    facts: Option<Settings>,
    /// A call of the function that runs before every request, and whether it may write.
    pre_request: Option<(Arc<str>, bool)>,
}

/// What several statements that must see one snapshot begin with, before any of them.
const ONE_SNAPSHOT: &str = "SET transaction_isolation TO 'repeatable read'";

/// The isolation levels that a function or role may ask for, as they stand in SQL.
const ISOLATION_LEVELS: [(&str, &str); 4] = [
    ("serializable", "SET transaction_isolation TO 'serializable'"),
    ("repeatable read", ONE_SNAPSHOT),
    ("read committed", "SET transaction_isolation TO 'read committed'"),
    ("read uncommitted", "SET transaction_isolation TO 'read uncommitted'"),
];

/// What is said first where the session is shared with others, who may have set it for longer than a transaction: encoding,
/// output formats, limits, and what they have set for their responses. NULL is what holds after the login.
const IF_SHARED: &str = ", pg_catalog.set_config('client_encoding', 'UTF8', true), \
                         pg_catalog.set_config('datestyle', NULL, true), \
                         pg_catalog.set_config('intervalstyle', NULL, true), \
                         pg_catalog.set_config('bytea_output', NULL, true), \
                         pg_catalog.set_config('extra_float_digits', NULL, true), \
                         pg_catalog.set_config('timezone', NULL, true), \
                         pg_catalog.set_config('statement_timeout', NULL, true), \
                         pg_catalog.set_config('lock_timeout', NULL, true), \
                         pg_catalog.set_config('thalweg.updated', '', true), \
                         pg_catalog.set_config('response.status', '', true), \
                         pg_catalog.set_config('response.headers', '', true)";

impl Preamble {
    /// What must be said on a connection before the statements of a request; `kept` is the identity that is enough.
    pub(super) fn of(session: &Session<'_>, kept: Option<Identity<'_>>, connection: &Connection) -> Self {
        let set = match kept {
            Some(identity) if connection.session().is(identity) => None,
            Some(_) => Some(keep(session)),
            None => Some(anew(session, connection.owns_session())),
        };
        let facts = (kept.is_some() && session.runs != Runs::Nothing).then(|| facts(session));
        // A transaction's first snapshot would decide. Who owns the session is told of its defaults, and nobody else is.
        let is_writable = connection.parameter("default_transaction_read_only") == Some("off");
        let mode = match (connection.owns_session(), session.is_read_only) {
            (true, true) => None,
            (true, false) => (!is_writable).then_some("SET TRANSACTION READ WRITE"),
            (false, true) => Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
            (false, false) => Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE"),
        };
        Self {
            mode,
            isolation: isolation(session).or(session.one_snapshot.then_some(ONE_SNAPSHOT)),
            reset: (set.is_some() && connection.session().has_settings()).then_some("RESET ALL"),
            discard: (connection.owns_session() && session.runs == Runs::Anything && connection.has_drawn())
                .then_some("DISCARD SEQUENCES"),
            set,
            facts,
            pre_request: session.in_force.pre_request.clone().map(|text| (text, !session.is_read_only)),
        }
    }

    /// Whether it takes back what the session was given to keep.
    pub(super) fn resets(&self) -> bool {
        self.reset.is_some()
    }

    /// Whether there is nothing to be said.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many statements there are.
    pub(super) fn len(&self) -> usize {
        let bare = [self.mode, self.isolation, self.reset, self.discard].iter().flatten().count();
        bare + self.settings().count() + usize::from(self.pre_request.is_some())
    }

    fn settings(&self) -> impl Iterator<Item = &Settings> {
        [&self.set, &self.facts].into_iter().flatten()
    }

    /// The statements, with those of a request behind them.
    pub(super) fn before<'q>(&'q self, queries: &[Query<'q>]) -> Vec<Query<'q>> {
        let mut all = Vec::with_capacity(self.len() + queries.len());
        all.extend(self.mode.map(Query::bare));
        all.extend(self.isolation.map(Query::bare));
        all.extend(self.reset.map(Query::bare));
        all.extend(self.discard.map(Query::bare));
        all.extend(self.settings().map(|set| Query { params: &set.params, ..Query::bare(&set.text) }));
        all.extend(self.pre_request.as_ref().map(|(text, writes)| Query { writes: *writes, ..Query::bare(text) }));
        all.extend_from_slice(queries);
        all
    }
}

/// The statement that sets the isolation level, before any other: the called function's, or else the role's.
fn isolation(session: &Session<'_>) -> Option<&'static str> {
    let of_role = session.role_settings().iter().map(|setting| (&setting.name, &setting.value));
    let mut asked = session.hoisted().map(|(name, value)| (name, value)).chain(of_role);
    let (_, level) = asked.find(|(name, _)| ***name == *"default_transaction_isolation")?;
    ISOLATION_LEVELS.iter().find(|(known, _)| level.eq_ignore_ascii_case(known)).map(|(_, statement)| *statement)
}

/// The statement that gives a session an identity, which it keeps. Row security is off: where it has been switched on since
/// the schema cache was loaded, PostgreSQL refuses the statement instead of asking policies that know nothing of the request.
fn keep(session: &Session<'_>) -> Settings {
    let mut kept = Settings::new(Cow::Borrowed("off"), false);
    kept.set("search_path", Cow::Owned(session.search_path.to_owned()));
    kept.set_role(session);
    kept.set("request.jwt.claims", Cow::Owned(claims_of(session.role)));
    kept
}

/// The statement that sets everything for one transaction (auth §8, functions §6).
fn anew(session: &Session<'_>, owns_session: bool) -> Settings {
    let mut local = Settings::new(row_security(session), true);
    if !owns_session {
        local.text.push_str(IF_SHARED);
    }
    local.set("search_path", Cow::Owned(session.search_path.to_owned()));
    local.set_role(session);
    local.set_facts(session);
    if let Some(zone) = session.facts.timezone {
        local.set("timezone", Cow::Owned(zone.to_owned()));
    }
    for (name, value) in session.hoisted() {
        local.set_named(name, value.to_string());
    }
    local
}

/// The statement that tells what SQL may ask of the request, and lets policies ask.
fn facts(session: &Session<'_>) -> Settings {
    let mut local = Settings::new(row_security(session), true);
    local.set_facts(session);
    local
}

/// Whether policies are asked: only by plans that tell them what they may ask for, as the role has it.
fn row_security(session: &Session<'_>) -> Cow<'static, str> {
    let of_role = || session.role_settings().iter().find(|setting| *setting.name == *"row_security");
    match session.runs {
        Runs::Nothing => Cow::Borrowed("off"),
        Runs::Questions | Runs::Anything => {
            of_role().map_or(Cow::Borrowed("on"), |setting| Cow::Owned(setting.value.to_string()))
        }
    }
}

/// The statement that sets what a transaction or a session needs, in order.
struct Settings {
    text: String,
    params: Vec<Param<'static>>,
    /// Whether they end with the transaction.
    is_local: bool,
}

impl Settings {
    /// Settings that begin with whether policies are asked.
    fn new(row_security: Cow<'static, str>, is_local: bool) -> Self {
        let text = format!("SELECT pg_catalog.set_config('row_security', $1, {is_local})");
        Self { text, params: vec![Param::Text(row_security)], is_local }
    }

    fn set(&mut self, name: &'static str, value: Cow<'static, str>) {
        self.params.push(Param::Text(value));
        let _ = write!(self.text, ", pg_catalog.set_config('{name}', ${}, {})", self.params.len(), self.is_local);
    }

    /// A setting whose name comes from the database or the configuration, and is a parameter too.
    fn set_named(&mut self, name: &str, value: String) {
        self.params.extend([name.to_owned(), value].map(|text| Param::Text(Cow::Owned(text))));
        let at = self.params.len();
        let _ = write!(self.text, ", pg_catalog.set_config(${}, ${at}, {})", at - 1, self.is_local);
    }

    fn set_facts(&mut self, session: &Session<'_>) {
        self.set("request.jwt.claims", Cow::Owned(session.who.claims().into_owned()));
        self.set("request.method", Cow::Owned(session.facts.method.to_owned()));
        self.set("request.path", Cow::Owned(session.facts.path.to_owned()));
        self.set("request.headers", Cow::Owned(headers(session.facts.headers)));
        self.set("request.cookies", Cow::Owned(cookies(session.facts.headers)));
        for (name, value) in &session.in_force.config.app_settings {
            self.set_named(name, value.clone());
        }
        if session.is_read_only {
            self.set("transaction_read_only", Cow::Borrowed("on"));
        }
    }

    /// The role and its settings, and before them what they may say otherwise. Who logged in may set some of them, the role
    /// others; whose session this was last is neither.
    fn set_role(&mut self, session: &Session<'_>) {
        // What a request asks for is short, but by estimates without statistics it may look long enough to be compiled, which
        // takes a hundred times as long (`bench/runs/2026-11-22-never-analysed`). Whoever has set it knows better.
        if session.compiles_by_default() {
            self.set("jit", Cow::Borrowed("off"));
        }
        let settings = session.role_settings();
        if !settings.is_empty() {
            self.set("role", Cow::Borrowed("none"));
        }
        let is_set = |setting: &&RoleSetting| match &*setting.name {
            // it is used (see `isolation`); kept in a session, it would be that of the next role's transaction
            "default_transaction_isolation" => false,
            // all that is said to PostgreSQL is UTF-8
            "client_encoding" => false,
            // it has been said (see `row_security`); kept in a session, policies would be asked that know nothing of the request
            "row_security" => false,
            _ => true,
        };
        for setting in settings.iter().filter(is_set).filter(|setting| !setting.is_the_roles) {
            self.set_named(&setting.name, setting.value.to_string());
        }
        self.set("role", Cow::Owned(session.role.to_owned()));
        for setting in settings.iter().filter(is_set).filter(|setting| setting.is_the_roles) {
            self.set_named(&setting.name, setting.value.to_string());
        }
    }
}

/// Header names in lower case, without cookies; the last value of a name wins.
fn headers(headers: &hyper::HeaderMap) -> String {
    let names = headers.keys().filter(|name| *name != hyper::header::COOKIE);
    object(names.filter_map(|name| Some((name.as_str(), text(headers.get_all(name).iter().next_back()?)))))
}

fn cookies(headers: &hyper::HeaderMap) -> String {
    let lines: Vec<_> = headers.get_all(hyper::header::COOKIE).iter().map(text).collect();
    let pairs = lines.iter().flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    object(pairs.map(|(name, value)| (name, Cow::Borrowed(value))))
}

/// Names and values beyond ASCII are sent as UTF-8 by most, and what is none is no reason to leave a header out.
fn text(value: &hyper::header::HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

fn object<'a>(members: impl Iterator<Item = (&'a str, Cow<'a, str>)>) -> String {
    let mut json = vec![b'{'];
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write_string(&mut json, name.as_bytes());
        json.push(b':');
        write_string(&mut json, value.as_bytes());
    }
    json.push(b'}');
    String::from_utf8(json).unwrap_or_else(|_| "{}".to_owned())
}
