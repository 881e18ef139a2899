//! Pages of the API's own, where no template stands: what they are made of.
//!
//! ```text
//!  address ── tools (the form that writes it)
//!  plan ───── level (columns, keys, links) ── cells (values) ──▶ templates ──▶ flow/browse.rs
//! ```

mod address;
mod cells;
mod entry;
mod level;
mod negotiate;
mod tools;

pub(crate) use address::{Address, name, of_rows};
pub(crate) use cells::{CELL_CHARS_MAX, CELLS_MAX, Cells, INNER_ROWS_MAX, ROWS_MAX, grouped};
pub(crate) use entry::{ENTRY_CHARS_MAX, Entry, FORM_BYTES_MAX};
pub(crate) use level::{Kind, Level, Shown as Heading, Types};
pub(crate) use negotiate::prefers_page;
pub(crate) use tools::{call_form, tools};

use std::sync::LazyLock;
use thalweg_pages::{Additions, Renderer};

/// The templates of these pages. A site's own of the same name stands in the place of one.
pub(crate) const TEMPLATES: [(&str, &str); 8] = [
    ("_browse/layout.html", include_str!("browse/layout.html")),
    ("_browse/style.css", include_str!("browse/style.css")),
    ("_browse/cell.html", include_str!("browse/cell.html")),
    ("_browse/tools.html", include_str!("browse/tools.html")),
    ("_browse/table.html", include_str!("browse/table.html")),
    ("_browse/row.html", include_str!("browse/row.html")),
    ("_browse/entry.html", include_str!("browse/entry.html")),
    ("_browse/index.html", include_str!("browse/index.html")),
];

/// A page of the API's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    Table,
    Row,
    Entry,
    Index,
}

impl Template {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "_browse/table.html",
            Self::Row => "_browse/row.html",
            Self::Entry => "_browse/entry.html",
            Self::Index => "_browse/index.html",
        }
    }
}

/// What makes them where there is no site.
pub(crate) fn renderer() -> Result<&'static Renderer, &'static thalweg_pages::Error> {
    static RENDERER: LazyLock<Result<Renderer, thalweg_pages::Error>> = LazyLock::new(|| {
        let mut renderer = Renderer::of(&thalweg_pages::Site::of([])?, [], &Additions::default())?;
        renderer.add_missing(TEMPLATES.into_iter().chain(super::error_page::TEMPLATES))?;
        Ok(renderer)
    });
    RENDERER.as_ref()
}
