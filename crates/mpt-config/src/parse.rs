//! Table by table from the file to drafts: every value by itself, every default filled in. What concerns several tables
//! is left to [`super::check`].

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ipnet::IpNet;
use mpt_api::{Direction, Ecn, Equalize, Late, Mapping};
use mpt_core::path::mtu::{IPV4_MINIMUM, IPV6_MINIMUM};
use tracing::level_filters::LevelFilter;

use super::peers::parse::{self as peers, PeerDraft};
use super::peers::{Client, Controller, Peer, Pool};
use super::reader::{Context, Lines, Table};
use super::types::{
    Connection, DEFAULT_PORT, Daemon, Device, Fallback, LogFormat, OtherEnd, Path, PortRange,
    Reorder, SourcePort,
};
use super::{compat, types, values};

/// What `max_delay` may be: longer waits than any path needs would only hide that it is broken.
const MAX_DELAY_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(10);
const MIN_BUFFER_LIMIT: u64 = 1 << 20;
/// The words for mappings.
pub(super) const MAPPINGS: [(&str, Mapping); 3] =
    [("packet", Mapping::Packet), ("flow", Mapping::Flow), ("duplicate", Mapping::Duplicate)];

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
    pub(super) clients: Vec<Located<Client>>,
    pub(super) pools: Vec<Located<Pool>>,
    pub(super) controllers: Vec<Located<Controller>>,
}

/// A connection; its `selectors` and `paths` are still empty.
pub(super) struct ConnectionDraft {
    pub(super) connection: Connection,
    pub(super) lines: Lines,
    pub(super) selects: Vec<Located<Select>>,
    /// For each of the selectors, the key and the line it comes from.
    pub(super) origins: Vec<(&'static str, usize)>,
    pub(super) paths: Vec<Located<Path>>,
    /// What `connection.peer` comes from.
    pub(super) peer: Option<Located<PeerDraft>>,
    /// Where `connection.mptsrv` stands, if the other end is the prototype.
    pub(super) compat: Option<Lines>,
    /// Whether it was checked before, and its selectors are there: a change at run time adds to it.
    pub(super) is_running: bool,
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
    let (daemon, lines) = root.table("daemon").map_or_else(Default::default, daemon);
    root.require("device", "[[device]] with a name and addresses");
    let devices = root.tables("device");
    let several = devices.len() > 1;
    let devices: Vec<_> = devices.into_iter().filter_map(device).collect();
    // A device left out is the only one there is; with several, connections have to say which.
    let only_device = devices.first().filter(|_| !several).map(|device| device.value.name.clone());
    let connections = (root.tables("connection").into_iter())
        .filter_map(|table| {
            connection(context, table, daemon.port, several, only_device.as_deref())
        })
        .collect();
    let clients = (root.tables("client").into_iter())
        .filter_map(|table| peers::client(context, table, several, only_device.as_deref()))
        .collect();
    let pools = root.tables("pool").into_iter().filter_map(peers::pool).collect();
    let controllers = (root.tables("controller").into_iter())
        .filter_map(|table| peers::controller(context, table))
        .collect();
    root.finish();
    let mut draft = Draft { daemon, devices, connections, clients, pools, controllers };
    draft.read_private_key(context, &lines);
    draft
}

impl Draft {
    /// Reads the key of this end, if anything in the file needs it. `lines` are those of `[daemon]`.
    pub(super) fn read_private_key(&mut self, context: &Context<'_>, lines: &Lines) {
        let peers = self.connections.iter().filter_map(|it| it.peer.as_ref()).map(|it| &it.lines);
        let clients = self.clients.iter().map(|it| &it.lines);
        let controllers = self.controllers.iter().map(|it| &it.lines);
        let first =
            peers.chain(clients).chain(controllers).map(Lines::header).max_by_key(|&line| {
                // The first table of the file; those that run already have no line.
                if line == 0 { 0 } else { usize::MAX - line }
            });
        let Some(first) = first.filter(|_| self.daemon.private_key.is_none()) else { return };
        let key = "private_key_file";
        let line = if lines.has(key) { lines.of(key) } else { first };
        self.daemon.private_key = peers::private_key(context, &self.daemon.private_key_file, line);
    }
}

fn daemon(mut table: Table<'_>) -> (Daemon, Lines) {
    let defaults = Daemon::default();
    let user = table.parsed("user", "the name of a user, such as \"mpt\"", values::user);
    let control_socket = table.parsed(
        "control_socket",
        "the whole path, such as \"/run/mpt/mptd.sock\"",
        peers::absolute,
    );
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
    let log_format =
        table.choice("log_format", &[("text", LogFormat::Text), ("json", LogFormat::Json)]);
    let buffer_limit =
        table.scalar("buffer_limit", "a size from \"1 MiB\", such as \"64 MiB\"", |text| {
            let size = values::size(text)?;
            if size < MIN_BUFFER_LIMIT { Err("is too little".into()) } else { Ok(size) }
        });
    let port = table.integer("port", "a port", 1..=65_535);
    let listen = table.list("listen", "\"198.51.100.1\"", values::endpoint);
    let private_key_file = table.parsed(
        "private_key_file",
        "the whole path of a key file, such as \"/etc/mpt/private.key\"",
        peers::absolute,
    );
    let max_clients = table.integer("max_clients", "a number", 1..=1_000_000);
    let creations_per_second = table.integer("creations_per_second", "a number", 1..=100_000);
    let mark = table.integer("mark", "a mark", 1..=u64::from(u32::MAX));
    let lines = table.finish();
    let daemon = Daemon {
        user,
        control_socket: control_socket.unwrap_or(defaults.control_socket),
        log: log.unwrap_or(defaults.log),
        log_format: log_format.unwrap_or(defaults.log_format),
        buffer_limit: buffer_limit.unwrap_or(defaults.buffer_limit),
        port: port.unwrap_or(defaults.port),
        listen: listen.unwrap_or_default(),
        private_key_file: private_key_file.unwrap_or(defaults.private_key_file),
        private_key: None,
        max_clients: max_clients.unwrap_or(defaults.max_clients),
        creations_per_second: creations_per_second.unwrap_or(defaults.creations_per_second),
        mark: mark.unwrap_or(defaults.mark),
    };
    (daemon, lines)
}

fn device(mut table: Table<'_>) -> Option<Located<Device>> {
    table.require("name", "name = \"mpt0\"");
    let name = table.parsed("name", "a name such as \"mpt0\"", values::interface);
    table.require("addresses", "addresses = [\"10.9.0.1/30\"]");
    let assigned = table.is_word("addresses", "assigned");
    let addresses = if assigned {
        table.parsed("addresses", "\"assigned\"", |_| Ok(Vec::new()))
    } else {
        table.list("addresses", "\"10.9.0.1/30\"", values::interface_address)
    };
    let mtu = table.integer("mtu", "an MTU", IPV4_MINIMUM.into()..=65_535);
    let lines = table.finish();
    Some(Located {
        value: Device { name: name?, addresses: addresses.unwrap_or_default(), assigned, mtu },
        lines,
    })
}

pub(super) fn connection(
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
    let mapping = table.choice("mapping", &MAPPINGS);
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
    let fallback =
        table.choice("fallback", &[("block", Fallback::Block), ("direct", Fallback::Direct)]);
    let selects = table.tables("select").into_iter().map(select).collect();
    let with_peer = table.has("peer");
    let peer = table.table("peer").and_then(|table| peers::peer(context, table));
    let compat = compat::compat(context, &mut table);
    let other_end = match (with_peer, table.has("compat")) {
        (true, _) => OtherEnd::Session,
        (false, true) => OtherEnd::Prototype,
        (false, false) => OtherEnd::Plain,
    };
    table.require("path", "[[connection.path]] with a name, local and remote");
    let paths: Vec<_> = (table.tables("path").into_iter())
        .filter_map(|table| path(context, table, port, other_end))
        .collect();
    let lines = table.finish();
    let connection = Connection {
        name: name?,
        device: device.or_else(|| only_device.map(str::to_owned)).unwrap_or_default(),
        networks: networks.unwrap_or_default(),
        selectors: Vec::new(),
        key,
        requested_key: key,
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
        fallback: fallback.unwrap_or_default(),
        peer: peer.as_ref().map(|Located { value: PeerDraft { peer, initiate }, .. }| {
            // The end that knows where the other is begins.
            let known = paths.iter().all(|path| !path.value.learn);
            Peer { initiate: initiate.unwrap_or(known), ..peer.clone() }
        }),
        compat: compat.as_ref().map(|it| it.value.clone()),
        paths: Vec::new(),
    };
    Some(ConnectionDraft {
        connection,
        lines,
        selects,
        origins: Vec::new(),
        paths,
        peer,
        compat: compat.map(|it| it.lines),
        is_running: false,
    })
}

pub(super) fn reorder(table: &mut Table<'_>) -> Reorder {
    let defaults = Reorder::default();
    let window = table.integer("window", "a window in packets", 0..=65_535);
    let max_delay = table.scalar("max_delay", "a time from \"1 ms\" to \"10 s\"", |text| {
        let delay = values::duration(text)?;
        MAX_DELAY_RANGE.contains(&delay).then_some(delay).ok_or_else(|| "is out of range".into())
    });
    let early_release = table.boolean("early_release");
    let late = table.choice("late", &[("deliver", Late::Deliver), ("drop", Late::Drop)]);
    let equalize = [("off", Equalize::Off), ("tcp", Equalize::Tcp), ("all", Equalize::All)];
    let equalize = table.choice("equalize", &equalize);
    Reorder {
        window: window.unwrap_or(defaults.window),
        max_delay: max_delay.unwrap_or(defaults.max_delay),
        early_release: early_release.unwrap_or(defaults.early_release),
        late: late.unwrap_or(defaults.late),
        equalize: equalize.unwrap_or(defaults.equalize),
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

/// A path. In a session the other end may be found.
pub(super) fn path(
    context: &Context<'_>,
    mut table: Table<'_>,
    port: u16,
    other_end: OtherEnd,
) -> Option<Located<Path>> {
    let with_peer = other_end == OtherEnd::Session;
    table.require("name", "name = \"dsl\"");
    let name = table.parsed("name", "letters, digits, \".\", \"_\", \"-\"", values::name);
    let local =
        table.parsed("local", "an address of this host, or interface = \"...\"", values::endpoint);
    let public = table.parsed(
        "public",
        "our address as the other end knows it, such as \"203.0.113.1\"",
        values::endpoint,
    );
    let interface = table.parsed("interface", "the name of an interface", values::interface);
    if !table.has("interface") {
        table.require(
            "local",
            "local = \"...\" with an address of this host, or interface = \"...\"",
        );
    }
    if !with_peer {
        table.require("remote", "remote = \"...\" with the address of the other end");
    }
    let remote =
        table.parsed("remote", "the address of the other end, or its name", values::remote);
    let learn = !table.has("remote");
    let local_port = table.integer("local_port", "a port", 1..=65_535).unwrap_or(port);
    let source_port = table.scalar(
        "source_port",
        "\"random\", \"entropy\" or a port from 1 to 65535",
        values::source_port,
    );
    let remote_port = table.integer("remote_port", "a port", 1..=65_535).unwrap_or(DEFAULT_PORT);
    let remote_source_port = table.integer("remote_source_port", "a port", 1..=65_535);
    let weight = table.integer("weight", "a weight", 1..=65_535).unwrap_or(1);
    let weight_in = table.integer("weight_in", "a weight", 1..=65_535).unwrap_or(weight);
    let tier = table.integer("tier", "a tier", 0..=255);
    let mtu = table.integer("mtu", "an MTU", IPV4_MINIMUM.into()..=65_535);
    let rate = table.scalar("rate", "a rate such as \"100 Mbit/s\"", |text| {
        values::rate(text)
            .and_then(|rate| if rate == 0 { Err("carries nothing".into()) } else { Ok(rate) })
    });
    let up = table.boolean("up");
    let nat = table.boolean("nat").unwrap_or(false);
    let lines = table.finish();
    let unknown = types::unspecified(local.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
    let (remote, remote_name) = match remote {
        Some(values::Remote::Address(address)) => (address, None),
        Some(values::Remote::Name(name)) => (unknown, Some(name)),
        None if with_peer && learn => (unknown, None),
        None => return None,
    };
    let path = Path {
        name: name?,
        local,
        public,
        interface,
        remote,
        remote_name,
        learn,
        local_port,
        // Behind a NAT one binding has to serve both directions, a session answers where it was asked from, and a prototype sends
        // from where it listens: so do we.
        source_port: source_port.unwrap_or(usual_source_port(other_end, nat, local_port)),
        remote_port,
        remote_source_port: remote_source_port
            .or((other_end == OtherEnd::Prototype && !nat).then_some(remote_port)),
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

/// Ports from which a path sends unless the file says otherwise.
pub(super) fn usual_source_port(other_end: OtherEnd, nat: bool, local_port: u16) -> SourcePort {
    match other_end {
        OtherEnd::Plain if !nat => SourcePort::Random,
        _ => SourcePort::Fixed(local_port),
    }
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
        } else if local == remote && !remote.is_unspecified() {
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
    if let Some(mtu) = path.mtu.filter(|&mtu| remote.is_ipv6() && mtu < IPV6_MINIMUM) {
        error(
            "mtu",
            format!(
                "{mtu} is less than the smallest MTU of IPv6; write an integer from {IPV6_MINIMUM} to 65535"
            ),
        );
    }
    if path.learn && path.source_port != SourcePort::Fixed(path.local_port) {
        error(
            "source_port",
            format!(
                "without remote the path has to send from the port it listens on, to which the other end sends; leave \
                 source_port out, or write {}",
                path.local_port
            ),
        );
    }
    for key in ["remote_port", "remote_source_port"] {
        if path.learn && lines.has(key) {
            error(
                key,
                "has no effect without remote; leave it out, or write remote = \"...\"".into(),
            );
        }
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
