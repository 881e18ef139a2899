//! What is found in values: attributes, items, the elements of a loop; and values that are needed as a whole.

use super::value::{Atom, Value};
use super::{Analysis, At, Name};
use crate::error::ErrorKind;
use crate::need::Why;
use crate::pager;
use std::collections::BTreeSet;

impl Analysis<'_> {
    /// `value.name`
    pub(crate) fn attribute(&mut self, of: &Value, name: &Name, at: At) -> Value {
        self.field(of, name, at);
        let may_be_other = !of.atoms().all(|atom| matches!(atom, Atom::Rows(_) | Atom::Plain));
        let is_value = of.atoms().all(|atom| matches!(atom, Atom::Value(_) | Atom::Plain));
        let mut found = Value::nothing();
        for atom in of.atoms() {
            match atom {
                Atom::Value(node) if is_value => found.add(Atom::Value(self.tree.column(*node, name, at))),
                Atom::Row(node) | Atom::Value(node) => {
                    found.add(Atom::Value(self.tree.column_of_element(*node, name, at)));
                }
                Atom::List(object) => found.join_all(self.contents(*object).fields.get(name)),
                Atom::Map(object) => {
                    let contents = self.contents(*object);
                    found.join_all(contents.fields.get(name));
                    found.join(&contents.rest);
                }
                Atom::Loop(object) if matches!(&**name, "previtem" | "nextitem") => {
                    found.join(&self.contents(*object).rest);
                }
                Atom::Macro(_) | Atom::Other => found.add(Atom::Other),
                Atom::Rows(_) if !may_be_other && !pager::NAMES.contains(&&**name) => {
                    let message = format!(
                        "{name} is asked of a list of rows, which has {}; a row is found by a loop, or as the query of {{ one = … }}",
                        pager::NAMES.join(", ")
                    );
                    self.fault.get_or_insert((ErrorKind::Template, message, at));
                }
                Atom::Text(_) | Atom::Integer(_) | Atom::Plain | Atom::Rows(_) | Atom::Loop(_) => {}
            }
        }
        found.or(&Value::plain())
    }

    /// `value[key]`
    pub(crate) fn item(&mut self, of: &Value, key: &Value, at: At) -> Value {
        self.whole(key, &Why::Named, at);
        let mut found = Value::nothing();
        for atom in key.atoms() {
            found.join(&match atom {
                Atom::Text(name) => self.attribute(of, name, at),
                Atom::Integer(position) => self.element(of, Some(*position)),
                Atom::Plain => self.element(of, None),
                _ => self.any_item(of, at),
            });
        }
        found
    }

    /// What stands at a position, or at one that is not known.
    fn element(&mut self, of: &Value, position: Option<i64>) -> Value {
        let mut found = Value::plain();
        for atom in of.atoms() {
            match atom {
                Atom::Rows(node) => found.add(Atom::Row(*node)),
                Atom::Value(node) => found.add(Atom::Row(*node)),
                Atom::List(object) | Atom::Map(object) => {
                    let contents = self.contents(*object);
                    found.join(&position.map_or_else(|| contents.all(), |at| contents.at(&at.to_string())));
                }
                Atom::Other => found.add(Atom::Other),
                Atom::Text(_) => found.add(Atom::Other),
                Atom::Integer(_) | Atom::Plain | Atom::Row(_) | Atom::Macro(_) | Atom::Loop(_) => {}
            }
        }
        found
    }

    fn any_item(&mut self, of: &Value, at: At) -> Value {
        for atom in of.atoms() {
            if let Atom::Row(node) | Atom::Value(node) = atom {
                self.tree.whole(*node, Why::Named, at);
            }
        }
        let loops = of.atoms().filter_map(|atom| match atom {
            Atom::Loop(object) => Some(self.contents(*object).rest.clone()),
            _ => None,
        });
        let loops = loops.fold(Value::other(), |all, rest| all.or(&rest));
        self.element(of, None).or(&loops)
    }

    /// What a filter's `attribute` names: `a.b.0`.
    pub(crate) fn path(&mut self, of: &Value, path: &Value, at: At) -> Value {
        let mut found = Value::nothing();
        for atom in path.atoms() {
            let Atom::Text(path) = atom else {
                let key = Value::from(atom.clone());
                found.join(&self.item(of, &key, at));
                continue;
            };
            found.join(&self.path_of_names(of, path, at));
        }
        found
    }

    pub(crate) fn path_of_names(&mut self, of: &Value, path: &str, at: At) -> Value {
        path.split('.').fold(of.clone(), |value, part| match part.parse::<usize>() {
            Ok(position) => self.element(&value, i64::try_from(position).ok()),
            Err(_) => self.attribute(&value, &part.into(), at),
        })
    }

    /// What a loop sees.
    pub(crate) fn elements(&mut self, of: &Value, at: At) -> Value {
        let mut found = Value::nothing();
        for atom in of.atoms() {
            match atom {
                Atom::Rows(node) => found.add(Atom::Row(*node)),
                Atom::Row(node) => {
                    self.tree.whole(*node, Why::Counted, at);
                    found.add(Atom::Other);
                }
                Atom::Value(node) => {
                    self.tree.whole_if_one(*node, at);
                    found.add(Atom::Row(*node));
                }
                Atom::List(object) => found.join_all(Some(&self.contents(*object).all())),
                Atom::Map(object) => found.join_all(Some(&self.contents(*object).keys())),
                Atom::Text(_) | Atom::Other | Atom::Loop(_) | Atom::Macro(_) => found.add(Atom::Other),
                Atom::Integer(_) | Atom::Plain => {}
            }
        }
        found
    }

    /// The item at a position of what is taken apart.
    pub(crate) fn unpacked(&mut self, of: &Value, position: usize, at: At) -> Value {
        let mut found = Value::nothing();
        for atom in of.atoms() {
            found.join(&match atom {
                Atom::List(object) => self.contents(*object).at(&position.to_string()),
                _ => self.elements(&atom.clone().into(), at),
            });
        }
        found
    }

    /// A list of the same elements, in whatever order, or of some of them.
    pub(crate) fn same_elements(&mut self, of: &Value, at: At, kind: &'static str) -> Value {
        let mut same = Value::nothing();
        for atom in of.atoms() {
            let elements = self.elements(&atom.clone().into(), at);
            match atom {
                Atom::Rows(_) => same.add(atom.clone()),
                Atom::Value(node) => same.add(Atom::Value(*node)),
                Atom::List(_) | Atom::Map(_) => same.join_all(Some(&self.list_of(&elements, at, kind))),
                _ => same.add(Atom::Other),
            }
        }
        same
    }

    /// All that is in a value is needed.
    pub(crate) fn whole(&mut self, value: &Value, why: &Why, at: At) {
        let mut seen = BTreeSet::new();
        let mut left: Vec<Atom> = value.atoms().cloned().collect();
        while let Some(atom) = left.pop() {
            match atom {
                Atom::Rows(node) | Atom::Row(node) | Atom::Value(node) => self.tree.whole(node, why.clone(), at),
                Atom::List(object) | Atom::Map(object) | Atom::Loop(object) if seen.insert(object) => {
                    self.steps += 1;
                    left.extend(self.contents(object).all().atoms().cloned());
                }
                Atom::Macro(object) if *why != Why::Shown && seen.insert(object) => self.call_macro_unknown(object, at),
                _ => {}
            }
        }
    }
}

impl Value {
    fn join_all(&mut self, other: Option<&Value>) {
        if let Some(other) = other {
            self.join(other);
        }
    }
}
