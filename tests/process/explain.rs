//! `thalweg explain`: what a page or a request reads, as whoever visits.

use crate::program::Directory;
use crate::starting::printed;
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.writers (name text primary key, email text);
    create table api.notes (id int primary key, owner text not null references api.writers, title text, body text, photo bytea);
    create schema private;
    -- wrongly said to be immutable, so that a plan shows what it returns
    create function private.visitor() returns text language sql immutable
      as $$ select current_setting('request.jwt.claims')::json ->> 'sub' $$;
    create role note_editor;
    create role note_guest;
    grant usage on schema api, private to note_editor, note_guest;
    grant select on all tables in schema api to note_editor, note_guest;
    alter table api.notes enable row level security;
    create policy own on api.notes to note_editor using (owner = private.visitor());
    create policy open on api.notes to note_guest using (owner = 'everybody');
";

const PAGE: &str = "+++
own = \"/notes?owner=eq.{claims.sub}&select=id,title,body\"
all = \"/notes?select=title\"
+++
{% for note in own %}{{ note.title }}{% endfor %}{% for note in all %}{{ note.title }}{% endfor %}
";

const SECRET: &str = "a secret of thirty-two bytes here";

/// `{"role": "note_editor", "sub": "anna"}`, signed with it.
const TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoibm90ZV9lZGl0b3IiLCJzdWIiOiJhbm5hIn0.2p5ndjhEOv3fCcxW_JCGNOpFJecP_gXlEFr3UP8nMXE";

#[test]
fn what_is_read_is_explained_as_whoever_visits() {
    let (database, pages) = (Database::new(SCHEMA), Directory::new("explain"));
    std::fs::write(pages.0.join("index.html"), PAGE).unwrap();
    let uri = database.uri();
    let environment = [("PGRST_DB_URI", &*uri), ("PGRST_DB_SCHEMAS", "api"), ("PGRST_JWT_SECRET", SECRET)];
    let explain = |more: &[&str]| printed(&[&["explain", "--pages", pages.path()], more].concat(), &environment);
    let explained = |more: &[&str]| {
        let (said, wrong, code) = explain(more);
        assert_eq!(code, Some(0), "{more:?}: {wrong}");
        said
    };
    let has = |said: &str, lines: &[&str]| {
        let mut found = said.lines();
        for line in lines {
            assert!(found.any(|found| found.trim_end() == *line), "{line}: {said}");
        }
    };

    let by_claims = explained(&["/", "--claims", "{\"role\": \"note_editor\", \"sub\": \"anna\"}"]);
    has(
        &by_claims,
        &[
            "page       index.html",
            "own        /notes?owner=eq.anna&select=id,title,body",
            "  fetched    title  index.html:5:30",
            "  left out",
            "    id    no template names it",
            "    body  no template names it",
            "  not selected owner, photo",
            "    $1 = anna",
            "  plan for note_editor",
            "all        /notes?select=title",
            "  plan for note_editor",
            "      Filter: (owner = 'anna'::text)",
        ],
    );
    assert_eq!(explained(&["/", "--token", TOKEN]), by_claims);
    // of claims that name none
    assert_eq!(explained(&["/", "--role", "note_editor", "--claims", "{\"sub\": \"anna\"}"]), by_claims);
    let of_api = explained(&["/api/notes?select=title,...writers(name)", "--role", "note_guest"]);
    has(&of_api, &["  not selected id, owner, body, photo, writers.email", "  plan for note_guest"]);
    assert!(of_api.contains("(owner = 'everybody'::text)"), "{of_api}");

    let forged = [&TOKEN[..TOKEN.len() - 2], "AA"].concat();
    for (more, wrong) in [
        (&["/"][..], "Anonymous access is disabled (--role, --claims or --token says who visits)"),
        (&["/", "--role", "note_guest"], "sub"),
        (&["/", "--claims", "{\"sub\":"], "Claims are a JSON object"),
        (&["/", "--token", &forged], "No suitable key"),
        (&["/", "--claims", "{}", "--token", TOKEN], "cannot be used with"),
    ] {
        let (nothing, said, code) = explain(more);
        assert!(nothing.is_empty() && said.contains(wrong) && code != Some(0), "{more:?}: {said}");
    }
}
