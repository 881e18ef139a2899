//! Random templates over rows of known columns: what can be written directly, and now and then what nearly can.

use super::Choices;
use crate::rows::own_fields;
use std::sync::Arc;
use thalweg_rows::{Codec, Field, Scalar};

pub(super) struct Templates {
    /// The page first.
    pub(super) files: Vec<(String, String)>,
    /// The names of the page's blocks.
    pub(super) blocks: Vec<String>,
    /// How many loops over the query's rows they have.
    pub(super) loops: usize,
}

const EXTENSIONS: [&str; 6] = ["html", "xml", "csv", "json", "txt", "svg"];
/// Names of rows: some are those of variables, of the query, or of what the engine looks up itself.
const TARGETS: [&str; 8] = ["r", "row", "flight", "title", "limit", "flights", "rows", "zone"];
const LOOPS_DEEP_MAX: usize = 4;
const NAMES: [&str; 12] = [
    "title",
    "limit",
    "nothing",
    "choice.a",
    "choice.n",
    "choice.absent",
    "absent.at_all",
    "flights.total",
    "locale",
    "outer.n",
    "row.title",
    "calls.n",
];
const CONSTANTS: [&str; 8] = ["1", "'<c>'", "-2.5", "none", "true", "[1, 'x']", "''", "not 1"];
const TEXTS: [&str; 8] =
    ["a", " ", "\n", "<td class=\"x\">", " \n b", "{# none #}", "{% raw %}{{ r }}{% endraw %}", "ż,"];
const FIELDS: [&str; 7] = ["index", "index0", "revindex", "revindex0", "first", "last", "length"];
const OPERATORS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const TESTS: [&str; 9] =
    ["none", "defined", "not undefined", "string", "number", "eq('Alps')", "in [1, 'x']", "mapping", "safe"];

/// What is shown says how often, and in which order, it was called; of the loops around it knows nothing.
const MACROS: &str = "{% set calls = namespace(n=0) %}\
    {% macro count(x, limit=7) %}{% set calls.n = calls.n + 1 %}{{ calls.n }}{{ x }}{{ limit }}{{ r.n }}{{ loop.index }}{% endmacro %}";

/// Filters of anything.
const OF_ANY: [&str; 9] = [
    "default('-')",
    "default('<', true)",
    "default(title)",
    "e",
    "safe",
    "tojson",
    "string",
    "framed(mark='&')",
    "framed(mark=choice.a)",
];
const OF_TEXTS: [&str; 7] = ["upper", "length", "replace('a', '<')", "title", "trim|lower", "framed", "list|join('<')"];
const OF_NUMBERS: [&str; 9] = [
    "number",
    "number(2)",
    "number(min=1, max=3)",
    "number(limit)",
    "number(max=limit)",
    "number(grouping=false, locale='de-CH')",
    "number(locale=locale)",
    "bytes",
    "default(7)|number(1)",
];
const OF_DATES: [&str; 8] = [
    "date",
    "date('short')",
    "date('full', locale='fr')",
    "date('%Y/%m/%d')",
    "date(zone='Asia/Kathmandu')",
    "datetime",
    "datetime('long', zone=zone)",
    "date(locale=locale)|upper",
];
const OF_STAMPS: [&str; 9] = [
    "datetime",
    "date",
    "time",
    "time('short')",
    "datetime('full', zone='America/New_York')",
    "datetime('short', locale='de', zone='Asia/Kathmandu')",
    "time('%H:%M')",
    "date('medium', zone='UTC')",
    "time('long')",
];
const OF_TIMES: [&str; 3] = ["time", "time('short')", "time('%H.%M')"];
const OF_LISTS: [&str; 6] = ["length", "join(', ')", "first", "last|default('<')", "tojson", "reverse|list"];
/// They fail, of most values or of any.
const AMISS: [&str; 7] =
    ["date", "time('wide')", "number(21)", "unknown", "upper(1)", "date(zone='Mars')", "number(least=1)"];

/// A page and what it includes, imports and extends.
pub(super) fn templates(choices: &mut Choices<'_>, fields: &Arc<[Field]>) -> Templates {
    let extension = choices.of(&EXTENSIONS);
    let mut writer = Writer { choices, extension, fields, around: Vec::new(), depth: 0, loops: 0, blocks: Vec::new() };
    let part = writer.rows_loop("flights");
    let of_rows = writer.rows_loop("rows");
    let body = format!("{MACROS}{}", writer.page());
    let page = if writer.choices.is_one_in(5) {
        writer.blocks.push("body".to_owned());
        format!("{{% extends '_layout.{extension}' %}}{{% block body %}}{body}{{% endblock %}}")
    } else {
        body
    };
    let file = |name: &str, text: String| (format!("{name}.{extension}"), text);
    let files = vec![
        file("page", format!("+++\nflights = \"/flights\"\n+++\n{page}")),
        file("_part", format!("{part}\n")),
        file("_macros", format!("{{% macro list(rows, limit=1) %}}{of_rows}{{% endmacro %}}")),
        file("_layout", "<\n{% block body %}{% endblock %}".to_owned()),
    ];
    Templates { files, loops: writer.loops, blocks: writer.blocks }
}

struct Writer<'w, 'c> {
    choices: &'w mut Choices<'c>,
    extension: &'static str,
    /// Those of the query's rows.
    fields: &'w Arc<[Field]>,
    /// The loops over rows around what is written: the name of the row, and its fields.
    around: Vec<(&'static str, Arc<[Field]>)>,
    /// Of expressions.
    depth: usize,
    loops: usize,
    blocks: Vec<String>,
}

impl Writer<'_, '_> {
    fn page(&mut self) -> String {
        let mut page = String::new();
        for _ in 0..=self.choices.below(3) {
            page.push_str(&self.part());
            page.push_str(self.choices.of(&TEXTS));
        }
        page
    }

    /// A loop over rows somewhere.
    fn part(&mut self) -> String {
        let extension = self.extension;
        match self.choices.below(14) {
            1 => {
                let name = format!("block{}", self.blocks.len());
                let body = self.rows_loop("flights");
                let block = format!("{{% block {name} %}}{body}{{% endblock %}}");
                self.blocks.push(name);
                block
            }
            2 => {
                let body = self.rows_loop("rows");
                format!(
                    "{{% macro own(rows) %}}{body}{{{{ caller() if caller }}}}{{% endmacro %}}{{{{ own(flights) }}}}"
                )
            }
            3 => format!("{{% include '_part.{extension}' %}}"),
            4 => format!("{{% import '_macros.{extension}' as m %}}{{{{ m.list(flights) }}}}"),
            5 => {
                let shown = self.choices.of(&["kept", "kept|upper", "kept|length"]);
                format!("{{% set kept %}}{}{{% endset %}}{{{{ {shown} }}}}", self.rows_loop("flights"))
            }
            6 => {
                let escape = self.choices.of(&["false", "true", "'none'", "'html'", "'json'"]);
                format!("{{% autoescape {escape} %}}{}{{% endautoescape %}}", self.rows_loop("flights"))
            }
            7 => format!("{{% filter upper %}}{}{{% endfilter %}}", self.rows_loop("flights")),
            8 => {
                format!("{{% for outer in [1, 'x'] %}}{}{{{{ loop.index }}}}{{% endfor %}}", self.rows_loop("flights"))
            }
            9 => format!("{{% for outer in flights %}}{}{{{{ outer }}}}{{% endfor %}}", self.rows_loop("flights")),
            10 => format!("{{% with rows = flights, limit = 1 %}}{}{{% endwith %}}", self.rows_loop("rows")),
            11 => format!("{{% set rows = flights if {} else [] %}}{}", self.name(), self.rows_loop("rows")),
            12 => {
                let (own, given) = (self.rows_loop("rows"), self.rows_loop("flights"));
                let own = format!("{{% macro taking(rows) %}}{own}{{{{ caller() }}}}{{% endmacro %}}");
                format!("{own}{{% call taking(flights) %}}{given}{{% endcall %}}")
            }
            13 => format!("{{% include '_part.{extension}' %}}{}", self.rows_loop("flights")),
            _ => self.rows_loop("flights"),
        }
    }

    /// A loop over the rows of the query.
    fn rows_loop(&mut self, over: &str) -> String {
        self.loops += 1;
        let around = std::mem::take(&mut self.around);
        let text = self.each(over, self.fields.clone());
        self.around = around;
        text
    }

    fn each(&mut self, over: &str, fields: Arc<[Field]>) -> String {
        let target = if self.choices.is_one_in(3) { self.choices.of(&TARGETS) } else { TARGETS[self.around.len()] };
        let condition = if self.choices.is_one_in(40) { " if title" } else { "" };
        let begin = self.tag(&format!("for {target} in {over}{condition}"));
        self.around.push((target, fields));
        let body = self.body();
        self.around.pop();
        let otherwise = match self.choices.below(4) {
            1 => "{% else %}nothing".to_owned(),
            2 if !self.around.is_empty() => self.tag("else") + &self.step(),
            3 => "{%- else -%} {{ title }} ".to_owned(),
            _ => String::new(),
        };
        format!("{begin}{body}{otherwise}{}", self.tag("endfor"))
    }

    fn body(&mut self) -> String {
        (0..=self.choices.below(4)).map(|_| self.step()).collect()
    }

    fn step(&mut self) -> String {
        match self.choices.below(64) {
            0..25 => self.shown(),
            25..37 => self.choices.of(&TEXTS).to_owned(),
            37..47 => self.condition(),
            47..63 => match self.rows() {
                Some((over, fields)) => self.each(&over, fields),
                None => self.shown(),
            },
            _ => self.of_the_engine(),
        }
    }

    /// What no loop that is written directly has.
    fn of_the_engine(&mut self) -> String {
        let (target, extension) = (self.around.last().map_or("title", |(name, _)| name), self.extension);
        match self.choices.below(8) {
            0 => format!("{{% set seen = {target} %}}{{{{ seen }}}}"),
            1 => self.rows_loop("flights"),
            2 => "{% break %}".to_owned(),
            3 => format!("{{{{ loop.cycle('a', {target}) }}}}{{{{ loop.previtem }}}}"),
            4 => format!("{{% include '_part.{extension}' %}}"),
            5 => "{% for x in [1, 2] %}{{ x }}{% endfor %}".to_owned(),
            6 => format!("{{% with w = {target} %}}{{{{ w|length }}}}{{% endwith %}}"),
            _ => format!("{{% do shout({target}) %}}{{{{ loop.changed(1) }}}}"),
        }
    }

    fn shown(&mut self) -> String {
        let expr = self.expr();
        let (begin, end) = (self.choices.of(&["{{", "{{", "{{-"]), self.choices.of(&["}}", "}}", "-}}"]));
        format!("{begin} {expr} {end}")
    }

    fn condition(&mut self) -> String {
        let (test, then) = (self.test(), self.step());
        let otherwise = match self.choices.below(3) {
            0 => String::new(),
            1 => self.tag("else") + &self.step(),
            _ => format!("{{% elif {} %}}{}{{% else %}}.", self.test(), self.step()),
        };
        let begin = self.tag(&format!("if {test}"));
        format!("{begin}{then}{otherwise}{}", self.tag("endif"))
    }

    fn tag(&mut self, inner: &str) -> String {
        let begin = self.choices.of(&["{%", "{%", "{%-", "{%+"]);
        let end = self.choices.of(&["%}", "%}", "-%}", "+%}"]);
        format!("{begin} {inner} {end}")
    }

    fn expr(&mut self) -> String {
        if self.depth == 3 {
            return self.path().0;
        }
        self.depth += 1;
        let expr = match self.choices.below(41) {
            0..8 => self.path().0,
            8..20 => self.filtered(),
            20..23 => format!("loop.{}", self.choices.of(&FIELDS)),
            23..26 => self.name().to_owned(),
            26 => self.choices.of(&CONSTANTS).to_owned(),
            27 | 28 => format!("{} if {}", self.expr(), self.test()),
            29 | 30 => format!("({} if {} else {})", self.expr(), self.test(), self.expr()),
            31 => format!("({} or {})", self.expr(), self.expr()),
            32 => format!("({} and {})", self.expr(), self.expr()),
            33..36 => self.call(),
            36..38 => format!("({})", self.test()),
            38 => format!("({}).a", self.expr()),
            39 => format!("({})|{}", self.expr(), self.choices.of(&OF_ANY)),
            _ => self.nearly(),
        };
        self.depth -= 1;
        expr
    }

    /// What is the engine's for one word.
    fn nearly(&mut self) -> String {
        let path = self.path().0;
        let row = self.around.last().map_or("title", |(name, _)| name);
        match self.choices.below(20) {
            0 => format!("{path} ~ title"),
            1 => format!("{path}[0]"),
            2 => row.to_owned(),
            3 => format!("{row}|length"),
            4 => "loop.depth".to_owned(),
            5 => format!("{path} in [1, 2]"),
            6 => format!("shout(*[{path}])"),
            7 => format!("[{path}, 1]"),
            _ => path,
        }
    }

    fn call(&mut self) -> String {
        match self.choices.below(10) {
            0 => format!("shout({})", self.expr()),
            1 => format!("shout({}, limit)", self.expr()),
            2 => format!("shout({}, 2, mark={})", self.expr(), self.expr()),
            3 => format!("shout(title, mark={})", self.expr()),
            4 => "range(3)".to_owned(),
            5 => format!("count({})", self.expr()),
            6 => format!("count({}, limit={})", self.expr(), self.path().0),
            7 | 8 => "count(title)".to_owned(),
            _ => format!("dict(a={}).a", self.path().0),
        }
    }

    fn test(&mut self) -> String {
        if self.depth == 3 {
            return self.path().0;
        }
        self.depth += 1;
        let test = match self.choices.below(20) {
            0..4 => self.path().0,
            4 | 5 => format!("not {}", self.test()),
            6 => format!("{} and {}", self.test(), self.test()),
            7 => format!("({} or {})", self.test(), self.test()),
            8..11 => format!("({} {} {})", self.expr(), self.choices.of(&OPERATORS), self.expr()),
            11 => {
                let operators = [self.choices.of(&OPERATORS), self.choices.of(&OPERATORS)];
                format!("(0 {} {} {} {})", operators[0], self.path().0, operators[1], self.expr())
            }
            12..16 => format!("{} is {}", self.path().0, self.choices.of(&TESTS)),
            16 => format!("{} is eq({})", self.path().0, self.expr()),
            17 => self.choices.of(&["loop.first", "loop.last", "not loop.last", "loop.index < limit"]).to_owned(),
            18 => self.name().to_owned(),
            _ => format!("{}|length > 1", self.path().0),
        };
        self.depth -= 1;
        test
    }

    fn name(&mut self) -> &'static str {
        self.choices.of(&NAMES)
    }

    fn filtered(&mut self) -> String {
        let (path, codec) = self.path();
        let fitting: &[&str] = match codec {
            Some(Codec::Output | Codec::Scalar(Scalar::Text)) => &OF_TEXTS,
            Some(Codec::Scalar(Scalar::Date)) => &OF_DATES,
            Some(Codec::Scalar(Scalar::Timestamp | Scalar::TimestampTz)) => &OF_STAMPS,
            Some(Codec::Scalar(Scalar::Time | Scalar::TimeTz)) => &OF_TIMES,
            Some(Codec::Array(_) | Codec::List(_) | Codec::Values(_)) => &OF_LISTS,
            Some(
                Codec::Digits
                | Codec::Scalar(
                    Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Float4 | Scalar::Float8 | Scalar::Numeric,
                ),
            ) => &OF_NUMBERS,
            _ => &OF_ANY,
        };
        let filters: &[&str] = match self.choices.below(120) {
            119 => &AMISS,
            70..119 => &OF_ANY,
            _ => fitting,
        };
        let filter = self.choices.of(filters);
        let more = if self.choices.is_one_in(5) { format!("|{}", self.choices.of(&OF_ANY)) } else { String::new() };
        format!("{path}|{filter}{more}")
    }

    /// A column, and how it is read, if it is one of PostgreSQL's.
    fn path(&mut self) -> (String, Option<Codec>) {
        let outer = if self.choices.is_one_in(4) { self.choices.below(self.around.len()) } else { 0 };
        let (row, mut fields) = self.around[self.around.len() - 1 - outer].clone();
        let mut path = row.to_owned();
        loop {
            let own = Vec::from_iter(own_fields(&fields));
            if own.is_empty() || self.choices.is_one_in(150) {
                return (path + ".absent", None);
            }
            let (at, field) = own[self.choices.below(own.len())];
            path = format!("{path}.{}", field.name);
            let more = match &field.codec {
                Codec::Scalar(Scalar::Json | Scalar::Jsonb) => {
                    self.choices.of(&["", ".a", ".n", ".a.a.n", ".list", ".absent.at_all"])
                }
                codec => match of_row(codec, at, &fields) {
                    Some(columns) if !self.choices.is_one_in(12) => {
                        fields = columns;
                        continue;
                    }
                    _ if self.choices.is_one_in(40) => ".further",
                    _ => return (path, Some(codec.clone())),
                },
            };
            return (path + more, None);
        }
    }

    /// Rows within the rows around, and their fields.
    fn rows(&mut self) -> Option<(String, Arc<[Field]>)> {
        if self.around.len() == LOOPS_DEEP_MAX {
            return None;
        }
        let outer = if self.choices.is_one_in(6) { self.choices.below(self.around.len()) } else { 0 };
        let (row, fields) = &self.around[self.around.len() - 1 - outer];
        let mut found = Vec::new();
        lists(row, fields, &mut found);
        let number = self.choices.below(found.len().max(1));
        found.into_iter().nth(number)
    }
}

/// The columns of a row that a field is.
fn of_row(codec: &Codec, at: usize, fields: &[Field]) -> Option<Arc<[Field]>> {
    match codec {
        Codec::Row(columns) => Some(columns.clone()),
        Codec::Found(first, behind) => {
            let first = Some(&**first).filter(|first| !first.name.is_empty());
            Some(first.into_iter().chain(&fields[at + 1..at + 1 + behind]).cloned().collect())
        }
        _ => None,
    }
}

fn lists(path: &str, fields: &[Field], found: &mut Vec<(String, Arc<[Field]>)>) {
    for (at, field) in own_fields(fields) {
        let path = format!("{path}.{}", field.name);
        if let Codec::List(element) | Codec::Array(element) | Codec::Values(element) = &field.codec
            && let Codec::Row(columns) = &**element
        {
            found.push((path, columns.clone()));
        } else if let Some(columns) = of_row(&field.codec, at, fields) {
            lists(&path, &columns, found);
        }
    }
}
