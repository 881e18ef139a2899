//! What HTTP says of who asks: the `Authorization` header, and `WWW-Authenticate` (RFC 6750).

/// The token of an `Authorization` header: what stands behind the scheme `Bearer`, in any case, and white space. It may be
/// empty, which [`Keys::verify`](crate::Keys::verify) refuses. `None` for every other scheme, which does not count.
pub fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let end = authorization.iter().position(u8::is_ascii_whitespace).unwrap_or(authorization.len());
    let (scheme, rest) = authorization.split_at(end);
    scheme.eq_ignore_ascii_case(b"bearer").then(|| rest.trim_ascii_start())
}

/// The value of `WWW-Authenticate`: with the message of a [`Refusal`](crate::Refusal) if a token was refused, and `Bearer` alone if
/// one is missing.
pub fn www_authenticate(refused: Option<&str>) -> String {
    let Some(message) = refused else { return "Bearer".to_owned() };
    let mut out = String::from("Bearer error=\"invalid_token\", error_description=\"");
    for c in message.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // what no header may hold
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_scheme_bearer_counts() {
        for (header, token) in [
            ("Bearer a.b.c", Some("a.b.c")),
            ("bEARER \t a.b.c", Some("a.b.c")),
            ("Bearer", Some("")),
            ("Bearer ", Some("")),
            ("Bearer\ta b", Some("a b")),
            ("Basic abc", None),
            ("Bearera.b.c", None),
            ("", None),
            (" Bearer a", None),
        ] {
            assert_eq!(bearer(header.as_bytes()), token.map(str::as_bytes), "{header:?}");
        }
    }

    #[test]
    fn the_description_is_quoted() {
        assert_eq!(www_authenticate(None), "Bearer");
        assert_eq!(
            www_authenticate(Some("JWT expired")),
            r#"Bearer error="invalid_token", error_description="JWT expired""#
        );
        assert_eq!(
            www_authenticate(Some("a \"b\" \\ c\r\nd")),
            r#"Bearer error="invalid_token", error_description="a \"b\" \\ c  d""#
        );
    }
}
