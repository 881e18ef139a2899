//! `thalweg new`

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use thalweg_server::print;

/// A site to start from: its files, by their names in its folder.
const FILES: [(&str, &str); 9] = [
    ("README.md", include_str!("new/README.md")),
    ("thalweg.conf", include_str!("new/thalweg.conf")),
    ("schema/001-books.sql", include_str!("new/schema/001-books.sql")),
    ("schema/002-reviews.sql", include_str!("new/schema/002-reviews.sql")),
    ("pages/_layout.html", include_str!("new/pages/_layout.html")),
    ("pages/index.html", include_str!("new/pages/index.html")),
    ("pages/books/[id].html", include_str!("new/pages/books/[id].html")),
    ("pages/static/style.css", include_str!("new/pages/static/style.css")),
    (".gitignore", include_str!("new/gitignore")),
];

/// Writes a site into a directory that is empty or does not exist, and says what and how to go on.
pub(crate) fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    let shown = directory.display();
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => {
            return Err(format!("{shown} is not empty: name a directory that is, or that does not exist").into());
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(format!("cannot use {shown}: {cause}").into()),
    }
    for (name, text) in FILES {
        let path = directory.join(name);
        write(&path, text).map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
        print(format_args!("{}", path.display()));
    }
    print(format_args!("\nThis runs it, and {shown}/README.md says how to go on:\n\n  thalweg serve {shown}\n"));
    Ok(())
}

/// Nobody's file is written over, even if it has come meanwhile.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::create_new(path)?.write_all(text.as_bytes())
}
