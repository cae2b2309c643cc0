//! Specifications of measurements, and their results.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A link: the same in both directions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// Mbit/s.
    pub(crate) rate: u64,
    /// Milliseconds, each way.
    pub(crate) delay: u64,
    /// Part of the packets from a to b.
    pub(crate) loss: f64,
}

impl Link {
    pub(crate) const fn new(rate: u64) -> Self {
        Self { rate, delay: 0, loss: 0.0 }
    }
}

fn milliseconds(milliseconds: u64) -> Value {
    json!({ "secs": milliseconds / 1000, "nanos": milliseconds % 1000 * 1_000_000 })
}

/// A specification over emulated links without events. `method` and `traffic` as in the file.
pub(crate) fn spec(links: &[Link], method: Value, traffic: Value) -> Value {
    let (mut channels, mut cables) = (Vec::new(), Vec::new());
    for (number, link) in links.iter().enumerate() {
        for (direction, loss) in [("forward", link.loss), ("backward", 0.0)] {
            channels.push(json!({
                "name": format!("path{} {direction}", number + 1),
                "params": {
                    "rate": link.rate * 1_000_000,
                    "queue": { "Time": milliseconds(100) },
                    "delay": milliseconds(link.delay),
                    "jitter": null,
                    "keep_order": false,
                    "loss": if loss > 0.0 { json!({ "Bernoulli": loss }) } else { json!("None") },
                    "duplication": 0.0,
                },
            }));
        }
        cables.push(json!({
            "name": format!("path{}", number + 1),
            "forward": [2 * number],
            "backward": [2 * number + 1],
            "mtu": 1500,
        }));
    }
    json!({
        "network": { "channels": channels, "links": cables },
        "backend": "emulator",
        "method": method,
        "traffic": traffic,
        "events": [],
        "receive_steering": false,
        "scale": 1.0,
        "seed": 1,
        "repetition": 0,
    })
}

/// Adds an event that many milliseconds after the beginning of the traffic.
pub(crate) fn with_event(mut spec: Value, after: u64, action: &str, link: usize) -> Value {
    let event = json!({ "after": milliseconds(after), "action": { "do": action, "link": link } });
    spec["events"].as_array_mut().unwrap().push(event);
    spec
}

pub(crate) fn plain() -> Value {
    json!({ "kind": "plain" })
}

pub(crate) fn mptcp() -> Value {
    json!({ "kind": "mptcp" })
}

/// A tunnel of ours; versions of IP inside and outside.
pub(crate) fn tunnel(inner: u8, outer: u8, session: bool) -> Value {
    let mut tunnel =
        json!({ "kind": "tunnel", "inner": inner, "outer": outer, "session": session });
    if session {
        // Checks compare the traffic of each link with its share, so each packet is mapped by itself.
        tunnel["connection"] = json!({ "mapping": "packet" });
    }
    tunnel
}

pub(crate) fn tcp(seconds: u64) -> Value {
    json!({ "kind": "tcp", "flows": 1, "duration": milliseconds(1000 * seconds), "congestion": "cubic" })
}

pub(crate) fn rtp(megabits: u64, seconds: u64) -> Value {
    json!({ "kind": "rtp", "rate": megabits * 1_000_000, "size": 1000, "duration": milliseconds(1000 * seconds) })
}

pub(crate) fn udp(megabits: u64, seconds: u64) -> Value {
    json!({ "kind": "udp", "rate": megabits * 1_000_000, "size": 1000, "duration": milliseconds(1000 * seconds) })
}

pub(crate) fn ping(count: u32, interval: u64) -> Value {
    json!({ "kind": "ping", "count": count, "interval": milliseconds(interval) })
}

pub(crate) fn download(protocol: &str, bytes: u64) -> Value {
    json!({
        "kind": "download", "protocol": protocol, "bytes": bytes, "congestion": "cubic", "limit": milliseconds(30_000),
    })
}

/// A measurement to make, with files of its own.
#[derive(Debug)]
pub(crate) struct Case {
    directory: TempDir,
}

impl Case {
    pub(crate) fn new(spec: &Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("spec.json"), spec.to_string()).unwrap();
        Self { directory }
    }

    pub(crate) fn command(&self) -> Command {
        let laboratory = Path::new(env!("CARGO_BIN_EXE_mpt-lab"));
        let daemon = laboratory.with_file_name("mptd");
        assert!(daemon.is_file(), "no {}: `make test` or `cargo build -p mptd`", daemon.display());
        let mut command = Command::new(laboratory);
        command.arg("case").arg("--spec").arg(self.directory.path().join("spec.json"));
        command.arg("--out").arg(self.directory.path().join("out.json"));
        command
    }

    /// Returns the result that it wrote.
    pub(crate) fn result(&self) -> Measured {
        let text = std::fs::read(self.directory.path().join("out.json")).unwrap();
        Measured(serde_json::from_slice(&text).unwrap())
    }
}

/// Makes a measurement, which has to succeed.
pub(crate) fn measure(spec: &Value) -> Measured {
    let case = Case::new(spec);
    let Output { status, stderr, .. } = case.command().output().unwrap();
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    case.result()
}

/// A result.
#[derive(Debug)]
pub(crate) struct Measured(pub(crate) Value);

impl Measured {
    pub(crate) fn metric(&self, name: &str) -> f64 {
        self.0["metrics"][name]
            .as_f64()
            .unwrap_or_else(|| panic!("no {name} in {}", self.0["metrics"]))
    }

    /// 0 where it is not there: counters that did not grow are left out.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.0["counters"][name].as_u64().unwrap_or(0)
    }

    pub(crate) fn series(&self, name: &str) -> Vec<f64> {
        let values = self.0["series"][name]["values"].as_array();
        values
            .unwrap_or_else(|| panic!("no series {name}"))
            .iter()
            .filter_map(Value::as_f64)
            .collect()
    }

    /// Returns the deviations from what was asked for. How busy the machine was besides is not this test's business.
    pub(crate) fn deviations(&self) -> Vec<String> {
        let flags = self.0["flags"].as_array().unwrap().iter();
        let deviations = flags.filter(|flag| flag["kind"] == "deviation");
        let deviations = deviations.map(|flag| flag["what"].as_str().unwrap().to_owned());
        deviations.filter(|what| !what.contains("was busy for")).collect()
    }
}
