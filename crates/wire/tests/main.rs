//! The client against a real PostgreSQL.

mod commits;
mod connecting;
mod pipelines;
mod pooling;
mod splitting;
mod statements;
mod texts;
