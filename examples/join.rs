//! Rust code beside pages and API: `cargo run --example join`, then <http://localhost:3000/>. docs/rust.md says more.

use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Router, routing::get, routing::post};
use serde_json::{Value, json};
use std::error::Error;
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_migrations::Folder;
use thalweg_server::{Api, ApiFailure, ApiResponse, Config, Server, Sources};

const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/join");

/// A flight as a picture for other sites, if whoever asks may see the flight.
async fn badge(api: Api, Path(id): Path<u32>) -> Result<impl IntoResponse, ApiFailure> {
    let flight =
        api.get("/flights").param("id", format!("eq.{id}")).header("accept", "application/vnd.pgrst.object+json");
    let flight: Value = flight.await?.json().await?;
    let words = format!("{} m over {}", flight["top_m"], flight["site"].as_str().unwrap_or_default());
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let svg = format!(r#"<svg xmlns="http://www.w3.org/2000/svg"><text x="4" y="20">{words}</text></svg>"#);
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg))
}

/// Takes the heights that an instrument has recorded, one a line, as a flight of whoever sends them.
async fn upload(api: Api, Path(site): Path<String>, heights: String) -> Result<ApiResponse, ApiFailure> {
    let heights: Vec<i32> = heights.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let flight = json!({ "site": site, "top_m": heights.iter().max(), "heights": heights });
    api.post("/flights?select=id,top_m").header("prefer", "return=representation").json(&flight).await
}

/// How much of the heights' way went up, in metres.
fn climbed(heights: Vec<i64>) -> i64 {
    heights.windows(2).map(|pair| (pair[1].saturating_sub(pair[0])).max(0)).sum()
}

/// The site, its API and this code, on the database of a configuration.
pub async fn start(mut config: Config) -> Result<Server, Box<dyn Error>> {
    Folder::read(format!("{SITE}/schema").as_ref())?.apply(config.db_uri.as_deref().unwrap_or_default()).await?;
    config.pages_dir = Some(format!("{SITE}/pages").into());
    let routes = Router::new().route("/badges/{id}", get(badge)).route("/uploads/{site}", post(upload));
    let server = Server::builder(config).routes("/own", routes).function("climbed", climbed);
    Ok(server.quick_filter("feet", |metres: f64| format!("{:.0} ft", metres / 0.3048)).start().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Sources::of_process(Some(format!("{SITE}/thalweg.conf").as_ref()))?.read()?;
    thalweg_server::start_logging(&config);
    let data_dir = Some(format!("{SITE}/.thalweg").into());
    let cluster = tokio::task::spawn_blocking(|| Cluster::start(&Options { data_dir, ..Options::default() })).await??;
    config.db_uri = Some(cluster.uri("postgres"));
    start(config).await?.serve(async { _ = tokio::signal::ctrl_c().await }).await?;
    Ok(cluster.stop()?)
}
