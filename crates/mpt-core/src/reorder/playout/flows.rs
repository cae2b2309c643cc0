//! The classification of TCP flows: bulk flows wait for their play-out, and the others are wanted
//! at once.

use crate::sequence::Sequence;

/// The number of packets per second below which a flow is sparse.
const SPARSE: u32 = 20;
/// Time for which a flow has to be sparse, in microseconds; and where it has sent a large packet, twice
/// the time that bulk waits besides. A flow in slow start sends little in its first round-trip times,
/// which contain the hold.
const PERIOD: i64 = 1_000_000;
/// The number of packets in a row, each within [`CLOSE`] of the one before, that mark a flow as
/// bulk. TCP sends ten at once in slow start (RFC 6928), however long its rounds are.
const BURST: u32 = 8;
/// The longest time between two packets of a burst, in microseconds.
const CLOSE: i64 = 20_000;
/// The number of flows that are distinguished. Two flows that share a place share a class, which
/// costs one of them time and neither its order.
const PLACES: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// `None`: no flow has this place.
    tag: Option<u32>,
    /// The beginning of the present period, and the packets since.
    began: i64,
    packets: u32,
    /// One of those packets was large.
    large: bool,
    /// The arrival of the last packet, and the number of packets in a row up to it.
    last: i64,
    burst: u32,
    sparse: bool,
    /// The last number of the flow that was held.
    held: Option<Sequence>,
}

/// Whether a packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The packet waits.
    Yes,
    /// The packet is wanted at once.
    No,
    /// The packet is wanted at once, and packets of its flow up to this number still wait.
    NoLonger(Sequence),
}

/// The flows that were seen recently.
#[derive(Debug)]
pub(super) struct Flows {
    /// The places of flows. There are none before the first packet.
    flows: Vec<Flow>,
    /// Time for which a flow with large packets has to be sparse, in microseconds.
    period: i64,
}

impl Flows {
    pub(super) fn new() -> Self {
        Self { flows: Vec::new(), period: PERIOD }
    }

    /// Sets how long bulk waits beyond the delay of the shortest path, in microseconds.
    pub(super) fn set_hold(&mut self, extra: i64) {
        self.period = PERIOD + 2 * extra;
    }

    /// Gives back the memory, so that every flow counts as new.
    pub(super) fn rest(&mut self) {
        self.flows = Vec::new();
    }

    /// Returns whether a packet of this flow waits, which is `large` or not. `front` is the first number
    /// that has not been played out.
    pub(super) fn wait(
        &mut self,
        now: i64,
        (flow, large): (u32, bool),
        number: Sequence,
        front: Sequence,
    ) -> Wait {
        if self.flows.is_empty() {
            self.flows = vec![Flow::default(); PLACES];
        }
        let it = &mut self.flows[flow as usize % PLACES];
        if it.tag != Some(flow) || now - it.began > 10 * self.period {
            *it = Flow { tag: Some(flow), began: now, held: it.held, ..Flow::default() };
        }
        it.packets += 1;
        it.large |= large;
        let period = if it.large { self.period } else { PERIOD };
        let most = i64::from(SPARSE) * period / PERIOD;
        it.burst = if now - it.last <= CLOSE { it.burst.saturating_add(1) } else { 1 };
        it.last = now;
        let busy = i64::from(it.packets) >= most || it.burst >= BURST;
        if busy || now - it.began >= period {
            // A busy flow is bulk, whatever the rest of the period brings.
            (it.sparse, it.began, it.packets, it.large) = (!busy, now, 1, large);
        }
        if !it.sparse {
            it.held = Some(match it.held {
                Some(held) if held.is_after(number) => held,
                _ => number,
            });
            return Wait::Yes;
        }
        match it.held.take().filter(|held| !held.is_before(front)) {
            Some(held) => Wait::NoLonger(held),
            None => Wait::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of a flow every `gap` microseconds: whether the last of `count` waits.
    fn after(flows: &mut Flows, start: i64, gap: i64, count: u32) -> bool {
        let waits = |n: u32| {
            let number = Sequence(start as u32 / 1_000 + n);
            flows.wait(start + i64::from(n) * gap, (7, true), number, number) == Wait::Yes
        };
        (0..count).map(waits).last().unwrap()
    }

    #[test]
    fn a_flow_waits_from_its_first_packet_until_it_is_seen_to_be_sparse() {
        let mut flows = Flows::new();
        assert!(after(&mut flows, 0, 100_000, 1));
        assert!(after(&mut flows, 0, 100_000, 5));
        assert!(!after(&mut flows, 1_000_000, 100_000, 20), "10 per second");
        assert!(after(&mut flows, 4_000_000, 10_000, 40), "100 per second");
        assert!(!after(&mut flows, 5_000_000, 100_000, 40));
    }

    /// A flow that never paused has sent four billion packets, which is half a day at 1 Gbit/s.
    #[test]
    fn a_flow_may_go_on_without_a_pause_for_ever() {
        let mut flows = Flows::new();
        assert!(after(&mut flows, 0, 10, 100));
        flows.flows[7].burst = u32::MAX;
        assert!(after(&mut flows, 1_010, 10, 2));
    }

    #[test]
    fn a_flow_in_slow_start_is_bulk_however_long_its_round_trip_is() {
        let mut flows = Flows::new();
        flows.set_hold(400_000);
        let mut number = 0;
        // Ten packets, then twice as many in each round-trip time, which contains the hold.
        for round in 0..6 {
            for _ in 0..10 << round {
                let wait =
                    flows.wait(round * 550_000, (7, true), Sequence(number), Sequence(number));
                assert_eq!(wait, Wait::Yes, "{number}, round {round}");
                number += 1;
            }
        }
    }

    #[test]
    fn a_flow_that_sends_its_first_window_at_once_is_bulk_however_long_it_waits_then() {
        let mut flows = Flows::new();
        flows.set_hold(885_000);
        // A request a second before.
        assert_eq!(flows.wait(0, (7, false), Sequence(0), Sequence(0)), Wait::Yes);
        let mut number = 1;
        for round in 0..4 {
            for _ in 0..10 << round {
                let now = 1_000_000 + round * 1_190_000;
                let wait = flows.wait(now, (7, true), Sequence(number), Sequence(number));
                assert_eq!(wait, Wait::Yes, "{number}, round {round}");
                number += 1;
            }
        }
    }

    /// Keys of a remote shell, beside paths with round-trip times of 40 and 240 ms. They waited as long as
    /// a flow in slow start, whose packets are large.
    #[test]
    fn a_flow_of_small_packets_waits_for_a_second() {
        let mut flows = Flows::new();
        flows.set_hold(210_000);
        let mut wait = |n: u32, large| {
            let number = Sequence(n);
            flows.wait(i64::from(n) * 100_000, (7, large), number, number.next())
        };
        assert!((0..10).all(|n| wait(n, false) == Wait::Yes));
        assert_eq!(wait(10, false), Wait::No, "a second has passed");
        assert!((11..20).all(|n| wait(n, false) == Wait::No));
        assert_eq!(wait(20, true), Wait::No, "one large packet is no bulk");
    }

    #[test]
    fn a_first_large_packet_after_a_second_waits() {
        let mut flows = Flows::new();
        flows.set_hold(210_000);
        assert_eq!(flows.wait(0, (7, false), Sequence(0), Sequence(0)), Wait::Yes);
        assert_eq!(flows.wait(1_100_000, (7, true), Sequence(1), Sequence(1)), Wait::Yes);
    }

    #[test]
    fn the_first_packet_of_any_flow_waits_whenever_it_comes() {
        for flow in [0, 1, u32::MAX] {
            let wait = Flows::new().wait(5_000_000, (flow, true), Sequence(0), Sequence(0));
            assert_eq!(wait, Wait::Yes, "{flow}");
        }
    }

    #[test]
    fn what_waits_of_a_flow_that_is_sparse_is_told() {
        let mut flows = Flows::new();
        let waits: Vec<Wait> = (0..14)
            .map(|n| flows.wait(i64::from(n) * 100_000, (7, true), Sequence(n), Sequence(5)))
            .collect();
        assert_eq!(waits[..10], [Wait::Yes; 10]);
        assert_eq!(waits[10..], [Wait::NoLonger(Sequence(9)), Wait::No, Wait::No, Wait::No]);
    }
}
