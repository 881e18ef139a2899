//! Forms that have been carried out: one that is sent again is not carried out again.
//!
//! A page gives each of its forms a key (`form.once`). The key, the address, the caller and all that
//! was typed identify a form that was sent. A second one with the same identity waits for the first,
//! and gets the response of the first. The outcomes are kept in the memory of this process, within
//! bounds, so that a form may be carried out again after a restart, by another process, or when
//! many forms have been sent meanwhile.

use crate::answer::Body;
use crate::error::ApiError;
use bytes::Bytes;
use hyper::header::{HeaderMap, LOCATION, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Number of outcomes that are kept.
pub(crate) const SENT_FORMS_MAX: usize = 10_000;
/// Size of all outcomes that are kept, in bytes.
pub(crate) const SENT_FORMS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Size of the largest head of a response that is kept whole, in bytes. Of a larger one, the status and the location are kept.
const OUTCOME_BYTES_MAX: usize = 32 * 1024;
/// Time for which an outcome is kept.
const SENT_FORM_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// The identity of a form that was sent: a hash of its key, its address, its caller and its fields.
pub(crate) type FormId = [u8; 32];

/// Size of a key, in bytes.
const KEY_BYTES: usize = 16;

/// A new key of a form, in hexadecimal digits.
pub(crate) fn new_key() -> Option<String> {
    let mut key = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut key).ok()?;
    let mut text = String::with_capacity(2 * KEY_BYTES);
    key.iter().for_each(|byte| _ = write!(text, "{byte:02x}"));
    Some(text)
}

/// Hashes the parts of a form that was sent.
pub(crate) struct FormHasher(Context);

impl FormHasher {
    /// A hasher of a form that a caller with these claims has sent to an address.
    pub(crate) fn new(address: &str, claims: &str) -> Self {
        let mut hasher = Self(Context::new(&SHA256));
        hasher.part(address.as_bytes());
        hasher.part(claims.as_bytes());
        hasher
    }

    /// Adds a part, of which it is known where it ends.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.begin_part(bytes.len());
        self.piece(bytes);
    }

    /// Adds the size of a part whose pieces follow.
    pub(crate) fn begin_part(&mut self, bytes: usize) {
        self.0.update(&(bytes as u64).to_le_bytes());
    }

    /// Adds a piece of a part.
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> FormId {
        let mut id = [0; 32];
        id.copy_from_slice(self.0.finish().as_ref());
        id
    }
}

/// The forms that are being carried out, and the outcomes of those that have been.
pub(crate) struct SentForms {
    kept: Mutex<Kept>,
    /// Permits of forms that are carried out to their end although their clients have gone.
    unattended: Arc<Semaphore>,
}

#[derive(Default)]
struct Kept {
    forms: HashMap<FormId, watch::Receiver<Option<Arc<Outcome>>>>,
    /// Those that have been carried out, the oldest first.
    done: VecDeque<(FormId, Instant, usize)>,
    bytes: usize,
}

/// The outcome of a form that was carried out.
enum Outcome {
    /// The form was answered with a response without a body.
    Answered { status: StatusCode, headers: HeaderMap },
    /// The form may have been executed, or its response cannot be sent again.
    Unknown,
}

/// The way in which a form that was sent is continued.
pub(crate) enum Begun<'f> {
    /// The form is carried out now.
    First(Running<'f>),
    /// The form was sent before. Its sender gets the response of the first one, or the error that the
    /// first one may have been executed.
    Again(Result<Response<Body>, ApiError>),
}

/// A form that is being carried out. If it is dropped without an outcome, the next form of its
/// identity is carried out.
pub(crate) struct Running<'f> {
    forms: &'f SentForms,
    id: FormId,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
    /// True if the outcome is kept for forms that are sent later.
    is_kept: bool,
}

impl SentForms {
    /// No forms, of which so many may be carried out to their end at once although their clients have gone.
    pub(crate) fn new(unattended_max: usize) -> Self {
        Self { kept: Mutex::default(), unattended: Arc::new(Semaphore::new(unattended_max)) }
    }

    /// The state of a request that may send a form.
    pub(crate) fn outlives(&self) -> Outlives {
        let request = Outliving { is_set: AtomicBool::new(false), permit: Mutex::default() };
        Outlives { request: Arc::new(request), unattended: self.unattended.clone() }
    }

    /// Begins to carry out a form, or waits for the outcome of one of the same identity. From then on
    /// the request outlives its connection.
    pub(crate) async fn begin(&self, id: FormId, parts: &Parts) -> Begun<'_> {
        let begun = self.begin_alone(id).await;
        if let (Begun::First(_), Some(outlives)) = (&begun, parts.extensions.get::<Outlives>()) {
            outlives.request.is_set.store(true, Ordering::Release);
        }
        begun
    }

    async fn begin_alone(&self, id: FormId) -> Begun<'_> {
        loop {
            let mut outcome = match self.find_or_insert(id) {
                Ok(running) => return Begun::First(running),
                Err(outcome) => outcome,
            };
            // An error means that the other form was not carried out.
            if let Ok(outcome) = outcome.wait_for(Option::is_some).await
                && let Some(outcome) = outcome.as_deref()
            {
                return match outcome {
                    Outcome::Answered { status, headers } => {
                        let mut response = Response::new(Body::whole(Bytes::new()));
                        (*response.status_mut(), *response.headers_mut()) = (*status, headers.clone());
                        Begun::Again(Ok(response))
                    }
                    Outcome::Unknown => Begun::Again(Err(ApiError::form_may_have_been_executed())),
                };
            }
        }
    }

    fn find_or_insert(&self, id: FormId) -> Result<Running<'_>, watch::Receiver<Option<Arc<Outcome>>>> {
        let mut kept = self.lock();
        kept.make_room(Instant::now());
        if let Some(outcome) = kept.forms.get(&id) {
            return Err(outcome.clone());
        }
        let outcome = watch::Sender::new(None);
        kept.forms.insert(id, outcome.subscribe());
        Ok(Running { forms: self, id, outcome, is_kept: false })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Drops the oldest outcomes until the others are within the bounds.
    fn make_room(&mut self, now: Instant) {
        while let Some((id, at, bytes)) = self.done.front().copied() {
            let is_old = now.saturating_duration_since(at) > SENT_FORM_TIME_MAX;
            if !is_old && self.done.len() < SENT_FORMS_MAX && self.bytes <= SENT_FORMS_BYTES_MAX {
                return;
            }
            self.done.pop_front();
            self.forms.remove(&id);
            self.bytes -= bytes;
        }
    }
}

impl Running<'_> {
    /// Keeps the outcome. A response with a cookie is for those who wait for it, and not kept: the session
    /// of the cookie may have ended when the form is sent again.
    pub(crate) fn done(self, response: &Response<Body>) {
        let (status, mut headers) = (response.status(), response.headers().clone());
        if size_bytes(&headers) > OUTCOME_BYTES_MAX {
            headers = headers.remove(LOCATION).into_iter().map(|location| (LOCATION, location)).collect();
        }
        let is_kept = !headers.contains_key(SET_COOKIE);
        self.end(Outcome::Answered { status, headers }, is_kept);
    }

    /// Keeps that the form may have been executed, so that it is not executed again.
    pub(crate) fn unknown(self) {
        self.end(Outcome::Unknown, true);
    }

    fn end(mut self, outcome: Outcome, is_kept: bool) {
        let bytes = match &outcome {
            Outcome::Answered { headers, .. } => size_bytes(headers),
            Outcome::Unknown => 0,
        };
        self.outcome.send_replace(Some(Arc::new(outcome)));
        self.is_kept = is_kept;
        if is_kept {
            let mut kept = self.forms.lock();
            kept.bytes += bytes;
            kept.done.push_back((self.id, Instant::now(), bytes));
        }
    }
}

fn size_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.forms.lock().forms.remove(&self.id);
        }
    }
}

/// Decides whether a request is carried out to its end although its client has gone. It is so from the
/// moment at which a form with a key begins to be carried out: a browser gives up the first request
/// when a form is sent again, and the second one must learn how the first has ended. Few such
/// requests run at once, since each holds a connection to the database.
#[derive(Clone)]
pub(crate) struct Outlives {
    request: Arc<Outliving>,
    unattended: Arc<Semaphore>,
}

struct Outliving {
    is_set: AtomicBool,
    /// Held until the request has ended.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Outlives {
    /// Returns whether the request goes on now that its client has gone.
    pub(crate) fn goes_on(&self) -> bool {
        if !self.request.is_set.load(Ordering::Acquire) {
            return false;
        }
        let permit = self.unattended.clone().try_acquire_owned().ok();
        let goes_on = permit.is_some();
        *self.request.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderValue, LOCATION};
    use std::pin::pin;
    use std::task::{self, Poll, Waker};

    fn first(begun: Begun<'_>) -> Running<'_> {
        match begun {
            Begun::First(running) => running,
            Begun::Again(_) => panic!("it has been carried out"),
        }
    }

    fn response(location: &str) -> Response<Body> {
        let mut response = Response::new(Body::whole(Bytes::new()));
        response.headers_mut().insert(LOCATION, HeaderValue::try_from(location).unwrap());
        response
    }

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let forms = SentForms::new(1);
        let running = first(forms.begin_alone([1; 32]).await);
        let mut second = pin!(forms.begin_alone([1; 32]));
        let mut context = task::Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        // Another form does not wait.
        drop(first(forms.begin_alone([2; 32]).await));
        running.done(&response("/1"));
        let Poll::Ready(Begun::Again(Ok(again))) = second.as_mut().poll(&mut context) else { panic!() };
        assert_eq!(again.headers()[LOCATION], "/1");
    }

    #[tokio::test]
    async fn a_form_that_was_not_carried_out_is_tried_again() {
        let forms = SentForms::new(1);
        let running = first(forms.begin_alone([1; 32]).await);
        let mut second = pin!(forms.begin_alone([1; 32]));
        let mut context = task::Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(running);
        let Poll::Ready(begun) = second.as_mut().poll(&mut context) else { panic!() };
        drop(first(begun));
        assert!(forms.lock().forms.is_empty());
    }

    #[tokio::test]
    async fn an_unknown_outcome_is_kept_and_a_cookie_is_not() {
        let forms = SentForms::new(1);
        first(forms.begin_alone([1; 32]).await).unknown();
        let Begun::Again(Err(unknown)) = forms.begin_alone([1; 32]).await else { panic!() };
        assert_eq!(unknown.code, "TWG24");
        let running = first(forms.begin_alone([2; 32]).await);
        let mut second = pin!(forms.begin_alone([2; 32]));
        let mut context = task::Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        let mut signed_in = response("/");
        signed_in.headers_mut().insert(SET_COOKIE, HeaderValue::from_static("session=a"));
        running.done(&signed_in);
        let Poll::Ready(Begun::Again(Ok(again))) = second.as_mut().poll(&mut context) else { panic!() };
        assert_eq!(again.headers()[SET_COOKIE], "session=a");
        drop(first(forms.begin_alone([2; 32]).await));
    }

    #[test]
    fn few_requests_outlive_their_clients() {
        let forms = SentForms::new(1);
        let [one, other, none] = [(); 3].map(|()| forms.outlives());
        one.request.is_set.store(true, Ordering::Release);
        other.request.is_set.store(true, Ordering::Release);
        assert!(!none.goes_on() && one.goes_on() && !other.goes_on());
        drop(one);
        assert!(other.goes_on());
    }

    #[tokio::test]
    async fn what_is_kept_has_bounds() {
        let forms = SentForms::new(1);
        let id = |at: usize| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&at.to_le_bytes());
            id
        };
        let long = format!("/{}", "a".repeat(1_000));
        for at in 0..3 * SENT_FORMS_MAX {
            first(forms.begin_alone(id(at)).await).done(&response(&long));
        }
        {
            let kept = forms.lock();
            assert!(kept.bytes <= SENT_FORMS_BYTES_MAX + 2_000, "{}", kept.bytes);
            assert!(kept.done.len() <= SENT_FORMS_MAX && kept.forms.len() == kept.done.len());
        }
        // The newest is known, the oldest is not, and one that is too large is kept without its headers.
        assert!(matches!(forms.begin_alone(id(3 * SENT_FORMS_MAX - 1)).await, Begun::Again(Ok(_))));
        drop(first(forms.begin_alone(id(0)).await));
        let mut large = response("/7");
        large.headers_mut().insert("x-large", HeaderValue::try_from("a".repeat(OUTCOME_BYTES_MAX)).unwrap());
        first(forms.begin_alone([7; 32]).await).done(&large);
        let Begun::Again(Ok(again)) = forms.begin_alone([7; 32]).await else { panic!() };
        assert_eq!((again.headers().len(), &again.headers()[LOCATION]), (1, &HeaderValue::from_static("/7")));
        let mut kept = forms.lock();
        kept.make_room(Instant::now() + 2 * SENT_FORM_TIME_MAX);
        assert_eq!((kept.forms.len(), kept.done.len(), kept.bytes), (0, 0, 0));
    }
}
