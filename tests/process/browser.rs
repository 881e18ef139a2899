//! Sites in a real browser: pages, forms with files, with scripts and without, and what is shown while a site is written.

use crate::program::{Directory, Program};
use crate::sites::{ON_ANY_PORT, new_site};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpListener;
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
books = "/books?title=icontains.{q=}&order=id"
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

/// Files that are documents with a script, by the media types that were stored for them.
const FILES: &str = "
    create schema api;
    create table api.files (id int primary key, data bytea, data_name text, data_type text);
    insert into api.files
      select n, convert_to(case when type like '%svg%' then '<svg xmlns=\"http://www.w3.org/2000/svg\">' else '' end
        || '<script>parent.document.title = \"owned\"</script>'
        || case when type like '%svg%' then '</svg>' else '' end, 'UTF8'), 'file' || n || '.bin', type
      from unnest(array['image/png; q=\"a\", text/html', 'image/png, text/html', 'image/png; q='';b=\"'', text/html;''\"',
        'text/html', 'application/xhtml+xml', 'image/svg+xml', 'no type', null]) with ordinality _(type, n);
    insert into api.files values (99, decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'),
      'dot.png', 'image/png');
";
const FRAME: &str = r#"+++
file = { one = "/files?id=eq.{id}&select=id" }
+++
<!DOCTYPE html>
<title>Safe</title>
<iframe src="/api/files?id=eq.{{ file.id }}&select=data"></iframe>
"#;

/// A stored XSS: an upload named `image/png; q="a", text/html` was served inline, and Chromium, for which the last element of a
/// list counts, ran its script on the site's origin.
#[test]
fn no_stored_file_runs_a_script_on_the_sites_origin() {
    let Some(mut browser) = Browser::start() else { return };
    let (directory, database) = (Directory::new("files-in-a-browser"), Database::new(FILES));
    // A browser that opens an address of the API gets the file, and no page that shows the row.
    let pages = [("frame/[id].html", FRAME)];
    let (mut server, address) = serve_with(&directory, &database, &pages, &[], "pages-browse = \"off\"\n");
    for id in 1..=8 {
        browser.open(&format!("{address}frame/{id}"));
        assert_eq!(browser.evaluate("document.title"), "Safe", "the script of file {id} has run");
        // A file that is saved has been fetched, and is no document of the frame.
        assert!(browser.downloaded(&format!("file{id}.bin")).ends_with(b"</script>") || id == 6, "{id}");
        assert_eq!(browser.evaluate("frames[0].document.scripts.length"), 0);
    }
    // A picture is shown.
    browser.open(&format!("{address}api/files?id=eq.99&select=data"));
    assert_eq!(browser.evaluate("document.contentType + document.images[0].naturalWidth"), "image/png1");
    server.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(server.wait().success());
}

const NOTES: &str = "create schema api; create table api.notes (id int generated always as identity primary key, text text, \
                     who text default current_setting('request.jwt.claims')::json->>'sub');";
const NOTE_FORM: &str = r#"+++
[form]
insert = "/notes"
then = "/done"
+++
<!DOCTYPE html>
<title>Note</title>
<form method="post"><input name="text"><button>Save</button></form>
"#;
const SECRET: &str = "a secret that is long enough to be one of HS256";
/// Token that the secret has signed, with the claims `{"role":"postgres","sub":"ann"}`.
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoicG9zdGdyZXMiLCJzdWIiOiJhbm4ifQ.OXrTgk0jzNMAhVN3qkZhKFkyJoF8AnSHF7TCmk0aCX8";

/// A page on another port of the same host is of another origin, but of the same site: its form, which the browser sends with
/// the site's cookie and `Sec-Fetch-Site: same-site`, wrote a row.
#[test]
fn only_the_sites_own_page_sends_its_form() {
    let Some(mut browser) = Browser::start() else { return };
    let (directory, database) = (Directory::new("csrf-in-a-browser"), Database::new(NOTES));
    let pages = [
        ("index.html", NOTE_FORM),
        ("done.html", "<title>Done</title>"),
        ("error.html", "<title>{{ error.code }}</title>"),
    ];
    let more = format!("jwt-secret = \"{SECRET}\"\nsession-cookie = \"club\"\nsession-cookie-secure = false\n");
    let (_server, address) = serve_with(&directory, &database, &pages, &[], &more);
    browser.open(&address);
    browser.evaluate(&format!("document.cookie = 'club={TOKEN}; SameSite=Lax'"));
    let elsewhere = elsewhere(&address);
    for scripts in [true, false] {
        browser.set_scripts(scripts);
        browser.open(&elsewhere);
        assert_eq!(browser.evaluate("document.title"), "Elsewhere");
        browser.click("button");
        browser.wait_for("document.title === 'TWG06'");
        assert_eq!(database.value("select count(*) from api.notes"), "0");
        // The site's own page writes a row, as the owner of the cookie.
        browser.open(&address);
        browser.fill("[name=text]", "mine");
        browser.click("button");
        browser.wait_for("document.title === 'Done'");
        assert_eq!(database.value("select string_agg(text || who, ',') from api.notes"), "mineann");
        database.execute("delete from api.notes");
    }
}

/// Starts a server on another port, each of whose pages is a form that writes to the site at this
/// address.
fn elsewhere(address: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = format!("http://{}/", listener.local_addr().unwrap());
    let page = format!(
        "<!DOCTYPE html><title>Elsewhere</title><form method=post action=\"{address}\"><input name=text value=evil><button>x</button></form>"
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = [0; 8 * 1024];
            if stream.read(&mut head).is_ok_and(|count| count > 0) {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
                let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
            }
        }
    });
    elsewhere
}

/// A site of some pages, and its address.
fn serve(directory: &Directory, database: &Database, pages: &[(&str, &str)], arguments: &[&str]) -> (Program, String) {
    serve_with(directory, database, pages, arguments, "")
}

/// Starts a site of some pages with more lines of configuration, and returns its address.
fn serve_with(
    directory: &Directory,
    database: &Database,
    pages: &[(&str, &str)],
    arguments: &[&str],
    more: &str,
) -> (Program, String) {
    for (name, text) in pages {
        write(&directory.0.join("pages").join(name), text);
    }
    write(
        &directory.0.join("thalweg.conf"),
        &format!("db-schemas = \"api\"\ndb-anon-role = \"postgres\"\nserver-host = \"127.0.0.1\"\n{more}"),
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
