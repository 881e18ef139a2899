//! Somebody with a browser, who reads one language and looks closely at every page.

use crate::book::Book;
use serde_json::{Value, json};
use std::path::PathBuf;
use thalweg_testkit::Browser;

/// The same in English and in German.
pub(crate) type Words = [&'static str; 2];

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Language {
    English,
    German,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Screen {
    Phone,
    Desktop,
}

impl Screen {
    fn size(self) -> (u32, u32) {
        match self {
            Self::Phone => (390, 844),
            Self::Desktop => (1280, 800),
        }
    }
}

/// Whoever reads the book.
pub(crate) struct Reader {
    pub(crate) browser: Browser,
    pub(crate) origin: String,
    pub(crate) screen: Screen,
    language: Language,
    axe: Option<String>,
}

impl Reader {
    /// Where there is no Chromium that is said, and the test is to be skipped.
    pub(crate) fn start(book: &Book, language: Language, screen: Screen) -> Option<Self> {
        let mut browser = Browser::start()?;
        browser.set_screen(screen.size(), screen == Screen::Phone);
        browser.set_language(if language == Language::German { "de" } else { "en" });
        browser.watch();
        let axe = std::env::var_os("TEST_AXE").map(|path| std::fs::read_to_string(path).expect("TEST_AXE is a script"));
        if axe.is_none() {
            println!("TEST_AXE names no axe.min.js: what it would find is not looked for");
        }
        let mut reader = Self { browser, origin: format!("http://{}", book.address), screen, language, axe };
        reader.set_scheme("light");
        Some(reader)
    }

    pub(crate) fn in_words(&self, [english, german]: Words) -> &'static str {
        match self.language {
            Language::English => english,
            Language::German => german,
        }
    }

    pub(crate) fn open(&mut self, path: &str) {
        let address = format!("{}{path}", self.origin);
        self.browser.open(&address);
    }

    /// Clicks the link or the button that reads so, and waits for the next page, which has this heading.
    pub(crate) fn follow(&mut self, link: Words, heading: Words) {
        let link = self.in_words(link);
        self.leave(heading, |browser| browser.click_text(link));
    }

    /// Clicks what a selector finds, and waits for the next page, which has this heading.
    pub(crate) fn send(&mut self, button: &str, heading: Words) {
        self.leave(heading, |browser| browser.click(button));
    }

    fn leave(&mut self, heading: Words, click: impl FnOnce(&mut Browser)) {
        self.browser.evaluate("document.querySelector('h1').id = 'left'");
        click(&mut self.browser);
        self.browser.wait_for("document.querySelector('h1') && !document.querySelector('#left')");
        self.arrive(heading);
    }

    pub(crate) fn arrive(&mut self, heading: Words) {
        let heading = Value::from(self.in_words(heading));
        self.browser.wait_for(&format!("document.querySelector('h1')?.innerText.startsWith({heading})"));
    }

    /// That all of this is to be read on the page.
    pub(crate) fn sees(&mut self, texts: &[Words]) {
        let page = self.browser.text();
        for text in texts {
            let text = self.in_words(*text);
            assert!(page.contains(text), "{text} is missing:\n{page}");
        }
    }

    /// Chooses the option of a list that reads so.
    pub(crate) fn choose(&mut self, list: &str, option: &str) {
        let option = Value::from(option);
        let chosen = self.browser.evaluate(&format!(
            "(() => {{ const list = document.querySelector('{list}');
               const option = [...list.options].find((option) => option.text === {option});
               list.value = option?.value; return list.selectedOptions[0]?.text ?? null; }})()"
        ));
        assert_eq!(chosen, option, "{list}");
    }

    /// Where something is on the screen: left, top, width and height.
    pub(crate) fn place(&mut self, selector: &str) -> [f64; 4] {
        let place = self.browser.evaluate(&format!(
            "(() => {{ const {{ x, y, width, height }} = document.querySelector('{selector}').getBoundingClientRect();
               return [x, y, width, height]; }})()"
        ));
        std::array::from_fn(|at| place[at].as_f64().unwrap())
    }

    /// Points with a mouse, or with a finger.
    pub(crate) fn point_at(&mut self, x: f64, y: f64) {
        match self.screen {
            Screen::Phone => self.browser.click_at(x, y),
            Screen::Desktop => self.browser.point_at(x, y),
        }
    }

    pub(crate) fn scroll_to(&mut self, selector: &str) {
        self.browser.evaluate(&format!("document.querySelector('{selector}').scrollIntoView({{ block: 'center' }})"));
    }

    pub(crate) fn set_scheme(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.browser.call("Emulation.setEmulatedMedia", json!({ "media": "", "features": [feature] }));
    }

    /// What holds of every page, in whatever state.
    pub(crate) fn look(&mut self, name: &str) {
        let language = self.in_words(["en", "de"]);
        assert_eq!(self.browser.evaluate("document.documentElement.lang"), language, "{name}");
        let (width, _) = self.screen.size();
        let beyond = self.browser.evaluate(&format!(
            "document.documentElement.scrollWidth <= {width} ? [] :
               [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > {width}).map((element) => element.outerHTML.slice(0, 200))"
        ));
        assert_eq!(beyond, json!([]), "{name} is wider than the screen");
        assert_eq!(self.complaints(), [""; 0], "{name}");
        let asked = self.browser.requests();
        let elsewhere: Vec<&String> = asked
            .iter()
            .filter(|address| !address.starts_with(&self.origin) && !address.starts_with("data:"))
            .collect();
        assert!(elsewhere.is_empty(), "{name} asks {elsewhere:?}");
        self.find_barriers(name);
        self.picture(&format!("{name}-{language}"));
    }

    /// What is complained of, but for the status of a page that says what is wrong.
    fn complaints(&mut self) -> Vec<String> {
        let page = format!("\"url\":{}", self.browser.evaluate("location.href"));
        let mut complaints = self.browser.complaints();
        complaints
            .retain(|complaint| !(complaint.contains("responded with a status of 4") && complaint.contains(&page)));
        complaints
    }

    /// What keeps people out, as axe finds it; the colours of the dark page too.
    fn find_barriers(&mut self, name: &str) {
        let Some(axe) = self.axe.take() else { return };
        self.browser.evaluate(&format!("{{ {axe} }}; 0"));
        for (scheme, rules) in [("dark", "{ runOnly: ['color-contrast'] }"), ("light", "{}")] {
            self.set_scheme(scheme);
            let found = self.browser.evaluate(&format!(
                "axe.run({rules}).then(({{ violations }}) => violations.filter(({{ impact }}) => ['serious', 'critical'].includes(impact))
                   .flatMap(({{ id, nodes }}) => nodes.map(({{ html, failureSummary }}) => [id, html, failureSummary].join(': '))))"
            ));
            assert_eq!(found, json!([]), "{name} in {scheme}");
        }
        self.axe = Some(axe);
    }

    /// Keeps what the whole page looks like, where `TEST_SCREENSHOTS` names a folder.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TEST_SCREENSHOTS").map(PathBuf::from) else { return };
        let screen = if self.screen == Screen::Phone { "phone" } else { "desktop" };
        let size = self.browser.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let picture = self.browser.screenshot_as(json!({ "clip": clip, "captureBeyondViewport": true }));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}-{screen}.png")), picture).unwrap();
    }
}
