//! Reads the table of inflection from its text.

use std::collections::HashSet;
use std::fmt;

use super::{CLASSES_MAX, Class, ENDING_CHARS_MAX, ENTRY_CLASSES_MAX, RULES_MAX, Rule};

/// Why a table was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrammarError {
    file: &'static str,
    line: usize,
    kind: GrammarErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarErrorKind {
    /// It stands before the first section.
    NoSection,
    /// Its section is neither `[classes]` nor `[rules]`.
    UnknownSection,
    /// It has too few or too many columns, or an empty one.
    Columns,
    /// It has no arrow where one belongs, or nothing beside it.
    Arrow,
    /// An ending or a form has a space, a character that no Japanese word has, or more than [`ENDING_CHARS_MAX`] characters.
    Ending,
    /// A flag is none of `stands`, `after-kanji` and `not-before:`.
    UnknownFlag,
    /// A class of this name was there before.
    ClassTwice,
    /// No class has this name.
    UnknownClass,
    /// What a rule replaces is not the ending of its class.
    EndingOfAnother,
    /// What a rule puts there does not end with the ending of its result.
    EndingOfResult,
    /// A rule's result must follow a kanji, which holds for words of a dictionary only.
    ResultAfterKanji,
    /// The same rule was there before.
    RuleTwice,
    /// No entry can be of this class and no rule gives it.
    Unreached,
    /// No text may end with a word of this class and no rule takes it.
    NoWayOn,
    /// This rule is one of a circle of rules that consume nothing.
    Circle,
    /// It is one class more than [`CLASSES_MAX`].
    TooManyClasses,
    /// It is one class of a dictionary's words more than [`ENTRY_CLASSES_MAX`].
    TooManyEntryClasses,
    /// It is one rule more than [`RULES_MAX`].
    TooManyRules,
}

/// A line of the table, cut into columns.
struct Line {
    file: &'static str,
    number: usize,
    columns: Vec<&'static str>,
}

/// How many columns a class has.
const CLASS_COLUMNS: usize = 5;
/// How many columns a rule has.
const RULE_COLUMNS: usize = 6;

pub(super) fn read(files: &[(&'static str, &'static str)]) -> Result<(Vec<Class>, Vec<Rule>), GrammarError> {
    let (class_lines, rule_lines) = cut(files)?;
    let mut classes: Vec<Class> = Vec::new();
    for line in &class_lines {
        let class = read_class(line)?;
        if classes.iter().any(|before| before.name == class.name) {
            return Err(line.error(GrammarErrorKind::ClassTwice));
        }
        classes.push(class);
        if classes.len() > CLASSES_MAX {
            return Err(line.error(GrammarErrorKind::TooManyClasses));
        }
        if classes.iter().filter(|class| !class.parts_of_speech.is_empty()).count() > ENTRY_CLASSES_MAX {
            return Err(line.error(GrammarErrorKind::TooManyEntryClasses));
        }
    }
    let (mut rules, mut known) = (Vec::<Rule>::new(), HashSet::new());
    for line in &rule_lines {
        let rule = read_rule(line, &classes)?;
        if !known.insert((rule.class, rule.to, rule.result)) {
            return Err(line.error(GrammarErrorKind::RuleTwice));
        }
        rules.push(rule);
        if rules.len() > RULES_MAX {
            return Err(line.error(GrammarErrorKind::TooManyRules));
        }
    }
    for (number, (class, line)) in classes.iter().zip(&class_lines).enumerate() {
        if class.parts_of_speech.is_empty() && !rules.iter().any(|rule| rule.result == number) {
            return Err(line.error(GrammarErrorKind::Unreached));
        }
        if !class.stands && !rules.iter().any(|rule| rule.class == number) {
            return Err(line.error(GrammarErrorKind::NoWayOn));
        }
    }
    match rule_of_a_circle(&classes, &rules) {
        Some(number) => Err(rule_lines[number].error(GrammarErrorKind::Circle)),
        None => Ok((classes, rules)),
    }
}

/// The lines of classes and those of rules, of all files.
fn cut(files: &[(&'static str, &'static str)]) -> Result<(Vec<Line>, Vec<Line>), GrammarError> {
    let (mut classes, mut rules) = (Vec::new(), Vec::new());
    for &(file, text) in files {
        let mut section = None;
        for (number, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let line = Line { file, number, columns: text.split('|').map(str::trim).collect() };
            match (text, section) {
                ("[classes]", _) => section = Some((CLASS_COLUMNS, &mut classes)),
                ("[rules]", _) => section = Some((RULE_COLUMNS, &mut rules)),
                (text, _) if text.starts_with('[') => return Err(line.error(GrammarErrorKind::UnknownSection)),
                (_, None) => return Err(line.error(GrammarErrorKind::NoSection)),
                (_, Some((columns, lines))) => {
                    if line.columns.len() != columns || line.columns.contains(&"") {
                        return Err(line.error(GrammarErrorKind::Columns));
                    }
                    lines.push(line);
                    section = Some((columns, lines));
                }
            }
        }
    }
    Ok((classes, rules))
}

fn read_class(line: &Line) -> Result<Class, GrammarError> {
    let &[name, ending, parts_of_speech, flags, words] = line.columns.as_slice() else {
        return Err(line.error(GrammarErrorKind::Columns));
    };
    let (mut stands, mut after_kanji, mut not_before) = (false, false, "");
    for flag in list(flags) {
        match flag {
            "stands" => stands = true,
            "after-kanji" => after_kanji = true,
            _ => match flag.strip_prefix("not-before:") {
                Some(characters) => not_before = characters,
                None => return Err(line.error(GrammarErrorKind::UnknownFlag)),
            },
        }
    }
    let ending = line.ending(ending)?;
    let parts_of_speech = list(parts_of_speech).collect();
    Ok(Class { name, ending, parts_of_speech, stands, after_kanji, not_before, words })
}

fn read_rule(line: &Line, classes: &[Class]) -> Result<Rule, GrammarError> {
    let &[class, change, result, reason, example, words] = line.columns.as_slice() else {
        return Err(line.error(GrammarErrorKind::Columns));
    };
    let named = |name| {
        let place = classes.iter().position(|class| class.name == name);
        place.ok_or_else(|| line.error(GrammarErrorKind::UnknownClass))
    };
    let (class, result) = (named(class)?, named(result)?);
    let (from, to) = line.arrow(change, '→')?;
    let (from, to) = (line.ending(from)?, line.ending(to)?);
    if from != classes[class].ending {
        return Err(line.error(GrammarErrorKind::EndingOfAnother));
    }
    if !to.ends_with(classes[result].ending) {
        return Err(line.error(GrammarErrorKind::EndingOfResult));
    }
    if classes[result].after_kanji {
        return Err(line.error(GrammarErrorKind::ResultAfterKanji));
    }
    let reason = (reason != "-").then_some(reason);
    Ok(Rule { class, to, result, reason, words, example: line.arrow(example, '←')? })
}

/// The words of a column, of which there are none in `-`.
fn list(column: &'static str) -> impl Iterator<Item = &'static str> {
    column.split_whitespace().filter(|&word| word != "-")
}

/// A rule from which rules that consume nothing lead back to its own class.
fn rule_of_a_circle(classes: &[Class], rules: &[Rule]) -> Option<usize> {
    let consumes_nothing = |rule: &Rule| rule.to == classes[rule.result].ending;
    let empty: Vec<&Rule> = rules.iter().filter(|rule| consumes_nothing(rule)).collect();
    // Classes from which no such rule leads on but to classes that are done already; what never gets done leads into a circle.
    let mut is_done = vec![false; classes.len()];
    loop {
        let mut leads_on = vec![false; classes.len()];
        empty.iter().filter(|rule| !is_done[rule.result]).for_each(|rule| leads_on[rule.class] = true);
        let done: Vec<bool> = leads_on.iter().map(|leads_on| !leads_on).collect();
        if done == is_done {
            break;
        }
        is_done = done;
    }
    rules.iter().position(|rule| consumes_nothing(rule) && !is_done[rule.class] && !is_done[rule.result])
}

impl Line {
    fn error(&self, kind: GrammarErrorKind) -> GrammarError {
        GrammarError { file: self.file, line: self.number, kind }
    }

    /// What is on both sides of an arrow.
    fn arrow(&self, column: &'static str, arrow: char) -> Result<(&'static str, &'static str), GrammarError> {
        match column.split_once(arrow).map(|(left, right)| (left.trim(), right.trim())) {
            Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok((left, right)),
            _ => Err(self.error(GrammarErrorKind::Arrow)),
        }
    }

    /// An ending, of which `""` is the empty one.
    fn ending(&self, column: &'static str) -> Result<&'static str, GrammarError> {
        if column == "\"\"" {
            return Ok("");
        }
        let is_japanese = |character: char| matches!(character, 'ぁ'..='ゖ' | 'ー') || crate::fold::is_kanji(character);
        if column.chars().all(is_japanese) && column.chars().count() <= ENDING_CHARS_MAX {
            Ok(column)
        } else {
            Err(self.error(GrammarErrorKind::Ending))
        }
    }
}

impl GrammarError {
    /// What is wrong.
    pub fn kind(&self) -> GrammarErrorKind {
        self.kind
    }

    /// In which line of its file, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, line {}: {}", self.file, self.line, self.kind)
    }
}

impl std::error::Error for GrammarError {}

impl fmt::Display for GrammarErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            GrammarErrorKind::NoSection => "it stands before the first section",
            GrammarErrorKind::UnknownSection => "a section is [classes] or [rules]",
            GrammarErrorKind::Columns => "a class has 5 columns, a rule 6, and none is empty",
            GrammarErrorKind::Arrow => "an arrow or what is beside it is missing",
            GrammarErrorKind::Ending => "an ending is up to 8 hiragana or kanji, or \"\"",
            GrammarErrorKind::UnknownFlag => "a flag is stands, after-kanji or not-before:",
            GrammarErrorKind::ClassTwice => "a class of this name was there before",
            GrammarErrorKind::UnknownClass => "no class has this name",
            GrammarErrorKind::EndingOfAnother => "what the rule replaces is not the ending of its class",
            GrammarErrorKind::EndingOfResult => "the form does not end with the ending of the result's class",
            GrammarErrorKind::ResultAfterKanji => "the class of the result is one for words of a dictionary only",
            GrammarErrorKind::RuleTwice => "the same rule was there before",
            GrammarErrorKind::Unreached => "no entry can be of this class and no rule gives it",
            GrammarErrorKind::NoWayOn => "no text may end with this class and no rule takes it",
            GrammarErrorKind::Circle => "rules that consume nothing lead from here back to here",
            GrammarErrorKind::TooManyClasses => "there are more than 128 classes",
            GrammarErrorKind::TooManyEntryClasses => "there are more than 64 classes of a dictionary's words",
            GrammarErrorKind::TooManyRules => "there are more than 1023 rules",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Grammar;

    /// A small table that is whole: lines 2 to 4 are classes, 6 and 7 are rules.
    const WHOLE: &str = "[classes]\n\
        v1 | る | v1 | stands | ichidan\n\
        i-stem | \"\" | - | - | before ます\n\
        end | \"\" | - | stands | the end\n\
        [rules]\n\
        v1 | る → \"\" | i-stem | - | 食べ ← 食べる | a stem\n\
        i-stem | \"\" → ます | end | polite | 食べます ← 食べる | politely\n";

    fn refusal(text: String) -> Option<(usize, GrammarErrorKind)> {
        let error = Grammar::read(&[("table.txt", text.leak())]).err()?;
        assert!(error.to_string().starts_with(&format!("table.txt, line {}: ", error.line())));
        Some((error.line(), error.kind()))
    }

    #[test]
    fn a_whole_table_is_read() {
        let grammar = Grammar::read(&[("table.txt", WHOLE)]).expect("the table is whole");
        assert_eq!((grammar.classes().len(), grammar.rules().len()), (3, 2));
        assert_eq!((grammar.rules()[0].to, grammar.rules()[0].reason), ("", None));
        assert_eq!((grammar.rules()[1].example, grammar.rules()[1].reason), (("食べます", "食べる"), Some("polite")));
    }

    #[test]
    fn each_kind_of_broken_line_is_refused_with_its_number() {
        use GrammarErrorKind::*;
        let broken = [
            ("[classes]\nv1 |", "v1 |", 1, NoSection),
            ("[rules]", "[rule]", 5, UnknownSection),
            ("| v1 | stands", "| v1 stands", 2, Columns),
            ("| a stem", "| a stem | more", 6, Columns),
            ("| a stem", "|", 6, Columns),
            ("る → \"\"", "る \"\"", 6, Arrow),
            ("食べ ← 食べる", "食べ ←", 6, Arrow),
            ("→ ます", "→ masu", 7, Ending),
            ("→ ます", "→ ま す", 7, Ending),
            ("→ ます", "→ ますますますますま", 7, Ending),
            ("| - | - | before", "| - | stand | before", 3, UnknownFlag),
            ("end |", "v1 |", 4, ClassTwice),
            ("ます | end", "ます | ende", 7, UnknownClass),
            ("v1 | る →", "v5k | る →", 6, UnknownClass),
            ("v1 | る →", "v1 | う →", 6, EndingOfAnother),
            ("→ ます | end", "→ ます | v1", 7, EndingOfResult),
            ("end | \"\" | - | stands |", "end | \"\" | - | stands after-kanji |", 7, ResultAfterKanji),
            ("i-stem | \"\" → ます | end |", "v1 | る → \"\" | i-stem |", 7, RuleTwice),
            ("ます | end", "る | v1", 4, Unreached),
            ("i-stem | \"\" → ます", "v1 | る → ます", 3, NoWayOn),
            ("i-stem | \"\" → ます | end", "i-stem | \"\" → \"\" | i-stem", 4, Unreached),
        ];
        assert_eq!(refusal(WHOLE.to_owned()), None);
        for (from, to, line, kind) in broken {
            assert!(WHOLE.contains(from), "{from}");
            assert_eq!(refusal(WHOLE.replacen(from, to, 1)), Some((line, kind)), "{from} as {to}");
        }
    }

    #[test]
    fn a_circle_of_rules_that_consume_nothing_is_refused() {
        let circle = format!("{WHOLE}v1 | る → る | v1 | - | 食べる ← 食べる | itself\n");
        assert_eq!(refusal(circle), Some((8, GrammarErrorKind::Circle)));
        let longer = format!("{WHOLE}i-stem | \"\" → る | v1 | - | 食べる ← 食べる | back again\n");
        assert_eq!(refusal(longer), Some((6, GrammarErrorKind::Circle)));
    }

    #[test]
    fn too_much_is_refused_where_it_begins() {
        let classes = |parts: &str, count: usize| {
            let line = |number| format!("class-{number} | る | {parts} | stands | one of many\n");
            format!("[classes]\n{}", (0..count).map(line).collect::<String>())
        };
        assert_eq!(refusal(classes("v1", ENTRY_CLASSES_MAX)), None);
        assert_eq!(refusal(classes("v1", ENTRY_CLASSES_MAX + 1)), Some((66, GrammarErrorKind::TooManyEntryClasses)));
        assert_eq!(refusal(classes("-", CLASSES_MAX + 1)), Some((130, GrammarErrorKind::TooManyClasses)));
        let kana: Vec<char> = ('ぁ'..='ん').collect();
        let rule = |number: usize| {
            let (first, second) = (kana[number % kana.len()], kana[number / kana.len()]);
            format!("v1 | る → {first}{second} | end | - | 食べ ← 食べる | one of many\n")
        };
        let rules = |count: usize| format!("{WHOLE}{}", (0..count).map(rule).collect::<String>());
        assert_eq!(refusal(rules(RULES_MAX - 2)), None);
        assert_eq!(refusal(rules(RULES_MAX - 1)), Some((RULES_MAX + 6, GrammarErrorKind::TooManyRules)));
    }
}
