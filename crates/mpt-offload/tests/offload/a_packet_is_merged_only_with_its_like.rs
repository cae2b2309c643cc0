use etherparse::TcpHeader;
use mpt_offload::{Coalescer, Mergeable, VnetHeader, coalesce::MAX_PIECES, vnet};

use crate::support::{ALL, Ip, Packet, Recorder, coalesce, expand, ipv4, ipv6};

const SIZE: usize = 1000;

/// Number `index` of a TCP flow with timestamps, `SIZE` bytes each.
fn tcp(ip: Ip, index: usize) -> Packet {
    let mut header =
        TcpHeader::new(40_000, 443, (u32::MAX - 1500).wrapping_add((index * SIZE) as u32), 500);
    header.acknowledgment_number = 77;
    header.ack = true;
    header.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
    let mut packet = Packet::tcp(ip, header, vec![index as u8; SIZE]);
    if let Ip::V4(header) = &mut packet.ip {
        header.identification = header.identification.wrapping_add(index as u16);
    }
    packet
}

fn udp(ip: Ip, index: usize) -> Packet {
    let mut packet = Packet::udp(ip, (40_000, 443), vec![index as u8; SIZE]);
    if let Ip::V4(header) = &mut packet.ip {
        header.identification = header.identification.wrapping_add(index as u16);
    }
    packet
}

fn without_df(packet: Packet) -> Packet {
    let Ip::V4(mut header) = packet.ip else { panic!("not IPv4") };
    header.dont_fragment = false;
    Packet { ip: Ip::V4(header), ..packet }
}

/// Returns the numbers of the packets that left together.
fn groups(inputs: &[Vec<u8>]) -> Vec<Vec<usize>> {
    let writes = coalesce(inputs, ALL);
    for write in &writes {
        // Whether or not packets are merged, they are those that came.
        let packets = expand(&write.vnet, &write.bytes);
        assert_eq!(packets.len(), write.packets.len());
        for (packet, &input) in packets.iter().zip(&write.packets) {
            assert!(*packet == inputs[input], "packet {input} changed");
        }
    }
    writes.into_iter().map(|write| write.packets).collect()
}

#[test]
fn a_train_of_full_segments_becomes_one() {
    type Train = fn(usize) -> Packet;
    let trains: [(&str, Train, u8); 4] = [
        ("TCP, IPv4", |i| tcp(ipv4(), i), vnet::GSO_TCPV4),
        ("TCP, IPv6", |i| tcp(ipv6(), i), vnet::GSO_TCPV6),
        ("UDP, IPv4", |i| udp(ipv4(), i), vnet::GSO_UDP_L4),
        ("UDP, IPv6", |i| udp(ipv6(), i), vnet::GSO_UDP_L4),
    ];
    for (name, packet, gso_type) in trains {
        let inputs: Vec<Vec<u8>> = (0..44).map(|index| packet(index).bytes()).collect();
        let writes = coalesce(&inputs, ALL);
        assert_eq!(writes.len(), 1, "{name}");
        assert_eq!(
            (writes[0].vnet.gso_type, usize::from(writes[0].vnet.gso_size)),
            (gso_type, SIZE),
            "{name}"
        );
        assert_eq!(groups(&inputs), [(0..44).collect::<Vec<_>>()], "{name}");
    }
}

#[test]
fn what_differs_stays_apart() {
    // Changes of the second of two packets that would be merged without.
    type Change = fn(&mut Packet);
    fn v4(packet: &mut Packet) -> &mut etherparse::Ipv4Header {
        let Ip::V4(header) = &mut packet.ip else { panic!("not IPv4") };
        header
    }
    fn v6(packet: &mut Packet) -> &mut etherparse::Ipv6Header {
        let Ip::V6(header) = &mut packet.ip else { panic!("not IPv6") };
        header
    }
    let any: [(&str, Change); 1] = [("longer", |packet| packet.payload.push(0))];
    let on_tcp: [(&str, Change); 16] = [
        ("sequence ahead", |packet| packet.tcp_header().sequence_number += 1),
        ("sequence again", |packet| packet.tcp_header().sequence_number -= SIZE as u32),
        ("acknowledgment", |packet| packet.tcp_header().acknowledgment_number += 1),
        ("window", |packet| packet.tcp_header().window_size += 1),
        ("urgent pointer", |packet| packet.tcp_header().urgent_pointer = 1),
        ("no ACK", |packet| packet.tcp_header().ack = false),
        ("ECE", |packet| packet.tcp_header().ece = true),
        ("CWR", |packet| packet.tcp_header().cwr = true),
        ("AE", |packet| packet.tcp_header().ns = true),
        ("SYN", |packet| packet.tcp_header().syn = true),
        ("RST", |packet| packet.tcp_header().rst = true),
        ("URG", |packet| packet.tcp_header().urg = true),
        ("other timestamp", |packet| {
            packet.tcp_header().set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 2]).unwrap();
        }),
        ("no options", |packet| packet.tcp_header().set_options_raw(&[]).unwrap()),
        ("source port", |packet| packet.tcp_header().source_port += 1),
        ("destination port", |packet| packet.tcp_header().destination_port += 1),
    ];
    let on_v4: [(&str, Change); 6] = [
        ("DSCP", |packet| v4(packet).dscp = 1.try_into().unwrap()),
        ("ECN", |packet| v4(packet).ecn = 3.try_into().unwrap()),
        ("TTL", |packet| v4(packet).time_to_live -= 1),
        ("DF", |packet| v4(packet).dont_fragment ^= true),
        ("source", |packet| v4(packet).source[3] += 1),
        ("IP options", |packet| v4(packet).options = [1, 1, 1, 0].into()),
    ];
    let on_v6: [(&str, Change); 5] = [
        ("DSCP", |packet| v6(packet).traffic_class = 4),
        ("ECN", |packet| v6(packet).traffic_class = 3),
        ("flow label", |packet| v6(packet).flow_label = Default::default()),
        ("hop limit", |packet| v6(packet).hop_limit -= 1),
        ("destination", |packet| v6(packet).destination[15] += 1),
    ];
    let check = |kind: &str, packet: &dyn Fn(usize) -> Packet, changes: &[(&str, Change)]| {
        let first = packet(0).bytes();
        assert_eq!(groups(&[first.clone(), packet(1).bytes()]), [[0, 1]], "{kind}");
        for (name, change) in changes {
            let mut second = packet(1);
            change(&mut second);
            assert_eq!(groups(&[first.clone(), second.bytes()]), [[0], [1]], "{kind}, {name}");
        }
    };
    for (kind, ip, changes) in [("IPv4", ipv4(), &on_v4[..]), ("IPv6", ipv6(), &on_v6[..])] {
        check(&format!("TCP, {kind}"), &|index| tcp(ip.clone(), index), &on_tcp);
        for changes in [changes, &any] {
            check(&format!("TCP, {kind}"), &|index| tcp(ip.clone(), index), changes);
            check(&format!("UDP, {kind}"), &|index| udp(ip.clone(), index), changes);
        }
    }
}

#[test]
fn without_df_identifications_must_be_consecutive() {
    for packet in [tcp, udp] {
        let first = without_df(packet(ipv4(), 0));
        let second = without_df(packet(ipv4(), 1));
        assert_eq!(groups(&[first.bytes(), second.bytes()]), [[0, 1]]);
        let mut jumped = second.clone();
        let Ip::V4(header) = &mut jumped.ip else { unreachable!() };
        header.identification += 1;
        assert_eq!(groups(&[first.bytes(), jumped.bytes()]), [[0], [1]]);
        let mut same = second;
        same.ip = first.ip.clone();
        assert_eq!(groups(&[first.bytes(), same.bytes()]), [[0], [1]]);
    }
}

#[test]
fn a_short_segment_psh_or_fin_is_the_last() {
    let packets = |change: fn(&mut Packet)| {
        let mut packets: Vec<Packet> = (0..4).map(|index| tcp(ipv4(), index)).collect();
        change(&mut packets[1]);
        packets.iter().map(Packet::bytes).collect::<Vec<_>>()
    };
    assert_eq!(groups(&packets(|packet| packet.tcp_header().psh = true)), [[0, 1], [2, 3]]);
    assert_eq!(groups(&packets(|packet| packet.tcp_header().fin = true)), [[0, 1], [2, 3]]);
    // The next one's number would follow the missing byte.
    assert_eq!(groups(&packets(|packet| packet.payload.truncate(SIZE - 1))), [[0, 1], [2, 3]]);

    let mut packets: Vec<Packet> = (0..4).map(|index| udp(ipv6(), index)).collect();
    packets[1].payload.truncate(1);
    let inputs: Vec<Vec<u8>> = packets.iter().map(Packet::bytes).collect();
    assert_eq!(groups(&inputs), [[0, 1], [2, 3]]);
}

#[test]
fn cwr_may_be_on_the_first() {
    let mut first = tcp(ipv4(), 0);
    first.tcp_header().cwr = true;
    let inputs = [first.bytes(), tcp(ipv4(), 1).bytes()];
    assert_eq!(groups(&inputs), [[0, 1]]);
    assert_eq!(coalesce(&inputs, ALL)[0].vnet.gso_type, vnet::GSO_TCPV4 | vnet::GSO_ECN);
}

#[test]
fn a_super_packet_has_at_most_64_segments_and_64_kilobytes() {
    let mut inputs = Vec::new();
    for index in 0..130u32 {
        let mut packet = tcp(ipv4(), 0);
        packet.tcp_header().sequence_number = index * 10;
        packet.payload.truncate(10);
        let Ip::V4(header) = &mut packet.ip else { unreachable!() };
        header.identification =
            header.identification.wrapping_add((index % MAX_PIECES as u32) as u16);
        inputs.push(packet.bytes());
    }
    let sizes: Vec<usize> = groups(&inputs).iter().map(Vec::len).collect();
    assert_eq!(sizes, [64, 64, 2]);

    // Headers of 52 bytes and 7 segments of 9354 are 65,530 bytes; one more segment does not fit.
    let inputs: Vec<Vec<u8>> = (0..14u32)
        .map(|index| {
            let mut packet = tcp(ipv4(), (index % 7) as usize);
            packet.tcp_header().sequence_number = index * 9354;
            packet.payload = vec![1; 9354];
            packet.bytes()
        })
        .collect();
    let sizes: Vec<usize> = groups(&inputs).iter().map(Vec::len).collect();
    assert_eq!(sizes, [7, 7]);
}

#[test]
fn a_wrong_checksum_passes_alone_and_untouched() {
    let flows: [fn(usize) -> Packet; 3] =
        [|i| tcp(ipv4(), i), |i| tcp(ipv6(), i), |i| udp(ipv4(), i)];
    for packet in flows {
        let mut inputs: Vec<Vec<u8>> = (0..5).map(|index| packet(index).bytes()).collect();
        *inputs[2].last_mut().unwrap() ^= 1;
        assert_eq!(groups(&inputs), [vec![0, 1], vec![2], vec![3, 4]]);
        assert_eq!(coalesce(&inputs, ALL)[1].vnet, VnetHeader::default());
    }
    // The IPv4 header's own.
    let mut inputs: Vec<Vec<u8>> = (0..3).map(|index| tcp(ipv4(), index).bytes()).collect();
    inputs[1][10] ^= 1;
    assert_eq!(groups(&inputs), [[0], [1], [2]]);
    // UDP without one.
    let mut inputs: Vec<Vec<u8>> = (0..3).map(|index| udp(ipv4(), index).bytes()).collect();
    inputs[1][26..28].copy_from_slice(&[0, 0]);
    assert_eq!(groups(&inputs), [[0], [1], [2]]);
}

#[test]
fn a_pure_ack_is_not_held_and_overtakes_nothing_of_its_flow() {
    let mut ack = tcp(ipv4(), 0);
    ack.payload.clear();
    let inputs = [ack.bytes()];
    let mut recorder = Recorder::new(&inputs);
    let mut coalescer = Coalescer::new(ALL);
    coalescer.push(&inputs[0], 0, false, &mut recorder);
    assert_eq!(recorder.writes.len(), 1);
    assert_eq!(recorder.writes[0].bytes, inputs[0]);

    let mut other = ack.clone();
    other.tcp_header().source_port += 1;
    let inputs =
        [tcp(ipv4(), 0), tcp(ipv4(), 1), other, ack, tcp(ipv4(), 2)].map(|packet| packet.bytes());
    assert_eq!(groups(&inputs), [vec![2], vec![0, 1], vec![3], vec![4]]);
}

#[test]
fn a_fragment_overtakes_nothing_between_its_hosts() {
    let mut fragment = udp(ipv4(), 2);
    let Ip::V4(header) = &mut fragment.ip else { unreachable!() };
    header.more_fragments = true;
    let mut elsewhere = udp(ipv4(), 0);
    let Ip::V4(header) = &mut elsewhere.ip else { unreachable!() };
    header.destination[3] = 9;
    let mut later = udp(ipv4(), 1);
    let Ip::V4(header) = &mut later.ip else { unreachable!() };
    header.destination[3] = 9;
    let inputs =
        [udp(ipv4(), 0), elsewhere, tcp(ipv4(), 0), fragment, later].map(|packet| packet.bytes());
    assert_eq!(groups(&inputs), [vec![0], vec![2], vec![3], vec![1, 4]]);
}

#[test]
fn nothing_is_merged_across_a_gap() {
    let inputs: Vec<Vec<u8>> = (0..4).map(|index| udp(ipv4(), index).bytes()).collect();
    let mut recorder = Recorder::new(&inputs);
    let mut coalescer = Coalescer::new(ALL);
    for (index, packet) in inputs.iter().enumerate() {
        coalescer.push(packet, index, index == 2, &mut recorder);
    }
    coalescer.flush(&mut recorder);
    let groups: Vec<_> = recorder.writes.iter().map(|write| write.packets.clone()).collect();
    assert_eq!(groups, [[0, 1], [2, 3]]);
}

#[test]
fn interleaved_flows_each_have_their_super_packet() {
    let mut inputs = Vec::new();
    for index in 0..5 {
        for flow in 0..8 {
            let mut packet = tcp(ipv6(), index);
            packet.tcp_header().source_port += flow;
            inputs.push(packet.bytes());
        }
    }
    let expected: Vec<Vec<usize>> =
        (0..8).map(|flow| (0..5).map(|index| index * 8 + flow).collect()).collect();
    assert_eq!(groups(&inputs), expected);
}

#[test]
fn only_what_the_device_takes_is_merged() {
    let inputs: Vec<Vec<u8>> = [tcp(ipv4(), 0), udp(ipv4(), 0), tcp(ipv4(), 1), udp(ipv4(), 1)]
        .iter()
        .map(Packet::bytes)
        .collect();
    let count = |tcp, udp| coalesce(&inputs, Mergeable { tcp, udp }).len();
    assert_eq!(
        (count(true, true), count(true, false), count(false, true), count(false, false)),
        (2, 3, 3, 4)
    );
    for write in coalesce(&inputs, Mergeable { tcp: false, udp: false }) {
        assert_eq!((write.vnet, &write.bytes), (VnetHeader::default(), &inputs[write.packets[0]]));
    }
}

#[test]
fn every_packet_is_counted_once() {
    let mut ack = tcp(ipv4(), 0);
    ack.payload.clear();
    let mut bad = tcp(ipv4(), 7).bytes();
    *bad.last_mut().unwrap() ^= 1;
    let mut fragment = udp(ipv4(), 0);
    let Ip::V4(header) = &mut fragment.ip else { unreachable!() };
    header.more_fragments = true;
    let mut icmp = udp(ipv4(), 0).bytes();
    icmp[9] = 1;
    let inputs = [
        tcp(ipv4(), 0).bytes(),
        tcp(ipv4(), 1).bytes(),
        tcp(ipv4(), 2).bytes(),
        ack.bytes(),
        tcp(ipv4(), 5).bytes(),
        bad,
        fragment.bytes(),
        icmp,
        vec![],
    ];
    let mut recorder = Recorder::new(&inputs);
    let mut coalescer = Coalescer::new(ALL);
    for (index, packet) in inputs.iter().enumerate() {
        coalescer.push(packet, index, false, &mut recorder);
    }
    let counters = coalescer.counters();
    assert_eq!((counters.super_packets, counters.merged), (1, 3));
    assert_eq!((counters.control, counters.alone, counters.checksum), (1, 1, 1));
    assert_eq!((counters.headers, counters.protocol), (1, 2));
}
