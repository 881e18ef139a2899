//! Pages made from their templates, written as they come.

use crate::additions::{Additions, takes_long};
use crate::direct::{self, Chunks, Lender};
use crate::error::{Error, ErrorKind, Place};
use crate::escape;
use crate::format;
use crate::messages::{self, Messages};
use crate::site::Site;
use minijinja::value::{Enumerator, Object, Value};
use minijinja::{Environment, UndefinedBehavior};
use std::io;
use std::sync::Arc;

/// The template engine with a site's templates.
#[derive(Debug, Default)]
pub struct Renderer {
    /// With loops that are written directly.
    environment: Environment<'static>,
    /// As their author wrote them.
    plain: Environment<'static>,
}

impl Renderer {
    /// Of a site, with functions of whoever serves it, and what has been added to them.
    ///
    /// # Errors
    ///
    /// A template that the engine does not take.
    pub fn of(
        site: &Site,
        functions: impl IntoIterator<Item = (&'static str, Value)>,
        additions: &Additions,
    ) -> Result<Renderer, Error> {
        let mut plain = environment(site.messages().clone());
        for (name, function) in functions {
            plain.add_global(name, function);
        }
        additions.register(&mut plain);
        let (called, loops) = site.called();
        let mut environment = plain.clone();
        direct::register(&mut environment, loops.clone());
        add(&mut plain, site.templates())?;
        add(&mut environment, called)?;
        Ok(Renderer { environment, plain })
    }

    /// The same with the templates as their author wrote them, all of whose loops are the engine's.
    pub fn plain(self) -> Renderer {
        Renderer { environment: self.plain.clone(), plain: self.plain }
    }

    /// Adds those of these templates that the site has not.
    ///
    /// # Errors
    ///
    /// A template that the engine does not take.
    pub fn add_missing(
        &mut self,
        templates: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Result<(), Error> {
        for (name, source) in templates {
            for environment in [&mut self.environment, &mut self.plain] {
                if environment.get_template(name).is_err() {
                    environment.add_template(name, source).map_err(|error| of_engine(&error))?;
                }
            }
        }
        Ok(())
    }

    /// Writes a page, made of values by name.
    ///
    /// # Errors
    ///
    /// What the engine says, with the place in the template; or what `out` does.
    pub fn render(&self, template: &str, values: Arc<Values>, out: impl Chunks) -> Result<(), minijinja::Error> {
        let rendered = whole(&self.environment, template, values.clone(), Lender(out));
        rendered.map_err(|error| self.placed(error, || whole(&self.plain, template, values, io::sink())))
    }

    /// Writes a block of a page alone.
    ///
    /// # Errors
    ///
    /// As of a page; a block that it has not.
    pub fn render_block(
        &self,
        template: &str,
        block: &str,
        values: Arc<Values>,
        out: impl Chunks,
    ) -> Result<(), minijinja::Error> {
        let rendered = part(&self.environment, (template, block), values.clone(), Lender(out));
        rendered.map_err(|error| self.placed(error, || part(&self.plain, (template, block), values, io::sink())))
    }

    /// An error with the place that the engine gives it, which knows of no place in a loop that is written directly.
    fn placed(
        &self,
        error: minijinja::Error,
        again: impl FnOnce() -> Result<(), minijinja::Error>,
    ) -> minijinja::Error {
        let is_of_out = std::error::Error::source(&error).is_some_and(|source| source.is::<io::Error>());
        if is_of_out || takes_long(&error) { error } else { again().err().unwrap_or(error) }
    }
}

fn add<'a>(
    environment: &mut Environment<'static>,
    templates: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), Error> {
    for (name, source) in templates {
        environment.add_template_owned(name.to_owned(), source.to_owned()).map_err(|error| of_engine(&error))?;
    }
    Ok(())
}

fn whole(
    environment: &Environment<'static>,
    template: &str,
    values: Arc<Values>,
    out: impl io::Write,
) -> Result<(), minijinja::Error> {
    let template = environment.get_template(template)?;
    template.render_captured_to(Value::from_dyn_object(values), out).map(|_| ())
}

fn part(
    environment: &Environment<'static>,
    (template, block): (&str, &str),
    values: Arc<Values>,
    out: impl io::Write,
) -> Result<(), minijinja::Error> {
    let template = environment.get_template(template)?;
    let mut captured = template.render_captured_to(Value::from_dyn_object(values), io::sink())?;
    captured.with_state_mut(|state| state.render_block_to_write(block, out))
}

/// The engine with what templates of any site have.
pub(crate) fn environment(messages: Arc<Messages>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_auto_escape_callback(escape::of_template);
    environment.set_formatter(escape::write);
    format::register(&mut environment);
    messages::register(&mut environment, messages);
    environment
}

/// What the engine says, as an error of the site.
pub fn of_engine(error: &minijinja::Error) -> Error {
    let place = Place { file: error.name().unwrap_or_default().to_owned(), line: error.line().unwrap_or(0), column: 1 };
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Error::new(ErrorKind::Template, place, detail)
}

/// What a page is made of, by name.
#[derive(Debug, Default)]
pub struct Values {
    values: Vec<(Arc<str>, Value)>,
}

impl Values {
    /// Adds one.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) {
        self.values.push((name.into(), value.into()));
    }
}

impl Object for Values {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        self.values.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.values.iter().map(|(name, _)| Value::from(name.clone())).collect())
    }
}
