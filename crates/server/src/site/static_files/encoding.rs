//! Which encodings of a response a client takes (RFC 9110 §12.5.3).

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    pub(super) const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// As it is called in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// What stands behind the name of a file that is compressed so.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }
}

/// How much a client wants each encoding, in thousandths, where it says so.
#[derive(Default)]
pub(super) struct Weights {
    brotli: Option<u16>,
    gzip: Option<u16>,
    identity: Option<u16>,
    others: Option<u16>,
}

impl Weights {
    /// What the headers of a request say.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        let mut weights = Self::default();
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        for item in lines.flat_map(|line| line.split(',')) {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            let of = match name.trim().to_ascii_lowercase().as_str() {
                "br" => &mut weights.brotli,
                "gzip" | "x-gzip" => &mut weights.gzip,
                "identity" => &mut weights.identity,
                "*" => &mut weights.others,
                _ => continue,
            };
            *of = Some(weight(parameters));
        }
        weights
    }

    /// How much it wants this one; 0 is not at all.
    pub(super) fn of(&self, coding: Coding) -> u16 {
        let named = match coding {
            Coding::Brotli => self.brotli,
            Coding::Gzip => self.gzip,
        };
        named.or(self.others).unwrap_or(0)
    }

    /// How much it wants a file as it is; 0 where it does not say so, since it takes that in any case.
    pub(super) fn identity(&self) -> u16 {
        self.identity.or(self.others).unwrap_or(0)
    }
}

/// A weight in thousandths. What is none wants nothing.
fn weight(parameters: &str) -> u16 {
    let mut parameters = parameters.split(';').map(str::trim);
    let Some(text) = parameters.find_map(|text| text.strip_prefix("q=").or_else(|| text.strip_prefix("Q="))) else {
        return 1000;
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_fraction = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, format!("{fraction:0<3}").parse()) {
        ("0", Ok(thousandths)) if is_fraction => thousandths,
        ("1", Ok(0)) if is_fraction => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn weights() {
        for (lines, brotli, gzip, identity) in [
            (&[][..], 0, 0, 0),
            (&[""], 0, 0, 0),
            (&["gzip"], 0, 1000, 0),
            (&["gzip, deflate, br, zstd"], 1000, 1000, 0),
            (&["GZIP;Q=0.5 , BR ; q=0.25"], 250, 500, 0),
            (&["x-gzip"], 0, 1000, 0),
            (&["gzip;q=0"], 0, 0, 0),
            (&["gzip;q=0.000, br;q=1.000"], 1000, 0, 0),
            (&["*"], 1000, 1000, 1000),
            (&["*;q=0.1, gzip;q=0"], 100, 0, 100),
            (&["gzip;q=0.5, identity;q=0.8"], 0, 500, 800),
            (&["gzip", "br;q=0.7"], 700, 1000, 0),
            (&["gzip;q=2", "br;q=1.001"], 0, 0, 0),
            (&["gzip;q=", "br;q=-1"], 0, 0, 0),
            (&["gzip;q=0.0001", "br;q=.5"], 0, 0, 0),
            (&["gzip;q=0.+1", "br;q=1.x"], 0, 0, 0),
            (&["gzipped, brr"], 0, 0, 0),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
            }
            let weights = Weights::of_headers(&headers);
            let all = (weights.of(Coding::Brotli), weights.of(Coding::Gzip), weights.identity());
            assert_eq!(all, (brotli, gzip, identity), "{lines:?}");
        }
    }
}
