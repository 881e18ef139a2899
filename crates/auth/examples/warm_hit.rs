//! What a token costs that is known, beside one that is not, for each algorithm and for large tokens:
//! `cargo run --release -p thalweg-auth --example warm_hit`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::Value;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;
use thalweg_auth::{Cache, Keys, RolePath, Verifier};

const NOW_S: i64 = 1_700_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let fixtures: Value = serde_json::from_str(include_str!("../tests/tokens/tokens.json"))?;
    println!("{:8} {:12} {:>6} {:>10} {:>10} {:>6}", "", "", "bytes", "warm, ns", "cold, ns", "ratio");
    for one in fixtures["tokens"].as_array().into_iter().flatten() {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        measure(text("alg"), text("note"), one["public"].to_string().as_bytes(), text("token").as_bytes())?;
    }
    let secret = b"thermals-over-the-ridge-at-noon!";
    for words in [100, 1_000, 2_000] {
        let note = format!("{words} words");
        measure("HS256", &note, secret, large(secret, words).as_bytes())?;
    }
    Ok(())
}

fn measure(alg: &str, note: &str, secret: &[u8], token: &[u8]) -> Result<(), Box<dyn Error>> {
    let verifier = Verifier::new(Keys::parse(secret)?, RolePath::default(), None);
    let cache = Cache::new(1000, 1 << 23);
    cache.identify(&verifier, token, NOW_S)?;
    let warm = nanoseconds(200_000, || cache.identify(&verifier, token, NOW_S).is_ok());
    let cold = nanoseconds(300, || verifier.identify(token, NOW_S).is_ok());
    println!("{alg:8} {note:12} {:>6} {warm:>10.0} {cold:>10.0} {:>6.0}", token.len(), cold / warm);
    Ok(())
}

/// A token whose claims hold an array of so many words.
fn large(secret: &[u8], words: usize) -> String {
    let payload = format!("{{\"role\":\"pilot\",\"words\":[{}0]}}", "\"abc\",".repeat(words));
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(payload));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The median of nine runs.
fn nanoseconds(rounds: u32, what: impl Fn() -> bool) -> f64 {
    let mut runs: Vec<f64> = (0..9)
        .map(|_| {
            let from = Instant::now();
            for _ in 0..rounds {
                assert!(black_box(what()));
            }
            from.elapsed().as_nanos() as f64 / f64::from(rounds)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[4]
}
