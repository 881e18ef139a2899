//! Parameters on their way: short ones are encoded into the send buffer, large ones go out from where they are.

use crate::error::{Error, ErrorKind};
use crate::output::Output;
use bytes::{BufMut, Bytes};
use std::borrow::Cow;
use thalweg_rows::Format;

/// A parameter of a statement. Its type is PostgreSQL's to infer.
#[derive(Debug, Clone)]
pub enum Param<'a> {
    /// A value in text format.
    Text(Cow<'a, str>),
    /// A value that came in chunks, one behind the other. Large ones are sent without being copied.
    Chunks(Format, &'a [Bytes]),
    /// NULL
    Null,
}

/// Below this size a chunk is copied into the send buffer: a piece of a vectored write costs more.
const SENT_FROM_WHERE_IT_IS_BYTES_MIN: usize = 512;

/// What PostgreSQL takes as one message (`PQ_LARGE_MESSAGE_LIMIT`).
const MESSAGE_BYTES_MAX: usize = (1 << 30) - 2;

impl Param<'_> {
    fn format(&self) -> Format {
        match self {
            Self::Chunks(format, _) => *format,
            Self::Text(_) | Self::Null => Format::Text,
        }
    }

    /// The size of the value in bytes.
    fn size_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Chunks(_, chunks) => chunks.iter().map(Bytes::len).sum(),
            Self::Null => 0,
        }
    }
}

/// Encodes a `Bind` of the unnamed portal to a prepared statement.
pub(crate) fn bind(
    output: &mut Output,
    statement: &str,
    params: &[Param<'_>],
    formats: &[Format],
) -> Result<(), Error> {
    let too_much = || Error::new(ErrorKind::TooLarge);
    let binary = params.iter().any(|param| param.format() == Format::Binary);
    let param_formats = if binary { params.len() } else { 0 };
    let values: usize = params.iter().map(|param| 4 + param.size_bytes()).sum();
    let size = 4 + 1 + statement.len() + 1 + 2 + 2 * param_formats + 2 + values + 2 + 2 * formats.len();
    if size > MESSAGE_BYTES_MAX {
        return Err(too_much());
    }
    let count = |count: usize| u16::try_from(count).map_err(|_| too_much());
    let buffer = output.buffer();
    buffer.put_u8(b'B');
    buffer.put_u32(size as u32);
    buffer.put_u8(0);
    buffer.put_slice(statement.as_bytes());
    buffer.put_u8(0);
    buffer.put_u16(count(param_formats)?);
    params.iter().take(param_formats).for_each(|param| buffer.put_i16(param.format().code()));
    buffer.put_u16(count(params.len())?);
    for param in params {
        match param {
            Param::Null => output.buffer().put_i32(-1),
            Param::Text(text) => {
                output.buffer().put_i32(text.len() as i32);
                output.buffer().put_slice(text.as_bytes());
            }
            Param::Chunks(_, chunks) => {
                output.buffer().put_i32(param.size_bytes() as i32);
                chunks.iter().for_each(|chunk| pass(output, chunk));
            }
        }
    }
    let buffer = output.buffer();
    buffer.put_u16(count(formats.len())?);
    formats.iter().for_each(|format| buffer.put_i16(format.code()));
    Ok(())
}

/// Encodes a `CopyData` of one chunk.
pub(crate) fn copy_data(output: &mut Output, chunk: &Bytes) {
    output.buffer().put_u8(b'd');
    output.buffer().put_u32(chunk.len() as u32 + 4);
    pass(output, chunk);
}

fn pass(output: &mut Output, chunk: &Bytes) {
    if chunk.len() < SENT_FROM_WHERE_IT_IS_BYTES_MIN {
        output.buffer().put_slice(chunk);
    } else {
        output.chunk(chunk.clone());
    }
}
