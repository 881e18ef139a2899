//! Allocations, counted by an allocator that the compared programs do not have, so that none is slower by it.

use clap::Parser;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::path::PathBuf;
use std::time::Instant;
use thalweg_bench_gloss::ours::{Job, stream_json};
use thalweg_bench_gloss::prepare::Prepared;
use thalweg_bench_gloss::{Outcome, process, texts};
use thalweg_gloss::{Dictionary, Options, Reader};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Parser)]
struct Arguments {
    /// `allocations`, or `novel`
    part: String,
    /// Where what was made stands
    #[arg(long)]
    made: PathBuf,
    /// Where the stories stand
    #[arg(long)]
    stories: PathBuf,
    /// Of one novel only
    #[arg(long)]
    chars: Option<usize>,
}

fn main() -> Outcome {
    let options = Arguments::parse();
    match (options.part.as_str(), options.chars) {
        ("allocations", _) => allocations(&options),
        ("novel", Some(chars)) => novel(&options, chars),
        ("novel", None) => novels(&options),
        _ => Err("there is no such part".into()),
    }
}

/// Allocations while all stories are read again.
fn allocations(options: &Arguments) -> Outcome {
    let dictionary = Dictionary::open(&Prepared::at(&options.made).dictionary)?;
    let stories = texts::stories(&options.stories)?;
    let mut all = serde_json::Map::new();
    for job in Job::ALL {
        let (mut reader, mut out) = (Reader::new(), Vec::new());
        let mut read = || {
            stories.iter().for_each(|story| {
                job.read(&mut reader, &dictionary, story, &mut out);
            });
        };
        read();
        let region = Region::new(ALLOCATOR);
        read();
        let change = region.change();
        all.insert(
            job.name().to_owned(),
            json!({
                "allocations": change.allocations + change.reallocations, "bytes": change.bytes_allocated,
                "per_story": (change.allocations + change.reallocations) as f64 / stories.len() as f64,
            }),
        );
    }
    println!("{}", serde_json::Value::Object(all));
    Ok(())
}

/// Novels of a tenth and of the whole length, each in a process of its own.
fn novels(options: &Arguments) -> Outcome {
    let mut all = Vec::new();
    for chars in ["100000", "1000000"] {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command
            .args(["novel", "--chars", chars])
            .arg("--made")
            .arg(&options.made)
            .arg("--stories")
            .arg(&options.stories);
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        all.push(serde_json::from_slice::<serde_json::Value>(&output.stdout)?);
    }
    println!("{}", json!(all));
    Ok(())
}

fn novel(options: &Arguments, chars: usize) -> Outcome {
    let dictionary = Dictionary::open(&Prepared::at(&options.made).dictionary)?;
    let stories = texts::stories(&options.stories)?;
    let (mut reader, mut out) = (Reader::new(), Vec::new());
    let (mut heap, mut bytes, mut spans) = (0, 0_u64, 0_u64);
    let region = Region::new(ALLOCATOR);
    let started = Instant::now();
    reader.read_all(&dictionary, texts::Novel::new(&stories, chars), &Options::default(), &mut |gloss| {
        spans += gloss.spans().len() as u64;
        bytes += stream_json(gloss, &mut out) as u64;
        let change = region.change();
        heap = heap.max(change.bytes_allocated.saturating_sub(change.bytes_deallocated));
        Ok(())
    })?;
    let json_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    reader.read_all(&dictionary, texts::Novel::new(&stories, chars), &Options::default(), &mut |_| Ok(()))?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{}",
        json!({
            "chars": chars, "chars_per_second": chars as f64 / seconds, "chars_per_second_json": chars as f64 / json_seconds,
            "peak_mib": process::status("VmHWM") as f64 / 1024.0, "heap_peak_mib": heap as f64 / f64::from(1 << 20),
            "own_kib": process::status("RssAnon"), "json_bytes": bytes, "spans": spans,
        })
    );
    Ok(())
}
