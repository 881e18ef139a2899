//! Why a word looks as it does in a text, step by step, in words.

use crate::endings::{Chains, ENDINGS, Open};
use crate::fold::{fold, is_kanji};
use crate::gloss::Word;
use crate::grammar::{Class, Rule, grammar};

/// One step from a dictionary form to the form in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the step makes of the form before.
    pub form: String,
    /// What it is called: `causative`.
    pub reason: &'static str,
    /// What it means.
    pub words: &'static str,
}

/// What a text may come from if there is such a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Possible {
    /// In dictionary form.
    pub word: String,
    /// What kind of word it would be.
    pub class: &'static Class,
    /// How the text would come from it.
    pub steps: Vec<Step>,
}

impl Word<'_, '_> {
    /// The steps from its dictionary form to what stands in the text. Nothing where it stands there in its dictionary form.
    pub fn explained(self) -> Vec<Step> {
        steps(self.dictionary_form(), self.steps())
    }
}

fn steps(mut form: String, rules: impl Iterator<Item = &'static Rule>) -> Vec<Step> {
    let mut steps = Vec::new();
    for rule in rules {
        form = grammar().step(rule, &form).unwrap_or(form);
        if let Some(reason) = rule.reason {
            steps.push(Step { form: form.clone(), reason, words: rule.words });
        }
    }
    steps
}

/// A text that is longer comes from nothing.
const EXPLAINED_CHARS_MAX: usize = 64;

/// What a text may come from by the grammar alone, the shortest word first: without a dictionary most of it is no word. Of a text that
/// shows no ending, as an ichidan verb's stem does, nothing is told.
pub fn possible(text: &str) -> Vec<Possible> {
    let chars: Vec<char> = text.chars().map(fold).take(EXPLAINED_CHARS_MAX + 1).collect();
    let (mut chains, mut open, mut found) = (Chains::default(), Open::default(), Vec::new());
    if chars.len() > EXPLAINED_CHARS_MAX {
        return Vec::new();
    }
    for at in 1..=chars.len() {
        let mut endings = Vec::new();
        ENDINGS.at(&chars, at, &mut open, &mut chains, &mut endings);
        for ending in endings.iter().filter(|ending| ending.end as usize == chars.len()) {
            let class = &grammar().classes()[usize::from(ending.class)];
            if class.after_kanji && !is_kanji(chars[at - 1]) {
                continue;
            }
            let mut rules: Vec<_> = chains.rules(ending.chain).filter_map(|rule| grammar().rules().get(rule)).collect();
            rules.reverse();
            let word: String = text.chars().take(at).chain(class.ending.chars()).collect();
            found.push(Possible { steps: steps(word.clone(), rules.into_iter()), word, class });
        }
    }
    found.sort_by_key(|possible| (possible.word.chars().count(), possible.steps.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_explained_without_a_dictionary() {
        let all = possible("書かせられました");
        let write = all.iter().find(|possible| possible.word == "書く").unwrap();
        assert_eq!(write.class.name, "v5k");
        let forms: Vec<_> = write.steps.iter().map(|step| (step.form.as_str(), step.reason)).collect();
        assert_eq!(
            forms,
            [
                ("書かせる", "causative"),
                ("書かせられる", "passive"),
                ("書かせられます", "polite"),
                ("書かせられました", "past")
            ]
        );
        assert_eq!(possible(""), []);
        assert_eq!(possible(&"て".repeat(1000)), []);
    }
}
