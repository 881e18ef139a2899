//! The shape of the response (url-grammar §5).

use crate::error::{ErrorKind, RequestError};
use crate::filter::{Field, Operand};
use crate::scanner::{Scanner, is_name_char};
use crate::{EMBED_LEVELS_MAX, EMBEDS_MAX, VALUES_MAX};
use std::borrow::Cow;

/// One item of a select list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    /// `*`
    All,
    /// A column.
    Column {
        /// Which one.
        field: Field<'a>,
        /// The key in the result, where one was given.
        alias: Option<Cow<'a, str>>,
        /// A type to cast to.
        cast: Option<&'a str>,
        /// An aggregate over it, and a cast of its result.
        aggregate: Option<(Aggregate, Option<&'a str>)>,
    },
    /// `count()`
    CountRows {
        /// The key in the result, where one was given.
        alias: Option<Cow<'a, str>>,
        /// A type to cast to.
        cast: Option<&'a str>,
    },
    /// Related rows.
    Embed(Embed<'a>),
}

/// Related rows, nested or lifted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embed<'a> {
    /// The name that was written: a relation, a constraint or a column.
    pub target: Cow<'a, str>,
    /// The key in the result, where one was given.
    pub alias: Option<Cow<'a, str>>,
    /// Which relationship is meant.
    pub hint: Option<Cow<'a, str>>,
    /// What happens to outer rows without related ones.
    pub join: Join,
    /// `...`: its keys are lifted into the outer object.
    pub spread: bool,
    /// What is selected of it.
    pub items: Vec<Item<'a>>,
}

impl Embed<'_> {
    /// The name that addresses this embed: its alias, else its name.
    pub fn key(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.target)
    }
}

/// What happens to outer rows without related ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// They stay.
    Left,
    /// They go.
    Inner,
}

/// The aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Aggregate {
    Sum,
    Avg,
    Count,
    Max,
    Min,
}

impl Item<'_> {
    /// The key of a column's value in the result (url-grammar §5.1); `None` for `*` and embeds.
    pub fn key(&self) -> Option<&str> {
        match self {
            Item::All | Item::Embed(_) => None,
            Item::CountRows { alias, .. } => Some(alias.as_deref().unwrap_or("count")),
            Item::Column { alias: Some(alias), .. } => Some(alias),
            Item::Column { aggregate: Some((aggregate, _)), .. } => Some(aggregate.name()),
            Item::Column { field, .. } => {
                let last_key = field.path.iter().rev().find_map(|step| match &step.operand {
                    Operand::Key(key) => Some(key.as_ref()),
                    Operand::Index(_) => None,
                });
                Some(last_key.unwrap_or(&field.name))
            }
        }
    }
}

impl Aggregate {
    /// Its name in the protocol and in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Count => "count",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// Reads the value of `select`.
pub(crate) fn select(text: &str) -> Result<Vec<Item<'_>>, RequestError> {
    let mut scanner = Scanner::new("select parameter", text);
    scanner.blanks();
    if scanner.at_end() || scanner.peek() == Some(',') {
        return Ok(vec![Item::All]);
    }
    let items = items(&mut scanner, &mut Place::default())?;
    // text directly behind an embed's parenthesis is ignored, and behind an asterisk, and behind a parenthesis that
    // closes nothing
    let is_closed = matches!(items.last(), Some(Item::Embed(_) | Item::All)) && scanner.is_behind(&[')', '*']);
    if !scanner.at_end() && scanner.peek() != Some(')') && !is_closed {
        return Err(scanner.expected("\",\" or end of input"));
    }
    Ok(items)
}

/// How far a select list has been read.
#[derive(Default)]
struct Place {
    /// How many embeds are around it.
    depth: usize,
    /// How many embeds have begun, at all levels.
    embeds: usize,
    /// How many items have begun, at all levels.
    items: usize,
}

fn items<'a>(scanner: &mut Scanner<'a>, place: &mut Place) -> Result<Vec<Item<'a>>, RequestError> {
    let mut items = Vec::new();
    loop {
        place.items += 1;
        if place.items > VALUES_MAX {
            return Err(ErrorKind::Values.into());
        }
        scanner.blanks();
        items.push(item(scanner, place)?);
        scanner.blanks();
        if !scanner.eat(",") {
            return Ok(items);
        }
    }
}

fn item<'a>(scanner: &mut Scanner<'a>, place: &mut Place) -> Result<Item<'a>, RequestError> {
    if scanner.eat("*") {
        return Ok(Item::All);
    }
    if scanner.eat("...") {
        let target = scanner.name()?;
        return embed(scanner, None, target, true, place);
    }
    let mut ahead = scanner.clone();
    let first = ahead.name()?;
    let alias = if ahead.peek() == Some(':') && !ahead.rest().starts_with("::") {
        ahead.eat(":");
        *scanner = ahead;
        scanner.blanks();
        Some(first)
    } else {
        None
    };
    let mut ahead = scanner.clone();
    let name = ahead.name()?;
    if name == "count" && ahead.eat("()") {
        *scanner = ahead;
        return Ok(Item::CountRows { alias, cast: cast(scanner)? });
    }
    if matches!(ahead.peek(), Some('!' | '(')) {
        *scanner = ahead;
        return embed(scanner, alias, name, false, place);
    }
    let field = scanner.field()?;
    let inner_cast = cast(scanner)?;
    let aggregate = if scanner.eat(".") { Some((aggregate(scanner)?, cast(scanner)?)) } else { None };
    Ok(Item::Column { field, alias, cast: inner_cast, aggregate })
}

/// How many parameters an embed may have: a hint and a kind of join.
const PARAMETERS_MAX: usize = 2;

fn embed<'a>(
    scanner: &mut Scanner<'a>,
    alias: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    spread: bool,
    place: &mut Place,
) -> Result<Item<'a>, RequestError> {
    let (mut hint, mut join) = (None, None);
    for _ in 0..PARAMETERS_MAX {
        if !scanner.eat("!") {
            break;
        }
        if scanner.eat_word("inner") {
            join = join.or(Some(Join::Inner));
        } else if scanner.eat_word("left") {
            join = join.or(Some(Join::Left));
        } else {
            hint = hint.or(Some(scanner.name()?));
        }
    }
    scanner.expect("(")?;
    scanner.blanks();
    place.embeds += 1;
    if place.embeds > EMBEDS_MAX {
        return Err(ErrorKind::Embeds.into());
    }
    place.depth += 1;
    if place.depth > EMBED_LEVELS_MAX {
        return Err(ErrorKind::EmbedLevels.into());
    }
    let items = if scanner.peek() == Some(')') { Vec::new() } else { items(scanner, place)? };
    place.depth -= 1;
    if !scanner.eat(")") {
        return Err(scanner.expected("\",\" or \")\""));
    }
    Ok(Item::Embed(Embed { target, alias, hint, join: join.unwrap_or(Join::Left), spread, items }))
}

fn cast<'a>(scanner: &mut Scanner<'a>) -> Result<Option<&'a str>, RequestError> {
    if !scanner.eat("::") {
        return Ok(None);
    }
    match scanner.take_while(is_name_char).trim_matches(' ') {
        "" => Err(scanner.expected("type name")),
        name => Ok(Some(name)),
    }
}

fn aggregate(scanner: &mut Scanner<'_>) -> Result<Aggregate, RequestError> {
    for aggregate in [Aggregate::Sum, Aggregate::Avg, Aggregate::Count, Aggregate::Max, Aggregate::Min] {
        if scanner.eat_word(aggregate.name()) {
            scanner.expect("()")?;
            return Ok(aggregate);
        }
    }
    Err(scanner.expected("aggregate (sum, avg, count, max, min)"))
}
