//! Every mistake in a file is reported with file, line, key and what to write instead, and all of them at once.

use std::path::Path;

use mpt_api::{Ecn, Mapping};
use mpt_config::{KeyFileError, check_text, check_text_with, load};
use mpt_core::session::{PresharedKey, PrivateKey};
use proptest::prelude::*;

/// A good file with one device and one connection over two paths.
const GOOD: &str = r#"[daemon]
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
[[connection.path]]
name = "lte"
local = "10.0.2.1"
remote = "10.0.2.2"
"#;

/// A second connection that has to be told apart from the first.
const SECOND: &str = r#"[[connection]]
name = "branch"
networks = ["10.9.0.3"]
key = 2
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
"#;

/// All errors of a text, one per line.
fn errors(text: &str) -> String {
    check_text("mpt.toml", text).expect_err("the file is bad").to_string()
}

/// All errors of the good file with one line replaced.
fn with(good: &str, bad: &str) -> String {
    assert_eq!(
        GOOD.matches(good).count(),
        1,
        "{good} does not stand exactly once in the good file"
    );
    errors(&GOOD.replace(good, bad))
}

/// All errors of both connections, with one line of the second replaced.
fn with_second(good: &str, bad: &str) -> String {
    assert_eq!(SECOND.matches(good).count(), 1, "{good} does not stand exactly once");
    errors(&format!("{GOOD}{}", SECOND.replace(good, bad)))
}

/// A file with everything that has to do with keys.
const NATIVE: &str = r#"[daemon]
listen = ["10.0.1.1"]
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/24"]
[[device]]
name = "mpt1"
addresses = "assigned"
[[connection]]
name = "office"
device = "mpt1"
networks = ["0.0.0.0/0"]
[connection.peer]
public_key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo="
create = true
[[connection.path]]
name = "dsl"
interface = "eth0"
remote = "vpn.example.org"
[[connection]]
name = "branch"
device = "mpt0"
networks = ["10.9.0.2"]
[connection.peer]
public_key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo="
psk_file = "/psk"
[[connection.path]]
name = "any"
local = "10.0.1.1"
[[pool]]
name = "pool"
networks = ["10.8.0.0/24", "fd00:8::/64"]
[[client]]
name = "anna"
public_key = "yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo="
device = "mpt0"
pool = "pool"
[[client]]
name = "sensor"
public_key = "D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws="
device = "mpt0"
addresses = ["10.9.0.17/24"]
networks = ["192.168.7.0/24"]
[[controller]]
name = "noc"
public_key = "9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw="
allow = ["show"]
"#;

/// Key files that are good, and some that are not.
fn key(file: &Path) -> Result<zeroize::Zeroizing<String>, KeyFileError> {
    match file.to_str() {
        Some("/etc/mpt/private.key") => Ok(PrivateKey::from_seed([7; 32]).to_base64()),
        Some("/psk") => Ok(PresharedKey::from_seed([8; 32]).to_base64()),
        Some("/hello") => Ok("hello\n".to_owned().into()),
        Some("/missing") => Err(KeyFileError::Missing),
        _ => Err(KeyFileError::Unusable { fault: "is open".into(), remedy: "close it".into() }),
    }
}

/// All errors of the file with keys, with one line replaced, or several.
fn with_keys(good: &str, bad: &str) -> String {
    assert!(NATIVE.contains(good), "{good} does not stand in the file");
    let text = NATIVE.replacen(good, bad, 1);
    check_text_with("mpt.toml", &text, &key).expect_err("the file is bad").to_string()
}

/// The peer of adaptive mapping is mpt, which complies with RFC 6040.
#[test]
fn congestion_is_marked_in_both_headers_with_adaptive_mapping_unless_the_file_says_otherwise() {
    for (more, expected) in [
        ("", Ecn::Normal),
        ("mapping = \"packet\"\n", Ecn::Compatibility),
        ("ecn = \"compatibility\"\n", Ecn::Compatibility),
    ] {
        let text = NATIVE.replace("name = \"branch\"\n", &format!("name = \"branch\"\n{more}"));
        let checked = check_text_with("mpt.toml", &text, &key);
        let config = checked.unwrap_or_else(|errors| panic!("{errors}")).config;
        assert_eq!(config.connections[1].ecn, expected, "{more}");
    }
}

/// A connection without reports of a session, or without numbers that they could speak of, learns nothing; others learn unless the file says
/// otherwise.
#[test]
fn a_session_with_numbered_packets_learns_what_its_paths_carry_unless_the_file_says_otherwise() {
    for (text, connection, expected) in [
        (NATIVE.to_owned(), 1, Mapping::Adaptive),
        (
            NATIVE.replace("name = \"branch\"\n", "name = \"branch\"\nsequence = false\n"),
            1,
            Mapping::Packet,
        ),
        (
            NATIVE.replace("name = \"branch\"\n", "name = \"branch\"\nmapping = \"packet\"\n"),
            1,
            Mapping::Packet,
        ),
        (GOOD.to_owned(), 0, Mapping::Packet),
    ] {
        let checked = check_text_with("mpt.toml", &text, &key);
        let config = checked.unwrap_or_else(|errors| panic!("{errors}")).config;
        assert_eq!(config.connections[connection].mapping, expected, "{text}");
    }
}

#[test]
fn the_good_files_are_good() {
    check_text_with("mpt.toml", NATIVE, &key).unwrap_or_else(|errors| panic!("{errors}"));
    check_text("mpt.toml", GOOD).unwrap();
    check_text("mpt.toml", &format!("{GOOD}{SECOND}")).unwrap();
}

macro_rules! bad {
    ($($name:ident: $text:expr => $message:expr;)*) => {
        $(#[test]
        fn $name() {
            assert_eq!($text, $message);
        })*
    };
}

bad! {
    weight_zero: with("name = \"dsl\"", "name = \"dsl\"\nweight = 0") =>
        "mpt.toml:10: connection.path.weight: 0 is not a weight; write an integer from 1 to 65535";
    weight_too_large: with("name = \"dsl\"", "name = \"dsl\"\nweight = 65536") =>
        "mpt.toml:10: connection.path.weight: 65536 is not a weight; write an integer from 1 to 65535";
    weight_negative: with("name = \"dsl\"", "name = \"dsl\"\nweight = -1") =>
        "mpt.toml:10: connection.path.weight: -1 is not a weight; write an integer from 1 to 65535";
    weight_string: with("name = \"dsl\"", "name = \"dsl\"\nweight_in = \"3\"") =>
        "mpt.toml:10: connection.path.weight_in: \"3\" is not a weight; write an integer from 1 to 65535";
    window_too_large: with("name = \"office\"", "name = \"office\"\nwindow = 65_536") =>
        "mpt.toml:7: connection.window: 65536 is not a window in packets; write an integer from 0 to 65535";
    delay_without_unit: with("name = \"office\"", "name = \"office\"\nmax_delay = 300") =>
        "mpt.toml:7: connection.max_delay: 300 is not a time with its unit; write a time from \"1 ms\" to \"10 s\"";
    delay_too_long: with("name = \"office\"", "name = \"office\"\nmax_delay = \"1 min\"") =>
        "mpt.toml:7: connection.max_delay: \"1 min\" is out of range; write a time from \"1 ms\" to \"10 s\"";
    key_too_large: with("name = \"office\"", "name = \"office\"\nkey = 0x1_0000_0000") =>
        "mpt.toml:7: connection.key: 0x100000000 is not a GRE key; write an integer from 0 to 4294967295";
    not_a_boolean: with("name = \"office\"", "name = \"office\"\nsequence = \"yes\"") =>
        "mpt.toml:7: connection.sequence: \"yes\" is not a boolean; write true or false";
    not_a_known_word: with("name = \"office\"", "name = \"office\"\nmapping = \"packets\"") =>
        "mpt.toml:7: connection.mapping: \"packets\" is not known; write \"packet\", \"adaptive\", \"flow\" or \"duplicate\"";
    unknown_key: with("name = \"dsl\"", "name = \"dsl\"\nwieght = 3") =>
        "mpt.toml:10: connection.path.wieght: unknown key; did you mean weight?";
    unknown_key_like_no_other: with("name = \"mpt0\"", "name = \"mpt0\"\nqqq = 3") =>
        "mpt.toml:4: device.qqq: unknown key; write one of name, addresses, mtu";
    unknown_table: with("[daemon]", "[demon]") =>
        "mpt.toml:1: demon: unknown key; did you mean daemon?";
    single_brackets: with("[[device]]", "[device]") =>
        "mpt.toml:2: device: there may be several, so the brackets are double; write [[device]]";
    double_brackets: with("[daemon]", "[[daemon]]") =>
        "mpt.toml:1: daemon: there is only one; write [daemon], with single brackets";
    not_toml: with("name = \"mpt0\"", "name = mpt0") =>
        "mpt.toml:3: string values must be quoted, expected literal string";
    key_twice: with("name = \"mpt0\"", "name = \"mpt0\"\nname = \"mpt1\"") =>
        "mpt.toml:4: duplicate key";
    empty_file: errors("") =>
        "mpt.toml:1: device: missing; write [[device]] with a name and addresses";
    no_networks: with("networks = [\"10.9.0.2\"]\n", "") =>
        "mpt.toml:5: connection.networks: missing; write networks = [\"192.168.2.0/24\"], the networks behind the peer";
    no_name: with("name = \"dsl\"\n", "") =>
        "mpt.toml:8: connection.path.name: missing; write name = \"dsl\"";
    no_remote: with("remote = \"10.0.1.2\"\n", "") =>
        "mpt.toml:8: connection.path.remote: missing; write remote = \"...\" with the address of the peer";
    no_local: with("local = \"10.0.1.1\"\n", "") =>
        "mpt.toml:8: connection.path.local: missing; write local = \"...\" with an address of this host, or interface = \"...\"";
    no_paths: errors(&GOOD[..GOOD.find("[[connection.path]]").unwrap()]) =>
        "mpt.toml:5: connection.path: missing; write [[connection.path]] with a name, local and remote";
    not_an_address: with("remote = \"10.0.1.2\"", "remote = \"10.0.1.300\"") =>
        "mpt.toml:11: connection.path.remote: \"10.0.1.300\" is not an IP address; write the address of the peer, or its name";
    remote_with_another_port: with("remote = \"10.0.1.2\"", "remote = \"vpn.example.org:4755\"\nremote_port = 4754") =>
        "mpt.toml:12: connection.path.remote_port: 4754 is another port than that in remote, 4755; leave one of them out";
    ipv6_where_ipv4_belongs: with("remote = \"10.0.1.2\"", "remote = \"2001:db8::2\"") =>
        "mpt.toml:10: connection.path.local: 10.0.1.1 is an IPv4 address, but remote 2001:db8::2 is IPv6; write two addresses of one family";
    ipv4_in_ipv6: with("remote = \"10.0.1.2\"", "remote = \"::ffff:10.0.1.2\"") =>
        "mpt.toml:11: connection.path.remote: \"::ffff:10.0.1.2\" is an IPv4 address in IPv6 form; write \"10.0.1.2\"";
    any_address: with("local = \"10.0.1.1\"", "local = \"0.0.0.0\"") =>
        "mpt.toml:10: connection.path.local: \"0.0.0.0\" stands for any address; write an address of this host, or interface = \"...\"";
    remote_is_local: with("remote = \"10.0.1.2\"", "remote = \"10.0.1.1\"") =>
        "mpt.toml:11: connection.path.remote: 10.0.1.1 is the local address; write the address of the peer";
    link_local_without_interface: with("local = \"10.0.1.1\"\nremote = \"10.0.1.2\"", "local = \"fe80::1\"\nremote = \"fe80::2\"") =>
        "mpt.toml:8: connection.path.interface: missing: link-local addresses say nothing without it; write interface = \"...\"";
    host_bits: with("networks = [\"10.9.0.2\"]", "networks = [\"192.168.2.1/24\"]") =>
        "mpt.toml:7: connection.networks: \"192.168.2.1/24\" has bits set behind its prefix; write \"192.168.2.0/24\"";
    multicast_network: with("networks = [\"10.9.0.2\"]", "networks = [\"224.0.0.0/24\"]") =>
        "mpt.toml:7: connection.networks: \"224.0.0.0/24\" is multicast or link-local; write multicast = true instead";
    networks_not_a_list: with("networks = [\"10.9.0.2\"]", "networks = \"10.9.0.2\"") =>
        "mpt.toml:7: connection.networks: \"10.9.0.2\" is not a list; write [\"192.168.2.0/24\"]";
    address_without_prefix: with("addresses = [\"10.9.0.1/30\"]", "addresses = [\"10.9.0.1\"]") =>
        "mpt.toml:4: device.addresses: \"10.9.0.1\" has no prefix length; write \"10.9.0.1/30\"";
    no_addresses: with("addresses = [\"10.9.0.1/30\"]", "addresses = []") =>
        "mpt.toml:4: device.addresses: is empty; write addresses = [\"10.9.0.1/30\"]";
    device_name_too_long: with("name = \"mpt0\"", "name = \"multipath-tunnel-0\"") =>
        "mpt.toml:3: device.name: \"multipath-tunnel-0\" has 18 bytes, an interface name has at most 15; write a name such as \"mpt0\"";
    device_twice: with("[[connection]]", "[[device]]\nname = \"mpt0\"\naddresses = [\"10.8.0.1/30\"]\n[[connection]]\ndevice = \"mpt0\"") =>
        "mpt.toml:6: device.name: there is a device \"mpt0\" already, in line 3; write another name";
    address_twice: with("[[connection]]", "[[device]]\nname = \"mpt1\"\naddresses = [\"10.9.0.1/24\"]\n[[connection]]\ndevice = \"mpt0\"") =>
        "mpt.toml:7: device.addresses: 10.9.0.1 is an address of device \"mpt0\" already; write another";
    device_not_told: with("[[connection]]", "[[device]]\nname = \"mpt1\"\naddresses = [\"10.8.0.1/30\"]\n[[connection]]") =>
        "mpt.toml:8: connection.device: missing; write device = \"...\" with the name of one [[device]]";
    device_not_there: with("name = \"office\"", "name = \"office\"\ndevice = \"mpt9\"") =>
        "mpt.toml:7: connection.device: there is no device \"mpt9\"; write \"mpt0\"";
    connection_twice: with_second("name = \"branch\"", "name = \"office\"") =>
        "mpt.toml:17: connection.name: there is a connection \"office\" already, in line 6; write another name";
    path_twice: with("name = \"lte\"", "name = \"dsl\"") =>
        "mpt.toml:13: connection.path.name: there is a path \"dsl\" already, in line 9; write another name";
    name_with_a_space: with("name = \"office\"", "name = \"head office\"") =>
        "mpt.toml:6: connection.name: \"head office\" is not a name; write letters, digits, \".\", \"_\", \"-\"";
    network_twice: with("networks = [\"10.9.0.2\"]", "networks = [\"10.9.0.2\", \"10.9.0.2/32\"]") =>
        "mpt.toml:7: connection.networks: 10.9.0.2/32 is listed twice; write it once";
    equal_selectors: with_second("networks = [\"10.9.0.3\"]", "networks = [\"10.9.0.2\"]") =>
        "mpt.toml:18: connection.networks: connections \"office\" and \"branch\" both select 10.9.0.2/32; write a [[connection.select]] that tells them apart, or another network";
    equal_selectors_written: with_second("key = 2", "key = 2\n[[connection.select]]\ndestination = \"10.9.0.2\"\nsource = \"0.0.0.0/0\"") =>
        "mpt.toml:20: connection.select: connections \"office\" and \"branch\" both select 10.9.0.2/32; write a [[connection.select]] that tells them apart, or another network";
    overlapping_ports: with_second("key = 2", "key = 2\n[[connection.select]]\nprotocol = \"udp\"\ndestination_port = \"10-20\"\n[[connection.select]]\nprotocol = \"udp\"\ndestination_port = \"15-25\"") =>
        "mpt.toml:23: connection.select: 10.9.0.3/32 protocol 17 destination port 10-20 (connection \"branch\") and 10.9.0.3/32 protocol 17 destination port 15-25 (connection \"branch\") overlap, and neither range is the smaller one, which would win; write ranges that do not overlap";
    ports_without_protocol: with_second("key = 2", "key = 2\n[[connection.select]]\ndestination_port = 5060") =>
        "mpt.toml:21: connection.select.destination_port: needs a protocol; write protocol = \"tcp\" or \"udp\"";
    ports_of_icmp: with_second("key = 2", "key = 2\n[[connection.select]]\nprotocol = \"icmp\"\nsource_port = 5060") =>
        "mpt.toml:22: connection.select.source_port: the protocol has no ports; write protocol = \"tcp\" or \"udp\", or leave the port out";
    ports_backwards: with_second("key = 2", "key = 2\n[[connection.select]]\nprotocol = \"tcp\"\nsource_port = \"20-10\"") =>
        "mpt.toml:22: connection.select.source_port: \"20-10\" is a range that ends before it starts; write a port such as 5060 or a range such as \"5060-5070\"";
    not_a_dscp: with_second("key = 2", "key = 2\n[[connection.select]]\ndscp = 64") =>
        "mpt.toml:21: connection.select.dscp: 64 is not a DSCP; write a number from 0 to 63 or a name such as \"EF\" or \"AF41\"";
    mixed_selector: with_second("key = 2", "key = 2\n[[connection.select]]\nsource = \"fd00::/64\"") =>
        "mpt.toml:21: connection.select.source: fd00::/64 is IPv6, but networks are not; write networks of one family";
    same_tuple_without_keys: errors(&format!("{GOOD}{}", SECOND.replace("key = 2\n", ""))) =>
        "mpt.toml:19: connection.path: path \"dsl\" has the addresses, ports and key of path \"dsl\" of connection \"office\" (local port 4754 and remote 10.0.1.2); write key = ... with a different number in each connection";
    same_tuple_in_one_connection: with("local = \"10.0.2.1\"\nremote = \"10.0.2.2\"", "local = \"10.0.1.1\"\nremote = \"10.0.1.2\"") =>
        "mpt.toml:12: connection.path: path \"lte\" has the addresses and ports of path \"dsl\" (local port 4754 and remote 10.0.1.2), and what arrives could be of either; write another local address, or a remote_source_port for each";
    two_carry_multicast: errors(&format!("{GOOD}{SECOND}").replace("networks", "multicast = true\nnetworks")) =>
        "mpt.toml:19: connection.multicast: connection \"office\" carries the multicast of device \"mpt0\" already; write false in one of them";
    one_network_on_two_devices: errors(&format!(
        "{}{}[[device]]\nname = \"mpt1\"\naddresses = [\"10.8.0.1/30\"]\n",
        GOOD.replace("name = \"office\"", "name = \"office\"\ndevice = \"mpt0\""),
        SECOND.replace("10.9.0.3\"]", "10.9.0.2\"]\ndevice = \"mpt1\"")
    )) =>
        "mpt.toml:19: connection.networks: 10.9.0.2/32 is routed to device \"mpt0\" by connection \"office\" already; write routes = false in one of them";
    two_fallbacks_of_one_default_route: errors(&format!(
        "{}{}",
        GOOD.replace("10.9.0.2\"]", "10.9.0.2\", \"0.0.0.0/0\"]"),
        SECOND
            .replace("10.9.0.3\"]", "10.9.0.3\", \"0.0.0.0/0\"]")
            .replace("key = 2", "key = 2\nfallback = \"direct\"\n[[connection.select]]\nprotocol = \"udp\"")
    )) =>
        "mpt.toml:20: connection.fallback: differs from that of connection \"office\", which routes 0.0.0.0/0, too; write the same in both";
    two_fallbacks_of_one_network: errors(&format!(
        "{GOOD}{}",
        SECOND
            .replace("10.9.0.3\"]", "10.9.0.2\"]")
            .replace("key = 2", "key = 2\nfallback = \"direct\"\n[[connection.select]]\nprotocol = \"udp\"")
    )) =>
        "mpt.toml:20: connection.fallback: differs from that of connection \"office\", which routes 10.9.0.2/32, too; write the same in both";
    no_fallback: with("name = \"office\"", "name = \"office\"\nfallback = \"drop\"") =>
        "mpt.toml:7: connection.fallback: \"drop\" is not known; write \"block\" or \"direct\"";
    mtu_too_small: with("name = \"dsl\"", "name = \"dsl\"\nmtu = 500") =>
        "mpt.toml:10: connection.path.mtu: 500 is not an MTU; write an integer from 576 to 65535";
    mtu_too_small_for_ipv6_inside: errors(&GOOD.replace("[\"10.9.0.2\"]", "[\"fd00::2\"]").replace("name = \"dsl\"", "name = \"dsl\"\nmtu = 1315")) =>
        "mpt.toml:10: connection.path.mtu: 1315 leaves 1279 bytes for inner packets, IPv6 needs 1280; write at least 1316, or take the IPv6 networks and addresses out";
    mtu_too_small_for_ipv6_outside: errors(&GOOD.replace("10.0.1.", "2001:db8::").replace("name = \"dsl\"", "name = \"dsl\"\nmtu = 1279")) =>
        "mpt.toml:10: connection.path.mtu: 1279 is less than the smallest MTU of IPv6; write an integer from 1280 to 65535";
    device_mtu_too_small_for_ipv6: errors(&GOOD.replace("[\"10.9.0.1/30\"]", "[\"fd00::1/64\"]\nmtu = 1279")) =>
        "mpt.toml:5: device.mtu: 1279 is too small for the device's IPv6 addresses; write at least 1280, or take the IPv6 addresses out";
    entropy_through_a_nat: with("name = \"dsl\"", "name = \"dsl\"\nsource_port = \"entropy\"\nnat = true") =>
        "mpt.toml:10: connection.path.source_port: \"entropy\" does not work through a NAT, which would make a binding for every port; leave source_port out, or write nat = false";
    no_udp_checksum_over_ipv6: errors(&GOOD.replace("10.0.1.", "2001:db8::").replace("name = \"office\"", "name = \"office\"\nudp_checksum = false")) =>
        "mpt.toml:7: connection.udp_checksum: false, but path \"dsl\" runs over IPv6, where mpt always sends the checksum; write true";
    nat_paths_that_differ_in_the_checksum: errors(&format!(
        "{}{}",
        GOOD.replace("name = \"dsl\"", "name = \"dsl\"\nnat = true"),
        SECOND.replace("key = 2", "key = 2\nudp_checksum = false").replace("name = \"dsl\"", "name = \"dsl\"\nnat = true")
    )) =>
        "mpt.toml:21: connection.udp_checksum: false, but path \"dsl\" of connection \"branch\" and path \"dsl\" of connection \"office\" (true, line 5) have one local address and port 4754, and the checksum belongs to the socket; write the same udp_checksum in both connections, or another local_port for one of them";
    a_nat_path_without_checksum_where_another_listens: with_second("key = 2", "key = 2\nudp_checksum = false\n[[connection.path]]\nname = \"two\"\nlocal = \"10.0.2.1\"\nremote = \"10.0.2.2\"\nnat = true") =>
        "mpt.toml:20: connection.udp_checksum: false, but path \"two\" of connection \"branch\" and path \"lte\" of connection \"office\" (true, line 5) have one local address and port 4754, and the checksum belongs to the socket; write the same udp_checksum in both connections, or another local_port for one of them";
    log_format: with("[daemon]", "[daemon]\nlog_format = \"xml\"") =>
        "mpt.toml:2: daemon.log_format: \"xml\" is not known; write \"text\" or \"json\"";
    duplicates_without_numbers: with("name = \"office\"", "name = \"office\"\nmapping = \"duplicate\"\nsequence = false") =>
        "mpt.toml:8: connection.sequence: false, but mapping = \"duplicate\" tells copies by their sequence numbers; write true";
    adaptive_without_numbers: with_keys("name = \"branch\"", "name = \"branch\"\nmapping = \"adaptive\"\nsequence = false") =>
        "mpt.toml:23: connection.sequence: false, but mapping = \"adaptive\" measures the paths by sequence numbers; write true";
    adaptive_without_a_session: with("name = \"office\"", "name = \"office\"\nmapping = \"adaptive\"") =>
        "mpt.toml:7: connection.mapping: \"adaptive\" learns from the reports of a session; add a table [connection.peer], or write \"packet\" with a weight for each path";
    sealed_without_a_session: with("name = \"office\"", "name = \"office\"\nseal = \"on\"") =>
        "mpt.toml:7: connection.seal: data is sealed under the keys of a session; add a table [connection.peer], or write \"off\"";
    sealed_with_a_checksum: with_keys("name = \"branch\"", "name = \"branch\"\nseal = \"require\"\nchecksum = true") =>
        "mpt.toml:23: connection.checksum: true, but sealed packets have a tag that says more; write false, or seal = \"off\"";
    sealed_by_default_with_a_checksum: with_keys("name = \"branch\"", "name = \"branch\"\nchecksum = true") =>
        "mpt.toml:22: connection.checksum: true, but data of a session is sealed unless seal = \"off\", and sealed packets have a tag that says more; write false, or seal = \"off\" at both ends";
    mtu_too_small_for_ipv6_inside_what_is_sealed: with_keys("networks = [\"10.9.0.2\"]\n[connection.peer]\npublic_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\npsk_file = \"/psk\"\n[[connection.path]]\nname = \"any\"", "networks = [\"fd00::2\"]\n[connection.peer]\npublic_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\npsk_file = \"/psk\"\n[[connection.path]]\nname = \"any\"\nmtu = 1335") =>
        "mpt.toml:29: connection.path.mtu: 1335 leaves 1279 bytes for inner packets, IPv6 needs 1280; write at least 1336, take the IPv6 networks and addresses out, or write seal = \"off\" at both ends, which leaves 1299";
    port_zero: with("name = \"dsl\"", "name = \"dsl\"\nremote_port = 0") =>
        "mpt.toml:10: connection.path.remote_port: 0 is not a port; write an integer from 1 to 65535";
    source_port_wrong: with("name = \"dsl\"", "name = \"dsl\"\nsource_port = \"any\"") =>
        "mpt.toml:10: connection.path.source_port: \"any\" is not a port; write \"random\", \"entropy\" or a port from 1 to 65535";
    not_a_user: with("[daemon]", "[daemon]\nuser = \"no one\"") =>
        "mpt.toml:2: daemon.user: \"no one\" is not the name of a user; write the name of a user, such as \"mpt\"";
    relative_socket: with("[daemon]", "[daemon]\ncontrol_socket = \"mptd.sock\"") =>
        "mpt.toml:2: daemon.control_socket: \"mptd.sock\" is not an absolute path; write the whole path, such as \"/run/mpt/mptd.sock\"";
    buffer_limit_too_little: with("[daemon]", "[daemon]\nbuffer_limit = \"4 KiB\"") =>
        "mpt.toml:2: daemon.buffer_limit: \"4 KiB\" is too little; write a size from \"1 MiB\", such as \"64 MiB\"";
    log_level: with("[daemon]", "[daemon]\nlog = \"verbose\"") =>
        "mpt.toml:2: daemon.log: \"verbose\" is not known; write \"error\", \"warn\", \"info\", \"debug\" or \"trace\"";
    rate_without_unit: with("name = \"dsl\"", "name = \"dsl\"\nrate = \"100\"") =>
        "mpt.toml:10: connection.path.rate: \"100\" is not a rate with its unit; write a rate such as \"100 Mbit/s\"";
    max_rate_of_nothing: with_keys("name = \"any\"", "name = \"any\"\nmax_rate = \"0 Mbit/s\"") =>
        "mpt.toml:29: connection.path.max_rate: \"0 Mbit/s\" carries nothing; write a rate such as \"100 Mbit/s\"";
    min_rate_above_max_rate: with_keys("name = \"any\"", "name = \"any\"\nmax_rate = \"5 Mbit/s\"\nmin_rate = \"6 Mbit/s\"") =>
        "mpt.toml:30: connection.path.min_rate: is above max_rate of path \"any\"; write a min_rate that is no greater";
    max_rate_without_a_session: with("name = \"dsl\"", "name = \"dsl\"\nmax_rate = \"5 Mbit/s\"") =>
        "mpt.toml:10: connection.path.max_rate: bounds what is learnt of path \"dsl\", but mapping = \"packet\" learns nothing; leave it out, or write mapping = \"adaptive\", which needs a [connection.peer]";
    min_rate_with_fixed_shares: with("networks = [\"10.9.0.2\"]", "networks = [\"10.9.0.2\"]\nmapping = \"flow\"\n[[connection.path]]\nname = \"x\"\nlocal = \"10.0.3.1\"\nremote = \"10.0.3.2\"\nmin_rate = \"5 Mbit/s\"") =>
        "mpt.toml:13: connection.path.min_rate: bounds what is learnt of path \"x\", but mapping = \"flow\" learns nothing; leave it out, or write mapping = \"adaptive\", which needs a [connection.peer]";
    wrong_type_of_table: with("[daemon]", "daemon = 3") =>
        "mpt.toml:1: daemon: 3 is not a table; write [daemon]";
    no_public_key: with_keys("public_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\n", "") =>
        "mpt.toml:13: connection.peer.public_key: missing; write public_key = \"...\" with the 44 characters that `mpt pubkey` prints at the peer";
    not_a_public_key: with_keys("VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=", "VNGkqZLC2v5RVRmz") =>
        "mpt.toml:14: connection.peer.public_key: \"VNGkqZLC2v5RVRmz\" is not a public key (a key is 44 characters of base64, this text has 16); write the 44 characters that `mpt pubkey` prints at the peer";
    the_key_of_this_end: with_keys("VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=", &PrivateKey::from_seed([7; 32]).public().to_string()) =>
        "mpt.toml:14: connection.peer.public_key: is the key of this host; write the one that `mpt pubkey` prints at the peer";
    private_key_open_to_others: with_keys("[daemon]", "[daemon]\nprivate_key_file = \"/other\"") =>
        "mpt.toml:2: daemon.private_key_file: \"/other\" is open; close it";
    no_private_key: with_keys("[daemon]", "[daemon]\nprivate_key_file = \"/missing\"") =>
        "mpt.toml:2: daemon.private_key_file: \"/missing\" is not there; run `mpt genkey -o /missing`";
    no_preshared_key: with_keys("psk_file = \"/psk\"", "psk_file = \"/missing\"") =>
        "mpt.toml:26: connection.peer.psk_file: \"/missing\" is not there; run `mpt genpsk -o /missing` and copy that file to the peer, or copy the peer's here if it has one";
    private_key_file_relative: with_keys("[daemon]", "[daemon]\nprivate_key_file = \"private.key\"") =>
        "mpt.toml:2: daemon.private_key_file: \"private.key\" is not an absolute path; write the whole path of a key file, such as \"/etc/mpt/private.key\"";
    not_a_key_in_it: with_keys("psk_file = \"/psk\"", "psk_file = \"/hello\"") =>
        "mpt.toml:26: connection.peer.psk_file: \"/hello\" holds no key (a key is 44 characters of base64, this text has 5); write what `mpt genpsk` prints into it";
    keepalive_without_unit: with_keys("create = true", "create = true\nkeepalive = 100") =>
        "mpt.toml:16: connection.peer.keepalive: 100 is not a time with its unit; write a time from \"10 ms\" to \"60 s\", or \"0\"";
    keepalive_too_fast: with_keys("create = true", "create = true\nkeepalive = \"1 ms\"") =>
        "mpt.toml:16: connection.peer.keepalive: \"1 ms\" is out of range; write a time from \"10 ms\" to \"60 s\", or \"0\"";
    idle_faster_than_busy: with_keys("create = true", "create = true\nkeepalive = \"2 s\"\nidle_keepalive = \"1 s\"") =>
        "mpt.toml:17: connection.peer.idle_keepalive: 1 s is shorter than the keepalive of 2 s while packets flow; write at least that";
    dead_at_once: with_keys("create = true", "create = true\ndead = \"150 ms\"") =>
        "mpt.toml:16: connection.peer.dead: 150 ms leaves no room for two keepalives of 100 ms, so that one lost probe would take the path down; write at least \"200 ms\"";
    dead_without_keepalives: with_keys("create = true", "create = true\nkeepalive = \"0\"\ndead = \"1 s\"") =>
        "mpt.toml:17: connection.peer.dead: has no effect with keepalive = \"0\"; leave it out";
    two_peers: with_keys("[connection.peer]", "[[connection.peer]]") =>
        "mpt.toml:13: connection.peer: there is only one; write [connection.peer], with single brackets";
    session_name_too_long: with_keys("name = \"branch\"", &format!("name = \"{}\"", "b".repeat(33))) =>
        format!("mpt.toml:21: connection.name: \"{}\" has 33 bytes, with [connection.peer] it has at most 32; write a shorter name", "b".repeat(33));
    too_many_paths: with_keys("[[pool]]", &format!("{}[[pool]]", (0..128).map(|n| format!("[[connection.path]]\nname = \"p{n}\"\nlocal = \"10.0.1.1\"\n")).collect::<String>())) =>
        "mpt.toml:411: connection.path: connection \"branch\" has 129 paths, with [connection.peer] it has at most 128; write several connections";
    initiate_to_nowhere: with_keys("psk_file = \"/psk\"", "initiate = true") =>
        "mpt.toml:27: connection.path.remote: missing, but initiate = true has this host begin; write remote = \"...\" with the address or name of the peer, or initiate = false";
    create_without_initiating: with_keys("create = true", "create = true\ninitiate = false") =>
        "mpt.toml:16: connection.peer.initiate: false, but create = true has this host begin; write true";
    create_from_another_port: with_keys("remote = \"vpn.example.org\"", "remote = \"vpn.example.org\"\nsource_port = \"random\"") =>
        "mpt.toml:20: connection.path.source_port: the server of create = true answers to the port the path sends from, so it has to be the one it listens on; leave source_port out, or write 4754";
    learning_from_another_port: with_keys("local = \"10.0.1.1\"", "local = \"10.0.1.1\"\nsource_port = \"entropy\"") =>
        "mpt.toml:30: connection.path.source_port: without remote the path has to send from the port it listens on, to which the peer sends; leave source_port out, or write 4754";
    remote_port_of_nobody: with_keys("local = \"10.0.1.1\"", "local = \"10.0.1.1\"\nremote_port = 4755") =>
        "mpt.toml:30: connection.path.remote_port: has no effect without remote; leave it out, or write remote = \"...\"";
    no_listen: with_keys("listen = [\"10.0.1.1\"]\n", "") =>
        "mpt.toml:32: daemon.listen: missing: clients come from anywhere; write listen = [\"198.51.100.1\"] with the addresses of this host that they send to";
    listen_anywhere: with_keys("listen = [\"10.0.1.1\"]", "listen = [\"0.0.0.0\"]") =>
        "mpt.toml:2: daemon.listen: \"0.0.0.0\" stands for any address; write \"198.51.100.1\"";
    assigned_by_nobody: with_keys("create = true\n", "") =>
        "mpt.toml:8: device.addresses: \"assigned\", but connection \"office\" asks nobody for an address; write create = true into its [connection.peer], or addresses = [\"10.9.0.1/30\"]";
    assigned_to_several: with_keys("device = \"mpt0\"\nnetworks = [\"10.9.0.2\"]", "device = \"mpt1\"\nnetworks = [\"10.9.0.2\"]") =>
        "mpt.toml:8: device.addresses: \"assigned\", but not only one connection uses the device; write addresses = [\"10.9.0.1/30\"], or a device for each";
    client_without_addresses: with_keys("pool = \"pool\"\n", "") =>
        "mpt.toml:33: client.pool: missing; write pool = \"...\" with the name of a [[pool]], or addresses = [\"10.8.0.7/24\"]";
    client_with_two_kinds_of_addresses: with_keys("pool = \"pool\"", "pool = \"pool\"\naddresses = [\"10.9.0.9/24\"]") =>
        "mpt.toml:37: client.pool: is set, and addresses, too; write only one of them";
    pool_not_there: with_keys("pool = \"pool\"", "pool = \"loop\"") =>
        "mpt.toml:37: client.pool: there is no pool \"loop\"; write \"pool\"";
    client_twice: with_keys("name = \"sensor\"", "name = \"anna\"") =>
        "mpt.toml:39: client.name: there is a client \"anna\" already, in line 34; write another name";
    client_with_a_dot: with_keys("name = \"anna\"", "name = \"anna.home\"") =>
        "mpt.toml:34: client.name: \"anna.home\" has a dot, which stands between the name of a client and that of its connection; write \"anna-home\"";
    connection_called_like_a_client_s: with_keys("name = \"branch\"", "name = \"anna.branch\"") =>
        "mpt.toml:21: connection.name: \"anna.branch\" reads like a connection of client \"anna\" in line 34; write \"anna-branch\"";
    controller_with_another_psk_than_its_client: with_keys("9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw=\"", "yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo=\"\npsk_file = \"/psk\"") =>
        "mpt.toml:47: controller.psk_file: client \"anna\" with the same public_key in line 35 has no psk_file; write the same psk_file into both tables, or give the controller a key pair of its own";
    controller_without_the_psk_of_its_connection: with_keys("9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw=", "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=") =>
        "mpt.toml:46: controller.psk_file: [connection.peer] of \"branch\" with the same public_key has a psk_file in line 26; write the same psk_file into both tables, or give the controller a key pair of its own";
    client_key_twice: with_keys("D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws=", "yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo=") =>
        "mpt.toml:40: client.public_key: yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo= is the key of client \"anna\" already; write another";
    client_with_our_address: with_keys("[\"10.9.0.17/24\"]", "[\"10.9.0.1/24\"]") =>
        "mpt.toml:42: client.addresses: 10.9.0.1 is an address of this host; write another";
    client_that_shares_its_address: with_keys("name = \"sensor\"", "name = \"sensor\"\nmax_connections = 2\n#") =>
        "mpt.toml:40: client.max_connections: 2 connections cannot share the fixed addresses; write 1, or pool = \"...\" instead of addresses\nmpt.toml:40: client.max_connections: 2 connections cannot share the networks behind the client; write 1, or leave networks out";
    client_with_too_many_paths: with_keys("pool = \"pool\"", "pool = \"pool\"\nmax_paths = 129") =>
        "mpt.toml:38: client.max_paths: 129 is not a number; write an integer from 1 to 128";
    client_without_mappings: with_keys("pool = \"pool\"", "pool = \"pool\"\nmappings = []") =>
        "mpt.toml:38: client.mappings: is empty, so that the client could have no connection; write [\"packet\", \"flow\"]";
    client_with_an_unknown_mapping: with_keys("pool = \"pool\"", "pool = \"pool\"\nmappings = [\"pakcet\"]") =>
        "mpt.toml:38: client.mappings: \"pakcet\" is not a mapping; write \"packet\", \"adaptive\", \"flow\", \"duplicate\"";
    client_silent_too_soon: with_keys("pool = \"pool\"", "pool = \"pool\"\nsilent = \"1 s\"") =>
        "mpt.toml:38: client.silent: \"1 s\" is out of range; write a time from \"30 s\" to \"1440 min\"";
    any_client: with_keys("public_key = \"yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo=\"", "public_key = \"any\"") =>
        "mpt.toml:35: client.public_key: \"any\" is not a public key (a key is 44 characters of base64, this text has 3); write the 44 characters that `mpt pubkey` prints at the peer";
    pool_without_room: with_keys("\"10.8.0.0/24\"", "\"10.8.0.0/31\"") =>
        "mpt.toml:32: pool.networks: 10.8.0.0/31 has no room for clients; write a larger network";
    pool_with_two_of_a_family: with_keys("\"10.8.0.0/24\"", "\"10.8.0.0/24\", \"10.7.0.0/24\"") =>
        "mpt.toml:32: pool.networks: 10.7.0.0/24 is the second of its family; write it into a pool of its own";
    pools_that_overlap: with_keys("[[pool]]", "[[pool]]\nname = \"other\"\nnetworks = [\"10.0.0.0/8\"]\n[[pool]]") =>
        "mpt.toml:35: pool.networks: 10.8.0.0/24 overlaps 10.0.0.0/8 of pool \"other\"; write networks that do not overlap";
    controller_that_may_dance: with_keys("allow = [\"show\"]", "allow = [\"dance\"]") =>
        "mpt.toml:47: controller.allow: \"dance\" is nothing that can be allowed; write \"show\", \"monitor\", \"path\", \"connection\", \"reload\"";
    control_characters_are_escaped: with("name = \"mpt0\"", "name = \"mpt\\u001b[0m\"") =>
        "mpt.toml:3: device.name: \"mpt\\u{1b}[0m\" is not an interface name; write a name such as \"mpt0\"";
}

/// A table that lacks its name or key is read to its end.
#[test]
fn an_error_hides_no_other_of_its_table() {
    let bad = "psk_file = \"/hello\"\nkeepalive = \"1 s\"\ndead = \"1 s\"";
    let errors = with_keys(
        "public_key = \"yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo=\"\ndevice = \"mpt0\"",
        bad,
    );
    for key in
        ["public_key: missing", "psk_file: \"/hello\" holds no key", "dead: 1 s leaves no room"]
    {
        assert!(errors.contains(&format!("client.{key}")), "no {key} in\n{errors}");
    }
}

#[test]
fn a_good_file_loads() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    std::fs::write(&file, GOOD).unwrap();
    let loaded = load(&file).unwrap();
    assert_eq!(loaded, check_text("mpt.toml", GOOD).unwrap());
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_lines() {
    let text = GOOD
        .replace("name = \"lte\"", "name = \"dsl\"\nweight = 0")
        .replace("name = \"office\"", "name = \"office\"\nwindow = 70000\ndevice = \"mpt1\"")
        .replace("[daemon]", "[daemon]\nprot = 1");
    assert_eq!(
        errors(&text).lines().collect::<Vec<_>>(),
        [
            "mpt.toml:2: daemon.prot: unknown key; did you mean port?",
            "mpt.toml:8: connection.window: 70000 is not a window in packets; write an integer from 0 to 65535",
            "mpt.toml:9: connection.device: there is no device \"mpt1\"; write \"mpt0\"",
            "mpt.toml:16: connection.path.name: there is a path \"dsl\" already, in line 12; write another name",
            "mpt.toml:17: connection.path.weight: 0 is not a weight; write an integer from 1 to 65535",
        ]
    );
}

/// Two paths are told apart by whatever differs in what they receive.
#[test]
fn paths_that_can_be_told_apart_are_allowed() {
    let lte = "local = \"10.0.2.1\"\nremote = \"10.0.2.2\"";
    for other in [
        "local = \"10.0.1.1\"\nremote = \"10.0.1.2\"\nlocal_port = 4755",
        "local = \"10.0.1.1\"\nremote = \"10.0.1.3\"",
        "local = \"10.0.2.1\"\nremote = \"10.0.1.2\"",
        "interface = \"eth1\"\nremote = \"10.0.1.2\"",
    ] {
        check_text("mpt.toml", &GOOD.replace(lte, other)).unwrap();
    }
    let by_source_port = GOOD
        .replace("remote = \"10.0.1.2\"", "remote = \"10.0.1.2\"\nremote_source_port = 50001")
        .replace(lte, "local = \"10.0.1.1\"\nremote = \"10.0.1.2\"\nremote_source_port = 50002");
    check_text("mpt.toml", &by_source_port).unwrap();
}

proptest! {
    /// One line of the good file replaced by anything: an error has its line, or the file is good.
    #[test]
    fn every_error_has_its_line(index in 0usize..15, line in ".{0,60}") {
        let text: String =
            GOOD.lines().enumerate().map(|(i, old)| if i == index { format!("{line}\n") } else { format!("{old}\n") }).collect();
        if let Err(errors) = check_text("mpt.toml", &text) {
            prop_assert!(!errors.0.is_empty());
            let last = text.lines().count() + 1;
            for error in errors.0 {
                prop_assert!(error.line.is_some_and(|line| (1..=last).contains(&line)), "{error}");
            }
        }
    }
}

#[test]
fn lost_packets_are_sent_again_with_one_order_of_numbers_only() {
    for (mapping, why) in [
        ("flow", "has no sequence numbers by which a lost packet is known"),
        ("duplicate", "sends every packet over every path already"),
    ] {
        for repair in ["auto", "all"] {
            let line = format!("name = \"office\"\nmapping = \"{mapping}\"\nrepair = \"{repair}\"");
            assert_eq!(
                with("name = \"office\"", &line),
                format!(
                    "mpt.toml:8: connection.repair: \"{repair}\", but mapping = \"{mapping}\" {why}; write mapping = \
                     \"adaptive\", or repair = \"off\""
                )
            );
        }
        let line = format!("name = \"office\"\nmapping = \"{mapping}\"");
        let select = "networks = [\"10.9.0.2\"]\n[[connection.select]]\nlate = \"deliver\"";
        let text =
            GOOD.replace("name = \"office\"", &line).replace("networks = [\"10.9.0.2\"]", select);
        assert_eq!(
            errors(&text),
            format!(
                "mpt.toml:10: connection.select.late: \"deliver\", but mapping = \"{mapping}\" {why}; write mapping = \
                 \"adaptive\", or take late out"
            )
        );
        let protected = text.replace("late = \"deliver\"", "fec = \"on\"");
        assert_eq!(
            errors(&protected),
            format!(
                "mpt.toml:10: connection.select.fec: \"on\", but mapping = \"{mapping}\" {why}; write mapping = \"adaptive\", or \
                 take fec out"
            )
        );
        let off = format!("name = \"office\"\nmapping = \"{mapping}\"\nrepair = \"off\"");
        check_text("mpt.toml", &GOOD.replace("name = \"office\"", &off))
            .expect("nothing is asked for");
    }
}
