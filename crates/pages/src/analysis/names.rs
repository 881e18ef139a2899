//! Names that nothing defines, and fields that the page's own objects have not.
//!
//! A name is a mistake where it is nothing whenever the page comes to it: one that is found once, or that may have been set, is none. A
//! question is no mistake either. `is defined` and `default` ask whether a name is there; a condition or a comparison asks what it is, of
//! a name that the site has on other pages or ways. What was asked may be missing from there on.

use super::set;
use super::value::{Atom, Contents, Object, Value};
use super::{Analysis, At, Name, Templates};
use crate::provided::{Fields, Provided, Vocabulary};
use crate::render;
use crate::syntax::Expr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a loop has, as the engine gives it.
const LOOP: [&str; 11] =
    ["index0", "index", "length", "revindex", "revindex0", "first", "last", "depth", "depth0", "previtem", "nextitem"];
/// What the engine defines in some places.
const OF_PLACES: [&str; 2] = ["caller", "loop"];
/// From which likeness on a name may be meant by another.
const LIKENESS_MIN: f64 = 0.6;

/// What the names of a site's templates are held against.
pub(crate) struct Words {
    provided: &'static [Provided],
    functions: BTreeSet<String>,
    /// Whether there may be functions that are not known.
    has_any_function: bool,
    /// What any page or template of the site defines.
    of_site: BTreeSet<Name>,
}

impl Words {
    /// Of templates, and the names that the heads and paths of the pages define.
    pub(crate) fn of<'n>(
        templates: &Templates,
        of_pages: impl Iterator<Item = &'n str>,
        vocabulary: &Vocabulary,
    ) -> Words {
        let environment = render::environment(Arc::default());
        let globals = environment.globals().map(|(name, _)| name.to_owned());
        let mut of_site: BTreeSet<Name> = of_pages.chain(OF_PLACES).map(Name::from).collect();
        templates.programs.iter().for_each(|program| set::names_of(program, &mut of_site));
        Words {
            provided: vocabulary.provided,
            functions: globals.chain(vocabulary.functions.iter().flatten().cloned()).collect(),
            has_any_function: vocabulary.functions.is_none(),
            of_site,
        }
    }
}

/// What a template asks where a name stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// Nothing: it takes the name to be there.
    #[default]
    None,
    /// What it is.
    What,
    /// Whether it is there.
    Whether,
}

/// What has been found out about names.
pub(crate) struct Check<'a> {
    words: Option<&'a Words>,
    question: Question,
    /// The template of the page.
    page: String,
    /// The objects that have no other fields than are known, by what they are called.
    closed: BTreeMap<Object, String>,
    found: BTreeSet<At>,
    /// What is to be said of names that were not found.
    missing: BTreeMap<At, String>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(words: Option<&'a Words>) -> Check<'a> {
        Check {
            words,
            question: Question::None,
            page: String::new(),
            closed: BTreeMap::new(),
            found: BTreeSet::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Forgets what was found out while not all was known.
    pub(crate) fn begin(&mut self) {
        self.found.clear();
        self.missing.clear();
    }

    /// From here on nothing is certain.
    pub(crate) fn give_up(&mut self) {
        self.words = None;
    }

    /// The first name that is found nowhere where it stands.
    pub(crate) fn fault(&mut self) -> Option<(At, String)> {
        self.words?;
        let missing = std::mem::take(&mut self.missing);
        missing.into_iter().find(|(at, _)| !self.found.contains(at))
    }

    fn is_function(&self, name: &str) -> bool {
        self.words.is_some_and(|words| words.functions.contains(name))
    }

    /// Whether a name may be missing where it stands.
    fn is_asked(&self, name: &Name) -> bool {
        match self.question {
            Question::None => false,
            Question::What => self.words.is_none_or(|words| words.of_site.contains(name)),
            Question::Whether => true,
        }
    }
}

impl Analysis<'_> {
    /// Defines what every page has, and what the path of this one binds.
    pub(crate) fn give(&mut self, page: u32, bound: &[String]) {
        self.check.page.clone_from(&self.templates.sources[page as usize].0);
        for provided in self.check.words.map_or(&[][..], |words| words.provided) {
            let value = self.provided(provided, provided.name);
            self.names.insert(provided.name.into(), value);
        }
        self.names.extend(bound.iter().map(|name| (Name::from(&**name), Value::other())));
    }

    fn provided(&mut self, provided: &Provided, path: &str) -> Value {
        match provided.fields {
            Fields::Any => Value::other(),
            Fields::Only(fields) => self.closed(fields, path.to_owned()),
            Fields::Each(fields) => {
                let each = self.closed(fields, format!("what {path} holds"));
                let map = self.new_object(Contents { rest: each, ..Contents::default() });
                Value::from(Atom::Map(map))
            }
        }
    }

    fn closed(&mut self, fields: &[Provided], path: String) -> Value {
        let fields =
            fields.iter().map(|field| (field.name.into(), self.provided(field, &format!("{path}.{}", field.name))));
        let fields = fields.collect();
        let map = self.new_object(Contents { fields, ..Contents::default() });
        self.check.closed.insert(map, path);
        Value::from(Atom::Map(map)).or(&Value::plain())
    }

    /// What a name means.
    pub(crate) fn name(&mut self, name: &Name, at: At) -> Value {
        match self.scope.names.get(name) {
            Some(value) => {
                self.check.found.insert(at);
                value.clone()
            }
            None if self.check.is_function(name) => Value::other(),
            None => {
                self.undefined(name, &BTreeSet::new(), at);
                Value::other()
            }
        }
    }

    /// A name that is called and nothing else defines.
    pub(crate) fn function(&mut self, name: &Name, at: At) {
        if let Some(words) =
            self.check.words.filter(|words| !words.has_any_function && !words.functions.contains(&**name))
        {
            self.undefined(name, &words.functions, at);
        }
    }

    /// A name that is not in scope. What is meant by it may be one that is, or one of these functions.
    fn undefined(&mut self, name: &Name, functions: &BTreeSet<String>, at: At) {
        let Some(words) = self.check.words else { return };
        if self.check.is_asked(name) {
            self.scope.names.insert(name.clone(), Value::other());
            return;
        }
        let known = self.scope.names.keys().map(|known| &**known);
        let more = match nearest(name, known.chain(functions.iter().map(String::as_str))) {
            _ if words.of_site.contains(name) => {
                format!(", which the site has elsewhere; {{% if {name} %}} asks for what may be missing")
            }
            Some(nearest) => format!("; perhaps {nearest} is meant"),
            None => String::new(),
        };
        self.check.missing.insert(at, format!("{} has no {name}{more}", self.check.page));
    }

    /// Notes whether a field is there, of what can be nothing but objects whose fields are all known.
    pub(crate) fn field(&mut self, of: &Value, name: &Name, at: At) {
        if self.check.words.is_none() {
            return;
        }
        let mut closed = Vec::new();
        for atom in of.atoms() {
            match atom {
                Atom::Plain => {}
                Atom::Map(object) if self.check.closed.contains_key(object) => closed.push(atom.clone()),
                Atom::Loop(_) => closed.push(atom.clone()),
                _ => return,
            }
        }
        for atom in closed {
            self.field_of(&atom, name, at);
        }
    }

    fn field_of(&mut self, atom: &Atom, name: &Name, at: At) {
        let (Atom::Map(object) | Atom::Loop(object)) = atom else { return };
        let (of, own) = match self.check.closed.get(object) {
            Some(of) => (&**of, &[][..]),
            None => ("loop", &LOOP[..]),
        };
        let fields = &self.contents(*object).fields;
        if fields.contains_key(name) || own.contains(&&**name) {
            self.check.found.insert(at);
            return;
        }
        if self.check.question == Question::Whether {
            self.put_field(*object, name, &Value::other());
            return;
        }
        let known = || own.iter().copied().chain(fields.keys().map(|known| &**known));
        let more = match nearest(name, known()) {
            Some(nearest) => format!("; perhaps {nearest} is meant"),
            None => format!(", but {}", known().collect::<Vec<_>>().join(", ")),
        };
        self.check.missing.insert(at, format!("{of} has no {name}{more}"));
    }

    /// An expression of which it is asked what it is, and no more.
    pub(crate) fn condition(&mut self, expr: &Expr) -> Value {
        self.asked(Question::What, expr)
    }

    pub(crate) fn asked(&mut self, question: Question, expr: &Expr) -> Value {
        let outer = self.check.question;
        self.check.question = outer.max(question);
        let value = self.expr(expr);
        self.check.question = outer;
        value
    }

    /// What a question leads to, but is not asked of.
    pub(crate) fn unasked(&mut self, look: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.check.question);
        look(self);
        self.check.question = outer;
    }
}

fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likely = known.map(|known| (strsim::jaro_winkler(known, name), known));
    let (likeness, nearest) = likely.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness > LIKENESS_MIN).then_some(nearest)
}
