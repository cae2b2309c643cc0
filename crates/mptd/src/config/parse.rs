//! Table by table from the file to drafts: every value by itself, every default filled in. What concerns several tables
//! is left to [`super::check`].

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use mpt_api::{Direction, Ecn, Late, Mapping};
use tracing::level_filters::LevelFilter;

use super::reader::{Context, Lines, Table};
use super::types::{
    Connection, DEFAULT_PORT, Daemon, Device, Path, PortRange, Reorder, SourcePort,
};
use super::{units, values};

/// The smallest MTU of IPv4 in practice (RFC 791: what every host must accept), in bytes.
pub(super) const MIN_MTU: u64 = 576;
/// The smallest MTU of IPv6 (RFC 8200 section 5), in bytes.
pub(super) const MIN_MTU_V6: u16 = 1280;
/// What `max_delay` may be: longer waits than any path needs would only hide that it is broken.
const MAX_DELAY_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(10);
const MIN_BUFFER_LIMIT: u64 = 1 << 20;

/// Something read, and where it stands.
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) lines: Lines,
}

/// The file, read but not yet checked as a whole.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) daemon: Daemon,
    pub(super) devices: Vec<Located<Device>>,
    pub(super) connections: Vec<ConnectionDraft>,
}

/// A connection; its `selectors` and `paths` are still empty.
pub(super) struct ConnectionDraft {
    pub(super) connection: Connection,
    pub(super) lines: Lines,
    pub(super) selects: Vec<Located<Select>>,
    /// For each of the selectors, the key and the line it comes from.
    pub(super) origins: Vec<(&'static str, usize)>,
    pub(super) paths: Vec<Located<Path>>,
}

/// `[[connection.select]]`
pub(super) struct Select {
    pub(super) destination: Option<IpNet>,
    pub(super) source: Option<IpNet>,
    pub(super) protocol: Option<u8>,
    pub(super) source_port: Option<PortRange>,
    pub(super) destination_port: Option<PortRange>,
    pub(super) dscp: Option<u8>,
}

pub(super) fn file(context: &Context<'_>, mut root: Table<'_>) -> Draft {
    let (daemon, port) = root.table("daemon").map_or((Daemon::default(), DEFAULT_PORT), daemon);
    root.require("device", "[[device]] with a name and addresses");
    let devices = root.tables("device");
    let several = devices.len() > 1;
    let devices: Vec<_> = devices.into_iter().filter_map(device).collect();
    // A device left out is the only one there is; with several, connections have to say which.
    let only_device = devices.first().filter(|_| !several).map(|device| device.value.name.clone());
    let connections = (root.tables("connection").into_iter())
        .filter_map(|table| connection(context, table, port, several, only_device.as_deref()))
        .collect();
    root.finish();
    Draft { daemon, devices, connections }
}

fn daemon(mut table: Table<'_>) -> (Daemon, u16) {
    let defaults = Daemon::default();
    let control_socket =
        table.parsed("control_socket", "the whole path, such as \"/run/mpt/mptd.sock\"", |text| {
            let path = PathBuf::from(text);
            path.is_absolute().then_some(path).ok_or_else(|| "is not an absolute path".into())
        });
    let log = table.choice(
        "log",
        &[
            ("error", LevelFilter::ERROR),
            ("warn", LevelFilter::WARN),
            ("info", LevelFilter::INFO),
            ("debug", LevelFilter::DEBUG),
            ("trace", LevelFilter::TRACE),
        ],
    );
    let buffer_limit =
        table.scalar("buffer_limit", "a size from \"1 MiB\", such as \"64 MiB\"", |text| {
            let size = units::size(text)?;
            if size < MIN_BUFFER_LIMIT { Err("is too little".into()) } else { Ok(size) }
        });
    let port = table.integer("port", "a port", 1..=65_535);
    table.finish();
    let daemon = Daemon {
        control_socket: control_socket.unwrap_or(defaults.control_socket),
        log: log.unwrap_or(defaults.log),
        buffer_limit: buffer_limit.unwrap_or(defaults.buffer_limit),
    };
    (daemon, port.unwrap_or(DEFAULT_PORT))
}

fn device(mut table: Table<'_>) -> Option<Located<Device>> {
    table.require("name", "name = \"mpt0\"");
    let name = table.parsed("name", "a name such as \"mpt0\"", values::interface);
    table.require("addresses", "addresses = [\"10.9.0.1/30\"]");
    let addresses = table.list("addresses", "\"10.9.0.1/30\"", values::interface_address);
    let mtu = table.integer("mtu", "an MTU", MIN_MTU..=65_535);
    let lines = table.finish();
    Some(Located {
        value: Device { name: name?, addresses: addresses.unwrap_or_default(), mtu },
        lines,
    })
}

fn connection(
    context: &Context<'_>,
    mut table: Table<'_>,
    port: u16,
    several_devices: bool,
    only_device: Option<&str>,
) -> Option<ConnectionDraft> {
    table.require("name", "name = \"office\"");
    let name = table.parsed("name", "letters, digits, \".\", \"_\", \"-\"", values::name);
    let device = table.parsed("device", "the name of a [[device]]", values::interface);
    if several_devices {
        table.require("device", "device = \"...\" with the name of one [[device]]");
    }
    table.require("networks", "networks = [\"192.168.2.0/24\"], the networks behind the other end");
    let networks = table.list("networks", "\"192.168.2.0/24\"", values::routed_network);
    let direction = table.choice(
        "direction",
        &[("both", Direction::Both), ("send", Direction::Send), ("receive", Direction::Receive)],
    );
    let mapping = table.choice(
        "mapping",
        &[("packet", Mapping::Packet), ("flow", Mapping::Flow), ("duplicate", Mapping::Duplicate)],
    );
    let key = table.integer("key", "a GRE key", 0..=u64::from(u32::MAX));
    let sequence = table.boolean("sequence");
    let checksum = table.boolean("checksum");
    let udp_checksum = table.boolean("udp_checksum");
    let reorder = reorder(&mut table);
    let multicast = table.boolean("multicast");
    let copy_dscp = table.boolean("copy_dscp");
    let ecn =
        table.choice("ecn", &[("compatibility", Ecn::Compatibility), ("normal", Ecn::Normal)]);
    let routes = table.boolean("routes");
    let selects = table.tables("select").into_iter().map(select).collect();
    table.require("path", "[[connection.path]] with a name, local and remote");
    let paths = table.tables("path").into_iter().filter_map(|t| path(context, t, port)).collect();
    let lines = table.finish();
    let connection = Connection {
        name: name?,
        device: device.or_else(|| only_device.map(str::to_owned)).unwrap_or_default(),
        networks: networks.unwrap_or_default(),
        selectors: Vec::new(),
        key,
        sequence: sequence.unwrap_or(true),
        checksum: checksum.unwrap_or(false),
        udp_checksum: udp_checksum.unwrap_or(true),
        direction: direction.unwrap_or_default(),
        mapping: mapping.unwrap_or_default(),
        reorder,
        multicast: multicast.unwrap_or(false),
        copy_dscp: copy_dscp.unwrap_or(false),
        ecn: ecn.unwrap_or_default(),
        routes: routes.unwrap_or(true),
        paths: Vec::new(),
    };
    Some(ConnectionDraft { connection, lines, selects, origins: Vec::new(), paths })
}

fn reorder(table: &mut Table<'_>) -> Reorder {
    let defaults = Reorder::default();
    let window = table.integer("window", "a window in packets", 0..=65_535);
    let max_delay = table.scalar("max_delay", "a time from \"1 ms\" to \"10 s\"", |text| {
        let delay = units::duration(text)?;
        MAX_DELAY_RANGE.contains(&delay).then_some(delay).ok_or_else(|| "is out of range".into())
    });
    let early_release = table.boolean("early_release");
    let late = table.choice("late", &[("deliver", Late::Deliver), ("drop", Late::Drop)]);
    Reorder {
        window: window.unwrap_or(defaults.window),
        max_delay: max_delay.unwrap_or(defaults.max_delay),
        early_release: early_release.unwrap_or(defaults.early_release),
        late: late.unwrap_or(defaults.late),
    }
}

fn select(mut table: Table<'_>) -> Located<Select> {
    const NETWORK: &str = "a network such as \"192.168.2.0/24\"";
    const PORTS: &str = "a port such as 5060 or a range such as \"5060-5070\"";
    let value = Select {
        destination: table.parsed("destination", NETWORK, values::routed_network),
        source: table.parsed("source", NETWORK, values::network),
        protocol: table.scalar(
            "protocol",
            "\"tcp\", \"udp\", another name or a number from 0 to 255",
            values::protocol,
        ),
        source_port: table.scalar("source_port", PORTS, values::ports),
        destination_port: table.scalar("destination_port", PORTS, values::ports),
        dscp: table.scalar(
            "dscp",
            "a number from 0 to 63 or a name such as \"EF\" or \"AF41\"",
            values::dscp,
        ),
    };
    Located { value, lines: table.finish() }
}

fn path(context: &Context<'_>, mut table: Table<'_>, port: u16) -> Option<Located<Path>> {
    table.require("name", "name = \"dsl\"");
    let name = table.parsed("name", "letters, digits, \".\", \"_\", \"-\"", values::name);
    let local =
        table.parsed("local", "an address of this host, or interface = \"...\"", values::endpoint);
    let interface = table.parsed("interface", "the name of an interface", values::interface);
    if !table.has("interface") {
        table.require(
            "local",
            "local = \"...\" with an address of this host, or interface = \"...\"",
        );
    }
    table.require("remote", "remote = \"...\" with the address of the other end");
    let remote = table.parsed("remote", "the address of the other end", values::endpoint);
    let local_port = table.integer("local_port", "a port", 1..=65_535).unwrap_or(port);
    let source_port = table.scalar(
        "source_port",
        "\"random\", \"entropy\" or a port from 1 to 65535",
        values::source_port,
    );
    let remote_port = table.integer("remote_port", "a port", 1..=65_535);
    let remote_source_port = table.integer("remote_source_port", "a port", 1..=65_535);
    let weight = table.integer("weight", "a weight", 1..=65_535).unwrap_or(1);
    let weight_in = table.integer("weight_in", "a weight", 1..=65_535).unwrap_or(weight);
    let tier = table.integer("tier", "a tier", 0..=255);
    let mtu = table.integer("mtu", "an MTU", MIN_MTU..=65_535);
    let rate = table.scalar("rate", "a rate such as \"100 Mbit/s\"", |text| {
        units::rate(text)
            .and_then(|rate| if rate == 0 { Err("carries nothing".into()) } else { Ok(rate) })
    });
    let up = table.boolean("up");
    let nat = table.boolean("nat").unwrap_or(false);
    let lines = table.finish();
    let remote = remote?;
    let path = Path {
        name: name?,
        local,
        interface,
        remote,
        local_port,
        // Behind a NAT one binding has to serve both directions: send from where we listen.
        source_port: source_port.unwrap_or(if nat {
            SourcePort::Fixed(local_port)
        } else {
            SourcePort::Random
        }),
        remote_port: remote_port.unwrap_or(DEFAULT_PORT),
        remote_source_port,
        weight,
        weight_in,
        tier: tier.unwrap_or(0),
        mtu,
        rate,
        up: up.unwrap_or(true),
        nat,
    };
    let located = Located { value: path, lines };
    check_path(context, &located);
    Some(located)
}

/// What the keys of one path have to do with one another.
fn check_path(context: &Context<'_>, Located { value: path, lines }: &Located<Path>) {
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.path.{key}"), message);
    };
    let family = |address: IpAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let remote = path.remote;
    if let Some(local) = path.local {
        if family(local) != family(remote) {
            error(
                "local",
                format!(
                    "{local} is an {} address, but remote {remote} is {}; write two addresses of one family",
                    family(local),
                    family(remote)
                ),
            );
        } else if local == remote {
            error(
                "remote",
                format!("{remote} is the local address; write the address of the other end"),
            );
        }
    }
    let link_local =
        |address: IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if path.interface.is_none() && (link_local(remote) || path.local.is_some_and(link_local)) {
        error(
            "interface",
            "missing: link-local addresses say nothing without it; write interface = \"...\""
                .into(),
        );
    }
    if let Some(mtu) = path.mtu.filter(|&mtu| remote.is_ipv6() && mtu < MIN_MTU_V6) {
        error(
            "mtu",
            format!(
                "{mtu} is less than the smallest MTU of IPv6; write an integer from {MIN_MTU_V6} to 65535"
            ),
        );
    }
    if path.nat && path.source_port == SourcePort::Entropy {
        error(
            "source_port",
            "\"entropy\" does not work through a NAT, which would make a binding for every port; leave source_port out, \
             or write nat = false"
                .into(),
        );
    }
}
