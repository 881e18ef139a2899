//! Values that are passed over, whatever they are.

use super::Parser;
use crate::error::{Code, Result};
use crate::{number, scan};

impl<'de> Parser<'de> {
    /// Reads a value of any kind and depth, and keeps nothing of it. Its strings need not be UTF-8.
    pub fn skip(&mut self) -> Result<()> {
        self.scratch.clear();
        // the closing brackets that are to come
        loop {
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(b'0'..=b'9' | b'-') => self.skip_number()?,
                Some(b'n') => self.word(b"null")?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(bracket @ (b'[' | b'{')) => {
                    self.at += 1;
                    // in ASCII, a bracket that closes comes two behind the one that opens
                    self.scratch.push(bracket + 2);
                    match self.peek() {
                        Some(byte) if byte == bracket + 2 => {}
                        None if bracket == b'[' => return Err(self.wrong(Code::EofInList)),
                        Some(_) if bracket == b'[' => continue,
                        _ => {
                            self.skip_key()?;
                            continue;
                        }
                    }
                }
                Some(_) => return Err(self.wrong_next(Code::NoValue)),
                None => return Err(self.wrong(Code::EofInValue)),
            }
            if self.skip_ends()? {
                return Ok(());
            }
        }
    }

    /// Behind a value: closes what closes; whether nothing is open any more. Otherwise up to the next value.
    fn skip_ends(&mut self) -> Result<bool> {
        while let Some(&closing) = self.scratch.last() {
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if closing == b'}' {
                        self.skip_key()?;
                    }
                    return Ok(false);
                }
                Some(byte) if byte == closing => {
                    self.at += 1;
                    self.scratch.pop();
                }
                Some(_) if closing == b'}' => return Err(self.wrong_next(Code::NoObjectComma)),
                Some(_) => return Err(self.wrong_next(Code::NoListComma)),
                None if closing == b'}' => return Err(self.wrong(Code::EofInObject)),
                None => return Err(self.wrong(Code::EofInList)),
            }
        }
        Ok(true)
    }

    fn skip_key(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => self.skip_string()?,
            Some(_) => return Err(self.wrong_next(Code::KeyString)),
            None => return Err(self.wrong(Code::EofInObject)),
        }
        self.colon()
    }

    fn skip_string(&mut self) -> Result<()> {
        self.at += 1;
        loop {
            let end = scan::special(self.text, self.at);
            match self.text.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    return Ok(());
                }
                Some(b'\\') => {}
                Some(_) => return Err(self.wrong_at(Code::Control, end)),
                None => return Err(self.wrong_at(Code::EofInString, end)),
            }
            self.at = end + 2;
            match self.text.get(end + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                // no pair is asked for where nothing is kept
                Some(b'u') => drop(self.hex()?),
                Some(_) => return Err(self.wrong(Code::Escape)),
                None => return Err(self.wrong_at(Code::EofInString, end + 1)),
            }
        }
    }

    pub(super) fn skip_number(&mut self) -> Result<()> {
        self.at = number::end(self.text, self.at).map_err(|(_, at)| self.wrong_at(Code::Number, at))?;
        Ok(())
    }

    /// Reads a value of any kind, and returns its text.
    pub fn raw(&mut self) -> Result<&'de str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        self.plain(start, self.at)
    }
}
