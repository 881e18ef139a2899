//! Where a chunked body ends (RFC 9112 §7.1). Nothing is decoded here: hyper does that, and takes a little more than this
//! does, so that a body that passes here has the same end there.

/// How many bytes all chunk extensions of a body may have. hyper allows twice as many.
const EXTENSION_BYTES_MAX: usize = 8 * 1024;
/// How many bytes all trailers of a body may have. hyper allows twice as many.
const TRAILER_BYTES_MAX: usize = 8 * 1024;
/// How many digits a chunk's size may have. Sixteen would be the first that can overflow when something is added.
const SIZE_DIGITS_MAX: u8 = 15;

/// A chunked body that is being followed to its end.
#[derive(Debug)]
pub(crate) struct Chunked {
    place: Place,
    /// What of the chunk is still to come; while its size is read, the size so far.
    left: u64,
    digits: u8,
    extension_bytes: usize,
    trailer_bytes: usize,
}

/// What some bytes of a chunked body say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// They are right, and more must come.
    On,
    /// The body ends before the byte at this place.
    Ended(usize),
    /// The byte at this place cannot stand where it does.
    Malformed(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// Where a trailer, or the empty line that ends the body, begins.
    Line,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { place: Place::Size, left: 0, digits: 0, extension_bytes: 0, trailer_bytes: 0 }
    }

    /// Follows the body through its next bytes.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> Followed {
        let mut at = 0;
        while at < bytes.len() {
            if self.place == Place::Data {
                let here = (bytes.len() - at) as u64;
                let passed = here.min(self.left);
                self.left -= passed;
                at += passed as usize;
                if self.left == 0 {
                    self.place = Place::DataCr;
                }
                continue;
            }
            match self.step(bytes[at]) {
                None => return Followed::Malformed(at),
                Some(_) if self.place == Place::LastLf && bytes[at] == b'\n' => return Followed::Ended(at + 1),
                Some(next) => self.place = next,
            }
            at += 1;
        }
        Followed::On
    }

    /// Where a byte of the framing leads; nowhere if it is wrong.
    fn step(&mut self, byte: u8) -> Option<Place> {
        match (self.place, byte) {
            (Place::Size, b'\r') if self.digits > 0 => Some(Place::SizeLf),
            (Place::Size, b';') if self.digits > 0 => Some(Place::Extension),
            (Place::Size, _) => self.digit(byte),
            (Place::Extension, b'\r') => Some(Place::SizeLf),
            (Place::Extension, b'\t' | b' '..=b'~') => {
                self.extension_bytes += 1;
                (self.extension_bytes <= EXTENSION_BYTES_MAX).then_some(Place::Extension)
            }
            (Place::SizeLf, b'\n') => {
                self.digits = 0;
                Some(if self.left == 0 { Place::Line } else { Place::Data })
            }
            (Place::DataCr, b'\r') => Some(Place::DataLf),
            (Place::DataLf, b'\n') => Some(Place::Size),
            (Place::Line, b'\r') => Some(Place::LastLf),
            (Place::Line, _) => is_token(byte).then_some(Place::TrailerName).filter(|_| self.trailer_has_room()),
            (Place::TrailerName, b':') => Some(Place::TrailerValue),
            (Place::TrailerName, _) => is_token(byte).then_some(Place::TrailerName).filter(|_| self.trailer_has_room()),
            (Place::TrailerValue, b'\r') => Some(Place::TrailerLf),
            (Place::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => {
                self.trailer_has_room().then_some(Place::TrailerValue)
            }
            (Place::TrailerLf, b'\n') => Some(Place::Line),
            (Place::LastLf, b'\n') => Some(Place::LastLf),
            (
                Place::Extension
                | Place::SizeLf
                | Place::Data
                | Place::DataCr
                | Place::DataLf
                | Place::TrailerValue
                | Place::TrailerLf
                | Place::LastLf,
                _,
            ) => None,
        }
    }

    fn digit(&mut self, byte: u8) -> Option<Place> {
        let digit = char::from(byte).to_digit(16)?;
        self.digits += 1;
        self.left = self.left * 16 + u64::from(digit);
        (self.digits <= SIZE_DIGITS_MAX).then_some(Place::Size)
    }

    fn trailer_has_room(&mut self) -> bool {
        self.trailer_bytes += 1;
        self.trailer_bytes <= TRAILER_BYTES_MAX
    }
}

/// Whether a byte may stand in a field's name (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the bytes come to, whole and cut at every place.
    fn followed(bytes: &[u8]) -> Followed {
        let whole = Chunked::new().follow(bytes);
        for cut in 0..bytes.len() {
            let mut chunked = Chunked::new();
            let again = match chunked.follow(&bytes[..cut]) {
                Followed::On => match chunked.follow(&bytes[cut..]) {
                    Followed::On => Followed::On,
                    Followed::Ended(at) => Followed::Ended(cut + at),
                    Followed::Malformed(at) => Followed::Malformed(cut + at),
                },
                early => early,
            };
            assert_eq!(again, whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn bodies_end_behind_their_trailers() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "00A;name=\"v\"\r\n\r\n0\r\n\r\n123\r\n000\r\n\r\n",
            "1\r\nx\r\n0\r\nDigest: x y\r\nEmpty:\r\n\r\n",
        ] {
            assert_eq!(followed(format!("{body}GET /").as_bytes()), Followed::Ended(body.len()), "{body:?}");
            assert_eq!(followed(&body.as_bytes()[..body.len() - 1]), Followed::On, "{body:?}");
        }
    }

    #[test]
    fn what_is_ambiguous_is_malformed() {
        for (body, at) in [
            ("\r\n", 0),
            (" 5\r\n", 0),
            ("+5\r\n", 0),
            ("0x5\r\n", 1),
            ("5 \r\n", 1),
            ("5\n", 1),
            ("5\r\r\n", 2),
            ("5;a\nb\r\n", 3),
            ("5;a\rb\r\n", 4),
            ("5;\0\r\n", 2),
            ("2\r\nabc\r\n", 5),
            ("2\r\nab\n", 5),
            ("2\r\nab\rx", 6),
            ("0\r\n x: y\r\n\r\n", 3),
            ("0\r\nx : y\r\n\r\n", 4),
            ("0\r\nx: y\r\n z\r\n\r\n", 9),
            ("0\r\nx: y\n\r\n", 7),
            ("0\r\nx: \0\r\n", 6),
            ("0\r\nno colon\r\n", 5),
            ("0\r\n\r0", 4),
            ("0000000000000000\r\n", 15),
            ("fffffffffffffffff\r\n", 15),
        ] {
            assert_eq!(followed(body.as_bytes()), Followed::Malformed(at), "{body:?}");
        }
        let long = format!("5;{}\r\n", "x".repeat(EXTENSION_BYTES_MAX + 1));
        assert_eq!(Chunked::new().follow(long.as_bytes()), Followed::Malformed(2 + EXTENSION_BYTES_MAX));
        let long = format!("0\r\nx:{}\r\n", "x".repeat(TRAILER_BYTES_MAX));
        assert_eq!(Chunked::new().follow(long.as_bytes()), Followed::Malformed(4 + TRAILER_BYTES_MAX));
    }
}
