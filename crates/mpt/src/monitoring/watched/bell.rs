//! A bell by which one thread wakes another one.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The bell. It remembers that it was rung until somebody has waited for it.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Rings it.
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits until it is rung or the time is over. Returns true if it was rung.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, time, |rung| !*rung);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_ring_is_heard_once() {
        let bell = Bell::default();
        assert!(!bell.wait(Duration::from_millis(1)), "nobody has rung");
        bell.ring();
        bell.ring();
        assert!(bell.wait(Duration::ZERO), "also by who comes later");
        assert!(!bell.wait(Duration::ZERO));
    }

    #[test]
    fn it_wakes_who_waits() {
        let bell = Bell::default();
        let start = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| bell.wait(Duration::from_secs(60)));
            bell.ring();
            assert!(waiting.join().unwrap());
        });
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
