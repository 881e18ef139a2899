//! Calls: macros, loops that call themselves, blocks, and functions.

use super::scope::Scope;
use super::value::{Atom, Object, Value};
use super::{Analysis, At, Name, Names, Visited};
use crate::messages;
use crate::need::Why;
use crate::syntax::{Argument, Call, Callee};
use std::collections::BTreeMap;

/// What something is called with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) positions: Vec<Value>,
    pub(crate) named: BTreeMap<Name, Value>,
    /// What `*` and `**` spread: each may be any argument.
    spread: Option<Value>,
}

impl Arguments {
    pub(crate) fn all(&self) -> Value {
        let all = self.positions.iter().chain(self.named.values()).chain(&self.spread);
        all.fold(Value::nothing(), |all, value| all.or(value))
    }

    pub(crate) fn are_positions(&self) -> bool {
        self.named.is_empty() && self.spread.is_none()
    }

    pub(crate) fn has_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// The argument at a position, or of a name.
    pub(crate) fn get(&self, position: usize, name: &str) -> Option<&Value> {
        self.positions.get(position).or_else(|| self.named.get(name))
    }

    pub(crate) fn behind(&self, position: usize) -> Arguments {
        let positions = self.positions.get(position..).unwrap_or_default().to_vec();
        Arguments { positions, ..self.clone() }
    }
}

impl Analysis<'_> {
    pub(crate) fn arguments(&mut self, arguments: &[Argument], at: At) -> Arguments {
        let mut read = Arguments::default();
        for argument in arguments {
            match argument {
                Argument::Position(value) => read.positions.push(self.expr(value)),
                Argument::Named(name, value) => {
                    let value = self.expr(value);
                    read.named.insert(name.clone(), value);
                }
                Argument::Spread(value) => {
                    let value = self.expr(value);
                    let spread = self.spread(&value, at);
                    read.spread = Some(read.spread.unwrap_or_default().or(&spread));
                }
            }
        }
        read
    }

    fn spread(&mut self, value: &Value, at: At) -> Value {
        let mut spread = Value::plain();
        for atom in value.atoms() {
            match atom {
                Atom::Rows(node) => spread.add(Atom::Row(*node)),
                Atom::List(object) | Atom::Map(object) => {
                    spread.join(&self.contents(*object).all());
                    spread.join(&self.contents(*object).keys());
                }
                _ => {
                    self.whole(&atom.clone().into(), &Why::Computed, at);
                    spread.add(Atom::Other);
                }
            }
        }
        spread
    }

    pub(crate) fn call(&mut self, call: &Call, caller: Option<Value>) -> Value {
        if let Callee::Block(name) = &call.callee {
            self.block(name);
            return Value::other();
        }
        let mut arguments = self.arguments(&call.arguments, call.at);
        arguments.named.extend(caller.map(|caller| ("caller".into(), caller)));
        match &call.callee {
            Callee::Block(_) => Value::other(),
            Callee::Name(name) => self.call_name(name, &arguments, call.at),
            Callee::Method(of, name) => {
                let of = self.expr(of);
                self.call_method(&of, name, &arguments, call.at)
            }
            Callee::Value(callee) => {
                let callee = self.expr(callee);
                self.call_value(&callee, "a value", &arguments, call.at)
            }
        }
    }

    fn call_name(&mut self, name: &Name, arguments: &Arguments, at: At) -> Value {
        if &**name == "super" {
            self.block_above();
            return Value::other();
        }
        let mut callee = self.scope.names.get(name).cloned();
        if let ("loop", Some(innermost)) = (&**name, self.scope.innermost) {
            callee.get_or_insert_default().add(Atom::Loop(innermost));
        }
        match callee {
            Some(callee) => {
                let called = self.call_value(&callee, name, arguments, at);
                // where the name is set on one of two ways only, the function of that name may be called
                if callee.atoms().any(|atom| *atom == Atom::Other) {
                    return called.or(&self.call_function(name, arguments, at));
                }
                called
            }
            None => {
                self.function(name, at);
                self.call_function(name, arguments, at)
            }
        }
    }

    fn call_function(&mut self, name: &str, arguments: &Arguments, at: At) -> Value {
        match name {
            "range" => {
                self.taken(name, &Value::nothing(), arguments, at);
                self.list_of(&Value::plain(), at, "range")
            }
            "dict" => self.map_of(arguments, "dict", at),
            messages::FUNCTION => Value::other(),
            "namespace" => self.map_of(arguments, "namespace", at),
            "debug" => {
                self.tree.all_whole(&Why::Taken("debug".into()), at);
                Value::other()
            }
            _ => {
                self.taken(name, &Value::nothing(), arguments, at);
                Value::other()
            }
        }
    }

    /// A new map of another's fields and of named arguments.
    fn map_of(&mut self, arguments: &Arguments, kind: &'static str, at: At) -> Value {
        let map = self.object(at, kind);
        for atom in arguments.positions.iter().flat_map(Value::atoms) {
            if let Atom::Map(object) | Atom::List(object) = atom {
                let fields: Names = self.contents(*object).fields.clone();
                let rest = self.contents(*object).rest.clone();
                fields.iter().for_each(|(name, value)| self.put_field(map, name, value));
                self.put_rest(map, &rest);
            } else {
                self.whole(&atom.clone().into(), &Why::Taken(kind.to_owned()), at);
                self.put_rest(map, &Value::other());
            }
        }
        for (name, value) in &arguments.named {
            self.put_field(map, name, value);
        }
        if let Some(spread) = &arguments.spread {
            self.put_rest(map, spread);
        }
        Atom::Map(map).into()
    }

    fn call_method(&mut self, of: &Value, name: &Name, arguments: &Arguments, at: At) -> Value {
        let mut result = Value::nothing();
        for atom in of.atoms() {
            let one = Value::from(atom.clone());
            result.join(&match (atom, &**name) {
                (Atom::Map(_), _) => {
                    let callee = self.attribute(&one, name, at);
                    self.call_value(&callee, name, arguments, at)
                }
                (Atom::Loop(_), "cycle") if arguments.are_positions() => arguments.all(),
                (Atom::Loop(_), "changed") => {
                    self.taken(name, &Value::nothing(), arguments, at);
                    Value::plain()
                }
                _ => {
                    self.taken(name, &one, arguments, at);
                    Value::other()
                }
            });
        }
        result
    }

    fn call_value(&mut self, callee: &Value, name: &str, arguments: &Arguments, at: At) -> Value {
        for atom in callee.atoms() {
            match atom {
                Atom::Macro(object) => self.call_macro(*object, arguments),
                Atom::Loop(object) => self.recurse(*object, &arguments.all()),
                // calling nothing is an error
                Atom::Plain | Atom::Text(_) | Atom::Integer(_) => {}
                _ => self.taken(name, &atom.clone().into(), arguments, at),
            }
        }
        Value::other()
    }

    /// A macro that has gone where it is not known who calls it.
    pub(crate) fn call_macro_unknown(&mut self, object: Object, at: At) {
        if self.descend(Some(at)) {
            self.call_macro(object, &Arguments { spread: Some(Value::other()), ..Arguments::default() });
        }
    }

    fn call_macro(&mut self, object: Object, arguments: &Arguments) {
        let Some((made, closure)) = self.macros.get(&object).cloned() else { return };
        let mut names = self.names.clone();
        for (name, value) in &self.contents(closure).fields {
            names.entry(name.clone()).or_default().join(value);
        }
        // without a call block it is undefined
        let caller = arguments.named.get("caller").or(arguments.spread.as_ref()).cloned();
        let caller = caller.unwrap_or_else(|| names.get("caller").cloned().unwrap_or_default().or(&Value::plain()));
        names.insert("caller".into(), caller);
        let inner = Scope { names, blocks: self.scope.blocks.clone(), ..Scope::default() };
        let outer = std::mem::replace(&mut self.scope, inner);
        for (position, (name, default)) in made.parameters.iter().enumerate().rev() {
            let mut value = arguments.get(position, name).cloned();
            if let Some(spread) = &arguments.spread {
                value = Some(value.unwrap_or_default().or(spread));
            }
            let mut value = value.unwrap_or_else(Value::plain);
            if let Some(default) = default.as_ref().filter(|_| value.may_be_undefined()) {
                let is_given = value != Value::plain();
                let default = self.expr(default);
                value = if is_given { value.or(&default) } else { default };
            }
            self.assign_name(name, &value);
        }
        if let Visited::First(_) = self.visit((made.at, "macro"), &Value::nothing()) {
            self.statements(&made.body);
        }
        self.scope = outer;
    }
}
