//! The rate of a path that has not shown a bottleneck.

use crate::path::model::state::{Model, first_rate};

/// The queue that holds the excess of startup until a report shows it, in microseconds.
const QUEUE: f64 = 100_000.0;
/// The least factor by which the rate exceeds the delivered rate in startup.
const LEAST_GROWTH: f64 = 1.5;
/// The greatest factor by which the rate exceeds the delivered rate in startup.
const MOST_GROWTH: f64 = 3.0;
/// The factor by which the rate exceeds the rate delivered in bursts. A flow in slow start sends
/// bursts faster than its rate, and the wait of a burst would end its slow start.
const PEAK: f64 = 1.2;
/// The longest time over which the first packets are spread where delays jitter, in microseconds.
/// Bulk is held for long there, so its slow start sends short bursts with long pauses between
/// them, and what waits of a burst may end it.
const BURST: f64 = 20_000.0;
/// The part of the first rate by which the rate exceeds the delivered rate at least: a path whose
/// first packets left no queue carries a few more of them, too.
const FEW_MORE: f64 = 0.5;
/// The round-trip time below which a path is short, in microseconds. No survey shows what it carries, and
/// reports come many round-trip times apart, in which a flow in slow start has doubled often: its rate in
/// the last 100 ms lags far behind.
const SHORT: f64 = 2_000.0;

impl Model {
    /// Raises the rate above the delivered rate, unless the queue `fills`.
    pub(in crate::path::model) fn start_up(&mut self, fills: bool) {
        let growth = self.unseen(QUEUE).clamp(LEAST_GROWTH, MOST_GROWTH);
        // Jitter hides a queue for longer than the queue takes to overflow.
        let jitters = self.sigma() > 0.0;
        let growth = if jitters { LEAST_GROWTH } else { growth };
        let first = first_rate(if jitters { self.rtt().min(BURST) } else { self.rtt() });
        let (best, peak) = (self.rates.best(), self.rates.peak());
        self.rate = if fills {
            best.max(first).min(self.rate)
        } else {
            let burst = if self.rtt() < SHORT { growth } else { PEAK };
            (growth * best).max(best + FEW_MORE * first).max(burst * peak).max(first)
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::path::model::report::{Present, Report};
    use crate::path::model::state::Model;
    use crate::sequence::Sequence;

    /// The time between two reports, in microseconds.
    const INTERVAL: i64 = 10_000;

    /// Gives a path that nothing fills all that its model allows. Returns the milliseconds until that is
    /// `wanted`, in bytes per microsecond.
    fn ramp(rtt: f64, wanted: f64) -> i64 {
        let mut model = Model::new();
        model.set_rtt(rtt);
        let mut sent = 0.0;
        for now in (INTERVAL..2_000_000).step_by(INTERVAL as usize) {
            sent += model.rate() * INTERVAL as f64;
            let (bytes, packets) = (sent as u64, (sent / 1_500.0) as u32);
            model.record_delay(Sequence(packets), now, (rtt / 2.0) as i64);
            let (sent_at, sent_bytes, settled, marked) = (now, bytes, None, 0);
            let report = Report { at: now, bytes, sent_at, sent_bytes, settled, marked };
            let (sent_packets, backlogged) = (packets, true);
            model.handle_report(&report, &Present { now, sent_bytes, sent_packets, backlogged });
            if model.rate() >= wanted {
                return now / 1_000;
            }
        }
        i64::MAX
    }

    /// A cable of 10 Gbit/s was full after 190 ms.
    #[test]
    fn a_short_path_is_filled_soon() {
        let time = ramp(200.0, 1_125.0);
        assert!(time <= 150, "{time} ms");
    }
}
