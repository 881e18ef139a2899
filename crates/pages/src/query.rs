//! A query of a page: a request with values in braces, cut into pieces when the page is loaded.
//!
//! A value stands where the grammar reads nothing out of it: as the operand of a filter, as `limit` and `offset`, as the argument of a
//! function. In a list, in `and` and `or`, or in an array it is put in quotes. So whatever it holds, the query has the structure that its
//! page gave it: one of its orders where the visitor chooses among several, and less a parameter that is left out where its value is absent.

use std::fmt::Write;
use thalweg_request::Count;

/// How long a query may be.
pub const QUERY_BYTES_MAX: usize = 8 * 1024;
/// How many values it may have.
pub const QUERY_VALUES_MAX: usize = 64;
/// Largest number in `limit` and `offset`, which a request reads as `i64`.
pub const ROWS_MAX: i64 = i64::MAX;
/// How many orders a page may list for its visitors to choose from.
pub const ORDERS_MAX: usize = 32;

/// A request whose values are known when the page is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The parameters whose values must be arguments of the function that is called.
    pub arguments: Vec<String>,
    /// What of its rows the page shows.
    pub shows: Shows,
    /// How the rows are counted that there are in all.
    pub count: Option<Count>,
    path: String,
    parameters: Vec<Parameter>,
}

/// A parameter with its name.
type Parameter = Vec<Piece<Standing>>;

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

/// A value in braces: `{id}`, `{site?}`, `{page=1}`, `{cookie.theme=light}`, `{claims.sub}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it comes from.
    pub source: Source,
    /// Its name there.
    pub name: String,
    /// What is done where it is absent.
    pub absent: Absent,
    /// True if texts are searched for the value (`contains`, `icontains`). Blanks around it do not count,
    /// and if there is nothing else, it is absent.
    pub is_searched: bool,
}

/// What is done where a value is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The page cannot be made: `{id}`.
    Refused,
    /// Another stands there: `{page=1}`.
    Default(String),
    /// The parameter that it stands in is left out: `{site?}`.
    LeftOut,
}

/// Why a query cannot be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfilled<'q> {
    /// A value is absent, and nothing else can stand there.
    Absent(&'q Value),
    /// A value is none of those that the page lists.
    NotListed(&'q Value, &'q [String]),
    /// A value stands for a number of rows, but is not a whole number from 0 to [`ROWS_MAX`].
    NotANumber(&'q Value),
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
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Alone, up to the end of the parameter.
    Operand,
    /// The number of `limit` or `offset`. A request ignores any other text there, so a value that
    /// is not a number would lift the limit.
    Rows,
    /// An element of a list, an array or a tree.
    Element,
    /// Within quotes that the page has written.
    Quoted,
    /// What a function is given, up to the end of the parameter; or a filter, of which a value must be no part.
    Argument,
    /// One of these, as the page has written them.
    OneOf(Vec<String>),
}

impl Query {
    /// Whether it asks for as many rows whoever asks.
    pub fn limit_is_fixed(&self) -> bool {
        let is_filled = |parameter: &Parameter| matches!(&parameter[..], [Piece::Literal(name), _, ..] if name.starts_with("limit="));
        !self.parameters.iter().any(is_filled)
    }

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
        let mut reader = Reader { text, ..Reader::default() };
        reader.read()?;
        let Reader { arguments, path, parameters, .. } = reader;
        let query = Query { arguments, shows, count, path, parameters };
        if query.pieces_of_windows().any(|value| !is_rows(value)) {
            return Err((0, "limit and offset are whole numbers: limit=20, limit={n=20}".to_owned()));
        }
        if matches!(query.shows, Shows::Some { .. }) && query.has_window() {
            return Err((0, "per_page says which rows there are: limit and offset cannot".to_owned()));
        }
        Ok(query)
    }

    /// Returns the texts that the page itself writes in `limit` and `offset`: whole values, and the
    /// defaults of values in braces.
    fn pieces_of_windows(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter_map(|parameter| match &parameter[..] {
            [Piece::Literal(text)] => {
                let (name, value) = text.split_once('=')?;
                matches!(name.rsplit('.').next(), Some("limit" | "offset")).then_some(value)
            }
            [_, Piece::Value(value, Standing::Rows), ..] => value.default(),
            _ => None,
        })
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
        self.path.starts_with("/rpc/")
    }

    /// Whether it says itself which of its rows there are.
    fn has_window(&self) -> bool {
        let sample = self.sample();
        let (_, parameters) = sample.split_once('?').unwrap_or_default();
        parameters.split('&').any(|parameter| parameter.starts_with("limit=") || parameter.starts_with("offset="))
    }

    /// The same request with values that stand for any, as far as what is read out of it is concerned: the first of [`Query::samples`].
    pub fn sample(&self) -> String {
        self.nth_sample(Some(0))
    }

    /// One for each structure that the request may have: with each of the orders that it lists, and without what may be left out.
    pub fn samples(&self) -> impl Iterator<Item = String> {
        let lists = self.pieces().filter_map(|piece| match piece {
            Piece::Value(_, Standing::OneOf(listed)) => Some(listed.len()),
            Piece::Value(..) | Piece::Literal(_) => None,
        });
        let has_optional = self.values().any(|value| value.absent == Absent::LeftOut);
        let whole = 0..lists.max().unwrap_or(1);
        whole.map(Some).chain(has_optional.then_some(None)).map(|n| self.nth_sample(n))
    }

    /// With the nth of orders, or the first if there are fewer; or without what may be left out.
    fn nth_sample(&self, n: Option<usize>) -> String {
        let value = |value: &Value, standing: &Standing| match (standing, &value.absent) {
            (Standing::OneOf(listed), _) => listed.get(n?).cloned(),
            (_, Absent::Default(_)) => None,
            (_, Absent::LeftOut) if n.is_none() => None,
            (_, Absent::LeftOut | Absent::Refused) => Some("1".to_owned()),
        };
        self.filled(value).unwrap_or_default()
    }

    /// The values it needs.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(value, _) => Some(value),
        })
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece<Standing>> {
        self.parameters.iter().flatten()
    }

    /// The request, or why there is none.
    ///
    /// # Errors
    ///
    /// The first value that `find` has not, though its braces need one, or that is none of those that they list.
    pub fn fill<'v>(&self, find: impl Fn(&Value) -> Option<&'v str>) -> Result<String, Unfilled<'_>> {
        self.filled(|value, _| find(value))
    }

    fn filled<T: AsRef<str>>(&self, find: impl Fn(&Value, &Standing) -> Option<T>) -> Result<String, Unfilled<'_>> {
        let mut request = self.path.clone();
        let mut mark = '?';
        for parameter in &self.parameters {
            let begin = request.len();
            request.push(mark);
            match write(&mut request, parameter, &find)? {
                Written::Whole => mark = '&',
                Written::LeftOut => request.truncate(begin),
            }
        }
        Ok(request)
    }
}

/// What has been written of a parameter.
enum Written {
    Whole,
    /// As much as is to be taken away again.
    LeftOut,
}

fn write<'q, T: AsRef<str>>(
    request: &mut String,
    parameter: &'q Parameter,
    find: &impl Fn(&Value, &Standing) -> Option<T>,
) -> Result<Written, Unfilled<'q>> {
    for piece in parameter {
        match piece {
            Piece::Literal(text) => request.push_str(text),
            Piece::Value(value, standing) => match (find(value, standing), &value.absent) {
                (Some(found), _) => standing.write(request, value, found.as_ref())?,
                (None, Absent::Default(default)) => standing.write(request, value, default)?,
                (None, Absent::LeftOut) => return Ok(Written::LeftOut),
                (None, Absent::Refused) => return Err(Unfilled::Absent(value)),
            },
        }
    }
    Ok(Written::Whole)
}

/// The operators that compare with one value (PostgREST's, and what they may have behind them).
const OPERATORS: [&str; 26] = [
    "eq",
    "gt",
    "gte",
    "lt",
    "lte",
    "neq",
    "like",
    "ilike",
    "contains",
    "icontains",
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

/// Returns whether what precedes a value in a filter or a tree ends with an operator that searches
/// for a text.
fn is_search(before: &str) -> bool {
    let before = before.strip_suffix('"').unwrap_or(before);
    let operator = before.strip_suffix('.').and_then(|before| before.rsplit(['.', ',', '(']).next());
    matches!(operator, Some("contains" | "icontains"))
}

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
    fn write<'q>(&'q self, request: &mut String, of: &'q Value, value: &str) -> Result<(), Unfilled<'q>> {
        match self {
            Standing::Operand | Standing::Argument => encode(request, value),
            Standing::Rows if is_rows(value) => request.push_str(value),
            Standing::Rows => return Err(Unfilled::NotANumber(of)),
            Standing::Element => encode(request, &format!("\"{}\"", escape(value))),
            Standing::Quoted => encode(request, &escape(value)),
            Standing::OneOf(listed) => {
                let known = listed.iter().find(|known| *known == value).ok_or(Unfilled::NotListed(of, listed))?;
                request.push_str(known);
            }
        }
        Ok(())
    }

    /// The orders that a value in braces lists, of which the first is the default.
    fn one_of(value: &Value) -> Result<Self, &'static str> {
        const LISTED: &str = "an order is one of those that the page lists, the first of which is the default: \
                              order={sort=title|launched_at.desc}";
        let (Source::Address, Absent::Default(orders)) = (value.source, &value.absent) else { return Err(LISTED) };
        let listed: Vec<String> = orders.split('|').map(str::to_owned).collect();
        if listed.iter().any(|order| order.is_empty() || order.contains(['&', ';', '%', '+'])) {
            return Err(LISTED);
        }
        if listed.len() > ORDERS_MAX { Err("there are too many orders") } else { Ok(Standing::OneOf(listed)) }
    }
}

/// Returns whether a text is a whole number from 0 to [`ROWS_MAX`], written in digits only.
fn is_rows(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_ok()
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
    fn standing(&self, value: &Value, rest: &str) -> Result<Standing, &'static str> {
        let Some(parameter) = &self.parameter else {
            return Err("a value stands behind the = of a parameter, and names no relation and no column");
        };
        if parameter.contains(['%', '+']) {
            return Err("the name of a parameter that has a value in braces is written as it is");
        }
        let ends = rest.is_empty() || rest.starts_with(['&', ';']);
        match parameter.rsplit('.').next().unwrap_or_default() {
            "order" => Standing::one_of(value),
            "select" | "columns" | "on_conflict" => Err("no value can stand in select or columns"),
            "limit" | "offset" if self.value.is_empty() && ends => Ok(Standing::Rows),
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

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
    place: InQuery,
    literal: String,
    arguments: Vec<String>,
    path: String,
    parameters: Vec<Parameter>,
    values: usize,
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
        let was_in_parameters = self.place.in_parameters;
        self.place.push(c);
        match (was_in_parameters, self.place.in_parameters) {
            (false, false) => self.path.push(c),
            (false, true) => self.parameters.push(Vec::new()),
            (true, _) if matches!(c, '&' | ';') => {
                self.end_literal();
                self.parameters.push(Vec::new());
            }
            (true, _) => self.literal.push(c),
        }
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.push_piece(Piece::Literal(literal));
        }
    }

    fn push_piece(&mut self, piece: Piece<Standing>) {
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.push(piece);
        }
    }

    fn value(&mut self) -> Result<(), (usize, String)> {
        let begin = self.at;
        let wrong = |message: &str| (begin, message.to_owned());
        let (mut value, rest) = Value::begin(&self.text[begin..]).map_err(|message| wrong(&message))?;
        let standing = self.place.standing(&value, rest).map_err(wrong)?;
        value.is_searched = is_search(&self.place.value);
        if standing == Standing::Argument {
            self.arguments.extend(self.place.parameter.clone());
        }
        self.values += 1;
        if self.values > QUERY_VALUES_MAX {
            return Err(wrong("there are too many values"));
        }
        self.end_literal();
        if let Standing::OneOf(listed) = &standing {
            value.absent = Absent::Default(listed.first().cloned().unwrap_or_default());
        }
        self.push_piece(Piece::Value(value, standing));
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
            if value.absent == Absent::LeftOut {
                return Err(format!("{{{}?}} leaves a parameter of a query out, and there is none", value.name));
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

    /// What stands there where it is absent, if something can.
    pub fn default(&self) -> Option<&str> {
        match &self.absent {
            Absent::Default(default) => Some(default),
            Absent::Refused | Absent::LeftOut => None,
        }
    }

    fn parse(text: &str) -> Result<Value, String> {
        let (name, absent) = match (text.split_once('='), text.strip_suffix('?')) {
            (Some((name, default)), _) => (name, Absent::Default(default.to_owned())),
            (None, Some(name)) => (name, Absent::LeftOut),
            (None, None) => (text, Absent::Refused),
        };
        let (source, name) = match name.split_once('.') {
            Some(("cookie", name)) => (Source::Cookie, name),
            Some(("claims", name)) => (Source::Claims, name),
            Some((other, _)) => return Err(format!("values come from cookie. and claims., not from {other}.")),
            None => (Source::Address, name),
        };
        if !is_name(name) {
            return Err(format!(
                "{{{text}}} needs a name: {{id}}, {{site?}}, {{page=1}}, {{cookie.theme}}; a brace itself is written twice"
            ));
        }
        Ok(Value { source, name: name.to_owned(), absent, is_searched: false })
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
        assert_eq!(filled("/f?t=icontains.{q}", "50%_"), "/f?t=icontains.50%25_");
        assert_eq!(filled("/f?or=(t.icontains.{q},b.eq.1)", "x,y"), "/f?or=(t.icontains.%22x%2Cy%22,b.eq.1)");
        assert_eq!(filled("/rpc/find?q={q}", "a&b"), "/rpc/find?q=a%26b");
        assert_eq!(filled("/f?t=like.*{q}*", "ü"), "/f?t=like.*%C3%BC*");
    }

    #[test]
    fn blanks_do_not_count_where_a_text_is_searched_for() {
        for (text, is_searched) in [
            ("/f?t=contains.{q}", true),
            ("/f?t=not.icontains.{q?}", true),
            ("/f?or=(t.icontains.{q?},b.is.null)", true),
            ("/f?or=(b.is.null,t.not.icontains.\"{q}\")", true),
            ("/f?t=ilike.*{q}*", false),
            ("/f?t=eq.{q}", false),
            ("/rpc/find?q={q}", false),
        ] {
            let query = Query::parse(text, Shows::All, None).unwrap();
            assert!(query.values().all(|value| value.is_searched == is_searched), "{text}");
        }
    }

    #[test]
    fn a_value_stands_where_nothing_is_read_out_of_it() {
        for (text, wrong) in [
            ("/{table}", "names no relation"),
            ("/f?{column}=eq.1", "names no relation and no column"),
            ("/f?id={id}", "behind an operator"),
            ("/f?select={columns}", "no value can stand in select"),
            ("/f?pilot.order={order}", "one of those that the page lists"),
            ("/f?order={order?}", "one of those that the page lists"),
            ("/f?order={cookie.order=a|b}", "one of those that the page lists"),
            ("/f?order={order=a||b}", "one of those that the page lists"),
            ("/f?order={order=a|b&limit=1}", "one of those that the page lists"),
            ("/f?%6Frder={order=a|b}", "written as it is"),
            ("/f?select={columns=a|b}", "no value can stand in select"),
            ("/{table?}", "names no relation"),
            ("/f?id=eq.{x?=1}", "needs a name"),
            ("/f?id=eq.{?}", "needs a name"),
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
        let Err(Unfilled::Absent(value)) = query.fill(|_| None) else { panic!("the claim is absent") };
        assert_eq!(value.name, "sub");
    }

    #[test]
    fn a_parameter_is_left_out_where_a_value_in_it_is_absent() {
        let text = "/f?site=eq.{site?}&or=(a.like.\"*{q?}*\",b.eq.{q?})&c=in.({c?},{d?});limit=1";
        let query = Query::parse(text, Shows::All, None).unwrap();
        let with = |names: &[&str]| query.fill(|value| names.contains(&&*value.name).then_some("x&y")).unwrap();
        assert_eq!(with(&[]), "/f?limit=1");
        assert_eq!(with(&["site"]), "/f?site=eq.x%26y&limit=1");
        assert_eq!(with(&["q", "c"]), "/f?or=(a.like.\"*x%26y*\",b.eq.%22x%26y%22)&limit=1");
        assert_eq!(with(&["c", "d"]), "/f?c=in.(%22x%26y%22,%22x%26y%22)&limit=1");
        let all = "/f?site=eq.1&or=(a.like.\"*1*\",b.eq.%221%22)&c=in.(%221%22,%221%22)&limit=1";
        assert_eq!(query.samples().collect::<Vec<_>>(), [all, "/f?limit=1"]);
        let alone = Query::parse("/rpc/find?q={q?}", Shows::All, None).unwrap();
        assert_eq!(alone.fill(|_| None), Ok("/rpc/find".to_owned()));
    }

    #[test]
    fn a_number_of_rows_is_written_in_digits_or_refused() {
        let query = Query::parse("/f?limit={n=20}&pilot.offset={from?}&id=gt.{id=}", Shows::All, None).unwrap();
        let with = |found: Option<&'static str>| query.fill(|value| if value.name == "id" { None } else { found });
        assert_eq!(with(None).unwrap(), "/f?limit=20&id=gt.");
        for rows in ["0", "7", "007", "9223372036854775807"] {
            assert_eq!(with(Some(rows)).unwrap(), format!("/f?limit={rows}&pilot.offset={rows}&id=gt."));
        }
        for wrong in ["", "abc", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "9223372036854775808", "1&limit=", "٣"]
        {
            let Err(Unfilled::NotANumber(value)) = with(Some(wrong)) else { panic!("{wrong:?} is a number") };
            assert_eq!(value.name, "n");
        }
        for wrong in
            ["limit={n=}", "limit={n=all}", "pilot.offset={n=-1}", "limit=", "limit=all", "a=eq.1&limit=-1&b=eq.1"]
        {
            let (_, message) = Query::parse(&format!("/f?{wrong}"), Shows::All, None).unwrap_err();
            assert!(message.contains("whole numbers"), "{wrong}: {message}");
        }
        assert!(Query::parse("/f?limit=5&pilot.limit=3;offset=2", Shows::All, None).is_ok());
    }

    #[test]
    fn an_order_is_one_of_those_that_are_listed() {
        let text = "/f?order={sort=title|km.desc,id},id&pilot.order={of=name|id}";
        let query = Query::parse(text, Shows::All, None).unwrap();
        let by = |sort: &'static str| query.fill(|value| (value.name == "sort").then_some(sort));
        assert_eq!(by("km.desc,id").unwrap(), "/f?order=km.desc,id,id&pilot.order=name");
        assert_eq!(query.fill(|_| None).unwrap(), "/f?order=title,id&pilot.order=name");
        for free in ["", "km", "title|km.desc,id", "title,id", "title&limit=1", "TITLE"] {
            let Err(Unfilled::NotListed(value, listed)) = by(free) else { panic!("{free} is not listed") };
            assert_eq!((&*value.name, listed.len()), ("sort", 2));
        }
        let samples = ["/f?order=title,id&pilot.order=name", "/f?order=km.desc,id,id&pilot.order=id"];
        assert_eq!(query.samples().collect::<Vec<_>>(), samples);
        let many = |count: usize| format!("/f?order={{a={}}}", vec!["b"; count].join("|"));
        assert!(Query::parse(&many(ORDERS_MAX), Shows::All, None).is_ok());
        assert_eq!(Query::parse(&many(ORDERS_MAX + 1), Shows::All, None).unwrap_err().1, "there are too many orders");
    }
}
