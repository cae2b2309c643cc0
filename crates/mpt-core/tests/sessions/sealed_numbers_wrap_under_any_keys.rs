//! The numbers of sealed data pass 2^32 while keys change: under the former keys, under the new ones,
//! and between them. Nothing is lost, and no packet is taken for another one.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_core::Mapping;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// Packets under one key after which an end asks for other keys.
const WORN: u64 = 1 << 26;

/// Numbers up to the wrap.
fn left(network: &Network, side: Side) -> u64 {
    let host = &network.hosts[side];
    let connection = host.node.tunnels().connection(host.connection).unwrap();
    (1 << 32) - u64::from(connection.next_sequence())
}

fn skip(network: &mut Network, count: impl Fn(&Network, Side) -> u64) {
    for side in SIDES {
        let count = count(network, side);
        network.at(side, |host, _| assert!(host.node.skip_numbers(host.connection, count)));
    }
}

/// Has one packet sent each way, which finds the keys worn, and waits until there are others.
fn renew(network: &mut Network) {
    let handshakes = network.session(CLIENT).handshakes;
    network.run_traffic(millis(2), millis(2));
    network.expect(5 * SECOND, "new keys", |it| it.session(CLIENT).handshakes > handshakes);
    network.run(2 * SECOND);
}

/// Both ends are so many packets before the wrap, and have just worn their keys out. Returns, by side,
/// how many packets were sent after the wrap under the keys before it, and under later ones.
fn wrap(seed: u64, mapping: Mapping, before: u64) -> [[u64; 2]; 2] {
    let setup = Setup { mapping, ..Setup::new(seed, &[5, 20]).sealed() };
    let mut network = Network::established(setup);
    network.run_traffic(SECOND, millis(1));
    network.run(2 * SECOND);
    while SIDES.iter().any(|&side| left(&network, side) > 3 * WORN) {
        skip(&mut network, |_, _| WORN);
        renew(&mut network);
    }
    // From there on it is as far as keys last until they are worn.
    skip(&mut network, |network, side| left(network, side) - WORN - 1000);
    renew(&mut network);
    skip(&mut network, |network, side| left(network, side) - before);
    network.captured_data = Some(Vec::new());
    let handshakes = network.session(CLIENT).handshakes;
    network.run_traffic(SECOND, millis(1));
    assert!(network.session(CLIENT).handshakes > handshakes, "new keys at the wrap");
    network.run_traffic(SECOND, millis(1));
    network.run(SECOND);
    network.assert_nothing_lost();
    let mut after = [[0; 2]; 2];
    let mut first: BTreeMap<Side, Vec<u8>> = BTreeMap::new();
    for (side, _, wire) in network.captured_data.take().unwrap() {
        let (index, number) = (wire.bytes[4..8].to_vec(), wire.bytes[8]);
        let former = first.entry(side).or_insert_with(|| index.clone()) == &index;
        if number == 0 {
            after[side][usize::from(!former)] += 1;
        }
    }
    for side in SIDES {
        let host = &network.hosts[side];
        let tunnels = host.node.tunnels();
        let drops = tunnels.connection(host.connection).unwrap().datagram_drops();
        assert_eq!((drops.total(), tunnels.datagram_drops().total()), (0, 0), "{drops:?}");
    }
    after
}

#[test]
fn before_while_and_after_they_change() {
    for (seed, mapping) in [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate)] {
        let (mut under_former, mut under_new_alone) = (0, 0);
        for before in [0, 1, 7, 15, 25, 40, 400] {
            for [former, new] in wrap(seed, mapping, before) {
                assert!(new > 1000, "{new}");
                under_former += u32::from(former > 0);
                under_new_alone += u32::from(former == 0);
            }
        }
        assert!(under_former >= 4 && under_new_alone >= 4, "{under_former}, {under_new_alone}");
    }
}
