//! An empty handler and those of the stories, to see what it costs to look at them, and what is seen: built once for each of the features,
//! alike in all else. `cargo xtask bench-gauge` builds and drives them.

mod calls;
mod handlers;
#[cfg(not(feature = "gauge"))]
mod lock;
#[cfg(feature = "noop")]
mod noop;

// The stories as they are. `crate::thalweg_gauge` is the gauge, or what stands in for it where there is none.
#[path = "../../../examples/stories/src/lists.rs"]
mod lists;
#[path = "../../../examples/stories/src/locked.rs"]
mod locked;
#[path = "../../../examples/stories/src/looped.rs"]
mod looped;
#[path = "../../../examples/stories/src/uploads.rs"]
mod uploads;

#[cfg(not(feature = "gauge"))]
extern crate self as thalweg_gauge;
#[cfg(not(feature = "gauge"))]
use lock::{Wait, waiting};

use axum::Router;
use axum::routing::{get, post};
use clap::Parser;
use mimalloc::MiMalloc;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[cfg(not(any(feature = "gauge", feature = "hotpath-alloc")))]
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[cfg(feature = "gauge")]
#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<MiMalloc> = thalweg_gauge::CountingAllocator(MiMalloc);

#[cfg(feature = "hotpath-alloc")]
#[global_allocator]
static ALLOCATOR: hotpath::CountingAllocator<MiMalloc> = hotpath::CountingAllocator::with(MiMalloc);

#[cfg(feature = "copies")]
thalweg_gauge::count_copies!();

/// Handlers that are looked at.
#[derive(Parser)]
struct Arguments {
    /// Where clients ask. 0 is any port that is free.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Where the gauge is looked at. hotpath's own is `HOTPATH_METRICS_PORT`.
    #[arg(long)]
    admin_port: Option<u16>,
    /// Calls the empty handler so often without a socket, says how long each took, and ends.
    #[arg(long)]
    calls: Option<u32>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    // its report is made when this is dropped
    #[cfg(feature = "hotpath")]
    let _report = hotpath::HotpathGuardBuilder::new("handlers").percentiles(&[50.0, 99.0]).build();
    #[cfg(feature = "hotpath")]
    hotpath::tokio_runtime!();

    if let Some(calls) = arguments.calls {
        println!("{:.1} ns", calls::nanoseconds(looked_at(handlers()), calls));
        return Ok(());
    }
    let clients = listen(arguments.port).await?;
    println!("handlers on http://{}", clients.local_addr()?);
    let mut end = signal(SignalKind::terminate())?;
    tokio::select! {
        served = axum::serve(clients, looked_at(handlers())) => served,
        served = operators(arguments.admin_port) => served,
        _ = end.recv() => Ok(()),
    }
}

async fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

fn handlers() -> Router {
    Router::new()
        .route("/read", get(handlers::read))
        .route("/fast", get(handlers::fast))
        .with_state(locked::Shared::default())
        .route("/cpualloc", get(handlers::cpualloc))
        .route("/cpu", get(handlers::cpu))
        .with_state(looped::Names::default())
        .route("/flights", get(handlers::flights))
        .route("/flights/shown", get(handlers::shown))
        .with_state(lists::Flights::default())
        .route("/upload", post(handlers::upload))
        .route("/upload/once", post(handlers::once))
        .layer(axum::extract::DefaultBodyLimit::max(uploads::BYTES_MAX))
        .route("/", get(handlers::empty))
}

/// The router within the layer of its variant.
fn looked_at(router: Router) -> Router {
    #[cfg(feature = "gauge")]
    let router = router.layer(thalweg_gauge::layer());
    #[cfg(feature = "hotpath")]
    let router = router.layer(hotpath::AxumLayer::new());
    #[cfg(feature = "noop")]
    let router = router.layer(noop::Layer);
    router
}

async fn operators(port: Option<u16>) -> std::io::Result<()> {
    #[cfg(feature = "gauge")]
    if let Some(port) = port {
        return axum::serve(listen(port).await?, Router::new().fallback_service(thalweg_gauge::admin())).await;
    }
    let _ = port;
    std::future::pending().await
}
