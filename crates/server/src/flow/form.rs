//! A form of a page that was sent: what it does, by the steps of the API, and where its visitor goes then; or the page again, which
//! says what is wrong.
//!
//! ```text
//!  fields ──▶ sent before? (once.rs) ──▶ a row's values ──▶ plan, transaction (going.rs) ──▶ 303
//!                                                                     └─▶ faults ──▶ the page again (page.rs)
//! ```

mod faults;
mod once;
mod signed_out;

pub(super) use once::Once;
pub(super) use signed_out::keep;

use super::going::{self, Ready};
use super::page::Making;
use super::{Answered, RequestText};
use crate::answer::{Body, respond};
use crate::auth::cookie::Cookie;
use crate::error::{ApiError, MAYBE_EXECUTED};
use crate::http::PREFERENCE_APPLIED;
use crate::sent_forms::Begun;
use crate::site::sign_in::{self, LOCATION_BYTES_MAX};
use crate::site::{self, Blank, Bound, BoundForm};
use crate::upload::{Field, Received, RequestBody};
use bytes::Bytes;
use faults::{Faults, MISSING};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_gauge::Laps;
use thalweg_pages::{Does, Messages, Provided, Source, Value, Values};
use thalweg_plan::plan;
use thalweg_request::{ApiRequest, Form, Payload};

/// Does what a form says, once.
pub(super) async fn attempt(
    making: &Making<'_>,
    bound: Arc<Bound>,
    number: usize,
    (body, cookie, peer): (&mut RequestBody, Option<Cookie<'_>>, Option<&str>),
    bill: &mut Laps,
) -> Answered {
    let name = making.asked.of_address(NAME).unwrap_or_default();
    let forms = &bound.page(number)?.forms;
    let found = forms.iter().find(|(known, _)| known == name).ok_or_else(|| ApiError::no_such_form(name))?;
    let pages = &bound.loaded.pages;
    let locale = making.asked.locale(pages, making.in_force);
    let is_for_members = pages.pages()[number].front.sign_in.is_some();
    let sent = Sent { making, name, form: &found.1, messages: pages.messages(), locale, is_for_members };
    let zone = making.zone();
    let meant = |name: &str, typed: &str| sent.form.field(name)?.meant(typed, &sent.locale, &zone);
    let arrays = sent.form.fields.iter().filter(|field| field.is_array).map(|field| &*field.name);
    body.receive_form(&making.parts.headers, meant, arrays, &sent.set()?).await?;
    let running = match sent.begin(body.split().0).await {
        Some(Begun::Again(answer)) => return answer.map(|response| (response, None)),
        Some(Begun::First(running)) => Some(running),
        None => None,
    };
    let mut is_executed = false;
    let carried_out = sent.carry_out((body, cookie, peer), &mut is_executed, bill).await;
    let running = match (&carried_out, running) {
        (Ok(response), Some(running)) => {
            running.done(response);
            None
        }
        (Err(failure), Some(running)) if is_executed || failure.may_be_executed() => {
            running.unknown();
            None
        }
        (_, running) => running,
    };
    let faults = match carried_out {
        Ok(response) => return Ok((response, None)),
        Err(Failure::Error(error)) => sent.faults(*error, body.split().0).await?,
        Err(Failure::Faults(faults)) => *faults,
    };
    let mut filled = making.filled(&bound, number, bill).await?;
    drop(running);
    filled.values.insert("form", sent.state(body.split().0, &faults, &filled.once));
    let mut response = making.page(bound.clone(), number, filled, faults.status, bill).await?;
    if let Some(error) = &faults.error {
        error.mark(response.headers_mut());
    }
    Ok((response, None))
}

/// How much of what was typed is given back to the page, in bytes.
const GIVEN_BACK_BYTES_MAX: usize = 1024 * 1024;

/// The parameter of the address that names one of several forms.
const NAME: &str = "form";

/// What a template finds of a form that was not sent.
pub(super) fn untouched(once: &Arc<Once>) -> minijinja::Value {
    state("", Values::default(), Values::default(), None, once)
}

/// What a template finds of a form.
pub(super) const STATE: [Provided; 5] = [
    Provided::any("name"),
    Provided::any("values"),
    Provided::each("errors", &faults::FIELDS),
    Provided::of("error", &faults::FIELDS),
    Provided::any(once::NAME),
];

fn state(
    name: &str,
    values: Values,
    errors: Values,
    error: Option<minijinja::Value>,
    once: &Arc<Once>,
) -> minijinja::Value {
    let (values, errors) = (minijinja::Value::from_object(values), minijinja::Value::from_object(errors));
    let error = error.unwrap_or(minijinja::Value::from(()));
    let [names @ .., _once] = &STATE;
    let values = Provided::values(names, [name.into(), values, errors, error]);
    minijinja::Value::from_object(once::State { values: Arc::new(values), once: once.clone() })
}

/// Escapes the backslashes of an address. A browser reads a backslash as a slash, so that the address could lead to
/// another host.
fn within_site(address: &str) -> String {
    address.replace('\\', "%5C")
}

/// A form that was sent.
struct Sent<'a> {
    making: &'a Making<'a>,
    name: &'a str,
    form: &'a BoundForm,
    messages: &'a Messages,
    /// The language of the page.
    locale: String,
    /// True if the page is only for visitors who have signed in.
    is_for_members: bool,
}

/// Why nothing was done.
enum Failure {
    /// What the visitor can mend.
    Faults(Box<Faults>),
    /// What it is, is still to be found out.
    Error(Box<ApiError>),
}

impl Failure {
    /// Returns whether the form may have been executed, although its outcome is not known.
    fn may_be_executed(&self) -> bool {
        matches!(self, Self::Error(error) if error.code == MAYBE_EXECUTED)
    }
}

impl<E: Into<ApiError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error.into()))
    }
}

impl Sent<'_> {
    /// What the page gives, whatever was sent.
    fn set(&self) -> Result<Vec<(&str, String)>, ApiError> {
        let value = |value: &Value| self.making.asked.value(value);
        let set = self.form.form.set.iter().map(|(name, text)| {
            let text = text.fill(value).map_err(ApiError::value_of_page)?;
            Ok((name.as_str(), text))
        });
        set.collect()
    }

    /// Writes, or calls, and says where to go. `is_executed` becomes true once the transaction has been committed.
    async fn carry_out(
        &self,
        (body, cookie, peer): (&mut RequestBody, Option<Cookie<'_>>, Option<&str>),
        is_executed: &mut bool,
        bill: &mut Laps,
    ) -> Result<Response<Body>, Failure> {
        let (form, making) = (&self.form.form, self.making);
        let filled = self.request()?;
        let returning = if self.form.row.is_empty() { "return=minimal" } else { "return=representation" };
        let text = RequestText::of(&filled, Some(returning))?;
        let going = making.going(&text, None);
        let request = going.read(site::action(form.does), text.target(), body, bill).await?;
        let (received, incoming) = body.split();
        let payload = self.payload(received, &request)?;
        let plan = plan(&request, payload.as_ref(), going.context(&request))?;
        let server = (making.state, making.in_force);
        let attempt = super::sign_in::count(server, (making.parts, peer), going.snapshot, &plan, form.session)?;
        let (prepared, values) = going.prepare(&request, &plan, None);
        let source = going::copy_source(&plan, received, &request).await?;
        let ready = Ready::of_plan(&going, &request, &plan, (&prepared, &values), source);
        let carried_out = going.carry_out(ready, (received, incoming), bill).await;
        let ((mut response, rows), attempt) = super::sign_in::result(carried_out, attempt)?;
        if matches!(form.does, Does::Update | Does::Delete) && rows == Some(0) {
            return Err(ApiError::no_row().into());
        }
        *is_executed = true;
        if response.status().is_client_error() || response.status().is_server_error() {
            return Err(Failure::Faults(Box::new(Faults::of_status(response.status()))));
        }
        let then = self.then(&response);
        let has_signed_in = match cookie.filter(|_| form.session) {
            Some(cookie) => cookie.put(making.state, making.in_force, &mut response).await?,
            None => true,
        };
        super::sign_in::restore(attempt.filter(|_| has_signed_in));
        send_on(&mut response, then);
        Ok(response)
    }

    /// The request that the API would be sent, with the columns that say where to go.
    fn request(&self) -> Result<String, ApiError> {
        let mut filled = self.making.asked.request(&self.form.form.request)?;
        if self.form.row_is_selected && !self.form.row.is_empty() {
            filled.push(if filled.contains('?') { '&' } else { '?' });
            filled.push_str("select=");
            filled.push_str(&self.form.row.join(","));
        }
        Ok(filled)
    }

    /// What of the fields is written: those that the form takes, where something was typed or that says something too.
    fn payload<'r>(&self, received: &'r Received, request: &ApiRequest<'_>) -> Result<Option<Payload<'r>>, Failure> {
        if self.form.form.does == Does::Delete {
            return Ok(None);
        }
        let Some(mut payload) = received.payload(request)? else { return Ok(None) };
        let fields = received.fields();
        payload.keys.retain_mut(|key| {
            let Some(field) = self.form.field(key.name) else { return self.is_derived(key.name, key.is_optional) };
            let is_blank = key.member.and_then(|at| fields.get(at)).is_some_and(Field::is_blank);
            match field.blank {
                Blank::Null if is_blank => key.form = Form::Null,
                Blank::Default => return !is_blank,
                Blank::Text | Blank::Null => {}
            }
            true
        });
        let is_there = |name: &str| payload.keys.iter().any(|key| key.name == name);
        match self.form.form.does {
            Does::Call => {
                let missing = self.form.fields.iter().filter(|field| field.is_required && !is_there(&field.name));
                let faults = Faults::missing(missing.map(|field| &*field.name), &self.says(MISSING, &[]));
                if let Some(faults) = faults {
                    return Err(Failure::Faults(Box::new(faults)));
                }
            }
            Does::Update if payload.keys.is_empty() => {
                let faults = Faults::nothing_sent(self.says("form-nothing-sent", &[]));
                return Err(Failure::Faults(Box::new(faults)));
            }
            Does::Insert | Does::Update | Does::Delete => {}
        }
        Ok(Some(payload))
    }

    /// Whether a value is the name or the media type of a file that is taken.
    fn is_derived(&self, name: &str, is_optional: bool) -> bool {
        let of = name.strip_suffix("_name").or_else(|| name.strip_suffix("_type"));
        is_optional && of.and_then(|of| self.form.field(of)).is_some_and(|field| field.is_of_bytes())
    }

    /// Where the visitor goes when all is done: by then it is too late for anything to go wrong.
    fn then(&self, response: &Response<Body>) -> String {
        let making = self.making;
        if let Some(back) = sign_in::back(making.asked).filter(|_| self.form.form.session) {
            return back.to_owned();
        }
        let Some(then) = &self.form.form.then else { return self.page_itself() };
        let returned = if self.form.row.is_empty() { None } else { response.body().bytes() };
        let returned = returned.and_then(|bytes| thalweg_json::from_slice(&bytes).ok()).unwrap_or_default();
        let then = then.fill(|value| {
            let is_of_row = value.source == Source::Address && self.form.row.contains(&value.name);
            if is_of_row { of_row(&returned, &value.name) } else { making.asked.value(value) }
        });
        if then.len() > LOCATION_BYTES_MAX { self.page_itself() } else { then }
    }

    /// The page that the form stands on, with its query but for the form's name.
    fn page_itself(&self) -> String {
        within_site(&thalweg_pages::address_without(self.making.address(), NAME))
    }

    /// What a template finds of a form that was sent, and is not done.
    fn state(&self, received: &Received, faults: &Faults, once: &Arc<Once>) -> minijinja::Value {
        let mut values = Values::default();
        let is_set = |name: &str| self.form.form.set.iter().any(|(known, _)| known == name);
        let is_array = |name: &str| self.form.field(name).is_some_and(|field| field.is_array);
        let mut arrays: BTreeMap<&str, Vec<minijinja::Value>> = BTreeMap::new();
        let mut room_bytes = GIVEN_BACK_BYTES_MAX;
        let is_shown = |field: &&Field| field.is_typed() && !is_set(field.name()) && field.name() != once::FIELD;
        // of several with one name the last counts, but that all are elements of an array
        for field in received.fields().iter().rev().filter(is_shown) {
            let Some(typed) = field.typed(room_bytes) else { continue };
            room_bytes = room_bytes.saturating_sub(typed.len());
            match is_array(field.name()) {
                true if typed.is_empty() => _ = arrays.entry(field.name()).or_default(),
                true => arrays.entry(field.name()).or_default().push(minijinja::Value::from(&*typed)),
                false => match self.form.field(field.name()) {
                    Some(known) => values.insert(field.name(), known.seen(&typed)),
                    None => values.insert(field.name(), &*typed),
                },
            }
        }
        for (name, mut elements) in arrays {
            elements.reverse();
            values.insert(name, elements);
        }
        let mut errors = Values::default();
        for (name, fault) in &faults.of_fields {
            errors.insert(name.as_str(), minijinja::Value::from_object(fault.clone()));
        }
        let other = faults.other.clone().map(minijinja::Value::from_object);
        state(self.name, values, errors, other, once)
    }
}

/// A value of the row that was returned, or of the first of several; or what a function returned instead of one.
fn of_row(returned: &thalweg_json::Value, name: &str) -> Option<Cow<'static, str>> {
    match returned {
        thalweg_json::Value::Array(rows) => of_row(rows.first()?, name),
        thalweg_json::Value::Object(row) => match row.get(name)? {
            thalweg_json::Value::Null => None,
            thalweg_json::Value::String(text) => Some(Cow::Owned(text.clone())),
            other => Some(Cow::Owned(other.to_string())),
        },
        thalweg_json::Value::Null => None,
        thalweg_json::Value::String(text) => Some(Cow::Owned(text.clone())),
        other @ (thalweg_json::Value::Bool(_) | thalweg_json::Value::Number(_)) => Some(Cow::Owned(other.to_string())),
    }
}

/// Makes of the API's response one that sends the visitor on, unless SQL has done so.
fn send_on(response: &mut Response<Body>, then: String) {
    const OF_THE_API: [HeaderName; 6] = [
        header::CONTENT_TYPE,
        header::CONTENT_RANGE,
        header::CONTENT_LOCATION,
        header::VARY,
        PREFERENCE_APPLIED,
        crate::http::CONTENT_PROFILE,
    ];
    *response.body_mut() = Body::whole(Bytes::new());
    let is_sent_on = response.status().is_redirection();
    let headers = response.headers_mut();
    OF_THE_API.iter().for_each(|name| _ = headers.remove(name));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !is_sent_on {
        respond::text(headers, header::LOCATION, then);
        *response.status_mut() = StatusCode::SEE_OTHER;
    }
}
