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

    const SIZE: f64 = 1_500.0;
    /// The time between two reports, and between two packets whose delay is known, in microseconds.
    const INTERVAL: i64 = 10_000;
    const SAMPLED: i64 = 400;

    /// Gives a path of this round-trip time and capacity all that its model allows. Returns the milliseconds
    /// until it is given 90 % of it, and the longest queue before that, in milliseconds.
    fn ramp(rtt: f64, capacity: f64) -> (i64, f64) {
        let mut model = Model::new();
        model.set_rtt(rtt);
        let (mut sent, mut came, mut longest) = (0.0_f64, 0.0_f64, 0.0_f64);
        for now in (SAMPLED..2_000_000).step_by(SAMPLED as usize) {
            sent += model.rate() * SAMPLED as f64;
            came = (came + capacity * SAMPLED as f64).min(sent);
            let queue = (sent - came) / capacity;
            longest = longest.max(queue);
            let packets = (sent / SIZE) as u32;
            model.record_delay(Sequence(packets), now, (rtt / 2.0 + queue) as i64);
            if now % INTERVAL == 0 {
                let report = Report {
                    at: now,
                    bytes: came as u64,
                    sent_at: now - queue as i64,
                    sent_bytes: came as u64,
                    settled: None,
                    marked: 0,
                };
                let present = Present {
                    now,
                    sent_bytes: sent as u64,
                    sent_packets: packets,
                    backlogged: true,
                };
                model.handle_report(&report, &present);
            }
            if model.rate() >= 0.9 * capacity {
                return (now / 1_000, longest / 1_000.0);
            }
        }
        (i64::MAX, longest / 1_000.0)
    }

    /// A cable of 10 Gbit/s was full after 190 ms.
    #[test]
    fn a_short_path_is_filled_soon() {
        let (time, _) = ramp(200.0, 1_250.0);
        assert!(time <= 150, "{time} ms");
    }
}
