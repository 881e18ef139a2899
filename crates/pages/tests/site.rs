//! A folder as a site: which page answers which path, what cannot be one, and what paths from clients can do.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use thalweg_pages::{Does, ErrorKind, FORM_FIELDS_MAX, FORMS_MAX, PATH_BYTES_MAX, PATH_PARTS_MAX, PathError, Site};

fn site(files: &[&str]) -> Site {
    Site::of(files.iter().map(|name| ((*name).to_owned(), String::new()))).unwrap()
}

fn refused(files: &[(&str, &str)]) -> (ErrorKind, String) {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let error = Site::of(files).unwrap_err();
    (error.kind(), error.to_string())
}

/// The template that answers, with what is bound.
fn found(site: &Site, path: &str) -> Option<String> {
    let found = site.find(path).unwrap()?;
    let bound: Vec<String> = found.bound.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    Some(format!("{}{}", found.page.template, bound.concat()))
}

#[test]
fn files_answer_the_paths_they_are_named_by() {
    let site = site(&[
        "index.html",
        "about.html",
        "flights/index.html",
        "flights/[id].html",
        "flights/new.html",
        "feed.xml",
        "flights/[id].csv",
        "flights/[id]/edit.html",
        "[page].html",
        "[a]/[b].html",
        "_layout.html",
        "_parts/row.html",
        "404.html",
        "error.html",
    ]);
    for (path, template) in [
        ("/", Some("index.html")),
        ("/about", Some("about.html")),
        ("/flights", Some("flights/index.html")),
        ("/flights/17", Some("flights/[id].html id=17")),
        ("/flights/new", Some("flights/new.html")),
        ("/flights/17.csv", Some("flights/[id].csv id=17")),
        ("/flights/.csv", Some("flights/[id].html id=.csv")),
        ("/flights/17/edit", Some("flights/[id]/edit.html id=17")),
        ("/feed.xml", Some("feed.xml")),
        ("/other", Some("[page].html page=other")),
        ("/x/y", Some("[a]/[b].html a=x b=y")),
        ("/flights/%31%37", Some("flights/[id].html id=17")),
        ("/%66lights", Some("flights/index.html")),
        ("/flights/a%2Fb", Some("flights/[id].html id=a/b")),
        ("/flights/17/edit/more", None),
        ("/404", Some("[page].html page=404")),
        ("/_layout", Some("[page].html page=_layout")),
        ("/_parts/row", Some("[a]/[b].html a=_parts b=row")),
    ] {
        assert_eq!(found(&site, path).as_deref(), template, "{path}");
    }
    assert!(site.page("404.html").is_some() && site.page("_layout.html").is_none());
}

#[test]
fn what_is_written_comes_before_what_is_bound_and_no_page_is_missed() {
    let site = site(&["a/[x]/e.html", "[y]/c/d.html", "[y]/[x]/e.html"]);
    assert_eq!(found(&site, "/a/c/d").as_deref(), Some("[y]/c/d.html y=a"));
    assert_eq!(found(&site, "/a/c/e").as_deref(), Some("a/[x]/e.html x=c"));
    assert_eq!(found(&site, "/b/c/e").as_deref(), Some("[y]/[x]/e.html y=b x=c"));
}

#[test]
fn paths_that_no_page_can_have_are_refused() {
    let site = site(&["[a].html", "[a]/[b].html"]);
    for path in [
        "",
        "flights",
        "//",
        "/a/",
        "/a//b",
        "/..",
        "/../etc",
        "/%2e%2e/etc",
        "/.",
        "/a%00",
        "/a%0a",
        "/%ff",
        "/%",
        "/%4",
        "/%zz",
        "/\0",
    ] {
        assert_eq!(site.find(path).unwrap_err(), PathError::Malformed, "{path:?}");
    }
    assert!(site.find(&format!("/{}", "a".repeat(PATH_BYTES_MAX - 1))).unwrap().is_some());
    assert_eq!(site.find(&format!("/{}", "a".repeat(PATH_BYTES_MAX))).unwrap_err(), PathError::TooLong);
    assert!(site.find(&"/a".repeat(PATH_PARTS_MAX)).unwrap().is_none());
    assert_eq!(site.find(&"/a".repeat(PATH_PARTS_MAX + 1)).unwrap_err(), PathError::TooLong);
}

#[test]
fn what_cannot_be_loaded_names_its_file() {
    let head = "+++\nflights = \"/flights\"\n+++\n";
    for (files, kind, message) in [
        (&[("a.html", ""), ("a/index.html", "")][..], ErrorKind::Name, "a/index.html: a.html answers the same paths"),
        (&[("[a].html", ""), ("[b].html", "")], ErrorKind::Name, "[b].html: [a].html answers the same paths"),
        (&[("[a]/[a].html", "")], ErrorKind::Name, "[a]/[a].html: a would have two meanings"),
        (&[("[flights].html", head)], ErrorKind::Name, "flights would have two meanings"),
        (&[("x[a].html", "")], ErrorKind::Name, "[name] stands alone"),
        (&[("[a-b].html", "")], ErrorKind::Name, "cannot be named"),
        (&[("README", "")], ErrorKind::Name, "has an extension"),
        (&[(".html", "")], ErrorKind::Name, "no part of a path"),
        (&[("_x.html", head)], ErrorKind::Front, "_x.html: only pages have queries"),
        (&[("x.html", "+++\na = 1")], ErrorKind::Front, "x.html:1:1: a second line of +++"),
        (&[("x.html", "+++\na = 1\n+++\n")], ErrorKind::Front, "x.html:2:5: a: a request is needed"),
        (&[("x.html", "+++\n\na = \"/a?id={x}\"\n+++\n")], ErrorKind::Front, "x.html:3:5: a: a value stands behind"),
        (&[("x.html", "+++\na = { many = \"/a\" }\n+++\n")], ErrorKind::Front, "x.html:2:5: a: a table has a request"),
        (&[("x.html", "+++\na = \n+++\n")], ErrorKind::Front, "x.html:2:"),
        (&[("x.html", "+++\nloop = \"/a\"\n+++\n")], ErrorKind::Front, "x.html:2:1: loop cannot be the name"),
        (&[("x.html", "+++\nzone = \"/a\"\n+++\n")], ErrorKind::Front, "x.html:2:1: zone cannot be the name"),
        (&[("x.html", "+++\nt = \"/a\"\n+++\n")], ErrorKind::Front, "x.html:2:1: t cannot be the name"),
        (&[("x.html", "+++\na = \"/a\"\n+++\n\n{% if %}")], ErrorKind::Syntax, "x.html:5:1"),
        (&[("x.html", "+++\nform = \"/a\"\n+++\n")], ErrorKind::Front, "x.html:2:1: a form is a table"),
        (&[("x.html", "+++\nclaims = \"/a\"\n+++\n")], ErrorKind::Front, "x.html:2:1: claims cannot be the name"),
        (
            &[("x.html", "+++\n[from]\ninsert = \"/a\"\n+++\n")],
            ErrorKind::Front,
            "x.html:2:1: from: a table has a request: { one = \"…\" } for a single row, { rows = \"…\", per_page = 20, \
             count = \"exact\" } for many; from is read as the name of a query, perhaps form is meant",
        ),
        (&[("x.html", "+++\nsign-in = \"/a\"\n+++\n")], ErrorKind::Front, "perhaps sign_in is meant"),
        (&[("[request].html", "")], ErrorKind::Name, "[request] cannot be named"),
        (&[("_x.html", "+++\n[form]\ninsert = \"/a\"\n+++\n")], ErrorKind::Front, "is none: [form]"),
        (&[("x.html", "{% extends 'x.html' %}")], ErrorKind::Syntax, "x.html extends itself"),
        (&[("x.html", "{% include '_y.html' %}")], ErrorKind::Missing, "x.html:1:12: there is no template _y.html"),
    ] {
        let (found, text) = refused(files);
        assert_eq!(found, kind, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn what_a_form_cannot_do_is_said_where_it_stands() {
    for (form, message) in [
        ("[form]", "2:2: a form says one thing that it does"),
        ("[form]\ninsert = '/a'\ncall = '/rpc/a'", "2:2: a form says one thing that it does"),
        ("[form]\ninsert = '/a'\nupsert = true", "4:1: upsert is none of insert, update"),
        ("[form]\ninsert = 1", "3:10: a text is needed"),
        ("[form]\ninsert = 'a'", "3:10: a query begins as a request does"),
        ("[form]\ninsert = '/{table}'", "3:10: a value stands behind"),
        ("[form]\ninsert = '/a?select=b'", "3:10: what is inserted"),
        ("[form]\ninsert = '/rpc/a'", "3:10: a relation is written to"),
        ("[form]\ncall = '/a'", "3:8: a function is called"),
        ("[form]\ncall = '/rpc/a?b={c}'", "3:8: what is inserted or called with"),
        ("[form]\nupdate = '/a'", "3:10: a filter is needed"),
        ("[form]\ndelete = '/a?b.c=eq.1'", "3:10: a filter is needed"),
        ("[form]\ndelete = '/a?id=eq.1&limit=1'", "3:10: limit says nothing about which rows"),
        ("[form]\nupdate = '/a?id=is.{x}.y)'", "3:10: "),
        ("[form]\nupdate = '/a?select=b&id=eq.1'", "3:10: select says nothing"),
        ("[form]\ndelete = '/a?id=eq.1'\nfields = ['a']", "2:2: a form that deletes writes no fields"),
        ("[form]\ninsert = '/a'\nthen = 'https://evil.example'", "4:8: then is a path of the site"),
        ("[form]\ninsert = '/a'\nthen = '//evil.example'", "4:8: then is a path of the site"),
        ("[form]\ninsert = '/a'\nthen = '/{env.x}'", "4:8: values come from cookie. and claims."),
        ("[form]\ninsert = '/a'\nfields = 'a'", "4:10: fields is a list of names"),
        ("[form]\ninsert = '/a'\nset = ['a']", "4:7: set is a table"),
        ("[form]\ninsert = '/a'\nset = { a = '{b' }", "4:13: a } is missing"),
        ("[form]\ninsert = '/a'\nsession = true", "4:11: session is true or false, and of a form that calls"),
        ("forms = 1", "2:1: a form is a table"),
        ("[forms.a-b]\ninsert = '/a'", "2:8: a form is a table"),
        ("[forms.a]\ninsert = '/a'\n[forms.b]\ncall = '/b'", "5:8: a function is called"),
    ] {
        let (kind, text) = refused(&[("x.html", &format!("+++\n{form}\n+++\n"))]);
        assert!(kind == ErrorKind::Front && text.contains(message), "{form}: {text}");
    }
    let (_, text) = refused(&[(
        "x.html",
        &format!(
            "+++\n{}+++\n",
            (0..=FORMS_MAX)
                .fold(String::new(), |text, number| { text + &format!("[forms.f{number}]\ninsert = '/a'\n") })
        ),
    )]);
    assert!(text.contains("at most 32 forms"), "{text}");
    let names = |count: usize| format!("+++\n[form]\ninsert = '/a'\nfields = {:?}\n+++\n", vec!["a"; count]);
    assert!(refused(&[("x.html", &names(FORM_FIELDS_MAX + 1))]).1.contains("at most 256 fields"));
    assert!(Site::of([("x.html".to_owned(), names(FORM_FIELDS_MAX))]).is_ok());
}

#[test]
fn a_folder_is_read_with_bounds_and_without_links() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write(
        "flights/index.html",
        b"+++\nflights = \"/flights\"\n[form]\ninsert = \"/flights\"\n+++\n{{ flights[0].title }}",
    );
    write("static/logo.png", b"\xff\xfe");
    write(".git/config", b"\xff");
    let site = Site::load(folder.path()).unwrap();
    let page = site.page("flights/index.html").unwrap();
    assert_eq!(page.needs["flights"].columns.keys().collect::<Vec<_>>(), ["title"]);
    assert_eq!(page.front.forms[""].does, Does::Insert);
    // lines are those of the file
    let (_, source) = site.templates().next().unwrap();
    assert!(source.starts_with("{#\n\n\n\n\n#}{{"), "{source}");

    let kind = |name: &str| {
        let error = Site::load(folder.path()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        error.kind()
    };
    let logo = write("logo.png", b"\xff\xfe");
    assert_eq!(kind("logo.png"), ErrorKind::Name);
    fs::remove_file(logo).unwrap();
    let long = write("long.html", &vec![b'a'; (1 << 20) + 1]);
    assert_eq!(kind("long.html"), ErrorKind::TooMuch);
    fs::remove_file(long).unwrap();
    let link = folder.path().join("link.html");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    assert_eq!(kind("link.html"), ErrorKind::Name);
    fs::remove_file(link).unwrap();
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.html"));
    fs::write(&odd, b"").unwrap();
    assert_eq!(kind(".html"), ErrorKind::Name);
    fs::remove_file(odd).unwrap();
    write(&format!("{}x.html", "d/".repeat(17)), b"");
    assert_eq!(kind("d/d/d"), ErrorKind::TooMuch);
    assert_eq!(Site::load(&folder.path().join("absent")).unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn what_is_too_intricate_is_needed_as_a_whole_and_soon() {
    let whole = |page: String| {
        let head = "+++\nflights = \"/flights\"\n+++\n";
        let site = Site::of([("page.html".to_owned(), format!("{head}{page}"))]).unwrap();
        site.page("page.html").unwrap().needs["flights"].whole.is_some()
    };
    // each macro calls the one before it twice, with other rows: 2^40 ways, but few that differ
    let mut chain = "{% macro m0(a) %}{{ a.title }}{% endmacro %}".to_owned();
    for number in 1..40 {
        let before = number - 1;
        chain += &format!("{{% macro m{number}(a) %}}{{{{ m{before}(a.x) }}}}{{{{ m{before}(a.y) }}}}{{% endmacro %}}");
    }
    assert!(whole(chain + "{{ m39(flights[0]) }}"));
    // more nested than a thread's stack would bear
    let mut nested = String::new();
    for number in 0..60 {
        let call =
            if number == 0 { "{{ flights[0].title }}".to_owned() } else { format!("{{{{ n{}() }}}}", number - 1) };
        let (begin, end) = ("{% if 1 %}".repeat(40), "{% endif %}".repeat(40));
        nested += &format!("{{% macro n{number}() %}}{begin}{call}{end}{{% endmacro %}}");
    }
    assert!(whole(nested + "{{ n59() }}"));
    assert!(!whole("{{ flights[0].title }}".repeat(1000)));
}

#[test]
fn catalogues_of_messages_are_no_pages() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("messages")).unwrap();
    for (name, text) in [("messages/de.ftl", "hello = Hallo\n"), ("messages/fr.ftl", "hello = Salut\n")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("index.html"), "{{ t('hello') }}").unwrap();
    let site = Site::load_in(folder.path(), Some("fr"), None).unwrap();
    assert_eq!(found(&site, "/").as_deref(), Some("index.html"));
    assert_eq!(found(&site, "/messages/de.ftl"), None);
    assert_eq!(site.templates().count(), 1);
    let messages = site.messages();
    assert_eq!((messages.default_language(), messages.choose(Some("de"), None, None)), (Some("fr"), Some("de")));

    fs::write(folder.path().join("messages/fr.ftl"), "hello = Salut\nworld\n").unwrap();
    let error = Site::load(folder.path()).unwrap_err();
    assert_eq!(
        (error.kind(), error.place().file.as_str(), error.place().line),
        (ErrorKind::Message, "messages/fr.ftl", 2)
    );

    fs::write(folder.path().join("messages/fr.ftl"), "#".repeat(1 << 20) + "\n").unwrap();
    assert_eq!(Site::load(folder.path()).unwrap_err().kind(), ErrorKind::TooMuch);
    fs::write(folder.path().join("messages/fr.ftl"), b"hello = \xff\n").unwrap();
    assert_eq!(Site::load(folder.path()).unwrap_err().kind(), ErrorKind::Name);
}

#[test]
fn a_page_is_linear_if_no_loop_looks_at_more_than_a_row() {
    let is_linear = |template: &str| {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let page = format!("+++\nflights = \"/flights?select=*,tags(*)\"\n+++\n{template}");
        let looped = "{% for f in flights %}{% set a = 1 %}{{ f.id }}{% endfor %}";
        let site = Site::of([file("page.html", &page), file("_part.html", "x"), file("_loop.html", looped)]).unwrap();
        site.page("page.html").unwrap().is_linear
    };
    for template in [
        "{{ flights|length }}",
        "{% for f in flights %}{{ f.title|upper }}{% if loop.first %}{{ f.day|date }}{% endif %}{% endfor %}",
        "{% for f in flights %}{% for t in f.tags %}{{ t.name }}{% else %}-{% endfor %}{% endfor %}",
        "{% include '_part.html' %}{% for f in flights %}{{ f.id }}{% endfor %}",
    ] {
        assert!(is_linear(template), "{template}");
    }
    for template in [
        "{% for f in flights %}{% for g in flights %}{{ g.id }}{% endfor %}{% endfor %}",
        "{% for f in flights %}{{ flights|map(attribute='id')|join }}{% endfor %}",
        "{% for f in flights %}{% for t in f.tags %}{% for u in f.tags %}{{ u.name }}{% endfor %}{% endfor %}{% endfor %}",
        "{% for f in flights %}{% for t in f.tags %}{{ f.title|length }}{% endfor %}{% endfor %}",
        "{% include '_loop.html' %}",
        "{% include request.path %}",
        "{% for f in flights|sort(attribute='id') %}{{ f.id }}{% endfor %}",
    ] {
        assert!(!is_linear(template), "{template}");
    }
}
