//! A query of a page: a request with values in braces, cut into pieces when the page is loaded.
//!
//! A value stands where the grammar reads nothing out of it: as the operand of a filter, as `limit` and `offset`, as the argument of a
//! function. In a list, in `and` and `or`, or in an array it is put in quotes. So whatever it holds, the query has the structure that its
//! page gave it.

use std::fmt::Write;
use thalweg_request::Count;

/// How long a query may be.
pub const QUERY_BYTES_MAX: usize = 8 * 1024;
/// How many values it may have.
pub const QUERY_VALUES_MAX: usize = 64;

/// A request whose values are known when the page is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The parameters whose values must be arguments of the function that is called.
    pub arguments: Vec<String>,
    /// What of its rows the page shows.
    pub shows: Shows,
    /// How the rows are counted that there are in all.
    pub count: Option<Count>,
    pieces: Vec<Piece<Standing>>,
}

/// What a page shows of the rows that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// All.
    All,
    /// The first, without which there is no page.
    One,
    /// So many of them, from where a parameter of the page's address says.
    Some {
        /// How many.
        per_page: u64,
        /// The parameter.
        parameter: String,
    },
}

/// A part of a text: as it is written, or a value and how it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<S> {
    Literal(String),
    Value(Value, S),
}

/// A value in braces: `{id}`, `{page=1}`, `{cookie.theme=light}`, `{claims.sub}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it comes from.
    pub source: Source,
    /// Its name there.
    pub name: String,
    /// What it is where it is absent. Without a default, the page cannot be made.
    pub default: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The page's path if that binds the name, else the query string.
    Address,
    /// A cookie.
    Cookie,
    /// The claims of the visitor's token.
    Claims,
}

/// What a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Alone, up to the end of the parameter.
    Operand,
    /// An element of a list, an array or a tree.
    Element,
    /// Within quotes that the page has written.
    Quoted,
    /// What a function is given, up to the end of the parameter; or a filter, of which a value must be no part.
    Argument,
}

impl Query {
    /// Reads a query, or says at which byte of it is what is wrong.
    pub(crate) fn parse(text: &str, shows: Shows, count: Option<Count>) -> Result<Query, (usize, String)> {
        if text.len() > QUERY_BYTES_MAX {
            return Err((0, format!("a query has at most {QUERY_BYTES_MAX} bytes")));
        }
        if !text.starts_with('/') || text.starts_with("//") {
            return Err((0, "a query begins as a request does: /flights?order=id".to_owned()));
        }
        if let Some(at) = text.find(|c: char| c.is_control() || c == '#') {
            return Err((at, "control characters and # are written percent-encoded".to_owned()));
        }
        let mut reader = Reader {
            arguments: Vec::new(),
            text,
            at: 0,
            pieces: Vec::new(),
            literal: String::new(),
            place: InQuery::default(),
        };
        reader.read()?;
        let query = Query { arguments: reader.arguments, shows, count, pieces: reader.pieces };
        if matches!(query.shows, Shows::Some { .. }) && query.has_window() {
            return Err((0, "per_page says which rows there are: limit and offset cannot".to_owned()));
        }
        Ok(query)
    }

    /// The parameter that names the page of its list.
    pub(crate) fn page_by(&self) -> Option<&str> {
        match &self.shows {
            Shows::Some { parameter, .. } => Some(parameter),
            Shows::All | Shows::One => None,
        }
    }

    /// Whether it calls a function.
    pub fn calls(&self) -> bool {
        matches!(self.pieces.first(), Some(Piece::Literal(text)) if text.starts_with("/rpc/"))
    }

    /// Whether it says itself which of its rows there are.
    fn has_window(&self) -> bool {
        let sample = self.fill(|_| Some("1")).unwrap_or_default();
        let (_, parameters) = sample.split_once('?').unwrap_or_default();
        parameters.split('&').any(|parameter| parameter.starts_with("limit=") || parameter.starts_with("offset="))
    }

    /// The same request with values that stand for any, as far as what is read out of it is concerned.
    pub fn sample(&self) -> String {
        self.fill(|value| value.default.is_none().then_some("1")).unwrap_or_default()
    }

    /// The values it needs.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(value, _) => Some(value),
        })
    }

    /// The request, or the value that is absent and has no default.
    ///
    /// # Errors
    ///
    /// The first value that `find` has not, and whose braces give no default.
    pub fn fill<'v>(&self, find: impl Fn(&Value) -> Option<&'v str>) -> Result<String, &Value> {
        let mut request = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => request.push_str(text),
                Piece::Value(value, standing) => {
                    let found = find(value).or(value.default.as_deref()).ok_or(value)?;
                    standing.write(&mut request, found);
                }
            }
        }
        Ok(request)
    }
}

/// The operators that compare with one value (PostgREST's, and what they may have behind them).
const OPERATORS: [&str; 24] = [
    "eq",
    "gt",
    "gte",
    "lt",
    "lte",
    "neq",
    "like",
    "ilike",
    "match",
    "imatch",
    "is",
    "isdistinct",
    "fts",
    "plfts",
    "phfts",
    "wfts",
    "cs",
    "cd",
    "ov",
    "sl",
    "sr",
    "nxr",
    "nxl",
    "adj",
];

/// Whether all that is written of a value is an operator, or begins with one: `eq.`, `not.like.*`, `fts(english).`.
fn is_behind_operator(value: &str) -> bool {
    let value = value.strip_prefix("not.").unwrap_or(value);
    let name = value.split(['.', '(']).next().unwrap_or_default();
    let rest = &value[name.len()..];
    let rest = match (rest.strip_prefix('('), name) {
        (None, _) => rest,
        // a language; of the quantifiers any and all, the value is a list
        (Some(inner), "fts" | "plfts" | "phfts" | "wfts") => inner.split_once(')').map_or("", |(_, rest)| rest),
        (Some(_), _) => return false,
    };
    OPERATORS.contains(&name) && rest.starts_with('.')
}

impl Standing {
    fn write(self, request: &mut String, value: &str) {
        match self {
            Standing::Operand | Standing::Argument => encode(request, value),
            Standing::Element => encode(request, &format!("\"{}\"", escape(value))),
            Standing::Quoted => encode(request, &escape(value)),
        }
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

/// All but the unreserved characters of RFC 3986, percent-encoded.
pub(crate) fn encode(request: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            request.push(char::from(byte));
        } else {
            let _ = write!(request, "%{byte:02X}");
        }
    }
}

/// Where in a query a brace stands.
#[derive(Default)]
struct InQuery {
    is_function: bool,
    /// Behind `?`.
    in_parameters: bool,
    /// The name of the parameter, once there is a `=`.
    parameter: Option<String>,
    name: String,
    /// What has been written of the parameter's value.
    value: String,
    /// Parentheses, and the braces of arrays, that are open.
    depth: usize,
    in_quotes: bool,
}

impl InQuery {
    fn push(&mut self, c: char) {
        match (c, self.in_parameters) {
            ('?', false) => {
                self.is_function = self.name.starts_with("/rpc/");
                (self.in_parameters, self.name) = (true, String::new());
            }
            // quotes mean nothing here: the grammar cuts parameters first
            ('&' | ';', true) => {
                *self = InQuery { is_function: self.is_function, in_parameters: true, ..InQuery::default() };
            }
            ('=', true) if self.parameter.is_none() => self.parameter = Some(std::mem::take(&mut self.name)),
            _ if self.parameter.is_some() => self.push_value(c),
            _ => self.name.push(c),
        }
    }

    fn push_value(&mut self, c: char) {
        let backslashes = self.value.bytes().rev().take_while(|byte| *byte == b'\\').count();
        let is_escaped = backslashes % 2 == 1;
        match c {
            '"' if !is_escaped => self.in_quotes = !self.in_quotes,
            '(' | '{' if !self.in_quotes => self.depth += 1,
            ')' | '}' if !self.in_quotes => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.value.push(c);
    }

    /// What a value stands in here, with the text that follows it.
    fn standing(&self, rest: &str) -> Result<Standing, &'static str> {
        let Some(parameter) = &self.parameter else {
            return Err("a value stands behind the = of a parameter, and names no relation and no column");
        };
        if parameter.contains(['%', '+']) {
            return Err("the name of a parameter that has a value in braces is written as it is");
        }
        let ends = rest.is_empty() || rest.starts_with(['&', ';']);
        match parameter.rsplit('.').next().unwrap_or_default() {
            "select" | "order" | "columns" | "on_conflict" => Err("no value can stand in select, order or columns"),
            "limit" | "offset" if self.value.is_empty() && ends => Ok(Standing::Operand),
            "limit" | "offset" => Err("limit and offset are a value alone"),
            _ if self.in_quotes => Ok(Standing::Quoted),
            _ if self.depth > 0 => self.element(rest),
            _ if is_behind_operator(&self.value) => Ok(Standing::Operand),
            // whether the function has such an argument is found out when it is known
            _ if self.is_function => Ok(Standing::Argument),
            _ => Err("a value stands behind an operator: id=eq.{id}, id=in.({a},{b})"),
        }
    }

    fn element(&self, rest: &str) -> Result<Standing, &'static str> {
        let begins = self.value.ends_with(['(', ',', '{', '.']);
        let ends = rest.starts_with([',', ')']) || rest.starts_with("}}");
        if begins && ends {
            Ok(Standing::Element)
        } else {
            Err("in a list, a value with text around it stands in quotes: \"*{q}*\"")
        }
    }
}

struct Reader<'a> {
    arguments: Vec<String>,
    text: &'a str,
    at: usize,
    pieces: Vec<Piece<Standing>>,
    literal: String,
    place: InQuery,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), (usize, String)> {
        while let Some(c) = self.text[self.at..].chars().next() {
            let rest = &self.text[self.at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                self.push(c);
                self.at += 2;
            } else if c == '{' {
                self.value()?;
            } else if c == '}' {
                return Err((self.at, LONE_BRACE.to_owned()));
            } else {
                self.push(c);
                self.at += c.len_utf8();
            }
        }
        self.end_literal();
        Ok(())
    }

    fn push(&mut self, c: char) {
        self.place.push(c);
        self.literal.push(c);
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.literal)));
        }
    }

    fn value(&mut self) -> Result<(), (usize, String)> {
        let begin = self.at;
        let wrong = |message: &str| (begin, message.to_owned());
        let (value, rest) = Value::begin(&self.text[begin..]).map_err(|message| wrong(&message))?;
        let standing = self.place.standing(rest).map_err(wrong)?;
        if standing == Standing::Argument {
            self.arguments.extend(self.place.parameter.clone());
        }
        if self.pieces.len() >= 2 * QUERY_VALUES_MAX {
            return Err(wrong("there are too many values"));
        }
        self.end_literal();
        self.pieces.push(Piece::Value(value, standing));
        self.place.value.push('v');
        self.at = self.text.len() - rest.len();
        Ok(())
    }
}

/// The pieces of a text whose values stand anywhere.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<()>>, String> {
    let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("{{") || rest.starts_with("}}") {
            literal.push(c);
            rest = &rest[2..];
        } else if c == '{' {
            let (value, behind) = Value::begin(rest)?;
            if pieces.len() >= 2 * QUERY_VALUES_MAX {
                return Err("there are too many values".to_owned());
            }
            pieces.extend([Piece::Literal(std::mem::take(&mut literal)), Piece::Value(value, ())]);
            rest = behind;
        } else if c == '}' {
            return Err(LONE_BRACE.to_owned());
        } else {
            literal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    pieces.push(Piece::Literal(literal));
    Ok(pieces)
}

const LONE_BRACE: &str = "a brace that is none of a value's is written twice: }}";

impl Value {
    /// The value that a text begins with, and what is behind it.
    fn begin(text: &str) -> Result<(Value, &str), String> {
        let (inner, rest) =
            text[1..].split_once('}').ok_or("a } is missing; a { that begins no value is written twice: {{")?;
        Ok((Value::parse(inner)?, rest))
    }

    fn parse(text: &str) -> Result<Value, String> {
        let (name, default) = match text.split_once('=') {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (text, None),
        };
        let (source, name) = match name.split_once('.') {
            Some(("cookie", name)) => (Source::Cookie, name),
            Some(("claims", name)) => (Source::Claims, name),
            Some((other, _)) => return Err(format!("values come from cookie. and claims., not from {other}.")),
            None => (Source::Address, name),
        };
        if !is_name(name) {
            return Err(format!(
                "{{{text}}} needs a name: {{id}}, {{page=1}}, {{cookie.theme}}; a brace itself is written twice"
            ));
        }
        Ok(Value { source, name: name.to_owned(), default })
    }
}

/// Whether templates and braces can name this.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, value: &str) -> String {
        let query = Query::parse(text, Shows::All, None).unwrap();
        query.fill(|_| Some(value)).unwrap()
    }

    #[test]
    fn values_never_change_the_structure() {
        let hostile = "1&select=*,(\")\\";
        assert_eq!(filled("/f?id=eq.{id}&limit=1", hostile), "/f?id=eq.1%26select%3D%2A%2C%28%22%29%5C&limit=1");
        assert_eq!(filled("/f?id=in.({a},2)", "1,2)\""), "/f?id=in.(%221%2C2%29%5C%22%22,2)");
        assert_eq!(filled("/f?or=(a.eq.{a},b.is.null)", "1,b)"), "/f?or=(a.eq.%221%2Cb%29%22,b.is.null)");
        assert_eq!(filled("/f?tags=cs.{{{tag}}}", "a,b}"), "/f?tags=cs.{%22a%2Cb%7D%22}");
        assert_eq!(filled("/f?or=(a.like.\"*{q}*\",b.eq.1)", "x\",y"), "/f?or=(a.like.\"*x%5C%22%2Cy*\",b.eq.1)");
        assert_eq!(filled("/rpc/find?q={q}", "a&b"), "/rpc/find?q=a%26b");
        assert_eq!(filled("/f?t=like.*{q}*", "ü"), "/f?t=like.*%C3%BC*");
    }

    #[test]
    fn a_value_stands_where_nothing_is_read_out_of_it() {
        for (text, wrong) in [
            ("/{table}", "names no relation"),
            ("/f?{column}=eq.1", "names no relation and no column"),
            ("/f?id={id}", "behind an operator"),
            ("/f?select={columns}", "no value can stand in select"),
            ("/f?pilot.order={order}", "no value can stand in select"),
            ("/f?limit=1{n}", "a value alone"),
            ("/f?id=in.(a{b},2)", "in quotes"),
            ("/f?id=not.{x}", "behind an operator"),
            ("/f?id=in.{x}", "behind an operator"),
            ("/f?id=not.in.{x}", "behind an operator"),
            ("/f?id=eq(any).{x}", "behind an operator"),
            ("/f?id=equals.{x}", "behind an operator"),
            ("/f?id=eq{x}", "behind an operator"),
            ("/f?a=eq.1;b={x}", "behind an operator"),
            ("/f?or=(a.eq.\"x&b={v}\")", "behind an operator"),
            ("/f?%73elect=eq.{x}", "written as it is"),
            ("/f?or=%28a.eq.{x}%29", "behind an operator"),
            ("/f?or=(a.{op}.1)", "in quotes"),
            ("/f?id=eq.{id", "a } is missing"),
            ("/f?id=eq.id}", "written twice: }}"),
            ("/f?id=eq.{1}", "needs a name"),
            ("/f?id=eq.{env.x}", "not from env."),
            ("f", "begins as a request does"),
            ("//host/f", "begins as a request does"),
        ] {
            let (_, message) = Query::parse(text, Shows::All, None).unwrap_err();
            assert!(message.contains(wrong), "{text}: {message}");
        }
    }

    #[test]
    fn defaults_stand_in_for_what_is_absent() {
        let query = Query::parse("/f?a=eq.{a=1 & 2}&b=eq.{cookie.b=}&c=eq.{claims.sub}", Shows::One, None).unwrap();
        let value = |value: &Value| (value.source == Source::Claims).then_some("me");
        assert_eq!(query.fill(value).unwrap(), "/f?a=eq.1%20%26%202&b=eq.&c=eq.me");
        assert_eq!(query.fill(|_| None).unwrap_err().name, "sub");
    }
}
