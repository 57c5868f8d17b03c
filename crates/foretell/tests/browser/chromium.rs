//! A real browser, driven over its debugging pipe: two named pipes that a shell puts where Chromium looks for them, and JSON
//! messages that end in a zero byte. No sockets, no ports, no driver to install.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Names it goes by; `FORETELL_CHROMIUM` comes first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A running browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    last: u64,
    /// What went wrong in the page, and what it asked for over the network.
    pub(crate) complaints: Vec<String>,
    _directory: tempfile::TempDir,
}

/// The browser's program, if there is one. To have it on Debian: `apt install chromium`.
pub(crate) fn program() -> Option<String> {
    let named = std::env::var("FORETELL_CHROMIUM").ok();
    let works = |name: &String| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    named.into_iter().chain(NAMES.map(str::to_owned)).find(works)
}

impl Browser {
    pub(crate) fn start(program: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pipe = |name: &str| directory.path().join(name);
        let made = Command::new("mkfifo").args([pipe("to"), pipe("from")]).status().expect("mkfifo starts");
        assert!(made.success());
        let command = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                       --hide-scrollbars --user-data-dir=\"$1/profile\" --remote-debugging-pipe about:blank \
                       3<\"$1/to\" 4>\"$1/from\"";
        let child = Command::new("sh")
            .args(["-c", command, program])
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        // In the order the shell opens them: each waits for the other side.
        let to = File::options().write(true).open(pipe("to")).expect("a pipe");
        let from = BufReader::new(File::open(pipe("from")).expect("a pipe"));
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            last: 0,
            complaints: Vec::new(),
            _directory: directory,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer; what the page says in between is kept if it is a complaint.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("the browser answers");
            bytes.pop();
            assert!(!bytes.is_empty(), "the browser has gone away");
            let answer: Value = serde_json::from_slice(&bytes).expect("it speaks JSON");
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.hear(&answer);
        }
    }

    fn hear(&mut self, event: &Value) {
        let params = &event["params"];
        let url = params["request"]["url"].as_str().unwrap_or_default();
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(params["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.complaints.push(params["entry"].to_string()),
            "Network.requestWillBeSent" if !url.starts_with("file:") && !url.starts_with("about:") => {
                self.complaints.push(format!("asks for {url}"));
            }
            _ => {}
        }
    }

    /// How large the page is and which colours the user likes.
    pub(crate) fn looks(&mut self, width: u32, height: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Opens a file and waits until its script has drawn it.
    pub(crate) fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.wait("document.documentElement?.dataset.ready === 'true'");
        self.frame();
    }

    /// Waits until an expression holds.
    pub(crate) fn wait(&mut self, expression: &str) {
        for _ in 0..300 {
            if self.value(expression) == json!(true) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("it never comes to {expression}: {:?}", self.complaints);
    }

    /// Waits until what was changed has been drawn.
    pub(crate) fn frame(&mut self) {
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// The text of the first element that fits a selector.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let found = self.value(&format!("document.querySelector({})?.innerText", json!(selector)));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { json!(key) } else { json!("") };
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "Home" => 36,
            "End" => 35,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key == "Enter" { json!("\r") } else { text };
        let down = json!({"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        );
    }

    /// Clicks in the middle of an element, or at an offset from its corner.
    pub(crate) fn click(&mut self, selector: &str, offset: Option<(f64, f64)>) {
        let find = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'nearest'}}); \
             const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()",
            json!(selector)
        );
        let bounds: Vec<f64> = serde_json::from_value(self.value(&find)).expect("it is there");
        let (dx, dy) = offset.unwrap_or((bounds[2] / 2.0, bounds[3] / 2.0));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let (x, y) = (bounds[0] + dx, bounds[1] + dy);
            let button = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", button);
        }
    }

    /// A picture of the page, if `FORETELL_SCREENSHOTS` names a directory to put it in.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("FORETELL_SCREENSHOTS") else { return };
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let file = Path::new(&directory).join(format!("{name}.png.base64"));
        std::fs::write(file, picture["data"].as_str().unwrap_or_default()).expect("it can be written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
