//! The paragliding flight book: its schema, its sample data, and what it reads off a track.
//!
//! ```text
//! IGC file → igc::read → Track → track::flights → Flight → Figures, Barogram, score::score → Scores
//! ```
//!
//! The sample data looks like three seasons of a club. It is made up, but plausible: gliders sink and thermals lift as they do, tracks lie
//! where their sites are, and each is a complete file in the public IGC format (FAI, "Technical Specification for GNSS Flight
//! Recorders", appendix A). The same seed gives the same data.

mod fly;
pub mod igc;
pub mod join;
mod load;
mod random;
mod sample;
pub mod score;
pub mod track;

pub use load::{LoadError, SCHEMA, load};
pub use sample::{Flight, FlightBook};
