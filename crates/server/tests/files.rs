//! Forms with files, and values as files.

use crate::served::{GRANTS, Served, config};
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.photos (id int primary key, title text, meta jsonb, data bytea, data_name text, data_type text);
    create table api.notes (id int primary key, body text, body_type text, raw bytea);
    create view api.photos_view as select * from api.photos;
    create table api.partly (id int primary key, raw bytea, secret text);
    create function api.keep(title text, data bytea, data_name text default 'none', data_type text default 'none') returns json
      language sql as $$ select json_build_object('title', title, 'md5', md5(data), 'name', data_name, 'type', data_type) $$;
    create function api.text_of(file text) returns text language sql as $$ select file $$;
    create function api.sum_of(variadic n int[]) returns int language sql as $$ select sum(x)::int from unnest(n) x $$;
";
const WRITES: &str = "
    grant insert, update on all tables in schema api to test_reader;
    revoke select on api.partly from test_reader; grant select (id, raw) on api.partly to test_reader;
";

const BOUNDARY: &str = "multipart/form-data; boundary=----x7";
/// Every byte that there is, and what looks like a boundary.
fn picture() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    bytes.extend_from_slice(b"\r\n----x7\r\n------x\r\n");
    bytes
}

/// A part: a name, a file's name and type, the content.
type Part<'a> = (&'a str, Option<(&'a str, &'a str)>, &'a [u8]);

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        body.extend_from_slice(format!("------x7\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes());
        if let Some((file_name, content_type)) = file {
            body.extend_from_slice(format!("; filename=\"{file_name}\"\r\nContent-Type: {content_type}").as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"------x7--\r\n");
    body
}

fn served() -> (Database, Served) {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    (database, served)
}

fn md5(database: &Database, id: u32) -> String {
    database.value(&format!("select md5(data) from api.photos where id = {id}"))
}

#[test]
fn parts_are_columns() {
    let (database, served) = served();
    let headers = [("Content-Type", BOUNDARY), ("Prefer", "return=representation")];
    let target = "/photos?select=id,title,meta,data_name,data_type";
    let png = Some(("a %22b%22 é.png", "image/png"));
    let data = picture();
    let body =
        form(&[("id", None, b"1"), ("title", None, b"one"), ("meta", None, br#"{"a": [1]}"#), ("data", png, &data)]);
    let response = served.send("POST", target, &headers, &body);
    let name = r#""data_name":"a \"b\" é.png","data_type":"image/png"}]"#;
    assert_eq!(
        (response.status, response.text()),
        (201, &*format!(r#"[{{"id":1,"title":"one","meta":{{"a": [1]}},{name}"#))
    );
    let sum = database
        .value(&format!("select md5('\\x{}'::bytea)", data.iter().map(|b| format!("{b:02x}")).collect::<String>()));
    assert_eq!(md5(&database, 1), sum);
    // what is sent counts before what is derived; of two the last; a file that was not chosen is none
    let body = form(&[
        ("id", None, b"2"),
        ("data_type", None, b"mine"),
        ("title", None, b"first"),
        ("data", png, &data),
        ("title", None, b"last"),
    ]);
    let text = served.send("POST", target, &headers, &body).text().to_owned();
    assert!(text.contains(r#""title":"last""#) && text.contains(r#""data_type":"mine""#), "{text}");
    let body = form(&[("id", None, b"3"), ("data", Some(("", "application/octet-stream")), b"")]);
    let text = served.send("POST", target, &headers, &body).text().to_owned();
    assert_eq!(text, r#"[{"id":3,"title":null,"meta":null,"data_name":null,"data_type":null}]"#);
    // update, replace, upsert
    let body = form(&[("data", Some(("new.bin", "a/b")), b"new")]);
    assert_eq!(served.send("PATCH", "/photos?id=eq.3", &headers[..1], &body).status, 204);
    assert_eq!(
        database.value("select data_name || data_type || encode(data, 'escape') from api.photos where id = 3"),
        "new.bina/bnew"
    );
    let body = form(&[("id", None, b"3"), ("title", None, b"put")]);
    assert_eq!(served.send("PUT", "/photos?id=eq.3", &headers[..1], &body).status, 204);
    assert_eq!(database.value("select title || data_name from api.photos where id = 3"), "putnew.bin");
    let merge = [("Content-Type", BOUNDARY), ("Prefer", "resolution=merge-duplicates")];
    assert_eq!(served.send("POST", "/photos", &merge, &body).status, 200);
    // a file for a text column, and one of a relation that wants neither its name nor its type
    let body =
        form(&[("id", None, b"1"), ("body", Some(("x.txt", "text/plain")), "é".as_bytes()), ("raw", png, b"\x00\xff")]);
    assert_eq!(served.send("POST", "/notes", &headers[..1], &body).status, 201);
    assert_eq!(database.value("select body || body_type || raw from api.notes"), "étext/plain\\x00ff");
}

#[test]
fn parts_are_arguments() {
    let (_database, served) = served();
    let call = |name: &str, parts: &[Part<'_>]| {
        served.send("POST", &format!("/rpc/{name}"), &[("Content-Type", BOUNDARY)], form(parts))
    };
    let file = Some(("f.igc", "application/vnd.igc"));
    let sum = "900150983cd24fb0d6963f7d28e17f72";
    let kept = |response: Response| response.json();
    let with_name = kept(call("keep", &[("title", None, b"t"), ("data", file, b"abc")]));
    assert_eq!(
        with_name,
        serde_json::json!({"title": "t", "md5": sum, "name": "f.igc", "type": "application/vnd.igc"})
    );
    let own_name = kept(call("keep", &[("data_name", None, b"own"), ("title", None, b"t"), ("data", file, b"abc")]));
    assert_eq!((&own_name["name"], &own_name["md5"]), (&serde_json::json!("own"), &serde_json::json!(sum)));
    assert_eq!(call("text_of", &[("file", file, "é".as_bytes())]).text(), "\"é\"");
    assert_eq!(call("sum_of", &[("n", None, b"1"), ("n", None, b"2")]).text(), "3");
    // larger than what becomes an argument like those of other forms
    let long = "x".repeat(200_000);
    assert_eq!(call("text_of", &[("file", None, long.as_bytes())]).json().as_str(), Some(long.as_str()));
    let wrong = call("keep", &[("title", None, b"t"), ("nope", None, b"x")]);
    assert_eq!((wrong.status, wrong.json()["code"].as_str()), (404, Some("PGRST202")));
}

#[test]
fn forms_that_are_wrong() {
    let (database, served) = served();
    let whole = form(&[("id", None, b"1"), ("data", Some(("f", "a/b")), b"abc")]);
    for (content_type, body, code) in [
        (BOUNDARY, &b""[..], "PGRST102"),
        (BOUNDARY, b"nonsense", "PGRST102"),
        (BOUNDARY, &whole[..whole.len() - 10], "PGRST102"),
        ("multipart/form-data", &whole, "PGRST102"),
        ("multipart/form-data; boundary=other", &whole, "PGRST102"),
        (BOUNDARY, &form(&[("nope", None, b"1")]), "PGRST204"),
        (BOUNDARY, &form(&[("id", None, b"one")]), "22P02"),
        (BOUNDARY, &form(&[("id", None, b"1"), ("title", None, b"\xff")]), "22021"),
        (BOUNDARY, &form(&[("id", None, b"1"), ("title", Some(("f", "a/b")), b"a\x00b")]), "22021"),
    ] {
        let response = served.send("POST", "/photos", &[("Content-Type", content_type)], body);
        assert_eq!((response.status, response.json()["code"].as_str()), (400, Some(code)), "{}", response.text());
    }
    assert_eq!(database.value("select count(*) from api.photos"), "0");
}

#[test]
fn a_value_is_a_file() {
    let (database, served) = served();
    let data = picture().repeat(8);
    let png = Some(("é.png", "image/png"));
    let body = form(&[("id", None, b"1"), ("data", png, &data)]);
    assert_eq!(served.send("POST", "/photos", &[("Content-Type", BOUNDARY)], &body).status, 201);
    let octets = ("Accept", "application/octet-stream");
    for target in ["/photos?id=eq.1&select=data", "/photos_view?select=data"] {
        let whole = served.request("GET", target, &[octets]);
        assert_eq!((whole.status, whole.whole, whole.body == data), (200, true, true), "{target}");
        for (name, value) in [
            ("content-type", "image/png"),
            ("content-length", &data.len().to_string()),
            ("content-disposition", "inline; filename=\"_.png\"; filename*=UTF-8''%C3%A9.png"),
            ("x-content-type-options", "nosniff"),
            ("accept-ranges", "bytes"),
            ("vary", "Accept, Prefer, Range"),
        ] {
            assert_eq!(whole.header(name), Some(value), "{name}");
        }
        let tag = whole.header("etag").unwrap().to_owned();
        let head = served.request("HEAD", target, &[octets]);
        assert_eq!(
            (head.status, head.header("etag"), head.header("content-length")),
            (200, Some(&*tag), whole.header("content-length"))
        );
        // parts, small ones and those that are sent in slices
        for (range, from, to) in [
            ("bytes=0-0", 0, 1),
            ("bytes=100-299", 100, 300),
            ("bytes=5-1000004", 5, 1_000_005),
            ("bytes=-20", data.len() - 20, data.len()),
            ("bytes=2000000-", 2_000_000, data.len()),
        ] {
            let part = served.request("GET", target, &[octets, ("Range", range)]);
            assert_eq!((part.status, part.body == data[from..to]), (206, true), "{range}");
            let expected = format!("bytes {from}-{}/{}", to - 1, data.len());
            assert_eq!(part.header("content-range"), Some(&*expected));
        }
        let beyond = served.request("GET", target, &[octets, ("Range", "bytes=9999999-")]);
        assert_eq!((beyond.status, beyond.json()["code"].as_str()), (416, Some("PGRST103")));
        assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{}", data.len())));
        for (name, value, status) in [
            ("If-None-Match", &*tag, 304),
            ("If-None-Match", &format!("\"x\", W/{tag}"), 304),
            ("If-None-Match", "\"x\"", 206),
            ("If-Match", "\"x\"", 412),
            ("If-Match", &tag, 206),
            ("If-Range", &tag, 206),
            ("If-Range", "\"x\"", 200),
            ("If-Range", "Sat, 21 Nov 2026 10:00:00 GMT", 200),
        ] {
            let response = served.request("GET", target, &[octets, ("Range", "bytes=0-9"), (name, value)]);
            assert_eq!(response.status, status, "{name}: {value}");
            assert_eq!(response.header("etag"), Some(&*tag));
        }
        // a new version is another one
        database.execute("update api.photos set data = data || '\\x00'");
        assert_ne!(served.request("HEAD", target, &[octets]).header("etag"), Some(&*tag));
        database.execute(&format!("update api.photos set data = substring(data for {})", data.len()));
    }
}

#[test]
fn the_media_type_is_the_values_own() {
    let (database, served) = served();
    database.execute(
        "insert into api.photos values (1, 'one', null, 'PNG', 'x.png', 'image/png'), (2, 'two', null, '<script>', 'x.html', 'text/html'),
           (3, null, null, '', null, null), (4, null, null, null, null, 'no type'), (5, null, null, 'x', null, E'bad\\r\\ntype')",
    );
    database.execute("insert into api.notes values (1, 'é', 'text/markdown; charset=utf-8', '\\x01')");
    let get = |target: &str, accept: &str| served.request("GET", target, &[("Accept", accept)]);
    for (target, accept, status, content_type) in [
        ("/photos?id=eq.1&select=data", "image/png", 200, "image/png"),
        ("/photos?id=eq.1&select=data", "image/*", 200, "image/png"),
        ("/photos?id=eq.1&select=data", "image/avif,image/webp,image/*,*/*;q=0.8", 200, "image/png"),
        ("/photos?id=eq.1&select=data", "image/gif", 406, "application/json; charset=utf-8"),
        ("/photos?id=eq.1&select=data", "*/*", 200, "application/json; charset=utf-8"),
        ("/photos?id=eq.1&select=data", "application/json, image/png", 200, "application/json; charset=utf-8"),
        ("/photos?id=eq.2&select=data", "text/html,*/*;q=0.8", 200, "text/html"),
        ("/photos?id=eq.3&select=data", "application/octet-stream", 200, "application/octet-stream"),
        ("/photos?id=eq.5&select=data", "application/octet-stream", 200, "application/octet-stream"),
        ("/photos?id=eq.1&select=title", "application/octet-stream", 200, "application/octet-stream"),
        ("/notes?select=body", "text/markdown", 200, "text/markdown; charset=utf-8"),
        ("/notes?select=raw", "application/octet-stream", 200, "application/octet-stream"),
        ("/photos?select=data", "application/octet-stream", 406, "application/json; charset=utf-8"),
        ("/photos?id=eq.9&select=data", "application/octet-stream", 406, "application/json; charset=utf-8"),
        ("/photos?id=eq.1&select=id", "application/octet-stream", 406, "application/json; charset=utf-8"),
        ("/photos?id=eq.1", "application/octet-stream", 406, "application/json; charset=utf-8"),
        ("/photos?id=eq.1&select=data::text", "application/octet-stream", 406, "application/json; charset=utf-8"),
        ("/photos?order=id.desc&limit=1&offset=4&select=data", "application/octet-stream", 200, "image/png"),
    ] {
        let response = get(target, accept);
        assert_eq!(
            (response.status, response.header("content-type")),
            (status, Some(content_type)),
            "{target} as {accept}"
        );
    }
    assert_eq!(get("/photos?id=eq.4&select=data", "application/octet-stream").status, 204);
    assert_eq!(get("/notes?select=body", "application/octet-stream").text(), "é");
    let page = get("/photos?id=eq.2&select=data", "text/html");
    assert_eq!(page.header("content-disposition"), Some("attachment; filename=\"x.html\""));
    // whose place nobody may see has a version made of its bytes
    database.execute("insert into api.partly values (1, '\\x0102', 'secret')");
    let partly = get("/partly?select=raw", "application/octet-stream");
    assert_eq!((partly.status, &*partly.body), (200, &[1, 2][..]));
    assert!(partly.header("etag").is_some_and(|tag| tag.len() > 30));
}

#[test]
fn a_value_is_as_large_as_the_one_that_was_described() {
    // a slow reader sees one version of the row, whatever happens to it meanwhile
    let (database, _) = served();
    let served = Served::start(Config { db_pool: 2, ..config(&database.uri()) });
    database.execute("insert into api.photos (id, data) values (1, decode(repeat('ab', 8000000), 'hex'))");
    let mut client = thalweg_testkit::Client::connect(served.address);
    client.send("GET", "/photos?select=data", &[("Accept", "application/octet-stream")]);
    client.wait();
    database.execute("update api.photos set data = 'short'");
    let response = client.receive(false);
    assert!(response.whole && response.body.len() == 8_000_000 && response.body.iter().all(|byte| *byte == 0xab));
}
