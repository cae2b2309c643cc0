//! A real browser, driven by the DevTools protocol over pipes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hosts::wait_within;

/// Longest time for a browser to start and to draw on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium with one page, ended when this is dropped.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Value,
    number: u64,
    /// Addresses that the page asked for.
    pub(crate) asked: Vec<String>,
    /// Errors that the page threw or logged.
    pub(crate) errors: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens a page in a window of this size.
    pub(crate) fn open(address: &str, (width, height): (u32, u32), dark: bool) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from its third file descriptor, and answers on its fourth. A test that runs as root has no sandbox.
        let script = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
             --disable-background-networking --disable-component-update --hide-scrollbars --user-data-dir={} \
             --window-size={width},{height} --remote-debugging-pipe about:blank 3<&0 4>&1 1>/dev/null 2>/dev/null",
            profile.path().display()
        );
        let mut process = Command::new("sh")
            .args(["-c", &script])
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let mut browser = Browser {
            process,
            to,
            from,
            session: Value::Null,
            number: 0,
            asked: Vec::new(),
            errors: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attached)["sessionId"].clone();
        for domain in ["Network.enable", "Runtime.enable", "Page.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.call("Emulation.setEmulatedMedia", json!({"features": features}));
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        let touch = json!({"enabled": width < 600, "maxTouchPoints": 1});
        browser.call("Emulation.setTouchEmulationEnabled", touch);
        browser.call("Page.navigate", json!({"url": address}));
        browser.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'");
        browser
    }

    /// Calls a method of the protocol, and notes the events that come before its answer.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(
                bytes.pop(),
                Some(0),
                "chromium ended; is it installed? scripts/setup seen-test"
            );
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if message["id"] == self.number {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            let params = &message["params"];
            match message["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    self.asked.push(params["request"]["url"].as_str().unwrap().to_owned());
                }
                Some("Runtime.exceptionThrown") => self.errors.push(params.to_string()),
                Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                    self.errors.push(params.to_string());
                }
                _ => {}
            }
        }
    }

    /// Returns the value of an expression.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        wait_within(PATIENCE, expression, || {
            (self.evaluate(expression) == Value::Bool(true)).then_some(())
        });
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key == "Enter" { "\r" } else { key };
        for params in [
            json!({"type": "keyDown", "key": key, "text": text}),
            json!({"type": "keyUp", "key": key}),
        ] {
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Taps an element with a finger.
    pub(crate) fn tap(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const it = document.querySelector('{selector}'); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        let touch = json!([{"x": place[0], "y": place[1]}]);
        for (kind, points) in [("touchStart", touch), ("touchEnd", json!([]))] {
            let event = json!({"type": kind, "touchPoints": points});
            self.call("Input.dispatchTouchEvent", event);
        }
    }

    /// Writes a picture of the page into the directory that the environment variable `MPT_SCREENSHOTS` names, for people.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("MPT_SCREENSHOTS") else { return };
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let file = std::path::Path::new(&directory).join(name);
        let mut decoder = Command::new("base64")
            .arg("--decode")
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(file).unwrap())
            .spawn()
            .unwrap();
        let data = answer["data"].as_str().unwrap();
        decoder.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
        decoder.wait().unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // With all processes that it started.
        if let Ok(group) = i32::try_from(self.process.id()) {
            let group = nix::unistd::Pid::from_raw(group);
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        }
        let _ = self.process.wait();
    }
}
