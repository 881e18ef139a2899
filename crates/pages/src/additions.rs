//! Functions and filters that the server's owner adds to those of the template engine.
//!
//! The cost of an added function is unknown here. A function that was not declared quick runs only
//! where a page may take long to render. Elsewhere it ends the page with an error that
//! [`takes_long`] recognises, and the page is rendered again on another thread.

use crate::query::is_name;
use crate::render;
use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult, Rest, Value};
use minijinja::{Environment, Error, ErrorKind, State};
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What the engine gives a meaning of its own, though no function has the name.
const WORDS: [&str; 4] = ["caller", "loop", "self", "super"];

/// Functions and filters for templates. What they are given is fetched as a whole: a column, a row with all its columns, all
/// rows. They must not look for anything else in the engine's state, of which the page may have fetched nothing.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    functions: Vec<Addition>,
    filters: Vec<Addition>,
}

#[derive(Clone, Debug)]
struct Addition {
    name: String,
    function: Value,
    cost: Cost,
}

/// Time that a function or filter takes, as its author declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// Unknown, or more than some microseconds: the page is rendered on a thread that serves no
    /// other client.
    #[default]
    Unknown,
    /// Some microseconds for any argument: a thread that serves other requests may run the
    /// function.
    Quick,
}

impl Additions {
    /// Adds a function: `{{ name(value) }}`.
    pub fn function<F, R, A>(&mut self, name: &str, cost: Cost, function: F)
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.functions.push(Addition { name: name.to_owned(), function: Value::from_function(function), cost });
    }

    /// Adds a filter: `{{ value|name }}`.
    pub fn filter<F, R, A>(&mut self, name: &str, cost: Cost, filter: F)
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.filters.push(Addition { name: name.to_owned(), function: Value::from_function(filter), cost });
    }

    /// The names of the functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|added| &*added.name)
    }

    /// The names of the filters.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|added| &*added.name)
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
        for added in &self.functions {
            environment.add_global(added.name.clone(), guarded("function", added));
        }
        for added in &self.filters {
            let filter = guarded("filter", added);
            let filter = move |state: &mut State<'_, '_>, values: Rest<Value>| filter.call(state, &values);
            environment.add_filter(added.name.clone(), filter);
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

thread_local! {
    static MUST_BE_QUICK: Cell<bool> = const { Cell::new(false) };
}

/// Error of a page that calls a function of unknown cost where the page must be rendered quickly.
#[derive(Debug)]
struct TakesLong;

impl fmt::Display for TakesLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function of unknown cost is not called on a thread that serves other requests")
    }
}

impl std::error::Error for TakesLong {}

/// Renders a page on a thread that serves other requests too. A function or filter of unknown cost
/// ends the page with an error that [`takes_long`] recognises. The caller then renders the page
/// again, on a thread that serves no other client.
pub fn quickly<T>(render: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            MUST_BE_QUICK.set(self.0);
        }
    }
    let _restore = Restore(MUST_BE_QUICK.replace(true));
    render()
}

/// Returns whether [`quickly`] did not render a page because it calls a function of unknown cost.
pub fn takes_long(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error.is::<TakesLong>() {
            return true;
        }
        source = error.source();
    }
    false
}

fn check(kind: &str, added: &[Addition], is_taken: impl Fn(&str) -> bool) -> Result<(), String> {
    for (number, Addition { name, .. }) in added.iter().enumerate() {
        if !is_name(name) {
            return Err(format!("the {kind} {name:?} cannot be named in a template: letters, digits and _ can"));
        }
        let is_added = added[..number].iter().any(|other| other.name == *name);
        if is_added || WORDS.contains(&&**name) || is_taken(name) {
            return Err(format!("templates have a {kind} {name} already, which cannot be replaced"));
        }
    }
    Ok(())
}

/// Wraps a function for the engine. A panic becomes an error of the template, and a function of
/// unknown cost runs only where it may take long.
fn guarded(kind: &'static str, added: &Addition) -> Value {
    let Addition { name, function, cost } = added.clone();
    Value::from_function(move |state: &mut State<'_, '_>, values: Rest<Value>| {
        if cost == Cost::Unknown && MUST_BE_QUICK.get() {
            return Err(Error::new(ErrorKind::InvalidOperation, name.clone()).with_source(TakesLong));
        }
        catch_unwind(AssertUnwindSafe(|| function.call(state, &values)))
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::InvalidOperation, format!("the {kind} {name} panicked"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(name: &str) -> [Option<String>; 2] {
        let (mut functions, mut filters) = (Additions::default(), Additions::default());
        functions.function(name, Cost::Unknown, |number: i64| number + 1);
        filters.filter(name, Cost::Unknown, |number: i64| number + 1);
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
        twice.function("one", Cost::Quick, |text: String| text);
        twice.function("one", Cost::Quick, |text: String| text);
        assert_eq!(twice.check(&[]), Err("templates have a function one already, which cannot be replaced".to_owned()));
    }

    #[test]
    fn a_function_of_unknown_cost_is_called_only_where_a_page_may_take_long() {
        let mut additions = Additions::default();
        additions.function("slow", Cost::default(), |number: i64| number + 1);
        additions.filter("slowly", Cost::default(), |number: i64| number + 1);
        additions.function("quick", Cost::Quick, |number: i64| number + 1);
        let mut environment = render::environment(Arc::default());
        additions.register(&mut environment);
        environment.add_template("included", "{{ slow(1) }}").unwrap();
        for template in [
            "{{ slow(1) }}",
            "{{ 1|slowly }}",
            "{% include 'included' %}",
            "{% macro inner() %}{{ slow(1) }}{% endmacro %}{{ inner() }}",
            "{% block inner %}{{ quick(slow(0)) }}{% endblock %}",
            "{{ [0]|map('slowly')|join|replace('1', '2') }}",
        ] {
            let rendered = || environment.render_str(template, ());
            assert!(takes_long(&quickly(rendered).unwrap_err()), "{template}");
            assert_eq!(rendered().unwrap(), "2", "{template}");
        }
        let quick = quickly(|| environment.render_str("{{ quick(1) }}", ())).unwrap();
        assert_eq!(quick, "2");
        let unasked = environment.render_str("{% if false %}{{ slow(1) }}{% endif %}", ());
        assert_eq!(unasked.unwrap(), "");
    }
}
