//! The server over a real socket, on a real PostgreSQL.

mod auth;
mod cases;
mod code;
mod configuration;
mod differential;
mod documents;
mod errors;
mod faults;
mod files;
mod flat;
mod forms;
mod injection;
mod jwks;
mod known;
mod never_analysed;
mod pages;
mod planned;
mod reading;
mod reload;
mod representation;
mod round_trips;
mod served;
mod signed;
mod streaming;
mod types;
mod writing;
