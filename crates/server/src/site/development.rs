//! A site that is being written (`--dev`): read again when a file changes, its mistakes shown with their lines, and its pages told to
//! load again.

use super::{Site, SiteError};
use crate::answer::Body;
use arc_swap::ArcSwapOption;
use hyper::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Response, Uri};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thalweg_pages::Place;
use tokio::sync::watch;

/// How often the folder is looked at.
const LOOKED_AT: Duration = Duration::from_millis(250);
/// How long a page waits for a change at a time.
const CHANGE_WAIT_MAX: Duration = Duration::from_secs(20);
/// How many lines of a file are shown before one with a mistake, and behind it.
const LINES_AROUND: usize = 3;
/// How much of a file is read to show them, in bytes.
const EXCERPT_FILE_BYTES_MAX: u64 = 2 << 20;
/// How many files are looked at.
const WATCHED_FILES_MAX: usize = 20_000;

/// Where pages ask whether they have changed.
const CHANGES: &str = "/.thalweg/changes";

/// What is known of a site that is being written.
pub(crate) struct Development {
    /// Why it could not be read last.
    wrong: ArcSwapOption<String>,
    /// A note that its pages show, such as that a migration has not been applied.
    note: ArcSwapOption<String>,
    /// A number that changes when it does. It begins with the time, so that a server that is started again says another.
    changed: watch::Sender<u64>,
    /// Whether the server stops, so that nobody waits for a change any more.
    stops: watch::Sender<bool>,
}

impl Development {
    pub(super) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        Self {
            wrong: ArcSwapOption::empty(),
            note: ArcSwapOption::empty(),
            changed: watch::Sender::new(started << 20),
            stops: watch::Sender::new(false),
        }
    }

    /// What is wrong with the site as it is, if anything.
    pub(crate) fn wrong(&self) -> Option<Arc<String>> {
        self.wrong.load_full()
    }

    /// Notes that the site was read, or why it could not be.
    pub(super) fn read(&self, folder: &Path, read: Result<(), SiteError>) {
        let wrong = read.err().map(|error| match &error {
            SiteError::Pages(error) => with_excerpt(folder, error.place(), &error.to_string()),
            SiteError::Files(error) => error.to_string(),
        });
        if let Some(wrong) = &wrong {
            tracing::error!(target: "notice", "the site cannot be loaded: {wrong}");
        }
        self.wrong.store(wrong.map(Arc::new));
        self.changed.send_modify(|number| *number += 1);
    }

    /// Replaces the note that pages show, and logs it.
    fn set_note(&self, note: Option<String>) {
        if self.note.load().as_deref() == note.as_ref() {
            return;
        }
        if let Some(note) = &note {
            tracing::warn!(target: "notice", "{note}");
        }
        self.note.store(note.map(Arc::new));
        self.changed.send_modify(|number| *number += 1);
    }

    /// Lets those go who wait for a change: a server that stops answers who has asked, and a page that is open always has.
    pub(crate) fn stop(&self) {
        self.stops.send_replace(true);
    }

    /// The note, and the script that every page ends with.
    pub(crate) fn script(&self) -> String {
        let number = *self.changed.borrow();
        let escaped = |note: &Arc<String>| note.replace('&', "&amp;").replace('<', "&lt;");
        let note = self.note.load_full().as_ref().map(escaped);
        let note =
            note.map_or(String::new(), |note| format!("<div role=\"status\" style=\"{NOTE_STYLE}\">{note}</div>\n"));
        note + &format!(
            "<script>(async () => {{ for (;;) {{ try {{ const answer = await fetch(\"{CHANGES}?{number}\"); \
             if (answer.ok && await answer.text() !== \"{number}\") location.reload(); }} \
             catch {{ await new Promise(done => setTimeout(done, 500)); }} }} }})()</script>\n"
        )
    }

    /// Answers whoever asks whether the site has changed, when it has, or after a while, or when the server stops.
    pub(crate) async fn answer(&self, uri: &Uri) -> Option<Response<Body>> {
        let known = (uri.path() == CHANGES).then(|| uri.query())?;
        let known = known.and_then(|number| number.parse::<u64>().ok());
        let mut changed = self.changed.subscribe();
        let mut stops = self.stops.subscribe();
        tokio::select! {
            _ = changed.wait_for(|number| Some(*number) != known) => {}
            _ = stops.wait_for(|stops| *stops) => {}
            () = tokio::time::sleep(CHANGE_WAIT_MAX) => {}
        }
        let text = self.changed.borrow().to_string();
        let mut response = Response::new(Body::whole(text.clone().into()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(text.len()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }
}

/// The style of the note, which stands at the lower edge of the window, in any page's colours.
const NOTE_STYLE: &str = "position:fixed;inset:auto 0 0 0;z-index:2147483647;padding:.75rem 1rem;white-space:pre-wrap;\
                          overflow-wrap:anywhere;font:16px/1.5 system-ui,sans-serif;color:#222;background:#ffe08a";

/// A folder beside the pages of a site that is being written, and what the pages show of it.
pub(crate) struct Watched {
    pub(crate) folder: PathBuf,
    pub(crate) note: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Reads a site again whenever its folder has changed, for ever, and the note of another folder
/// whenever that has.
pub(crate) async fn keep_read(site: Arc<Site>, watched: Option<Watched>) {
    let watched = watched.map(Arc::new);
    let look = || {
        let (site, watched) = (site.clone(), watched.clone());
        tokio::task::spawn_blocking(move || {
            (fingerprint(&site.folder), watched.map(|watched| fingerprint(&watched.folder)))
        })
    };
    let (mut of_pages, mut of_watched) = look().await.unwrap_or_default();
    loop {
        tokio::time::sleep(LOOKED_AT).await;
        let (pages, beside) = look().await.unwrap_or((of_pages, of_watched));
        let (pages_changed, watched_changed) = (pages != of_pages, beside != of_watched);
        (of_pages, of_watched) = (pages, beside);
        let (site, watched) = (site.clone(), watched.clone().filter(|_| watched_changed));
        let read = move || {
            if let (Some(watched), Some(development)) = (watched, site.development()) {
                development.set_note((watched.note)());
            }
            pages_changed.then(|| site.reload())
        };
        if pages_changed || watched_changed {
            _ = tokio::task::spawn_blocking(read).await;
        }
    }
}

/// What changes with the files of a folder: their names, sizes and when they were written.
fn fingerprint(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut folders = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().take(WATCHED_FILES_MAX).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            seen += 1;
            let Ok(known) = entry.metadata() else { continue };
            if seen > WATCHED_FILES_MAX {
                return hasher.finish();
            }
            if known.is_dir() {
                folders.push(entry.path());
            }
            (entry.path(), known.len(), known.modified().ok()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// A message with the lines round the place that it is about.
pub(crate) fn with_excerpt(folder: &Path, place: &Place, message: &str) -> String {
    let mut text = String::new();
    let opened = std::fs::File::open(folder.join(&place.file));
    let read = opened.and_then(|file| file.take(EXCERPT_FILE_BYTES_MAX).read_to_string(&mut text));
    if place.line == 0 || read.is_err() {
        return message.to_owned();
    }
    let first = place.line.saturating_sub(LINES_AROUND).max(1);
    let mut shown = format!("{message}\n");
    for (number, line) in text.lines().enumerate().skip(first - 1).take(2 * LINES_AROUND + 1) {
        let mark = if number + 1 == place.line { '>' } else { ' ' };
        let line: String = line.chars().take(200).collect();
        _ = write!(shown, "\n{mark} {:>4} | {line}", number + 1);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn a_note_is_text() {
        let development = Development::new();
        assert!(!development.script().contains("status"));
        let before = *development.changed.borrow();
        development.set_note(Some("a <b> & c".to_owned()));
        assert!(development.script().contains(">a &lt;b> &amp; c</div>"));
        development.set_note(Some("a <b> & c".to_owned()));
        development.set_note(None);
        assert!(!development.script().contains("status"));
        // Pages that are open load again, once for each change.
        assert_eq!(*development.changed.borrow(), before + 2);
    }

    #[tokio::test]
    async fn a_server_that_stops_keeps_no_page_waiting() {
        let development = Development::new();
        let uri = format!("{CHANGES}?{}", *development.changed.borrow()).parse().unwrap();
        let mut answer = pin!(development.answer(&uri));
        let mut context = Context::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut context).is_pending());
        development.stop();
        assert!(answer.as_mut().poll(&mut context).is_ready());
    }
}
