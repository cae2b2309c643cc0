//! A queue without traffic holds nothing: before its first packet, and after it gave memory back.

use mpt_core::queue::FairQueue;

use super::harness::{WIDE, origin, packet};

#[test]
fn before_the_first_packet() {
    let allocated = allocation_counter::measure(|| {
        let mut queue = FairQueue::<u64>::new(WIDE);
        assert!(queue.pop(origin()).is_none());
    });
    assert_eq!(allocated.count_total, 0);
    assert!(size_of::<FairQueue<u64>>() < 512);
}

#[test]
fn after_it_gave_memory_back() {
    let mut queue = FairQueue::new(WIDE);
    let allocated = allocation_counter::measure(|| {
        let now = origin();
        for flow in 0..2000 {
            queue.push(now, packet(flow, 2, 1000)).unwrap();
        }
        queue.shrink();
        assert_eq!(queue.len_packets(), 2000, "what waits stays");
        while queue.pop(now).is_some() {}
        queue.shrink();
    });
    assert!(allocated.count_total > 0);
    assert_eq!(allocated.bytes_current, 0);
}

#[test]
fn one_flow_of_few_packets_takes_less_than_4_kilobytes() {
    let mut queue = FairQueue::new(WIDE);
    let allocated = allocation_counter::measure(|| {
        let now = origin();
        for _ in 0..4 {
            queue.push(now, packet(1, 44, 1400)).unwrap();
        }
    });
    assert!(allocated.bytes_current < 4096, "{} bytes", allocated.bytes_current);
    assert_eq!(queue.len_packets(), 4);
}

#[test]
fn a_report_of_drops_outlives_the_attempt() {
    let now = origin();
    let mut queue = FairQueue::new(mpt_core::queue::Limits { bytes: 1000, packets: 10 });
    for _ in 0..2 {
        queue.push(now, packet(1, 1, 1000)).unwrap();
    }
    while queue.pop(now).is_some() {}
    queue.shrink();
    assert!(queue.pop_dropped().is_some_and(|dropped| dropped.last));
}
