//! The reader in a real browser: pointed at, touched, by the keyboard, and without scripts.

use crate::site::{Site, encoded};
use serde_json::json;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
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
    browser.click("#lookup button[aria-label='I know this word: 食べる']");
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

/// Opens a page, and waits until its words can be reached.
fn open_words(browser: &mut Browser, address: &str) {
    browser.open(address);
    browser.wait_for("document.querySelector('.g[tabindex]')");
}

/// Moves the mouse from one point to the next in sixty steps, and gives how long it stood still at most, in ms.
fn move_mouse(browser: &mut Browser, from: (f64, f64), to: (f64, f64)) -> f64 {
    browser.evaluate(
        "{ let before = performance.now(); window.stillMs = 0;
           window.onpointermove = () => { const now = performance.now(); stillMs = Math.max(stillMs, now - before); before = now; } }",
    );
    for step in 1..=60 {
        let part = f64::from(step) / 60.0;
        browser.point_at(from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
    }
    browser.evaluate("window.stillMs").as_f64().unwrap()
}

/// The middle of the first button that marks a word.
fn knows(browser: &mut Browser) -> (f64, f64) {
    let box_of = "(() => { const box = document.querySelector('#lookup .entry button').getBoundingClientRect();
                  return [box.left + box.width / 2, box.top + box.height / 2]; })()";
    let found = browser.evaluate(box_of);
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
}

#[test]
fn a_mouse_reaches_the_panel_whatever_words_it_passes() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    browser.set_screen(DESKTOP, false);
    open_words(&mut browser, &format!("http://{}/stories/7", site.address));

    // what is clicked stays, though another word is pointed at for long
    let train = place(&mut browser, "列");
    browser.point_at(train.0, train.1);
    browser.click_at(train.0, train.1);
    browser.wait_for(&format!("({SHOWN}) === '列車'"));
    let button = knows(&mut browser);
    move_mouse(&mut browser, train, button);
    assert_eq!(browser.evaluate(SHOWN), "列車");
    let (x, y) = place(&mut browser, "駅");
    browser.point_at(x, y);
    thread::sleep(Duration::from_millis(400));
    assert_eq!(browser.evaluate(SHOWN), "列車");
    // until another is clicked, or it is closed
    browser.click_at(x, y);
    browser.wait_for(&format!("({SHOWN}) === '駅員'"));
    press(&mut browser, "Escape", 27);
    browser.wait_for("document.querySelector('#lookup').hidden");

    // what is only pointed at stays on the way, unless the way is interrupted
    let is_reached = (0..20).any(|_| {
        let train = place(&mut browser, "列");
        browser.point_at(train.0, train.1);
        browser.wait_for(&format!("({SHOWN}) === '列車'"));
        let button = knows(&mut browser);
        let still_ms = move_mouse(&mut browser, train, button);
        let is_shown = browser.evaluate(SHOWN) == "列車";
        assert!(is_shown || still_ms > 100.0, "{}", browser.text());
        is_shown
    });
    assert!(is_reached);
    let (x, y) = knows(&mut browser);
    browser.click_at(x, y);
    browser.wait_for("document.querySelector('#lookup .left')?.textContent.includes('You know 列車')");

    // the keyboard's word stays as well
    browser.evaluate("document.querySelector('.g[tabindex]').focus()");
    press(&mut browser, "Home", 36);
    press(&mut browser, "Enter", 13);
    browser.wait_for("document.activeElement.id === 'lookup'");
    let shown = browser.evaluate(SHOWN);
    let (x, y) = place(&mut browser, "駅");
    browser.point_at(x, y);
    thread::sleep(Duration::from_millis(400));
    assert_eq!(browser.evaluate(SHOWN), shown);
}

#[test]
fn who_reads_a_text_by_the_keyboard_goes_on_at_its_first_word() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    browser.set_screen(DESKTOP, false);
    browser.open(&format!("http://{}/text", site.address));
    assert_eq!(browser.evaluate("document.querySelector('#state[role=status]').textContent"), "");
    let read = |browser: &mut Browser, text: &str| {
        browser.fill("#text", text);
        browser.evaluate("document.querySelector('#own button').focus()");
        let enter =
            json!({ "type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r" });
        browser.call("Input.dispatchKeyEvent", enter);
    };
    read(&mut browser, "……私は猫を見た。");
    browser
        .wait_for("document.activeElement.matches('#own-reading .g') && document.activeElement.textContent === '私'");
    browser.wait_for(&format!("({SHOWN}) === '私' || ({SHOWN}) === '私は'"));
    browser.wait_for("/^\\d+ words were found\\.$/.test(document.querySelector('#state').textContent)");
    read(&mut browser, "猫");
    browser.wait_for("document.querySelector('#state').textContent === '1 word was found.'");
    // what has none leaves the focus where it was
    read(&mut browser, "……。");
    browser.wait_for("document.querySelector('#state').textContent === 'No word was found.'");
    assert_eq!(browser.evaluate("document.activeElement === document.querySelector('#own button')"), true);
    assert_eq!(browser.evaluate("document.querySelector('.hint') === null"), true);
}

#[test]
fn a_known_word_is_known_in_either_kana_and_width() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    let address = format!("http://{}", site.address);
    browser.set_screen(DESKTOP, false);
    browser.open(&address);
    for (known, text, word) in [
        ("猫", "猫", "猫"),
        ("ネコ", "猫", "猫"),
        ("ﾈｺ", "猫", "猫"),
        ("がっこう", "ガッコウ", "学校"),
        ("ｶﾞｯｺｳ", "学校", "学校"),
        ("ガッコウ", "がっこう", "学校"),
        // by another of its readings than the one that is shown
        ("ニッポンゴ", "日本語", "日本語"),
    ] {
        browser.evaluate(&format!("localStorage.setItem('reader.known', JSON.stringify(['{known}', '犬']))"));
        open_words(&mut browser, &format!("{address}/text?text={}", encoded(text)));
        browser.click(".g");
        browser.wait_for(SHOWN);
        let left = "document.querySelector('#lookup .left')?.textContent ?? ''";
        let left = browser.evaluate(left);
        assert!(left.as_str().unwrap().contains(word), "{known} in {text}: {}", browser.text());
        // and shown again, whichever way it was known
        browser.click(&format!("#lookup .left button[aria-label='show again: {word}']"));
        browser.wait_for(&format!("document.querySelector('#lookup [data-word={word}]')"));
        assert_eq!(browser.evaluate("localStorage.getItem('reader.known')"), "[\"犬\"]", "{known}");
    }
}

#[test]
fn all_of_a_word_has_the_ring_and_is_named() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    browser.set_screen((360, 800), false);
    open_words(&mut browser, &format!("http://{}/stories/7", site.address));
    let boxes = "(() => {
        const lines = [...document.querySelectorAll('.ring span')].map((line) => line.getBoundingClientRect());
        const word = [...CSS.highlights.get('word')][0].getBoundingClientRect();
        const ring = { left: Math.min(...lines.map((line) => line.left)), right: Math.max(...lines.map((line) => line.right)),
                       top: Math.min(...lines.map((line) => line.top)), bottom: Math.max(...lines.map((line) => line.bottom)) };
        const is_round = ['left', 'right', 'top', 'bottom'].every((side) => Math.abs(ring[side] - word[side]) < 2);
        const is_seen = getComputedStyle(document.querySelector('.ring')).visibility === 'visible';
        return [is_round && is_seen, lines.length];
    })()";
    // those on one line, and those that go on in the next
    browser.evaluate("document.querySelector('.g[tabindex]').focus()");
    let mut broken = 0;
    for _ in 0..150 {
        press(&mut browser, "ArrowRight", 39);
        let now = browser.evaluate(boxes);
        assert_eq!(now[0], true, "{now} {}", browser.evaluate(SHOWN));
        broken += usize::from(now[1] == 2);
        // what is seen of what can be pressed is within its name
        let names = "[...document.querySelectorAll('[role=button], #lookup button[aria-label]')]
            .filter((button) => !button.ariaLabel.includes(button.textContent.trim())).map((button) => button.outerHTML)";
        assert_eq!(browser.evaluate(names), json!([]));
    }
    assert!(broken > 0);
    keep(&mut browser, "ring-phone");
    // and is where the word is when lines break elsewhere
    browser.set_screen((500, 800), false);
    browser.wait_for(&format!("({boxes})[0]"));
}

#[test]
fn without_scripts_pages_say_what_is_true_without_them() {
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    for scripts in [true, false] {
        browser.set_scripts(scripts);
        for (path, with, without) in [
            ("/", "Touch a word", "Below each story"),
            ("/stories/1", "", "Without scripts"),
            ("/text", "", "Without scripts"),
            ("/words", "You have not marked a word", "needs scripts"),
        ] {
            browser.open(&format!("http://{}{path}", site.address));
            let text = browser.text();
            assert_eq!(text.contains(without), !scripts, "{path}: {text}");
            assert_eq!(text.contains(with), scripts || with.is_empty(), "{path}: {text}");
        }
        // each place leads to its entry, unless there is a panel
        browser.open(&format!("http://{}/stories/1", site.address));
        let places = "[...document.querySelectorAll('.g')]";
        let count = browser.evaluate(&format!("{places}.length")).as_f64().unwrap();
        let leading =
            format!("{places}.filter(place => place.hash && document.getElementById(place.hash.slice(1))).length");
        assert!(count > 100.0);
        if scripts {
            browser.wait_for("document.querySelector('.g[tabindex]')");
        }
        assert_eq!(browser.evaluate(&leading).as_f64().unwrap(), if scripts { 0.0 } else { count });
    }
}

/// With the file that `TEST_AXE` names, `axe.min.js` of the npm package axe-core.
#[test]
fn axe_finds_nothing() {
    let Some(axe) = std::env::var_os("TEST_AXE").map(|file| std::fs::read_to_string(file).unwrap()) else {
        return println!("skipped: TEST_AXE names no axe.min.js");
    };
    let Some(mut browser) = Browser::start() else { return };
    let site = Site::start();
    browser.open(&format!("http://{}", site.address));
    browser.evaluate("localStorage.setItem('reader.known', JSON.stringify(['列車', 'ネコ']))");
    let mut found = Vec::new();
    for width in [360, 1280] {
        browser.set_screen((width, 800), false);
        for path in ["/", "/stories/7", "/text", "/text?text=猫だった。", "/words", "/stories/99"] {
            browser.open(&format!("http://{}{path}", site.address));
            for scheme in ["light", "dark"] {
                let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
                browser.call("Emulation.setEmulatedMedia", feature);
                // closed, with a known word, with others; the last ends a sentence
                for word in ["", "列", "駅", "猫", "た。"] {
                    let is_there = format!(
                        "[...document.querySelectorAll('.g')].some(place => place.textContent.startsWith('{word}'))"
                    );
                    if !word.is_empty() {
                        if browser.evaluate(&is_there) != true {
                            continue;
                        }
                        let (x, y) = place(&mut browser, word);
                        browser.click_at(x, y);
                        browser.wait_for(SHOWN);
                    }
                    browser.evaluate(&format!("{axe}; 0"));
                    let run = "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice', 'experimental'] })
                        .then((ran) => ran.violations.flatMap((found) => found.nodes.map((node) => `${found.id}: ${node.html} ${node.failureSummary}`)))";
                    let violations = browser.evaluate(run);
                    found.extend(
                        violations
                            .as_array()
                            .unwrap()
                            .iter()
                            .map(|one| format!("{path} {width} {scheme} {word}: {one}")),
                    );
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
