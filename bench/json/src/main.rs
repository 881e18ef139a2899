//! Writes and reads documents of all kinds by all libraries, in turns, and tells how fast each is.

mod byhand;
mod measure;
mod types;

use measure::{Figure, Job, Measured, Way, measure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};
use thalweg_json::{FromJson, Parser as JsonParser, Reader, ToJson, Visitor};
use types::{canada::Canada, citm::Catalog, made, twitter::Twitter};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(clap::Parser)]
struct Options {
    /// Where `twitter.json`, `canada.json` and `citm_catalog.json` are
    #[arg(long)]
    data: PathBuf,
    /// How often each is timed
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// For how many milliseconds each time
    #[arg(long, default_value_t = 60)]
    millis: u64,
    /// Where the figures are written
    #[arg(long)]
    raw: PathBuf,
}

fn main() -> io::Result<()> {
    let options = <Options as clap::Parser>::parse();
    let file = |name: &str| fs::read(options.data.join(name));
    let (twitter, canada, citm) = (file("twitter.json")?, file("canada.json")?, file("citm_catalog.json")?);
    let log = text_of(&made::Log::example());
    let (table, lines, nested) =
        (text_of(&made::rows(10_000)), text_of(&made::lines(5_000)), text_of(&made::nested(500)));
    let mut all = jobs_of_log(&log);
    all.extend(jobs::<Twitter>("twitter", &twitter));
    all.extend(jobs::<Canada>("canada", &canada));
    all.extend(jobs::<Catalog>("citm_catalog", &citm));
    all.extend(jobs::<Vec<made::Row>>("10,000 rows", &table));
    all.extend(jobs::<Vec<made::Line>>("log, 5 % escaped", &lines));
    all.extend(jobs::<Vec<made::Node>>("100 levels", &nested));
    all.push(passed_over(&table));
    let measured = measure(all, options.rounds, Duration::from_millis(options.millis));
    fs::write(&options.raw, serde_json::to_vec_pretty(&measured.figures).unwrap_or_default())?;
    let Measured { figures, tried, counted, pace } = measured;
    println!("{}Of {tried} rounds {counted} count, the slowest at {pace:.2} of the best pace.", tables(&figures));
    Ok(())
}

fn text_of(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A document written and read as its type. What each way makes is held against what another does.
fn jobs<T>(document: &'static str, text: &[u8]) -> Vec<Job<'static>>
where
    T: Serialize + DeserializeOwned + ToJson + for<'de> FromJson<'de> + PartialEq + std::fmt::Debug + 'static,
{
    let value: &'static T = Box::leak(Box::new(thalweg_json::from_slice(text).expect("the document is of its type")));
    let text: &'static [u8] = Box::leak(text.to_vec().into_boxed_slice());
    let written = thalweg_json::to_vec(value).expect("serde writes it");
    // not serde_json: without a feature that makes it slower its floats may be off by their last bit
    assert!(sonic_rs::from_slice::<T>(&written).expect("it is JSON") == *value, "{document}");
    assert!(sonic_rs::from_slice::<T>(text).expect("it is JSON") == *value, "{document}");
    let mut derived = Vec::new();
    thalweg_json::write(value, &mut derived);
    assert!(derived == written && thalweg_json::read::<T>(text).expect("it is read") == *value, "{document}");
    let mut writes: Vec<Way<'static>> = vec![
        (
            "ours, derived",
            Box::new(move || {
                let mut text = Vec::new();
                thalweg_json::write(black_box(value), &mut text);
                text.len()
            }),
        ),
        ("ours, serde", Box::new(move || thalweg_json::to_vec(black_box(value)).map_or(0, |text| text.len()))),
        ("serde_json", Box::new(move || serde_json::to_vec(black_box(value)).map_or(0, |text| text.len()))),
        ("simd-json", Box::new(move || simd_json::to_vec(black_box(value)).map_or(0, |text| text.len()))),
        ("sonic-rs", Box::new(move || sonic_rs::to_vec(black_box(value)).map_or(0, |text| text.len()))),
    ];
    let mut buffer = Vec::new();
    let mut reads: Vec<Way<'static>> = vec![
        ("ours, derived", Box::new(move || kept(thalweg_json::read::<T>(black_box(text)), text))),
        ("ours, serde", Box::new(move || kept(thalweg_json::from_slice::<T>(black_box(text)), text))),
        ("serde_json", Box::new(move || kept(serde_json::from_slice::<T>(black_box(text)), text))),
        // it writes into the text that it reads, which is copied for it
        (
            "simd-json",
            Box::new(move || {
                buffer.clear();
                buffer.extend_from_slice(black_box(text));
                kept(simd_json::from_slice::<T>(&mut buffer), text)
            }),
        ),
        ("sonic-rs", Box::new(move || kept(sonic_rs::from_slice::<T>(black_box(text)), text))),
    ];
    rapidjson(text, &mut writes, &mut reads);
    vec![
        Job { document, job: "written", bytes: written.len(), ways: writes },
        Job { document, job: "read", bytes: text.len(), ways: reads },
    ]
}

fn kept<T, E: std::fmt::Debug>(value: Result<T, E>, text: &[u8]) -> usize {
    black_box(value).map_or(0, |value| {
        drop(black_box(value));
        text.len()
    })
}

/// RapidJSON has no types: a document is parsed into its values, and written from them.
#[cfg(rapidjson)]
fn rapidjson(text: &'static [u8], writes: &mut Vec<Way<'static>>, reads: &mut Vec<Way<'static>>) {
    use std::ffi::{c_char, c_void};

    unsafe extern "C" {
        fn rapidjson_parse(text: *const c_char, length: usize) -> usize;
        fn rapidjson_document(text: *const c_char, length: usize) -> *mut c_void;
        fn rapidjson_write(document: *const c_void) -> usize;
    }

    // SAFETY: the text is there for as long as the program runs; the document is never freed.
    let document = unsafe { rapidjson_document(text.as_ptr().cast(), text.len()) } as usize;
    // SAFETY: the document was made above, and is only read.
    writes.push(("RapidJSON, values", Box::new(move || unsafe { rapidjson_write(document as *const c_void) })));
    // SAFETY: as above.
    reads.push((
        "RapidJSON, values",
        Box::new(move || unsafe { rapidjson_parse(text.as_ptr().cast(), text.len()) } * text.len()),
    ));
}

#[cfg(not(rapidjson))]
fn rapidjson(_: &'static [u8], _: &mut Vec<Way<'static>>, _: &mut Vec<Way<'static>>) {}

/// The record of the story, with straight-line code beside the libraries.
fn jobs_of_log(text: &[u8]) -> Vec<Job<'static>> {
    let mut jobs = jobs::<made::Log>("the Log", text);
    let log: &'static made::Log = Box::leak(Box::new(made::Log::example()));
    let text: &'static [u8] = Box::leak(text.to_vec().into_boxed_slice());
    let mut growing = byhand::Growing(Vec::new());
    byhand::write(log, &mut growing);
    assert!(growing.0 == text && byhand::read(text).as_ref() == Some(log), "by hand it is the same");
    jobs[0].ways.push((
        "by hand into a Vec",
        Box::new(move || {
            let mut growing = byhand::Growing(Vec::new());
            byhand::write(black_box(log), &mut growing);
            growing.0.len()
        }),
    ));
    let room: &'static mut [u8] = Box::leak(vec![0; 2048].into_boxed_slice());
    let start = room.as_mut_ptr() as usize;
    jobs[0].ways.push(("by hand, raw pointers", Box::new(move || raw::<true>(log, start))));
    jobs[0].ways.push(("by hand, raw, unchecked", Box::new(move || raw::<false>(log, start))));
    jobs[1]
        .ways
        .push(("by hand", Box::new(move || black_box(byhand::read(black_box(text))).map_or(0, |_| text.len()))));
    jobs
}

/// Into memory that is known to be enough.
fn raw<const LOOKS: bool>(log: &made::Log, start: usize) -> usize {
    let mut raw = byhand::Raw::<LOOKS>(start as *mut u8);
    byhand::write(black_box(log), &mut raw);
    raw.0 as usize - start
}

/// A body passed over whole, and as it arrives in pieces of 64 KiB.
fn passed_over(text: &[u8]) -> Job<'static> {
    struct Count(usize);

    impl Visitor for Count {
        type Error = Infallible;

        fn string(&mut self, _: bool, bytes: &[u8], _: usize, _: u64) -> Result<(), Infallible> {
            self.0 += bytes.len();
            Ok(())
        }
    }

    let text: &'static [u8] = Box::leak(text.to_vec().into_boxed_slice());
    let whole = move || JsonParser::new(black_box(text)).skip().map_or(0, |()| text.len());
    let streamed = move || {
        let (mut reader, mut count) = (Reader::document(), Count(0));
        let fed = text.chunks(64 << 10).try_for_each(|chunk| reader.feed(black_box(chunk), &mut count));
        fed.and_then(|()| reader.finish(&mut count)).map_or(0, |()| text.len())
    };
    let ways: Vec<Way<'static>> = vec![("whole", Box::new(whole)), ("as it arrives", Box::new(streamed))];
    Job { document: "10,000 rows", job: "passed over", bytes: text.len(), ways }
}

const PEERS: [&str; 4] = ["serde_json", "simd-json", "sonic-rs", "RapidJSON, values"];

fn tables(figures: &[Figure]) -> String {
    let mut text = String::new();
    for job in ["written", "read", "passed over"] {
        let these: Vec<&Figure> = figures.iter().filter(|figure| figure.job == job).collect();
        let mut ways: Vec<&str> = Vec::new();
        let mut documents: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        let mut order: Vec<(&str, usize)> = Vec::new();
        for figure in &these {
            if !ways.contains(&figure.way) {
                ways.push(figure.way);
            }
            if !order.iter().any(|(document, _)| *document == figure.document) {
                order.push((figure.document, figure.bytes));
            }
            documents.entry(figure.document).or_default().insert(figure.way, figure.median());
        }
        text += &format!(
            "## {}\n\n| | bytes | {} | derived to the best of four | serde to it |\n|{}\n",
            job,
            ways.join(" | "),
            "---|".repeat(ways.len() + 4)
        );
        for (document, bytes) in order {
            let of = &documents[document];
            let best = PEERS.iter().filter_map(|peer| of.get(peer)).copied().fold(0.0, f64::max);
            let cell = |way: &&str| of.get(*way).map_or("".to_owned(), |figure| format!("{figure:.0}"));
            let ratio = |way: &str| {
                of.get(way).filter(|_| best > 0.0).map_or("".to_owned(), |figure| format!("{:.2}", figure / best))
            };
            let cells: Vec<String> = ways.iter().map(cell).collect();
            text += &format!(
                "| {document} | {bytes} | {} | {} | {} |\n",
                cells.join(" | "),
                ratio("ours, derived"),
                ratio("ours, serde")
            );
        }
        text += "\n";
    }
    text
}
