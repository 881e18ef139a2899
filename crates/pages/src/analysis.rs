//! Which columns a page can touch: its template, and all that it extends, includes and imports, run with sets of possible values.
//!
//! A value is the set of what it can be (`value.rs`), a row among them known by its place in the tree of needs. Names mean what the scope
//! says (`scope.rs`), and what is set in one of two ways holds both. Conditions are not decided: both ways are taken. Lists, maps and
//! namespaces are known by where the templates make them, and hold all that is ever put there; since that may be found out late, the page
//! is looked at again until nothing new is found. A macro, a block or an included template that is called again with the same names is not
//! looked at again, so that recursion ends, and work does not multiply. What cannot be known is needed as a whole: too much is slow, too
//! little would be wrong.

mod calls;
mod expressions;
mod filters;
mod names;
mod paths;
mod predicates;
mod scope;
mod set;
mod statements;
mod tree;
mod value;

use crate::error::{Error, ErrorKind, Place};
use crate::need::{Column, Need, Whole, Why};
use crate::syntax::{At, For, Macro, Name, Program};
use names::Check;
pub(crate) use names::Words;
use scope::{Blocks, Names, Scope, Visit};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use tree::Tree;
use value::{Atom, Contents, Node, Object, Value};

/// How much is looked at for a page, in nodes of its templates. Where that does not suffice, all is needed.
pub(crate) const PAGE_STEPS_MAX: usize = 1_000_000;
/// How deep the analysis calls itself: expressions, statements, and what they call.
pub(crate) const NESTING_MAX: usize = 400;

/// The templates of a site, each with its name and text.
#[derive(Default)]
pub(crate) struct Templates {
    pub(crate) programs: Vec<Program>,
    pub(crate) sources: Vec<(String, String)>,
    pub(crate) numbers: BTreeMap<String, u32>,
}

impl Templates {
    pub(crate) fn place(&self, at: At) -> Place {
        let (file, text) = &self.sources[at.template as usize];
        Place::in_text(file, text, at.offset as usize)
    }
}

/// What is known of a query before the page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Many,
    One,
    /// What a function returns: any number of rows, or one, or a value.
    Any,
}

/// What a page needs of each query. Its names are held against words, besides the queries' and those that its path binds.
pub(crate) fn needs(
    templates: &Templates,
    page: u32,
    (queries, bound): (&[(&str, Rows)], &[String]),
    words: Option<&Words>,
) -> Result<BTreeMap<String, Need>, Error> {
    let mut analysis = Analysis::new(templates, words);
    analysis.give(page, bound);
    let mut roots = Vec::new();
    for (name, rows) in queries {
        let root = analysis.tree.root();
        let atom = match rows {
            Rows::Many => Atom::Rows(root),
            Rows::One => Atom::Row(root),
            Rows::Any => Atom::Value(root),
        };
        analysis.names.insert((*name).into(), atom.into());
        roots.push(((*name).to_owned(), root));
    }
    analysis.run(page);
    if let Some((kind, message, at)) = analysis.fault {
        return Err(Error::new(kind, templates.place(at), message));
    }
    if let Some((at, message)) = analysis.check.fault() {
        return Err(Error::new(ErrorKind::Template, templates.place(at), message));
    }
    let mut found = Found { templates, tree: &analysis.tree, places: BTreeMap::new() };
    Ok(roots.into_iter().map(|(name, root)| (name, found.need(root))).collect())
}

/// The needs that were found, with their places.
struct Found<'a> {
    templates: &'a Templates,
    tree: &'a Tree,
    places: BTreeMap<At, Arc<Place>>,
}

impl Found<'_> {
    fn need(&mut self, node: Node) -> Need {
        let entry = self.tree.entry(node);
        let place = |at| self.templates.place(at);
        let whole = |known: &Option<(Why, At)>| known.clone().map(|(why, at)| Whole { why, place: place(at) });
        let (whole, whole_if_one) = (whole(&entry.whole), whole(&entry.whole_if_one));
        let columns = entry.columns.iter().map(|(name, node)| (name.to_string(), self.column(*node)));
        Need { columns: columns.collect(), whole, whole_if_one }
    }

    fn column(&mut self, node: Node) -> Column {
        let entry = self.tree.entry(node);
        let place = self.place(entry.at).as_ref().clone();
        let named = entry.named.iter().map(|at| self.place(*at)).collect();
        let of_one = entry.named.difference(&entry.of_element).map(|at| self.place(*at)).collect();
        Column { place, named, of_one, need: self.need(node) }
    }

    fn place(&mut self, at: At) -> Arc<Place> {
        self.places.entry(at).or_insert_with(|| Arc::new(self.templates.place(at))).clone()
    }
}

enum Visited {
    First(usize),
    Again(usize),
}

struct Analysis<'a> {
    templates: &'a Templates,
    tree: Tree,
    /// The queries and what else every page has, which every scope begins with.
    names: Names,
    check: Check<'a>,
    scope: Scope,
    numbers: BTreeMap<(At, &'static str), Object>,
    contents: Vec<Contents>,
    macros: BTreeMap<Object, (Rc<Macro>, Object)>,
    loops: BTreeMap<Object, Rc<For>>,
    /// What an included template leaves set, for where it includes itself.
    left: BTreeMap<u32, Names>,
    visited: HashMap<Visit, usize>,
    /// What each visit has set, once it is over.
    visits: Vec<Option<Names>>,
    /// An object or what is left holds more than at the beginning of this run.
    has_grown: bool,
    steps: usize,
    nesting: usize,
    /// What is wrong whatever the page is made of.
    fault: Option<(ErrorKind, String, At)>,
}

impl<'a> Analysis<'a> {
    fn new(templates: &'a Templates, words: Option<&'a Words>) -> Analysis<'a> {
        Analysis {
            templates,
            tree: Tree::default(),
            names: BTreeMap::new(),
            check: Check::new(words),
            scope: Scope::default(),
            numbers: BTreeMap::new(),
            contents: Vec::new(),
            macros: BTreeMap::new(),
            loops: BTreeMap::new(),
            left: BTreeMap::new(),
            visited: HashMap::new(),
            visits: Vec::new(),
            has_grown: false,
            steps: 0,
            nesting: 0,
            fault: None,
        }
    }

    fn run(&mut self, page: u32) {
        loop {
            self.has_grown = false;
            self.check.begin();
            self.visited.clear();
            self.visits.clear();
            self.scope = Scope { names: self.names.clone(), ..Scope::default() };
            self.template(page);
            if !self.has_grown || self.is_exhausted() {
                break;
            }
        }
        if self.is_exhausted() {
            self.all_whole(&Why::TooMuch, At { template: page, offset: 0 });
        }
    }

    /// Not all is looked at: any column may be needed, and any name may be set.
    fn all_whole(&mut self, why: &Why, at: At) {
        self.check.give_up();
        self.tree.all_whole(why, at);
    }

    fn is_exhausted(&self) -> bool {
        self.steps > PAGE_STEPS_MAX
    }

    /// Whether there is room to go one level deeper. Where there is none, all is needed.
    fn descend(&mut self, at: Option<At>) -> bool {
        self.steps += 1;
        if self.nesting >= NESTING_MAX {
            self.all_whole(&Why::TooDeep, at.unwrap_or(At { template: 0, offset: 0 }));
        }
        !self.is_exhausted() && self.nesting < NESTING_MAX
    }

    /// Notes that this is looked at with the names that are in scope, and says whether it was before.
    fn visit(&mut self, what: (At, &'static str), items: &Value) -> Visited {
        self.steps += self.scope.names.len();
        let Scope { names, block, blocks, innermost, .. } = &self.scope;
        let Blocks { chain, depths, .. } = &**blocks;
        let (names, block, chain, depths) = (names.clone(), block.clone(), chain.clone(), depths.clone());
        let new = self.visits.len();
        let visit = Visit { what, items: items.clone(), names, innermost: *innermost, block, chain, depths };
        match *self.visited.entry(visit).or_insert(new) {
            known if known < new => Visited::Again(known),
            _ => {
                self.visits.push(None);
                Visited::First(new)
            }
        }
    }

    /// The object that is made here.
    fn object(&mut self, at: At, kind: &'static str) -> Object {
        let next = Object(self.contents.len() as u32);
        let object = *self.numbers.entry((at, kind)).or_insert(next);
        if object == next {
            self.contents.push(Contents::default());
        }
        object
    }

    /// An object that no template makes.
    fn new_object(&mut self, contents: Contents) -> Object {
        self.contents.push(contents);
        Object(self.contents.len() as u32 - 1)
    }

    fn contents(&self, object: Object) -> &Contents {
        &self.contents[object.0 as usize]
    }

    fn put_rest(&mut self, object: Object, value: &Value) {
        self.has_grown |= self.contents[object.0 as usize].rest.join(value);
    }

    fn put_field(&mut self, object: Object, name: &Name, value: &Value) {
        let fields = &mut self.contents[object.0 as usize].fields;
        match fields.get_mut(name) {
            Some(field) => self.has_grown |= field.join(value),
            None => {
                fields.insert(name.clone(), value.clone());
                self.has_grown = true;
            }
        }
    }

    /// A list made here that holds these, in no order that is known.
    fn list_of(&mut self, items: &Value, at: At, kind: &'static str) -> Value {
        let list = self.object(at, kind);
        self.put_rest(list, items);
        Atom::List(list).into()
    }

    /// A list made here with these at its positions.
    fn tuple_of(&mut self, items: &[Value], at: At, kind: &'static str) -> Value {
        let list = self.object(at, kind);
        for (position, item) in items.iter().enumerate() {
            self.put_field(list, &position.to_string().into(), item);
        }
        Atom::List(list).into()
    }
}
