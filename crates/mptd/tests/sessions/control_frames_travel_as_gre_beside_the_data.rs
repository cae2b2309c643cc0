//! On the wire: control frames are GRE packets of protocol type 0x88b5 on exactly the 5-tuples of the data, with a key if the data
//! has one and never with a sequence number; plain data is IP in GRE and nothing else. tshark is the witness.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Capture, Captured, Config, Datagram, Line, Pair};
use crate::support::authenticate;

/// A packet as tshark decodes it.
struct Decoded {
    /// Addresses and ports.
    tuple: String,
    protocol: String,
    flags: String,
    key: String,
}

/// Everything on the lines from the start of the daemons on, with data both ways.
fn packets(change: impl Fn(&mut Config)) -> Vec<Decoded> {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("seal", "off");
        change(config);
    }
    let capture = Capture::start(&pair.a);
    let _daemons = pair.start(&configs);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 100_000);
    tcp_both_ways(&pair.a, &pair.b, "[fd00:72::2]:5001", 100_000);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut packets = capture.stop();
    packets.retain(|packet| Datagram::parse(packet).is_some());
    decode(&packets)
}

fn decode(packets: &[Captured]) -> Vec<Decoded> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcap");
    fs::write(&file, crate::hosts::pcap(packets.iter())).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(&file).args(["-T", "fields", "-E", "occurrence=f"]);
    for field in [
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
        "gre.proto",
        "gre.flags_and_version",
        "gre.key",
    ] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-e", "_ws.malformed"]);
    let output = tshark.output().expect("tshark is installed (scripts/setup test)");
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.lines().count(), packets.len());
    let decoded = output.lines().map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [source, destination, from, to, protocol, flags, key, malformed] = columns[..] else {
            panic!("{line}");
        };
        assert_eq!(malformed, "", "{line}");
        Decoded {
            tuple: format!("{source}:{from} {destination}:{to}"),
            protocol: protocol.to_owned(),
            flags: flags.to_owned(),
            key: key.to_owned(),
        }
    });
    decoded.collect()
}

/// Flags of control frames and of data.
fn assert_side_by_side(packets: &[Decoded], [control_flags, data_flags]: [&str; 2], key: &str) {
    let (control, data): (Vec<_>, Vec<_>) =
        packets.iter().partition(|packet| packet.protocol == "0x88b5");
    assert!(control.len() > 20 && data.len() > 100, "{} and {}", control.len(), data.len());
    let tuples = |packets: &[&Decoded]| -> BTreeSet<_> {
        packets.iter().map(|packet| packet.tuple.clone()).collect()
    };
    assert_eq!(tuples(&control), tuples(&data));
    assert_eq!(tuples(&data).len(), 4, "one for each line and direction");
    for packet in control {
        assert_eq!((packet.flags.as_str(), packet.key.as_str()), (control_flags, key));
    }
    for packet in data {
        assert!(matches!(packet.protocol.as_str(), "0x0800" | "0x86dd"), "{}", packet.protocol);
        assert_eq!((packet.flags.as_str(), packet.key.as_str()), (data_flags, key));
    }
}

#[test]
fn without_a_key() {
    assert_side_by_side(&packets(|_| {}), ["0x0000", "0x1000"], "");
}

#[test]
fn with_a_key() {
    let packets = packets(|config| {
        config.connection("tunnel").set("key", 0x00c0_ffee);
    });
    assert_side_by_side(&packets, ["0x2000", "0x3000"], "0x00c0ffee");
}

/// The ports of the paths are chosen at random.
#[test]
fn with_source_ports_of_their_own() {
    let packets = packets(|config| {
        for path in ["line1", "line2"] {
            config.path("tunnel", path).set("source_port", "random");
        }
    });
    assert_side_by_side(&packets, ["0x0000", "0x1000"], "");
}
