//! Which bytes of a file are asked for, and whether the client has them already (RFC 9110 §§13, 14).

use std::ops::Range;

/// What `Range` asks of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of it. Several ranges are answered so too, and what is no range of bytes.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that there are not.
    Beyond,
}

/// What a client says of the file that it may have, and which part it asks for; each is a header as it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// `If-Match`
    pub if_match: Option<&'a str>,
    /// `If-None-Match`
    pub if_none_match: Option<&'a str>,
    /// `If-Range`
    pub if_range: Option<&'a str>,
    /// `Range`
    pub range: Option<&'a str>,
}

/// What the conditions of a request come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The file is another than the client thinks.
    PreconditionFailed,
    /// The client has it already.
    NotModified,
    /// It is sent, or a part of it.
    Send(Selection),
}

impl Conditions<'_> {
    /// What they come to for a file with this entity tag, of this size in bytes, in the order of RFC 9110 §13.2.2.
    pub fn verdict(&self, tag: &str, size_bytes: u64) -> Verdict {
        if self.if_match.is_some_and(|list| !is_named(list, tag, false)) {
            return Verdict::PreconditionFailed;
        }
        if self.if_none_match.is_some_and(|list| is_named(list, tag, true)) {
            return Verdict::NotModified;
        }
        // a range of something else is of no use
        let is_same = self.if_range.is_none_or(|known| known.trim() == tag);
        Verdict::Send(range(self.range.filter(|_| is_same), size_bytes))
    }
}

/// What a `Range` header asks of a file of this size, in bytes.
fn range(header: Option<&str>, size_bytes: u64) -> Selection {
    let Some(set) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else { return Selection::Whole };
    let Some((first, last)) = set.trim().split_once('-') else { return Selection::Whole };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // more digits than a number holds are beyond any end
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (first.trim(), last.trim()) {
        ("", last) => match number(last) {
            Some(0) => Selection::Beyond,
            Some(_) if size_bytes == 0 => Selection::Beyond,
            Some(count) => Selection::Part(size_bytes.saturating_sub(count)..size_bytes),
            None => Selection::Whole,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if last < first => Selection::Whole,
            (Some(first), _) if first >= size_bytes && (last.is_empty() || number(last).is_some()) => Selection::Beyond,
            (Some(first), Some(last)) => Selection::Part(first..last.saturating_add(1).min(size_bytes)),
            (Some(first), None) if last.is_empty() => Selection::Part(first..size_bytes),
            _ => Selection::Whole,
        },
    }
}

/// Whether a list of entity tags names this one. With `weakly`, a tag that was made weak on the way is the same.
pub fn is_named(list: &str, tag: &str, weakly: bool) -> bool {
    list.split(',').map(str::trim).any(|item| {
        let item = if weakly { item.strip_prefix("W/").unwrap_or(item) } else { item };
        item == tag || item == "*"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (header, size, asked) in [
            ("bytes=0-9", 100, Selection::Part(0..10)),
            ("bytes=90-200", 100, Selection::Part(90..100)),
            ("bytes=90-", 100, Selection::Part(90..100)),
            ("bytes=-10", 100, Selection::Part(90..100)),
            ("bytes=-200", 100, Selection::Part(0..100)),
            ("bytes=100-", 100, Selection::Beyond),
            ("bytes=99999999999999999999-", 100, Selection::Beyond),
            ("bytes=-0", 100, Selection::Beyond),
            ("bytes=-1", 0, Selection::Beyond),
            ("bytes=0-", 0, Selection::Beyond),
            ("bytes=9-0", 100, Selection::Whole),
            ("bytes=0-1,5-6", 100, Selection::Whole),
            ("bytes=a-b", 100, Selection::Whole),
            ("bytes=5", 100, Selection::Whole),
            ("0-9", 100, Selection::Whole),
            ("items=0-9", 100, Selection::Whole),
        ] {
            assert_eq!(range(Some(header), size), asked, "{header} of {size}");
        }
        assert_eq!(range(None, 5), Selection::Whole);
    }

    #[test]
    fn conditions_are_asked_in_their_order() {
        let all = Conditions {
            if_match: Some("\"a\""),
            if_none_match: Some("\"b\""),
            if_range: Some("\"a\""),
            range: Some("bytes=0-1"),
        };
        assert_eq!(all.verdict("\"a\"", 9), Verdict::Send(Selection::Part(0..2)));
        assert_eq!(all.verdict("\"b\"", 9), Verdict::PreconditionFailed);
        let all = Conditions { if_match: None, ..all };
        assert_eq!(all.verdict("\"b\"", 9), Verdict::NotModified);
        assert_eq!(all.verdict("\"c\"", 9), Verdict::Send(Selection::Whole));
        assert_eq!(Conditions::default().verdict("\"a\"", 9), Verdict::Send(Selection::Whole));
        // a tag that is weak names no bytes
        let weak = Conditions { if_range: Some("W/\"a\""), ..all };
        assert_eq!(weak.verdict("\"a\"", 9), Verdict::Send(Selection::Whole));
    }

    #[test]
    fn tags() {
        assert!(is_named("\"a\", W/\"b\"", "\"a\"", false));
        assert!(is_named("\"a\", W/\"b\"", "\"b\"", true));
        assert!(!is_named("\"a\", W/\"b\"", "\"b\"", false));
        assert!(is_named("*", "\"b\"", false));
        assert!(!is_named("", "\"b\"", true));
    }
}
