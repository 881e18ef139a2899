//! Tokens that were found to be signed, so that the same token is not checked with a key twice.

use crate::refusal::Refusal;
use crate::verifier::{Identity, Verifier};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often the oldest is spared, because it was asked for, before one is taken that was asked for too. It bounds how long a
/// thread holds the lock.
const SPARED_MAX: usize = 16;
/// How many entries beyond a limit that became smaller go with each that comes.
const SHRINK_MAX: usize = 8;
/// How many bytes of a token are hashed, from its end: more would cost a large token more than all else that a hit does.
const HASHED_BYTES_MAX: usize = 256;
/// What an entry takes in the map and the queue, nearly.
const ENTRY_BYTES: usize = 128;

/// Remembers whose a token is.
///
/// Only what a [`Verifier`] accepts enters: whoever sends tokens that are refused evicts nothing. Claims are checked on
/// every request, so that a token expires when it does. Once there are too many, the oldest goes that was not asked for since
/// it was last looked at. What one verifier has found is forgotten for another that has other settings.
///
/// Tokens are found by a hash of their signature whose key is this process's own, so that nobody can make two meet, and are
/// then compared in full; where two do meet, the later one takes the place. The lock is held to find an entry and to put one in, never to hash, compare or check.
#[derive(Debug)]
pub struct Cache {
    state: Mutex<State>,
    hashing: RandomState,
    entries_max: AtomicUsize,
    bytes_max: usize,
    requests: AtomicU64,
    hits: AtomicU64,
    evictions: AtomicU64,
}

/// What a cache has seen since it was made. All stay 0 while it is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheCounts {
    /// Tokens that were looked for.
    pub requests: u64,
    /// Those of them that were found.
    pub hits: u64,
    /// Tokens that went to make room.
    pub evictions: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Whose findings these are.
    of: [u8; 32],
    /// By the token's hash.
    entries: HashMap<u64, Slot>,
    /// The hashes of all entries, the oldest first.
    ages: VecDeque<u64>,
    bytes: usize,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    was_asked_for: bool,
}

#[derive(Debug)]
struct Entry {
    token: Box<[u8]>,
    identity: Arc<Identity>,
    bytes: usize,
}

impl Cache {
    /// A cache of at most so many tokens, which take at most so many bytes together with what is known of them. One of 0
    /// tokens is disabled.
    pub fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            hashing: RandomState::new(),
            entries_max: AtomicUsize::new(entries_max),
            bytes_max,
            requests: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    /// Changes how many tokens are kept at most. If there are more, they go as others come; with 0 all go now.
    pub fn limit(&self, entries_max: usize) {
        self.entries_max.store(entries_max, Ordering::Relaxed);
        if entries_max == 0 {
            // dropped after the lock
            let _forgotten = std::mem::take(&mut *self.lock());
        }
    }

    /// What it has seen.
    pub fn counts(&self) -> CacheCounts {
        CacheCounts {
            requests: self.requests.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// As [`Verifier::identify`]; a token that this verifier has accepted before costs no signature.
    pub fn identify(&self, verifier: &Verifier, token: &[u8], now_s: i64) -> Result<Arc<Identity>, Refusal> {
        let entries_max = self.entries_max.load(Ordering::Relaxed);
        if entries_max == 0 {
            return verifier.identify(token, now_s).map(Arc::new);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let hash = self.hash(token);
        let found = self.lock().find(verifier, hash);
        // how long the comparison takes tells nothing but to who has the signature, and so most likely the token
        if let Some(entry) = found.filter(|entry| *entry.token == *token) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            verifier.check(&entry.identity, now_s)?;
            return Ok(Arc::clone(&entry.identity));
        }
        let identity = Arc::new(verifier.identify(token, now_s)?);
        let bytes = token.len() + identity.size_bytes() + ENTRY_BYTES;
        if bytes <= self.bytes_max {
            let entry = Arc::new(Entry { token: token.into(), identity: Arc::clone(&identity), bytes });
            let mut gone = Gone::default();
            self.lock().put(verifier, hash, entry, (entries_max, self.bytes_max), &mut gone);
            self.evictions.fetch_add(gone.evicted.len() as u64, Ordering::Relaxed);
        }
        Ok(identity)
    }

    /// The end of a token holds its signature, which nobody but the issuer can choose. That is what tells tokens apart.
    fn hash(&self, token: &[u8]) -> u64 {
        self.hashing.hash_one(&token[token.len().saturating_sub(HASHED_BYTES_MAX)..])
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has left the cache, kept until the lock is given back: to free it takes longer than to unlink it.
#[derive(Default)]
struct Gone {
    evicted: Vec<Slot>,
    replaced: Option<Slot>,
    forgotten: Option<State>,
}

impl State {
    fn find(&mut self, verifier: &Verifier, hash: u64) -> Option<Arc<Entry>> {
        if self.of != *verifier.fingerprint() {
            return None;
        }
        let slot = self.entries.get_mut(&hash)?;
        slot.was_asked_for = true;
        Some(Arc::clone(&slot.entry))
    }

    fn put(&mut self, verifier: &Verifier, hash: u64, entry: Arc<Entry>, limits: (usize, usize), gone: &mut Gone) {
        if self.of != *verifier.fingerprint() {
            let empty = Self { of: *verifier.fingerprint(), ..Self::default() };
            gone.forgotten = Some(std::mem::replace(self, empty));
        }
        let (entries_max, bytes_max) = limits;
        let mut shrink_max = SHRINK_MAX;
        while self.bytes + entry.bytes > bytes_max || self.entries.len() >= entries_max && shrink_max > 0 {
            let Some(evicted) = self.evict() else { break };
            gone.evicted.push(evicted);
            shrink_max = shrink_max.saturating_sub(1);
        }
        self.bytes += entry.bytes;
        match self.entries.insert(hash, Slot { entry, was_asked_for: false }) {
            // two requests have checked the same token at once, or two tokens meet
            Some(replaced) => {
                self.bytes -= replaced.entry.bytes;
                gone.replaced = Some(replaced);
            }
            None => self.ages.push_back(hash),
        }
    }

    fn evict(&mut self) -> Option<Slot> {
        for _ in 0..SPARED_MAX {
            let oldest = *self.ages.front()?;
            match self.entries.get_mut(&oldest) {
                Some(slot) if slot.was_asked_for => {
                    slot.was_asked_for = false;
                    self.ages.rotate_left(1);
                }
                Some(_) | None => break,
            }
        }
        let slot = self.entries.remove(&self.ages.pop_front()?)?;
        self.bytes -= slot.entry.bytes;
        Some(slot)
    }
}

#[cfg(test)]
mod tests;
