//! Which relations run code that PostgreSQL does not ship when they are read or written.
//!
//! Everything here rests on OIDs: PostgreSQL gives those below [`FIRST_OWN_OID`] to what it ships, and notes in
//! `pg_depend` whatever else an object refers to. What it ships itself it does not note, so that references to those of
//! its own functions that see or change a session's state are looked for in the trees it keeps expressions as. What is
//! not understood counts as code.

use crate::code_text;
use memchr::memmem;
use std::collections::{HashMap, HashSet};
use thalweg_rows::oid::Oid;

/// The least OID of an object that PostgreSQL did not bring along (source: PostgreSQL's `access/transam.h`).
pub(crate) const FIRST_OWN_OID: Oid = 16384;

/// The schema of what PostgreSQL ships. In a search path it stands first, unless it is named at another place.
pub(crate) const SHIPPED_SCHEMA: &str = "pg_catalog";

/// What runs besides what PostgreSQL ships and is harmless, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runs {
    /// Nothing else does.
    Nothing,
    /// What asks for settings, as policies may: they must be what the request says, and it changes none.
    Questions,
    /// What could read or change anything in a session.
    Anything,
}

/// What a name in SQL may mean because the database has functions, casts or operators of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnCode {
    /// Whether an aggregate's bare name (`sum`, `avg`, `count`, `max`, `min`) may mean a function of the database's own.
    pub aggregates: bool,
    /// Whether a cast between two of PostgreSQL's own types may run a function of the database's own.
    pub casts: bool,
    /// Whether there are text search parsers or templates of the database's own.
    pub text_search: bool,
    /// The operators of the database's own, by name.
    operators: HashMap<Box<str>, Vec<LeftOperand>>,
}

/// What an operator of the database's own takes on its left side, or what becomes that without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LeftOperand {
    /// The type, or 0 for any type.
    type_oid: Oid,
    /// Whether PostgreSQL ships an operator of this name that takes this very type on both sides, which it prefers where
    /// the other side is a parameter or of the same type.
    is_shipped: bool,
}

impl OwnCode {
    /// Whether the database has operators of this name of its own.
    pub fn has_operators(&self, name: &str) -> bool {
        self.operators.contains_key(name)
    }

    /// Whether `left name right` may run an operator of the database's own, where `right` is a parameter or of the same
    /// type as `left`.
    pub fn has_operator(&self, name: &str, left: Oid) -> bool {
        self.operands(name).any(|known| known.type_oid == 0 || (known.type_oid == left && !known.is_shipped))
    }

    /// Whether `left name right` may run an operator of the database's own, whatever `right` is.
    pub fn has_any_operator(&self, name: &str, left: Oid) -> bool {
        self.operands(name).any(|known| known.type_oid == 0 || known.type_oid == left)
    }

    fn operands(&self, name: &str) -> impl Iterator<Item = &LeftOperand> {
        self.operators.get(name).into_iter().flatten()
    }

    pub(crate) fn add_operator(&mut self, name: &str, type_oid: Oid, is_shipped: bool) {
        self.operators.entry(name.into()).or_default().push(LeftOperand { type_oid, is_shipped });
    }
}

/// Something that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Deed {
    /// Values of a type are read, written, compared or converted.
    Use(Oid),
    /// A relation is read.
    Read(Oid),
    /// A relation is written to, in any way.
    Write(Oid),
}

/// What is known of deeds and of what they bring about, as the catalogs tell it.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// What functions run: those that PostgreSQL ships and that are not harmless, and those of the database's own that do not
    /// run anything.
    functions: HashMap<Oid, Runs>,
    /// Those that draw numbers of sequences, which is harmless where something is written, and nobody's to do where it is read.
    drawing: HashSet<Oid>,
    /// What runs something by itself.
    roots: Vec<(Deed, Runs)>,
    /// A deed and one that it is part of.
    parts: Vec<(Deed, Deed)>,
    /// Whether something is not as this understands it, so that everything counts as running code.
    everything: bool,
    /// What names may mean.
    pub(crate) own: OwnCode,
}

impl Code {
    /// Notes a function that PostgreSQL ships and that is not harmless.
    pub(crate) fn take_shipped(&mut self, function: Oid, kind: &str) {
        self.functions.insert(function, if kind == "asks" { Runs::Questions } else { Runs::Anything });
        if kind == "draws" {
            self.drawing.insert(function);
        }
    }

    /// Takes a function in SQL of the database's own, with its body and the names of its arguments; whether it can do no more
    /// than ask for settings.
    pub(crate) fn take_in_sql(&mut self, function: Oid, body: &str, arguments: &[&str]) -> bool {
        let only_asks = code_text::only_asks(body, arguments);
        if only_asks {
            self.functions.insert(function, Runs::Questions);
        }
        only_asks
    }

    /// Lets everything count as running code.
    pub(crate) fn suspect_everything(&mut self) {
        self.everything = true;
    }

    /// Takes a row of `Part::Uses`: what the kind says about `a`, and `b` behind it, which may be a function.
    pub(crate) fn take_use(&mut self, kind: &str, a: Oid, b: Oid, is_function: bool) {
        use Deed::{Read, Write};
        let direct = deed(kind, a);
        match (kind, direct) {
            (_, Some(direct)) if b == 0 => self.roots.push((direct, Runs::Anything)),
            (_, Some(direct)) if is_function => self.roots.push((direct, self.of_function(b))),
            (_, Some(direct)) => self.parts.push((Deed::Use(b), direct)),
            // policies are asked, if there are any
            ("secured", _) => self.roots.push((Read(a), Runs::Questions)),
            ("policy", _) => self.parts.push((Read(b), Read(a))),
            // the views that PostgreSQL ships show settings, sessions and locks
            ("view", _) if b < FIRST_OWN_OID => self.roots.push((Read(a), Runs::Anything)),
            ("view", _) => self.parts.extend([(Read(b), Read(a)), (Write(b), Write(a))]),
            ("child", _) => self.parts.extend([(Read(b), Read(a)), (Write(b), Write(a))]),
            // a partition's rows must satisfy what its parent's key says, and triggers are made for both
            ("partition", _) => {
                self.parts.extend([(Read(b), Read(a)), (Write(b), Write(a)), (Read(a), Read(b)), (Write(a), Write(b))]);
            }
            // a is referenced by b: each looks for rows in the other
            ("key", _) => self.parts.extend([(Read(b), Write(a)), (Read(a), Write(b))]),
            ("cascade", _) => self.parts.extend([(Write(b), Write(a)), (Read(a), Write(b))]),
            ("aggregates", _) => self.own.aggregates = true,
            ("casts", _) => self.own.casts = true,
            ("text search", _) => self.own.text_search = true,
            _ => self.everything = true,
        }
    }

    /// Takes an expression that is evaluated when something is done, as the tree it is kept as.
    pub(crate) fn take_expression(&mut self, kind: &str, of: Oid, tree: &str) {
        match deed(kind, of) {
            // what PostgreSQL ships as a relation is not looked into
            Some(deed) if names_shipped_relation(tree) => self.roots.push((deed, Runs::Anything)),
            Some(deed) => self.take_tree(deed, tree),
            None => self.everything = true,
        }
    }

    /// Takes the query of a view.
    pub(crate) fn take_view(&mut self, view: Oid, tree: &str) {
        self.take_tree(Deed::Read(view), tree);
        // to write through a view to what PostgreSQL keeps its own state in is to change more than rows
        if names_shipped_relation(tree) {
            self.roots.push((Deed::Write(view), Runs::Anything));
        }
    }

    /// Notes what a tree runs for a deed, which in most is nothing.
    fn take_tree(&mut self, deed: Deed, tree: &str) {
        let runs = self.of_tree(deed, tree);
        if runs > Runs::Nothing {
            self.roots.push((deed, runs));
        }
    }

    /// What the functions run that a tree calls for a deed.
    fn of_tree(&self, deed: Deed, tree: &str) -> Runs {
        // of functions and operators, and of aggregates and window functions
        let functions = numbers(tree, "funcid ").chain(numbers(tree, "fnoid "));
        let functions =
            functions.filter(|function| !matches!(deed, Deed::Write(_)) || !self.drawing.contains(function));
        functions.map(|function| self.of_function(function)).max().unwrap_or(Runs::Nothing)
    }

    fn of_function(&self, function: Oid) -> Runs {
        let is_own = function >= FIRST_OWN_OID;
        self.functions.get(&function).copied().unwrap_or(if is_own { Runs::Anything } else { Runs::Nothing })
    }

    /// What runs something, by itself or by what is part of it.
    pub(crate) fn trace(mut self) -> (Running, OwnCode) {
        self.parts.sort_unstable();
        self.parts.dedup();
        let running = Running {
            questions: self.reached(Runs::Questions),
            anything: self.reached(Runs::Anything),
            everything: self.everything,
        };
        (running, self.own)
    }

    /// What runs as much as this, or more.
    fn reached(&self, least: Runs) -> HashSet<Deed> {
        let mut found = HashSet::new();
        let mut next: Vec<Deed> = self.roots.iter().filter(|(_, runs)| *runs >= least).map(|(deed, _)| *deed).collect();
        while let Some(deed) = next.pop() {
            if !found.insert(deed) {
                continue;
            }
            // what is written is read: its conditions, its indexes, what is returned of it
            if let Deed::Read(relation) = deed {
                next.push(Deed::Write(relation));
            }
            let first = self.parts.partition_point(|(part, _)| *part < deed);
            let wholes = self.parts[first..].iter().take_while(|(part, _)| *part == deed);
            next.extend(wholes.map(|(_, whole)| *whole));
        }
        found
    }
}

/// What runs something.
#[derive(Debug)]
pub(crate) struct Running {
    /// What asks for settings, or runs more than that.
    questions: HashSet<Deed>,
    anything: HashSet<Deed>,
    everything: bool,
}

impl Running {
    /// What a relation runs when it is read, and when it is written to.
    pub(crate) fn of_relation(&self, relation: Oid) -> (Runs, Runs) {
        if self.everything || relation < FIRST_OWN_OID {
            return (Runs::Anything, Runs::Anything);
        }
        let reading = self.of(Deed::Read(relation));
        (reading, reading.max(self.of(Deed::Write(relation))))
    }

    fn of(&self, deed: Deed) -> Runs {
        match (self.anything.contains(&deed), self.questions.contains(&deed)) {
            (true, _) => Runs::Anything,
            (false, true) => Runs::Questions,
            (false, false) => Runs::Nothing,
        }
    }
}

fn deed(kind: &str, oid: Oid) -> Option<Deed> {
    Some(match kind {
        "use" => Deed::Use(oid),
        "read" => Deed::Read(oid),
        "write" => Deed::Write(oid),
        _ => return None,
    })
}

/// Whether a tree reads a relation that PostgreSQL ships. Subqueries have 0.
fn names_shipped_relation(tree: &str) -> bool {
    numbers(tree, "relid ").any(|relation| (1..FIRST_OWN_OID).contains(&relation))
}

/// The numbers in the fields of a tree whose names end so (source: PostgreSQL's `nodes/outfuncs.c`). A number that is cut
/// off or too large for an OID is taken for one of the database's own objects.
fn numbers<'t>(tree: &'t str, name: &'static str) -> impl Iterator<Item = Oid> + 't {
    memmem::find_iter(tree.as_bytes(), name).map(move |at| {
        let value = &tree[at + name.len()..];
        let digits = value.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
        value[..digits].parse().unwrap_or(Oid::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::Runs::{Anything, Nothing, Questions};
    use super::*;

    /// What reading and writing the relation run.
    fn of(uses: &[(&str, Oid, Oid)], relation: Oid) -> (Runs, Runs) {
        let mut code = Code::default();
        uses.iter().for_each(|&(kind, a, b)| code.take_use(kind, a, b, false));
        code.trace().0.of_relation(relation)
    }

    const TABLE: Oid = 20_001;
    const OTHER: Oid = 20_002;
    const THIRD: Oid = 20_003;
    const TYPE: Oid = 30_001;
    const ARRAY: Oid = 30_002;

    #[test]
    fn what_nothing_is_known_of_is_harmless_unless_something_is_not_understood() {
        assert_eq!(of(&[], TABLE), (Nothing, Nothing));
        assert_eq!(of(&[("new in version 30", 0, 0)], TABLE), (Anything, Anything));
        // what PostgreSQL ships as a relation is not looked into
        assert_eq!(of(&[], 12_000), (Anything, Anything));
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(of(&[("read", TABLE, 0)], TABLE), (Anything, Anything));
        assert_eq!(of(&[("write", TABLE, 0)], TABLE), (Nothing, Anything));
    }

    #[test]
    fn types_are_followed_to_the_columns_that_hold_them() {
        let uses = [("use", ARRAY, TYPE), ("read", TABLE, ARRAY)];
        assert_eq!(of(&uses, TABLE), (Nothing, Nothing));
        assert_eq!(of(&[uses[0], uses[1], ("use", TYPE, 0)], TABLE), (Anything, Anything));
    }

    #[test]
    fn views_do_what_is_done_to_their_relations() {
        let chain = [("view", THIRD, OTHER), ("view", OTHER, TABLE)];
        assert_eq!(of(&chain, THIRD), (Nothing, Nothing));
        assert_eq!(of(&[chain[0], chain[1], ("write", TABLE, 0)], THIRD), (Nothing, Anything));
        assert_eq!(of(&[chain[0], chain[1], ("read", TABLE, 0)], THIRD), (Anything, Anything));
        assert_eq!(of(&[("view", TABLE, 12_345)], TABLE), (Anything, Anything));
        // of what looks at each other, nothing hangs
        assert_eq!(
            of(&[("view", TABLE, OTHER), ("view", OTHER, TABLE), ("read", OTHER, 0)], TABLE),
            (Anything, Anything)
        );
    }

    #[test]
    fn parents_do_what_is_done_to_their_children_and_partitions_share_it() {
        assert_eq!(of(&[("child", TABLE, OTHER), ("write", OTHER, 0)], TABLE), (Nothing, Anything));
        assert_eq!(of(&[("child", TABLE, OTHER), ("write", TABLE, 0)], OTHER), (Nothing, Nothing));
        assert_eq!(of(&[("partition", TABLE, OTHER), ("read", TABLE, 0)], OTHER), (Anything, Anything));
    }

    #[test]
    fn keys_lead_writes_to_the_other_table() {
        assert_eq!(of(&[("key", TABLE, OTHER), ("write", OTHER, 0)], TABLE), (Nothing, Nothing));
        assert_eq!(of(&[("key", TABLE, OTHER), ("read", OTHER, 0)], TABLE), (Nothing, Anything));
        assert_eq!(of(&[("key", TABLE, OTHER), ("read", TABLE, 0)], OTHER), (Nothing, Anything));
        assert_eq!(of(&[("cascade", TABLE, OTHER), ("write", OTHER, 0)], TABLE), (Nothing, Anything));
        let chain = [("cascade", TABLE, OTHER), ("cascade", OTHER, THIRD), ("write", THIRD, 0)];
        assert_eq!(of(&chain, TABLE), (Nothing, Anything));
    }

    #[test]
    fn policies_ask_and_run_what_they_read() {
        let secured = ("secured", TABLE, 0);
        assert_eq!(of(&[secured], TABLE), (Questions, Questions));
        assert_eq!(of(&[secured, ("view", OTHER, TABLE), ("key", TABLE, THIRD)], OTHER), (Questions, Questions));
        assert_eq!(of(&[secured, ("write", TABLE, 0)], TABLE), (Questions, Anything));
        assert_eq!(of(&[secured, ("policy", TABLE, OTHER), ("read", OTHER, 0)], TABLE), (Anything, Anything));
        let mut code = Code::default();
        code.take_expression("read", TABLE, "{SUBLINK {QUERY :rtable ({RTE :relid 12345 :relkind v})}}");
        assert_eq!(code.trace().0.of_relation(TABLE), (Anything, Anything));
    }

    #[test]
    fn trees_are_searched_for_functions() {
        let mut code = Code::default();
        code.take_shipped(2077, "asks");
        code.take_shipped(2078, "");
        code.take_shipped(1574, "draws");
        let of_tree = |tree: &str| code.of_tree(Deed::Read(TABLE), tree);
        let calls = |function: &str| format!("({{FUNCEXPR :funcid {function} :args ({{CONST :constvalue 4 [ 1 ]}})}})");
        assert_eq!(of_tree(&calls("2077")), Questions);
        assert_eq!(of_tree(&calls("207")), Nothing);
        assert_eq!(of_tree(&calls("12077")), Nothing);
        assert_eq!(of_tree(&calls("16384")), Anything);
        assert_eq!(of_tree(&calls("1574")), Anything);
        assert_eq!(code.of_tree(Deed::Write(TABLE), &calls("1574")), Nothing);
        assert_eq!(of_tree("{OPEXPR :opno 96 :opfuncid 2077 :opresulttype 16}"), Questions);
        assert_eq!(of_tree("{FUNCEXPR :funcid 99999999999"), Anything);
        assert_eq!(of_tree("{RTE :relid 1259 :funccollid 2077}"), Nothing);
        code.take_view(TABLE, "({QUERY :rtable ({RTE :relid 1259 :relkind r})})");
        code.take_view(OTHER, "({QUERY :rtable ({RTE :relid 20001 :relkind r} {RTE :rtekind 1 :relid 0})})");
        code.take_view(THIRD, &format!("{}{}", calls("2077"), calls("2078")));
        code.take_expression("write", TYPE, &calls("2077"));
        let (running, _) = code.trace();
        assert_eq!(
            [TABLE, OTHER, THIRD, TYPE].map(|of| running.of_relation(of)),
            [(Nothing, Anything), (Nothing, Nothing), (Anything, Anything), (Nothing, Questions)]
        );
    }

    #[test]
    fn an_operator_that_fits_exactly_is_preferred_to_those_of_the_database() {
        let mut own = OwnCode::default();
        own.add_operator("=", 25, true);
        own.add_operator("=", TYPE, false);
        own.add_operator("@>", 0, false);
        assert!(!own.has_operator("=", 25));
        assert!(own.has_any_operator("=", 25));
        assert!(own.has_operator("=", TYPE));
        assert!(!own.has_any_operator("=", 23));
        assert!(own.has_operator("@>", 23));
        assert!(!own.has_operator("<", 25));
    }
}
