//! A peer that was written from `docs/protocol.md` alone computes its test vectors, and talks to mptd: session, proofs, tables of paths, requests, data, new
//! keys.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mpt_api::{PathState, SessionState};
use serde_json::{Value, json};

use crate::hosts::{Config, Daemon, Identity, Pair, Preshared, wait_for};
use crate::kit::{Program, run};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");

#[test]
fn its_vectors_are_computed_by_others_too() {
    let said = run("vectors.py", DOCUMENT);
    let count: u32 = said.trim().strip_prefix("vectors ").expect("a number").parse().unwrap();
    assert!(count >= 9, "{said}");
}

/// Sends back what comes, until it is dropped.
struct Echo(Arc<AtomicBool>);

impl Echo {
    fn start(socket: UdpSocket) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 2000];
            while !seen.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..length], from);
                }
            }
        });
        Self(stop)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_session_of_two_paths_comes_up_carries_data_and_gets_new_keys() {
    let pair = Pair::with_lines(2);
    let [kit, server] = [Identity::new(), Identity::new()];
    let psk = Preshared::new();
    let mut config = pair.configs()[1].clone();
    config.daemon().set("private_key_file", server.file());
    // The kit does not report what arrives.
    config.connection("tunnel").set("mapping", "packet");
    let peer = config.peer("tunnel").set("public_key", kit.public());
    peer.set("psk_file", psk.file());
    for path in ["line1", "line2"] {
        config.path("tunnel", path).unset("remote");
    }
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let _echo = Echo::start(pair.b.udp("0.0.0.0:7"));
    let steps = json!(["connect", "up", "data", "rekey", "data", "replayed", "alive", "goodbye"]);
    let kit = json!({
        "key": kit.file(), "peer": server.public(), "psk": psk.file(), "name": "tunnel", "do": steps,
        "paths": [["10.71.1.1:4754", "10.71.1.2:4754"], ["10.71.2.1:4754", "10.71.2.2:4754"]],
        "inner": ["10.72.0.1", "10.72.0.2"],
    });
    let mut program = Program::start(&pair.a, "peer.py", &kit);
    for step in ["connect", "up", "data"] {
        assert_eq!(program.said()["step"], step);
    }
    let connection = b.connection("tunnel");
    assert_eq!(connection.session.unwrap().state, SessionState::Established);
    assert!(
        connection.paths.iter().all(|path| path.state == PathState::Up),
        "{:?}",
        connection.paths
    );
    let said = program.finish();
    assert_eq!(said.len(), 5, "{said:?}");
    let paths = |said: &Value| said["paths"].clone();
    assert_eq!(paths(&said[1]), json!([1, 2]), "both paths carry data");
    wait_for("the goodbye ends the session", || {
        let session = b.connection("tunnel").session.unwrap();
        (session.state != SessionState::Established).then_some(())
    });
}

#[test]
fn a_client_gets_its_connection_and_errors_for_bad_requests() {
    let pair = Pair::with_lines(1);
    let [kit, server] = [Identity::new(), Identity::new()];
    let mut config = Config::default();
    config.daemon().set("private_key_file", server.file()).set("listen", vec!["10.71.1.2"]);
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.pool("inside").set("networks", vec!["10.72.0.0/24"]);
    config.client("kit").set("public_key", kit.public()).set("pool", "inside");
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let kit = json!({
        "key": kit.file(), "peer": server.public(), "name": "office",
        "do": ["connect", "create", "up", "bad_requests", "alive", "goodbye"],
        "paths": [["10.71.1.1:4754", "10.71.1.2:4754"]],
        "create": create("office"),
    });
    let said = Program::start(&pair.a, "peer.py", &kit).finish();
    assert_eq!(said.len(), 6, "{said:?}");
    let address = said[1]["granted"]["addresses"][0].as_str().expect("an address");
    assert!(address.starts_with("10.72.0."), "{address}");
    wait_for("the goodbye removes the connection", || {
        b.show().connections.is_empty().then_some(())
    });
}

/// The body of a request for a connection with one path.
pub(crate) fn create(name: &str) -> Value {
    json!({
        "name": name, "networks": [], "mapping": "packet", "sequence": true, "checksum": false, "udp_checksum": true,
        "window": 1024, "max_delay_ms": 300, "paths": [{"id": 1, "name": "line1", "weight": 1, "weight_in": 1}],
    })
}
