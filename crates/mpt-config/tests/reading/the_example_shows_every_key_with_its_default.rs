//! `examples/mpt.toml` and mpt.toml(5) are the reference of the configuration; here they are held to what the daemon reads.

use mpt_config::{Checked, check_text_with, example, manual_page, tables};
use mpt_core::session::PrivateKey;

const EXAMPLE: &str = include_str!("../../../../examples/mpt.toml");

/// A line of the example without its comment sign, if it is a commented key (or table) introduced by `sign`.
fn uncommented<'a>(line: &'a str, sign: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(sign)?;
    let is_toml = rest.parse::<toml::Table>().is_ok_and(|table| !table.is_empty());
    (is_toml && !rest.starts_with("e.g.")).then_some(rest)
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

/// Keys of tables that are examples themselves have their defaults where they are said to.
#[test]
fn what_it_calls_a_default_within_an_example_is_one() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    let without: String = (complete.lines())
        .filter(|line| !line.ends_with("# the default"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(without, complete);
    // Warnings name lines, which are others.
    let what = |text: &str| checked(text).config;
    assert_eq!(what(&without), what(&complete));
}

#[test]
fn the_other_examples_are_good() {
    let client = checked(include_str!("../../../../examples/client.toml"));
    assert_eq!(client.warnings, []);
    let connection = &client.config.connections[0];
    assert!(client.config.devices[0].assigned);
    assert!(connection.peer.as_ref().is_some_and(|peer| peer.create && peer.initiate));
    assert!(connection.paths.iter().all(|path| path.remote.name().is_some()));

    let concentrator = checked(include_str!("../../../../examples/concentrator.toml"));
    assert_eq!(concentrator.warnings, []);
    assert_eq!(concentrator.config.clients.len(), 2);
    assert_eq!(concentrator.config.controllers[0].allow.len(), 3);
    assert!(concentrator.config.daemon.private_key.is_some());
}

/// The tables and keys that there are, as "connection.path.weight".
fn known() -> Vec<String> {
    let of = |table: &mpt_config::TableDoc| {
        let keys = table.keys.iter().map(|key| format!("{}.{}", table.name, key.name));
        keys.chain([table.name.to_owned()]).collect::<Vec<_>>()
    };
    let mut known: Vec<String> = tables().iter().flat_map(of).collect();
    known.sort();
    known
}

#[test]
fn it_is_what_the_table_of_keys_makes() {
    let made = example();
    for (index, (line, made)) in EXAMPLE.lines().zip(made.lines()).enumerate() {
        assert_eq!(line, made, "line {}; write it anew: make example", index + 1);
    }
    assert_eq!(EXAMPLE.len(), made.len(), "write it anew: make example");
}

#[test]
fn it_holds_every_key_and_no_other() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    checked(&complete);
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
    assert_eq!(shown, known());
}

/// A file that holds an unknown key is told the keys that there are.
#[test]
fn every_table_knows_its_keys_and_no_other() {
    let complete = map_lines(&map_lines(EXAMPLE, with_defaults), with_examples);
    let key = |_: &std::path::Path| Ok(PrivateKey::from_seed([7; 32]).to_base64());
    for table in tables() {
        let header = format!("\n{}\n", table.header);
        let with = complete.replacen(&header, &format!("{header}qqqqq = 1\n"), 1);
        let errors = check_text_with("mpt.toml", &with, &key).expect_err(&table.header);
        let errors = errors.to_string();
        let (_, listed) = errors.split_once("unknown key; write one of ").expect(&errors);
        let mut listed: Vec<_> = listed.lines().next().unwrap().split(", ").collect();
        // Those of tables within it.
        listed
            .retain(|name| !tables().iter().any(|it| it.name == format!("{}.{name}", table.name)));
        let mut names: Vec<_> = table.keys.iter().map(|key| key.name).collect();
        listed.sort_unstable();
        names.sort_unstable();
        assert_eq!(listed, names, "{}", table.name);
    }
}

#[test]
fn the_manual_page_explains_every_key() {
    let page = manual_page();
    for table in tables() {
        let heading = format!(".SH \"{}\"\n", table.header);
        let (_, part) = page.split_once(&heading).unwrap_or_else(|| panic!("no {heading}"));
        let part = part.split(".SH").next().unwrap();
        for key in &table.keys {
            let entry = format!(".TP\n.B {}\n{}", key.name, &key.text[..1]);
            assert!(part.contains(&entry), "{}.{}: {part}", table.name, key.name);
            assert!(key.text.len() > 20, "{}.{} is explained", table.name, key.name);
        }
    }
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
    let bounds = |path: &mpt_config::Path| (path.max_rate, path.min_rate);
    assert_eq!(bounds(&config.connections[1].paths[0]), (Some(20_000_000), Some(5_000_000)));
    assert!(connection.peer.as_ref().is_some_and(|peer| peer.psk.is_some() && peer.initiate));
    assert_eq!(config.clients[0].networks.len(), 1);
    assert_eq!(config.pools[0].networks.len(), 2);
}
