//! An independent decoder reads what was on the wire: GRE in UDP with the right key, consecutive sequence numbers, and checksums that are right outside and
//! inside.

use std::fs;
use std::process::Command;

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Capture, Captured, Datagram, Line, Pair};

const KEY: u32 = 0x00c0_ffee;

#[test]
fn tshark_decodes_every_data_packet() {
    let pair = Pair::new(&[Line::plain(); 3]);
    let mut configs = pair.configs();
    for (end, config) in (1..).zip(&mut configs) {
        config.connection("tunnel").set("key", KEY).set("checksum", true);
        config.path("tunnel", "line1").set("weight", 2);
        config.lay_path_v6("tunnel", 3, end);
    }
    let [a, b] = pair.start(&configs);
    let capture = Capture::start(&pair.a);
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    deliver(&sockets[0], &sockets[1], 300);
    deliver(&sockets[1], &sockets[0], 300);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
    tcp_both_ways(&pair.a, &pair.b, "[fd00:72::2]:5001", 300_000);

    let mut packets = capture.stop();
    packets.retain(|packet| Datagram::parse(packet).is_some());
    for (outgoing, sender) in [(true, &a), (false, &b)] {
        let packets: Vec<_> = packets.iter().filter(|it| it.outgoing == outgoing).collect();
        let sent = sender.connection("tunnel").sent.packets;
        assert!(sent > 700, "{sent}");
        assert_eq!(packets.len() as u64, sent, "the capture is complete");
        let mut numbers = decode(&packets);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..sent as u32), "consecutive sequence numbers");
    }
}

/// Has `tshark` check everything else, and gives the sequence numbers of all packets.
fn decode(packets: &[&Captured]) -> Vec<u32> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcap");
    fs::write(&file, crate::hosts::pcap(packets.iter().copied())).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(&file).args(["-T", "fields", "-E", "occurrence=a"]);
    for check in ["udp.check_checksum", "tcp.check_checksum", "ip.check_checksum"] {
        tshark.args(["-o", &format!("{check}:TRUE")]);
    }
    let fields = [
        "frame.protocols",
        "gre.key",
        "gre.sequence_number",
        "gre.flags_and_version",
        "gre.checksum.status",
        "udp.checksum.status",
        "tcp.checksum.status",
        "ip.checksum.status",
        "_ws.malformed",
    ];
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark is installed (scripts/setup test)");
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines.len(), packets.len());

    let number = |line: &&str| {
        let columns: Vec<_> = line.split('\t').collect();
        let [protocols, key, number, flags, gre, udp, tcp, ip, malformed] = columns[..] else {
            panic!("{line}");
        };
        assert!(protocols.contains(":udp:gre:ip"), "{line}");
        assert_eq!((key, flags), (format!("0x{KEY:08x}").as_str(), "0xb000"), "{line}");
        // Outer and inner ones; 1 stands for "good".
        let statuses = [gre, udp, tcp, ip].join(",");
        assert!(statuses.split(',').all(|status| matches!(status, "1" | "")), "{line}");
        assert_eq!((gre, malformed), ("1", ""), "{line}");
        number.parse().unwrap_or_else(|_| panic!("{line}"))
    };
    lines.iter().map(number).collect()
}
