//! A value that stands in a file of its own, whose name is given after `@`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

/// More than any set of keys, in bytes.
const VALUE_BYTES_MAX: u64 = 1024 * 1024;

/// What a file holds; an error begins with its name. It is read again with each reload, so that it must be one that lasts.
pub(super) fn read(path: &str) -> Result<Vec<u8>, String> {
    let failed = |cause: &dyn std::fmt::Display| format!("{path}: {cause}");
    // a FIFO is not waited for
    let open = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let file = open.map_err(|cause| failed(&cause))?;
    if !file.metadata().map_err(|cause| failed(&cause))?.is_file() {
        return Err(failed(&"a regular file is needed: no directory, device or pipe"));
    }
    let mut bytes = Vec::new();
    file.take(VALUE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|cause| failed(&cause))?;
    if bytes.len() as u64 > VALUE_BYTES_MAX {
        return Err(failed(&format_args!("it is larger than {VALUE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    #[test]
    fn only_regular_files_of_a_size_are_read() {
        let directory = std::env::temp_dir().join(format!("thalweg-value-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        let most = vec![b'x'; VALUE_BYTES_MAX as usize];
        std::fs::write(path("most"), &most).unwrap();
        std::fs::write(path("more"), [most.as_slice(), b"x"].concat()).unwrap();
        assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        let _socket = UnixListener::bind(path("socket")).unwrap();
        assert!(read(&path("most")).is_ok_and(|read| read == most));
        assert_eq!(read(&path("more")), Err(format!("{}: it is larger than 1048576 bytes", path("more"))));
        let others = [path("fifo"), path(""), "/dev/zero".to_owned(), "/proc/self/fd".to_owned()];
        for other in others {
            assert_eq!(read(&other), Err(format!("{other}: a regular file is needed: no directory, device or pipe")));
        }
        // no file can be opened that is a socket, or is none
        for none in [path("socket"), path("none")] {
            assert!(read(&none).is_err_and(|said| said.starts_with(&format!("{none}: "))));
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
