//! A private cluster: made, started, stopped.

use crate::binaries::Binaries;
use crate::error::Error;
use crate::owner::Owner;
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a cluster is to be run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where it is kept; [`crate::default_data_dir`] if nothing is said.
    pub data_dir: Option<PathBuf>,
    /// Whether an existing one is thrown away first.
    pub fresh: bool,
    /// Settings of PostgreSQL's, such as `("fsync", "off")`.
    pub settings: Vec<(String, String)>,
    /// Comparison of texts in a new cluster. An existing cluster keeps the comparison that it was made with.
    pub collation: Collation,
}

/// Comparison of texts by a cluster where a column or a query names no collation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Collation {
    /// By the rules of Unicode for all languages (the locale `und` of ICU): `Ö` comes after `O`, and
    /// `ILIKE` and `lower` recognise the case of all letters. Needs PostgreSQL 15 or later, built
    /// with ICU; otherwise see [`Cluster::notice`].
    #[default]
    Unicode,
    /// By bytes. Only `a` to `z` have upper and lower case.
    Bytes,
}

/// A running cluster. It is stopped when this is dropped. `Debug` leaves out the password.
pub struct Cluster {
    watchdog: Child,
    socket_dir: PathBuf,
    port: u16,
    password: String,
    created: bool,
    notice: Option<String>,
    major: u32,
    /// Holds the lock.
    _lock: File,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Cluster");
        shown.field("socket_dir", &self.socket_dir).field("port", &self.port).field("major", &self.major);
        shown.finish_non_exhaustive()
    }
}

/// The cluster's superuser.
const SUPERUSER: &str = "postgres";
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long PostgreSQL may take for its last checkpoint.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// A socket's path may have 107 bytes, of which its name takes some.
const SOCKET_DIR_BYTES_MAX: usize = 85;

/// Starts PostgreSQL, waits until its own standard input is closed, and stops PostgreSQL.
const WATCHDOG: &str = r#""$@" </dev/null & server=$!; read line; kill -INT $server; wait $server"#;

impl Cluster {
    /// Starts the cluster of a directory, made first if there is none.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let owner = Owner::choose()?;
        let data_dir = options.data_dir.clone().unwrap_or_else(crate::default_data_dir);
        make_dir(&data_dir, 0o755)?;
        owner.own(&data_dir)?;
        let data_dir = data_dir.canonicalize().map_err(|cause| Error::io("cannot find", &data_dir, cause))?;
        let lock = lock(&data_dir)?;
        let home = data_dir.join("cluster");
        let mut version = cluster_version(&home);
        stop_leftover(owner, &home, version)?;
        if options.fresh && home.exists() {
            fs::remove_dir_all(&home).map_err(|cause| Error::io("cannot remove", &home, cause))?;
            version = None;
        }
        let binaries = Binaries::find(version)?;
        let notice = match version {
            Some(_) => None,
            None => initialise(owner, &binaries, (&data_dir, &home), &lock, options.collation)?,
        };
        let password = read_password(&data_dir)?;
        let socket_dir = socket_dir(owner, &data_dir)?;
        let port = free_port()?;
        let watchdog = start(owner, &binaries, &data_dir, &home, &socket_dir, port, options)?;
        let created = version.is_none();
        let major = binaries.major;
        let mut cluster = Self { watchdog, socket_dir, port, password, created, notice, major, _lock: lock };
        cluster.wait_until_ready(&data_dir, &home)?;
        Ok(cluster)
    }

    /// The connection string of a database, over the Unix socket.
    pub fn uri(&self, database: &str) -> String {
        let mut directory = String::new();
        for byte in self.socket_dir.as_os_str().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => directory.push(char::from(*byte)),
                other => directory.push_str(&format!("%{other:02X}")),
            }
        }
        format!("postgresql://{SUPERUSER}:{}@{directory}:{}/{database}", self.password, self.port)
    }

    /// The connection string of a database, over TCP on the loopback address.
    pub fn tcp_uri(&self, database: &str) -> String {
        format!("postgresql://{SUPERUSER}:{}@127.0.0.1:{}/{database}?sslmode=disable", self.password, self.port)
    }

    /// Whether the cluster was made by this start.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Returns a message to the user about a cluster that was made by this start, if texts are
    /// compared in another way than [`Options::collation`] says.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// PostgreSQL's major version.
    pub fn major_version(&self) -> u32 {
        self.major
    }

    /// Stops PostgreSQL (fast shutdown) and waits for its end.
    pub fn stop(mut self) -> Result<(), Error> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<(), Error> {
        drop(self.watchdog.stdin.take());
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline {
            match self.watchdog.try_wait() {
                Ok(Some(_)) | Err(_) => return Ok(()),
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(Error::new("PostgreSQL does not stop"))
    }

    /// PostgreSQL writes its state into the eighth line of its pid file.
    fn wait_until_ready(&mut self, data_dir: &Path, home: &Path) -> Result<(), Error> {
        let deadline = Instant::now() + START_TIMEOUT;
        let port = self.port.to_string();
        while Instant::now() < deadline {
            let state = fs::read_to_string(home.join("postmaster.pid")).unwrap_or_default();
            let lines: Vec<&str> = state.lines().map(str::trim).collect();
            if lines.get(3) == Some(&port.as_str()) && lines.get(7) == Some(&"ready") {
                return Ok(());
            }
            if log_since_start(data_dir).contains("FATAL:") && lines.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(Error::new(format!(
            "PostgreSQL did not start; the end of {} says:\n{}",
            data_dir.join("postgres.log").display(),
            log_since_start(data_dir).trim_end()
        )))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.shut_down();
    }
}

fn make_dir(path: &Path, mode: u32) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|cause| Error::io("cannot make", path, cause))?;
    if mode != 0o755 {
        let made = fs::set_permissions(path, Permissions::from_mode(mode));
        made.map_err(|cause| Error::io("cannot set the permissions of", path, cause))?;
    }
    Ok(())
}

/// One process at a time: the lock goes with the process, however it ends.
fn lock(data_dir: &Path) -> Result<File, Error> {
    let path = data_dir.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|cause| Error::io("cannot open", &path, cause))?;
    if file.try_lock().is_err() {
        let mut holder = String::new();
        let _ = file.read_to_string(&mut holder);
        return Err(Error::new(format!(
            "{} is in use by process {}; stop it, or choose another directory with --data-dir",
            data_dir.display(),
            holder.trim()
        )));
    }
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|cause| Error::io("cannot write", &path, cause))?;
    Ok(file)
}

fn cluster_version(home: &Path) -> Option<u32> {
    fs::read_to_string(home.join("PG_VERSION")).ok()?.trim().parse().ok()
}

/// A server that outlived the process that started it is stopped first. We hold the lock, so it is nobody's.
fn stop_leftover(owner: Owner, home: &Path, version: Option<u32>) -> Result<(), Error> {
    if version.is_none() || !home.join("postmaster.pid").exists() {
        return Ok(());
    }
    let binaries = Binaries::find(version)?;
    let stopped = owner
        .command(&binaries.directory.join("pg_ctl"))
        .args(["stop", "--mode=fast", "--wait", "--pgdata"])
        .arg(home)
        .current_dir(home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // It fails where the pid file is all that is left, which PostgreSQL sees for itself when it starts.
    stopped.map(|_| ()).map_err(|cause| Error::io("cannot run pg_ctl for", home, cause))
}

/// Makes the cluster beside its place and moves it there whole. If this process ends meanwhile, `initdb` goes on for a
/// moment, and holds the lock, so that nobody makes another in its place. Returns a notice if texts
/// are not compared as wanted.
fn initialise(
    owner: Owner,
    binaries: &Binaries,
    (data_dir, home): (&Path, &Path),
    lock: &File,
    collation: Collation,
) -> Result<Option<String>, Error> {
    const UNICODE: &[&str] = &["--locale-provider=icu", "--icu-locale=und"];
    let is_unicode = collation == Collation::Unicode;
    let why = match is_unicode && binaries.major >= ICU_MAJOR_MIN {
        true => match initdb(owner, binaries, (data_dir, home), lock, UNICODE) {
            Ok(()) => return Ok(None),
            Err(error) => error.to_string(),
        },
        false => format!("PostgreSQL {} compares texts by ICU from version {ICU_MAJOR_MIN} on only", binaries.major),
    };
    initdb(owner, binaries, (data_dir, home), lock, &[])?;
    let notice = || {
        format!(
            "The database in {} compares texts by bytes: Z comes before a, and ILIKE and lower() know no case of \
             letters such as Ä. A PostgreSQL of version {ICU_MAJOR_MIN} or later with ICU is needed for more.\n{why}",
            data_dir.display()
        )
    };
    Ok(is_unicode.then(notice))
}

/// The first version whose databases can compare texts by ICU.
const ICU_MAJOR_MIN: u32 = 15;

fn initdb(
    owner: Owner,
    binaries: &Binaries,
    (data_dir, home): (&Path, &Path),
    lock: &File,
    locale: &[&str],
) -> Result<(), Error> {
    let partial = data_dir.join("cluster.partial");
    for leftover in [&partial, &home.to_path_buf()] {
        if leftover.exists() {
            fs::remove_dir_all(leftover).map_err(|cause| Error::io("cannot remove", leftover, cause))?;
        }
    }
    make_dir(&partial, 0o700)?;
    owner.own(&partial)?;
    let password_file = write_password(owner, data_dir)?;
    let held = lock.try_clone().map_err(|cause| Error::io("cannot hold the lock of", data_dir, cause))?;
    let output = owner
        .command(&binaries.directory.join("initdb"))
        .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .args(locale)
        .arg(format!("--username={SUPERUSER}"))
        .arg(format!("--pwfile={}", password_file.display()))
        .arg("--pgdata")
        .arg(&partial)
        .current_dir(data_dir)
        .stdin(held)
        .output();
    let said = match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(cause) => Some(cause.to_string()),
    };
    if let Some(said) = said {
        return Err(Error::new(format!(
            "initdb failed in {}: {said}\n(the user that PostgreSQL runs as must be able to enter the directory and to \
             run {}; root runs it as postgres or nobody)",
            data_dir.display(),
            binaries.directory.display()
        )));
    }
    fs::rename(&partial, home).map_err(|cause| Error::io("cannot move the cluster to", home, cause))
}

fn password_path(data_dir: &Path) -> PathBuf {
    data_dir.join("password")
}

fn write_password(owner: Owner, data_dir: &Path) -> Result<PathBuf, Error> {
    let path = password_path(data_dir);
    let failed = |cause| Error::io("cannot write", &path, cause);
    let _ = fs::remove_file(&path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    let bits: u128 = rand::random();
    writeln!(file, "{bits:032x}").map_err(failed)?;
    owner.own(&path)?;
    Ok(path)
}

fn read_password(data_dir: &Path) -> Result<String, Error> {
    let path = password_path(data_dir);
    let text = fs::read_to_string(&path).map_err(|cause| Error::io("cannot read", &path, cause))?;
    Ok(text.trim().to_owned())
}

/// In the data directory, or where that lies too deep for a socket's path, or has a comma in it, which parts hosts in a
/// connection string, in the directory for temporary files.
fn socket_dir(owner: Owner, data_dir: &Path) -> Result<PathBuf, Error> {
    let inside = data_dir.join("socket");
    let fits = inside.as_os_str().len() <= SOCKET_DIR_BYTES_MAX && !inside.as_os_str().as_bytes().contains(&b',');
    let directory = if fits {
        inside
    } else {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        data_dir.hash(&mut hasher);
        std::env::temp_dir().join(format!("thalweg-{:016x}", hasher.finish()))
    };
    make_dir(&directory, 0o700)?;
    owner.own(&directory)?;
    Ok(directory)
}

fn free_port() -> Result<u16, Error> {
    let address = Path::new("127.0.0.1");
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|cause| Error::io("no free port on", address, cause))?;
    listener.local_addr().map(|address| address.port()).map_err(|cause| Error::io("no free port on", address, cause))
}

fn start(
    owner: Owner,
    binaries: &Binaries,
    data_dir: &Path,
    home: &Path,
    socket_dir: &Path,
    port: u16,
    options: &Options,
) -> Result<Child, Error> {
    let log_path = data_dir.join("postgres.log");
    let failed = |cause| Error::io("cannot write", &log_path, cause);
    let log = File::create(&log_path).map_err(failed)?;
    let mut command: Command = owner.command(Path::new("/bin/sh"));
    command.args(["-c", WATCHDOG, "sh"]).arg(binaries.directory.join("postgres")).arg("-D").arg(home);
    command.args(["-c", "listen_addresses=127.0.0.1", "-c", &format!("port={port}")]);
    // a list, whose items may be quoted
    let socket_dirs = format!("\"{}\"", socket_dir.display().to_string().replace('"', "\"\""));
    command.arg("-c").arg(format!("unix_socket_directories={socket_dirs}"));
    for (name, value) in &options.settings {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    // A group of its own: ctrl-C at the terminal is for us, who then stop PostgreSQL in order.
    command
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        .process_group(0)
        .spawn()
        .map_err(|cause| Error::io("cannot start PostgreSQL in", home, cause))
}

fn log_since_start(data_dir: &Path) -> String {
    fs::read_to_string(data_dir.join("postgres.log")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
