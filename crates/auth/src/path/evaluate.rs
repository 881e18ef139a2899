//! Following a path. Only the first value is ever asked for (by the role, and by every filter), so that nothing is collected.

use super::query::{Comparison, Condition, Operand, Origin, Query, Segment, Selector, Slice, StringTest};
use crate::tree::Value;
use std::cmp::Ordering;

/// How many steps one search may take. A path with several `..` reaches each value on many ways: on nested claims their number
/// has the depth's power of it. A step is a value that is looked at; texts that are compared or searched count by their length.
pub const STEPS_MAX: usize = 100_000;

/// The search has taken [`STEPS_MAX`] steps.
#[derive(Debug)]
pub(super) struct TooFar;

pub(super) fn first<'v>(query: &Query, root: &'v Value) -> Result<Option<&'v Value>, TooFar> {
    Walk { root, steps_left: STEPS_MAX }.first(&query.segments, root)
}

struct Walk<'v> {
    root: &'v Value,
    steps_left: usize,
}

impl<'v> Walk<'v> {
    fn step(&mut self, steps: usize) -> Result<(), TooFar> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(TooFar)?;
        Ok(())
    }

    /// In the order of RFC 9535: what the first segment selects, each followed to its end before the next; then, if it is deep,
    /// the same for all that is within, each before what is in it.
    fn first(&mut self, segments: &[Segment], at: &'v Value) -> Result<Option<&'v Value>, TooFar> {
        self.step(1)?;
        let Some((segment, rest)) = segments.split_first() else { return Ok(Some(at)) };
        for selector in &segment.selectors {
            if let Some(found) = self.selected(selector, rest, at)? {
                return Ok(Some(found));
            }
        }
        if segment.is_deep {
            for child in children(at) {
                if let Some(found) = self.first(segments, child)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn selected(&mut self, selector: &Selector, rest: &[Segment], at: &'v Value) -> Result<Option<&'v Value>, TooFar> {
        match selector {
            Selector::Name(name) => match self.member(at, name)? {
                Some(child) => self.first(rest, child),
                None => Ok(None),
            },
            Selector::Index(index) => match element(at, *index) {
                Some(child) => self.first(rest, child),
                None => Ok(None),
            },
            Selector::Any => self.first_of(children(at), rest, |_, _| Ok(true)),
            Selector::Slice(slice) => {
                let elements = at.elements().unwrap_or_default();
                self.first_of(slice.of(elements.len()).filter_map(|index| elements.get(index)), rest, |_, _| Ok(true))
            }
            Selector::Filter(condition) => {
                self.first_of(children(at), rest, |walk, child| walk.holds(condition, child))
            }
            Selector::Strings(test, text) => {
                let elements = at.elements().unwrap_or_default().iter();
                self.first_of(elements, rest, |walk, child| {
                    walk.step(1)?;
                    Ok(child.string().is_some_and(|child| test.holds(child, text)))
                })
            }
        }
    }

    fn first_of(
        &mut self,
        children: impl Iterator<Item = &'v Value>,
        rest: &[Segment],
        wanted: impl Fn(&mut Self, &'v Value) -> Result<bool, TooFar>,
    ) -> Result<Option<&'v Value>, TooFar> {
        for child in children {
            if wanted(self, child)?
                && let Some(found) = self.first(rest, child)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Members are looked through, which counts.
    fn member(&mut self, at: &'v Value, name: &str) -> Result<Option<&'v Value>, TooFar> {
        self.step(at.members().map_or(0, |members| members.len() / 8))?;
        Ok(at.member(name))
    }

    fn holds(&mut self, condition: &Condition, at: &'v Value) -> Result<bool, TooFar> {
        self.step(1)?;
        match condition {
            Condition::Any(conditions) => {
                for condition in conditions {
                    if self.holds(condition, at)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::All(conditions) => {
                for condition in conditions {
                    if !self.holds(condition, at)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Not(condition) => Ok(!self.holds(condition, at)?),
            Condition::Exists(query) => Ok(self.follow(query, at)?.is_some()),
            Condition::Compare(left, comparison, right) => {
                let left = self.operand(left, at)?;
                let right = self.operand(right, at)?;
                self.compare(left, *comparison, right)
            }
            Condition::Search(text, regex) => {
                let Some(text) = self.operand(text, at)?.and_then(Value::string) else { return Ok(false) };
                self.step(text.len() / 4)?;
                Ok(regex.is_match(text))
            }
        }
    }

    fn follow(&mut self, query: &Query, at: &'v Value) -> Result<Option<&'v Value>, TooFar> {
        let from = match query.from {
            Origin::Root => self.root,
            Origin::Current => at,
        };
        self.first(&query.segments, from)
    }

    fn operand<'o>(&mut self, operand: &'o Operand, at: &'v Value) -> Result<Option<&'o Value>, TooFar>
    where
        'v: 'o,
    {
        match operand {
            Operand::Literal(value) => Ok(Some(value)),
            Operand::Query(query) => self.follow(query, at),
        }
    }

    /// RFC 9535 §2.3.5.2.2: nothing equals nothing; only numbers, and only strings, are more or less than another.
    fn compare(&mut self, left: Option<&Value>, comparison: Comparison, right: Option<&Value>) -> Result<bool, TooFar> {
        let order = match (left, right) {
            (Some(Value::Number(left)), Some(Value::Number(right))) => {
                self.step((left.text().len() + right.text().len()) / 16)?;
                Some(left.compare(right))
            }
            (Some(Value::String(left)), Some(Value::String(right))) => {
                self.step(left.len().min(right.len()) / 64)?;
                Some(left.cmp(right))
            }
            (left, right) => self.are_equal(left, right)?.then_some(Ordering::Equal),
        };
        Ok(match comparison {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::Differs => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        })
    }

    fn are_equal(&mut self, left: Option<&Value>, right: Option<&Value>) -> Result<bool, TooFar> {
        self.step(1)?;
        match (left, right) {
            (None, None) | (Some(Value::Null), Some(Value::Null)) => Ok(true),
            (Some(Value::Bool(left)), Some(Value::Bool(right))) => Ok(left == right),
            (Some(Value::Array(left)), Some(Value::Array(right))) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right) {
                    if !self.compare(Some(left), Comparison::Equal, Some(right))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Some(Value::Object(members)), Some(right @ Value::Object(others))) => {
                if members.len() != others.len() {
                    return Ok(false);
                }
                for member in members {
                    self.step(others.len() / 8)?;
                    let other = right.member(&member.name);
                    if other.is_none() || !self.compare(Some(&member.value), Comparison::Equal, other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (
                None
                | Some(
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_),
                ),
                _,
            ) => Ok(false),
        }
    }
}

/// The elements of an array, the values of an object.
fn children(at: &Value) -> impl Iterator<Item = &Value> {
    let elements = at.elements().unwrap_or_default().iter();
    elements.chain(at.members().unwrap_or_default().iter().map(|member| &member.value))
}

fn element(at: &Value, index: i64) -> Option<&Value> {
    let elements = at.elements()?;
    let index = if index < 0 { index + elements.len() as i64 } else { index };
    elements.get(usize::try_from(index).ok()?)
}

impl Slice {
    /// The indexes that it selects of an array of this length, in its order (RFC 9535 §2.3.4.2.2).
    fn of(self, length: usize) -> impl Iterator<Item = usize> {
        let length = length as i64;
        let within = |index: i64| if index < 0 { index + length } else { index };
        let step = self.step;
        let (from, to) = if step >= 0 {
            let from = within(self.start.unwrap_or(0)).clamp(0, length);
            (from, within(self.end.unwrap_or(length)).clamp(0, length))
        } else {
            let from = self.start.map_or(length - 1, within).clamp(-1, length - 1);
            (from, self.end.map_or(-1, within).clamp(-1, length - 1))
        };
        let is_inside = move |index: &i64| match step.cmp(&0) {
            Ordering::Less => *index > to,
            Ordering::Equal => false,
            Ordering::Greater => *index < to,
        };
        std::iter::successors(Some(from), move |index| index.checked_add(step))
            .take_while(is_inside)
            .filter_map(|index| usize::try_from(index).ok())
    }
}

impl StringTest {
    fn holds(self, claimed: &str, text: &str) -> bool {
        match self {
            Self::Equal => claimed == text,
            Self::Differs => claimed != text,
            Self::Starts => claimed.starts_with(text),
            Self::Ends => claimed.ends_with(text),
            Self::Contains => claimed.contains(text),
        }
    }
}
