//! The most expensive requests of the reader hold up no thread that serves other clients.

use crate::site::{Site, encoded};
use serde_json::json;

/// Number of requests to a route after which the gauge reports findings.
const REQUESTS: u64 = 12;
/// Longest text that a page takes, in bytes.
const PAGE_TEXT_BYTES_MAX: usize = 8 * 1024;

#[test]
fn the_most_expensive_page_function_and_file_hold_up_no_executor() {
    let site = Site::start();
    let stories: String = site.database.value("select string_agg(text, E'\\n' order by number) from reader.stories");
    let mut text = stories.repeat(1 + PAGE_TEXT_BYTES_MAX / stories.len());
    let end = (0..=PAGE_TEXT_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap();
    text.truncate(end);
    let words: Vec<String> = (0..10_000).map(|number| format!("食べる{number}")).collect();
    let long = stories.repeat(1 + 64 * 1024 / stories.len());
    let gloss = json!({ "text": long, "known": words }).to_string();
    let longest = site.database.value("select number from reader.stories order by length(text) desc limit 1");
    for _ in 0..REQUESTS {
        let page = site.page(&format!("/text?text={}", encoded(&text)));
        assert!(page.matches("class=\"g\"").count() > 500, "it has the entries of its words");
        site.page(&format!("/stories/{longest}"));
        let list = site.page("/");
        let files: Vec<&str> = list.split("\"/static/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(!files.is_empty(), "{list}");
        for file in files {
            site.page(&format!("/static/{file}"));
        }
        let told = site.post("/rpc/gloss", &[("content-type", "application/json")], gloss.as_bytes());
        assert!(told.status == 200 && told.whole && told.body.len() > long.len(), "{}", told.status);
        assert_eq!(site.get("/api/stories").status, 200);
        assert_eq!(site.get("/api/").status, 200);
    }
    for route in ["GET text.html", "GET stories/[number].html"] {
        assert!(site.admin.requests(route) >= REQUESTS, "{route}");
    }
    assert_eq!(site.admin.blocked_executor(), [json!(null); 0]);
}
