//! A value that stands in a file of its own, whose name is given after `@`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More than any set of keys, in bytes.
const VALUE_BYTES_MAX: u64 = 1024 * 1024;
/// How long a pipe may take to say all that it has, and how often it is asked.
const PIPE_TIME_MAX: Duration = Duration::from_secs(5);
const PIPE_INTERVAL: Duration = Duration::from_millis(5);

/// What pipes have said, such as the standard input: they say it once, and a reload asks again.
static SAID: LazyLock<Mutex<HashMap<String, Vec<u8>>>> = LazyLock::new(Mutex::default);

/// What a file or pipe holds; an error begins with its name. It is read again with each reload.
pub(super) fn read(path: &str) -> Result<Vec<u8>, String> {
    let failed = |cause: &dyn std::fmt::Display| format!("{path}: {cause}");
    // a FIFO is not waited for
    let open = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let file = open.map_err(|cause| failed(&cause))?;
    let kind = file.metadata().map_err(|cause| failed(&cause))?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(failed(&"a file or a pipe is needed: no directory and no device"));
    }
    let (mut bytes, mut input) = (Vec::new(), file.take(VALUE_BYTES_MAX + 1));
    read_to_end(&mut input, &mut bytes).map_err(|cause| failed(&cause))?;
    if bytes.len() as u64 > VALUE_BYTES_MAX {
        return Err(failed(&format_args!("it is larger than {VALUE_BYTES_MAX} bytes")));
    }
    if kind.is_fifo() {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.is_empty() {
            return said.get(path).cloned().ok_or_else(|| failed(&"nobody writes to this pipe"));
        }
        said.insert(path.to_owned(), bytes.clone());
    }
    Ok(bytes)
}

/// Reads to the end, and waits for a pipe's.
fn read_to_end(input: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match input.read_to_end(bytes) {
            // what has been read is kept
            Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < PIPE_TIME_MAX => {
                std::thread::sleep(PIPE_INTERVAL);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let seconds = PIPE_TIME_MAX.as_secs();
                return Err(io::Error::new(ErrorKind::TimedOut, format!("the pipe has no end after {seconds} s")));
            }
            read => return read.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    /// What a pipe holds unless it is told otherwise (source: pipe(7)).
    const PIPE_BYTES_MAX: usize = 64 * 1024;

    #[test]
    fn files_and_pipes_of_a_size_are_read() {
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
        for other in [path(""), "/dev/zero".to_owned(), "/proc/self/fd".to_owned()] {
            assert_eq!(read(&other), Err(format!("{other}: a file or a pipe is needed: no directory and no device")));
        }
        let fifo = path("fifo");
        assert_eq!(read(&fifo), Err(format!("{fifo}: nobody writes to this pipe")));
        // more than a pipe holds, so that its reader waits for the rest; then from memory, since a pipe says it once
        let said = &most[..PIPE_BYTES_MAX * 4];
        let mut pipe = File::options().read(true).write(true).open(&fifo).unwrap();
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || read(&fifo)
        });
        pipe.write_all(said).unwrap();
        drop(pipe);
        assert!(reader.join().unwrap().is_ok_and(|read| read == said));
        assert!(read(&fifo).is_ok_and(|read| read == said));
        // no file can be opened that is a socket, or is none
        for none in [path("socket"), path("none")] {
            assert!(read(&none).is_err_and(|said| said.starts_with(&format!("{none}: "))));
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
