//! What each request of a Rust web service costs: time by stage, waits, locks, allocations, copies; and what is wrong with it, in words.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!  ► beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! That is Thalweg. Any other service has the same by three lines; what else can be said stands in the crate's README.
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOCATOR: thalweg_gauge::CountingAllocator<std::alloc::System> = thalweg_gauge::CountingAllocator(std::alloc::System);
//!
//! # use axum::{Router, routing::get};
//! # async fn read() {}
//! # fn main() {
//! let app: Router = Router::new().route("/read", get(read)).layer(thalweg_gauge::layer());
//! let operators: Router = Router::new().fallback_service(thalweg_gauge::admin()); // at an address of its own
//! # }
//! ```
//!
//! A request's bill is opened by a tower layer and added to while its futures are polled:
//!
//! ```text
//!  request ─► layer (service.rs) ─► account.rs ◄── tally.rs    what the thread has allocated and copied (allocations.rs)
//!                │ each poll (task.rs)   ▲  ▲ ◄── clock.rs    time, and of it on the CPU
//!                │                       │  └──── waker.rs    since when it could go on, and from which await it waits
//!                │                       └─────── lock.rs     locks that it waits for, and that it holds
//!                ▼ last byte (ended.rs)
//!         ledger.rs ─► route.rs (sums, histogram.rs, the worst bills) ─► finding.rs   what is wrong, in words
//!                                    sample.rs, watch.rs (stacks) ──┘   │
//!                                                                       ▼
//!                                          admin.rs   pages, JSON, flame graphs, Prometheus (told.rs), OpenTelemetry (otlp.rs)
//! ```

mod account;
pub mod admin;
mod allocations;
#[doc(hidden)]
pub mod budget;
mod clock;
mod copies;
mod ended;
mod finding;
mod histogram;
mod laps;
mod ledger;
pub mod lock;
#[cfg(feature = "mimalloc")]
mod memory;
#[cfg(feature = "otlp")]
pub mod otlp;
mod place;
mod route;
pub mod sample;
mod service;
mod tally;
mod task;
mod told;
mod waker;
mod watch;

pub use account::{Wait, in_place, spent};
pub use admin::admin;
pub use allocations::CountingAllocator;
pub use budget::{ask, bill_of};
pub use copies::copied;
pub use finding::{Finding, findings};
pub use laps::{Lap, Laps, ServerTiming};
#[cfg(feature = "mimalloc")]
pub use memory::give_back_at_once;
pub use route::{Bill, OTHER, ROUTE_BYTES_MAX, ROUTES_MAX};
pub use service::{Answering, BillLayer, BilledBody, Billing, UNMATCHED, layer, tell_requests_above};
pub use tally::Counts;
pub use task::{
    Billed, RouteName, Stage, Waiting, answer_is_whole, billed, blocking, bytes_in, count, route, rows, shape, stage,
    waiting, waits_for,
};
pub use told::prometheus;
