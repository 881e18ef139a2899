//! The state a request needs its database session in: role, search path, read only, and what SQL may ask about the
//! request (functions §6, auth §8).
//!
//! Where nothing in the database can see a request or change a session's state, the state is set once a connection
//! and kept. Else it is set for each transaction, in the same round trip.

use crate::config::{Config, RequestSettings};
use crate::state::Snapshot;
use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use thalweg_catalog::{Function, Setting};
use thalweg_json::write_string;
use thalweg_wire::{Param, Query};

/// The state of a session that a request needs.
pub(crate) struct SessionState<'a> {
    /// What the connection is known by when it is in this state; 0 where the state ends with the transaction.
    pub(crate) key: u64,
    schema: &'a str,
    role: &'a str,
    snapshot: &'a Snapshot,
    config: &'a Config,
    facts: RequestFacts<'a>,
    /// Whether SQL is told of the request.
    tells: bool,
    is_read_only: bool,
}

/// A statement that puts a session into a state.
struct SetState {
    text: Cow<'static, str>,
    params: Vec<Param<'static>>,
}

/// The statements before those of a request.
pub(crate) struct Opening<'s> {
    access: Option<&'static str>,
    isolation: Option<&'static str>,
    set: Option<SetState>,
    pre_request: Option<&'s str>,
}

impl Opening<'_> {
    /// Whether the connection is in the state that the request needs.
    pub(crate) fn is_in_state(&self) -> bool {
        self.set.is_none()
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        let set = usize::from(self.set.is_some());
        [self.access, self.isolation, self.pre_request].iter().flatten().count() + set
    }

    /// The statements, with room for those of a request. Their results say nothing.
    pub(crate) fn queries(&self) -> Vec<Query<'_>> {
        let mut queries = Vec::with_capacity(4);
        queries.extend(self.access.map(Query::bare));
        queries.extend(self.isolation.map(Query::bare));
        if let Some(set) = &self.set {
            queries.push(Query { params: &set.params, ..Query::bare(&set.text) });
        }
        queries.extend(self.pre_request.map(Query::bare));
        queries
    }
}

/// What SQL may ask about a request.
pub(crate) struct RequestFacts<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a hyper::HeaderMap,
    /// `Prefer: timezone`
    pub(crate) timezone: Option<&'a str>,
    /// The function that is called.
    pub(crate) function: Option<&'a Function>,
}

/// The isolation levels that a function or role may ask for, as they stand in SQL.
const ISOLATION_LEVELS: [(&str, &str); 4] = [
    ("serializable", "SET transaction_isolation TO 'serializable'"),
    ("repeatable read", ONE_SNAPSHOT),
    ("read committed", "SET transaction_isolation TO 'read committed'"),
    ("read uncommitted", "SET transaction_isolation TO 'read uncommitted'"),
];

/// What several statements that must see one snapshot begin with, before any of them.
const ONE_SNAPSHOT: &str = "SET transaction_isolation TO 'repeatable read'";

const KEEP: &str = "SELECT set_config('search_path', $1, false), set_config('role', $2, false), \
                    set_config('default_transaction_read_only', 'on', false), \
                    set_config('transaction_read_only', 'on', true)";

const KEEP_WRITING: &str = "SELECT set_config('search_path', $1, false), set_config('role', $2, false), \
                            set_config('default_transaction_read_only', 'off', false)";

impl<'a> SessionState<'a> {
    /// The state for a request of `role` in `schema`.
    pub(crate) fn of(
        config: &'a Config,
        snapshot: &'a Snapshot,
        schema: &'a str,
        role: &'a str,
        is_read_only: bool,
        facts: RequestFacts<'a>,
    ) -> Self {
        let session = snapshot.catalog.session();
        let tells = match config.db_request_settings {
            RequestSettings::Auto => session.settings_are_read,
            RequestSettings::Always => true,
            RequestSettings::Never => false,
        };
        let mut state = Self { key: 0, schema, role, snapshot, config, facts, tells, is_read_only };
        let is_kept = !tells
            && !session.state_is_changed
            && !session.role_settings.contains_key(role)
            && state.facts.timezone.is_none()
            && state.hoisted().next().is_none();
        if is_kept {
            let mut hasher = DefaultHasher::new();
            (schema, role, is_read_only).hash(&mut hasher);
            state.key = hasher.finish().max(1);
        }
        state
    }

    /// The settings of the called function that hold for the whole transaction.
    fn hoisted(&self) -> impl Iterator<Item = &'a Setting> {
        let settings = self.facts.function.map(|function| function.settings.as_slice()).unwrap_or_default();
        let wanted = &self.config.db_hoisted_tx_settings;
        settings.iter().filter(move |(name, _)| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)))
    }

    /// What a pipeline begins with on a connection that is known by `session_key`: the isolation level, the state if it
    /// is not in it, and the call of the function that runs before every request.
    pub(crate) fn opening<'s>(
        &self,
        session_key: u64,
        one_snapshot: bool,
        pre_request: Option<&'s str>,
    ) -> Opening<'s> {
        let is_in_state = self.key != 0 && session_key == self.key;
        Opening {
            // sessions are left read only by most requests, and a transaction's first snapshot would decide
            access: (!self.is_read_only && !is_in_state).then_some("SET TRANSACTION READ WRITE"),
            isolation: self.isolation().or(one_snapshot.then_some(ONE_SNAPSHOT)),
            set: if is_in_state { None } else { Some(self.set()) },
            pre_request,
        }
    }

    /// The statement that sets the isolation level, before any other: the called function's, or else the role's.
    fn isolation(&self) -> Option<&'static str> {
        let of_role = self.snapshot.catalog.session().role_settings.get(self.role).into_iter().flatten();
        let asked = self.hoisted().chain(of_role).find(|(name, _)| **name == *"default_transaction_isolation");
        let (_, level) = asked?;
        ISOLATION_LEVELS.iter().find(|(known, _)| level.eq_ignore_ascii_case(known)).map(|(_, statement)| *statement)
    }

    /// The statement for a connection that is not in this state.
    fn set(&self) -> SetState {
        let search_path = Cow::Owned(search_path(self.schema, &self.snapshot.extra_search_path));
        let role = Cow::Owned(self.role.to_owned());
        if self.key != 0 {
            let keep = if self.is_read_only { KEEP } else { KEEP_WRITING };
            return SetState { text: Cow::Borrowed(keep), params: [search_path, role].map(Param::Text).to_vec() };
        }
        let session = self.snapshot.catalog.session();
        let mut local = Local { text: String::from("SELECT "), params: Vec::new() };
        local.set("search_path", search_path);
        for (name, value) in session.role_settings.get(self.role).into_iter().flatten() {
            local.set_named(name, value.to_string());
        }
        local.set("role", role);
        if self.tells {
            local.set("request.jwt.claims", Cow::Owned(object([("role", self.role)].into_iter())));
            local.set("request.method", Cow::Owned(self.facts.method.to_owned()));
            local.set("request.path", Cow::Owned(self.facts.path.to_owned()));
            local.set("request.headers", Cow::Owned(headers(self.facts.headers)));
            local.set("request.cookies", Cow::Owned(cookies(self.facts.headers)));
        }
        if let Some(zone) = self.facts.timezone {
            local.set("timezone", Cow::Owned(zone.to_owned()));
        }
        for (name, value) in self.hoisted() {
            local.set_named(name, value.to_string());
        }
        if self.tells {
            for (name, value) in &self.config.app_settings {
                local.set_named(name, value.clone());
            }
        }
        if self.is_read_only {
            local.set("transaction_read_only", Cow::Borrowed("on"));
        }
        SetState { text: Cow::Owned(local.text), params: local.params }
    }
}

/// The settings of one transaction, in order.
struct Local {
    text: String,
    params: Vec<Param<'static>>,
}

impl Local {
    fn set(&mut self, name: &'static str, value: Cow<'static, str>) {
        self.separate();
        self.params.push(Param::Text(value));
        let _ = write!(self.text, "set_config('{name}', ${}, true)", self.params.len());
    }

    /// A setting whose name comes from the database, and is a parameter too.
    fn set_named(&mut self, name: &str, value: String) {
        self.separate();
        self.params.extend([name.to_owned(), value].map(|text| Param::Text(Cow::Owned(text))));
        let at = self.params.len();
        let _ = write!(self.text, "set_config(${}, ${at}, true)", at - 1);
    }

    fn separate(&mut self) {
        if !self.params.is_empty() {
            self.text.push_str(", ");
        }
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

/// Header names in lower case, without cookies; the last value of a name wins.
fn headers(headers: &hyper::HeaderMap) -> String {
    let names = headers.keys().filter(|name| *name != hyper::header::COOKIE);
    object(names.filter_map(|name| {
        let last = headers.get_all(name).iter().next_back()?;
        Some((name.as_str(), last.to_str().ok()?))
    }))
}

fn cookies(headers: &hyper::HeaderMap) -> String {
    let lines = headers.get_all(hyper::header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    object(lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('=')))
}

fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
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
