//! What a signed token claims: its payload as JSON, and whether its times and its audience hold.

use crate::audience::Audience;
use crate::number::Number;
use crate::refusal::{ClaimError, ClaimErrorKind};
use crate::tree::Value;
use std::fmt;
use thalweg_json::write_string;

/// How far clocks may differ.
pub const SKEW_S: i64 = 30;

/// What a signed token claims.
///
/// Where a member comes twice, the last one counts.
#[derive(Clone)]
pub struct Claims {
    pub(crate) tree: Value,
    pub(crate) members: Members,
    pub(crate) registered: Registered,
}

/// The members of an object as they were written, but for `role`: `"a":1,"b":2`.
#[derive(Debug, Clone)]
pub(crate) struct Members(String);

/// The claims that are checked on every request.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    expiry: Time,
    not_before: Time,
    issued: Time,
    audience: Addressees,
}

/// `exp`, `nbf` or `iat`.
#[derive(Debug, Clone, Copy)]
enum Time {
    Absent,
    /// Seconds since 1970, rounded so that a comparison with whole seconds has the result that the
    /// fraction would have: `exp` down, `nbf` and `iat` up. A number beyond 64 bits is the nearest
    /// integer of 64 bits.
    At(i64),
    NotANumber,
}

/// `aud`.
#[derive(Debug, Clone)]
enum Addressees {
    /// Absent, `null` or no one in particular.
    Anyone,
    These(Box<[Box<str>]>),
    NotStrings,
}

/// No claims: `{}`.
impl Default for Claims {
    fn default() -> Self {
        let tree = Value::Object(Vec::new());
        let registered = Registered::of(&tree);
        Self { tree, members: Members(String::new()), registered }
    }
}

impl Claims {
    /// Reads a token's payload.
    ///
    /// # Errors
    ///
    /// [`ClaimErrorKind::Unreadable`] for what is no JSON object of at most 64 levels. A `\u0000` or half of a surrogate pair is
    /// no JSON here: no text of PostgreSQL's can hold them.
    pub fn parse(payload: &[u8]) -> Result<Self, ClaimError> {
        let unreadable = ClaimError::new(ClaimErrorKind::Unreadable);
        let tree = Value::parse(payload).map_err(|_| unreadable)?;
        let members = Members::of(&tree, payload).ok_or(unreadable)?;
        let registered = Registered::of(&tree);
        Ok(Self { tree, members, registered })
    }

    /// Whether the claims hold at `now_s`, whole seconds since 1970: `exp`, `nbf` and `iat` with [`SKEW_S`] to either side, and
    /// `aud` if an audience is asked for. They are looked at in this order, and the first that fails is the error.
    pub fn check(&self, now_s: i64, audience: Option<&Audience>) -> Result<(), ClaimError> {
        self.registered.check(now_s, audience)
    }

    /// The claims as JSON text, for `request.jwt.claims`: members as they were written and in their order, but for `role`,
    /// which comes last and is this one.
    pub fn as_role(&self, role: &str) -> String {
        self.members.with_role(role)
    }
}

/// Shows nothing of them: claims may be private.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

impl Members {
    fn of(tree: &Value, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut out = String::with_capacity(text.len());
        for member in tree.members()?.iter().filter(|member| member.name != "role") {
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(text.get(member.at.clone())?);
        }
        Some(Self(out))
    }

    pub(crate) fn with_role(&self, role: &str) -> String {
        let mut out = String::with_capacity(self.0.len() + role.len() + 16);
        out.push('{');
        out.push_str(&self.0);
        if !self.0.is_empty() {
            out.push(',');
        }
        out.push_str("\"role\":");
        let mut quoted = Vec::with_capacity(role.len() + 2);
        write_string(&mut quoted, role.as_bytes());
        out.push_str(&String::from_utf8_lossy(&quoted));
        out.push('}');
        out
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.0.len()
    }
}

impl Registered {
    /// `exp`, if it is there.
    pub(crate) fn expires_s(&self) -> Option<i64> {
        match self.expiry {
            Time::At(at) => Some(at),
            Time::Absent | Time::NotANumber => None,
        }
    }

    fn of(claims: &Value) -> Self {
        let time = |name: &str, rounded: fn(&Number) -> i64| match claims.present(name) {
            None => Time::Absent,
            Some(Value::Number(number)) => Time::At(rounded(number)),
            Some(Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                Time::NotANumber
            }
        };
        Self {
            expiry: time("exp", Number::floor),
            not_before: time("nbf", Number::ceiling),
            issued: time("iat", Number::ceiling),
            audience: Addressees::of(claims.present("aud")),
        }
    }

    pub(crate) fn check(&self, now_s: i64, audience: Option<&Audience>) -> Result<(), ClaimError> {
        let failed = |kind| Err(ClaimError::new(kind));
        let (oldest, newest) = (now_s.saturating_sub(SKEW_S), now_s.saturating_add(SKEW_S));
        match self.expiry {
            Time::NotANumber => return failed(ClaimErrorKind::ExpiryType),
            Time::At(time) if time < oldest => return failed(ClaimErrorKind::Expired),
            Time::At(_) | Time::Absent => {}
        }
        match self.not_before {
            Time::NotANumber => return failed(ClaimErrorKind::NotBeforeType),
            Time::At(time) if time > newest => return failed(ClaimErrorKind::NotYetValid),
            Time::At(_) | Time::Absent => {}
        }
        match self.issued {
            Time::NotANumber => return failed(ClaimErrorKind::IssuedType),
            Time::At(time) if time > newest => return failed(ClaimErrorKind::IssuedInFuture),
            Time::At(_) | Time::Absent => {}
        }
        match (&self.audience, audience) {
            (Addressees::NotStrings, _) => failed(ClaimErrorKind::AudienceType),
            (Addressees::These(these), Some(audience)) if !these.iter().any(|one| audience.is(one)) => {
                failed(ClaimErrorKind::NotInAudience)
            }
            (Addressees::These(_) | Addressees::Anyone, _) => Ok(()),
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match &self.audience {
            Addressees::Anyone | Addressees::NotStrings => 0,
            Addressees::These(these) => these.iter().map(|one| one.len() + size_of::<Box<str>>()).sum(),
        }
    }
}

impl Addressees {
    fn of(aud: Option<&Value>) -> Self {
        match aud {
            None => Self::Anyone,
            Some(Value::String(one)) => Self::These([one.as_str().into()].into()),
            Some(Value::Array(several)) if several.is_empty() => Self::Anyone,
            Some(Value::Array(several)) => {
                let strings: Option<Box<[Box<str>]>> = several.iter().map(|one| Some(one.string()?.into())).collect();
                strings.map_or(Self::NotStrings, Self::These)
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Self::NotStrings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;

    fn check(claims: &str, audience: Option<&str>) -> String {
        let audience = audience.map(|text| Audience::parse(text).unwrap());
        match Claims::parse(claims.as_bytes()).unwrap().check(NOW, audience.as_ref()) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn times_are_checked_with_their_skew() {
        for (name, late, early, wrong, fails_below) in [
            ("exp", NOW - 30, NOW - 31, "JWT expired", true),
            ("nbf", NOW + 30, NOW + 31, "JWT not yet valid", false),
            ("iat", NOW + 30, NOW + 31, "JWT issued at future", false),
        ] {
            assert_eq!(check(&format!("{{\"{name}\":{late}}}"), None), "ok");
            assert_eq!(check(&format!("{{\"{name}\":{early}}}"), None), wrong);
            assert_eq!(check(&format!("{{\"{name}\":null}}"), None), "ok");
            for future in ["1700003600.5", "99999999999999999999", "1.8e9", "1e999999999999"] {
                let expected = if fails_below { "ok" } else { wrong };
                assert_eq!(check(&format!("{{\"{name}\":{future}}}"), None), expected, "{name} {future}");
            }
            for past in ["1600000000.5", "-99999999999999999999", "-1e999999999999", "-1e-400", "0"] {
                let expected = if fails_below { wrong } else { "ok" };
                assert_eq!(check(&format!("{{\"{name}\":{past}}}"), None), expected, "{name} {past}");
            }
            for text in ["\"1\"", "true", "[]", "{}"] {
                let expected = format!("The JWT '{name}' claim must be a number");
                assert_eq!(check(&format!("{{\"{name}\":{text}}}"), None), expected);
            }
        }
        // The skew is exact for fractions too: NOW - 30 and NOW + 30 are the bounds.
        assert_eq!(check(r#"{"exp":1699999970.000000000000000001}"#, None), "ok");
        assert_eq!(check(r#"{"exp":1699999969.999999999999999999}"#, None), "JWT expired");
        assert_eq!(check(r#"{"nbf":1700000029.999999999999999999}"#, None), "ok");
        assert_eq!(check(r#"{"nbf":1700000030.000000000000000001}"#, None), "JWT not yet valid");
        assert_eq!(check(r#"{"iat":1700000030.000000000000000001}"#, None), "JWT issued at future");
        assert_eq!(check(r#"{"exp":9223372036854775807,"iat":-9223372036854775808}"#, None), "ok");
    }

    #[test]
    fn the_first_claim_that_fails_is_the_error() {
        assert_eq!(check(r#"{"aud":1,"iat":"x","nbf":"x","exp":1}"#, None), "JWT expired");
        assert_eq!(check(r#"{"aud":1,"iat":"x","nbf":"x"}"#, None), "The JWT 'nbf' claim must be a number");
        assert_eq!(check(r#"{"aud":1,"iat":"x"}"#, None), "The JWT 'iat' claim must be a number");
        let wrong_type = "The JWT 'aud' claim must be a string or an array of strings";
        assert_eq!(check(r#"{"aud":1}"#, None), wrong_type);
    }

    #[test]
    fn times_at_the_ends_of_64_bits_do_not_overflow() {
        let claims = Claims::parse(br#"{"exp":5,"nbf":5,"iat":5}"#).unwrap();
        assert_eq!(claims.check(i64::MIN, None).unwrap_err().kind(), ClaimErrorKind::NotYetValid);
        assert_eq!(claims.check(i64::MAX, None).unwrap_err().kind(), ClaimErrorKind::Expired);
    }

    #[test]
    fn the_audience_is_one_of_those_named() {
        let wrong_type = "The JWT 'aud' claim must be a string or an array of strings";
        for (aud, unset, set) in [
            ("\"A\"", "ok", "ok"),
            ("[\"x\",\"A\"]", "ok", "ok"),
            ("\"a\"", "ok", "JWT not in audience"),
            ("\"\"", "ok", "JWT not in audience"),
            ("[\"x\"]", "ok", "JWT not in audience"),
            ("[]", "ok", "ok"),
            ("null", "ok", "ok"),
            ("1", wrong_type, wrong_type),
            ("{}", wrong_type, wrong_type),
            ("true", wrong_type, wrong_type),
            ("[\"A\",1]", wrong_type, wrong_type),
            ("[\"A\",null]", wrong_type, wrong_type),
        ] {
            assert_eq!(check(&format!("{{\"aud\":{aud}}}"), None), unset, "{aud}");
            assert_eq!(check(&format!("{{\"aud\":{aud}}}"), Some("A")), set, "{aud}");
        }
        assert_eq!(check("{}", Some("A")), "ok");
    }

    #[test]
    fn the_role_takes_the_place_of_the_claim() {
        let as_role = |claims: &str| Claims::parse(claims.as_bytes()).unwrap().as_role("pi\"lot\n");
        assert_eq!(as_role("{}"), r#"{"role":"pi\"lot\n"}"#);
        assert_eq!(as_role(r#" {"role":"x"} "#), r#"{"role":"pi\"lot\n"}"#);
        assert_eq!(
            as_role(
                r#"{"big":123456789012345678901234567890 , "role" : {"x":1}, "f":1.0e9,"\u0072ole":2,"z":{"role":1}}"#
            ),
            r#"{"big":123456789012345678901234567890,"f":1.0e9,"z":{"role":1},"role":"pi\"lot\n"}"#
        );
        assert_eq!(as_role(r#"{"a":1,"b":2,"a":3}"#), r#"{"b":2,"a":3,"role":"pi\"lot\n"}"#);
    }

    #[test]
    fn a_payload_that_is_no_object_is_unreadable() {
        for payload in [
            &b"[]"[..],
            b"1",
            b"null",
            b"\"x\"",
            b"",
            b"{",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\\u0000\"}",
            b"{\"a\":\"\0\"}",
        ] {
            let error = Claims::parse(payload).unwrap_err();
            assert_eq!(error.to_string(), "Parsing claims failed", "{payload:?}");
        }
    }
}
