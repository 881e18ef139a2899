//! PostgreSQL's published binaries (Maven Central, `io.zonky.test.postgres`), checked and kept.

use crate::cache_dir;
use crate::error::Error;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use thalweg_fetch::Published;

/// The major version that is fetched.
pub(crate) const MAJOR: u32 = 17;
const VERSION: &str = "17.11.0";
/// `THALWEG_MAVEN_URL` names another repository of the same layout.
const REPOSITORY: &str = "https://repo1.maven.org/maven2";
/// No artifact is larger.
const ARTIFACT_BYTES_MAX: u64 = 200 * 1024 * 1024;

/// Artifact and SHA-256 by operating system and processor.
const ARTIFACTS: [(&str, &str, &str, &str); 4] = [
    ("linux", "x86_64", "linux-amd64", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d"),
    ("linux", "aarch64", "linux-arm64v8", "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b"),
    ("macos", "x86_64", "darwin-amd64", "d464ff178e9860ba204662ac23fa547504b7fd392392ff2fb92e3fd73b5bdb64"),
    ("macos", "aarch64", "darwin-arm64v8", "a1c2786acb0c398f9b2d76806fc52f5dc8b222cbc8e9383a9b9702084daaf3a5"),
];

/// The directory of the fetched programs, fetched now if they are not there yet.
pub(crate) fn fetched() -> Result<PathBuf, Error> {
    let (os, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let (_, _, artifact, checksum) = ARTIFACTS
        .iter()
        .find(|(known_os, known_processor, ..)| (*known_os, *known_processor) == (os, processor))
        .ok_or_else(|| {
            Error::new(format!("no PostgreSQL is installed, and none is published for {os} on {processor}"))
        })?;
    let home = cache_dir().join(format!("postgresql-{VERSION}-{artifact}"));
    if home.join("bin/postgres").is_file() {
        return Ok(home.join("bin"));
    }
    let cache = cache_dir();
    std::fs::create_dir_all(&cache).map_err(|cause| Error::io("cannot make", &cache, cause))?;
    let jar = download(artifact, checksum)?;
    // Unpacked beside its place and moved there whole: a start that is cut off leaves nothing half done.
    let partial = cache.join(format!("postgresql-{VERSION}-{artifact}.{}", std::process::id()));
    unpack(&jar, &partial)?;
    if std::fs::rename(&partial, &home).is_err() {
        // another process was faster
        let _ = std::fs::remove_dir_all(&partial);
    }
    Ok(home.join("bin"))
}

fn download(artifact: &str, checksum: &str) -> Result<Vec<u8>, Error> {
    let repository = std::env::var("THALWEG_MAVEN_URL").ok().filter(|url| !url.is_empty());
    let repository = repository.as_deref().unwrap_or(REPOSITORY).trim_end_matches('/');
    let name = format!("embedded-postgres-binaries-{artifact}");
    let url = format!("{repository}/io/zonky/test/postgres/{name}/{VERSION}/{name}-{VERSION}.jar");
    let what = format!("PostgreSQL {VERSION}");
    let artifact = Published { what: &what, url: &url, sha256: checksum, bytes_max: ARTIFACT_BYTES_MAX };
    artifact.fetch().map_err(|cause| Error::new(cause.to_string()))
}

/// The artifact is a zip file with one `.txz` in it.
fn unpack(jar: &[u8], target: &Path) -> Result<(), Error> {
    let failed = |cause: &dyn std::fmt::Display| Error::new(format!("cannot unpack PostgreSQL: {cause}"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(jar)).map_err(|cause| failed(&cause))?;
    let is_tar = |name: &str| name.ends_with(".txz");
    let name = archive.file_names().flatten().find(|name| is_tar(name)).map(std::borrow::Cow::into_owned);
    let name = name.ok_or_else(|| failed(&"the artifact holds no .txz"))?;
    let entry = archive.by_name(&name).map_err(|cause| failed(&cause))?;
    let mut tar = Vec::new();
    lzma_rs::xz_decompress(&mut BufReader::new(entry), &mut tar).map_err(|cause| failed(&format!("{cause:?}")))?;
    std::fs::create_dir_all(target).map_err(|cause| Error::io("cannot make", target, cause))?;
    tar::Archive::new(tar.as_slice()).unpack(target).map_err(|cause| Error::io("cannot unpack into", target, cause))
}
