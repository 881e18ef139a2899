//! The receive buffer: bytes come in pieces of any size, whole messages go out.

use crate::error::{Error, ErrorKind};
use crate::stream::Stream;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Size of a connection's buffer at rest: a value of 64 KiB, and the rest of its message. A larger
/// message is read in steps of this size, since the runtime lets a task read 128 times before it runs others.
const BUFFER_BYTES: usize = 72 * 1024;
/// A buffer that grew beyond this is given back when its pipeline is over.
const BUFFER_KEPT_BYTES_MAX: usize = 1024 * 1024;
/// No message of PostgreSQL's is longer: it limits a row to 1 GiB.
const MESSAGE_BYTES_MAX: usize = (1 << 30) + 64 * 1024;
/// The tag and the length that a message begins with.
const HEADER_BYTES: usize = 5;

pub(crate) struct Input {
    buffer: Vec<u8>,
    unread: Range<usize>,
    /// How much has been received.
    received: u64,
}

/// The place of one message in the buffer: its tag, and what follows its length.
pub(crate) struct Message {
    pub(crate) tag: u8,
    pub(crate) body: Range<usize>,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], unread: 0..0, received: 0 }
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// How many bytes have been received since this was last asked.
    pub(crate) fn take_received(&mut self) -> u64 {
        std::mem::take(&mut self.received)
    }

    /// Whether nothing is here that has not been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    /// The next message, if all of it is here.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Option<Message>, Error> {
        let Some(total) = self.next_message_bytes()? else { return Ok(None) };
        if self.unread.len() < total {
            return Ok(None);
        }
        let start = self.unread.start;
        self.unread.start += total;
        Ok(Some(Message { tag: self.buffer[start], body: start + HEADER_BYTES..start + total }))
    }

    fn next_message_bytes(&self) -> Result<Option<usize>, Error> {
        let Some(header) = self.buffer[self.unread.clone()].first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(Error::new(ErrorKind::Protocol("length of a message")));
        }
        Ok(Some(length + 1))
    }

    /// Reads what there is. The end of the stream is an error: PostgreSQL never ends one by itself.
    pub(crate) fn poll_fill(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.make_room()?;
        let end = self.buffer.len().min(self.unread.end + BUFFER_BYTES);
        let mut free = ReadBuf::new(&mut self.buffer[self.unread.end..end]);
        ready!(Pin::new(stream).poll_read(cx, &mut free))?;
        match free.filled().len() {
            0 => Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())),
            n => {
                self.unread.end += n;
                self.received += n as u64;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Moves an incomplete message to the front, and grows where the whole of it has no room: it reserves all
    /// of the room, and fills it step by step, since a large one takes long to fill.
    fn make_room(&mut self) -> Result<(), Error> {
        let wanted = self.next_message_bytes()?.unwrap_or(HEADER_BYTES);
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        let has_room = self.unread.end < self.buffer.len() && self.unread.start + wanted <= self.buffer.len();
        if self.unread.start > 0 && !has_room {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if wanted > self.buffer.capacity() {
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        if self.unread.end == self.buffer.len() && wanted > self.buffer.len() {
            self.buffer.resize(wanted.min(self.buffer.len() + BUFFER_BYTES), 0);
        }
        Ok(())
    }

    /// Gives back what a large row needed.
    pub(crate) fn shrink(&mut self) {
        if self.buffer.capacity() > BUFFER_KEPT_BYTES_MAX && self.unread.is_empty() {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::AsyncWriteExt;

    /// Growing the buffer for a large message at once took tens of milliseconds, in which the thread
    /// served no other client.
    #[tokio::test]
    async fn a_large_message_is_read_in_steps() {
        const BODY_BYTES: usize = 4 * 1024 * 1024;
        let (client, mut server) = tokio::io::duplex(BODY_BYTES + HEADER_BYTES);
        let length = u32::try_from(BODY_BYTES + 4).expect("it is short");
        server.write_all(&[&b"D"[..], &length.to_be_bytes()].concat()).await.expect("there is room");
        server.write_all(&vec![7; BODY_BYTES]).await.expect("there is room");
        let (mut input, mut stream) = (Input::new(), Stream::Other(Box::new(client)));
        let message = loop {
            if let Some(message) = input.message().expect("it is well-formed") {
                break message;
            }
            let before = (input.unread.len(), input.buffer.len());
            poll_fn(|cx| input.poll_fill(&mut stream, cx)).await.expect("the stream goes on");
            let grown = (input.unread.len() - before.0, input.buffer.len() - before.1);
            assert!(grown.0 <= BUFFER_BYTES && grown.1 <= BUFFER_BYTES, "{grown:?}");
        };
        assert_eq!((message.tag, message.body.len()), (b'D', BODY_BYTES));
        assert!(input.bytes(message.body).iter().all(|byte| *byte == 7));
        input.shrink();
        assert_eq!(input.buffer.capacity(), BUFFER_BYTES);
    }
}
