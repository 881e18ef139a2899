//! For random templates and random rows, a page whose loops are written directly is the page that the engine makes.
//!
//! `PROPTEST_CASES` says how many are tried, if they are to be more.

mod rows;
mod template;

use super::write::Direct;
use crate::rows::Rows;
use crate::{Additions, Chunks, Cost, Renderer, Site, Values};
use minijinja::value::{Kwargs, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use rows::Faults;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use template::Templates;
use thalweg_encode::EncodeError;

/// What is decided one after another. Those that are not there are 0, of which comes what is simplest, so that fewer and smaller ones
/// make simpler cases.
struct Choices<'a>(&'a [u16]);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % bound
    }

    fn of<'t, T: ?Sized>(&mut self, list: &[&'t T]) -> &'t T {
        list[self.below(list.len())]
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }
}

struct Case {
    templates: Templates,
    site: Site,
    values: Arc<Values>,
    rows: Value,
    faults: Faults,
}

impl Case {
    /// Unless the loader refuses the templates.
    fn of(template: &[u16], data: &[u16]) -> Option<Case> {
        let (mut template, mut data) = (Choices(template), Choices(data));
        let fields = rows::fields(&mut data);
        let (rows, faults) = rows::rows(&mut data, &fields);
        let templates = template::templates(&mut template, &fields);
        let site = Site::of(templates.files.clone()).ok()?;
        let mut values = Values::default();
        values.insert("flights", rows.clone());
        values.insert("title", "<Alps>");
        values.insert("limit", 2);
        values.insert("nothing", ());
        values.insert("choice", Value::from_pairs([("a", Value::from("b&c")), ("n", Value::from(1))]));
        for (name, settings) in [("locale", ["", "de-CH", "en"]), ("zone", ["", "Europe/Zurich", "America/New_York"])] {
            let setting = data.of(&settings);
            if !setting.is_empty() {
                values.insert(name, setting);
            }
        }
        Some(Case { templates, site, values: Arc::new(values), rows, faults })
    }

    /// The page, and each of its blocks, with loops that are written directly and with the engine's.
    fn made(&self) -> Vec<[Made; 2]> {
        let renderer = Renderer::of(&self.site, [], &additions()).unwrap();
        let (page, blocks) = (&*self.templates.files[0].0, &self.templates.blocks);
        let make = |renderer: &Renderer| {
            let mut made = vec![Made::by(|out| renderer.render(page, self.values.clone(), out))];
            for block in blocks {
                made.push(Made::by(|out| renderer.render_block(page, block, self.values.clone(), out)));
            }
            made
        };
        let direct = make(&renderer);
        direct.into_iter().zip(make(&renderer.plain())).map(<[Made; 2]>::from).collect()
    }

    /// How many of its loops are written directly.
    fn directly(&self) -> usize {
        let rows = self.rows.downcast_object_ref::<Rows>().unwrap();
        self.site.called().1.iter().filter(|known| Direct::can_be(rows, known)).count()
    }

    /// Whether all was made to its end, which is the same both ways.
    fn check(&self) -> Result<bool, TestCaseError> {
        let made = self.made();
        for [direct, plain] in &made {
            let is_same = match (&direct.error, &plain.error) {
                (None, None) => direct.text == plain.text,
                (Some(direct), Some(plain)) => direct.to_string() == plain.to_string() && direct.line() == plain.line(),
                // it reads all rows within a row that it may need, the engine only those that it comes to
                (Some(direct), None) => self.faults == Faults::Records && is_unreadable(direct),
                (None, Some(_)) => false,
            };
            let files = || self.templates.files.iter().map(|(name, text)| format!("--- {name}\n{text}\n"));
            prop_assert!(
                is_same,
                "{}directly {direct:?}\nengine   {plain:?}\n{:?}",
                String::from_iter(files()),
                self.rows
            );
        }
        Ok(made.iter().all(|[direct, _]| direct.error.is_none()))
    }
}

/// A function and a filter with arguments by place and by name.
fn additions() -> Additions {
    let mut additions = Additions::default();
    additions.filter("framed", Cost::Quick, |text: &Value, named: Kwargs| {
        let mark = named.get::<Option<String>>("mark")?.unwrap_or_else(|| "|".to_owned());
        Ok::<_, minijinja::Error>(format!("{mark}{text}{mark}"))
    });
    additions.function("shout", Cost::Quick, |text: &Value, times: Option<usize>, named: Kwargs| {
        let mark = named.get::<Option<Value>>("mark")?.unwrap_or_else(|| Value::from("!"));
        Ok::<_, minijinja::Error>(format!("{text}{}", mark.to_string().repeat(times.unwrap_or(1).min(3))))
    });
    additions
}

/// A page in chunks of a few bytes.
#[derive(Default)]
struct Small {
    full: Vec<u8>,
    chunk: Vec<u8>,
}

const SMALL_BYTES: usize = 61;

impl io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= SMALL_BYTES {
            self.full.append(&mut self.chunk);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Chunks for Small {
    fn chunk(&mut self) -> &mut Vec<u8> {
        self.chunk.reserve_exact(SMALL_BYTES.saturating_sub(self.chunk.len()));
        &mut self.chunk
    }
}

#[derive(Debug)]
struct Made {
    text: String,
    error: Option<minijinja::Error>,
}

impl Made {
    fn by(write: impl FnOnce(&mut Small) -> Result<(), minijinja::Error>) -> Made {
        let mut out = Small::default();
        let error = write(&mut out).err();
        let Small { full: mut text, chunk } = out;
        text.extend(chunk);
        Made { text: String::from_utf8(text).unwrap(), error }
    }
}

fn is_unreadable(error: &minijinja::Error) -> bool {
    let sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
    sources.into_iter().any(|error| error.is::<EncodeError>())
}

const CASES_MIN: u32 = 2_000;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sites: usize,
    /// Those whose pages were made to their end.
    whole: usize,
    /// Over the rows of a query, where there are any.
    loops: usize,
    direct: usize,
}

#[test]
fn a_page_written_directly_is_the_page_that_the_engine_makes() {
    let default = Config::default();
    let cases = default.cases.max(CASES_MIN);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..default };
    let choices = (vec(any::<u16>(), 0..800), vec(any::<u16>(), 200..2_000));
    let counts = Cell::new(Counts::default());
    let tried = TestRunner::new(config).run(&choices, |(template, data)| {
        let Some(case) = Case::of(&template, &data) else { return Ok(()) };
        let is_whole = case.check()?;
        let mut now = counts.get();
        now.sites += 1;
        now.whole += usize::from(is_whole);
        if case.rows.len().is_some_and(|rows| rows > 0) {
            now.loops += case.templates.loops;
            now.direct += case.directly();
        }
        counts.set(now);
        Ok(())
    });
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(reason, _) | TestError::Abort(reason)) => panic!("{reason}"),
    }
    let counts = counts.get();
    println!("{cases} tried, {counts:?}");
    let Counts { sites, whole, loops, direct } = counts;
    // a generator that only made errors, or what is the engine's, would show nothing
    assert!(sites > cases as usize * 9 / 10 && whole > sites / 2 && direct > loops / 2, "{cases} tried, {counts:?}");
}
