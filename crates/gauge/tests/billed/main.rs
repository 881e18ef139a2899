//! What the gauge says of requests, in a program that counts all there is to count.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod budget;
mod findings;
mod locks;
#[path = "../counted/not_compared.rs"]
mod not_compared;
mod otlp;
mod sums;
mod wakers;

use http::Response;
use http_body_util::BodyExt;

thalweg_gauge::count_copies!();

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<std::alloc::System> =
    thalweg_gauge::CountingAllocator(std::alloc::System);

/// What the gauge's own address says.
async fn ask_gauge(path: &str, query: &str) -> serde_json::Value {
    let answer = thalweg_gauge::admin::answer(path, query).await;
    assert_eq!(answer.status(), 200, "{path}?{query}");
    serde_json::from_slice(&ended(answer).await).unwrap()
}

/// The body of an answer, whose bill is made out by now.
async fn ended<B: http_body::Body<Error: std::fmt::Debug>>(answer: Response<B>) -> bytes::Bytes {
    answer.into_body().collect().await.unwrap().to_bytes()
}
