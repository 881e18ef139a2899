//! The state a request needs its database session in: role, search path, read only, and what SQL may ask about the
//! request (functions §6, auth §8).
//!
//! Where nothing in the database can see a request or change a session's state, the state is set once a connection
//! and kept. Else it is set for each transaction, in the same round trip.

use crate::state::Snapshot;
use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use thalweg_json::write_string;

/// The state of a session that a request needs.
pub(crate) struct SessionState<'a> {
    /// What the connection is known by when it is in this state; 0 where the state ends with the transaction.
    pub(crate) key: u64,
    schema: &'a str,
    role: &'a str,
    snapshot: &'a Snapshot,
    facts: RequestFacts<'a>,
}

/// A statement that puts a session into a state.
pub(crate) struct SetState {
    pub(crate) text: Cow<'static, str>,
    pub(crate) params: Vec<Cow<'static, str>>,
}

/// What SQL may ask about a request.
pub(crate) struct RequestFacts<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a hyper::HeaderMap,
    /// `Prefer: timezone`
    pub(crate) timezone: Option<&'a str>,
}

const KEEP: &str = "SELECT set_config('search_path', $1, false), set_config('role', $2, false), \
                    set_config('default_transaction_read_only', 'on', false), \
                    set_config('transaction_read_only', 'on', true)";

impl<'a> SessionState<'a> {
    /// The state for a request of `role` in `schema`.
    pub(crate) fn of(snapshot: &'a Snapshot, schema: &'a str, role: &'a str, facts: RequestFacts<'a>) -> Self {
        let session = snapshot.catalog.session();
        let is_kept = !session.settings_are_read
            && !session.state_is_changed
            && !session.role_settings.contains_key(role)
            && facts.timezone.is_none();
        let mut hasher = DefaultHasher::new();
        (schema, role).hash(&mut hasher);
        let key = if is_kept { hasher.finish().max(1) } else { 0 };
        Self { key, schema, role, snapshot, facts }
    }

    /// The statement for a connection that is not in this state.
    pub(crate) fn set(&self) -> SetState {
        let search_path = Cow::Owned(search_path(self.schema, &self.snapshot.extra_search_path));
        let role = Cow::Owned(self.role.to_owned());
        if self.key != 0 {
            return SetState { text: Cow::Borrowed(KEEP), params: vec![search_path, role] };
        }
        let session = self.snapshot.catalog.session();
        let mut local = Local { text: String::from("SELECT "), params: Vec::new() };
        local.set("search_path", search_path);
        for (name, value) in session.role_settings.get(self.role).into_iter().flatten() {
            local.set_named(name, value.to_string());
        }
        local.set("role", role);
        if session.settings_are_read {
            local.set("request.jwt.claims", Cow::Owned(object([("role", self.role)].into_iter())));
            local.set("request.method", Cow::Owned(self.facts.method.to_owned()));
            local.set("request.path", Cow::Owned(self.facts.path.to_owned()));
            local.set("request.headers", Cow::Owned(headers(self.facts.headers)));
            local.set("request.cookies", Cow::Owned(cookies(self.facts.headers)));
        }
        if let Some(zone) = self.facts.timezone {
            local.set("timezone", Cow::Owned(zone.to_owned()));
        }
        local.set("transaction_read_only", Cow::Borrowed("on"));
        SetState { text: Cow::Owned(local.text), params: local.params }
    }
}

/// The settings of one transaction, in order.
struct Local {
    text: String,
    params: Vec<Cow<'static, str>>,
}

impl Local {
    fn set(&mut self, name: &'static str, value: Cow<'static, str>) {
        self.separate();
        self.params.push(value);
        let _ = write!(self.text, "set_config('{name}', ${}, true)", self.params.len());
    }

    /// A setting whose name comes from the database, and is a parameter too.
    fn set_named(&mut self, name: &str, value: String) {
        self.separate();
        self.params.extend([Cow::Owned(name.to_owned()), Cow::Owned(value)]);
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
