//! `[[connection.path]]`

use std::net::IpAddr;

use mpt_api::{AtCap, CapCounts};
use mpt_core::path::mtu::IPV4_MINIMUM;

use super::super::key::{Keys, Part, Reload, Shown, field, key};
use super::super::types::{Cap, DEFAULT_PORT, Path, PeerKind, Priority, SourcePort};
use super::NAME;
use crate::syntax::form::{Boolean, Choice, Integer, PORT, Text, scalar, text};
use crate::syntax::values::{self, Fault, RemoteHost, WrittenRemote};
use crate::types::remote::Remote;

const LOCAL: Text<IpAddr> =
    text("an address of this host, or interface = \"...\"", values::endpoint, ToString::to_string);
const PUBLIC: Text<IpAddr> = text(
    "the address of this host as the peer knows it, such as \"203.0.113.1\"",
    values::endpoint,
    ToString::to_string,
);
const REMOTE: Text<WrittenRemote> =
    text("the address of the peer, or its name", values::remote, ToString::to_string);
const SOURCE_PORT: Text<SourcePort> =
    scalar("\"random\", \"entropy\" or a port from 1 to 65535", values::source_port, |port| {
        match port {
            SourcePort::Random => "random".to_owned(),
            SourcePort::Entropy => "entropy".to_owned(),
            SourcePort::Fixed(port) => port.to_string(),
        }
    });
const PRIORITIES: [(&str, Priority); 3] =
    [("primary", Priority::Primary), ("backup", Priority::Backup), ("never", Priority::Never)];
const CAP: Text<Cap> = text(
    "an amount of at least \"1 MB\" in a month or day, such as \"50 GB/month\"",
    values::cap,
    ToString::to_string,
);
const CAP_COUNTS: [(&str, CapCounts); 3] =
    [("both", CapCounts::Both), ("sent", CapCounts::Sent), ("received", CapCounts::Received)];
const AT_CAP: [(&str, AtCap); 3] =
    [("backup", AtCap::Backup), ("stop", AtCap::Stop), ("warn", AtCap::Warn)];
const RATE: Text<u64> =
    scalar("a rate such as \"100 Mbit/s\"", rate, |rate| format!("{rate} bit/s"));

fn rate(text: &str) -> Result<u64, Fault> {
    let rate = values::rate(text)?;
    if rate == 0 { Err("carries nothing".into()) } else { Ok(rate) }
}

/// Ports from which a path sends unless the file says otherwise. Behind a NAT one binding has to serve both directions, a session answers where it
/// was asked from, and a prototype sends from where it listens: so do we.
fn usual_source_port(peer_kind: PeerKind, nat: bool, local_port: u16) -> SourcePort {
    match peer_kind {
        PeerKind::Plain if !nat => SourcePort::Random,
        _ => SourcePort::Fixed(local_port),
    }
}

impl Keys for Path {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Path.name,
            NAME,
            "The command line and the log call the path by this name, which no other path of the connection has."
        )
        .vital("name = \"dsl\"")
        .at_reload(Reload::Replaced)
        .shown(Shown::Set("\"dsl\"")),
        &field!(
            Path.local?,
            LOCAL,
            "Address of this host on the path, IPv4 or IPv6. It may be left out when interface is given."
        )
        .at_reload(Reload::Replaced)
        .shown(Shown::Set("\"192.0.2.1\"")),
        &field!(
            Path.interface?,
            text("the name of an interface", values::interface, String::clone),
            "Packets of the path leave through this interface whatever the routes say. By default the routes decide."
        )
        .at_reload(Reload::Replaced)
        .shown(Shown::Example("\"eth0\"")),
        &key(
            "remote",
            REMOTE,
            |it: &Path| {
                let host = match &it.remote {
                    Remote::Address(address) => RemoteHost::Address(*address),
                    Remote::Name { name, .. } => RemoteHost::Name(name.clone()),
                    Remote::Sought => return None,
                };
                Some(WrittenRemote { host, port: it.port_of_remote })
            },
            |it, WrittenRemote { host, port }| {
                it.port_of_remote = port;
                it.remote = match host {
                    RemoteHost::Address(address) => Remote::Address(address),
                    RemoteHost::Name(name) => Remote::Name { name, address: None },
                };
            },
            "Address of the peer on the path, of the family of local, or its name in the DNS, which is resolved at the start and again when the path is \
             dead. A port may follow, as in \"vpn.example.org:4754\" or \"[2001:db8::1]:4754\"; it is then remote_port. With [connection.peer] it may be left out: the session finds the peer and follows it; the path then sends from the port on which it \
             listens, over IPv4 unless local says otherwise."
        )
        .differing_by(|old, new| old.remote.as_written() != new.remote.as_written())
        .at_reload(Reload::Replaced)
        .shown(Shown::Set("\"198.51.100.1\"")),
        &field!(
            Path.local_port,
            PORT,
            "The path listens on this UDP port. By default it is that of the daemon."
        )
        .follows(|_, around| Some(around.port))
        .at_reload(Reload::Replaced),
        &field!(
            Path.source_port,
            SOURCE_PORT,
            "The path sends from this UDP port, from one \"random\" port for the life of the path, or from a pool of ports (\"entropy\"), so that routers \
             with several links to choose from spread the flows; not through a NAT. With nat or [connection.peer] it sends by default from the port on \
             which it listens."
        )
        .follows(|it, around| Some(usual_source_port(around.peer_kind, it.nat, it.local_port)))
        .at_reload(Reload::Replaced),
        &field!(
            Path.remote_port,
            PORT,
            "The path sends to this UDP port: the one on which the peer listens. By default it is the one written in remote, if there is one."
        )
        .follows(|it, _| Some(it.port_of_remote.unwrap_or(DEFAULT_PORT)))
        .at_reload(Reload::Replaced),
        &field!(
            Path.remote_source_port?,
            PORT,
            "Packets are accepted only if the peer sends them from this UDP port. By default any port will do."
        )
        .follows(|it, around| {
            let implied = around.peer_kind == PeerKind::Prototype && !it.nat;
            implied.then_some(it.remote_port)
        })
        .at_reload(Reload::Replaced)
        .shown(Shown::Example("50000")),
        &field!(
            Path.weight,
            Integer { noun: "a weight", range: 1..=65_535 },
            "Share of the packets sent on this path, in proportion to the other paths' weights."
        ),
        &field!(
            Path.weight_in,
            Integer { noun: "a weight", range: 1..=65_535 },
            "Share of the packets that the peer sends on this path. By default it is the same as weight."
        )
        .follows(|it, _| Some(it.weight)),
        &field!(
            Path.priority?,
            Choice(&PRIORITIES),
            "The tier in a word: \"primary\" (tier 0), \"backup\" (tier 1), or \"never\", a path that carries no data until `mpt path up`. By default tier \
             and up say it in numbers."
        )
        .shown(Shown::Example("\"backup\"")),
        &field!(
            Path.tier,
            Integer { noun: "a tier", range: 0..=255 },
            "Tier 0 carries data; a path of tier 1 only while no path of tier 0 is up (a backup link), and so on. By default it is that of priority."
        )
        .follows(|it, _| Some(it.priority.map_or(0, Priority::tier))),
        &field!(
            Path.metered,
            Boolean,
            "True says that traffic on the path is paid for. Both hosts then probe it once a second instead of ten times while packets flow, and every \
             25 s otherwise, and notice its failure later, unless it carries more than 200 kbit/s. It carries its share of the data all the same: see priority."
        ),
        &field!(
            Path.cap?,
            CAP,
            "The path may carry this much. What is counted are whole IP packets, probes included, as providers count them. mptd warns at 80 and 95 \
             percent. The count is kept in daemon.state_directory. By default there is no cap."
        )
        .shown(Shown::Example("\"50 GB/month\"")),
        &field!(
            Path.cap_day,
            Integer { noun: "a day of the month", range: 1..=31 },
            "A monthly cap starts anew at midnight, by the clock of this host, on this day of the month, or on its last day where the month is shorter."
        ),
        &field!(
            Path.cap_counts,
            Choice(&CAP_COUNTS),
            "What counts towards the cap: \"both\" directions together, or only what is \"sent\" or \"received\"."
        ),
        &field!(
            Path.at_cap,
            Choice(&AT_CAP),
            "What becomes of the path at its cap until the next period: it carries data only while no other path works (\"backup\"), it carries \
             nothing (\"stop\"), or nothing but a warning (\"warn\"). With [connection.peer] the peer does the same."
        ),
        &field!(
            Path.mtu?,
            Integer { noun: "an MTU", range: IPV4_MINIMUM as u64..=65_535 },
            "Path MTU in bytes: the largest IP packet from end to end. By default it is the MTU of the interface, and is lowered when routers on the way \
             report a smaller one."
        )
        .shown(Shown::Example("1500")),
        &field!(
            Path.rate?,
            RATE,
            "Rate of the uplink in each direction, for the advice of `mptd --check` on window and weights. By default it is unknown."
        )
        .shown(Shown::Example("\"100 Mbit/s\"")),
        &field!(
            Path.max_rate?,
            RATE,
            "With mapping = \"adaptive\", the path is never given more than this rate, whatever it is measured to carry. Outer IP packets count. It \
             bounds what this host sends; the peer has its own. By default there is no bound."
        )
        .shown(Shown::Apart("\"20 Mbit/s\"")),
        &field!(
            Path.min_rate?,
            RATE,
            "With mapping = \"adaptive\", the rate of the path is never cut below this one, whatever its reports say, and the path never stands aside \
             because of its loss. A line that carries less than that drops the rest. By default there is no bound."
        )
        .shown(Shown::Apart("\"5 Mbit/s\"")),
        &field!(
            Path.up,
            Boolean,
            "If true, the path starts up. `mpt path up` and `mpt path down` change it while the daemon runs. By default it is true, unless priority is \
             \"never\"."
        )
        .follows(|it, _| Some(it.priority != Some(Priority::Never))),
        &field!(
            Path.nat,
            Boolean,
            "True says that a NAT lies between the two hosts. Packets then leave, unless source_port says otherwise, from the port on which the path listens, so that \
             one NAT binding serves both directions."
        )
        .at_reload(Reload::Replaced),
        &field!(
            Path.public?,
            PUBLIC,
            "Address of this host as the prototype has it (its remote_ipaddr), if a NAT makes it another than local. Only with compat."
        )
        .at_reload(Reload::Replaced)
        .shown(Shown::Apart("\"203.0.113.77\"")),
    ];

    fn usual() -> Self {
        Path {
            name: String::new(),
            local: None,
            public: None,
            interface: None,
            remote: Remote::Sought,
            port_of_remote: None,
            local_port: DEFAULT_PORT,
            source_port: SourcePort::Random,
            remote_port: DEFAULT_PORT,
            remote_source_port: None,
            weight: 1,
            weight_in: 1,
            priority: None,
            tier: 0,
            metered: false,
            cap: None,
            cap_day: 1,
            cap_counts: CapCounts::Both,
            at_cap: AtCap::Backup,
            mtu: None,
            rate: None,
            max_rate: None,
            min_rate: None,
            up: true,
            nat: false,
        }
    }
}
