//! The files of a site's folder, read with a bound on everything.

use crate::error::{Error, ErrorKind};
use std::fs;
use std::io::Read;
use std::path::Path;

/// How long a template may be, or a catalogue of messages.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many files a site may have beside `static/`, and folders.
pub const FILES_MAX: usize = 10_000;
/// How many folders may be within each other.
pub const FOLDERS_DEEP_MAX: usize = 16;
/// How long all templates may be together.
pub const SITE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What is served as it is, and no template.
const STATIC: &str = "static";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The templates and catalogues of a folder by name, in order of their names. What begins with a dot is left out.
pub(crate) fn read(folder: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut reader = Reader { files: Vec::new(), seen: 0, bytes: 0 };
    reader.folder(folder, "", 0)?;
    reader.files.sort();
    Ok(reader.files)
}

struct Reader {
    files: Vec<(String, String)>,
    seen: usize,
    bytes: u64,
}

impl Reader {
    fn folder(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), Error> {
        let shown = if name.is_empty() { folder.display().to_string() } else { name.to_owned() };
        for entry in fs::read_dir(folder).map_err(|error| Error::io(&shown, error))? {
            let entry = entry.map_err(|error| Error::io(&shown, error))?;
            let found = entry.file_name();
            let Some(found) = found.to_str() else {
                let file = Path::new(name).join(&found).display().to_string();
                return Err(Error::of_file(ErrorKind::Name, &file, "the name is not UTF-8"));
            };
            if found.starts_with('.') || (depth == 0 && found == STATIC) {
                continue;
            }
            self.seen += 1;
            if self.seen > FILES_MAX {
                return Err(Error::of_file(
                    ErrorKind::TooMuch,
                    &shown,
                    format!("a site has at most {FILES_MAX} files"),
                ));
            }
            let file = if name.is_empty() { found.to_owned() } else { format!("{name}/{found}") };
            self.entry(&entry, file, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, file: String, depth: usize) -> Result<(), Error> {
        // of a link, what it is itself
        let kind = entry.file_type().map_err(|error| Error::io(&file, error))?;
        if kind.is_dir() {
            if depth == FOLDERS_DEEP_MAX {
                let message = format!("at most {FOLDERS_DEEP_MAX} folders are within each other");
                return Err(Error::of_file(ErrorKind::TooMuch, &file, message));
            }
            return self.folder(&entry.path(), &file, depth + 1);
        }
        if !kind.is_file() {
            return Err(Error::of_file(
                ErrorKind::Name,
                &file,
                "only files and folders are read, no links and no devices",
            ));
        }
        let text = self.text(&entry.path(), &file)?;
        self.files.push((file, text));
        Ok(())
    }

    fn text(&mut self, path: &Path, file: &str) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let opened = fs::File::open(path).map_err(|error| Error::io(file, error))?;
        opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| Error::io(file, error))?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > FILE_BYTES_MAX || self.bytes > SITE_BYTES_MAX {
            let message = format!(
                "a template has at most {FILE_BYTES_MAX} bytes, and all together {SITE_BYTES_MAX}; what is no template belongs in static/"
            );
            return Err(Error::of_file(ErrorKind::TooMuch, file, message));
        }
        // what some editors begin a file with is none of its text
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        str::from_utf8(text).map(str::to_owned).map_err(|_| {
            Error::of_file(ErrorKind::Name, file, "the text is not UTF-8; what is no template belongs in static/")
        })
    }
}
