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
        Self { process, commands, messages, sent: 0, session: None, folder }
    }

    /// Whether pages may run scripts from here on.
    pub fn set_scripts(&mut self, enabled: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": !enabled }));
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
        let node = self.node(selector);
        self.call("DOM.scrollIntoViewIfNeeded", json!({ "nodeId": node }));
        let shown = self.call("DOM.getContentQuads", json!({ "nodeId": node }));
        let corner = |at: usize| shown["quads"][0][at].as_f64().unwrap_or_else(|| panic!("{selector} is not shown"));
        let (x, y) = (f64::midpoint(corner(0), corner(4)), f64::midpoint(corner(1), corner(5)));
        for event in ["mousePressed", "mouseReleased"] {
            let click = json!({ "type": event, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", click);
        }
    }

    /// What the page looks like, as a PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let taken = self.call("Page.captureScreenshot", json!({}));
        BASE64.decode(taken["data"].as_str().unwrap_or_default()).expect("a picture is Base64")
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

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a command and waits for its answer. Events, which come between, are not needed: what holds is asked.
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
