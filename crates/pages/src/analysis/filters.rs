//! Filters: which pass rows on, which pick columns, and which take all of what they are given.

use super::calls::Arguments;
use super::value::{Atom, Value};
use super::{Analysis, At, Name};
use crate::format::FILTERS;
use crate::need::Why;

impl Analysis<'_> {
    pub(crate) fn filter(&mut self, name: &Name, input: &Value, arguments: &Arguments, at: At) -> Value {
        if arguments.has_spread() {
            return self.take(name, input, arguments, at);
        }
        if FILTERS.contains(&&**name) {
            return Value::other();
        }
        self.settings(name, arguments, at);
        let attribute = arguments.named.get("attribute");
        match &**name {
            "length" | "count" => self.count(input, at),
            "first" | "last" => self.elements(input, at).or(&Value::plain()),
            "list" | "reverse" => self.same_elements(input, at, "same"),
            "sort" | "unique" => {
                self.keys(name, input, attribute, at);
                self.same_elements(input, at, "same")
            }
            "min" | "max" => {
                self.keys(name, input, attribute, at);
                self.elements(input, at).or(&Value::plain())
            }
            "groupby" => self.groups(input, arguments, at),
            "sum" => self.take_elements(name, input, arguments.get(0, "attribute"), at),
            "join" => self.take_elements(name, input, arguments.get(1, "attribute"), at),
            "select" | "reject" => {
                self.selected(input, None, arguments, at);
                self.same_elements(input, at, "same")
            }
            "selectattr" | "rejectattr" => {
                self.selected(input, arguments.positions.first(), &arguments.behind(1), at);
                self.same_elements(input, at, "same")
            }
            "map" => self.mapped(input, arguments, at),
            "batch" | "slice" => {
                let items = self.elements(input, at);
                let items = arguments.positions.get(1).map_or(items.clone(), |fill| items.or(fill));
                let part = self.list_of(&items, at, "part");
                self.list_of(&part, at, "parts")
            }
            "default" | "d" => {
                let other = arguments.positions.first().cloned().unwrap_or_else(Value::other);
                input.clone().or(&other)
            }
            "attr" => self.item(input, &arguments.positions.first().cloned().unwrap_or_default(), at),
            "items" => self.pairs(name, input, at),
            "dictsort" => {
                if arguments.named.contains_key("by") {
                    self.take(name, input, arguments, at);
                }
                self.pairs(name, input, at)
            }
            "zip" => {
                let lists = std::iter::once(input).chain(&arguments.positions);
                let items: Vec<Value> = lists.map(|list| self.elements(list, at)).collect();
                let tuple = self.tuple_of(&items, at, "zipped");
                self.list_of(&tuple, at, "zip")
            }
            "chain" => self.chained(input, arguments, at),
            "bool" => Value::plain(),
            _ => self.take(name, input, arguments, at),
        }
    }

    /// What a filter is told beside what it works on: looked at as a whole, but for what it may pass on.
    fn settings(&mut self, name: &Name, arguments: &Arguments, at: At) {
        for (setting, value) in &arguments.named {
            let is_passed_on = matches!((&**name, &**setting), ("groupby" | "map", "default"));
            if !is_passed_on {
                self.whole(value, &Why::Taken(name.to_string()), at);
            }
        }
        if matches!(&**name, "join" | "sum") {
            for value in &arguments.positions {
                self.whole(value, &Why::Taken(name.to_string()), at);
            }
        }
    }

    fn take(&mut self, name: &Name, input: &Value, arguments: &Arguments, at: At) -> Value {
        self.taken(name, input, arguments, at);
        Value::other()
    }

    /// How many rows there are says nothing of them; how many columns one row has says which.
    fn count(&mut self, input: &Value, at: At) -> Value {
        self.elements(input, at);
        Value::plain()
    }

    /// What is looked at to compare elements: themselves, or the columns that are named, with commas between them.
    fn keys(&mut self, name: &Name, input: &Value, attribute: Option<&Value>, at: At) {
        let elements = self.elements(input, at);
        for atom in attribute.unwrap_or(&Value::plain()).atoms() {
            match atom {
                Atom::Text(paths) => {
                    for path in paths.split(',').map(str::trim).filter(|path| !path.is_empty()) {
                        let key = self.path_of_names(&elements, path, at);
                        self.whole(&key, &Why::Taken(name.to_string()), at);
                    }
                }
                _ => self.whole(&elements, &Why::Taken(name.to_string()), at),
            }
        }
    }

    fn take_elements(&mut self, name: &Name, input: &Value, attribute: Option<&Value>, at: At) -> Value {
        let elements = self.elements(input, at);
        let values = match attribute {
            Some(path) => self.path(&elements, path, at),
            None => elements.clone(),
        };
        let why = Why::Taken(name.to_string());
        self.whole(&values, &why, at);
        if attribute.is_some_and(|path| path.atoms().any(|atom| !matches!(atom, Atom::Text(_)))) {
            self.whole(&elements, &why, at);
        }
        Value::other()
    }

    fn groups(&mut self, input: &Value, arguments: &Arguments, at: At) -> Value {
        let elements = self.elements(input, at);
        let path = arguments.get(0, "attribute").cloned().unwrap_or_default();
        let key = self.path(&elements, &path, at);
        let key = arguments.named.get("default").map_or(key.clone(), |default| key.or(default));
        self.whole(&key, &Why::Taken("groupby".into()), at);
        let members = self.list_of(&elements, at, "members");
        let group = self.tuple_of(&[key.clone(), members.clone()], at, "group");
        for atom in group.atoms() {
            if let Atom::List(group) = atom {
                self.put_field(*group, &"grouper".into(), &key);
                self.put_field(*group, &"list".into(), &members);
            }
        }
        self.list_of(&group, at, "groups")
    }

    fn selected(&mut self, input: &Value, attribute: Option<&Value>, test: &Arguments, at: At) {
        let elements = self.elements(input, at);
        let value = match attribute {
            Some(path) => self.path(&elements, path, at),
            None => elements,
        };
        if let Some(name) = test.positions.first() {
            self.test_named(name, &value, &test.behind(1), at);
        }
    }

    fn mapped(&mut self, input: &Value, arguments: &Arguments, at: At) -> Value {
        let elements = self.elements(input, at);
        let mut mapped = Value::nothing();
        if let Some(path) = arguments.named.get("attribute") {
            if !path.atoms().all(|atom| matches!(atom, Atom::Text(_) | Atom::Integer(_))) {
                return self.take(&"map".into(), input, arguments, at);
            }
            mapped = self.path(&elements, path, at);
            if let Some(default) = arguments.named.get("default") {
                mapped.join(default);
            }
        } else {
            for atom in arguments.positions.first().iter().flat_map(|name| name.atoms()) {
                mapped.join(&match atom {
                    Atom::Text(filter) => self.filter(filter, &elements, &arguments.behind(1), at),
                    _ => self.take(&"a filter named by a value".into(), &elements, arguments, at),
                });
            }
        }
        self.list_of(&mapped, at, "mapped")
    }

    fn pairs(&mut self, name: &Name, input: &Value, at: At) -> Value {
        let (mut keys, mut values) = (Value::nothing(), Value::nothing());
        for atom in input.atoms() {
            if let Atom::Map(map) = atom {
                keys.join(&self.contents(*map).keys());
                values.join(&self.contents(*map).all());
            } else {
                self.whole(&atom.clone().into(), &Why::Taken(name.to_string()), at);
                keys.add(Atom::Other);
                values.add(Atom::Other);
            }
        }
        let pair = self.tuple_of(&[keys, values], at, "pair");
        self.list_of(&pair, at, "pairs")
    }

    /// Several lists are one; several maps have the names of all, and their order and number with them.
    fn chained(&mut self, input: &Value, arguments: &Arguments, at: At) -> Value {
        let mut chained = Value::nothing();
        for part in std::iter::once(input).chain(&arguments.positions) {
            for atom in part.atoms() {
                let one = Value::from(atom.clone());
                match atom {
                    Atom::Map(_) => chained.add(atom.clone()),
                    Atom::Row(_) => {
                        self.whole(&one, &Why::Taken("chain".into()), at);
                        chained.add(atom.clone());
                    }
                    _ => {
                        chained.join(&self.same_elements(&one, at, "chained"));
                    }
                }
            }
        }
        chained
    }
}
