//! What is learnt of a path from the peer's reports, and the rate that follows from it.
//!
//! The sender keeps the queue of a bottleneck short: as long as packets of a path come without delay
//! the path is given more, and where a queue stands it is given less, until the queue has drained. What
//! does not fit waits at the tunnel's own ingress, where it can be scheduled.
//!
//! All times are microseconds of the sender's clock unless said otherwise, all rates bytes per
//! microsecond.

mod delay;
mod loss;
mod rate;
mod window;

use std::time::Duration;

use delay::Delays;
use loss::Losses;
use rate::Rates;

/// Bytes that a path of which nothing is known is given per round-trip time.
const FIRST_WINDOW: f64 = 32.0 * 1_500.0;
/// Rates are never below this: 64 kbit/s.
const LEAST_RATE: f64 = 0.008;
/// More than any path carries: 100 Gbit/s.
const UNBOUNDED: f64 = 12_500.0;
/// The round-trip time of a path that has not been measured.
const UNKNOWN_RTT: f64 = 100_000.0;
/// What a path with a longer round-trip time is given too much in startup may be more than its queue
/// holds before a report says so.
const QUICK: f64 = 60_000.0;
/// A growth step takes this long at least.
const LEAST_STEP: f64 = 100_000.0;

/// What a report says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// When the peer made it, by its clock.
    pub(crate) at: i64,
    /// Bytes that have come on the path.
    pub(crate) bytes: u64,
    /// When the highest number that has come left.
    pub(crate) sent_at: i64,
    /// Bytes sent on the path up to that number.
    pub(crate) sent_bytes: u64,
    /// Of the first so many packets of the path so many have come, and no more will: modulo 2^32.
    pub(crate) settled: Option<(u32, u32)>,
}

/// What the sender itself knows when a report comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    /// The time.
    pub(crate) now: i64,
    /// Bytes sent on the path so far.
    pub(crate) sent_bytes: u64,
    /// Since the report before, packets have waited for the path to have credit.
    pub(crate) backlogged: bool,
    /// No other path carries bulk.
    pub(crate) alone: bool,
}

/// Whether a bottleneck has shown itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// None has: the rate doubles with what is delivered.
    Startup,
    /// The rate is what the path is held to carry.
    Known {
        /// Reports in a row with a standing queue.
        over: u8,
        /// Growth steps in a row without one.
        calm: u8,
        /// When the next growth step is due.
        grow_at: i64,
    },
}

/// What the sender of an adaptive connection knows of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The rate at which it is given packets, in bit/s, outer headers included.
    pub rate: u64,
    /// True once a bottleneck has shown itself: `rate` is what the path is held to carry. Until then it
    /// is a limit that grows with what is delivered.
    pub bottleneck_seen: bool,
    /// The rate at which packets come at the peer, in bit/s.
    pub delivered: u64,
    /// The time that packets stand in its queue.
    pub queue: Duration,
    /// The standard deviation of a packet's delay; zero below a millisecond.
    pub jitter: Duration,
    /// The least round-trip time of its probes.
    pub rtt: Duration,
    /// The share of packets lost, of the latest two thousand or so.
    pub loss: f64,
    /// How often the rate was cut since a queue stood.
    pub cuts: u64,
}

/// What is known of a path.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    delays: Delays,
    rates: Rates,
    losses: Losses,
    phase: Phase,
    rate: f64,
    /// Of the probes.
    rtt: f64,
    /// Since when a queue stands.
    over_since: Option<i64>,
    cuts: u64,
}

impl Model {
    /// A path of which nothing is known.
    pub(crate) fn new() -> Self {
        Self {
            delays: Delays::new(),
            rates: Rates::new(),
            losses: Losses::new(),
            phase: Phase::Startup,
            rate: FIRST_WINDOW / UNKNOWN_RTT,
            rtt: UNKNOWN_RTT,
            over_since: None,
            cuts: 0,
        }
    }

    /// The probes' least round-trip time.
    pub(crate) fn set_rtt(&mut self, rtt: f64) {
        let known = self.rtt != UNKNOWN_RTT || self.rate > FIRST_WINDOW / UNKNOWN_RTT;
        self.rtt = rtt.max(100.0);
        if !known {
            self.rate = self.rate.max(FIRST_WINDOW / self.rtt);
        }
    }

    /// A packet that left at `sent` took `delay` by both clocks.
    pub(crate) fn record_delay(&mut self, sent: i64, delay: i64) {
        self.delays.record(sent, delay);
    }

    /// A report, after its delays. Gives the time until which nothing is to be sent, if the path has to
    /// drain.
    pub(crate) fn handle_report(&mut self, report: &Report, present: &Present) -> Option<i64> {
        let now = present.now;
        let fresh = self.delays.update(now, report.at, self.rtt);
        self.rates.record(now, (report.at, report.bytes), report.sent_at, self.rtt);
        if let Some((sent, received)) = report.settled {
            self.losses.record(now, sent, received);
        }
        let (queue, threshold) = (self.queue(), self.threshold());
        let over_now = fresh && queue > threshold;
        self.over_since = match self.over_since {
            Some(since) if queue > threshold => Some(since),
            _ => over_now.then_some(now),
        };
        // With jitter the level is made of packets of some time: it has to stand for as long again.
        let patience = if self.delays.sigma() > 0.0 { self.step() } else { 0 };
        let over_now = over_now && self.over_since.is_some_and(|since| now >= since + patience);
        match self.phase {
            Phase::Startup => {
                if over_now {
                    return self.cut(report, present);
                }
                let growth = if self.rtt < QUICK && present.alone { 3.0 } else { 2.0 };
                let factor = if queue > threshold / 2.0 { 1.0 } else { growth };
                let floor = FIRST_WINDOW / self.rtt;
                let wanted = (factor * self.rates.best()).max(floor);
                self.rate = if factor > 1.0 { wanted.max(floor) } else { wanted.min(self.rate) };
            }
            Phase::Known { over, calm, grow_at } => {
                if over_now && over >= 1 {
                    return self.cut(report, present);
                }
                if fresh && queue > threshold / 4.0 {
                    // It is full, whether the flow asks for more or not: the rest is for other paths.
                    self.rate = self.rate.min(self.rates.best()).max(LEAST_RATE);
                }
                let over = if !fresh {
                    over
                } else if over_now {
                    over + 1
                } else {
                    0
                };
                let (mut calm, mut grow_at) = (calm, grow_at);
                if queue >= threshold / 2.0 {
                    calm = 0;
                    grow_at = grow_at.max(now + self.step() / 2);
                } else if now >= grow_at && present.backlogged {
                    self.grow(calm);
                    calm = calm.saturating_add(1);
                    grow_at = now + self.step();
                }
                self.phase = Phase::Known { over, calm, grow_at };
            }
        }
        None
    }

    fn step(&self) -> i64 {
        LEAST_STEP.max(self.rtt) as i64
    }

    fn grow(&mut self, calm: u8) {
        let (factor, bound) = if calm >= 3 { (2.0, 1.5) } else { (1.1, 1.1) };
        let bound = bound * self.rates.best();
        self.rate = (self.rate * factor).min(bound).max(self.rate);
    }

    /// A queue stands in the path: it is given less than it delivers, after what stands has drained.
    fn cut(&mut self, report: &Report, present: &Present) -> Option<i64> {
        let now = present.now;
        self.cuts += 1;
        self.over_since = None;
        let delivered = self.rates.delivered();
        let rate = 0.99 * delivered;
        self.rate = rate.max(0.7 * self.rates.best().min(self.rate / 0.7)).max(LEAST_RATE);
        let under_way = present.sent_bytes.saturating_sub(report.sent_bytes) as f64;
        let since = (now - report.sent_at) as f64 - self.queue();
        let excess = under_way - self.rate * since.max(0.0);
        let drain = (excess / self.rate).clamp(0.0, 2.0 * self.rtt.max(100_000.0));
        let until = now + drain as i64;
        self.delays.judge_from(until);
        let grow_at = until + self.step();
        self.phase = Phase::Known { over: 0, calm: 0, grow_at };
        Some(until)
    }

    /// The rate at which the path is given packets.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// What the path may carry at best, as far as is known: twice its rate, which grows while packets
    /// wait, or without a bound where no bottleneck has shown itself.
    pub(crate) fn possible_rate(&self) -> f64 {
        match self.phase {
            Phase::Startup => UNBOUNDED.max(self.rate),
            Phase::Known { .. } => 2.0 * self.rate,
        }
    }

    /// The round-trip time without queues.
    pub(crate) fn rtt(&self) -> f64 {
        self.rtt
    }

    /// The time in which most packets come where no queue stands, by both clocks; `None` without data.
    pub(crate) fn usual_delay(&self) -> Option<f64> {
        Some(self.delays.base()? + 2.0 * self.delays.sigma())
    }

    /// The time that packets stand in the path's queue.
    pub(crate) fn queue(&self) -> f64 {
        self.delays.queue()
    }

    /// The queue from which on the path is given less.
    pub(crate) fn threshold(&self) -> f64 {
        self.delays.threshold(self.rtt)
    }

    /// Packets over which loss was counted, and the share that was lost.
    pub(crate) fn loss(&self) -> (u32, f64) {
        (self.losses.counted(), self.losses.share())
    }

    /// The standard deviation of a packet's delay, 0 below a millisecond.
    pub(crate) fn sigma(&self) -> f64 {
        self.delays.sigma()
    }

    /// What is known, for people.
    pub(crate) fn estimate(&self) -> Estimate {
        let bits = |rate: f64| (rate * 8e6) as u64;
        let time = |micros: f64| Duration::from_micros(micros.max(0.0) as u64);
        Estimate {
            rate: bits(self.rate),
            bottleneck_seen: matches!(self.phase, Phase::Known { .. }),
            delivered: bits(self.rates.delivered()),
            queue: time(self.queue()),
            jitter: time(self.delays.sigma()),
            rtt: time(self.rtt),
            loss: self.losses.share(),
            cuts: self.cuts,
        }
    }

    /// What is measured starts afresh: the path is another one, or was idle for long.
    pub(crate) fn restart(&mut self) {
        self.rates.restart();
        self.losses.restart();
    }
}
