//! The syntax of a PostgREST configuration file (operations §2). Errors show no values: they may be secrets.

use super::ConfigError;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// How deep files may import files and groups may stand in groups.
const LEVELS_MAX: usize = 16;

/// A file's entries by key. Values are the text behind the quotes.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut entries = BTreeMap::new();
    import(path, &mut entries, 0)?;
    Ok(entries)
}

fn import(path: &Path, entries: &mut BTreeMap<String, String>, level: usize) -> Result<(), ConfigError> {
    let failed = |cause: String| ConfigError::new(format!("{}: {cause}", path.display()));
    if level > LEVELS_MAX {
        return Err(failed(format!("more than {LEVELS_MAX} imports in a row")));
    }
    let text = std::fs::read_to_string(path).map_err(|cause| failed(cause.to_string()))?;
    if text.contains('\0') {
        return Err(failed("a NUL is no part of a configuration".to_owned()));
    }
    let mut parser = Parser { chars: text.chars().peekable(), line: 1, entries, level, path };
    parser.block("", false).map_err(|cause| failed(format!("line {}: {cause}", parser.line)))
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    entries: &'a mut BTreeMap<String, String>,
    level: usize,
    path: &'a Path,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn blanks(&mut self) {
        while let Some(&c) = self.chars.peek() {
            if c == '#' {
                while self.chars.next_if(|&c| c != '\n').is_some() {}
            } else if c.is_whitespace() {
                self.next();
            } else {
                return;
            }
        }
    }

    /// Entries up to the end of the file, or of the group whose name is the prefix.
    fn block(&mut self, prefix: &str, in_group: bool) -> Result<(), String> {
        loop {
            self.blanks();
            match self.chars.peek() {
                None if in_group => return Err("a group is not closed".to_owned()),
                None => return Ok(()),
                Some('}') if in_group => {
                    self.next();
                    return Ok(());
                }
                Some(_) => self.entry(prefix)?,
            }
        }
    }

    fn entry(&mut self, prefix: &str) -> Result<(), String> {
        let name = self.name()?;
        self.blanks();
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match self.chars.peek() {
            Some('=') => {
                self.next();
                self.blanks();
                let value = self.value().map_err(|cause| format!("{key}: {cause}"))?;
                self.entries.insert(key, value);
                Ok(())
            }
            Some('{') if key.split('.').count() <= LEVELS_MAX => {
                self.next();
                self.block(&key, true)
            }
            Some('"') if name == "import" => {
                let file = self.string()?;
                let beside = self.path.parent().unwrap_or(Path::new(".")).join(file);
                import(&beside, self.entries, self.level + 1).map_err(|error| error.to_string())
            }
            _ => Err("\"=\" is missing after a key".to_owned()),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|&c| is_in_names(c)) {
            name.push(c);
        }
        if name.starts_with(char::is_alphabetic) {
            return Ok(name);
        }
        Err(match self.chars.peek() {
            Some(c) if name.is_empty() => format!("a key cannot begin with {c:?}"),
            _ => "a key begins with a letter".to_owned(),
        })
    }

    fn value(&mut self) -> Result<String, String> {
        match self.chars.peek() {
            Some('"') => self.string(),
            Some('[') => {
                self.next();
                let mut items = Vec::new();
                loop {
                    self.blanks();
                    match self.chars.peek() {
                        Some(']') => break,
                        Some(',') => {
                            self.next();
                        }
                        Some(_) => items.push(self.value()?),
                        None => return Err("a list is not closed".to_owned()),
                    }
                }
                self.next();
                Ok(items.join(","))
            }
            _ => {
                let mut word = String::new();
                let inside = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.');
                while let Some(c) = self.chars.next_if(inside) {
                    word.push(c);
                }
                match word.as_str() {
                    "on" => Ok("true".to_owned()),
                    "off" => Ok("false".to_owned()),
                    "true" | "false" => Ok(word),
                    // 3, 3.0 and 1e3 are integers
                    // what Rust reads besides, `inf` and `nan`, is no number here
                    _ => match word.parse::<f64>().ok().filter(|number| number.is_finite()) {
                        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => Ok(format!("{number:.0}")),
                        Some(_) => Ok(word),
                        None => Err("neither a number nor true or false; text needs double quotes".to_owned()),
                    },
                }
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some('u') => {
                        let digits: String = (0..4).filter_map(|_| self.next()).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().filter(|&code| code > 0);
                        let c = code.and_then(char::from_u32).ok_or("what stands behind \\u is no character")?;
                        text.push(c);
                    }
                    Some(c @ ('"' | '\\')) => text.push(c),
                    _ => return Err("unknown escape in a string".to_owned()),
                },
                Some('$') => match self.next() {
                    Some('$') => text.push('$'),
                    Some('(') => {
                        let mut name = String::new();
                        while let Some(c) = self.chars.next_if(|&c| is_in_names(c)) {
                            name.push(c);
                        }
                        if self.next() != Some(')') {
                            return Err("$( is not followed by a name and )".to_owned());
                        }
                        let value = self.entries.get(&name).cloned().or_else(|| std::env::var(&name).ok());
                        text.push_str(
                            &value.ok_or_else(|| format!("$({name}) is neither a key nor in the environment"))?,
                        );
                    }
                    _ => return Err("a single $ in a string; write $$".to_owned()),
                },
                Some(c) => text.push(c),
                None => return Err("a string is not closed".to_owned()),
            }
        }
    }
}

fn is_in_names(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
        let mut entries = BTreeMap::new();
        let mut parser =
            Parser { chars: text.chars().peekable(), line: 1, entries: &mut entries, level: 0, path: Path::new("x") };
        parser.block("", false).map_err(|cause| format!("{}: {cause}", parser.line))?;
        Ok(entries)
    }

    #[test]
    fn entries_groups_lists_and_variables() {
        let text = r#"
            # club
            db-uri = "postgres://gate:$(db-schemas)@db/club"   # not yet known
        "#;
        assert!(parse(text).unwrap_err().contains("neither a key nor in the environment"));
        let entries = parse(
            "a = \"x\"\nb=\"$(a)$$\\n\\u0041\" c = on d=3.0\napp { settings { club = \"R\" } }\nl = [\"p\", \"q\"]\na = \"y\"",
        )
        .unwrap();
        let expected =
            [("a", "y"), ("app.settings.club", "R"), ("b", "x$\nA"), ("c", "true"), ("d", "3"), ("l", "p,q")];
        let entries: Vec<(&str, &str)> = entries.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(entries, expected);
    }

    #[test]
    fn errors_name_the_line_and_show_no_value() {
        let needed = "neither a number nor true or false; text needs double quotes";
        assert_eq!(parse("a = \"x\"\njwt-secret = abc"), Err(format!("2: jwt-secret: {needed}")));
        assert_eq!(parse("a = inf"), Err(format!("1: a: {needed}")));
        assert_eq!(parse("a { b = 1"), Err("1: a group is not closed".into()));
        assert_eq!(parse("a = \"$x\""), Err("1: a: a single $ in a string; write $$".into()));
        // the rest of a secret behind a quotation mark, and behind what looks like a variable
        assert_eq!(parse("a = \"se\"cret\""), Err("1: \"=\" is missing after a key".into()));
        assert_eq!(parse("a = \"$(cret\"\n# )"), Err("1: a: $( is not followed by a name and )".into()));
        assert_eq!(parse(r#"a = "\u0000""#), Err("1: a: what stands behind \\u is no character".into()));
        assert_eq!(parse("= 1"), Err("1: a key cannot begin with '='".into()));
    }
}
