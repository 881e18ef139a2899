//! The pages of a site: loaded from their folder, held against the schema cache, found by their paths.
//!
//! ```text
//!  folder ── Loaded ── with a schema cache: Bound ──▶ flow/page.rs
//!            (pages, renderer)       (narrowed queries)
//! ```

mod asked;
mod bound;
pub(crate) mod browse;
mod collected;
mod development;
mod error_page;
mod form;
mod origin;
mod respond;
pub(crate) mod sign_in;
mod static_files;

pub(crate) use asked::{Asked, cookie};
pub(crate) use bound::{Bound, BoundQuery, embedded};
pub(crate) use collected::{Collected, Found};
pub(crate) use development::{Development, Watched, keep_read};
pub(crate) use error_page::{error_page, signed_out_page};
pub(crate) use form::{Blank, BoundForm, FormField, action};
pub(crate) use origin::origin;
pub(crate) use respond::{Page, respond};
pub use sign_in::is_of_site;

use crate::config::{Config, InForce};
use crate::error::ApiError;
use crate::flow::PROVIDED;
use crate::schema::Snapshot;
use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use hyper::Uri;
use hyper::http::uri::PathAndQuery;
use minijinja::{ErrorKind, Value};
use static_files::{StaticError, StaticFiles};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_pages::{Additions, Renderer, Vocabulary};

/// A site that is served.
pub(crate) struct Site {
    folder: PathBuf,
    /// Where the API is.
    prefix: String,
    /// That of messages which others do not have.
    language: String,
    /// What templates have besides.
    additions: Additions,
    vocabulary: Vocabulary,
    loaded: ArcSwap<Loaded>,
    bound: ArcSwapOption<Bound>,
    /// Of one that is being written.
    development: Option<Development>,
}

/// The templates of a site, read and compiled.
pub(crate) struct Loaded {
    /// Which load of this process it is.
    pub(crate) number: u64,
    pub(crate) pages: thalweg_pages::Site,
    pub(crate) renderer: Renderer,
    pub(crate) files: Arc<StaticFiles>,
}

/// Why a site cannot be loaded.
#[derive(Debug)]
pub(crate) enum SiteError {
    Pages(thalweg_pages::Error),
    Files(StaticError),
}

impl SiteError {
    /// The same with the lines of the file that it is about.
    pub(crate) fn with_lines(&self, config: &Config) -> String {
        match (self, &config.pages_dir) {
            (Self::Pages(error), Some(folder)) => Site::with_lines(folder, error),
            (error, _) => error.to_string(),
        }
    }
}

impl fmt::Display for SiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(error) => error.fmt(f),
            Self::Files(error) => error.fmt(f),
        }
    }
}

impl From<thalweg_pages::Error> for SiteError {
    fn from(error: thalweg_pages::Error) -> Self {
        Self::Pages(error)
    }
}

impl From<StaticError> for SiteError {
    fn from(error: StaticError) -> Self {
        Self::Files(error)
    }
}

/// Whose a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The API's.
    Api,
    /// A page's, or a file's.
    Page,
}

/// Where files are that are served as they are, and the function that templates call for their addresses.
pub(crate) const STATIC: &str = "static";

impl Site {
    /// The site of a configuration, if it has one. One that is being written may be wrong. Without additions, it is not known what these are.
    pub(crate) fn of(
        config: &Config,
        is_written: bool,
        additions: Option<Additions>,
    ) -> Result<Option<Self>, SiteError> {
        let Some(folder) = &config.pages_dir else { return Ok(None) };
        let vocabulary = vocabulary(additions.as_ref());
        let additions = additions.unwrap_or_default();
        let (loaded, wrong) = match Loaded::of(folder, &config.pages_language, (&additions, &vocabulary), None) {
            Ok(loaded) => (loaded, None),
            Err(error) if is_written => (Loaded::nothing(), Some(error)),
            Err(error) => return Err(error),
        };
        let development = is_written.then(Development::new);
        if let (Some(development), Some(error)) = (&development, wrong) {
            development.read(folder, Err(error));
        }
        Ok(Some(Self {
            folder: folder.clone(),
            prefix: config.pages_api_prefix.clone(),
            language: config.pages_language.clone(),
            additions,
            vocabulary,
            loaded: ArcSwap::from_pointee(loaded),
            bound: ArcSwapOption::empty(),
            development,
        }))
    }

    /// What is known of it if it is being written.
    pub(crate) fn development(&self) -> Option<&Development> {
        self.development.as_ref()
    }

    /// What is wrong with a file of a site, with the lines that it is about.
    pub(crate) fn with_lines(folder: &Path, error: &thalweg_pages::Error) -> String {
        development::with_excerpt(folder, error.place(), &error.to_string())
    }

    /// The folder that it was read from.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An error as it is shown: to whoever writes the site with what is wrong, and the lines that it is about.
    pub(crate) fn shown(&self, error: ApiError) -> ApiError {
        if self.development.is_none() {
            return error;
        }
        error.revealed(|fault| match &fault.place {
            Some(place) => development::with_excerpt(&self.folder, place, &fault.message),
            None => fault.message.clone(),
        })
    }

    /// Reads the folder again. What is wrong with it leaves the site as it was.
    pub(crate) fn reload(&self) -> Result<(), SiteError> {
        let known = self.loaded();
        let loaded = Loaded::of(&self.folder, &self.language, (&self.additions, &self.vocabulary), Some(&known.files));
        let read = loaded.map(|loaded| self.loaded.store(Arc::new(loaded)));
        match &self.development {
            Some(development) => {
                development.read(&self.folder, read);
                Ok(())
            }
            None => read,
        }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whose a path is; what is the API's is taken for it as if it had no prefix.
    pub(crate) fn route(&self, uri: &mut Uri) -> Route {
        let Some(rest) = uri.path().strip_prefix(&self.prefix) else { return Route::Page };
        if !rest.is_empty() && !rest.starts_with('/') {
            return Route::Page;
        }
        let slash = if rest.is_empty() { "/" } else { "" };
        let (mark, query) = uri.query().map_or(("", ""), |query| ("?", query));
        let target = Bytes::from([slash, rest, mark, query].concat());
        if let Ok(target) = PathAndQuery::from_maybe_shared(target) {
            *uri = Uri::from(target);
        }
        Route::Api
    }

    /// The pages of a load of the site, held against a schema cache.
    pub(crate) fn bound(&self, loaded: &Arc<Loaded>, in_force: &InForce, snapshot: &Snapshot) -> Arc<Bound> {
        if let Some(bound) = self.bound.load_full().filter(|bound| bound.is_of(loaded, in_force, snapshot)) {
            return bound;
        }
        let bound = Arc::new(Bound::of(loaded.clone(), in_force, snapshot));
        let before = self.bound.swap(Some(bound.clone()));
        // with the first, what is wrong ends the start
        bound.tell(before.is_some() || self.development.is_some());
        bound
    }

    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        self.loaded.load_full()
    }
}

impl Loaded {
    /// A site without a page.
    fn nothing() -> Self {
        let renderer = Renderer::default();
        Self { number: 0, pages: thalweg_pages::Site::default(), renderer, files: Arc::default() }
    }

    /// Reads a folder, of whose files some are known.
    fn of(
        folder: &Path,
        language: &str,
        (additions, vocabulary): (&Additions, &Vocabulary),
        known: Option<&StaticFiles>,
    ) -> Result<Self, SiteError> {
        static LOADS: AtomicU64 = AtomicU64::new(1);
        let pages = thalweg_pages::Site::load_in(folder, Some(language), Some(vocabulary))?;
        let of_files = folder.join(STATIC);
        let files = Arc::new(match known {
            Some(known) => known.load_again(&of_files)?,
            None => StaticFiles::load(&of_files)?,
        });
        let mut renderer = Renderer::of(&pages, [(STATIC, url_of(files.clone()))], additions)?;
        renderer.add_missing(browse::TEMPLATES)?;
        Ok(Self { number: LOADS.fetch_add(1, Ordering::Relaxed), pages, renderer, files })
    }
}

/// What templates may name.
fn vocabulary(additions: Option<&Additions>) -> Vocabulary {
    match additions {
        Some(additions) => Vocabulary::of(&PROVIDED, &[STATIC], additions),
        None => Vocabulary::of(&PROVIDED, &[STATIC], &Additions::default()).with_any_addition(),
    }
}

/// The function that templates call for the address of a file.
fn url_of(files: Arc<StaticFiles>) -> Value {
    Value::from_function(move |name: &str| {
        let message = || minijinja::Error::new(ErrorKind::InvalidOperation, format!("there is no static/{name}"));
        files.url(name).map(Value::from).ok_or_else(message)
    })
}
