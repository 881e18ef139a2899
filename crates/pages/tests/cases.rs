//! Golden cases: which columns a page needs, under `tests/cases`.
//!
//! A case is the text of `page.html`; other templates follow, each behind a line `--- name`. A page without a head of its own has `flights`,
//! which are rows, and `flight`, which is one. Its snapshot shows the needs as a tree: each name where it stands first, and behind it why all
//! below is needed, if it is. `INSTA_UPDATE=always cargo test -p thalweg-pages` writes them anew.

use std::fmt::Write;
use thalweg_pages::{Additions, Cost, Need, Provided, Site, Vocabulary};

const HEAD: &str = "+++\nflights = \"/flights\"\nflight = { one = \"/flights?id=eq.1\" }\n+++\n";

#[test]
fn cases_are_as_they_were() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::glob!("cases", "*.txt", |path| {
            let text = std::fs::read_to_string(path).unwrap();
            insta::assert_snapshot!(shown(&text, None));
        });
    });
}

/// Cases of which nothing may be said that is not certain: under `tests/cases/names`, with what a server gives its pages.
#[test]
fn names_are_as_they_were() {
    const PROVIDED: [Provided; 4] = [
        Provided::any("locale"),
        Provided::any("is_signed_in"),
        Provided::of("request", &[Provided::any("path"), Provided::any("query")]),
        Provided::of(
            "form",
            &[Provided::any("values"), Provided::each("errors", &FAULT), Provided::of("error", &FAULT)],
        ),
    ];
    const FAULT: [Provided; 2] = [Provided::any("message"), Provided::any("code")];
    let mut additions = Additions::default();
    additions.function("glide_ratio", Cost::Quick, |value: i64| value);
    let vocabulary = Vocabulary::of(&PROVIDED, &["static"], &additions);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::glob!("cases/names", "*.txt", |path| {
            let text = std::fs::read_to_string(path).unwrap();
            insta::assert_snapshot!(shown(&text, Some(&vocabulary)));
        });
    });
}

fn shown(case: &str, vocabulary: Option<&Vocabulary>) -> String {
    let mut files = Vec::new();
    for (number, text) in case.trim_end().split("--- ").enumerate() {
        match (number, text.split_once('\n')) {
            (0, _) if text.starts_with("+++") => files.push(("page.html".to_owned(), text.to_owned())),
            (0, _) => files.push(("page.html".to_owned(), format!("{HEAD}{text}"))),
            (_, Some((name, text))) => files.push((name.to_owned(), text.trim_end().to_owned())),
            (_, None) => files.push((text.to_owned(), String::new())),
        }
    }
    match Site::of_in(files, None, vocabulary) {
        Err(error) => format!("error: {error}"),
        Ok(site) => {
            let mut shown = String::new();
            for (name, need) in &site.page("page.html").unwrap().needs {
                show(&mut shown, 0, name, need);
            }
            shown
        }
    }
}

fn show(shown: &mut String, depth: usize, name: &str, need: &Need) {
    let _ = write!(shown, "{:1$}{name}", "", depth * 2);
    if let Some(whole) = &need.whole {
        let _ = write!(shown, ", all: {} at {}", whole.why, whole.place);
    }
    if let Some(whole) = &need.whole_if_one {
        let _ = write!(shown, ", all of one row: {} at {}", whole.why, whole.place);
    }
    shown.push('\n');
    for (name, column) in &need.columns {
        show(shown, depth + 1, &format!("{name} ({})", column.place), &column.need);
    }
}
