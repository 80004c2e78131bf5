//! A headless Chromium, controlled over a pipe with its DevTools protocol: one JSON object per message.
//!
//! If Chromium is not installed, a test prints that and passes; `BOSWELL_CHROMIUM=must` makes it fail instead.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any answer takes on a busy machine. A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one tab.
pub struct Browser {
    child: Child,
    input: File,
    messages: Receiver<Value>,
    next: u64,
    session: String,
    /// Messages that the tab sent on its own: loads, console output, exceptions.
    pub unsolicited: Vec<Value>,
    home: TempDir,
}

/// Returns the path of the browser, if it is installed.
fn program() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name)));
    found.into_iter().find(|program| program.is_file())
}

impl Browser {
    /// Starts a browser. Returns `None` if it is not installed.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            let must = std::env::var_os("BOSWELL_CHROMIUM").is_some();
            assert!(!must, "there is no chromium");
            println!("skipped: there is no chromium");
            return None;
        };
        let home = tempfile::tempdir().unwrap();
        let (to, from) = (home.path().join("to"), home.path().join("from"));
        for pipe in [&to, &from] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        // The browser expects its pipes as file descriptors 3 and 4, which only a shell can set up without unsafe code.
        let script = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-background-networking \
            --disable-dev-shm-usage --window-size=1300,900 --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<\"$2\" 4>\"$3\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .args([program.as_path(), &home.path().join("profile"), &to, &from])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = File::options().write(true).open(&to).unwrap();
        let output = BufReader::new(File::open(&from).unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { break };
                let Ok(value) = serde_json::from_slice(&message) else {
                    continue;
                };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            input,
            messages,
            next: 0,
            session: String::new(),
            unsolicited: Vec::new(),
            home,
        };
        let targets = browser.call("Target.getTargets", json!({}));
        let tabs = targets["targetInfos"].as_array().unwrap();
        let tab = tabs.iter().find(|one| one["type"] == "page").unwrap()["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": tab, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        let answer = self.wait(method, |message| message["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    /// Waits for a message and keeps all others in `unsolicited`.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) if is_it(&message) => return message,
                Ok(message) => self.unsolicited.push(message),
                Err(RecvTimeoutError::Timeout) => panic!("no answer: {what}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser is gone: {what}"),
            }
        }
    }

    /// Opens a file and waits until our script has drawn it.
    pub fn open(&mut self, page: &Path, hash: &str) {
        self.unsolicited.clear();
        let url = format!("file://{}{hash}", page.display());
        // Navigating within the same page would not reload it.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.documentElement.dataset.ready === 'yes'");
    }

    /// Writes a page and opens it.
    pub fn show(&mut self, html: &[u8], hash: &str) -> PathBuf {
        let path = self.home.path().join("page.html");
        fs::write(&path, html).unwrap();
        self.open(&path, hash);
        path
    }

    /// Returns the value of an expression in the page. Waits for promises.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is truthy in the page, and returns its value (`true` for an object).
    ///
    /// The page evaluates the expression repeatedly, so that a test waits for elements that are not drawn yet.
    pub fn until(&mut self, expression: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        let wait = format!(
            "new Promise(done => {{ const began = performance.now(); const kind = () => {{ let is = false; try {{ is = {expression}; }} catch {{}} \
             if (is) done({{ value: typeof is === 'object' ? true : is }}); else if (performance.now() - began > 1000) done(null); else setTimeout(kind, 15); }}; kind(); }})"
        );
        loop {
            let parameters = json!({ "expression": wait, "returnByValue": true, "awaitPromise": true });
            // If the page reloads meanwhile, its execution context disappears.
            self.next += 1;
            let id = self.next;
            let message =
                json!({ "id": id, "method": "Runtime.evaluate", "params": parameters, "sessionId": self.session });
            self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
            let answer = self.wait(expression, |message| message["id"] == id);
            let value = &answer["result"]["result"]["value"]["value"];
            if !value.is_null() {
                return value.clone();
            }
            assert!(Instant::now() < until, "never true: {expression}");
        }
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let code = match key {
                "Enter" => 13,
                "Escape" => 27,
                _ => 0,
            };
            let mut parameters = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if key.chars().count() == 1 && kind == "keyDown" {
                parameters["text"] = key.into();
            }
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }

    /// Types into the focused element.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Returns the errors of the page: console errors, exceptions, and requests to other addresses.
    pub fn page_errors(&mut self) -> Vec<String> {
        // All earlier messages of the page arrive before this answer. `until` asks again if the page reloads meanwhile.
        self.until("true");
        let mut complaints = Vec::new();
        for message in &self.unsolicited {
            let parameters = &message["params"];
            let text = match message["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" | "Log.entryAdded" => parameters.to_string(),
                "Runtime.consoleAPICalled" if parameters["type"] == "error" => parameters.to_string(),
                "Page.javascriptDialogOpening" | "Page.windowOpen" => parameters.to_string(),
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    let is_page = url.starts_with("file://") && parameters["type"] == "Document";
                    if is_page || url.starts_with("data:image/") || url == "about:blank" {
                        continue;
                    }
                    format!("asked for {url}")
                }
                _ => continue,
            };
            complaints.push(text);
        }
        complaints
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
