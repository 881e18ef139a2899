//! What clients, schemas and faults have done to the server, each attack with its story. Nothing here needs rights that a
//! client or the owner of a schema does not have.

#[allow(dead_code, reason = "plans here have no bodies")]
#[path = "../planned.rs"]
mod planned;
#[path = "../served.rs"]
mod served;
#[allow(dead_code, reason = "the secret itself is not asked for")]
#[path = "../signed.rs"]
mod signed;

mod bodies;
mod computations;
mod crowd;
mod ddl;
mod disk;
mod hosts;
mod identities;
mod media_types;
mod pooler;
mod proxied;
mod random;
mod readers;
mod request_settings;
mod requests_again;
mod seen;
mod sequences;
mod shares;
mod smuggling;
mod stale;
mod state;
mod statements;
mod strictly;
mod torn;
mod uncertain;
mod urls;
