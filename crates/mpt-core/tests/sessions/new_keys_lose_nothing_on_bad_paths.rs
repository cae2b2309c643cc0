//! Sealed data gets new keys while packets are lost and overtake one another, while paths come and go,
//! while numbers wrap, and while a host begins anew: whatever arrives is opened, and data never waits
//! for keys.

use std::collections::BTreeSet;
use std::time::Duration;

use mpt_core::{DownReason, Mapping};
use mpt_link::{Change, Distribution, Jitter, Loss, Params, Probability, Redraw};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// A session agrees on new keys this long after it has agreed on the present ones.
const RENEWAL: Duration = Duration::from_secs(120);

/// One packet in ten is lost, and the rest arrive in any order within 30 ms.
fn bad(params: &mut Params) {
    let half_width = millis(15);
    params.loss = Loss::Bernoulli(Probability::new(0.1).unwrap());
    params.jitter = Some(Jitter {
        distribution: Distribution::Uniform { half_width },
        redraw: Redraw::EveryPacket,
    });
    params.keep_order = false;
}

/// Nothing that has come to either host was dropped, and no packet found no keys.
fn assert_all_opened(network: &Network, before: [u64; 2]) {
    for side in SIDES {
        let host = &network.hosts[side];
        assert_eq!(dropped(network, side), before[side], "{}", network.describe());
        assert_eq!(host.refused, 0, "{}", network.describe());
    }
}

fn dropped(network: &Network, side: Side) -> u64 {
    let tunnels = network.hosts[side].node.tunnels();
    let connection = tunnels.connection(network.hosts[side].connection).unwrap();
    tunnels.datagram_drops().total() + connection.datagram_drops().total()
}

/// Returns the share of the packets from `side` that were delivered, each once.
fn share(network: &Network, side: Side) -> f64 {
    let delivered = network.delivered(side);
    let different: BTreeSet<u64> = delivered.iter().copied().collect();
    assert_eq!(different.len(), delivered.len(), "each came once");
    different.len() as f64 / network.hosts[side].sent as f64
}

/// The data indices that packets from both sides have had since `captured_data` was set.
fn indices(network: &mut Network) -> BTreeSet<(Side, Vec<u8>)> {
    let sent = network.captured_data.replace(Vec::new()).unwrap_or_default();
    sent.into_iter().map(|(side, _, wire)| (side, wire.bytes[4..8].to_vec())).collect()
}

fn established(seed: u64, mapping: Mapping, links: impl Fn(&mut Params)) -> Network {
    let setup = Setup { mapping, ..Setup::new(seed, &[20, 40, 60]).sealed().links(links) };
    let mut network = Network::new(setup);
    let any = |it: &Network| (0..3).any(|path| it.is_up_both(path));
    network.expect(10 * SECOND, "a path works both ways", any);
    network.expect(10 * SECOND, "there are keys", |it| {
        let keys = |side: Side| {
            let host = &it.hosts[side];
            host.node.tunnels().connection(host.connection).unwrap().has_seal_keys()
        };
        SIDES.into_iter().all(keys)
    });
    network.captured_data = Some(Vec::new());
    network
}

#[test]
fn that_lose_and_reorder() {
    for (seed, mapping) in [(0, Mapping::Packet), (1, Mapping::Flow), (2, Mapping::Duplicate)] {
        let mut network = established(seed, mapping, bad);
        let before = SIDES.map(|side| dropped(&network, side));
        network.run_traffic(10 * RENEWAL, millis(10));
        network.run(SECOND);
        assert!(indices(&mut network).len() >= 2 * 8, "there were new keys");
        assert_all_opened(&network, before);
        for side in SIDES {
            // Copies on all paths are lost together once in a thousand times.
            let least = if mapping == Mapping::Duplicate { 0.99 } else { 0.88 };
            let share = share(&network, side);
            assert!(share > least, "{mapping:?}: {share}");
        }
    }
}

#[test]
fn that_come_and_go() {
    let mut network = established(3, Mapping::Packet, bad);
    let before = SIDES.map(|side| dropped(&network, side));
    for round in 0..100 {
        let (side, path) = (round % 2, round % 3);
        let switch = |network: &mut Network, down| {
            network.at(side, |host, now| {
                host.set_down(now, path, DownReason::Administrative, down);
            });
        };
        switch(&mut network, true);
        network.run_traffic(5 * SECOND, millis(10));
        switch(&mut network, false);
        network.run_traffic(5 * SECOND, millis(10));
    }
    network.run(SECOND);
    assert!(indices(&mut network).len() >= 2 * 6, "there were new keys");
    assert_all_opened(&network, before);
    for side in SIDES {
        assert!(share(&network, side) > 0.88);
    }
}

/// A path is slower by as much as 65,000 packets take, so that as many under the former keys come when
/// the present ones are in use.
#[test]
fn that_are_65000_packets_apart() {
    const INTERVAL: Duration = Duration::from_micros(33);
    const SLOW: Duration = Duration::from_millis(2165);
    const FAST: Duration = Duration::from_millis(20);
    assert!((SLOW - FAST).as_micros() / INTERVAL.as_micros() >= 65_000);
    let mut network = established(4, Mapping::Packet, |_| {});
    network.run_traffic(SECOND, millis(10));
    for side in SIDES {
        network.change(side, 2, Change::Delay(SLOW));
    }
    let before = SIDES.map(|side| dropped(&network, side));
    while network.time() < RENEWAL - SECOND {
        network.run_traffic(SECOND, millis(100));
    }
    network.captured_data = None;
    let handshakes = SIDES.map(|side| network.session(side).handshakes);
    network.run_traffic(4 * SECOND, INTERVAL);
    assert_ne!(SIDES.map(|side| network.session(side).handshakes), handshakes, "new keys");
    network.run(5 * SECOND);
    assert_all_opened(&network, before);
    for side in SIDES {
        assert_eq!(share(&network, side), 1.0, "{}", network.describe());
    }
}

/// A host begins anew just before, while and after keys are renewed. What is on its way then is lost.
#[test]
fn though_a_host_begins_anew() {
    for (seed, side, after) in [(5, CLIENT, 119_900), (6, SERVER, 120_010), (7, CLIENT, 120_500)] {
        let mut network = established(seed, Mapping::Packet, bad);
        let left = millis(after).saturating_sub(network.time());
        network.run_traffic(left, millis(10));
        network.restart(side);
        network.expect_under_traffic(15 * SECOND, "sealed data flows both ways", |it| {
            let arrived = |side: Side| it.hosts[1 - side].delivered.last().map(|&(at, _)| at);
            SIDES.iter().all(|&side| arrived(side).is_some_and(|at| at + millis(100) > it.now()))
        });
        network.run_traffic(10 * SECOND, millis(10));
        let before = SIDES.map(|side| dropped(&network, side));
        network.hosts.iter_mut().for_each(|host| host.refused = 0);
        network.captured_data = Some(Vec::new());
        network.run_traffic(5 * RENEWAL, millis(10));
        assert!(indices(&mut network).len() >= 2 * 4, "there were new keys");
        assert_all_opened(&network, before);
    }
}
