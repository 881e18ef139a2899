//! The whole query string, each parameter at the level it belongs to (url-grammar §2.2).

use crate::ORDER_TERMS_MAX;
use crate::error::RequestError;
use crate::filter::{self, Filter, Tree};
use crate::order::{self, OrderTerm};
use crate::params::Params;
use crate::scanner::Scanner;
use crate::select::{self, Item};
use crate::window::{EmbedWindow, saturated};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Something that belongs to the level which `path` names; the root where it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<'a, T> {
    /// The names of the embeds down to it, outermost first.
    pub path: Vec<Cow<'a, str>>,
    /// What belongs there.
    pub what: T,
}

/// What a query string asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query<'a> {
    /// The select list; all columns where there is none.
    pub select: Vec<Item<'a>>,
    /// Filters on columns, all of which must hold.
    pub filters: Vec<At<'a, Filter<'a>>>,
    /// Boolean trees, all of which must hold.
    pub trees: Vec<At<'a, Tree<'a>>>,
    /// One ordering a level.
    pub orders: Vec<At<'a, Vec<OrderTerm<'a>>>>,
    /// One window an embed.
    pub windows: Vec<At<'a, EmbedWindow>>,
    /// `limit` and `offset` of the root.
    pub root_window: EmbedWindow,
    /// `columns`: the keys of the payload that are used.
    pub columns: Option<Vec<Cow<'a, str>>>,
    /// `on_conflict`: the columns that decide what is a conflict.
    pub on_conflict: Option<Vec<Cow<'a, str>>>,
    /// Arguments of a function, by name, in their order.
    pub arguments: Vec<(Cow<'a, str>, &'a str)>,
}

/// What pairs mean that are neither reserved nor filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreserved {
    /// Nothing: they are an error.
    Filters,
    /// They are arguments of a function (functions §2).
    FiltersOrArguments,
}

impl<'a> Query<'a> {
    /// Reads the parameters. The first failure is reported in the protocol's order: orders, trees, columns, select,
    /// filters, `on_conflict`.
    pub fn parse(params: &'a Params<'_>, unreserved: Unreserved) -> Result<Self, RequestError> {
        Self::parse_given(params, unreserved, &[])
    }

    /// Reads the parameters of a call. Values with the names of `known` parameters of the function are arguments, whatever
    /// they look like.
    pub(crate) fn parse_given(
        params: &'a Params<'_>,
        unreserved: Unreserved,
        known: &[KnownParameter<'_>],
    ) -> Result<Self, RequestError> {
        let mut query = Self::default();
        let (mut select_text, mut filters) = (None, Vec::new());
        let (mut columns, mut on_conflict) = (None, None);
        let (mut orders, mut trees) = (Vec::new(), Vec::new());
        let mut windows = Windows::default();
        for (key, value) in params.iter() {
            let (level, parameter) = Parameter::of(key);
            match parameter {
                Parameter::Select => select_text = select_text.or(Some(value)),
                Parameter::Columns => columns = columns.or(Some(value)),
                Parameter::OnConflict => on_conflict = on_conflict.or(Some(value)),
                Parameter::Order => orders.push((level, value)),
                Parameter::Limit => {
                    let rows = rows("limit", value)?;
                    windows.of(&mut query, level)?.limit_rows = Some(rows);
                }
                Parameter::Offset => {
                    let rows = rows("offset", value)?;
                    windows.of(&mut query, level)?.offset_rows = Some(rows);
                }
                Parameter::Tree { all } => trees.push((level, all, value)),
                Parameter::Unreserved => filters.push((key, value)),
            }
        }
        let (mut ordered, mut terms_left) = (HashSet::new(), ORDER_TERMS_MAX);
        for (level, value) in orders {
            let path = level_path("tree path", level)?;
            if ordered.insert(path.clone()) {
                query.orders.push(At { path, what: order::order(value, &mut terms_left)? });
            }
        }
        for (level, all, value) in trees {
            let (level, negated) = match level {
                Some("not") => (None, true),
                Some(level) => match level.strip_suffix(".not") {
                    Some(level) => (Some(level), true),
                    None => (Some(level), false),
                },
                None => (None, false),
            };
            query.trees.push(At { path: level_path("logic path", level)?, what: filter::tree(negated, all, value)? });
        }
        query.columns = columns.map(|text| names("columns parameter", text)).transpose()?;
        query.select = select_text.map_or_else(|| Ok(vec![Item::All]), select::select)?;
        let takes_arguments = unreserved == Unreserved::FiltersOrArguments;
        let mut is_given = vec![false; if takes_arguments { known.len() } else { 0 }];
        for (key, value) in filters {
            let place = || known.iter().position(|parameter| parameter.name == key);
            if let Some(place) = takes_arguments.then(place).flatten()
                && (known[place].takes_all || !std::mem::replace(&mut is_given[place], true))
            {
                query.arguments.push((Cow::Borrowed(key), value));
                continue;
            }
            let (path, field) = filter_key(key)?;
            if takes_arguments && !filter::is_operation(value) {
                query.arguments.push((field.name, value));
            } else {
                query.filters.push(At { path, what: filter::top_level(field, value)? });
            }
        }
        query.on_conflict = on_conflict.map(|text| names("on_conflict parameter", text)).transpose()?;
        Ok(query)
    }
}

/// A parameter of the function that a query string calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownParameter<'p> {
    /// The name.
    pub name: &'p str,
    /// True if all values of this name are arguments. Otherwise the first value is the argument, and
    /// a later one is a filter if it looks like one.
    pub takes_all: bool,
}

/// What a parameter is by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    Select,
    Columns,
    OnConflict,
    Order,
    Limit,
    Offset,
    /// `and`, not `or`.
    Tree {
        all: bool,
    },
    Unreserved,
}

impl Parameter {
    /// The level that a name says it is for, and what it is.
    pub(crate) fn of(key: &str) -> (Option<&str>, Self) {
        let (level, last) = match key.rsplit_once('.') {
            Some((level, last)) => (Some(level), last),
            None => (None, key),
        };
        let parameter = match (key, last) {
            ("select", _) => Self::Select,
            ("columns", _) => Self::Columns,
            ("on_conflict", _) => Self::OnConflict,
            (_, "order") => Self::Order,
            (_, "limit") => Self::Limit,
            (_, "offset") => Self::Offset,
            (_, "and" | "or") => Self::Tree { all: last == "and" },
            _ => Self::Unreserved,
        };
        (level, parameter)
    }
}

/// Where the windows of embeds stand in a query, by their paths.
#[derive(Default)]
struct Windows<'a>(HashMap<Vec<Cow<'a, str>>, usize>);

impl<'a> Windows<'a> {
    /// Returns the window of a level.
    fn of<'q>(
        &mut self,
        query: &'q mut Query<'a>,
        level: Option<&'a str>,
    ) -> Result<&'q mut EmbedWindow, RequestError> {
        if level.is_none() {
            return Ok(&mut query.root_window);
        }
        let path = level_path("tree path", level)?;
        let at = *self.0.entry(path).or_insert_with_key(|path| {
            query.windows.push(At { path: path.clone(), what: EmbedWindow::default() });
            query.windows.len() - 1
        });
        Ok(&mut query.windows[at].what)
    }
}

/// Parses the value of `limit` or `offset`.
///
/// # Errors
///
/// [`ErrorKind::Syntax`](crate::ErrorKind::Syntax) for what is no integer: without its limit, a
/// request would return all rows.
fn rows(parameter: &'static str, text: &str) -> Result<i64, RequestError> {
    let mut scanner = Scanner::new(parameter, text);
    scanner.eat("-");
    if scanner.take_while(|c| c.is_ascii_digit()).is_empty() {
        return Err(scanner.expected("integer"));
    }
    if !scanner.at_end() {
        return Err(scanner.expected("digit or end of input"));
    }
    Ok(saturated(text))
}

fn level_path<'a>(parameter: &'static str, level: Option<&'a str>) -> Result<Vec<Cow<'a, str>>, RequestError> {
    let Some(level) = level else { return Ok(Vec::new()) };
    let mut scanner = Scanner::new(parameter, level);
    let mut path = vec![scanner.name()?];
    while scanner.eat(".") {
        path.push(scanner.name()?);
    }
    Ok(path)
}

/// Names between commas.
fn names<'a>(parameter: &'static str, text: &'a str) -> Result<Vec<Cow<'a, str>>, RequestError> {
    let mut scanner = Scanner::new(parameter, text);
    let mut names = Vec::new();
    loop {
        scanner.blanks();
        names.push(scanner.name()?);
        scanner.blanks();
        if scanner.at_end() {
            return Ok(names);
        }
        if !scanner.eat(",") {
            return Err(scanner.expected("\",\" or end of input"));
        }
    }
}

fn filter_key(key: &str) -> Result<(Vec<Cow<'_, str>>, filter::Field<'_>), RequestError> {
    let mut scanner = Scanner::new("tree path", key);
    let mut path = Vec::new();
    let mut field = scanner.field()?;
    while field.path.is_empty() && scanner.eat(".") {
        path.push(field.name);
        field = scanner.field()?;
    }
    Ok((path, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, EMBED_LEVELS_MAX, EMBEDS_MAX, ErrorKind, Item, NESTING_LEVELS_MAX, Operation, VALUES_MAX};
    use proptest::prelude::*;

    fn error(query: &str) -> (String, String) {
        let params = Params::decode(query).unwrap();
        match Query::parse(&params, Unreserved::Filters).unwrap_err().kind().clone() {
            ErrorKind::Syntax { parameter, text, column, details } => {
                (format!("{parameter} ({text}) {column}"), details)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parameters_find_their_levels() {
        let params = Params::decode(
            "select=id,t:tags(label)&t.label=eq.a.b,(c)&t.order=label&t.limit=2&t.limit=3&order=id&order=x&not.or=(a.eq.1)\
             &t.not.and=(b.is.NULL)&offset=4;id=neq.1&flag",
        )
        .unwrap();
        let query = Query::parse(&params, Unreserved::Filters).unwrap();
        let paths: Vec<Vec<&str>> =
            query.filters.iter().map(|at| at.path.iter().map(|name| name.as_ref()).collect()).collect();
        assert_eq!(paths, [vec!["t"], vec![]]);
        let Operation::Compare { operator: Comparison::Eq, quantifier: None, value } = &query.filters[0].what.operation
        else {
            panic!("{query:?}")
        };
        assert_eq!(value, "a.b,(c)");
        // the first order of a level wins, the last limit
        assert_eq!(query.orders.len(), 2);
        assert_eq!(query.windows[0].what, EmbedWindow { limit_rows: Some(3), offset_rows: None });
        assert_eq!(query.root_window, EmbedWindow { limit_rows: None, offset_rows: Some(4) });
        assert!(query.trees.iter().all(|at| matches!(at.what, Tree::Node { negated: true, .. })));
    }

    #[test]
    fn names_keys_and_casts() {
        let text =
            "a - b ,\"x,\\\"y\":\"q.r\"->>'k'->0::int4,n:c->k-1->2,count(),s:d::text.sum()::int,...e!inner!h(*),*";
        let params = Params::decode(text).unwrap();
        assert_eq!(params.iter().count(), 0);
        let items = crate::select::select(text).unwrap();
        let keys: Vec<Option<&str>> = items.iter().map(Item::key).collect();
        assert_eq!(keys, [Some("a-b"), Some("x,\"y"), Some("n"), Some("count"), Some("s"), None, None]);
        assert_eq!(crate::select::select("").unwrap(), [Item::All]);
        assert_eq!(crate::select::select(",x").unwrap(), [Item::All]);
    }

    #[test]
    fn nothing_is_read_beyond_a_bound() {
        let read = |query: String| {
            let params = Params::decode(&query).unwrap();
            Query::parse(&params, Unreserved::Filters).map(|_| ()).map_err(|error| error.kind().clone())
        };
        let list = |part: &str, count: usize| vec![part; count].join(",");
        // at all levels together
        let embeds = |count: usize| read(format!("select=a(b(),c()),{}", list("d()", count - 3)));
        assert_eq!((embeds(EMBEDS_MAX), embeds(EMBEDS_MAX + 1)), (Ok(()), Err(ErrorKind::Embeds)));
        let values = |count: usize| read(format!("select=a(b,c),{}", list("*", count - 3)));
        assert_eq!((values(VALUES_MAX), values(VALUES_MAX + 1)), (Ok(()), Err(ErrorKind::Values)));
        let terms = |count: usize| read(format!("order=a,b&c.order={}", list("d", count - 2)));
        assert_eq!((terms(ORDER_TERMS_MAX), terms(ORDER_TERMS_MAX + 1)), (Ok(()), Err(ErrorKind::OrderTerms)));
        let levels = |count: usize| read(format!("select={}x{}", "a(".repeat(count), ")".repeat(count)));
        assert_eq!(levels(EMBED_LEVELS_MAX), Ok(()));
        assert_eq!(levels(EMBED_LEVELS_MAX + 1), Err(ErrorKind::EmbedLevels));
        let tree = |count: usize| read(format!("and={}(a.eq.1){}", "(and".repeat(count - 1), ")".repeat(count - 1)));
        assert_eq!(tree(NESTING_LEVELS_MAX), Ok(()));
        assert!(matches!(tree(NESTING_LEVELS_MAX + 1), Err(ErrorKind::Syntax { .. })));
        // what is left there is read no further: it would be a fault itself
        assert_eq!(read(format!("select={},!!", list("a()", EMBEDS_MAX + 1))), Err(ErrorKind::Embeds));
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(error("id=gte50").0, "filter (gte50) 4");
        assert_eq!(
            error("id=50"),
            ("filter (50) 1".into(), "unexpected \"5\" expecting \"not\" or operator (eq, gt, ...)".into())
        );
        assert_eq!(error("select=id,").0, "select parameter (id,) 4");
        assert_eq!(error("select=a(b").0, "select parameter (a(b) 4");
        assert_eq!(error("order=id.up").0, "order (id.up) 4");
        assert_eq!(error("or=()").0, "logic tree (()) 4");
        assert_eq!(error("and=(id.eq.1").0, "logic tree ((id.eq.1) 12");
        assert_eq!(error("id=neq(any).{1}").0, "filter (neq(any).{1}) 4");
        assert_eq!(error("id=not.not.eq.1").0, "filter (not.not.eq.1) 5");
        // a word is read as far as it goes, and so is a number; what follows it is wrong
        assert_eq!(error("order=id.nullslasttt").0, "order (id.nullslasttt) 13");
        assert_eq!(error("order=id.asc.nullsfirstx").0, "order (id.asc.nullsfirstx) 18");
        assert_eq!(error("order=id.ascc").0, "order (id.ascc) 7");
        assert_eq!(error("select=data->>--34").0, "select parameter (data->>--34) 9");
        assert_eq!(error("select=data->>-").0, "select parameter (data->>-) 9");
        assert_eq!(error("select=data->-34a").0, "select parameter (data->-34a) 10");
        assert_eq!(error("select=data->a--b").0, "select parameter (data->a--b) 9");
        assert_eq!(error("and=(data->>--1.eq.1)").0, "logic tree ((data->>--1.eq.1)) 13");
        assert_eq!(error("id->>--1=eq.1").0, "tree path (id->>--1) 7");
        // orders are looked at before filters, whatever their place
        assert_eq!(error("id=50&order=").0, "order () 1");
    }

    #[test]
    fn limits_and_offsets_are_integers() {
        for name in ["limit", "offset", "a.b.limit", "a.offset"] {
            let last = name.rsplit('.').next().unwrap();
            for (value, column) in [
                ("", 1),
                ("abc", 1),
                ("-", 2),
                ("1.5", 2),
                ("1e2", 2),
                ("5 ", 2),
                (" 5", 1),
                ("+5", 1),
                ("--5", 2),
                ("0x10", 2),
                ("1,000", 2),
                ("٣", 1),
            ] {
                let expected = format!("{last} ({value}) {column}");
                assert_eq!(error(&format!("{name}={}", value.replace('+', "%2B"))).0, expected, "{name}");
            }
            for value in ["0", "007", "-1", "9223372036854775808", "-99999999999999999999"] {
                let text = format!("{name}={value}");
                assert!(Query::parse(&Params::decode(&text).unwrap(), Unreserved::Filters).is_ok(), "{text}");
            }
        }
        let details = "unexpected \"a\" expecting integer";
        assert_eq!(error("limit=abc").1, details);
        // No table has more rows than the largest integer of 64 bits.
        let params = Params::decode("limit=99999999999999999999&offset=-99999999999999999999").unwrap();
        let window = Query::parse(&params, Unreserved::Filters).unwrap().root_window;
        assert_eq!(window, EmbedWindow { limit_rows: Some(i64::MAX), offset_rows: Some(i64::MIN) });
    }

    #[test]
    fn what_stands_behind_a_closed_parenthesis_is_ignored() {
        for (with, without) in [
            ("and=(id.eq.1))", "and=(id.eq.1)"),
            ("or=(id.eq.1,or(id.eq.2)))x", "or=(id.eq.1,or(id.eq.2))"),
            ("select=a,b(count)'", "select=a,b(count)"),
            ("select=a,...b(c)x,d", "select=a,...b(c)"),
            ("select=a,b)c", "select=a,b"),
            ("select=*x", "select=*"),
        ] {
            let (with, without) = (Params::decode(with).unwrap(), Params::decode(without).unwrap());
            assert_eq!(Query::parse(&with, Unreserved::Filters), Query::parse(&without, Unreserved::Filters));
        }
        assert_eq!(error("select=a,b(c(d)x)").0, "select parameter (a,b(c(d)x)) 9");
        assert_eq!(error("and=(id.eq.1,or(id.eq.2)x)").0, "logic tree ((id.eq.1,or(id.eq.2)x)) 24");
        assert_eq!(error("select=b(c) x").0, "select parameter (b(c) x) 6");
        assert_eq!(error("select=a'").0, "select parameter (a') 2");
        assert_eq!(error("columns=a)").0, "columns parameter (a)) 2");
    }

    #[test]
    fn what_is_no_operation_is_an_argument() {
        let text = "a=1&id=gt.5&id=6&x.b=eq5&c=&d=neq(any).x&e=fts(&select=id&order=id";
        let params = Params::decode(text).unwrap();
        let query = Query::parse(&params, Unreserved::FiltersOrArguments).unwrap();
        let arguments: Vec<_> = query.arguments.iter().map(|(name, value)| (name.as_ref(), *value)).collect();
        assert_eq!(arguments, [("a", "1"), ("id", "6"), ("b", "eq5"), ("c", ""), ("d", "neq(any).x"), ("e", "fts(")]);
        assert_eq!(query.filters.len(), 1);
        for wrong in ["a=in.5", "a=is.x", "a=not.x", "columns=", "on_conflict=a,"] {
            let params = Params::decode(wrong).unwrap();
            assert!(Query::parse(&params, Unreserved::FiltersOrArguments).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_query_makes_a_panic(query in "([a-z.!():,&=*\"\\\\{}>\\[\\] -]|not|and|or|in|is|eq|select=|order=|%2[0-9]){0,80}") {
            if let Ok(params) = Params::decode(&query) {
                let _ = Query::parse(&params, Unreserved::Filters);
            }
        }

        #[test]
        fn nor_does_any_text(query: String) {
            if let Ok(params) = Params::decode(&query) {
                let _ = Query::parse(&params, Unreserved::FiltersOrArguments);
                params.canonical("/");
            }
        }
    }
}
