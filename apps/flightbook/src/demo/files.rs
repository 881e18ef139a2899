//! What a flight book is served from, written to where the demo runs.

#[path = "../../../served.rs"]
mod served;

use crate::sample::PILOTS;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use thalweg_server::Secret;

/// What the pages of the demo have besides: the buttons of the sample pilots.
const SAMPLES: (&str, &str) = ("pages/_parts/samples.html", include_str!("samples.html"));

/// Writes the configuration, pages and schema of this program into a folder, in the place of those that are there.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn write(folder: &Path) -> io::Result<()> {
    served::write(folder)?;
    let pilots: Vec<[&str; 2]> = PILOTS.iter().map(|pilot| [pilot.name, pilot.email]).collect();
    let (name, template) = SAMPLES;
    // a list of texts is written in templates as it is in Rust
    fs::write(folder.join(name), template.replace("PILOTS", &format!("{pilots:?}")))
}

/// What the demo's tokens are signed with: kept in its folder, for its owner alone to read, and as old as its database.
///
/// # Errors
///
/// It cannot be read or written.
pub fn secret(folder: &Path, is_new: bool) -> io::Result<Secret> {
    let path = folder.join("secret");
    match fs::read(&path) {
        Ok(secret) if !is_new && secret.len() == SECRET_BYTES => return Ok(Secret::new(secret)),
        Ok(_) => fs::remove_file(&path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(secret.as_bytes())?;
    Ok(Secret::new(secret))
}

/// 256 random bits, in hexadecimal digits.
const SECRET_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buttons_of_the_sample_pilots_are_put_in_the_place_of_none() {
        let names: Vec<&str> = served::FILES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&SAMPLES.0), "{} in {names:?}", SAMPLES.0);
        assert!(SAMPLES.1.contains("in PILOTS %}"), "{}", SAMPLES.1);
    }
}
