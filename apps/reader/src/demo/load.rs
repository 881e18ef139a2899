//! Puts the stories of a folder into the database.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use thalweg_wire::{Config, Connection, Error, Param, Query, Texts};

/// A file with a story is no larger.
const STORY_BYTES_MAX: u64 = 64 << 10;

/// What is there already is as the files have it afterwards, and what they do not have is gone.
const PUT: &str = "insert into reader.stories (number, title, level, text)
  select number, title, level, text
  from jsonb_to_recordset($1) as s (number int, title text, level text, text text)
  on conflict (number) do update set title = excluded.title, level = excluded.level, text = excluded.text
  where (stories.title, stories.level, stories.text) is distinct from (excluded.title, excluded.level, excluded.text)";
const REMOVE: &str = "delete from reader.stories where number not in
  (select number from jsonb_to_recordset($1) as s (number int))";

/// Why the stories are not there.
#[derive(Debug)]
pub enum LoadError {
    /// The folder cannot be read.
    Folder(io::Error),
    /// A file is no story: a number before its name, a title, a level and an empty line before its text.
    Story(String),
    /// The database is out of reach, or has another schema.
    Database(Error),
}

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Folder(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot load the stories: ")?;
        match self {
            Self::Folder(error) => error.fmt(f),
            Self::Story(name) => write!(f, "{name} is none"),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// Makes the stories of the database those of a folder. Gives how many there are.
///
/// # Errors
///
/// The folder has what is no story, or the database does not take them.
pub async fn load(folder: &Path, uri: &str) -> Result<usize, LoadError> {
    let mut stories = Vec::new();
    for entry in fs::read_dir(folder.join("stories"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".txt") {
            let is_long = fs::metadata(&path)?.len() > STORY_BYTES_MAX;
            let story = if is_long { None } else { story(&name, &fs::read_to_string(&path)?) };
            stories.push(story.ok_or(LoadError::Story(name))?);
        }
    }
    let count = stories.len();
    let stories = thalweg_json::Value::Array(stories).to_string();
    let mut connection = Connection::connect(&Config::parse(uri)?).await?;
    for statement in [PUT, REMOVE] {
        let params = [Param::Text(stories.as_str().into())];
        let query = Query { params: &params, writes: true, ..Query::bare(statement) };
        connection.run(&[query], &mut Texts::default()).await.map_err(Error::from)?;
    }
    connection.terminate().await;
    Ok(count)
}

/// A file `01-my-family.txt`: its title, its level, an empty line, and the text.
fn story(name: &str, content: &str) -> Option<thalweg_json::Value> {
    let number: u16 = name.split('-').next()?.parse().ok()?;
    let (title, rest) = content.split_once('\n')?;
    let (level, rest) = rest.split_once('\n')?;
    let text = rest.strip_prefix('\n')?;
    Some(thalweg_json::json!({ "number": number, "title": title.trim(), "level": level.trim(), "text": text.trim() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_has_a_number_a_title_a_level_and_a_text() {
        let read = story("07-inn.txt", "宿\nN3\n\n雪の夜。\n朝。\n").unwrap();
        assert_eq!(read, thalweg_json::json!({ "number": 7, "title": "宿", "level": "N3", "text": "雪の夜。\n朝。" }));
        for (name, content) in
            [("inn.txt", "宿\nN3\n\n雪"), ("7-inn.txt", "宿\nN3"), ("7-inn.txt", "宿\nN3\n雪"), ("7.txt", "")]
        {
            assert_eq!(story(name, content), None, "{name} {content}");
        }
    }
}
