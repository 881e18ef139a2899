//! Tests: `is` and what stands behind it.

use super::calls::Arguments;
use super::value::{Atom, Value};
use super::{Analysis, At, Name};
use crate::need::Why;

impl Analysis<'_> {
    pub(crate) fn test(&mut self, name: &Name, value: &Value, arguments: &Arguments, at: At) {
        match (&**name, &arguments.positions[..]) {
            // these look at what kind of value it is; all other kinds than text and numbers answer alike
            (
                "defined" | "undefined" | "none" | "boolean" | "odd" | "even" | "number" | "integer" | "int" | "float"
                | "string" | "sequence" | "iterable" | "mapping" | "safe" | "escaped" | "lower" | "upper" | "true"
                | "false" | "filter" | "test",
                [],
            ) if arguments.are_positions() => {}
            ("eq" | "equalto" | "==" | "ne" | "!=" | "lt" | "lessthan" | "<" | "le" | "<=", [other])
            | ("gt" | "greaterthan" | ">" | "ge" | ">=" | "sameas", [other])
                if arguments.are_positions() =>
            {
                self.compared(value, other, at);
            }
            ("in", [container]) if arguments.are_positions() => self.contained(value, container, at),
            _ => self.taken(name, value, arguments, at),
        }
    }

    /// What takes a value may look at all of it.
    pub(crate) fn taken(&mut self, name: &str, value: &Value, arguments: &Arguments, at: At) {
        let why = Why::Taken(name.to_owned());
        self.whole(value, &why, at);
        self.whole(&arguments.all(), &why, at);
    }

    /// The test that a filter such as `select` is given by name.
    pub(crate) fn test_named(&mut self, name: &Value, value: &Value, arguments: &Arguments, at: At) {
        for atom in name.atoms() {
            match atom {
                Atom::Text(name) => self.test(name, value, arguments, at),
                _ => self.taken("a test named by a value", value, arguments, at),
            }
        }
    }
}
