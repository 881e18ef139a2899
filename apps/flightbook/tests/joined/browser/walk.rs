//! One pilot's way through the whole book, from registering to signing out.

use super::reader::{Language, Reader, Screen, Words};
use crate::book::{Book, PASSWORD};
use serde_json::{Value, json};
use std::path::PathBuf;
use zip::ZipArchive;

const FLIGHTS: Words = ["Flights", "Flüge"];
const FLIGHT: Words = ["Flight 1", "Flug 1"];
const NEW_FLIGHT: Words = ["New flight", "Neuer Flug"];
const SIGN_IN: Words = ["Sign in", "Anmelden"];
const SAVE: &str = "main form:not([action]) button";
const CSV: &str = "\
number,date,glider,launch_site,launch_time_utc,landing_site,landing_time_utc,track_distance,hikeandfly,comment
101,2024-05-17,Nova Ion 7,Brauneck,10:15,Lenggries,11:45,12.5,no,Smooth all day.
102,2024-06-01,Ozone Rush 6,Tegelberg,11:02,Schwangau,13:40,31.4,yes,\"Cloud street, home\"
103,2024-13-01,Ozone Rush 6,Tegelberg,11:02,Schwangau,13:40,31.4,no,
104,2024-07-01,Ozone Rush 6,Tegelberg,11:02,Schwangau,13:40,far,no,
105,2024-07-05,Ozone Rush 6,Tegelberg,9:30,Tegelberg,10:00,,no,
";

#[test]
fn the_book_is_walked_through_in_english_on_a_desktop() {
    walk(Language::English, Screen::Desktop);
}

#[test]
fn the_book_is_walked_through_in_english_on_a_phone() {
    walk(Language::English, Screen::Phone);
}

#[test]
fn the_book_is_walked_through_in_german_on_a_desktop() {
    walk(Language::German, Screen::Desktop);
}

#[test]
fn the_book_is_walked_through_in_german_on_a_phone() {
    walk(Language::German, Screen::Phone);
}

fn walk(language: Language, screen: Screen) {
    let book = Book::start();
    let Some(mut ann) = Reader::start(&book, language, screen) else { return };
    register(&mut ann);
    sign_in_again(&mut ann);
    upload(&mut ann);
    track(&mut ann);
    list(&mut ann);
    edit(&mut ann);
    print(&mut ann);
    share_and_withdraw(&mut ann);
    import(&mut ann);
    places_and_gliders(&mut ann);
    add_and_delete(&mut ann);
    statistics_and_map(&mut ann);
    change_language(&mut ann);
    export(&mut ann);
    sign_out(&mut ann);
}

fn register(ann: &mut Reader) {
    ann.open("/");
    ann.arrive(["Your flights, kept well", "Deine Flüge, gut aufgehoben"]);
    ann.look("start");
    let register = ["Register", "Registrieren"];
    ann.follow(register, register);
    ann.look("register");
    for (name, text) in [("name", "Ann Arbor"), ("email", "ann@club.example"), ("password", PASSWORD)] {
        ann.browser.fill(&format!("[name={name}]"), text);
    }
    ann.send("main form button", FLIGHTS);
    ann.sees(&[["There are none yet.", "Es gibt noch keine."], ["No flights", "Keine Flüge"]]);
    ann.look("flights-none");
}

fn sign_in_again(ann: &mut Reader) {
    ann.follow(["Sign out", "Abmelden"], ["Your flights, kept well", "Deine Flüge, gut aufgehoben"]);
    ann.follow(SIGN_IN, SIGN_IN);
    for (password, heading) in [("wrong, wrong, wrong", SIGN_IN), (PASSWORD, FLIGHTS)] {
        ann.browser.fill("[name=email]", "ann@club.example");
        ann.browser.fill("[name=password]", password);
        ann.send("main form button", heading);
        if heading == SIGN_IN {
            ann.sees(&[["The address or the password is wrong.", "Adresse oder Passwort ist falsch."]]);
            ann.look("sign-in-refused");
        }
    }
}

fn upload(ann: &mut Reader) {
    ann.follow(NEW_FLIGHT, NEW_FLIGHT);
    ann.look("flight-new");
    ann.browser.choose_file("#igc", &example().with_file_name("LICENSE"));
    ann.send("[action='/do/tracks'] button", NEW_FLIGHT);
    ann.sees(&[["This is not an IGC file.", "Das ist keine IGC-Datei."]]);
    ann.look("track-refused");
    ann.browser.choose_file("#igc", &example());
    ann.send("[action='/do/tracks'] button", FLIGHT);
    ann.sees(&[
        ["Monday, July 23, 2018", "Montag, 23. Juli 2018"],
        ["ASH 25E", "ASH 25E"],
        ["1,566 m", "1.566 m"],
        ["Free triangle", "Flaches Dreieck"],
        ["Highest altitude", "Größte Höhe"],
    ]);
}

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tracks/example.igc")
}

/// The map and the barogram, which point at each other.
fn track(ann: &mut Reader) {
    ann.browser.wait_for("document.querySelector('.map path.land') && document.querySelector('.barogram svg')");
    ann.look("flight");
    ann.browser.click_text(ann.in_words(["Download example.igc", "example.igc herunterladen"]));
    assert!(ann.browser.downloaded("example.igc") == std::fs::read(example()).unwrap(), "the track is what was sent");
    ann.scroll_to(".map");
    let drawn = "[...document.querySelectorAll('.map path.track-up, .map path.track-down')].map((path) => path.getBoundingClientRect())";
    let inside = ann.browser.evaluate(&format!(
        "(() => {{ const map = document.querySelector('.map').getBoundingClientRect(), paths = {drawn};
           const width = Math.max(...paths.map((path) => path.right)) - Math.min(...paths.map((path) => path.left));
           const height = Math.max(...paths.map((path) => path.bottom)) - Math.min(...paths.map((path) => path.top));
           return paths.every((path) => path.left >= map.left && path.right <= map.right && path.top >= map.top && path.bottom <= map.bottom)
             && Math.max(width / map.width, height / map.height) > 0.4; }})()"
    ));
    assert_eq!(inside, true, "the track fills the map, and is within it");
    let early = point_at_time(ann, 0.3);
    let late = point_at_time(ann, 0.8);
    assert!(early.readout != late.readout && early.dot != late.dot, "{early:?} {late:?}");
    assert!(early.readout.contains(" UTC · ") && early.readout.ends_with(" m/s"), "{early:?}");
    ann.scroll_to(".map");
    let [x, y, ..] = ann.place(".map");
    ann.point_at(x + early.dot.0, y + early.dot.1);
    // the glider may have been there more than once
    let pointed = shown(ann);
    assert!((pointed.dot.0 - early.dot.0).hypot(pointed.dot.1 - early.dot.1) < 3.0, "{pointed:?} {early:?}");
    assert!(
        pointed.cursor != late.cursor && pointed.readout != late.readout,
        "{pointed:?} is not shown in the barogram"
    );
    ann.browser.evaluate("document.querySelector('.barogram input').focus()");
    ann.browser.call(
        "Input.dispatchKeyEvent",
        json!({ "type": "keyDown", "key": "End", "code": "End", "windowsVirtualKeyCode": 35 }),
    );
    let last = shown(ann);
    assert!(last.cursor > late.cursor && last.readout != late.readout, "{last:?}");
}

/// What is pointed at: the time and height that are told, and the places of the two markers in the map and in the barogram.
#[derive(Debug, PartialEq)]
struct Shown {
    readout: String,
    dot: (f64, f64),
    cursor: f64,
}

fn point_at_time(ann: &mut Reader, part: f64) -> Shown {
    ann.scroll_to(".barogram");
    let [x, y, width, height] = ann.place(".barogram svg");
    ann.point_at(x + width * part, y + height * 0.4);
    let shown = shown(ann);
    assert!((shown.cursor - width * part).abs() < 12.0, "{shown:?} is not where {part} of {width} is");
    shown
}

fn shown(ann: &mut Reader) -> Shown {
    let readout = ann.browser.evaluate("document.querySelector('.readout').textContent");
    let [map_x, map_y, ..] = ann.place(".map");
    let [x, y, width, height] = ann.place(".map path.dot");
    let dot = ((x + width / 2.0 - map_x).round(), (y + height / 2.0 - map_y).round());
    let [barogram, ..] = ann.place(".barogram svg");
    let [cursor, ..] = ann.place(".barogram .cursor");
    Shown { readout: readout.as_str().unwrap().to_owned(), dot, cursor: (cursor - barogram).round() }
}

fn list(ann: &mut Reader) {
    ann.follow(FLIGHTS, FLIGHTS);
    ann.sees(&[["One flight", "Ein Flug"], ["Jul 23, 2018", "23.07.2018"], ["04:56 h", "04:56 h"]]);
    ann.look("flights-one");
    ann.browser.click("tbody tr a");
    ann.arrive(FLIGHT);
}

fn edit(ann: &mut Reader) {
    ann.follow(["Edit", "Bearbeiten"], ["Edit flight 1", "Flug 1 bearbeiten"]);
    ann.look("flight-edit");
    ann.browser.fill("[name=xcontest_url]", "https://www.xcontest.org/flight");
    ann.browser.fill("[name=number]", "0");
    ann.send(SAVE, ["Edit flight", "Flug"]);
    ann.sees(&[["A number is from 1 to 1,000,000.", "Eine Nummer ist von 1 bis 1.000.000."]]);
    assert_eq!(
        ann.browser.evaluate("document.querySelector('[name=xcontest_url]').value"),
        "https://www.xcontest.org/flight"
    );
    ann.look("flight-refused");
    ann.browser.fill("[name=number]", "1");
    ann.browser.fill("[name=comment]", "Cloud street home 🪂\nand <b>back</b>");
    ann.browser.fill("[name=track_distance]", "427.6");
    ann.send(SAVE, FLIGHT);
    ann.sees(&[
        ["Cloud street home 🪂\nand <b>back</b>", "Cloud street home 🪂\nand <b>back</b>"],
        ["427.6 km", "427,6 km"],
        ["The flight at XContest", "Der Flug bei XContest"],
    ]);
}

/// On paper there is the flight, and nothing that only a screen can do.
fn print(ann: &mut Reader) {
    ann.follow(["Print", "Drucken"], FLIGHT);
    ann.browser.wait_for("document.querySelector('.map path.track-up') && document.querySelector('.barogram svg')");
    ann.look("flight-print");
    ann.browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(useless(ann), json!([]));
    ann.sees(&[["Ann Arbor", "Ann Arbor"], ["Signature", "Unterschrift"], ["Launch time (UTC)", "Startzeit (UTC)"]]);
    ann.picture(ann.in_words(["flight-paper-en", "flight-paper-de"]));
    assert_eq!(sheets(ann), 1);
    ann.set_scheme("light");
    ann.follow(["Back", "Zurück"], FLIGHT);
    ann.browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(useless(ann), json!([]));
    let paper = ann.browser.text();
    assert!(!paper.contains("example.igc") && !paper.contains(ann.in_words(["Sharing", "Teilen"])), "{paper}");
    ann.set_scheme("light");
}

/// What is seen although nobody can use it on paper.
fn useless(ann: &mut Reader) -> Value {
    ann.browser.evaluate(
        "[...document.querySelectorAll('nav, header, footer, form, button, .actions, .leaflet-control-zoom, .readout, .hint, .screen-only')]
           .filter((element) => element.getClientRects().length > 0).map((element) => element.outerHTML.slice(0, 200))",
    )
}

fn sheets(ann: &mut Reader) -> usize {
    let paper = ann.browser.print();
    if let Some(folder) = std::env::var_os("TEST_SCREENSHOTS") {
        std::fs::write(PathBuf::from(folder).join("flight.pdf"), &paper).unwrap();
    }
    String::from_utf8_lossy(&paper).matches("/Type /Page\n").count()
}

fn share_and_withdraw(ann: &mut Reader) {
    ann.browser.click_text(ann.in_words(["Make a link", "Link erstellen"]));
    ann.browser.wait_for("document.querySelector('#sharing ~ p a')");
    ann.sees(&[["whoever has this link sees the flight", "sieht den Flug, wer diesen Link hat"]]);
    ann.look("flight-shared");
    let link = ann.browser.evaluate("document.querySelector('#sharing ~ p a').href");
    let link = link.as_str().unwrap().strip_prefix(&ann.origin).expect("a link to this site").to_owned();
    let cookies = ann.browser.call("Network.getCookies", json!({}));
    ann.browser.call("Network.clearBrowserCookies", json!({}));
    let heading = ["Ann Arbor, July 23, 2018", "Ann Arbor, 23. Juli 2018"];
    ann.open(&link);
    ann.arrive(heading);
    ann.browser.wait_for("document.querySelector('.map path.track-up') && document.querySelector('.barogram svg')");
    ann.sees(&[["427.6 km", "427,6 km"], SIGN_IN]);
    ann.look("shared");
    ann.browser.call("Network.setCookies", json!({ "cookies": cookies["cookies"] }));
    ann.open("/flights/1");
    ann.browser.click_text(ann.in_words(["Withdraw the link", "Link zurückziehen"]));
    ann.browser.wait_for("!document.querySelector('#sharing ~ p a') && document.querySelector('#sharing')");
    ann.sees(&[["Only you see this flight.", "Nur du siehst diesen Flug."]]);
    ann.open(&link);
    ann.arrive(["There is no such page", "Diese Seite gibt es nicht"]);
    ann.look("not-found");
}

fn import(ann: &mut Reader) {
    ann.open("/flights");
    ann.follow(["Import CSV", "CSV importieren"], ["Import CSV", "CSV importieren"]);
    ann.look("import");
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(&file, CSV).unwrap();
    ann.browser.choose_file("#file", file.path());
    ann.send("main form button", ["Preview", "Vorschau"]);
    ann.sees(&[
        ["2 rows are left out", "2 Zeilen werden ausgelassen"],
        ["The date is none such as 2026-05-17.", "Das Datum ist keines wie 2026-05-17."],
        ["The distance is none such as 42.5.", "Die Strecke ist keine wie 42.5."],
        ["3 rows become flights", "3 Zeilen werden Flüge"],
    ]);
    ann.look("import-preview");
    ann.follow(["Import 3 flights", "3 Flüge importieren"], FLIGHTS);
    ann.sees(&[
        ["4 flights", "4 Flüge"],
        ["Brauneck", "Brauneck"],
        ["12.5 km", "12,5 km"],
        ["Hike and fly", "Hike and Fly"],
    ]);
    let widths = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.scroll'))";
    assert_eq!(ann.browser.evaluate(widths), true, "the list is read without moving it");
    ann.look("flights");
    ann.browser.fill("#q", "street");
    ann.choose("#year", "2024");
    ann.browser.click(".filters button");
    ann.browser.wait_for("location.search.includes('q=street')");
    ann.sees(&[["One flight", "Ein Flug"], ["Tegelberg", "Tegelberg"]]);
}

fn places_and_gliders(ann: &mut Reader) {
    ann.follow(["Sites", "Orte"], ["Sites", "Orte"]);
    ann.browser.click_text("Tegelberg");
    ann.arrive(["Tegelberg", "Tegelberg"]);
    ann.sees(&[["It cannot be deleted while 3 flights", "Das lässt sich nicht löschen, solange 3 Flüge"]]);
    for (name, value) in [("country", "DE"), ("elevation_m", "1707"), ("latitude", "47.559"), ("longitude", "10.778")] {
        ann.browser.fill(&format!("[name={name}]"), value);
    }
    ann.send("main form button", ["Sites", "Orte"]);
    ann.browser.wait_for("document.querySelector('.map .place') && document.querySelector('.map path.land')");
    ann.look("sites");
    ann.browser.click_text("Tegelberg");
    ann.arrive(["Tegelberg", "Tegelberg"]);
    ann.browser.wait_for("document.querySelector('.map path.launch') && document.querySelector('.map path.land')");
    ann.look("site");
    ann.open("/sites/new");
    ann.look("site-new");
    ann.follow(["Gliders", "Schirme"], ["Gliders", "Schirme"]);
    ann.sees(&[["Nova Ion 7", "Nova Ion 7"], ["04:56 h", "04:56 h"], ["427.6 km", "427,6 km"]]);
    ann.look("gliders");
    ann.browser.click_text("Nova Ion 7");
    ann.arrive(["Nova Ion 7", "Nova Ion 7"]);
    ann.look("glider");
    ann.open("/gliders/new");
    ann.look("glider-new");
}

fn add_and_delete(ann: &mut Reader) {
    ann.open("/flights/new");
    ann.browser.evaluate("document.querySelector('#date').value = '2025-08-09'");
    ann.choose("#glider_id", "Nova Ion 7");
    ann.choose("#launch_site_id", "Brauneck");
    ann.browser.click("#hike_and_fly");
    ann.send(SAVE, ["Flight 106", "Flug 106"]);
    ann.sees(&[["Saturday, August 9, 2025", "Samstag, 9. August 2025"], ["Nova Ion 7", "Nova Ion 7"]]);
    ann.look("flight-by-hand");
    ann.follow(["Delete", "Löschen"], ["Delete flight 106", "Flug 106 löschen"]);
    ann.sees(&[["The flight of August 9, 2025 is deleted", "Der Flug vom 9. August 2025 wird"]]);
    ann.look("flight-delete");
    ann.send("main form button", FLIGHTS);
    ann.sees(&[["4 flights", "4 Flüge"]]);
}

fn statistics_and_map(ann: &mut Reader) {
    ann.follow(["Statistics", "Statistik"], ["Statistics", "Statistik"]);
    ann.sees(&[["June 2024", "Juni 2024"], ["471.5 km", "471,5 km"], ["Longest flight", "Längster Flug"]]);
    ann.look("statistics");
    ann.follow(["Map", "Karte"], ["Map of your flights", "Karte deiner Flüge"]);
    ann.browser.wait_for("document.querySelector('.map path.flown') && document.querySelector('.map path.land')");
    ann.look("map");
}

fn change_language(ann: &mut Reader) {
    let (other, own) = if ann.in_words(["en", "de"]) == "en" { ("Deutsch", "English") } else { ("English", "Deutsch") };
    for (link, heading) in [(other, ann.in_words(["Schirme", "Gliders"])), (own, ann.in_words(["Gliders", "Schirme"]))]
    {
        ann.browser.click_text(link);
        ann.browser.wait_for(&format!(
            "[...document.querySelectorAll('nav a')].some((link) => link.innerText === '{heading}')"
        ));
    }
}

fn export(ann: &mut Reader) {
    ann.open("/account");
    ann.sees(&[["4 flights.", "4 Flüge."], ["Delete the account", "Konto löschen"]]);
    ann.look("account");
    ann.browser.click_text(ann.in_words(["Flights as CSV", "Flüge als CSV"]));
    let csv = String::from_utf8(ann.browser.downloaded("flights.csv")).unwrap();
    assert!(
        csv.lines().count() > 4 && csv.contains("102,2024-06-01,Ozone Rush 6,Tegelberg,11:02:00,Schwangau"),
        "{csv}"
    );
    ann.browser.click_text(ann.in_words(["Flights and tracks as ZIP", "Flüge und Tracks als ZIP"]));
    let archive = ZipArchive::new(std::io::Cursor::new(ann.browser.downloaded("flightbook.zip"))).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert!(names.contains(&"tracks/2018-07-23-00001-example.igc".to_owned()), "{names:?}");
}

fn sign_out(ann: &mut Reader) {
    ann.follow(["Sign out", "Abmelden"], ["Your flights, kept well", "Deine Flüge, gut aufgehoben"]);
    ann.open("/flights");
    ann.arrive(SIGN_IN);
    ann.look("signed-out");
}
