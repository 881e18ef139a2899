//! All that a pilot has, as a ZIP archive that is made while it is taken.

use super::Book;
use super::respond::{Failure, see_other};
use super::sign_in::pilot;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame};
use memchr::memchr;
use serde::Deserialize;
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_server::{Api, ApiBody, Shares};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::spawn_blocking;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

/// Archives that are made at once, in total and for one pilot. Each takes a thread until its client
/// has received it, and at most one track in memory.
const EXPORTS_MAX: usize = 32;
const PILOT_EXPORTS_MAX: usize = 2;
/// How large the pieces are that are sent, and how many wait for the client.
const PIECE_BYTES: usize = 64 * 1024;
const PIECES_MAX: usize = 4;
/// How many tracks are listed at a time.
const LISTED_MAX: usize = 1_000;

/// The tables of an archive: file, relation, order and columns. That of the flights has those that an import reads.
const TABLES: [(&str, &str, &str, &str); 3] = [
    (
        "flights.csv",
        "flights_exported",
        "number",
        "number,date,glider,launch_site,launch_time_utc,landing_site,landing_time_utc,track_distance,hikeandfly,comment,\
         xcontest_url,xcontest_tracktype,xcontest_scored_distance,video_url",
    ),
    ("gliders.csv", "gliders_exported", "manufacturer,model", "manufacturer,model,since,until,comment"),
    ("sites.csv", "sites_exported", "name", "name,country,elevation_m,latitude,longitude,comment"),
];

/// Permits for archives that are being made.
pub(super) struct Exports(Shares);

impl Default for Exports {
    fn default() -> Self {
        Self(Shares::new(EXPORTS_MAX, PILOT_EXPORTS_MAX, Duration::ZERO))
    }
}

/// Gives a pilot all that is theirs.
pub(super) async fn export(State(Book(book)): State<Book>, api: Api) -> Result<Response, Failure> {
    let Some(pilot) = pilot(&api).await? else {
        return Ok(see_other("/sign_in?back=/account"));
    };
    let permit = book.exports.0.try_acquire(&pilot, 1)?;
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    let runtime = Handle::current();
    spawn_blocking(move || {
        let _permit = permit;
        let pieces = Pieces { sender: sender.clone(), piece: BytesMut::new() };
        if let Err(error) = write(&api, &runtime, pieces) {
            if !sender.is_closed() {
                tracing::error!(error, "an export broke off");
            }
            // the client is told by a response that breaks off
            _ = sender.blocking_send(Err(io::Error::other(error.to_string())));
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/zip"),
        (CONTENT_DISPOSITION, "attachment; filename=\"flightbook.zip\""),
        (CACHE_CONTROL, "private, no-store"),
    ];
    Ok((headers, Body::new(Taken(receiver))).into_response())
}

#[derive(Deserialize)]
struct Listed {
    flight_id: i32,
    igc_name: String,
    date: String,
    number: i32,
}

type Archive = ZipWriter<StreamWriter<Pieces>>;

fn write(api: &Api, runtime: &Handle, pieces: Pieces) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut archive = ZipWriter::new_stream(pieces);
    for (name, relation, order, columns) in TABLES {
        archive.start_file(name, options())?;
        archive.write_all(columns.as_bytes())?;
        let path = format!("/{relation}?select={columns}&order={order}");
        let table = runtime.block_on(api.get(&path).header("accept", "text/csv").into_future())?;
        // of no rows the API names no columns, so that its head is left out
        let mut is_head = true;
        let rows = |bytes: &Bytes| {
            let head = if is_head { memchr(b'\n', bytes).unwrap_or(bytes.len()) } else { 0 };
            is_head &= head == bytes.len();
            bytes.slice(head..)
        };
        copy(runtime, table.into_http().into_body(), rows, &mut archive)?;
    }
    let mut after = 0;
    loop {
        let tracks = api.get("/tracks?select=flight_id,igc_name,...flights(date,number)&order=flight_id");
        let tracks = tracks.param("flight_id", format!("gt.{after}")).param("limit", LISTED_MAX);
        let tracks: Vec<Listed> = runtime.block_on(async { tracks.await?.json().await })?;
        for track in &tracks {
            archive.start_file(file_name(track), options())?;
            let igc = api.get("/igc_files?select=igc").param("flight_id", format!("eq.{}", track.flight_id));
            let igc = runtime.block_on(igc.header("accept", "application/octet-stream").into_future())?;
            copy(runtime, igc.into_http().into_body(), Bytes::clone, &mut archive)?;
            after = track.flight_id;
        }
        if tracks.len() < LISTED_MAX {
            break;
        }
    }
    archive.finish()?.into_inner().flush()?;
    Ok(())
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

fn file_name(track: &Listed) -> String {
    format!("tracks/{}-{:05}-{}", track.date, track.number, track.igc_name)
}

fn copy(
    runtime: &Handle,
    mut body: ApiBody,
    mut part: impl FnMut(&Bytes) -> Bytes,
    archive: &mut Archive,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    while let Some(frame) = runtime.block_on(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))) {
        if let Ok(bytes) = frame?.into_data() {
            archive.write_all(&part(&bytes))?;
        }
    }
    Ok(())
}

/// What is written goes to the client in pieces, as fast as it takes them.
struct Pieces {
    sender: Sender<io::Result<Bytes>>,
    piece: BytesMut,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = self.piece.split().freeze();
        if piece.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The pieces as a body.
struct Taken(Receiver<io::Result<Bytes>>);

impl http_body::Body for Taken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
