//! Parsing of one media type (RFC 9110 section 8.3.1), and the list of types that a browser may
//! show.
//!
//! Browsers split a `Content-Type` at commas and obey its last element. They differ on which quotes
//! protect a comma: Chromium honours single quotes, RFC 9110 does not. The grammar here therefore
//! accepts no comma at all, not even within a quoted string.

/// Longest media type with its parameters, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 255;

/// Media types that a browser shows without running any code of the file. A name that ends in `/`
/// stands for all of its subtypes.
const SHOWN: [&str; 12] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "text/plain",
    "application/pdf",
    "application/json",
    "text/csv",
    "audio/",
    "video/",
];

/// A text that is one media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaType<'a> {
    text: &'a str,
    essence: &'a str,
}

impl MediaType<'static> {
    /// The media type of arbitrary bytes.
    pub const OCTETS: Self = Self { text: "application/octet-stream", essence: "application/octet-stream" };
}

impl<'a> MediaType<'a> {
    /// Parses `type/subtype` with parameters. Returns `None` for a list of types, for a comma in a
    /// quoted string, for all else that RFC 9110 does not allow, and for a text longer than
    /// [`MEDIA_TYPE_BYTES_MAX`].
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MEDIA_TYPE_BYTES_MAX {
            return None;
        }
        let (kind, rest) = token(text)?;
        let (subtype, mut rest) = token(rest.strip_prefix('/')?)?;
        let essence = &text[..kind.len() + 1 + subtype.len()];
        while !rest.is_empty() {
            rest = rest.trim_start_matches([' ', '\t']).strip_prefix(';')?.trim_start_matches([' ', '\t']);
            // RFC 9110 allows a semicolon with no parameter after it.
            if !rest.is_empty() && !rest.starts_with(';') {
                rest = parameter(rest)?;
            }
        }
        Some(Self { text, essence })
    }

    /// Returns the whole text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Returns `type/subtype` as it is written.
    pub fn essence(self) -> &'a str {
        self.essence
    }

    /// Returns whether a browser may show a file of this type on the site's origin. A file of any
    /// other type could run scripts there, and is only saved.
    pub fn is_shown(self) -> bool {
        let essence = self.essence.to_ascii_lowercase();
        // Browsers parse every type that ends in `+xml` as an XML document, which may contain
        // scripts.
        let is_xml = essence.ends_with("+xml");
        !is_xml && SHOWN.iter().any(|shown| essence == *shown || shown.ends_with('/') && essence.starts_with(shown))
    }

    /// Returns whether this is a PDF document.
    pub fn is_pdf(self) -> bool {
        self.essence.eq_ignore_ascii_case("application/pdf")
    }

    /// Returns whether the type matches a range such as `image/*`, or the name of a type.
    pub fn is_of(self, accepted: &str) -> bool {
        match accepted.strip_suffix("/*") {
            Some(kind) => self.essence.split('/').next().is_some_and(|known| known.eq_ignore_ascii_case(kind)),
            None => self.essence.eq_ignore_ascii_case(accepted),
        }
    }
}

/// Splits a text into the token that it begins with and the rest.
fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Returns the rest of a text after the parameter that it begins with.
fn parameter(text: &str) -> Option<&str> {
    let (_, rest) = token(text)?;
    let value = rest.strip_prefix('=')?;
    let Some(quoted) = value.strip_prefix('"') else { return token(value).map(|(_, rest)| rest) };
    let mut is_escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Some(&quoted[at + 1..]),
            b',' => return None,
            b'\t' | b' '..=b'~' => is_escaped = byte == b'\\' && !is_escaped,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_media_type_with_parameters_is_accepted() {
        for (text, essence) in [
            ("image/png", "image/png"),
            ("Text/HTML; charset=utf-8", "Text/HTML"),
            ("text/plain;charset=utf-8", "text/plain"),
            ("text/plain \t; charset=\"utf-8\" ; q='x'", "text/plain"),
            ("application/vnd.x+json;a=\"b; c\\\"d\"", "application/vnd.x+json"),
            ("a/b;", "a/b"),
            ("a/b; ; c=d", "a/b"),
        ] {
            assert_eq!(MediaType::parse(text).map(MediaType::essence), Some(essence), "{text}");
        }
        let longest = format!("a/{}", "b".repeat(MEDIA_TYPE_BYTES_MAX - 2));
        assert!(MediaType::parse(&longest).is_some());
        assert_eq!(MediaType::parse(&format!("{longest}b")), None);
    }

    #[test]
    fn lists_and_texts_that_a_browser_may_read_as_lists_are_refused() {
        for text in [
            "image/png; q=\"a\", text/html",
            "image/png, text/html",
            "image/png,text/html",
            "image/png; q=\"a, text/html\"",
            "image/png; q=';b=\"', text/html;'\"",
            "image/png; q=\"a\\\", text/html",
            "image/png; q=a, text/html; b=\"",
            "image/png; q=\"a",
            "image/png; q=a\"b\"",
            "image/png; q",
            "image/png; q=",
            "image/png; =a",
            "image/png q=a",
            "image/png; q = a",
            " image/png",
            "image/png ",
            "image/png\r\nX: y",
            "image/png; q=\"\r\n\"",
            "image/png; q=\"\0\"",
            "image/png; q=é",
            "image/png; q=\"é\"",
            "image",
            "image/",
            "/png",
            "image/png/x",
            "no type",
            "",
        ] {
            assert_eq!(MediaType::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_types_that_run_no_code_are_shown() {
        let is_shown = |text: &str| MediaType::parse(text).expect("it is a media type").is_shown();
        for text in ["image/png", "IMAGE/PNG; a=b", "text/plain", "application/pdf", "video/mp4", "audio/ogg"] {
            assert!(is_shown(text), "{text}");
        }
        for text in [
            "text/html",
            "application/xhtml+xml",
            "image/svg+xml",
            "text/xml",
            "application/xml",
            "application/rss+xml",
            "video/x+xml",
            "AUDIO/X+XML",
            "text/xsl",
            "text/javascript",
            "text/css",
            "multipart/x-mixed-replace",
            "multipart/related",
            "message/rfc822",
            "application/octet-stream",
            "application/x-unknown-content-type",
            "unknown/unknown",
            "*/*",
            "image/x-icon",
        ] {
            assert!(!is_shown(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_accepted_text_has_a_comma_or_a_control_character(text in "[a-c]/[a-c](; ?[a-c]=(\"[a-c,;'\"\\\\ \r\n]{0,9}\"?|[a-c',]{0,3})){0,3}") {
            if let Some(media_type) = MediaType::parse(&text) {
                prop_assert!(!media_type.text().contains(|c: char| c == ',' || c.is_control() && c != '\t'));
            }
        }
    }
}
