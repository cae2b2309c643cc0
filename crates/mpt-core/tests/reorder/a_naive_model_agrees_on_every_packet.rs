//! A model of the receive window that is as plain as the table it is made from, on ordered maps and
//! unwrapped numbers, must agree with the real one on every verdict, delivery, deadline and counter,
//! for arrivals that no network would produce.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mpt_core::reorder::{Config, Counters, Late, ReorderBuffer, Sink, Verdict};
use proptest::prelude::*;

use super::harness::origin;

const HORIZON: i64 = 65_536;

/// Packet, kept, after gap.
type Delivery = (u32, bool, bool);

/// A sink with room for a number of packets.
#[derive(Default)]
struct Room {
    capacity: usize,
    kept: BTreeSet<u32>,
    deliveries: Vec<Delivery>,
}

impl Sink<u32> for Room {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        (self.kept.len() < self.capacity).then(|| {
            self.kept.insert(packet);
            packet
        })
    }

    fn deliver(&mut self, packet: u32, kept: bool, after_gap: bool) {
        assert_eq!(kept, self.kept.remove(&packet));
        self.deliveries.push((packet, kept, after_gap));
    }

    fn discard(&mut self, _: u32) {
        panic!("nothing is torn down here");
    }
}

struct Stored {
    packet: u32,
    arrival: Instant,
    counted: bool,
}

struct Model {
    config: Config,
    /// The number due; E = due modulo 2^32.
    due: Option<i64>,
    gap: bool,
    stored: BTreeMap<i64, Stored>,
    delivered: BTreeSet<i64>,
    stalled_since: Option<Instant>,
    strays: Vec<i64>,
    before_restart: Option<(i64, Instant)>,
    latest: Instant,
    counters: Counters,
    room: Room,
}

impl Model {
    fn new(config: Config, now: Instant, capacity: usize) -> Self {
        Self {
            config,
            due: None,
            gap: false,
            stored: BTreeMap::new(),
            delivered: BTreeSet::new(),
            stalled_since: None,
            strays: Vec::new(),
            before_restart: None,
            latest: now,
            counters: Counters::default(),
            room: Room { capacity, ..Room::default() },
        }
    }

    fn window(&self) -> i64 {
        self.config.window().into()
    }

    fn drops_late(&self) -> bool {
        self.config.late == Late::Drop && self.window() > 0
    }

    fn stall_limit(&self) -> Duration {
        (3 * self.config.max_delay()).max(Duration::from_secs(1))
    }

    /// The number nearest to `reference` that is `n` modulo 2^32.
    fn unwrap(n: u32, reference: i64) -> i64 {
        reference + i64::from(n.wrapping_sub(reference as u32).cast_signed())
    }

    fn receive(&mut self, now: Instant, n: u32, packet: u32) -> Verdict {
        self.latest = now;
        let due = *self.due.get_or_insert(n.into());
        let number = Self::unwrap(n, due);
        if (number != due || !self.stored.is_empty()) && self.is_from_before_restart(now, n) {
            return self.late(packet);
        }
        let ahead = number - due;
        if !(-HORIZON..HORIZON).contains(&ahead) {
            return self.stray(now, number, packet);
        }
        self.strays.clear();
        let verdict = if ahead < 0 {
            if self.has_stalled(now) {
                self.move_to(number, packet)
            } else if self.delivered.contains(&number) {
                self.counters.duplicate += 1;
                Verdict::Duplicate
            } else {
                if !self.drops_late() {
                    self.delivered.insert(number);
                }
                self.late(packet)
            }
        } else if self.window() == 0 || ahead == 0 {
            self.stalled_since = None;
            self.gap |= ahead > 0;
            self.due = Some(number);
            self.next(packet)
        } else if ahead >= self.window() {
            self.stalled_since = None;
            self.counters.overflow += 1;
            self.counters.skipped += self.advance(number + 1 - self.window());
            self.store(now, number, packet, true);
            Verdict::Overflow
        } else if self.stored.contains_key(&number) {
            if self.has_stalled(now) {
                self.move_to(number, packet)
            } else {
                self.counters.duplicate += 1;
                Verdict::Duplicate
            }
        } else {
            self.stalled_since = None;
            if self.store(now, number, packet, false) {
                Verdict::Stored
            } else {
                self.counters.overflow += 1;
                Verdict::Overflow
            }
        };
        self.deliver_following();
        self.expire(now);
        verdict
    }

    fn store(&mut self, now: Instant, number: i64, packet: u32, counted: bool) -> bool {
        if self.due == Some(number) {
            self.deliver(number, packet, false);
        } else if self.room.keep(packet).is_some() {
            self.stored.insert(number, Stored { packet, arrival: now, counted });
        } else {
            self.counters.skipped += self.advance(number);
            self.deliver(number, packet, false);
            self.flush();
            return false;
        }
        true
    }

    fn stray(&mut self, now: Instant, number: i64, packet: u32) -> Verdict {
        if self.has_stalled(now) {
            return self.move_to(number, packet);
        }
        if self.strays.iter().any(|&s| s as u32 == number as u32) {
            self.counters.duplicate += 1;
            return Verdict::Duplicate;
        }
        let drop = self.drops_late();
        self.counters.stray += 1;
        if drop {
            self.counters.dropped += 1;
        } else {
            self.room.deliver(packet, false, true);
        }
        // From the last one backwards, as long as they lie near.
        let near = |s: &i64| {
            let distance = (*s as u32).wrapping_sub(number as u32).cast_signed();
            i64::from(distance).abs() < HORIZON
        };
        let far = self.strays.iter().rposition(|s| !near(s)).map_or(0, |i| i + 1);
        self.strays.drain(..far);
        self.strays.push(number);
        if let [a, b, c] = self.strays[..] {
            self.flush();
            self.reposition(number + 1);
            for s in [a, b, c].map(|s| Self::unwrap(s as u32, number + 1)) {
                if !drop && s <= number {
                    self.delivered.insert(s);
                }
            }
        }
        if drop { Verdict::StrayDropped } else { Verdict::Stray }
    }

    fn late(&mut self, packet: u32) -> Verdict {
        self.counters.late += 1;
        if self.drops_late() {
            self.counters.dropped += 1;
            return Verdict::LateDropped;
        }
        self.room.deliver(packet, false, true);
        Verdict::Late
    }

    /// Delivers the packet due, which did not wait.
    fn next(&mut self, packet: u32) -> Verdict {
        let gap = self.gap;
        self.deliver(self.due.unwrap(), packet, false);
        if gap {
            self.counters.after_gap += 1;
            Verdict::AfterGap
        } else {
            self.counters.in_order += 1;
            Verdict::InOrder
        }
    }

    fn deliver(&mut self, number: i64, packet: u32, kept: bool) {
        assert_eq!(self.due, Some(number));
        self.room.deliver(packet, kept, self.gap);
        self.gap = false;
        self.delivered.insert(number);
        self.due = Some(number + 1);
        // The history reaches back so far.
        self.delivered = self.delivered.split_off(&(number + 1 - HORIZON));
    }

    fn deliver_following(&mut self) {
        while let Some(stored) = self.due.and_then(|due| self.stored.remove(&due)) {
            self.counters.after_gap += u64::from(self.gap && !stored.counted);
            self.counters.in_order += u64::from(!self.gap && !stored.counted);
            self.deliver(self.due.unwrap(), stored.packet, true);
        }
    }

    /// Gives up what is missing before `to` and delivers what is there.
    fn advance(&mut self, to: i64) -> u64 {
        let mut given_up = 0;
        while self.due.is_some_and(|due| due < to) {
            let next = self.stored.keys().next().map_or(to, |&n| n.min(to));
            given_up += next - self.due.unwrap();
            self.gap |= self.due != Some(next);
            self.due = Some(next);
            self.deliver_following();
        }
        self.delivered = self.delivered.split_off(&(self.due.unwrap() - HORIZON));
        given_up as u64
    }

    fn flush(&mut self) {
        if let Some(&last) = self.stored.keys().last() {
            self.counters.skipped += self.advance(last + 1);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(number) = self.oldest().filter(|&(_, at)| now >= at).map(|(n, _)| n) {
            self.counters.expired += self.advance(number);
            self.deliver_following();
        }
    }

    /// The packet that waited longest, and when it has waited enough.
    fn oldest(&self) -> Option<(i64, Instant)> {
        let (&number, stored) = self.stored.iter().min_by_key(|(_, s)| s.arrival)?;
        Some((number, stored.arrival + self.config.max_delay()))
    }

    fn has_stalled(&mut self, now: Instant) -> bool {
        now - *self.stalled_since.get_or_insert(now) >= self.stall_limit()
    }

    fn move_to(&mut self, number: i64, packet: u32) -> Verdict {
        self.flush();
        self.reposition(number);
        self.next(packet)
    }

    fn reposition(&mut self, due: i64) {
        self.counters.moves += 1;
        self.before_restart = None;
        self.set_position(due);
        self.gap = true;
    }

    fn set_position(&mut self, due: i64) {
        self.due = Some(due);
        self.delivered.clear();
        self.stalled_since = None;
        self.strays.clear();
    }

    fn restart(&mut self, now: Instant) {
        self.latest = now;
        self.flush();
        if let Some(due) = self.due {
            self.before_restart = Some((due, now + self.stall_limit()));
        }
        self.set_position(0);
        self.gap = false;
    }

    fn is_from_before_restart(&mut self, now: Instant, n: u32) -> bool {
        let Some((old, until)) = self.before_restart else { return false };
        if now >= until {
            self.before_restart = None;
            return false;
        }
        let window = self.window().max(1);
        let is_new = (0..self.due.unwrap() + window).contains(&Self::unwrap(n, 0));
        !is_new && (-HORIZON..window).contains(&(Self::unwrap(n, old) - old))
    }

    fn set_config(&mut self, config: Config) {
        self.config = config;
        if let Some(&last) = self.stored.keys().last() {
            self.counters.skipped += self.advance(last + 1 - self.window());
        }
        self.expire(self.latest);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A packet so far ahead of the number due.
    Receive(i32),
    /// A packet so far ahead of the last one.
    ReceiveAgain(i32),
    /// Time passes; the owner serves deadlines on the way, or does not.
    Wait(u32, bool),
    Flush,
    Restart,
    Configure(Config),
}

fn config() -> impl Strategy<Value = Config> {
    let window = prop_oneof![
        Just(0),
        Just(1),
        Just(2),
        Just(25),
        Just(64),
        Just(100),
        Just(1000),
        Just(16_384),
        Just(u16::MAX),
        any::<u16>()
    ];
    (window, 0..400u64, any::<bool>()).prop_map(|(window, delay, drop)| Config {
        window: Some(window),
        max_delay: Some(Duration::from_millis(delay)),
        early_release: false,
        late: if drop { Late::Drop } else { Late::Deliver },
        ..Config::default()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => Just(Step::Receive(0)),
        20 => (-3..4).prop_map(Step::Receive),
        20 => (-40..80).prop_map(Step::Receive),
        5 => (-1100..1100).prop_map(Step::Receive),
        3 => (-70_000..70_000).prop_map(Step::Receive),
        2 => prop_oneof![
            Just(65_534), Just(65_535), Just(65_536), Just(-65_536), Just(-65_537), Just(i32::MIN),
            Just(16_383), Just(16_384)
        ].prop_map(Step::Receive),
        1 => any::<i32>().prop_map(Step::Receive),
        10 => (-2..3).prop_map(Step::ReceiveAgain),
        1 => (-66_000..66_000).prop_map(Step::ReceiveAgain),
        15 => (0..2000u32, any::<bool>()).prop_map(|(us, serve)| Step::Wait(us, serve)),
        3 => (0..500_000u32, any::<bool>()).prop_map(|(us, serve)| Step::Wait(us, serve)),
        1 => (0..4_000_000u32, any::<bool>()).prop_map(|(us, serve)| Step::Wait(us, serve)),
        1 => Just(Step::Flush),
        1 => Just(Step::Restart),
        1 => config().prop_map(Step::Configure),
    ]
}

fn check(first: u32, config: Config, capacity: usize, steps: &[Step]) {
    let mut now = origin();
    let mut model = Model::new(config, now, capacity);
    let mut room = Room { capacity, ..Room::default() };
    let mut buffer = ReorderBuffer::new(config);
    let mut last = first;
    let mut received = 0;
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Receive(_) | Step::ReceiveAgain(_) => {
                let number = match *step {
                    Step::Receive(_) if model.due.is_none() => first,
                    Step::Receive(ahead) => buffer.due().wrapping_add_signed(ahead),
                    Step::ReceiveAgain(ahead) => last.wrapping_add_signed(ahead),
                    _ => unreachable!(),
                };
                last = number;
                received += 1;
                let packet = index as u32;
                let expected = model.receive(now, number, packet);
                let verdict = buffer.receive(now, usize::MAX, number, packet, &mut room);
                assert_eq!(verdict, expected, "step {index}, number {number}");
            }
            Step::Wait(us, serve) => {
                let until = now + Duration::from_micros(us.into());
                while serve && buffer.next_timeout().is_some_and(|t| t <= until) {
                    let at = buffer.next_timeout().unwrap().max(now);
                    model.latest = at;
                    model.expire(at);
                    buffer.handle_timeout(at, &mut room);
                }
                now = until;
            }
            Step::Flush => {
                model.flush();
                buffer.flush(&mut room);
            }
            Step::Restart => {
                model.restart(now);
                buffer.restart(now, 0, &mut room);
            }
            Step::Configure(config) => {
                model.set_config(config);
                buffer.set_config(config, &mut room);
            }
        }
        assert_eq!(room.deliveries, model.room.deliveries, "step {index}");
        room.deliveries.clear();
        model.room.deliveries.clear();
        assert_eq!(buffer.due(), model.due.unwrap_or(0) as u32, "step {index}");
        assert_eq!(buffer.occupancy(), model.stored.len(), "step {index}");
        assert_eq!(buffer.next_timeout(), model.oldest().map(|(_, at)| at), "step {index}");
        assert_eq!(*buffer.counters(), model.counters, "step {index}");
        let waiting = model.stored.values().filter(|s| !s.counted).count() as u64;
        assert_eq!(buffer.counters().packets() + waiting, received, "step {index}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn for_arbitrary_arrivals(
        first in prop_oneof![Just(0), any::<u32>(), (u32::MAX - 200)..=u32::MAX],
        config in config(),
        capacity in prop_oneof![3 => Just(usize::MAX), 1 => 0..20usize],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        check(first, config, capacity, &steps);
    }

    /// With evidence there is no plain model, but what must never happen is plain.
    #[test]
    fn with_evidence_nothing_is_lost_and_nothing_waits_too_long(
        first in prop_oneof![Just(0), (u32::MAX - 200)..=u32::MAX],
        weights in prop::collection::vec(1..20u16, 1..5),
        arrivals in prop::collection::vec((0..5usize, -40..80i32, 0..3000u64), 1..400),
    ) {
        let mut now = origin();
        let config = Config { max_delay: Some(Duration::from_millis(50)), ..Config::default() };
        let mut buffer = ReorderBuffer::new(config);
        for (path, &weight) in weights.iter().enumerate() {
            buffer.add_path(now, path, weight);
        }
        let mut room = Room { capacity: usize::MAX, ..Room::default() };
        let mut came: BTreeMap<u32, Instant> = BTreeMap::new();
        for (index, &(path, ahead, us)) in arrivals.iter().enumerate() {
            let until = now + Duration::from_micros(us);
            while let Some(at) = buffer.next_timeout().filter(|&t| t <= until) {
                prop_assert!(at >= now);
                buffer.handle_timeout(at, &mut room);
                prop_assert!(buffer.next_timeout().is_none_or(|t| t > at));
            }
            now = until;
            let base = if index == 0 { first } else { buffer.due() };
            let packet = index as u32;
            let verdict =
                buffer.receive(now, path, base.wrapping_add_signed(ahead), packet, &mut room);
            if verdict != Verdict::Duplicate {
                came.insert(packet, now);
            }
            for (packet, ..) in room.deliveries.drain(..) {
                prop_assert!(came.remove(&packet).is_some(), "{} twice", packet);
            }
            prop_assert_eq!(came.len(), buffer.occupancy());
            prop_assert!(came.values().all(|&at| now < at + config.max_delay()));
        }
        buffer.flush(&mut room);
        prop_assert_eq!(came.len(), room.deliveries.len());
    }
}
