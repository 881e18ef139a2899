//! The flight book as it is served: its handlers, pages and API together, over HTTP.

mod accounts;
mod book;
mod export;
mod privacy;
mod uploads;
