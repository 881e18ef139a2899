//! What an application is served from, which is in its program (`build.rs`), written to where its demo runs: a module of each of them.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// By their names in the folder of the application.
pub(super) const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));
/// Of which nothing may be left that another version has written.
const FOLDERS: [&str; 3] = ["pages", "schema", "stories"];

/// Writes what this program is served from into a folder, in the place of what is there.
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
    use std::collections::BTreeMap;

    /// What an application's folder has besides.
    const NOT_SERVED: [&str; 5] = ["Cargo.toml", "README.md", "examples", "src", "tests"];

    /// The files below a folder by their names in it, but those that editors leave.
    fn listing(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if NOT_SERVED.contains(&name.as_str()) || path.file_name().unwrap().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.is_dir() {
                listing(root, &path, files);
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }

    #[test]
    fn what_is_written_is_what_the_application_has_in_its_folder() {
        let (here, written) = (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("OUT_DIR")).join("written"));
        let _ = fs::remove_dir_all(&written);
        let left = written.join("pages/left/of_another_version.html");
        fs::create_dir_all(left.parent().unwrap()).unwrap();
        fs::write(&left, "").unwrap();
        let kept = written.join("secret");
        fs::write(&kept, "").unwrap();
        write(&written).unwrap();
        fs::remove_file(&kept).unwrap();

        let (mut served, mut found) = (BTreeMap::new(), BTreeMap::new());
        listing(here, here, &mut served);
        listing(&written, &written, &mut found);
        assert!(served.len() > 10 && served.contains_key("thalweg.conf"), "{:?}", served.keys());
        assert!(served.keys().eq(found.keys()), "{:?}, not {:?}", found.keys(), served.keys());
        // each of them as it is there
        assert_eq!(served, found);
    }
}
