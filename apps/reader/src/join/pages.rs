//! What templates call: `gloss(text)`, a text with its entries, and `dictionary()`, where these and their levels come from.

use super::reading::{Manner, PAGE_ENTRIES_PER_SPAN_MAX, Shared};
use std::sync::Arc;
use thalweg_gloss::{Html, Origin};
use thalweg_server::ServerBuilder;
use thalweg_server::minijinja::{Error, ErrorKind, Value, context};

/// A longer text is for `/rpc/gloss`, which gives it a piece at a time: a page is made in one go.
const PAGE_TEXT_BYTES_MAX: usize = 8 * 1024;

pub(super) fn functions(server: ServerBuilder, shared: &Arc<Shared>) -> ServerBuilder {
    let sources: Vec<Value> = shared.dictionary.sources().iter().map(source).collect();
    let shared = shared.clone();
    server
        .function("gloss", move |text: &str| gloss(&shared, text))
        .quick_function("dictionary", move || Value::from(sources.clone()))
        .quick_function("fits_page", |text: &str| text.len() <= PAGE_TEXT_BYTES_MAX)
}

fn source(origin: &Origin) -> Value {
    context! { title => &origin.title, created => &origin.created, entries => origin.entries, kind => origin.kind.name() }
}

/// A text with its entries, as HTML.
fn gloss(shared: &Shared, text: &str) -> Result<Value, Error> {
    if text.len() > PAGE_TEXT_BYTES_MAX {
        let message = format!("a text on a page has at most {PAGE_TEXT_BYTES_MAX} bytes");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let manner = Manner { names: true, entries_per_span_max: PAGE_ENTRIES_PER_SPAN_MAX, known: None };
    let (mut html, mut out) = (Html::new(), Vec::new());
    manner.read(&shared.dictionary, text, |gloss| html.write(&mut out, gloss));
    // what is cut out of a text in UTF-8 at characters is UTF-8
    Ok(Value::from_safe_string(String::from_utf8_lossy(&out).into_owned()))
}
