//! What a filter is told, and else the page's variables, without an allocation where a filter is told nothing.

use super::{cut, is_nothing, refused, shown, variable};
use minijinja::value::{ArgType, Kwargs, Value, ValueKind, ValueOrKwargs};
use minijinja::{Error, State};

/// What a locale and a zone are where a page says nothing.
const DEFAULTS: [(&str, &str); 2] = [("locale", "en"), ("zone", "UTC")];

/// The arguments of a filter, behind its value: one by its position at most, and others by name.
pub(super) struct Arguments {
    pub(super) position: Option<Value>,
    named: Option<Kwargs>,
}

impl Arguments {
    pub(super) fn read(
        first: Option<ValueOrKwargs>,
        second: Option<Kwargs>,
        names: &[&str],
    ) -> Result<Arguments, Error> {
        let first = first.map(ValueOrKwargs::into_value);
        // an error is an allocation, and most of what stands at a position is no map
        let may_be_named = first.as_ref().filter(|first| first.kind() == ValueKind::Map);
        let arguments = match may_be_named.map(|first| Kwargs::from_value(Some(first))) {
            Some(Ok(named)) => Arguments { position: None, named: Some(named) },
            Some(Err(_)) | None => Arguments { position: first, named: second },
        };
        let unknown = arguments.named.iter().flat_map(Kwargs::args).find(|name| !names.contains(name));
        match unknown {
            Some(unknown) => Err(refused(format!("{} is no argument: {} are", cut(unknown), names.join(", ")))),
            None => Ok(arguments),
        }
    }

    pub(super) fn named<T: for<'a> ArgType<'a, Output = T>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.named.as_ref().map_or(Ok(None), |named| named.peek::<Option<T>>(name))
    }

    /// The locale or the zone.
    pub(super) fn setting(&self, state: &State, name: &str) -> Result<Value, Error> {
        let told = self.named::<Value>(name)?.filter(|value| !is_nothing(value));
        let default = || DEFAULTS.iter().find(|(known, _)| *known == name).map_or("", |(_, default)| default);
        let value = told.or_else(|| variable(state, name)).unwrap_or_else(|| Value::from(default()));
        match value.as_str() {
            Some(_) => Ok(value),
            None => Err(refused(format!("{name} is a text, not {}", shown(&value)))),
        }
    }
}
