//! The log says what changed, why, and who asked for it: as lines for people, as JSON for programs, and in systemd's journal with fields
//! of its own. No value stands there as a programmer would print it.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::thread;
use std::time::Duration;

use mpt_api::{Command, PathChange, PathState};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::hosts::{Config, Daemon, Identity, Pair, wait_for};
use crate::support::wait_for_state;

/// The time for which an interface stays down.
const AWAY: Duration = Duration::from_millis(400);

/// Two hosts with keys and two lines.
fn authenticated(pair: &Pair) -> ([Config; 2], [Identity; 2]) {
    let mut configs = pair.configs();
    let identities = [Identity::new(), Identity::new()];
    for (end, config) in configs.iter_mut().enumerate() {
        config.daemon().set("private_key_file", identities[end].file());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
        // Its reload changes a weight.
        config.connection("tunnel").set("mapping", "packet");
    }
    (configs, identities)
}

/// Everything that the log has to tell: paths that go and come for several reasons, reloads good and bad, requests good and bad.
fn live(pair: &Pair, a: &Daemon, config: &mut Config) {
    let set = |up| a.set_path("tunnel", "line2", PathChange { up: Some(up), ..Default::default() });
    set(false);
    wait_for_state(a, "line2", PathState::Down);
    set(true);
    wait_for_state(a, "line2", PathState::Up);
    pair.a.set_link("line1", false);
    wait_for_state(a, "line1", PathState::Down);
    thread::sleep(AWAY);
    pair.a.set_link("line1", true);
    pair.a.add_address("line1", "fd00:71:1::1/64");
    wait_for_state(a, "line1", PathState::Up);

    config.path("tunnel", "line1").set("weight", 3);
    config.connection("tunnel").set("window", 1000);
    a.write_config(config);
    a.request(Command::Reload).unwrap();
    a.write_file("[daemon]\nlog = 3\nport = 0\n");
    a.request(Command::Reload).unwrap_err();
    a.write_config(config);
    a.signal(Signal::SIGHUP);
    wait_for("the reload by signal", || {
        (a.log().matches("configuration reloaded").count() >= 2).then_some(())
    });

    for toml in ["name = 3\n", "name = \"x\"\nlocal = \"10.71.1.1\"\nremote = \"0.0.0.0\"\n"] {
        let add = Command::AddPath { connection: "tunnel".into(), toml: toml.into() };
        a.request(add).unwrap_err();
    }
    let mut stream = UnixStream::connect(a.socket()).unwrap();
    stream.write_all(b"nonsense\n{\"version\":2}\n").unwrap();
    let delete = Command::DeletePath { connection: "tunnel".into(), path: "line1".into() };
    a.request(delete).unwrap();
    let keepalive =
        Command::SetKeepalive { connection: "tunnel".into(), path: None, keepalive_us: 200_000 };
    a.request(keepalive).unwrap();
}

/// Looks for what only a programmer would want to read.
fn assert_plain(log: &str) {
    for line in log.lines() {
        for debris in ["Some(", "None", "{ ", "PathBuf", "Ok(", "Err("] {
            assert!(!line.contains(debris), "{debris} in: {line}");
        }
    }
}

#[test]
fn in_lines_for_people() {
    let pair = Pair::with_lines(2);
    let (mut configs, _identities) = authenticated(&pair);
    let [a, b] = pair.start(&configs);
    live(&pair, &a, &mut configs[0]);
    let has = |line: &str| {
        wait_for(&format!("a line with {line}"), || a.log().contains(line).then_some(()));
    };
    // Established, the paths are confirmed.
    has("path up connection=tunnel path=line1 from=probing to=up reason=confirmed lasted_ms=");
    has(&format!(
        "path down by command connection=tunnel path=line2 uid=0 pid={}",
        std::process::id()
    ));
    has("path down connection=tunnel path=line2 from=up to=down reason=administrative lasted_ms=");
    has("path down connection=tunnel path=line1 from=up to=down reason=interface lasted_ms=");
    has("connection tunnel: path line1: weight, weight_in changed connection=tunnel path=line1");
    has("connection tunnel: window changed connection=tunnel");
    has("configuration reloaded changes=2 restart=0 warnings=0");
    has("mpt.toml:2: daemon.log: 3 is not");
    has("not reloaded, nothing was changed errors=3");
    has("reload by SIGHUP");
    has("configuration reloaded changes=0 restart=0 warnings=0");
    has("path delete by command connection=tunnel path=line1 uid=0");
    has("connection tunnel: path line1 removed connection=tunnel path=line1");
    for daemon in [a, b] {
        assert_plain(&daemon.log());
        daemon.stop();
    }
}

#[test]
fn as_json_for_programs() {
    let pair = Pair::with_lines(2);
    let (mut configs, _identities) = authenticated(&pair);
    configs[0].daemon().set("log_format", "json");
    let [a, _b] = pair.start(&configs);
    live(&pair, &a, &mut configs[0]);
    let entries = || -> Vec<Value> {
        let log = a.log();
        // The last line may be half written.
        let (whole, _) = log.rsplit_once('\n').unwrap_or_default();
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        whole.lines().map(parse).collect()
    };
    let find = |wanted: &[(&str, Value)]| -> Value {
        wait_for(&format!("an entry with {wanted:?}"), || {
            let fits = |entry: &Value| wanted.iter().all(|(key, value)| entry[key] == *value);
            entries().into_iter().find(fits)
        })
    };
    let text = |text: &str| Value::from(text);
    let down = find(&[
        ("message", text("path down")),
        ("level", text("INFO")),
        ("connection", text("tunnel")),
        ("path", text("line1")),
        ("from", text("up")),
        ("to", text("down")),
        ("reason", text("interface")),
    ]);
    assert!(down["lasted_ms"].is_u64(), "{down}");
    // A second reason to be down, such as the peer's word, is an entry of its own.
    let lasted = wait_for("an entry that line1 is down no more", || {
        let is_of_it = |it: &Value| it["path"] == "line1" && it["from"] == "down";
        let is_later = |it: &Value| it["timestamp"].as_str() > down["timestamp"].as_str();
        let mut lasted = Duration::ZERO;
        for entry in entries().iter().filter(|it| is_of_it(it) && is_later(it)) {
            lasted += entry["lasted_ms"].as_u64().map(Duration::from_millis).expect("a time");
            if entry["to"] != "down" {
                return Some(lasted);
            }
        }
        None
    });
    assert!((AWAY..20 * AWAY).contains(&lasted), "{lasted:?}");
    find(&[
        ("message", text("path down by command")),
        ("uid", 0.into()),
        ("pid", std::process::id().into()),
    ]);
    find(&[("message", text("configuration reloaded")), ("changes", 2.into())]);
    find(&[("message", text("not reloaded, nothing was changed")), ("errors", 3.into())]);
    for entry in entries() {
        for key in ["timestamp", "level", "target", "message"] {
            assert!(entry[key].is_string(), "{key} of {entry}");
        }
        assert!(entry.get("fields").is_none(), "{entry}");
        let values = entry.as_object().unwrap().values();
        values.filter_map(Value::as_str).for_each(assert_plain);
    }

    // The next reload makes lines for people of it.
    configs[0].daemon().unset("log_format");
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    a.request(Command::Reload).unwrap();
    wait_for("a line of text", || {
        a.log().lines().last()?.contains(" configuration reloaded changes=0 ").then_some(())
    });
}

/// The fields of a datagram in the journal's format: `KEY=value` or, where the value has line breaks, the key, the length and the value.
fn fields(mut datagram: &[u8]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    while !datagram.is_empty() {
        let end = datagram.iter().position(|&byte| byte == b'\n').expect("a whole line");
        let line = String::from_utf8(datagram[..end].to_vec()).unwrap();
        datagram = &datagram[end + 1..];
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => {
                let (length, rest) = datagram.split_at(8);
                let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
                let value = String::from_utf8(rest[..length].to_vec()).unwrap();
                datagram = &rest[length + 1..];
                (line, value)
            }
        };
        fields.insert(key, value);
    }
    fields
}

#[test]
fn in_the_journal_with_its_fields() {
    let pair = Pair::with_lines(2);
    let (mut configs, _identities) = authenticated(&pair);
    let directory = tempfile::tempdir().unwrap();
    let journal = UnixDatagram::bind(directory.path().join("socket")).unwrap();
    journal.set_read_timeout(Some(crate::hosts::PATIENCE)).unwrap();
    let mut b = Daemon::start(&pair.b, &configs[1]);
    let mut a = Daemon::start_with_journal(&pair.a, &configs[0], directory.path());
    let reader = thread::spawn(move || {
        let mut entries = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = journal.recv(&mut buffer).expect("an entry in time");
            let entry = fields(&buffer[..length]);
            let last = entry.get("MESSAGE").is_some_and(|message| message == "ending");
            entries.push(entry);
            if last {
                return entries;
            }
        }
    });
    a.wait_until_up();
    b.wait_until_up();
    a.set_path("tunnel", "line2", PathChange { up: Some(false), ..Default::default() });
    wait_for_state(&a, "line2", PathState::Down);
    configs[0].path("tunnel", "line1").set("weight", 3);
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    assert_eq!(a.log(), "", "nothing stands there twice");
    a.stop();
    let entries = reader.join().unwrap();
    let find = |wanted: &[(&str, &str)]| {
        let fits = |entry: &&BTreeMap<String, String>| {
            wanted.iter().all(|&(key, value)| entry.get(key).is_some_and(|it| it == value))
        };
        entries.iter().find(fits).unwrap_or_else(|| panic!("{wanted:?} is not in {entries:#?}"))
    };
    let down = find(&[
        ("MESSAGE", "path down"),
        ("PRIORITY", "6"),
        ("SYSLOG_IDENTIFIER", "mptd"),
        ("MPT_CONNECTION", "tunnel"),
        ("MPT_PATH", "line2"),
        ("MPT_FROM", "up"),
        ("MPT_TO", "down"),
        ("MPT_REASON", "administrative"),
    ]);
    down["MPT_LASTED_MS"].parse::<u64>().unwrap();
    find(&[("MESSAGE", "path down by command"), ("MPT_UID", "0")]);
    find(&[("MESSAGE", "configuration reloaded"), ("MPT_CHANGES", "1")]);
    for entry in &entries {
        entry
            .iter()
            .filter(|(key, _)| key.starts_with("MPT_") || *key == "MESSAGE")
            .for_each(|(_, value)| assert_plain(value));
    }
}
