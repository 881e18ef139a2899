//! Conditions, orders and column references.

use crate::quote::{array_literal, quote, range_literal};
use crate::read::{Scope, Search, Writer};
use std::borrow::Cow;
use std::fmt::Write;
use thalweg_plan::{ColumnRef, Condition, FunctionName, OrderKey, RangeKind, Read};
use thalweg_request::{
    Comparison, Direction, Filter, FtsOperator, IsWord, JsonStep, Nulls, Operand, Operation, Quantifier,
};

/// The way in which PostgreSQL reads the values of a filter, if not as values of the column's type.
#[derive(Clone, Copy)]
struct Value<'a> {
    /// The function that reads them.
    read_by: Option<&'a FunctionName>,
    /// The kind of range that must contain them.
    contained_in: Option<RangeKind>,
}

impl<'a> Writer<'a> {
    /// A column of the level, as far into its value as its path leads.
    pub(crate) fn column(&mut self, scope: Scope<'a>, column: &ColumnRef<'a>) {
        if column.via_jsonb {
            self.text.push_str("pg_catalog.to_jsonb(");
        }
        match column.computed {
            Some((function, relation)) => {
                self.name(&function.schema, &function.name);
                self.text.push('(');
                self.row_of(scope, relation);
                self.text.push(')');
            }
            None => self.named(scope, column.name),
        }
        if column.via_jsonb {
            self.text.push(')');
        }
        self.path(column.path);
    }

    fn path(&mut self, path: &'a [JsonStep<'a>]) {
        for step in path {
            self.text.push_str(if step.as_text { "->>" } else { "->" });
            match &step.operand {
                // An index is a number of its own alphabet; brackets keep a sign from joining the arrow.
                Operand::Index(index) => self.text.push_str(&format!("({index})")),
                Operand::Key(key) => {
                    match self.path_keys.get(&**key) {
                        Some(number) => _ = write!(self.text, "${number}"),
                        None => {
                            self.param(Cow::Borrowed(key));
                            self.path_keys.insert(key, self.params.len());
                        }
                    }
                    self.text.push_str("::pg_catalog.text");
                }
            }
        }
    }

    /// Conditions that must all hold; what says so (`WHERE`, `AND`) comes before the first.
    pub(crate) fn conditions(&mut self, scope: Scope<'a>, read: &'a Read<'a>, mut before: &str) {
        for condition in &read.conditions {
            self.text.push_str(before);
            self.condition(scope, read, condition);
            before = " AND ";
        }
        for (index, embed) in read.embeds.iter().enumerate() {
            if embed.inner && !embed.is_to_one() {
                self.text.push_str(before);
                self.found(scope, read, index);
                before = " AND ";
            }
        }
    }

    pub(crate) fn condition(&mut self, scope: Scope<'a>, read: &'a Read<'a>, condition: &'a Condition<'a>) {
        match condition {
            Condition::Filter { column, filter, to_tsvector, read_by, contained_in, other_bound } => {
                let is_hidden = self.search == Search::ByLink(scope.number) && has_index_of_its_own(read, column);
                self.filter(
                    scope,
                    (column, is_hidden),
                    filter,
                    *to_tsvector,
                    Value { read_by: *read_by, contained_in: *contained_in },
                );
                if let Some(bound) = other_bound
                    && self.search == Search::ByConditions(scope.number)
                {
                    self.text.push_str(" AND ");
                    self.column(scope, column);
                    self.text.push_str(bound);
                }
            }
            Condition::Found(index, wanted) => {
                if !wanted {
                    self.text.push_str("NOT ");
                }
                self.found(scope, read, *index);
            }
            Condition::Group { negated, all, children } => {
                self.text.push_str(if *negated { "NOT (" } else { "(" });
                for (at, child) in children.iter().enumerate() {
                    if at > 0 {
                        self.text.push_str(if *all { " AND " } else { " OR " });
                    }
                    self.condition(scope, read, child);
                }
                self.text.push(')');
            }
        }
    }

    /// Whether an embed of the level finds a row.
    fn found(&mut self, scope: Scope<'a>, read: &'a Read<'a>, index: usize) {
        if read.embeds[index].is_to_one() {
            self.text.push('(');
            self.embed_alias(scope, index);
            self.text.push_str(".found IS NOT NULL)");
        } else {
            self.exists(scope, &read.embeds[index]);
        }
    }

    fn filter(
        &mut self,
        scope: Scope<'a>,
        (column, is_hidden): (&ColumnRef<'a>, bool),
        filter: &'a Filter<'a>,
        to_tsvector: bool,
        value: Value<'a>,
    ) {
        if filter.negated {
            self.text.push_str("NOT (");
        }
        match &filter.operation {
            Operation::In(elements) => {
                self.compared(scope, column, is_hidden);
                self.text.push_str(" = ANY(");
                self.compared_values(Cow::Owned(array_literal(elements)), value);
                self.text.push(')');
            }
            Operation::Is(word) => {
                self.compared(scope, column, is_hidden);
                self.text.push_str(match word {
                    IsWord::Null => " IS NULL",
                    IsWord::NotNull => " IS NOT NULL",
                    IsWord::True => " IS TRUE",
                    IsWord::False => " IS FALSE",
                    IsWord::Unknown => " IS UNKNOWN",
                });
            }
            Operation::Distinct(text) => {
                self.compared(scope, column, is_hidden);
                self.text.push_str(" IS DISTINCT FROM ");
                match text {
                    Some(text) => self.compared_value(Cow::Borrowed(text), value),
                    None => self.text.push_str("NULL"),
                }
            }
            Operation::Fts { operator, config, value } => {
                if to_tsvector {
                    self.text.push_str("pg_catalog.to_tsvector(");
                    self.regconfig(config);
                }
                self.compared(scope, column, is_hidden);
                self.text.push_str(if to_tsvector { ") @@ " } else { " @@ " });
                self.text.push_str(match operator {
                    FtsOperator::Fts => "pg_catalog.to_tsquery(",
                    FtsOperator::Plfts => "pg_catalog.plainto_tsquery(",
                    FtsOperator::Phfts => "pg_catalog.phraseto_tsquery(",
                    FtsOperator::Wfts => "pg_catalog.websearch_to_tsquery(",
                });
                self.regconfig(config);
                self.param(Cow::Borrowed(value));
                self.text.push(')');
            }
            Operation::Compare { operator, quantifier, value: text } => {
                self.compared(scope, column, is_hidden);
                self.text.push_str(sql_operator(*operator));
                let text = match operator {
                    Comparison::Like | Comparison::Ilike => like_pattern(text, quantifier.is_some()),
                    Comparison::Contains | Comparison::Icontains => Cow::Owned(containing(text)),
                    _ => Cow::Borrowed(&**text),
                };
                match quantifier {
                    None => self.compared_value(text, value),
                    Some(quantifier) => {
                        self.text.push_str(match quantifier {
                            Quantifier::Any => "ANY(",
                            Quantifier::All => "ALL(",
                        });
                        self.compared_values(text, value);
                        self.text.push(')');
                    }
                }
            }
        }
        if filter.negated {
            self.text.push(')');
        }
    }

    /// A value that a filter compares with.
    fn compared_value(&mut self, text: Cow<'a, str>, value: Value<'_>) {
        if let Some((schema, name)) = value.read_by {
            self.name(schema, name);
            self.text.push('(');
            self.param(text);
            self.text.push_str("::pg_catalog.text)");
            return;
        }
        self.param(match value.contained_in {
            // An owned value: the statement is not found again for a value that would have to be rewritten.
            Some(kind) => Cow::Owned(range_literal(&text, kind)),
            None => text,
        });
    }

    /// An array of values that a filter compares with.
    fn compared_values(&mut self, array: Cow<'a, str>, value: Value<'_>) {
        let Some((schema, name)) = value.read_by else { return self.param(array) };
        self.text.push_str("ARRAY(SELECT ");
        self.name(schema, name);
        self.text.push_str("(v) FROM pg_catalog.unnest(");
        self.param(array);
        self.text.push_str("::pg_catalog.text[]) AS v)");
    }

    /// What a filter compares.
    fn compared(&mut self, scope: Scope<'a>, column: &ColumnRef<'a>, is_hidden: bool) {
        if is_hidden {
            self.hidden(|writer| writer.column(scope, column));
        } else {
            self.column(scope, column);
        }
    }

    fn regconfig(&mut self, config: &'a Option<Cow<'a, str>>) {
        if let Some(config) = config {
            self.param(Cow::Borrowed(config));
            self.text.push_str("::pg_catalog.regconfig, ");
        }
    }

    pub(crate) fn order(&mut self, scope: Scope<'a>, read: &'a Read<'a>) {
        self.terms(scope, read, " ORDER BY ", false);
    }

    /// The order from the last row on.
    pub(crate) fn reversed(&mut self, scope: Scope<'a>, read: &'a Read<'a>) {
        self.terms(scope, read, " ORDER BY ", true);
    }

    /// The terms of the order behind others.
    pub(crate) fn order_after_others(&mut self, scope: Scope<'a>, read: &'a Read<'a>) {
        self.terms(scope, read, ", ", false);
    }

    /// The terms of the order; what says so, or separates them from others, comes before the first. Where no word is said, rows ascend, and
    /// nulls count as larger than all values: reversed, they do so still.
    fn terms(&mut self, scope: Scope<'a>, read: &'a Read<'a>, mut before: &str, is_reversed: bool) {
        let is_grouped = read.is_grouped();
        for term in &read.order {
            self.text.push_str(before);
            before = ", ";
            match &term.key {
                OrderKey::Column(column) => self.column(scope, column),
                OrderKey::Unselected(embed, name) => {
                    self.embed_alias(scope, *embed);
                    self.text.push('.');
                    quote(&mut self.text, name);
                }
                OrderKey::Related(embed, output, path) => {
                    if !path.is_empty() {
                        self.text.push_str("pg_catalog.to_jsonb(");
                    }
                    self.embed_alias(scope, *embed);
                    // rows are grouped by what is lifted
                    let column = if is_grouped && read.embeds[*embed].spread { 'c' } else { 'o' };
                    let _ = write!(self.text, ".{column}{output}");
                    if !path.is_empty() {
                        self.text.push(')');
                    }
                    self.path(path);
                }
            }
            self.text.push_str(match (term.direction, is_reversed) {
                (Some(Direction::Asc), false) | (Some(Direction::Desc), true) => " ASC",
                (Some(Direction::Desc), false) | (Some(Direction::Asc) | None, true) => " DESC",
                (None, false) => "",
            });
            self.text.push_str(match (term.nulls, is_reversed) {
                (Some(Nulls::First), false) | (Some(Nulls::Last), true) => " NULLS FIRST",
                (Some(Nulls::Last), false) | (Some(Nulls::First), true) => " NULLS LAST",
                (None, _) => "",
            });
        }
    }
}

/// Whether an index finds rows by this column that is not the one for its table's rows.
fn has_index_of_its_own(read: &Read<'_>, column: &ColumnRef<'_>) -> bool {
    let found = || read.from.relation().and_then(|relation| Some((relation, relation.column(column.name)?)));
    column.computed.is_none()
        && column.path.is_empty()
        && found().is_some_and(|(relation, at)| relation.has_index_of_many(at))
}

fn sql_operator(operator: Comparison) -> &'static str {
    match operator {
        Comparison::Eq => " = ",
        Comparison::Neq => " <> ",
        Comparison::Gt => " > ",
        Comparison::Gte => " >= ",
        Comparison::Lt => " < ",
        Comparison::Lte => " <= ",
        Comparison::Like | Comparison::Contains => " LIKE ",
        Comparison::Ilike | Comparison::Icontains => " ILIKE ",
        Comparison::Match => " ~ ",
        Comparison::Imatch => " ~* ",
        Comparison::Cs => " @> ",
        Comparison::Cd => " <@ ",
        Comparison::Ov => " && ",
        Comparison::Sl => " << ",
        Comparison::Sr => " >> ",
        Comparison::Nxr => " &< ",
        Comparison::Nxl => " &> ",
        Comparison::Adj => " -|- ",
    }
}

/// Translates the pattern of a filter into one of PostgreSQL's: an asterisk becomes a percent sign,
/// unless a backslash escapes it. Within an array literal each backslash of an element is written
/// twice, and a single one before an asterisk escapes it as well.
fn like_pattern(pattern: &str, is_array: bool) -> Cow<'_, str> {
    if !pattern.contains('*') {
        return Cow::Borrowed(pattern);
    }
    let mut backslashes = 0_usize;
    let translate = |c| {
        let is_escaped = if is_array { backslashes == 1 || backslashes / 2 % 2 == 1 } else { backslashes % 2 == 1 };
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        if c == '*' && !is_escaped { '%' } else { c }
    };
    Cow::Owned(pattern.chars().map(translate).collect())
}

/// The pattern of all texts that contain a text.
fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_to_search_for_is_no_pattern() {
        for (text, pattern) in [("", "%%"), ("50%", r"%50\%%"), (r"a_b\*", r"%a\_b\\*%"), ("é", "%é%")] {
            assert_eq!(containing(text), pattern);
        }
    }

    #[test]
    fn an_escaped_asterisk_stays() {
        for (pattern, value, of_array) in [
            ("a*b", "a%b", "a%b"),
            (r"a\*b", r"a\*b", r"a\*b"),
            (r"a\\*b", r"a\\%b", r"a\\*b"),
            (r"a\\\\*b", r"a\\\\%b", r"a\\\\%b"),
            (r"\**\%_*", r"\*%\%_%", r"\*%\%_%"),
            (r"\a*", r"\a%", r"\a%"),
            (r"a\", r"a\", r"a\"),
        ] {
            assert_eq!(like_pattern(pattern, false), value, "{pattern}");
            assert_eq!(like_pattern(pattern, true), of_array, "{pattern} in an array");
        }
    }
}
