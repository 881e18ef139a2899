//! Numbers and texts as a dictionary's file has them: numbers of seven bits a byte, the lowest first, texts behind their length.

/// Reads on from a place. What is not there is none, or nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor(bytes)
    }

    /// What is still to be read.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// How many bytes that is.
    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u32> {
        // most are of one byte
        match self.0 {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.0 = rest;
                Some((*byte).into())
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// So many bytes as are said before them.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    /// So many bytes.
    #[inline]
    pub(crate) fn take(&mut self, len: u32) -> Option<&'a [u8]> {
        let (these, rest) = self.0.split_at_checked(len as usize)?;
        self.0 = rest;
        Some(these)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// As many numbers as are said before them.
    pub(crate) fn numbers(&mut self) -> Option<Numbers<'a>> {
        Some(Numbers(Cursor(self.bytes()?)))
    }
}

/// Numbers one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a>(Cursor<'a>);

impl Numbers<'_> {
    pub(crate) const NONE: Numbers<'static> = Numbers(Cursor(&[]));

    pub(crate) fn is_none(&self) -> bool {
        self.0.0.is_empty()
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.0.number()
    }
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_numbers(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    let mut these = Vec::new();
    numbers.into_iter().for_each(|number| put_number(&mut these, number));
    put_bytes(out, &these);
}
