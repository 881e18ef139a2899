//! One `DataRow`, borrowed from the receive buffer, and who takes it.

use std::fmt;

/// Bytes that do not have the form the protocol promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// A reader of big-endian fields that never reads past its end.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed("message: it ends early"))?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed("message: it ends early"))?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, signed.
    pub fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes, signed.
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Eight bytes, signed.
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A value preceded by its length in bytes, where a length of −1 is null.
    #[inline]
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            n => Ok(Some(self.take(usize::try_from(n).map_err(|_| Malformed("length of a value"))?)?)),
        }
    }

    /// Bytes up to a NUL, which is passed over.
    pub fn cstr(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or(Malformed("string: no end"))?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}

/// The columns of one row, borrowed from the bytes that PostgreSQL sent.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Reads the body of a `DataRow` message (what follows its length).
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(message);
        let columns = cursor.u16()?;
        Ok(Self { columns, body: cursor.rest() })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    /// Whether the row has no column at all.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The columns from the first.
    pub fn columns(&self) -> Columns<'a> {
        Columns { left: self.columns, cursor: Cursor::new(self.body) }
    }

    /// The columns as they came: each with its length before it.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The size in bytes of the columns' values and lengths.
    pub fn size_bytes(&self) -> usize {
        self.body.len()
    }
}

/// The columns of a row, in order. `None` is null.
#[derive(Debug)]
pub struct Columns<'a> {
    left: u16,
    cursor: Cursor<'a>,
}

impl<'a> Columns<'a> {
    /// The columns that have not been read, as a row.
    pub fn rest(&self) -> RowView<'a> {
        RowView { columns: self.left, body: self.cursor.rest() }
    }

    /// The next column; an error where the row has no more.
    #[inline]
    pub fn column(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        self.left = self.left.checked_sub(1).ok_or(Malformed("row: too few columns"))?;
        self.cursor.value()
    }
}

/// Whether a sink wants more rows now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Go on.
    More,
    /// Stop after this row; the caller comes back for the rest.
    Pause,
}

/// Takes rows as they arrive. The caller owns the buffer they end up in.
pub trait RowSink {
    /// What can be wrong with a row.
    type Error;

    /// Takes one row of the current statement.
    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Self::Error>;

    /// The first statement will be run again from its start, with all after it. A sink that can forget what it has
    /// been given does so and returns true.
    fn restart(&mut self) -> bool {
        false
    }

    /// The current statement has no more rows; what comes next belongs to the statement after it. `affected_rows` is
    /// what PostgreSQL says of it: how many rows it returned or wrote, 0 where that has no meaning.
    fn end_of_statement(&mut self, _affected_rows: u64) {}
}
