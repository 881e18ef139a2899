//! Three of the stories that Thalweg grew out of, as services that one can measure: each as it was, and mended. The gauge is in by three lines:
//! the allocator, the layer, and the address where it is looked at.
//!
//! ```text
//! cargo run --release -p thalweg-stories -- --port 8000 --admin-port 8001
//! locust -f examples/stories/locustfile.py Read --headless --users 3000 --spawn-rate 100 --run-time 60s --host http://127.0.0.1:8000
//! curl http://127.0.0.1:8001/findings
//! ```

mod lists;
mod locked;
mod looped;
mod uploads;

use axum::Router;
use axum::routing::{get, post};
use clap::Parser;
use std::alloc::System;
use std::net::{Ipv4Addr, SocketAddr};

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<System> = thalweg_gauge::CountingAllocator(System);

#[cfg(target_os = "linux")]
thalweg_gauge::count_copies!();

/// What the stories' services do, and what it costs.
#[derive(Parser)]
struct Arguments {
    /// Where clients ask. 0 is any port that is free.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Where the gauge is looked at.
    #[arg(long, default_value_t = 8001)]
    admin_port: u16,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let stories = Router::new()
        .route("/read", get(locked::read))
        .route("/fast", get(locked::fast))
        .with_state(locked::Shared::default())
        .route("/cpualloc", get(looped::cpualloc))
        .route("/cpu", get(looped::cpu))
        .with_state(looped::Names::default())
        .route("/flights", get(lists::flights))
        .route("/flights/shown", get(lists::shown))
        .with_state(lists::Flights::default())
        .route("/upload", post(uploads::upload))
        .route("/upload/once", post(uploads::once))
        .layer(axum::extract::DefaultBodyLimit::max(uploads::BYTES_MAX))
        .layer(thalweg_gauge::layer());
    let admin = Router::new().fallback_service(thalweg_gauge::admin());
    let listen = |port| tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let (clients, operators) = (listen(arguments.port).await?, listen(arguments.admin_port).await?);
    println!("stories on http://{}, the gauge on http://{}", clients.local_addr()?, operators.local_addr()?);
    tokio::try_join!(axum::serve(clients, stories), axum::serve(operators, admin))?;
    Ok(())
}
