//! Password guesses are limited, and the owner is not locked out.

use crate::book::{Book, PASSWORD, Visitor};
use thalweg_testkit::{Database, Response};

const EMAIL: &str = "ida@club.example";

/// Tries a password from an address, as a proxy reports it.
fn try_from(visitor: &mut Visitor, client: &str, email: &str, password: &str) -> Response {
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://test"), ("x-forwarded-for", client)];
    let body = format!("email={email}&password={}", password.replace(' ', "+"));
    visitor.ask("POST", "/do/sign_in", &headers, body.as_bytes())
}

/// Returns the word for the problem, or nothing if the visitor is signed in.
fn problem(response: &Response) -> &str {
    response.header("location").unwrap_or_default().split(['=', '&']).nth(1).unwrap_or_default()
}

fn words(visitor: &mut Visitor, tries: impl Iterator<Item = (String, String)>) -> Vec<String> {
    tries.map(|(client, email)| problem(&try_from(visitor, &client, &email, "guess")).to_owned()).collect()
}

fn count(words: &[String], word: &str) -> usize {
    words.iter().filter(|known| *known == word).count()
}

/// Ten wrong passwords locked the owner out, whoever had tried them.
#[test]
fn wrong_passwords_from_elsewhere_do_not_lock_the_owner_out() {
    let book = Book::start();
    let mut owner = book.pilot("Ida");
    assert_eq!(owner.submit("/sign_out", &[]).status, 303);
    let mut thief = book.visitor();
    let tried = words(&mut thief, (0..20).map(|_| ("192.0.2.1".to_owned(), EMAIL.to_owned())));
    assert_eq!((&tried[..10], &tried[19]), (&["password"; 10].map(str::to_owned)[..], &"busy".to_owned()));
    // The owner signs in with a new browser, at another address.
    let mut elsewhere = book.visitor();
    assert_eq!(problem(&try_from(&mut elsewhere, "198.51.100.1", EMAIL, PASSWORD)), "");
    // One machine may use all addresses of an IPv6 network.
    let tried = words(&mut thief, (0..20).map(|at| (format!("2001:db8::{at}"), EMAIL.to_owned())));
    assert_eq!(tried[19], "busy");
    // Many machines use up the attempts of all networks together.
    let tried = words(&mut thief, (0..70).map(|at| (format!("203.0.113.{at}"), EMAIL.to_owned())));
    assert!(count(&tried, "busy") > 0, "{tried:?}");
    assert_eq!(problem(&try_from(&mut book.visitor(), "198.51.100.1", EMAIL, PASSWORD)), "busy");
    // The browser in which the owner has signed in before still gets in, at any address.
    for client in ["198.51.100.1", "192.0.2.1", "203.0.113.1"] {
        assert_eq!(problem(&try_from(&mut owner, client, EMAIL, PASSWORD)), "", "{client}");
        assert_eq!(owner.submit("/sign_out", &[]).status, 303);
    }
}

#[test]
fn a_device_cookie_is_valid_for_its_account_only_and_for_few_guesses() {
    let book = Book::start();
    let (owner, mut thief) = (book.pilot("Ida"), book.pilot("Eve"));
    thief.cookie = None;
    // The device cookie signs nobody in.
    let mut copied = Visitor { device: owner.device.clone(), ..book.visitor() };
    assert_eq!(copied.get("/flights").status, 303);
    let token = format!("Bearer {}", owner.device.clone().unwrap().split_once('=').unwrap().1);
    assert_eq!(book.visitor().ask("GET", "/api/flights", &[("authorization", &token)], b"").status, 401);
    // A device cookie of another account, or a forged one, does not exempt from the account's
    // limit.
    let eves = thief.device.clone().unwrap();
    // No signature of 32 bytes ends with this letter.
    let forged = format!("{}B", &eves[..eves.len() - 1]);
    let all = words(&mut thief, (0..70).map(|at| (format!("203.0.113.{at}"), EMAIL.to_owned())));
    assert!(count(&all, "busy") > 0);
    for device in [eves, forged, "__Host-flightbook-device=.".to_owned(), "__Host-flightbook-device=a.b:c".to_owned()] {
        let mut visitor = Visitor { device: Some(device), ..book.visitor() };
        assert_eq!(problem(&try_from(&mut visitor, "198.51.100.9", EMAIL, "guess")), "busy");
    }
    // A copied device cookie allows ten guesses, from all addresses together.
    let device = copied.device.clone();
    let guesses = (0..20).map(|at| {
        copied.device.clone_from(&device);
        problem(&try_from(&mut copied, &format!("198.51.100.{at}"), EMAIL, "guess")).to_owned()
    });
    let guesses: Vec<String> = guesses.collect();
    assert_eq!((&guesses[..10], &guesses[19]), (&["password"; 10].map(str::to_owned)[..], &"busy".to_owned()));
}

/// Returns how many of 40 guesses at Ida's password, each from another network, are not refused to
/// the visitor with these devices.
fn guesses_with(book: &Book, devices: &[Option<String>]) -> usize {
    let tries = (0..40).map(|at| {
        let mut visitor = Visitor { device: devices[at % devices.len()].clone(), ..book.visitor() };
        problem(&try_from(&mut visitor, &format!("198.51.100.{at}"), EMAIL, "guess")).to_owned()
    });
    count(&tries.collect::<Vec<_>>(), "password")
}

/// Uses up the attempts that all networks without a device of the account share.
fn use_up(book: &Book) {
    let tried = words(&mut book.visitor(), (0..70).map(|at| (format!("203.0.113.{at}"), EMAIL.to_owned())));
    assert!(count(&tried, "busy") > 0, "{tried:?}");
}

/// Signs in anew in a browser for each device.
fn devices(book: &Book, email: &str, count: usize) -> Vec<Option<String>> {
    let enter = |_| {
        let mut visitor = book.visitor();
        assert_eq!(problem(&try_from(&mut visitor, "192.0.2.1", email, PASSWORD)), "");
        visitor.device
    };
    (0..count).map(enter).collect()
}

/// The program removed a no-break space at the end of an address, and the database did not: the
/// devices of one address counted for the other, so that guesses had no limit.
#[test]
fn devices_of_an_address_that_differs_by_a_space_do_not_count_for_the_account() {
    let book = Book::start();
    book.pilot("Ida");
    let mut thief = book.visitor();
    for typed in ["ida@club.example\u{a0}", "\u{a0}ida@club.example", "ida@club.example\u{2003}"] {
        thief.submit("/do/register", &[("name", "Eve"), ("email", typed), ("password", PASSWORD)]);
    }
    let others = "select count(*) from flightbook.pilots where id > 1";
    let emails = "select string_agg(email, '|') from flightbook.pilots where id > 1";
    assert_ne!(book.database.value(others), "0", "the database refuses such addresses");
    let mut collected = Vec::new();
    for email in book.database.value(emails).split('|') {
        collected.extend(devices(&book, &email.replace('\u{a0}', "%C2%A0").replace('\u{2003}', "%E2%80%83"), 5));
    }
    use_up(&book);
    assert_eq!(guesses_with(&book, &collected), 0);
}

/// Devices were signed for the address. Whoever registered an address first had devices for the
/// pilot to whom the address belonged later.
#[test]
fn devices_of_a_former_owner_of_an_address_do_not_count() {
    let book = Book::start();
    let mut thief = book.pilot("Ida");
    let collected = devices(&book, EMAIL, 5);
    let json = [("content-type", "application/json"), ("origin", "http://test")];
    let moved = thief.ask("PATCH", "/api/pilots?id=eq.1", &json, br#"{"email": "eve@club.example"}"#);
    assert_eq!(moved.status, 204, "{}", moved.text());
    let owner = book.pilot("Ida");
    use_up(&book);
    assert_eq!(guesses_with(&book, &collected), 0);
    assert_eq!(guesses_with(&book, &[owner.device]), 10);
}

#[test]
fn a_new_password_ends_all_devices_but_the_one_that_has_set_it() {
    let book = Book::start();
    let mut owner = book.pilot("Ida");
    let (before, others) = (owner.device.clone(), devices(&book, EMAIL, 2));
    let fields = [("password", PASSWORD), ("new_password", "under the ridge at dusk")];
    assert_eq!(owner.submit("/do/change_password", &fields).header("location"), Some("/account?changed=1"));
    use_up(&book);
    assert_ne!(owner.device, before);
    assert_eq!(guesses_with(&book, &[before]), 0);
    assert_eq!(guesses_with(&book, &others), 0);
    assert_eq!(guesses_with(&book, &[owner.device]), 10);
}

/// Each device had attempts of its own, and a pilot gets as many devices as they want. The devices
/// of one network are limited together, and apart from the browsers that have none.
#[test]
fn devices_do_not_exempt_a_network_from_its_limits() {
    let book = Book::start();
    let pilots = ["Ida", "Ann", "Bob", "Carl", "Dora"];
    let all: Vec<(String, Vec<Option<String>>)> = pilots
        .iter()
        .map(|name| {
            book.pilot(name);
            let email = format!("{}@club.example", name.to_lowercase());
            (email.clone(), devices(&book, &email, 2))
        })
        .collect();
    let guess = |client: &str, email: &str, device: &Option<String>| {
        let mut visitor = Visitor { device: device.clone(), ..book.visitor() };
        problem(&try_from(&mut visitor, client, email, "guess")).to_owned()
    };
    // Two devices of one pilot have 10 attempts together from one network.
    let (email, own) = &all[0];
    let tried: Vec<String> = (0..14).map(|at| guess("192.0.2.7", email, &own[at % 2])).collect();
    assert_eq!((count(&tried, "password"), count(&tried, "busy")), (10, 4), "{tried:?}");
    // The devices of five pilots have 30 attempts together, and those that are restored meanwhile.
    let tries = (0..45).map(|at| (&all[at % 5], at / 5 % 2));
    let tried: Vec<String> = tries.map(|((email, of), at)| guess("192.0.2.8", email, &of[at])).collect();
    assert!(tried[..30].iter().all(|word| word == "password"), "{tried:?}");
    assert_eq!(tried[44], "busy", "{tried:?}");
    // Neither do guesses without a device lock the devices of their network out.
    words(&mut book.visitor(), (0..60).map(|at| ("192.0.2.9".to_owned(), format!("n{at}@x.example"))));
    let mut stranger = book.visitor();
    assert_eq!(problem(&try_from(&mut stranger, "192.0.2.9", &all[4].0, PASSWORD)), "busy");
    let mut known = Visitor { device: all[4].1[0].clone(), ..book.visitor() };
    assert_eq!(problem(&try_from(&mut known, "192.0.2.9", &all[4].0, PASSWORD)), "");
}

#[test]
fn a_browser_of_several_pilots_keeps_an_entry_for_each() {
    let book = Book::start();
    let mut browser = book.visitor();
    for name in ["Ann", "Bob", "Ida"] {
        let email = format!("{name}@club.example");
        browser.cookie = None;
        browser.submit("/do/register", &[("name", name), ("email", &email), ("password", PASSWORD)]);
        assert!(browser.cookie.is_some());
    }
    let entries = |browser: &Visitor| {
        let mut entries: Vec<String> =
            browser.device.as_ref().unwrap().split_once('=').unwrap().1.split(':').map(str::to_owned).collect();
        entries.sort();
        entries
    };
    let before = entries(&browser);
    assert_eq!(before.len(), 3);
    browser.submit("/do/sign_in", &[("email", "ann@club.example"), ("password", PASSWORD)]);
    assert_eq!(entries(&browser), before, "an account keeps its number");
}

#[test]
fn passwords_cannot_be_tried_for_long() {
    // In the locale of this database lower('İ') is 'i', unlike in most.
    let book = Book::start_on(Database::with("template template0 lc_ctype 'C.UTF-8'"));
    book.pilot("Ida");
    let mut thief = book.visitor();
    // Attempts at one account, from many networks, in several spellings.
    let spellings = ["ida@club.example", "IDA@club.example", "%C4%B0da@club.example"];
    let tried = words(&mut thief, (0..70).map(|at| (format!("192.0.2.{at}"), spellings[at % 3].to_owned())));
    assert!(count(&tried[..50], "password") == 50 && count(&tried, "busy") > 0, "{tried:?}");
    // Attempts at many accounts, from one network.
    let tried = words(&mut thief, (0..90).map(|at| ("198.51.100.7".to_owned(), format!("n{at}@x.example"))));
    assert!(count(&tried[..30], "password") == 30 && tried[89] == "busy", "{tried:?}");
    assert_eq!(problem(&try_from(&mut thief, "198.51.100.8", "n@x.example", "guess")), "password");
    // An account that does not exist looks the same as one that does.
    let tried = words(&mut thief, (0..20).map(|_| ("198.51.100.9".to_owned(), "nobody@x.example".to_owned())));
    assert_eq!((&tried[..10], &tried[19]), (&["password"; 10].map(str::to_owned)[..], &"busy".to_owned()));
}

/// Behind a proxy that did not report its clients, all visitors were one: 30 wrong passwords of one
/// visitor locked out all others.
#[test]
fn visitors_behind_a_proxy_that_hides_them_do_not_lock_each_other_out() {
    let book = Book::start();
    book.pilot("Ida");
    let mut thief = book.visitor();
    for at in 0..60 {
        let tried = thief.submit("/do/sign_in", &[("email", &format!("n{at}@x.example")), ("password", "guess")]);
        assert_eq!(problem(&tried), "password");
    }
    for _ in 0..20 {
        thief.submit("/do/sign_in", &[("email", EMAIL), ("password", "guess")]);
    }
    let entered = book.visitor().submit("/do/sign_in", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(problem(&entered), "");
}
