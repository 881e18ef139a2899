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

/// The statement that puts a session into the state of a request, and the state's key.
pub(crate) struct SessionState {
    /// What the connection is known by when it is in this state; 0 where the state ends with the transaction.
    pub(crate) key: u64,
    text: &'static str,
    local: Option<String>,
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

impl SessionState {
    /// The state for a request of `role` in `schema`.
    pub(crate) fn of(snapshot: &Snapshot, schema: &str, role: &str, facts: &RequestFacts<'_>) -> Self {
        let session = snapshot.catalog.session();
        let settings = session.role_settings.get(role).map_or(&[][..], Vec::as_slice);
        let search_path = || Cow::Owned(search_path(schema, &snapshot.extra_search_path));
        let kept = !session.settings_are_read && !session.state_is_changed && settings.is_empty();
        if kept && facts.timezone.is_none() {
            let mut hasher = DefaultHasher::new();
            (schema, role).hash(&mut hasher);
            let key = hasher.finish().max(1);
            return Self { key, text: KEEP, local: None, params: vec![search_path(), Cow::Owned(role.to_owned())] };
        }
        let mut local = Local { text: String::from("SELECT "), params: Vec::new() };
        local.set("search_path", search_path());
        for (name, value) in settings {
            local.set_named(name, value.to_string());
        }
        local.set("role", Cow::Owned(role.to_owned()));
        if session.settings_are_read {
            local.set("request.jwt.claims", Cow::Owned(object([("role", role)].into_iter())));
            local.set("request.method", Cow::Owned(facts.method.to_owned()));
            local.set("request.path", Cow::Owned(facts.path.to_owned()));
            local.set("request.headers", Cow::Owned(headers(facts.headers)));
            local.set("request.cookies", Cow::Owned(cookies(facts.headers)));
        }
        if let Some(zone) = facts.timezone {
            local.set("timezone", Cow::Owned(zone.to_owned()));
        }
        local.set("transaction_read_only", Cow::Borrowed("on"));
        Self { key: 0, text: "", local: Some(local.text), params: local.params }
    }

    pub(crate) fn text(&self) -> &str {
        self.local.as_deref().unwrap_or(self.text)
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
