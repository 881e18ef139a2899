//! Tracks that a pilot sends: read, scored, and taken over, each file by itself.

use super::Book;
use super::form::{Received, Room, Unread};
use super::reading::{self, Flight};
use super::respond::{Failure, problem, see_other};
use super::season::{Season, Unpacked, is_archive};
use super::sign_in::pilot;
use super::turn::in_turn;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_files::Part;
use thalweg_server::{Api, ApiFailure, ApiResponse};
use thalweg_wire::Slots;

/// How many tracks are read at once: each takes a core.
const READINGS_MAX: usize = 2;
/// How many files may wait for that, and how long each.
const READINGS_WAITING_MAX: usize = 64;
const READING_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a file's name may be, in characters.
const FILE_NAME_CHARS_MAX: usize = 255;
const FORM: &str = "/flights/new";

/// What uploads share.
pub(super) struct Uploads {
    room: Room,
    readings: Arc<Slots>,
}

impl Default for Uploads {
    fn default() -> Self {
        let readings = Slots::new(READINGS_MAX, READINGS_WAITING_MAX, READING_WAIT_MAX);
        Self { room: Room::default(), readings: Arc::new(readings) }
    }
}

/// Takes over the tracks of a form's field `igc`: files, and archives of such.
pub(super) async fn tracks(State(Book(book)): State<Book>, api: Api, request: Request) -> Result<Response, Failure> {
    let Some(pilot) = pilot(&api).await? else {
        return Ok(see_other("/sign_in?back=/flights/new"));
    };
    let Received { parts, taken: _taken } = match book.uploads.room.receive(pilot, request).await {
        Ok(received) => received,
        Err(Unread::TooLarge) => return Ok(problem(FORM, "upload-too-large", &[])),
        Err(Unread::Failed(failure)) => return Err(failure),
    };
    let mut taking = Taking { api: &api, uploads: &book.uploads, outcomes: Vec::new() };
    for part in parts.into_iter().filter(|part| part.name == "igc") {
        taking.part(part).await?;
    }
    match taking.outcomes.as_slice() {
        [] => Ok(problem(FORM, "no-file", &[])),
        [Outcome { problem: Some(word), flight_id: None, .. }] => Ok(problem(FORM, word, &[])),
        [Outcome { flight_id: Some(id), problem: None, .. }] => Ok(see_other(&format!("/flights/{id}"))),
        outcomes => {
            api.post("/rpc/note_uploads").json(&thalweg_json::json!({ "outcomes": outcomes })).await?;
            Ok(see_other("/flights/uploaded"))
        }
    }
}

/// What has come of a file, or of one of its flights.
#[derive(Serialize)]
struct Outcome {
    place: usize,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flight_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i32>,
}

/// A flight as `flightbook.add_track` names it.
#[derive(Deserialize)]
struct Added {
    flight_id: i32,
    number: i32,
    is_new: bool,
}

/// The files of a form as they are taken over.
struct Taking<'a> {
    api: &'a Api,
    uploads: &'a Uploads,
    outcomes: Vec<Outcome>,
}

impl Taking<'_> {
    async fn part(&mut self, part: Part) -> Result<(), Failure> {
        let Some(name) = part.file_name.filter(|name| !name.is_empty()) else { return Ok(()) };
        if is_archive(&part.content) {
            return self.archive(&file_name(&name), part.content).await;
        }
        let (content, readings) = (part.content, &self.uploads.readings);
        let read = read(readings, move || {
            let file = Bytes::from(content.concat());
            let flights = reading::read(&file, now_s());
            (file, flights)
        });
        let (file, flights) = read.await?;
        self.track(file_name(&name), file, flights).await
    }

    /// Takes over the tracks of an archive. What came before one that cannot be read stays.
    async fn archive(&mut self, name: &str, content: Vec<Bytes>) -> Result<(), Failure> {
        let opened = read(&self.uploads.readings, move || Season::open(content.concat().into())).await?;
        let mut season = match opened {
            Ok(season) => season,
            Err(unpacked) => {
                self.refuse(name.to_owned(), word(unpacked));
                return Ok(());
            }
        };
        let before = self.outcomes.len();
        loop {
            let (after, next) = read(&self.uploads.readings, move || {
                let next = season.next();
                let read = |file: Bytes| (reading::read(&file, now_s()), file);
                let next = next.map(|(name, file)| (name, file.map(read)));
                (season, next)
            })
            .await?;
            season = after;
            match next {
                None => break,
                Some((name, Ok((flights, file)))) => self.track(file_name(&name), file, flights).await?,
                Some((name, Err(unpacked))) => self.refuse(file_name(&name), word(unpacked)),
            }
        }
        if self.outcomes.len() == before {
            self.refuse(name.to_owned(), "zip-empty");
        }
        Ok(())
    }

    async fn track(
        &mut self,
        name: String,
        file: Bytes,
        flights: Result<Vec<Flight>, reading::Problem>,
    ) -> Result<(), Failure> {
        let flights = match flights {
            Ok(flights) => flights,
            Err(problem) => {
                self.refuse(name, problem.word());
                return Ok(());
            }
        };
        match add(self.api, &name, &file, &flights).await {
            Ok(added) => {
                let added: Vec<Added> = added.json().await?;
                for Added { flight_id, number, is_new } in added {
                    let (flight_id, number) = (Some(flight_id), Some(number));
                    let problem = (!is_new).then_some("known");
                    self.note(Outcome { place: 0, file: name.clone(), problem, flight_id, number });
                }
                Ok(())
            }
            // what the schema does not take of one file keeps no other away
            Err(failure) if failure.status().is_client_error() && failure.status() != StatusCode::UNAUTHORIZED => {
                self.refuse(name, "not-kept");
                Ok(())
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn refuse(&mut self, file: String, problem: &'static str) {
        self.note(Outcome { place: 0, file, problem: Some(problem), flight_id: None, number: None });
    }

    fn note(&mut self, outcome: Outcome) {
        self.outcomes.push(Outcome { place: self.outcomes.len() + 1, ..outcome });
    }
}

fn word(unpacked: Unpacked) -> &'static str {
    match unpacked {
        Unpacked::Unreadable => "zip-unreadable",
        Unpacked::TooMuch => "zip-too-much",
    }
}

fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Reads a file in its turn.
async fn read<T: Send + 'static>(turns: &Slots, read: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    in_turn(turns, read).await?.ok_or(Failure::Request("The file cannot be read.\n"))
}

/// Takes a file's flights over in one transaction, as the pilot.
async fn add(api: &Api, name: &str, file: &Bytes, flights: &[Flight]) -> Result<ApiResponse, ApiFailure> {
    let boundary = format!("flightbook-{:032x}", rand::random::<u128>());
    let flights = thalweg_json::to_string(flights).unwrap_or_default();
    api.post("/rpc/add_track")
        .header("content-type", &format!("multipart/form-data; boundary={boundary}"))
        .stream(Pieces::form(&boundary, &[("flights", &flights), ("igc_name", name)], file))
        .await
}

/// A body in pieces, of which the file is the one that was received.
struct Pieces(VecDeque<Bytes>);

impl Pieces {
    fn form(boundary: &str, texts: &[(&str, &str)], file: &Bytes) -> Self {
        let part = |(name, text): &(&str, &str)| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let head: String = texts.iter().map(part).collect();
        let head = format!(
            "{head}--{boundary}\r\nContent-Disposition: form-data; name=\"igc\"; filename=\"track.igc\"\r\n\r\n"
        );
        Self([head.into(), file.clone(), format!("\r\n--{boundary}--\r\n").into()].into())
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

/// A name as the schema keeps it: without folders and what cannot be shown.
fn file_name(sent: &str) -> String {
    let name = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|char| !char.is_control()).take(FILE_NAME_CHARS_MAX).collect();
    if name.trim().is_empty() { "track.igc".to_owned() } else { name }
}
