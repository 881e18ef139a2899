//! The reader beside its pages and API: what templates call, and `/rpc/gloss`.

mod answer;
mod asked;
mod pages;
mod reading;

use axum::Router;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::any;
use reading::Shared;
use std::sync::Arc;
use thalweg_gloss::Dictionary;
use thalweg_server::{Config, CrossOrigin, ServerBuilder};

/// The name of the function among those of the API.
const FUNCTION: &str = "/rpc/gloss";

/// Puts what the reader's pages call, and `/rpc/gloss`, into a server with this configuration, whose pages are those of `apps/reader`.
pub fn join(server: ServerBuilder, config: &Config, dictionary: Dictionary) -> ServerBuilder {
    let shared = Arc::new(Shared::new(dictionary, server.computations()));
    // it is no page, and answers scripts of other sites as the API does
    let routes =
        || Router::new().route("/", any(answer::gloss)).layer(map_response(for_others)).with_state(shared.clone());
    // where who asks the API looks for it, and at a short address
    let server = server.routes(&format!("{}{FUNCTION}", config.pages_api_prefix), routes()).routes(FUNCTION, routes());
    pages::functions(server, &shared)
}

async fn for_others(mut response: Response) -> Response {
    response.extensions_mut().insert(CrossOrigin);
    response
}
