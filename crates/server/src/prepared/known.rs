//! Reads that have been prepared, found again by what is the same of the requests for them.

use super::Prepared;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use thalweg_gauge::RouteName;
use thalweg_request::{Headers, Outline, Params};
use thalweg_sql::Param;

/// Among how many parts the reads are spread, so that few requests wait for the same lock.
const SHARDS: usize = 8;
/// How many reads are kept, as many in each part.
const READS_MAX: usize = 1024;
/// How much memory they take together, in bytes.
const READS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What takes more is not kept, in bytes.
const READ_BYTES_MAX: usize = 64 * 1024;
/// A read with more values is not kept: each is looked for among all parameters.
const OPERANDS_MAX: usize = 64;
/// How many reads that came once are remembered in each. What comes a second time is kept.
const SEEN: usize = 256;

/// What a read is found by: everything that its plan depends on besides the [`Era`].
pub(crate) struct Question<'a> {
    outline: Outline<'a>,
    hash: u64,
}

/// What a plan depends on besides its request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) role: &'a str,
    pub(crate) schema: &'a str,
    pub(crate) relation: &'a str,
    pub(crate) head_only: bool,
    pub(crate) is_flat_allowed: bool,
    /// The query of a page, which fetches no other columns than the page shows.
    pub(crate) of_page: Option<u64>,
}

/// What a plan depends on that is the same for all requests of a time: which load of the schema cache it was made with,
/// and which configuration was in force.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Era {
    pub(crate) snapshot: u64,
    pub(crate) in_force: u64,
}

/// A read that is known.
pub(crate) struct Known {
    pub(crate) prepared: Arc<Prepared>,
    params: Vec<KnownParam>,
    timezone: Option<String>,
    /// Whose bill it is on.
    pub(crate) route: OnceLock<Option<RouteName>>,
}

/// A parameter of its statements.
enum KnownParam {
    /// Always the same.
    Same(String),
    /// The value with this index.
    Value(usize),
}

/// Reads that are known.
pub(crate) struct KnownReads {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    hits: AtomicU64,
    misses: AtomicU64,
}

struct Shard {
    reads: HashMap<u64, Kept, BuildHasherDefault<Hashed>>,
    bytes: usize,
    clock: u64,
    /// The hashes of reads that came once.
    seen: [u64; SEEN],
}

struct Kept {
    question: Vec<u8>,
    known: Arc<Known>,
    bytes: usize,
    used: u64,
    era: Era,
}

impl<'a> Question<'a> {
    /// The question of a request for rows of a relation.
    pub(crate) fn of(reads: &KnownReads, asked: Asked<'_>, headers: &Headers<'_>, params: &'a Params<'_>) -> Self {
        let mut text = Vec::with_capacity(256);
        text.extend([u8::from(asked.head_only), u8::from(asked.is_flat_allowed)]);
        text.extend_from_slice(&asked.of_page.unwrap_or(0).to_le_bytes());
        let mut field = |bytes: Option<&str>| {
            // a head is no longer than 64 KiB
            let size = bytes.map_or(u32::MAX, |bytes| bytes.len() as u32);
            text.extend_from_slice(&size.to_le_bytes());
            text.extend_from_slice(bytes.unwrap_or_default().as_bytes());
        };
        [asked.role, asked.schema, asked.relation].into_iter().for_each(|name| field(Some(name)));
        field(headers.accept);
        field(headers.range);
        headers.prefer.iter().for_each(|prefer| field(Some(prefer)));
        field(None);
        let outline = Outline::of(text, params);
        let hash = reads.hasher.hash_one(&outline.text);
        Self { outline, hash }
    }
}

impl Known {
    /// What is known of a read that was prepared, if nothing of it depends on the values of the question but parameters that
    /// are these values.
    pub(crate) fn of(
        prepared: Arc<Prepared>,
        params: &[Param<'_>],
        timezone: Option<&str>,
        question: &Question<'_>,
    ) -> Option<Self> {
        let values = &question.outline.values;
        if values.len() > OPERANDS_MAX {
            return None;
        }
        let is_same = |one: &str, other: &str| std::ptr::eq(one, other);
        let known = params.iter().map(|param| match param {
            Param::Text(Cow::Borrowed(text)) => {
                let value = values.iter().position(|value| is_same(value, text));
                Some(value.map_or_else(|| KnownParam::Same((*text).to_owned()), KnownParam::Value))
            }
            Param::Text(Cow::Owned(text)) => Some(KnownParam::Same(text.clone())),
            Param::Document | Param::Bound(_) => None,
        });
        let params = known.collect::<Option<Vec<KnownParam>>>()?;
        let is_param =
            |index: usize| params.iter().any(|param| matches!(param, KnownParam::Value(value) if *value == index));
        let are_params = (0..values.len()).all(is_param);
        are_params.then(|| Self { prepared, params, timezone: timezone.map(str::to_owned), route: OnceLock::new() })
    }

    /// `Prefer: timezone`
    pub(crate) fn timezone(&self) -> Option<&str> {
        self.timezone.as_deref()
    }

    /// The parameters of its statements, with the values of a question.
    pub(crate) fn params<'a>(&'a self, question: &Question<'a>) -> Vec<Param<'a>> {
        let param = |param: &'a KnownParam| {
            Param::Text(Cow::Borrowed(match param {
                KnownParam::Same(text) => text,
                KnownParam::Value(index) => question.outline.values.get(*index).copied().unwrap_or_default(),
            }))
        };
        self.params.iter().map(param).collect()
    }

    fn size_bytes(&self) -> usize {
        let of_param = |param: &KnownParam| match param {
            KnownParam::Same(text) => size_of::<KnownParam>() + text.len(),
            KnownParam::Value(_) => size_of::<KnownParam>(),
        };
        let of_params: usize = self.params.iter().map(of_param).sum();
        self.prepared.size_bytes() + of_params + self.timezone.as_ref().map_or(0, String::len)
    }
}

impl KnownReads {
    pub(crate) fn new() -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(Shard::new()));
        Self { hasher: RandomState::new(), shards, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The read that a question asks for, if it is known from this era.
    pub(crate) fn find(&self, question: &Question<'_>, era: Era) -> Option<Arc<Known>> {
        let found = self.look_up(question, era);
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// How many were found that were asked for, and how many were not.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    fn look_up(&self, question: &Question<'_>, era: Era) -> Option<Arc<Known>> {
        let mut shard = self.shard(question.hash);
        shard.clock += 1;
        let clock = shard.clock;
        let kept = shard.reads.get_mut(&question.hash)?;
        if kept.era != era || kept.question != question.outline.text {
            return None;
        }
        kept.used = clock;
        Some(kept.known.clone())
    }

    /// Whether a read that is not known has come before, so that it is worth to be kept; notes that it has.
    pub(crate) fn comes_again(&self, question: &Question<'_>) -> bool {
        let mut shard = self.shard(question.hash);
        let seen = &mut shard.seen[(question.hash >> 32) as usize % SEEN];
        std::mem::replace(seen, question.hash) == question.hash
    }

    /// Keeps a read. Where there is no room for it, those go that have not been asked for the longest.
    pub(crate) fn keep(&self, question: &Question<'_>, era: Era, known: Arc<Known>) {
        let text = &question.outline.text;
        let bytes = size_of::<Kept>() + text.len() + known.size_bytes();
        if bytes > READ_BYTES_MAX {
            return;
        }
        let mut shard = self.shard(question.hash);
        shard.forget(question.hash);
        while shard.reads.len() >= READS_MAX / SHARDS || shard.bytes + bytes > READS_BYTES_MAX / SHARDS {
            let oldest = shard.reads.iter().min_by_key(|(_, kept)| kept.used).map(|(hash, _)| *hash);
            let Some(oldest) = oldest else { break };
            shard.forget(oldest);
        }
        let used = shard.clock;
        shard.bytes += bytes;
        shard.reads.insert(question.hash, Kept { question: text.clone(), known, bytes, used, era });
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        self.shards[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn new() -> Self {
        Self { reads: HashMap::default(), bytes: 0, clock: 0, seen: [0; SEEN] }
    }

    fn forget(&mut self, hash: u64) {
        if let Some(kept) = self.reads.remove(&hash) {
            self.bytes -= kept.bytes;
        }
    }
}

/// Takes a hash as it is.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use thalweg_encode::{Program, Target};
    use thalweg_plan::{Delivery, Form};
    use thalweg_rows::Shape;

    const ASKED: Asked<'_> =
        Asked { role: "r", schema: "s", relation: "t", head_only: false, is_flat_allowed: true, of_page: None };

    fn prepared(text: &str) -> Arc<Prepared> {
        let statement = crate::prepared::PreparedStatement {
            purpose: thalweg_sql::Purpose::Rows(0),
            text: text.to_owned(),
            params: 0,
            formats: Vec::new(),
            types: None,
        };
        Arc::new(Prepared {
            statements: vec![statement],
            program: Arc::new(Program::new(&Shape::default(), Target::Array)),
            fields: Arc::default(),
            count_max: None,
            in_one_snapshot: false,
            may_be_unreadable: false,
            nature: crate::prepared::Nature {
                is_read_only: true,
                runs: thalweg_catalog::Runs::Nothing,
                copies: false,
                calls: false,
                knows_all_columns: true,
                response_is_set: false,
            },
            delivery: Delivery::Streamed,
            form: Form::Rows,
            count: None,
            offset_rows: 0,
            limit_rows: None,
            embedded_cut: None,
            rows_cut: None,
            affected_max: None,
            is_large: false,
            is_one: false,
            is_checked: false,
            is_made_of_rows: false,
            explains: false,
            replaces: false,
            has_body: true,
            head: crate::prepared::Head { content_type: None, preference_applied: None, warning: None },
        })
    }

    fn era(load: u64) -> Era {
        Era { snapshot: load, in_force: 0 }
    }

    /// A question of a query, once known.
    fn keep(reads: &KnownReads, query: &str, load: u64, text: &str) {
        let params = Params::decode(query).unwrap();
        let question = Question::of(reads, ASKED, &Headers::default(), &params);
        let known = Known { prepared: prepared(text), params: Vec::new(), timezone: None, route: OnceLock::new() };
        reads.keep(&question, era(load), Arc::new(known));
    }

    fn find(reads: &KnownReads, asked: Asked<'_>, headers: &Headers<'_>, query: &str, load: u64) -> bool {
        let params = Params::decode(query).unwrap();
        reads.find(&Question::of(reads, asked, headers, &params), era(load)).is_some()
    }

    #[test]
    fn what_a_plan_depends_on_tells_reads_apart() {
        let reads = KnownReads::new();
        keep(&reads, "a=eq.1", 7, "");
        let none = Headers::default();
        assert!(find(&reads, ASKED, &none, "a=eq.2", 7));
        assert!(!find(&reads, ASKED, &none, "a=eq.2", 8), "another schema cache");
        for asked in [
            Asked { role: "other", ..ASKED },
            Asked { schema: "other", ..ASKED },
            Asked { relation: "other", ..ASKED },
            // the same letters, parted otherwise
            Asked { role: "rs", schema: "", ..ASKED },
            Asked { head_only: true, ..ASKED },
            Asked { is_flat_allowed: false, ..ASKED },
            Asked { of_page: Some(1), ..ASKED },
        ] {
            assert!(!find(&reads, asked, &none, "a=eq.2", 7));
        }
        for headers in [
            Headers { accept: Some(""), ..Headers::default() },
            Headers { range: Some("0-1"), ..Headers::default() },
            Headers { prefer: vec![""], ..Headers::default() },
            Headers { prefer: vec!["count=exact"], ..Headers::default() },
        ] {
            assert!(!find(&reads, ASKED, &headers, "a=eq.2", 7));
        }
    }

    #[test]
    fn a_parameter_is_a_value_only_if_it_is_that_value() {
        let reads = KnownReads::new();
        let params = Params::decode("a=eq.x&b=eq.x&c=eq.y").unwrap();
        let question = Question::of(&reads, ASKED, &Headers::default(), &params);
        let values = question.outline.values.clone();
        let text = |text: &'static str| Param::Text(Cow::Borrowed(text));
        let value = |at: usize| Param::Text(Cow::Borrowed(values[at]));
        let known = |params: &[Param<'_>]| Known::of(prepared(""), params, None, &question);
        // what only looks like a value is none, and each value must be found again
        assert!(known(&[value(0), value(1), text("y")]).is_none());
        assert!(known(&[value(0), value(1), value(2), Param::Document]).is_none());
        let known = known(&[text("x"), value(1), value(0), value(2), value(1)]).unwrap();
        let params = Params::decode("a=eq.1&b=eq.2&c=eq.3").unwrap();
        let question = Question::of(&reads, ASKED, &Headers::default(), &params);
        assert_eq!(known.params(&question), [text("x"), text("2"), text("1"), text("3"), text("2")]);
    }

    #[test]
    fn reads_are_kept_within_bounds() {
        let reads = KnownReads::new();
        let found = AtomicUsize::new(0);
        let total = 4 * READS_MAX;
        for at in 0..total {
            keep(&reads, &format!("a{at}=eq.1"), 1, "select");
            // one that is asked for all the time stays
            keep_or_find(&reads, &found);
        }
        assert_eq!(found.into_inner(), total - 1);
        let kept = |shard: &Mutex<Shard>| shard.lock().unwrap().reads.len();
        assert!(reads.shards.iter().all(|shard| kept(shard) <= READS_MAX / SHARDS));
        assert!(reads.shards.iter().map(kept).sum::<usize>() > READS_MAX / 2);
        let long = "x".repeat(READ_BYTES_MAX / 2);
        for at in 0..total {
            keep(&reads, &format!("b{at}=eq.1"), 1, &long);
        }
        for shard in &reads.shards {
            let shard = shard.lock().unwrap();
            let bytes: usize = shard.reads.values().map(|kept| kept.bytes).sum();
            assert!(bytes == shard.bytes && bytes <= READS_BYTES_MAX / SHARDS, "{bytes}");
        }
        keep(&reads, "c=eq.1", 1, &long.repeat(2));
        assert!(!find(&reads, ASKED, &Headers::default(), "c=eq.1", 1), "too long");
    }

    #[test]
    fn what_headers_bring_takes_memory_too() {
        let zone = "z".repeat(READ_BYTES_MAX);
        let known = |timezone: Option<&str>, warning: Option<&str>| {
            let mut read = Arc::into_inner(prepared("")).unwrap();
            read.head.warning = warning.map(|warning| warning.try_into().unwrap());
            Known {
                prepared: Arc::new(read),
                params: Vec::new(),
                timezone: timezone.map(str::to_owned),
                route: OnceLock::new(),
            }
            .size_bytes()
        };
        let none = known(None, None);
        assert_eq!(known(Some(&zone), None), none + READ_BYTES_MAX);
        assert_eq!(known(Some(&zone), Some(&zone)), none + 2 * READ_BYTES_MAX);
    }

    fn keep_or_find(reads: &KnownReads, found: &AtomicUsize) {
        if find(reads, ASKED, &Headers::default(), "always=eq.1", 1) {
            found.fetch_add(1, Ordering::Relaxed);
        } else {
            keep(reads, "always=eq.1", 1, "");
        }
    }

    #[test]
    fn what_comes_once_is_not_worth_it() {
        let reads = KnownReads::new();
        let params = Params::decode("a=eq.1").unwrap();
        let question = Question::of(&reads, ASKED, &Headers::default(), &params);
        assert!(!reads.comes_again(&question));
        assert!(reads.comes_again(&question));
    }
}
