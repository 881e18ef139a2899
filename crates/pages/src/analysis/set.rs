//! Which names a template defines anywhere: by `set`, `with` and loops, as macros and their parameters, by imports.

use super::Name;
use crate::syntax::{Macro, Program, Statement, Target};
use std::collections::BTreeSet;

pub(crate) fn names_of(program: &Program, names: &mut BTreeSet<Name>) {
    of_statements(&program.body, names);
    program.blocks.values().for_each(|block| of_statements(&block.body, names));
}

fn of_statements(list: &[Statement], names: &mut BTreeSet<Name>) {
    list.iter().for_each(|statement| of_statement(statement, names));
}

fn of_statement(statement: &Statement, names: &mut BTreeSet<Name>) {
    match statement {
        Statement::For(each) => {
            of_target(&each.target, names);
            of_statements(&each.body, names);
            of_statements(&each.otherwise, names);
        }
        Statement::If { then, otherwise, .. } => {
            of_statements(then, names);
            of_statements(otherwise, names);
        }
        Statement::With { assignments, body } => {
            assignments.iter().for_each(|(target, ..)| of_target(target, names));
            of_statements(body, names);
        }
        Statement::Set(target, ..) | Statement::Import { target, .. } => of_target(target, names),
        Statement::SetBlock { target, body, .. } => {
            of_target(target, names);
            of_statements(body, names);
        }
        Statement::Around { body, .. } => of_statements(body, names),
        Statement::FromImport { names: imported, .. } => {
            names.extend(imported.iter().map(|(_, alias)| alias.clone()));
        }
        Statement::Macro(made) => of_macro(made, names),
        Statement::CallBlock { caller, .. } => of_macro(caller, names),
        Statement::Show(..)
        | Statement::Block(_)
        | Statement::Extends { .. }
        | Statement::Include { .. }
        | Statement::Do(_) => {}
    }
}

fn of_macro(made: &Macro, names: &mut BTreeSet<Name>) {
    names.insert(made.name.clone());
    names.extend(made.parameters.iter().map(|(name, _)| name.clone()));
    of_statements(&made.body, names);
}

fn of_target(target: &Target, names: &mut BTreeSet<Name>) {
    match target {
        Target::Name(name) => _ = names.insert(name.clone()),
        Target::Several(targets) => targets.iter().for_each(|target| of_target(target, names)),
        // of a namespace, which has a name already
        Target::Field(..) => {}
    }
}
