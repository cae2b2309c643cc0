//! A sender with a weighted schedule, links with delay, jitter and loss, and a receive window: an
//! event simulation, deterministic for a given seed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use mpt_core::reorder::{Config, Counters, Late, ReorderBuffer, Sink, Verdict};

use crate::random::Random;

pub(crate) const MS: u64 = 1_000_000;

/// An instant to count from. Any will do, it never reaches a result.
#[expect(clippy::disallowed_methods, reason = "there is no other way to make an Instant")]
pub(crate) fn origin() -> Instant {
    Instant::now()
}

/// One direction of a path.
#[derive(Clone)]
pub(crate) struct Link {
    /// One way, milliseconds.
    delay: f64,
    /// Standard deviation of the delay; with jitter the link is not first-in-first-out.
    jitter: f64,
    loss: f64,
    dead: bool,
    last_arrival: u64,
}

pub(crate) fn link(delay_ms: f64) -> Link {
    Link { delay: delay_ms, jitter: 0.0, loss: 0.0, dead: false, last_arrival: 0 }
}

impl Link {
    pub(crate) fn loss(mut self, probability: f64) -> Self {
        self.loss = probability;
        self
    }

    pub(crate) fn jitter(mut self, deviation_ms: f64) -> Self {
        self.jitter = deviation_ms;
        self
    }

    /// When a packet sent now arrives.
    fn send(&mut self, now: u64, random: &mut Random) -> Option<u64> {
        let lost = random.uniform() < self.loss;
        let delay =
            self.delay + if self.jitter > 0.0 { self.jitter * random.normal() } else { 0.0 };
        let mut arrival = now + (delay.max(0.0) * MS as f64) as u64;
        if self.jitter == 0.0 {
            arrival = arrival.max(self.last_arrival);
        }
        if lost || self.dead {
            return None;
        }
        self.last_arrival = arrival;
        Some(arrival)
    }
}

/// An event at some time of a scenario.
#[derive(Clone)]
pub(crate) enum Event {
    /// The sender's weights change (0: the path is not used), announced to the receiver or not. The
    /// announcement takes the time of the fastest path.
    Weights {
        weights: Vec<u16>,
        announced: bool,
    },
    /// The receiver's path state.
    Down(usize),
    Up(usize),
    /// A change of the link.
    Dead(usize, bool),
    Delay(usize, f64),
    /// The sender pauses or goes on.
    Pause(bool),
    /// A number is forged, so far ahead of the number due, on a path.
    Forge {
        path: usize,
        ahead: u32,
    },
    /// The sender begins anew with 0; by a control session the receiver knows.
    Restart {
        session: bool,
    },
}

/// A scenario: by default 8,333 packets/s for 5 s, weights all 1, the default configuration.
#[derive(Clone)]
pub(crate) struct Scenario {
    links: Vec<Link>,
    weights: Vec<u16>,
    rate: u64,
    duration: u64,
    config: Config,
    duplicate: bool,
    events: Vec<(u64, Event)>,
    seed: u64,
    start: u32,
    announcement_delay: u64,
    expect_restarts: bool,
}

pub(crate) fn scenario(links: &[Link]) -> Scenario {
    Scenario {
        links: links.to_vec(),
        weights: vec![1; links.len()],
        rate: 8333,
        duration: 5000 * MS,
        config: Config::default(),
        duplicate: false,
        events: Vec::new(),
        seed: 1,
        start: 0,
        announcement_delay: 0,
        expect_restarts: false,
    }
}

impl Scenario {
    /// The sender may begin anew without saying so.
    pub(crate) fn expecting_restarts(mut self) -> Self {
        self.expect_restarts = true;
        self
    }

    pub(crate) fn weights(mut self, weights: &[u16]) -> Self {
        self.weights = weights.to_vec();
        self
    }

    pub(crate) fn rate(mut self, packets_per_second: u64) -> Self {
        self.rate = packets_per_second;
        self
    }

    pub(crate) fn seconds(mut self, seconds: u64) -> Self {
        self.duration = seconds * 1000 * MS;
        self
    }

    pub(crate) fn window(mut self, window: u16) -> Self {
        self.config.window = Some(window);
        self
    }

    /// The papers' rule.
    pub(crate) fn plain(mut self) -> Self {
        self.config.early_release = false;
        self
    }

    pub(crate) fn strict(mut self) -> Self {
        self.config.late = Late::Drop;
        self
    }

    /// Every number on every path.
    pub(crate) fn duplicate(mut self) -> Self {
        self.duplicate = true;
        self
    }

    pub(crate) fn at(mut self, ms: u64, event: Event) -> Self {
        self.events.push((ms * MS, event));
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Announcements take so much longer than the fastest path.
    pub(crate) fn announcing_after(mut self, ms: u64) -> Self {
        self.announcement_delay = ms * MS;
        self
    }

    /// The sender's first number.
    pub(crate) fn start(mut self, number: u32) -> Self {
        self.start = number;
        self
    }

    pub(crate) fn is_random(&self) -> bool {
        self.links.iter().any(|l| l.loss > 0.0 || l.jitter > 0.0)
    }

    /// A multiple of all weights.
    fn virtual_unit(&self) -> u128 {
        let later = self.events.iter().filter_map(|(_, event)| match event {
            Event::Weights { weights, .. } => Some(weights),
            _ => None,
        });
        let mut weights: Vec<u16> = later.chain([&self.weights]).flatten().copied().collect();
        weights.sort_unstable();
        weights.dedup();
        weights.iter().filter(|&&w| w > 0).map(|&w| u128::from(w)).product()
    }

    pub(crate) fn run(&self) -> Figures {
        Simulation::new(self).run()
    }
}

/// The results of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) sent: u64,
    /// Genuine packets that came (of copies, at least one).
    pub(crate) arrived: u64,
    pub(crate) delivered: u64,
    /// Arrived but never delivered; delivered more than once.
    pub(crate) undelivered: u64,
    pub(crate) twice: u64,
    pub(crate) late: u64,
    /// Delivered after a packet that was sent later.
    pub(crate) out_of_order: u64,
    /// Milliseconds in the buffer, of all delivered packets.
    pub(crate) wait_p99: f64,
    pub(crate) wait_max: f64,
    /// The longest time, in milliseconds, in which packets came and none was delivered.
    pub(crate) stall: f64,
    /// When the last packet was delivered out of order, milliseconds after the start.
    pub(crate) last_disorder: f64,
    pub(crate) counters: Counters,
    /// Packets handed to the buffer, forged ones and copies included.
    pub(crate) received: u64,
}

/// A packet's handle: which logical packet it is, when it came.
#[derive(Clone, Copy, Debug)]
struct Tag {
    id: Option<u32>,
    arrival: u64,
}

#[derive(Default)]
struct Output {
    now: u64,
    deliveries: Vec<u8>,
    highest: Option<u32>,
    out_of_order: u64,
    last_disorder: u64,
    waits: Vec<u64>,
    kept: i64,
    delivered: bool,
}

impl Sink<Tag> for Output {
    fn keep(&mut self, packet: Tag) -> Option<Tag> {
        self.kept += 1;
        Some(packet)
    }

    fn deliver(&mut self, packet: Tag, kept: bool, _: bool) {
        self.kept -= i64::from(kept);
        self.delivered = true;
        self.waits.push(self.now - packet.arrival);
        assert!(kept || self.now == packet.arrival, "waited without being kept");
        let Some(id) = packet.id else { return };
        self.deliveries[id as usize] += 1;
        if self.highest.is_some_and(|h| id < h) {
            self.out_of_order += 1;
            self.last_disorder = self.now;
        }
        self.highest = Some(self.highest.map_or(id, |h| h.max(id)));
    }

    fn discard(&mut self, _: Tag) {
        panic!("nothing is torn down here");
    }
}

/// A sink that keeps what it is told to, up to a limit, and remembers what it got.
#[derive(Default)]
pub(crate) struct Collector {
    limit: Option<usize>,
    kept: usize,
    pub(crate) delivered: Vec<u32>,
    /// Those of them that came after a gap.
    pub(crate) gaps: Vec<u32>,
    pub(crate) discarded: Vec<u32>,
}

impl Collector {
    pub(crate) fn limited(packets: usize) -> Self {
        Self { limit: Some(packets), ..Self::default() }
    }
}

impl Sink<u32> for Collector {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        if self.limit == Some(self.kept) {
            return None;
        }
        self.kept += 1;
        Some(packet)
    }

    fn deliver(&mut self, packet: u32, kept: bool, after_gap: bool) {
        self.kept -= usize::from(kept);
        self.delivered.push(packet);
        if after_gap {
            self.gaps.push(packet);
        }
    }

    fn discard(&mut self, packet: u32) {
        self.kept -= 1;
        self.discarded.push(packet);
    }
}

enum Happening {
    Send,
    Arrive { path: usize, number: u32, id: u32 },
    Announce { first: u32, path: usize, weight: u16 },
    Event(Event),
}

struct Simulation {
    origin: Instant,
    random: Random,
    links: Vec<Link>,
    weights: Vec<u16>,
    /// For each path when it is next, in the virtual time of the schedule (Algorithm 1), of which a
    /// unit is divisible by all weights: the schedule is exact.
    turns: Vec<u128>,
    virtual_time: u128,
    unit: u128,
    interval: u64,
    duration: u64,
    announcement_delay: u64,
    duplicate: bool,
    paused: bool,
    next_number: u32,
    buffer: ReorderBuffer<Tag>,
    output: Output,
    arrived: Vec<bool>,
    received: u64,
    /// The first arrival since the last delivery.
    stalled_since: Option<u64>,
    stall: u64,
    happenings: BinaryHeap<Reverse<(u64, u64, usize)>>,
    slots: Vec<Option<Happening>>,
    free: VecDeque<usize>,
    order: u64,
}

impl Simulation {
    fn new(scenario: &Scenario) -> Self {
        let origin = origin();
        let mut buffer = ReorderBuffer::new(scenario.config);
        buffer.expect_restarts(scenario.expect_restarts);
        for (path, &weight) in scenario.weights.iter().enumerate() {
            buffer.add_path(origin, path, weight);
            if weight == 0 {
                buffer.path_down(origin, path);
            }
        }
        let unit = scenario.virtual_unit();
        let mut simulation = Self {
            origin,
            random: Random::new(scenario.seed),
            links: scenario.links.clone(),
            turns: scenario.weights.iter().map(|&w| unit / u128::from(w.max(1))).collect(),
            weights: scenario.weights.clone(),
            virtual_time: 0,
            unit,
            interval: 1_000_000_000 / scenario.rate,
            duration: scenario.duration,
            announcement_delay: scenario.announcement_delay,
            duplicate: scenario.duplicate,
            paused: false,
            next_number: scenario.start,
            buffer,
            output: Output::default(),
            arrived: Vec::new(),
            received: 0,
            stalled_since: None,
            stall: 0,
            happenings: BinaryHeap::new(),
            slots: Vec::new(),
            free: VecDeque::new(),
            order: 0,
        };
        // The connection knows where it begins: a packet without a path, the one before the first.
        let tag = Tag { id: None, arrival: 0 };
        simulation.receive(0, usize::MAX, scenario.start.wrapping_sub(1), tag);
        for (at, event) in &scenario.events {
            simulation.schedule(*at, Happening::Event(event.clone()));
        }
        simulation.schedule(0, Happening::Send);
        simulation
    }

    fn schedule(&mut self, at: u64, happening: Happening) {
        let slot = self.free.pop_front().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(happening);
        self.order += 1;
        self.happenings.push(Reverse((at, self.order, slot)));
    }

    fn run(mut self) -> Figures {
        while let Some(Reverse((now, _, slot))) = self.happenings.pop() {
            self.run_timers(now);
            self.free.push_back(slot);
            match self.slots[slot].take().expect("scheduled") {
                Happening::Send => self.send(now),
                Happening::Arrive { path, number, id } => {
                    self.arrived[id as usize] = true;
                    self.receive(now, path, number, Tag { id: Some(id), arrival: now });
                }
                Happening::Announce { first, path, weight } => {
                    self.buffer.announce(self.instant(now), first, path, weight);
                }
                Happening::Event(event) => self.handle(now, event),
            }
        }
        self.run_timers(u64::MAX);
        self.figures()
    }

    fn instant(&self, now: u64) -> Instant {
        self.origin + Duration::from_nanos(now)
    }

    fn run_timers(&mut self, now: u64) {
        while let Some(timeout) = self.buffer.next_timeout() {
            let at = (timeout - self.origin).as_nanos() as u64;
            if at > now {
                return;
            }
            assert!(at >= self.output.now, "a deadline in the past");
            self.output.now = at;
            self.buffer.handle_timeout(timeout, &mut self.output);
            assert!(
                self.buffer.next_timeout().is_none_or(|next| next > timeout),
                "a timeout that settles nothing"
            );
            self.note_delivery(at);
        }
    }

    fn send(&mut self, now: u64) {
        if now + self.interval < self.duration {
            self.schedule(now + self.interval, Happening::Send);
        }
        if self.paused {
            return;
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let id = self.arrived.len() as u32;
        self.arrived.push(false);
        self.output.deliveries.push(0);
        let paths = if self.duplicate {
            0..self.links.len()
        } else {
            self.turn().map_or(0..0, |p| p..p + 1)
        };
        for path in paths {
            if let Some(at) = self.links[path].send(now, &mut self.random) {
                self.schedule(at, Happening::Arrive { path, number, id });
            }
        }
    }

    /// The path whose turn it is: the one whose next share of the virtual time ends first.
    fn turn(&mut self) -> Option<usize> {
        let path = (0..self.weights.len())
            .filter(|&p| self.weights[p] > 0)
            .min_by_key(|&p| self.turns[p])?;
        self.virtual_time = self.turns[path];
        self.turns[path] += self.unit / u128::from(self.weights[path]);
        Some(path)
    }

    fn receive(&mut self, now: u64, path: usize, number: u32, tag: Tag) -> Verdict {
        self.received += 1;
        self.output.now = now;
        let verdict = self.buffer.receive(self.instant(now), path, number, tag, &mut self.output);
        self.stalled_since.get_or_insert(now);
        self.note_delivery(now);
        assert_eq!(self.output.kept, self.buffer.occupancy() as i64);
        verdict
    }

    fn note_delivery(&mut self, now: u64) {
        if std::mem::take(&mut self.output.delivered)
            && let Some(since) = self.stalled_since.take()
        {
            self.stall = self.stall.max(now - since);
        }
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::Weights { weights, announced } => self.reweigh(now, &weights, announced),
            Event::Down(path) => self.buffer.path_down(self.instant(now), path),
            Event::Up(path) => self.buffer.path_up(self.instant(now), path),
            Event::Dead(path, dead) => self.links[path].dead = dead,
            Event::Delay(path, delay) => self.links[path].delay = delay,
            Event::Pause(paused) => self.paused = paused,
            Event::Forge { path, ahead } => {
                let number = self.buffer.due().wrapping_add(ahead);
                self.receive(now, path, number, Tag { id: None, arrival: now });
            }
            Event::Restart { session } => {
                self.next_number = 0;
                if session {
                    self.output.now = now;
                    let at = self.instant(now);
                    self.buffer.restart(at, 0, &mut self.output);
                    self.note_delivery(now);
                }
            }
        }
        self.run_timers(now);
    }

    fn reweigh(&mut self, now: u64, weights: &[u16], announced: bool) {
        let fastest = self.links.iter().map(|l| l.delay).fold(f64::INFINITY, f64::min);
        for (path, &weight) in weights.iter().enumerate() {
            if weight == self.weights[path] {
                continue;
            }
            self.weights[path] = weight;
            self.turns[path] = self.virtual_time + self.unit / u128::from(weight.max(1));
            if announced {
                let first = self.next_number;
                let at = now + (fastest * MS as f64) as u64 + self.announcement_delay;
                self.schedule(at, Happening::Announce { first, path, weight });
            }
        }
    }

    fn figures(self) -> Figures {
        let Self { output, arrived, .. } = self;
        assert_eq!(self.buffer.occupancy(), 0, "something waits for ever");
        let counters = *self.buffer.counters();
        assert_eq!(counters.packets(), self.received, "each packet in exactly one counter");
        assert_eq!(counters.delivered(), output.waits.len() as u64);
        let mut waits = output.waits;
        waits.sort_unstable();
        let ms = |nanos: u64| nanos as f64 / MS as f64;
        let p99 = waits[(waits.len() * 99).div_ceil(100) - 1];
        let histogram = self.buffer.delays();
        assert_eq!(histogram.count(), waits.len() as u64);
        let estimate = histogram.quantile(0.99).as_nanos() as u64;
        assert!(
            estimate >= p99 && estimate <= p99 + p99 / 4 + 1024,
            "histogram {estimate} ns, exactly {p99} ns"
        );
        let pairs = || arrived.iter().zip(&output.deliveries);
        Figures {
            sent: arrived.len() as u64,
            arrived: arrived.iter().filter(|&&a| a).count() as u64,
            delivered: waits.len() as u64,
            undelivered: pairs().filter(|&(&a, &d)| a && d == 0).count() as u64,
            twice: output.deliveries.iter().filter(|&&d| d > 1).count() as u64,
            late: counters.late,
            out_of_order: output.out_of_order,
            wait_p99: ms(p99),
            wait_max: ms(*waits.last().expect("something was delivered")),
            stall: ms(self.stall),
            last_disorder: ms(output.last_disorder),
            counters,
            received: self.received,
        }
    }
}
