//! The examples of docs/sites.md and docs/sessions.md, run as they are written there.

use super::{FORM, HERE, led, post, serve};
use crate::served::GRANTS;
use crate::signed::{SECRET, with_secret};
use thalweg_server::Config;
use thalweg_testkit::Database;

/// Returns the examples of a document in one language, from its code blocks.
fn examples<'d>(document: &'d str, language: &str) -> Vec<&'d str> {
    let fence = format!("```{language}\n");
    document.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_examples_of_the_documents_work_as_written() {
    let (sites, sessions) = (include_str!("../../../../docs/sites.md"), include_str!("../../../../docs/sessions.md"));
    let example = |language: &str, of: &str| {
        let document = if language == "sql" { sessions } else { sites };
        let found = examples(document, language).into_iter().find(|example| example.contains(of));
        found.unwrap_or_else(|| panic!("no example of {of}")).to_owned()
    };
    let (login, sessions) = (example("sql", "create schema private"), example("sql", "private.check_session()"));
    let database = Database::new(&format!(
        "create schema api;
         do $$ begin create role member nologin; exception when duplicate_object or unique_violation then null; end $$;
         do $$ begin create role visitor nologin; exception when duplicate_object or unique_violation then null; end $$;
         {login}
         insert into private.members (email, password) values ('ann@club.example', private.crypt('thermals', private.gen_salt('bf')));
         create table api.flights (id int generated always as identity primary key, title text not null, distance_km numeric, track bytea);
         create table api.logbook (id int primary key);
         {GRANTS}
         grant usage on schema api to member;
         grant select, insert, update, delete on all tables in schema api to member;
         grant visitor to test_reader;
         {sessions}"
    ));
    let files = [
        ("_layout.html", "{% block body %}{% endblock %}".to_owned()),
        ("index.html", "home".to_owned()),
        ("logbook.html", "{{ role }}".to_owned()),
        ("flights/index.html", "+++\nflights = '/flights'\n+++\n{{ flights|length }}".to_owned()),
        ("flights/new.html", example("html", "insert = ")),
        ("flights/[id].html", example("html", "[forms.delete]")),
        ("sign_in.html", example("html", "/rpc/login")),
        ("sign_out.html", example("html", "/rpc/logout")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let with_cookie = Config {
        session_cookie: Some("__Host-club".into()),
        db_pre_request: Some((Some("private".to_owned()), "check_session".to_owned())),
        app_settings: vec![("app.settings.jwt_secret".to_owned(), SECRET.to_owned())],
        ..with_secret(&database.uri())
    };
    let (served, _folder) = serve(with_cookie, &files);
    let signed_in = post(&served, "/sign_in", "email=ann%40club.example&password=thermals");
    assert_eq!(led(&signed_in), "/logbook");
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let get = |path: &str| served.request("GET", path, &[("cookie", cookie)]).text().to_owned();
    let send = |path: &str, body: &str| served.send("POST", path, &[FORM, HERE, ("cookie", cookie)], body);
    assert_eq!(get("/logbook"), "member");
    assert!(get("/flights/new").contains("<input name=\"title\" value=\"\">"));
    let wrong = send("/flights/new", "title=Over+the+ridge&distance_km=far");
    assert_eq!(wrong.status, 422);
    let (typed, said) = ("value=\"Over the ridge\"", "</label> This must be a number.");
    assert!(wrong.text().contains(typed) && wrong.text().contains(said), "{}", wrong.text());
    assert_eq!(led(&send("/flights/new", "title=Over+the+ridge&distance_km=")), "/flights/1");
    assert!(get("/flights/1").contains(typed));
    assert_eq!(led(&send("/flights/1", "title=Along")), "/flights/1");
    assert!(get("/flights/1").contains("value=\"Along\""));
    assert_eq!(led(&send("/flights/1?form=delete", "title=Along")), "/flights");
    assert_eq!(get("/flights"), "0");
    assert!(get("/sign_out").contains("<button>Sign out</button>"));
    assert!(!served.get("/sign_out").text().contains("<button>"));
    let out = send("/sign_out", "");
    assert_eq!((led(&out), out.header("set-cookie").unwrap().starts_with("__Host-club=; ")), ("/", true));
    // A copy of the token, which the server has verified before, is refused.
    let copied = served.request("GET", "/flights", &[("cookie", cookie)]);
    assert_eq!((copied.status, copied.header("set-cookie").is_some_and(|put| put.contains("Max-Age=0"))), (401, true));
    let header = format!("Bearer {}", cookie.split_once('=').unwrap().1);
    assert_eq!(served.request("GET", "/api/flights", &[("authorization", &header)]).status, 401);
    // All sessions of a member end together.
    let sign_in = || {
        let entered = post(&served, "/sign_in", "email=ann%40club.example&password=thermals");
        entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    };
    let cookies = [sign_in(), sign_in()];
    let flights = |cookie: &str| served.request("GET", "/flights", &[("cookie", cookie)]).status;
    assert_eq!(cookies.each_ref().map(|cookie| flights(cookie)), [200, 200]);
    let everywhere = [("content-type", "application/json"), HERE, ("cookie", &*cookies[0]), ("prefer", "session")];
    assert_eq!(served.send("POST", "/api/rpc/logout_everywhere", &everywhere, "{}").status, 204);
    assert_eq!(cookies.each_ref().map(|cookie| flights(cookie)), [401, 401]);
    // A wrong password ends the session too.
    let nobody = post(&served, "/sign_in", "email=ann%40club.example&password=ridge");
    assert_eq!((led(&nobody), nobody.header("set-cookie").unwrap().starts_with("__Host-club=; ")), ("/logbook", true));
}
