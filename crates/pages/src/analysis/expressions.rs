//! Expressions: what they can be.

use super::names::Question;
use super::value::{Atom, Value};
use super::{Analysis, At};
use crate::need::Why;
use crate::syntax::Expr;

impl Analysis<'_> {
    pub(crate) fn expr(&mut self, expr: &Expr) -> Value {
        if !self.descend(None) {
            return Value::other();
        }
        self.nesting += 1;
        let value = self.one_expr(expr);
        self.nesting -= 1;
        self.steps += value.len();
        value
    }

    fn one_expr(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Text(text) => Atom::Text(text.clone()).into(),
            Expr::Integer(number) => Atom::Integer(*number).into(),
            Expr::Constant => Value::plain(),
            Expr::Captured => Value::other(),
            Expr::Name(name, at) => self.name(name, *at),
            Expr::Attribute(of, name, at) => {
                let of = self.expr(of);
                self.attribute(&of, name, *at)
            }
            Expr::Item(of, key, at) => {
                let (of, key) = (self.expr(of), self.expr(key));
                self.item(&of, &key, *at)
            }
            Expr::Slice { of, bounds, at } => {
                let of = self.expr(of);
                self.computed(bounds, *at);
                self.same_elements(&of, *at, "slice")
            }
            Expr::Not(of) => {
                self.condition(of);
                Value::plain()
            }
            Expr::OneOf(operands) => self.first_of(operands),
            Expr::If { test, then, otherwise } => {
                self.condition(test);
                let value = self.one_of([Some(then), otherwise.as_ref()].into_iter().flatten().map(|way| &**way));
                if otherwise.is_none() { value.or(&Value::plain()) } else { value }
            }
            Expr::Compare { first, others, at } => self.chain(first, others, *at),
            Expr::Join(operands, at) => self.join(operands, *at),
            Expr::Compute(operands, at) => self.computed(operands, *at),
            Expr::Filter { name, input, arguments, at } => {
                let question = if matches!(&**name, "default" | "d") { Question::Whether } else { Question::None };
                let input = self.asked(question, input);
                let arguments = self.arguments(arguments, *at);
                self.filter(name, &input, &arguments, *at)
            }
            Expr::Test { name, value, arguments, at } => {
                let is_of_being = matches!(&**name, "defined" | "undefined");
                let question = if is_of_being { Question::Whether } else { Question::What };
                let value = self.asked(question, value);
                let arguments = self.arguments(arguments, *at);
                self.test(name, &value, &arguments, *at);
                Value::plain()
            }
            Expr::Call(call) => self.call(call, None),
            Expr::List(items, at) => {
                let items: Vec<Value> = items.iter().map(|item| self.expr(item)).collect();
                self.tuple_of(&items, *at, "list")
            }
            Expr::Map(pairs, at) => self.map(pairs, *at),
        }
    }

    fn one_of<'e>(&mut self, ways: impl Iterator<Item = &'e Expr>) -> Value {
        ways.fold(Value::nothing(), |value, way| value.or(&self.expr(way)))
    }

    /// `and`, `or`: all but the last are asked what they are.
    fn first_of(&mut self, operands: &[Expr]) -> Value {
        let Some((last, others)) = operands.split_last() else { return Value::nothing() };
        let value = others.iter().fold(Value::nothing(), |value, operand| value.or(&self.condition(operand)));
        value.or(&self.expr(last))
    }

    /// A number or a text of these. Of numbers that are known to be such, a number.
    fn computed(&mut self, operands: &[Expr], at: At) -> Value {
        let mut is_number = true;
        for operand in operands {
            let value = self.expr(operand);
            is_number &= value.atoms().all(|atom| matches!(atom, Atom::Integer(_) | Atom::Plain));
            self.whole(&value, &Why::Computed, at);
        }
        if is_number { Value::plain() } else { Value::other() }
    }

    /// Lists are joined, and keep what they hold; all else is computed with.
    fn join(&mut self, operands: &[Expr], at: At) -> Value {
        let mut joined = Value::nothing();
        for operand in operands {
            for atom in self.expr(operand).atoms() {
                let value = Value::from(atom.clone());
                match atom {
                    Atom::Rows(_) | Atom::List(_) => {
                        joined.join(&self.same_elements(&value, at, "join"));
                    }
                    Atom::Integer(_) | Atom::Plain => joined.add(Atom::Plain),
                    _ => {
                        self.whole(&value, &Why::Computed, at);
                        joined.add(Atom::Other);
                    }
                }
            }
        }
        joined
    }

    fn chain(&mut self, first: &Expr, others: &[(bool, Expr)], at: At) -> Value {
        let mut before = self.condition(first);
        for (contains, other) in others {
            let other = self.condition(other);
            if *contains {
                self.contained(&before, &other, at)
            } else {
                self.compared(&before, &other, at)
            }
            before = other;
        }
        Value::plain()
    }

    /// A row is never equal to a constant, and comes before or after it whatever it holds.
    pub(crate) fn compared(&mut self, one: &Value, other: &Value, at: At) {
        if !one.is_constant() && !other.is_constant() {
            self.whole(one, &Why::Compared, at);
            self.whole(other, &Why::Compared, at);
        }
    }

    /// `value in container`
    pub(crate) fn contained(&mut self, value: &Value, container: &Value, at: At) {
        if !value.is_constant() {
            self.whole(value, &Why::Compared, at);
            self.whole(container, &Why::Compared, at);
            return;
        }
        for atom in container.atoms() {
            match atom {
                // a row contains the names of its columns, and not that of any other
                Atom::Row(node) => {
                    for key in value.atoms() {
                        if let Atom::Text(name) = key {
                            self.tree.perhaps(*node, name, at);
                        }
                    }
                }
                Atom::Value(node) => self.tree.whole(*node, Why::Compared, at),
                Atom::List(list) => {
                    let values = self.contents(*list).all();
                    self.compared(value, &values, at);
                }
                _ => {}
            }
        }
    }

    fn map(&mut self, pairs: &[(Expr, Expr)], at: At) -> Value {
        let object = self.object(at, "map");
        for (key, value) in pairs {
            let (key, value) = (self.expr(key), self.expr(value));
            self.whole(&key, &Why::Named, at);
            for atom in key.atoms() {
                match atom {
                    Atom::Text(name) => self.put_field(object, name, &value),
                    _ => self.put_rest(object, &value),
                }
            }
        }
        Atom::Map(object).into()
    }
}
