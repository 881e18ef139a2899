//! Makes the forms of a word, rule after rule.

use super::{CHAIN_RULES_MAX, Grammar};

/// A form of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// As it is written.
    pub text: String,
    /// Which class it is a word of.
    pub class: usize,
    /// The numbers of the rules that made it, the first applied first.
    pub rules: Vec<u16>,
}

/// The forms of a word that may stand in a text, made as they are asked for.
#[derive(Debug)]
pub struct Conjugation<'a> {
    grammar: &'a Grammar,
    rules_max: usize,
    /// The forms from the word to the one made last, each with how many of its class's rules were tried.
    path: Vec<(String, usize, usize)>,
    /// The rules between them.
    rules: Vec<u16>,
}

impl Grammar {
    /// The forms that at most `rules_max` rules (and never more than [`CHAIN_RULES_MAX`]) make of a word of a class. There are none if the
    /// word cannot be of this class.
    pub fn conjugate(&self, word: &str, class: usize, rules_max: usize) -> Conjugation<'_> {
        let takes = self.classes().get(class).is_some_and(|class| class.takes(word));
        Conjugation {
            grammar: self,
            rules_max: rules_max.min(CHAIN_RULES_MAX),
            path: if takes { vec![(word.to_owned(), class, 0)] } else { Vec::new() },
            rules: Vec::new(),
        }
    }
}

impl Iterator for Conjugation<'_> {
    type Item = Form;

    fn next(&mut self) -> Option<Form> {
        loop {
            let (text, class, tried) = self.path.last_mut()?;
            let next = if self.rules.len() < self.rules_max { self.grammar.rules_of(*class).get(*tried) } else { None };
            let Some(&number) = next else {
                self.path.pop();
                self.rules.pop();
                continue;
            };
            *tried += 1;
            let rule = &self.grammar.rules()[usize::from(number)];
            let Some(text) = self.grammar.step(rule, text) else { continue };
            self.path.push((text.clone(), rule.result, 0));
            self.rules.push(number);
            if self.grammar.classes()[rule.result].stands {
                return Some(Form { text, class: rule.result, rules: self.rules.clone() });
            }
        }
    }
}
