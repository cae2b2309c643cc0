//! The stand-in as a process.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hosts::{Config, Daemon, Host, PATIENCE, Pair};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compat/mptsrv.py");
/// The data port of both ends.
pub(crate) const PORT: u16 = 23_456;
/// The command port of the prototype, and that of mptd.
pub(crate) const COMMAND_PORT: u16 = 60_456;
pub(crate) const OUR_COMMAND_PORT: u16 = 60_457;
/// The key, as in the captures of the real prototype: 64 characters, of which 32 count.
pub(crate) const KEY: &str = "00112233445566778899AABBCCDDEEFF0123456789ABCDEF0123456789ABCDEF";
pub(crate) const OK: u64 = 0x00;
pub(crate) const DOWN: u64 = 0x80;
pub(crate) const MANUAL: u64 = 0x83;

/// It runs at host `b`.
pub(crate) struct Prototype {
    process: Child,
    input: ChildStdin,
    heard: Arc<Mutex<Vec<Value>>>,
    /// Directory of mptd's file with the key.
    directory: TempDir,
}

/// The configuration of the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// `auth_type`.
    pub(crate) authentication: u8,
    /// Size of the window in packets; 0 for off, then the prototype does not number either.
    pub(crate) window: u32,
    /// Interval of the keepalives, in seconds.
    pub(crate) keepalive: u64,
    /// Time without a packet after which a path is dead, in seconds.
    pub(crate) dead: u64,
    /// The creation that comes first, if there is one; the prototype does not know the connection
    /// before.
    pub(crate) create: Option<Creation>,
    /// Weights of the prototype's paths.
    pub(crate) weights: Vec<u32>,
}

/// The end that asks for the creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The creation is asked for by mptd.
    Ours,
    /// The creation is asked for by the prototype.
    Theirs,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            authentication: 0,
            window: 900,
            keepalive: 1,
            dead: 0,
            create: None,
            weights: vec![1, 1],
        }
    }
}

impl Setup {
    /// Starts both ends, and waits until each has heard the other on every path.
    pub(crate) fn start(&self, pair: &Pair) -> (Daemon, Prototype) {
        let prototype = Prototype::start(&pair.b, self);
        let mut daemon = Daemon::start(&pair.a, &self.config(&prototype.key_file()));
        daemon.wait_until_up();
        for path in 0..self.weights.len() {
            prototype.wait_for("a keepalive", |it| it["keepalive"] == path);
        }
        let start = Instant::now();
        while counter(&daemon, "keepalives_received") < self.weights.len() as u64 {
            assert!(start.elapsed() < PATIENCE, "the prototype is not heard");
            thread::sleep(Duration::from_millis(10));
        }
        (daemon, prototype)
    }

    /// Returns the configuration of mptd.
    fn config(&self, key_file: &str) -> Config {
        let mut config = Config::default();
        config.device("mpt0").set("addresses", vec!["10.72.0.1/24"]);
        config
            .connection("tunnel")
            .set("networks", vec!["10.72.0.2"])
            .set("compat", "mptsrv")
            .set("sequence", self.window > 0);
        let authentication = ["none", "nonce", "sha256"][usize::from(self.authentication)];
        let compat = config
            .compat("tunnel")
            .set("remote", "10.72.0.2")
            .set("command_port", i64::from(OUR_COMMAND_PORT))
            .set("authentication", authentication)
            .set("keepalive", format!("{} s", self.keepalive))
            .set("dead", if self.dead == 0 { "0".into() } else { format!("{} s", self.dead) });
        // After a creation the prototype has its built-in key.
        let own = if self.create.is_some() { "default" } else { key_file };
        let compat = match self.authentication {
            2 => compat.set("auth_key_file", own),
            _ => compat,
        };
        if let Some(creation) = self.create {
            let word = if creation == Creation::Ours { "ask" } else { "answer" };
            compat.set("create", word).set("create_key_file", key_file);
        }
        for line in 1..=self.weights.len() {
            config
                .lay_path("tunnel", line, 1)
                .set("local_port", i64::from(PORT))
                .set("remote_port", i64::from(PORT));
        }
        config
    }
}

impl Prototype {
    fn start(host: &Host, setup: &Setup) -> Self {
        let path = |(index, weight): (usize, &u32)| {
            let line = index + 1;
            json!({
                "own": format!("10.71.{line}.2"),
                "remote": format!("10.71.{line}.1"),
                "weight": weight,
            })
        };
        let paths: Vec<Value> = setup.weights.iter().enumerate().map(path).collect();
        let config = json!({
            "device": "tun0", "address": "10.72.0.2/24",
            "local": "10.72.0.2", "remote": "10.72.0.1",
            "port": PORT, "remote_port": PORT,
            "command_port": COMMAND_PORT, "remote_command_port": OUR_COMMAND_PORT,
            "window": setup.window, "authentication": setup.authentication, "key": KEY,
            "template_key": KEY, "accept": setup.create == Some(Creation::Ours),
            "known": setup.create != Some(Creation::Ours),
            "keepalive": setup.keepalive, "dead": setup.dead, "paths": paths,
        });
        let mut command = host.namespace.command("python3").unwrap();
        command.args(["-B", SCRIPT, &config.to_string()]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                all.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        let input = process.stdin.take().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut file = File::options();
        let file = file.write(true).create_new(true).mode(0o600).open(directory.path().join("key"));
        writeln!(file.unwrap(), "{KEY}").unwrap();
        let prototype = Self { process, input, heard, directory };
        prototype.wait_for("it runs", |it| it["running"] == true);
        prototype
    }

    /// Our file with the key.
    fn key_file(&self) -> String {
        self.directory.path().join("key").to_str().unwrap().to_owned()
    }

    /// Has it do something.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Everything it has told so far.
    pub(crate) fn told(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Forgets that.
    pub(crate) fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    /// Waits for something that it tells.
    pub(crate) fn wait_for(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(found) = self.told().into_iter().find(&is) {
                return found;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "{what}: not within {PATIENCE:?}: {:#?}",
                self.told()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a path of its has this status.
    pub(crate) fn wait_for_status(&mut self, path: usize, status: u64) {
        let start = Instant::now();
        while self.status()["paths"][path]["status"] != status {
            assert!(start.elapsed() < PATIENCE, "path {path} has not status {status:#x}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The state of everything.
    pub(crate) fn status(&mut self) -> Value {
        let is = |it: &Value| it.get("paths").is_some();
        self.heard.lock().unwrap().retain(|it| !is(it));
        self.tell("status");
        self.wait_for("status", is)
    }
}

impl Drop for Prototype {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A counter of what came and went besides data. It has to be there, also while it is 0.
pub(crate) fn counter(daemon: &Daemon, name: &str) -> u64 {
    let compat = daemon.connection("tunnel").compat.expect("the other end is the prototype");
    compat.counters[name]
}
