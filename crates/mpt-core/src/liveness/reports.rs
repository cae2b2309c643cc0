//! The counts of our frames on a path, as the peer reports them.

use std::time::{Duration, Instant};

use crate::sequence::Sequence;

/// The peer has begun to count anew when only counts behind the highest one came for so long: no
/// report is that late.
const RECOUNTED: Duration = Duration::from_secs(10);

/// The highest count reported so far, and when it was last reported. The count wraps at 2^32;
/// reports come over all paths, hence out of order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reports {
    highest: Option<(Sequence, Instant)>,
}

impl Reports {
    /// Takes a report. Returns the time of the report before it, if this one shows that further
    /// frames have arrived at the peer. They arrived after that report was made, but it is not
    /// known how long after: counting from now would let the last frames that came through keep a
    /// dead path up for as long as the peer took to report them. The first report only sets the
    /// count.
    pub(super) fn handle(&mut self, now: Instant, frames: u32) -> Option<Instant> {
        let frames = Sequence(frames);
        let known = self.highest;
        let counts = known.is_none_or(|(highest, seen)| {
            frames == highest
                || frames.is_after(highest)
                || now.saturating_duration_since(seen) >= RECOUNTED
        });
        if counts {
            self.highest = Some((frames, now));
        }
        known.filter(|&(highest, _)| frames.is_after(highest)).map(|(_, seen)| seen)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    #[test]
    fn only_growth_counts() {
        let now = Instant::now();
        let mut reports = Reports::default();
        let shown = [7, 7, 8, 6, 8, 9].map(|frames| reports.handle(now, frames).is_some());
        assert_eq!(shown, [false, false, true, false, false, true]);
    }

    #[test]
    fn the_count_wraps() {
        let now = Instant::now();
        let mut reports = Reports::default();
        let shown = [u32::MAX - 1, u32::MAX, u32::MAX - 1, 0, u32::MAX, 5, 0];
        let shown = shown.map(|frames| reports.handle(now, frames).is_some());
        assert_eq!(shown, [false, true, false, true, false, true, false]);
    }

    #[test]
    fn a_peer_that_counts_anew_is_understood_after_a_while() {
        let start = Instant::now();
        let mut reports = Reports::default();
        reports.handle(start, 1000);
        assert_eq!(reports.handle(start + RECOUNTED / 2, 5), None);
        assert_eq!(reports.handle(start + RECOUNTED, 6), None, "where it stands");
        assert_eq!(reports.handle(start + RECOUNTED * 2, 7), Some(start + RECOUNTED));
        assert_eq!(reports.handle(start + RECOUNTED * 2, 7), None);
    }

    #[test]
    fn frames_arrived_after_the_report_before() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut reports = Reports::default();
        reports.handle(at(0), 3);
        assert_eq!(reports.handle(at(50), 4), Some(at(0)));
        assert_eq!(reports.handle(at(60), 4), None);
        assert_eq!(reports.handle(at(70), 3), None, "late");
        assert_eq!(reports.handle(at(80), 9), Some(at(60)));
    }
}
