//! A form that was sent by a visitor whose session has ended: what was typed is kept in a page that
//! sends it again, after the visitor has signed in.

use super::{GIVEN_BACK_BYTES_MAX, once, within_site};
use crate::answer::Body;
use crate::config::InForce;
use crate::error::ApiError;
use crate::flow::Answered;
use crate::http;
use crate::site::{self, Asked, sign_in};
use crate::upload::{Field, RequestBody};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::borrow::Cow;
use thalweg_json::{Value, json};
use thalweg_pages::{Location, Site};

/// A form to be kept.
pub(in crate::flow) struct Keeping<'a> {
    in_force: &'a InForce,
    pages: &'a Site,
    parts: &'a Parts,
    sign_in: &'a Location,
    error: Option<&'a ApiError>,
}

/// Keeps a form whose visitor must sign in first. The error, if there is one, says that the session
/// has ended.
pub(in crate::flow) fn keep<'a>(
    (in_force, pages): (&'a InForce, &'a Site),
    parts: &'a Parts,
    (sign_in, error): (&'a Location, Option<&'a ApiError>),
) -> Keeping<'a> {
    Keeping { in_force, pages, parts, sign_in, error }
}

impl Keeping<'_> {
    /// The page that sends the form again, or a redirect to where the visitor signs in if nothing
    /// was entered.
    pub(in crate::flow) async fn of(self, body: &mut RequestBody) -> Answered {
        body.receive_form(&self.parts.headers, |_, _| None, std::iter::empty(), &[]).await?;
        let fields = body.split().0.fields();
        let is_entered = |field: &Field| field.is_typed() && !field.is_blank() && field.name() != once::FIELD;
        if !fields.iter().any(|field| is_entered(field) || field.is_file()) {
            let mut response = sign_in::send(self.sign_in, self.parts);
            if let Some(error) = self.error {
                error.mark(response.headers_mut());
            }
            return Ok((response, None));
        }
        let page = self.page(fields)?;
        let mut response = Response::new(Body::whole(page.into()));
        let is_of_htmx = self.parts.headers.get("hx-request").is_some_and(|value| value == "true");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if is_of_htmx {
            // The page replaces the one that is open, and not a part of it.
            headers.insert(HeaderName::from_static("hx-retarget"), HeaderValue::from_static("body"));
            headers.insert(HeaderName::from_static("hx-reswap"), HeaderValue::from_static("innerHTML"));
        }
        if let Some(error) = self.error {
            error.mark(headers);
        }
        // htmx shows no page of an error.
        *response.status_mut() = if is_of_htmx { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        Ok((response, None))
    }

    fn page(&self, fields: &[Field]) -> Result<Vec<u8>, ApiError> {
        let asked = Asked::of((&self.parts.uri, &self.parts.headers), &[], "{}")?;
        let locale = asked.locale(self.pages, self.in_force);
        let says = |id: &str, arguments: &[(&str, minijinja::Value)]| {
            self.pages.messages().own(&locale, id, arguments).unwrap_or_default()
        };
        let mut room_bytes = GIVEN_BACK_BYTES_MAX;
        let (mut typed, mut files) = (Vec::new(), Vec::new());
        let mut is_too_much = false;
        for field in fields {
            // Names are written into the page as values are.
            let Some(room_left_bytes) = room_bytes.checked_sub(field.name().len()) else {
                is_too_much = true;
                continue;
            };
            room_bytes = room_left_bytes;
            if field.is_file() {
                let label = says("form-choose-again", &[("name", field.name().into())]);
                files.push(json!({"name": field.name(), "label": label}));
                continue;
            }
            match field.typed(room_bytes).filter(|_| field.is_typed()) {
                Some(text) => {
                    room_bytes -= text.len();
                    typed.push(json!({"name": field.name(), "value": &*text}));
                }
                None => is_too_much |= field.is_typed(),
            }
        }
        let address = &*within_site(http::address(&self.parts.uri));
        Ok(site::signed_out_page(json!({
            "locale": locale,
            "title": says("form-session-ended", &[]),
            "text": says(if is_too_much { "form-too-much" } else { "form-not-saved-yet" }, &[]),
            "address": address,
            "sign_in": self.sign_in.fill(|_| Some(Cow::Borrowed(address)).filter(|back| sign_in::is_of_site(back))),
            "sign_in_text": says("form-sign-in", &[]),
            "send": says("form-send-again", &[]),
            "is_too_much": is_too_much,
            "typed": Value::Array(typed),
            "files": Value::Array(files),
        })))
    }
}
