//! "Congestion experienced" in outer headers (RFC 3168), by which a queue of the path announces
//! itself before any delay shows it.
//!
//! The mark reaches the inner flow as well (RFC 6040), which reacts to it as to a loss. So a path
//! that marks is kept below the rate at which it did, for long enough that a flow recovers between
//! two marks.

/// Time for which a mark limits the rate, in microseconds. A CUBIC flow that gets one mark in this
/// time has grown to its former rate again.
const MEMORY: i64 = 5_000_000;
/// The share of the delivered rate at a mark at which no queue stands again.
const BELOW: f64 = 0.97;

/// The limit that follows from marks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// Marked packets that were reported, modulo 2^32.
    reported: Option<u32>,
    /// The time until which the rate is limited, in microseconds, and the limit.
    limit: Option<(i64, f64)>,
}

impl Marks {
    /// Records a report of `marked` packets in all, whose highest number left at `sent_at`. Returns
    /// true if there are new marks that have not led to a cut yet. Marks on packets that left
    /// before `judged_from` have.
    pub(crate) fn record(&mut self, marked: u32, sent_at: i64, judged_from: i64) -> bool {
        let before = self.reported.replace(marked).unwrap_or(0);
        let is_new = marked.wrapping_sub(before).cast_signed() > 0;
        is_new && sent_at >= judged_from
    }

    /// Limits the rate after marks on a path whose best delivered rate is `best`.
    pub(crate) fn set_limit(&mut self, now: i64, best: f64) {
        self.limit = Some((now + MEMORY, BELOW * best));
    }

    /// Returns the present limit of the rate because of marks.
    pub(crate) fn limit(&self, now: i64) -> f64 {
        self.limit.filter(|&(until, _)| now < until).map_or(f64::INFINITY, |(_, limit)| limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_once_and_only_what_left_after_a_cut_counts_again() {
        let mut marks = Marks::default();
        assert!(!marks.record(0, 1_000, i64::MIN));
        assert!(marks.record(1, 2_000, i64::MIN));
        assert!(!marks.record(1, 3_000, 5_000));
        assert!(!marks.record(4, 4_000, 5_000));
        assert!(marks.record(5, 5_000, 5_000));
    }

    #[test]
    fn a_count_that_runs_backwards_says_nothing() {
        let mut marks = Marks::default();
        marks.record(u32::MAX, 1_000, i64::MIN);
        assert!(marks.record(0, 2_000, i64::MIN));
        assert!(!marks.record(u32::MAX, 3_000, i64::MIN));
    }

    #[test]
    fn a_mark_limits_the_rate_for_a_time() {
        let mut marks = Marks::default();
        assert_eq!(marks.limit(0), f64::INFINITY);
        marks.set_limit(1_000, 10.0);
        assert!((marks.limit(MEMORY) - 9.7).abs() < 1e-9);
        assert_eq!(marks.limit(MEMORY + 1_000), f64::INFINITY);
    }
}
