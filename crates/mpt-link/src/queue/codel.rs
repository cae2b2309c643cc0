//! The dropping rule of a queue by the time its packets have waited: CoDel (RFC 8289).

/// Times of CoDel, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// Wait that a queue may have permanently (`TARGET`).
    pub(crate) target: u64,
    /// The time within which it has to be below that once (`INTERVAL`).
    pub(crate) interval: u64,
}

/// The state of one queue (RFC 8289, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Codel {
    /// The time at which the wait will have been above the target for an interval; `None` while it is below.
    first_above: Option<u64>,
    dropping: bool,
    /// The time at which the next packet is dropped, while packets are dropped.
    drop_next: u64,
    /// Packets dropped since packets are, and when that began the last time.
    count: u32,
    last_count: u32,
}

/// The outcome for a packet that leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is sent.
    Send,
    /// It is dropped, or sent with a mark.
    Congested,
}

impl Codel {
    /// A packet leaves the queue at `now`, for which it has waited so long; `rest` bytes are behind it. A packet that is
    /// congested and dropped does not count as sent: the next one has to be asked about.
    pub(crate) fn verdict(
        &mut self,
        now: u64,
        waited: u64,
        rest_is_small: bool,
        times: Times,
    ) -> Verdict {
        let may_drop = self.stands(now, waited, rest_is_small, times);
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            } else if now >= self.drop_next {
                self.count += 1;
                self.drop_next = law(self.drop_next, self.count, times);
                return Verdict::Congested;
            }
        } else if may_drop {
            self.dropping = true;
            // If it was dropping a moment ago, the rate that was found then is a good one to begin with.
            let delta = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < times.interval.saturating_mul(16);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = law(now, self.count, times);
            return Verdict::Congested;
        }
        Verdict::Send
    }

    /// The queue is empty.
    pub(crate) fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// True if the wait has been above the target for an interval.
    fn stands(&mut self, now: u64, waited: u64, rest_is_small: bool, times: Times) -> bool {
        if waited < times.target || rest_is_small {
            self.first_above = None;
            return false;
        }
        let due = *self.first_above.get_or_insert(now.saturating_add(times.interval));
        now >= due
    }
}

/// The time between drops shrinks with the square root of their number, so that the rate of a TCP flow falls linearly.
fn law(time: u64, count: u32, times: Times) -> u64 {
    let wait = times.interval as f64 / libm::sqrt(f64::from(count));
    time.saturating_add(wait as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { target: 5, interval: 100 };

    /// Packets that leave at every time from 0 on, having waited so long: which are congested.
    fn congested(waits: impl Fn(u64) -> u64, until: u64) -> Vec<u64> {
        let mut codel = Codel::default();
        (0..until)
            .filter(|&now| codel.verdict(now, waits(now), false, TIMES) == Verdict::Congested)
            .collect()
    }

    #[test]
    fn a_short_queue_drops_nothing() {
        assert_eq!(congested(|_| 4, 1000), []);
        // Once in each interval it is short.
        assert_eq!(congested(|now| if now % 100 == 0 { 4 } else { 50 }, 1000), []);
    }

    #[test]
    fn a_standing_queue_drops_ever_more_often() {
        // 100, then 100/sqrt(1), 100/sqrt(2), 100/sqrt(3), .. later.
        let list = congested(|_| 50, 400);
        assert_eq!(list, [100, 200, 270, 327, 377]);
    }

    #[test]
    fn what_was_found_a_moment_ago_counts() {
        // Standing, short at 400, standing again: it begins where it was, as often as it had dropped since it began.
        let list = congested(|now| if now == 400 { 0 } else { 50 }, 620);
        assert_eq!(list, [100, 200, 270, 327, 377, 501, 551, 595]);
    }
}
