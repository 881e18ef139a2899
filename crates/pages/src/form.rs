//! What the form of a page does: a row is inserted, rows are updated or deleted, a function is called; and where its visitor goes then.

use crate::error::Place;
use crate::query::{Absent, Piece, QUERY_BYTES_MAX, Query, Shows, Value, encode, pieces};
use std::borrow::Cow;
use thalweg_request::{Action, ApiRequest, Headers, Params, Resource, Target};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How many forms a page may have.
pub const FORMS_MAX: usize = 32;
/// How many fields a form may name, and how many values it may set.
pub const FORM_FIELDS_MAX: usize = 256;

/// A form of a page.
#[derive(Clone, Debug)]
pub struct Form {
    /// What is done when it is sent.
    pub does: Does,
    /// What that is done to: a relation with filters, or a function.
    pub request: Query,
    /// Where its visitor goes then. Without it, back to the page.
    pub then: Option<Location>,
    /// The fields that are taken. Without it, all that are columns or arguments.
    pub fields: Option<Vec<String>>,
    /// Values that the page gives, whatever is sent under their names.
    pub set: Vec<(String, Text)>,
    /// Whether what the function returns is a token for the session's cookie, or the end of the session.
    pub session: bool,
    /// Where it stands.
    pub place: Place,
}

/// What is done when a form is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// A row is inserted.
    Insert,
    /// Rows are updated.
    Update,
    /// Rows are deleted.
    Delete,
    /// A function is called.
    Call,
}

const ACTIONS: [(&str, Does); 4] =
    [("insert", Does::Insert), ("update", Does::Update), ("delete", Does::Delete), ("call", Does::Call)];
const KEYS: [&str; 8] = ["insert", "update", "delete", "call", "then", "fields", "set", "session"];
const ONE_ACTION: &str = "a form says one thing that it does: insert = \"/flights\", update = \"/flights?id=eq.{id}\", \
                          delete = \"/flights?id=eq.{id}\" or call = \"/rpc/sign_in\"";
/// What of a request says nothing about which rows are written.
const NO_FILTERS: [&str; 6] = ["select", "columns", "on_conflict", "order", "limit", "offset"];

/// The parameter of a sign-in page's address that says where its visitor wanted to go.
pub const BACK: &str = "back";

/// What is wrong with a form, and at which byte of the head.
type Wrong = (usize, String);

impl Form {
    /// Reads the table of a form that begins at a byte of the head.
    pub(crate) fn read(table: &DeTable<'_>, at: usize, place: Place) -> Result<Form, Wrong> {
        if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            return Err((key.span().start, format!("{} is none of {}", key.get_ref(), KEYS.join(", "))));
        }
        let mut actions = ACTIONS.iter().filter_map(|(name, does)| Some((*does, table.get(*name)?)));
        let (Some((does, value)), None) = (actions.next(), actions.next()) else {
            return Err((at, ONE_ACTION.to_owned()));
        };
        let request = request(does, text(value)?).map_err(|message| (value.span().start, message))?;
        let then = table
            .get("then")
            .map(|value| Location::parse(text(value)?).map_err(|message| (value.span().start, message)));
        let session = table.get("session").map_or(Ok(false), |value| match value.get_ref() {
            DeValue::Boolean(session) if does == Does::Call => Ok(*session),
            _ => Err((value.span().start, "session is true or false, and of a form that calls a function".to_owned())),
        });
        let fields = table.get("fields").map(fields).transpose()?;
        let set = table.get("set").map(set).transpose()?.unwrap_or_default();
        if does == Does::Delete && (fields.is_some() || !set.is_empty()) {
            return Err((at, "a form that deletes writes no fields".to_owned()));
        }
        Ok(Form { does, request, then: then.transpose()?, fields, set, session: session?, place })
    }

    /// The values that its page gives it, where there is a name for each.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let set = self.set.iter().flat_map(|(_, text)| text.values());
        self.request.values().chain(set)
    }
}

fn text<'v>(value: &'v Spanned<DeValue<'_>>) -> Result<&'v str, Wrong> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err((value.span().start, "a text is needed".to_owned())),
    }
}

fn fields(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Wrong> {
    const NAMES: &str = "fields is a list of names: [\"title\", \"track\"]";
    let wrong = |message: &str| (value.span().start, message.to_owned());
    let DeValue::Array(list) = value.get_ref() else { return Err(wrong(NAMES)) };
    if list.len() > FORM_FIELDS_MAX {
        return Err(wrong(&format!("a form names at most {FORM_FIELDS_MAX} fields")));
    }
    list.iter().map(|name| Ok(text(name).map_err(|(at, _)| (at, NAMES.to_owned()))?.to_owned())).collect()
}

fn set(value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, Text)>, Wrong> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err((value.span().start, "set is a table of values: { pilot_id = \"{claims.sub}\" }".to_owned()));
    };
    if table.len() > FORM_FIELDS_MAX {
        return Err((value.span().start, format!("a form sets at most {FORM_FIELDS_MAX} values")));
    }
    let one = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let parsed = Text::parse(text(value)?).map_err(|message| (value.span().start, message))?;
        Ok((name.get_ref().to_string(), parsed))
    };
    table.iter().map(one).collect()
}

/// Reads what a form does something to, and holds it to what can be said of that.
fn request(does: Does, text: &str) -> Result<Query, String> {
    let query = Query::parse(text, Shows::All, None).map_err(|(_, message)| message)?;
    if let Some(value) = query.values().find(|value| value.absent == Absent::LeftOut) {
        return Err(format!(
            "{{{}?}} would leave a filter out: what is written is always what all filters find",
            value.name
        ));
    }
    let sample = query.sample();
    let (path, parameters) = sample.split_once('?').unwrap_or((&sample, ""));
    let resource = Resource::parse(path).map_err(|error| error.to_string())?;
    match (does, resource) {
        (Does::Insert | Does::Call, _) if sample.contains('?') => {
            Err("what is inserted or called with is the form's: fields, and set = { … }".to_owned())
        }
        (Does::Insert, Resource::Relation(_)) | (Does::Call, Resource::Function(_)) => Ok(query),
        (Does::Update | Does::Delete, Resource::Relation(name)) => {
            only_filters(Target::Relation(&name), parameters).map(|()| query)
        }
        (Does::Call, _) => Err("a function is called: /rpc/sign_in".to_owned()),
        (Does::Insert | Does::Update | Does::Delete, _) => Err("a relation is written to: /flights".to_owned()),
    }
}

/// Whether parameters say which rows are meant, and nothing else: without a filter, all of them would be.
fn only_filters(target: Target<'_>, parameters: &str) -> Result<(), String> {
    let params = Params::decode(parameters).map_err(|error| error.to_string())?;
    if let Some((name, _)) = params.iter().find(|(name, _)| NO_FILTERS.contains(name)) {
        return Err(format!("{name} says nothing about which rows are written"));
    }
    let request = ApiRequest::parse(Action::Update, target, false, &params, &Headers::default());
    let query = request.map_err(|error| error.to_string())?.query;
    let filters = query.filters.iter().any(|at| at.path.is_empty()) || query.trees.iter().any(|at| at.path.is_empty());
    if filters { Ok(()) } else { Err("a filter is needed, or all rows would be written: ?id=eq.{id}".to_owned()) }
}

/// A text with values in braces, which stand in it as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pieces: Vec<Piece<()>>,
}

impl Text {
    fn parse(text: &str) -> Result<Text, String> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(format!("a text has at most {QUERY_BYTES_MAX} bytes"));
        }
        Ok(Text { pieces: pieces(text)? })
    }

    /// Its values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(value, ()) => Some(value),
        })
    }

    /// The text.
    ///
    /// # Errors
    ///
    /// The first value that `find` has not, and whose braces give no default.
    pub fn fill<'v>(&self, find: impl Fn(&Value) -> Option<Cow<'v, str>>) -> Result<String, &Value> {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => filled.push_str(text),
                Piece::Value(value, ()) => match (find(value), value.default()) {
                    (Some(found), _) => filled.push_str(&found),
                    (None, Some(default)) => filled.push_str(default),
                    (None, None) => return Err(value),
                },
            }
        }
        Ok(filled)
    }
}

/// A path of the site with values in braces, which are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Text);

impl Location {
    /// Where one signs in: a path whose parameter [`BACK`] says where its visitor wanted to go.
    pub(crate) fn of_sign_in(text: &str) -> Result<Location, String> {
        const SIGN_IN: &str = "sign_in is the path of a page, without values: /sign_in";
        if !text.starts_with('/') || text.starts_with("//") || text.contains(['{', '}', '#', '?']) {
            return Err(SIGN_IN.to_owned());
        }
        Location::parse(&format!("{text}?{BACK}={{{BACK}=}}"))
    }

    fn parse(text: &str) -> Result<Location, String> {
        if !text.starts_with('/') || text.starts_with("//") {
            return Err("then is a path of the site: /flights/{id}".to_owned());
        }
        if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\' || !c.is_ascii()) {
            return Err("blanks, \\ and what is no ASCII are written percent-encoded".to_owned());
        }
        Text::parse(text).map(Location)
    }

    /// Its values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.values()
    }

    /// The path with what follows it. A value that is absent, and has no default, leaves its place empty.
    pub fn fill<'v>(&self, find: impl Fn(&Value) -> Option<Cow<'v, str>>) -> String {
        let mut filled = String::new();
        for piece in &self.0.pieces {
            match piece {
                Piece::Literal(text) => filled.push_str(text),
                Piece::Value(value, ()) => {
                    let found = find(value).or(value.default().map(Cow::Borrowed));
                    encode(&mut filled, &found.unwrap_or_default());
                }
            }
        }
        // behind two slashes a browser reads a host, and an empty value may stand between them
        format!("/{}", filled.trim_start_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_stays_on_its_site() {
        let location = |text: &str, value: &'static str| {
            Location::parse(text).unwrap().fill(|_| (value != "-").then_some(Cow::Borrowed(value)))
        };
        assert_eq!(location("/flights/{id}#top", "17"), "/flights/17#top");
        assert_eq!(location("/{to}", "/evil.example"), "/%2Fevil.example");
        assert_eq!(location("/{to}", "\\evil.example"), "/%5Cevil.example");
        assert_eq!(location("/{a}/evil.example", ""), "/evil.example");
        assert_eq!(location("/{a}/{b}/evil.example", "-"), "/evil.example");
        assert_eq!(location("/x?q={q}&p={p=1}", "a\r\nSet-Cookie: b&c=ü"), {
            let value = "a%0D%0ASet-Cookie%3A%20b%26c%3D%C3%BC";
            format!("/x?q={value}&p={value}")
        });
        assert_eq!(location("/x?q={q}&p={p=1}&{{}}", "-"), "/x?q=&p=1&{}");
        for text in [
            "flights",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/a b",
            "/a\nb",
            "/ü",
            "/{",
            "/}",
            "{id}",
        ] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_takes_values_as_they_are() {
        let text = Text::parse("{claims.sub}: {note=none}").unwrap();
        assert_eq!(text.fill(|_| Some(Cow::Borrowed("a}{b&"))).unwrap(), "a}{b&: a}{b&");
        assert_eq!(text.fill(|value| (value.name == "sub").then_some("x".into())).unwrap(), "x: none");
        assert_eq!(text.fill(|_| None).unwrap_err().name, "sub");
    }
}
