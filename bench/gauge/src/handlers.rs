//! The handlers, each measured as hotpath's manual has it where it is built in.

use crate::lists::{self, Flights};
use crate::locked::{self, Shared};
use crate::looped::{self, Names};
use crate::uploads;
use axum::body::Bytes;
use axum::extract::State;

/// What is left is axum, and whoever looks.
#[cfg_attr(feature = "hotpath", hotpath::measure)]
pub(crate) async fn empty() {}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn read(clients: State<Shared>) -> String {
    locked::read(clients).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn fast(clients: State<Shared>) -> String {
    locked::fast(clients).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn cpualloc(names: State<Names>) -> String {
    looped::cpualloc(names).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn cpu(names: State<Names>) -> String {
    looped::cpu(names).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn flights(flights: State<Flights>) -> String {
    lists::flights(flights).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn shown(flights: State<Flights>) -> String {
    lists::shown(flights).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn upload(body: Bytes) -> String {
    uploads::upload(body).await
}

#[cfg_attr(feature = "hotpath", hotpath::measure(future = true))]
pub(crate) async fn once(body: Bytes) -> String {
    uploads::once(body).await
}
