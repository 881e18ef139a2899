//! In which words a form's visitor is told what is wrong.

use super::{SCHEMA, WRITES, post, serve};
use crate::served::{GRANTS, config};
use thalweg_server::Config;
use thalweg_testkit::Database;

#[test]
fn what_is_wrong_is_said_in_the_language_of_the_page() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let page = "+++\n[form]\ninsert = '/flights'\n+++\n{% for name, error in form.errors|items %}{{ name }}={{ error }} {% endfor %}{{ form.error }}";
    let wrong = "title=much+too+long+for+a+title&km=12345&altitude=9001&seats=1.5&is_public=x&landed=x";
    let taken = "title=First&launched=2026-05-01&code=a-1";
    let german = Config { pages_language: "de".to_owned(), ..config(&database.uri()) };
    let (served, _folder) = serve(german, &[("a.html", page)]);
    let text = post(&served, "/a", wrong).text().to_owned();
    for said in [
        "title=Das ist zu lang: Höchstens 20 Zeichen sind möglich.",
        "km=Diese Zahl ist zu groß oder zu klein.",
        // the schema's own words
        "altitude=Between 0 and 9000 m, please.",
        "seats=Hier wird eine ganze Zahl gebraucht.",
        "is_public=Diese Angabe ist ungültig.",
        "landed=Hier wird ein Datum gebraucht.",
        "launched=Hier fehlt eine Angabe.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(post(&served, "/a", "title=x&launched=2026-05-01&code=a-1").text(), "code=Das gibt es schon. ");
    drop(served);
    let files = [
        ("[locale]/a.html", page),
        ("messages/en.ftl", "form-taken = Somebody was faster.\nform-missing = Missing { $nothing }!\n"),
        ("messages/de.ftl", "form-invalid = { $type ->\n    [date] Kein Datum.\n   *[other] Falsch.\n }\n"),
        ("messages/fr.ftl", "form-missing = Il manque quelque chose.\n"),
    ];
    let (served, _folder) = serve(config(&database.uri()), &files);
    for (address, body, said) in [
        ("/en/a", taken, "Somebody was faster."),
        ("/de/a", taken, "Das gibt es schon."),
        ("/fr/a", taken, "Somebody was faster."),
        ("/de/a", wrong, "landed=Kein Datum."),
        ("/de/a", wrong, "seats=Falsch."),
        ("/fr/a", wrong, "launched=Il manque quelque chose."),
        // words that ask for what is not given
        ("/en/a", wrong, "launched=This must be filled in."),
    ] {
        let text = post(&served, address, body).text().to_owned();
        assert!(text.contains(said), "{address} {body}: {said}: {text}");
    }
}

#[test]
fn a_page_can_ask_whether_something_is_wrong() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let page = "+++\n[form]\ninsert = '/flights'\n+++\n{% if form.errors.code %}field{% endif %}{% if form.error %}form{% endif %}\
                {% if form.errors.title %}another{% endif %}";
    let (served, _folder) = serve(config(&database.uri()), &[("a.html", page)]);
    assert_eq!(served.get("/a").text(), "");
    assert_eq!(post(&served, "/a", "title=x&launched=2026-05-01&code=a-1").text(), "field");
    assert_eq!(post(&served, "/a", "").text(), "another");
}
