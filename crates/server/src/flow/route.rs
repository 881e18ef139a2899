//! Whose a request's bill is: what is found of it in the catalog or among the pages, never what a client wrote.

use super::Given;
use crate::config::InForce;
use crate::schema::Snapshot;
use crate::state::State;
use hyper::Method;
use thalweg_gauge::{RouteName, route};
use thalweg_request::Target;

/// A relation or a function that there is, by its path as it is without escapes; in a schema that is not the first one, with its name.
pub(super) fn of_target(
    (state, in_force): (&State, &InForce),
    snapshot: &Snapshot,
    (method, schema): (&Method, &str),
    target: Target<'_>,
) -> Option<RouteName> {
    let catalog = &snapshot.catalog;
    let (before, name, is_known) = match target {
        Target::Relation(name) => ("/", name, catalog.find(schema, name).is_some()),
        Target::Function(name) => ("/rpc/", name, catalog.functions(name).iter().any(|of| *of.schema == *schema)),
    };
    is_known.then(|| {
        let (behind, schema) = if schema == in_force.config.default_schema() { ("", "") } else { (" of ", schema) };
        RouteName::of([named(method), state.prefix(), before, name, behind, schema])
    })
}

/// The description of a schema.
pub(super) fn of_root(state: &State, method: &Method) -> RouteName {
    RouteName::of([named(method), state.prefix(), "/"])
}

/// Says whose the bill is, unless code in the same process asks, whose own request it is for.
pub(super) fn say(given: &Given<'_>, name: impl FnOnce() -> Option<RouteName>) {
    if let Some(name) = (!given.is_called).then(name).flatten() {
        name.say();
    }
}

/// A page of a site, by its template.
pub(super) fn of_page(method: &Method, template: &str) {
    route([named(method), template]);
}

/// All files of a site.
pub(super) fn of_files(method: &Method) {
    route([named(method), "/static/"]);
}

/// All paths of a handler of code that joins in.
pub(crate) fn of_handler(method: &Method, prefix: &str) {
    route([named(method), prefix, "/"]);
}

/// A method with a blank behind it. What a client makes up has no name of its own.
fn named(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET ",
        Method::HEAD => "HEAD ",
        Method::POST => "POST ",
        Method::PATCH => "PATCH ",
        Method::PUT => "PUT ",
        Method::DELETE => "DELETE ",
        Method::OPTIONS => "OPTIONS ",
        _ => "(other) ",
    }
}
