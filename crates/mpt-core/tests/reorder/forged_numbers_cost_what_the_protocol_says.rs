//! The bounds of section 7 of `docs/protocol.md`: what an attacker can take from a stream who knows the number due and forges others.

use std::time::{Duration, Instant};

use mpt_core::reorder::{Config, Late, ReorderBuffer, Sink};

use super::harness::origin;
use super::random::Random;

/// Packets from this one on are forged.
const FORGED: u32 = 1 << 31;
/// The distance within which a number is judged by the window, and beyond which it is a stray.
const HORIZON: u32 = 65_536;
/// A wrong window heals so long after the last forged packet, at the default maximum delay of 300 ms: the maximum delay, for which a forged
/// packet may wait before it moves the window, and then max(1 s, 3 x maximum delay).
const HEALING: Duration = Duration::from_millis(300 + 1000);
/// The stream goes on that long after the attack.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// A stream over two paths, one number after the other in turn.
struct Stream {
    config: Config,
    /// Time between two packets.
    interval: Duration,
    /// One-way delays of the paths.
    delays: [Duration; 2],
    /// How long the attack lasts. It begins after one second.
    attack: Duration,
}

/// The effect of the attack.
#[derive(Debug, Default)]
struct Outcome {
    forged: usize,
    /// Times of arrival of the packets that were never delivered, since the start.
    lost: Vec<Duration>,
    delivered: usize,
    twice: usize,
    /// The last delivery of a packet after one with a higher number.
    last_disorder: Duration,
    /// The longest time for which a delivered packet waited.
    longest_wait: Duration,
    last_forged: Duration,
}

/// Packets with the times of their delivery.
struct Deliveries {
    now: Instant,
    packets: Vec<(Instant, u32)>,
}

impl Sink<u32> for Deliveries {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        Some(packet)
    }

    fn deliver(&mut self, packet: u32, _: bool, _: bool) {
        self.packets.push((self.now, packet));
    }

    fn discard(&mut self, _: u32) {}
}

impl Stream {
    /// The default configuration at so many packets per second.
    fn new(rate: u32, attack: Duration) -> Self {
        let delays = [5, 25].map(Duration::from_millis);
        Self { config: Config::default(), interval: Duration::from_secs(1) / rate, delays, attack }
    }

    /// Runs it. Before each genuine packet the attacker is asked, with the time since the attack began and the number due, for the
    /// numbers to forge.
    fn run(&self, mut attacker: impl FnMut(Duration, u32) -> Vec<u32>) -> Outcome {
        let origin = origin();
        let begin = Duration::from_secs(1);
        let count =
            ((begin + self.attack + AFTERWARDS).as_nanos() / self.interval.as_nanos()) as u32;
        let mut arrivals: Vec<(Duration, u32)> =
            (0..count).map(|n| (self.interval * n + self.delays[n as usize % 2], n)).collect();
        arrivals.sort_unstable();
        let mut buffer = ReorderBuffer::new(self.config);
        for path in 0..2 {
            buffer.add_path(origin, path, 1);
        }
        let mut sink = Deliveries { now: origin, packets: Vec::new() };
        let mut outcome = Outcome::default();
        let run_timers = |buffer: &mut ReorderBuffer<u32>, sink: &mut Deliveries, until| {
            while let Some(due) = buffer.next_timeout().filter(|&due| due <= until) {
                sink.now = due;
                buffer.handle_timeout(due, sink);
            }
        };
        for &(at, number) in &arrivals {
            let now = origin + at;
            run_timers(&mut buffer, &mut sink, now);
            sink.now = now;
            let attacked = at.checked_sub(begin).filter(|&since| since < self.attack);
            for forged in attacked.map_or_else(Vec::new, |since| attacker(since, buffer.due())) {
                let id = FORGED + outcome.forged as u32;
                buffer.receive(now, outcome.forged % 2, forged, id, &mut sink);
                outcome.forged += 1;
                outcome.last_forged = at;
            }
            buffer.receive(now, number as usize % 2, number, number, &mut sink);
        }
        run_timers(&mut buffer, &mut sink, origin + self.interval * count + HEALING);
        outcome.judge(origin, &arrivals, &sink.packets);
        outcome
    }
}

impl Outcome {
    fn judge(&mut self, origin: Instant, arrivals: &[(Duration, u32)], packets: &[(Instant, u32)]) {
        let mut times = vec![0; arrivals.len()];
        let mut arrived = vec![Duration::ZERO; arrivals.len()];
        for &(at, number) in arrivals {
            arrived[number as usize] = at;
        }
        let mut highest = 0;
        for &(at, number) in packets.iter().filter(|&&(_, number)| number < FORGED) {
            let at = at - origin;
            times[number as usize] += 1;
            self.delivered += 1;
            self.longest_wait = self.longest_wait.max(at - arrived[number as usize]);
            if number < highest {
                self.last_disorder = at;
            }
            highest = highest.max(number);
        }
        self.twice = times.iter().filter(|&&times| times > 1).count();
        let lost = arrivals.iter().filter(|&&(_, number)| times[number as usize] == 0);
        self.lost = lost.map(|&(at, _)| at).collect();
    }

    /// Panics unless everything was well again in the time that the protocol says. `unit`: the time between two packets of a path.
    fn assert_healed(&self, unit: Duration) {
        let healed = self.last_forged + HEALING + 2 * unit;
        let last = self.lost.last().copied().unwrap_or_default();
        assert!(last <= healed, "lost at {last:?}, healed at {healed:?}: {self:?}");
        // Packets sent before that on the longer path may still be overtaken.
        let in_order = healed + Duration::from_millis(25);
        assert!(self.last_disorder <= in_order, "{:?} > {in_order:?}", self.last_disorder);
    }
}

/// A number as some attacker would choose it.
fn choose(random: &mut Random, kind: u32, due: u32, anchor: u32) -> u32 {
    let mut draw = |range: u32| (random.uniform() * f64::from(range)) as u32;
    match kind {
        0 => due,
        1 => due.wrapping_add(draw(20)),
        2 => due.wrapping_add(draw(16_384)),
        3 => due.wrapping_add(16_384 + draw(HORIZON - 16_384)),
        4 => due.wrapping_sub(1 + draw(20)),
        5 => due.wrapping_sub(1 + draw(HORIZON)),
        6 => anchor.wrapping_add(draw(100)),
        _ => draw(u32::MAX),
    }
}

#[test]
fn whatever_is_forged_each_packet_takes_the_place_of_one_at_most() {
    let mut most = 0.0_f64;
    for seed in 0..120 {
        let mut random = Random::new(seed + 1);
        let mut stream = Stream::new(1000, Duration::from_secs(4));
        stream.config.window = Some([0, 64, 16_384, 16_384, u16::MAX][seed as usize % 5]);
        stream.config.early_release = seed % 3 > 0;
        let anchor = (random.uniform() * f64::from(u32::MAX)) as u32;
        // A few kinds of numbers, and how often one is forged.
        let kinds: Vec<u32> = (0..3).map(|_| (random.uniform() * 8.0) as u32).collect();
        let rate = [0.003, 0.05, 0.5, 1.0, 3.0][(random.uniform() * 5.0) as usize];
        let mut outcome = stream.run(|_, due| {
            let number = rate as usize + usize::from(random.uniform() < rate % 1.0);
            let kind = kinds[(random.uniform() * 3.0) as usize];
            (0..number).map(|_| choose(&mut random, kind, due, anchor)).collect()
        });
        let what = format!("seed {seed}, kinds {kinds:?}, {rate} per packet");
        assert!(outcome.lost.len() <= outcome.forged, "{what}: {outcome:?}");
        assert_eq!(outcome.twice, 0, "{what}");
        assert!(outcome.longest_wait <= stream.config.max_delay(), "{what}: {outcome:?}");
        if stream.config.window() == 0 {
            // Without a window order is kept by nobody.
            outcome.last_disorder = Duration::ZERO;
        }
        outcome.assert_healed(2 * stream.interval);
        most = most.max(outcome.lost.len() as f64 / outcome.forged.max(1) as f64);
    }
    assert!(most > 0.9, "the attackers tried what is worst: {most}");
}

/// The attacker delivers the next 692 numbers himself, and one more before each second is over, so that the window never counts as wrong.
#[test]
fn seven_hundred_packets_black_out_eighty_seven_per_second_for_eight_seconds() {
    let mut next = Duration::ZERO;
    let stream = Stream::new(87, Duration::from_millis(7300));
    let outcome = stream.run(|since, due| {
        if since < next {
            return Vec::new();
        }
        let first = next.is_zero();
        next += Duration::from_millis(900);
        if first { (due..due + 692).collect() } else { vec![due] }
    });
    assert_eq!(outcome.forged, 700);
    assert!((680..=700).contains(&outcome.lost.len()), "{}", outcome.lost.len());
    let lasted = *outcome.lost.last().unwrap() - outcome.lost[0];
    assert!((7.8..8.4).contains(&lasted.as_secs_f64()), "{lasted:?}");
    outcome.assert_healed(stream.interval * 2);
}

/// Without more packets the window counts as wrong after a second in which nothing was new.
#[test]
fn a_burst_alone_costs_a_second_at_most() {
    let stream = Stream::new(1000, Duration::from_secs(1));
    let outcome = stream.run(|since, due| {
        if since < Duration::from_millis(1) { (due..due + 60_000).collect() } else { Vec::new() }
    });
    assert!(outcome.forged >= 60_000, "{}", outcome.forged);
    assert!((990..=1010).contains(&outcome.lost.len()), "{}", outcome.lost.len());
    outcome.assert_healed(stream.interval * 2);
}

/// With `late = "drop"` the numbers before a forged one need not be forged: one packet a second is enough, for as long as it lasts.
#[test]
fn where_late_packets_are_dropped_one_packet_costs_a_second() {
    for attack in [1, 10] {
        let mut stream = Stream::new(1000, Duration::from_secs(attack));
        stream.config.late = Late::Drop;
        let mut next = Duration::ZERO;
        let outcome = stream.run(|since, due| {
            if since < next {
                return Vec::new();
            }
            let ahead = if next.is_zero() { HORIZON - 1 } else { 0 };
            next += Duration::from_millis(950);
            vec![due.wrapping_add(ahead)]
        });
        let (forged, lost) = (outcome.forged, outcome.lost.len());
        assert!(forged <= attack as usize + 1, "{forged}");
        let expected = 950 * (forged - 1) + 1000;
        assert!(lost.abs_diff(expected) <= 50, "{lost} of {forged} forged, {expected} expected");
        outcome.assert_healed(stream.interval * 2);
    }
}

/// Numbers far from one another, or of the past, take nothing.
#[test]
fn single_numbers_out_of_reach_cost_nothing() {
    let stream = Stream::new(1000, Duration::from_secs(4));
    let mut forged = 0_u32;
    let outcome = stream.run(|_, due| {
        forged += 1;
        vec![due.wrapping_add((forged % 8 + 2) * (HORIZON * 3))]
    });
    assert!(outcome.forged > 3000);
    assert_eq!((outcome.lost.len(), outcome.last_disorder), (0, Duration::ZERO), "{outcome:?}");
}
