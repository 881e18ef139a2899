//! The types of all documents, derived by serde and by our own derives.

pub mod canada;
pub mod citm;
pub mod made;
pub mod twitter;
