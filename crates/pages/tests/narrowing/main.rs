//! For random sites and random data, a page made of the columns that its analysis found is the page made of all.
//!
//! And a name for which a site is refused is nothing whenever the page comes to it.
//!
//! `THALWEG_RANDOM_PAGES` says how many sites, `THALWEG_PAGES_SEED` the first one's seed.

mod random;

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment, UndefinedBehavior, Value};
use random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_pages::{Need, Place, Site, Vocabulary};

/// A row as a page gets it: a map that is true, whichever columns it has.
#[derive(Debug)]
struct Row(BTreeMap<&'static str, Data>);

impl Object for Row {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).map(Data::value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(|name| Value::from(*name)).collect())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

#[derive(Clone, Debug)]
enum Data {
    /// A value that is fetched or not, JSON among them.
    Column(Value),
    Row(BTreeMap<&'static str, Data>),
    Rows(Vec<BTreeMap<&'static str, Data>>),
}

impl Data {
    fn value(&self) -> Value {
        match self {
            Data::Column(value) => value.clone(),
            Data::Row(row) => Value::from_object(Row(row.clone())),
            Data::Rows(rows) => rows.iter().map(|row| Value::from_object(Row(row.clone()))).collect(),
        }
    }

    fn narrowed(&self, need: &Need, removed: &mut usize) -> Data {
        match self {
            _ if need.whole.is_some() => self.clone(),
            Data::Row(_) if need.whole_if_one.is_some() => self.clone(),
            Data::Column(_) => self.clone(),
            Data::Row(row) => Data::Row(narrowed_row(row, need, removed)),
            Data::Rows(rows) => Data::Rows(rows.iter().map(|row| narrowed_row(row, need, removed)).collect()),
        }
    }
}

fn narrowed_row(row: &BTreeMap<&'static str, Data>, need: &Need, removed: &mut usize) -> BTreeMap<&'static str, Data> {
    let kept = row.iter().filter_map(|(name, data)| {
        let Some(column) = need.columns.get(*name) else {
            *removed += 1;
            return None;
        };
        Some((*name, data.narrowed(&column.need, removed)))
    });
    kept.collect()
}

fn some_row(random: &mut Random, depth: usize) -> BTreeMap<&'static str, Data> {
    let text = |random: &mut Random| Value::from(*random.of(&["Alps", "jura", "<b>", "title", "name", "", "note"]));
    let mut row: BTreeMap<&'static str, Data> = BTreeMap::new();
    for name in ["title", "name", "site"] {
        row.insert(name, Data::Column(text(random)));
    }
    for name in ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"] {
        row.insert(name, Data::Column(Value::from(random.below(100))));
    }
    row.insert("n", Data::Column(Value::from(random.below(4))));
    row.insert("note", Data::Column(if random.is_one_in(2) { Value::from(()) } else { text(random) }));
    let tags: Vec<Value> = (0..random.below(3)).map(|_| text(random)).collect();
    row.insert("tags", Data::Column(Value::from(tags)));
    row.insert("meta", Data::Column(Value::from_pairs([("name", text(random)), ("n", Value::from(random.below(3)))])));
    if depth < 3 {
        let pilot =
            if random.is_one_in(6) { Data::Column(Value::from(())) } else { Data::Row(some_row(random, depth + 2)) };
        row.insert("pilot", pilot);
        row.insert("parts", some_rows(random, depth + 1));
    }
    row
}

fn some_rows(random: &mut Random, depth: usize) -> Data {
    let count = if depth < 2 { random.below(4) } else { random.below(3) };
    Data::Rows((0..count).map(|_| some_row(random, depth)).collect())
}

/// What is made of a page, up to the error that ends it, if one does.
#[derive(PartialEq, Debug)]
struct Made {
    text: String,
    error: Option<String>,
}

fn made(site: &Site, data: &Names, undefined: UndefinedBehavior, probe: Option<Value>) -> Made {
    let mut engine = Environment::new();
    if let Some(probe) = probe {
        engine.add_global("probe", probe);
    }
    engine.set_undefined_behavior(undefined);
    for (name, source) in site.templates() {
        engine.add_template(name, source).unwrap();
    }
    let names = Value::from_pairs(data.iter().map(|(name, data)| (*name, data.value())));
    let mut text = Vec::new();
    let page = engine.get_template("page.html").unwrap();
    let error = page.render_captured_to(names, &mut text).err();
    Made { text: String::from_utf8(text).unwrap(), error: error.map(|error| format!("{:?}", error.kind())) }
}

type Files = Vec<(String, String)>;
type Names = BTreeMap<&'static str, Data>;

struct Tried {
    of_all: Made,
    of_needed: Made,
    removed: usize,
}

/// Makes a page both ways. What the loader refuses, such as a loop that is left from within another block, is no site.
fn attempt(files: &Files, full: &Names, undefined: UndefinedBehavior) -> Option<Tried> {
    let site = Site::of(files.clone()).ok()?;
    let needs = &site.page("page.html")?.needs;
    let mut removed = 0;
    let narrow = full.iter().map(|(name, data)| (*name, data.narrowed(&needs[*name], &mut removed))).collect();
    Some(Tried {
        of_all: made(&site, full, undefined, None),
        of_needed: made(&site, &narrow, undefined, None),
        removed,
    })
}

/// A random site and its data.
fn case(seed: u64) -> (Files, Names, UndefinedBehavior) {
    let mut random = Random::new(seed);
    let files = random::site(&mut random);
    let full =
        BTreeMap::from([("flights", some_rows(&mut random, 0)), ("flight", Data::Row(some_row(&mut random, 0)))]);
    let undefined = if random.is_one_in(10) { UndefinedBehavior::Lenient } else { UndefinedBehavior::Chainable };
    (files, full, undefined)
}

/// Leaves out what can be left out of a site that shows a difference.
fn shortened(files: &Files, shows: impl Fn(&Files) -> bool) -> Files {
    let mut files = files.clone();
    loop {
        let shorter = cuts(&files).find(|shorter| shows(shorter));
        match shorter {
            Some(shorter) => files = shorter,
            None => return files,
        }
    }
}

/// The site without some tags that stand together, the longest cuts first.
fn cuts(files: &Files) -> impl Iterator<Item = Files> {
    files.iter().enumerate().flat_map(move |(number, (_, text))| {
        let head = text.rfind("+++").map_or(0, |at| at + 4).min(text.len());
        let tags = text.match_indices(['{', '}']).map(|(at, c)| if c == "}" { at + 1 } else { at });
        let mut at: Vec<usize> = tags.chain([head, text.len()]).filter(|at| *at >= head).collect();
        at.sort_unstable();
        at.dedup();
        let longest = at.len();
        (1..longest).rev().flat_map(move |length| {
            let at = at.clone();
            (0..at.len() - length).map(move |from| {
                let mut shorter = files.clone();
                shorter[number].1 = format!("{}{}", &text[..at[from]], &text[at[from + length]..]);
                shorter
            })
        })
    })
}

fn check(seed: u64) -> Option<Tried> {
    let (files, full, undefined) = case(seed);
    let tried = attempt(&files, &full, undefined)?;
    if tried.of_all != tried.of_needed {
        let differs =
            |files: &Files| attempt(files, &full, undefined).is_some_and(|tried| tried.of_all != tried.of_needed);
        let files = shortened(&files, differs);
        let tried = attempt(&files, &full, undefined)?;
        let shown: String = files.iter().map(|(name, text)| format!("--- {name}\n{text}\n")).collect();
        panic!("seed {seed}\n{shown}\nof all columns: {:?}\nof those needed: {:?}", tried.of_all, tried.of_needed);
    }
    Some(tried)
}

/// The name of a site that nothing defines, as the loader says it, and its place: the file, the line and the column.
fn undefined_name(files: &Files) -> Option<(String, Place)> {
    let vocabulary = Vocabulary { provided: &[], functions: Some(Vec::new()), filters: Some(Vec::new()) };
    let error = Site::of_in(files.clone(), None, Some(&vocabulary)).err()?;
    let (_, name) = error.message().split_once(" has no ")?;
    let name = name.split([';', ',']).next()?.to_owned();
    Some((name, error.place().clone()))
}

/// The files with the name at a place given to a function, or as they are where no name stands there.
fn probed(files: &Files, name: &str, place: &Place) -> Option<Files> {
    let mut files = files.clone();
    let (_, text) = files.iter_mut().find(|(file, _)| *file == place.file)?;
    let line: usize = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let at = line + text[line..].char_indices().nth(place.column - 1)?.0;
    let rest = text[at..].strip_prefix(name)?;
    *text = format!("{}probe({name}){rest}", &text[..at]);
    Some(files)
}

/// Of a site that is refused for a name, whether that is nothing indeed whenever the page comes to it.
fn check_name(seed: u64) -> Option<usize> {
    let (files, full, undefined) = case(seed);
    let (name, place) = undefined_name(&files)?;
    let probed = probed(&files, &name, &place)?;
    let site = Site::of(probed.clone()).ok()?;
    let (come, found) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (come.clone(), found.clone());
    let probe = Value::from_function(move |value: &Value| {
        counts.0.fetch_add(1, Ordering::Relaxed);
        counts.1.fetch_add(usize::from(!value.is_undefined()), Ordering::Relaxed);
        value.clone()
    });
    made(&site, &full, undefined, Some(probe));
    assert_eq!(found.load(Ordering::Relaxed), 0, "seed {seed}: {name} at {place}: {probed:?}");
    Some(come.load(Ordering::Relaxed))
}

#[test]
fn a_name_that_is_refused_is_nothing() {
    let tries = || {
        let (count, first) = (setting("THALWEG_RANDOM_PAGES", 500), setting("THALWEG_PAGES_SEED", 1));
        let come: Vec<usize> = (first..first + count).filter_map(check_name).collect();
        let reached = come.iter().filter(|times| **times > 0).count();
        println!("{count} tried, {} refused, {reached} of them come to the name", come.len());
        assert!(count < 100 || reached > count as usize / 20, "{reached} of {count}");
    };
    let tries = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(tries).unwrap();
    if let Err(panic) = tries.join() {
        std::panic::resume_unwind(panic);
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// What the engine may recurse before it says that this is too deep takes more than a test's thread has.
const STACK_BYTES: usize = 64 << 20;

#[test]
fn a_page_of_what_it_needs_is_the_page_of_all() {
    let tries = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(try_all).unwrap();
    if let Err(panic) = tries.join() {
        std::panic::resume_unwind(panic);
    }
}

fn try_all() {
    let (count, first) = (setting("THALWEG_RANDOM_PAGES", 500), setting("THALWEG_PAGES_SEED", 1));
    let (mut sites, mut pages, mut narrowed) = (0, 0, 0);
    for seed in first..first + count {
        let Some(tried) = check(seed) else { continue };
        sites += 1;
        pages += u64::from(tried.of_all.error.is_none());
        narrowed += u64::from(!tried.of_all.text.is_empty() && tried.removed > 0);
    }
    println!("{count} tried, {sites} sites, {pages} pages to their end, {narrowed} of fewer columns");
    // a generator that only made errors, or needed everything, would show nothing
    assert!(count < 100 || pages > count / 8, "{pages} of {count}");
    assert!(count < 100 || narrowed > count / 8, "{narrowed} of {count}");
}
