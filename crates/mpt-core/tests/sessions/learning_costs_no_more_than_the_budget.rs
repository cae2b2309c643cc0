//! The frames from which peers learn stay within the budget of the daemon, however many connections are in use; one connection alone is not slowed,
//! and probes never are.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_core::session::Limits;

use super::hub::{HUB, Hub, key};

/// Time between two packets on each connection.
const STEP: Duration = Duration::from_millis(5);

/// Returns how many frames a hub sends in a second while a packet leaves every 5 ms on each of its connections: frames between probes, and probes.
fn second(clients: usize, budget: u32) -> (u64, u64) {
    let mut hub = Hub::new(clients);
    hub.mapping = Mapping::Adaptive;
    hub.nodes[HUB].node.set_limits(Limits { frames_between_probes: budget, ..Limits::default() });
    hub.allow((1..=clients).map(|client| key(client).public()));
    hub.establish();
    assert!((0..=clients).all(|node| hub.is_up(node)), "{}", hub.describe(HUB));
    let load = |hub: &mut Hub, time: Duration| {
        for _ in 0..time.as_millis() / STEP.as_millis() {
            hub.wake(HUB);
            hub.run(STEP);
        }
    };
    // Handshakes and surveys are over, and intervals are what they stay.
    load(&mut hub, Duration::from_secs(4));
    let sent = |hub: &Hub| {
        let counters = hub.nodes[HUB].node.sessions().counters();
        let (probes, echoes) = (counters.probes_sent, counters.echoes_sent);
        (counters.frames_sent - probes - echoes, probes)
    };
    let before = sent(&hub);
    load(&mut hub, Duration::from_secs(1));
    let after = sent(&hub);
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn one_connection_is_not_slowed() {
    let (frames, probes) = second(1, Limits::default().frames_between_probes);
    assert_eq!((frames, probes), second(1, u32::MAX), "as without any budget");
    // The times of departure every 10 ms, and besides, which path has fallen quiet.
    assert!(frames >= 100 && probes >= 18, "{frames} frames between probes, {probes} probes");
}

#[test]
fn two_hundred_connections_stay_within_a_budget_far_below_what_they_want() {
    let (frames, probes) = second(200, 2_000);
    assert!((1_600..=2_000).contains(&frames), "{frames} frames between probes");
    assert!(probes >= 200 * 18, "{probes} probes");
}
