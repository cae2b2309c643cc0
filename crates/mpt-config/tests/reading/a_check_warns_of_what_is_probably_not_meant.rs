//! `mptd --check` warns, with line and remedy, of files that are allowed but will disappoint.

use mpt_config::{check_text, check_text_with};
use mpt_core::session::PrivateKey;

fn file(connection: &str, dsl: &str, lte: &str) -> String {
    format!(
        r#"[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
{connection}
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
{dsl}
[[connection.path]]
name = "lte"
local = "10.0.2.1"
remote = "10.0.2.2"
{lte}
"#
    )
}

fn warnings(connection: &str, dsl: &str, lte: &str) -> String {
    let text = file(connection, dsl, lte);
    let checked = check_text("mpt.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let lines: Vec<_> = checked.warnings.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// imareen2025 section 2.2. At 500 Mbit/s 41,667 packets of 1500 bytes arrive in a second, 12,500 within 300 ms.
#[test]
fn a_window_too_small_for_rates_and_delay() {
    let rate = "rate = \"250 Mbit/s\"";
    assert_eq!(warnings("window = 12500", rate, rate), "");
    assert_eq!(
        warnings("window = 12499", rate, rate),
        "mpt.toml:7: connection.window: 12499 packets cannot hold the 12500 that arrive at full rate within max_delay = \
         \"300 ms\", so packets will be released early; write window = 12500, or max_delay = \"299 ms\""
    );
    // Switched off on purpose, or not our side's concern.
    assert_eq!(warnings("window = 0", rate, rate), "");
    assert_eq!(warnings("window = 9\ndirection = \"send\"", rate, rate), "");
    // Without all rates there is nothing to go by.
    assert_eq!(warnings("window = 9", rate, ""), "");
}

#[test]
fn a_rate_too_high_for_any_window() {
    let rate = "rate = \"10 Gbit/s\"";
    assert_eq!(
        warnings("window = 65535", rate, rate),
        "mpt.toml:7: connection.window: 65535 packets cannot hold the 500000 that arrive at full rate within max_delay = \
         \"300 ms\", so packets will be released early; write window = 65535 and max_delay = \"39 ms\""
    );
}

/// almasi2017, equation 1.
#[test]
fn weights_that_waste_the_faster_path() {
    assert_eq!(
        warnings("", "rate = \"100 Mbit/s\"", "rate = \"10 Mbit/s\""),
        "mpt.toml:8: connection.path.weight: with these weights the paths carry 20 of their 110 Mbit/s; write 10 for \
         \"dsl\", 1 for \"lte\""
    );
    assert_eq!(warnings("", "rate = \"100 Mbit/s\"\nweight = 10", "rate = \"10 Mbit/s\""), "");
    assert_eq!(warnings("", "rate = \"100 Mbit/s\"", "rate = \"10 Mbit/s\"\ntier = 1"), "");
    assert_eq!(warnings("mapping = \"flow\"", "rate = \"100 Mbit/s\"", "rate = \"10 Mbit/s\""), "");
}

/// A session measures what the paths carry.
#[test]
fn weights_that_nobody_looks_at() {
    let session = |more: &str| {
        let peer =
            "[connection.peer]\npublic_key = \"D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws=\"";
        let text = file(&format!("{more}{peer}"), "weight = 10", "");
        let key = |_: &_| Ok(PrivateKey::from_seed([7; 32]).to_base64());
        let checked = check_text_with("mpt.toml", &text, &key);
        checked.unwrap_or_else(|errors| panic!("{errors}")).warnings
    };
    let told: Vec<_> = session("").iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "mpt.toml:13: connection.path.weight: 10 has no effect with mapping = \"adaptive\", which measures what each path \
          carries; leave it out, or write mapping = \"packet\""
        ]
    );
    assert!(session("mapping = \"packet\"\n").is_empty());
}

#[test]
fn packets_without_numbers_over_several_paths() {
    assert_eq!(
        warnings("sequence = false", "", ""),
        "mpt.toml:7: connection.sequence: false, so packets arrive in whatever order the paths deliver them, which TCP takes \
         for loss; write true, or mapping = \"flow\""
    );
    assert_eq!(warnings("sequence = false\nmapping = \"flow\"", "", ""), "");
    assert_eq!(
        warnings("sequence = true\nmapping = \"flow\"", "", ""),
        "mpt.toml:7: connection.sequence: true has no effect with mapping = \"flow\"; leave it out"
    );
}

#[test]
fn a_fallback_without_a_route() {
    for fallback in ["block", "direct"] {
        assert_eq!(
            warnings(&format!("fallback = \"{fallback}\"\nroutes = false"), "", ""),
            "mpt.toml:7: connection.fallback: has no effect, since the connection routes no network into its device; leave it out"
        );
        assert_eq!(warnings(&format!("fallback = \"{fallback}\""), "", ""), "");
    }
}

#[test]
fn selectors_that_do_nothing_or_too_much() {
    assert_eq!(
        warnings("direction = \"receive\"\n[[connection.select]]\ndscp = \"EF\"", "", ""),
        "mpt.toml:8: connection.select: has no effect with direction = \"receive\"; leave it out"
    );
    assert_eq!(
        warnings("[[connection.select]]\ndestination = \"192.168.0.0/16\"", "", ""),
        "mpt.toml:8: connection.select.destination: 192.168.0.0/16 is not within networks, so answers from there will be \
         dropped; write it into networks, too"
    );
}

#[test]
fn a_remote_inside_the_tunnel() {
    let text = file("", "", "").replace("[\"10.9.0.2\"]", "[\"10.0.2.0/24\"]");
    let checked = check_text("mpt.toml", &text).unwrap();
    let lines: Vec<_> = checked.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "mpt.toml:16: connection.path.remote: 10.0.2.2 lies within 10.0.2.0/24, which is routed into the tunnel; make sure \
          that a longer route leads to it outside, or write routes = false"
        ]
    );
}

#[test]
fn all_paths_down() {
    assert_eq!(
        warnings("", "up = false", "up = false"),
        "mpt.toml:4: connection.path: every path of connection \"office\" starts down; write up = true"
    );
    assert_eq!(warnings("", "up = false", ""), "");
}

#[test]
fn a_device_mtu_larger_than_the_paths() {
    let text =
        file("", "mtu = 1492", "").replace("\"10.9.0.1/30\"]", "\"10.9.0.1/30\"]\nmtu = 1464");
    let checked = check_text("mpt.toml", &text).unwrap();
    let lines: Vec<_> = checked.warnings.iter().map(ToString::to_string).collect();
    // 1492 - 20 (IPv4) - 8 (UDP) - 8 (GRE with sequence number).
    assert_eq!(
        lines,
        [
            "mpt.toml:4: device.mtu: 1464 is more than the 1456 bytes that fit the paths of connection \"office\"; larger \
          packets will be answered \"too big\"; write 1456, or leave mtu out"
        ]
    );
}

#[test]
fn nothing_to_carry() {
    let text = "[[device]]\nname = \"mpt0\"\naddresses = [\"10.9.0.1/30\"]\n";
    let checked = check_text("mpt.toml", text).unwrap();
    assert_eq!(
        checked.warnings[0].to_string(),
        "mpt.toml:1: connection: there is none, so nothing is carried; write a [[connection]]"
    );
}

#[test]
fn keys_of_a_cap_that_is_not_there() {
    let told = warnings("", "cap_day = 3", "at_cap = \"stop\"\ncap_counts = \"sent\"");
    assert_eq!(
        told,
        "mpt.toml:12: connection.path.cap_day: has no effect without cap; leave it out, or write cap = \"50 GB/month\"\n\
         mpt.toml:17: connection.path.at_cap: has no effect without cap; leave it out, or write cap = \"50 GB/month\"\n\
         mpt.toml:18: connection.path.cap_counts: has no effect without cap; leave it out, or write cap = \"50 GB/month\""
    );
    let sent = "cap = \"1 GB/day\"\ncap_counts = \"sent\"";
    assert_eq!(
        warnings("", &format!("{sent}\ncap_day = 3"), ""),
        "mpt.toml:14: connection.path.cap_day: has no effect on a cap for a day; leave it out"
    );
}

#[test]
fn a_cap_of_which_the_peer_is_not_told() {
    let cap = "cap = \"50 GB/month\"";
    assert_eq!(
        warnings("", cap, ""),
        "mpt.toml:12: connection.path.cap: without [connection.peer] the peer is not told that the path has reached its cap, and \
         goes on sending on it; write cap_counts = \"sent\", or add a [connection.peer]"
    );
    assert_eq!(warnings("", &format!("{cap}\ncap_counts = \"sent\""), ""), "");
    assert_eq!(warnings("", &format!("{cap}\nat_cap = \"warn\""), ""), "");
}
