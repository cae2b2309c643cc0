//! FQ-CoDel against RFC 8290 and RFC 8289 written down a second time, with one list of all packets instead of queues.
#![allow(clippy::disallowed_types, reason = "proptest's macros expand to them")]

use std::collections::VecDeque;
use std::time::Duration;

use mpt_link::{ByteCount, Capable, FqCodel, FqCodelConfig};
use proptest::prelude::*;

use crate::common::{nanos, start};

const FLOWS: u64 = 4;
const QUANTUM: u64 = 30;
const TARGET: u64 = 40;
const INTERVAL: u64 = 200;
const LIMIT: usize = 25;

#[derive(Clone, Copy, Debug)]
struct Packet {
    id: usize,
    flow: u64,
    size: u64,
    capable: bool,
    came: u64,
}

/// RFC 8289, section 5.3, of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct Codel {
    first_above_time: u64,
    dropping: bool,
    drop_next: u64,
    count: u32,
    lastcount: u32,
}

#[derive(Default)]
struct Naive {
    packets: Vec<Packet>,
    lists: [VecDeque<u64>; 2],
    deficits: [i64; FLOWS as usize],
    codels: [Codel; FLOWS as usize],
    dropped: Vec<usize>,
}

impl Naive {
    fn bytes(&self, flow: u64) -> u64 {
        self.packets.iter().filter(|packet| packet.flow == flow).map(|packet| packet.size).sum()
    }

    fn pop(&mut self, flow: u64) -> Option<Packet> {
        let index = self.packets.iter().position(|packet| packet.flow == flow)?;
        Some(self.packets.remove(index))
    }

    fn enqueue(&mut self, packet: Packet) {
        self.packets.push(packet);
        if !self.lists.iter().flatten().any(|&flow| flow == packet.flow) {
            self.lists[0].push_back(packet.flow);
            self.deficits[packet.flow as usize] = QUANTUM as i64;
        }
        while self.packets.len() > LIMIT {
            // The last of equals, as `Iterator::max_by_key` has it.
            let fattest = (0..FLOWS).max_by_key(|&flow| self.bytes(flow)).unwrap();
            let packet = self.pop(fattest).unwrap();
            self.dropped.push(packet.id);
        }
    }

    /// `dodequeue`: the packet, and whether it may be dropped.
    fn dodequeue(&mut self, now: u64, flow: u64) -> (Option<Packet>, bool) {
        let packet = self.pop(flow);
        let rest = self.bytes(flow);
        let codel = &mut self.codels[flow as usize];
        let Some(it) = packet else {
            codel.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now - it.came < TARGET || rest < QUANTUM {
            codel.first_above_time = 0;
        } else if codel.first_above_time == 0 {
            codel.first_above_time = now + INTERVAL;
        } else if now >= codel.first_above_time {
            ok_to_drop = true;
        }
        (packet, ok_to_drop)
    }

    /// `deque`, with marks.
    fn codel(&mut self, now: u64, flow: u64) -> Option<(Packet, bool)> {
        let law = |time: u64, count: u32| time + (INTERVAL as f64 / f64::from(count).sqrt()) as u64;
        let (mut packet, mut ok) = self.dodequeue(now, flow);
        if self.codels[flow as usize].dropping {
            loop {
                let codel = &mut self.codels[flow as usize];
                if !ok {
                    codel.dropping = false;
                    return packet.map(|packet| (packet, false));
                }
                if now < codel.drop_next {
                    return packet.map(|packet| (packet, false));
                }
                codel.count += 1;
                codel.drop_next = law(codel.drop_next, codel.count);
                let it = packet.unwrap();
                if it.capable {
                    return Some((it, true));
                }
                self.dropped.push(it.id);
                (packet, ok) = self.dodequeue(now, flow);
            }
        }
        if ok {
            let codel = &mut self.codels[flow as usize];
            codel.dropping = true;
            let delta = codel.count - codel.lastcount;
            let recent = now.saturating_sub(codel.drop_next) < 16 * INTERVAL;
            codel.count = if delta > 1 && recent { delta } else { 1 };
            codel.lastcount = codel.count;
            codel.drop_next = law(now, codel.count);
            let it = packet.unwrap();
            if it.capable {
                return Some((it, true));
            }
            self.dropped.push(it.id);
            (packet, ok) = self.dodequeue(now, flow);
            // The RFC looks at this only with the next packet; what follows is the same.
            self.codels[flow as usize].dropping = ok;
        }
        packet.map(|packet| (packet, false))
    }

    /// RFC 8290, section 4.2.
    fn dequeue(&mut self, now: u64) -> Option<(usize, bool)> {
        loop {
            let list = usize::from(self.lists[0].is_empty());
            let flow = *self.lists[list].front()?;
            let deficit = self.deficits[flow as usize];
            if deficit <= 0 {
                self.deficits[flow as usize] += QUANTUM as i64;
                self.lists[list].pop_front();
                self.lists[1].push_back(flow);
            } else if let Some((packet, marked)) = self.codel(now, flow) {
                self.deficits[flow as usize] -= packet.size as i64;
                return Some((packet.id, marked));
            } else {
                self.lists[list].pop_front();
                if list == 0 && !self.lists[1].is_empty() {
                    self.lists[1].push_back(flow);
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue { flow: u64, size: u64, capable: bool },
    Dequeue,
}

fn any_step() -> impl Strategy<Value = (u64, Step)> {
    let enqueue = (0..FLOWS, 1..60_u64, any::<bool>())
        .prop_map(|(flow, size, capable)| Step::Enqueue { flow, size, capable });
    (0..20_u64, prop_oneof![5 => enqueue, 4 => Just(Step::Dequeue)])
}

proptest! {
    #[test]
    fn every_packet_leaves_at_its_turn(steps in prop::collection::vec(any_step(), 1..600)) {
        let start = start();
        let config = FqCodelConfig {
            flows: FLOWS as u32,
            quantum: ByteCount(QUANTUM),
            target: nanos(TARGET),
            interval: nanos(INTERVAL),
            limit: LIMIT,
            ecn: true,
        };
        let mut queue = FqCodel::new(start, config);
        let mut naive = Naive::default();
        // Time 0 stands for "never" in the RFC.
        let mut now = 1;
        for (id, &(gap, step)) in steps.iter().enumerate() {
            now += gap;
            let instant = start + nanos(now);
            match step {
                Step::Enqueue { flow, size, capable } => {
                    naive.enqueue(Packet { id, flow, size, capable, came: now });
                    let capable = if capable { Capable::Yes } else { Capable::No };
                    queue.enqueue(instant, flow, ByteCount(size), capable, id);
                }
                Step::Dequeue => {
                    let left = queue.dequeue(instant).map(|it| (it.packet, it.marked));
                    prop_assert_eq!(left, naive.dequeue(now), "at {}", now);
                }
            }
            let dropped: Vec<usize> = queue.take_dropped().collect();
            prop_assert_eq!(dropped, std::mem::take(&mut naive.dropped), "at {}", now);
            prop_assert_eq!(queue.waiting().packets, naive.packets.len() as u64);
        }
    }
}

/// Marks and drops do occur in what the model is compared with.
#[test]
fn a_standing_queue_of_a_flow_is_marked_or_dropped_and_another_flow_is_not() {
    let start = start();
    let config = FqCodelConfig { ecn: true, ..FqCodelConfig::default() };
    let mut queue = FqCodel::new(start, config);
    let (mut marked, mut sparse) = (0, 0);
    for millisecond in 0..2000_u64 {
        let now = start + Duration::from_millis(millisecond);
        // Twice what leaves, of flow 1 with marks and flow 2 without; and one packet in ten of flow 3.
        for flow in [1, 2] {
            let capable = if flow == 1 { Capable::Yes } else { Capable::No };
            queue.enqueue(now, flow, ByteCount(1514), capable, (flow, millisecond));
        }
        if millisecond % 10 == 0 {
            queue.enqueue(now, 3, ByteCount(100), Capable::No, (3, millisecond));
        }
        if let Some(dequeued) = queue.dequeue(now) {
            marked += u32::from(dequeued.marked);
            if dequeued.packet.0 == 3 {
                sparse += 1;
                assert!(
                    millisecond - dequeued.packet.1 <= 2,
                    "{:?} at {millisecond}",
                    dequeued.packet
                );
            }
        }
    }
    let dropped: Vec<(u64, u64)> = queue.take_dropped().collect();
    assert!(dropped.iter().all(|&(flow, _)| flow == 2), "{dropped:?}");
    assert!(marked > 20 && dropped.len() > 20 && sparse >= 199, "{marked}, {dropped:?}, {sparse}");
}
