//! Calls the empty handler as hyper does, on one thread and without a socket: what a layer costs, where the system's part, nine tenths of a
//! request and most of what makes a measurement uncertain, is left out. Under callgrind two runs with different numbers of calls say how many
//! instructions one has.

use axum::Router;
use axum::body::Body;
use http::{Request, header};
use http_body::Body as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tower_service::Service;

/// How many calls come before those that are measured.
const TO_WARM_UP: u32 = 1000;

/// How long a call takes.
pub(crate) fn nanoseconds(router: Router, calls: u32) -> f64 {
    // as `axum::serve` does, so that its handlers are not made into routes at each call
    let mut router: Router = router.with_state(());
    (0..TO_WARM_UP).for_each(|_| call(&mut router));
    let began = Instant::now();
    (0..calls).for_each(|_| call(&mut router));
    began.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

fn call(router: &mut Router) {
    let context = &mut Context::from_waker(Waker::noop());
    let mut request = Request::new(Body::empty());
    request.headers_mut().insert(header::HOST, http::HeaderValue::from_static("127.0.0.1"));
    let answer = pin!(Service::call(router, request));
    let Poll::Ready(Ok(answer)) = answer.poll(context) else { panic!("the empty handler waits for nothing") };
    let mut body = pin!(answer.into_body());
    while !body.is_end_stream() && matches!(body.as_mut().poll_frame(context), Poll::Ready(Some(Ok(_)))) {}
}
