//! Another value of any key is noticed by a reload, under the name of the key, and survives `connection save`.

use std::path::Path;

use mpt_config::{Config, KeyFileError, Reload, check_text_with, diff, save, tables};
use mpt_core::session::PrivateKey;
use toml::{Table, Value};

/// A file with every table.
const BASE: &str = r#"
[daemon]
listen = ["10.0.9.1"]
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/24", "10.9.0.5/24"]
[[device]]
name = "mpt1"
addresses = ["10.7.0.1/24"]
[[connection]]
name = "office"
device = "mpt0"
networks = ["10.9.0.2"]
[[connection.select]]
protocol = "udp"
[connection.peer]
public_key = "VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo="
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
[[connection.path]]
name = "lte"
local = "10.0.2.1"
remote = "10.0.2.2"
[[connection]]
name = "prototype"
device = "mpt0"
networks = ["10.9.0.6"]
compat = "mptsrv"
[connection.mptsrv]
remote = "10.9.0.6"
[[connection.path]]
name = "dsl"
local = "10.0.3.1"
remote = "10.0.3.2"
[[client]]
name = "anna"
public_key = "yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo="
device = "mpt0"
pool = "one"
[[client]]
name = "sensor"
public_key = "D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws="
device = "mpt0"
addresses = ["10.9.0.17/24"]
[[pool]]
name = "one"
networks = ["10.8.0.0/24"]
[[pool]]
name = "two"
networks = ["10.6.0.0/24"]
[[controller]]
name = "noc"
public_key = "9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw="
"#;

/// Another value of each key, with what it takes besides.
const OTHERS: &[(&str, &str, &str)] = &[
    ("daemon", "user", "user = 'other'"),
    ("daemon", "control_socket", "control_socket = '/run/other.sock'"),
    ("daemon", "log", "log = 'debug'"),
    ("daemon", "log_format", "log_format = 'json'"),
    ("daemon", "buffer_limit", "buffer_limit = '32 MiB'"),
    ("daemon", "port", "port = 4755"),
    ("daemon", "listen", "listen = ['10.0.9.2']"),
    ("daemon", "private_key_file", "private_key_file = '/other'"),
    ("daemon", "aes", "aes = false"),
    ("daemon", "max_clients", "max_clients = 7"),
    ("daemon", "creations_per_second", "creations_per_second = 7"),
    ("daemon", "reports_per_second", "reports_per_second = 1000"),
    ("daemon", "state_directory", "state_directory = '/other'"),
    ("daemon", "mark", "mark = 7"),
    ("device", "addresses", "addresses = ['10.9.0.1/24', '10.9.0.5/24', '10.9.0.8/24']"),
    ("device", "mtu", "mtu = 1300"),
    ("connection", "device", "device = 'mpt1'"),
    ("connection", "networks", "networks = ['10.9.0.2', '192.168.9.0/24']"),
    ("connection", "routes", "routes = false"),
    ("connection", "fallback", "fallback = 'direct'"),
    ("connection", "direction", "direction = 'send'"),
    ("connection", "mapping", "mapping = 'flow'"),
    ("connection", "seal", "seal = 'require'"),
    ("connection", "repair", "repair = 'off'"),
    ("connection", "key", "key = 9"),
    ("connection", "sequence", "sequence = false"),
    ("connection", "checksum", "checksum = true\nseal = 'off'"),
    ("connection", "udp_checksum", "udp_checksum = false"),
    ("connection", "window", "window = 100"),
    ("connection", "max_delay", "max_delay = '200 ms'"),
    ("connection", "early_release", "early_release = false"),
    ("connection", "late", "late = 'drop'"),
    ("connection", "equalize", "equalize = 'all'"),
    ("connection", "multicast", "multicast = true"),
    ("connection", "copy_dscp", "copy_dscp = true"),
    ("connection", "ecn", "ecn = 'compatibility'"),
    ("connection.select", "destination", "destination = '10.9.0.2/31'"),
    ("connection.select", "source", "source = '10.1.0.0/16'"),
    ("connection.select", "protocol", "protocol = 'tcp'"),
    ("connection.select", "source_port", "source_port = '10-20'"),
    ("connection.select", "destination_port", "destination_port = 53"),
    ("connection.select", "dscp", "dscp = 'EF'"),
    ("connection.select", "late", "late = 'deliver'"),
    ("connection.select", "fec", "fec = 'on'"),
    (
        "connection.peer",
        "public_key",
        "public_key = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo='",
    ),
    ("connection.peer", "psk_file", "psk_file = '/psk'"),
    ("connection.peer", "initiate", "initiate = false"),
    ("connection.peer", "create", "create = true"),
    ("connection.peer", "keepalive", "keepalive = '0'"),
    ("connection.peer", "idle_keepalive", "idle_keepalive = '20 s'"),
    ("connection.peer", "dead", "dead = '1 s'"),
    ("connection.peer", "follow_weights", "follow_weights = false"),
    ("connection.path", "local", "local = '10.0.1.9'"),
    ("connection.path", "interface", "interface = 'eth9'"),
    ("connection.path", "remote", "remote = 'vpn.example.org'"),
    ("connection.path", "local_port", "local_port = 4000"),
    ("connection.path", "source_port", "source_port = 'entropy'"),
    ("connection.path", "remote_port", "remote_port = 4002"),
    ("connection.path", "remote_source_port", "remote_source_port = 4003"),
    ("connection.path", "weight", "weight = 2\nweight_in = 1"),
    ("connection.path", "weight_in", "weight_in = 3"),
    ("connection.path", "priority", "priority = 'backup'"),
    ("connection.path", "tier", "tier = 1"),
    ("connection.path", "metered", "metered = true"),
    ("connection.path", "cap", "cap = '50 GB/month'"),
    ("connection.path", "cap_day", "cap_day = 15"),
    ("connection.path", "cap_counts", "cap_counts = 'received'"),
    ("connection.path", "at_cap", "at_cap = 'stop'"),
    ("connection.path", "mtu", "mtu = 1400"),
    ("connection.path", "rate", "rate = '1 Mbit/s'"),
    ("connection.path", "max_rate", "max_rate = '20 Mbit/s'"),
    ("connection.path", "min_rate", "min_rate = '5 Mbit/s'"),
    ("connection.path", "up", "up = false"),
    ("connection.path", "nat", "nat = true"),
    ("connection.path", "public", "public = '203.0.113.7'"),
    ("connection.mptsrv", "remote", "remote = '10.9.0.7'"),
    ("connection.mptsrv", "local", "local = '10.9.0.5'"),
    ("connection.mptsrv", "command_port", "command_port = 5000"),
    ("connection.mptsrv", "remote_command_port", "remote_command_port = 5001"),
    ("connection.mptsrv", "authentication", "authentication = 'nonce'"),
    ("connection.mptsrv", "auth_key_file", "authentication = 'sha256'\nauth_key_file = '/psk'"),
    ("connection.mptsrv", "keepalive", "keepalive = '2 s'\ndead = '3 s'"),
    ("connection.mptsrv", "dead", "dead = '0'"),
    ("connection.mptsrv", "create", "create = 'ask'\ncreate_key_file = 'default'"),
    ("connection.mptsrv", "create_key_file", "create = 'answer'\ncreate_key_file = '/psk'"),
    ("client", "public_key", "public_key = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo='"),
    ("client", "psk_file", "psk_file = '/psk'"),
    ("client", "device", "device = 'mpt1'"),
    ("client", "addresses", "addresses = ['10.9.0.18/24']"),
    ("client", "pool", "pool = 'two'"),
    ("client", "networks", "networks = ['192.168.7.0/24']"),
    ("client", "max_connections", "max_connections = 2"),
    ("client", "max_paths", "max_paths = 3"),
    ("client", "max_weight", "max_weight = 4"),
    ("client", "seal", "seal = 'require'"),
    ("client", "mappings", "mappings = ['packet']"),
    ("client", "repair", "repair = 'off'"),
    ("client", "silent", "silent = '1 min'"),
    ("client", "keepalive", "keepalive = '50 ms'"),
    ("client", "idle_keepalive", "idle_keepalive = '20 s'"),
    ("client", "dead", "dead = '1 s'"),
    ("client", "window", "window = 100"),
    ("client", "max_delay", "max_delay = '200 ms'"),
    ("client", "early_release", "early_release = false"),
    ("client", "late", "late = 'drop'"),
    ("client", "equalize", "equalize = 'off'"),
    ("pool", "networks", "networks = ['10.8.0.0/24', 'fd00:8::/64']"),
    ("controller", "public_key", "public_key = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo='"),
    ("controller", "psk_file", "psk_file = '/psk'"),
    ("controller", "allow", "allow = ['show', 'reload']"),
];

/// Keys without another value: things are known by their names, and `compat` is another connection.
const IDENTITIES: [&str; 2] = ["name", "compat"];

fn key(file: &Path) -> Result<zeroize::Zeroizing<String>, KeyFileError> {
    let seed = if file == Path::new("/other") { 8 } else { 7 };
    Ok(PrivateKey::from_seed([seed; 32]).to_base64())
}

fn config(text: &str) -> Config {
    check_text_with("mpt.toml", text, &key)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
        .config
}

/// The base with other values in a table: the first one that has the key, or could.
fn with(table: &str, name: &str, other: &str) -> Config {
    let mut file: Table = BASE.parse().unwrap();
    let second = table == "connection.mptsrv" || matches!(name, "public" | "addresses");
    let mut place = &mut file;
    for (depth, part) in table.split('.').enumerate() {
        let next = place.get_mut(part).unwrap_or_else(|| panic!("{table} is in the base"));
        place = match next {
            Value::Array(all) => {
                let index = usize::from(second && depth == 0 && table != "device");
                all[index].as_table_mut().unwrap()
            }
            next => next.as_table_mut().unwrap(),
        };
    }
    place.extend(other.parse::<Table>().unwrap());
    config(&toml::to_string(&file).unwrap())
}

#[test]
fn every_key_has_another_value_here() {
    let known: Vec<(&str, &str)> = tables()
        .iter()
        .flat_map(|table| table.keys.iter().map(|key| (table.name, key.name)))
        .filter(|(_, name)| !IDENTITIES.contains(name))
        .collect();
    for (table, name) in &known {
        assert!(OTHERS.iter().any(|it| (it.0, it.1) == (table, name)), "{table}.{name}");
    }
    assert_eq!(OTHERS.len(), known.len());
}

#[test]
fn a_reload_names_the_key_that_differs() {
    let base = config(BASE);
    let tables = tables();
    for &(table, name, other) in OTHERS {
        let keys = &tables.iter().find(|it| it.name == table).unwrap().keys;
        let reload = keys.iter().find(|it| it.name == name).unwrap().reload;
        let plan = diff(&base, &with(table, name, other));
        let steps: Vec<String> = plan.changes.iter().map(ToString::to_string).collect();
        let expected = match (table, reload) {
            (_, Reload::Restart) => {
                assert_eq!(plan.restart, [format!("{table}.{name}")], "{table}.{name}");
                continue;
            }
            // Compared as a whole.
            ("device", _) => "changed".to_owned(),
            ("connection.select", _) => "select changed".to_owned(),
            ("connection.mptsrv", _) => "mptsrv changed".to_owned(),
            ("client", Reload::Elsewhere) => "addresses changed".to_owned(),
            (_, Reload::Replaced | Reload::Elsewhere) => "replaced".to_owned(),
            ("connection.peer", Reload::InFlight) => format!("peer.{name}"),
            (_, Reload::InFlight) => name.to_owned(),
        };
        assert!(steps.iter().any(|step| step.contains(&expected)), "{table}.{name}: {steps:?}");
        assert_eq!(plan.restart, [""; 0], "{table}.{name}");
    }
}

#[test]
fn a_connection_that_differs_is_saved() {
    let connections = OTHERS.iter().filter(|(table, ..)| table.starts_with("connection"));
    for &(table, name, other) in connections {
        let running = with(table, name, other);
        let base = config(BASE);
        let changed: Vec<_> =
            running.connections.iter().filter(|it| !base.connections.contains(it)).collect();
        let [changed] = changed.as_slice() else { panic!("{table}.{name}: {changed:?}") };
        let text = save("mpt.toml", BASE, &running, &changed.name, &key);
        let text = text.unwrap_or_else(|errors| panic!("{table}.{name}: {errors}"));
        let text = text.unwrap_or_else(|| panic!("{table}.{name} is not saved"));
        assert_eq!(config(&text).connection(&changed.name), Some(*changed), "{table}.{name}");
    }
}
