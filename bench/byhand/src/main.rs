//! The server that a user would write instead: Axum, tokio-postgres with a deadpool, serde_json, typed structs, and
//! SQL by hand. No role switch, no configuration, four routes.
//!
//! Environment: `BYHAND_DB` (connection string), `BYHAND_PORT`.

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::pin::pin;
use tokio_postgres::{NoTls, Row};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Serialize)]
struct Track {
    track_id: i32,
    name: String,
    album_id: Option<i32>,
    media_type_id: i32,
    genre_id: Option<i32>,
    composer: Option<String>,
    milliseconds: i32,
    bytes: Option<i32>,
    unit_price: f64,
}

const TRACK: &str = "select track_id, name, album_id, media_type_id, genre_id, composer, milliseconds, bytes, \
                     unit_price::float8 from music.track";

impl From<&Row> for Track {
    fn from(row: &Row) -> Self {
        Self {
            track_id: row.get(0),
            name: row.get(1),
            album_id: row.get(2),
            media_type_id: row.get(3),
            genre_id: row.get(4),
            composer: row.get(5),
            milliseconds: row.get(6),
            bytes: row.get(7),
            unit_price: row.get(8),
        }
    }
}

#[derive(Serialize)]
struct Album<'a> {
    album_id: i32,
    title: String,
    track: Vec<AlbumTrack<'a>>,
}

#[derive(Serialize)]
struct AlbumTrack<'a> {
    track_id: i32,
    name: String,
    composer: Option<String>,
    milliseconds: i32,
    unit_price: f64,
    genre: Option<Genre<'a>>,
}

#[derive(Serialize, Clone, Copy)]
struct Genre<'a> {
    name: &'a str,
}

#[derive(Deserialize)]
struct ById {
    id: i32,
}

struct Failure(StatusCode, String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

async fn track(State(pool): State<Pool>, Query(by): Query<ById>) -> Result<Json<Vec<Track>>, Failure> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(&format!("{TRACK} where track_id = $1")).await?;
    let rows = client.query(&statement, &[&by.id]).await?;
    Ok(Json(rows.iter().map(Track::from).collect()))
}

async fn tracks(State(pool): State<Pool>) -> Result<Json<Vec<Track>>, Failure> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(TRACK).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(Json(rows.iter().map(Track::from).collect()))
}

#[derive(Deserialize)]
struct ByIds {
    ids: String,
}

async fn tracks_in(State(pool): State<Pool>, Query(by): Query<ByIds>) -> Result<Json<Vec<Track>>, Failure> {
    let ids: Vec<i32> = by.ids.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let client = pool.get().await?;
    let statement = client.prepare_cached(&format!("{TRACK} where track_id = any($1)")).await?;
    let rows = client.query(&statement, &[&ids]).await?;
    Ok(Json(rows.iter().map(Track::from).collect()))
}

#[derive(Serialize)]
struct Artist {
    artist_id: i32,
    name: Option<String>,
    album: Vec<ArtistAlbum>,
}

#[derive(Serialize)]
struct ArtistAlbum {
    album_id: i32,
    title: String,
    track: Vec<ShortTrack>,
}

#[derive(Serialize)]
struct ShortTrack {
    track_id: i32,
    name: String,
    milliseconds: i32,
}

/// Three levels, from three flat queries.
async fn artists(State(pool): State<Pool>) -> Result<Json<Vec<Artist>>, Failure> {
    let client = pool.get().await?;
    let artists = client.prepare_cached("select artist_id, name from music.artist").await?;
    let albums = client.prepare_cached("select album_id, title, artist_id from music.album").await?;
    let tracks = client.prepare_cached("select track_id, name, milliseconds, album_id from music.track").await?;
    let (artists, albums, tracks) =
        tokio::try_join!(client.query(&artists, &[]), client.query(&albums, &[]), client.query(&tracks, &[]))?;
    let mut of_album: HashMap<i32, Vec<ShortTrack>> = HashMap::with_capacity(albums.len());
    for row in &tracks {
        let Some(album) = row.get::<_, Option<i32>>(3) else { continue };
        let track = ShortTrack { track_id: row.get(0), name: row.get(1), milliseconds: row.get(2) };
        of_album.entry(album).or_default().push(track);
    }
    let mut of_artist: HashMap<i32, Vec<ArtistAlbum>> = HashMap::with_capacity(artists.len());
    for row in &albums {
        let album_id = row.get(0);
        let track = of_album.remove(&album_id).unwrap_or_default();
        of_artist.entry(row.get(2)).or_default().push(ArtistAlbum { album_id, title: row.get(1), track });
    }
    let artists = artists.iter().map(|row| {
        let artist_id = row.get(0);
        Artist { artist_id, name: row.get(1), album: of_artist.remove(&artist_id).unwrap_or_default() }
    });
    Ok(Json(artists.collect()))
}

/// Three flat queries, pipelined, and joined here.
async fn albums(State(pool): State<Pool>) -> Result<Response, Failure> {
    let client = pool.get().await?;
    let albums = client.prepare_cached("select album_id, title from music.album").await?;
    let tracks = client
        .prepare_cached(
            "select album_id, track_id, name, composer, milliseconds, unit_price::float8, genre_id from music.track",
        )
        .await?;
    let genres = client.prepare_cached("select genre_id, name from music.genre").await?;
    let (albums, tracks, genres) =
        tokio::try_join!(client.query(&albums, &[]), client.query(&tracks, &[]), client.query(&genres, &[]))?;
    let genres: HashMap<i32, Genre<'_>> = genres.iter().map(|row| (row.get(0), Genre { name: row.get(1) })).collect();
    let mut of_album: HashMap<i32, Vec<AlbumTrack<'_>>> = HashMap::with_capacity(albums.len());
    for row in &tracks {
        let genre: Option<i32> = row.get(6);
        let Some(album) = row.get::<_, Option<i32>>(0) else { continue };
        of_album.entry(album).or_default().push(AlbumTrack {
            track_id: row.get(1),
            name: row.get(2),
            composer: row.get(3),
            milliseconds: row.get(4),
            unit_price: row.get(5),
            genre: genre.and_then(|genre| genres.get(&genre)).copied(),
        });
    }
    let albums: Vec<Album<'_>> = albums
        .iter()
        .map(|row| {
            let album_id = row.get(0);
            Album { album_id, title: row.get(1), track: of_album.remove(&album_id).unwrap_or_default() }
        })
        .collect();
    Ok(Json(albums).into_response())
}

#[derive(Serialize)]
struct Listen<'a> {
    id: i32,
    customer_id: i32,
    track_id: i32,
    device: &'a str,
    at: String,
    seconds: f32,
    paid: bool,
}

/// Rows as they come, in chunks.
async fn export(State(pool): State<Pool>) -> Result<Response, Failure> {
    const CHUNK_BYTES: usize = 64 * 1024;
    let client = pool.get().await?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(4);
    tokio::spawn(async move {
        let work = async {
            let sql = "select id, customer_id, track_id, device, \
                       to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00'), seconds, paid from music.listen";
            let rows = client.query_raw(sql, Vec::<i32>::new()).await?;
            let mut rows = pin!(rows);
            let mut chunk = vec![b'['];
            let mut first = true;
            while let Some(row) = rows.try_next().await? {
                if !std::mem::take(&mut first) {
                    chunk.push(b',');
                }
                let listen = Listen {
                    id: row.get(0),
                    customer_id: row.get(1),
                    track_id: row.get(2),
                    device: row.get(3),
                    at: row.get(4),
                    seconds: row.get(5),
                    paid: row.get(6),
                };
                serde_json::to_writer(&mut chunk, &listen)?;
                if chunk.len() >= CHUNK_BYTES {
                    let full = std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK_BYTES + 1024));
                    sender.send(Ok(full.into())).await?;
                }
            }
            chunk.push(b']');
            sender.send(Ok(chunk.into())).await?;
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        };
        if let Err(error) = work.await {
            let _ = sender.send(Err(std::io::Error::other(error.to_string()))).await;
        }
    });
    let chunks = ReceiverStream::new(receiver);
    Ok(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(chunks)).into_response())
}

const LISTENS: &str = "select id, customer_id, track_id, device, \
                       to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00'), seconds, paid from music.listens($1)";

async fn listens(State(pool): State<Pool>, Query(by): Query<ById>) -> Result<Response, Failure> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(LISTENS).await?;
    let rows = client.query(&statement, &[&by.id]).await?;
    let listens: Vec<Listen<'_>> = rows
        .iter()
        .map(|row| Listen {
            id: row.get(0),
            customer_id: row.get(1),
            track_id: row.get(2),
            device: row.get(3),
            at: row.get(4),
            seconds: row.get(5),
            paid: row.get(6),
        })
        .collect();
    Ok(Json(listens).into_response())
}

/// The total beside one row.
async fn count(State(pool): State<Pool>, Query(by): Query<ById>) -> Result<Response, Failure> {
    let client = pool.get().await?;
    let total = client.prepare_cached("select count(*) from music.listen where id <= $1").await?;
    let first = client.prepare_cached("select id from music.listen where id <= $1 limit 1").await?;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&by.id];
    let (total, first) = tokio::try_join!(client.query_one(&total, &params), client.query(&first, &params))?;
    let range = format!("0-{}/{}", first.len() - 1, total.get::<_, i64>(0));
    let ids: Vec<serde_json::Value> = first.iter().map(|row| serde_json::json!({"id": row.get::<_, i32>(0)})).collect();
    Ok(([(header::CONTENT_RANGE, range)], Json(ids)).into_response())
}

/// What PostgreSQL itself writes as CSV, passed on.
async fn export_csv(State(pool): State<Pool>) -> Result<Response, Failure> {
    let client = pool.get().await?;
    let copied = client.copy_out("copy music.listen to stdout with (format csv, header)").await?;
    Ok(([(header::CONTENT_TYPE, "text/csv")], Body::from_stream(copied)).into_response())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = std::env::var("BYHAND_DB")?.parse()?;
    let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let pool = Pool::builder(manager).max_size(10).build()?;
    let routes = Router::new()
        .route("/track", get(track))
        .route("/tracks", get(tracks))
        .route("/albums", get(albums))
        .route("/tracks_in", get(tracks_in))
        .route("/artists", get(artists))
        .route("/listens", get(listens))
        .route("/count", get(count))
        .route("/export", get(export))
        .route("/export_csv", get(export_csv))
        .with_state(pool);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", std::env::var("BYHAND_PORT")?)).await?;
    axum::serve(listener, routes).await?;
    Ok(())
}
