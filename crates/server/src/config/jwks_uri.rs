//! Where an issuer publishes the keys of its tokens.

use hyper::Uri;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An absolute `http` or `https` URI with a host, without user and fragment. It is shown without its query, which may hold what
/// is nobody else's.
#[derive(Clone, PartialEq, Eq)]
pub struct JwksUri {
    text: String,
    uri: Uri,
}

/// A text that is no such URI. As text, what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JwksUriError(());

impl JwksUri {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// A name, or an address without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    pub(crate) fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.is_encrypted() { 443 } else { 80 })
    }

    /// Host and port as they were written.
    pub(crate) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        self.uri.path_and_query().map_or("/", |target| target.as_str())
    }

    /// Whether somebody between could put keys of their own in the place of the issuer's.
    pub(crate) fn is_forgeable(&self) -> bool {
        let is_here = self.host() == "localhost" || self.host().parse().is_ok_and(|host: IpAddr| host.is_loopback());
        !self.is_encrypted() && !is_here
    }
}

impl FromStr for JwksUri {
    type Err = JwksUriError;

    fn from_str(text: &str) -> Result<Self, JwksUriError> {
        let uri: Uri = text.parse().map_err(|_| JwksUriError(()))?;
        let of_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let has_port = match (authority.rsplit_once(':'), uri.port_u16()) {
            (_, Some(0)) => false,
            (_, Some(_)) | (None, None) => true,
            // of an address; a port that is none is not read as the scheme's
            (Some((_, behind)), None) => behind.ends_with(']'),
        };
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if !of_http || !has_host || !has_port || authority.contains('@') || text.contains('#') {
            return Err(JwksUriError(()));
        }
        Ok(Self { text: text.to_owned(), uri })
    }
}

impl fmt::Display for JwksUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        write!(f, "{scheme}://{}{}", self.authority(), self.uri.path())
    }
}

impl fmt::Debug for JwksUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JwksUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URI of http or https is needed, such as https://issuer.example/.well-known/jwks.json")
    }
}

impl std::error::Error for JwksUriError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_parts() {
        let parts = |text: &str| {
            let uri: JwksUri = text.parse().expect(text);
            (uri.host().to_owned(), uri.port(), uri.target().to_owned(), uri.is_forgeable())
        };
        let expected =
            |host: &str, port, target: &str, forgeable| (host.to_owned(), port, target.to_owned(), forgeable);
        assert_eq!(parts("https://a.example"), expected("a.example", 443, "/", false));
        assert_eq!(parts("HTTPS://a.example:8443/x?p=1"), expected("a.example", 8443, "/x?p=1", false));
        assert_eq!(parts("http://a.example/x"), expected("a.example", 80, "/x", true));
        assert_eq!(parts("http://127.0.0.1:1/x"), expected("127.0.0.1", 1, "/x", false));
        assert_eq!(parts("http://[::1]/x"), expected("::1", 80, "/x", false));
        assert_eq!(parts("http://localhost.evil.example/"), expected("localhost.evil.example", 80, "/", true));
        assert_eq!("https://a/b?key=hidden".parse::<JwksUri>().unwrap().to_string(), "https://a/b");
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            "x",
            "/.well-known/jwks.json",
            "issuer.example/jwks.json",
            "issuer.example:443",
            "ftp://a/b",
            "file:///etc/passwd",
            "https://",
            "https:///x",
            "https://user@a/b",
            "https://user:password@a/b",
            "https://a/b#c",
            "https://a b/",
            "https://a:0/",
            "https://a:99999/",
            "https://a:x/",
            "https://a:/",
            " https://a/",
            "https://ü.example/",
        ] {
            assert_eq!(text.parse::<JwksUri>(), Err(JwksUriError(())), "{text}");
        }
    }
}
