//! Sealing and opening allocate nothing once there are keys, by any mapping that keeps nothing to be
//! sent again: neither for super-packets nor for packets that come late, twice or changed.

#[path = "sessions/host.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests use the rest")]
mod host;
#[path = "sessions/network.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests use the rest")]
mod network;
#[path = "sessions/outcome.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests use it")]
mod outcome;
#[path = "sessions/reader.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests use the rest")]
mod reader;

use mpt_core::{DatagramDrop, DeviceId, InnerPacket, Mapping, SocketId};
use mpt_wire::ecn::Ecn;

use host::{INNER, WHOLE, inner};
use network::*;

/// Segments of a super-packet.
const SEGMENTS: u16 = 44;
/// A GRE header with key and number, an inner packet and a tag.
type Datagram = [u8; 12 + INNER + 16];

/// Sends super-packets from the client to the server, without the links between them. Of ten datagrams
/// one comes late, one comes twice on its path, and one comes changed before it comes as it is.
fn exchange(network: &mut Network, datagrams: &mut [(usize, Datagram)], packets: u64) {
    let locals = SIDES.map(|side| network.local(side));
    for id in 0..packets {
        let mut packet = inner(CLIENT, id);
        let host = &mut network.hosts[CLIENT];
        let whole = InnerPacket::whole(&mut packet).unwrap();
        let whole = InnerPacket { segments: SEGMENTS, ..whole };
        let outgoing = host.node.handle_inner(locals[CLIENT], DeviceId(0), whole).unwrap();
        assert!(outgoing.is_sealed() && outgoing.stored.is_none());
        let (mut count, mut sealed) = (0, None);
        for transmit in outgoing.transmits {
            let path = transmit.path;
            if sealed == Some(transmit.segment) {
                // A copy for another path.
                datagrams[count].1 = datagrams[count - 1].1;
            } else {
                datagrams[count].1[12..][..INNER].copy_from_slice(&inner(CLIENT, id));
                assert!(outgoing.frame(transmit, &mut datagrams[count].1));
            }
            datagrams[count].0 = host.paths.iter().position(|&it| it == path).unwrap();
            sealed = Some(transmit.segment);
            count += 1;
        }
        for nth in (0..count).step_by(10) {
            let late = datagrams[nth];
            datagrams.copy_within(nth + 1..count, nth);
            datagrams[count - 1] = late;
        }
        let host = &mut network.hosts[SERVER];
        for (nth, &(path, datagram)) in datagrams[..count].iter().enumerate() {
            let mut changed = datagram;
            changed[12 + nth % INNER] ^= 1;
            let come: &[(Datagram, Option<DatagramDrop>)] = match nth % 10 {
                3 => &[(datagram, None), (datagram, Some(DatagramDrop::Replayed))],
                7 => &[(changed, Some(DatagramDrop::SealedUnopened)), (datagram, None)],
                _ => &[(datagram, None)],
            };
            for (bytes, drop) in come {
                host.sink.datagram.clear();
                host.sink.datagram.extend_from_slice(bytes);
                let (now, socket) = (locals[SERVER], SocketId(path as u32));
                let (from, ecn, sink) = (address(path, CLIENT), Ecn::NotEct, &mut host.sink);
                let outcome = host.node.handle_datagram(now, socket, from, ecn, WHOLE, sink);
                assert_eq!(outcome.err(), *drop);
            }
        }
        host.sink.delivered.clear();
    }
}

#[test]
fn nothing_is_allocated_per_sealed_packet() {
    for (seed, mapping) in [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate)] {
        let mut network =
            Network::established(Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() });
        let mut datagrams = vec![(0, [0; 12 + INNER + 16]); 2 * usize::from(SEGMENTS)];
        exchange(&mut network, &mut datagrams, 300);
        let measured = allocation_counter::measure(|| exchange(&mut network, &mut datagrams, 300));
        assert_eq!(measured.count_total, 0, "{mapping:?}");
        let host = &network.hosts[SERVER];
        let connection = host.node.tunnels().connection(host.connection).unwrap();
        let drops = connection.datagram_drops();
        assert!(drops.sealed_unopened >= 600 * 4 && drops.replayed >= 600 * 4, "{drops:?}");
    }
}
