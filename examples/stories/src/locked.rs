//! A service answered 19.5 requests/s under 3,000 users: the guard of a mutex lived across an await.

use axum::extract::State;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use thalweg_gauge::Wait;
use thalweg_gauge::lock::Mutex;

/// What it takes to ask somewhere else.
const ELSEWHERE: Duration = Duration::from_millis(50);

/// Clients by their names.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<HashMap<String, u64>>>);

impl Default for Shared {
    fn default() -> Self {
        let clients = (0..1000).map(|number| (format!("client {number}"), number)).collect();
        Shared(Arc::new(Mutex::named("clients", clients)))
    }
}

async fn ask_elsewhere() {
    thalweg_gauge::waiting(Wait::Timer, tokio::time::sleep(ELSEWHERE)).await;
}

/// Who comes next waits until this one has asked somewhere else.
pub(crate) async fn read(State(Shared(clients)): State<Shared>) -> String {
    let clients = clients.lock().await;
    let known = clients.get("client 7").copied().unwrap_or_default();
    ask_elsewhere().await;
    format!("{known} of {}", clients.len())
}

/// The guard is given back before.
pub(crate) async fn fast(State(Shared(clients)): State<Shared>) -> String {
    let (known, count) = {
        let clients = clients.lock().await;
        (clients.get("client 7").copied().unwrap_or_default(), clients.len())
    };
    ask_elsewhere().await;
    format!("{known} of {count}")
}
