//! The state of a path's model, and the estimates that follow from it alone.

use super::bounds::Bounds;
use super::observed::arrivals::Arrivals;
use super::observed::delay::{Delays, USUAL};
use super::observed::loss::Losses;
use super::observed::marks::Marks;
use super::observed::overflow::Overflow;
use super::observed::rate::Rates;
use super::observed::window::Recent;
use super::phase::Phase;
use crate::sequence::Sequence;

/// Bytes that an unknown path is given per round-trip time, which counts within
/// [`FIRST_INTERVALS`].
const FIRST_WINDOW: f64 = 32.0 * 1_500.0;
/// The shortest and the longest time that [`FIRST_WINDOW`] is spread over, in microseconds. The
/// shortest one is the longest time between two reports, which show no queue any earlier.
const FIRST_INTERVALS: [f64; 2] = [20_000.0, 50_000.0];
/// The lowest rate of a path: 64 kbit/s.
pub(super) const LEAST_RATE: f64 = 0.008;
/// The shortest growth step, in microseconds.
pub(super) const LEAST_STEP: f64 = 100_000.0;
/// The share of its rate from which on a path may have a queue of ours.
const FILLS: f64 = 0.5;
/// The rate that an unknown path may carry: 100 Mbit/s.
const LEAST_POSSIBLE: f64 = 12.5;
/// The round-trip time of a path before any measurement, in microseconds.
const UNKNOWN_RTT: f64 = 100_000.0;
/// The least round-trip time that counts, in microseconds.
const LEAST_RTT: f64 = 100.0;
/// The factor by which a rate has grown since the last cut if that did not show the capacity.
const OUTGROWN: f64 = 1.3;
/// The factor by which a path may carry more than the rate that was found.
const EXPECTED: f64 = 1.1;
/// Hardly any packet comes so many deviations before the base delay, which is a low quantile where delays jitter.
const BELOW_BASE: f64 = 3.0;
/// The lateness of a packet below which it is not late, in microseconds.
const LEAST_LATENESS: f64 = 1_000.0;
/// The shortest time for which the greatest lateness counts, in microseconds.
const LATENESS_MEMORY: i64 = 10_000_000;

/// The model of a path: its measurements, the phase, and the rate that follows.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(super) delays: Delays,
    pub(super) rates: Rates,
    pub(super) losses: Losses,
    pub(super) overflow: Overflow,
    pub(super) marks: Marks,
    pub(super) phase: Phase,
    pub(super) rate: f64,
    /// The configured bounds. `rate` is within them after each report.
    pub(super) bounds: Bounds,
    /// The least round-trip time of the probes, or `None` before the first.
    probed: Option<f64>,
    /// The time since which a queue stands.
    pub(super) over_since: Option<i64>,
    /// The time of the last cut, unless the queue has gone since.
    pub(super) cut_at: Option<i64>,
    /// The time before which losses have already led to a cut.
    pub(super) cut_until: i64,
    /// The time at which the rate last grew beside other traffic.
    pub(super) grown_at: i64,
    pub(super) cuts: u64,
    pub(super) arrivals: Arrivals,
    /// The greatest lateness of single packets that left from [`Delays::judged_from`] on. Earlier
    /// ones waited in a queue that was not known yet.
    lateness: Recent,
}

/// The bytes of ours with which a queue counts as ours: ten packets. A path with fewer does not
/// yield to others.
pub(super) const OWN_QUEUE: f64 = 10.0 * 1_500.0;
/// The rate that is assumed of a path of which nothing is known: 35 Mbit/s, the geometric mean of 4 and 300.
const LIKELY: f64 = 35.0 / 8.0;

/// Returns the rate that a path of this round-trip time is given before it has shown more.
pub(super) fn first_rate(rtt: f64) -> f64 {
    let [least, most] = FIRST_INTERVALS;
    FIRST_WINDOW / rtt.clamp(least, most)
}

impl Model {
    /// An unknown path.
    pub(crate) fn new() -> Self {
        Self {
            delays: Delays::new(),
            rates: Rates::new(),
            losses: Losses::new(),
            overflow: Overflow::new(),
            marks: Marks::default(),
            phase: Phase::Startup { foretold: None },
            rate: FIRST_WINDOW / UNKNOWN_RTT,
            bounds: Bounds::default(),
            probed: None,
            over_since: None,
            cut_at: None,
            cut_until: 0,
            grown_at: 0,
            cuts: 0,
            arrivals: Arrivals::default(),
            lateness: Recent::greatest(LATENESS_MEMORY),
        }
    }

    /// Takes the least round-trip time of the probes.
    pub(crate) fn set_rtt(&mut self, rtt: f64) {
        let rtt = rtt.max(LEAST_RTT);
        if self.probed.replace(rtt).is_none() {
            self.rate = self.bounded(self.rate.max(first_rate(rtt)));
        }
    }

    /// Takes the standard deviation of the delay that probes have measured, in microseconds.
    pub(crate) fn set_jitter(&mut self, sigma: f64) {
        self.delays.set_prior(sigma);
    }

    /// Takes the packet of this number, which left at `sent` and took `delay` between both clocks.
    pub(crate) fn record_delay(&mut self, number: Sequence, sent: i64, delay: i64) {
        self.delays.record(number, sent, delay);
    }

    /// Excludes packets that left before `time`, and the first `packets` packets of the path, from
    /// the estimates of the present queue and of the loss at the present rate.
    pub(super) fn judge_from(&mut self, time: i64, packets: u32) {
        self.delays.judge_from(time);
        self.lateness = Recent::greatest(LATENESS_MEMORY);
        self.losses.judge_from(packets);
        self.overflow.judge_from(packets);
    }

    /// Returns the rate at which the path is given packets.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns true once the path has shown its capacity by a standing queue.
    pub(crate) fn is_bottleneck(&self) -> bool {
        !matches!(self.phase, Phase::Startup { .. })
    }

    /// Returns true if nothing is known of the capacity: no bottleneck has shown itself, and no train
    /// of probes has foretold one.
    fn is_unknown(&self) -> bool {
        match self.phase {
            Phase::Startup { foretold } => !foretold.is_some_and(|capacity| capacity.is_precise()),
            Phase::Known(_) | Phase::Draining(_) | Phase::Shared { .. } => false,
        }
    }

    /// Returns true while other traffic keeps the queue of the path full.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.phase, Phase::Shared { .. })
    }

    /// Returns the highest rate that the path may carry, as far as is known: twice its rate, which
    /// grows while packets wait. Where nothing is known of the capacity, it is four times the
    /// delivered rate, or 100 Mbit/s.
    pub(crate) fn possible_rate(&self) -> f64 {
        self.bounded(if self.is_unknown() {
            (4.0 * self.rates.best()).max(LEAST_POSSIBLE).max(self.rate)
        } else {
            2.0 * self.rate
        })
    }

    /// Returns the rate that the path delivers at present, in bytes per microsecond.
    pub(crate) fn delivered(&self) -> f64 {
        self.rates.delivered()
    }

    /// Returns the greatest rate that the path has delivered in the last seconds, in bytes per
    /// microsecond.
    pub(crate) fn most_delivered(&self) -> f64 {
        self.rates.best()
    }

    /// Returns the rate that the path may be expected to carry alone. Where it has grown far beyond
    /// that of the last cut, the cut has not shown the capacity.
    pub(crate) fn expected_rate(&self) -> f64 {
        match self.phase {
            Phase::Known(known) if self.rate > OUTGROWN * known.found => self.possible_rate(),
            _ if self.is_unknown() => self.possible_rate(),
            _ => self.bounded(EXPECTED * self.rate),
        }
    }

    /// Returns the rate that a path is likely to carry: as [`Self::expected_rate`], and where nothing is known of the capacity what it has delivered,
    /// or [`LIKELY`].
    pub(crate) fn likely_rate(&self) -> f64 {
        if self.is_unknown() {
            self.bounded(self.rates.best().max(LIKELY))
        } else {
            self.expected_rate()
        }
    }

    /// Returns the rate, or the bound next to it where it is beyond one.
    pub(super) fn bounded(&self, rate: f64) -> f64 {
        self.bounds.clamp(rate).max(LEAST_RATE)
    }

    /// Returns the round-trip time without queues.
    pub(crate) fn rtt(&self) -> f64 {
        self.probed.unwrap_or(UNKNOWN_RTT)
    }

    /// Returns the factor by which the rate may exceed the delivered one so that no more than `queue`
    /// waits before a report shows it, which takes a round-trip time. `queue` is in microseconds.
    pub(super) fn unseen(&self, queue: f64) -> f64 {
        1.0 + queue / self.rtt()
    }

    /// Returns the length of a growth step, in microseconds.
    pub(super) fn step(&self) -> i64 {
        LEAST_STEP.max(self.rtt()) as i64
    }

    /// Returns the time within which most packets arrive where no queue stands, between both
    /// clocks, or `None` without data.
    pub(crate) fn usual_delay(&self) -> Option<f64> {
        Some(self.delays.base()? + USUAL * self.delays.sigma())
    }

    /// Returns the time before which hardly any packet arrives, between both clocks, or `None`
    /// without data.
    pub(crate) fn least_delay(&self) -> Option<f64> {
        Some(self.delays.base()? - BELOW_BASE * self.delays.sigma())
    }

    /// Returns the least delay of packets, between both clocks, or `None` without data.
    pub(crate) fn base_delay(&self) -> Option<f64> {
        self.delays.base()
    }

    /// Returns an estimate of the base delay from the first packets, before it is known: rather too much than too little.
    pub(crate) fn presumed_delay(&self) -> Option<f64> {
        self.delays.presumed_base()
    }

    /// Returns the error of the standing queue's estimate, which few packets show.
    pub(crate) fn chance(&self) -> f64 {
        self.delays.chance()
    }

    /// Notes that a packet that left at `sent` arrived `lateness` microseconds later than the least
    /// delay and the queue account for.
    pub(crate) fn record_late(&mut self, now: i64, sent: i64, lateness: f64) {
        if lateness >= LEAST_LATENESS && sent >= self.delays.judged_from() {
            self.lateness.record(now, lateness);
        }
    }

    /// Returns the recent lateness of packets, in microseconds above the least delay and the queue.
    pub(crate) fn lateness(&self) -> f64 {
        self.lateness.value().unwrap_or(0.0)
    }

    /// Returns true if enough packets have shown how much their delays differ.
    pub(crate) fn knows_jitter(&self) -> bool {
        self.delays.knows_jitter()
    }

    /// Returns the time that packets wait in the path's queue.
    pub(crate) fn queue(&self) -> f64 {
        self.delays.queue()
    }

    /// Returns the queue from which on the path is given less.
    pub(crate) fn threshold(&self) -> f64 {
        self.delays.threshold(self.rtt())
    }

    /// Returns the queue that stands if the path's own queue is this `share` of the tolerated one.
    pub(super) fn threshold_at(&self, share: f64) -> f64 {
        self.delays.threshold_at(share, self.rtt())
    }

    /// Returns the standard deviation of slow changes of the delay, in microseconds.
    pub(crate) fn wander(&self) -> f64 {
        self.delays.wander()
    }

    /// Returns true if the delay of the path jitters or wanders.
    pub(crate) fn varies(&self) -> bool {
        self.sigma() > 0.0 || self.wanders()
    }

    /// Returns true if the delay of the path wanders.
    pub(super) fn wanders(&self) -> bool {
        self.wander() > 0.0
    }

    /// Returns true if a longer delay of the path is none of our queue: the delay wanders, and the
    /// path is given much less than it is known to carry. Delays may wander further than the few
    /// probes before the data have shown.
    pub(super) fn is_only_wandering(&self) -> bool {
        self.wanders() && !self.may_fill()
    }

    /// Returns true if the path is given enough of its rate to have a queue of ours.
    pub(super) fn may_fill(&self) -> bool {
        self.rates.given() >= FILLS * self.rate
    }

    /// Returns the number of packets over which loss was counted, and the share that was lost.
    pub(crate) fn loss(&self) -> (u32, f64) {
        (self.losses.counted(), self.losses.share())
    }

    /// Returns the standard deviation of a packet's delay, or 0 below a millisecond.
    pub(crate) fn sigma(&self) -> f64 {
        self.delays.sigma()
    }

    /// Starts the measurements afresh, since the path is another one or was idle for long.
    pub(crate) fn restart(&mut self) {
        self.rates.restart();
        self.losses.restart();
        self.overflow.restart();
    }
}
