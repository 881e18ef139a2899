//! Where somebody is sent to sign in.

use super::{SCHEMA, serve};
use crate::served::{GRANTS, config};
use thalweg_testkit::Database;

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
