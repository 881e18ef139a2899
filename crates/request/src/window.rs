//! Which rows of a level are asked for (url-grammar §7).

use crate::error::{ErrorKind, RequestError, WindowSource};
use crate::payload::Action;

/// The rows of the root level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// How many rows are passed over.
    pub offset_rows: u64,
    /// How many rows are returned at most.
    pub limit_rows: Option<u64>,
}

/// The rows of an embed, for each outer row. Negative numbers are the database's to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmbedWindow {
    /// How many rows are passed over.
    pub offset_rows: Option<i64>,
    /// How many rows are returned at most.
    pub limit_rows: Option<i64>,
}

/// Refuses a window of the root for a request whose rows it would not restrict (url-grammar §8): a
/// client that limits a DELETE must not lose the other rows.
pub(crate) fn check_unrestricted(action: Action, asked: EmbedWindow, range: Option<&str>) -> Result<(), RequestError> {
    match action {
        Action::Replace | Action::Update | Action::Delete => {}
        Action::Read | Action::Insert | Action::Call => return Ok(()),
    }
    if asked.limit_rows.is_some() || asked.offset_rows.is_some_and(|offset| offset != 0) {
        return Err(ErrorKind::WindowOfWrite { source: WindowSource::Parameters, action }.into());
    }
    // A PUT has one row, which its URL names.
    let restricts = |range: &str| parse_range(range).is_some_and(|range| range != (0, None));
    if action != Action::Replace && range.is_some_and(restricts) {
        return Err(ErrorKind::WindowOfWrite { source: WindowSource::Header, action }.into());
    }
    Ok(())
}

const LIMIT_NEGATIVE: &str = "Limit should be greater than or equal to zero.";
const BOUNDS_INVERTED: &str =
    "The lower boundary must be lower than or equal to the upper boundary in the Range header.";

impl Window {
    /// Intersects `limit` and `offset` with the `Range` header (which only GET has).
    pub fn intersect(asked: EmbedWindow, range: Option<&str>) -> Result<Self, RequestError> {
        let (header_first, header_last) = match range.and_then(parse_range) {
            Some((first, Some(last))) if last < first => return Err(ErrorKind::Range(BOUNDS_INVERTED).into()),
            Some((first, last)) => (first, last),
            None => (0, None),
        };
        let offset = asked.offset_rows.unwrap_or(0);
        if asked.limit_rows == Some(0) && offset <= 0 {
            return Ok(Self { offset_rows: 0, limit_rows: Some(0) });
        }
        let first = offset.max(0).max(header_first);
        let last = match asked.limit_rows {
            Some(limit) if limit < 0 => return Err(ErrorKind::Range(LIMIT_NEGATIVE).into()),
            Some(limit) => Some(offset.saturating_add(limit - 1)),
            None => None,
        };
        let last = match (last, header_last) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        match last {
            Some(last) if last < first => Err(ErrorKind::Range(LIMIT_NEGATIVE).into()),
            Some(last) => Ok(Self { offset_rows: first as u64, limit_rows: Some((last - first) as u64 + 1) }),
            None => Ok(Self { offset_rows: first as u64, limit_rows: None }),
        }
    }
}

/// `first-last` or `first-`; any other form is ignored.
fn parse_range(header: &str) -> Option<(i64, Option<i64>)> {
    let (first, last) = header.trim().split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = |text: &str| is_number(text).then(|| saturated(text));
    let first = number(first)?;
    match last {
        "" => Some((first, None)),
        last => Some((first, Some(number(last)?))),
    }
}

/// Reads an integer of any length: digits, and a sign in front of them or none. No table has more
/// rows than 64 bits can count, so that a larger number has the same meaning as the largest one.
pub(crate) fn saturated(text: &str) -> i64 {
    text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(offset: Option<i64>, limit: Option<i64>, range: Option<&str>) -> Result<(u64, Option<u64>), ()> {
        Window::intersect(EmbedWindow { offset_rows: offset, limit_rows: limit }, range)
            .map(|w| (w.offset_rows, w.limit_rows))
            .map_err(|_| ())
    }

    #[test]
    fn a_window_of_a_write_is_refused() {
        let is_refused = |action, offset_rows, limit_rows, range| {
            check_unrestricted(action, EmbedWindow { offset_rows, limit_rows }, range).is_err()
        };
        for action in [Action::Update, Action::Delete, Action::Replace] {
            for (offset, limit) in [(None, Some(1)), (None, Some(0)), (None, Some(-1)), (Some(1), None)] {
                assert!(is_refused(action, offset, limit, None), "{action:?} {offset:?} {limit:?}");
            }
            assert!(!is_refused(action, Some(0), None, None), "{action:?}");
            assert!(!is_refused(action, None, None, Some("0-")), "{action:?}");
            assert!(!is_refused(action, None, None, Some("bytes=0-9")), "{action:?}");
            for range in ["0-0", "1-", "4-2"] {
                assert_eq!(
                    is_refused(action, None, None, Some(range)),
                    action != Action::Replace,
                    "{action:?} {range}"
                );
            }
        }
        for action in [Action::Read, Action::Insert, Action::Call] {
            assert!(!is_refused(action, Some(1), Some(1), Some("0-0")), "{action:?}");
        }
    }

    #[test]
    fn the_window_is_an_intersection() {
        assert_eq!(window(None, None, None), Ok((0, None)));
        assert_eq!(window(Some(-4), Some(10), None), Ok((0, Some(6))));
        assert_eq!(window(Some(-4), None, None), Ok((0, None)));
        assert_eq!(window(None, Some(0), None), Ok((0, Some(0))));
        assert_eq!(window(Some(3), Some(0), None), Err(()));
        assert_eq!(window(None, Some(-1), None), Err(()));
        assert_eq!(window(Some(10), None, Some("0-4")), Err(()));
        assert_eq!(window(Some(2), Some(10), Some("0-4")), Ok((2, Some(3))));
        assert_eq!(window(None, None, Some("5-")), Ok((5, None)));
        assert_eq!(window(None, None, Some("0-0")), Ok((0, Some(1))));
        assert_eq!(window(None, None, Some("4-2")), Err(()));
        assert_eq!(window(None, None, Some("0-99999999999999999999")), Ok((0, Some(1 << 63))));
        assert_eq!(window(None, None, Some("99999999999999999999-")), Ok((i64::MAX as u64, None)));
        for ignored in ["bytes=0-9", "items=0-9", "-5", "x", "1-x", "", "-", "+1-2", "1-+2"] {
            assert_eq!(window(None, None, Some(ignored)), Ok((0, None)), "{ignored}");
        }
        assert_eq!(window(Some(i64::MAX), Some(i64::MAX), None), Ok((i64::MAX as u64, Some(1))));
    }
}
