//! The table of inflection: what it says of each rule holds.

use std::collections::BTreeSet;

use thalweg_gloss::grammar::{CHAIN_RULES_MAX, Class, Grammar, grammar};

/// Whether a chain that ends in a rule makes a form of a word of a class. What is before the ending only grows, so that a chain is given
/// up as soon as it is no beginning of the form.
fn makes(grammar: &Grammar, (word, class): (&str, usize), form: &str, last: usize, rules_left: usize) -> bool {
    grammar.rules_of(class).iter().map(|&number| usize::from(number)).any(|number| {
        let rule = &grammar.rules()[number];
        let Some(next) = grammar.step(rule, word) else { return false };
        if number == last && next == form {
            return true;
        }
        let begins =
            next.strip_suffix(grammar.classes()[rule.result].ending).is_some_and(|begin| form.starts_with(begin));
        begins && rules_left > 1 && makes(grammar, (&next, rule.result), form, last, rules_left - 1)
    })
}

/// The classes that a dictionary's word may be of, by its ending.
fn classes_of<'a>(grammar: &'a Grammar, word: &'a str) -> impl Iterator<Item = (usize, &'a Class)> {
    let of_entries = |class: &Class| !class.parts_of_speech.is_empty();
    grammar.classes().iter().enumerate().filter(move |(_, class)| of_entries(class) && class.takes(word))
}

#[test]
fn every_example_is_made_by_its_rule() {
    let grammar = grammar();
    let mut failures = Vec::new();
    for (number, rule) in grammar.rules().iter().enumerate() {
        let (form, word) = rule.example;
        let found =
            classes_of(grammar, word).any(|(class, _)| makes(grammar, (word, class), form, number, CHAIN_RULES_MAX));
        if !found {
            failures.push(format!("{} → {}: {form} ← {word}", grammar.classes()[rule.class].name, rule.to));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn there_are_a_hundred_reasons() {
    let reasons: BTreeSet<&str> = grammar().rules().iter().filter_map(|rule| rule.reason).collect();
    println!(
        "{} classes, {} rules, {} reasons: {reasons:?}",
        grammar().classes().len(),
        grammar().rules().len(),
        reasons.len()
    );
    assert!(reasons.len() >= 100, "{}", reasons.len());
}
