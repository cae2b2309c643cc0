//! The silence of a peer that sends no reports. Nothing can be learnt from one that does not know them, so
//! its paths are given whatever there is to send.

/// The time without any report after which a peer is silent, and the time without packets after which it has
/// not been asked for any, in microseconds.
const SILENCE: i64 = 1_500_000;

/// The packets that no report has followed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// The times at which the first and the latest of them left, or `None` without any.
    unreported: Option<(i64, i64)>,
}

impl Silence {
    /// Notes a packet that leaves. A peer need not report on a packet that comes alone after a pause, since
    /// it is asked for reports behind that. So packets before a pause say nothing.
    #[inline]
    pub(super) fn note_sent(&mut self, now: i64) {
        let since = match self.unreported {
            Some((since, last)) if now - last <= SILENCE => since,
            _ => now,
        };
        self.unreported = Some((since, now));
    }

    /// Notes a report.
    pub(super) fn note_report(&mut self) {
        self.unreported = None;
    }

    /// Returns true if the peer has sent no report for long, although packets have left all the time.
    #[inline]
    pub(super) fn is_silent(&self, now: i64) -> bool {
        self.unreported.is_some_and(|(since, last)| now - since > SILENCE && now - last <= SILENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_silent_if_packets_leave_all_the_time_and_no_report_comes() {
        let mut silence = Silence::default();
        for now in (0..=1_500_000).step_by(100_000) {
            assert!(!silence.is_silent(now), "{now}");
            silence.note_sent(now);
        }
        assert!(silence.is_silent(1_600_000));
        silence.note_report();
        assert!(!silence.is_silent(1_600_000));
    }

    #[test]
    fn a_packet_before_a_pause_says_nothing() {
        let mut silence = Silence::default();
        silence.note_sent(0);
        for now in [3_000_000, 3_000_100, 4_000_000] {
            assert!(!silence.is_silent(now), "{now}");
            silence.note_sent(now);
        }
        assert!(silence.is_silent(4_600_000));
    }
}
