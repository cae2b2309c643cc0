//! Pacing: the time at which a path may send again.

/// The credit of a path that has been idle, in microseconds of its rate.
const BURST: f64 = 1_000.0;
/// The credit of a path that packets have waited for, in microseconds of its rate, since the thread
/// that sends them was late. It is as long as the queue that is tolerated in any path.
pub(super) const LATE: i64 = 10_000;

/// Spaces the packets of a path. Times are microseconds of the sender's clock, rates bytes per
/// microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// The time at which everything sent so far will have left at the rate of the path.
    next: f64,
}

impl Pacer {
    pub(crate) const fn new() -> Self {
        Self { next: f64::MIN }
    }

    /// Returns true if a packet may leave now.
    #[inline]
    pub(crate) fn has_credit(&self, now: i64) -> bool {
        self.next <= now as f64
    }

    /// Returns the time at which a packet may leave.
    pub(crate) fn next(&self) -> i64 {
        self.next.ceil() as i64
    }

    /// Notes a packet that leaves now, after packets have waited `waited` microseconds for credit.
    /// The path may make up for what it could have carried meanwhile.
    #[inline]
    pub(crate) fn charge(&mut self, now: i64, bytes: u32, rate: f64, waited: i64) {
        let unused = (waited as f64).clamp(BURST, LATE as f64);
        self.next = self.next.max(now as f64 - unused) + f64::from(bytes) / rate;
    }

    /// Lets packets leave from now on, whatever was set before.
    pub(crate) fn release(&mut self, now: i64) {
        self.next = self.next.min(now as f64);
    }

    /// Lets no packet leave before `time`.
    pub(crate) fn hold_until(&mut self, time: i64) {
        self.next = self.next.max(time as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that leave in 100 ms over a path of 1 byte per microsecond, in packets of
    /// 100 bytes, where the thread wakes every `interval` microseconds and packets have waited for
    /// `waited`.
    fn sent(interval: i64, waited: i64) -> i64 {
        let mut pacer = Pacer::new();
        let mut bytes = 0;
        for now in (0..100_000).step_by(interval as usize) {
            while pacer.has_credit(now) {
                pacer.charge(now, 100, 1.0, waited);
                bytes += 100;
            }
        }
        bytes
    }

    #[test]
    fn a_thread_that_is_late_loses_nothing_while_packets_wait() {
        for interval in [100, 1_000, 5_000] {
            let bytes = sent(interval, 20_000);
            assert!((95_000..=111_000).contains(&bytes), "{bytes} every {interval} us");
        }
    }

    #[test]
    fn a_path_that_was_idle_sends_no_more_at_once_than_it_carries_in_a_millisecond() {
        assert_eq!(sent(50_000, 0), 2 * 1_100);
        assert_eq!(sent(50_000, 1_000_000), 2 * 10_100);
    }
}
