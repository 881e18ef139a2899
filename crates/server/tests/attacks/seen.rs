//! What a client sees of a response, but for what tells time.

use thalweg_testkit::Response;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    content_type: Option<String>,
    range: Option<String>,
    location: Option<String>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn of(response: &Response) -> Self {
        Self::with(response, str::to_owned)
    }

    /// The same with every text as `text` has it.
    pub(crate) fn with(response: &Response, text: impl Fn(&str) -> String) -> Self {
        let header = |name| response.header(name).map(&text);
        Self {
            status: response.status,
            content_type: header("content-type"),
            range: header("content-range"),
            location: header("location"),
            body: text(&String::from_utf8_lossy(&response.body)),
        }
    }
}

/// The first place where two responses differ.
pub(crate) fn difference(seen: &Seen, expected: &Seen) -> String {
    let (a, b) = (format!("{seen:?}"), format!("{expected:?}"));
    let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(100);
    let excerpt =
        |text: &str| -> String { String::from_utf8_lossy(&text.as_bytes()[at..]).chars().take(300).collect() };
    format!("\n  {} …{}…\n  instead of\n  {} …{}…", seen.status, excerpt(&a), expected.status, excerpt(&b))
}
