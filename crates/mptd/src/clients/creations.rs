//! How many connections are created in a second.

use std::time::{Duration, Instant};

/// Counts creations in the running second.
#[derive(Debug, Default)]
pub(super) struct Creations {
    since: Option<Instant>,
    count: u32,
}

impl Creations {
    /// Whether one more is allowed now; it is counted if so.
    pub(super) fn admit(&mut self, now: Instant, per_second: u32) -> bool {
        let running = |since| now.saturating_duration_since(since) < Duration::from_secs(1);
        if !self.since.is_some_and(running) {
            (self.since, self.count) = (Some(now), 0);
        }
        let admitted = self.count < per_second;
        self.count += u32::from(admitted);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_in_a_second_than_allowed() {
        let mut creations = Creations::default();
        let start = Instant::now();
        let admitted = (0..10).filter(|_| creations.admit(start, 3)).count();
        assert_eq!(admitted, 3);
        assert!(!creations.admit(start + Duration::from_millis(999), 3));
        assert!(creations.admit(start + Duration::from_millis(1000), 3));
    }
}
