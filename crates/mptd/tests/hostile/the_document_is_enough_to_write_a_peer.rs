//! A peer that was written from `docs/protocol.md` alone computes its test vectors, and talks to mptd: session, proofs, tables of paths, requests.

use serde_json::{Value, json};

use crate::hosts::{Config, Daemon, Identity, Pair, wait_for};
use crate::kit::{Program, run};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");

#[test]
fn its_vectors_are_computed_by_others_too() {
    let said = run("vectors.py", DOCUMENT);
    let count: u32 = said.trim().strip_prefix("vectors ").expect("a number").parse().unwrap();
    assert!(count >= 9, "{said}");
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
