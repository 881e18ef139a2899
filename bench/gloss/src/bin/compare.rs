//! The comparison. `cargo xtask bench-gloss` builds and drives it; what needs a process of its own it runs as itself.

use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use thalweg_bench_gloss::ancestor::Ancestor;
use thalweg_bench_gloss::figures::{Figures, median};
use thalweg_bench_gloss::ours::{Job, stream_json};
use thalweg_bench_gloss::prepare::Prepared;
use thalweg_bench_gloss::{Outcome, process, report, structures, texts};
use thalweg_gloss::{COLUMNS, Dictionary, Meaning, Options, Reader};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Everything
    Run(Run),
    /// What is resident, by steps, in KiB, and how long it takes to open
    Memory {
        #[command(flatten)]
        of: Of,
        /// Whether the file is dropped from the page cache before
        #[arg(long)]
        cold: bool,
    },
    /// What is resident with the ancestor's way
    AncestorMemory(Of),
    /// Threads that share a dictionary
    Threads {
        #[command(flatten)]
        of: Of,
        #[arg(long)]
        count: usize,
        /// How often each reads the stories
        #[arg(long)]
        times: usize,
    },
    /// One job so often, to be counted from outside
    Once {
        #[command(flatten)]
        of: Of,
        /// `ancestor`, `ancestor-names`, `words`, `names`, `json`, `columns`, or of all stories `stories`
        #[arg(long)]
        job: String,
        #[arg(long)]
        times: usize,
    },
    /// What is found in a file, a line each, in columns
    Columns {
        #[command(flatten)]
        of: Of,
        file: PathBuf,
    },
}

/// What everything is done with.
#[derive(Args, Clone)]
struct Of {
    /// Where what was made stands
    #[arg(long)]
    made: PathBuf,
    /// Where the stories stand
    #[arg(long)]
    stories: PathBuf,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    of: Of,
    /// JMdict, or EDICT2
    #[arg(long)]
    words: PathBuf,
    /// ENAMDICT, or JMnedict
    #[arg(long)]
    names: PathBuf,
    /// How often each job is timed
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Where the figures are written
    #[arg(long)]
    raw: PathBuf,
    /// Where the tables are written
    #[arg(long)]
    text: PathBuf,
}

fn main() -> Outcome {
    match Arguments::parse().part {
        Part::Run(options) => run(&options),
        Part::Memory { of, cold } => memory(&of, cold),
        Part::AncestorMemory(of) => ancestor_memory(&of),
        Part::Threads { of, count, times } => threads(&of, count, times),
        Part::Once { of, job, times } => once(&of, &job, times),
        Part::Columns { of, file } => columns(&of, &file),
    }
}

fn run(options: &Run) -> Outcome {
    let prepared = Prepared::at(&options.of.made);
    let mut figures = Figures::default();
    fs::create_dir_all(&options.of.made)?;
    prepared.make(&options.words, &options.names, &mut figures)?;
    let stories = texts::stories(&options.of.stories)?;
    let one = [texts::one(&options.of.stories)?];
    figures.put(
        "texts",
        json!({"one_chars": texts::chars(&one), "stories": stories.len(), "stories_chars": texts::chars(&stories)}),
    );
    compare(&prepared, &stories, &one, options.rounds, &mut figures)?;
    figures.put("structures", structures::compare(&fs::read_to_string(&prepared.keys)?, &stories, options.rounds)?);
    let of = &options.of;
    figures.put("memory_warm", itself(of, &["memory"])?);
    figures.put("memory_cold", itself(of, &["memory", "--cold"])?);
    figures.put("memory_ancestor", itself(of, &["ancestor-memory"])?);
    figures.put("threads", contention(of)?);
    for part in ["allocations", "novel"] {
        figures.put(part, printed(&mut beside("counted", of, &[part])?)?);
    }
    figures.put("instructions", instructions(of)?);
    fs::write(&options.raw, serde_json::to_vec(&figures.0)?)?;
    fs::write(&options.text, report::text(&Value::Object(figures.0)))?;
    Ok(())
}

/// What is timed, in turn.
fn compare(prepared: &Prepared, stories: &[String], one: &[String], rounds: usize, figures: &mut Figures) -> Outcome {
    let started = Instant::now();
    let ancestor = Ancestor::<std::hash::RandomState>::open(&prepared.words, &prepared.names)?;
    let open_s = started.elapsed().as_secs_f64();
    let faster = Ancestor::<foldhash::fast::RandomState>::open(&prepared.words, &prepared.names)?;
    let dictionary = Dictionary::open(&prepared.dictionary)?;
    let (_, lookups) = ancestor.read(&one[0], true);
    figures.put(
        "ancestor",
        json!({"suffix_rules": ancestor.rules(), "keys": ancestor.keys(), "open_s": open_s, "lookups_one": lookups}),
    );
    figures.put("found", differences(&ancestor, &dictionary, stories));
    let (mut reader, mut out) = (Reader::new(), Vec::new());
    let mut us = BTreeMap::<(usize, String), Vec<f64>>::new();
    for _ in 0..rounds {
        for (which, texts) in [one, stories].into_iter().enumerate() {
            let mut put = |name: &str, times: usize, read: &mut dyn FnMut(&str) -> usize| {
                let started = Instant::now();
                for _ in 0..times {
                    texts.iter().for_each(|text| {
                        black_box(read(black_box(text)));
                    });
                }
                let figure = started.elapsed().as_secs_f64() * 1e6 / times as f64;
                us.entry((which, name.to_owned())).or_default().push(figure);
            };
            let times = if which == 0 { 5 } else { 1 };
            put("ancestor: words", times, &mut |text| ancestor.read(text, false).0.len());
            put("ancestor: words and names", times, &mut |text| ancestor.read(text, true).0.len());
            put("ancestor with foldhash: words", times, &mut |text| faster.read(text, false).0.len());
            put("ancestor with foldhash: words and names", times, &mut |text| faster.read(text, true).0.len());
            for job in Job::ALL {
                let times = if which == 0 { 200 } else { 20 };
                put(job.name(), times, &mut |text| job.read(&mut reader, &dictionary, text, &mut out));
            }
        }
    }
    let mut jobs = Vec::new();
    for ((_, name), one_us) in us.range((0, String::new())..(1, String::new())) {
        let stories_us = &us[&(1, name.clone())];
        jobs.push(json!({"name": name, "one_us": median(one_us), "stories_us": median(stories_us),
            "rounds_one_us": one_us, "rounds_stories_us": stories_us}));
    }
    let out_bytes = |job: Job| {
        let (mut reader, mut out) = (Reader::new(), Vec::new());
        job.read(&mut reader, &dictionary, &one[0], &mut out)
    };
    figures.put("json_bytes_one", json!(out_bytes(Job::Json)));
    figures.put("json_once_bytes_one", json!(out_bytes(Job::JsonOnce)));
    figures.put("found_one", json!({"words": out_bytes(Job::Words), "words_and_names": out_bytes(Job::Names), "spans": out_bytes(Job::Places)}));
    figures.put("entries_one", entries(&dictionary, &one[0]));
    figures.put("times", json!(jobs));
    Ok(())
}

/// How often entries are told in a text, and how many there are if each is told once.
fn entries(dictionary: &Dictionary, text: &str) -> Value {
    let (mut reader, mut told, mut once) = (Reader::new(), 0, BTreeSet::new());
    for meaning in reader.read(dictionary, text, &Options::default()).spans().flat_map(|span| span.meanings()) {
        told += 1;
        once.insert(match meaning {
            Meaning::Word(word) => (false, word.key()),
            Meaning::Name(name) => (true, name.key()),
        });
    }
    json!({"told": told, "once": once.len()})
}

/// A place and what stands there: a word's number, or how a name is written.
type Place = (u32, u32, String);

/// What one finds and the other does not.
fn differences<S: BuildHasher + Default>(ancestor: &Ancestor<S>, dictionary: &Dictionary, stories: &[String]) -> Value {
    let (mut words, mut names) = ([0; 3], [0; 3]);
    let mut examples = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for story in stories {
        let mut reader = Reader::new();
        let options = Options { entries_per_span_max: usize::MAX, ..Options::default() };
        let gloss = reader.read(dictionary, story, &options);
        let (mut our_words, mut our_names) = (BTreeSet::<Place>::new(), BTreeSet::<Place>::new());
        for span in gloss.spans().filter(|span| span.number().is_none()) {
            for meaning in span.meanings() {
                match meaning {
                    Meaning::Word(word) => our_words.insert((span.start(), span.end(), word.number().to_string())),
                    Meaning::Name(name) => our_names.insert((span.start(), span.end(), name.headword().to_owned())),
                };
            }
        }
        let (mut their_words, mut their_names) = (BTreeSet::<Place>::new(), BTreeSet::<Place>::new());
        let chars: Vec<char> = story.chars().collect();
        let surface = |place: &Place| chars[place.0 as usize..place.1 as usize].iter().collect::<String>();
        for found in ancestor.read(story, true).0 {
            if found.is_name {
                their_names.insert((found.start, found.end, String::new()));
            } else {
                let number = found.entry.rsplit_once("EntL").map_or("", |(_, number)| number);
                their_words.insert((found.start, found.end, number.to_owned()));
            }
        }
        // in lines a name has a spelling of its own in each; that there is one is what is compared
        let our_names: BTreeSet<Place> =
            our_names.into_iter().map(|(start, end, _)| (start, end, String::new())).collect();
        for (at, (ours, theirs)) in [(&our_words, &their_words), (&our_names, &their_names)].into_iter().enumerate() {
            let sums = if at == 0 { &mut words } else { &mut names };
            sums[0] += ours.intersection(theirs).count();
            sums[1] += ours.difference(theirs).count();
            sums[2] += theirs.difference(ours).count();
            for (which, place) in ours.difference(theirs).map(|p| (0, p)).chain(theirs.difference(ours).map(|p| (1, p)))
            {
                *examples[at * 2 + which].entry(format!("{} {}", surface(place), place.2)).or_insert(0) += 1;
            }
        }
    }
    let [only_ours, only_theirs, names_only_ours, names_only_theirs] = examples;
    json!({
        "words": {"both": words[0], "only_ours": words[1], "only_ancestor": words[2]},
        "names": {"both": names[0], "only_ours": names[1], "only_ancestor": names[2]},
        "words_only_ours": only_ours, "words_only_ancestor": only_theirs,
        "names_only_ours": names_only_ours, "names_only_ancestor": names_only_theirs,
    })
}

/// Itself as a process of its own.
fn itself(of: &Of, arguments: &[&str]) -> Outcome<Value> {
    printed(&mut beside("compare", of, arguments)?)
}

/// A program that is built beside this one.
fn beside(program: &str, of: &Of, arguments: &[&str]) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?.with_file_name(program));
    command.args(arguments).arg("--made").arg(&of.made).arg("--stories").arg(&of.stories);
    Ok(command)
}

fn printed(command: &mut Command) -> Outcome<Value> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} says: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What is resident after each step.
fn memory(of: &Of, cold: bool) -> Outcome {
    let prepared = Prepared::at(&of.made);
    let stories = texts::stories(&of.stories)?;
    if cold {
        process::drop_cached(&prepared.dictionary)?;
    }
    let resident = || process::resident(&prepared.dictionary);
    let at_first = resident();
    let started = Instant::now();
    let dictionary = Dictionary::open(&prepared.dictionary)?;
    let open_us = started.elapsed().as_secs_f64() * 1e6;
    let after_open = resident();
    let (mut reader, mut out) = (Reader::new(), Vec::new());
    let started = Instant::now();
    Job::Names.read(&mut reader, &dictionary, &stories[0], &mut out);
    let first_story_us = started.elapsed().as_secs_f64() * 1e6;
    let after_first = resident();
    stream_json(reader.read(&dictionary, &stories[0], &Options::default()), &mut out);
    let after_first_json = resident();
    stories.iter().for_each(|story| {
        Job::Names.read(&mut reader, &dictionary, story, &mut out);
    });
    let after_stories = resident();
    for story in &stories {
        stream_json(reader.read(&dictionary, story, &Options::default()), &mut out);
    }
    let after_stories_json = resident();
    let novel = texts::Novel::new(&stories, 1_000_000);
    reader.read_all(&dictionary, novel, &Options::default(), &mut |gloss| {
        stream_json(gloss, &mut out);
        Ok(())
    })?;
    let after_novel = resident();
    let mut again = Vec::new();
    for _ in 0..101 {
        let started = Instant::now();
        black_box(Dictionary::open(&prepared.dictionary)?);
        again.push(started.elapsed().as_secs_f64() * 1e6);
    }
    dictionary.verify()?;
    println!(
        "{}",
        json!({
            "open_first_us": open_us, "open_again_us": median(&again), "first_story_us": first_story_us,
            "resident": {"at first": at_first, "after open": after_open, "after the first story": after_first,
                "after the first story as JSON": after_first_json, "after all stories": after_stories,
                "after all stories as JSON": after_stories_json, "after the novel as JSON": after_novel,
                "after the checksums, all pages": resident()},
        })
    );
    Ok(())
}

fn ancestor_memory(of: &Of) -> Outcome {
    let prepared = Prepared::at(&of.made);
    let ancestor = Ancestor::<std::hash::RandomState>::open(&prepared.words, &prepared.names)?;
    for story in texts::stories(&of.stories)? {
        black_box(ancestor.read(&story, true).0.len());
    }
    println!("{}", json!({"resident": {"after all stories": process::resident(&prepared.dictionary)}}));
    Ok(())
}

/// Reads the stories in so many threads, and says how often the kernel took a core from one, or one gave it up.
fn threads(of: &Of, count: usize, times: usize) -> Outcome {
    let prepared = Prepared::at(&of.made);
    let dictionary = Dictionary::open(&prepared.dictionary)?;
    let stories = texts::stories(&of.stories)?;
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                let (mut reader, mut out) = (Reader::new(), Vec::new());
                for _ in 0..times {
                    stories.iter().for_each(|story| {
                        Job::Json.read(&mut reader, &dictionary, story, &mut out);
                    });
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let chars = texts::chars(&stories) * count * times;
    println!("{}", json!({"threads": count, "times": times, "chars_per_second": chars as f64 / seconds}));
    Ok(())
}

/// Counts what threads ask of the kernel to wait for each other: as much for one reading as for many, if there is no lock.
fn contention(of: &Of) -> Outcome<Value> {
    let mut all = Vec::new();
    for count in [1, 2, 4] {
        let mut futexes = Vec::new();
        for times in [1, 20] {
            let out = of.made.join("strace.txt");
            let mut traced = Command::new("strace");
            traced.args(["-f", "-qq", "-e", "trace=futex", "-o"]).arg(&out).arg(std::env::current_exe()?);
            traced.args(["threads", "--count", &count.to_string(), "--times", &times.to_string()]);
            let traced = traced.arg("--made").arg(&of.made).arg("--stories").arg(&of.stories);
            futexes.push(match printed(traced) {
                Ok(_) => json!(fs::read_to_string(&out)?.lines().filter(|line| line.contains("futex(")).count()),
                Err(_) => Value::Null,
            });
        }
        let rate = itself(of, &["threads", "--count", &count.to_string(), "--times", "50"])?;
        all.push(
            json!({"threads": count, "futex_calls_reading_once": futexes[0], "futex_calls_reading_20_times": futexes[1],
            "chars_per_second": rate["chars_per_second"]}),
        );
    }
    Ok(json!(all))
}

const COUNTED_JOBS: [&str; 9] =
    ["ancestor", "ancestor-names", "words", "names", "places", "json", "json-once", "columns", "stories"];

fn once(of: &Of, job: &str, times: usize) -> Outcome {
    let prepared = Prepared::at(&of.made);
    let text = texts::one(&of.stories)?;
    if job.starts_with("ancestor") {
        // without names the rest is not read, which would take long when it is counted
        let nothing = of.made.join("nothing.txt");
        fs::write(&nothing, "")?;
        let names = if job == "ancestor" { &nothing } else { &prepared.names };
        let ancestor = Ancestor::<foldhash::fast::RandomState>::open(&prepared.words, names)?;
        for _ in 0..times {
            black_box(ancestor.read(black_box(&text), job != "ancestor").0.len());
        }
        return Ok(());
    }
    let dictionary = Dictionary::open(&prepared.dictionary)?;
    let (mut reader, mut out) = (Reader::new(), Vec::new());
    if job == "stories" {
        let stories = texts::stories(&of.stories)?;
        for story in (0..times).flat_map(|_| &stories) {
            black_box(Job::Names.read(&mut reader, &dictionary, black_box(story), &mut out));
        }
        return Ok(());
    }
    let at = COUNTED_JOBS[2..].iter().position(|known| *known == job).filter(|at| *at < Job::ALL.len());
    let at = at.ok_or("there is no such job")?;
    for _ in 0..times {
        black_box(Job::ALL[at].read(&mut reader, &dictionary, black_box(&text), &mut out));
    }
    Ok(())
}

/// Instructions for the beginning of one story, which no neighbour on the machine changes: what is more in four readings than in two.
fn instructions(of: &Of) -> Outcome<Value> {
    let mut all = serde_json::Map::new();
    for job in COUNTED_JOBS {
        let count = |times: usize| -> Outcome<u64> {
            let mut command = Command::new("valgrind");
            command.args(["--tool=none", "--version"]);
            if command.output().is_err() {
                return Err("there is no valgrind".into());
            }
            let out = of.made.join(format!("callgrind-{job}-{times}.txt"));
            let mut command = Command::new("valgrind");
            command
                .arg("--tool=callgrind")
                .arg(format!("--callgrind-out-file={}", out.display()))
                .arg(std::env::current_exe()?);
            command.args(["once", "--job", job, "--times", &times.to_string()]);
            let output = command.arg("--made").arg(&of.made).arg("--stories").arg(&of.stories).output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
            }
            let profile = fs::read_to_string(&out)?;
            let sum = profile
                .lines()
                .find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
            Ok(sum.and_then(|sum| sum.trim().parse().ok()).ok_or("callgrind gives no sum")?)
        };
        let counted = count(2).and_then(|two| Ok((count(4)? - two) / 2));
        match counted {
            Ok(counted) => all.insert(job.to_owned(), json!(counted)),
            Err(error) => all.insert(job.to_owned(), json!(format!("not counted: {error}"))),
        };
    }
    Ok(Value::Object(all))
}

fn columns(of: &Of, file: &Path) -> Outcome {
    let dictionary = Dictionary::open(&Prepared::at(&of.made).dictionary)?;
    let text = fs::read_to_string(file)?;
    let (mut reader, mut out) = (Reader::new(), Vec::new());
    print!("line\t{COLUMNS}");
    let options = Options { entries_per_span_max: usize::MAX, ..Options::default() };
    for (number, line) in text.lines().enumerate() {
        out.clear();
        let gloss = reader.read(&dictionary, line, &options);
        gloss.spans().for_each(|span| thalweg_gloss::write_columns(&mut out, span));
        for found in String::from_utf8_lossy(&out).lines() {
            println!("{number}\t{found}");
        }
    }
    Ok(())
}
