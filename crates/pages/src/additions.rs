//! Functions and filters of whoever serves a site, which its templates have besides the engine's own.

use crate::query::is_name;
use crate::render;
use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult, Rest, Value};
use minijinja::{Environment, Error, ErrorKind, State};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What the engine gives a meaning of its own, though no function has the name.
const WORDS: [&str; 4] = ["caller", "loop", "self", "super"];

/// Functions and filters for templates. What they are given is fetched as a whole: a column, a row with all its columns, all
/// rows. They must not look for anything else in the engine's state, of which the page may have fetched nothing.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    functions: Vec<(String, Value)>,
    filters: Vec<(String, Value)>,
}

impl Additions {
    /// Adds a function: `{{ name(value) }}`.
    pub fn function<F, R, A>(&mut self, name: &str, function: F)
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.functions.push((name.to_owned(), Value::from_function(function)));
    }

    /// Adds a filter: `{{ value|name }}`.
    pub fn filter<F, R, A>(&mut self, name: &str, filter: F)
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.filters.push((name.to_owned(), Value::from_function(filter)));
    }

    /// The names of the functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|(name, _)| &**name)
    }

    /// The names of the filters.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|(name, _)| &**name)
    }

    /// Says what is wrong with their names. One that templates have already means to the analysis what it has always meant, so
    /// that it cannot be replaced; `taken` are functions of whoever serves the site.
    ///
    /// # Errors
    ///
    /// The first name that cannot be used, and why.
    pub fn check(&self, taken: &[&str]) -> Result<(), String> {
        let environment = render::environment(Arc::default());
        let is_function = |name: &str| environment.globals().any(|(known, _)| known == name) || taken.contains(&name);
        check("function", &self.functions, is_function)?;
        check("filter", &self.filters, |name| is_filter(&environment, name))
    }

    pub(crate) fn register(&self, environment: &mut Environment<'static>) {
        for (name, function) in &self.functions {
            environment.add_global(name.clone(), guarded("function", name, function));
        }
        for (name, filter) in &self.filters {
            let filter = guarded("filter", name, filter);
            let filter = move |state: &mut State<'_, '_>, values: Rest<Value>| filter.call(state, &values);
            environment.add_filter(name.clone(), filter);
        }
    }
}

/// Whether the engine has a filter. It does not list them.
pub(crate) fn is_filter(environment: &Environment<'_>, name: &str) -> bool {
    let applied = environment.empty_state().apply_filter(name, &[Value::UNDEFINED]);
    !matches!(applied, Err(error) if error.kind() == ErrorKind::UnknownFilter)
}

/// Whether the engine has a test.
pub(crate) fn is_test(environment: &Environment<'_>, name: &str) -> bool {
    let performed = environment.empty_state().perform_test(name, &[Value::UNDEFINED]);
    !matches!(performed, Err(error) if error.kind() == ErrorKind::UnknownTest)
}

fn check(kind: &str, added: &[(String, Value)], is_taken: impl Fn(&str) -> bool) -> Result<(), String> {
    for (number, (name, _)) in added.iter().enumerate() {
        if !is_name(name) {
            return Err(format!("the {kind} {name:?} cannot be named in a template: letters, digits and _ can"));
        }
        let is_added = added[..number].iter().any(|(other, _)| other == name);
        if is_added || WORDS.contains(&&**name) || is_taken(name) {
            return Err(format!("templates have a {kind} {name} already, which cannot be replaced"));
        }
    }
    Ok(())
}

/// The same, of which a panic is an error of the template.
fn guarded(kind: &'static str, name: &str, function: &Value) -> Value {
    let (name, function) = (name.to_owned(), function.clone());
    Value::from_function(move |state: &mut State<'_, '_>, values: Rest<Value>| {
        catch_unwind(AssertUnwindSafe(|| function.call(state, &values)))
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::InvalidOperation, format!("the {kind} {name} panicked"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(name: &str) -> [Option<String>; 2] {
        let (mut functions, mut filters) = (Additions::default(), Additions::default());
        functions.function(name, |number: i64| number + 1);
        filters.filter(name, |number: i64| number + 1);
        [functions, filters].map(|additions| additions.check(&["static"]).err())
    }

    #[test]
    fn names_that_templates_have_cannot_be_replaced() {
        assert_eq!(added("glide_ratio"), [None, None]);
        let is_refused = |name| added(name).map(|refusal| refusal.is_some());
        for name in ["range", "dict", "namespace", "debug", "static", "t"] {
            assert_eq!(is_refused(name), [true, false], "{name}");
        }
        for name in ["length", "d", "selectattr", "safe", "sum", "number"] {
            assert_eq!(is_refused(name), [false, true], "{name}");
        }
        for name in ["loop", "super", "", "two words", "1st", "a.b"] {
            assert_eq!(is_refused(name), [true, true], "{name}");
        }
        let mut twice = Additions::default();
        twice.function("one", |text: String| text);
        twice.function("one", |text: String| text);
        assert_eq!(twice.check(&[]), Err("templates have a function one already, which cannot be replaced".to_owned()));
    }
}
