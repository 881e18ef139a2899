//! Writes made-up tracks of long days into a folder, to try an upload with: `cargo run -p thalweg-flightbook --example tracks -- DIR 5`

use std::error::Error;
use std::path::PathBuf;
use thalweg_flightbook::FlightBook;

/// Of this many flights of the book at least one is so long.
const EACH: u32 = 40;
const LONG_BYTES: usize = 650_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder")?);
    let count: usize = arguments.next().as_deref().unwrap_or("1").parse()?;
    std::fs::create_dir_all(&folder)?;
    let flights = FlightBook::new(count as u32 * EACH).flights();
    for flight in flights.filter(|flight| flight.igc.len() > LONG_BYTES).take(count) {
        let (path, track) = (folder.join(&flight.file_name), with_extensions(&flight.igc));
        std::fs::write(&path, &track)?;
        println!("{}: {} bytes", path.display(), track.len());
    }
    Ok(())
}

/// A track whose fixes say how exact they are, from how many satellites and how loud it was, as many recorders write them.
fn with_extensions(igc: &str) -> String {
    let mut track = String::with_capacity(igc.len() * 4 / 3);
    let mut are_announced = false;
    for line in igc.lines() {
        let is_fix = line.starts_with('B');
        if is_fix && !are_announced {
            track += "I033638FXA3940SIU4143ENL\r\n";
            are_announced = true;
        }
        track += line;
        track += if is_fix { "00312050\r\n" } else { "\r\n" };
    }
    track
}
