//! The real program, started as a user starts it.

mod admin;
mod bill;
mod browser;
mod clients;
mod crowd;
mod demo;
mod explain;
mod gloss;
mod handover;
mod issuer;
mod joined;
mod kills;
mod log;
mod memory;
mod program;
mod reader;
mod sites;
mod standby;
mod starting;
mod stopping;
mod tutorial;
mod unread;
