//! The numbers of sealed data go on through times without keys and through new ones, past every power of two from 2^32 to 2^49: nothing is lost, and no
//! packet is taken for another one.

use std::time::Duration;

use mpt_core::session::SealState;
use mpt_core::{Mapping, Seal};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// Packets before the wrap with which data begins to flow again.
const BEFORE: u64 = 1500;
/// Packets under one key after which an end asks for other keys.
const WORN: u64 = 1 << 26;

/// The number of the next packet of a side, as far as it is known how often its lower half has begun anew.
struct Reached([u64; 2]);

impl Reached {
    /// Follows the lower halves that the connections have come to, which were not passed twice since.
    fn follow(&mut self, network: &Network) -> [u64; 2] {
        for side in SIDES {
            let host = &network.hosts[side];
            let low = host.node.tunnels().connection(host.connection).unwrap().next_sequence();
            let ahead = low.wrapping_sub(self.0[side] as u32);
            self.0[side] += u64::from(ahead);
        }
        self.0
    }

    /// Leaves all numbers before `to` unused.
    fn skip(&mut self, network: &mut Network, to: u64) {
        let from = self.follow(network);
        for side in SIDES {
            let count = to - from[side];
            network.at(side, |host, _| {
                assert!(host.node.skip_numbers(host.connection, count), "{side} to {to:x}");
            });
            self.0[side] = to;
        }
    }
}

/// Data is plain for a while, in which there are no keys, and all numbers before `to` are left unused. The receivers of plain data come to these numbers
/// by themselves.
fn leap(network: &mut Network, reached: &mut Reached, to: u64) {
    SIDES.iter().for_each(|&side| network.set_seal(side, Seal::Off));
    network.expect(10 * SECOND, "data is plain", |it| {
        let has_keys = |side: Side| {
            let host = &it.hosts[side];
            host.node.tunnels().connection(host.connection).unwrap().has_seal_keys()
        };
        SIDES.iter().all(|&side| !has_keys(side))
    });
    reached.skip(network, to);
    network.run_traffic(3 * SECOND, millis(20));
    SIDES.iter().for_each(|&side| network.set_seal(side, Seal::On));
    network.expect(10 * SECOND, "data is sealed", |it| {
        it.is_all_up() && SIDES.iter().all(|&side| is_sealed(it, side))
    });
    network.run_traffic(millis(500), millis(20));
    network.run(SECOND);
}

fn is_sealed(network: &Network, side: Side) -> bool {
    let host = &network.hosts[side];
    let connection = host.node.tunnels().connection(host.connection).unwrap();
    connection.has_seal_keys() && matches!(network.session(side).seal, SealState::Sealed(_))
}

/// The keys are worn out by numbers that are left unused, and others follow.
fn renew(network: &mut Network, reached: &mut Reached) {
    let handshakes = network.session(CLIENT).handshakes;
    let [a, b] = reached.follow(network);
    reached.skip(network, a.max(b) + WORN - 2);
    network.run_traffic(millis(2), millis(2));
    network.expect(5 * SECOND, "new keys", |it| it.session(CLIENT).handshakes > handshakes);
    network.run(2 * SECOND);
}

fn check(seed: u64, mapping: Mapping, powers: impl Iterator<Item = u32>) {
    let setup = Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() };
    let mut network = Network::established(setup);
    network.run_traffic(SECOND, millis(2));
    network.run(SECOND);
    network.assert_nothing_lost();
    let mut reached = Reached([0; 2]);
    for power in powers {
        // With keys that were made for numbers shortly before the wrap, and with those that follow on keys worn out long before it.
        for far in [BEFORE, WORN + BEFORE] {
            let target = (1_u64 << (power - 1)) * if far == BEFORE { 2 } else { 3 };
            leap(&mut network, &mut reached, target - far);
            if far > BEFORE {
                renew(&mut network, &mut reached);
            }
            let first = SIDES.map(|side| network.hosts[side].sent);
            let before = reached.follow(&network);
            assert!(before.iter().all(|&it| it < target), "{before:x?} of {target:x}");
            network.run_traffic(2 * SECOND, millis(1));
            network.run(SECOND);
            network.assert_nothing_lost_from(first);
            let passed = reached.follow(&network);
            assert!(passed.iter().all(|&it| it > target), "{passed:x?} of {target:x}");
        }
    }
    for side in SIDES {
        let host = &network.hosts[side];
        let drops = host.node.tunnels().connection(host.connection).unwrap().datagram_drops();
        let refused = [drops.replayed, drops.sealed_unopened, drops.unknown_index];
        assert_eq!(refused, [0; 3], "{drops:?}");
    }
}

#[test]
fn by_packet() {
    check(0, Mapping::Packet, 32..=49);
}

#[test]
fn by_flow_and_over_all_paths() {
    check(1, Mapping::Flow, [33, 48, 49].into_iter());
    check(2, Mapping::Duplicate, [33, 48, 49].into_iter());
}
