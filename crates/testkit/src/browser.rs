//! A headless Chromium, driven over its DevTools protocol.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
/// How long Chromium may take to end before it is killed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
const POLLED_AT: Duration = Duration::from_millis(20);

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The protocol comes by the descriptors 3 and 4, so that there is no port to find, and Chromium ends with whoever started it.
const ON_OUR_PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// A root's Chromium has no sandbox; the pages are the test's own.
const ARGUMENTS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--window-size=1000,1400",
    "about:blank",
];

/// One page of a Chromium of its own. It and its folder end with this value.
///
/// All that a visitor does is done by a visitor's means, focus, text and mouse, so that it works where scripts are off. The
/// expressions that a test evaluates are run in any case.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    sent: u64,
    session: Option<String>,
    events: Vec<Value>,
    has_touch: bool,
    folder: TempDir,
}

impl Browser {
    /// Starts the one that `TEST_CHROMIUM` names, or that is on the path. Where there is none that is said, and the test is
    /// to be skipped.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            println!("skipped: there is no {} on the path, and TEST_CHROMIUM names none", PROGRAMS.join(", "));
            return None;
        };
        let mut browser = Self::launch(&program);
        let downloads = json!({ "behavior": "allow", "downloadPath": browser.downloads() });
        browser.call("Browser.setDownloadBehavior", downloads);
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        Some(browser)
    }

    fn launch(program: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("thalweg-browser-").tempdir().expect("a folder can be made");
        let said = File::create(folder.path().join("said")).expect("a file can be made");
        let mut command = Command::new("sh");
        command.args(["-c", ON_OUR_PIPES]).arg(program).args(ARGUMENTS);
        command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        command.env("HOME", folder.path()).env("TMPDIR", folder.path());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said);
        let mut process = command.spawn().expect("a shell starts");
        let commands = process.stdin.take().expect("its input is ours");
        let output = process.stdout.take().expect("its output is ours");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let texts = BufReader::new(output).split(0).map_while(Result::ok);
            texts.filter_map(|text| serde_json::from_slice(&text).ok()).for_each(|message| _ = sender.send(message));
        });
        Self { process, commands, messages, sent: 0, session: None, events: Vec::new(), has_touch: false, folder }
    }

    /// Whether pages may run scripts from here on.
    pub fn set_scripts(&mut self, enabled: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": !enabled }));
    }

    /// A phone's screen, which is touched, or a desktop's of this size.
    pub fn set_screen(&mut self, (width, height): (u32, u32), is_phone: bool) {
        let scale = if is_phone { 2 } else { 1 };
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", screen);
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": is_phone }));
        self.has_touch = is_phone;
    }

    /// The language that the visitor reads best, for sites and for scripts.
    pub fn set_language(&mut self, language: &str) {
        let agent = self.evaluate("navigator.userAgent");
        self.call("Emulation.setUserAgentOverride", json!({ "userAgent": agent, "acceptLanguage": language }));
        self.call("Emulation.setLocaleOverride", json!({ "locale": language }));
    }

    /// Notes from here on what pages ask for and complain of.
    pub fn watch(&mut self) {
        for domain in ["Network", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// The addresses that have been asked for since this was called last.
    pub fn requests(&mut self) -> Vec<String> {
        let asked = self.take_events(|event| event["method"] == "Network.requestWillBeSent");
        asked.iter().filter_map(|event| event["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    /// What scripts and Chromium have complained of since this was called last.
    pub fn complaints(&mut self) -> Vec<String> {
        let complained = self.take_events(|event| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => matches!(event["params"]["type"].as_str(), Some("error" | "warning")),
            Some("Log.entryAdded") => matches!(event["params"]["entry"]["level"].as_str(), Some("error" | "warning")),
            _ => false,
        });
        complained.iter().map(|event| event["params"].to_string()).collect()
    }

    /// Opens an address, and waits until all of the page is there.
    pub fn open(&mut self, address: &str) {
        let opened = self.call("Page.navigate", json!({ "url": address }));
        assert!(opened["errorText"].is_null(), "{address} cannot be opened: {}", opened["errorText"]);
        self.wait_for("true");
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// What is to be read on the page.
    pub fn text(&mut self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until all of a page is there of which an expression holds.
    pub fn wait_for(&mut self, condition: &str) {
        let holds = format!("document.readyState === 'complete' && Boolean({condition})");
        let deadline = Instant::now() + TIMEOUT;
        // while a page comes there is none to ask
        while !self.try_evaluate(&holds).is_ok_and(|value| value == true) {
            if Instant::now() > deadline {
                self.fail(condition);
            }
            thread::sleep(POLLED_AT);
        }
    }

    /// Types a text in place of what stands in a field.
    pub fn fill(&mut self, selector: &str, text: &str) {
        let node = self.node(selector);
        self.call("DOM.focus", json!({ "nodeId": node }));
        for command in ["selectAll", "deleteBackward"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": "rawKeyDown", "commands": [command] }));
        }
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Chooses a file in a field.
    pub fn choose_file(&mut self, selector: &str, path: &Path) {
        let node = self.node(selector);
        self.call("DOM.setFileInputFiles", json!({ "nodeId": node, "files": [path] }));
    }

    /// Clicks into the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let node = json!({ "nodeId": self.node(selector) });
        self.click_node(&node, selector);
    }

    /// Clicks the link or the button that reads so.
    pub fn click_text(&mut self, text: &str) {
        let quoted = Value::from(text);
        let expression = format!(
            "[...document.querySelectorAll('a, button')].find(element => element.innerText.trim() === {quoted})"
        );
        let found = self.call("Runtime.evaluate", json!({ "expression": expression }));
        let object = &found["result"]["objectId"];
        assert!(object.is_string(), "nothing on the page that can be clicked is {text}:\n{}", self.text());
        self.click_node(&json!({ "objectId": object }), text);
    }

    fn click_node(&mut self, node: &Value, name: &str) {
        self.call("DOM.scrollIntoViewIfNeeded", node.clone());
        let shown = self.call("DOM.getContentQuads", node.clone());
        let corner = |at: usize| shown["quads"][0][at].as_f64().unwrap_or_else(|| panic!("{name} is not shown"));
        self.click_at(f64::midpoint(corner(0), corner(4)), f64::midpoint(corner(1), corner(5)));
    }

    /// Clicks a point of what is seen of the page, or touches it where the screen is a phone's.
    pub fn click_at(&mut self, x: f64, y: f64) {
        if self.has_touch {
            self.call("Input.dispatchTouchEvent", json!({ "type": "touchStart", "touchPoints": [{ "x": x, "y": y }] }));
            self.call("Input.dispatchTouchEvent", json!({ "type": "touchEnd", "touchPoints": [] }));
            return;
        }
        for event in ["mousePressed", "mouseReleased"] {
            let click = json!({ "type": event, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", click);
        }
    }

    /// Moves the mouse to a point of what is seen of the page.
    pub fn point_at(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Waits until a file of this name has been downloaded, and gives what is in it.
    pub fn downloaded(&mut self, name: &str) -> Vec<u8> {
        let path = self.downloads().join(name);
        // Chromium keeps the name with an empty file until what it writes beside it is whole
        let is_whole = || path.metadata().is_ok_and(|file| file.len() > 0);
        let deadline = Instant::now() + TIMEOUT;
        while !is_whole() {
            assert!(Instant::now() < deadline, "{name} is not downloaded");
            thread::sleep(POLLED_AT);
        }
        std::fs::read(&path).expect("what is downloaded can be read")
    }

    fn downloads(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }

    /// What the page looks like, as a PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        self.screenshot_as(json!({}))
    }

    /// What the page looks like, with the settings of `Page.captureScreenshot`.
    pub fn screenshot_as(&mut self, settings: Value) -> Vec<u8> {
        let taken = self.call("Page.captureScreenshot", settings);
        BASE64.decode(taken["data"].as_str().unwrap_or_default()).expect("a picture is Base64")
    }

    /// What the page is on paper, as a PDF.
    pub fn print(&mut self) -> Vec<u8> {
        let printed = self.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        BASE64.decode(printed["data"].as_str().unwrap_or_default()).expect("a document is Base64")
    }

    fn fail(&mut self, condition: &str) -> ! {
        let picture = std::env::temp_dir().join(format!("thalweg-browser-{}.png", self.process.id()));
        let _ = std::fs::write(&picture, self.screenshot());
        let address = self.evaluate("location.href");
        panic!("{condition} does not come true at {address} ({}):\n{}", picture.display(), self.text());
    }

    fn node(&mut self, selector: &str) -> Value {
        let document = self.call("DOM.getDocument", json!({ "depth": 0 }));
        let root = &document["root"]["nodeId"];
        let found = self.call("DOM.querySelector", json!({ "nodeId": root, "selector": selector }));
        assert!(found["nodeId"] != 0, "nothing on the page is {selector}:\n{}", self.text());
        found["nodeId"].clone()
    }

    fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.try_call("Runtime.evaluate", asked)?;
        match answer.get("exceptionDetails") {
            Some(exception) => Err(exception.to_string()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Sends a command of the DevTools protocol, and gives its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn take_events(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        // an answer comes after all that happened before it
        self.evaluate("0");
        self.events.extract_if(.., |event| wanted(event)).collect()
    }

    /// Sends a command and waits for its answer. Events that come between are kept, if any are asked for.
    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        let sent = self.commands.write_all(format!("{command}\0").as_bytes());
        let deadline = Instant::now() + TIMEOUT;
        while sent.is_ok() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(mut message) = self.messages.recv_timeout(left) else { break };
            if message["id"] == self.sent {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].take()),
                };
            }
            if message["method"].is_string() {
                self.events.push(message);
            }
        }
        let said = std::fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        panic!("Chromium does not answer {method}; it has said:\n{said}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(POLLED_AT);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        // its children end after it, and may write until then
        while std::fs::remove_dir_all(self.folder.path()).is_err() && Instant::now() < deadline {
            thread::sleep(POLLED_AT);
        }
    }
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TEST_CHROMIUM").map(PathBuf::from) {
        assert!(named.is_file(), "TEST_CHROMIUM names {}, which is no file", named.display());
        return Some(named);
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    PROGRAMS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}
