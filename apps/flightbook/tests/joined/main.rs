//! The flight book as it is served: its handlers, pages and API together, over HTTP.

mod accounts;
mod book;
mod browser;
mod executor;
mod export;
mod fetched;
mod formulas;
mod guesses;
mod lost;
mod maps;
mod privacy;
mod quotas;
mod sessions;
mod shares;
mod trusted;
mod twice;
mod uploads;
