//! All that a pilot has, taken away.

use crate::book::Book;
use crate::uploads::sample;
use std::io::{Cursor, Read};
use zip::ZipArchive;

#[test]
fn the_archive_holds_what_its_owner_has_and_can_be_imported() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let samples: Vec<(String, Vec<u8>)> = (0..3).map(sample).collect();
    for (name, igc) in &samples {
        assert_eq!(ann.upload(&[(name, igc)]).status, 303);
    }
    bob.upload(&[("of_bob.igc", &samples[0].1)]);
    book.database.execute(
        "insert into flightbook.sites (pilot_id, name) values (1, 'Alp, \"the\" high'), (2, 'Of Bob');
         update flightbook.flights set launch_site_id = 1, comment = E'one\\ntwo', hike_and_fly = true where id = 1;",
    );
    let export = ann.get("/do/export.zip");
    assert_eq!((export.status, export.header("content-type"), export.whole), (200, Some("application/zip"), true));
    assert_eq!(export.header("content-disposition"), Some("attachment; filename=\"flightbook.zip\""));
    let mut archive = ZipArchive::new(Cursor::new(&export.body)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut expected = vec!["flights.csv".to_owned(), "gliders.csv".to_owned(), "sites.csv".to_owned()];
    let tracks = (1..).zip(&samples).map(|(number, (name, _))| format!("tracks/{}-{number:05}-{name}", &name[..10]));
    expected.extend(tracks);
    assert_eq!(names, expected);
    let mut file = |name: &str| {
        let mut bytes = Vec::new();
        archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    for ((_, igc), name) in samples.iter().zip(&expected[3..]) {
        assert_eq!(&file(name), igc);
    }
    let sites = String::from_utf8(file("sites.csv")).unwrap();
    assert!(sites.contains("\"Alp, \"\"the\"\" high\"") && !sites.contains("Of Bob"), "{sites}");
    // what is taken away can be brought elsewhere
    let csv = String::from_utf8(file("flights.csv")).unwrap();
    let mut carl = book.pilot("Carl");
    let boundary = [("content-type", "multipart/form-data; boundary=B"), ("origin", "http://test")];
    let body =
        format!("--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.csv\"\r\n\r\n{csv}\r\n--B--\r\n");
    assert_eq!(carl.ask("POST", "/import", &boundary, body.as_bytes()).status, 303);
    assert_eq!(
        book.database.value("select string_agg(distinct problems::text, '') from flightbook.import_rows"),
        "{}",
        "{csv}"
    );
    book.database.execute(
        "set role flightbook_pilot; set request.jwt.claims = '{\"sub\":\"3\"}'; select flightbook.finish_import()",
    );
    let told = "select string_agg(concat_ws('|', f.number, f.date, f.launch_time, f.landing_time, f.track_distance, f.hike_and_fly, f.comment,
        g.name, s.name), '/' order by f.number) from flightbook.flights f left join flightbook.gliders g on g.id = f.glider_id
        left join flightbook.sites s on s.id = f.launch_site_id where f.pilot_id = ";
    assert_eq!(book.database.value(&format!("{told} 3")), book.database.value(&format!("{told} 1")));
}

#[test]
fn an_empty_book_is_an_archive_too_and_nobody_elses_is_given() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let export = ann.get("/do/export.zip");
    let mut archive = ZipArchive::new(Cursor::new(&export.body)).unwrap();
    let mut tables = Vec::new();
    for at in 0..archive.len() {
        let mut table = String::new();
        archive.by_index(at).unwrap().read_to_string(&mut table).unwrap();
        tables.push(table);
    }
    // which columns there are is told of no rows too
    let flights = ann.page("/flights.csv");
    let gliders = "manufacturer,model,since,until,comment\n";
    let sites = "name,country,elevation_m,latitude,longitude,comment\n";
    assert_eq!(tables, [&*flights, gliders, sites]);
    let sent_on = book.visitor().get("/do/export.zip");
    assert_eq!((sent_on.status, sent_on.header("location")), (303, Some("/sign_in?back=/account")));
}
