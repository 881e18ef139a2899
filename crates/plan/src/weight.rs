//! How many conditions a read's statement repeats, and that they are not too many.
//!
//! A condition that asks whether a to-many embed finds a row writes the embed's own conditions once more, and those of
//! what that asks for: three on each of ten levels would be sixty thousand subqueries.

use crate::error::{ErrorKind, PlanError};
use crate::read::{Condition, Read};

/// How many conditions a statement may have besides those that the request itself says. PostgreSQL evaluates each for each
/// row, and where it thinks that there are many rows compiles them first: 9,900 in 99 subqueries in 2 KB took it 12 s.
const ASKED_CONDITIONS_MAX: usize = 1_000;

/// Refuses a read that repeats too many conditions.
pub(crate) fn check(read: &Read<'_>) -> Result<(), PlanError> {
    if Weight::of(read).repeated > ASKED_CONDITIONS_MAX {
        return Err(ErrorKind::AskedConditions(ASKED_CONDITIONS_MAX).into());
    }
    Ok(())
}

/// The conditions of a level and of those below it.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// All of them, where only whether there are rows is asked for.
    asked: usize,
    /// Those of levels that are asked for, where the rows are returned.
    repeated: usize,
}

impl Weight {
    fn of(read: &Read<'_>) -> Self {
        let below: Vec<Self> = read.embeds.iter().map(|embed| Self::of(&embed.read)).collect();
        let mut joined: Vec<bool> = read.embeds.iter().map(|embed| embed.inner).collect();
        let mut weight = Self::default();
        for condition in &read.conditions {
            weight.add(condition, read, &below, &mut joined);
        }
        for ((embed, below), joined) in read.embeds.iter().zip(&below).zip(joined) {
            if embed.inner && !embed.is_to_one() {
                weight.ask(*below);
            }
            weight.repeated = weight.repeated.saturating_add(below.repeated);
            // what is there to one row is joined where it is asked for
            if joined && embed.is_to_one() {
                weight.asked = weight.asked.saturating_add(below.asked).saturating_add(1);
            }
        }
        weight
    }

    /// Adds a condition; notes which embeds it asks for.
    fn add(&mut self, condition: &Condition<'_>, read: &Read<'_>, below: &[Self], joined: &mut [bool]) {
        match condition {
            Condition::Filter { .. } => self.asked = self.asked.saturating_add(1),
            Condition::Found(index, _) if read.embeds[*index].is_to_one() => {
                joined[*index] = true;
                self.asked = self.asked.saturating_add(1);
            }
            Condition::Found(index, _) => self.ask(below[*index]),
            Condition::Group { children, .. } => {
                children.iter().for_each(|child| self.add(child, read, below, joined));
            }
        }
    }

    /// Adds a subquery for whether an embed finds a row.
    fn ask(&mut self, of: Self) {
        let conditions = of.asked.saturating_add(1);
        self.asked = self.asked.saturating_add(conditions);
        self.repeated = self.repeated.saturating_add(conditions);
    }
}
