//! What a browser is to do with a file (RFC 6266).

use std::fmt::Write;

/// Media types that a browser shows without running anything of them.
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

/// A `Content-Disposition`. What could run scripts under the server's name is only ever saved.
pub fn disposition(content_type: &str, file_name: Option<&str>) -> String {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let shown = SHOWN.iter().any(|known| essence == *known || known.ends_with('/') && essence.starts_with(known));
    let mut text = String::from(if shown { "inline" } else { "attachment" });
    // only the last step of a path is a name
    let name = file_name.and_then(|name| name.rsplit(['/', '\\']).next()).filter(|name| !name.is_empty());
    if let Some(name) = name {
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

    #[test]
    fn names_and_what_becomes_of_files() {
        assert_eq!(disposition("image/png", Some("a b.png")), "inline; filename=\"a b.png\"");
        assert_eq!(disposition("text/html; charset=utf-8", None), "attachment");
        assert_eq!(disposition("image/svg+xml", Some("../x.svg")), "attachment; filename=\"x.svg\"");
        assert_eq!(
            disposition("Video/MP4", Some("é\"\r\n.mp4")),
            "inline; filename=\"____.mp4\"; filename*=UTF-8''%C3%A9%22%0D%0A.mp4"
        );
    }
}
