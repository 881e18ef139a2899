//! Lines of the application, as its own people know them.

use crate::account;
use crate::sample::{self, Place, Stack};
use std::panic::Location;
use std::sync::{LazyLock, OnceLock};

/// The stack here, to be named later, where stacks can be taken.
pub(crate) fn here() -> Option<Box<Stack>> {
    account::uncharged(|| {
        let stack = sample::stack_here();
        (!stack.addresses().is_empty()).then(|| Box::new(stack))
    })
}

/// The innermost place of a stack that is the application's, as `file:line`.
pub(crate) fn of_application(stack: &Stack) -> Option<String> {
    stack.named().iter().find(|place| is_of_application(place)).and_then(shown)
}

/// The await of a stack by which whoever took a lock at a place waits: the nearest line behind it in the same file, since what it calls may wait
/// for it elsewhere; else the innermost.
pub(crate) fn of_await(stack: &Stack, taken_at: &Location<'_>) -> Option<String> {
    let places = stack.named();
    let own = || places.iter().filter(|place| is_of_application(place));
    let is_same = |place: &&Place| place.file.as_ref().is_some_and(|file| file.ends_with(taken_at.file()));
    let behind =
        own().filter(is_same).filter(|place| place.line >= Some(taken_at.line())).min_by_key(|place| place.line);
    behind.or_else(|| own().next()).and_then(shown)
}

/// Whether a place is neither a library's, nor the gauge's, nor an allocator's.
pub(crate) fn is_of_application(place: &Place) -> bool {
    place.is_own && place.line.is_some() && !is_of_gauge(place)
}

/// Whether a place is the gauge's own, or stands between it and who asked for memory or a copy.
pub(crate) fn is_of_gauge(place: &Place) -> bool {
    const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let function = &place.function;
    place.file.as_ref().is_some_and(|file| file.starts_with(OWN))
        || function.contains("thalweg_gauge::")
        || function.contains("__rust_")
        || function.contains("__rustc::")
        || function.starts_with("__wrap_")
}

/// Whether a place is the standard library's, or has no file.
pub(crate) fn is_of_std(place: &Place) -> bool {
    !place.is_own && place.file.as_ref().is_none_or(|file| file.starts_with("library/"))
}

/// A place as `file:line`, with the file as the compiler was given it: from where the program was built.
pub(crate) fn shown(place: &Place) -> Option<String> {
    Some(format!("{}:{}", from_built_in(place.file.as_deref()?), place.line?))
}

/// A file as the compiler was given it.
pub(crate) fn from_built_in(file: &str) -> &str {
    file.strip_prefix(&**BUILT_IN).unwrap_or(file)
}

/// As panics have it, without the column.
pub(crate) fn of_location(location: &Location<'_>) -> String {
    format!("{}:{}", location.file(), location.line())
}

/// A stack, and the line that took it as the compiler has it.
static TAKEN_AT: OnceLock<(Box<Stack>, &'static Location<'static>)> = OnceLock::new();

/// The folder that the program was built in, with a slash: what stands in that stack before the file of that line. Found when a line is first
/// shown, since that reads the program's file.
static BUILT_IN: LazyLock<String> = LazyLock::new(|| {
    let Some((stack, caller)) = TAKEN_AT.get() else { return String::new() };
    let places = stack.named();
    let mut files = places.iter().filter_map(|place| place.file.as_deref());
    let folder = files.find_map(|file| file.strip_suffix(caller.file()));
    folder.filter(|folder| folder.ends_with('/')).unwrap_or_default().to_owned()
});

/// Notes a stack in which the caller stands, by which the folder that the program was built in is found.
pub(crate) fn note(caller: &'static Location<'static>) {
    if let Some(stack) = here() {
        let _ = TAKEN_AT.set((stack, caller));
    }
}
