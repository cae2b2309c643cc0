//! When to stay awake: a sleeping process is woken late, one that watches the clock is not.

use std::time::{Duration, Instant};

/// How long before a frame is due the clock is watched. Sleeping on, the kernel wakes us some 40 us late.
const BEFORE: Duration = Duration::from_micros(50);
/// One part in so many of the time may be watched: a machine that is to carry traffic has other things to do.
const SHARE: u32 = 40;
/// Saved up at the most.
const SAVED: Duration = Duration::from_millis(1);

/// Watches for as many frames as its share of the time allows: for all where they are few, for hardly any of the thousands a second of
/// fast links, which wake us all the time anyway.
#[derive(Debug)]
pub(super) struct Watch {
    saved: Duration,
    counted: Instant,
    /// The frame for whose due time it was decided to watch.
    due: Option<Instant>,
}

impl Watch {
    /// From now on.
    pub(super) fn new(now: Instant) -> Self {
        Self { saved: Duration::ZERO, counted: now, due: None }
    }

    /// How long to sleep where the next frame is due at `due`.
    pub(super) fn sleep(&mut self, now: Instant, due: Instant) -> Duration {
        let left = due.saturating_duration_since(now);
        if self.due != Some(due) {
            let earned = now.saturating_duration_since(self.counted) / SHARE;
            (self.saved, self.counted) = (SAVED.min(self.saved + earned), now);
            if self.saved < BEFORE {
                return left;
            }
            self.saved -= BEFORE;
            self.due = Some(due);
        }
        left.saturating_sub(BEFORE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// For how many frames it watches, one of which is due every `apart`.
    fn watched(apart: Duration, frames: u32) -> u32 {
        let start = Instant::now();
        let mut watch = Watch::new(start);
        let slept = |n: u32| watch.sleep(start + apart * n, start + apart * (n + 1));
        (1..=frames).map(slept).filter(|&slept| slept < apart).count() as u32
    }

    #[test]
    fn few_frames_are_all_watched_for() {
        assert_eq!(watched(2 * MS, 1000), 1000);
    }

    #[test]
    fn of_many_as_many_as_take_a_fortieth_of_the_time() {
        let apart = Duration::from_micros(100);
        let share = watched(apart, 10_000) * BEFORE;
        assert!(share <= apart * 10_000 / SHARE && share >= apart * 9_900 / SHARE, "{share:?}");
    }

    #[test]
    fn what_comes_meanwhile_does_not_end_the_watch() {
        let start = Instant::now();
        let mut watch = Watch::new(start - 10 * MS);
        let due = start + MS;
        assert_eq!(watch.sleep(start, due), MS - BEFORE);
        assert_eq!(watch.sleep(start + MS / 2, due), MS / 2 - BEFORE);
        assert_eq!(watch.sleep(due - BEFORE / 2, due), Duration::ZERO);
    }
}
