//! An attacker on the paths of sealed data who flips, cuts, lengthens, swaps, repeats and relabels
//! every packet, in both directions, while the data flows: what he has made is counted and dropped,
//! and both hosts end as they end without him.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mpt_core::Mapping;
use mpt_wire::gre;

use super::host::{address, datagram};
use super::network::*;

/// A packet that was sent: from which side, over which path.
type Sent = (Side, usize, Vec<u8>);

/// The material from which the attacker makes packets.
struct Spoils<'a> {
    /// The number of packets that the attacker has seen.
    nth: usize,
    /// The packet that was just sent, which has not arrived yet.
    packet: &'a Sent,
    /// The one before it in the same direction.
    before: &'a Sent,
    /// One in the same direction that has arrived.
    arrived: &'a Sent,
    /// The latest one of the other direction.
    back: &'a Sent,
    /// One of another tunnel between the same hosts.
    elsewhere: &'a Sent,
    /// One in the same direction that was sealed with the keys before these, once there are others.
    former: Option<&'a Sent>,
}

/// Returns the datagrams that the attacker sends to the receiver of `packet` on its path, from its address. None of them is a packet as it was sent,
/// but for repetitions of packets that have arrived.
fn altered(spoils: &Spoils<'_>) -> Vec<Vec<u8>> {
    let Spoils { nth, packet, before, arrived, back, elsewhere, former } = *spoils;
    let bytes = &packet.2;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        bytes
    };
    let labelled = |label: &Sent, body: &Sent| [&label.2[..12], &body.2[12..]].concat();
    let mut all = vec![
        // Flipped: every bit in its turn.
        changed(&|it| {
            let bit = nth % (8 * it.len());
            it[bit / 8] ^= 1 << (bit % 8);
        }),
        // Cut at every length, and lengthened.
        changed(&|it| it.truncate(nth % it.len())),
        changed(&|it| it.extend_from_slice(&before.2[..1 + nth % 20])),
        // Under the number of another packet, and with the tag of another one.
        labelled(packet, before),
        changed(&|it| {
            let tag = it.len() - 16;
            it[tag..].copy_from_slice(&before.2[tag..]);
        }),
        // Under numbers that are to come, near and far.
        changed(&|it| add(it, 1 + nth as u32 % 1000)),
        changed(&|it| add(it, 1 << (nth % 32))),
        // As one of the other direction, and that one as one of this direction.
        [&bytes[..4], &back.2[4..8], &bytes[8..]].concat(),
        back.2.clone(),
        [&back.2[..4], &bytes[4..8], &back.2[8..]].concat(),
        labelled(packet, back),
        // One of another connection as one of this.
        elsewhere.2.clone(),
        labelled(packet, elsewhere),
        [&bytes[..8], &elsewhere.2[8..]].concat(),
        // As a plain packet, and as one with a checksum.
        changed(&|it| it[2..4].copy_from_slice(&gre::Protocol::IPV4.0.to_be_bytes())),
        changed(&|it| it[0] |= 0x80),
        // Repeated.
        arrived.2.clone(),
    ];
    if let Some(former) = former {
        all.extend([former.2.clone(), labelled(packet, former), labelled(former, packet)]);
    }
    all
}

/// Adds to the number of a packet.
fn add(packet: &mut [u8], count: u32) {
    let number = u32::from_be_bytes(packet[8..12].try_into().unwrap());
    packet[8..12].copy_from_slice(&number.wrapping_add(count).to_be_bytes());
}

/// Datagrams that a side has dropped, whatever the reason.
fn dropped(network: &Network, side: Side) -> u64 {
    let host = &network.hosts[side];
    let tunnels = host.node.tunnels();
    let connection = tunnels.connection(host.connection).unwrap();
    tunnels.datagram_drops().total() + connection.datagram_drops().total()
}

/// Everything that a host knows and counts, but for what it has dropped.
fn state(network: &Network) -> String {
    let mut text = network.describe();
    for host in &network.hosts {
        let connection = host.node.tunnels().connection(host.connection).unwrap();
        let reorder = connection.reorder().map(|it| *it.counters());
        let (accepted, remarks) = (connection.accepted(), connection.remarks());
        writeln!(text, "{accepted:?} {remarks:?} {reorder:?}").unwrap();
        for path in connection.paths() {
            let path = host.node.tunnels().path(path).unwrap();
            writeln!(text, "{:?} {:?} {:?}", path.remote(), path.sent(), path.received()).unwrap();
        }
    }
    text
}

/// Returns the packets that a side has delivered, with their times.
fn since(network: &Network, side: Side, start: Instant) -> Vec<(Duration, u64)> {
    network.hosts[side].delivered.iter().map(|&(at, id)| (at - start, id)).collect()
}

/// The packets of a tunnel between the same hosts, for which they have other keys.
fn another_tunnel(mapping: Mapping) -> Vec<Sent> {
    let mut network = sealed(100, mapping);
    network.captured_data = Some(Vec::new());
    network.run_traffic(millis(200), millis(1));
    take(&mut network)
}

fn sealed(seed: u64, mapping: Mapping) -> Network {
    Network::established(Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() })
}

fn take(network: &mut Network) -> Vec<Sent> {
    let sent = network.captured_data.replace(Vec::new()).unwrap_or_default();
    sent.into_iter().map(|(side, path, wire)| (side, path, wire.bytes)).collect()
}

/// Data for a second, new keys, and data again; with or without an attacker. Returns how many packets
/// he has made, as well.
fn run(seed: u64, mapping: Mapping, attacked: bool) -> (String, [Vec<(Duration, u64)>; 2], u64) {
    let mut network = sealed(seed, mapping);
    let start = network.now();
    let elsewhere = another_tunnel(mapping);
    network.captured_data = Some(Vec::new());
    let (mut seen, mut made) = ([Vec::<Sent>::new(), Vec::new()], 0);
    for round in 0..4000 {
        if round == 2000 {
            // Sessions agree on new keys every 120 s.
            network.run_traffic(Duration::from_secs(125), Duration::from_secs(1));
            take(&mut network);
        }
        network.run_traffic(millis(1), millis(1));
        for packet in take(&mut network) {
            let (side, path, _) = packet;
            let (nth, back) = (seen[side].len(), seen[1 - side].last().cloned());
            let other = |it: &&Sent| it.2 != packet.2;
            let before = seen[side].iter().rev().find(other).cloned();
            let arrived = nth.checked_sub(200).map(|at| &seen[side][at]);
            let arrived = arrived.filter(|it| it.1 == path);
            if let (true, Some(back), Some(before), Some(arrived)) =
                (attacked, &back, &before, arrived)
            {
                let old = seen[side].iter().find(|it| it.1 == path).unwrap_or(arrived);
                let spoils = Spoils {
                    nth,
                    packet: &packet,
                    before,
                    arrived,
                    back,
                    elsewhere: elsewhere.iter().filter(|it| it.0 == side).nth(nth % 100).unwrap(),
                    former: (old.2[4..8] != packet.2[4..8]).then_some(old),
                };
                for bytes in altered(&spoils) {
                    let before = dropped(&network, 1 - side);
                    network.inject(1 - side, path, address(path, side), bytes);
                    assert_eq!(dropped(&network, 1 - side), before + 1, "each is counted once");
                    made += 1;
                }
            }
            seen[side].push(packet);
        }
    }
    network.run(Duration::from_secs(1));
    network.assert_nothing_lost();
    let delivered = SIDES.map(|side| since(&network, side, start));
    (state(&network), delivered, made)
}

#[test]
fn all_that_is_altered_is_counted_and_neither_delivered_nor_changes_any_state() {
    for (seed, mapping) in [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate)] {
        let (state, delivered, made) = run(seed, mapping, false);
        assert_eq!(made, 0);
        let (state_under_attack, delivered_under_attack, made) = run(seed, mapping, true);
        assert!(made > 100_000, "{made}");
        assert_eq!(state_under_attack, state, "{mapping:?}");
        assert!(delivered_under_attack == delivered, "{mapping:?}");
    }
}

/// Packets come from where the attacker is, and on the socket of another path.
#[test]
fn a_packet_from_another_address_moves_no_path() {
    let mut network = sealed(3, Mapping::Packet);
    network.captured_data = Some(Vec::new());
    for nth in 0..500_u16 {
        network.run_traffic(millis(1), millis(1));
        for (side, path, bytes) in take(&mut network) {
            let host = 1 + (nth % 250) as u8;
            let stranger = (std::net::Ipv4Addr::new(203, 0, 113, host), 4754).into();
            for (path, from) in [(path, stranger), (1 - path, address(path, side))] {
                let before = dropped(&network, 1 - side);
                network.inject(1 - side, path, from, bytes.clone());
                assert_eq!(dropped(&network, 1 - side), before + 1);
            }
        }
    }
    network.run(Duration::from_secs(1));
    network.assert_nothing_lost();
}

/// The header is under the tag as a whole: not even its reserved bits can be changed.
#[test]
fn every_bit_of_a_packet_counts() {
    let mut network = sealed(4, Mapping::Packet);
    network.captured_data = Some(Vec::new());
    network.run_traffic(millis(50), millis(1));
    let (side, path, bytes) = take(&mut network).pop().unwrap();
    let gone = network.delivered(side).len();
    for bit in 0..8 * bytes.len() {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let before = dropped(&network, 1 - side);
        network.inject(1 - side, path, address(path, side), bad);
        assert_eq!(dropped(&network, 1 - side), before + 1, "bit {bit}");
    }
    assert_eq!(network.delivered(side).len(), gone);
    let plain =
        gre::Repr { protocol: gre::Protocol::SEALED, checksum: false, key: None, sequence: None };
    network.inject(1 - side, path, address(path, side), datagram(plain, &bytes[12..]));
    network.run(Duration::from_secs(1));
    network.assert_nothing_lost();
}
