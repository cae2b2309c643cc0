//! Wireshark's dissector is the judge of our GRE in UDP: every combination of the optional fields,
//! both inner versions, over IPv4 and IPv6.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use mpt_wire::checksum::{pseudo_header_v4, pseudo_header_v6};
use mpt_wire::gre::{PORT, Protocol, Repr};
use mpt_wire::ip::{Version, protocol};
use mpt_wire::{ipv4, ipv6, tcp, udp};

use crate::support::{all_gre_reprs, gre_datagram};

/// The fields of a row of tshark's output.
const FIELDS: [&str; 13] = [
    "frame.protocols",
    "udp.dstport",
    "udp.checksum.status",
    "gre.proto",
    "gre.flags.checksum",
    "gre.flags.key",
    "gre.flags.sequence_number",
    "gre.checksum.status",
    "gre.key",
    "gre.sequence_number",
    "tcp.srcport",
    "tcp.checksum.status",
    "_ws.malformed",
];

/// tshark's word for a checksum that has been verified and is right.
const GOOD: &str = "1";
const BAD: &str = "0";

struct Case {
    outer: Version,
    gre: Repr,
    /// The GRE checksum, if there is one, is wrong.
    damaged: bool,
}

impl Case {
    fn packet(&self) -> Vec<u8> {
        let mut gre = gre_datagram(&self.gre, &inner(self.gre.protocol));
        if self.damaged {
            // In Reserved1, which only the GRE checksum covers.
            gre[7] ^= 0x80;
        }
        in_udp(self.outer, &gre)
    }

    fn expected(&self) -> Vec<String> {
        let (outer, inner) = match (self.outer, self.gre.protocol) {
            (Version::V4, Protocol::IPV4) => ("ip", "ip"),
            (Version::V4, _) => ("ip", "ipv6"),
            (Version::V6, Protocol::IPV4) => ("ipv6", "ip"),
            (Version::V6, _) => ("ipv6", "ipv6"),
        };
        let flag = |set: bool| String::from(if set { "1" } else { "0" });
        let checksum = match (self.gre.checksum, self.damaged) {
            (false, _) => "",
            (true, false) => GOOD,
            (true, true) => BAD,
        };
        vec![
            format!("raw:{outer}:udp:gre:{inner}:tcp"),
            PORT.to_string(),
            GOOD.into(),
            format!("0x{:04x}", self.gre.protocol.0),
            flag(self.gre.checksum),
            flag(self.gre.key.is_some()),
            flag(self.gre.sequence.is_some()),
            checksum.into(),
            self.gre.key.map_or(String::new(), |key| format!("0x{key:08x}")),
            self.gre.sequence.map_or(String::new(), |sequence| sequence.to_string()),
            "49152".into(),
            GOOD.into(),
            String::new(),
        ]
    }
}

#[test]
fn every_combination_of_the_optional_fields() {
    let mut cases = Vec::new();
    for outer in [Version::V4, Version::V6] {
        for gre in all_gre_reprs() {
            cases.push(Case { outer, gre, damaged: false });
            if gre.checksum {
                cases.push(Case { outer, gre, damaged: true });
            }
        }
    }
    let packets: Vec<Vec<u8>> = cases.iter().map(Case::packet).collect();
    let rows = dissect("gre", &packets);
    assert_eq!(rows.len(), cases.len(), "one row per packet");
    for (case, row) in cases.iter().zip(rows) {
        let named = |values: &[String]| -> Vec<String> {
            FIELDS.iter().zip(values).map(|(field, value)| format!("{field} = {value}")).collect()
        };
        assert_eq!(named(&row), named(&case.expected()), "{} over {}", case.gre, case.outer);
    }
}

/// A TCP segment in an IP packet of the version that the protocol type names.
fn inner(protocol: Protocol) -> Vec<u8> {
    let segment = tcp::Repr {
        source_port: 49_152,
        destination_port: 9,
        sequence: 1,
        acknowledgment: 0,
        flags: tcp::Flags::SYN,
        window: 1_000,
        urgent: 0,
        options: &[2, 4, 0x05, 0x00],
    };
    let version = if protocol == Protocol::IPV4 { Version::V4 } else { Version::V6 };
    // An odd length, so that the checksum's last byte is alone in its word.
    let len = segment.header_len() + 3;
    let (mut packet, pseudo_header) = ip_header(version, protocol::TCP, len);
    let at = packet.len();
    packet.resize(at + len, 0xa5);
    segment.emit(&mut packet[at..]);
    tcp::Packet::new_checked(&mut packet[at..]).unwrap().fill_checksum(pseudo_header);
    packet
}

fn in_udp(version: Version, payload: &[u8]) -> Vec<u8> {
    let len = udp::HEADER_LEN + payload.len();
    let (mut packet, pseudo_header) = ip_header(version, protocol::UDP, len);
    let at = packet.len();
    packet.resize(at + udp::HEADER_LEN, 0);
    let payload_len = payload.len() as u16;
    udp::Repr { source_port: 50_000, destination_port: PORT, payload_len }.emit(&mut packet[at..]);
    packet.extend(payload);
    udp::Packet::new_checked(&mut packet[at..]).unwrap().fill_checksum(pseudo_header);
    packet
}

/// An IP header, and the pseudo-header for what follows.
fn ip_header(version: Version, protocol: u8, len: usize) -> (Vec<u8>, mpt_wire::checksum::Sum) {
    let mut packet = vec![0; version.header_len()];
    match version {
        Version::V4 => {
            let (source, destination) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            ipv4::Repr {
                source,
                destination,
                protocol,
                tos: 0,
                identification: 0,
                dont_fragment: true,
                ttl: 64,
                payload_len: len as u16,
            }
            .emit(&mut packet);
            (packet, pseudo_header_v4(source, destination, protocol, len as u16))
        }
        Version::V6 => {
            let source = [0xfd00, 0, 0, 0, 0, 0, 0, 1].into();
            let destination = [0xfd00, 0, 0, 0, 0, 0, 0, 2].into();
            ipv6::Repr {
                source,
                destination,
                next_header: protocol,
                traffic_class: 0,
                flow_label: 0,
                hop_limit: 64,
                payload_len: len as u16,
            }
            .emit(&mut packet);
            (packet, pseudo_header_v6(source, destination, protocol, len as u32))
        }
    }
}

/// Runs tshark over the packets: the values of [`FIELDS`], one row per packet.
fn dissect(name: &str, packets: &[Vec<u8>]) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    fs::write(&path, pcap(packets)).expect("a capture file can be written");
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(&path).args(["-T", "fields", "-E", "separator=|"]);
    // Only the first value of a field that occurs in outer and inner headers.
    command.args(["-E", "occurrence=f"]);
    for protocol in ["udp", "tcp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test needs tshark (Debian and Ubuntu: apt install tshark): {error}")
    });
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark prints text");
    // Depending on the TCP segments before it, tshark shows a payload as data or not at all.
    let row =
        |line: &str| line.split('|').map(|v| v.trim_end_matches(":data").to_owned()).collect();
    text.lines().map(row).collect()
}

/// A capture file of IP packets (the classic pcap format, LINKTYPE_RAW).
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    const LINKTYPE_RAW: u32 = 101;
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4u32.to_le_bytes());
    file.extend([2, 0, 4, 0]); // version 2.4
    file.extend([0; 8]); // time zone, accuracy
    file.extend(65_535u32.to_le_bytes());
    file.extend(LINKTYPE_RAW.to_le_bytes());
    for (second, packet) in packets.iter().enumerate() {
        let len = (packet.len() as u32).to_le_bytes();
        file.extend((second as u32).to_le_bytes());
        file.extend([0; 4]);
        file.extend(len);
        file.extend(len);
        file.extend(packet);
    }
    file
}
