//! Sealed data through the whole data path: super-packets, queues and reloads.

use std::time::Duration;

use mpt_api::Seal;
use mpt_link::{Loss, Params, Probability};
use mpt_wire::ecn::Ecn;
use mpt_wire::gre;

use crate::data::in_memory::system::network::{Network, line, slow_line};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Packets with enough of the same bytes to be recognised.
const PAYLOAD: usize = 1_000;

/// Says that what passed the lines was sealed, and shows nothing of the packets. Returns how many there were.
fn check_wire(network: &mut Network) -> usize {
    let mut count = 0;
    for datagram in network.captured.take().expect("it was captured") {
        let (header, start) = gre::Repr::parse(&datagram.bytes).expect("GRE");
        if header.protocol == gre::Protocol::CONTROL {
            continue;
        }
        assert_eq!(header.protocol, gre::Protocol::SEALED);
        assert!(header.key.is_some() && header.sequence.is_some() && !header.checksum);
        let sealed = &datagram.bytes[start..];
        assert!(!sealed.windows(12).any(|it| it.iter().all(|byte| *byte == it[0])));
        assert!(!sealed.windows(8).any(|it| it == [10, 72, 0, 1, 10, 72, 0, 2]));
        count += 1;
    }
    count
}

fn drops(network: &Network, side: usize) -> Vec<(&'static str, u64)> {
    let tunnels = network.hosts[side].data.node.tunnels();
    let (_, connection) = tunnels.connections().next().expect("the one there is");
    let all = connection.datagram_drops().iter().chain(connection.inner_drops().iter());
    all.chain(tunnels.datagram_drops().iter()).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn with_every_mapping() {
    for (seed, mapping) in ["packet", "flow", "duplicate", "adaptive"].iter().enumerate() {
        let more = format!("seal = \"require\"\nmapping = \"{mapping}\"");
        let mut network = Network::new(seed as u64, &[line(5), line(30)], &more);
        network.establish();
        network.captured = Some(Vec::new());
        for side in 0..2 {
            network.hosts[side].form.payload = PAYLOAD;
        }
        for _ in 0..300 {
            network.send(0, 1000, 1, MILLISECOND);
            network.send_together(1, 1000, 20);
            network.send_together(0, 1001, 3);
        }
        network.run(SECOND);
        for side in 0..2 {
            let expected: Vec<u64> = (0..network.hosts[side].sent()).collect();
            let mut numbers = network.hosts[1 - side].numbers();
            if *mapping == "flow" || *mapping == "adaptive" {
                numbers.sort_unstable();
            }
            assert_eq!(numbers, expected, "{mapping}, from {side}");
            assert_eq!(drops(&network, side), [], "{mapping}");
        }
        assert!(check_wire(&mut network) >= 300 * 24);
    }
}

#[test]
fn what_waits_for_room_on_the_paths_is_sealed_when_it_leaves() {
    let lines = [slow_line(20, 10), slow_line(5, 10)];
    let mut network = Network::new(1, &lines, "seal = \"require\"\nmapping = \"adaptive\"");
    network.establish();
    network.captured = Some(Vec::new());
    network.hosts[0].form.payload = 1_152;
    network.send(0, 1000, 1000, MILLISECOND);
    // More than both lines carry, by 10 packets at a time.
    for _ in 0..300 {
        network.send_together(0, 1000, 10);
        network.run(3 * MILLISECOND);
    }
    network.run(3 * SECOND);
    let numbers = network.hosts[1].numbers();
    let different: std::collections::BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(different.len(), numbers.len(), "each came once");
    assert!(numbers.len() > 2_000, "{} came", numbers.len());
    assert_eq!(drops(&network, 1), []);
    assert!(check_wire(&mut network) >= numbers.len());
}

/// Lines lose packets, which are cut from super-packets, have waited, and are marked.
#[test]
fn what_is_lost_is_sent_again_as_it_was_sealed() {
    let lossy = |mut line: Params| {
        line.loss = Loss::Bernoulli(Probability::new(0.03).expect("a probability"));
        line
    };
    let lines = [lossy(slow_line(20, 10)), lossy(slow_line(10, 10))];
    let mut network = Network::new(5, &lines, "seal = \"require\"\nmapping = \"adaptive\"");
    network.establish();
    network.captured = Some(Vec::new());
    network.hosts[0].form.payload = 1_152;
    network.hosts[0].form.ecn = Ecn::Ect0;
    network.send(0, 1000, 1000, MILLISECOND);
    // More than the lines carry, by 10 packets at a time.
    for _ in 0..600 {
        network.send_together(0, 1000, 10);
        network.run(3 * MILLISECOND);
    }
    network.run(3 * SECOND);
    let mut sealed = std::collections::BTreeMap::new();
    let (mut packets, mut again) = (0_u64, 0);
    for datagram in network.captured.take().expect("it was captured") {
        let (header, _) = gre::Repr::parse(&datagram.bytes).expect("GRE");
        if header.protocol != gre::Protocol::SEALED {
            continue;
        }
        let key = (header.key, header.sequence);
        match sealed.insert(key, datagram.bytes.clone()) {
            Some(before) => {
                assert_eq!(before, datagram.bytes);
                again += 1;
            }
            None => packets += 1,
        }
    }
    // 3 % are lost the first time.
    assert!(again > packets / 50, "{again} of {packets} were sent again");
    let arrived = network.hosts[1].numbers().len() as u64;
    assert!(arrived > packets - packets / 100, "{arrived} of {packets} arrived");
    let tunnels = network.hosts[0].data.node.tunnels();
    let (_, connection) = tunnels.connections().next().expect("the one there is");
    let remarks = connection.remarks();
    assert_eq!((remarks.repair_differs, remarks.repair_keys_gone), (0, 0));
    assert!(connection.queue().expect("it is adaptive").counters.marked > 0);
}

#[test]
fn a_reload_that_does_not_concern_it_loses_nothing_and_keeps_the_keys() {
    let mut network = Network::new(2, &[line(5), line(20)], "seal = \"on\"");
    network.establish();
    for round in 0..20_u16 {
        network.send(0, 1000, 50, MILLISECOND);
        for side in 0..2 {
            let connection = &mut network.hosts[side].config.connections[0];
            connection.paths[usize::from(round % 2)].weight = 1 + round;
            network.hosts[side].reload();
        }
    }
    network.run(SECOND);
    let expected: Vec<u64> = (0..network.hosts[0].sent()).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
    assert_eq!(drops(&network, 1), []);
}

/// No data is sent plain from the moment on in which the file says so, and all of it is again when the file says otherwise.
#[test]
fn a_reload_switches_it_on_and_off() {
    let mut network = Network::new(3, &[line(5), line(20)], "");
    network.establish();
    network.send(0, 1000, 100, MILLISECOND);
    network.run(SECOND);
    for (round, seal) in [Seal::On, Seal::Require, Seal::Off, Seal::On].into_iter().enumerate() {
        network.captured = Some(Vec::new());
        for side in 0..2 {
            network.hosts[side].config.connections[0].seal = seal;
            network.hosts[side].reload();
        }
        for _ in 0..400 {
            network.hosts[0].form.payload = PAYLOAD;
            network.send(0, 1000, 1, 10 * MILLISECOND);
        }
        network.run(SECOND);
        let before = network.hosts[1].numbers().len();
        network.send(0, 1000, 100, MILLISECOND);
        network.run(SECOND);
        assert_eq!(network.hosts[1].numbers().len() - before, 100, "round {round}: {seal:?}");
        if seal != Seal::Off {
            assert!(check_wire(&mut network) >= 100);
        }
    }
}

#[test]
fn a_connection_that_is_made_again_gets_keys_of_its_own() {
    let mut network = Network::new(4, &[line(5), line(20)], "seal = \"require\"");
    network.establish();
    network.captured = Some(Vec::new());
    network.send(0, 1000, 500, MILLISECOND);
    for side in [0, 1, 0] {
        let connection = network.hosts[side].config.connections.remove(0);
        network.hosts[side].reload();
        network.run(10 * MILLISECOND);
        network.hosts[side].config.connections.push(connection);
        network.hosts[side].reload();
        network.send(0, 1000, 800, 5 * MILLISECOND);
        network.run(SECOND);
        let before = network.hosts[1].numbers().len();
        network.send(0, 1000, 100, MILLISECOND);
        network.run(SECOND);
        assert_eq!(network.hosts[1].numbers().len() - before, 100);
    }
    // No number was sealed twice under one key, but for copies of the same packet.
    let mut seen = std::collections::BTreeMap::new();
    for datagram in network.captured.take().expect("it was captured") {
        let (header, _) = gre::Repr::parse(&datagram.bytes).expect("GRE");
        if header.protocol == gre::Protocol::SEALED {
            let before = seen.insert((header.key, header.sequence), datagram.bytes.clone());
            assert!(before.is_none_or(|before| before == datagram.bytes));
        }
    }
}
