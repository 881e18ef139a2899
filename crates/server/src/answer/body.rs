//! A response's body: whole, or rows that flow from the database as the client takes them.

use crate::answer::outlet::{Flow, Flowing, Held, Outlet};
use crate::frames::Frames;
use crate::opened_file::OpenedFile;
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use hyper::Version;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a response.
pub(crate) struct Body {
    chunks: VecDeque<Bytes>,
    account: Account,
    left: Option<u64>,
    /// What is behind the chunks.
    rest: Rest,
}

/// Account in which the memory of a body's chunks is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Account {
    /// None yet: [`Body::counted`] counts the chunks.
    Nowhere,
    /// The memory of all answers.
    Answers,
    /// None, because all responses share the chunks, such as those of a site's files.
    Shared,
}

enum Rest {
    Nothing,
    Flow(Flow),
}

/// Chunks that go out by one write.
#[derive(Default)]
pub(crate) struct Data {
    first: Bytes,
    more: VecDeque<Bytes>,
}

impl Data {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The first chunk; empty if there is none.
    pub(crate) fn take_first(&mut self) -> Bytes {
        std::mem::replace(&mut self.first, self.more.pop_front().unwrap_or_default())
    }

    pub(crate) fn push(&mut self, chunk: Bytes) {
        if self.first.is_empty() {
            self.first = chunk;
        } else if !chunk.is_empty() {
            self.more.push_back(chunk);
        }
    }
}

impl From<Bytes> for Data {
    fn from(first: Bytes) -> Self {
        Self { first, more: VecDeque::new() }
    }
}

impl Buf for Data {
    fn remaining(&self) -> usize {
        self.first.len() + self.more.iter().map(Bytes::len).sum::<usize>()
    }

    fn chunk(&self) -> &[u8] {
        &self.first
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let chunks = std::iter::once(&self.first).chain(&self.more).filter(|chunk| !chunk.is_empty());
        slices.iter_mut().zip(chunks).map(|(slice, chunk)| *slice = IoSlice::new(chunk)).count()
    }

    fn advance(&mut self, mut count: usize) {
        while count >= self.first.len() {
            count -= self.first.len();
            match self.more.pop_front() {
                Some(next) => self.first = next,
                None => {
                    assert_eq!(count, 0, "no more than there is can be taken");
                    self.first = Bytes::new();
                    return;
                }
            }
        }
        self.first.advance(count);
    }
}

/// What was being sent broke off. The connection to the client is reset (`http/socket.rs`), so that it cannot take what it has for all
/// there is.
#[derive(Debug)]
pub(crate) struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was being sent broke off")
    }
}

impl std::error::Error for Torn {}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let left = Some(bytes.len() as u64);
        Self { chunks: VecDeque::from([bytes]), account: Account::Nowhere, left, rest: Rest::Nothing }
    }

    /// Creates a body from memory that all responses share.
    pub(crate) fn shared(bytes: Bytes) -> Self {
        Self { account: Account::Shared, ..Self::whole(bytes) }
    }

    /// All of an answer that was held.
    pub(crate) fn held(held: Held) -> Self {
        let (chunks, flow, bytes) = held.finish();
        let rest = flow.map_or(Rest::Nothing, Rest::Flow);
        Self { chunks, account: Account::Answers, left: Some(bytes), rest }
    }

    fn of_flow(flow: Flow, left: Option<u64>) -> Self {
        Self { chunks: VecDeque::new(), account: Account::Answers, left, rest: Rest::Flow(flow) }
    }

    /// An answer of which more is to come.
    pub(crate) fn flowing(held: Held, flowing: Flowing) -> Self {
        Self::of_flow(held.flow(flowing), None)
    }

    /// The same where it is known how many bytes there will be.
    pub(crate) fn flowing_bytes(held: Held, flowing: Flowing, size_bytes: u64) -> Self {
        Self::of_flow(held.flow(flowing), Some(size_bytes))
    }

    /// A part of a file.
    pub(crate) fn file(outlet: &Outlet, file: OpenedFile, part: Range<u64>) -> Self {
        let left = Some(part.end - part.start);
        Self::of_flow(outlet.file(file, part), left)
    }

    /// The body of a handler's response.
    pub(crate) fn of_handler(outlet: &Outlet, frames: Frames) -> Self {
        match frames.size_bytes() {
            Some(0) => Self::whole(Bytes::new()),
            left => Self::of_flow(outlet.handler(frames), left),
        }
    }

    /// Counts the memory of the body with that of all answers. Every response passes through this
    /// method on its way to the client.
    pub(crate) fn counted(mut self, outlet: &Outlet) -> Self {
        if self.account != Account::Nowhere {
            return self;
        }
        self.account = Account::Answers;
        if let Some(bytes) = self.chunks.pop_front() {
            match outlet.whole(bytes) {
                Ok(flow) => self.rest = Rest::Flow(flow),
                Err(bytes) => self.chunks.push_front(bytes),
            }
        }
        self
    }

    /// Returns the number of bytes that the body occupies in memory and that others could use.
    /// Shared bytes do not count.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let chunks = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        match (&self.rest, self.account) {
            (_, Account::Shared) => 0,
            (Rest::Nothing, Account::Nowhere | Account::Answers) => chunks,
            (Rest::Flow(flow), Account::Nowhere | Account::Answers) => chunks + flow.memory_bytes(),
        }
    }

    /// Its chunks, if all of it is in memory and none has been sent.
    pub(crate) fn in_memory(&self) -> Option<impl Iterator<Item = &[u8]>> {
        matches!(self.rest, Rest::Nothing).then(|| self.chunks.iter().map(|chunk| &**chunk))
    }

    /// How long it is, if it is one piece in memory of which none has been sent.
    pub(crate) fn piece_bytes(&self) -> Option<u64> {
        let is_one = matches!(self.rest, Rest::Nothing) && self.chunks.len() == 1;
        is_one.then(|| self.chunks[0].len() as u64)
    }

    /// What all of it is, if all of it is in memory and none has been sent.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        self.in_memory().map(|chunks| chunks.flatten().copied().collect())
    }

    /// The size in bytes, where it is known.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.left
    }

    /// Whether it may break off without anything that says so but the connection's end.
    pub(crate) fn ends_with_connection(&self, version: Version) -> bool {
        self.left.is_none() && version < Version::HTTP_11
    }
}

impl Rest {
    fn has_ended(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Flow(flow) => flow.has_ended(),
        }
    }
}

impl http_body::Body for Body {
    type Data = Data;
    type Error = Torn;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Data>, Torn>>> {
        let next = match (self.chunks.pop_front(), &mut self.rest) {
            (Some(chunk), _) => (!chunk.is_empty()).then(|| Ok(chunk.into())),
            (None, Rest::Flow(flow)) => ready!(flow.poll_next(cx)),
            (None, Rest::Nothing) => None,
        };
        if let (Some(left), Some(Ok(chunk))) = (&mut self.left, &next) {
            *left = left.saturating_sub(chunk.remaining() as u64);
        }
        Poll::Ready(next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.iter().all(Bytes::is_empty) && self.rest.has_ended()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_taken_in_their_order_in_pieces_of_any_size() {
        for piece in 1..12 {
            let mut data = Data::default();
            ["ab", "", "cde", "f", "ghijk"]
                .into_iter()
                .for_each(|chunk| data.push(Bytes::from_static(chunk.as_bytes())));
            assert_eq!(data.remaining(), 11);
            let mut slices = [IoSlice::new(&[]); 3];
            assert_eq!(data.chunks_vectored(&mut slices), 3);
            assert_eq!(slices.map(|slice| slice.to_vec()).concat(), b"abcdef");
            let mut taken = Vec::new();
            while data.has_remaining() {
                taken.extend_from_slice(&data.copy_to_bytes(piece.min(data.remaining())));
            }
            assert_eq!(taken, b"abcdefghijk");
            assert!(data.is_empty() && data.chunk().is_empty());
        }
    }
}
