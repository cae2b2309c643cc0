//! Keys that have sealed as many packets as they may seal no more: data stops, whatever that costs, until a handshake has made others.

use std::time::Duration;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);
/// Packets that are sealed under one key.
const MOST: u64 = 1 << 27;
/// Packets that are left when the peer goes away.
const LEFT: u64 = 5;

#[test]
fn until_there_are_others() {
    for seed in 0..3 {
        let mut setup = Setup::new(seed, &[5, 20]).sealed();
        // Nothing notices that the peer is away.
        setup.timing.keepalive = Duration::ZERO;
        let mut network = Network::new(setup);
        network.run(3 * SECOND);
        network.run_traffic(SECOND, millis(10));
        network.run(SECOND);
        network.assert_nothing_lost();
        network.hosts[SERVER].running = false;
        let sent = network.hosts[CLIENT].sent;
        network.at(CLIENT, |host, _| {
            assert!(!host.node.skip_numbers(host.connection, MOST - sent), "beyond the last");
            assert!(host.node.skip_numbers(host.connection, MOST - sent - LEFT));
        });
        for _ in 0..1000 {
            network.send(CLIENT);
            network.run(millis(10));
        }
        assert_eq!(network.hosts[CLIENT].sent - sent, LEFT, "seed {seed}");
        assert_eq!(network.hosts[CLIENT].refused, 1000 - LEFT, "seed {seed}");
        // The peer answers again.
        network.hosts[SERVER].running = true;
        let before = network.delivered(CLIENT).len();
        network.expect_under_traffic(10 * SECOND, "data flows under other keys", |it| {
            it.delivered(CLIENT).len() > before + 10
        });
        let first = SIDES.map(|side| network.hosts[side].sent);
        network.run_traffic(SECOND, millis(2));
        network.run(SECOND);
        network.assert_nothing_lost_from(first);
    }
}
