//! Sealed data between two hosts: what is on the wire, what changes it, and when keys change.

use std::time::Duration;

use mpt_core::session::SealState;
use mpt_core::{DatagramDrops, Mapping, Seal};
use mpt_wire::control::{Suite, Suites};
use mpt_wire::gre;

use super::host::{INNER, address, datagram, inner};
use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

fn drops(network: &Network, side: Side) -> DatagramDrops {
    let host = &network.hosts[side];
    *host.node.tunnels().connection(host.connection).unwrap().datagram_drops()
}

/// Data on the wire: whence, over which path, and the bytes.
fn data(network: &mut Network) -> Vec<(Side, usize, Wire)> {
    let sent = network.captured_data.take().unwrap_or_default();
    network.captured_data = Some(Vec::new());
    sent
}

fn sealed(seed: u64) -> Network {
    Network::established(Setup::new(seed, &[5, 20]).sealed())
}

#[test]
fn everything_arrives_and_nothing_of_it_is_seen() {
    for (seed, mapping) in
        [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate), (3, Mapping::Adaptive)]
    {
        let mut network =
            Network::established(Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() });
        network.captured_data = Some(Vec::new());
        network.run_traffic(2 * SECOND, millis(2));
        network.run(SECOND);
        match mapping {
            // Paths that are measured may be given what comes late.
            Mapping::Adaptive => assert!(network.delivered(CLIENT).len() > 900),
            _ => network.assert_nothing_lost(),
        }
        let sent = data(&mut network);
        assert!(sent.len() > 1900, "{} packets", sent.len());
        for (_, _, wire) in sent {
            let (header, start) = gre::Repr::parse(&wire.bytes).unwrap();
            assert_eq!(header.protocol, gre::Protocol::SEALED);
            assert!(header.key.is_some() && header.sequence.is_some() && !header.checksum);
            assert_eq!(wire.bytes.len(), start + INNER + 16);
            // Every packet has the addresses in this order.
            for addresses in [[10, 0, 0, 1, 10, 1, 0, 1], [10, 1, 0, 1, 10, 0, 0, 1]] {
                assert!(!wire.bytes.windows(8).any(|bytes| bytes == addresses));
            }
        }
        for side in SIDES {
            assert_eq!(network.session(side).seal, SealState::Sealed(Suite::ChaCha20Poly1305));
        }
    }
}

#[test]
fn whatever_is_changed_on_the_way_is_counted_and_changes_nothing() {
    let mut network = sealed(1);
    network.captured_data = Some(Vec::new());
    network.run_traffic(SECOND, millis(2));
    network.run(SECOND);
    let before = drops(&network, SERVER);
    let delivered = network.delivered(CLIENT).len();
    let sent: Vec<_> = data(&mut network).into_iter().filter(|it| it.0 == CLIENT).collect();
    let (mut unopened, mut replayed, mut headers, mut unknown) = (0, 0, 0, 0);
    for (nth, (_, path, wire)) in sent.iter().enumerate() {
        let mut bad = wire.bytes.clone();
        match nth % 8 {
            // Flipped behind the header, anywhere.
            0 => {
                let at = 12 + nth % (bad.len() - 12);
                bad[at] ^= 1 << (nth % 8);
                replayed += 1;
            }
            // Another number, that is to come or long past.
            1 => {
                let number = 5_000 + nth as u32 * 100;
                bad[8..12].copy_from_slice(&number.to_be_bytes());
                unopened += 1;
            }
            // Another index.
            2 => {
                bad[4] ^= 1;
                unknown += 1;
            }
            // Repeated as it is.
            3 => replayed += 1,
            // Cut short, with a number of its own.
            4 => {
                bad[8..12].copy_from_slice(&(1 << 20_u32 | nth as u32).to_be_bytes());
                bad.truncate(12 + nth % 20);
                unopened += 1;
            }
            // Without its number, or with a checksum.
            5 => {
                bad[0] &= !0x10;
                headers += 1;
            }
            // A packet of the other direction.
            6 => {
                let back = (CLIENT, *path, wire.from, wire.bytes.clone());
                network.inject(back.0, back.1, address(*path, SERVER), back.3);
                continue;
            }
            // Reserved bits of the header are under the tag, too.
            _ => {
                bad[8..12].copy_from_slice(&(7_000 + nth as u32).to_be_bytes());
                bad[1] ^= 0x08;
                unopened += 1;
            }
        }
        network.inject(SERVER, *path, wire.from, bad);
    }
    network.run(SECOND);
    let after = drops(&network, SERVER);
    assert_eq!(after.sealed_unopened - before.sealed_unopened, unopened);
    assert_eq!(after.replayed - before.replayed, replayed);
    let elsewhere = network.hosts[SERVER].node.tunnels().datagram_drops();
    assert_eq!((elsewhere.unknown_index, elsewhere.sealed_header), (unknown, headers));
    assert_eq!(network.delivered(CLIENT).len(), delivered, "none was delivered");
    // The stream goes on as if nothing had been.
    network.run_traffic(2 * SECOND, millis(2));
    network.run(SECOND);
    network.assert_nothing_lost();
}

#[test]
fn a_packet_moved_to_another_path_is_delivered_once() {
    let mut network = sealed(2);
    network.captured_data = Some(Vec::new());
    for _ in 0..200 {
        network.run_traffic(millis(5), millis(1));
        for (side, path, wire) in data(&mut network) {
            // At once, so that some overtake themselves, and again and again.
            for _ in 0..3 {
                let from = address(1 - path, side);
                network.inject(1 - side, 1 - path, from, wire.bytes.clone());
            }
        }
    }
    network.run(SECOND);
    for side in SIDES {
        let mut ids = network.delivered(side);
        ids.sort_unstable();
        let sent: Vec<u64> = (0..network.hosts[side].sent).collect();
        assert_eq!(ids, sent);
        let drops = drops(&network, 1 - side);
        let host = &network.hosts[1 - side];
        let connection = host.node.tunnels().connection(host.connection).unwrap();
        let duplicates = connection.reorder().unwrap().counters().duplicate;
        // Three injected for each: one counts for its path, two are repetitions.
        assert_eq!(drops.replayed, 2 * sent.len() as u64);
        assert_eq!(duplicates, sent.len() as u64);
    }
}

#[test]
fn plain_packets_are_refused() {
    let mut network = sealed(3);
    network.run_traffic(SECOND, millis(2));
    let inner = inner(CLIENT, 1 << 40);
    let header = gre::Repr {
        protocol: gre::Protocol::IPV4,
        checksum: false,
        key: None,
        sequence: Some(1000),
    };
    network.inject(SERVER, 0, address(0, CLIENT), datagram(header, &inner));
    network.run(SECOND);
    assert_eq!(drops(&network, SERVER).not_sealed, 1);
    network.assert_nothing_lost();
}

#[test]
fn new_keys_lose_nothing() {
    for (seed, mapping) in [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate)] {
        let setup = Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() };
        let mut network = Network::established(setup);
        network.captured_data = Some(Vec::new());
        let mut indices = std::collections::BTreeSet::new();
        for _ in 0..50 {
            network.run_traffic(10 * SECOND, millis(5));
            let all = data(&mut network).into_iter();
            indices.extend(all.map(|(side, _, wire)| (side, wire.bytes[4..8].to_vec())));
        }
        network.run(SECOND);
        network.assert_nothing_lost();
        assert!((8..20).contains(&indices.len()), "{} keys", indices.len());
        for side in SIDES {
            let DatagramDrops { sealed_unopened, not_sealed, replayed, .. } = drops(&network, side);
            assert_eq!((sealed_unopened, not_sealed, replayed), (0, 0, 0));
            let unknown = network.hosts[side].node.tunnels().datagram_drops().unknown_index;
            assert_eq!(unknown, 0);
        }
    }
}

#[test]
fn a_peer_that_does_not_seal_is_plain_with_on_and_gets_nothing_with_require() {
    for (seal, state) in [(Seal::On, SealState::PlainPeer), (Seal::Require, SealState::Refused)] {
        for (seed, side) in SIDES.into_iter().enumerate() {
            let mut setup = Setup::new(seed as u64, &[5, 20]);
            setup.seal[side] = seal;
            let mut network = Network::new(setup);
            network.expect(3 * SECOND, "both paths", Network::is_all_up);
            network.run_traffic(SECOND, millis(5));
            network.run(SECOND);
            assert_eq!(network.session(side).seal, state);
            assert_eq!(network.session(1 - side).seal, SealState::Off);
            if seal == Seal::On {
                let lost = network.hosts[side].refused;
                assert_eq!(lost, 0);
                network.assert_nothing_lost();
            } else {
                assert!(
                    network.delivered(side).is_empty() && network.delivered(1 - side).is_empty()
                );
                assert!(drops(&network, side).not_sealed > 100);
            }
        }
    }
}

#[test]
fn a_peer_that_has_sealed_is_not_accepted_plain() {
    let mut network = sealed(4);
    network.run_traffic(SECOND, millis(5));
    network.run(SECOND);
    network.assert_nothing_lost();
    // Another daemon with the same key, which does not seal.
    network.setup.seal[CLIENT] = Seal::Off;
    let delivered = SIDES.map(|side| network.delivered(side).len());
    network.restart(CLIENT);
    network.expect_under_traffic(10 * SECOND, "a session", Network::is_all_up);
    network.run_traffic(SECOND, millis(5));
    assert_eq!(network.session(SERVER).seal, SealState::Refused);
    assert_eq!(SIDES.map(|side| network.delivered(side).len()), delivered);
    // Until it seals again.
    network.setup.seal[CLIENT] = Seal::On;
    network.restart(CLIENT);
    network.expect_under_traffic(10 * SECOND, "sealed data", |it| {
        it.delivered(CLIENT).len() > delivered[CLIENT]
            && it.delivered(SERVER).len() > delivered[SERVER]
    });
}

/// Until the administrator says so: with `seal = "off"` there its plain data is accepted.
#[test]
fn a_peer_that_has_sealed_is_accepted_plain_where_the_file_says_so() {
    let mut network = sealed(4);
    network.run_traffic(SECOND, millis(5));
    network.setup.seal[CLIENT] = Seal::Off;
    network.restart(CLIENT);
    network.expect_under_traffic(10 * SECOND, "a session", Network::is_all_up);
    let delivered = SIDES.map(|side| network.delivered(side).len());
    network.run_traffic(5 * SECOND, millis(5));
    assert_eq!(SIDES.map(|side| network.delivered(side).len()), delivered, "not by itself");
    network.set_seal(SERVER, Seal::Off);
    network.expect_under_traffic(10 * SECOND, "plain data", |it| {
        SIDES.iter().all(|&side| it.delivered(side).len() > delivered[side])
    });
    assert_eq!(network.session(SERVER).seal, SealState::Off);
}

/// The window of repetitions never takes itself for wrong, as that of plain data does after a second in which nothing was new.
#[test]
fn what_is_repeated_for_long_is_refused_each_time() {
    for (setup, is_sealed) in [(Setup::new(6, &[5]).sealed(), true), (Setup::new(6, &[5]), false)] {
        let mut network = Network::established(setup);
        network.captured_data = Some(Vec::new());
        network.run_traffic(SECOND, millis(2));
        network.run(SECOND);
        network.assert_nothing_lost();
        let delivered = network.delivered(CLIENT).len();
        let sent: Vec<_> = data(&mut network).into_iter().filter(|it| it.0 == CLIENT).collect();
        let mut repeated = 0;
        for (_, path, wire) in sent.iter().cycle().take(30 * 500) {
            network.inject(SERVER, *path, wire.from, wire.bytes.clone());
            network.run(millis(2));
            repeated += 1;
        }
        let again = network.delivered(CLIENT).len() - delivered;
        if is_sealed {
            assert_eq!((again, drops(&network, SERVER).replayed), (0, repeated));
            network.run_traffic(SECOND, millis(2));
            network.run(SECOND);
            network.assert_nothing_lost();
        } else {
            assert!(again > 0, "a window that heals delivers some of them again");
        }
    }
}

/// Both directions have the suite that both ends take, and the better one of two.
#[test]
fn the_suite_is_one_that_both_ends_take() {
    use Suite::{Aes256Gcm, ChaCha20Poly1305};
    let (with, without) = (Suites::WITH_AES, Suites::WITHOUT_AES);
    for (suites, expected) in [
        ([with, with], Aes256Gcm),
        ([with, without], ChaCha20Poly1305),
        ([without, with], ChaCha20Poly1305),
        ([without, without], ChaCha20Poly1305),
    ] {
        let mut network = sealed(5);
        SIDES.iter().for_each(|&side| network.hosts[side].node.set_suites(suites[side]));
        network.hand_over(CLIENT);
        network.expect_under_traffic(10 * SECOND, "the suite is agreed on", |it| {
            it.is_all_up()
                && SIDES.iter().all(|&s| it.session(s).seal == SealState::Sealed(expected))
        });
        let first = SIDES.map(|side| network.hosts[side].sent);
        network.run_traffic(SECOND, millis(2));
        network.run(SECOND);
        network.assert_nothing_lost_from(first);
    }
}

#[test]
fn either_end_may_begin_anew() {
    for seed in 0..6 {
        let mut network = sealed(seed);
        for round in 0..6 {
            network.run_traffic(SECOND, millis(2));
            network.restart((seed as usize + round) % 2);
            network.expect_under_traffic(10 * SECOND, "both paths", Network::is_all_up);
            network.run_traffic(millis(200), millis(2));
            let first = SIDES.map(|side| network.hosts[side].sent);
            network.run_traffic(SECOND, millis(2));
            network.run(SECOND);
            network.assert_nothing_lost_from(first);
        }
    }
}

/// Every packet that the network lets through arrives, whichever keys it was sealed under.
#[test]
fn new_keys_lose_nothing_where_packets_are_lost_and_overtake_one_another() {
    let lossy = |params: &mut mpt_link::Params| {
        params.loss = mpt_link::Loss::Bernoulli(mpt_link::Probability::new(0.1).unwrap());
        let distribution = mpt_link::Distribution::Uniform { half_width: params.delay };
        params.jitter =
            Some(mpt_link::Jitter { distribution, redraw: mpt_link::Redraw::EveryPacket });
    };
    for seed in 0..3 {
        let setup = Setup::new(seed, &[5, 20, 60]).sealed().links(lossy);
        let mut network = Network::new(setup);
        network.expect(10 * SECOND, "all paths", |it| (0..3).all(|path| it.is_up_both(path)));
        network.run_traffic(400 * SECOND, millis(5));
        network.run(SECOND);
        for side in SIDES {
            assert!(network.session(side).handshakes > 3);
            assert_eq!(network.hosts[side].refused, 0, "there always are keys");
            let DatagramDrops { sealed_unopened, not_sealed, replayed, .. } = drops(&network, side);
            assert_eq!((sealed_unopened, not_sealed, replayed), (0, 0, 0));
            let unknown = network.hosts[side].node.tunnels().datagram_drops().unknown_index;
            assert_eq!(unknown, 0, "nothing came after its keys were erased");
            let (arrived, sent) = (network.delivered(side).len(), network.hosts[side].sent);
            let share = arrived as f64 / sent as f64;
            assert!((0.88..0.92).contains(&share), "{arrived} of {sent}");
        }
    }
}

/// Without probes nothing notices that the peer is gone; data stops all the same when the keys are too old.
#[test]
fn data_stops_when_the_keys_expire() {
    let mut setup = Setup::new(1, &[5, 20]).sealed();
    setup.timing.keepalive = Duration::ZERO;
    let mut network = Network::new(setup);
    network.run(3 * SECOND);
    network.run_traffic(SECOND, millis(10));
    assert_eq!(network.hosts[CLIENT].refused, 0);
    network.kill(SERVER);
    network.run_traffic(170 * SECOND, millis(100));
    assert_eq!(network.hosts[CLIENT].refused, 0);
    network.run_traffic(20 * SECOND, millis(100));
    let (sent, refused) = (network.hosts[CLIENT].sent, network.hosts[CLIENT].refused);
    assert!(refused > 50, "{refused}");
    network.run_traffic(60 * SECOND, millis(100));
    assert_eq!(network.hosts[CLIENT].sent, sent, "nothing more is sent");
}
