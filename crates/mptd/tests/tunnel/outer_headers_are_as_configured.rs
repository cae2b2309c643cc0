//! Source ports, UDP checksum, DSCP and ECN of the outer headers; ECN of the inner ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use socket2::SockRef;

use crate::hosts::traffic::deliver;
use crate::hosts::{Capture, Config, Daemon, Datagram, Line, Pair, wait_for};

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;
const EF: u8 = 46 << 2;

#[test]
fn entropy_spreads_flows_over_source_ports() {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    for (end, config) in (1..).zip(&mut configs) {
        config.lay_path_v6("tunnel", 2, end);
        for line in ["line1", "line2"] {
            config.path("tunnel", line).set("source_port", "entropy");
        }
    }
    let [a, _b] = pair.start(&configs);
    let capture = Capture::start(&pair.a);
    let sink = pair.b.udp("10.72.0.2:5000");
    for port in 6000..6030 {
        deliver(&pair.a.udp(&format!("10.72.0.1:{port}")), &sink, 8);
    }
    let sent = capture.sent();
    for path in a.connection("tunnel").paths {
        let mut ports_of_flows = BTreeMap::<u16, BTreeSet<u16>>::new();
        for datagram in sent.iter().filter(|it| Some(it.destination) == path.remote) {
            let flow = u16::from_be_bytes([datagram.inner[20], datagram.inner[21]]);
            ports_of_flows.entry(flow).or_default().insert(datagram.source.port());
        }
        assert_eq!(ports_of_flows.len(), 30);
        assert!(ports_of_flows.values().all(|ports| ports.len() == 1), "{ports_of_flows:?}");
        let used: BTreeSet<_> = ports_of_flows.values().flatten().collect();
        // 30 flows over 16 ports: fewer than 6 would be a miracle.
        assert!(used.len() >= 6, "{used:?}");
        assert!(used.iter().all(|port| path.source_ports.contains(port) && **port >= 49_152));
    }
    // RFC 6438: the flow label of the outer header differs from flow to flow as the port does.
    let labels: BTreeMap<u16, BTreeSet<u32>> = sent.iter().filter(|it| it.source.is_ipv6()).fold(
        BTreeMap::new(),
        |mut labels, datagram| {
            labels.entry(datagram.source.port()).or_default().insert(datagram.flow_label);
            labels
        },
    );
    assert!(labels.values().all(|labels| labels.len() == 1 && !labels.contains(&0)), "{labels:?}");
    let different: BTreeSet<_> = labels.values().flatten().collect();
    assert!(different.len() >= 6, "{labels:?}");
}

#[test]
fn a_fixed_source_port_is_used_and_may_be_demanded() {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    configs[0].path("tunnel", "line1").set("source_port", 50_001);
    configs[1].path("tunnel", "line1").set("remote_source_port", 50_001);
    configs[1].path("tunnel", "line2").set("remote_source_port", 50_002);
    let [a, b] = pair.start(&configs);
    let random = a.path("tunnel", "line2").source_ports;
    let capture = Capture::start(&pair.a);
    let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    crate::hosts::traffic::send_numbered(&near, far.local_addr().unwrap(), 0..40, 100, 1000);
    // Path 2 leaves from a random port, which is not the one demanded.
    wait_for("path 2 is refused", || (b.daemon_drops("unknown_sender") == 20).then_some(()));
    assert_eq!(b.path("tunnel", "line1").received.packets, 20);
    for datagram in capture.sent() {
        let port = if datagram.source.ip().to_string() == "10.71.1.1" { 50_001 } else { random[0] };
        assert_eq!(datagram.source.port(), port);
    }
}

#[test]
fn the_udp_checksum_can_be_left_out_over_ipv4() {
    for checksum in [true, false] {
        let pair = Pair::new(&[Line::plain(); 2]);
        let mut configs = pair.configs();
        for config in &mut configs {
            config.connection("tunnel").set("udp_checksum", checksum);
        }
        let _daemons = pair.start(&configs);
        let capture = Capture::start(&pair.a);
        deliver(&pair.a.udp("10.72.0.1:5000"), &pair.b.udp("10.72.0.2:5000"), 50);
        let sent = capture.sent();
        assert_eq!(sent.len(), 50);
        assert!(sent.iter().all(|datagram| (datagram.udp_checksum != 0) == checksum), "{sent:?}");
    }
}

#[test]
fn dscp_is_copied_on_request_and_ecn_by_mode() {
    // Copy DSCP, ECN mode, inner TOS, outer TOS.
    for (copy, mode, inner, outer) in [
        (false, "compatibility", EF | ECT_0, 0),
        (true, "compatibility", EF | ECT_0, EF),
        (true, "compatibility", EF | CE, EF),
        (false, "normal", EF | ECT_0, ECT_0),
        (true, "normal", EF | ECT_1, EF | ECT_1),
        (true, "normal", EF, EF),
    ] {
        let pair = Pair::new(&[Line::plain(); 2]);
        let mut configs = pair.configs();
        for (end, config) in (1..).zip(&mut configs) {
            config.connection("tunnel").set("copy_dscp", copy).set("ecn", mode);
            config.lay_path_v6("tunnel", 2, end);
        }
        let _daemons = pair.start(&configs);
        let capture = Capture::start(&pair.a);
        let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
        SockRef::from(&near).set_tos_v4(inner.into()).unwrap();
        deliver(&near, &far, 10);
        let (near, far) = (pair.a.udp("[fd00:72::1]:5000"), pair.b.udp("[fd00:72::2]:5000"));
        SockRef::from(&near).set_tclass_v6(inner.into()).unwrap();
        deliver(&near, &far, 10);
        let sent = capture.sent();
        assert_eq!(sent.len(), 20);
        let tos = |datagram: &Datagram| datagram.tos;
        let seen: BTreeSet<_> = sent.iter().map(tos).collect();
        assert_eq!(seen, BTreeSet::from([outer]), "copy {copy}, {mode}, inner {inner:#04x}");
    }
}

#[test]
fn a_congestion_mark_on_the_way_reaches_the_inner_packet() {
    let pair = Pair::new(&[Line::plain()]);
    let mut config: Config = pair.configs()[0].clone();
    config.connection("tunnel").set("sequence", false);
    let mut daemon = Daemon::start(&pair.a, &config);
    daemon.wait_until_up();
    let application = pair.a.udp("10.72.0.1:7000");
    let peer = pair.b.udp("10.71.1.2:4754");
    let capture = Capture::start(&pair.a);
    // RFC 6040 section 4.2: what the inner packet has, what the outer one, what comes out.
    let table = [
        (NOT_ECT, NOT_ECT, Some(NOT_ECT)),
        (NOT_ECT, ECT_0, Some(NOT_ECT)),
        (NOT_ECT, ECT_1, Some(NOT_ECT)),
        (NOT_ECT, CE, None),
        (ECT_0, NOT_ECT, Some(ECT_0)),
        (ECT_0, ECT_0, Some(ECT_0)),
        (ECT_0, ECT_1, Some(ECT_1)),
        (ECT_0, CE, Some(CE)),
        (ECT_1, NOT_ECT, Some(ECT_1)),
        (ECT_1, ECT_0, Some(ECT_1)),
        (ECT_1, ECT_1, Some(ECT_1)),
        (ECT_1, CE, Some(CE)),
        (CE, NOT_ECT, Some(CE)),
        (CE, ECT_0, Some(CE)),
        (CE, ECT_1, Some(CE)),
        (CE, CE, Some(CE)),
    ];
    for (sent, (inner, outer, _)) in (1..).zip(table) {
        send_marked(&peer, inner, outer);
        // One by one: those that arrive together may reach the application as one super-packet.
        wait_for("the packet is counted", || {
            let received = daemon.connection("tunnel").received.packets;
            (received + daemon.drops("tunnel", "ecn") == sent).then_some(())
        });
    }
    assert_eq!(daemon.drops("tunnel", "ecn"), 1);
    let arrived: Vec<_> = capture
        .stop()
        .iter()
        .filter_map(|captured| {
            let packet = SlicedPacket::from_ip(&captured.packet).ok()?;
            let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
            // The kernel would not deliver it with a wrong IPv4 header checksum, which the change of the field entails.
            (udp.destination_port() == 7000).then(|| captured.packet[1])
        })
        .collect();
    let expected: Vec<_> = table.iter().filter_map(|(.., expected)| *expected).collect();
    assert_eq!(arrived, expected);
    for _ in &expected {
        application.recv(&mut [0; 100]).expect("the kernel takes it");
    }
}

/// A plain RFC 8086 datagram from the other end.
fn send_marked(peer: &UdpSocket, inner: u8, outer: u8) {
    let mut ip = etherparse::Ipv4Header::new(
        0,
        64,
        etherparse::IpNumber::UDP,
        [10, 72, 0, 2],
        [10, 72, 0, 1],
    )
    .unwrap();
    ip.ecn = inner.try_into().unwrap();
    let builder =
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default())).udp(9000, 7000);
    let mut datagram = vec![0, 0, 0x08, 0x00];
    builder.write(&mut datagram, b"marked").unwrap();
    SockRef::from(peer).set_tos_v4(outer.into()).unwrap();
    peer.send_to(&datagram, "10.71.1.1:4754").unwrap();
}
