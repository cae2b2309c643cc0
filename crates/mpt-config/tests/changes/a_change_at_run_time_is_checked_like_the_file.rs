//! Paths and connections added at run time are read and checked as if they stood in the file, and what runs can be written into
//! the file, which keeps the rest of its text.

use std::path::Path;

use mpt_config::{
    Config, ConfigErrors, KeyFileError, add_connection, add_path, check_text_with, diff, save,
    write_file,
};
use mpt_core::session::PrivateKey;

const FILE: &str = r#"# The head office.
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/24"]

# To the branch.
[[connection]]
name = "office"   # as in the contract
networks = ["10.9.0.2"]
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
weight = 2   # twice as fast
[[connection.path]]
# The stick.
name = "lte"
local = "10.0.2.1"
remote = "10.0.2.2"

# Somebody else.
[[connection]]
name = "home"
networks = ["10.9.0.3"]
key = 3
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
"#;

fn key(_: &Path) -> Result<zeroize::Zeroizing<String>, KeyFileError> {
    Ok(PrivateKey::from_seed([7; 32]).to_base64())
}

fn config(text: &str) -> Config {
    check_text_with("mpt.toml", text, &key).unwrap_or_else(|errors| panic!("{errors}")).config
}

fn errors<T: std::fmt::Debug>(result: Result<T, ConfigErrors>) -> String {
    result.expect_err("it is bad").to_string()
}

/// Returns the changes of a reload from one to the other.
fn changes(old: &Config, new: &Config) -> Vec<String> {
    diff(old, new).changes.iter().map(ToString::to_string).collect()
}

/// The file with the connection of this name as it runs.
fn saved(text: &str, running: &Config, name: &str) -> String {
    let saved = save("mpt.toml", text, running, name, &key);
    saved.unwrap_or_else(|errors| panic!("{errors}")).expect("something to save")
}

const SAT: &str = "name = \"sat\"\nlocal = \"10.0.3.1\"\nremote = \"10.0.3.2\"\ntier = 1\n";

#[test]
fn a_path_is_added() {
    let old = config(FILE);
    let new = add_path(&old, "office", SAT, &key).unwrap();
    assert_eq!(new.warnings, []);
    assert_eq!(changes(&old, &new.config), ["connection office: path sat added"]);
    assert_eq!(new.config.connections[0].selectors, old.connections[0].selectors);
}

#[test]
fn a_bad_path_is_told_by_line_and_key() {
    let add = |toml: &str| errors(add_path(&config(FILE), "office", toml, &key));
    assert_eq!(
        add(
            "name = \"sat\"\nlocal = \"10.0.3.1\"\nremote = \"10.0.3.2\"\nwieght = 3\ntier = 256\n"
        ),
        "request:4: connection.path.wieght: unknown key; did you mean weight?\n\
         request:5: connection.path.tier: 256 is not a tier; write an integer from 0 to 255"
    );
    assert_eq!(
        add(&SAT.replace("sat", "lte")),
        "request:1: connection.path.name: there is a path \"lte\" already; write another name"
    );
    assert_eq!(
        add(&SAT.replace("10.0.3.", "10.0.1.")),
        "request:1: connection.path: path \"sat\" has the addresses and ports of path \"dsl\" (local port 4754 and remote \
         10.0.1.2), and what arrives could be of either; write another local address, or a remote_source_port for each"
    );
    assert_eq!(
        add("name = \"sat\"\nlocal = \"10.0.3.1\"\n"),
        "request:1: connection.path.remote: missing; write remote = \"...\" with the address of the peer"
    );
    assert_eq!(
        add("name = sat"),
        "request:1: string values must be quoted, expected literal string"
    );
    assert_eq!(
        errors(add_path(&config(FILE), "moon", SAT, &key)),
        "request: connection: there is none called \"moon\""
    );
}

const DEPOT: &str = r#"[[connection]]
name = "depot"
networks = ["10.9.0.4"]
key = 4
[connection.peer]
public_key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo="
psk_file = "/etc/mpt/depot.psk"
dead = "1 s"
[[connection.select]]
protocol = "udp"
destination_port = "10-20"
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "vpn.example.org"
[[connection.path]]
name = "any"
local = "10.0.2.1"
weight = 3
weight_in = 1
"#;

#[test]
fn a_connection_is_added() {
    let old = config(FILE);
    let new = add_connection(&old, DEPOT, &key).unwrap();
    assert_eq!(
        changes(&old, &new.config),
        ["daemon: private_key_file changed", "connection depot added"]
    );
    assert!(new.config.daemon.private_key.is_some(), "it is the first with a session");
    assert_eq!(new.config, config(&format!("{FILE}{DEPOT}")));
}

#[test]
fn a_bad_connection_is_told_by_line_and_key() {
    let add = |toml: &str| errors(add_connection(&config(FILE), toml, &key));
    assert_eq!(
        add(&DEPOT.replace("\"depot\"", "\"office\"")),
        "request:2: connection.name: there is a connection \"office\" already; write another name"
    );
    assert_eq!(
        add(&DEPOT.replace("10.9.0.4", "10.9.0.3").replace(
            "[[connection.select]]\nprotocol = \"udp\"\ndestination_port = \"10-20\"\n",
            ""
        )),
        "request:3: connection.networks: connections \"home\" and \"depot\" both select 10.9.0.3/32; write a \
         [[connection.select]] that tells them apart, or another network"
    );
    assert_eq!(
        add(""),
        "request:1: connection: missing; write [[connection]] with a name, networks and paths"
    );
    assert_eq!(
        add("[daemon]\nport = 1\n").lines().last().unwrap(),
        "request:1: daemon: unknown key; write one of connection"
    );
    assert_eq!(
        add(&DEPOT.replace("[[connection]]", "[[connection]]\n[[connection]]")),
        "request:2: connection: is the second; write one in a request"
    );
}

#[test]
fn what_runs_as_the_file_says_needs_no_saving() {
    for name in ["office", "home", "moon"] {
        assert_eq!(save("mpt.toml", FILE, &config(FILE), name, &key), Ok(None));
    }
}

#[test]
fn saving_changes_only_what_differs() {
    let mut running = config(FILE);
    let office = &mut running.connections[0];
    office.reorder.window = Some(100);
    (office.paths[0].weight, office.paths[0].weight_in) = (5, 2);
    office.paths[1].up = false;
    running.connections[1].reorder.window = Some(200);
    let text = saved(FILE, &running, "office");
    let expected = FILE
        .replace("weight = 2   # twice as fast", "weight = 5   # twice as fast\nweight_in = 2")
        .replace("remote = \"10.0.2.2\"", "remote = \"10.0.2.2\"\nup = false")
        .replace("networks = [\"10.9.0.2\"]", "networks = [\"10.9.0.2\"]\nwindow = 100");
    assert_eq!(text, expected);
    // The other connection was not saved.
    assert_eq!(changes(&config(&text), &running), ["connection home: window changed"]);
    assert_eq!(save("mpt.toml", &text, &running, "office", &key), Ok(None));
}

#[test]
fn what_a_server_assigned_is_not_saved() {
    let client = FILE
        .replace("addresses = [\"10.9.0.1/24\"]", "addresses = \"assigned\"")
        .replace(
            "weight = 2   # twice as fast",
            "[connection.peer]\npublic_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\ncreate = true",
        );
    let (client, _) = client.split_once("# Somebody else.").unwrap();
    let mut running = config(client);
    running.devices[0].addresses = vec!["10.8.0.7/24".parse().unwrap()];
    running.connections[0].key = Some(4_077_000_001);
    assert_eq!(save("mpt.toml", client, &running, "office", &key), Ok(None));
    running.connections[0].paths[1].weight = 3;
    let text = saved(client, &running, "office");
    assert!(text.contains("weight = 3"), "{text}");
    assert!(!text.contains("4077000001") && !text.contains("10.8.0.7"), "{text}");
    // One that was created by hand, with a key of its own choice.
    let by_hand = DEPOT.replace("dead = \"1 s\"", "create = true");
    let by_hand =
        by_hand.replace("local = \"10.0.2.1\"", "local = \"10.0.2.1\"\nremote = \"10.0.2.7\"");
    let mut running = add_connection(&config(FILE), &by_hand, &key).unwrap().config;
    running.connections[2].key = Some(4_077_000_001);
    let text = saved(FILE, &running, "depot");
    assert!(text.contains("key = 4\n") && !text.contains("4077000001"), "{text}");
}

#[test]
fn paths_added_and_removed_are_saved() {
    let running = add_path(&config(FILE), "office", SAT, &key).unwrap().config;
    let with = saved(FILE, &running, "office");
    assert_eq!(config(&with), running);
    assert_eq!(
        with.replace(&format!("[[connection.path]]\n{SAT}"), "").matches("sat").count(),
        0,
        "{with}"
    );
    assert_eq!(saved(&with, &config(FILE), "office"), FILE);
}

#[test]
fn connections_added_and_removed_are_saved() {
    let running = add_connection(&config(FILE), DEPOT, &key).unwrap().config;
    let with = saved(FILE, &running, "depot");
    assert!(with.starts_with(FILE), "{with}");
    assert_eq!(config(&with), running);
    assert_eq!(saved(&with, &config(FILE), "depot"), FILE);
    let mut without = config(FILE);
    without.connections.remove(0);
    let text = saved(FILE, &without, "office");
    assert_eq!(config(&text), without);
    assert!(text.contains("# Somebody else."), "{text}");
}

#[test]
fn every_key_survives_saving() {
    let example = include_str!("../../../../examples/mpt.toml");
    let uncommented: String = (example.lines())
        .map(|line| {
            let rest = line.strip_prefix("# e.g. ").or(line.strip_prefix("# ")).unwrap_or(line);
            let is_toml = rest.parse::<toml::Table>().is_ok();
            if is_toml { format!("{rest}\n") } else { String::new() }
        })
        .collect();
    let mut running = config(&uncommented);
    let office = &mut running.connections[0];
    office.name = "other".into();
    office.networks = vec!["10.10.0.0/16".parse().unwrap()];
    let classes = office.prompt.iter_mut().chain(&mut office.protected);
    for selector in office.selectors.iter_mut().chain(classes) {
        selector.destination = office.networks[0];
    }
    let without = example.replace("key = 1", "key = 2");
    let text = saved(&without, &running, "other");
    let (saved, other) = (config(&text), running.connections[0].clone());
    assert_eq!(saved.connection("other"), Some(&other));
}

#[test]
fn a_file_that_cannot_be_edited_is_left_alone() {
    let inline = format!(
        "connection = [{{ name = \"a\", networks = [\"10.9.0.2\"], path = [{{ name = \"p\", local = \"10.0.1.1\", remote = \"10.0.1.2\" }}] }}]\n{}",
        &FILE[..FILE.find("# To the branch.").unwrap()]
    );
    let mut running = config(&inline);
    running.connections[0].reorder.window = Some(7);
    assert_eq!(
        errors(save("mpt.toml", &inline, &running, "a", &key)),
        "mpt.toml: connection: is not written as [[connection]] tables; write it so, to have it saved"
    );
    assert!(
        errors(save("mpt.toml", "[demon]", &running, "a", &key)).contains("did you mean daemon?")
    );
}

#[test]
fn the_file_is_replaced_in_one_step_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("real.toml"), directory.path().join("mpt.toml"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    write_file(&link, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}
