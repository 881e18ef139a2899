//! The name of a file that a path asks for.

/// The name that a path stands for, if it can be one. It is decoded once, part by part, so that no part brings a `/` with it.
pub(super) fn decode(path: &str) -> Option<String> {
    let mut name = String::with_capacity(path.len());
    for (at, part) in path.split('/').enumerate() {
        let part = decode_part(part).filter(|part| is_part(part))?;
        name.push_str(if at == 0 { "" } else { "/" });
        name.push_str(&part);
    }
    Some(name)
}

/// Whether a text can be the name of a file or a folder that a URL names.
pub(super) fn is_part(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(|c: char| c.is_control() || matches!(c, '/' | '\\'))
}

fn decode_part(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        decoded.push(match byte {
            b'%' => (digit()? * 16 + digit()?) as u8,
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        for (path, name) in [
            ("style.css", "style.css"),
            ("a%20b/%C3%A4.svg", "a b/ä.svg"),
            ("%73tyle.css", "style.css"),
            ("a+b", "a+b"),
            ("%252e%252e", "%2e%2e"),
            ("...", "..."),
            ("a..b", "a..b"),
        ] {
            assert_eq!(decode(path).as_deref(), Some(name), "{path}");
        }
    }

    #[test]
    fn what_could_leave_the_folder_is_no_name() {
        for path in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/./b",
            "%2e%2e/b",
            ".%2E",
            "a%2fb",
            "..%2fetc",
            "a%5cb",
            "a\\b",
            "a%00",
            "%00",
            "a%0a",
            "%7f",
            "a%",
            "a%2",
            "a%zz",
            "%+1",
            "%ff",
            "%c0%ae%c0%ae",
            "%ed%a0%80",
        ] {
            assert_eq!(decode(path), None, "{path}");
        }
    }
}
