//! The link against a model that goes through time nanosecond by nanosecond.
#![allow(clippy::disallowed_types, reason = "proptest's macros expand to them")]

use mpt_link::{ByteCount, Capable, Change, Channel, Link, Outcome, Params, QueueLimit};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

use crate::common::{arrival, nanos, rate, start};

#[derive(Clone, Copy, Debug)]
struct Offered {
    at: u64,
    size: u64,
    /// True if it can be marked.
    capable: bool,
}

#[derive(Clone, Debug)]
struct Case {
    rate: u64,
    queue: QueueLimit,
    /// Waits above it mark or drop.
    mark_above: Option<u64>,
    slot: u64,
    delay: u64,
    keep_order: bool,
    changes: Vec<(u64, Change)>,
    packets: Vec<Offered>,
}

/// Work is counted in 10^-9 bit: `rate` of them are done in a nanosecond.
#[derive(Clone, Debug)]
struct Naive {
    time: u64,
    params: Params,
    changes: Vec<(u64, Change)>,
    /// Packet, work left, and its delay once its transmission has begun.
    line: VecDeque<(usize, u128, Option<u64>)>,
    /// Work left for this nanosecond; `None` without a limit.
    budget: Option<u128>,
    /// The arrival time of each packet.
    arrivals: Vec<Option<u64>>,
    marks: Vec<bool>,
    last_arrival: u64,
}

impl Naive {
    fn new(case: &Case) -> Self {
        let mut changes = case.changes.clone();
        changes.sort_by_key(|&(at, _)| at);
        let mut naive = Self {
            time: 0,
            params: params(case),
            changes,
            line: VecDeque::new(),
            budget: None,
            arrivals: vec![None; case.packets.len()],
            marks: vec![false; case.packets.len()],
            last_arrival: 0,
        };
        naive.begin();
        naive
    }

    /// A nanosecond begins.
    fn begin(&mut self) {
        for &(_, change) in self.changes.iter().filter(|&&(at, _)| at == self.time) {
            match change {
                Change::Rate(rate) => self.params.rate = rate,
                Change::Queue(queue) => self.params.queue = queue,
                Change::Delay(delay) => self.params.delay = delay,
                _ => unreachable!("not generated"),
            }
        }
        self.budget = self.params.rate.map(|rate| rate.bits_per_second().into());
        self.serve();
    }

    fn serve(&mut self) {
        while let Some((packet, work, delay)) = self.line.front_mut() {
            if self.budget == Some(0) {
                return;
            }
            let delay = *delay.get_or_insert(self.params.delay.as_nanos() as u64);
            let done = self.budget.unwrap_or(*work).min(*work);
            *work -= done;
            if let Some(budget) = &mut self.budget {
                *budget -= done;
            }
            if *work > 0 {
                return;
            }
            // Rounded down; the very end of this nanosecond is the next one.
            let mut end = self.time + u64::from(self.budget == Some(0));
            while self.params.slot > Duration::ZERO
                && !end.is_multiple_of(self.params.slot.as_nanos() as u64)
            {
                end += 1;
            }
            let mut arrival = end + delay;
            if self.params.keep_order {
                arrival = arrival.max(self.last_arrival);
            }
            self.last_arrival = self.last_arrival.max(arrival);
            self.arrivals[*packet] = Some(arrival);
            self.line.pop_front();
        }
    }

    fn step(&mut self) {
        self.time += 1;
        self.begin();
    }

    /// Returns true if a packet that came now would be transmitted now.
    fn free(&self) -> bool {
        self.line.is_empty() && self.budget != Some(0)
    }

    /// Returns the wait of a packet that came now.
    fn wait(&self) -> Duration {
        let mut future = self.clone();
        while !future.free() {
            future.step();
        }
        nanos(future.time - self.time)
    }

    fn offer(&mut self, packet: usize, size: u64, sizes: &[Offered]) -> bool {
        let congested = self.params.mark_above.is_some_and(|limit| self.wait() > limit);
        if congested && !sizes[packet].capable {
            return false;
        }
        let waiting = self.line.iter().filter(|(_, _, delay)| delay.is_none());
        let room = self.free()
            || match self.params.queue {
                QueueLimit::Unlimited => true,
                QueueLimit::Packets(limit) => waiting.count() < limit,
                QueueLimit::Bytes(limit) => {
                    waiting.map(|&(other, ..)| sizes[other].size).sum::<u64>() + size <= limit.0
                }
                QueueLimit::Time(limit) => self.wait() <= limit,
            };
        if room {
            self.marks[packet] = congested;
            self.line.push_back((packet, u128::from(size) * 8_000_000_000, None));
            self.serve();
        }
        room
    }
}

fn params(case: &Case) -> Params {
    Params {
        rate: rate(case.rate),
        queue: case.queue,
        mark_above: case.mark_above.map(nanos),
        slot: nanos(case.slot),
        delay: nanos(case.delay),
        keep_order: case.keep_order,
        ..Params::default()
    }
}

/// Returns the arrival time of each packet, and whether it is marked then.
fn naive(case: &Case) -> Vec<Option<(u64, bool)>> {
    let mut naive = Naive::new(case);
    for (n, packet) in case.packets.iter().enumerate() {
        while naive.time < packet.at {
            naive.step();
        }
        naive.offer(n, packet.size, &case.packets);
    }
    while !naive.line.is_empty() {
        naive.step();
    }
    naive.arrivals.into_iter().zip(naive.marks).map(|(at, marked)| Some((at?, marked))).collect()
}

/// Rates at which a byte takes about 0.1 to 40 ns, whole numbers of bits per nanosecond among them.
fn any_rate() -> impl Strategy<Value = u64> {
    prop_oneof![200_000_000..80_000_000_000_u64, (1..20_u64).prop_map(|n| n * 1_000_000_000)]
}

fn any_queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        (0..6_usize).prop_map(QueueLimit::Packets),
        (0..60_u64).prop_map(|bytes| QueueLimit::Bytes(ByteCount(bytes))),
        (0..60_u64).prop_map(|time| QueueLimit::Time(nanos(time))),
    ]
}

prop_compose! {
    fn any_case()(
        rate in any_rate(),
        queue in any_queue(),
        mark_above in prop::option::of(0..60_u64),
        slot in prop_oneof![Just(0_u64), 1..40_u64],
        delay in 0..50_u64,
        keep_order in any::<bool>(),
        changes in prop::collection::vec((0..600_u64, prop_oneof![
            4 => any_rate().prop_map(|bits| Change::Rate(rate(bits))),
            1 => Just(Change::Rate(None)),
            2 => any_queue().prop_map(Change::Queue),
            2 => (0..50_u64).prop_map(|delay| Change::Delay(nanos(delay))),
        ]), 0..8),
        gaps in prop::collection::vec((prop_oneof![Just(0_u64), 0..12_u64, 0..200_u64], 0..40_u64, any::<bool>()), 1..60),
    ) -> Case {
        let mut at = 0;
        let packets = gaps.into_iter().map(|(gap, size, capable)| {
            at += gap;
            Offered { at, size, capable }
        }).collect();
        Case { rate, queue, mark_above, slot, delay, keep_order, changes, packets }
    }
}

fn schedule(case: &Case) -> impl Iterator<Item = (Duration, Change)> {
    case.changes.iter().map(|&(at, change)| (nanos(at), change))
}

proptest! {
    #[test]
    fn every_packet_arrives_when_the_model_says(case in any_case()) {
        let start = start();
        let mut channel = Channel::new(start, params(&case), schedule(&case), 1);
        let mut send = |packet: &Offered| {
            let capable = if packet.capable { Capable::Yes } else { Capable::No };
            let now = start + nanos(packet.at);
            let outcome = channel.send_capable(now, ByteCount(packet.size), capable);
            let marked = matches!(outcome, Outcome::Arrives { marked: true, .. });
            arrival(start, outcome).map(|at| (at, marked))
        };
        let arrivals: Vec<Option<(u64, bool)>> = case.packets.iter().map(&mut send).collect();
        let marked = arrivals.iter().flatten().filter(|(_, marked)| *marked).count();
        prop_assert_eq!(arrivals, naive(&case));
        prop_assert_eq!(channel.counters().marked.packets, marked as u64);
    }

    #[test]
    fn a_link_gives_each_packet_at_its_time_and_once(case in any_case(), copies in 0.0..=1.0_f64, loss in 0.0..=1.0_f64) {
        let start = start();
        let params = Params {
            duplication: crate::common::probability(copies),
            loss: mpt_link::Loss::Bernoulli(crate::common::probability(loss)),
            ..params(&case)
        };
        let mut link = Link::new(start, params, schedule(&case), 1);
        let mut expected = Vec::new();
        let mut received = Vec::new();
        let drain = |link: &mut Link<usize>, until, received: &mut Vec<_>| {
            while let Some(at) = link.next_timeout().filter(|&at| at <= until) {
                // Never before its time.
                assert_eq!(link.poll(at - nanos(1)), None);
                received.push((at, link.poll(at).expect("it is due")));
            }
        };
        for (n, packet) in case.packets.iter().enumerate() {
            let now = start + nanos(packet.at);
            drain(&mut link, now, &mut received);
            if let Outcome::Arrives { at, copy, .. } = link.enqueue(now, ByteCount(packet.size), n) {
                expected.push((at, n));
                expected.extend(copy.map(|copy| (copy, n)));
            }
        }
        drain(&mut link, start + Duration::from_secs(1), &mut received);
        // Stable: of equal times, the one sent first.
        expected.sort_by_key(|&(at, _)| at);
        prop_assert_eq!(&received, &expected);

        let counters = *link.counters();
        let gone = counters.queue_full.packets + counters.lost.packets;
        prop_assert_eq!(counters.offered.packets, case.packets.len() as u64);
        prop_assert_eq!(received.len() as u64, counters.offered.packets - gone + counters.duplicated.packets);
        prop_assert_eq!(link.in_flight(), 0);
    }
}
