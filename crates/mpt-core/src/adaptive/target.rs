//! The time for which packets may wait in the queue of the tunnel before their flow is told to send less.

use std::time::Duration;

use super::{Adaptive, LIMITS};

/// The least time for which packets of a flow have to wait too long before the flow gets a drop or
/// a mark; a quarter of the target where that is more. A flow in slow start doubles its rate in
/// each round-trip time without one.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);
/// The least target of the queue, for which packets of bulk flows may wait. A flow fills its paths
/// with the data that waits when one of them becomes longer or carries more. Other flows lose no
/// time by it, since flows take turns.
const LEAST_TARGET: Duration = Duration::from_millis(100);
/// The longest target, in microseconds; [`LONG_SHARE`] of the round-trip time where that is more.
/// CUBIC keeps its paths full with 0.43 of it, and a dropped packet is sent again behind everything
/// that waits.
const LONG_TARGET: f64 = 200_000.0;
const LONG_SHARE: f64 = 0.5;
/// The share of the queue's room that is filled when a flow that fills it gets its first drop or
/// mark. A flow in slow start doubles what waits until it takes notice.
const FILLED: f64 = 0.5;

impl Adaptive {
    /// Takes what the paths in use carry together, after a report.
    pub(super) fn note_carried(&mut self, now: i64) {
        let carried = self.in_use().map(|path| path.model.delivered()).sum();
        self.carried.record(now, carried);
    }

    /// Sets how long packets may wait by what the paths need: about one round-trip time as a bulk
    /// flow sees it, and half of one where that is long. The pause after a drop counts all of it.
    pub(super) fn set_target(&mut self) {
        let rtt = self.bulk_rtt() + self.repair_wait();
        let target = rtt.min(LONG_TARGET.max(LONG_SHARE * rtt));
        let target = Duration::from_micros(target as u64).max(LEAST_TARGET);
        let interval = (target / 4).max(LEAST_INTERVAL);
        // Where the paths carry much, so much would wait until then that the queue overflowed.
        let carried = self.carried.value().unwrap_or(0.0);
        let rate = self.in_use().map(|path| path.model.most_delivered()).sum::<f64>().max(carried);
        let fits = FILLED * LIMITS.bytes as f64 / rate.max(1e-3) / 1e6;
        let share = fits / (target + interval).as_secs_f64();
        let [target, interval] =
            [target, interval].map(|it| if share < 1.0 { it.mul_f64(share) } else { it });
        let round_trip = Duration::from_micros(rtt as u64);
        self.queue.set_target_over(target, interval, round_trip.max(target));
        self.queue.set_best_rate((1e6 * carried) as u64);
    }
}
