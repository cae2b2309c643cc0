//! Congestion control of the profile `rfc`: how the window of a subflow grows and shrinks. Windows are in segments.

mod coupled;
mod cubic;
mod view;

use serde::{Deserialize, Serialize};

use crate::kernel::time::Time;

use cubic::Cubic;
pub use view::View;

/// Smallest slow-start threshold (RFC 5681, equation 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Each subflow is a TCP of its own (RFC 5681).
    Reno,
    /// Each subflow is a TCP of its own with cubic growth (RFC 9438).
    Cubic,
    /// Growth and decrease follow the sum of all windows (equations (3) and (4) of Alheid et al. 2014; COUPLED of
    /// Wischik et al., NSDI 2011).
    FullyCoupled,
    /// Linked increases (RFC 6356).
    Lia,
    /// Opportunistic linked increases (Khalili et al., CoNEXT 2012).
    Olia,
    /// Balanced linked adaptation (Peng et al., IEEE/ACM Transactions on Networking 2016).
    Balia,
}

/// The window of one subflow.
#[derive(Clone, Debug)]
pub struct Window {
    control: Control,
    window: f64,
    threshold: f64,
    cubic: Cubic,
    /// Segments acknowledged between the last two losses, and since the last.
    between_losses: (f64, f64),
    /// Least growth per round-trip time as a share of the window; 0 after the first reduction.
    least_growth: f64,
}

/// The state of a window before a reduction, to be restored if the reduction was not due.
#[derive(Clone, Debug)]
pub struct Saved {
    window: f64,
    threshold: f64,
    cubic: Cubic,
}

impl Window {
    /// Returns a window of `initial` segments, in slow start up to `threshold`.
    pub fn new(control: Control, initial: f64, threshold: f64) -> Self {
        let (cubic, between_losses) = (Cubic::default(), (0.0, 0.0));
        Self { control, window: initial, threshold, cubic, between_losses, least_growth: 0.0 }
    }

    /// Makes the window grow by at least this share of itself per round-trip time until its first reduction.
    #[must_use]
    pub fn with_least_growth(self, least_growth: f64) -> Self {
        Self { least_growth, ..self }
    }

    /// Returns the window in segments.
    pub fn get(&self) -> f64 {
        self.window
    }

    /// True if it grows by what is acknowledged.
    pub fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Ends slow start: the window is as large as it should be.
    pub fn end_slow_start(&mut self) {
        self.threshold = self.window;
    }

    /// Returns the slow-start threshold, in segments.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the segments between losses; see [`View::between_losses`].
    pub fn between_losses(&self) -> f64 {
        self.between_losses.0.max(self.between_losses.1)
    }

    /// Counts what was acknowledged, whether the window grows by it or not.
    pub fn acknowledged(&mut self, segments: u64) {
        self.between_losses.1 += segments as f64;
    }

    /// Grows by an acknowledgement of `segments`. `flows` has all subflows, this one at `own`.
    pub fn grow(&mut self, now: Time, segments: u64, own: usize, flows: &[View]) {
        if self.window < self.threshold {
            // Growth ends at the threshold; the rest is worth less than a segment.
            let grown = self.window + segments as f64;
            self.window = grown.min(self.threshold.max(self.window + 1.0));
            return;
        }
        let segments = segments as f64;
        let growth = match self.control {
            Control::Reno => segments / self.window,
            Control::Cubic => self.cubic.increase(now, segments, self.window, flows[own].rtt),
            Control::FullyCoupled => segments / coupled::total(flows),
            Control::Lia => segments * coupled::lia(own, flows),
            Control::Olia => segments * coupled::olia(own, flows),
            Control::Balia => segments * coupled::balia_increase(own, flows),
        };
        self.window += growth.max(segments * self.least_growth);
    }

    /// Responds to congestion with `flight` segments outstanding.
    pub fn reduce(&mut self, flight: u64, own: usize, flows: &[View]) -> Saved {
        let saved =
            Saved { window: self.window, threshold: self.threshold, cubic: self.cubic.clone() };
        // Only the used part of the window is known to be there (RFC 5681, 3.1).
        let used = self.window.min(flight as f64);
        let reduced = match self.control {
            Control::Reno | Control::Lia | Control::Olia => used / 2.0,
            Control::Cubic => self.cubic.reduce(used),
            Control::FullyCoupled => used - coupled::total(flows) / 2.0,
            Control::Balia => used - coupled::balia_decrease(own, flows) * used,
        };
        self.threshold = reduced.max(LEAST_THRESHOLD);
        self.least_growth = 0.0;
        self.window = self.threshold;
        self.between_losses = (self.between_losses.1, 0.0);
        saved
    }

    /// Reduces the window to one segment, as after a time-out.
    pub fn collapse(&mut self) {
        self.window = 1.0;
    }

    /// Limits the window to `segments`.
    pub fn at_most(&mut self, segments: f64) {
        self.window = self.window.min(segments);
    }

    /// Takes a reduction back at once.
    pub fn restore(&mut self, saved: Saved) {
        self.window = self.window.max(saved.window);
        self.threshold = self.threshold.max(saved.threshold);
        self.cubic = saved.cubic;
    }

    /// Takes a reduction back by slow start up to the earlier window.
    pub fn restore_slowly(&mut self, saved: Saved) {
        self.threshold = self.threshold.max(saved.window);
        self.cubic = saved.cubic;
    }
}
