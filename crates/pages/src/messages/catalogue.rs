//! The messages of one language.

use super::{references, unparsable};
use crate::error::{Error, ErrorKind, Place};
use crate::format::{self, Number};
use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentError, FluentResource, FluentValue};
use fluent_syntax::ast::{Entry, Pattern};
use intl_memoizer::Memoizable;
use intl_memoizer::concurrent::IntlLangMemoizer;
use std::convert::Infallible;
use unic_langid::LanguageIdentifier;

/// How much alike a name must be to be named as the nearest, and how long it may be.
const LIKENESS_MIN: f64 = 0.6;
const NEAREST_BYTES_MAX: usize = 100;

pub(super) struct Catalogue {
    pub(super) file: String,
    pub(super) language: String,
    bundle: FluentBundle<FluentResource>,
    /// What templates can name: messages with a text, and attributes.
    names: Vec<String>,
}

impl Catalogue {
    pub(super) fn read(file: String, language: LanguageIdentifier, text: String) -> Result<Catalogue, Error> {
        let fault = |text: &str, offset: usize, message: String| {
            Error::new(ErrorKind::Message, Place::in_text(&file, text, offset), message)
        };
        if let Some((offset, message)) = unparsable::fault(&text) {
            return Err(fault(&text, offset, message));
        }
        let resource = FluentResource::try_new(text).map_err(|(resource, faults)| {
            let first = faults.first();
            let message = first.map_or_else(|| "this is no Fluent".to_owned(), |first| first.kind.to_string());
            fault(resource.source(), first.map_or(0, |first| first.pos.start), message)
        })?;
        if let Some((offset, message)) = references::fault(&resource) {
            return Err(fault(resource.source(), offset, message));
        }
        let names = names(&resource);
        let tag = language.to_string();
        let mut bundle = FluentBundle::new_concurrent(vec![language]);
        bundle.set_use_isolating(false);
        bundle.set_formatter(Some(number_text));
        let added = bundle.add_function(references::FUNCTION, number);
        added.map_err(|error| Error::of_file(ErrorKind::Message, &file, error.to_string()))?;
        bundle.add_resource(resource).map_err(|errors| {
            let message = match errors.first() {
                Some(FluentError::Overriding { id, .. }) => format!("{id} is there twice, as a message or as a term"),
                Some(FluentError::ParserError(_) | FluentError::ResolverError(_)) | None => "it is wrong".to_owned(),
            };
            Error::of_file(ErrorKind::Message, &file, message)
        })?;
        Ok(Catalogue { file, language: tag, bundle, names })
    }

    /// The pattern of `welcome`, or of `button.title`.
    pub(super) fn pattern(&self, id: &str) -> Option<&Pattern<&str>> {
        let (id, attribute) = id.split_once('.').map_or((id, None), |(id, attribute)| (id, Some(attribute)));
        let message = self.bundle.get_message(id)?;
        match attribute {
            Some(attribute) => message.get_attribute(attribute).map(|attribute| attribute.value()),
            None => message.value(),
        }
    }

    /// What a message says, or what is wrong with what it is given.
    pub(super) fn text(&self, pattern: &Pattern<&str>, arguments: &FluentArgs<'_>) -> Result<String, String> {
        let mut errors = Vec::new();
        let text = self.bundle.format_pattern(pattern, Some(arguments), &mut errors).into_owned();
        match errors.into_iter().next() {
            None => Ok(text),
            Some(FluentError::ResolverError(error)) => Err(error.to_string()),
            Some(error) => Err(error.to_string()),
        }
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn missing(&self, id: &str) -> String {
        let likeness = |name: &str| strsim::normalized_damerau_levenshtein(id, name);
        let names = self.names.iter().filter(|name| name.len().max(id.len()) <= NEAREST_BYTES_MAX);
        let nearest = names.map(|name| (likeness(name), name)).max_by(|one, other| one.0.total_cmp(&other.0));
        let hint = nearest.filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
        let hint = hint.map_or_else(String::new, |(_, name)| format!("; {name} is the nearest"));
        format!("{} has no message {id}{hint}", self.file)
    }
}

fn names(resource: &FluentResource) -> Vec<String> {
    let messages = resource.entries().filter_map(|entry| match entry {
        Entry::Message(message) => Some(message),
        _ => None,
    });
    let of_message = messages.flat_map(|message| {
        let id = message.id.name;
        let attributes = message.attributes.iter().map(move |attribute| format!("{id}.{}", attribute.id.name));
        message.value.iter().map(move |_| id.to_owned()).chain(attributes)
    });
    of_message.collect()
}

/// `NUMBER($count, minimumFractionDigits: 2)`. Text stays as it is.
fn number<'a>(positions: &[FluentValue<'a>], named: &FluentArgs<'_>) -> FluentValue<'a> {
    match positions.first() {
        Some(FluentValue::Number(number)) => {
            let mut number = number.clone();
            number.options.merge(named);
            FluentValue::Number(number)
        }
        Some(other) => other.clone(),
        None => FluentValue::Error,
    }
}

/// The language of a catalogue, as its formatters know it.
struct Language(String);

impl Memoizable for Language {
    type Args = ();
    type Error = Infallible;

    fn construct(language: LanguageIdentifier, (): ()) -> Result<Language, Infallible> {
        Ok(Language(language.to_string()))
    }
}

fn number_text(value: &FluentValue<'_>, memoizer: &IntlLangMemoizer) -> Option<String> {
    let FluentValue::Number(number) = value else { return None };
    let options = &number.options;
    let min = options.minimum_fraction_digits.unwrap_or(0);
    let exact = Number::of_float(number.value);
    let Ok(text) = memoizer.with_try_get::<Language, _, _>((), |Language(language)| {
        format::number_text(language, exact, min, options.maximum_fraction_digits, options.use_grouping)
    });
    text.ok()
}
