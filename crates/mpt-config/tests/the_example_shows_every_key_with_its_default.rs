//! `examples/mpt.toml` is the reference of the configuration; here it is held to what the daemon reads.

use mpt_config::{Checked, check_text_with};
use mpt_core::session::PrivateKey;

const EXAMPLE: &str = include_str!("../../../examples/mpt.toml");

/// A line of the example without its comment sign, if it is a commented key (or table) introduced by `sign`.
fn uncommented<'a>(line: &'a str, sign: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(sign)?;
    let key: &str = rest.split(" = ").next()?;
    let is_key = rest.contains(" = ") && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    (is_key || rest.starts_with('[')).then_some(rest)
}

fn checked(text: &str) -> Checked {
    let key = |_: &std::path::Path| Ok(PrivateKey::from_seed([7; 32]).to_base64());
    check_text_with("mpt.toml", text, &key).unwrap_or_else(|errors| panic!("{errors}"))
}

fn with_defaults(line: &str) -> &str {
    uncommented(line, "# ").unwrap_or(line)
}

fn with_examples(line: &str) -> &str {
    uncommented(line, "# e.g. ").unwrap_or(line)
}

fn map_lines(text: &str, change: fn(&str) -> &str) -> String {
    text.lines().map(|line| format!("{}\n", change(line))).collect()
}

#[test]
fn it_is_a_good_file() {
    assert_eq!(checked(EXAMPLE).warnings, []);
}

#[test]
fn its_commented_keys_are_the_defaults() {
    let explicit = map_lines(EXAMPLE, with_defaults);
    assert_ne!(explicit, EXAMPLE);
    assert_eq!(checked(&explicit), checked(EXAMPLE));
}

/// In tables that are examples themselves, the keys that are said to be the defaults.
#[test]
fn what_it_calls_a_default_within_an_example_is_one() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    let without: String = (complete.lines())
        .filter(|line| !line.ends_with("# the default"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(without, complete);
    // Warnings name lines, which are others.
    let what = |text: &str| {
        let Checked { config, known_keys, .. } = checked(text);
        (config, known_keys)
    };
    assert_eq!(what(&without), what(&complete));
}

#[test]
fn the_other_examples_are_good() {
    let client = checked(include_str!("../../../examples/client.toml"));
    assert_eq!(client.warnings, []);
    let connection = &client.config.connections[0];
    assert!(client.config.devices[0].assigned);
    assert!(connection.peer.as_ref().is_some_and(|peer| peer.create && peer.initiate));
    assert!(connection.paths.iter().all(|path| path.remote_name.is_some() && !path.learn));

    let concentrator = checked(include_str!("../../../examples/concentrator.toml"));
    assert_eq!(concentrator.warnings, []);
    assert_eq!(concentrator.config.clients.len(), 2);
    assert_eq!(concentrator.config.controllers[0].allow.len(), 3);
    assert!(concentrator.config.daemon.private_key.is_some());
}

#[test]
fn it_holds_every_key_and_no_other() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    let checked = checked(&complete);
    let mut table = String::new();
    let mut shown: Vec<String> = Vec::new();
    for line in complete.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']', ' ']).to_owned();
            shown.push(table.clone());
        } else if let Some((key, _)) = line.split_once(" = ") {
            shown.push(format!("{table}.{key}"));
        }
    }
    shown.sort();
    shown.dedup();
    assert_eq!(shown, checked.known_keys);
}

#[test]
fn its_examples_are_good_values() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    let config = checked(&complete).config;
    let connection = &config.connections[0];
    assert_eq!(connection.key, Some(1));
    assert_eq!(
        connection.selectors[0].to_string(),
        "192.168.2.0/24 from 192.168.1.0/24 protocol 17 source port 10000-20000 destination port 5060 DSCP 46"
    );
    assert_eq!(connection.paths[0].interface.as_deref(), Some("eth0"));
    assert_eq!(connection.paths[0].rate, Some(100_000_000));
    assert!(connection.peer.as_ref().is_some_and(|peer| peer.psk.is_some() && peer.initiate));
    assert_eq!(config.clients[0].networks.len(), 1);
    assert_eq!(config.pools[0].networks.len(), 2);
}
