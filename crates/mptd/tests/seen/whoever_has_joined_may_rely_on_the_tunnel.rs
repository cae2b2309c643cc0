//! Default routes lead into the tunnel when `mpt join` returns: a connection of that moment does not leave past it.

use std::net::IpAddr;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::machines::{ROUTER, SERVER, Scene, carry};

/// A rule that comes before those of the tunnel, as somebody else on this host might add it.
const BEFORE: &str = "pref 100 lookup main";
/// Longer than it takes to join, shorter than the program waits.
const MEANWHILE: Duration = Duration::from_secs(4);

#[test]
fn it_waits_until_default_routes_lead_into_the_tunnel() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    client.host.ip(&format!("rule add {BEFORE}"));
    let line = scene.line(&[]);
    let mut joins = client.command(&["join", "--fallback", "direct", "--no-dns", &line]);
    let mut joins = joins.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(MEANWHILE);
    assert_eq!(joins.try_wait().unwrap(), None, "it has returned, and everything leaves past");
    client.host.ip(&format!("rule del {BEFORE}"));
    let output = joins.wait_with_output().unwrap();
    let source = carry(&client.host, &scene.router, ROUTER);
    assert_eq!(source, SERVER.parse::<IpAddr>().unwrap());
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(!printed.contains("leaves past the tunnel"), "{printed}");
}

#[test]
fn it_warns_where_they_never_do() {
    let scene = Scene::new(1);
    let client = &scene.clients[0];
    client.host.ip(&format!("rule add {BEFORE}"));
    let printed = client.succeeds(&["join", "--no-dns", &scene.line(&[])]);
    let warning = "warning: what is meant for 0.0.0.0/0 leaves past the tunnel";
    assert!(printed.contains(warning), "{printed}");
}
