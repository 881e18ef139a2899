//! Exports: the flights as a CSV file, and all that a pilot has as a ZIP archive. Both are made while
//! they are sent.

use super::csv::{Cells, Table};
use super::respond::{Failure, see_other};
use super::sign_in::pilot;
use super::{Book, Shared};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame};
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
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Exports that are made at once, in total and for one pilot. Each takes a thread until its client
/// has received it, and at most one track in memory.
const EXPORTS_MAX: usize = 32;
const PILOT_EXPORTS_MAX: usize = 2;
/// How large the pieces are that are sent, and how many wait for the client.
const PIECE_BYTES: usize = 64 * 1024;
const PIECES_MAX: usize = 4;
/// How many tracks are listed at a time.
const LISTED_MAX: usize = 1_000;

/// The flights, with the columns that an import reads.
const FLIGHTS: Table = Table {
    file: "flights.csv",
    relation: "flights_exported",
    order: "number",
    columns: &[
        ("number", false),
        ("date", false),
        ("glider", true),
        ("launch_site", true),
        ("launch_time_utc", false),
        ("landing_site", true),
        ("landing_time_utc", false),
        ("track_distance", false),
        ("hikeandfly", false),
        ("comment", true),
        ("xcontest_url", true),
        ("xcontest_tracktype", false),
        ("xcontest_scored_distance", false),
        ("video_url", true),
    ],
};
const GLIDERS: Table = Table {
    file: "gliders.csv",
    relation: "gliders",
    order: "manufacturer,model",
    columns: &[("manufacturer", true), ("model", true), ("since", false), ("until", false), ("comment", true)],
};
const SITES: Table = Table {
    file: "sites.csv",
    relation: "sites",
    order: "name",
    columns: &[
        ("name", true),
        ("country", false),
        ("elevation_m", false),
        ("latitude", false),
        ("longitude", false),
        ("comment", true),
    ],
};
const NOT_STORED: &str = "private, no-store";

/// Permits for exports that are being made.
pub(super) struct Exports(Shares);

impl Default for Exports {
    fn default() -> Self {
        Self(Shares::new(EXPORTS_MAX, PILOT_EXPORTS_MAX, Duration::ZERO))
    }
}

/// Returns all data of a pilot.
pub(super) async fn archive(State(Book(book)): State<Book>, api: Api) -> Result<Response, Failure> {
    let Some(pilot) = pilot(&api).await? else {
        return Ok(see_other("/sign_in?back=/account"));
    };
    let headers = [
        (CONTENT_TYPE, "application/zip"),
        (CONTENT_DISPOSITION, "attachment; filename=\"flightbook.zip\""),
        (CACHE_CONTROL, NOT_STORED),
    ];
    Ok((headers, made(&book, pilot, api, write_archive)?).into_response())
}

/// Returns the flights of a pilot.
pub(super) async fn flights(State(Book(book)): State<Book>, api: Api) -> Result<Response, Failure> {
    let Some(pilot) = pilot(&api).await? else {
        return Ok(see_other("/sign_in?back=/flights.csv"));
    };
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CACHE_CONTROL, NOT_STORED)];
    let body = made(&book, pilot, api, |api, runtime, mut pieces| {
        write_table(api, runtime, &FLIGHTS, &mut pieces)?;
        Ok(pieces.flush()?)
    });
    Ok((headers, body?).into_response())
}

type Written = Result<(), Box<dyn Error + Send + Sync>>;

/// Starts an export with a permit of the pilot, and returns the body that it writes.
fn made(
    book: &Shared,
    pilot: i32,
    api: Api,
    write: impl FnOnce(&Api, &Handle, Pieces) -> Written + Send + 'static,
) -> Result<Body, Failure> {
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
            // The response breaks off, so that the client sees that it is not complete.
            _ = sender.blocking_send(Err(io::Error::other(error.to_string())));
        }
    });
    Ok(Body::new(Taken(receiver)))
}

#[derive(Deserialize)]
struct Listed {
    flight_id: i32,
    igc_name: String,
    date: String,
    number: i32,
}

fn write_archive(api: &Api, runtime: &Handle, pieces: Pieces) -> Written {
    let mut archive = ZipWriter::new_stream(pieces);
    for table in [FLIGHTS, GLIDERS, SITES] {
        archive.start_file(table.file, options())?;
        write_table(api, runtime, &table, &mut archive)?;
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
            each_chunk(runtime, igc.into_http().into_body(), |chunk| archive.write_all(chunk))?;
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

fn write_table(api: &Api, runtime: &Handle, table: &Table, out: &mut impl Write) -> Written {
    let path = format!("/{}?select={}&order={}", table.relation, table.names(), table.order);
    let rows = runtime.block_on(api.get(&path).header("accept", "text/csv").into_future())?;
    let mut cells = Cells::new(table, out)?;
    each_chunk(runtime, rows.into_http().into_body(), |chunk| cells.write(chunk))?;
    Ok(cells.finish()?)
}

fn each_chunk(runtime: &Handle, mut body: ApiBody, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> Written {
    while let Some(frame) = runtime.block_on(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))) {
        if let Ok(bytes) = frame?.into_data() {
            write(&bytes)?;
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
