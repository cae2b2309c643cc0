//! Whether data flows on the connection of a session.

use std::time::{Duration, Instant};

/// The connection counts as idle when no packet went either way for so long.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// The traffic of a connection, by the number of packets that it has carried.
#[derive(Debug)]
pub(crate) struct Traffic {
    packets: u64,
    flow: Flow,
}

#[derive(Debug)]
enum Flow {
    /// Packets flow; the last ones were noticed at this time.
    Active(Instant),
    Idle,
}

impl Traffic {
    /// The traffic of a session that begins: it counts as active.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { packets: 0, flow: Flow::Active(now) }
    }

    /// Notes how many packets the connection has carried. Returns true if there are new ones.
    pub(crate) fn observe(&mut self, now: Instant, packets: u64) -> bool {
        let new = packets != std::mem::replace(&mut self.packets, packets);
        if let Flow::Active(last) = &mut self.flow
            && new
        {
            *last = now;
        }
        new
    }

    /// Declares the connection active or idle. Returns true if it was not so before.
    pub(crate) fn set_active(&mut self, now: Instant, active: bool) -> bool {
        let before = self.is_active();
        self.flow = if active { Flow::Active(now) } else { Flow::Idle };
        before != active
    }

    /// Returns true if packets flow.
    pub(crate) const fn is_active(&self) -> bool {
        matches!(self.flow, Flow::Active(_))
    }

    /// Returns when an active connection becomes idle, unless packets come.
    pub(crate) fn idle_at(&self) -> Option<Instant> {
        match self.flow {
            Flow::Active(last) => Some(last + IDLE_AFTER),
            Flow::Idle => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any time will do as the first")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn packets_put_off_the_time_at_which_it_becomes_idle() {
        let (now, later) = (start(), start() + Duration::from_millis(600));
        let mut traffic = Traffic::new(now);
        assert_eq!(traffic.idle_at(), Some(now + IDLE_AFTER));
        assert!(traffic.observe(later, 1));
        assert_eq!(traffic.idle_at(), Some(later + IDLE_AFTER));
        assert!(!traffic.observe(later + Duration::from_millis(1), 1), "no new packet");
        assert_eq!(traffic.idle_at(), Some(later + IDLE_AFTER));
    }

    #[test]
    fn what_is_idle_notices_packets_but_stays_idle_until_it_is_declared_active() {
        let now = start();
        let mut traffic = Traffic::new(now);
        assert!(traffic.set_active(now, false));
        assert!(!traffic.set_active(now, false), "it was idle before");
        assert!(traffic.observe(now, 1));
        assert_eq!((traffic.is_active(), traffic.idle_at()), (false, None));
        assert!(traffic.set_active(now, true));
        assert_eq!((traffic.is_active(), traffic.idle_at()), (true, Some(now + IDLE_AFTER)));
    }
}
