//! Packets for which the paths have no room wait with adaptive mapping, leave later, whole and once, and take no more memory than they may.

use std::collections::BTreeSet;
use std::time::Duration;

use mpt_wire::ecn::Ecn;

use crate::data::in_memory::system::network::{Network, line, slow_line};

const MILLISECOND: Duration = Duration::from_millis(1);
const ADAPTIVE: &str = "mapping = \"adaptive\"";

/// Returns what the first host's queue says of itself: bytes, and how many packets waited in vain.
fn queue(network: &Network) -> (usize, u64) {
    let tunnels = network.hosts[0].data.node.tunnels();
    let (_, connection) = tunnels.connections().next().expect("the one there is");
    let state = connection.queue().expect("its mapping is adaptive");
    let counters = state.counters;
    let drops = connection.inner_drops();
    let vain = counters.dropped + counters.overflowed + drops.queue_full + drops.queue_memory;
    (state.bytes, vain)
}

/// Returns the bytes of memory of the packets that wait at the first host.
fn memory(network: &Network) -> usize {
    network.hosts[0].data.store.used()
}

/// A network whose first host sends packets of 1200 bytes and has sent for a while, so that something is known of the paths.
fn adapted(seed: u64, rates: &[u64]) -> Network {
    let lines: Vec<_> = rates.iter().map(|&rate| slow_line(rate, 10)).collect();
    let mut network = Network::new(seed, &lines, ADAPTIVE);
    network.establish();
    network.hosts[0].form.payload = 1_172;
    network.send(0, 1000, 1000, MILLISECOND);
    network.run(Duration::from_secs(2));
    network
}

/// Everything came once and whole, but for what the queue has dropped.
fn check_arrivals(network: &Network, dropped: u64) {
    let numbers = network.hosts[1].numbers();
    let different: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(different.len(), numbers.len(), "each came once");
    let missing = network.hosts[0].sent() - numbers.len() as u64;
    assert_eq!(missing, dropped, "only what the queue dropped is missing");
}

#[test]
fn as_much_as_the_paths_carry_arrives() {
    for seed in 0..3 {
        let mut network = adapted(seed, &[20, 5]);
        // 22.5 Mbit/s with all headers: more than the first path carries.
        network.send(0, 1000, 10_000, Duration::from_micros(440));
        // A packet is kept for at most 1.5 s after it has left, since it may have to be sent again.
        network.run(Duration::from_secs(2));
        let (waiting, dropped) = queue(&network);
        assert_eq!((waiting, memory(&network)), (0, 0), "nothing waits for ever");
        check_arrivals(&network, dropped);
        assert!(dropped < 1000, "{dropped} of 11000");
        let tunnels = network.hosts[0].data.node.tunnels();
        let sent: Vec<u64> = tunnels.paths().map(|(_, path)| path.sent().packets).collect();
        assert!(sent.iter().all(|&packets| packets > 500), "both are in use: {sent:?}");
    }
}

#[test]
fn a_burst_waits_and_leaves() {
    let mut network = adapted(1, &[10, 10]);
    network.send(0, 1000, 200, Duration::ZERO);
    let (waiting, dropped) = queue(&network);
    assert!(waiting > 50_000, "{waiting} bytes wait");
    assert!(memory(&network) >= waiting, "{} bytes are kept", memory(&network));
    assert_eq!(dropped, 0);
    network.run(Duration::from_secs(1));
    assert_eq!(queue(&network).0, 0);
    // A packet is kept for a while after it has left, since it may have to be sent again.
    network.run(Duration::from_secs(1));
    let (waiting, dropped) = queue(&network);
    assert_eq!((waiting, memory(&network)), (0, 0));
    check_arrivals(&network, dropped);
    network.run(Duration::from_secs(3));
    assert_eq!(network.hosts[0].data.store.memory(), 0, "the memory goes back");
}

/// The peer counts anew after a pause, which is no gigabytes that came at once.
#[test]
fn a_pause_makes_no_path_faster() {
    let mut network = adapted(10, &[10, 10]);
    for _ in 0..3 {
        network.send(0, 1000, 300, Duration::ZERO);
        network.run(Duration::from_secs(5));
    }
    let (_, connection) = network.hosts[0].data.node.tunnels().connections().next().unwrap();
    for (_, estimate) in connection.estimates(network.now()) {
        assert!(estimate.rate < 50_000_000 && estimate.delivered < 11_000_000, "{estimate:?}");
    }
}

/// The segments of a super-packet leave one by one, over whichever path has room.
#[test]
fn super_packets_leave_in_pieces() {
    let mut network = adapted(2, &[10, 4]);
    for _ in 0..30 {
        network.send_together(0, 1000, 40);
        network.run(45 * MILLISECOND);
    }
    // A packet is kept for a while after it has left, since it may have to be sent again.
    network.run(Duration::from_secs(2));
    let (waiting, dropped) = queue(&network);
    assert_eq!((waiting, memory(&network)), (0, 0));
    check_arrivals(&network, dropped);
    assert!(dropped < 100, "{dropped} of 1200");
}

/// A packet that stays too long is marked instead of dropped, where its transport understands that.
#[test]
fn a_flow_that_understands_marks_is_marked() {
    let mut network = adapted(3, &[4]);
    let before = queue(&network).1;
    network.hosts[0].form.ecn = Ecn::Ect0;
    network.hosts[1].received.clear();
    for round in 0..40 {
        // Alone and in super-packets: the mark is in the header of one segment.
        match round % 2 {
            0 => network.send(0, 1000, 20, Duration::ZERO),
            _ => network.send_together(0, 1000, 20),
        }
        network.run(40 * MILLISECOND);
    }
    network.run(Duration::from_secs(2));
    let received = &network.hosts[1].received;
    let marked = received.iter().filter(|it| it.ecn == Ecn::Ce).count();
    assert!((1..200).contains(&marked), "{marked} of {}", received.len());
    assert_eq!((queue(&network).1, received.len()), (before, 800), "none was dropped");
}

#[test]
fn a_connection_that_is_removed_takes_its_packets_along() {
    let mut network = adapted(4, &[10]);
    network.send(0, 1000, 300, Duration::ZERO);
    assert!(memory(&network) > 100_000);
    let connection = network.hosts[0].config.connections.remove(0);
    network.hosts[0].reload();
    assert_eq!(memory(&network), 0);
    network.hosts[0].config.connections.push(connection);
    network.hosts[0].reload();
    network.establish();
    network.hosts[1].received.clear();
    let first = network.hosts[0].sent();
    network.send(0, 1000, 100, 2 * MILLISECOND);
    network.run(Duration::from_secs(1));
    let expected: Vec<u64> = (first..network.hosts[0].sent()).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
}

/// The engine gives the id of the former connection to the new one, and the ids of its packets to new ones.
#[test]
fn a_connection_in_place_of_another_one_sends_none_of_its_packets() {
    let mut network = adapted(5, &[10]);
    network.send(0, 1000, 300, Duration::ZERO);
    assert!(memory(&network) > 100_000);
    let first = network.hosts[0].sent();
    for side in 0..2 {
        network.hosts[side].config.connections[0].name = "other".into();
        network.hosts[side].reload();
    }
    assert_eq!(memory(&network), 0);
    network.establish();
    network.hosts[1].received.clear();
    network.send(0, 1000, 100, Duration::ZERO);
    network.run(Duration::from_secs(1));
    let expected: Vec<u64> = (first..network.hosts[0].sent()).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
}

#[test]
fn another_mapping_forgets_what_waits() {
    let mut network = adapted(6, &[10]);
    network.send(0, 1000, 300, Duration::ZERO);
    network.hosts[0].config.connections[0].mapping = mpt_api::Mapping::Packet;
    network.hosts[0].reload();
    assert_eq!(memory(&network), 0);
    network.hosts[0].config.connections[0].mapping = mpt_api::Mapping::Adaptive;
    network.hosts[0].reload();
    network.hosts[1].received.clear();
    let first = network.hosts[0].sent();
    network.send(0, 1000, 500, 2 * MILLISECOND);
    network.run(Duration::from_secs(1));
    let expected: Vec<u64> = (first..network.hosts[0].sent()).collect();
    assert!(network.hosts[1].numbers().ends_with(&expected), "new packets arrive");
}

#[test]
fn no_more_waits_than_there_is_memory_for() {
    let mut network = adapted(7, &[10]);
    let limit = 400_000;
    network.hosts[0].data.store.set_limit(limit);
    network.hosts[0].data.free_queues();
    for round in 0..20 {
        match round % 2 {
            0 => network.send(0, 1000, 40, Duration::ZERO),
            _ => network.send_together(0, 1000, 40),
        }
        assert!(memory(&network) <= limit, "{}", memory(&network));
        network.run(MILLISECOND);
    }
    let tunnels = network.hosts[0].data.node.tunnels();
    let (_, connection) = tunnels.connections().next().expect("the one there is");
    assert!(connection.inner_drops().queue_memory > 100, "{:?}", connection.inner_drops());
    network.run(Duration::from_secs(2));
    let (waiting, dropped) = queue(&network);
    assert_eq!((waiting, memory(&network)), (0, 0));
    check_arrivals(&network, dropped);
}

/// No packet leaves while every path is down; those that waited leave afterwards.
#[test]
fn packets_outlast_a_short_outage() {
    let mut network = adapted(8, &[10]);
    network.send(0, 1000, 100, Duration::ZERO);
    let change = |up| mpt_api::PathChange { up: Some(up), ..mpt_api::PathChange::default() };
    network.hosts[0].data.change_path("tunnel", "line1", &change(false)).unwrap();
    network.hosts[0].data.settle();
    let waiting = queue(&network).0;
    assert!(waiting > 10_000, "{waiting}");
    network.run(100 * MILLISECOND);
    assert_eq!(queue(&network).0, waiting);
    network.hosts[0].data.change_path("tunnel", "line1", &change(true)).unwrap();
    network.hosts[0].data.settle();
    network.run(Duration::from_secs(2));
    let (waiting, dropped) = queue(&network);
    assert_eq!((waiting, memory(&network)), (0, 0));
    check_arrivals(&network, dropped);
}

/// A connection with another mapping has no queue.
#[test]
fn with_other_mappings_nothing_waits() {
    let mut network = Network::new(9, &[line(10)], "mapping = \"packet\"");
    network.establish();
    network.send(0, 1000, 500, Duration::ZERO);
    let (_, connection) = network.hosts[0].data.node.tunnels().connections().next().unwrap();
    assert_eq!((connection.queue(), memory(&network)), (None, 0));
}
