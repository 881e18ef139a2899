//! The whole query string, each parameter at the level it belongs to (url-grammar §2.2).

use crate::error::RequestError;
use crate::filter::{self, Filter, Tree};
use crate::order::{self, OrderTerm};
use crate::params::Params;
use crate::scanner::Scanner;
use crate::select::{self, Item};
use crate::window::EmbedWindow;
use std::borrow::Cow;

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
}

impl<'a> Query<'a> {
    /// Reads the parameters. The first failure is reported in the protocol's order: orders, trees, select,
    /// filters.
    pub fn parse(params: &'a Params<'_>) -> Result<Self, RequestError> {
        let mut query = Self::default();
        let (mut select_text, mut filters) = (None, Vec::new());
        let (mut orders, mut trees) = (Vec::new(), Vec::new());
        for (key, value) in params.iter() {
            let (level, last) = match key.rsplit_once('.') {
                Some((level, last)) => (Some(level), last),
                None => (None, key),
            };
            match (key, last) {
                ("select", _) => select_text = select_text.or(Some(value)),
                ("columns" | "on_conflict", _) => {}
                (_, "order") => orders.push((level, value)),
                (_, "limit") => window(&mut query, level, |window, rows| window.limit_rows = Some(rows), value)?,
                (_, "offset") => window(&mut query, level, |window, rows| window.offset_rows = Some(rows), value)?,
                (_, "and" | "or") => trees.push((level, last == "and", value)),
                _ => filters.push((key, value)),
            }
        }
        for (level, value) in orders {
            let path = level_path("tree path", level)?;
            if !query.orders.iter().any(|known| known.path == path) {
                query.orders.push(At { path, what: order::order(value)? });
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
        query.select = select_text.map_or_else(|| Ok(vec![Item::All]), select::select)?;
        for (key, value) in filters {
            let (path, field) = filter_key(key)?;
            query.filters.push(At { path, what: filter::top_level(field, value)? });
        }
        Ok(query)
    }
}

fn window<'a>(
    query: &mut Query<'a>,
    level: Option<&'a str>,
    set: impl Fn(&mut EmbedWindow, i64),
    value: &str,
) -> Result<(), RequestError> {
    let Ok(rows) = value.parse::<i64>() else { return Ok(()) };
    let Some(_) = level else {
        set(&mut query.root_window, rows);
        return Ok(());
    };
    let path = level_path("tree path", level)?;
    match query.windows.iter_mut().find(|known| known.path == path) {
        Some(known) => set(&mut known.what, rows),
        None => {
            let mut what = EmbedWindow::default();
            set(&mut what, rows);
            query.windows.push(At { path, what });
        }
    }
    Ok(())
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
