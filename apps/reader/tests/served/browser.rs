//! The reader in a real browser: pointed at, touched, by the keyboard, and without scripts.

use crate::site::{Site, encoded};
use serde_json::json;
use std::path::PathBuf;
use thalweg_testkit::Browser;

/// What the panel shows, if it does.
const SHOWN: &str = "document.querySelector('#lookup:not([hidden]) h2')?.textContent ?? ''";
const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

fn press(browser: &mut Browser, key: &str, code: u32) {
    for event in ["rawKeyDown", "keyUp"] {
        let press = json!({ "type": event, "key": key, "code": key, "windowsVirtualKeyCode": code });
        browser.call("Input.dispatchKeyEvent", press);
    }
}

/// The middle of the first character of a place.
fn place(browser: &mut Browser, text: &str) -> (f64, f64) {
    let find = format!(
        "(() => {{ const place = [...document.querySelectorAll('.g')].find(place => place.textContent.startsWith('{text}'));
           place.scrollIntoView({{ block: 'center' }});
           const box = place.getClientRects()[0];
           return [box.left + 8, box.top + box.height / 2]; }})()"
    );
    let found = browser.evaluate(&find);
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
}

/// Keeps what is seen, where `TEST_SCREENSHOTS` names a folder, in light and dark.
fn keep(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("TEST_SCREENSHOTS").map(PathBuf::from) else { return };
    for scheme in ["light", "dark"] {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", feature);
        std::fs::write(folder.join(format!("reader-{name}-{scheme}.png")), browser.screenshot()).unwrap();
    }
    browser.call("Emulation.setEmulatedMedia", json!({ "features": [] }));
}

#[test]
fn words_show_their_entries_to_mouse_keyboard_and_finger() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    let address = format!("http://{}", site.address);
    browser.watch();
    browser.set_screen(DESKTOP, false);
    browser.open(&address);
    keep(&mut browser, "list-desktop");
    browser.click("a[href='/stories/1']");
    browser.wait_for("document.querySelector('.g[tabindex]')");

    // pointed at: 食べて, wherever it is pointed at
    let (x, y) = place(&mut browser, "食");
    browser.point_at(x, y);
    browser.wait_for(&format!("({SHOWN}).startsWith('食べて')"));
    assert!(browser.text().contains("to eat"));
    let reasons = "document.querySelector('#lookup .reasons').innerText";
    assert!(browser.evaluate(reasons).as_str().unwrap().contains("-te"));
    keep(&mut browser, "story-desktop");
    let highlighted = "[...CSS.highlights.get('word')][0].toString()";
    assert!(browser.evaluate(highlighted).as_str().unwrap().starts_with("食べて"));

    // by the keyboard
    browser.evaluate("document.querySelector('.g[tabindex]').focus()");
    browser.wait_for(&format!("({SHOWN}) === '私'"));
    press(&mut browser, "ArrowRight", 39);
    browser.wait_for(&format!("({SHOWN}) === 'の'"));
    let name = "document.activeElement.getAttribute('aria-label')";
    assert!(browser.evaluate(name).as_str().unwrap().starts_with("の: "), "{}", browser.evaluate(name));
    press(&mut browser, "ArrowLeft", 37);
    browser.wait_for(&format!("({SHOWN}) === '私'"));
    press(&mut browser, "ArrowDown", 40);
    browser.wait_for(&format!("({SHOWN}) !== '私'"));
    press(&mut browser, "ArrowUp", 38);
    browser.wait_for(&format!("({SHOWN}) === '私'"));
    press(&mut browser, "Escape", 27);
    browser.wait_for("document.querySelector('#lookup').hidden");
    press(&mut browser, "Enter", 13);
    browser.wait_for("document.activeElement.id === 'lookup'");
    press(&mut browser, "Escape", 27);
    browser.wait_for("document.querySelector('#lookup').hidden && document.activeElement.textContent.startsWith('私')");

    // who knows a word does not see it again
    let (x, y) = place(&mut browser, "食");
    browser.click_at(x, y);
    browser.wait_for(&format!("({SHOWN}).startsWith('食べて')"));
    browser.click("#lookup button[aria-label='I know 食べる']");
    browser.wait_for("document.querySelector('#lookup .left')?.textContent.includes('You know 食べる')");
    assert_eq!(browser.evaluate("document.querySelector('#lookup [data-word=食べる]') === null"), true);
    browser.open(&format!("{address}/words"));
    browser.wait_for("document.querySelector('#known').textContent.includes('食べる')");
    keep(&mut browser, "words-desktop");
    browser.open(&format!("{address}/stories/1"));
    browser.wait_for("document.querySelector('.g[tabindex]')");
    let (x, y) = place(&mut browser, "食");
    browser.click_at(x, y);
    browser.wait_for("document.querySelector('#lookup .left')");
    browser.click("#lookup .left button");
    browser.wait_for("document.querySelector('#lookup [data-word=食べる]')");

    // by a finger, with the word above what is told of it
    browser.set_screen(PHONE, true);
    browser.open(&address);
    keep(&mut browser, "list-phone");
    browser.open(&format!("{address}/stories/7"));
    browser.wait_for("document.querySelector('.g[tabindex]')");
    let (x, y) = place(&mut browser, "雪");
    browser.click_at(x, y);
    browser.wait_for(SHOWN);
    keep(&mut browser, "story-phone");
    let is_seen = "document.activeElement.getBoundingClientRect().bottom <= document.querySelector('#lookup').getBoundingClientRect().top";
    browser.wait_for(is_seen);
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    browser.click_text("Close");
    browser.wait_for("document.querySelector('#lookup').hidden");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let elsewhere: Vec<_> = browser.requests().into_iter().filter(|asked| !asked.starts_with(&address)).collect();
    assert_eq!(elsewhere, Vec::<String>::new());
}

#[test]
fn a_text_of_ones_own_is_read_whatever_stands_in_it() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    let address = format!("http://{}", site.address);
    let text = "</textarea><script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">\n食べさせられていた";
    browser.watch();
    browser.set_screen(DESKTOP, false);
    for scripts in [true, false] {
        browser.set_scripts(scripts);
        if scripts {
            browser.open(&format!("{address}/text"));
            browser.fill("#text", text);
            browser.click("#own button");
            browser.wait_for("document.querySelector('#own-reading .g[tabindex]')");
            let (x, y) = place(&mut browser, "食");
            browser.point_at(x, y);
            browser.wait_for(&format!("({SHOWN}) === '食べさせられていた'"));
            let reasons = "[...document.querySelectorAll('#lookup .reasons')][0].innerText";
            let reasons = browser.evaluate(reasons);
            let steps: Vec<&str> = reasons.as_str().unwrap().lines().collect();
            for (step, reason) in steps.iter().zip(["causative", "passive", "progressive", "past"]) {
                assert!(step.contains(reason), "{steps:?}");
            }
            keep(&mut browser, "text-desktop");
        } else {
            browser.open(&format!("{address}/text?text={}", encoded(text)));
            assert!(browser.text().contains("to eat"), "{}", browser.text());
        }
        assert_eq!(browser.evaluate("document.title"), "Your text – Reader");
        assert_eq!(browser.evaluate("document.querySelectorAll('main img, main script').length"), 0);
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // what cannot be read is said
    browser.set_scripts(true);
    browser.open(&format!("{address}/text"));
    browser.evaluate("document.querySelector('#text').value = '猫'.repeat(1 << 20)");
    browser.click("#own button");
    browser.wait_for("!document.querySelector('#problem').hidden");
    assert!(browser.text().contains("too large"), "{}", browser.text());
}
