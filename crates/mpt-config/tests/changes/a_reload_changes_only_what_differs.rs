//! The steps of a reload: what the change does not concern gets none, so that it keeps its packets, numbers and ports.

use mpt_config::{Change, Config, Plan, Remote, check_text, check_text_with, diff};
use mpt_core::session::PrivateKey;

const BEFORE: &str = r#"
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/24"]

[[connection]]
name = "office"
networks = ["10.9.0.2"]
window = 1000
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
[[connection.path]]
name = "lte"
local = "10.0.2.1"
remote = "10.0.2.2"

[[connection]]
name = "branch"
networks = ["10.9.0.3"]
key = 2
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
"#;

fn config(text: &str) -> Config {
    check_text("mpt.toml", text).unwrap_or_else(|errors| panic!("{errors}")).config
}

/// The plan for some replacements in the file.
fn plan(replacements: &[(&str, &str)]) -> Plan {
    let mut after = BEFORE.to_owned();
    for (old, new) in replacements {
        assert!(after.contains(old), "{old} is not in the file");
        after = after.replacen(old, new, 1);
    }
    diff(&config(BEFORE), &config(&after))
}

fn sentences(plan: &Plan) -> Vec<String> {
    plan.changes.iter().map(ToString::to_string).collect()
}

#[test]
fn an_equal_file_changes_nothing() {
    assert_eq!(plan(&[]), Plan::default());
    assert_eq!(plan(&[("key = 2", "key = 0x2 # the same\nroutes = true")]), Plan::default());
}

#[test]
fn a_weight_is_changed_in_flight() {
    let plan = plan(&[("name = \"lte\"", "name = \"lte\"\nweight = 3\nweight_in = 1\ntier = 1")]);
    assert_eq!(sentences(&plan), ["connection office: path lte: weight, tier changed"]);
    let [Change::UpdatePath { path, .. }] = plan.changes.as_slice() else { panic!("{plan:?}") };
    assert_eq!((path.weight, path.weight_in, path.tier), (3, 1, 1));
}

#[test]
fn a_window_is_changed_in_flight() {
    let plan = plan(&[("window = 1000", "window = 2000\nlate = \"drop\"")]);
    assert_eq!(sentences(&plan), ["connection office: window, late changed"]);
}

#[test]
fn networks_bring_their_selectors_along() {
    let plan = plan(&[("[\"10.9.0.3\"]", "[\"10.9.0.3\", \"192.168.3.0/24\"]")]);
    assert_eq!(sentences(&plan), ["connection branch: networks, select changed"]);
}

#[test]
fn a_path_with_other_addresses_is_replaced() {
    let plan = plan(&[("remote = \"10.0.2.2\"", "remote = \"10.0.2.3\"")]);
    assert_eq!(
        sentences(&plan),
        [
            "connection office: path lte taken down to be replaced",
            "connection office: path lte added"
        ]
    );
}

#[test]
fn a_connection_with_another_key_is_replaced() {
    let plan = plan(&[("key = 2", "key = 3")]);
    assert_eq!(
        sentences(&plan),
        ["connection branch taken down to be replaced", "connection branch added"]
    );
}

/// Two paths exchange their addresses: both have to be gone before one comes.
#[test]
fn removals_come_before_additions() {
    let plan = plan(&[
        (
            "local = \"10.0.1.1\"\nremote = \"10.0.1.2\"",
            "local = \"10.0.9.1\"\nremote = \"10.0.9.2\"",
        ),
        (
            "local = \"10.0.2.1\"\nremote = \"10.0.2.2\"",
            "local = \"10.0.1.1\"\nremote = \"10.0.1.2\"",
        ),
        ("[[device]]", "[[device]]\nname = \"mpt1\"\naddresses = [\"10.8.0.1/24\"]\n[[device]]"),
        ("name = \"office\"", "name = \"office\"\ndevice = \"mpt0\""),
        ("name = \"branch\"", "name = \"depot\"\ndevice = \"mpt1\""),
    ]);
    assert_eq!(
        sentences(&plan),
        [
            "connection office: path dsl taken down to be replaced",
            "connection office: path lte taken down to be replaced",
            "connection branch removed",
            "device mpt1 added",
            "connection office: path dsl added",
            "connection office: path lte added",
            "connection depot added",
        ]
    );
}

#[test]
fn a_path_comes_and_goes() {
    let lte = "[[connection.path]]\nname = \"lte\"\nlocal = \"10.0.2.1\"\nremote = \"10.0.2.2\"\n";
    let without = config(&BEFORE.replace(lte, ""));
    let with = config(BEFORE);
    assert_eq!(sentences(&diff(&without, &with)), ["connection office: path lte added"]);
    assert_eq!(sentences(&diff(&with, &without)), ["connection office: path lte removed"]);
}

#[test]
fn a_device_gets_another_address_in_flight() {
    let plan = plan(&[("10.9.0.1/24", "10.9.0.9/24")]);
    assert_eq!(sentences(&plan), ["device mpt0 changed"]);
}

#[test]
fn another_port_of_the_daemon_replaces_the_paths_that_listen_on_it() {
    let plan = plan(&[
        ("[[device]]", "[daemon]\nport = 4755\n[[device]]"),
        ("name = \"lte\"", "name = \"lte\"\nlocal_port = 4754"),
    ]);
    assert_eq!(
        sentences(&plan),
        [
            "connection office: path dsl taken down to be replaced",
            "connection branch: path dsl taken down to be replaced",
            "connection office: path dsl added",
            "connection branch: path dsl added",
        ]
    );
}

#[test]
fn what_takes_a_restart_is_told() {
    let plan = plan(&[(
        "[[device]]",
        "[daemon]\nbuffer_limit = \"32 MiB\"\ncontrol_socket = \"/run/other.sock\"\nlog = \"debug\"\nmark = 7\nuser = \"mpt\"\n\
         listen = [\"10.0.1.1\"]\n[[device]]",
    )]);
    assert_eq!(
        plan.restart,
        [
            "daemon.user",
            "daemon.control_socket",
            "daemon.buffer_limit",
            "daemon.listen",
            "daemon.mark"
        ]
    );
    assert_eq!(sentences(&plan), ["daemon: log changed"]);
}

const NATIVE: &str = r#"
[daemon]
listen = ["10.0.1.1"]
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/24"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
[connection.peer]
public_key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo="
[[connection.path]]
name = "dsl"
interface = "eth0"
remote = "vpn.example.org"
[[client]]
name = "anna"
public_key = "yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo="
addresses = ["10.9.0.3/24"]
[[controller]]
name = "noc"
public_key = "9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw="
"#;

/// A file whose private key is of this seed.
fn native(text: &str, seed: u8) -> Config {
    let key = move |_: &std::path::Path| Ok(PrivateKey::from_seed([seed; 32]).to_base64());
    check_text_with("mpt.toml", text, &key).unwrap_or_else(|errors| panic!("{errors}")).config
}

/// Returns the changes of a reload after a text of the file was replaced.
fn native_plan(old: &str, new: &str) -> Vec<String> {
    assert!(NATIVE.contains(old), "{old} is not in the file");
    sentences(&diff(&native(NATIVE, 7), &native(&NATIVE.replacen(old, new, 1), 7)))
}

#[test]
fn a_session_goes_on_with_other_timers_and_not_with_another_peer() {
    let key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=";
    assert_eq!(
        native_plan(
            "[[connection.path]]",
            "keepalive = \"50 ms\"\ndead = \"1 s\"\n[[connection.path]]"
        ),
        ["connection office: peer.keepalive, peer.dead changed"]
    );
    let replaced = ["connection office taken down to be replaced", "connection office added"];
    assert_eq!(native_plan(key, "D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws="), replaced);
    assert_eq!(native_plan(&format!("[connection.peer]\npublic_key = \"{key}\"\n"), ""), replaced);
}

#[test]
fn clients_and_controllers_come_and_go() {
    assert_eq!(
        native_plan("name = \"anna\"", "name = \"bert\""),
        ["client anna removed", "client bert added"]
    );
    assert_eq!(
        native_plan(
            "addresses = [\"10.9.0.3/24\"]",
            "pool = \"p\"\nmax_paths = 2\n[[pool]]\nname = \"p\"\nnetworks = [\"10.8.0.0/24\"]"
        ),
        ["pool p added", "client anna: addresses, max_paths changed"]
    );
    assert_eq!(
        native_plan("name = \"noc\"", "name = \"noc\"\nallow = [\"reload\"]"),
        ["controller noc: allow changed"]
    );
}

#[test]
fn another_key_in_the_same_file_is_noticed() {
    let plan = diff(&native(NATIVE, 7), &native(NATIVE, 8));
    assert_eq!(sentences(&plan), ["daemon: private_key_file changed"]);
}

#[test]
fn where_a_name_leads_is_no_change() {
    let mut running = native(NATIVE, 7);
    let remote = &mut running.connections[0].paths[0].remote;
    let Remote::Name { address, .. } = remote else { panic!("{remote:?} is no name") };
    *address = Some("198.51.100.7".parse().unwrap());
    assert_eq!(diff(&running, &native(NATIVE, 7)), Plan::default());
    assert_eq!(running.as_written(), native(NATIVE, 7));
    let other = native_plan("vpn.example.org", "198.51.100.7");
    assert_eq!(other.len(), 2, "{other:?}");
}
