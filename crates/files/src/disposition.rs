//! What a browser is to do with a file (RFC 6266).

use crate::MediaType;
use std::fmt::Write;

/// Longest file name in a response, in characters. Of a longer name only the end is sent, which has
/// the extension.
pub const TOLD_NAME_CHARS_MAX: usize = 200;

/// Returns the `Content-Disposition` of a file. The browser shows the file, or saves it if its type
/// could run scripts on the site's origin.
pub fn disposition(media_type: MediaType<'_>, file_name: Option<&str>) -> String {
    let mut text = String::from(if media_type.is_shown() { "inline" } else { "attachment" });
    // Only the last segment of a path is a file name.
    let name = file_name.and_then(|name| name.rsplit(['/', '\\']).next()).filter(|name| !name.is_empty());
    if let Some(name) = name {
        let cut = name.char_indices().rev().nth(TOLD_NAME_CHARS_MAX - 1).map_or(0, |(at, _)| at);
        let name = &name[cut..];
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '%') || c == ' ' { c } else { '_' })
            .collect();
        let _ = write!(text, "; filename=\"{plain}\"");
        if plain != name {
            text.push_str("; filename*=UTF-8''");
            for byte in name.bytes() {
                match byte {
                    b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
                    _ => _ = write!(text, "%{byte:02X}"),
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(media_type: &str, name: Option<&str>) -> String {
        disposition(MediaType::parse(media_type).expect("it is a media type"), name)
    }

    #[test]
    fn the_disposition_follows_from_the_type_and_the_name() {
        assert_eq!(of("image/png", Some("a b.png")), "inline; filename=\"a b.png\"");
        assert_eq!(of("text/html; charset=utf-8", None), "attachment");
        assert_eq!(of("image/svg+xml", Some("../x.svg")), "attachment; filename=\"x.svg\"");
        assert_eq!(
            of("Video/MP4", Some("é\"\r\n.mp4")),
            "inline; filename=\"____.mp4\"; filename*=UTF-8''%C3%A9%22%0D%0A.mp4"
        );
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        let longest = format!("{}.png", "a".repeat(TOLD_NAME_CHARS_MAX - 4));
        assert_eq!(of("image/png", Some(&longest)), format!("inline; filename=\"{longest}\""));
        assert_eq!(of("image/png", Some(&format!("b{longest}"))), format!("inline; filename=\"{longest}\""));
        let wide = of("image/png", Some(&"é".repeat(100_000)));
        assert!(wide.ends_with("%A9") && wide.len() < 10 * TOLD_NAME_CHARS_MAX, "{} bytes", wide.len());
    }
}
