//! What messages refer to: found when a catalogue is loaded, not when a reader has it.

use fluent_bundle::FluentResource;
use fluent_syntax::ast::{CallArguments, Entry, Expression, Identifier, InlineExpression, Pattern, PatternElement};
use std::collections::{HashMap, HashSet};

/// How many digits of a fraction a number within a message may have: the rules of plurals count them in 64 bits.
pub const MESSAGE_FRACTION_DIGITS_MAX: usize = 15;

/// The only function of messages.
pub(super) const FUNCTION: &str = "NUMBER";
const OPTIONS: [&str; 4] = ["minimumFractionDigits", "maximumFractionDigits", "useGrouping", "type"];

/// The first thing that is wrong, and where.
pub(super) fn fault(resource: &FluentResource) -> Option<(usize, String)> {
    let mut names = Names::default();
    resource.entries().for_each(|entry| names.add(entry));
    let fault = resource.entries().find_map(|entry| names.entry(entry));
    // what is found is a part of the text
    fault.map(|(at, message)| ((at.as_ptr() as usize).saturating_sub(resource.source().as_ptr() as usize), message))
}

type Fault<'a> = Option<(&'a str, String)>;

/// What can be referred to: whether it has a text of its own, and its attributes.
#[derive(Default)]
struct Names<'a> {
    messages: HashMap<&'a str, (bool, HashSet<&'a str>)>,
    terms: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn add(&mut self, entry: &Entry<&'a str>) {
        match entry {
            Entry::Message(message) => {
                let attributes = message.attributes.iter().map(|attribute| attribute.id.name).collect();
                self.messages.insert(message.id.name, (message.value.is_some(), attributes));
            }
            Entry::Term(term) => {
                self.terms.insert(term.id.name);
            }
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) | Entry::Junk { .. } => {}
        }
    }

    fn entry(&self, entry: &Entry<&'a str>) -> Fault<'a> {
        let (value, attributes) = match entry {
            Entry::Message(message) => (message.value.as_ref(), &message.attributes),
            Entry::Term(term) => (Some(&term.value), &term.attributes),
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) | Entry::Junk { .. } => return None,
        };
        let attributes = attributes.iter().map(|attribute| &attribute.value);
        value.into_iter().chain(attributes).find_map(|pattern| self.pattern(pattern))
    }

    fn pattern(&self, pattern: &Pattern<&'a str>) -> Fault<'a> {
        pattern.elements.iter().find_map(|element| match element {
            PatternElement::TextElement { .. } => None,
            PatternElement::Placeable { expression } => self.expression(expression),
        })
    }

    fn expression(&self, expression: &Expression<&'a str>) -> Fault<'a> {
        match expression {
            Expression::Inline(inline) => self.inline(inline),
            Expression::Select { selector, variants } => {
                let variants = || variants.iter().find_map(|variant| self.pattern(&variant.value));
                self.inline(selector).or_else(variants)
            }
        }
    }

    fn inline(&self, inline: &InlineExpression<&'a str>) -> Fault<'a> {
        match inline {
            InlineExpression::StringLiteral { .. } | InlineExpression::VariableReference { .. } => None,
            InlineExpression::NumberLiteral { value } => {
                let fraction = value.split_once('.').map_or("", |(_, fraction)| fraction);
                let message = format!("a number has at most {MESSAGE_FRACTION_DIGITS_MAX} digits of a fraction");
                (fraction.len() > MESSAGE_FRACTION_DIGITS_MAX).then_some((*value, message))
            }
            InlineExpression::FunctionReference { id, arguments } => {
                function(id, arguments).or_else(|| self.call(arguments))
            }
            InlineExpression::MessageReference { id, attribute } => {
                let attribute = attribute.as_ref().map(|attribute| attribute.name);
                let is_known = self.messages.get(id.name).is_some_and(|(has_text, attributes)| match attribute {
                    Some(attribute) => attributes.contains(attribute),
                    None => *has_text,
                });
                let name = attribute.map_or(id.name.to_owned(), |attribute| format!("{}.{attribute}", id.name));
                (!is_known).then(|| (id.name, format!("there is no message {name} in this language")))
            }
            InlineExpression::TermReference { id, arguments, .. } => {
                let message = || (id.name, format!("there is no term -{} in this language", id.name));
                let unknown = (!self.terms.contains(id.name)).then(message);
                unknown.or_else(|| arguments.as_ref().and_then(|arguments| self.call(arguments)))
            }
            InlineExpression::Placeable { expression } => self.expression(expression),
        }
    }

    fn call(&self, arguments: &CallArguments<&'a str>) -> Fault<'a> {
        let named = arguments.named.iter().map(|named| &named.value);
        arguments.positional.iter().chain(named).find_map(|argument| self.inline(argument))
    }
}

fn function<'a>(id: &Identifier<&'a str>, arguments: &CallArguments<&'a str>) -> Fault<'a> {
    if id.name != FUNCTION || arguments.positional.len() != 1 {
        return Some((id.name, format!("a message calls {FUNCTION}($value), and no other function")));
    }
    arguments.named.iter().find_map(|option| {
        let name = option.name.name;
        if !OPTIONS.contains(&name) {
            return Some((name, format!("{FUNCTION} is told {}", OPTIONS.join(", "))));
        }
        let InlineExpression::NumberLiteral { value } = option.value else { return None };
        let is_allowed = value.parse().is_ok_and(|digits: usize| digits <= MESSAGE_FRACTION_DIGITS_MAX);
        (!is_allowed).then(|| (name, format!("{name} is at most {MESSAGE_FRACTION_DIGITS_MAX}")))
    })
}
