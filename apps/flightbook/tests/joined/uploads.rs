//! Tracks that pilots send, and everything that they send in their place.

use crate::book::{Book, Visitor};
use std::fmt::Write as _;
use std::io::Write as _;
use thalweg_flightbook::FlightBook;
use thalweg_flightbook::score::Kind;
use thalweg_testkit::Response;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

pub(crate) fn sample(at: usize) -> (String, Vec<u8>) {
    let flight = FlightBook::new(at as u32 + 1).flights().nth(at).unwrap();
    (flight.file_name, flight.igc.into_bytes())
}

/// An archive of these files.
pub(crate) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

pub(crate) fn location(response: &Response) -> &str {
    assert_eq!(response.status, 303, "{}", response.text());
    response.header("location").unwrap()
}

/// Returns the outcomes on the page about the files that were sent last. The name of a file stands with the first of
/// its outcomes.
pub(crate) fn outcomes(book: &Book) -> String {
    book.database.value(
        "select string_agg(concat_ws(' ', file, problem, 'flight ' || number), ', ' order by place) from flightbook.uploads",
    )
}

pub(crate) fn flights(book: &Book) -> String {
    book.database.value("select count(*) || ' ' || (select count(*) from flightbook.tracks) from flightbook.flights")
}

/// Sends one file, and gives the word for what is wrong with it.
pub(crate) fn refused(ann: &mut Visitor, content: &[u8]) -> String {
    let answer = ann.upload(&[("x.igc", content)]);
    let page = location(&answer).to_owned();
    let word = page.strip_prefix("/flights/new?problem=").unwrap_or_else(|| panic!("{page}"));
    for language in ["en", "de"] {
        ann.language = language;
        let shown = ann.page(&page);
        let problem = shown.split("role=\"alert\">").nth(1).and_then(|rest| rest.split('<').next());
        assert!(problem.is_some_and(|problem| problem.len() > 15), "{word} in {language}");
    }
    word.to_owned()
}

#[test]
fn a_track_becomes_a_flight_with_its_figures() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let site = "name=First&country=CH&latitude=46.659&longitude=8.054";
    let form = [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://test")];
    let (name, igc) = sample(0);
    let answer = ann.upload(&[(&name, &igc)]);
    assert_eq!(location(&answer), "/flights/1");
    assert_eq!(ann.ask("POST", "/sites/new", &form, site.as_bytes()).status, 303);
    let kept = book.database.value(
        "select concat_ws(' ', number, date, duration > '5 minutes', track_distance > 1, altitude_max_m > 500, free_flight_points > 0,
           landing_time - launch_time = duration, g.name <> '', launch_site_id is null)
         from flightbook.flights f join flightbook.gliders g on g.id = f.glider_id",
    );
    let date = &name[..10];
    assert_eq!(kept, format!("1 {date} t t t t t t t"));
    assert_eq!(book.database.value("select encode(igc, 'hex') from flightbook.track_files"), hex(&igc));
    let page = ann.page("/flights/1");
    assert!(page.contains(&name), "{page}");
    let track: serde_json::Value = serde_json::from_str(&ann.page("/flights/1/track.json")).unwrap();
    let count = track["seconds"].as_array().unwrap().len();
    assert!((100..=2000).contains(&count) && track["altitudes_m"].as_array().unwrap().len() == count);
    let fixes = thalweg_flightbook::igc::read(&igc).unwrap().fixes;
    let flown = thalweg_flightbook::track::flights(&fixes)[0].of(&fixes);
    let best = thalweg_flightbook::score::score(flown).unwrap();
    let [a, b, c] = best.best().turnpoints;
    let latitudes = [best.best().start, a, b, c, best.best().finish].map(|at| flown[at].latitude);
    assert_eq!(track["score_latitudes"], serde_json::json!(latitudes));
    assert!(track["scored_as"].as_str().unwrap().ends_with(if best.best().kind == Kind::FreeFlight {
        "flight"
    } else {
        "triangle"
    }));
    // the same once more is the same flight
    assert!(ann.upload(&[(&name, &igc)]).status == 303 && flights(&book) == "1 1");
    assert_eq!(outcomes(&book), format!("{name} known flight 1"));
    assert!(ann.page("/flights/uploaded").contains("already"));
}

#[test]
fn a_flight_is_from_the_nearest_site_that_its_pilot_knows() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let igc = flight_at(46.5, 8.0);
    book.database.execute(
        "insert into flightbook.sites (pilot_id, name, latitude, longitude)
         values (1, 'Near', 46.505, 8.0), (1, 'Nearer', 46.501, 8.001), (1, 'Far', 46.6, 8.0), (2, 'Of Bob', 46.5, 8.0)",
    );
    assert_eq!(location(&ann.upload(&[("a.igc", igc.as_bytes())])), "/flights/1");
    assert_eq!(location(&bob.upload(&[("a.igc", igc.as_bytes())])), "/flights/2");
    let sites = "select string_agg(s.name, ', ' order by f.id) from flightbook.flights f join flightbook.sites s on s.id = f.launch_site_id";
    assert_eq!(book.database.value(sites), "Nearer, Of Bob");
}

#[test]
fn several_files_and_a_season_are_taken_over_each_by_itself() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let samples: Vec<(String, Vec<u8>)> = (0..4).map(sample).collect();
    let [a, b, c, d] = [0, 1, 2, 3].map(|at: usize| (samples[at].0.as_str(), samples[at].1.as_slice()));
    let answer = ann.upload(&[a, ("notes.igc", b"not a track"), b]);
    assert_eq!(location(&answer), "/flights/uploaded");
    assert_eq!(outcomes(&book), format!("{} flight 1, notes.igc not-igc, {} flight 2", a.0, b.0));
    let season = zipped(&[
        ("2024/", b""),
        (&format!("2024/{}", c.0), c.1),
        ("../../../etc/passwd.igc", b"root"),
        ("C:\\flights\\d.IGC", d.1),
        ("readme.txt", b"hello"),
        ("__MACOSX/._d.igc", b"x"),
        ("again.igc", a.1),
    ]);
    assert_eq!(location(&ann.upload(&[("season.zip", &season)])), "/flights/uploaded");
    let told = format!("{} flight 3, passwd.igc not-igc, d.IGC flight 4, again.igc known flight 1", c.0);
    assert_eq!((outcomes(&book), flights(&book)), (told, "4 4".to_owned()));
    ann.language = "de";
    let page = ann.page("/flights/uploaded");
    assert!(page.contains("passwd.igc") && page.contains("Das ist keine IGC-Datei."), "{page}");
}

#[test]
fn files_that_are_sent_at_once_are_taken_over_once_each() {
    let book = Book::start();
    let ann = book.pilot("Ann");
    let samples: Vec<(String, Vec<u8>)> = (0..6).map(sample).collect();
    std::thread::scope(|scope| {
        for (name, igc) in samples.iter().chain(&samples[..3]) {
            let mut visitor = book.again(&ann);
            scope.spawn(move || assert_eq!(visitor.upload(&[(name, igc)]).status, 303));
        }
    });
    assert_eq!(flights(&book), "6 6");
    assert_eq!(
        book.database.value("select string_agg(number::text, ' ' order by number) from flightbook.flights"),
        "1 2 3 4 5 6"
    );
}

#[test]
fn two_flights_in_one_file_are_two_flights() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let (first, second) = (flight_at(46.5, 8.0), flight_on("240724", 46.6, 8.1));
    let both = format!("{first}{second}");
    assert_eq!(location(&ann.upload(&[("both.igc", both.as_bytes())])), "/flights/uploaded");
    assert_eq!((outcomes(&book), flights(&book)), ("both.igc flight 1, flight 2".to_owned(), "2 2".to_owned()));
    assert_eq!(
        book.database.value("select string_agg(date::text, ' ' order by id) from flightbook.flights"),
        "2024-07-23 2024-07-24"
    );
}

#[test]
fn odd_files_are_read_or_refused_with_a_sentence() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let flight = flight_at(46.5, 8.0);
    for (content, word) in [
        (&b""[..], "empty"),
        (b"<!doctype html><p>Sign in", "html"),
        (b"<?xml version='1.0'?><gpx/>", "xml"),
        (b"\x00\xff\xfe", "not-igc"),
        (b"AXXX\nHFDTE230724\n", "no-fixes"),
        (b"AXXX\nB1001014630000N00700001EA0123401230\n", "no-date"),
        (b"AXXX\nHFDTE320124\nB1001014630000N00700001EA0123401230\n", "no-date"),
        (b"AXXX\nHFDTE230724\nB1001014630000N00700001EA0123401230\n", "no-flight"),
        (flight_on("230779", 46.5, 8.0).as_bytes(), "date"),
        (b"PK\x03\x04", "zip-unreadable"),
        (&zipped(&[("a.txt", b"x")]), "zip-empty"),
        (&vec![b'L'; 16 * 1024 * 1024 + 1], "too-long"),
    ] {
        assert_eq!(refused(&mut ann, content), word);
    }
    assert_eq!(flights(&book), "0 0");
    // ten megabytes, Latin-1, lines of Windows, and a name that is no text of one
    let mut large = flight.replace('\n', "\r\n").into_bytes();
    let at = large.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
    large.splice(at..at, *b"HFPLTPILOT:Andr\xe9\r\nHFGTYGLIDERTYPE:K\xf6nig \xdc\r\n");
    while large.len() < 10 * 1024 * 1024 {
        large.extend_from_slice(b"LXXXcomment of a recorder that talks too much\r\n");
    }
    assert_eq!(location(&ann.upload(&[("\u{202e}é .igc", &large)])), "/flights/1");
    assert_eq!(book.database.value("select name from flightbook.gliders"), "König Ü");
    assert_eq!(location(&ann.upload(&[("", b"")])), "/flights/new?problem=no-file");
    let none = ann.ask("POST", "/do/tracks", &[("content-type", "text/plain"), ("origin", "http://test")], b"x");
    assert_eq!(none.status, 400);
    let cut = [("content-type", "multipart/form-data; boundary=B"), ("origin", "http://test")];
    assert_eq!(
        ann.ask("POST", "/do/tracks", &cut, b"--B\r\nContent-Disposition: form-data; name=igc\r\n\r\nx").status,
        400
    );
}

/// A megabyte would unpack to a gibibyte: each file is refused by its size in the directory, and
/// nothing is unpacked.
#[test]
fn archives_cannot_explode() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let zeros = vec![b'\n'; 16 * 1024 * 1024];
    let zeros = zipped(&[("zeros", &zeros)]);
    let mut zeros = ZipArchive::new(std::io::Cursor::new(zeros)).unwrap();
    let mut bomb = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for at in 0..66 {
        bomb.raw_copy_file_rename(zeros.by_index_raw(0).unwrap(), format!("{at}.igc")).unwrap();
    }
    let bomb = bomb.finish().unwrap().into_inner();
    assert!(bomb.len() < 4 * 1024 * 1024);
    assert_eq!(refused(&mut ann, &bomb), "zip-too-much");
    assert_eq!(flights(&book), "0 0");
}

/// All entries of an archive of 13 kB pointed to the same 16 MiB, which were unpacked and read 66
/// times, in 9.6 seconds of a processor.
#[test]
fn entries_of_an_archive_do_not_overlap() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let one = zipped(&[("00.igc", &vec![b'\n'; 16 * 1024 * 1024])]);
    assert_eq!(refused(&mut ann, &one), "zip-too-much");
    let igc = flight_on("230724", 46.5, 8.0);
    let one = zipped(&[("00.igc", igc.as_bytes())]);
    let twice = overlapping(&one, 2);
    assert_eq!(refused(&mut ann, &twice), "zip-overlapping");
    assert_eq!(flights(&book), "0 0");
    assert_eq!(location(&ann.upload(&[("season.zip", &overlapping(&one, 1))])), "/flights/1");
}

/// Builds an archive of one file whose entry occurs several times in the directory, each time under
/// another name.
fn overlapping(archive: &[u8], times: u16) -> Vec<u8> {
    let directory = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let end = archive.windows(4).position(|bytes| bytes == b"PK\x05\x06").unwrap();
    let entry = &archive[directory..end];
    let mut whole = archive[..directory].to_vec();
    for at in 0..times {
        let mut entry = entry.to_vec();
        // The first entry has the name of the local header.
        entry[46..48].copy_from_slice(format!("{at:02}").as_bytes());
        whole.extend(entry);
    }
    let mut record = archive[end..].to_vec();
    record[8..10].copy_from_slice(&times.to_le_bytes());
    record[10..12].copy_from_slice(&times.to_le_bytes());
    record[12..16].copy_from_slice(&(u32::from(times) * entry.len() as u32).to_le_bytes());
    whole.extend(record);
    whole
}

/// The files of all archives and parts of a form are counted together.
#[test]
fn an_upload_has_two_thousand_files_at_most() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let names: Vec<String> = (0..2_001).map(|at| format!("{at}.{}", if at < 1_998 { "txt" } else { "igc" })).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert_eq!(refused(&mut ann, &zipped(&files)), "zip-too-much");
    let season = zipped(&files[..1_999]);
    let sent = ann.upload(&[("a.zip", &season), ("last.igc", b""), ("more.igc", b""), ("b.zip", &zipped(&files[..1]))]);
    assert_eq!(location(&sent), "/flights/uploaded");
    assert_eq!(outcomes(&book), "1998.igc empty, last.igc empty, more.igc too-many, b.zip zip-too-much");
}

/// A ZIP archive with copies of a file of 100 flights had 30,000 outcomes, which took 35 MB, and so
/// did their page.
#[test]
fn an_upload_has_two_thousand_outcomes_at_most_on_pages_of_a_hundred() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let names: Vec<String> = (0..1_999).map(|at| format!("{at}.igc")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let season = zipped(&files);
    let stored = "select count(*) || ' ' || max(place) || ' ' || count(file) from flightbook.uploads";
    assert_eq!(location(&ann.upload(&[("a.zip", &season), ("last.igc", b"")])), "/flights/uploaded");
    assert_eq!(book.database.value(stored), "2000 2000 2000");
    // Flights beyond the bound are added, and counted with the last outcome.
    let days = format!("{}{}", flight_at(46.5, 8.0), flight_on("240724", 46.6, 8.1));
    let season = zipped(&files[..1_998]);
    let sent = [("days.igc", days.as_bytes()), ("a.zip", &season), ("last.igc", b""), ("more.igc", b"")];
    assert_eq!(location(&ann.upload(&sent)), "/flights/uploaded");
    assert_eq!(book.database.value(stored), "2001 2001 1999");
    assert_eq!(flights(&book), "2 2");
    assert!(outcomes(&book).starts_with("days.igc flight 1, flight 2, 0.igc empty"), "{}", &outcomes(&book)[..99]);
    assert!(outcomes(&book).ends_with("1997.igc empty, more flight 2"), "{}", outcomes(&book));
    let (first, last) = (ann.page("/flights/uploaded"), ann.page("/flights/uploaded?page=21"));
    assert_eq!((first.matches("<tr>").count(), last.matches("<tr>").count()), (101, 2));
    assert!(first.contains("the same file") && first.contains("page=21"), "{first}");
    assert!(last.contains("2 further results are not listed here."), "{last}");
    ann.language = "de";
    assert!(ann.page("/flights/uploaded?page=21").contains("2 weitere Ergebnisse"));
    // All flights of an upload beyond the bound are reported as added.
    let season = zipped(&files[..1_997]);
    let sent = [("a.zip", &season[..]), ("b.igc", b""), ("c.igc", b""), ("days.igc", days.as_bytes())];
    assert_eq!(location(&ann.upload(&sent)), "/flights/uploaded");
    assert!(outcomes(&book).ends_with("b.igc empty, c.igc empty, days.igc known flight 1, more flight 1"));
}

/// A flight whose scores were not proven is scored again when its file is sent again.
#[test]
fn a_flight_is_scored_again_until_its_scores_are_proven() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let (name, igc) = sample(0);
    assert_eq!(location(&ann.upload(&[(&name, &igc)])), "/flights/1");
    let scores = "select concat_ws(' ', free_flight_points, free_triangle_points, fai_triangle_points, scores_are_proven) from flightbook.flights";
    let proven = book.database.value(scores);
    assert!(proven.ends_with(" t"), "{proven}");
    assert!(!ann.page("/flights/1").contains("better ones may exist"));
    book.database
        .execute("update flightbook.flights set scores_are_proven = false, free_flight_points = 1, comment = 'mine'");
    assert!(ann.page("/flights/1").contains("better ones may exist"));
    assert_eq!(location(&ann.upload(&[(&name, &igc)])), "/flights/uploaded");
    assert_eq!((outcomes(&book), book.database.value(scores)), (format!("{name} scored flight 1"), proven.clone()));
    assert!(ann.page("/flights/uploaded").contains("best scores have been found now"));
    assert_eq!(book.database.value("select comment from flightbook.flights"), "mine");
    assert_eq!(location(&ann.upload(&[(&name, &igc)])), "/flights/uploaded");
    assert_eq!((outcomes(&book), book.database.value(scores)), (format!("{name} known flight 1"), proven));
}

#[test]
fn who_has_not_signed_in_is_sent_there() {
    let book = Book::start();
    let mut visitor = book.visitor();
    let (name, igc) = sample(0);
    assert_eq!(location(&visitor.upload(&[(&name, &igc)])), "/sign_in?back=/flights/new");
    assert_eq!(flights(&book), "0 0");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

fn flight_at(latitude: f64, longitude: f64) -> String {
    flight_on("230724", latitude, longitude)
}

/// Ten minutes of gliding down to the north, with a fix each second.
pub(crate) fn flight_on(day: &str, latitude: f64, longitude: f64) -> String {
    recorded(day, latitude, longitude, 1)
}

/// Returns the same flight with a fix after each interval. Fewer fixes are scored sooner.
pub(crate) fn recorded(day: &str, latitude: f64, longitude: f64, interval_s: usize) -> String {
    let mut igc = format!("AXTHTLW\nHFDTEDATE:{day},01\n");
    let minutes = |degrees: f64| ((degrees.fract() * 60_000.0).round() as u32).min(59_999);
    for second in (0..600_u32).step_by(interval_s) {
        let north = latitude + f64::from(second) * 0.0001;
        let time = format!("10{:02}{:02}", second / 60, second % 60);
        let altitude = 2000 - second;
        _ = writeln!(
            igc,
            "B{time}{:02}{:05}N{:03}{:05}EA{altitude:05}{altitude:05}",
            north as u32,
            minutes(north),
            longitude as u32,
            minutes(longitude)
        );
    }
    igc
}
