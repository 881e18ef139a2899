//! Sites in a real browser: pages, forms with files, with scripts and without, and what is shown while a site is written.

use crate::program::{Directory, Program};
use crate::sites::{ON_ANY_PORT, new_site};
use std::fmt::Write;
use std::path::Path;
use thalweg_testkit::{Browser, Database};

#[test]
fn a_new_site_is_read_and_written_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = Directory::new("new-in-a-browser");
    let site = new_site(&directory);
    let mut server = Program::start(&["serve", site.to_str().unwrap()], &[ON_ANY_PORT]);
    browser.open(&format!("http://{}/", server.address()));
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('.list')).listStyleType"), "none");
    assert_eq!(browser.evaluate("document.querySelectorAll('.list li').length"), 3);
    browser.click(".list li:nth-child(2) a");
    browser.wait_for("document.title === 'Middlemarch'");
    assert!(browser.text().contains("Nobody has written one yet."), "{}", browser.text());

    browser.fill("[name=reader]", "Virginia");
    browser.fill("[name=stars]", "6");
    browser.fill("[name=text]", "For grown-up people.\nOne of the few.");
    browser.click("form button");
    browser.wait_for("document.querySelector('[name=stars]').closest('label').nextElementSibling.textContent === 'There are one to five stars.'");
    let values = "['reader', 'stars', 'text'].map(name => document.forms[0][name].value).join('|')";
    assert_eq!(browser.evaluate(values), "Virginia|6|For grown-up people.\nOne of the few.");
    browser.fill("[name=stars]", "5");
    browser.click("form button");
    browser.wait_for("document.querySelector('article')?.innerText.includes('Virginia')");
    assert_eq!(browser.evaluate("document.querySelector('article .stars').textContent"), "★★★★★");
    assert_eq!(browser.evaluate(values), "|5|", "the form is a new one");
    browser.click("header a");
    browser.wait_for("document.querySelector('.list li:nth-child(2) .stars')?.textContent === '★★★★★'");
}

const TRACKS: &str = "
    create schema api;
    create table api.tracks (id int generated always as identity primary key, title text not null, launched date not null,
      track bytea not null, track_name text, track_type text);
";
const TRACK_FORM: &str = r#"+++
[form]
insert = "/tracks"
then = "/tracks/{id}"
+++
<!DOCTYPE html>
<title>New track</title>
<script>document.documentElement.className = "scripted"</script>
<form method="post" enctype="multipart/form-data">
  <input name="title" value="{{ form.values.title }}"> <b id="title">{{ form.errors.title }}</b>
  <input name="launched" value="{{ form.values.launched }}"> <b id="launched">{{ form.errors.launched.code }}</b>
  <input type="file" name="track"> <b id="track">{{ form.errors.track.code }}</b>
  <button>Save</button>
</form>
"#;
const TRACK: &str = r#"+++
track = { one = "/tracks?id=eq.{id}" }
+++
<!DOCTYPE html>
<title>Track</title>
<h1 title="{{ track.title }}">{{ track.title }}</h1>
<script id="data" type="application/json">{{ track.title|tojson }}</script>
<p>{{ track.track_name }}</p>
"#;
/// A title that would be a script, wherever it is not escaped.
const TITLE: &str = "</script></textarea><script>document.title = 'owned'</script>\" onclick='x' é & <b>";

#[test]
fn a_form_with_a_file_is_sent_with_scripts_and_without() {
    let Some(mut browser) = Browser::start() else { return };
    let (directory, database) = (Directory::new("form-in-a-browser"), Database::new(TRACKS));
    let (mut server, address) =
        serve(&directory, &database, &[("index.html", TRACK_FORM), ("tracks/[id].html", TRACK)], &[]);
    let content: Vec<u8> = (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let content = [&content, "\r\n------WebKitFormBoundary\r\n--\0".as_bytes(), &content].concat();
    let file = directory.0.join("Ä \"track\".igc");
    std::fs::write(&file, &content).unwrap();
    for scripts in [true, false] {
        let before = database.value("select count(*) from api.tracks");
        browser.set_scripts(scripts);
        browser.open(&address);
        assert_eq!(browser.evaluate("document.documentElement.className"), if scripts { "scripted" } else { "" });
        // what is missing is said where it is missing, and nothing that was typed is lost
        browser.fill("[name=title]", TITLE);
        browser.click("button");
        browser.wait_for("document.querySelector('#launched')?.textContent === '23502'");
        assert_eq!(browser.evaluate("document.querySelector('#track').textContent"), "23502");
        assert_eq!(browser.evaluate("document.querySelector('#title').textContent"), "");
        assert_eq!(browser.evaluate("document.forms[0].title.value"), TITLE);
        assert_eq!(browser.evaluate("document.title"), "New track");
        assert_eq!(database.value("select count(*) from api.tracks"), before);

        browser.fill("[name=launched]", "2026-05-01");
        browser.choose_file("[name=track]", &file);
        browser.click("button");
        browser.wait_for("location.pathname.startsWith('/tracks/')");
        let id = database.value("select max(id) from api.tracks");
        assert_eq!(browser.evaluate("location.pathname"), format!("/tracks/{id}"));
        assert_eq!(browser.evaluate("[document.title, document.scripts.length].join()"), "Track,1");
        assert_eq!(browser.evaluate("document.querySelector('h1').textContent"), TITLE);
        assert_eq!(browser.evaluate("JSON.parse(document.querySelector('#data').textContent)"), TITLE);
        let row = database.query(&format!(
            "select title, launched, track_name, encode(track, 'hex') from api.tracks where id = {id}"
        ));
        let row: Vec<_> = row[0].iter().flatten().map(String::as_str).collect();
        assert_eq!(row[..3], [TITLE, "2026-05-01", "Ä \"track\".igc"]);
        assert!(row[3] == hex(&content), "the file came otherwise than it was sent");
    }
    server.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(server.wait().success());
}

#[test]
fn a_page_that_is_written_loads_itself_again() {
    let Some(mut browser) = Browser::start() else { return };
    let (directory, database) = (Directory::new("dev-in-a-browser"), Database::new("create schema api"));
    let (_server, address) = serve(&directory, &database, &[("index.html", "<h1>first</h1>")], &["--dev"]);
    let write = |text: &str| std::fs::write(directory.0.join("pages/index.html"), text).unwrap();
    browser.open(&address);
    assert_eq!(browser.text(), "first");
    write("<h1>second</h1>");
    browser.wait_for("document.querySelector('h1')?.textContent === 'second'");
    write("<h1>third</h1>\n<p>\n{% if %}\n</p>");
    let parts = "['index.html:3', '>    3 | {% if %}', '     2 | <p>']";
    browser.wait_for(&format!("{parts}.every(part => document.body.innerText.includes(part))"));
    write("<h1>fourth</h1>");
    browser.wait_for("document.querySelector('h1')?.textContent === 'fourth'");
}

const BOOKS: &str = "
    create schema api;
    create table api.books (id int generated always as identity primary key, title text not null, year int not null);
    insert into api.books (title, year) select 'Book ' || n, 1900 + n from generate_series(1, 40) n;
";
const BOOK_LIST: &str = r##"+++
books = "/books?title=ilike.*{q=}*&order=id"
[form]
insert = "/books"
+++
<!DOCTYPE html>
<title>Books</title>
<meta name="htmx-config" content='{"responseHandling":[{"code":"[23]..|422","swap":true},{"code":"[45]..","swap":false,"error":true}]}'>
<script src="/static/htmx.js"></script>
<input name="q" hx-get="/" hx-trigger="input" hx-target="#results">
<ul id="results">{% block results %}{% for book in books %}<li>{{ book.title }}</li>{% endfor %}{% endblock %}</ul>
<form id="entry" method="post" hx-post="/" hx-target="#entry" hx-swap="innerHTML">{% block entry %}
  <input name="title" value="{{ form.values.title }}"> <input name="year" value="{{ form.values.year }}">
  <b id="wrong">{{ form.errors.year.code }}</b> <button>Save</button>
{% endblock %}</form>
"##;

/// What htmx asks for is a block alone, in the page that is there already: a whole one would stand within itself. While a site is
/// written the blocks bring no script with them, each of which would wait for changes on a connection of its own.
#[test]
fn htmx_gets_the_block_that_it_asks_for() {
    let Some(files) = std::env::var_os("TEST_HTMX") else {
        println!("skipped: TEST_HTMX names no htmx.js");
        return;
    };
    for file in std::env::split_paths(&files) {
        let Some(browser) = Browser::start() else { return };
        try_htmx(
            browser,
            &std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        );
    }
}

fn try_htmx(mut browser: Browser, script: &str) {
    let (directory, database) = (Directory::new("htmx-in-a-browser"), Database::new(BOOKS));
    let pages = [("index.html", BOOK_LIST), ("static/htmx.js", script)];
    let (_server, address) = serve(&directory, &database, &pages, &["--dev"]);
    browser.open(&address);
    browser.evaluate("window.first = true");
    for year in 1..=9 {
        browser.fill("[name=q]", &format!("book 3{year}"));
        browser.wait_for(&format!("document.querySelector('#results').innerText === 'Book 3{year}'"));
    }
    browser.fill("[name=title]", "Mine");
    browser.fill("[name=year]", "soon");
    browser.click("button");
    browser.wait_for("document.querySelector('#wrong').textContent === '22P02'");
    assert_eq!(browser.evaluate("document.forms[0].title.value + document.forms[0].year.value"), "Minesoon");
    browser.fill("[name=year]", "2026");
    browser.click("button");
    browser.wait_for("document.querySelector('#wrong').textContent === ''");
    assert_eq!(database.value("select string_agg(year::text, '') from api.books where title = 'Mine'"), "2026");
    assert_eq!(browser.evaluate("[first, document.forms.length, document.scripts.length].join()"), "true,1,2");
}

/// A site of some pages, and its address.
fn serve(directory: &Directory, database: &Database, pages: &[(&str, &str)], arguments: &[&str]) -> (Program, String) {
    for (name, text) in pages {
        write(&directory.0.join("pages").join(name), text);
    }
    write(
        &directory.0.join("thalweg.conf"),
        "db-schemas = \"api\"\ndb-anon-role = \"postgres\"\nserver-host = \"127.0.0.1\"\n",
    );
    let arguments = [&["serve", directory.path()], arguments].concat();
    let mut server = Program::start(&arguments, &[("THALWEG_DB_URI", &database.uri()), ON_ANY_PORT]);
    let address = format!("http://{}/", server.address());
    (server, address)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
