//! What is learnt of a path from the peer's reports, and the rate that follows from it.
//!
//! The sender keeps the queue of a bottleneck short: as long as packets of a path come without delay
//! the path is given more, and where a queue stands it is given less, until the queue has drained. What
//! does not fit waits at the tunnel's own ingress, where it can be scheduled.
//!
//! All times are microseconds of the sender's clock unless said otherwise, all rates bytes per
//! microsecond.

mod beside;
pub(crate) mod delay;
mod drain;
mod known;
mod loss;
mod marks;
mod overflow;
mod rate;
mod window;

use std::time::Duration;

use delay::Delays;
use drain::Drain;
use known::Known;
use loss::Losses;
use marks::Marks;
use overflow::{Overflow, Verdict};
use rate::Rates;
use window::Recent;

use crate::sequence::Sequence;

/// Bytes that a path of which nothing is known is given per round-trip time, or in [`FIRST_INTERVAL`].
const FIRST_WINDOW: f64 = 32.0 * 1_500.0;
/// The longest time that [`FIRST_WINDOW`] is spread over, in microseconds.
const FIRST_INTERVAL: f64 = 50_000.0;
/// Rates are never below this: 64 kbit/s.
const LEAST_RATE: f64 = 0.008;
/// What a path may carry of which nothing is known: 100 Mbit/s.
const LEAST_POSSIBLE: f64 = 12.5;
/// The round-trip time of a path that has not been measured.
const UNKNOWN_RTT: f64 = 100_000.0;
/// A round-trip time below this counts as this.
const LEAST_RTT: f64 = 100.0;
/// What a path is given too much in startup, until a report says so, fits into a queue of this time, in
/// microseconds.
const QUEUE: f64 = 100_000.0;
/// By what a path is given more in startup than it has delivered, within [`QUEUE`].
const LEAST_GROWTH: f64 = 1.5;
const MOST_GROWTH: f64 = 3.0;
/// The same by what it has delivered in bursts: a flow in slow start sends bursts that are faster than its
/// rate, and what a burst waits for ends its slow start.
const PEAK: f64 = 1.2;
/// A packet that is late by less is not late, in microseconds.
const LEAST_LATENESS: f64 = 1_000.0;
/// How long the greatest lateness counts, at least, in microseconds.
const LATENESS_MEMORY: i64 = 10_000_000;
/// A path that delivers more than its rate divided by this is in use.
const PRESSES: f64 = 3.0;
/// A cut that follows another one within this time, without the queue having gone in between, is one in vain, in
/// microseconds.
const SOON: i64 = 2_000_000;
/// A growth step takes this long at least, in microseconds.
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
    /// Packets that came with "congestion experienced" in their outer header, modulo 2^32.
    pub(crate) marked: u32,
}

/// What the sender itself knows when a report comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    /// The time.
    pub(crate) now: i64,
    /// Bytes sent on the path so far.
    pub(crate) sent_bytes: u64,
    /// Packets, modulo 2^32.
    pub(crate) sent_packets: u32,
    /// Since the report before, packets have waited for the path to have credit.
    pub(crate) backlogged: bool,
}

/// Whether a bottleneck has shown itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// None has: the rate doubles with what is delivered.
    Startup,
    /// The rate is what the path is held to carry.
    Known(Known),
    /// The queue did not go when the rate was cut: nothing is sent until all that was sent has come, which shows
    /// whose queue it is.
    Draining(Drain),
    /// Somebody else keeps the queue full: it says nothing, only loss does. The rate is cut and grows as
    /// that of a flow of TCP.
    Shared {
        /// Since when no queue stands; `None` while one does.
        since: Option<i64>,
        /// When it was found that the queue is not ours.
        found: i64,
    },
}

/// What a report leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing is sent on the path before this time.
    Until(i64),
    /// Packets may be sent again.
    Ends,
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
    overflow: Overflow,
    marks: Marks,
    phase: Phase,
    rate: f64,
    /// Of the probes; `None` before the first.
    probed: Option<f64>,
    /// Since when a queue stands.
    over_since: Option<i64>,
    /// When the rate was cut, unless the queue has gone since.
    cut_at: Option<i64>,
    /// Losses before were paid for.
    cut_until: i64,
    /// When the rate last grew beside others.
    grown_at: i64,
    cuts: u64,
    /// The greatest lateness of single packets, of those that left from a time on: what left before waited
    /// in a queue that nobody knew yet.
    lateness: Recent,
    late_from: i64,
}

impl Model {
    /// A path of which nothing is known.
    pub(crate) fn new() -> Self {
        Self {
            delays: Delays::new(),
            rates: Rates::new(),
            losses: Losses::new(),
            overflow: Overflow::new(),
            marks: Marks::default(),
            phase: Phase::Startup,
            rate: FIRST_WINDOW / UNKNOWN_RTT,
            probed: None,
            over_since: None,
            cut_at: None,
            cut_until: 0,
            grown_at: 0,
            cuts: 0,
            lateness: Recent::greatest(LATENESS_MEMORY),
            late_from: i64::MIN,
        }
    }

    /// The probes' least round-trip time.
    pub(crate) fn set_rtt(&mut self, rtt: f64) {
        let rtt = rtt.max(LEAST_RTT);
        if self.probed.replace(rtt).is_none() {
            self.rate = self.rate.max(FIRST_WINDOW / rtt.min(FIRST_INTERVAL));
        }
    }

    /// What probes say of the standard deviation of the delay, in microseconds.
    pub(crate) fn set_jitter(&mut self, sigma: f64) {
        self.delays.set_prior(sigma);
    }

    /// The packet of this number, which left at `sent`, took `delay` by both clocks.
    pub(crate) fn record_delay(&mut self, number: Sequence, sent: i64, delay: i64) {
        self.delays.record(number, sent, delay);
    }

    /// A report, after its delays. Says whether the path has to drain before anything more is sent.
    pub(crate) fn handle_report(&mut self, report: &Report, present: &Present) -> Option<Pause> {
        let now = present.now;
        let fresh = self.delays.update(now, report.at, self.rtt());
        self.rates.record(
            now,
            (report.at, report.bytes),
            report.sent_at,
            (self.rtt(), self.sigma()),
        );
        let mut loss = Verdict::Usual;
        if let Some((sent, received)) = report.settled {
            self.losses.record(now, sent, received);
            loss = self.overflow.record(now, sent, received, self.rtt());
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
        if fresh && queue < threshold / 2.0 {
            self.cut_at = None;
        }
        // A path that is given little does not overflow by that.
        let presses = present.backlogged || PRESSES * self.rates.delivered() > self.rate;
        let marked = self.marks.record(report.marked, report.sent_at);
        let overflows = presses && (loss == Verdict::Overflows || marked);
        if overflows && matches!(self.phase, Phase::Startup | Phase::Known(_)) {
            return self.cut(report, present, marked);
        }
        match self.phase {
            Phase::Draining(drain) => return self.drain(drain, (fresh, queue), report, present),
            Phase::Shared { since, found } => {
                let lost = loss != Verdict::Usual || marked;
                return self.share((since, found), lost, (fresh, queue), report, present);
            }
            Phase::Startup => {
                if over_now {
                    return self.cut(report, present, false);
                }
                let growth = (1.0 + QUEUE / self.rtt()).clamp(LEAST_GROWTH, MOST_GROWTH);
                // Jitter hides a queue for longer than it takes to overflow.
                let growth = if self.sigma() > 0.0 { LEAST_GROWTH } else { growth };
                let factor = if queue > threshold / 2.0 { 1.0 } else { growth };
                let floor = FIRST_WINDOW / self.rtt().min(FIRST_INTERVAL);
                let peak = if factor > 1.0 { PEAK * self.rates.peak() } else { 0.0 };
                let wanted = (factor * self.rates.best()).max(peak).max(floor);
                self.rate = if factor > 1.0 { wanted } else { wanted.min(self.rate) };
            }
            Phase::Known(known) => return self.hold(known, (fresh, over_now), report, present),
        }
        None
    }

    /// What left before says nothing of the present queue, or of the loss at the present rate.
    fn judge_from(&mut self, time: i64, packets: u32) {
        self.delays.judge_from(time);
        self.marks.judge_from(time);
        (self.lateness, self.late_from) = (Recent::greatest(LATENESS_MEMORY), time);
        self.losses.judge_from(packets);
        self.overflow.judge_from(packets);
    }

    /// A queue stands in the path: it is given less than it delivers, after what stands has drained.
    fn cut(&mut self, report: &Report, present: &Present, marked: bool) -> Option<Pause> {
        let now = present.now;
        self.cuts += 1;
        self.over_since = None;
        if self.cut_at.is_some_and(|at| now - at < SOON) {
            return Some(self.begin_drain(beside::FAIR * self.rates.best(), report, present));
        }
        self.cut_at = Some(now);
        // In slow start a burst fills the queue after a pause, which says nothing of what the path carries. Later a flow
        // does not pause, and the longer time is the surer one where delays jitter.
        let delivered = match self.phase {
            Phase::Startup => self.rates.in_burst(),
            _ => self.rates.delivered(),
        };
        // What is delivered may be little for other reasons: one cut takes a third at most of what it was.
        let least = 0.7 * self.rates.best().min(self.rate);
        self.rate = (0.99 * delivered).max(least).max(LEAST_RATE);
        if marked {
            self.marks.set_limit(now, self.rates.best());
            self.rate = self.rate.min(self.marks.limit(now));
        }
        let under_way = present.sent_bytes.saturating_sub(report.sent_bytes) as f64;
        let since = (now - report.sent_at) as f64 - self.queue();
        let excess = under_way - self.rate * since.max(0.0);
        let drain = (excess / self.rate).clamp(0.0, 2.0 * self.rtt().max(100_000.0));
        let until = now + drain as i64;
        self.judge_from(until, present.sent_packets);
        self.phase = Phase::Known(Known::from(until + self.step()));
        Some(Pause::Until(until))
    }

    /// The rate at which the path is given packets.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// True once the path has shown what it carries: a queue of it has stood.
    pub(crate) fn is_bottleneck(&self) -> bool {
        !matches!(self.phase, Phase::Startup)
    }

    /// True while others keep the queue of the path full.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.phase, Phase::Shared { .. })
    }

    /// What the path may carry at best, as far as is known: twice its rate, which grows while packets
    /// wait. Where no bottleneck has shown itself it is four times what it has delivered, or 100 Mbit/s.
    pub(crate) fn possible_rate(&self) -> f64 {
        match self.phase {
            Phase::Startup => (4.0 * self.rates.best()).max(LEAST_POSSIBLE).max(self.rate),
            Phase::Known(_) | Phase::Draining(_) | Phase::Shared { .. } => 2.0 * self.rate,
        }
    }

    /// The round-trip time without queues.
    pub(crate) fn rtt(&self) -> f64 {
        self.probed.unwrap_or(UNKNOWN_RTT)
    }

    /// The time in which most packets come where no queue stands, by both clocks; `None` without data.
    pub(crate) fn usual_delay(&self) -> Option<f64> {
        Some(self.delays.base()? + 2.0 * self.delays.sigma())
    }

    /// The least time in which packets come, by both clocks; `None` without data.
    pub(crate) fn base_delay(&self) -> Option<f64> {
        self.delays.base()
    }

    /// The same as far as some packets tell, before it is known: rather too much than too little.
    pub(crate) fn presumed_delay(&self) -> Option<f64> {
        self.delays.presumed_base()
    }

    /// What the standing queue may be known wrong by, since few packets show it.
    pub(crate) fn chance(&self) -> f64 {
        self.delays.chance()
    }

    /// A packet that left at `sent` came by so much later than the least delay and the queue say, in
    /// microseconds.
    pub(crate) fn record_late(&mut self, now: i64, sent: i64, lateness: f64) {
        if lateness >= LEAST_LATENESS && sent >= self.late_from {
            self.lateness.record(now, lateness);
        }
    }

    /// How late packets have come of late, in microseconds above the least delay and the queue.
    pub(crate) fn lateness(&self) -> f64 {
        self.lateness.value().unwrap_or(0.0)
    }

    /// True if enough packets have shown how much their delays differ.
    pub(crate) fn knows_jitter(&self) -> bool {
        self.delays.knows_jitter()
    }

    /// The time that packets stand in the path's queue.
    pub(crate) fn queue(&self) -> f64 {
        self.delays.queue()
    }

    /// The queue from which on the path is given less.
    pub(crate) fn threshold(&self) -> f64 {
        self.delays.threshold(self.rtt())
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
            bottleneck_seen: !matches!(self.phase, Phase::Startup),
            delivered: bits(self.rates.delivered()),
            queue: time(self.queue()),
            jitter: time(self.delays.sigma()),
            rtt: time(self.rtt()),
            loss: self.losses.share(),
            cuts: self.cuts,
        }
    }

    /// What is measured starts afresh: the path is another one, or was idle for long.
    pub(crate) fn restart(&mut self) {
        self.rates.restart();
        self.losses.restart();
        self.overflow.restart();
    }
}

#[cfg(test)]
mod tests;
