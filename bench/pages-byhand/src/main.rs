//! The list of flights that a user would write instead, in two designs: the one that took over a second, and the one that it was
//! given then.
//!
//! Environment: `BYHAND_DB` (connection string), `BYHAND_PORT`, `BYHAND_POOL` (how many connections).

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use jiff::Timestamp;
use serde::Serialize;
use std::sync::Arc;
use tera::Tera;
use tokio_postgres::{NoTls, Row};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DATE: &str = "%b %-d, %Y";

#[derive(Clone)]
struct Site {
    pool: Pool,
    tera: Arc<Tera>,
}

/// A flight as the old design had it: whatever its table has.
#[derive(Serialize)]
struct WholeFlight {
    id: i32,
    title: String,
    pilot_id: i32,
    site_id: Option<i32>,
    launched_at: String,
    duration_minutes: Option<i32>,
    distance_km: Option<f64>,
    max_altitude_m: Option<i32>,
    is_public: bool,
    notes: Option<String>,
    track: Vec<u8>,
    pilot: String,
    site: Option<String>,
}

impl From<&Row> for WholeFlight {
    fn from(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            title: row.get("title"),
            pilot_id: row.get("pilot_id"),
            site_id: row.get("site_id"),
            launched_at: row.get::<_, Timestamp>("launched_at").strftime(DATE).to_string(),
            duration_minutes: row.get("duration_minutes"),
            distance_km: row.get("distance_km"),
            max_altitude_m: row.get("max_altitude_m"),
            is_public: row.get("is_public"),
            notes: row.get("notes"),
            track: row.get("track"),
            pilot: row.get("pilot"),
            site: row.get("site"),
        }
    }
}

/// Whole rows into the template's context.
async fn old_flights(State(site): State<Site>) -> Result<Html<String>, Failure> {
    const SQL: &str = "select f.*, p.name as pilot, s.name as site from pages.flights f \
                       join pages.pilots p on p.id = f.pilot_id left join pages.sites s on s.id = f.site_id \
                       order by f.launched_at desc limit 200";
    let client = site.pool.get().await?;
    let statement = client.prepare_cached(SQL).await?;
    let rows = client.query(&statement, &[]).await?;
    let flights: Vec<WholeFlight> = rows.iter().map(WholeFlight::from).collect();
    let mut context = tera::Context::new();
    context.insert("flights", &flights);
    Ok(Html(site.tera.render("old.html", &context)?))
}

/// A flight as the list shows it.
struct Flight<'a> {
    title: &'a str,
    pilot: &'a str,
    site: Option<&'a str>,
    launched_at: Timestamp,
    distance_km: Option<f64>,
}

impl<'a> From<&'a Row> for Flight<'a> {
    fn from(row: &'a Row) -> Self {
        Self {
            title: row.get(0),
            pilot: row.get(1),
            site: row.get(2),
            launched_at: row.get(3),
            distance_km: row.get(4),
        }
    }
}

#[derive(Template)]
#[template(path = "fixed.html")]
struct Flights<'a> {
    flights: Vec<Flight<'a>>,
}

/// What is shown, and no more.
async fn fixed_flights(State(site): State<Site>) -> Result<Html<String>, Failure> {
    const SQL: &str = "select f.title, p.name, s.name, f.launched_at, f.distance_km from pages.flights f \
                       join pages.pilots p on p.id = f.pilot_id left join pages.sites s on s.id = f.site_id \
                       order by f.launched_at desc limit 200";
    let client = site.pool.get().await?;
    let statement = client.prepare_cached(SQL).await?;
    let rows = client.query(&statement, &[]).await?;
    drop(client);
    Ok(Html(Flights { flights: rows.iter().map(Flight::from).collect() }.render()?))
}

struct Failure(String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0).into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = std::env::var("BYHAND_DB")?.parse()?;
    let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let pool = Pool::builder(manager).max_size(std::env::var("BYHAND_POOL")?.parse()?).build()?;
    let mut tera = Tera::default();
    tera.add_raw_templates([
        ("layout.html", include_str!("../templates/layout.html")),
        ("old.html", include_str!("../templates/old.html")),
    ])?;
    let routes = Router::new()
        .route("/old/flights", get(old_flights))
        .route("/fixed/flights", get(fixed_flights))
        .with_state(Site { pool, tera: Arc::new(tera) });
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", std::env::var("BYHAND_PORT")?)).await?;
    axum::serve(listener, routes).await?;
    Ok(())
}
