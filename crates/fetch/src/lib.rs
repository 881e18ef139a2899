//! Fetches files that others publish.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//!  ► below all of it: what a machine has not got yet, a PostgreSQL or a dictionary
//! ```
//!
#![doc = include_str!("../README.md")]

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::io::Read;
use std::time::Duration;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A server that has said nothing by then is given up.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// So is a file that has not arrived whole by then: 200 MiB at 60 KiB/s.
const FILE_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// A file as its publisher has it.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// What it is, for the person at the terminal.
    pub what: &'a str,
    /// Where it is.
    pub url: &'a str,
    /// In lower-case hexadecimal digits.
    pub sha256: &'a str,
    /// It is refused if it is larger.
    pub bytes_max: u64,
}

impl Published<'_> {
    /// The file's bytes. How far it has come is shown where somebody looks on.
    ///
    /// # Errors
    ///
    /// It cannot be had, is too large, or is another file by now.
    pub fn fetch(&self) -> Result<Vec<u8>, Error> {
        let failed = |cause: String| Error(format!("cannot fetch {} from {}: {cause}", self.what, self.url));
        let response = agent().get(self.url).call().map_err(|cause| failed(cause.to_string()))?;
        let length = response.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
        let bar = ProgressBar::new(length.unwrap_or(0)).with_message(format!("fetching {}", self.what));
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}") {
            bar.set_style(style);
        }
        let mut file = Vec::with_capacity(length.unwrap_or(0).min(self.bytes_max) as usize);
        let mut body = bar.wrap_read(response.into_body().into_reader().take(self.bytes_max + 1));
        body.read_to_end(&mut file).map_err(|cause| failed(cause.to_string()))?;
        bar.finish_and_clear();
        if file.len() as u64 > self.bytes_max {
            return Err(failed(format!("it is larger than {} bytes", self.bytes_max)));
        }
        let found = hex(&Sha256::digest(&file));
        if found != self.sha256 {
            return Err(failed(format!("its SHA-256 is {found}, not {}", self.sha256)));
        }
        Ok(file)
    }
}

/// Why a file was not fetched, in words for the person at the terminal.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Trusts what the machine trusts, which may be more than the usual authorities (a company's proxy); the checksum is in
/// this program in any case.
fn agent() -> ureq::Agent {
    let trusted: Vec<_> = rustls_native_certs::load_native_certs()
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate.as_ref()).to_owned())
        .collect();
    let roots = if trusted.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&trusted) };
    let tls = TlsConfig::builder().root_certs(roots).build();
    let config = ureq::Agent::config_builder()
        .tls_config(tls)
        .timeout_connect(Some(ANSWER_TIME_MAX))
        .timeout_recv_response(Some(ANSWER_TIME_MAX))
        .timeout_recv_body(Some(FILE_TIME_MAX));
    ureq::Agent::new_with_config(config.build())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    /// Answers one request with a file, and says that it is so long.
    fn served(file: &'static [u8], length: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let _ = client.read(&mut head).unwrap();
            write!(client, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").unwrap();
            client.write_all(file).unwrap();
        });
        format!("http://{address}/file")
    }

    /// Of `hello`.
    const SHA256: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    fn fetch(url: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        Published { what: "a word", url, sha256: SHA256, bytes_max }.fetch().map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_file_that_was_meant_is_given() {
        assert_eq!(fetch(&served(b"hello", 5), 5).unwrap(), b"hello");
        for (file, length, bytes_max, why) in [
            (&b"hallo"[..], 5, 9, "its SHA-256 is d3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9"),
            (b"hello", 5, 4, "it is larger than 4 bytes"),
            (b"hel", 5, 9, "cannot fetch a word from http://127.0.0.1"),
            (b"", 0, 9, "its SHA-256 is e3b0c442"),
        ] {
            let error = fetch(&served(file, length), bytes_max).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_place_where_nothing_is_says_so() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = fetch(&format!("http://{free}/file"), 5).unwrap_err();
        assert!(error.starts_with(&format!("cannot fetch a word from http://{free}/file: ")), "{error}");
    }
}
