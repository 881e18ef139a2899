//! Device cookies: a browser proves that it has signed in to an account before (OWASP, "Slow down
//! online guessing attacks with device cookies").
//!
//! The cookie has an entry for each of the accounts that signed in last: a random number, and a
//! signature over the number and over the credentials that were proven. An entry signs nobody in. It
//! only gives the browser attempts of its own at this account.
//!
//! The signature covers the id of the pilot and the hash of the password, and not the address. A
//! pilot can change the address to one that another pilot had or registers, and a new password ends
//! all devices of the account.

use super::accounts::Credentials;
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue};
use serde::Serialize;
use thalweg_server::{Api, ApiFailure, Config};

/// Number of accounts for which a browser has an entry.
const DEVICE_ACCOUNTS_MAX: usize = 4;
/// Longest entry that is sent back. Entries that the program makes have 76 bytes.
const ENTRY_BYTES_MAX: usize = 128;
/// Lifetime of the cookie in a browser.
const DEVICE_S: u64 = 365 * 24 * 3600;

/// The device cookie of a site.
pub(super) struct Devices {
    name: String,
    /// Attribute that restricts the cookie to TLS, or nothing.
    guard: &'static str,
}

/// Claims that are signed. They expired in 1970, so that no server accepts the signature as that of
/// a token.
#[derive(Serialize)]
struct Claims<'a> {
    exp: u64,
    device: &'a str,
    pilot_id: i32,
    /// Hash of the password. Only the signature leaves the server.
    hash: &'a str,
}

impl Devices {
    /// Derives the name of the cookie from that of the session cookie.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            name: format!("{}-device", config.session_cookie.as_deref().unwrap_or_default()),
            guard: if config.session_cookie_secure { "; Secure" } else { "" },
        }
    }

    /// Returns the random number of the browser if it has proven these credentials before.
    pub(super) fn find(
        &self,
        api: &Api,
        headers: &HeaderMap,
        credentials: &Credentials,
    ) -> Result<Option<String>, ApiFailure> {
        for entry in self.entries(headers) {
            if is_of(api, entry, credentials)? {
                return Ok(entry.split_once('.').map(|(device, _)| device.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns whether a browser has sent an entry, which may be forged.
    pub(super) fn are_sent(&self, headers: &HeaderMap) -> bool {
        self.entries(headers).next().is_some()
    }

    /// Returns the cookie for a browser that has proven these credentials. The entry of the
    /// credentials that were valid before, which may be the same, is replaced.
    pub(super) fn cookie(
        &self,
        api: &Api,
        headers: &HeaderMap,
        before: &Credentials,
        proven: &Credentials,
    ) -> Result<HeaderValue, ApiFailure> {
        let device = match self.find(api, headers, before)? {
            Some(device) => device,
            None => format!("{:032x}", rand::random::<u128>()),
        };
        let mut entries = vec![format!("{device}.{}", signature(api, &device, proven)?)];
        for entry in self.entries(headers) {
            if entries.len() < DEVICE_ACCOUNTS_MAX && !is_of(api, entry, before)? {
                entries.push(entry.to_owned());
            }
        }
        let (name, guard) = (&self.name, self.guard);
        let cookie = format!("{name}={}; Path=/; Max-Age={DEVICE_S}; HttpOnly; SameSite=Lax{guard}", entries.join(":"));
        Ok(HeaderValue::try_from(cookie).unwrap_or(HeaderValue::from_static("")))
    }

    /// Returns the entries that a browser has sent and that are well-formed.
    fn entries<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';')).map(str::trim);
        let value = cookies.find_map(|cookie| cookie.strip_prefix(self.name.as_str())?.strip_prefix('='));
        let is_entry = |entry: &&str| {
            entry.len() <= ENTRY_BYTES_MAX
                && entry.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        value.into_iter().flat_map(|value| value.split(':').take(DEVICE_ACCOUNTS_MAX)).filter(is_entry)
    }
}

fn is_of(api: &Api, entry: &str, credentials: &Credentials) -> Result<bool, ApiFailure> {
    let Some((device, sent)) = entry.split_once('.') else { return Ok(false) };
    let right = signature(api, device, credentials)?;
    // All bytes are compared, so that the time does not depend on how many are right.
    let unequal = right.bytes().zip(sent.bytes()).fold(0, |unequal, (right, sent)| unequal | (right ^ sent));
    Ok(right.len() == sent.len() && unequal == 0)
}

fn signature(api: &Api, device: &str, credentials: &Credentials) -> Result<String, ApiFailure> {
    let Credentials { pilot_id, hash } = credentials;
    let token = api.sign(&Claims { exp: 0, device, pilot_id: *pilot_id, hash })?;
    Ok(token.rsplit('.').next().unwrap_or_default().to_owned())
}
