use super::capacity::Capacity;
use super::report::{Pause, Present, Report};
use super::state::Model;
use crate::RateBounds;
use crate::sequence::Sequence;

/// Size of a packet, in bytes.
const SIZE: u64 = 1_500;
/// Rate of the link: 100 Mbit/s, in bytes per microsecond.
const LINK: f64 = 12.5;
/// One-way delay without a queue, in microseconds.
const DELAY: i64 = 20_000;
/// Time between two reports, in microseconds.
const INTERVAL: i64 = 20_000;
/// Time at which the burst begins, in microseconds.
const BURST: i64 = 500_000;

/// A flow in slow start sends a burst faster than the link after a pause, in which one packet left each 10 ms. The
/// rate after the first cut is what the link carries, not the mean of the burst and the pause before it.
#[test]
fn the_first_cut_does_not_count_the_pause_before_a_burst() {
    let mut model = Model::new();
    model.set_rtt(2.0 * DELAY as f64);
    let (mut now, mut free) = (0_i64, 0.0_f64);
    let (mut sent, mut arrived) = (Vec::new(), 0);
    let mut next_report = INTERVAL;
    while now < BURST + 200_000 {
        // 120 Mbit/s in the burst.
        let begins = free.max(now as f64);
        free = begins + SIZE as f64 / LINK;
        sent.push((now, free as i64 + DELAY));
        now += if now < BURST { 10_000 } else { 100 };
        while next_report <= now {
            let before = arrived;
            while sent.get(arrived).is_some_and(|&(_, at)| at <= next_report) {
                let (left, at) = sent[arrived];
                model.record_delay(Sequence(arrived as u32), left, at - left);
                arrived += 1;
            }
            if arrived > before {
                let report = Report {
                    at: next_report,
                    bytes: arrived as u64 * SIZE,
                    sent_at: sent[arrived - 1].0,
                    sent_bytes: arrived as u64 * SIZE,
                    settled: None,
                    marked: 0,
                };
                let present = Present {
                    now: next_report,
                    sent_bytes: sent.len() as u64 * SIZE,
                    sent_packets: sent.len() as u32,
                    backlogged: false,
                };
                if model.handle_report(&report, &present).is_some() {
                    let rate = model.rate();
                    assert!((0.9 * LINK..=LINK).contains(&rate), "{rate} bytes per microsecond");
                    return;
                }
            }
            next_report += INTERVAL;
        }
    }
    panic!("the queue of the burst was not noticed");
}

/// A link with a sender of ours that always has something to send, and with others on it.
struct Bench {
    model: Model,
    now: i64,
    /// Time at which the link will have sent the packets in its queue.
    free: f64,
    /// The times at which each of our packets leaves and arrives.
    sent: Vec<(i64, i64)>,
    arrived: usize,
    next_send: f64,
    next_report: i64,
    /// One of so many packets is lost.
    loses: Option<usize>,
    lost: usize,
    /// The standard deviation of the delay, which is another one every 100 ms, in microseconds.
    wanders: f64,
    /// The standard deviation of the delay of each packet, in microseconds.
    jitters: f64,
    /// The most that is sent, in bytes per microsecond.
    gives: f64,
}

/// Deviations of a normal distribution, in an order without a trend.
const WANDER: [f64; 12] = [0.2, -1.0, 0.8, 1.5, -0.5, -1.6, 0.5, 1.0, -0.2, -0.8, 1.8, -1.4];

impl Bench {
    fn new() -> Self {
        let mut model = Model::new();
        model.set_rtt(2.0 * DELAY as f64);
        let (next_send, next_report) = (0.0, INTERVAL);
        let (sent, loses) = (Vec::new(), None);
        let (now, free, arrived, lost) = (0, 0.0, 0, 0);
        let (wanders, jitters, gives) = (0.0, 0.0, f64::INFINITY);
        Self {
            model,
            now,
            free,
            sent,
            arrived,
            next_send,
            next_report,
            loses,
            lost,
            wanders,
            jitters,
            gives,
        }
    }

    /// A bench whose delay has this standard deviation, which probes have shown before there is data.
    fn wandering(sigma: f64) -> Self {
        let mut bench = Self { wanders: sigma, ..Self::new() };
        bench.model.set_jitter(sigma);
        bench
    }

    /// A bench where the delay of each packet is another one, which probes have shown before there is data. The packets
    /// count as arrived in their order.
    fn jittering(sigma: f64) -> Self {
        let mut bench = Self { jitters: sigma, ..Self::new() };
        bench.model.set_jitter(sigma);
        bench
    }

    /// Sends so many packets as fast as the path is given them, and then nothing. Gives the time that it took, in
    /// microseconds.
    fn burst(&mut self, packets: usize, link: f64) -> f64 {
        let (begins, all) = (self.now, self.sent.len() + packets);
        self.next_send = begins as f64;
        while self.sent.len() < all {
            self.run(20, link, 0.0);
        }
        self.next_send = f64::INFINITY;
        (self.now - begins) as f64
    }

    /// Runs for a time in microseconds over a link of this rate, to which others give what keeps this much of a
    /// queue, in microseconds. Gives the mean rate of ours, in bytes per microsecond.
    fn run(&mut self, time: i64, link: f64, others: f64) -> f64 {
        let (end, before) = (self.now + time, self.arrived);
        while self.now < end {
            self.free = self.free.max(self.now as f64).max(self.now as f64 + others);
            if self.next_send <= self.now as f64 {
                self.free += SIZE as f64 / link;
                let wander = self.wanders * WANDER[(self.now / 100_000) as usize % WANDER.len()];
                let jitter = self.jitters * WANDER[self.sent.len() % WANDER.len()];
                let arrives = self.free as i64 + DELAY + (wander + jitter) as i64;
                // Packets that jitter overtake one another.
                let last =
                    if jitter == 0.0 { self.sent.last().map_or(0, |&(_, at)| at) } else { 0 };
                self.sent.push((self.now, arrives.max(last)));
                self.next_send = self.next_send.max(self.now as f64 - 1_000.0)
                    + SIZE as f64 / self.model.rate().min(self.gives);
            }
            if self.now >= self.next_report {
                // The peer reports twice as often where delays jitter.
                self.next_report += if self.jitters == 0.0 { INTERVAL } else { INTERVAL / 2 };
                self.report();
            }
            self.now += 20;
        }
        ((self.arrived - before) as u64 * SIZE) as f64 / time as f64
    }

    fn report(&mut self) {
        let before = self.arrived;
        while self.sent.get(self.arrived).is_some_and(|&(_, at)| at <= self.now) {
            let (left, at) = self.sent[self.arrived];
            self.arrived += 1;
            if self.loses.is_some_and(|every| self.arrived.is_multiple_of(every)) {
                self.lost += 1;
            } else {
                self.model.record_delay(Sequence(self.arrived as u32), left, at - left);
            }
        }
        if self.arrived == before {
            return;
        }
        let report = Report {
            at: self.now,
            bytes: (self.arrived - self.lost) as u64 * SIZE,
            sent_at: self.sent[self.arrived - 1].0,
            sent_bytes: self.arrived as u64 * SIZE,
            settled: Some((self.arrived as u32, (self.arrived - self.lost) as u32)),
            marked: 0,
        };
        let present = Present {
            now: self.now,
            sent_bytes: self.sent.len() as u64 * SIZE,
            sent_packets: self.sent.len() as u32,
            backlogged: true,
        };
        match self.model.handle_report(&report, &present) {
            Some(Pause::Until(time)) => self.next_send = self.next_send.max(time as f64),
            Some(Pause::Ends) => self.next_send = self.now as f64,
            None => {}
        }
    }
}

/// The link carries a third from one moment to the next, and all of its queue is ours: the rate is found at once.
#[test]
fn a_link_that_carries_less_is_given_less() {
    let mut bench = Bench::new();
    let full = bench.run(2_000_000, LINK, 0.0);
    assert!(full > 0.85 * LINK, "{full}");
    bench.run(600_000, LINK / 3.0, 0.0);
    let rate = bench.run(2_000_000, LINK / 3.0, 0.0);
    assert!(rate > 0.9 * LINK / 3.0, "{rate}");
    let queue = bench.free - bench.now as f64;
    assert!(queue < 20_000.0, "{queue} microseconds of queue");
}

/// The link stands still for 0.3 s, as in a handover, and then carries as much as before.
#[test]
fn a_link_that_stood_still_is_given_as_much_as_before() {
    let mut bench = Bench::new();
    bench.run(2_000_000, LINK, 0.0);
    bench.free = bench.now as f64 + 300_000.0;
    let rates = (0..100).map(|_| {
        bench.run(10_000, LINK, 0.0);
        bench.model.rate()
    });
    let least = rates.fold(f64::INFINITY, f64::min);
    assert!(least > 0.9 * LINK, "{least} bytes per microsecond");
}

/// Others keep a queue of 60 ms, whatever we send: whoever yields to that starves.
#[test]
fn a_queue_of_others_is_not_yielded_to() {
    let mut bench = Bench::new();
    bench.run(2_000_000, LINK, 0.0);
    // Their part of the link is not computed here: they only fill the queue.
    bench.run(1_000_000, LINK, 60_000.0);
    bench.run(3_000_000, LINK, 60_000.0);
    let rate = bench.model.rate();
    assert!(rate > 0.3 * LINK, "{rate} bytes per microsecond");
    // They are gone, and the queue is short again.
    bench.run(12_000_000, LINK, 0.0);
    let rate = bench.run(2_000_000, LINK, 0.0);
    assert!(rate > 0.85 * LINK, "{rate}");
    let queue = bench.free - bench.now as f64;
    assert!(queue < 20_000.0, "{queue} microseconds of queue");
}

/// Nothing that reports say takes a path out of the bounds of its owner, before and after a bottleneck was seen.
#[test]
fn the_rate_stays_within_its_bounds() {
    let megabits = |rate: u64| Some(rate * 1_000_000);
    let mut bench = Bench::new();
    bench.model.set_bounds(RateBounds::new(megabits(50), megabits(80)).expect("good bounds"));
    // 100 Mbit/s are more than it may have, ...
    let full = bench.run(2_000_000, LINK, 0.0);
    assert!((0.95 * 10.0..=10.1).contains(&full), "{full} bytes per microsecond");
    // ... and 33 less than it is to have: what is given too much waits here, instead of being dropped.
    let before = bench.sent.len();
    bench.run(3_000_000, LINK / 3.0, 0.0);
    let given = ((bench.sent.len() - before) as u64 * SIZE) as f64 / 3e6;
    assert!(given >= 0.97 * 6.25, "{given} bytes per microsecond");
    // Without bounds it is what the link carries again.
    bench.model.set_bounds(RateBounds::NONE);
    bench.run(6_000_000, LINK, 0.0);
    let rate = bench.run(2_000_000, LINK, 0.0);
    assert!(rate > 0.85 * LINK, "{rate}");
}

/// The path begins to lose a third of its packets, as one whose queue overflows: its rate is cut, but not below its bound.
#[test]
fn loss_cuts_no_rate_below_its_bound() {
    let rates = |bounds| {
        let mut bench = Bench::new();
        bench.model.set_bounds(bounds);
        bench.run(2_000_000, LINK, 0.0);
        bench.loses = Some(3);
        let least = (0..30).map(|_| {
            let before = bench.sent.len();
            bench.run(100_000, LINK, 0.0);
            ((bench.sent.len() - before) as u64 * SIZE) as f64 / 1e5
        });
        least.fold(f64::INFINITY, f64::min)
    };
    let free = rates(RateBounds::NONE);
    assert!(free < 0.7 * LINK, "{free} bytes per microsecond");
    let bounded = rates(RateBounds::new(Some(80_000_000), None).expect("a good bound"));
    assert!(bounded >= 0.97 * 10.0, "{bounded} bytes per microsecond");
}

/// A delay that wanders is no queue, at any share of the tolerated queue. So a path that is given a part of what it
/// carries is not taken for a full one.
#[test]
fn a_delay_that_wanders_fills_no_path() {
    let mut bench = Bench::wandering(6_000.0);
    bench.run(10_000_000, LINK, 0.0);
    assert!(bench.model.is_bottleneck() && bench.model.wanders());
    bench.gives = 0.7 * LINK;
    bench.run(8_000_000, LINK, 0.0);
    let rate = bench.model.rate();
    assert!(rate > 0.9 * LINK, "{rate} bytes per microsecond");
}

/// The rate does not leap where delays wander, since a queue shows late there. It grows to 1.2 times the best rate measured,
/// which itself is too high by a little where packets come sooner and sooner.
#[test]
fn a_rate_does_not_leap_where_delays_wander() {
    let mut bench = Bench::wandering(6_000.0);
    bench.run(10_000_000, LINK, 0.0);
    assert!(bench.model.is_bottleneck() && bench.model.wanders());
    bench.gives = 0.8 * LINK;
    bench.run(8_000_000, LINK, 0.0);
    let rate = bench.model.rate();
    assert!(rate < 1.4 * LINK, "{rate} bytes per microsecond");
}

/// What a leap gives a path too much waits there until a report shows it, which takes a round-trip time.
#[test]
fn a_rate_leaps_less_on_a_path_that_is_long() {
    let most = |rtt: f64| {
        let mut bench = Bench::new();
        bench.model.set_rtt(rtt);
        bench.run(5_000_000, LINK, 0.0);
        assert!(bench.model.is_bottleneck());
        let rates = (0..500).map(|_| {
            bench.run(20_000, LINK, 0.0);
            bench.model.rate()
        });
        rates.fold(0.0, f64::max)
    };
    let (short, long) = (most(2.0 * DELAY as f64), most(300_000.0));
    assert!(short > 1.3 * LINK, "{short} bytes per microsecond");
    assert!(long < 1.25 * LINK, "{long} bytes per microsecond");
}

/// Delays wander further than the probes before the data have shown, while a flow gives the path a tenth of what it
/// carries. The path loses none of its rate by that, since so little makes no queue.
#[test]
fn a_path_that_is_given_little_has_no_queue_of_ours() {
    let mut bench = Bench::wandering(6_000.0);
    bench.run(5_000_000, LINK, 0.0);
    (bench.wanders, bench.gives) = (10_000.0, 0.1 * LINK);
    bench.run(10_000_000, LINK, 0.0);
    let rate = bench.model.rate();
    assert!(rate > 0.9 * LINK, "{rate} bytes per microsecond");
}

/// Beside others whose queue never overflows, a path that a flow does not fill is not credited with ever more.
#[test]
fn a_rate_beside_others_stays_near_what_is_delivered() {
    let mut bench = Bench::new();
    bench.run(2_000_000, LINK, 0.0);
    bench.run(1_000_000, LINK, 60_000.0);
    bench.gives = 0.3 * LINK;
    bench.run(6_000_000, LINK, 30_000.0);
    assert!(bench.model.is_shared());
    let rate = bench.model.rate();
    assert!(rate <= 1.2 * LINK, "{rate} bytes per microsecond");
}

/// Reports come every 20 ms at most. So a path that carries little gets no more than 32 packets before the first one,
/// however short it is.
#[test]
fn a_short_path_begins_with_as_many_packets_as_any() {
    for rtt in [100.0, 2_000.0, 20_000.0] {
        let mut model = Model::new();
        model.set_rtt(rtt);
        let before_a_report = 20_000.0 * model.rate();
        assert!(before_a_report <= 1.001 * 32.0 * SIZE as f64, "{before_a_report} bytes at {rtt}");
    }
}

/// A flow in slow start that is held for long sends bursts that double, each 400 ms after the one before. None of them
/// leaves much later than the path alone would carry it.
#[test]
fn the_bursts_of_slow_start_wait_no_longer_as_they_double_where_delays_jitter() {
    let mut bench = Bench::jittering(8_000.0);
    let waits = [20, 40, 80, 160, 320].map(|packets| {
        let begins = bench.now;
        let took = bench.burst(packets, 0.4 * LINK);
        bench.run(begins + 400_000 - bench.now, 0.4 * LINK, 0.0);
        (took - (packets as u64 * SIZE) as f64 / (0.4 * LINK)) / 1_000.0
    });
    assert!(waits.iter().all(|&wait| wait < 50.0), "{waits:?} ms");
}

/// Returns a bench whose trains have shown this capacity, in bytes per microsecond, and at most that one.
fn foretold(usual: f64, most: f64) -> Bench {
    let mut bench = Bench::new();
    bench.model.foretell(Capacity { usual, most, bound: most });
    bench
}

#[test]
fn a_path_begins_with_what_trains_have_shown() {
    let mut bench = foretold(LINK, 1.05 * LINK);
    let first = bench.model.rate();
    assert!((0.9 * LINK..LINK).contains(&first), "{first} bytes per microsecond");
    let rate = bench.run(1_000_000, LINK, 0.0);
    assert!(rate > 0.85 * LINK, "{rate} bytes per microsecond");
    let queue = bench.free - bench.now as f64;
    assert!(queue < 20_000.0, "{queue} microseconds of queue");
}

#[test]
fn trains_that_have_shown_too_little_are_outgrown() {
    let mut bench = foretold(LINK / 4.0, LINK / 3.8);
    bench.run(3_000_000, LINK, 0.0);
    let rate = bench.run(2_000_000, LINK, 0.0);
    assert!(rate > 0.85 * LINK, "{rate} bytes per microsecond");
}

#[test]
fn trains_that_have_shown_too_much_harm_for_a_moment() {
    let mut bench = foretold(3.0 * LINK, 3.1 * LINK);
    bench.run(1_000_000, LINK, 0.0);
    let rate = bench.run(2_000_000, LINK, 0.0);
    assert!(rate > 0.85 * LINK, "{rate} bytes per microsecond");
    let queue = bench.free - bench.now as f64;
    assert!(queue < 20_000.0, "{queue} microseconds of queue");
}

#[test]
fn a_capacity_that_is_hardly_known_is_a_bound() {
    let (mut free, mut bound) = (Bench::new(), foretold(LINK / 50.0, LINK / 25.0));
    let first = free.model.rate();
    assert!(first > LINK / 25.0 && bound.model.rate() == LINK / 25.0, "{first}");
    // Whatever the trains have shown, the path carries more.
    let rates = [&mut free, &mut bound].map(|bench| {
        bench.run(3_000_000, LINK, 0.0);
        bench.run(2_000_000, LINK, 0.0)
    });
    assert!(rates.iter().all(|rate| *rate > 0.85 * LINK), "{rates:?} bytes per microsecond");
}

/// A queue that stands although the path is given little is that of others, of whom the trains did not know.
#[test]
fn a_queue_of_others_ends_what_trains_have_shown() {
    let mut bench = foretold(LINK, 1.05 * LINK);
    bench.gives = 0.2 * LINK;
    bench.run(300_000, LINK, 0.0);
    assert!(bench.model.rate() > 0.9 * LINK);
    bench.run(500_000, LINK, 30_000.0);
    let rate = bench.model.rate();
    assert!(rate < 0.7 * LINK, "{rate} bytes per microsecond");
}

#[test]
fn trains_among_data_count_for_nothing() {
    let mut bench = Bench::new();
    bench.run(300_000, LINK, 0.0);
    let rate = bench.model.rate();
    bench.model.foretell(Capacity { usual: LINK / 4.0, most: LINK / 3.8, bound: LINK / 3.8 });
    assert_eq!(bench.model.rate(), rate);
}

/// A path that carries next to nothing has no queue of ours. Others use it, or its delay has changed, and less on the path would change neither.
#[test]
fn a_path_that_is_hardly_used_is_not_cut_for_a_queue() {
    for foretold in [false, true] {
        let mut bench = Bench::new();
        if foretold {
            bench.model.foretell(Capacity { usual: LINK, most: 1.05 * LINK, bound: 1.05 * LINK });
        }
        // A packet every 24 ms.
        bench.gives = 0.005 * LINK;
        bench.run(300_000, LINK, 0.0);
        bench.run(3_000_000, LINK, 30_000.0);
        let (rate, cuts) = (bench.model.rate(), bench.model.cuts);
        assert!(cuts == 0 && rate > 0.05 * LINK, "{rate} bytes per microsecond, {cuts} cuts");
    }
}

/// Delays that wander look like a queue now and then. They take little of the rate, also where they wander further than
/// probes have shown.
#[test]
fn a_delay_that_wanders_takes_little_of_the_rate() {
    let mut bench = Bench::wandering(10_000.0);
    bench.run(10_000_000, LINK, 0.0);
    assert!(bench.model.is_bottleneck() && bench.model.wanders());
    for wanders in [10_000.0, 13_000.0, 16_000.0] {
        bench.wanders = wanders;
        let rate = bench.run(20_000_000, LINK, 0.0);
        let queue = bench.free - bench.now as f64;
        assert!(rate > 0.95 * LINK, "{wanders} microseconds: {rate} bytes per microsecond");
        assert!(queue < 40_000.0, "{wanders} microseconds: {queue} microseconds of queue");
    }
}

/// Waiting for a queue to stand hides none: a link whose delay wanders carries a third from one moment to the next, and then
/// all again.
#[test]
fn a_link_that_wanders_and_carries_less_is_given_less() {
    let mut bench = Bench::wandering(10_000.0);
    bench.run(5_000_000, LINK, 0.0);
    for link in [LINK / 3.0, LINK] {
        bench.run(4_000_000, link, 0.0);
        let rate = bench.run(3_000_000, link, 0.0);
        assert!(rate > 0.9 * link, "{rate} of {link} bytes per microsecond");
        let queue = bench.free - bench.now as f64;
        assert!(queue < 80_000.0, "{queue} microseconds of queue");
    }
}
