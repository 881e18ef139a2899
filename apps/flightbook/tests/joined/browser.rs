//! The flight book in a real browser, as people see it: in both languages, on a phone's screen and on a desktop's.

mod reader;
mod season;
mod walk;
