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

/// A rule for the windows.
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
    /// Share of the window by which it grows per round-trip time at least; nothing after the first reduction.
    least_growth: f64,
}

/// A window as it was, to be restored where a reduction was not due.
#[derive(Clone, Debug)]
pub struct Saved {
    window: f64,
    threshold: f64,
    cubic: Cubic,
}

impl Window {
    /// Begins with `initial` segments, in slow start up to `threshold`.
    pub fn new(control: Control, initial: f64, threshold: f64) -> Self {
        let (cubic, between_losses) = (Cubic::default(), (0.0, 0.0));
        Self { control, window: initial, threshold, cubic, between_losses, least_growth: 0.0 }
    }

    /// Until its first reduction it grows by at least this share of itself per round-trip time.
    #[must_use]
    pub fn with_least_growth(self, least_growth: f64) -> Self {
        Self { least_growth, ..self }
    }

    /// In segments.
    pub fn get(&self) -> f64 {
        self.window
    }

    /// True if it grows by what is acknowledged.
    pub fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// The window is as large as it should be.
    pub fn end_slow_start(&mut self) {
        self.threshold = self.window;
    }

    /// Slow-start threshold, in segments.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// See [`View::between_losses`].
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
            // No further than the threshold; what is left over is worth less than a segment.
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

    /// The response to congestion with `flight` segments outstanding.
    pub fn reduce(&mut self, flight: u64, own: usize, flows: &[View]) -> Saved {
        let saved =
            Saved { window: self.window, threshold: self.threshold, cubic: self.cubic.clone() };
        // What is not used is not known to be there (RFC 5681, 3.1).
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

    /// After a time-out the window is one segment.
    pub fn collapse(&mut self) {
        self.window = 1.0;
    }

    /// Not below `segments`.
    pub fn at_most(&mut self, segments: f64) {
        self.window = self.window.min(segments);
    }

    /// Takes a reduction back at once.
    pub fn restore(&mut self, saved: Saved) {
        self.window = self.window.max(saved.window);
        self.threshold = self.threshold.max(saved.threshold);
        self.cubic = saved.cubic;
    }

    /// Takes a reduction back by slow start up to the window that was.
    pub fn restore_slowly(&mut self, saved: Saved) {
        self.threshold = self.threshold.max(saved.window);
        self.cubic = saved.cubic;
    }
}
