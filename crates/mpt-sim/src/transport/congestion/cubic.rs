//! Cubic growth (RFC 9438).

use crate::kernel::time::Time;

/// Multiplicative decrease, and scale in segments per second cubed (RFC 9438, 4.1 and 4.6).
const BETA: f64 = 0.7;
const C: f64 = 0.4;

/// State of one congestion avoidance epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// Window at the last congestion event: W_max; 0 before the first.
    highest: f64,
    epoch: Option<Epoch>,
}

#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    /// Seconds until the window reaches its earlier size again: K.
    return_time: f64,
    origin: f64,
    /// The window that Reno would have with this decrease, in segments: W_est.
    reno: f64,
}

impl Cubic {
    pub(super) fn increase(&mut self, now: Time, segments: f64, window: f64, rtt: f64) -> f64 {
        let highest = self.highest;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            return_time: libm::cbrt((highest - window).max(0.0) / C),
            origin: highest.max(window),
            reno: window,
        });
        let at = |time: f64| {
            let distance = time - epoch.return_time;
            C * distance * distance * distance + epoch.origin
        };
        let time = (now - epoch.start).as_secs_f64();
        // 4.3: W_est grows by alpha segments per window, by one once it is where the window was.
        let alpha = if epoch.reno < highest { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        let reno = epoch.reno + alpha * segments / window;
        let increase = if at(time) < reno {
            reno - window
        } else {
            // 4.4: towards where the curve is one round-trip time on, by half of the window at most.
            let target = at(time + rtt).clamp(window, 1.5 * window);
            (target - window) / window * segments
        };
        epoch.reno = reno;
        increase.max(0.0)
    }

    /// Returns the window after a congestion event (4.6), with fast convergence (4.7).
    pub(super) fn reduce(&mut self, window: f64) -> f64 {
        self.epoch = None;
        self.highest = if window < self.highest { window * (1.0 + BETA) / 2.0 } else { window };
        window * BETA
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_window_is_back_after_k_seconds() {
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce(1000.0);
        assert_eq!(window, 700.0);
        // K = cbrt(300 / 0.4) = 9.09 s, with a round-trip time at which Reno is slower.
        let rtt = Duration::from_millis(100);
        let mut now = Time::ZERO;
        while now < Time::ZERO + Duration::from_secs_f64(9.086) {
            for _ in 0..100 {
                window += cubic.increase(now, window / 100.0, window, rtt.as_secs_f64());
                now = now + rtt / 100;
            }
        }
        assert!((window - 1000.0).abs() < 2.0, "{window}");
    }

    #[test]
    fn it_is_never_slower_than_reno_of_its_decrease() {
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce(20.0);
        let start = window;
        let mut now = Time::ZERO;
        for _ in 0..10 {
            for _ in 0..10 {
                window += cubic.increase(now, window / 10.0, window, 0.001);
                now = now + Duration::from_micros(100);
            }
        }
        let reno = start + 10.0 * 3.0 * 0.3 / 1.7;
        assert!((window - reno).abs() < 0.3, "{window} {reno}");
    }
}
