//! Messages in several languages: the catalogues of a site, and `t("welcome", name=pilot.name)` in its templates.
//!
//! A catalogue is a file of Fluent (<https://projectfluent.org/fluent/guide/>), `messages/de.ftl`, named by its language.

mod catalogue;
mod choose;
mod own;
mod references;
mod unparsable;

use crate::error::{Error, ErrorKind};
use crate::format::{LOCALE_BYTES_MAX, is_nothing, refused, variable};
use catalogue::Catalogue;
use fluent_bundle::{FluentArgs, FluentValue};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, State};
use std::fmt;
use std::sync::Arc;
use unic_langid::LanguageIdentifier;

pub use choose::{LANGUAGE_RANGES_MAX, choose};
pub use references::MESSAGE_FRACTION_DIGITS_MAX;
pub use unparsable::MESSAGE_BRACKETS_MAX;

/// How many languages a site may have.
pub const LANGUAGES_MAX: usize = 100;

/// The function of templates that finds a message.
pub(crate) const FUNCTION: &str = "t";

const FOLDER: &str = "messages/";
const EXTENSION: &str = ".ftl";
/// What a site's language is, if it has several and does not say.
const DEFAULT: &str = "en";
/// The whole numbers that a float holds.
const INTEGER_MAX: i64 = 1 << 53;

/// The messages of a site in all of its languages.
#[derive(Default)]
pub struct Messages {
    /// By language.
    catalogues: Vec<Catalogue>,
    /// Which of them has what others do not.
    default: usize,
}

impl Messages {
    /// The languages, in the order of their tags.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.catalogues.iter().map(|catalogue| &*catalogue.language)
    }

    /// The language of messages that others do not have, unless there are none.
    pub fn default_language(&self) -> Option<&str> {
        self.catalogues.get(self.default).map(|catalogue| &*catalogue.language)
    }

    /// The language for a reader, or the default: [`choose`] of those that there are.
    pub fn choose(&self, path: Option<&str>, cookie: Option<&str>, accept_language: Option<&str>) -> Option<&str> {
        let available: Vec<&str> = self.languages().collect();
        choose(&available, path, cookie, accept_language).or(self.default_language())
    }

    /// What the program says under an id, in the words of the site where it has some, in a language or the nearest that has it.
    pub fn own(&self, locale: &str, id: &str, arguments: &[(&str, Value)]) -> Option<String> {
        let mut given = FluentArgs::with_capacity(arguments.len());
        for (name, value) in arguments {
            given.set(*name, argument(name, value).ok()?);
        }
        let of_site = |tag: &str| self.catalogues.iter().find(|known| known.language.eq_ignore_ascii_case(tag));
        let of_tag = |tag| of_site(tag).into_iter().chain(own::catalogue(tag));
        let locale = Some(locale).filter(|locale| locale.len() <= LOCALE_BYTES_MAX);
        let nearest_first = locale.into_iter().flat_map(choose::shorter).flat_map(of_tag);
        let default = self.default_language().into_iter().flat_map(choose::shorter).flat_map(of_tag);
        // words of the site that ask for what is not given say nothing
        let text = |catalogue: &Catalogue| catalogue.text(catalogue.pattern(id)?, &given).ok();
        nearest_first.chain(default).chain(own::english()).find_map(text)
    }

    /// Reads the catalogues, by the names of their files.
    pub(crate) fn read(files: Vec<(String, String)>, default: Option<&str>) -> Result<Messages, Error> {
        let mut catalogues: Vec<Catalogue> = Vec::with_capacity(files.len());
        for (file, text) in files {
            let language = language(&file)?;
            if let Some(other) = catalogues.iter().find(|other| other.language == language.to_string()) {
                return Err(Error::of_file(ErrorKind::Name, &file, format!("{} is the same language", other.file)));
            }
            if catalogues.len() == LANGUAGES_MAX {
                let message = format!("a site has at most {LANGUAGES_MAX} languages");
                return Err(Error::of_file(ErrorKind::TooMuch, &file, message));
            }
            catalogues.push(Catalogue::read(file, language, text)?);
        }
        catalogues.sort_by(|one, other| one.language.cmp(&other.language));
        let mut messages = Messages { catalogues, default: 0 };
        messages.default = messages.default_place(default)?;
        Ok(messages)
    }

    /// What is wrong with an id that stands in a template, if anything.
    pub(crate) fn fault(&self, id: &str) -> Option<String> {
        match self.catalogues.get(self.default) {
            None => Some(format!("there are no messages: {FOLDER}{DEFAULT}{EXTENSION} would have {id}")),
            Some(catalogue) => catalogue.pattern(id).is_none().then(|| catalogue.missing(id)),
        }
    }

    fn default_place(&self, wanted: Option<&str>) -> Result<usize, Error> {
        let place = |language: &str| self.languages().position(|known| known.eq_ignore_ascii_case(language));
        match wanted {
            Some(_) | None if self.catalogues.len() < 2 => Ok(0),
            Some(language) => place(language).ok_or_else(|| {
                let file = format!("{FOLDER}{language}{EXTENSION}");
                Error::of_file(ErrorKind::Missing, &file, "the site's own language has no messages")
            }),
            None => Ok(place(DEFAULT).unwrap_or(0)),
        }
    }

    fn text(&self, locale: &str, id: &str, arguments: &FluentArgs<'_>) -> Result<String, minijinja::Error> {
        let locale = Some(locale).filter(|locale| locale.len() <= LOCALE_BYTES_MAX);
        let known = |tag: &str| self.catalogues.iter().find(|known| known.language.eq_ignore_ascii_case(tag));
        let nearest_first = locale.into_iter().flat_map(choose::shorter).filter_map(known);
        let found = nearest_first
            .chain(self.catalogues.get(self.default))
            .find_map(|catalogue| Some((catalogue, catalogue.pattern(id)?)));
        let Some((catalogue, pattern)) = found else {
            return Err(refused(format!("there is no message {}", crate::format::cut(id))));
        };
        catalogue.text(pattern, arguments).map_err(|fault| refused(format!("{}: {id}: {fault}", catalogue.file)))
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.languages()).finish()
    }
}

/// Whether a file of a site is a catalogue, and so neither a page nor a template.
pub(crate) fn is_catalogue(file: &str) -> bool {
    file.starts_with(FOLDER) && file.ends_with(EXTENSION)
}

/// Adds the function to the engine.
pub(crate) fn register(env: &mut Environment<'_>, messages: Arc<Messages>) {
    env.add_function(FUNCTION, move |state: &State, id: &str, named: Kwargs| {
        let names: Vec<&str> = named.args().collect();
        let values = names.iter().map(|name| named.peek(name)).collect::<Result<Vec<Value>, _>>()?;
        let mut arguments = FluentArgs::with_capacity(names.len());
        for (name, value) in names.iter().zip(&values) {
            arguments.set(*name, argument(name, value)?);
        }
        let locale = variable(state, "locale");
        messages.text(locale.as_ref().and_then(Value::as_str).unwrap_or_default(), id, &arguments)
    });
}

fn language(file: &str) -> Result<LanguageIdentifier, Error> {
    let tag = file.strip_prefix(FOLDER).and_then(|name| name.strip_suffix(EXTENSION)).unwrap_or_default();
    let language = Some(tag).filter(|tag| tag.len() <= LOCALE_BYTES_MAX).and_then(|tag| tag.parse().ok());
    language.ok_or_else(|| {
        let message = "the name is no language: messages/en.ftl and messages/de-CH.ftl are names";
        Error::of_file(ErrorKind::Name, file, message)
    })
}

fn argument<'a>(name: &str, value: &'a Value) -> Result<FluentValue<'a>, minijinja::Error> {
    if is_nothing(value) {
        return Ok("".into());
    }
    match value.kind() {
        ValueKind::String => Ok(value.as_str().unwrap_or_default().into()),
        ValueKind::Number => Ok(number(value).unwrap_or_else(|| value.to_string().into())),
        ValueKind::Bool => Ok(value.to_string().into()),
        kind => Err(refused(format!("{name} is a {kind}, which is in no message"))),
    }
}

/// A number, where a message's float holds all of it.
fn number(value: &Value) -> Option<FluentValue<'static>> {
    if value.is_integer() {
        let integer = i64::try_from(value.clone()).ok()?;
        return (-INTEGER_MAX..=INTEGER_MAX).contains(&integer).then(|| integer.into());
    }
    f64::try_from(value.clone()).ok().filter(|float| float.is_finite()).map(FluentValue::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use minijinja::context;

    const EN: &str = "\
welcome = Welcome, { $name }!
flights = { $count ->
    [0] No flights
    [one] One flight
   *[other] { $count } flights
} of { -club }
-club = the club
button = Search
    .title = Search in { flights-all }
flights-all = all flights
share = { NUMBER($part, maximumFractionDigits: 1) } of { NUMBER($year, useGrouping: \"false\") }
only-title =
    .title = Title
";
    const DE: &str = "\
welcome = Willkommen, { $name }!
flights = { $count ->
    [one] Ein Flug
   *[other] { $count } Flüge
}
";
    const CH: &str = "welcome = Grüezi, { $name }!\n";

    fn messages(files: &[(&str, &str)]) -> Result<Messages, Error> {
        Messages::read(files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect(), None)
    }

    fn made(locale: &str, template: &str) -> Result<String, minijinja::Error> {
        let messages =
            messages(&[("messages/de-CH.ftl", CH), ("messages/de.ftl", DE), ("messages/en.ftl", EN)]).unwrap();
        let mut env = Environment::new();
        register(&mut env, Arc::new(messages));
        env.add_template("page.html", template)?;
        let row = context! { name => "<Ann>", site => context! { zone => "UTC" } };
        env.get_template("page.html")?.render(context! { locale, pilot => row, many => 1234567 })
    }

    #[test]
    fn a_message_is_found_in_the_nearest_language_that_has_it() {
        for (locale, template, text) in [
            ("en", "{{ t('welcome', name='Ann') }}", "Welcome, Ann!"),
            ("de-CH", "{{ t('welcome', name='Ann') }}", "Grüezi, Ann!"),
            ("DE-at", "{{ t('welcome', name='Ann') }}", "Willkommen, Ann!"),
            ("de-CH", "{{ t('flights', count=2) }}", "2 Flüge"),
            ("de-CH", "{{ t('button.title') }}", "Search in all flights"),
            ("xx", "{{ t('button') }}", "Search"),
            ("", "{{ t('button') }}", "Search"),
            ("en", "{% macro m(id) %}{{ t(id) }}{% endmacro %}{{ m('button') }}", "Search"),
        ] {
            assert_eq!(made(locale, template).unwrap(), text, "{locale} {template}");
        }
        assert_eq!(made(&"de-".repeat(1000), "{{ t('button') }}").unwrap(), "Search");
    }

    #[test]
    fn numbers_choose_the_plural_and_are_written_as_the_language_does() {
        for (locale, template, text) in [
            ("en", "{{ t('flights', count=0) }}", "No flights of the club"),
            ("en", "{{ t('flights', count=1) }}", "One flight of the club"),
            ("en", "{{ t('flights', count=many) }}", "1,234,567 flights of the club"),
            ("de", "{{ t('flights', count=many) }}", "1.234.567 Flüge"),
            ("de", "{{ t('flights', count=1.5) }}", "1,5 Flüge"),
            ("en", "{{ t('share', part=0.25, year=2026) }}", "0.3 of 2026"),
            ("en", "{{ t('share', part='half', year=none) }}", "half of "),
        ] {
            assert_eq!(made(locale, template).unwrap(), text, "{template}");
        }
        // what the rules of plurals cannot count
        for count in
            ["1e300", "1e-300", "-1e308", "2 ** 63", "2 ** 100", "0.1 + 0.2", "1e308 * 10", "1e308 * 10 - 1e308 * 10"]
        {
            assert!(made("de", &format!("{{{{ t('flights', count={count}) }}}}")).is_ok(), "{count}");
        }
    }

    #[test]
    fn values_are_escaped_as_all_text_of_a_page_is() {
        assert_eq!(made("en", "{{ t('welcome', name=pilot.name) }}").unwrap(), "Welcome, &lt;Ann&gt;!");
        assert_eq!(made("en", "{{ t('welcome', name='<b>'|safe) }}").unwrap(), "Welcome, &lt;b&gt;!");
    }

    #[test]
    fn what_a_message_cannot_say_is_an_error() {
        for (template, message) in [
            ("{{ t('welcome') }}", "messages/de.ftl: welcome: Unknown variable: $name"),
            ("{{ t('welcome', name=pilot) }}", "name is a map, which is in no message"),
            ("{{ t('welcome', name=[1]) }}", "name is a sequence, which is in no message"),
            ("{{ t('nothing') }}", "there is no message nothing"),
            ("{{ t('only-title') }}", "there is no message only-title"),
            ("{{ t('button.colour') }}", "there is no message button.colour"),
            ("{{ t('-club') }}", "there is no message -club"),
            ("{{ t('NUMBER') }}", "there is no message NUMBER"),
        ] {
            let error = made("de", &format!("\n{template}")).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(error.line(), Some(2));
        }
    }

    #[test]
    fn a_catalogue_that_is_wrong_is_refused_where_it_is() {
        let club = "club = A\n-club = B\n";
        for (text, said) in [
            ("a = b\n\nc = { $name\n", "messages/en.ftl:4:1: Expected a token starting with \"}\""),
            ("a = b\nnonsense\n", "messages/en.ftl:2:9: Expected a token starting with \"=\""),
            ("a = { $n ->\n  [one] x\n }\n", "messages/en.ftl:3:2: The select expression must have a default variant"),
            ("a = b\nc = ä { d }\n", "messages/en.ftl:2:9: there is no message d in this language"),
            ("a =\n .b = { a }\n", "there is no message a in this language"),
            ("a = { b.c }\nb = d\n", "there is no message b.c in this language"),
            ("a = { -b }\n", "messages/en.ftl:1:8: there is no term -b in this language"),
            ("a = { DATETIME($b) }\n", "messages/en.ftl:1:7: a message calls NUMBER($value), and no other function"),
            ("a = { NUMBER() }\n", "a message calls NUMBER($value)"),
            ("a = { NUMBER($b, minimumFractionDigits: 16) }\n", "minimumFractionDigits is at most 15"),
            ("a = { NUMBER($b, style: \"percent\") }\n", "NUMBER is told minimumFractionDigits"),
            ("a = { 1.0000000000000001 ->\n [one] x\n *[other] y\n }\n", "at most 15 digits of a fraction"),
            ("a = { \"\\u12ä\" }\n", "messages/en.ftl:1:8: an escape is \\u and four digits"),
            ("a = { \"\\U12345ä\" }\n", "messages/en.ftl:1:8: an escape is"),
            ("a = { \"\\u12\" }\n", "Invalid unicode escape sequence"),
            ("a = b\na = c\n", "messages/en.ftl: a is there twice"),
            (club, "messages/en.ftl: club is there twice"),
        ] {
            let error = messages(&[("messages/en.ftl", text)]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
            assert_eq!(error.kind(), ErrorKind::Message);
        }
    }

    #[test]
    fn a_message_is_as_deep_as_it_may_be() {
        let nested = |count: usize| format!("before = (((\na = {}x{}\n", "{".repeat(count), "}".repeat(count));
        let wrong = |text: &str| messages(&[("messages/en.ftl", text)]).unwrap_err().to_string();
        assert!(wrong(&nested(MESSAGE_BRACKETS_MAX)).contains("there is no message x"));
        assert!(wrong(&nested(MESSAGE_BRACKETS_MAX + 1)).contains("2:1: a message has at most 100 braces"));
        assert!(wrong(&nested(1 << 19)).contains("a message has at most 100 braces"));
        let calls = format!("a = {{ {}\n", "NUMBER(\n".repeat(100_000));
        assert!(wrong(&calls).contains("a message has at most 100 braces"));
        let selects = format!("a = {}\n", "{ \"}\" ->\n *[x] ".repeat(100_000));
        assert!(wrong(&selects).contains("a message has at most 100 braces"));
        // a line that begins as a message does ends what it stands in
        let begun = format!("a = {}\n", "{ A(\nb = ".repeat(100_000));
        assert!(wrong(&begun).starts_with("messages/en.ftl:"));
    }

    #[test]
    fn what_messages_make_of_each_other_has_a_bound() {
        let mut text = "a0 = { $x }{ $x }\n".to_owned();
        (1..150).for_each(|n| text += &format!("a{n} = {{ a{0} }}{{ a{0} }}\n", n - 1));
        text += "circle = { circle }\n";
        let mut env = Environment::new();
        register(&mut env, Arc::new(messages(&[("messages/en.ftl", &text)]).unwrap()));
        for template in ["{{ t('a149', x='y') }}", "{{ t('circle') }}"] {
            assert!(env.render_str(template, context! {}).is_err(), "{template}");
        }
    }

    #[test]
    fn languages_are_named_by_their_files() {
        let of = |default| {
            let files = [("messages/fr.ftl", "a = b\n"), ("messages/de-ch.ftl", "c = d\n"), ("messages/en.ftl", "")];
            Messages::read(files.map(|(file, text)| (file.to_owned(), text.to_owned())).into(), default)
        };
        let english = of(None).unwrap();
        assert_eq!(english.languages().collect::<Vec<_>>(), ["de-CH", "en", "fr"]);
        assert_eq!((english.default_language(), of(Some("FR")).unwrap().default_language()), (Some("en"), Some("fr")));
        assert_eq!(english.choose(Some("flights"), None, Some("fr-CA, en")), Some("fr"));
        assert_eq!(english.choose(None, None, Some("it")), Some("en"));
        assert_eq!(messages(&[("messages/fr.ftl", "")]).unwrap().default_language(), Some("fr"));
        assert_eq!(messages(&[]).unwrap().choose(None, None, Some("en")), None);
        assert_eq!(of(Some("it")).unwrap_err().to_string(), "messages/it.ftl: the site's own language has no messages");
        for file in ["messages/english language.ftl", "messages/de/a.ftl", "messages/.ftl", "messages/_en.ftl"] {
            assert_eq!(messages(&[(file, "")]).unwrap_err().kind(), ErrorKind::Name, "{file}");
        }
        let twice = messages(&[("messages/DE.ftl", ""), ("messages/de.ftl", "")]).unwrap_err();
        assert_eq!(twice.to_string(), "messages/de.ftl: messages/DE.ftl is the same language");
        let many: Vec<(String, String)> =
            (0..=LANGUAGES_MAX).map(|n| (format!("messages/en-x{n:04}.ftl"), String::new())).collect();
        assert_eq!(Messages::read(many, None).unwrap_err().kind(), ErrorKind::TooMuch);
    }

    #[test]
    fn a_site_says_otherwise_what_the_program_says() {
        let said = |files: &[(&str, &str)], locale: &str, id: &str| {
            messages(files).unwrap().own(locale, id, &[("most", Value::from(80))]).unwrap()
        };
        let (german, english) = ("Hier fehlt eine Angabe.", "This must be filled in.");
        for (locale, text) in [("de", german), ("de-CH", german), ("en", english), ("fr", english), ("", english)] {
            assert_eq!(said(&[], locale, "form-missing"), text);
        }
        let site =
            [("messages/de.ftl", "form-missing = Fehlt.\nform-taken = { $other }\n"), ("messages/fr.ftl", "a = b\n")];
        assert_eq!(said(&site, "de-AT", "form-missing"), "Fehlt.");
        assert_eq!(said(&site, "de", "form-taken"), "Das gibt es schon.");
        assert_eq!(said(&site, "de", "form-too-long"), "Das ist zu lang: Höchstens 80 Zeichen sind möglich.");
        // the first is what the site speaks by default
        assert_eq!(said(&site, "fr", "form-missing"), "Fehlt.");
    }

    #[test]
    fn a_page_that_names_no_message_is_refused() {
        let site = |template: &str| {
            let files = [("messages/en.ftl", EN), ("messages/de.ftl", DE), ("_part.html", template)];
            Site::of(files.map(|(name, text)| (name.to_owned(), text.to_owned())))
        };
        let known = site("{{ t('welcome', name=1) }}{{ t('button.title') }}{{ t(x) }}{{ t('a' ~ x) }}{{ other('x') }}")
            .unwrap();
        assert_eq!((known.pages().len(), known.templates().count()), (0, 1));
        assert_eq!(known.messages().default_language(), Some("en"));
        for (template, message) in [
            ("\n {{ t('welcom') }}", "_part.html:2:5: messages/en.ftl has no message welcom; welcome is the nearest"),
            (
                "{{ t('buton.title')|upper }}",
                "_part.html:1:4: messages/en.ftl has no message buton.title; button.title is the nearest",
            ),
            ("{% if false %}{{ x ~ t('zzz') }}{% endif %}", "_part.html:1:22: messages/en.ftl has no message zzz"),
            (
                "{% macro a() %}{% for b in [t('only-title')] %}{% endfor %}{% endmacro %}",
                "_part.html:1:29: messages/en.ftl has no message only-title; only-title.title is the nearest",
            ),
        ] {
            let error = site(template).unwrap_err();
            assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::Message, message));
        }
        let none = Site::of([("a.html".to_owned(), "{{ t('a') }}".to_owned())]).unwrap_err();
        assert_eq!(none.to_string(), "a.html:1:4: there are no messages: messages/en.ftl would have a");
    }
}
