//! Counts what dictionaries hold, and how long it takes to read them: `cargo run --release --example count -- FILE...`

use std::error::Error;
use std::fs::File;
use std::time::Instant;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let language = arguments.next_if(|argument| argument.len() == 3).unwrap_or_else(|| DEFAULT_LANGUAGE.to_owned());
    for path in arguments {
        count(&path, &language)?;
    }
    Ok(())
}

fn count(path: &str, language: &str) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let (mut headwords, mut readings, mut senses, mut glosses) = (0, 0, 0, 0);
    let (mut names, mut common, mut without_parts) = (0, 0, 0);
    let source = source::read(File::open(path)?, language, &mut |entry| {
        headwords += entry.headwords.len();
        readings += entry.readings.len();
        senses += entry.senses.len();
        glosses += entry.senses.iter().map(|sense| sense.glosses.len()).sum::<usize>();
        names += usize::from(entry.is_name);
        common += usize::from(entry.readings.iter().any(|reading| reading.priority.is_common));
        without_parts += entry.senses.iter().filter(|sense| sense.parts_of_speech.is_empty()).count();
        Ok(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{path}: {:?}, {:?}, {:?}", source.format, source.title, source.created.as_deref().unwrap_or("no date"));
    println!(
        "  {} entries ({names} names, {common} common), {headwords} headwords, {readings} readings",
        source.entries
    );
    println!(
        "  {senses} senses ({without_parts} without a part of speech), {glosses} glosses, {} tags",
        source.tags.len()
    );
    println!("  {seconds:.2} s");
    Ok(())
}
