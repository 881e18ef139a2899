//! What whoever serves a site gives its pages besides their queries. It is declared once: templates find it, and names are held against it.

use crate::additions::Additions;
use crate::render::Values;
use minijinja::value::Value;

/// A name that templates find, and what has names of its own below it.
#[derive(Clone, Copy, Debug)]
pub struct Provided {
    /// The name.
    pub name: &'static str,
    /// What is found below it.
    pub fields: Fields,
}

/// What is found below a name.
#[derive(Clone, Copy, Debug)]
pub enum Fields {
    /// Anything, or nothing.
    Any,
    /// These and no others, if it is there.
    Only(&'static [Provided]),
    /// Under any name one that has these and no others.
    Each(&'static [Provided]),
}

impl Provided {
    /// A name of which nothing more is known.
    pub const fn any(name: &'static str) -> Provided {
        Provided { name, fields: Fields::Any }
    }

    /// A name with fields.
    pub const fn of(name: &'static str, fields: &'static [Provided]) -> Provided {
        Provided { name, fields: Fields::Only(fields) }
    }

    /// A name below which any other has these fields.
    pub const fn each(name: &'static str, fields: &'static [Provided]) -> Provided {
        Provided { name, fields: Fields::Each(fields) }
    }

    /// These names with their values, in the same order.
    pub fn values<const N: usize>(names: &[Provided; N], values: [Value; N]) -> Values {
        let mut found = Values::default();
        for (known, value) in names.iter().zip(values) {
            found.insert(known.name, value);
        }
        found
    }
}

/// What the names in a site's templates are held against, besides what these define themselves.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// What every page may find.
    pub provided: &'static [Provided],
    /// The functions of whoever serves the site, if all are known.
    pub functions: Option<Vec<String>>,
    /// The filters, in the same way.
    pub filters: Option<Vec<String>>,
}

impl Vocabulary {
    /// These names and functions, and what has been added to them.
    pub fn of(provided: &'static [Provided], functions: &[&str], additions: &Additions) -> Vocabulary {
        let functions = functions.iter().copied().chain(additions.functions());
        let filters = additions.filters().map(str::to_owned).collect();
        Vocabulary { provided, functions: Some(functions.map(str::to_owned).collect()), filters: Some(filters) }
    }

    /// The same, where more may be added than is known.
    pub fn with_any_addition(self) -> Vocabulary {
        Vocabulary { functions: None, filters: None, ..self }
    }
}
