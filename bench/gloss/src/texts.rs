//! The texts that are read: the stories, the beginning of one, and a novel made of their sentences.

use crate::Outcome;
use std::fs;
use std::io::Read;
use std::path::Path;

/// The story whose beginning is read alone, and how much of it.
const ONE: &str = "10-food-waste";
/// A story of the news is so long.
pub const ONE_CHARS: usize = 430;

/// The stories, by their names.
pub fn stories(directory: &Path) -> Outcome<Vec<String>> {
    let files = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = files.into_iter().map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    paths.iter().map(|path| Ok(fs::read_to_string(path)?)).collect()
}

/// The beginning of one story.
pub fn one(directory: &Path) -> Outcome<String> {
    let text = fs::read_to_string(directory.join(ONE).with_extension("txt"))?;
    Ok(text.chars().take(ONE_CHARS).collect())
}

/// How long texts are together.
pub fn chars(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).sum()
}

/// A text of any length that is never whole in memory: the stories' sentences in an order that looks like chance and is always the same.
#[derive(Debug)]
pub struct Novel {
    sentences: Vec<String>,
    state: u64,
    chars_left: usize,
    sentence: usize,
    byte: usize,
    end: usize,
}

impl Novel {
    /// A novel of so many characters.
    pub fn new(stories: &[String], chars: usize) -> Novel {
        let sentences = stories.iter().flat_map(|story| story.split_inclusive(['。', '\n']));
        let sentences = sentences.filter(|sentence| sentence.len() > 3).map(str::to_owned).collect();
        Novel { sentences, state: 0x9e37_79b9_7f4a_7c15, chars_left: chars, sentence: 0, byte: 0, end: 0 }
    }

    fn next(&mut self) {
        // xorshift64
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.sentence = (self.state % self.sentences.len() as u64) as usize;
        let sentence = &self.sentences[self.sentence];
        let end = sentence.char_indices().nth(self.chars_left).map_or(sentence.len(), |(byte, _)| byte);
        self.chars_left -= sentence[..end].chars().count();
        (self.byte, self.end) = (0, end);
    }
}

impl Read for Novel {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.byte == self.end && self.chars_left > 0 {
            self.next();
        }
        let from = &self.sentences[self.sentence].as_bytes()[self.byte..self.end];
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        self.byte += len;
        Ok(len)
    }
}
