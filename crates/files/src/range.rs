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

/// What a `Range` header asks of a file of this size, in bytes.
pub fn range(header: Option<&str>, size_bytes: u64) -> Selection {
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
    fn tags() {
        assert!(is_named("\"a\", W/\"b\"", "\"a\"", false));
        assert!(is_named("\"a\", W/\"b\"", "\"b\"", true));
        assert!(!is_named("\"a\", W/\"b\"", "\"b\"", false));
        assert!(is_named("*", "\"b\"", false));
        assert!(!is_named("", "\"b\"", true));
    }
}
