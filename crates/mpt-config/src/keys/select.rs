//! `[[connection.select]]`

use ipnet::IpNet;

use super::super::key::{Keys, Part, Shown, field};
use super::super::types::{Fec, Late, PortRange};
use crate::parse::draft::Select;
use crate::syntax::form::{Choice, Text, scalar, text};
use crate::syntax::values;

const NETWORK: &str = "a network such as \"192.168.2.0/24\"";
const PORTS: Text<PortRange> = scalar(
    "a port such as 5060 or a range such as \"5060-5070\"",
    values::ports,
    ToString::to_string,
);
const PROTOCOL: Text<u8> = scalar(
    "\"tcp\", \"udp\", another name or a number from 0 to 255",
    values::protocol,
    ToString::to_string,
);
const DSCP: Text<u8> = scalar(
    "a number from 0 to 63 or a name such as \"EF\" or \"AF41\"",
    values::dscp,
    ToString::to_string,
);
const DESTINATION: Text<IpNet> = text(NETWORK, values::routed_network, ToString::to_string);
const SOURCE: Text<IpNet> = text(NETWORK, values::network, ToString::to_string);

const LATE: [(&str, Late); 2] = [("wait", Late::Wait), ("deliver", Late::Deliver)];

const FEC: [(&str, Fec); 3] = [("auto", Fec::Auto), ("on", Fec::On), ("off", Fec::Off)];

impl Keys for Select {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Select.destination?,
            DESTINATION,
            "The destination lies in this network. By default it lies in any of the networks of the connection."
        )
        .shown(Shown::Example("\"192.168.2.0/24\"")),
        &field!(
            Select.source?,
            SOURCE,
            "The source lies in this network."
        )
        .shown(Shown::Example("\"192.168.1.0/24\"")),
        &field!(
            Select.protocol?,
            PROTOCOL,
            "The protocol is this one: \"icmp\", \"tcp\", \"udp\", \"gre\", \"esp\", \"ah\", \"icmpv6\", \"ospf\", \"sctp\" or a number."
        )
        .shown(Shown::Example("\"udp\"")),
        &field!(
            Select.source_port?,
            PORTS,
            "The source port is this one, or in a range such as \"10000-20000\"."
        )
        .shown(Shown::Example("\"10000-20000\"")),
        &field!(
            Select.destination_port?,
            PORTS,
            "The destination port is this one, or in such a range."
        )
        .shown(Shown::Example("5060")),
        &field!(
            Select.dscp?,
            DSCP,
            "The DSCP is this one: a number from 0 to 63, or a name such as \"EF\", \"AF41\" or \"CS5\"."
        )
        .shown(Shown::Example("\"EF\"")),
        &field!(
            Select.late,
            Choice(&LATE),
            "What the answers to these packets do while packets before them are missing: \"wait\" (as the repair of the connection says) or \"deliver\" \
             (they never wait). Packets that come late are delivered in both cases. The peer says the same of the packets that it gets."
        )
        .shown(Shown::Example("\"deliver\"")),
        &field!(
            Select.fec,
            Choice(&FEC),
            "Whether forward error correction protects these packets, with mapping = \"adaptive\", two paths and a peer that can do it: \"auto\" (those \
             whose DSCP is EF), \"on\" (all of them) or \"off\". It is for voice and video: repair symbols on another path take from an eighth to a \
             half of the bytes of the packets, as the measured loss says, and nothing below 0.05 %. Packets of more than 1132 bytes are not protected."
        )
        .shown(Shown::Example("\"on\"")),
    ];

    fn usual() -> Self {
        Select::default()
    }
}
