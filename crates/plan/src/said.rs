//! What a request says of each level, found once for all of its parameters.

use crate::error::{ErrorKind, PlanError};
use crate::plan::Context;
use std::collections::{HashMap, HashSet};
use thalweg_request::{At, Embed, EmbedWindow, Filter, Item, OrderTerm, Query, Tree};

/// What a request says of one level, and of those below it.
#[derive(Debug, Default)]
pub(crate) struct Said<'q> {
    pub(crate) filters: Vec<&'q Filter<'q>>,
    pub(crate) trees: Vec<&'q Tree<'q>>,
    pub(crate) order: Option<&'q [OrderTerm<'q>]>,
    pub(crate) window: Option<EmbedWindow>,
    /// Of each embed, in the order of the select list.
    pub(crate) below: Vec<Below<'q>>,
    /// The embeds by the names that address them: by alias or name, else by the bare name of an aliased one.
    names: HashMap<&'q str, usize>,
}

/// What a request says of an embed.
#[derive(Debug)]
pub(crate) struct Below<'q> {
    embed: &'q Embed<'q>,
    pub(crate) said: Said<'q>,
}

/// Bare names that address embeds with an alias, each with the alias.
pub(crate) type BareNames = Vec<(String, String)>;

impl<'q> Said<'q> {
    /// What a query says of each level that it selects. Every level that a parameter names must be embedded; returns also
    /// the bare names that were used where there is an alias, each with the alias.
    pub(crate) fn of(context: &Context<'_>, query: &'q Query<'q>) -> Result<(Self, BareNames), PlanError> {
        let mut root = Self::levels(&query.select);
        let mut bare = Bare { are_allowed: context.legacy_target_names, seen: HashSet::new(), names: Vec::new() };
        for at in &query.orders {
            root.find(at, &mut bare)?.order.get_or_insert(&at.what);
        }
        for at in &query.trees {
            root.find(at, &mut bare)?.trees.push(&at.what);
        }
        for at in &query.filters {
            root.find(at, &mut bare)?.filters.push(&at.what);
        }
        for at in &query.windows {
            root.find(at, &mut bare)?.window.get_or_insert(at.what);
        }
        Ok((root, bare.names))
    }

    /// What a query says of the root alone.
    pub(crate) fn of_root(query: &'q Query<'q>) -> Self {
        let filters = query.filters.iter().filter(|at| at.path.is_empty()).map(|at| &at.what);
        let trees = query.trees.iter().filter(|at| at.path.is_empty()).map(|at| &at.what);
        Self { filters: filters.collect(), trees: trees.collect(), ..Self::default() }
    }

    fn levels(items: &'q [Item<'q>]) -> Self {
        let embeds = items.iter().filter_map(|item| match item {
            Item::Embed(embed) => Some(embed),
            Item::All | Item::Column { .. } | Item::CountRows { .. } => None,
        });
        let below: Vec<Below<'_>> = embeds.map(|embed| Below { embed, said: Self::levels(&embed.items) }).collect();
        let mut names = HashMap::with_capacity(below.len());
        for name_of in [|embed: &'q Embed<'q>| embed.key(), |embed: &'q Embed<'q>| &*embed.target] {
            for (index, below) in below.iter().enumerate() {
                names.entry(name_of(below.embed)).or_insert(index);
            }
        }
        Self { below, names, ..Self::default() }
    }

    /// The level that a parameter is for.
    fn find<T>(&mut self, at: &'q At<'q, T>, bare: &mut Bare<'q>) -> Result<&mut Self, PlanError> {
        let mut level = self;
        for name in &at.path {
            let index = *level.names.get(&**name).ok_or_else(|| ErrorKind::NotEmbedded(name.to_string()))?;
            let below = &mut level.below[index];
            if below.embed.key() != name {
                bare.note(name, below.embed.key())?;
            }
            level = &mut below.said;
        }
        Ok(level)
    }
}

/// The bare names that were used.
struct Bare<'q> {
    are_allowed: bool,
    seen: HashSet<(&'q str, &'q str)>,
    names: BareNames,
}

impl<'q> Bare<'q> {
    fn note(&mut self, name: &'q str, alias: &'q str) -> Result<(), PlanError> {
        if !self.are_allowed {
            return Err(ErrorKind::TargetName { name: name.to_owned(), alias: alias.to_owned() }.into());
        }
        if self.seen.insert((name, alias)) {
            self.names.push((name.to_owned(), alias.to_owned()));
        }
        Ok(())
    }
}
