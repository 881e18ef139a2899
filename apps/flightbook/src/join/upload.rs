//! Upload of tracks: each file is read, scored and added by itself.

use super::archive::Refusal;
use super::form::{Received, Room, Unread};
use super::reading::{self, Flight};
use super::respond::{Failure, problem, see_other};
use super::season::{Allowance, Season, is_archive};
use super::sign_in::pilot;
use super::tracks::{self, Added, TrackError, Tracks};
use super::turn::with_permit;
use super::{Book, Shared};
use crate::score::Budget;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;
use std::time::Duration;
use thalweg_files::Part;
use thalweg_server::{Api, Shares};

/// Tracks that are read at once, in total and for one pilot. Each takes a core.
const READINGS_MAX: usize = 2;
const PILOT_READINGS_MAX: usize = 1;
/// Files that may wait to be read, in total and for one pilot, and the longest wait.
const READINGS_WAITING_MAX: usize = 64;
const PILOT_READINGS_WAITING_MAX: usize = 16;
const READING_WAIT_MAX: Duration = Duration::from_secs(60);
/// Files of one upload, those in its archives included.
const UPLOAD_FILES_MAX: u64 = 2_000;
/// Number of bytes that the archives of one upload may unpack to.
const UPLOAD_UNPACKED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Number of steps with which all flights of one upload may be scored: enough for five hundred
/// flights, or some twenty seconds of a core.
const UPLOAD_STEPS_MAX: u64 = 200_000_000;
/// Outcomes of one upload that are stored and shown. Further ones are counted.
const UPLOAD_OUTCOMES_MAX: usize = 2_000;
/// How long a file's name may be, in characters.
const FILE_NAME_CHARS_MAX: usize = 255;
const FORM: &str = "/flights/new";
/// The word for a file, or a form, for which there is no room at the moment.
const BUSY: &str = "busy";

/// What uploads share.
pub(super) struct Uploads {
    room: Room,
    readings: Shares,
}

impl Default for Uploads {
    fn default() -> Self {
        let waiting = (READINGS_WAITING_MAX, PILOT_READINGS_WAITING_MAX);
        let readings = Shares::with_waiting(READINGS_MAX, PILOT_READINGS_MAX, READING_WAIT_MAX, waiting);
        Self { room: Room::default(), readings }
    }
}

/// Adds the tracks of a form's field `igc`, which contains files and archives of files.
pub(super) async fn tracks(State(Book(book)): State<Book>, api: Api, request: Request) -> Result<Response, Failure> {
    add(&book, &api, request).await.or_else(|failure| failure.or_later(FORM, BUSY, &[]))
}

async fn add(book: &Shared, api: &Api, request: Request) -> Result<Response, Failure> {
    let Some(pilot) = pilot(api).await? else {
        return Ok(see_other("/sign_in?back=/flights/new"));
    };
    let Received { parts, taken: _taken } = match book.uploads.room.receive(pilot, request).await {
        Ok(received) => received,
        Err(Unread::TooLarge) => return Ok(problem(FORM, "upload-too-large", &[])),
        Err(Unread::Failed(failure)) => return Err(failure),
    };
    let mut upload = Upload::new(pilot, book);
    let mut is_cut = false;
    for part in parts.into_iter().filter(|part| part.name == "igc") {
        let name = part.file_name.clone().unwrap_or_default();
        if !is_cut {
            match upload.part(part).await {
                Ok(()) => continue,
                // Both the files that were added and those that found no room are reported.
                Err(failure) if failure.is_temporary() && upload.outcomes.has_added => is_cut = true,
                Err(failure) => return Err(failure),
            }
        }
        upload.outcomes.refuse(file_name(&name), BUSY);
    }
    let outcomes = upload.outcomes.finish();
    match outcomes.as_slice() {
        [] => Ok(problem(FORM, "no-file", &[])),
        [Outcome { problem: Some(word), flight_id: None, .. }] => Ok(problem(FORM, word, &[])),
        [Outcome { flight_id: Some(id), problem: None, .. }] => Ok(see_other(&format!("/flights/{id}"))),
        outcomes => {
            let outcomes = thalweg_json::to_string(outcomes).unwrap_or_default();
            // The files have been added, so that no error may say that nothing was done.
            book.tracks.note(pilot, &outcomes).await.map_err(Failure::NotNoted)?;
            Ok(see_other("/flights/uploaded"))
        }
    }
}

/// The outcome of a file, or of one of its flights.
#[derive(Serialize)]
struct Outcome {
    place: usize,
    /// Name of the file. It is stored once, with the first outcome of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flight_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i32>,
}

/// The outcomes of an upload in order, up to a bound, and the number of those beyond it.
#[derive(Default)]
struct Outcomes {
    listed: Vec<Outcome>,
    further: usize,
    has_added: bool,
}

impl Outcomes {
    fn note(&mut self, outcome: Outcome) {
        self.has_added |= outcome.flight_id.is_some();
        if self.listed.len() < UPLOAD_OUTCOMES_MAX {
            self.listed.push(Outcome { place: self.listed.len() + 1, ..outcome });
        } else {
            self.further += 1;
        }
    }

    fn refuse(&mut self, file: String, problem: &'static str) {
        self.note(Outcome { place: 0, file: Some(file), problem: Some(problem), flight_id: None, number: None });
    }

    /// Returns the outcomes, with a last one that counts those beyond the bound.
    fn finish(self) -> Vec<Outcome> {
        let mut outcomes = self.listed;
        if self.further > 0 {
            let (place, number) = (outcomes.len() + 1, i32::try_from(self.further).ok());
            outcomes.push(Outcome { place, file: None, problem: Some("more"), flight_id: None, number });
        }
        outcomes
    }
}

/// The files of one form while they are added one after the other, and the rest of their common
/// limits.
struct Upload<'a> {
    pilot: i32,
    tracks: &'a Tracks,
    readings: &'a Shares,
    allowance: Allowance,
    /// Budget for scoring. The code that scores takes it and returns it.
    budget: Budget,
    outcomes: Outcomes,
}

impl<'a> Upload<'a> {
    fn new(pilot: i32, book: &'a Shared) -> Self {
        Self {
            pilot,
            tracks: &book.tracks,
            readings: &book.uploads.readings,
            allowance: Allowance { files: UPLOAD_FILES_MAX, unpacked_bytes: UPLOAD_UNPACKED_BYTES_MAX },
            budget: Budget::new(UPLOAD_STEPS_MAX),
            outcomes: Outcomes::default(),
        }
    }

    async fn part(&mut self, part: Part) -> Result<(), Failure> {
        let Some(name) = part.file_name.filter(|name| !name.is_empty()) else { return Ok(()) };
        let (name, content) = (file_name(&name), part.content);
        if is_archive(&content) {
            return self.archive(name, content).await;
        }
        let Some(files) = self.allowance.files.checked_sub(1) else {
            self.outcomes.refuse(name, "too-many");
            return Ok(());
        };
        self.allowance.files = files;
        let (file, flights) = self
            .scored(move |budget| {
                let file = Bytes::from(content.concat());
                let flights = reading::read(&file, now_s(), budget);
                (file, flights)
            })
            .await?;
        self.track(name, file, flights).await
    }

    /// Adds the tracks of an archive.
    async fn archive(&mut self, name: String, content: Vec<Bytes>) -> Result<(), Failure> {
        let mut allowance = self.allowance;
        let opened = self.read(move || {
            let season = Season::open(content.concat().into(), &mut allowance);
            (season, allowance)
        });
        let (opened, left) = opened.await?;
        let mut season = match opened {
            Ok(season) => season,
            Err(refusal) => {
                self.outcomes.refuse(name, word(refusal));
                return Ok(());
            }
        };
        self.allowance = left;
        let mut is_empty = true;
        loop {
            let (after, next) = self
                .scored(move |budget| {
                    let next = season.next();
                    let read = |file: Bytes| (reading::read(&file, now_s(), budget), file);
                    let next = next.map(|(name, file)| (name, file.map(read)));
                    (season, next)
                })
                .await?;
            season = after;
            is_empty &= next.is_none();
            match next {
                None => break,
                Some((name, Ok((flights, file)))) => self.track(file_name(&name), file, flights).await?,
                Some((name, Err(refusal))) => self.outcomes.refuse(file_name(&name), word(refusal)),
            }
        }
        if is_empty {
            self.outcomes.refuse(name, "zip-empty");
        }
        Ok(())
    }

    /// Runs work that scores flights, once a permit is free, with the rest of the budget.
    async fn scored<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Budget) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let mut budget = std::mem::replace(&mut self.budget, Budget::new(0));
        let scored = self.read(move || {
            let done = work(&mut budget);
            (done, budget)
        });
        let (done, budget) = scored.await?;
        self.budget = budget;
        Ok(done)
    }

    /// Runs work that reads a file, once a permit for this pilot is free.
    async fn read<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
        let permit = self.readings.acquire(&self.pilot).await?;
        with_permit(permit, work).await.ok_or(Failure::Request("The file cannot be read.\n"))
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
                self.outcomes.refuse(name, problem.word());
                return Ok(());
            }
        };
        match self.tracks.add(self.pilot, file, &name, &flights).await {
            Ok(added) => {
                let mut file = Some(name);
                for (Added { flight_id, number, outcome }, flight) in added.into_iter().zip(&flights) {
                    let problem = match outcome {
                        tracks::Outcome::New if flight.is_unproven() => Some("not-proven"),
                        tracks::Outcome::New => None,
                        tracks::Outcome::Known => Some("known"),
                        tracks::Outcome::Scored => Some("scored"),
                    };
                    let (flight_id, number) = (Some(flight_id), Some(number));
                    self.outcomes.note(Outcome { place: 0, file: file.take(), problem, flight_id, number });
                }
            }
            // A file that the schema refuses does not prevent the others from being added.
            Err(TrackError::TracksQuota) => self.outcomes.refuse(name, "quota-tracks"),
            Err(TrackError::FlightsQuota) => self.outcomes.refuse(name, "quota-flights"),
            Err(TrackError::Refused) => self.outcomes.refuse(name, "not-kept"),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn word(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Unreadable => "zip-unreadable",
        Refusal::Overlapping => "zip-overlapping",
        Refusal::TooMuch => "zip-too-much",
    }
}

fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// A name as the schema keeps it: without folders and what cannot be shown.
fn file_name(sent: &str) -> String {
    let name = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|char| !char.is_control()).take(FILE_NAME_CHARS_MAX).collect();
    if name.trim().is_empty() { "track.igc".to_owned() } else { name }
}
