//! Lines on their way to standard output or standard error. A thread writes them, so that nobody waits for who reads them.

use super::diagnostics::gap;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// How many bytes of lines may wait for one of the two. What comes beyond that is dropped, and counted.
const WAITING_BYTES_MAX: usize = 1024 * 1024;
/// A buffer that has grown larger is not kept once it has been written, in bytes.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// How long to wait where somebody has made the other end of a pipe one that does not block.
const FULL_PAUSE: Duration = Duration::from_millis(50);

/// What waits to be written to one of the two.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Lines have come.
    came: Condvar,
    /// Everything has been written, or could not be.
    went: Condvar,
    thread: Once,
    /// How many lines have been lost since the start, dropped or not written.
    lost: AtomicU64,
    /// Where it leads, opened anew: the standard library's own has a lock, which a write that hangs would hold.
    open: fn() -> io::Result<OwnedFd>,
}

struct Waiting {
    lines: Vec<u8>,
    /// How many lines have found no room since those that wait came.
    dropped: u64,
    is_writing: bool,
}

pub(super) static OUTPUT: Queue = Queue::new(|| io::stdout().as_fd().try_clone_to_owned());
pub(super) static ERROR: Queue = Queue::new(|| io::stderr().as_fd().try_clone_to_owned());

impl Queue {
    const fn new(open: fn() -> io::Result<OwnedFd>) -> Self {
        Self {
            waiting: Mutex::new(Waiting { lines: Vec::new(), dropped: 0, is_writing: false }),
            came: Condvar::new(),
            went: Condvar::new(),
            thread: Once::new(),
            lost: AtomicU64::new(0),
            open,
        }
    }

    /// Takes whole lines, or counts them as dropped. Never waits for their reader.
    pub(super) fn push(&'static self, lines: &[u8]) {
        self.thread.call_once(|| {
            // Without a thread or a descriptor at the very start nothing is logged, and nothing else will work either.
            let write = || _ = (self.open)().map(|file| self.write(File::from(file)));
            _ = std::thread::Builder::new().name("log".to_owned()).spawn(write);
        });
        self.take(lines);
    }

    /// How many lines have been lost since the start.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn take(&self, lines: &[u8]) {
        let mut waiting = self.lock();
        // what comes behind a gap must not stand before it
        if waiting.dropped > 0 || waiting.lines.len() + lines.len() > WAITING_BYTES_MAX {
            let dropped = count(lines);
            waiting.dropped += dropped;
            self.lost.fetch_add(dropped, Ordering::Relaxed);
        } else {
            waiting.lines.extend_from_slice(lines);
        }
        let is_writing = waiting.is_writing;
        drop(waiting);
        if !is_writing {
            self.came.notify_one();
        }
    }

    /// Waits until what has come has been written, but not beyond the deadline; whether it has.
    pub(super) fn flush(&self, deadline: Instant) -> bool {
        let mut waiting = self.lock();
        while waiting.is_writing || !waiting.lines.is_empty() || waiting.dropped > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            waiting = self.went.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Writes what comes, for ever.
    fn write(&self, to: impl Write) {
        let mut to = Output { to, is_torn: false };
        let mut lines = Vec::new();
        // how many lines are missing before the next that is written
        let mut missing = 0;
        loop {
            let dropped = self.next(&mut lines);
            let gap = if missing > 0 { to.put(gap(missing).as_bytes()) } else { Ok(()) };
            if gap.is_ok() {
                missing = 0;
            }
            missing += match gap.map_or(Err(0), |()| to.put(&lines)) {
                Ok(()) if dropped > 0 => to.put(self::gap(dropped).as_bytes()).map_or(dropped, |()| 0),
                Ok(()) => 0,
                // A full disk, or nobody who reads: they are lost, and the next ones are tried when they come.
                Err(written) => {
                    let unwritten = count(&lines[written..]);
                    self.lost.fetch_add(unwritten, Ordering::Relaxed);
                    unwritten + dropped
                }
            };
            lines.clear();
            if lines.capacity() > KEPT_BYTES_MAX {
                lines = Vec::new();
            }
        }
    }

    /// Waits for lines; how many have been dropped behind them.
    fn next(&self, lines: &mut Vec<u8>) -> u64 {
        let mut waiting = self.lock();
        waiting.is_writing = false;
        self.went.notify_all();
        while waiting.lines.is_empty() && waiting.dropped == 0 {
            waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.is_writing = true;
        std::mem::swap(&mut waiting.lines, lines);
        std::mem::take(&mut waiting.dropped)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where lines are written.
struct Output<W> {
    to: W,
    /// Whether a line stands there without its end.
    is_torn: bool,
}

impl<W: Write> Output<W> {
    /// Writes all of it, or tells how much has been written.
    fn put(&mut self, lines: &[u8]) -> Result<(), usize> {
        if self.is_torn {
            self.put_bytes(b"\n")?;
            self.is_torn = false;
        }
        self.put_bytes(lines).inspect_err(|&written| self.is_torn = written > 0 && lines[written - 1] != b'\n')
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut written = 0;
        while written < bytes.len() {
            match self.to.write(&bytes[written..]) {
                Ok(0) => return Err(written),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(FULL_PAUSE),
                Err(_) => return Err(written),
            }
        }
        Ok(())
    }
}

fn count(lines: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', lines).count() as u64
}

/// A line as one line, whatever texts stand in it: what would end it, or tell a terminal something, is written as an escape.
pub(super) fn one_line(line: &[u8]) -> Cow<'_, [u8]> {
    // C1 controls are two bytes in UTF-8, of which the first is this
    const C1: u8 = 0xc2;
    // and the separators of lines and paragraphs three
    const SEPARATORS: u8 = 0xe2;
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let is_suspect = |byte: &u8| byte.is_ascii_control() || matches!(*byte, C1 | SEPARATORS);
    if !text.iter().any(is_suspect) && text.len() < line.len() {
        return Cow::Borrowed(line);
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    for char in String::from_utf8_lossy(text).chars() {
        match breaks_lines(char) {
            true => escaped.extend(char.escape_default()),
            false => escaped.push(char),
        }
    }
    escaped.push('\n');
    Cow::Owned(escaped.into_bytes())
}

/// What ends a line for some reader, or tells a terminal something.
pub(super) fn breaks_lines(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, pipe};
    use std::sync::atomic::AtomicUsize;

    fn queue() -> &'static Queue {
        Box::leak(Box::new(Queue::new(|| Err(ErrorKind::Unsupported.into()))))
    }

    /// Line by line the numbers from 0 on, with what is said of those that are missing.
    fn in_order(lines: impl Iterator<Item = String>, all: u64) -> u64 {
        let (mut next, mut missing) = (0, 0);
        for line in lines {
            match line.split_once("dropped=") {
                Some((_, dropped)) => {
                    let dropped: u64 = dropped.parse().unwrap();
                    (next, missing) = (next + dropped, missing + dropped);
                }
                None => {
                    assert_eq!(line.split(' ').next(), Some(next.to_string().as_str()), "{line}");
                    next += 1;
                }
            }
            if next == all {
                return missing;
            }
        }
        panic!("{next} of {all} lines are accounted for");
    }

    #[test]
    fn a_pipe_that_nobody_reads_drops_and_counts() {
        let (read, write) = pipe().unwrap();
        let queue = queue();
        std::thread::spawn(|| queue.write(write));
        let line = |number: u64| format!("{number} {}\n", "x".repeat(100));
        let many = 4 * (WAITING_BYTES_MAX / 100) as u64;
        (0..many).for_each(|number| queue.take(line(number).as_bytes()));
        assert!(!queue.flush(Instant::now() + Duration::from_millis(50)), "nobody has read anything");
        assert!(queue.lock().lines.capacity() <= 2 * WAITING_BYTES_MAX);
        let mut lines = BufReader::new(read).lines().map(Result::unwrap);
        let missing = in_order(&mut lines, many);
        assert!(missing > many / 2 && missing < many, "{missing} of {many} were dropped");
        assert_eq!(queue.lost(), missing);
        // it flows again
        (0..3).for_each(|number| queue.take(line(number).as_bytes()));
        assert_eq!(in_order(&mut lines, 3), 0);
        assert!(queue.flush(Instant::now() + Duration::from_secs(60)));
        assert!(queue.lock().lines.capacity() <= KEPT_BYTES_MAX);
    }

    /// A disk that is full after 150 bytes, for a while.
    struct Full {
        written: Vec<u8>,
        refused: &'static AtomicUsize,
        told: std::sync::mpsc::Sender<Vec<u8>>,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = 150_usize.saturating_sub(self.written.len());
            if room == 0 && self.refused.fetch_add(1, Ordering::SeqCst) < 3 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = if room == 0 { bytes.len() } else { room.min(bytes.len()) };
            self.written.extend_from_slice(&bytes[..taken]);
            _ = self.told.send(self.written.clone());
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_whole_lines_and_says_how_many() {
        let refused: &AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let (told, written) = std::sync::mpsc::channel();
        let queue = queue();
        std::thread::spawn(move || queue.write(Full { written: Vec::new(), refused, told }));
        for number in 0..6 {
            queue.take(format!("{number} {}\n", "x".repeat(97)).as_bytes());
            assert!(queue.flush(Instant::now() + Duration::from_secs(60)));
        }
        // one attempt for each line, no more
        assert_eq!(refused.load(Ordering::SeqCst), 7);
        let text = String::from_utf8(written.try_iter().last().unwrap()).unwrap();
        let firsts: Vec<&str> = text.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
        let xs = "x".repeat(97);
        // the second is torn, and counts as one of those that are missing
        assert_eq!(firsts, [&xs[..], &xs[..48], "dropped=3", &xs[..], &xs[..]]);
    }

    #[test]
    fn a_line_stays_one() {
        assert!(matches!(one_line("plain é\n".as_bytes()), Cow::Borrowed(_)));
        for (line, expected) in [
            ("a\nb\r\n\n", "a\\nb\\r\\n\n"),
            ("\u{1b}[2J\u{9b}x\u{7f}\n", "\\u{1b}[2J\\u{9b}x\\u{7f}\n"),
            ("no end", "no end\n"),
            ("", "\n"),
            ("\u{a0}£\n", "\u{a0}£\n"),
            ("a\u{2028}b…\n", "a\\u{2028}b…\n"),
        ] {
            assert_eq!(String::from_utf8_lossy(&one_line(line.as_bytes())), expected);
        }
    }
}
