//! Static files over a socket, with what clients have tried.

use super::StaticFiles;
use crate::answer::{Body, Outlet};
use crate::http::HEAD_BYTES_MAX;
use crate::spool::Spool;
use arc_swap::ArcSwap;
use bytes::{Buf, Bytes};
use flate2::read::GzDecoder;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::fs::{self, File};
use std::future::poll_fn;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use thalweg_testkit::{Client, Response as Received};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const MIB: usize = 1024 * 1024;
/// What one client's file may hold on its way: what the connection is given at once, a piece more, and one read ahead.
const HELD_BYTES_MAX: u64 = 384 * 1024;

/// A folder of static files, and a server of them that has one thread, and one for the disk.
struct Site {
    folder: TempDir,
    files: Arc<ArcSwap<StaticFiles>>,
    outlet: Outlet,
    address: SocketAddr,
    _runtime: Runtime,
}

impl Site {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            write(folder.path().join(name), bytes);
        }
        let files = Arc::new(ArcSwap::from_pointee(StaticFiles::load(folder.path()).unwrap()));
        let outlet = Outlet::new(Spool::new(&std::env::temp_dir(), 0));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, files.clone(), outlet.clone()));
        Self { folder, files, outlet, address, _runtime: runtime }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn load_again(&self) {
        self.files.store(Arc::new(self.files.load().load_again(self.folder.path()).unwrap()));
    }

    fn url(&self, name: &str) -> String {
        self.files.load().url(name).unwrap().to_owned()
    }

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Received {
        Client::connect(self.address).request(method, target, headers)
    }

    fn get(&self, target: &str, headers: &[(&str, &str)]) -> Received {
        self.ask("GET", target, headers)
    }
}

async fn serve(listener: TcpListener, files: Arc<ArcSwap<StaticFiles>>, outlet: Outlet) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (files, outlet) = (files.clone(), outlet.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| exchange(&files, &outlet, request));
            let mut connection = http1::Builder::new();
            connection.max_buf_size(HEAD_BYTES_MAX);
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn exchange(
    files: &ArcSwap<StaticFiles>,
    outlet: &Outlet,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (parts, _) = request.into_parts();
    let answered = match parts.uri.path().strip_prefix("/static/") {
        Some(path) => files.load_full().answer(outlet, &parts, path).await,
        None => None,
    };
    Ok(answered.unwrap_or_else(|| {
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = hyper::StatusCode::NOT_FOUND;
        response
    }))
}

/// Writes a file as if that had been long ago.
fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    age(path, 3600);
}

fn age(path: PathBuf, age_s: u64) {
    let then = SystemTime::now() - Duration::from_secs(age_s);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

/// A file of nothing that takes no room.
fn sparse(path: PathBuf, bytes: u64) {
    File::create(&path).unwrap().set_len(bytes).unwrap();
    age(path, 3600);
}

/// Bytes that say where they belong.
fn numbered(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

#[test]
fn a_file_is_sent_with_its_type_and_kept_by_its_contents() {
    let site = Site::new(&[("css/style.css", b"a{}"), ("a b/ä%.bin", b"x"), ("empty.txt", b"")]);
    let answer = site.get("/static/css/style.css", &[]);
    assert_eq!((answer.status, answer.text()), (200, "a{}"));
    for (name, value) in [
        ("content-type", "text/css; charset=utf-8"),
        ("content-length", "3"),
        ("x-content-type-options", "nosniff"),
        ("accept-ranges", "bytes"),
        ("cache-control", "no-cache"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let head = site.ask("HEAD", "/static/css/style.css", &[("Range", "bytes=0-0")]);
    let without_date = |answer: &Received| {
        let headers = answer.headers.iter().filter(|(name, _)| name != "date");
        headers.cloned().collect::<Vec<_>>()
    };
    assert_eq!((head.status, without_date(&head)), (200, without_date(&answer)));

    for (name, body) in [("css/style.css", "a{}"), ("a b/ä%.bin", "x"), ("empty.txt", "")] {
        let url = site.url(name);
        let answer = site.get(&url, &[]);
        assert_eq!((answer.status, answer.text()), (200, body), "{url}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    assert!(site.url("a b/ä%.bin").starts_with("/static/a%20b/%C3%A4%25.bin?v="));
    let answer = site.get("/static/css/style.css?v=other", &[]);
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-cache")));
    assert_eq!(site.files.load().url("none.css"), None);
}

#[test]
fn a_client_that_has_a_file_is_not_sent_it_again() {
    let large = numbered(MIB + 1);
    let site = Site::new(&[("style.css", b"a{}"), ("large.bin", &large)]);
    for name in ["style.css", "large.bin"] {
        let target = format!("/static/{name}");
        let tag = site.get(&target, &[]).header("etag").unwrap().to_owned();
        for (header, value, status) in [
            ("If-None-Match", tag.clone(), 304),
            ("If-None-Match", format!("W/{tag}"), 304),
            ("If-None-Match", format!("\"x\", {tag}"), 304),
            ("If-None-Match", "*".to_owned(), 304),
            ("If-None-Match", "\"x\"".to_owned(), 200),
            ("If-None-Match", tag.replace('"', ""), 200),
            ("If-Match", tag.clone(), 200),
            ("If-Match", "\"x\"".to_owned(), 412),
        ] {
            for method in ["GET", "HEAD"] {
                let answer = site.ask(method, &target, &[(header, &value)]);
                assert_eq!(answer.status, status, "{method} {name} {header}: {value}");
                assert_eq!(answer.header("etag"), Some(&*tag));
                assert!(status == 200 || answer.body.is_empty());
            }
        }
        let answer = site.get(&site.url(name), &[("If-None-Match", &tag)]);
        assert_eq!((answer.status, answer.header("content-type")), (304, None));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
}

#[test]
fn nothing_is_written_to_a_file() {
    let site = Site::new(&[("style.css", b"a{}")]);
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"] {
        let answer = site.ask(method, "/static/style.css", &[]);
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
        assert_eq!(site.ask(method, "/static/none.css", &[]).status, 404);
    }
}

/// What tried to leave the folder found nothing, also where there is something.
#[test]
fn no_path_leads_out_of_the_folder() {
    let site = Site::new(&[("in/style.css", b"a{}"), ("in/.env", b"secret"), ("in/x", b"x")]);
    site.files.store(Arc::new(StaticFiles::load(&site.path("in")).unwrap()));
    write(site.path("secret.txt"), b"secret");
    // a link that comes when all is loaded
    let large = numbered(2 * MIB);
    write(site.path("in/large.bin"), &large);
    site.files.store(Arc::new(StaticFiles::load(&site.path("in")).unwrap()));
    fs::remove_file(site.path("in/large.bin")).unwrap();
    std::os::unix::fs::symlink(site.path("secret.txt"), site.path("in/large.bin")).unwrap();
    assert_eq!(site.get("/static/style.css", &[]).status, 200);
    let linked = site.get("/static/large.bin", &[]);
    assert_eq!((linked.status, &*linked.body), (503, &b""[..]));
    for path in [
        "../secret.txt",
        "..%2fsecret.txt",
        "..%2Fsecret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "%252e%252e/secret.txt",
        "..%5csecret.txt",
        "..\\secret.txt",
        "x/../style.css",
        "./style.css",
        "/style.css",
        "style.css/",
        "style.css%00",
        "style.css%00.txt",
        "style%2ecss%2f",
        ".env",
        "%2eenv",
        "STYLE.CSS",
        "",
        "%",
        "%2",
        "%c0%ae%c0%ae/secret.txt",
        "/etc/passwd",
        "%2fetc%2fpasswd",
    ] {
        let answer = site.get(&format!("/static/{path}"), &[]);
        assert_eq!((answer.status, &*answer.body), (404, &b""[..]), "{path}");
    }
}

#[test]
fn ranges_are_of_what_is_held_and_of_what_is_on_disk() {
    let (small, large) = (numbered(1000), numbered(3 * MIB + 7));
    let site = Site::new(&[("small.bin", &small), ("large.bin", &large)]);
    for (name, bytes) in [("small.bin", &small), ("large.bin", &large)] {
        let (target, size) = (format!("/static/{name}"), bytes.len());
        let tag = site.get(&target, &[]).header("etag").unwrap().to_owned();
        for (range, part) in [
            ("bytes=0-0".to_owned(), 0..1),
            ("bytes=10-19".to_owned(), 10..20),
            ("bytes=990-".to_owned(), 990..size),
            ("bytes=-7".to_owned(), size - 7..size),
            (format!("bytes={}-", size - 1), size - 1..size),
            (format!("bytes=0-{}", u64::MAX), 0..size),
            ("bytes=-99999999999999999999".to_owned(), 0..size),
        ] {
            let answer = site.get(&target, &[("Range", &range), ("If-Range", &tag)]);
            assert_eq!(answer.status, 206, "{range} of {name}");
            let told = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            assert_eq!(answer.header("content-range"), Some(&*told));
            assert!(answer.whole && answer.body == bytes[part], "{range} of {name}");
        }
        for range in [format!("bytes={size}-"), "bytes=-0".to_owned(), "bytes=99999999999999999999-".to_owned()] {
            let answer = site.get(&target, &[("Range", &range)]);
            assert_eq!((answer.status, answer.body.len()), (416, 0), "{range} of {name}");
            assert_eq!(answer.header("content-range"), Some(&*format!("bytes */{size}")));
        }
        for headers in [
            &[("Range", "bytes=0-1, 5-6")][..],
            &[("Range", "bytes=5-1")],
            &[("Range", "lines=0-1")],
            &[("Range", "bytes=0-1"), ("If-Range", "\"other\"")],
            &[("Range", "bytes=0-1"), ("If-Range", "Wed, 21 Oct 2015 07:28:00 GMT")],
            &[("Range", "bytes=0-1"), ("If-Range", &format!("W/{tag}"))],
        ] {
            let answer = site.get(&target, headers);
            assert!(answer.status == 200 && answer.body == *bytes, "{headers:?} of {name}");
            assert_eq!(answer.header("content-range"), None);
        }
    }
    let empty = Site::new(&[("empty.bin", b"")]);
    assert_eq!(empty.get("/static/empty.bin", &[("Range", "bytes=0-")]).status, 416);
    assert_eq!(empty.get("/static/empty.bin", &[]).status, 200);
}

#[test]
fn a_client_is_sent_the_smallest_encoding_that_it_wants_most() {
    let (style, script) = ("a{color:red}\n".repeat(100), "f();\n".repeat(100));
    let site = Site::new(&[
        ("style.css", style.as_bytes()),
        ("style.css.br", b"as brotli"),
        ("style.css.gz", b"as gzip, longer"),
        ("script.js", script.as_bytes()),
        ("script.js.br", b"as brotli"),
        ("photo.jpg", style.as_bytes()),
    ]);
    for (accepted, coding) in [
        (None, None),
        (Some(""), None),
        (Some("deflate, zstd"), None),
        (Some("gzip"), Some("gzip")),
        (Some("br"), Some("br")),
        (Some("gzip, deflate, br"), Some("br")),
        (Some("gzip;q=1, br;q=0.9"), Some("gzip")),
        (Some("gzip;q=0, br;q=0"), None),
        (Some("br;q=0, *"), Some("gzip")),
        (Some("*;q=0"), None),
        (Some("gzip;q=0.5, identity"), None),
        (Some("gzip;q=0.001"), Some("gzip")),
        (Some("identity;q=0"), None),
    ] {
        let headers: Vec<_> = accepted.map(|accepted| ("Accept-Encoding", accepted)).into_iter().collect();
        let mut tags = Vec::new();
        for (name, plain) in [("style.css", &style), ("script.js", &script)] {
            let answer = site.get(&site.url(name), &headers);
            assert_eq!((answer.status, answer.header("content-encoding")), (200, coding), "{name} {accepted:?}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
            match (name, coding) {
                (_, Some("br")) => assert_eq!(answer.body, b"as brotli"),
                ("style.css", Some("gzip")) => assert_eq!(answer.body, b"as gzip, longer"),
                (_, Some(_)) => {
                    let mut text = String::new();
                    GzDecoder::new(&*answer.body).read_to_string(&mut text).unwrap();
                    assert_eq!(text, *plain);
                }
                (_, None) => assert_eq!(answer.text(), plain),
            }
            tags.push(answer.header("etag").unwrap().to_owned());
            let known: Vec<_> = headers.iter().copied().chain([("If-None-Match", &**tags.last().unwrap())]).collect();
            assert_eq!(site.get(&site.url(name), &known).status, 304, "{name} {accepted:?}");
        }
        let photo = site.get("/static/photo.jpg", &headers);
        assert_eq!((photo.header("content-encoding"), photo.header("vary")), (None, None));
    }
}

/// A download that had begun compressed was continued with bytes of the file as it is.
#[test]
fn a_part_is_never_one_of_another_representation() {
    let style = "a{color:red}\n".repeat(100);
    let site = Site::new(&[("style.css", style.as_bytes()), ("style.css.br", b"as brotli")]);
    let all = |accepted: &str| site.get("/static/style.css", &[("Accept-Encoding", accepted)]);
    let tags = ["br", "gzip", "identity"].map(|accepted| all(accepted).header("etag").unwrap().to_owned());
    assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
    let part = |headers: &[(&str, &str)]| {
        let common = [("Accept-Encoding", "br, gzip"), ("Range", "bytes=2-4")];
        site.get("/static/style.css", &[&common, headers].concat())
    };
    for headers in [&[][..], &[("If-Range", &*tags[2])]] {
        let answer = part(headers);
        assert_eq!((answer.status, answer.text(), answer.header("etag")), (206, "col", Some(&*tags[2])));
        assert_eq!((answer.header("content-encoding"), answer.header("vary")), (None, Some("Accept-Encoding")));
    }
    for tag in &tags[..2] {
        let answer = part(&[("If-Range", tag)]);
        assert_eq!((answer.status, &*answer.body), (200, &b"as brotli"[..]));
    }
    assert_eq!(part(&[("If-None-Match", &tags[0])]).status, 206);
}

#[test]
fn what_is_compressed_of_another_version_is_not_used() {
    let style = "a{color:red}\n".repeat(100);
    let site = Site::new(&[("style.css", style.as_bytes()), ("style.css.br", b"as brotli"), ("x.css", b"a")]);
    let coding = |name: &str| {
        let answer = site.get(&site.url(name), &[("Accept-Encoding", "br, gzip;q=0.5")]);
        answer.header("content-encoding").map(str::to_owned)
    };
    assert_eq!(coding("style.css").as_deref(), Some("br"));
    age(site.path("style.css.br"), 3700);
    site.load_again();
    assert_eq!(coding("style.css").as_deref(), Some("gzip"));
    // nor what is not smaller
    write(site.path("x.css.br"), b"as brotli");
    site.load_again();
    assert_eq!(coding("x.css"), None);
}

#[test]
fn a_folder_that_is_loaded_again_is_served_as_it_is_then() {
    let large = numbered(2 * MIB);
    let site = Site::new(&[("style.css", b"a{}"), ("old.css", b"b{}"), ("same.css", b"c{}"), ("large.bin", &large)]);
    let before = site.files.load_full();
    let names = ["style.css", "old.css", "same.css", "large.bin"];
    let urls = names.map(|name| site.url(name));
    write(site.path("style.css"), b"a{color:red}");
    write(site.path("new.css"), b"d{}");
    fs::remove_file(site.path("old.css")).unwrap();
    // until it is loaded again nothing that is held has changed
    assert_eq!(site.get(&urls[0], &[]).text(), "a{}");
    site.load_again();
    let after = site.files.load_full();
    for (name, is_read) in [("same.css", false), ("large.bin", false), ("style.css", true)] {
        assert_eq!(!Arc::ptr_eq(&before.contents[name], &after.contents[name]), is_read, "{name}");
    }
    assert_eq!((site.url("same.css"), site.url("large.bin")), (urls[2].clone(), urls[3].clone()));
    assert_ne!(site.url("style.css"), urls[0]);
    assert_eq!(site.get("/static/old.css", &[]).status, 404);
    assert_eq!(site.get("/static/new.css", &[]).text(), "d{}");
    // the URL of what was there before is not the name of what is there now
    let answer = site.get(&urls[0], &[]);
    assert_eq!((answer.text(), answer.header("cache-control")), ("a{color:red}", Some("no-cache")));
}

/// A file was saved twice within a tick of the clock, with as many bytes.
#[test]
fn what_has_just_been_written_is_read_again() {
    let (site, now) = (Site::new(&[]), SystemTime::now());
    for text in ["a{}", "b{}"] {
        fs::write(site.path("style.css"), text).unwrap();
        File::options().write(true).open(site.path("style.css")).unwrap().set_modified(now).unwrap();
        site.load_again();
        assert_eq!(site.get("/static/style.css", &[]).text(), text);
    }
}

#[test]
fn a_large_file_that_was_replaced_is_another() {
    let (large, other) = (numbered(2 * MIB), vec![7; 3 * MIB]);
    let site = Site::new(&[("large.bin", &large)]);
    let url = site.url("large.bin");
    let first = site.get(&url, &[]);
    let tag = first.header("etag").unwrap();
    write(site.path("next"), &other);
    fs::rename(site.path("next"), site.path("large.bin")).unwrap();
    let second = site.get(&url, &[("If-None-Match", tag), ("Range", "bytes=5-"), ("If-Range", tag)]);
    assert_eq!((second.status, second.header("cache-control")), (200, Some("no-cache")));
    assert!(second.body == other && second.header("etag") != Some(tag));
    let part = site.get(&url, &[("Range", "bytes=5-8"), ("If-Range", second.header("etag").unwrap())]);
    assert_eq!((part.status, &*part.body), (206, &[7; 4][..]));
    fs::remove_file(site.path("large.bin")).unwrap();
    assert_eq!(site.get(&url, &[]).status, 404);
}

#[test]
fn a_large_file_that_is_written_to_while_it_is_sent_breaks_off() {
    let site = Site::new(&[]);
    for shorten in [false, true] {
        sparse(site.path("large.bin"), 100 * MIB as u64);
        site.load_again();
        let mut client = Client::connect(site.address);
        client.send("GET", "/static/large.bin", &[]);
        client.wait();
        let file = File::options().write(true).open(site.path("large.bin")).unwrap();
        match shorten {
            true => file.set_len(99 * MIB as u64).unwrap(),
            false => file.write_all_at(b"x", 99 * MIB as u64).unwrap(),
        }
        let answer = client.receive(false);
        assert_eq!((answer.status, answer.whole), (200, false), "{shorten}");
    }
}

#[tokio::test]
async fn a_large_file_is_never_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    sparse(folder.path().join("large.bin"), 100 * MIB as u64);
    let files = StaticFiles::load(folder.path()).unwrap();
    let outlet = Outlet::new(Spool::new(&std::env::temp_dir(), 0));
    let (parts, ()) = Request::new(()).into_parts();
    let mut body = files.answer(&outlet, &parts, "large.bin").await.unwrap().into_body();
    let (mut sent, mut held_most) = (0, 0);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        held_most = outlet.held_bytes().max(held_most);
        sent += frame.unwrap().into_data().map_or(0, |data| data.remaining());
    }
    assert_eq!((sent, outlet.held_bytes()), (100 * MIB, 0));
    assert!((1..=HELD_BYTES_MAX).contains(&held_most), "{held_most}");
}

/// With one thread for requests and one for the disk, those who do not read keep neither from the others.
#[test]
fn clients_that_do_not_read_keep_nobody_waiting() {
    let site = Site::new(&[("style.css", b"a{}")]);
    sparse(site.path("large.bin"), 100 * MIB as u64);
    site.load_again();
    let idle = 16;
    let _clients: Vec<_> = (0..idle)
        .map(|_| {
            let mut client = Client::connect(site.address);
            client.send("GET", "/static/large.bin", &[]);
            client.wait();
            client
        })
        .collect();
    assert_eq!(site.get("/static/style.css", &[]).text(), "a{}");
    let answer = site.get("/static/large.bin", &[]);
    assert!(answer.whole && answer.body.len() == 100 * MIB);
    let held = site.outlet.held_bytes();
    assert!((1..=(idle + 1) * HELD_BYTES_MAX).contains(&held), "{held}");
}

#[test]
fn memory_goes_to_small_files_until_there_is_none() {
    let site = Site::new(&[]);
    let held_bytes = |name: &str| match site.files.load().files[name].plain.bytes {
        super::Source::Held(ref bytes) => Some(bytes.len()),
        super::Source::OnDisk(..) => None,
    };
    sparse(site.path("just.bin"), MIB as u64);
    sparse(site.path("more.bin"), MIB as u64 + 1);
    site.load_again();
    assert_eq!((held_bytes("just.bin"), held_bytes("more.bin")), (Some(MIB), None));
    let names: Vec<_> = (0..64).map(|at| format!("{at}.bin")).collect();
    names.iter().for_each(|name| sparse(site.path(name), MIB as u64));
    sparse(site.path("small.bin"), 1);
    for _ in 0..2 {
        site.load_again();
        let all = names.iter().map(|name| &**name).chain(["just.bin", "small.bin"]);
        assert_eq!(all.filter_map(held_bytes).sum::<usize>(), 63 * MIB + 1);
    }
    // what comes later and is smaller takes the place of what is held
    ["a.bin", "b.bin"].iter().for_each(|name| sparse(site.path(name), MIB as u64 - 1));
    site.load_again();
    assert_eq!((held_bytes("a.bin"), held_bytes("b.bin")), (Some(MIB - 1), Some(MIB - 1)));
    let held: usize = site.files.load().files.keys().filter_map(|name| held_bytes(name)).sum();
    assert_eq!(held, 64 * MIB - 1);
    for name in names {
        let answer = site.get(&format!("/static/{name}"), &[]);
        assert!(answer.whole && answer.body.len() == MIB, "{name}");
    }
}

#[test]
fn what_is_too_large_to_be_read_for_it_is_named_by_its_size_and_time() {
    let site = Site::new(&[]);
    sparse(site.path("just.bin"), 256 * MIB as u64);
    sparse(site.path("video.bin"), 256 * MIB as u64 + 1);
    site.load_again();
    let tag = |name: &str| site.ask("HEAD", &site.url(name), &[]).header("etag").unwrap().to_owned();
    assert!(tag("video.bin").starts_with("\"10000001-"), "{}", tag("video.bin"));
    assert!(!tag("just.bin").starts_with("\"10000000-"), "{}", tag("just.bin"));
    let url = site.url("video.bin");
    age(site.path("video.bin"), 60);
    site.load_again();
    assert_ne!(site.url("video.bin"), url);
}
