//! Statements: what they set, and what they have looked at.

use super::scope::{Blocks, Scope};
use super::value::{Atom, Object, Value};
use super::{Analysis, At, Name, Names, Rc, Visited};
use crate::error::ErrorKind;
use crate::need::Why;
use crate::syntax::{Expr, For, Macro, Statement, Target};

impl Analysis<'_> {
    /// A template from its beginning, with blocks of its own.
    pub(crate) fn template(&mut self, template: u32) {
        let mut blocks = Blocks::default();
        let templates = self.templates;
        blocks.extend(template, &templates.programs[template as usize].blocks);
        self.scope.blocks = Rc::new(blocks);
        self.rest_of_template(template, 0, None);
    }

    /// A template from a statement on, and then the one that it extends. Where several could be extended, each is looked at.
    fn rest_of_template(&mut self, template: u32, from: usize, mut parent: Option<u32>) {
        let templates = self.templates;
        self.scope.extended = parent.is_some();
        for (index, statement) in templates.programs[template as usize].body.iter().enumerate().skip(from) {
            let Statement::Extends { from, at } = statement else {
                self.statement(statement);
                continue;
            };
            let parents = self.templates_named(from, false, *at);
            match parents[..] {
                [one] if self.scope.blocks.chain.contains(&one) => {
                    let message = format!("{} extends itself", templates.sources[one as usize].0);
                    self.fault.get_or_insert((ErrorKind::Syntax, message, *at));
                    return;
                }
                [one] => {
                    self.extend(one);
                    parent = Some(one);
                }
                _ => return self.each_parent(template, index + 1, &parents),
            }
        }
        if let Some(parent) = parent {
            self.rest_of_template(parent, 0, None);
        }
    }

    fn each_parent(&mut self, template: u32, from: usize, parents: &[u32]) {
        let (before, mut after) = (self.scope.clone(), None);
        for parent in parents {
            self.scope = before.clone();
            // the engine refuses a circle
            if !self.scope.blocks.chain.contains(parent) {
                self.extend(*parent);
                self.rest_of_template(template, from, Some(*parent));
            }
            Scope::join_into(&mut after, std::mem::take(&mut self.scope));
        }
        self.scope = after.unwrap_or(before);
    }

    fn extend(&mut self, parent: u32) {
        let templates = self.templates;
        Rc::make_mut(&mut self.scope.blocks).extend(parent, &templates.programs[parent as usize].blocks);
        self.scope.extended = true;
    }

    pub(crate) fn statements(&mut self, list: &[Statement]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        if !self.descend(None) {
            return;
        }
        self.nesting += 1;
        self.unasked(|analysis| analysis.one_statement(statement));
        self.nesting -= 1;
    }

    fn one_statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Show(expr, at) => {
                let value = self.expr(expr);
                self.whole(&value, &Why::Shown, *at);
            }
            Statement::For(each) => self.each(each),
            Statement::If { test, then, otherwise } => {
                self.condition(test);
                let before = self.scope.clone();
                self.statements(then);
                let after = std::mem::replace(&mut self.scope, before);
                self.statements(otherwise);
                self.scope.join(after);
            }
            Statement::With { assignments, body } => {
                let outer = self.begin_frame();
                for (target, value, at) in assignments {
                    self.set(target, value, *at);
                }
                self.statements(body);
                self.scope = outer;
            }
            Statement::Set(target, value, at) => self.set(target, value, *at),
            Statement::SetBlock { target, filter, body, at } => {
                self.statements(body);
                let value = filter.as_ref().map_or_else(Value::other, |filter| self.expr(filter));
                self.assign(target, &value, *at);
            }
            Statement::Around { value, body, at } => {
                self.statements(body);
                let value = self.expr(value);
                self.whole(&value, &Why::Shown, *at);
            }
            Statement::Block(name) => {
                if !self.scope.extended {
                    self.block(name);
                }
            }
            Statement::Import { from, target, at } => self.import(from, target, *at),
            Statement::FromImport { from, names, at } => self.import_names(from, names, *at),
            // not at the top: whether it is reached is known only when the page is made
            Statement::Extends { from, at } => {
                let value = self.expr(from);
                self.whole(&value, &Why::Included, *at);
                self.all_whole(&Why::Included, *at);
            }
            Statement::Include { from, ignore_missing, at } => self.include(from, *ignore_missing, *at),
            Statement::Macro(made) => {
                let value = self.made(made);
                self.assign_name(&made.name, &value);
            }
            Statement::CallBlock { call, caller } => {
                let caller = self.made(caller);
                let value = self.call(call, Some(caller));
                self.whole(&value, &Why::Shown, call.at);
            }
            Statement::Do(call) => {
                self.call(call, None);
            }
        }
    }

    fn begin_frame(&mut self) -> Scope {
        let frame = self.scope.frame();
        std::mem::replace(&mut self.scope, frame)
    }

    fn set(&mut self, target: &Target, value: &Expr, at: At) {
        let value = self.expr(value);
        self.assign(target, &value, at);
    }

    pub(crate) fn assign(&mut self, target: &Target, value: &Value, at: At) {
        match target {
            Target::Name(name) => self.assign_name(name, value),
            Target::Several(targets) => {
                for (position, target) in targets.iter().enumerate() {
                    let item = self.unpacked(value, position, at);
                    self.assign(target, &item, at);
                }
            }
            Target::Field(of, name) => {
                let of = self.expr(of);
                for atom in of.atoms() {
                    if let Atom::Map(object) = atom {
                        self.put_field(*object, name, value);
                    }
                }
            }
        }
    }

    pub(crate) fn assign_name(&mut self, name: &Name, value: &Value) {
        self.scope.names.insert(name.clone(), value.clone());
        self.scope.own.insert(name.clone());
        if let Some(closure) = self.scope.closure {
            self.put_field(closure, name, value);
        }
    }

    fn each(&mut self, each: &Rc<For>) {
        let over = self.expr(&each.over);
        let items = self.elements(&over, each.at);
        if let Some(filter) = &each.filter {
            let outer = self.begin_frame();
            self.assign(&each.target, &items, each.at);
            self.condition(filter);
            self.scope = outer;
        }
        let object = self.object(each.at, "loop");
        self.loops.insert(object, each.clone());
        self.iterate(object, each, &items);
        let without = self.scope.clone();
        self.statements(&each.otherwise);
        self.scope.join(without);
    }

    /// The body of a loop over these items.
    fn iterate(&mut self, object: Object, each: &For, items: &Value) {
        self.put_rest(object, items);
        let outer = self.begin_frame();
        self.scope.innermost = Some(object);
        self.scope.names.insert("loop".into(), Atom::Loop(object).into());
        self.assign(&each.target, items, each.at);
        self.statements(&each.body);
        self.scope = outer;
    }

    /// `loop(items)`
    pub(crate) fn recurse(&mut self, object: Object, over: &Value) {
        let Some(each) = self.loops.get(&object).cloned() else { return };
        let items = self.elements(over, each.at);
        if let Visited::First(_) = self.visit((each.at, "loop"), &items) {
            self.iterate(object, &each, &items);
        }
    }

    /// A macro with what it sees where it stands. What its frame sets later, it sees too.
    fn made(&mut self, made: &Rc<Macro>) -> Value {
        let object = self.object(made.at, "macro");
        let new = self.object(made.at, "closure");
        let closure = *self.scope.closure.get_or_insert(new);
        for (name, value) in self.scope.names.clone() {
            self.put_field(closure, &name, &value);
        }
        self.macros.insert(object, (made.clone(), closure));
        Atom::Macro(object).into()
    }

    pub(crate) fn block(&mut self, name: &Name) {
        let Some(block) = self.scope.blocks.current(name) else { return };
        let outer = self.begin_frame();
        self.scope.block = Some(name.clone());
        self.scope.extended = false;
        if let Visited::First(_) = self.visit((block.at, "block"), &Value::nothing()) {
            self.statements(&block.body);
        }
        self.scope = outer;
    }

    /// `super()`
    pub(crate) fn block_above(&mut self) {
        let Some(name) = self.scope.block.clone() else { return };
        let above = Rc::new(self.scope.blocks.above(&name));
        let below = std::mem::replace(&mut self.scope.blocks, above);
        self.block(&name);
        self.scope.blocks = below;
    }

    fn import(&mut self, from: &Expr, target: &Target, at: At) {
        let outer = self.begin_frame();
        self.include(from, false, at);
        let module = self.object(at, "module");
        for name in std::mem::take(&mut self.scope.own) {
            if let Some(value) = self.scope.names.get(&name).cloned() {
                self.put_field(module, &name, &value);
            }
        }
        self.scope = outer;
        self.assign(target, &Atom::Map(module).into(), at);
    }

    fn import_names(&mut self, from: &Expr, names: &[(Name, Name)], at: At) {
        let outer = self.begin_frame();
        self.include(from, false, at);
        let found: Vec<Value> = names.iter().map(|(name, _)| self.lookup(name)).collect();
        self.scope = outer;
        for ((_, alias), value) in names.iter().zip(found) {
            self.assign_name(alias, &value);
        }
    }

    fn include(&mut self, from: &Expr, ignore_missing: bool, at: At) {
        let before = self.scope.clone();
        let templates = self.templates_named(from, ignore_missing, at);
        let is_certain = matches!(from, Expr::Text(_)) && !templates.is_empty();
        let mut after = (!is_certain).then(|| before.clone());
        for template in templates {
            self.scope = before.clone();
            self.include_one(template);
            Scope::join_into(&mut after, std::mem::take(&mut self.scope));
        }
        self.scope = after.unwrap_or(before);
    }

    /// An included template sees the names where it is included, and sets names there.
    fn include_one(&mut self, template: u32) {
        let outer = self.scope.clone();
        self.scope.own.clear();
        self.scope.closure = None;
        match self.visit((At { template, offset: 0 }, "include"), &Value::nothing()) {
            Visited::First(visit) => {
                self.template(template);
                self.leave(template, visit);
            }
            Visited::Again(visit) => self.find_left(template, visit),
        }
        self.scope.own.extend(outer.own);
        let Scope { names, own, .. } = std::mem::take(&mut self.scope);
        self.scope = Scope { names, own, ..outer };
    }

    /// Notes what an included template has set.
    fn leave(&mut self, template: u32, visit: usize) {
        let set: Names = self.scope.own.iter().map(|name| (name.clone(), self.lookup(name))).collect();
        let left = self.left.entry(template).or_default();
        for (name, value) in &set {
            self.has_grown |= left.entry(name.clone()).or_default().join(value);
        }
        self.visits[visit] = Some(set);
    }

    /// Sets what an included template has set that was looked at before; or what it may set, where it is still being looked at.
    fn find_left(&mut self, template: u32, visit: usize) {
        let set = match &self.visits[visit] {
            Some(set) => set.clone(),
            None => {
                let left = self.left.get(&template).cloned().unwrap_or_default();
                left.into_iter().map(|(name, value)| (name.clone(), value.or(&self.lookup(&name)))).collect()
            }
        };
        for (name, value) in set {
            self.scope.names.insert(name.clone(), value);
            self.scope.own.insert(name);
        }
    }

    pub(crate) fn lookup(&self, name: &Name) -> Value {
        self.scope.names.get(name).cloned().unwrap_or_else(Value::other)
    }

    /// The templates that an expression can name. Where that is any, all is needed.
    fn templates_named(&mut self, from: &Expr, ignore_missing: bool, at: At) -> Vec<u32> {
        let value = self.expr(from);
        let mut names = value.clone();
        for atom in value.atoms() {
            if let Atom::List(list) = atom {
                names.join(&self.contents(*list).all());
            }
        }
        let (mut found, mut missing) = (Vec::new(), None);
        for atom in names.atoms() {
            match atom {
                Atom::Text(name) => match self.templates.numbers.get(&**name) {
                    Some(template) => found.push(*template),
                    None => missing = Some(name.to_string()),
                },
                Atom::Integer(_) | Atom::Plain | Atom::List(_) | Atom::Macro(_) | Atom::Loop(_) => {}
                Atom::Other | Atom::Rows(_) | Atom::Row(_) | Atom::Value(_) | Atom::Map(_) => {
                    self.all_whole(&Why::Included, at);
                }
            }
        }
        let is_constant = matches!(from, Expr::Text(_) | Expr::List(..));
        if let (Some(missing), true, true, false) = (missing, is_constant, found.is_empty(), ignore_missing) {
            let message = format!("there is no template {missing}");
            self.fault.get_or_insert((ErrorKind::Missing, message, at));
        }
        found
    }
}
