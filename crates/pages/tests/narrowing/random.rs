//! Random sites: a page, perhaps with a layout, and what it includes and imports, over all constructs of the templates.
//!
//! Names are few, so that they are set again, seen through includes and macros, and mean different things at different times.

use std::fmt::Write;

/// A sequence of numbers that a seed says (splitmix64).
pub(crate) struct Random {
    state: u64,
    /// Whether much is looked at as a whole.
    is_wild: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), is_wild: seed.is_multiple_of(4) }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    pub(crate) fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Many, so that most pages name each only once, and one that is missed is seen.
const COLUMNS: [&str; 20] = [
    "title", "name", "site", "n", "note", "tags", "meta", "nothing", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
    "c8", "c9", "c10", "c11",
];
const NAMES: [&str; 7] = ["a", "b", "c", "item", "row", "rows", "x"];
const PARTS: [&str; 3] = ["_part.html", "_tree.html", "_more.html"];

pub(crate) fn site(random: &mut Random) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut file = |name: &str, text: String| files.push((name.to_owned(), text));
    let layout = random.is_one_in(3);
    let page = Writer::new(random, true).page(layout);
    file("page.html", format!("+++\nflights = \"/flights\"\nflight = {{ one = \"/flights?id=eq.1\" }}\n+++\n{page}"));
    file("_layout.html", Writer::new(random, true).layout(true));
    file("_base.html", Writer::new(random, true).layout(false));
    file("_macros.html", Writer::new(random, false).macros());
    file("_part.html", Writer::including(random, &PARTS[1..], false).statements(3));
    file("_more.html", Writer::including(random, &PARTS[1..2], true).part_with_layout());
    let wild = if random.is_one_in(8) { &PARTS[..] } else { &[] };
    let tree = Writer::including(random, wild, false).statements(2);
    let (one, two) = (COLUMNS[random.below(COLUMNS.len())], COLUMNS[random.below(COLUMNS.len())]);
    let set = Writer::including(random, &[], false).set_row();
    file(
        "_tree.html",
        format!(
            "{tree}{{% for item in rows %}}{{{{ item.n }}}}{{% set rows = item.parts %}}{tree}{{% include '_tree.html' %}}\
             {{{{ x.{one} }}}}{{{{ rows[0].{two} }}}}{{{{ a.{two} }}}}{{% endfor %}}{{% set x = rows[1] %}}{set}"
        ),
    );
    files
}

/// Writes one template.
struct Writer<'a> {
    random: &'a mut Random,
    may_have_blocks: bool,
    /// What it may include, so that most includes end.
    parts: &'static [&'static str],
    blocks: usize,
    depth: usize,
    /// In a loop, in one that can call itself, in a macro that can call its caller.
    in_loop: bool,
    in_recursive: bool,
    in_macro: bool,
    in_block: bool,
    rows: Vec<String>,
    row: Vec<String>,
    macros: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Random, may_have_blocks: bool) -> Writer<'a> {
        Writer {
            random,
            may_have_blocks,
            parts: &PARTS,
            blocks: 0,
            depth: 0,
            in_loop: false,
            in_recursive: false,
            in_macro: false,
            in_block: false,
            rows: vec!["flights".into(), "flight.parts".into()],
            row: vec!["flight".into(), "flights[0]".into(), "(flights|first)".into()],
            macros: Vec::new(),
        }
    }

    fn including(random: &'a mut Random, parts: &'static [&'static str], may_have_blocks: bool) -> Writer<'a> {
        Writer { parts, ..Writer::new(random, may_have_blocks) }
    }

    fn page(mut self, extends: bool) -> String {
        let mut text = String::new();
        if extends {
            if self.random.is_one_in(3) {
                text.push_str(&self.statements(1));
            }
            let layout = *self.random.of(&[
                "'_layout.html'",
                "'_base.html'",
                "'_layout.html' if flight.n > 1 else '_base.html'",
                "'_base.html' if flights else '_layout.html'",
            ]);
            let _ = write!(text, "{{% extends {layout} %}}");
        }
        let count = 2 + self.random.below(4);
        text + &self.statements(count)
    }

    fn layout(mut self, extends: bool) -> String {
        let head = if extends && self.random.is_one_in(2) { "{% extends '_base.html' %}" } else { "" };
        head.to_owned() + &self.statements(2) + &self.block("one") + &self.statements(1) + &self.block("two")
    }

    fn part_with_layout(mut self) -> String {
        if self.random.is_one_in(3) {
            return "{% extends '_base.html' %}".to_owned() + &self.block("one");
        }
        self.statements(2)
    }

    fn macros(mut self) -> String {
        let before = self.statements(1);
        let one = self.macro_named("one");
        let two = self.macro_named("two");
        format!("{before}{one}{{% set kept = {} %}}{two}{{% set rows = {} %}}", self.row(), self.rows())
    }

    fn statements(&mut self, count: usize) -> String {
        (0..count).map(|_| self.statement()).collect()
    }

    /// The body of a block, where names may be set that are gone behind it.
    fn body(&mut self, count: usize) -> String {
        let (rows, row, macros) = (self.rows.clone(), self.row.clone(), self.macros.clone());
        self.depth += 1;
        let text = self.statements(count);
        self.depth -= 1;
        (self.rows, self.row, self.macros) = (rows, row, macros);
        text
    }

    /// A way that is taken or not. What it sets may be set behind it.
    fn way(&mut self, count: usize) -> String {
        self.depth += 1;
        let text = self.statements(count);
        self.depth -= 1;
        text
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.random.below(NAMES.len())]
    }

    fn column(&mut self) -> &'static str {
        COLUMNS[self.random.below(COLUMNS.len())]
    }

    fn statement(&mut self) -> String {
        if self.depth > 3 {
            return format!("{{{{ {} }}}}", self.scalar());
        }
        match self.random.below(32) {
            0..=5 => format!("{{{{ {} }}}},", self.scalar()),
            6..=8 => self.each(),
            9 => self.each_recursive(),
            10..=11 => self.choice(),
            12 => self.set_row(),
            13 => self.set_rows(),
            14 => self.set_other(),
            15 => self.with(),
            16 => self.namespace(),
            17 => self.macro_called(),
            18 => self.call_block(),
            19..=20 => self.include(),
            21 => self.import(),
            22 => format!("{{% filter upper %}}{}{{% endfilter %}}", self.outside_loop(1)),
            23 => format!(
                "{{% autoescape {} %}}{}{{% endautoescape %}}",
                self.random.of(&["true", "false"]).to_owned(),
                self.outside_loop(1)
            ),
            24 => format!("{{% do {} %}}", self.call()),
            25 if self.in_loop => format!(
                "{{% if {} %}}{{% {} %}}{{% endif %}}",
                self.condition(),
                self.random.of(&["break", "continue"]).to_owned()
            ),
            26 if self.may_have_blocks && self.depth == 0 && !self.in_block => self.own_block(),
            27 if self.in_block => "{{ super() }}".to_owned(),
            28 if self.may_have_blocks && self.random.is_one_in(3) => {
                format!("{{{{ self.{}() }}}}", self.random.of(&["one", "two"]).to_owned())
            }
            29 => self.unpacked(),
            30 => self.changed(),
            _ => format!("{{{{ {} }}}};", self.scalar()),
        }
    }

    fn outside_loop(&mut self, count: usize) -> String {
        let in_loop = std::mem::replace(&mut self.in_loop, false);
        let text = self.body(count);
        self.in_loop = in_loop;
        text
    }

    fn each(&mut self) -> String {
        let (over, name) = (self.rows(), self.name());
        let filter = if self.random.is_one_in(4) { format!(" if {name}.{}", self.column()) } else { String::new() };
        let in_loop = std::mem::replace(&mut self.in_loop, true);
        let (kept_row, kept_rows) = (self.row.clone(), self.rows.clone());
        self.row.push(name.to_owned());
        self.row.push(format!("{name}.pilot"));
        self.rows.push(format!("{name}.parts"));
        if self.random.is_one_in(3) {
            self.row.push(self.random.of(&["loop.previtem", "loop.nextitem"]).to_string());
        }
        let count = 1 + self.random.below(3);
        let body = self.body(count);
        (self.row, self.rows, self.in_loop) = (kept_row, kept_rows, in_loop);
        let otherwise = if self.random.is_one_in(4) { format!("{{% else %}}{}", self.body(1)) } else { String::new() };
        format!("{{% for {name} in {over}{filter} %}}{body}{otherwise}{{% endfor %}}")
    }

    fn each_recursive(&mut self) -> String {
        let (over, name) = (self.rows(), self.name());
        let kept = self.row.clone();
        self.row.push(name.to_owned());
        let (in_loop, in_recursive) =
            (std::mem::replace(&mut self.in_loop, true), std::mem::replace(&mut self.in_recursive, true));
        let (before, after) = (self.body(1), self.body(1));
        (self.row, self.in_loop, self.in_recursive) = (kept, in_loop, in_recursive);
        let kept_in = self.name();
        let call = match self.random.below(4) {
            0 => format!("{{{{ loop({name}.parts) }}}}"),
            1 => format!("{{% set {kept_in} = loop({name}.parts) %}}{{{{ {kept_in} }}}}"),
            2 => format!(
                "{{% with {kept_in} = {name} %}}{{{{ loop({kept_in}.parts|reverse) }}}}{{{{ {kept_in}.{} }}}}{{% endwith %}}",
                self.column()
            ),
            _ => format!(
                "{{% set again = loop %}}{{{{ {kept_in}.{} }}}}{{% set {kept_in} = {name} %}}{{{{ again({name}.parts) }}}}",
                self.column()
            ),
        };
        format!("{{% for {name} in {over} recursive %}}{before}{call}{after}{{% endfor %}}")
    }

    fn choice(&mut self) -> String {
        let (test, then) = (self.condition(), self.way(2));
        let other = match self.random.below(3) {
            0 => format!("{{% elif {} %}}{}{{% else %}}{}", self.condition(), self.way(1), self.way(1)),
            1 => format!("{{% else %}}{}", self.way(2)),
            _ => String::new(),
        };
        let name = self.name();
        let (set, shown) = match self.random.below(2) {
            0 => (format!("{{% set {name} = {} %}}", self.row()), format!("{{{{ {name}.{} }}}}", self.column())),
            _ => Default::default(),
        };
        format!("{{% if {test} %}}{then}{set}{other}{{% endif %}}{shown}")
    }

    fn set_row(&mut self) -> String {
        let (name, row) = (self.name(), self.row());
        self.row.push(name.to_owned());
        format!("{{% set {name} = {row} %}}")
    }

    fn set_rows(&mut self) -> String {
        let (name, rows) = (self.name(), self.rows());
        self.rows.push(name.to_owned());
        format!("{{% set {name} = {rows} %}}")
    }

    fn set_other(&mut self) -> String {
        let name = self.name();
        match self.random.below(6) {
            0 => format!("{{% set {name} %}}{}{{% endset %}}", self.outside_loop(1)),
            1 => format!("{{% set {name} | upper %}}{}{{% endset %}}", self.outside_loop(1)),
            2 => format!("{{% set {name} = {} %}}", self.scalar()),
            3 => {
                let (other, row, rows) = (self.name(), self.row(), self.rows());
                self.row.push(name.to_owned());
                self.rows.push(other.to_owned());
                format!("{{% set {name}, {other} = {row}, {rows} %}}")
            }
            4 => {
                let (row, rows) = (self.row(), self.rows());
                self.row.push(format!("{name}.one"));
                self.rows.push(format!("{name}['all']"));
                format!("{{% set {name} = {{'one': {row}, 'all': {rows}, 'k': '{}'}} %}}", self.column())
            }
            _ => format!("{{% set {name} = '{}' %}}", self.column()),
        }
    }

    fn with(&mut self) -> String {
        let (one, two, row, rows) = (self.name(), self.name(), self.row(), self.rows());
        let kept = (self.row.clone(), self.rows.clone());
        self.row.push(one.to_owned());
        self.rows.push(two.to_owned());
        let body = self.outside_loop(2);
        (self.row, self.rows) = kept;
        format!("{{% with {one} = {row}, {two} = {rows} %}}{body}{{% endwith %}}")
    }

    fn namespace(&mut self) -> String {
        let made = format!("{{% set ns = namespace(row={}) %}}", self.row());
        let inner = format!(
            "{{% for item in {} %}}{{% set ns.row = {} %}}{{% set ns.{} = item.pilot %}}{{% endfor %}}",
            self.rows(),
            self.row(),
            self.name()
        );
        self.row.push("ns.row".to_owned());
        let field = self.name();
        self.row.push(format!("ns.{field}"));
        made + &inner
    }

    fn macro_named(&mut self, name: &str) -> String {
        let (one, two) = (self.name(), self.name());
        if one == two {
            return String::new();
        }
        let default = if self.random.is_one_in(2) { format!("={}", self.row()) } else { String::new() };
        let kept = (self.row.clone(), self.rows.clone(), self.macros.clone());
        self.row.extend([one.to_owned(), two.to_owned()]);
        let flags = (self.in_loop, self.in_macro, self.in_recursive, self.in_block, self.may_have_blocks);
        (self.in_loop, self.in_macro, self.in_recursive, self.in_block, self.may_have_blocks) =
            (false, true, false, false, false);
        let body = self.body(2);
        (self.in_loop, self.in_macro, self.in_recursive, self.in_block, self.may_have_blocks) = flags;
        let again = if self.random.is_one_in(4) {
            format!("{{% if {one}.parts %}}{{{{ {name}({one}.parts[0]) }}}}{{% endif %}}")
        } else {
            String::new()
        };
        (self.row, self.rows, self.macros) = kept;
        let called =
            if self.random.is_one_in(8) { String::new() } else { format!("{{{{ caller({two}) if caller else '' }}}}") };
        self.macros.push(name.to_owned());
        format!("{{% macro {name}({one}, {two}{default}) %}}{body}{again}{called}{{% endmacro %}}")
    }

    fn macro_called(&mut self) -> String {
        let name = *self.random.of(&["m", "one", "two", "x"]);
        let made = self.macro_named(name);
        let between = if self.random.is_one_in(3) { self.set_row() } else { String::new() };
        format!("{made}{between}{{{{ {name}({}) }}}}", self.passed())
    }

    fn passed(&mut self) -> String {
        match self.random.below(8) {
            0 => String::new(),
            1 => format!("{}, {}", self.row(), self.row()),
            2 => format!("{}, {}={}", self.row(), self.name(), self.row()),
            3 => format!("*[{}, {}]", self.row(), self.row()),
            4 => format!("**{{'{}': {}}}", self.name(), self.row()),
            5 => self.rows(),
            _ => self.row(),
        }
    }

    fn call(&mut self) -> String {
        let name = match self.random.below(5) {
            0 => (*self.random.of(&["m", "one", "module.one", "module.two", "caller", "x"])).to_owned(),
            _ if self.macros.is_empty() => return format!("namespace(a={})", self.row()),
            _ => self.random.of(&self.macros.clone()).clone(),
        };
        format!("{name}({})", self.passed())
    }

    fn call_block(&mut self) -> String {
        let made = if self.macros.is_empty() { self.macro_named("m") } else { String::new() };
        let Some(name) = self.macros.last().cloned() else { return made };
        let parameter = self.name();
        let arguments = if self.random.is_one_in(2) { format!("({parameter})") } else { String::new() };
        let kept = self.row.clone();
        self.row.push(parameter.to_owned());
        let (flags, blocks) = ((self.in_loop, self.in_block), self.may_have_blocks);
        (self.in_loop, self.in_block, self.may_have_blocks) = (false, false, false);
        let body = self.body(1);
        ((self.in_loop, self.in_block), self.may_have_blocks) = (flags, blocks);
        self.row = kept;
        format!("{made}{{% call{arguments} {name}({}) %}}{body}{{% endcall %}}", self.passed())
    }

    fn include(&mut self) -> String {
        if self.parts.is_empty() {
            return self.set_row();
        }
        let part = *self.random.of(self.parts);
        let set = if self.random.is_one_in(2) { format!("{{% set rows = {} %}}", self.rows()) } else { String::new() };
        let name = match self.random.below(6) {
            0 => format!("['_absent.html', '{part}']"),
            1 => "'_absent.html' ignore missing".to_owned(),
            2 => format!("'{part}' if {} else '_part.html'", self.condition()),
            3 if self.random.is_wild => format!("'_' ~ '{}'", &part[1..]),
            _ => format!("'{part}'"),
        };
        format!("{set}{{% include {name} %}}")
    }

    fn import(&mut self) -> String {
        match self.random.below(2) {
            0 => {
                self.macros.push("module.one".to_owned());
                self.row.push("module.kept".to_owned());
                self.rows.push("module.rows".to_owned());
                "{% import '_macros.html' as module %}".to_owned()
            }
            _ => {
                self.macros.push("one".to_owned());
                self.row.push("kept".to_owned());
                "{% from '_macros.html' import one, two as x, kept %}".to_owned()
            }
        }
    }

    fn own_block(&mut self) -> String {
        self.blocks += 1;
        let name = match self.blocks {
            1 => "one",
            2 => "two",
            _ => return String::new(),
        };
        self.block(name)
    }

    fn block(&mut self, name: &str) -> String {
        let flags = (self.in_loop, self.in_block, self.in_recursive);
        (self.in_loop, self.in_block) = (false, true);
        let body = self.body(2);
        (self.in_loop, self.in_block, self.in_recursive) = flags;
        format!("{{% block {name} %}}{body}{{% endblock %}}")
    }

    fn unpacked(&mut self) -> String {
        let (one, two) = (self.name(), self.name());
        let (list, is_group) = match self.random.below(5) {
            0 => (format!("{}|zip({})", self.rows(), self.rows()), false),
            1 => (format!("{}|groupby('{}')", self.rows(), self.column()), true),
            2 => (format!("{{'p': {}, 'q': {}}}|items", self.row(), self.row()), false),
            3 => (format!("{}|batch(2, {})", self.rows(), self.row()), false),
            _ => (format!("[({}, {}), ({}, {})]", self.row(), self.rows(), self.row(), self.rows()), true),
        };
        let kept = (self.row.clone(), self.rows.clone(), std::mem::replace(&mut self.in_loop, true));
        if is_group {
            self.rows.push(two.to_owned());
        } else {
            self.row.push(two.to_owned());
        }
        let body = self.body(2);
        (self.row, self.rows, self.in_loop) = kept;
        format!("{{% for {one}, {two} in {list} %}}{body}{{% endfor %}}")
    }

    fn changed(&mut self) -> String {
        format!(
            "{{% for a in {} %}}{{{{ loop.changed(a.{}) }}}}{{{{ loop.cycle(a, {}).{} }}}}{{{{ loop.index0 }}}}{{% endfor %}}",
            self.rows(),
            self.column(),
            self.row(),
            self.column()
        )
    }

    /// An expression for rows, most of the time.
    fn rows(&mut self) -> String {
        if self.random.is_wild && self.random.is_one_in(10) {
            return self.name().to_owned();
        }
        if self.random.is_one_in(2) || self.depth > 4 {
            return self.random.of(&self.rows.clone()).clone();
        }
        self.depth += 1;
        let rows = self.rows_of_rows();
        self.depth -= 1;
        rows
    }

    fn rows_of_rows(&mut self) -> String {
        let (rows, column) = (self.rows(), self.column());
        match self.random.below(26) {
            0 => format!("({rows}|sort(attribute='{column}'))"),
            1 => format!("({rows}|sort(attribute='n,{column}', reverse=true))"),
            2 => format!("({rows}|selectattr('{column}'))"),
            3 => format!("({rows}|rejectattr('{column}', 'eq', {}))", self.scalar()),
            4 => format!("({rows}|reverse)"),
            5 => format!("{rows}[{}:]", self.random.below(2)),
            6 => format!("({rows}|list)"),
            7 => format!("({rows} + {})", self.rows()),
            8 => format!("[{}, {}]", self.row(), self.row()),
            9 if self.random.is_wild => format!("({rows}|unique)"),
            9 => format!("({rows}|select)"),
            10 => format!("({rows}|unique(attribute='{column}'))"),
            11 => format!("({rows}|batch(2)|first)"),
            12 => format!("({rows}|groupby('{column}'))[0].list"),
            13 => format!("({rows} if {} else {})", self.condition(), self.rows()),
            14 => format!("({rows} or {})", self.rows()),
            15 => format!("({rows}|slice(2)|last)"),
            16 => format!("({rows}|map(attribute='pilot'))"),
            17 => format!("({rows}|default([]))"),
            18 => format!("({rows}|chain({}))", self.rows()),
            19 => format!("{}.parts", self.row()),
            20 => format!("{}['parts']", self.row()),
            21 => format!("({rows}|map(attribute='parts')|first)"),
            22 => format!("({rows}|groupby('pilot.{column}')|first)[1]"),
            23 => format!("({rows}|default([]) * 2)"),
            24 => format!("{{'q': {rows}}}.q"),
            _ => format!("({rows}|rejectattr('pilot.{column}', 'none')|select('mapping'))"),
        }
    }

    /// An expression for a row, most of the time.
    fn row(&mut self) -> String {
        if self.random.is_wild && self.random.is_one_in(10) {
            return self.name().to_owned();
        }
        if self.random.is_one_in(2) || self.depth > 4 {
            return self.random.of(&self.row.clone()).clone();
        }
        self.depth += 1;
        let row = self.row_of_rows();
        self.depth -= 1;
        row
    }

    fn row_of_rows(&mut self) -> String {
        let column = self.column();
        match self.random.below(24) {
            0 => format!("({}|first)", self.rows()),
            1 => format!("({}|last)", self.rows()),
            2 => format!("{}[0]", self.rows()),
            3 => format!("{}[-1]", self.rows()),
            4 => format!("{}.pilot", self.row()),
            5 => format!("({}|min(attribute='{column}'))", self.rows()),
            6 => format!("({}|max(attribute='pilot.{column}'))", self.rows()),
            7 => format!("({} if {} else {})", self.row(), self.condition(), self.row()),
            8 => format!("({} or {})", self.row(), self.row()),
            9 => format!("({} and {})", self.row(), self.row()),
            10 => format!("{{'k': {}}}.k", self.row()),
            11 => format!("[{}, {}][{}]", self.row(), self.row(), self.random.below(2)),
            12 => format!("({}, 1)[0]", self.row()),
            13 => format!("({}|default({}))", self.row(), self.row()),
            14 => format!("({}|attr('pilot'))", self.row()),
            15 => format!("{}['pilot']", self.row()),
            16 => format!("dict(k={}).k", self.row()),
            17 => format!("namespace(k={}).k", self.row()),
            18 => format!("({}|zip({})|first)[1]", self.rows(), self.rows()),
            19 => format!("({}|map(attribute='pilot')|list)[0]", self.rows()),
            20 => format!("dict({{'title': 1}}, other={}).other", self.row()),
            21 => format!("({{'title': 1}}|chain({{'pilot': {}}})).pilot", self.row()),
            22 => format!("{{'{column}': {}}}['{column}']", self.row()),
            _ => format!("{}[{}]", self.rows(), self.random.of(&["1", "loop.index0", "flight.n", "-1"]).to_owned()),
        }
    }

    fn condition(&mut self) -> String {
        self.depth += 1;
        let condition = match self.random.below(11) {
            0 => self.row(),
            1 => self.rows(),
            2 => format!("{}.{} is defined", self.row(), self.column()),
            3 => format!("{}.{} is none", self.row(), self.column()),
            4 => format!("not {}.{}", self.row(), self.column()),
            5 => format!("{}|length > 1", self.rows()),
            6 => format!("{}.n > 1", self.row()),
            7 if self.in_loop => (*self.random.of(&["loop.first", "loop.last", "loop.index > 1"])).to_owned(),
            8 => format!("'{}' in {}", self.column(), self.row()),
            9 if self.random.is_wild => format!("{} == {}", self.row(), self.row()),
            _ => format!("{}.{} in ['Alps', {}]", self.row(), self.column(), self.scalar()),
        };
        self.depth -= 1;
        condition
    }

    /// An expression that is shown.
    fn scalar(&mut self) -> String {
        let (row, column) = (self.row(), self.column());
        if self.depth > 4 || self.random.is_one_in(3) {
            return format!("{row}.{column}");
        }
        self.depth += 1;
        let scalar = self.scalar_of(&row, column);
        self.depth -= 1;
        scalar
    }

    fn scalar_of(&mut self, row: &str, column: &str) -> String {
        let which = self.random.below(46);
        let takes_all = matches!(which, 1 | 13 | 14 | 15 | 20 | 22 | 23 | 25 | 26 | 33 | 35 | 40 | 44);
        if takes_all && !self.random.is_wild && !self.random.is_one_in(20) {
            return format!("{row}.{column}");
        }
        match which {
            0 => format!("{row}['{column}']"),
            1 => format!("{row}[{}]", self.name()),
            2 => format!("({row}|attr('{column}'))"),
            3 => format!("({}|length)", self.rows()),
            4 => format!("({}|map(attribute='{column}')|join(','))", self.rows()),
            5 => format!("({}|sum(attribute='n'))", self.rows()),
            6 => format!("({row}.{column}|upper)"),
            7 => format!("({row}.{column}|default('none'))"),
            8 => format!("({row}.{column} ~ {})", self.scalar()),
            9 => format!("({row}.n + {}.n)", self.row()),
            10 => format!("({row}.{column} == {})", self.scalar()),
            11 => format!("({row} is defined)"),
            12 => format!("('{column}' in {row})"),
            13 => format!("({row} == {})", self.row()),
            14 => format!("({}|tojson)", self.rows()),
            15 => row.to_owned(),
            16 => "loop.index".to_owned(),
            17 | 18 => self.call(),
            19 if self.in_macro => "(caller() if caller else '')".to_owned(),
            20 => format!("({}|map('attr', '{column}')|list|length)", self.rows()),
            21 => format!("({}|map(attribute='pilot.{column}', default='?')|unique|join)", self.rows()),
            22 => format!("({row}|items|length)"),
            23 => format!("({row}|length)"),
            24 => (*self.random.of(&[
                format!("({row}.parts|length)"),
                format!("({row}.pilot|length)"),
                format!("({row}.pilot|list|join)"),
                format!("({row}.meta|length)"),
            ]))
            .clone(),
            25 => format!("({row}|dictsort|length)"),
            26 => format!("({row} < {})", self.row()),
            27 => format!("(1 < {row}.n < 3)"),
            28 => format!("({}|join(', ', '{column}'))", self.rows()),
            29 => format!("({row}.meta.{column})"),
            30 => format!("({row}.tags|join('-'))"),
            31 => format!("({row}.tags[0]|default('-'))"),
            32 => format!("({}|map(attribute='{column}')|list|string)", self.rows()),
            33 => format!("({}|map('first')|list|length)", self.rows()),
            34 => format!("({}|selectattr('{column}', 'defined')|list|length)", self.rows()),
            35 => format!("({}|map('string')|join)", self.rows()),
            36 => format!(
                "({row}.{column} is {})",
                self.random
                    .of(&["none", "string", "mapping", "in ['Alps']", "eq 'jura'", "defined", "iterable", "odd"])
                    .to_owned()
            ),
            37 => format!("({}|groupby('{column}')|map(attribute='grouper')|join)", self.rows()),
            38 => format!("({}|groupby('{column}')|map('last')|map('length')|join)", self.rows()),
            39 => format!("({}|map(attribute='parts')|map('length')|join)", self.rows()),
            40 => format!("({row}|string|length)"),
            41 => format!("('%s'|format({row}.{column}))"),
            42 => format!("({row}.parts|first|default({})).{column}", self.row()),
            43 => format!("({}|min(attribute='{column}')).{}", self.rows(), self.column()),
            44 => format!("({row}|urlencode)"),
            _ => format!("(-{row}.n)"),
        }
    }
}
