//! What enters the cache, what leaves it, and when.

use super::*;
use crate::{Audience, Keys, RolePath};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

const SECRET: &[u8] = b"thermals-over-the-ridge-at-noon!";
const NOW: i64 = 1_700_000_000;
const MANY_BYTES: usize = 1 << 20;

fn verifier() -> Verifier {
    Verifier::new(Keys::parse(SECRET).unwrap(), RolePath::default(), None)
}

fn token(payload: &str) -> Vec<u8> {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(payload));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)).into_bytes()
}

fn pilot(number: usize) -> Vec<u8> {
    token(&format!(r#"{{"role":"pilot{number}"}}"#))
}

fn counts(cache: &Cache) -> (u64, u64, u64) {
    let CacheCounts { requests, hits, evictions } = cache.counts();
    (requests, hits, evictions)
}

impl Cache {
    /// How many entries there are, whether the parts agree.
    fn len(&self) -> usize {
        let state = self.lock();
        assert_eq!(state.entries.len(), state.ages.len());
        assert!(state.ages.iter().all(|hash| state.entries.contains_key(hash)));
        assert_eq!(state.bytes, state.entries.values().map(|slot| slot.entry.bytes).sum::<usize>());
        state.entries.len()
    }
}

#[test]
fn a_token_is_checked_once() {
    let (cache, verifier) = (Cache::new(10, MANY_BYTES), verifier());
    let first = cache.identify(&verifier, &pilot(1), NOW).unwrap();
    let second = cache.identify(&verifier, &pilot(1), NOW).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(second.role(), Some("pilot1"));
    assert_eq!(second.claims_as("pilot1"), r#"{"role":"pilot1"}"#);
    assert!(matches!(second.claims_as("pilot1"), std::borrow::Cow::Borrowed(_)));
    assert_eq!(second.claims_as("other"), r#"{"role":"other"}"#);
    assert_eq!(counts(&cache), (2, 1, 0));
}

#[test]
fn who_sends_no_token_claims_nothing() {
    let nobody = Identity::anonymous();
    assert_eq!(nobody.role(), None);
    assert_eq!(nobody.claims_as("visitor"), r#"{"role":"visitor"}"#);
    // nor does a token without a role name one, and it keeps its claims
    let nobodys = verifier().identify(&token(r#"{"sub":"x"}"#), NOW).unwrap();
    assert_eq!(nobodys.role(), None);
    assert_eq!(nobodys.claims_as("visitor"), r#"{"sub":"x","role":"visitor"}"#);
}

#[test]
fn a_token_expires_when_it_does() {
    let (cache, verifier) = (Cache::new(10, MANY_BYTES), verifier());
    let token = token(&format!(r#"{{"role":"pilot","exp":{NOW}}}"#));
    for (now_s, is_valid) in [(NOW, true), (NOW + 30, true), (NOW + 31, false), (NOW + 30, true)] {
        assert_eq!(cache.identify(&verifier, &token, now_s).is_ok(), is_valid, "{now_s}");
    }
    assert_eq!(counts(&cache), (4, 3, 0));
}

#[test]
fn what_is_refused_does_not_enter() {
    let (cache, verifier) = (Cache::new(2, MANY_BYTES), verifier());
    for number in [1, 2] {
        cache.identify(&verifier, &pilot(number), NOW).unwrap();
    }
    let mut forged = pilot(3);
    let last = forged.len() - 1;
    for number in 0..10_000_usize {
        // each a token of its own, signed by nobody
        forged[last - 8..].copy_from_slice(format!("{number:09}").as_bytes());
        assert!(cache.identify(&verifier, &forged, NOW).is_err());
        let expired = token(&format!(r#"{{"exp":{}}}"#, number % 100));
        assert!(number >= 100 || cache.identify(&verifier, &expired, NOW).is_err());
    }
    for token in [&b""[..], b"a.b", &[b'x'; 20_000]] {
        assert!(cache.identify(&verifier, token, NOW).is_err());
    }
    for number in [1, 2] {
        cache.identify(&verifier, &pilot(number), NOW).unwrap();
    }
    assert_eq!(counts(&cache), (2 + 10_000 + 100 + 3 + 2, 2, 0));
    assert_eq!(cache.len(), 2);
}

#[test]
fn the_oldest_goes_that_nobody_asked_for() {
    let (cache, verifier) = (Cache::new(3, MANY_BYTES), verifier());
    let ask = |number| cache.identify(&verifier, &pilot(number), NOW).unwrap();
    for number in [1, 2, 3, 1, 4] {
        ask(number);
    }
    // 2 went, since 1 was asked for meanwhile
    assert_eq!(counts(&cache), (5, 1, 1));
    ask(1);
    ask(3);
    ask(4);
    assert_eq!(counts(&cache), (8, 4, 1));
    ask(2);
    assert_eq!(counts(&cache), (9, 4, 2));
    assert_eq!(cache.len(), 3);
}

#[test]
fn a_token_in_use_stays_however_many_come() {
    let (cache, verifier) = (Cache::new(20, MANY_BYTES), verifier());
    for number in 1..500 {
        cache.identify(&verifier, &pilot(0), NOW).unwrap();
        cache.identify(&verifier, &pilot(number), NOW).unwrap();
    }
    assert_eq!(counts(&cache), (998, 498, 480));
    assert_eq!(cache.len(), 20);
}

#[test]
fn bytes_are_bounded_too() {
    let (cache, verifier) = (Cache::new(1_000, 100_000), verifier());
    for number in 0..100 {
        let large = token(&format!(r#"{{"number":{number},"x":"{}"}}"#, "x".repeat(4_000)));
        cache.identify(&verifier, &large, NOW).unwrap();
        assert!(cache.lock().bytes <= 100_000);
    }
    assert!((8..12).contains(&cache.len()), "{}", cache.len());
    assert_eq!(counts(&cache), (100, 0, 100 - cache.len() as u64));
    // what alone is too large is answered, and displaces nobody
    let small = Cache::new(10, 1_000);
    small.identify(&verifier, &pilot(1), NOW).unwrap();
    small.identify(&verifier, &token(&format!(r#"{{"x":"{}"}}"#, "x".repeat(2_000))), NOW).unwrap();
    assert_eq!((small.len(), counts(&small).2), (1, 0));
}

#[test]
fn other_settings_forget_what_was_found() {
    let cache = Cache::new(10, MANY_BYTES);
    let token = token(r#"{"role":"pilot","other":"guest","aud":"a"}"#);
    let with = |secret: &[u8], path: &str, audience: Option<&str>| {
        let audience = audience.map(|text| Audience::parse(text).unwrap());
        Verifier::new(Keys::parse(secret).unwrap(), RolePath::parse(path).unwrap(), audience)
    };
    let role = |verifier: &Verifier| {
        let identity = cache.identify(verifier, &token, NOW);
        identity.map(|identity| identity.role().map(str::to_owned)).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(role(&with(SECRET, "$.role", None)), Ok(Some("pilot".into())));
    // the same settings, read again
    assert_eq!(role(&with(SECRET, "$.role", None)), Ok(Some("pilot".into())));
    assert_eq!(counts(&cache), (2, 1, 0));
    assert_eq!(role(&with(SECRET, "$.other", None)), Ok(Some("guest".into())));
    assert_eq!(role(&with(SECRET, "$.role", Some("b"))), Err("JWT not in audience".into()));
    let other = [b'x'; 32];
    assert_eq!(role(&with(&other, "$.role", None)), Err("No suitable key or wrong key type".into()));
    assert_eq!(counts(&cache), (5, 1, 0));
    assert_eq!(cache.len(), 1);
}

#[test]
fn a_cache_of_none_counts_nothing() {
    let (cache, verifier) = (Cache::new(0, MANY_BYTES), verifier());
    assert!(cache.identify(&verifier, &pilot(1), NOW).is_ok());
    assert!(cache.identify(&verifier, b"x", NOW).is_err());
    assert_eq!(counts(&cache), (0, 0, 0));
}

#[test]
fn a_smaller_limit_takes_effect_as_others_come() {
    let (cache, verifier) = (Cache::new(100, MANY_BYTES), verifier());
    for number in 0..100 {
        cache.identify(&verifier, &pilot(number), NOW).unwrap();
    }
    cache.limit(10);
    assert_eq!(cache.len(), 100);
    for number in 100..120 {
        cache.identify(&verifier, &pilot(number), NOW).unwrap();
    }
    assert_eq!(cache.len(), 10);
    cache.limit(0);
    assert_eq!(cache.len(), 0);
}

/// A collision of hashes cannot be made from outside; here two tokens are put under one.
#[test]
fn tokens_that_meet_are_told_apart() {
    let (cache, verifier) = (Cache::new(10, MANY_BYTES), verifier());
    cache.identify(&verifier, &pilot(1), NOW).unwrap();
    {
        let mut state = cache.lock();
        let (old, new) = (cache.hash(&pilot(1)), cache.hash(&pilot(2)));
        let slot = state.entries.remove(&old).unwrap();
        state.entries.insert(new, slot);
        state.ages[0] = new;
    }
    assert_eq!(cache.identify(&verifier, &pilot(2), NOW).unwrap().role(), Some("pilot2"));
    assert_eq!(counts(&cache), (2, 0, 0));
    assert_eq!(cache.len(), 1);
}

/// What is hashed is a token's end. Who knows a token and changes its beginning meets it, is not taken for it, and takes nothing
/// from it.
#[test]
fn a_token_with_the_same_end_is_not_taken_for_another() {
    let (cache, verifier) = (Cache::new(10, MANY_BYTES), verifier());
    let long = token(&format!(r#"{{"role":"pilot","x":"{}"}}"#, "x".repeat(500)));
    cache.identify(&verifier, &long, NOW).unwrap();
    let mut forged = long.clone();
    forged[40] ^= 1;
    assert_eq!(cache.hash(&forged), cache.hash(&long));
    assert!(cache.identify(&verifier, &forged, NOW).is_err());
    assert!(cache.identify(&verifier, &long, NOW).is_ok());
    assert_eq!(counts(&cache), (3, 1, 0));
}

#[test]
fn many_threads_ask_at_once() {
    let (cache, verifier) = (Cache::new(8, MANY_BYTES), verifier());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (cache, verifier) = (&cache, &verifier);
            scope.spawn(move || {
                for round in 0..400 {
                    let number = (round * (thread + 1)) % 16;
                    let identity = cache.identify(verifier, &pilot(number), NOW).unwrap();
                    assert_eq!(identity.role(), Some(&*format!("pilot{number}")));
                }
            });
        }
    });
    assert_eq!(counts(&cache).0, 1_600);
    assert!(cache.len() <= 8);
}
