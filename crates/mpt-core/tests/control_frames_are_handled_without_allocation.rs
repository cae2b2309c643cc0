//! In the steady state a session allocates nothing for a probe, an echo or a report.

#[path = "sessions/frames.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests use the rest")]
mod frames;
#[path = "sessions/hub.rs"]
#[allow(dead_code, unreachable_pub, reason = "another test uses the rest")]
mod hub;

use std::time::Duration;

use hub::*;

#[test]
fn in_the_steady_state() {
    let mut hub = Hub::new(10);
    hub.allow((1..=10).map(|client| key(client).public()));
    hub.establish();
    let run = |hub: &mut Hub| {
        for _ in 0..50 {
            (0..=10).for_each(|node| hub.wake(node));
            hub.run(Duration::from_millis(20));
        }
    };
    (0..10).for_each(|_| run(&mut hub));
    let before = *hub.nodes[HUB].node.sessions().counters();
    let allocated = allocation_counter::measure(|| run(&mut hub));
    let after = *hub.nodes[HUB].node.sessions().counters();
    let frames = after.frames_received - before.frames_received;
    assert!(frames > 150, "{frames}");
    assert!(after.probes_sent > before.probes_sent);
    assert_eq!(allocated.count_total, 0, "for {frames} frames");
}
