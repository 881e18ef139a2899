//! Puts what an application is served from into its program, so that its demo needs nothing beside it: `served.rs`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// In the folder of the application, if it has them.
const SERVED: [&str; 4] = ["pages", "schema", "stories", "thalweg.conf"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for name in SERVED.iter().filter(|name| root.join(name).exists()) {
        println!("cargo::rerun-if-changed={name}");
        find(&root.join(name), &mut files)?;
    }
    files.sort();
    let mut list = String::from("[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        list += &format!("({name:?}, include_bytes!({file:?}) as &[u8]),\n");
    }
    fs::write(Path::new(&env("OUT_DIR")).join("files.rs"), list + "]")
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // what editors leave beside a file
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            find(&entry.path(), files)?;
        }
    }
    Ok(())
}

fn env(name: &str) -> String {
    std::env::var(name).expect("cargo says it")
}
