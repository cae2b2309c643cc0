//! Once as much has waited as ever will, no call allocates: not for packets, flows, drops or marks.

use std::time::{Duration, Instant};

use mpt_core::queue::{FairQueue, Limits, Waiting};

/// A second at twice the rate that the queue is served at, of flows that come and go.
fn second(queue: &mut FairQueue<u8>, start: Instant) {
    for n in 0..10_000_u64 {
        let now = start + Duration::from_micros(100 * n);
        let flow = if n.is_multiple_of(3) { n } else { n % 5 };
        let (segments, total) = if flow < 3 { (8, 8 * 1400) } else { (1, 200) };
        let largest = total / u32::from(segments);
        let ect = flow.is_multiple_of(2);
        let packet = Waiting {
            flow,
            segments,
            largest,
            total,
            first: 0,
            ect,
            spreads: true,
            acknowledges: None,
            tag: 0,
        };
        queue.push(now, packet).unwrap();
        while queue.pop_dropped().is_some() {}
        for _ in 0..2 {
            queue.peek(now);
            queue.pop(now);
            while queue.pop_dropped().is_some() {}
        }
    }
    while queue.pop(start + Duration::from_secs(1)).is_some() {}
    while queue.pop_dropped().is_some() {}
}

#[test]
fn whatever_happens() {
    let start = super::harness::origin();
    let mut queue = FairQueue::new(Limits { bytes: 500_000, packets: 300 });
    queue.set_target(Duration::from_millis(1), Duration::from_millis(5));
    second(&mut queue, start);
    let before = queue.counters();
    let allocated = allocation_counter::measure(|| {
        second(&mut queue, start + Duration::from_secs(1));
    });
    let after = queue.counters();
    assert!(after.dropped > before.dropped && after.marked > before.marked, "{after:?}");
    assert!(after.overflowed > before.overflowed, "{after:?}");
    assert_eq!(allocated.count_total, 0);
}
