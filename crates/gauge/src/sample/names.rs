//! Addresses as functions, files and lines, with what was inlined there, after the fact.

use super::{Loaded, unwind};
use addr2line::Loader;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};

/// How many addresses are remembered with their names.
const NAMES_MAX: usize = 65_536;

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The function with its path. Where it was inlined and the program has lines only (`debug = "line-tables-only"`), without its
    /// path; where nothing is known, the file that was loaded.
    pub function: String,
    /// The file: as the compiler had it, without the directory of cargo's registry or of the toolchain.
    pub file: Option<String>,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// Whether the file is known and neither the toolchain's nor of a package that cargo has fetched.
    pub is_own: bool,
}

impl Place {
    fn without_file(function: String) -> Self {
        Self { function, file: None, line: None, is_own: false }
    }
}

/// `function file:line`, as far as it is known.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        if let Some(file) = &self.file {
            write!(f, " {file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
        }
        Ok(())
    }
}

/// An address's places, innermost first: the last one is the function, those before it were inlined.
pub(super) type Places = Arc<[Place]>;

static KNOWN: Mutex<Option<HashMap<u64, Places>>> = Mutex::new(None);

/// What was remembered may be of libraries that are gone.
pub(super) fn forget() {
    if let Some(mut known) = known() {
        *known = None;
    }
}

/// What is remembered, if nobody is looking something up: a fork may have taken the lock along, and doing it twice is no harm.
fn known() -> Option<std::sync::MutexGuard<'static, Option<HashMap<u64, Places>>>> {
    match KNOWN.try_lock() {
        Ok(known) => Some(known),
        Err(TryLockError::Poisoned(known)) => Some(known.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The places of each of these addresses, in their order.
pub(super) fn of(addresses: &[u64]) -> Vec<Places> {
    let mut names: HashMap<u64, Places> = HashMap::new();
    if let Some(Some(known)) = known().as_deref() {
        let remembered = |address: &u64| Some((*address, Arc::clone(known.get(address)?)));
        names.extend(addresses.iter().filter_map(remembered));
    }
    let mut missing: Vec<u64> = addresses.iter().copied().filter(|address| !names.contains_key(address)).collect();
    missing.sort_unstable();
    missing.dedup();
    let new = look_up(&missing);
    if let Some(mut known) = known() {
        let known = known.get_or_insert_default();
        if known.len() + new.len() > NAMES_MAX {
            known.clear();
        }
        known.extend(new.iter().take(NAMES_MAX).map(|(address, places)| (*address, Arc::clone(places))));
    }
    names.extend(new);
    addresses.iter().map(|address| Arc::clone(&names[address])).collect()
}

/// Addresses in order, so that each file is opened once.
fn look_up(addresses: &[u64]) -> Vec<(u64, Places)> {
    let mut names = Vec::with_capacity(addresses.len());
    let mut file: Option<(&Loaded, Option<Loader>)> = None;
    for &address in addresses {
        if file.as_ref().is_none_or(|(loaded, _)| !loaded.range.contains(&address)) {
            let loaded = unwind::loaded().iter().find(|loaded| loaded.range.contains(&address));
            file = loaded.map(|loaded| (loaded, Loader::new(&loaded.path).ok()));
        }
        let places = match &file {
            Some((loaded, loader)) => {
                let named = loader.as_ref().map(|loader| places(loader, address - loaded.bias)).unwrap_or_default();
                if named.is_empty() { vec![unknown(loaded)] } else { named }
            }
            None => vec![Place::without_file(format!("{address:#x}"))],
        };
        names.push((address, places.into()));
    }
    names
}

fn places(loader: &Loader, address: u64) -> Vec<Place> {
    let mut places = Vec::new();
    // what cannot be read of the tables is as if it was not there
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
            let location = frame.location;
            let file = location.as_ref().and_then(|location| location.file);
            let fetched = file.and_then(without_directories);
            places.push(Place {
                function: function
                    .map_or_else(|| symbol(loader, address).unwrap_or_default(), |name| name.into_owned()),
                is_own: file.is_some() && fetched.is_none(),
                file: fetched.or(file).map(str::to_owned),
                line: location.as_ref().and_then(|location| location.line).filter(|line| *line > 0),
            });
        }
    }
    places.retain(|place| !place.function.is_empty());
    match (places.last_mut(), symbol(loader, address)) {
        (Some(place), Some(symbol)) if is_named(&symbol, &place.function) => place.function = symbol,
        (None, Some(function)) => places.push(Place::without_file(function)),
        (_, _) => {}
    }
    places
}

/// Whether a symbol is the one of a function. Tables of lines name functions without their paths, symbols with them; but a
/// library without its own symbols has those of others before it.
fn is_named(symbol: &str, function: &str) -> bool {
    let name = function.split('<').next().unwrap_or_default();
    match name.starts_with('{') {
        true => symbol.contains('{'),
        false => !name.is_empty() && symbol.contains(name),
    }
}

fn symbol(loader: &Loader, address: u64) -> Option<String> {
    let name = loader.find_symbol(address)?;
    Some(addr2line::demangle_auto(name.into(), None).into_owned())
}

fn unknown(loaded: &Loaded) -> Place {
    Place::without_file(loaded.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// A fetched package's or the toolchain's file without the directories that say nothing: `tokio-1.54.0/src/park.rs`,
/// `library/core/src/iter/range.rs`.
fn without_directories(file: &str) -> Option<&str> {
    let after = |mark: &str, parts: usize| {
        let rest = file.split_once(mark)?.1;
        rest.splitn(parts + 1, '/').nth(parts)
    };
    let source = after("/registry/src/", 1).or_else(|| after("/git/checkouts/", 2));
    let toolchain = || after("/rustc/", 1).or_else(|| after("/lib/rustlib/src/rust/", 0));
    source.or_else(toolchain)
}

#[cfg(test)]
mod tests {
    use super::{is_named, without_directories};

    #[test]
    fn a_symbol_is_taken_if_it_is_the_functions_own() {
        let check = |symbol: &str, function: &str, expected| assert_eq!(is_named(symbol, function), expected);
        check("std::sync::mpsc::Sender<T>::send", "send<u32>", true);
        check("story::read::{{closure}}", "{async_fn#0}", true);
        check("_nl_normalize", "send<u32>", false);
        check("<u8 as core::fmt::Debug>::fmt", "<u8 as core::fmt::Debug>::fmt", false);
    }

    #[test]
    fn files_are_without_the_directories_of_registry_and_toolchain() {
        let check = |long: &str, expected: &str| assert_eq!(without_directories(long).unwrap_or(long), expected);
        check("/home/a/.cargo/registry/src/index.crates.io-1949/tokio-1.54.0/src/park.rs", "tokio-1.54.0/src/park.rs");
        check("/home/a/.cargo/git/checkouts/hyper-12ab/34cd/src/lib.rs", "src/lib.rs");
        check("/rustc/59807616e/library/core/src/iter/range.rs", "library/core/src/iter/range.rs");
        check("/opt/rust/lib/rustlib/src/rust/library/std/src/rt.rs", "library/std/src/rt.rs");
        check("/srv/flight/src/main.rs", "/srv/flight/src/main.rs");
    }
}
