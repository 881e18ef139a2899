//! The paragliding flight book: its schema, and sample data that looks like three seasons of a club.
//!
//! The data is made up, but plausible: gliders sink and thermals lift as they do, tracks lie where their sites
//! are, and each is a complete file in the public IGC format (FAI, "Technical Specification for GNSS Flight
//! Recorders", appendix A). The same seed gives the same data.

mod igc;
mod load;
mod random;
mod sample;

pub use load::{LoadError, SCHEMA, load};
pub use sample::{Flight, FlightBook};
