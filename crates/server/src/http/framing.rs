//! Where a request ends: the one place that decides it.
//!
//! hyper decides it too, and must never come to another end, or what one of them takes for a body runs as a request.
//! That it cannot is due to two properties:
//!
//! * **hyper sees only what has been judged here.** A head is handed on when it is whole, has been read by `httparse` (the
//!   parser that hyper has, in the same version), and says in exactly one way how long its body is. Where it does not, hyper
//!   gets neither it nor anything behind it.
//! * **What is taken here is a part of what hyper takes, with the same meaning.** Either there is no framing header, and no
//!   body; or one `Content-Length` of digits only; or one `Transfer-Encoding` that is `chunked` and nothing else, over HTTP/1.1.
//!   Chunks are followed to the end of their trailers, by a grammar smaller than hyper's. Lines end in CR LF only. If hyper
//!   refuses what is taken here (it bounds a few things differently), it answers 400 and never reads from the connection again.
//!
//! A head must also name its site in exactly one way (`target.rs`), and its target must be one that
//! hyper accepts. So hyper never refuses a head by itself, and each refusal is answered, counted
//! and logged here (`refused.rs`).
//!
//! So both reach the end of each request at the same byte, or the connection ends before it. `CONNECT` is refused, since the
//! bytes behind it would belong to nobody; hyper never learns of an `Upgrade` (`mend.rs`).

use crate::http::HEAD_BYTES_MAX;
use crate::http::chunked::{Chunked, Followed};
use crate::http::refused::REFUSED;
use crate::http::{mend, target};
use memchr::memchr_iter;
use std::mem::MaybeUninit;

/// How many headers a request may have.
pub(crate) const HEADERS_MAX: usize = 500;
/// How many empty lines may stand before a head. Clients of old send one behind a body.
const EMPTY_LINES_MAX: usize = 4;
/// How many digits a `Content-Length` may have, in which it cannot overflow.
const LENGTH_DIGITS_MAX: usize = 18;

/// Where in a stream of requests a connection stands.
#[derive(Debug)]
pub(crate) struct Framing {
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// In a head of which so many bytes have been searched for its end, and so many been parsed.
    Head {
        searched: usize,
        parsed: usize,
    },
    /// In a body of which so many bytes are still to come.
    Sized(u64),
    Chunked(Chunked),
}

/// What bytes turn out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// They may all be handed on.
    Good,
    /// Those up to this place may; there a head begins whose end is still to come.
    HeadBegins(usize),
    /// Those up to this place may; the head that lies between it and the next must be mended.
    Mend(usize, usize),
    /// Those up to this place may, and nothing behind them.
    Refused(usize, Refusal),
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A head that is wrong, or says in more than one way where its request ends.
    Head,
    /// A head without `Host` over HTTP/1.1, with several, or with one that is invalid.
    Host,
    /// A head whose target is neither a path nor an `http` address.
    Target,
    /// A head that is longer than one may be, or has more headers.
    HeadTooLarge,
    /// A head that did not arrive in time.
    HeadTooSlow,
    /// A chunked body that is wrong.
    Body,
}

impl Refusal {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Head, "head"),
        (Self::Host, "host"),
        (Self::Target, "target"),
        (Self::HeadTooLarge, "large"),
        (Self::HeadTooSlow, "slow"),
        (Self::Body, "body"),
    ];

    /// Returns the word for the refusal in the request that replaces the refused one.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(known, _)| *known == self).map_or("head", |(_, name)| name)
    }

    /// Returns the refusal with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(refusal, _)| *refusal)
    }
}

impl Framing {
    pub(crate) fn new() -> Self {
        Self { place: Place::HEAD }
    }

    /// Whether the next byte begins a request.
    pub(crate) fn is_between_requests(&self) -> bool {
        matches!(self.place, Place::Head { searched: 0, .. })
    }

    /// Judges the next bytes. Those that were told to belong to a head without an end are to be given again, with more.
    pub(crate) fn judge(&mut self, bytes: &[u8]) -> Judgement {
        let mut at = 0;
        while at < bytes.len() {
            match &mut self.place {
                Place::Sized(left) => {
                    let passed = (*left).min((bytes.len() - at) as u64);
                    *left -= passed;
                    at += passed as usize;
                    if *left == 0 {
                        self.place = Place::HEAD;
                    }
                }
                Place::Chunked(chunked) => match chunked.follow(&bytes[at..]) {
                    Followed::On => return Judgement::Good,
                    Followed::Ended(end) => {
                        at += end;
                        self.place = Place::HEAD;
                    }
                    Followed::Malformed(wrong) => return Judgement::Refused(at + wrong, Refusal::Body),
                },
                Place::Head { searched, parsed } => match head(&bytes[at..], searched, parsed) {
                    Ok(None) => return Judgement::HeadBegins(at),
                    Ok(Some(Head { end, body, needs_mending })) => {
                        self.place = body;
                        if needs_mending {
                            return Judgement::Mend(at, at + end);
                        }
                        at += end;
                    }
                    Err(refusal) => return Judgement::Refused(at, refusal),
                },
            }
        }
        Judgement::Good
    }
}

impl Place {
    const HEAD: Self = Self::Head { searched: 0, parsed: 0 };
}

/// A whole head: where it ends, and what follows.
struct Head {
    end: usize,
    body: Place,
    needs_mending: bool,
}

/// Looks for the end of a head, and reads it.
fn head(bytes: &[u8], searched: &mut usize, parsed: &mut usize) -> Result<Option<Head>, Refusal> {
    let lines = bytes.chunks_exact(2).take(EMPTY_LINES_MAX + 1).take_while(|line| line == b"\r\n").count();
    if lines > EMPTY_LINES_MAX {
        return Err(Refusal::Head);
    }
    let start = 2 * lines;
    let from = start.max(*searched).min(bytes.len());
    *searched = bytes.len();
    for newline in memchr_iter(b'\n', &bytes[from..]).map(|at| from + at) {
        let line = &bytes[..newline];
        if line.last() != Some(&b'\r') {
            return Err(Refusal::Head);
        }
        if newline - start >= 3 && line.ends_with(b"\r\n\r") {
            let end = newline + 1;
            return if end > HEAD_BYTES_MAX { Err(Refusal::HeadTooLarge) } else { read(&bytes[..end]).map(Some) };
        }
    }
    if bytes.len() >= HEAD_BYTES_MAX {
        return Err(Refusal::HeadTooLarge);
    }
    // What can be no head is refused without waiting for its end. It is not read again for every byte that comes.
    if bytes.len() >= 2 * *parsed {
        *parsed = bytes.len();
        parse(bytes, |_| ())?;
    }
    Ok(None)
}

/// Reads a whole head.
fn read(bytes: &[u8]) -> Result<Head, Refusal> {
    let read = |request: &httparse::Request<'_, '_>| {
        let body = body(request)?;
        target::check(request)?;
        Ok(Head { end: bytes.len(), body, needs_mending: mend::is_needed(request) })
    };
    match parse(bytes, read)? {
        Some((end, read)) if end == bytes.len() => read,
        // the parser sees its end elsewhere
        _ => Err(Refusal::Head),
    }
}

/// Parses a head; if it is whole, its length and what is made of it.
pub(crate) fn parse<T>(
    bytes: &[u8],
    make: impl FnOnce(&httparse::Request<'_, '_>) -> T,
) -> Result<Option<(usize, T)>, Refusal> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete(end)) => Ok(Some((end, make(&request)))),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Refusal::HeadTooLarge),
        Err(_) => Err(Refusal::Head),
    }
}

/// What follows a head (RFC 9112 §6.3), where it says so in one way.
fn body(request: &httparse::Request<'_, '_>) -> Result<Place, Refusal> {
    let mut body = None;
    for header in &*request.headers {
        let framed = if header.name.eq_ignore_ascii_case("content-length") {
            Place::Sized(length(header.value).ok_or(Refusal::Head)?)
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !header.value.eq_ignore_ascii_case(b"chunked") || request.version != Some(1) {
                return Err(Refusal::Head);
            }
            Place::Chunked(Chunked::new())
        } else if header.name.eq_ignore_ascii_case(mend::PACKED) || header.name.eq_ignore_ascii_case(REFUSED) {
            return Err(Refusal::Head);
        } else {
            continue;
        };
        if body.replace(framed).is_some() {
            return Err(Refusal::Head);
        }
    }
    if request.method == Some("CONNECT") {
        return Err(Refusal::Head);
    }
    Ok(match body {
        None | Some(Place::Sized(0)) => Place::HEAD,
        Some(body) => body,
    })
}

fn length(digits: &[u8]) -> Option<u64> {
    let is_length = (1..=LENGTH_DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let add = |length: u64, digit: &u8| length * 10 + u64::from(digit - b'0');
    is_length.then(|| digits.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(bytes: &str) -> Judgement {
        Framing::new().judge(bytes.as_bytes())
    }

    #[test]
    fn requests_behind_each_other_are_good() {
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let sized = "POST /t HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /";
        let chunked = "POST /t HTTP/1.1\r\nhost:x\r\ntransfer-encoding:Chunked \r\n\r\n5\r\nGET /\r\n0\r\n\r\n";
        let old = "POST /t HTTP/1.0\r\nContent-Length: 5\r\n\r\nGET /";
        let stream = [get, sized, chunked, "\r\n", old, get, sized, get].concat();
        assert_eq!(judged(&stream), Judgement::Good);
        // at whatever place it is cut, nothing is handed on but whole heads and bodies
        for cut in 0..stream.len() {
            let mut framing = Framing::new();
            let first = match framing.judge(&stream.as_bytes()[..cut]) {
                Judgement::Good => cut,
                Judgement::HeadBegins(at) => at,
                other => panic!("{other:?}"),
            };
            assert_eq!(framing.judge(&stream.as_bytes()[first..]), Judgement::Good, "cut at {cut}");
            assert!(framing.is_between_requests());
        }
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        let post = "POST /t HTTP/1.1\r\nHost: x\r\n";
        for headers in [
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: chunked;q=1\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding: \u{b}chunked\r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding\t: chunked\r\n",
            " Transfer-Encoding: chunked\r\n",
            "X: y\r\n Transfer-Encoding: chunked\r\n",
            "X: y\r\n\tz\r\n",
            "X: y\rZ: z\r\n",
            "X: y\nZ: z\r\n",
            "X: \0\r\n",
            "X\0: y\r\n",
            ": y\r\n",
            "no colon\r\n",
            "Content-Length:\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: -5\r\n",
            "Content-Length: 5,5\r\n",
            "Content-Length: 0x5\r\n",
            "Content-Length: 5 5\r\n",
            "Content-Length: 1e1\r\n",
            "Content-Length: 9999999999999999999\r\n",
            "Content-Length : 5\r\n",
            "Thalweg-Packed-Headers: x:y\t|\r\n",
            "Thalweg-Refused: head GET /\r\n",
        ] {
            let stream = format!("{post}{headers}\r\n");
            assert_eq!(judged(&stream), Judgement::Refused(0, Refusal::Head), "{headers:?}");
        }
        for stream in [
            "\0",
            "\x16\x03\x01\x02\0\x01",
            "GET / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: x\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\n\n",
            "GET / HTTP/1.1\r\nHost: x\n\r\n",
            "\nGET / HTTP/1.1\r\n\r\n",
            "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "GET /\r\n\r\n",
        ] {
            assert_eq!(judged(stream), Judgement::Refused(0, Refusal::Head), "{stream:?}");
        }
    }

    #[test]
    fn a_request_names_its_site_in_exactly_one_way() {
        let judged_line = |line: &str, hosts: &str| judged(&format!("{line}\r\n{hosts}\r\n"));
        for hosts in [
            "",
            "Host: x\r\nHost: x\r\n",
            "Host: x\r\nX: y\r\nhOST: y\r\n",
            "Host:\r\n",
            "Host: x y\r\n",
            "Host: x, y\r\n",
            "Host: ann@x\r\n",
            "Host: x:y\r\n",
            "Host: x:65536\r\n",
            "Host: http://x\r\n",
            "Host: x/\r\n",
            "Host: [::1\r\n",
            "Host: \u{e9}\r\n",
        ] {
            assert_eq!(judged_line("GET / HTTP/1.1", hosts), Judgement::Refused(0, Refusal::Host), "{hosts:?}");
            let of_old = judged_line("GET / HTTP/1.0", hosts);
            let expected = if hosts.is_empty() { Judgement::Good } else { Judgement::Refused(0, Refusal::Host) };
            assert_eq!(of_old, expected, "{hosts:?}");
        }
        for host in ["x", "x:80", "[::1]:3000", "127.0.0.1", "x:"] {
            assert_eq!(judged_line("GET / HTTP/1.1", &format!("Host: {host}\r\n")), Judgement::Good, "{host}");
        }
        for target in
            ["t", "x:80", "*", "http:/x", "ftp://x/", "http://", "http:///t", "http://a@x/", "x://x/", "http://x y/"]
        {
            let refused = judged_line(&format!("GET {target} HTTP/1.1"), "Host: x\r\n");
            assert!(matches!(refused, Judgement::Refused(0, Refusal::Target | Refusal::Head)), "{target}: {refused:?}");
        }
        assert_eq!(judged_line("OPTIONS * HTTP/1.1", "Host: x\r\n"), Judgement::Good);
        assert!(matches!(judged_line("GET http://y:80/t HTTP/1.1", "Host: x\r\n"), Judgement::Mend(0, _)));
    }

    #[test]
    fn heads_are_bounded() {
        let head = |bytes: usize| format!("GET / HTTP/1.1\r\nHost:x\r\nX: {}\r\n\r\n", "x".repeat(bytes - 31));
        assert_eq!(judged(&head(HEAD_BYTES_MAX)), Judgement::Good);
        assert_eq!(judged(&head(HEAD_BYTES_MAX + 1)), Judgement::Refused(0, Refusal::HeadTooLarge));
        assert_eq!(judged(&head(HEAD_BYTES_MAX + 9)[..HEAD_BYTES_MAX]), Judgement::Refused(0, Refusal::HeadTooLarge));
        assert_eq!(judged(&head(HEAD_BYTES_MAX)[..HEAD_BYTES_MAX - 1]), Judgement::HeadBegins(0));
        let many = |count| format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "a:\r\n".repeat(count - 1));
        assert!(!matches!(judged(&many(HEADERS_MAX)), Judgement::Refused(..)));
        assert_eq!(judged(&many(HEADERS_MAX + 1)), Judgement::Refused(0, Refusal::HeadTooLarge));
    }
}
