//! The table of Japanese inflection: which forms a word takes, and what each form says.
//!
//! The table stands in `grammar/*.txt` for people to read; this module reads it. A rule takes a word of its class, replaces the class's
//! ending by the rule's text and gives a word of another class, so that 食べる → 食べさせる → 食べさせられる → 食べさせられた is a chain of rules.

mod conjugate;
mod read;

use crate::fold::is_kanji;
use std::sync::LazyLock;

pub use conjugate::{Conjugation, Form};
pub use read::{GrammarError, GrammarErrorKind};

/// How many classes there may be.
pub const CLASSES_MAX: usize = 128;
/// How many classes there may be whose words stand in dictionaries; a `u64` has a bit for each.
pub const ENTRY_CLASSES_MAX: usize = 64;
/// How many rules there may be.
pub const RULES_MAX: usize = 1023;
/// How many rules a chain may have.
pub const CHAIN_RULES_MAX: usize = 24;
/// How long an ending or a form may be.
pub const ENDING_CHARS_MAX: usize = 8;

/// Classes of words and the rules that lead from one to another.
#[derive(Debug)]
pub struct Grammar {
    classes: Vec<Class>,
    rules: Vec<Rule>,
    /// For each class the numbers of its rules.
    rules_of: Vec<Vec<u16>>,
}

/// A kind of words, or of parts of words, that inflect alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// As the table names it: `v5k`, `i-stem`.
    pub name: &'static str,
    /// What each of its words ends with; rules replace it.
    pub ending: &'static str,
    /// JMdict's codes of which an entry of this class has one; none if no entry is of this class.
    pub parts_of_speech: Vec<&'static str>,
    /// Whether a text may end a word here. Stems do not stand.
    pub stands: bool,
    /// Whether what is before the ending must end in a kanji.
    pub after_kanji: bool,
    /// Characters before which a word does not stand here, though its text is there: those that make another word of its end.
    pub not_before: &'static str,
    /// What it is, in words.
    pub words: &'static str,
}

/// One step of inflection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which class it takes a word of.
    pub class: usize,
    /// What it puts in the place of the class's ending. It ends with the result's ending.
    pub to: &'static str,
    /// Which class it gives a word of.
    pub result: usize,
    /// What it says of the word, as a reader is shown it: `passive`. None if it is a step towards something else only.
    pub reason: Option<&'static str>,
    /// What the form means, in words.
    pub words: &'static str,
    /// A form that ends with this rule, and the dictionary's word that it is a form of.
    pub example: (&'static str, &'static str),
}

/// The table that is compiled in.
///
/// # Panics
///
/// If the table is broken. A test reads it, so that this does not happen in a program that was built.
pub fn grammar() -> &'static Grammar {
    static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
        Grammar::read(&[
            ("classes.txt", include_str!("../grammar/classes.txt")),
            ("verbs.txt", include_str!("../grammar/verbs.txt")),
            ("stems.txt", include_str!("../grammar/stems.txt")),
            ("te.txt", include_str!("../grammar/te.txt")),
            ("adjectives.txt", include_str!("../grammar/adjectives.txt")),
            ("polite.txt", include_str!("../grammar/polite.txt")),
            ("classical.txt", include_str!("../grammar/classical.txt")),
            ("spoken.txt", include_str!("../grammar/spoken.txt")),
        ])
        .unwrap_or_else(|error| panic!("the table of inflection is broken: {error}"))
    });
    &GRAMMAR
}

impl Grammar {
    /// Reads a table from its files, each with its name for errors.
    ///
    /// # Errors
    ///
    /// If a line is not as `grammar/README.md` says, if there is too much of something, or if rules that consume no text form a circle.
    pub fn read(files: &[(&'static str, &'static str)]) -> Result<Grammar, GrammarError> {
        let (classes, rules) = read::read(files)?;
        let mut rules_of = vec![Vec::new(); classes.len()];
        for (number, rule) in (0_u16..).zip(&rules) {
            rules_of[rule.class].push(number);
        }
        Ok(Grammar { classes, rules, rules_of })
    }

    /// All classes; rules name them by their places here.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// All rules; chains name them by their places here.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The numbers of the rules that take a word of a class.
    pub fn rules_of(&self, class: usize) -> &[u16] {
        self.rules_of.get(class).map_or(&[], Vec::as_slice)
    }

    /// The place of the class that has a name.
    pub fn class_named(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }

    /// What a rule makes of a word, if the word has the ending of the rule's class.
    pub fn step(&self, rule: &Rule, word: &str) -> Option<String> {
        let class = self.classes.get(rule.class)?;
        let stem = word.strip_suffix(class.ending)?;
        Some([stem, rule.to].concat())
    }

    /// What a rule adds to what is before its class's ending, once the ending of its result is left to what comes next: `され` of
    /// する → される. It is empty where a rule consumes nothing of a text.
    pub fn consumed(&self, rule: &Rule) -> &'static str {
        rule.to.strip_suffix(self.classes[rule.result].ending).unwrap_or(rule.to)
    }
}

impl Class {
    /// Whether a word looks as if it could be of this class.
    pub fn takes(&self, word: &str) -> bool {
        word.strip_suffix(self.ending)
            .is_some_and(|stem| !self.after_kanji || stem.chars().next_back().is_some_and(is_kanji))
    }
}
