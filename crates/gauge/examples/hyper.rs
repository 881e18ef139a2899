//! A service on hyper alone, without tower, whose requests are billed.
//!
//! ```text
//! cargo run -p thalweg-gauge --example hyper -- 8000 8001
//! curl http://127.0.0.1:8000/slow && curl http://127.0.0.1:8001/routes
//! ```

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::time::Duration;
use thalweg_gauge::{BillLayer, CountingAllocator, Wait};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: CountingAllocator<std::alloc::System> = CountingAllocator(std::alloc::System);

type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// What the service knows, as it is billed: never the path that a client sent.
fn route(method: &Method, uri: &Uri) -> Option<&'static str> {
    match (method, uri.path()) {
        (&Method::GET, "/") => Some("GET /"),
        (&Method::GET, "/slow") => Some("GET /slow"),
        (&Method::GET, path) if path.starts_with("/things/") => Some("GET /things/{id}"),
        _ => None,
    }
}

async fn answer(request: Request<Incoming>) -> Answer {
    let text = match route(request.method(), request.uri()) {
        Some("GET /slow") => {
            let _stage = thalweg_gauge::stage("sleep");
            thalweg_gauge::waiting(Wait::Timer, tokio::time::sleep(Duration::from_millis(20))).await;
            "slow"
        }
        Some(route) => route,
        None => {
            let mut response = Response::new(Full::from("there is no such page"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        }
    };
    Ok(Response::new(Full::from(text)))
}

async fn serve(listener: TcpListener, layer: BillLayer) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let layer = layer.clone();
        let service = service_fn(move |request| layer.bill(request, answer));
        tokio::spawn(http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service));
    }
}

async fn operate(listener: TcpListener) -> std::io::Result<()> {
    let page = |request: Request<Incoming>| async move {
        Ok::<_, Infallible>(
            thalweg_gauge::admin::answer(request.uri().path(), request.uri().query().unwrap_or_default()).await,
        )
    };
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service_fn(page);
        tokio::spawn(http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service));
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut ports = std::env::args().skip(1).map(|port| port.parse().expect("two ports"));
    let mut listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, ports.next().unwrap_or(0)));
    let (clients, operators) = (listen().await?, listen().await?);
    println!("served on http://{}, the gauge on http://{}", clients.local_addr()?, operators.local_addr()?);
    let layer = thalweg_gauge::layer().routes(|method, uri, _| route(method, uri).map(Cow::Borrowed));
    tokio::try_join!(serve(clients, layer), operate(operators))?;
    Ok(())
}
