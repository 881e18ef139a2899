//! Media types that browsers read differently than the server, stored by clients and set by SQL.

use crate::served::{GRANTS, Served};
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.photos (id int primary key, data bytea, data_name text, data_type text);
    create function api.sets(headers text) returns text language plpgsql as
      $$ begin perform set_config('response.headers', headers, true); return 'it'; end $$;
";
const WRITES: &str = "grant insert, update on api.photos to test_reader;";

fn served() -> (Database, Served) {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    (database, served)
}

/// A stored XSS: the last element of a `Content-Type` with a comma counts in browsers, and the file was served inline.
#[test]
fn a_file_has_one_media_type() {
    let (database, served) = served();
    let form = ("Content-Type", "multipart/form-data; boundary=B");
    let send = |id: u32, content_type: &str| {
        let body = format!(
            "--B\r\nContent-Disposition: form-data; name=id\r\n\r\n{id}\r\n--B\r\n\
             Content-Disposition: form-data; name=data; filename=f\r\n{content_type}\r\n<script>\r\n--B--\r\n"
        );
        served.send("POST", "/photos", &[form], body)
    };
    let longest = format!("Content-Type: a/{}\r\n", "b".repeat(253));
    for (id, content_type) in
        ["", "Content-Type: image/png\r\n", "content-type:text/plain;charset=\"utf-8\"\r\n", &longest]
            .into_iter()
            .enumerate()
    {
        assert_eq!(send(id as u32, content_type).status, 201, "{content_type}");
    }
    for content_type in [
        "Content-Type: image/png; q=\"a\", text/html\r\n",
        "Content-Type: image/png, text/html\r\n",
        "Content-Type: image/png; q=\"a, text/html\"\r\n",
        "Content-Type: image/png; q=';b=\"', text/html;'\"\r\n",
        "Content-Type: image/png\r\nContent-Type: text/html\r\n",
        "Content-Type: image/png\r\ncontent-type: image/png\r\n",
        "Content-Type: image/png; q=\0\r\n",
        "Content-Type:\r\n",
        "Content-Type: image\r\n",
        &longest.replace("a/", "a/b"),
    ] {
        let response = send(9, content_type);
        assert_eq!((response.status, response.json()["code"].as_str()), (400, Some("TWG29")), "{content_type}");
    }
    assert_eq!(database.value("select count(*) from api.photos"), "4");
}

/// Media types that were stored earlier, or by other programs, may be invalid too.
#[test]
fn a_stored_text_that_is_not_one_media_type_is_served_as_bytes() {
    let (database, served) = served();
    let get = || served.request("GET", "/photos?select=data", &[("Accept", "application/octet-stream")]);
    for (stored, served_as, disposition) in [
        ("image/png", "image/png", "inline"),
        ("application/pdf", "application/pdf", "inline"),
        ("image/png; q=\"a\", text/html", "application/octet-stream", "attachment"),
        ("image/png,text/html", "application/octet-stream", "attachment"),
        ("image/png; q=\"a, text/html\"", "application/octet-stream", "attachment"),
        ("image/png\r\nX-Injected: y", "application/octet-stream", "attachment"),
        ("", "application/octet-stream", "attachment"),
        ("text/html", "text/html", "attachment"),
        ("image/svg+xml", "image/svg+xml", "attachment"),
        ("video/x+xml", "video/x+xml", "attachment"),
        ("multipart/x-mixed-replace", "multipart/x-mixed-replace", "attachment"),
        ("text/javascript", "text/javascript", "attachment"),
    ] {
        let stored = stored.replace('\'', "''").replace('\r', "\\r").replace('\n', "\\n");
        database.execute(&format!(
            "delete from api.photos; insert into api.photos values (1, '<script>', null, E'{stored}')"
        ));
        let response = get();
        assert_eq!(
            (response.status, response.header("content-type"), response.header("content-disposition")),
            (200, Some(served_as), Some(disposition)),
            "{stored}"
        );
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{stored}");
        let sandbox = (stored != "application/pdf").then_some("sandbox");
        assert_eq!(response.header("content-security-policy"), sandbox, "{stored}");
        assert!(response.header("x-injected").is_none());
    }
    // A name of any length is sent in a header of bounded length.
    database.execute("update api.photos set data_name = repeat('é', 1000000) || '.png'");
    let disposition = get().header("content-disposition").unwrap().to_owned();
    assert!(disposition.ends_with(".png") && disposition.len() < 2_000, "{} bytes", disposition.len());
}

/// `response.headers` may hold what a client has stored.
#[test]
fn sql_sets_one_media_type_and_each_single_header_once() {
    let (_database, served) = served();
    let set = |headers: serde_json::Value| {
        let body = serde_json::json!({ "headers": headers.to_string() }).to_string();
        served.send("POST", "/rpc/sets", &[("Content-Type", "application/json")], body)
    };
    let response =
        set(serde_json::json!([{ "Content-Type": "image/png; a=\"b\"" }, { "Link": "<a>" }, { "Link": "<b>" }]));
    assert_eq!((response.status, response.header("content-type")), (200, Some("image/png; a=\"b\"")));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.headers.iter().filter(|(name, _)| name == "link").count(), 2);
    for headers in [
        serde_json::json!([{ "Content-Type": "image/png; q=\"a\", text/html" }]),
        serde_json::json!([{ "Content-Type": "image/png, text/html" }]),
        serde_json::json!([{ "Content-Type": "image/png; q=\"a, text/html\"" }]),
        serde_json::json!([{ "Content-Type": "image/png" }, { "content-type": "text/html" }]),
        serde_json::json!([{ "Content-Type": "image/png" }, { "content-type": "image/png" }]),
        serde_json::json!([{ "Content-Type": "" }]),
        serde_json::json!([{ "Content-Type": "image/png\r\nX: y" }]),
        serde_json::json!([{ "Content-Type": "image/png;\u{1}" }]),
        serde_json::json!([{ "Content-Disposition": "attachment" }, { "Content-Disposition": "inline" }]),
        serde_json::json!([{ "Location": "/a" }, { "location": "//evil.example" }]),
    ] {
        let response = set(headers.clone());
        assert_eq!((response.status, response.json()["code"].as_str()), (500, Some("PGRST111")), "{headers}");
    }
}
