//! Seven seasons of a pilot: long lists, full maps, and how soon a slow line shows them.

use super::reader::{Language, Reader, Screen};
use crate::book::{Book, PASSWORD};
use serde_json::json;
use std::path::PathBuf;
use thalweg_flightbook::FlightBook;

const FLIGHTS: u32 = 64;
/// Where the pilot flies, with the sites of the samples that they know.
const SITES: &str = "insert into flightbook.sites (pilot_id, name, country, elevation_m, latitude, longitude) values
  (1, 'Fiesch Kühboden', 'CH', 2212, 46.415, 8.124), (1, 'Grindelwald First', 'CH', 2166, 46.659, 8.054), (1, 'Annecy Forclaz', 'FR', 1250, 45.815, 6.246),
  (1, 'Bassano Panettone', 'IT', 780, 45.806, 11.727), (1, 'Kössen Unterberg', 'AT', 1487, 47.640, 12.407),
  (1, 'Greifenburg Emberger Alm', 'AT', 1740, 46.764, 13.197), (1, 'Brauneck', 'DE', 1540, 47.663, 11.523), (1, 'Tegelberg', 'DE', 1707, 47.559, 10.778)";
const BY_HAND: &str = "update flightbook.flights set hike_and_fly = number % 7 = 3, landing_site_id = coalesce(landing_site_id, launch_site_id), comment = (array['Smooth all day.', 'Rough near the ridge, then straight to base.',
  'Cloud street home.', 'Strong valley wind after 14:00.', ''])[1 + number % 5]";
/// One of the longer flights, with a triangle.
const LONG_FLIGHT: &str = "select id from flightbook.flights order by airtime > '3:30' and free_triangle_points > 0 desc, points desc nulls last limit 1";

#[test]
fn seasons_are_seen_in_lists_maps_and_statistics() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    book.database.execute(SITES);
    let seasons = seasons();
    let files: Vec<(&str, &[u8])> = seasons.iter().map(|(name, igc)| (&**name, igc.as_bytes())).collect();
    assert_eq!(ann.upload(&files).header("location"), Some("/flights/uploaded"));
    book.database.execute(BY_HAND);
    let flight = book.database.value(LONG_FLIGHT);
    for screen in [Screen::Desktop, Screen::Phone] {
        let Some(mut ann) = Reader::start(&book, Language::English, screen) else { return };
        ann.browser.call("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
        sign_in(&mut ann);
        ann.sees(&[["64 flights", ""], ["Page 1 of 2", ""], ["Brauneck", ""]]);
        assert_eq!(ann.browser.evaluate("document.querySelectorAll('tbody tr').length"), 50);
        ann.look("season-flights");
        keep(&mut ann, "flights");
        ann.browser.click_text("Next");
        ann.browser.wait_for("document.querySelectorAll('tbody tr').length === 14");
        ann.open("/flights/uploaded");
        ann.look("season-uploaded");
        ann.open("/map");
        ann.browser.wait_for(
            "document.querySelectorAll('.map path.flown').length === 64 && document.querySelector('.map path.land')",
        );
        ann.look("season-map");
        ann.open("/sites");
        ann.browser.wait_for(
            "document.querySelectorAll('.map .place').length === 8 && document.querySelector('.map path.land')",
        );
        ann.look("season-sites");
        ann.open("/statistics");
        ann.sees(&[["2023", ""], ["Nova Ion 7", ""], ["Kössen Unterberg", ""]]);
        ann.look("season-statistics");
        keep(&mut ann, "statistics");
        ann.set_scheme("dark");
        if screen == Screen::Desktop {
            ann.browser.set_screen((1280, 852), false);
        }
        ann.open(&format!("/flights/{flight}"));
        ann.browser.wait_for("document.querySelector('.map path.land') && document.querySelector('.barogram svg')");
        ann.scroll_to(".barogram");
        let [x, y, width, height] = ann.place(".barogram svg");
        ann.point_at(x + width * 0.6, y + height * 0.3);
        ann.browser.evaluate("document.querySelector('#track').scrollIntoView(); scrollBy(0, -12)");
        keep(&mut ann, "flight");
        ann.picture("season-flight");
    }
}

/// Flights in the Alps.
fn seasons() -> Vec<(String, String)> {
    FlightBook::new(FLIGHTS).flights().map(|flight| (flight.file_name, flight.igc)).collect()
}

/// Every request before the first paint is a second of waiting on a slow line: beyond the page there is its style sheet alone.
#[test]
fn the_list_is_painted_after_its_style_sheet() {
    let book = Book::start();
    book.pilot("Ann");
    book.database.execute(SITES);
    book.database.execute(
        "insert into flightbook.flights (pilot_id, number, date, launch_site_id, launch_time, landing_time, track_distance)
         select 1, n, date '2024-03-01' + n, 1 + n % 8, '10:00', '12:30', n from generate_series(1, 200) n",
    );
    for screen in [Screen::Desktop, Screen::Phone] {
        let Some(mut ann) = Reader::start(&book, Language::English, screen) else { return };
        sign_in(&mut ann);
        ann.browser.call("Network.setCacheDisabled", json!({ "cacheDisabled": true }));
        // what Lighthouse calls slow 4G
        let line = json!({ "offline": false, "latency": 150, "downloadThroughput": 1_638_400 / 8, "uploadThroughput": 768_000 / 8 });
        ann.browser.call("Network.emulateNetworkConditions", line);
        ann.open("/flights");
        ann.browser.wait_for("performance.getEntriesByName('first-contentful-paint').length > 0");
        let paint = ann.browser.evaluate(
            "(() => { const [paint] = performance.getEntriesByName('first-contentful-paint'), [page] = performance.getEntriesByType('navigation');
               const resources = performance.getEntriesByType('resource'), names = (entries) => entries.map(({ name }) => new URL(name).pathname);
               return { first_paint_ms: Math.round(paint.startTime), page_ms: Math.round(page.responseEnd), page_bytes: page.transferSize,
                 blocking: names(resources.filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking')),
                 before: names(resources.filter(({ startTime }) => startTime < paint.startTime)),
                 bytes: resources.reduce((sum, { transferSize }) => sum + transferSize, page.transferSize) }; })()",
        );
        println!("{screen:?}, 1.6 Mbit/s with 150 ms: {paint}");
        assert_eq!(paint["blocking"].as_array().unwrap().len(), 1, "{paint}");
        assert!(paint["blocking"][0].as_str().unwrap().contains("style"), "{paint}");
        assert_eq!(paint["before"], paint["blocking"], "nothing else is asked for before the first paint");
    }
}

fn sign_in(ann: &mut Reader) {
    ann.open("/sign_in");
    ann.browser.fill("[name=email]", "ann@club.example");
    ann.browser.fill("[name=password]", PASSWORD);
    ann.send("main form button", ["Flights", "Flüge"]);
}

/// Keeps what is seen of a page as the documentation shows it, where `TEST_SCREENSHOTS` names a folder.
fn keep(ann: &mut Reader, name: &str) {
    let Some(folder) = std::env::var_os("TEST_SCREENSHOTS").map(PathBuf::from) else { return };
    let picture: Vec<u8> = ann.browser.screenshot_as(json!({ "format": "webp", "quality": 80 }));
    let screen = if ann.screen == Screen::Phone { "phone" } else { "desktop" };
    std::fs::write(folder.join(format!("{name}-{screen}.webp")), picture).unwrap();
}
