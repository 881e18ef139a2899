//! The record of the story written and read by straight-line code: what a machine can do with it. x86-64 alone.

use crate::types::made::{Client, Log, Request, Response};
use std::arch::x86_64::*;

/// Where a byte is that must be escaped, or the end.
#[inline(always)]
fn special(text: &[u8]) -> usize {
    let mut at = 0;
    while at + 16 <= text.len() {
        // SAFETY: sixteen bytes are there, and SSE2 is part of x86-64.
        let mask = unsafe {
            let block = _mm_loadu_si128(text.as_ptr().add(at).cast());
            let quote = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
            let slash = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8));
            let control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control))
        };
        if mask != 0 {
            return at + mask.trailing_zeros() as usize;
        }
        at += 16;
    }
    at + text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(text.len() - at)
}

/// Where text goes.
pub trait To {
    fn constant(&mut self, text: &str);
    fn string(&mut self, text: &str);
    fn number(&mut self, value: u64);
}

/// A vector that grows by each piece; strings are looked at.
pub struct Growing(pub Vec<u8>);

impl To for Growing {
    #[inline(always)]
    fn constant(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    #[inline(always)]
    fn string(&mut self, text: &str) {
        self.0.reserve(text.len() + 2);
        self.0.push(b'"');
        assert!(special(text.as_bytes()) == text.len(), "the record has nothing to escape");
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b'"');
    }

    #[inline(always)]
    fn number(&mut self, value: u64) {
        self.constant(itoa::Buffer::new().format(value));
    }
}

/// Memory that is known to be enough; strings are looked at, or not.
pub struct Raw<const LOOKS: bool>(pub *mut u8);

impl<const LOOKS: bool> To for Raw<LOOKS> {
    #[inline(always)]
    fn constant(&mut self, text: &str) {
        // SAFETY: as the caller of `write` says.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0, text.len());
            self.0 = self.0.add(text.len());
        }
    }

    #[inline(always)]
    fn string(&mut self, text: &str) {
        self.constant("\"");
        if LOOKS {
            assert!(special(text.as_bytes()) == text.len(), "the record has nothing to escape");
        }
        self.constant(text);
        self.constant("\"");
    }

    #[inline(always)]
    fn number(&mut self, value: u64) {
        self.constant(itoa::Buffer::new().format(value));
    }
}

/// Writes the record.
#[inline(always)]
pub fn write(log: &Log, to: &mut impl To) {
    let Log { date, size, request, response, client, agent, referrer, session, micros } = log;
    to.constant("{\"date\":");
    to.string(date);
    to.constant(",\"size\":");
    to.number(*size);
    to.constant(",\"request\":{\"method\":");
    to.string(&request.method);
    to.constant(",\"path\":");
    to.string(&request.path);
    to.constant(",\"query\":");
    to.string(&request.query);
    to.constant(",\"protocol\":");
    to.string(&request.protocol);
    to.constant(",\"host\":");
    to.string(&request.host);
    to.constant("},\"response\":{\"status\":");
    to.number(response.status.into());
    to.constant(",\"bytes\":");
    to.number(response.bytes);
    to.constant(",\"content_type\":");
    to.string(&response.content_type);
    to.constant(",\"is_cached\":");
    to.constant(if response.is_cached { "true" } else { "false" });
    to.constant("},\"client\":{\"address\":");
    to.string(&client.address);
    to.constant(",\"port\":");
    to.number(client.port.into());
    to.constant(",\"country\":");
    to.string(&client.country);
    to.constant(",\"user\":");
    match &client.user {
        Some(user) => to.string(user),
        None => to.constant("null"),
    }
    to.constant("},\"agent\":");
    to.string(agent);
    to.constant(",\"referrer\":");
    to.string(referrer);
    to.constant(",\"session\":");
    to.string(session);
    to.constant(",\"micros\":");
    to.number(*micros);
    to.constant("}");
}

/// Reads the record: its keys in order, nothing escaped, no white space. None if it is otherwise.
pub fn read(text: &[u8]) -> Option<Log> {
    // UTF-8 is looked at once, as others do it
    let mut from = From(std::str::from_utf8(text).ok()?);
    let log = Log {
        date: from.string("{\"date\":")?,
        size: from.number(",\"size\":")?,
        request: Request {
            method: from.string(",\"request\":{\"method\":")?,
            path: from.string(",\"path\":")?,
            query: from.string(",\"query\":")?,
            protocol: from.string(",\"protocol\":")?,
            host: from.string(",\"host\":")?,
        },
        response: Response {
            status: from.number("},\"response\":{\"status\":")?.try_into().ok()?,
            bytes: from.number(",\"bytes\":")?,
            content_type: from.string(",\"content_type\":")?,
            is_cached: from.truth(",\"is_cached\":")?,
        },
        client: Client {
            address: from.string("},\"client\":{\"address\":")?,
            port: from.number(",\"port\":")?.try_into().ok()?,
            country: from.string(",\"country\":")?,
            user: from.optional(",\"user\":")?,
        },
        agent: from.string("},\"agent\":")?,
        referrer: from.string(",\"referrer\":")?,
        session: from.string(",\"session\":")?,
        micros: from.number(",\"micros\":")?,
    };
    (from.0 == "}").then_some(log)
}

struct From<'a>(&'a str);

impl From<'_> {
    #[inline(always)]
    fn string(&mut self, before: &str) -> Option<String> {
        let rest = self.0.strip_prefix(before)?.strip_prefix('"')?;
        let end = special(rest.as_bytes());
        let value = rest.get(..end)?.to_owned();
        self.0 = rest.get(end..)?.strip_prefix('"')?;
        Some(value)
    }

    #[inline(always)]
    fn optional(&mut self, before: &str) -> Option<Option<String>> {
        match self.0.strip_prefix(before)?.strip_prefix("null") {
            Some(rest) => {
                self.0 = rest;
                Some(None)
            }
            None => self.string(before).map(Some),
        }
    }

    #[inline(always)]
    fn number(&mut self, before: &str) -> Option<u64> {
        let rest = self.0.strip_prefix(before)?;
        let (mut value, mut length) = (0_u64, 0);
        while let Some(digit @ b'0'..=b'9') = rest.as_bytes().get(length) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            length += 1;
        }
        self.0 = &rest[length..];
        (length > 0 && length < 19).then_some(value)
    }

    #[inline(always)]
    fn truth(&mut self, before: &str) -> Option<bool> {
        let rest = self.0.strip_prefix(before)?;
        let (value, rest) = match rest.strip_prefix("true") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("false")?),
        };
        self.0 = rest;
        Some(value)
    }
}
