//! `docs/tutorial.md`, followed line by line in a real browser, as its first lines say how. A line that cannot be followed fails.

use crate::program::{Directory, Program, TIMEOUT};
use crate::sites::ON_ANY_PORT;
use nix::sys::signal::Signal;
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg_testkit::{Browser, Client};

const TUTORIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tutorial.md");
/// Where the tutorial's server is. The test's has any free port, and the same host, from which browsers take secure cookies.
const SITE: &str = "http://localhost:3000";
const SERVE: &str = "thalweg serve . --dev";
const STEPS: usize = 10;

#[test]
fn the_tutorial_is_followed_line_by_line() {
    let text = std::fs::read_to_string(TUTORIAL).unwrap();
    let parts = parts(&text);
    let Some(browser) = Browser::start() else { return };
    let directory = Directory::new("tutorial");
    let mut reader = Reader::new(browser, &directory);
    for (line, part) in parts {
        println!("docs/tutorial.md:{line}");
        reader.follow(part);
    }
}

/// What a reader is told, or does.
enum Part<'a> {
    /// Addresses in it are opened, what is bold is pressed, and so is ctrl-C.
    Prose(&'a str),
    /// The files that the next block is of.
    Files(Vec<&'a str>),
    Block {
        language: &'a str,
        text: String,
    },
    /// What is typed into fields, by their labels.
    Fields(Vec<(&'a str, &'a str)>),
}

/// The parts of all steps, with their lines. Before the first step and behind the last there is nothing to follow.
fn parts(text: &str) -> Vec<(usize, Part<'_>)> {
    let mut lines = text.lines().zip(1..).peekable();
    let (mut parts, mut steps) = (Vec::new(), 0);
    while let Some((line, number)) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            if steps == STEPS {
                assert_eq!(title, "From here", "docs/tutorial.md:{number}");
                return parts;
            }
            steps += 1;
            assert!(title.starts_with(&format!("{steps}. ")), "docs/tutorial.md:{number}: this should be step {steps}");
        } else if steps == 0 || line.is_empty() {
        } else if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```");
            parts.push((number, Part::Block { language, text: inside.flat_map(|line| [line, "\n"]).collect() }));
        } else if line == "| field | value |" {
            assert_eq!(lines.next().map(|(line, _)| line), Some("|---|---|"), "docs/tutorial.md:{number}");
            let mut fields = Vec::new();
            while let Some((row, _)) = lines.next_if(|(line, _)| line.starts_with('|')) {
                fields.push(field(row));
            }
            parts.push((number, Part::Fields(fields)));
        } else if line.starts_with('`') && line.ends_with("`:") {
            let names = line.trim_end_matches(':').split(", ").map(|name| name.trim_matches('`')).collect();
            parts.push((number, Part::Files(names)));
        } else {
            assert!(
                line.starts_with(|first: char| first.is_alphabetic() || first == '`'),
                "docs/tutorial.md:{number} is not understood: {line}"
            );
            parts.push((number, Part::Prose(line)));
        }
    }
    panic!("docs/tutorial.md ends within a step");
}

fn field(row: &str) -> (&str, &str) {
    let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [label, value] = cells[..] else { panic!("{row} says no field and its value") };
    (label, value)
}

/// Somebody who sits before a shell and a browser.
struct Reader {
    server: Option<(Program, SocketAddr)>,
    browser: Browser,
    /// Where the shell is.
    folder: PathBuf,
    /// Where it says where it is.
    whereabouts: PathBuf,
    /// Whose block comes next.
    files: Vec<PathBuf>,
    /// What the last command has printed, if nothing has been done in the browser since.
    printed: Option<String>,
}

impl Reader {
    fn new(browser: Browser, directory: &Directory) -> Self {
        let whereabouts = directory.0.join("whereabouts");
        Self { server: None, browser, folder: directory.0.clone(), whereabouts, files: Vec::new(), printed: None }
    }

    fn follow(&mut self, part: Part<'_>) {
        let is_of_files = !self.files.is_empty();
        match part {
            Part::Block { language: "diff", text } if is_of_files => self.edit(&text),
            Part::Block { language: "html" | "sql" | "igc", text } if is_of_files => self.write(&text),
            _ if is_of_files => panic!("what is in {:?} does not follow", self.files),
            Part::Block { language: "sh", text } => self.run(&text),
            Part::Block { language: "text", text } => self.see(&text),
            Part::Block { language, .. } => panic!("a block of {language:?} that nothing is done with"),
            Part::Files(names) => self.files = names.iter().map(|name| self.folder.join(name)).collect(),
            Part::Fields(fields) => fields.iter().for_each(|(label, value)| self.fill(label, value)),
            Part::Prose(line) => self.read(line),
        }
    }

    /// Does what a sentence says.
    fn read(&mut self, line: &str) {
        let mut bold = line.split("**").enumerate().peekable();
        while let Some((at, text)) = bold.next() {
            if at % 2 == 1 {
                assert!(bold.peek().is_some(), "what begins bold does not end so: {line}");
                self.press(text);
                continue;
            }
            for word in text.split_whitespace() {
                let word = word.trim_end_matches([',', ':', '.', ';']);
                if let Some(path) = word.strip_prefix(SITE) {
                    let address = format!("{}{path}", self.site());
                    self.browser.open(&address);
                    self.printed = None;
                } else if word == "ctrl-C" {
                    self.stop();
                } else {
                    assert!(!word.contains("://") && !word.contains("ctrl"), "{word} cannot be followed");
                }
            }
        }
    }

    fn write(&mut self, text: &str) {
        for file in std::mem::take(&mut self.files) {
            self.save(&file, text);
        }
    }

    /// Hunks stand apart by empty lines, and each is of the first place that it fits.
    fn edit(&mut self, hunks: &str) {
        for file in std::mem::take(&mut self.files) {
            let mut text = format!("\n{}", std::fs::read_to_string(&file).expect("what is edited is there"));
            for hunk in hunks.trim_end().split("\n\n") {
                let (old, new) = (side(hunk, '-'), side(hunk, '+'));
                assert!(old.len() > 1 && text.contains(&old), "{} has no place for\n{hunk}", file.display());
                text = text.replacen(&old, &new, 1);
            }
            self.save(&file, &text[1..]);
        }
    }

    /// Writes a file. If it is one that the server watches, waits until that has read it and the browser has loaded its page again.
    fn save(&mut self, file: &Path, text: &str) {
        let is_watched = self.server.is_some() && file.starts_with(self.folder.join("pages"));
        let before = is_watched.then(|| self.changes(""));
        let is_open = is_watched && self.browser.evaluate(MARK_OLD) == self.site();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        if let Some(before) = before {
            let deadline = Instant::now() + TIMEOUT;
            while self.changes(&before) == before {
                assert!(Instant::now() < deadline, "the server does not see {}", file.display());
            }
        }
        if is_open {
            self.browser.wait_for("!window.isOld");
        }
    }

    /// What the server says of its pages, as soon as it is something else.
    fn changes(&self, known: &str) -> String {
        let (_, address) = self.server.as_ref().unwrap();
        Client::connect(*address).request("GET", &format!("/.thalweg/changes?{known}"), &[]).text().to_owned()
    }

    /// Runs commands, of which the last may be the one that serves until ctrl-C.
    fn run(&mut self, commands: &str) {
        let (before, serves) = match commands.strip_suffix(&format!("{SERVE}\n")) {
            Some(before) => (before, true),
            None => (commands, false),
        };
        assert!(!before.contains(" serve "), "nothing follows a server in the same block");
        let site = if before.contains(SITE) { self.site() } else { String::new() };
        let program = Program::command(&[], &[]);
        let found = Path::new(program.get_program()).parent().unwrap();
        let path = [found.to_str().unwrap(), &std::env::var("PATH").unwrap()].join(":");
        let mut shell = Program::retargeted(&program, Path::new("sh"));
        shell.env("PATH", path).current_dir(&self.folder).arg("-ec");
        shell.arg(format!("{}\npwd >'{}'", before.replace(SITE, &site), self.whereabouts.display()));
        let output = shell.output().unwrap();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{before}{wrong}");
        self.printed = Some(String::from_utf8(output.stdout).unwrap());
        self.folder = std::fs::read_to_string(&self.whereabouts).unwrap().trim_end().into();
        if serves {
            self.serve();
        }
    }

    fn serve(&mut self) {
        assert!(self.server.is_none(), "the server that runs is to be stopped first");
        let arguments: Vec<_> = SERVE.split(' ').skip(1).collect();
        let mut command = Program::command(&arguments, &[ON_ANY_PORT]);
        command.current_dir(&self.folder);
        let mut server = Program::launch(command);
        let address = server.address();
        self.server = Some((server, address));
    }

    fn stop(&mut self) {
        let (mut server, _) = self.server.take().expect("ctrl-C is for a server that runs");
        server.signal(Signal::SIGINT);
        assert!(server.wait().success());
    }

    fn site(&self) -> String {
        let (_, address) = self.server.as_ref().expect("a server runs");
        format!("http://localhost:{}", address.port())
    }

    /// Lines that the last command has printed, where `…` leaves some out, or that the page shows among others.
    fn see(&mut self, text: &str) {
        let wanted: Vec<_> = text.lines().map(in_words).collect();
        let Some(printed) = &self.printed else {
            return self.browser.wait_for(&format!("{SHOWS}({})", json!(wanted)));
        };
        let lines: Vec<_> = printed.lines().map(in_words).collect();
        assert!(are_shown(&wanted, &lines), "{text}is not what is printed:\n{printed}");
    }

    /// Presses a button or a link, and waits for the page that comes. What is to be downloaded is compared with the file of its name.
    fn press(&mut self, name: &str) {
        self.printed = None;
        let marked = self.browser.evaluate(&format!("{MARK}('a, button', {})", json!(name)));
        assert_eq!(marked, 1, "what is called {name:?} on the page:\n{}", self.browser.text());
        if self.browser.evaluate("document.querySelector('[data-here]').hasAttribute('download')") == true {
            let sent =
                self.browser.evaluate("fetch(document.querySelector('[data-here]').href).then(got => got.text())");
            assert_eq!(sent, std::fs::read_to_string(self.folder.join(name)).unwrap());
            return;
        }
        self.browser.click("[data-here]");
        self.browser.wait_for("!document.querySelector('[data-here]')");
    }

    fn fill(&mut self, label: &str, value: &str) {
        let marked = self.browser.evaluate(&format!("{MARK}('label', {})", json!(label)));
        assert_eq!(marked, 1, "fields called {label:?} on the page:\n{}", self.browser.text());
        let field = "[data-here] input";
        match self.browser.evaluate(&format!("document.querySelector('{field}').type")).as_str() {
            Some("file") => self.browser.choose_file(field, &self.folder.join(value.trim_matches('`'))),
            // whose parts are typed as the language has them
            Some("date") => {
                _ = self.browser.evaluate(&format!("document.querySelector('{field}').value = {}", json!(value)))
            }
            _ => self.browser.fill(field, value),
        }
    }
}

/// Marks a page that loads itself again, and says whose it is.
const MARK_OLD: &str = "[...document.scripts].some(script => script.text.includes('/.thalweg/changes'))
    && (window.isOld = true) && location.origin";

/// Marks the elements of a name, and says how many there are.
const MARK: &str = "((kind, name) => {
    document.querySelectorAll('[data-here]').forEach(marked => marked.removeAttribute('data-here'));
    const named = [...document.querySelectorAll(kind)].filter(element => element.textContent.trim() === name);
    named.forEach(element => element.setAttribute('data-here', ''));
    return named.length;
})";

/// Whether the page shows these lines, in this order.
const SHOWS: &str = "(wanted => {
    const lines = document.body.innerText.split('\\n').map(line => line.trim().replace(/\\s+/g, ' '));
    return wanted.every(line => lines.includes(line) && lines.splice(0, lines.indexOf(line) + 1));
})";

/// What a hunk replaces (`-`), or what by (`+`), from the end of the line before.
fn side(hunk: &str, sign: char) -> String {
    let lines = hunk.lines().filter_map(|line| line.strip_prefix([sign, ' ']));
    lines.flat_map(|line| ["\n", line]).chain(["\n"]).collect()
}

fn in_words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn are_shown(wanted: &[String], lines: &[String]) -> bool {
    match wanted {
        [] => lines.is_empty(),
        [gap, wanted @ ..] if gap == "…" => (0..=lines.len()).any(|at| are_shown(wanted, &lines[at..])),
        [first, wanted @ ..] => lines.first() == Some(first) && are_shown(wanted, &lines[1..]),
    }
}
