//! `compat = "mptsrv"`: what is wrong with it is told with line, key and what to write instead; what it says is written back as it was read.

use std::path::Path;
use std::time::Duration;

use mpt_config::{Checked, KeyFileError, check_text_with, diff, save};

const GOOD: &str = r#"[[device]]
name = "tun0"
addresses = ["10.0.0.2/24"]
[[connection]]
name = "site"
compat = "mptsrv"
networks = ["10.0.0.3"]
[connection.mptsrv]
remote = "10.0.0.3"
authentication = "sha256"
auth_key_file = "/auth"
[[connection.path]]
name = "p0"
local = "10.1.1.2"
remote = "10.1.1.3"
local_port = 23456
remote_port = 23456
[[connection.path]]
name = "p1"
local = "10.2.2.2"
remote = "10.2.2.3"
"#;

fn key(file: &Path) -> Result<zeroize::Zeroizing<String>, KeyFileError> {
    match file.to_str() {
        Some("/auth") => Ok("00112233445566778899AABBCCDDEEFF\n".to_owned().into()),
        Some("/words") => Ok("two words\n".to_owned().into()),
        Some("/missing") => Err(KeyFileError::Missing),
        _ => Err(KeyFileError::Unusable { fault: "is open".into(), remedy: "close it".into() }),
    }
}

fn checked(text: &str) -> Checked {
    check_text_with("mpt.toml", text, &key).unwrap_or_else(|errors| panic!("{errors}"))
}

/// All errors of the good file with something replaced.
fn errors(good: &str, bad: &str) -> String {
    assert!(GOOD.contains(good), "{good} does not stand in the good file");
    let text = GOOD.replacen(good, bad, 1);
    check_text_with("mpt.toml", &text, &key).expect_err("the file is bad").to_string()
}

#[test]
fn its_defaults_are_those_that_the_prototype_needs() {
    let Checked { config, warnings, .. } = checked(GOOD);
    assert_eq!(warnings, []);
    let connection = &config.connections[0];
    let compat = connection.compat.as_ref().unwrap();
    assert_eq!(compat.local.to_string(), "10.0.0.2");
    assert_eq!((compat.command_port, compat.remote_command_port), (60_456, 60_456));
    assert_eq!((compat.keepalive, compat.dead), (Duration::from_secs(1), Duration::from_secs(3)));
    assert_eq!(compat.create, None);
    let ports: Vec<_> = connection
        .paths
        .iter()
        .map(|it| (it.local_port, it.source_port, it.remote_source_port))
        .collect();
    use mpt_config::SourcePort::Fixed;
    assert_eq!(ports, [(23456, Fixed(23456), Some(23456)), (4754, Fixed(4754), Some(4754))]);
}

#[test]
fn mistakes_are_told() {
    for (good, bad, expected) in [
        (
            "compat = \"mptsrv\"",
            "compat = \"mpt\"",
            "mpt.toml:6: connection.compat: \"mpt\" is not known; write \"mptsrv\"",
        ),
        (
            "compat = \"mptsrv\"\n",
            "",
            "mpt.toml:7: connection.mptsrv: has no effect without compat",
        ),
        (
            "[connection.mptsrv]\nremote = \"10.0.0.3\"\nauthentication = \"sha256\"\nauth_key_file = \"/auth\"\n",
            "",
            "connection.mptsrv: missing; write [connection.mptsrv] with remote",
        ),
        ("remote = \"10.0.0.3\"\n", "", "connection.mptsrv.remote: missing"),
        (
            "remote = \"10.0.0.3\"\n",
            "remote = \"fd00::3\"\n",
            "has no address of the family of fd00::3",
        ),
        (
            "remote = \"10.0.0.3\"\n",
            "remote = \"10.0.0.3\"\nlocal = \"10.0.0.9\"\n",
            "connection.mptsrv.local: 10.0.0.9 is not an address of device \"tun0\"",
        ),
        (
            "remote = \"10.0.0.3\"\n",
            "remote = \"10.0.0.3\"\nlocal = \"fd00::9\"\n",
            "of different families",
        ),
        ("auth_key_file = \"/auth\"\n", "", "connection.mptsrv.auth_key_file: missing"),
        (
            "authentication = \"sha256\"",
            "authentication = \"nonce\"",
            "has no effect without digests",
        ),
        ("\"/auth\"", "\"auth\"", "is not an absolute path"),
        ("\"/auth\"", "\"/open\"", "\"/open\" is open; close it"),
        (
            "\"/auth\"",
            "\"/missing\"",
            "\"/missing\" is not there; write the value of the peer's auth_key into it, one line of letters and digits",
        ),
        ("\"/auth\"", "\"/words\"", "\"/words\" holds no key"),
        (
            "\"sha256\"\n",
            "\"sha256\"\nkeepalive = \"1 ms\"\n",
            "write a time from \"100 ms\" to \"255 s\", or \"0\"",
        ),
        ("\"sha256\"\n", "\"sha256\"\ndead = \"1 ms\"\n", "connection.mptsrv.dead"),
        (
            "\"sha256\"\n",
            "\"sha256\"\ncommand_port = 0\n",
            "connection.mptsrv.command_port: 0 is not a port",
        ),
        ("\"sha256\"\n", "\"sha256\"\ncommand_port = 23456\n", "23456 is the port of a path"),
        ("\"sha256\"\n", "\"sha256\"\nkeep = 1\n", "unknown key; did you mean keepalive?"),
        ("\"sha256\"\n", "\"sha256\"\ncreate = \"ask\"\n", "create_key_file: missing"),
        (
            "\"sha256\"\n",
            "\"sha256\"\ncreate_key_file = \"/auth\"\n",
            "has no effect without create",
        ),
        (
            "\"sha256\"\n",
            "\"sha256\"\ncreate = \"ask\"\ncreate_key_file = \"/auth\"\n",
            "after a creation the prototype authenticates by the key built into it",
        ),
        (
            "\"sha256\"\n",
            "\"sha256\"\ncreate = \"ask\"\ncreate_key_file = \"/auth\"\n",
            "the prototype has one data port for all paths",
        ),
        (
            "compat = \"mptsrv\"\n",
            "compat = \"mptsrv\"\nkey = 1\n",
            "connection.key: the prototype takes a GRE key for data",
        ),
        ("compat = \"mptsrv\"\n", "compat = \"mptsrv\"\nchecksum = true\n", "connection.checksum"),
        (
            "compat = \"mptsrv\"\n",
            "compat = \"mptsrv\"\nmapping = \"duplicate\"\n",
            "connection.mapping",
        ),
        (
            "compat = \"mptsrv\"\n",
            "compat = \"mptsrv\"\nmapping = \"adaptive\"\n",
            "connection.mapping: \"adaptive\": the prototype does not report",
        ),
        ("compat = \"mptsrv\"\n", "compat = \"mptsrv\"\necn = \"normal\"\n", "connection.ecn"),
        (
            "remote = \"10.2.2.3\"",
            "remote = \"vpn.example.org\"",
            "connection.path.remote: is a name",
        ),
        (
            "local = \"10.2.2.2\"",
            "interface = \"eth0\"",
            "connection.path.local: missing: the peer knows paths by their addresses",
        ),
        (
            "local = \"10.2.2.2\"",
            "local = \"10.2.2.2\"\npublic = \"fd00::1\"",
            "connection.path.public: fd00::1 is not of the family",
        ),
        (
            "local = \"10.2.2.2\"",
            "local = \"10.2.2.2\"\nsource_port = \"entropy\"",
            "connection.path.source_port",
        ),
    ] {
        let told = errors(good, bad);
        assert!(told.contains(expected), "{bad}: {expected} is not in\n{told}");
        assert!(told.lines().all(|line| line.starts_with("mpt.toml:")), "{told}");
    }
}

#[test]
fn an_address_for_others_needs_the_prototype() {
    let text = GOOD
        .replace("compat = \"mptsrv\"\n", "")
        .replace("[connection.mptsrv]\nremote = \"10.0.0.3\"\n", "")
        .replace("authentication = \"sha256\"\nauth_key_file = \"/auth\"\n", "")
        .replace("local = \"10.2.2.2\"", "local = \"10.2.2.2\"\npublic = \"10.9.9.9\"");
    let told = check_text_with("mpt.toml", &text, &key).expect_err("the file is bad").to_string();
    assert!(
        told.contains("connection.path.public: 10.9.9.9 has no effect without compat"),
        "{told}"
    );
}

#[test]
fn what_keeps_nobody_out_is_warned_of() {
    let built_in = checked(&GOOD.replace("\"/auth\"", "\"default\""));
    assert_eq!(built_in.warnings.len(), 1);
    assert!(built_in.warnings[0].to_string().contains("known to everybody"));
    // A path that the prototype would not use.
    let one_address = GOOD.replace("10.2.2.2", "10.1.1.2").replace("local_port = 23456\n", "");
    let warnings = checked(&one_address).warnings;
    assert!(warnings[0].to_string().contains("have one address at this host"), "{warnings:?}");
}

#[test]
fn two_connections_between_the_same_ends_are_refused() {
    let second = GOOD[GOOD.find("[[connection]]").unwrap()..]
        .replace("\"site\"", "\"other\"")
        .replace("[\"10.0.0.3\"]", "[\"10.7.0.0/16\"]")
        .replace("10.1.1.3", "10.1.1.4")
        .replace("10.2.2.3", "10.2.2.4");
    let told = check_text_with("mpt.toml", &format!("{GOOD}{second}"), &key);
    let told = told.expect_err("the file is bad").to_string();
    assert!(told.contains("connection \"site\" has the same two ends"), "{told}");
}

#[test]
fn changes_are_seen_and_written_back() {
    let loaded = checked(GOOD).config;
    let changed = GOOD
        .replace("\"sha256\"\n", "\"sha256\"\nkeepalive = \"2 s\"\ndead = \"0\"\n")
        .replace("\"/auth\"", "\"default\"\ncreate = \"answer\"\ncreate_key_file = \"/auth\"")
        .replace("remote = \"10.2.2.3\"", "remote = \"10.2.2.3\"\nlocal_port = 23456\nremote_port = 23456\npublic = \"10.9.9.9\"\nnat = true");
    let running = checked(&changed).config;
    let plan = diff(&loaded, &running);
    let told: Vec<_> = plan.changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "connection site: path p1 taken down to be replaced",
            "connection site: mptsrv changed",
            "connection site: path p1 added"
        ]
    );
    let written = save("mpt.toml", GOOD, &running, "site", &key).unwrap().expect("it differs");
    assert_eq!(checked(&written).config, running, "{written}");

    // Switched off, it is another connection.
    let plain = GOOD
        .replace("compat = \"mptsrv\"\n", "")
        .replace("[connection.mptsrv]\nremote = \"10.0.0.3\"\n", "")
        .replace("authentication = \"sha256\"\nauth_key_file = \"/auth\"\n", "");
    let plain = checked(&plain).config;
    let written = save("mpt.toml", GOOD, &plain, "site", &key).unwrap().expect("it differs");
    assert_eq!(checked(&written).config, plain, "{written}");
    assert!(!written.contains("mptsrv"));
}
