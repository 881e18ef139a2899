//! The server over a real socket, on a real PostgreSQL.

mod cases;
mod differential;
mod errors;
mod faults;
mod gathering;
mod injection;
mod reading;
mod reload;
mod representation;
mod served;
mod streaming;
mod types;
mod writing;
