//! Filters and boolean trees (url-grammar §§3, 4).

use crate::NESTING_LEVELS_MAX;
use crate::error::RequestError;
use crate::scanner::Scanner;
use std::borrow::Cow;

/// A column, and the path into it where it holds JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    /// The column's name.
    pub name: Cow<'a, str>,
    /// The steps into its value.
    pub path: Vec<JsonStep<'a>>,
}

/// One arrow of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonStep<'a> {
    /// `->>`, not `->`.
    pub as_text: bool,
    /// What stands behind the arrow.
    pub operand: Operand<'a>,
}

/// What a step of a JSON path takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'a> {
    /// A member of an object.
    Key(Cow<'a, str>),
    /// An element of an array, negative from its end.
    Index(i32),
}

/// A comparison of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter<'a> {
    /// What is compared.
    pub field: Field<'a>,
    /// `not.`
    pub negated: bool,
    /// How, and with what.
    pub operation: Operation<'a>,
}

/// What a filter does with its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation<'a> {
    /// `in.(…)`
    In(Vec<Cow<'a, str>>),
    /// `is.…`
    Is(IsWord),
    /// `isdistinct.…`; `None` is NULL, which is the word `null` without quotes.
    Distinct(Option<Cow<'a, str>>),
    /// Full-text search.
    Fts {
        /// Which query function reads the value.
        operator: FtsOperator,
        /// The text search configuration.
        config: Option<Cow<'a, str>>,
        /// The query.
        value: Cow<'a, str>,
    },
    /// A binary operator.
    Compare {
        /// Which one.
        operator: Comparison,
        /// `(any)` or `(all)`: the value is an array.
        quantifier: Option<Quantifier>,
        /// The other side.
        value: Cow<'a, str>,
    },
}

/// The words that `is` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsWord {
    Null,
    NotNull,
    True,
    False,
    Unknown,
}

/// `(any)` or `(all)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Quantifier {
    Any,
    All,
}

/// The full-text operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FtsOperator {
    Fts,
    Plfts,
    Phfts,
    Wfts,
}

/// The binary operators, by their names in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Neq,
    Gt,
    Gte,
    Lt,
    Lte,
    Like,
    Ilike,
    /// Matches texts that contain the operand. No character of the operand has a meaning of its own.
    Contains,
    /// As `Contains`, regardless of upper and lower case.
    Icontains,
    Match,
    Imatch,
    Cs,
    Cd,
    Ov,
    Sl,
    Sr,
    Nxr,
    Nxl,
    Adj,
}

impl Comparison {
    pub(crate) const NAMES: [(&'static str, Self); 20] = [
        ("eq", Self::Eq),
        ("neq", Self::Neq),
        ("gt", Self::Gt),
        ("gte", Self::Gte),
        ("lt", Self::Lt),
        ("lte", Self::Lte),
        ("like", Self::Like),
        ("ilike", Self::Ilike),
        ("contains", Self::Contains),
        ("icontains", Self::Icontains),
        ("match", Self::Match),
        ("imatch", Self::Imatch),
        ("cs", Self::Cs),
        ("cd", Self::Cd),
        ("ov", Self::Ov),
        ("sl", Self::Sl),
        ("sr", Self::Sr),
        ("nxr", Self::Nxr),
        ("nxl", Self::Nxl),
        ("adj", Self::Adj),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, operator)| operator)
    }

    /// Returns whether the operand becomes a pattern of `LIKE`.
    pub fn is_of_pattern(self) -> bool {
        matches!(self, Self::Like | Self::Ilike | Self::Contains | Self::Icontains)
    }

    /// Whether `(any)` and `(all)` may follow.
    fn quantifiable(self) -> bool {
        use Comparison::*;
        matches!(self, Eq | Gt | Gte | Lt | Lte | Like | Ilike | Match | Imatch)
    }
}

/// Filters joined by `and` and `or`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree<'a> {
    /// A leaf.
    Filter(Filter<'a>),
    /// A node with at least one child.
    Node {
        /// `not.`
        negated: bool,
        /// `and`, not `or`.
        all: bool,
        /// What it joins.
        children: Vec<Tree<'a>>,
    },
}

/// Reads the value of a filter at the top level: whatever follows the operator is the operand.
pub(crate) fn top_level<'a>(field: Field<'a>, text: &'a str) -> Result<Filter<'a>, RequestError> {
    let mut scanner = Scanner::new("filter", text);
    let (negated, operation) = operation(&mut scanner, Place::TopLevel)?;
    Ok(Filter { field, negated, operation })
}

/// Where in the value of a filter at the top level its operand begins, if that is one value that nothing is read out of: it
/// goes to the database as it is.
pub(crate) fn operand_start(text: &str) -> Option<usize> {
    let operation = text.strip_prefix("not.").unwrap_or(text);
    let (name, operand) = operation.split_once('.')?;
    let is_opaque = match Comparison::named(name) {
        Some(Comparison::Like | Comparison::Ilike) => !operand.contains('*'),
        // PostgreSQL is sent a pattern, in which some characters are escaped.
        Some(Comparison::Contains | Comparison::Icontains) => false,
        Some(_) => true,
        None if name == "isdistinct" => operand != "null",
        None => matches!(name, "fts" | "plfts" | "phfts" | "wfts"),
    };
    is_opaque.then_some(text.len() - operand.len())
}

/// Whether a value is a filter's rather than an argument's. What begins like one of the operators with a grammar of
/// their own is taken for one, even if it is none.
pub(crate) fn is_operation(text: &str) -> bool {
    ["in.", "is.", "not."].iter().any(|start| text.starts_with(start))
        || operation(&mut Scanner::new("filter", text), Place::TopLevel).is_ok()
}

/// Reads the value of `and` or `or`. Text behind the parenthesis that closes it is ignored.
pub(crate) fn tree<'a>(negated: bool, all: bool, text: &'a str) -> Result<Tree<'a>, RequestError> {
    let mut scanner = Scanner::new("logic tree", text).shifted(if all { 3 } else { 2 });
    let children = group(&mut scanner, 0)?;
    Ok(Tree::Node { negated, all, children })
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    TopLevel,
    Tree,
}

fn group<'a>(scanner: &mut Scanner<'a>, depth: usize) -> Result<Vec<Tree<'a>>, RequestError> {
    if depth >= NESTING_LEVELS_MAX {
        return Err(scanner.error(format!("more than {NESTING_LEVELS_MAX} levels of parentheses")));
    }
    scanner.blanks();
    scanner.expect("(")?;
    let mut children = Vec::new();
    loop {
        scanner.blanks();
        children.push(node(scanner, depth)?);
        scanner.blanks();
        if scanner.eat(")") {
            scanner.blanks();
            return Ok(children);
        }
        if !scanner.eat(",") {
            return Err(scanner.expected("\",\" or \")\""));
        }
    }
}

fn node<'a>(scanner: &mut Scanner<'a>, depth: usize) -> Result<Tree<'a>, RequestError> {
    let mut ahead = scanner.clone();
    let negated = ahead.eat("not.");
    for (word, all) in [("and", true), ("or", false)] {
        if ahead.rest().strip_prefix(word).is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with('(')) {
            ahead.eat(word);
            let children = group(&mut ahead, depth + 1)?;
            *scanner = ahead;
            return Ok(Tree::Node { negated, all, children });
        }
    }
    let field = scanner.field()?;
    scanner.blanks();
    if !scanner.eat(".") {
        return Err(scanner.expected("logic operator (and, or) or \".\""));
    }
    let (negated, operation) = operation(scanner, Place::Tree)?;
    Ok(Tree::Filter(Filter { field, negated, operation }))
}

fn operation<'a>(scanner: &mut Scanner<'a>, place: Place) -> Result<(bool, Operation<'a>), RequestError> {
    const EXPECTED: &str = "\"not\" or operator (eq, gt, ...)";
    let negated = scanner.eat("not.");
    let mut ahead = scanner.clone();
    let name = ahead.take_while(|c| c.is_ascii_lowercase());
    let operation = match name {
        "in" if ahead.eat(".") => Operation::In(list(&mut ahead)?),
        "is" if ahead.eat(".") => Operation::Is(is_word(&mut ahead)?),
        "isdistinct" if ahead.eat(".") => {
            let is_quoted = ahead.peek() == Some('"');
            let value = value(&mut ahead, place)?;
            Operation::Distinct(Some(value).filter(|value| is_quoted || value != "null"))
        }
        "fts" | "plfts" | "phfts" | "wfts" => {
            let operator = match name {
                "fts" => FtsOperator::Fts,
                "plfts" => FtsOperator::Plfts,
                "phfts" => FtsOperator::Phfts,
                _ => FtsOperator::Wfts,
            };
            let config = if ahead.eat("(") {
                let config = ahead.take_while(crate::scanner::is_name_char);
                if config.is_empty() {
                    return Err(ahead.expected("text search configuration"));
                }
                ahead.expect(")")?;
                Some(Cow::Borrowed(config))
            } else {
                None
            };
            ahead.expect(".")?;
            Operation::Fts { operator, config, value: value(&mut ahead, place)? }
        }
        _ => {
            let Some(operator) = Comparison::named(name) else {
                let scanner = if matches!(name, "in" | "is" | "isdistinct") { &ahead } else { &*scanner };
                return Err(scanner.expected(if negated { "operator (eq, gt, ...)" } else { EXPECTED }));
            };
            let quantifier = match operator.quantifiable() {
                true if ahead.eat("(any)") => Some(Quantifier::Any),
                true if ahead.eat("(all)") => Some(Quantifier::All),
                _ => None,
            };
            ahead.expect(".")?;
            Operation::Compare { operator, quantifier, value: value(&mut ahead, place)? }
        }
    };
    *scanner = ahead;
    Ok((negated, operation))
}

fn value<'a>(scanner: &mut Scanner<'a>, place: Place) -> Result<Cow<'a, str>, RequestError> {
    if place == Place::TopLevel {
        return Ok(Cow::Borrowed(scanner.take_rest()));
    }
    let ends = |scanner: &Scanner<'_>| matches!(scanner.peek(), None | Some(',' | ')'));
    let mut ahead = scanner.clone();
    if ahead.peek() == Some('"')
        && let Ok(text) = ahead.quoted()
        && ends(&ahead)
    {
        *scanner = ahead;
        return Ok(text);
    }
    let mut ahead = scanner.clone();
    let start = ahead.rest();
    if ahead.eat("{") {
        let inside = ahead.take_while(|c| c != '{' && c != '}');
        if ahead.eat("}") {
            *scanner = ahead;
            return Ok(Cow::Borrowed(&start[..inside.len() + 2]));
        }
    }
    Ok(Cow::Borrowed(scanner.take_while(|c| c != ',' && c != ')')))
}

fn list<'a>(scanner: &mut Scanner<'a>) -> Result<Vec<Cow<'a, str>>, RequestError> {
    scanner.blanks();
    scanner.expect("(")?;
    scanner.blanks();
    let is_empty = scanner.peek() == Some(')');
    let mut elements = Vec::new();
    loop {
        let mut ahead = scanner.clone();
        let quoted = match ahead.peek() {
            Some('"') => ahead.quoted().ok().filter(|_| matches!(ahead.peek(), Some(',' | ')'))),
            _ => None,
        };
        elements.push(match quoted {
            Some(text) => {
                *scanner = ahead;
                text
            }
            None => Cow::Borrowed(scanner.take_while(|c| c != ',' && c != ')')),
        });
        if scanner.eat(")") {
            break;
        }
        if !scanner.eat(",") {
            return Err(scanner.expected("\",\" or \")\""));
        }
    }
    scanner.blanks();
    // `in.()` is the empty list, and `in.("")` holds an empty string.
    if is_empty {
        elements.clear();
    }
    Ok(elements)
}

fn is_word(scanner: &mut Scanner<'_>) -> Result<IsWord, RequestError> {
    const WORDS: [(&str, IsWord); 5] = [
        ("not_null", IsWord::NotNull),
        ("null", IsWord::Null),
        ("true", IsWord::True),
        ("false", IsWord::False),
        ("unknown", IsWord::Unknown),
    ];
    let rest = scanner.rest().as_bytes();
    for (word, meaning) in WORDS {
        if rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes())) {
            // text behind the word is ignored, but only up to the end of this node of a tree
            scanner.take_while(|c| c != ',' && c != ')');
            return Ok(meaning);
        }
    }
    Err(scanner.expected("isVal: (null, not_null, true, false, unknown)"))
}
