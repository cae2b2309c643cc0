//! When a path may send again.

/// A path that has been idle may send at most what it carries in this time at once, in microseconds.
const BURST: f64 = 1_000.0;

/// Spaces the packets of a path. Times are microseconds of the sender's clock, rates bytes per
/// microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When what was sent so far will have left at the rate of the path.
    next: f64,
}

impl Pacer {
    pub(crate) const fn new() -> Self {
        Self { next: f64::MIN }
    }

    /// True if a packet may leave now.
    #[inline]
    pub(crate) fn has_credit(&self, now: i64) -> bool {
        self.next <= now as f64
    }

    /// Returns the time at which a packet may leave.
    pub(crate) fn next(&self) -> i64 {
        self.next.ceil() as i64
    }

    /// A packet leaves now.
    #[inline]
    pub(crate) fn charge(&mut self, now: i64, bytes: u32, rate: f64) {
        self.next = self.next.max(now as f64 - BURST) + f64::from(bytes) / rate;
    }

    /// Packets may leave from now on, whatever was said before.
    pub(crate) fn release(&mut self, now: i64) {
        self.next = self.next.min(now as f64);
    }

    /// Nothing leaves before `time`.
    pub(crate) fn hold_until(&mut self, time: i64) {
        self.next = self.next.max(time as f64);
    }
}
