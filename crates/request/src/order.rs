//! Ordering (url-grammar §6).

use crate::error::{ErrorKind, RequestError};
use crate::filter::Field;
use crate::scanner::Scanner;
use std::borrow::Cow;

/// One term of an `order`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm<'a> {
    /// What is ordered by.
    pub by: OrderBy<'a>,
    /// The direction, where one was given.
    pub direction: Option<Direction>,
    /// Where nulls go, where it was said.
    pub nulls: Option<Nulls>,
}

/// What a term orders by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderBy<'a> {
    /// A column of the level itself.
    Field(Field<'a>),
    /// An output column of a to-one embed.
    Related(Cow<'a, str>, Field<'a>),
}

/// Ascending or descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Direction {
    Asc,
    Desc,
}

/// Where nulls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Nulls {
    First,
    Last,
}

/// Reads the value of an `order`.
pub(crate) fn order<'a>(text: &'a str, terms_left: &mut usize) -> Result<Vec<OrderTerm<'a>>, RequestError> {
    let mut scanner = Scanner::new("order", text);
    let mut terms = Vec::new();
    loop {
        *terms_left = terms_left.checked_sub(1).ok_or(ErrorKind::OrderTerms)?;
        scanner.blanks();
        terms.push(term(&mut scanner)?);
        scanner.blanks();
        if scanner.at_end() {
            return Ok(terms);
        }
        if !scanner.eat(",") {
            return Err(scanner.expected("\",\" or end of input"));
        }
    }
}

fn term<'a>(scanner: &mut Scanner<'a>) -> Result<OrderTerm<'a>, RequestError> {
    let field = scanner.field()?;
    let by = if field.path.is_empty() && scanner.eat("(") {
        let inner = scanner.field()?;
        scanner.expect(")")?;
        OrderBy::Related(field.name, inner)
    } else {
        OrderBy::Field(field)
    };
    let (mut direction, mut nulls) = (None, None);
    while nulls.is_none() && scanner.eat(".") {
        match direction {
            None if scanner.eat("asc") => direction = Some(Direction::Asc),
            None if scanner.eat("desc") => direction = Some(Direction::Desc),
            _ if scanner.eat("nullsfirst") => nulls = Some(Nulls::First),
            _ if scanner.eat("nullslast") => nulls = Some(Nulls::Last),
            None => return Err(scanner.expected("\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"")),
            Some(_) => return Err(scanner.expected("\"nullsfirst\" or \"nullslast\"")),
        }
    }
    Ok(OrderTerm { by, direction, nulls })
}
