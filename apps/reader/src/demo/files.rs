//! What the reader is served from, written to where the demo runs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// By their names in its folder (`build.rs`).
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));
/// Of which nothing may be left that another version has written.
const FOLDERS: [&str; 3] = ["pages", "schema", "stories"];

/// Writes the configuration, pages, schema and stories of this program into a folder, in the place of those that are there.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn write(folder: &Path) -> io::Result<()> {
    for name in FOLDERS {
        match fs::remove_dir_all(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    for (name, content) in FILES {
        let path = folder.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_program() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        for name in
            ["thalweg.conf", "schema/001-stories.sql", "pages/stories/[number].html", "stories/01-my-family.txt"]
        {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
    }
}
