//! The byte order mark that some programs write in front of a text (RFC 8259, section 8.1, lets a
//! reader ignore it).

use bytes::Bytes;

/// U+FEFF in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Removes a byte order mark from the start of a body that arrives in chunks.
#[derive(Default)]
pub(super) struct MarkRemover {
    /// The number of bytes of the mark that have arrived and were not passed on.
    matched: usize,
    /// True once the start of the body has arrived, so that it is known whether it is a mark.
    is_settled: bool,
}

impl MarkRemover {
    /// Returns what a chunk adds to the text: bytes of earlier chunks that are no mark, and bytes
    /// of this chunk.
    pub(super) fn feed(&mut self, chunk: Bytes) -> [Bytes; 2] {
        if self.is_settled {
            return [Bytes::new(), chunk];
        }
        let before = self.matched;
        let equal = chunk.iter().zip(&MARK[before..]).take_while(|(byte, expected)| byte == expected).count();
        self.matched += equal;
        self.is_settled = self.matched == MARK.len() || equal < chunk.len();
        match (self.is_settled, self.matched == MARK.len()) {
            (false, _) => [Bytes::new(), Bytes::new()],
            (true, true) => [Bytes::new(), chunk.slice(equal..)],
            (true, false) => [Bytes::from_static(&MARK[..before]), chunk],
        }
    }

    /// Returns the bytes that were held back when the body ended: a part of a mark is none.
    pub(super) fn finish(&mut self) -> Bytes {
        let held = if self.is_settled { 0 } else { self.matched };
        self.is_settled = true;
        Bytes::from_static(&MARK[..held])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_removed_from_the_start_alone_however_the_body_is_cut() {
        for (body, text) in [
            (&b"\xef\xbb\xbfa,b"[..], &b"a,b"[..]),
            (b"\xef\xbb\xbf", b""),
            (b"\xef\xbb\xbf\xef\xbb\xbfa", b"\xef\xbb\xbfa"),
            (b"a\xef\xbb\xbf", b"a\xef\xbb\xbf"),
            // U+FEC0 begins with the same two bytes.
            (b"\xef\xbb\x80,b", b"\xef\xbb\x80,b"),
            (b"\xef", b"\xef"),
            (b"\xef\xbb", b"\xef\xbb"),
            (b"\xefx", b"\xefx"),
            (b"", b""),
        ] {
            for piece in 1..=body.len().max(1) {
                let mut remover = MarkRemover::default();
                let mut out = Vec::new();
                for chunk in body.chunks(piece) {
                    remover.feed(Bytes::copy_from_slice(chunk)).iter().for_each(|part| out.extend_from_slice(part));
                }
                out.extend_from_slice(&remover.finish());
                assert_eq!(out, text, "{body:?} in pieces of {piece}");
            }
        }
    }
}
