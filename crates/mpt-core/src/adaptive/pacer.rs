//! Pacing: the time at which a path may send again.

/// The credit of a path that has been idle, in microseconds of its rate.
const BURST: f64 = 1_000.0;
/// The credit of a path that packets have waited for, in microseconds of its rate, since the thread
/// that sends them was late. It is as long as the queue that is tolerated in any path.
pub(super) const LATE: i64 = 10_000;
/// The time of its rate that a path lends to sparse flows until it has credit again, in microseconds.
const LENT: f64 = LATE as f64;
/// The bytes that any path lends: two full packets.
const LEAST_LENT: f64 = 3_000.0;

/// Spaces the packets of a path. Times are microseconds of the sender's clock, rates bytes per
/// microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// The time at which everything sent so far will have left at the rate of the path.
    next: f64,
    /// The bytes that sparse flows have sent without credit since the path last had some.
    borrowed: f64,
}

impl Pacer {
    pub(crate) const fn new() -> Self {
        Self { next: f64::MIN, borrowed: 0.0 }
    }

    /// Returns true if a packet may leave now.
    #[inline]
    pub(crate) fn has_credit(&self, now: i64) -> bool {
        self.next <= now as f64
    }

    /// Returns true if a packet of a sparse flow may leave now, with credit or without. Those without are
    /// bounded: a stream of acknowledgements that finds the queue empty again and again seems sparse each
    /// time, and would fill the queue of the path.
    #[inline]
    pub(crate) fn lends(&self, now: i64, rate: f64) -> bool {
        self.has_credit(now) || self.borrowed < (LENT * rate).max(LEAST_LENT)
    }

    /// Notes `bytes` bytes of a sparse flow that leave now.
    #[inline]
    pub(crate) fn lend(&mut self, now: i64, bytes: u32) {
        if !self.has_credit(now) {
            self.borrowed += f64::from(bytes);
        }
    }

    /// Returns the time at which a packet may leave.
    pub(crate) fn next(&self) -> i64 {
        self.next.ceil() as i64
    }

    /// Notes a packet that leaves now, after packets have waited `waited` microseconds for credit.
    /// The path may make up for what it could have carried meanwhile.
    #[inline]
    pub(crate) fn charge(&mut self, now: i64, bytes: u32, rate: f64, waited: i64) {
        if self.has_credit(now) {
            self.borrowed = 0.0;
        }
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

    /// A path of 1 byte per microsecond, for packets of 100 bytes: ten milliseconds are 10,000 bytes.
    #[test]
    fn what_sparse_flows_borrow_is_bounded_and_the_path_lends_again_when_it_has_credit() {
        let mut pacer = Pacer::new();
        pacer.hold_until(200_000);
        let mut send = |now| {
            let lends = pacer.lends(now, 1.0);
            if lends {
                pacer.lend(now, 100);
                pacer.charge(now, 100, 1.0, 0);
            }
            lends
        };
        let borrowed = (0..1_000).filter(|_| send(0)).count();
        assert_eq!(borrowed, 100);
        assert!(!send(209_999), "what was borrowed is not paid back yet");
        assert!(send(210_000));
        assert!((0..1_000).filter(|_| send(210_000)).count() >= 100);
    }

    #[test]
    fn a_slow_path_lends_two_full_packets() {
        let mut pacer = Pacer::new();
        pacer.hold_until(1_000_000);
        let sent = (0..10).take_while(|_| {
            let lends = pacer.lends(0, 0.008);
            pacer.lend(0, 1_500);
            lends
        });
        assert_eq!(sent.count(), 2);
    }

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
