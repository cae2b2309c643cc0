//! `mpt status` shows each uplink of a running tunnel as it is, its exit code follows the state, and `--watch` goes on while the daemon is away.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use mpt_api::DownReason;
use serde_json::Value;

use crate::command_line::mpt;
use crate::hosts::{Daemon, Identity, Line, Pair, Stream, Way, wait_for, wait_within};
use crate::lossy::lose_some;
use crate::support::{authenticate, wait_until_down};

/// Exit code and output of `mpt status`.
fn status(daemon: &Daemon) -> (i32, String) {
    let output = mpt(daemon, &["status"]).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Exit code and output of `mpt status --json`.
fn json(daemon: &Daemon) -> (i32, Value) {
    let output = mpt(daemon, &["status", "--json"]).output().unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

/// Daemons with adaptive mapping, and their keys, which a daemon reads again when it is started again.
fn adaptive(pair: &Pair) -> ([Daemon; 2], [Identity; 2]) {
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    (pair.start(&configs), identities)
}

#[test]
fn from_up_to_degraded_to_down_and_back() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let ([a, b], _keys) = adaptive(&pair);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    wait_for("rates, round-trip times and capacities of both uplinks", || {
        let (code, value) = json(&a);
        assert_eq!((code, &value["state"]), (0, &"up".into()), "{value:#}");
        let tunnel = &value["connections"][0];
        let known = ["sent_bits_per_second", "rtt_us", "capacity_bits_per_second"].map(|key| {
            let paths = tunnel["paths"].as_array().unwrap();
            paths.iter().any(|path| path[key].as_u64().is_some_and(|value| value > 0))
        });
        (known == [true; 3]).then_some(())
    });
    let (code, screen) = status(&a);
    assert_eq!(code, 0, "{screen}");
    // The port is the one that the kernel chose, which the peer sees.
    let heard = b.path("tunnel", "line1").heard_from.expect("packets came").to_string();
    for expected in ["tunnel up", "line1", "line2", &format!("from {heard}"), "probed"] {
        assert!(screen.contains(expected), "{expected} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    stream.end();

    pair.swallow(2, Way::Both);
    wait_until_down(&a, "line2", Some(DownReason::Dead));
    // The last packet of the peer may be younger than its last confirmation.
    wait_for("both directions are silent", || {
        let (code, screen) = status(&a);
        assert_eq!(code, 5, "{screen}");
        let expected = "! path line2 is dead: nothing is heard in either direction";
        screen.contains(expected).then_some(())
    });

    pair.swallow(1, Way::Both);
    wait_for("no path is left", || {
        let (code, value) = json(&a);
        (code == 6 && value["state"] == "down").then_some(())
    });

    pair.mend(1, Way::Both);
    pair.mend(2, Way::Both);
    for line in ["line1", "line2"] {
        wait_until_down(&a, line, None);
    }
    wait_for("nothing is wrong any more", || {
        let (code, screen) = status(&a);
        (code == 0 && !screen.contains("  ! ")).then_some(())
    });
}

/// Returns the path of this name in the JSON of the status.
fn uplink<'a>(status: &'a Value, name: &str) -> &'a Value {
    let paths = status["connections"][0]["paths"].as_array().expect("paths");
    paths.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {status:#}"))
}

/// Each figure is that of the tunnel: two lines of different rates, of which the slower one has a cap and loses packets.
#[test]
fn every_figure_is_that_of_its_uplink() {
    let lines = [16, 4].map(|rate| Line { rate: Some(rate), ..Line::bridged() });
    let pair = Pair::new(&lines);
    let mut configs = pair.configs();
    let keys = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    let state = tempfile::tempdir().unwrap();
    configs[0].daemon().set("state_directory", state.path().to_str().unwrap());
    configs[0].path("tunnel", "line2").set("cap", "50 GB/month").set("metered", true);
    let [a, b] = pair.start(&configs);
    lose_some(&pair.b, "line2");
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let status = wait_within(Duration::from_secs(90), "everything is known", || {
        let (_, value) = json(&a);
        // Seen only where this fails.
        eprintln!("{value}");
        let (first, second) = (uplink(&value, "line1"), uplink(&value, "line2"));
        let known = [first, second].iter().all(|path| {
            let positive = ["sent_bits_per_second", "capacity_bits_per_second", "rtt_us"];
            positive.iter().all(|key| path[key].as_u64().is_some_and(|it| it > 0))
                && ["jitter_us", "queue_us", "lost_per_million"]
                    .iter()
                    .all(|key| path[key].is_u64())
        });
        // One in ten is lost on the second line.
        let lossy = second["lost_per_million"].as_u64() > Some(30_000)
            && second["lost_per_million"].as_u64() > first["lost_per_million"].as_u64();
        let rate = |path: &Value| path["capacity_bits_per_second"].as_u64();
        (known && lossy && rate(first) > rate(second)).then_some(value)
    });
    let tunnel = &status["connections"][0];
    assert!(tunnel["received_bits_per_second"].as_u64() > Some(0), "acknowledgements: {status:#}");
    assert_eq!(tunnel["peer"], keys[1].public().as_str(), "{status:#}");
    assert_eq!(tunnel["data"], "aes256_gcm", "{status:#}");
    let figure = |name: &str, key: &str| {
        uplink(&status, name)[key].as_u64().unwrap_or_else(|| panic!("{name} {key}: {status:#}"))
    };
    let shares = ["line1", "line2"].map(|name| figure(name, "share_percent"));
    assert!((99..=101).contains(&shares.iter().sum::<u64>()), "{shares:?}");
    assert!(figure("line2", "repaired") <= figure("line2", "lost"), "{status:#}");
    for name in ["line1", "line2"] {
        assert_eq!(
            (figure(name, "mtu"), &uplink(&status, name)["mtu_source"]),
            (1500, &"probed".into())
        );
        let heard = b.path("tunnel", name).heard_from.expect("packets came").to_string();
        assert_eq!(uplink(&status, name)["source"], heard.as_str());
    }
    assert_eq!(uplink(&status, "line1")["cap"], Value::Null);
    let cap = &uplink(&status, "line2")["cap"];
    assert_eq!(cap["limit"], 50_000_000_000_u64, "{cap}");
    let (_, screen) = self::status(&a);
    for expected in ["of 50.0 GB in this month (0 %), anew in ", "metered", "! path line2 loses "] {
        assert!(screen.contains(expected), "{expected} is not in\n{screen}");
    }

    // It goes on losing packets, and has none to lose: what it lost is no state of now.
    stream.end();
    wait_within(Duration::from_secs(60), "loss and queue are those of a path that rests", || {
        let (_, value) = json(&a);
        let second = uplink(&value, "line2");
        (second["lost_per_million"].is_null() && second["queue_us"].is_null()).then_some(())
    });
    let (code, screen) = self::status(&a);
    assert!(code == 0 && !screen.contains("  ! "), "{screen}");
    assert!(uplink(&json(&a).1, "line2")["rtt_us"].is_u64(), "probes go on");
}

/// Ends its process with the test.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watch_survives_the_daemon() {
    let pair = Pair::new(&[Line::default(); 2]);
    let ([mut a, _b], _keys) = adaptive(&pair);
    let mut command = mpt(&a, &["status", "--watch", "--json"]);
    let mut watch = Watch(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut wait_until = |state: &str| {
        let states = lines.by_ref().map(|line| {
            let value: Value = serde_json::from_str(&line.unwrap()).unwrap();
            value["state"].as_str().unwrap().to_owned()
        });
        // One line a second: what takes longer takes too long.
        let seen: Vec<_> = states.take(15).take_while(|it| it != state).collect();
        assert!(seen.len() < 15, "not {state}: {seen:?}");
    };
    wait_until("up");
    a.kill();
    wait_until("unreachable");
    a.start_again(&pair.a);
    wait_until("up");
}
