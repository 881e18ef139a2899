//! A folder of templates as a site: its pages, their paths, and what they need.

use crate::additions::{is_filter, is_test};
use crate::analysis::{self, Rows, Templates, Words};
use crate::direct::{self, Called, Loops};
use crate::error::{Error, ErrorKind};
use crate::front::{self, Front};
use crate::messages::{self, Messages};
use crate::need::Need;
use crate::newline::keep_first_line;
use crate::provided::Vocabulary;
use crate::query::{Query, Shows};
use crate::route::{self, Part, PathError, Routes};
use crate::{escape, folder, render, syntax};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// All templates of a site, and which of them are pages.
#[derive(Debug, Default)]
pub struct Site {
    pages: Vec<Page>,
    routes: Routes,
    templates: BTreeMap<String, String>,
    /// The templates again, with calls of these loops before them.
    called: BTreeMap<String, Called>,
    loops: Loops,
    messages: Arc<Messages>,
}

/// A template that is asked for.
#[derive(Debug)]
pub struct Page {
    /// The template's name: its file, from the site's folder on.
    pub template: String,
    /// What stands before it.
    pub front: Front,
    /// What it needs of each of its queries.
    pub needs: BTreeMap<String, Need>,
    /// The names that its path binds, in order.
    pub bound: Vec<String>,
    /// Whether it takes as long as its rows are large: its loops are none of the engine's, and look at a row at a time.
    pub is_linear: bool,
}

/// The page of a path.
#[derive(Debug)]
pub struct Found<'a> {
    /// The page.
    pub page: &'a Page,
    /// Its place among all pages.
    pub number: usize,
    /// What its path binds, by name.
    pub bound: Vec<(&'a str, String)>,
}

impl Page {
    /// The media type of what it answers.
    pub fn media_type(&self) -> &'static str {
        escape::media_type(&self.template)
    }
}

impl Site {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its file, and the line where there is one.
    pub fn load(folder: &Path) -> Result<Site, Error> {
        Site::load_in(folder, None, None)
    }

    /// Reads a folder, in whose messages a language has what others do not. It is English where several have messages and none is named. A
    /// name in a template that nothing defines is an error if it is said what there is to be found.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its file, and the line where there is one.
    pub fn load_in(folder: &Path, language: Option<&str>, vocabulary: Option<&Vocabulary>) -> Result<Site, Error> {
        Site::of_in(folder::read(folder)?, language, vocabulary)
    }

    /// Makes a site of templates by name.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its file, and the line where there is one.
    pub fn of(files: impl IntoIterator<Item = (String, String)>) -> Result<Site, Error> {
        Site::of_in(files, None, None)
    }

    /// Makes a site of templates and messages by name, with its language and what there is to be found as by [`Site::load_in`].
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its file, and the line where there is one.
    pub fn of_in(
        files: impl IntoIterator<Item = (String, String)>,
        language: Option<&str>,
        vocabulary: Option<&Vocabulary>,
    ) -> Result<Site, Error> {
        let (catalogues, files) = files.into_iter().partition(|(file, _)| messages::is_catalogue(file));
        let messages = Arc::new(Messages::read(catalogues, language)?);
        let (mut templates, mut fronts) = (Templates::default(), Vec::new());
        let files: Vec<(String, String)> = files;
        for (file, text) in files {
            let number = templates.programs.len() as u32;
            let (front, begin) = front::read(&file, &text)?;
            templates.programs.push(syntax::read(number, &file, &text[begin.0..], begin)?);
            templates.numbers.insert(file.clone(), number);
            templates.sources.push((file, text));
            fronts.push((front, begin));
        }
        messages_are_known(&templates, &messages)?;
        if let Some(vocabulary) = vocabulary {
            filters_are_known(&templates, vocabulary)?;
        }
        let mut site = Site { messages, ..Site::default() };
        let mut heads = Vec::new();
        for (number, (front, begin)) in fronts.into_iter().enumerate() {
            let (file, text) = &templates.sources[number];
            let (head, body) = (front_as_comment(begin.1), keep_first_line(file, &text[begin.0..]));
            let mut called = direct::read(file, &body, &mut site.loops);
            called.text.insert_str(0, &head);
            site.called.insert(file.clone(), called);
            site.templates.insert(file.clone(), format!("{head}{body}"));
            if file.split('/').any(|part| part.starts_with('_')) {
                let form = (!front.forms.is_empty()).then_some("[form]");
                let sign_in = front.sign_in.as_ref().map(|_| "sign_in");
                if let Some(name) = front.queries.first().map(|(name, _)| name.as_str()).or(form).or(sign_in) {
                    let message = format!("only pages have queries and forms, and what begins with _ is none: {name}");
                    return Err(Error::of_file(ErrorKind::Front, file, message));
                }
                continue;
            }
            heads.push(Head::of(number as u32, file, front)?);
        }
        let words = vocabulary.map(|vocabulary| Words::of(&templates, heads.iter().flat_map(Head::names), vocabulary));
        for head in heads {
            let queries: Vec<(&str, Rows)> =
                head.front.queries.iter().map(|(name, query)| (&**name, rows(query))).collect();
            let needs = analysis::needs(&templates, head.number, (&queries, &head.bound), words.as_ref())?;
            site.add(&templates.sources[head.number as usize].0, head, needs)?;
        }
        site.signing_in_ends()?;
        Ok(site)
    }

    /// The page that answers a path, as a client sends it without its query string.
    ///
    /// # Errors
    ///
    /// What can be no page's path, and should be refused rather than not found.
    pub fn find(&self, path: &str) -> Result<Option<Found<'_>>, PathError> {
        let mut values = Vec::new();
        let Some(number) = self.routes.find(&route::parts(path)?, &mut values) else { return Ok(None) };
        let page = &self.pages[number];
        Ok(Some(Found { page, number, bound: page.bound.iter().map(String::as_str).zip(values).collect() }))
    }

    /// The pages, in order of their names, `404.html` and `error.html` among them.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The page of a template, as of `404.html`.
    pub fn page(&self, template: &str) -> Option<&Page> {
        Some(&self.pages[self.number(template)?])
    }

    /// The place among all pages of a template's, as of `404.html`.
    pub fn number(&self, template: &str) -> Option<usize> {
        self.pages.iter().position(|page| page.template == template)
    }

    /// All templates by name, as the engine takes them. Lines are those of the files.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &str)> {
        self.templates.iter().map(|(name, source)| (&**name, &**source))
    }

    /// All templates by name, with calls of loops that are written without the engine, and these loops.
    pub(crate) fn called(&self) -> (impl Iterator<Item = (&str, &str)>, &Loops) {
        (self.called.iter().map(|(name, called)| (&**name, &*called.text)), &self.loops)
    }

    /// The messages of all languages.
    pub fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    /// Where one signs in cannot be a page that sends there who has not.
    fn signing_in_ends(&self) -> Result<(), Error> {
        for page in &self.pages {
            let Some(sign_in) = &page.front.sign_in else { continue };
            let location = sign_in.fill(|_| None);
            let found = self.find(location.split('?').next().unwrap_or_default());
            if let Ok(Some(found)) = found
                && found.page.front.sign_in.is_some()
            {
                let message = format!("nobody could sign in at {}, which has a sign_in itself", found.page.template);
                return Err(Error::of_file(ErrorKind::Front, &page.template, message));
            }
        }
        Ok(())
    }

    fn add(&mut self, file: &str, head: Head, needs: BTreeMap<String, Need>) -> Result<(), Error> {
        let Head { front, parts, bound, .. } = head;
        let number = self.pages.len();
        if !matches!(file, "404.html" | "error.html") {
            self.routes.add(&parts, number).map_err(|other| {
                let message = format!("{} answers the same paths; one of them must go", self.pages[other].template);
                Error::of_file(ErrorKind::Name, file, message)
            })?;
        }
        let is_linear = self.is_linear(file);
        self.pages.push(Page { template: file.to_owned(), front, needs, bound, is_linear });
        Ok(())
    }

    /// Whether a template and those that it is made of take as long as their rows are large.
    fn is_linear(&self, template: &str) -> bool {
        let mut reached = vec![template];
        let mut at = 0;
        while let Some(template) = reached.get(at) {
            let Some(Called { is_linear: true, others, .. }) = self.called.get(*template) else {
                return false;
            };
            let new: Vec<&str> = others.iter().map(String::as_str).filter(|other| !reached.contains(other)).collect();
            reached.extend(new);
            at += 1;
        }
        true
    }
}

/// A page before its template is looked at.
struct Head {
    number: u32,
    front: Front,
    parts: Vec<Part>,
    bound: Vec<String>,
}

impl Head {
    fn of(number: u32, file: &str, front: Front) -> Result<Head, Error> {
        let parts = parts(file)?;
        let mut bound = Vec::new();
        for part in &parts {
            if let Part::Bound { name, .. } = part {
                if bound.contains(name) || front.queries.iter().any(|(known, _)| known == name) {
                    return Err(Error::of_file(ErrorKind::Name, file, format!("{name} would have two meanings")));
                }
                bound.push(name.clone());
            }
        }
        Ok(Head { number, front, parts, bound })
    }

    /// The names that its template has of it.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.front.queries.iter().map(|(name, _)| name).chain(&self.bound).map(String::as_str)
    }
}

fn messages_are_known(templates: &Templates, messages: &Messages) -> Result<(), Error> {
    for (id, at) in templates.programs.iter().flat_map(|program| &program.messages) {
        if let Some(fault) = messages.fault(id) {
            return Err(Error::new(ErrorKind::Message, templates.place(*at), fault));
        }
    }
    Ok(())
}

/// Filters and tests, which the engine looks for when it comes to them.
fn filters_are_known(templates: &Templates, vocabulary: &Vocabulary) -> Result<(), Error> {
    let environment = render::environment(Arc::default());
    let added = |name: &str| vocabulary.filters.as_ref().is_none_or(|added| added.iter().any(|known| known == name));
    let filters = templates.programs.iter().flat_map(|program| &program.filters);
    let tests = templates.programs.iter().flat_map(|program| &program.tests);
    let filter = filters.clone().find(|(name, _)| !is_filter(&environment, name) && !added(name));
    let test = tests.clone().find(|(name, _)| !is_test(&environment, name));
    match filter.map(|found| ("filter", found)).or(test.map(|found| ("test", found))) {
        Some((kind, (name, at))) => {
            Err(Error::new(ErrorKind::Template, templates.place(*at), format!("no {kind} is called {name}")))
        }
        None => Ok(()),
    }
}

fn rows(query: &Query) -> Rows {
    match query.shows {
        Shows::One => Rows::One,
        Shows::All if query.calls() && query.count.is_none() => Rows::Any,
        Shows::All | Shows::Some { .. } => Rows::Many,
    }
}

/// A template's head of so many lines as a comment, so that the engine counts the file's lines.
fn front_as_comment(lines: usize) -> String {
    match lines {
        0 => String::new(),
        lines => format!("{{#{}#}}", "\n".repeat(lines)),
    }
}

/// The path of a file: `flights/index.html` is `/flights`.
fn parts(file: &str) -> Result<Vec<Part>, Error> {
    let (folders, name) = file.rsplit_once('/').map_or((None, file), |(folders, name)| (Some(folders), name));
    let mut parts = Vec::new();
    for folder in folders.iter().flat_map(|folders| folders.split('/')) {
        parts.push(part(file, folder, "")?);
    }
    match name.rsplit_once('.') {
        Some(("index", "html")) => {}
        Some((stem, "html")) => parts.push(part(file, stem, "")?),
        Some((stem, extension)) => parts.push(part(file, stem, &format!(".{extension}"))?),
        None => {
            let message = "a page's name has an extension: .html, .xml, .csv; what is no template belongs in static/";
            return Err(Error::of_file(ErrorKind::Name, file, message));
        }
    }
    Ok(parts)
}

fn part(file: &str, stem: &str, suffix: &str) -> Result<Part, Error> {
    let wrong = |message: String| Err(Error::of_file(ErrorKind::Name, file, message));
    if let Some(name) = stem.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        if !front::can_be_bound(name) {
            let message = "letters, digits and _ can, but for words of the templates";
            return wrong(format!("[{name}] cannot be named in a template: {message}"));
        }
        return Ok(Part::Bound { name: name.to_owned(), suffix: suffix.to_owned() });
    }
    if stem.is_empty() || stem.contains(['[', ']']) || stem.chars().any(char::is_control) {
        return wrong(format!("{stem} is no part of a path; [name] stands alone"));
    }
    Ok(Part::Literal(format!("{stem}{suffix}")))
}
