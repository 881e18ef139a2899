//! Where somebody is sent to sign in.

use super::{FORM, HERE, SCHEMA, WRITES, led, serve};
use crate::served::{GRANTS, Served, config};
use crate::signed::{token, with_secret};
use serde_json::json;
use tempfile::TempDir;
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

/// htmx would follow a redirect, and put the page where one signs in into a part of the one that is open.
#[test]
fn htmx_goes_to_where_one_signs_in_and_back_to_the_page_that_is_open() {
    let page = "+++\nsign_in = '/sign_in'\n+++\n";
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let (served, _folder) =
        serve(config(&database.uri()), &[("own.html", page), ("own/part.html", page), ("sign_in.html", "")]);
    for (open, back) in [
        (Some("https://club.example/own?q=a#x"), "%2Fown%3Fq%3Da"),
        (Some("https://club.example"), "%2F"),
        (Some("https://club.example//evil.example"), "%2Fown%2Fpart%3Fq%3Dx"),
        (Some("nonsense"), "%2Fown%2Fpart%3Fq%3Dx"),
        (None, "%2Fown%2Fpart%3Fq%3Dx"),
    ] {
        let mut headers = vec![("hx-request", "true")];
        headers.extend(open.map(|open| ("hx-current-url", open)));
        let sent = served.request("GET", "/own/part?q=x", &headers);
        assert_eq!((sent.status, sent.text(), sent.header("location")), (204, "", None), "{open:?}");
        assert_eq!(sent.header("hx-redirect"), Some(&*format!("/sign_in?back={back}")), "{open:?}");
    }
    let boosted = [("hx-request", "true"), ("hx-boosted", "true"), ("hx-current-url", "https://club.example/")];
    assert_eq!(served.request("GET", "/own", &boosted).header("hx-redirect"), Some("/sign_in?back=%2Fown"));
}

const OWN: &[(&str, &str)] = &[
    ("messages/de.ftl", "a = b"),
    ("messages/en.ftl", "a = b"),
    ("sign_in.html", ""),
    (
        "own.html",
        "+++\nsign_in = '/sign_in'\n[form]\ninsert = '/files'\nthen = '/own/{id}'\n+++\n{{ form.once }}{{ form.errors.title }}",
    ),
];

/// A site whose database ends sessions too.
fn own() -> (Database, Served, TempDir) {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}{WRITES}
         create schema private;
         create table private.ended (session text);
         create function private.check_session() returns void security definer language plpgsql as $$ begin
           if exists (select from private.ended where session = current_setting('request.jwt.claims')::json ->> 'session') then
             raise sqlstate 'PGRST' using message = '{{\"code\": \"401\", \"message\": \"This session has ended.\"}}',
               detail = '{{\"status\": 401, \"headers\": {{\"Set-Cookie\": \"club=; Max-Age=0\"}}}}';
           end if; end $$;
         grant usage on schema private to test_reader;"
    ));
    let config = Config {
        session_cookie: Some("club".into()),
        db_pre_request: Some((Some("private".into()), "check_session".into())),
        ..with_secret(&database.uri())
    };
    let (served, folder) = serve(config, OWN);
    (database, served, folder)
}

fn cookie_of(session: &str) -> String {
    format!("club={}", token(&json!({ "role": "test_reader", "session": session })))
}

/// The fields of the form in a page, as a browser sends them.
fn fields(page: &Response) -> Vec<(String, String)> {
    let unescaped = |text: &str| {
        let entities =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
        entities.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
    };
    let inputs = page.text().split("<input type=\"hidden\" name=\"").skip(1);
    let field = |input: &str| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        (unescaped(name), unescaped(rest.split("\">").next().unwrap()))
    };
    inputs.map(field).collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Before, the text was lost, since the visitor was sent to sign in.
#[test]
fn what_was_typed_is_kept_when_the_session_has_ended() {
    let (database, served, _folder) = own();
    let typed = "a \"title\" <b> & 'more' </form>\nwith lines, é";
    let body = format!("title={}&track_name=&tags=1&tags=2", encoded(&typed.replace('\n', "\r\n")));
    database.execute("insert into private.ended values ('old')");
    for (cookie, deletes) in
        [(None, None), (Some("club=nonsense".to_owned()), Some("club=")), (Some(cookie_of("old")), Some("club="))]
    {
        let headers: Vec<(&str, &str)> =
            [FORM, HERE].into_iter().chain(cookie.as_deref().map(|cookie| ("cookie", cookie))).collect();
        let kept = served.send("POST", "/own?a=%22%3E", &headers, &body);
        assert_eq!((kept.status, kept.header("cache-control")), (401, Some("no-store")), "{cookie:?} {}", kept.text());
        assert_eq!(kept.header("set-cookie").map(|cookie| &cookie[..5]), deletes, "{cookie:?}");
        let text = kept.text();
        assert!(text.contains("Your session has ended") && text.contains("action=\"/own?a=%22%3E\""), "{text}");
        assert!(text.contains("href=\"/sign_in?back=%2Fown%3Fa%3D%2522%253E\" target=\"_blank\""), "{text}");
        // Nothing of it is markup, and all of it is sent again.
        assert!(!text.contains("<b>") && text.matches("</form>").count() == 1, "{text}");
        let fields = fields(&kept);
        let expected = [("title", typed), ("track_name", ""), ("tags", "1"), ("tags", "2")];
        assert_eq!(fields.iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), expected);
        let again: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let new = cookie_of("new");
        let sent = served.send("POST", "/own?a=%22%3E", &[FORM, HERE, ("cookie", &new)], again.join("&"));
        assert!(led(&sent).starts_with("/own/"));
        assert_eq!(database.value("select title from api.files order by id desc limit 1"), typed);
    }
    assert_eq!(database.value("select count(*) from api.files"), "3");
    // Where nothing was entered there is nothing to keep, and other sites make no page of what they send.
    let empty = served.send("POST", "/own", &[FORM, HERE], "title=&_once=abc");
    assert_eq!(led(&empty), "/sign_in?back=%2Fown");
    assert_eq!(served.send("POST", "/own", &[FORM, ("origin", "http://evil.example")], "title=x").status, 403);
    // htmx shows the page in place of the one that is open.
    let htmx = served.send("POST", "/own", &[FORM, HERE, ("hx-request", "true"), ("accept-language", "de")], "title=x");
    assert_eq!((htmx.status, htmx.header("hx-retarget"), htmx.header("hx-redirect")), (200, Some("body"), None));
    assert!(htmx.text().contains("Ihre Sitzung ist beendet"), "{}", htmx.text());
}

#[test]
fn files_are_chosen_again_and_what_is_too_much_is_told() {
    let (_database, served, _folder) = own();
    let file: &[u8] = b"B1015304641000N";
    let kept = super::upload(&served, "/own", &[("title", None, b"a"), ("track", Some(("a.igc", "a/b")), file)]);
    assert_eq!(kept.status, 401);
    let text = kept.text();
    assert!(
        text.contains("enctype=\"multipart/form-data\"")
            && text.contains("<input type=\"file\" name=\"track\" required>"),
        "{text}"
    );
    assert!(text.contains("This file must be chosen again: track") && !text.contains("B1015304641000N"), "{text}");
    assert_eq!(fields(&kept), [("title".to_owned(), "a".to_owned())]);
    // A megabyte is given back, and more is not, nor a part of it.
    let long = "x".repeat(1024 * 1024 - "title".len());
    let send = |body: String| served.send("POST", "/own", &[FORM, HERE], &body);
    assert_eq!(fields(&send(format!("title={long}"))), [("title".to_owned(), long.clone())]);
    let too_much = send(format!("title={long}&track_name=x"));
    assert!(too_much.status == 401 && too_much.text().contains("more than this page can keep"));
    assert!(!too_much.text().contains("<form"), "a part of a form would be sent");
    // The names of fields are written into the page as well.
    let named = send(format!("title=a&{}=1", "%22".repeat(1024 * 1024)));
    assert!(named.status == 401 && named.text().contains("more than this page can keep"));
    assert!(named.body.len() < 10_000, "{}", named.body.len());
}
