//! `application/x-www-form-urlencoded`.

/// The pairs of a form in their order: `+` is a space, `%XX` a byte; a key without `=` has the empty string.
pub fn pairs(body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let pair = |text: &[u8]| {
        let (key, value) = match text.iter().position(|&byte| byte == b'=') {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, &[][..]),
        };
        (String::from_utf8_lossy(&decoded(key)).into_owned(), decoded(value))
    };
    body.split(|&byte| byte == b'&').filter(|text| !text.is_empty()).map(pair).collect()
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = text.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let found = pairs(b"a=1+2&b&c=%C3%A9%2B&a=x%&=y&");
        let found: Vec<(&str, &[u8])> = found.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
        let expected: [(&str, &[u8]); 5] =
            [("a", b"1 2"), ("b", b""), ("c", "é+".as_bytes()), ("a", b"x%"), ("", b"y")];
        assert_eq!(found, expected);
    }
}
