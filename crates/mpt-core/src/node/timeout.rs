//! The timers of a node.

use std::time::{Duration, Instant};

use super::Node;
use crate::DeviceSink;

/// The most sessions that are served in a call.
const SERVED: usize = 64;
/// The most sessions that are served in a call while more datagrams have come than were read. A
/// daemon with more to do than it can has to read: an echo that waits unread would only bring more
/// probes.
const SERVED_WHEN_BUSY: usize = 8;

impl<P: Copy> Node<P> {
    /// Returns when [`Self::handle_timeout`] is to be called. The time may be earlier than
    /// necessary, and is in the past when more is due than one call does.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let timers = [
            self.changed_at,
            self.tunnels.next_timeout(),
            self.sessions_timer(),
            self.prototypes.next_timeout(),
        ];
        timers.into_iter().flatten().min()
    }

    /// Does what is due: gives up gaps, delivers the packets behind them, and sends probes,
    /// handshakes and whatever has to be repeated. It serves only some of thousands of sessions at
    /// a time, so that the packets get their turn.
    pub fn handle_timeout<S: DeviceSink<P>>(&mut self, now: Instant, sink: &mut S) {
        self.follow_changes();
        if self.sessions_timer().is_some_and(|at| at <= now) {
            let most = if self.busy { SERVED_WHEN_BUSY } else { SERVED };
            if self.sessions.handle_timeouts(now, most, &mut self.tunnels) {
                self.sessions_served = Some(now);
            }
        }
        if self.prototypes.next_timeout().is_some_and(|at| at <= now) {
            self.prototypes.handle_timeout(now);
            self.follow_prototypes(now);
        }
        // Last: what sessions find out about paths ends the wait for their packets.
        self.tunnels.handle_timeout(now, sink);
        while let Some(connection) = self.tunnels.take_tail() {
            self.sessions.tell_tail(now, connection, &mut self.tunnels);
        }
        while let Some(connection) = self.tunnels.next_symbol() {
            self.sessions.send_symbol(now, connection, &mut self.tunnels);
        }
    }

    /// Lets timers of sessions be late by this time, so that those of thousands are served together
    /// and do not wake the owner one by one. A timer that comes alone is served in time.
    pub fn set_timer_slack(&mut self, slack: Duration) {
        self.timer_slack = slack;
    }

    /// Sets whether more datagrams have come than were handed in so far. Then these go first.
    pub fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    fn sessions_timer(&self) -> Option<Instant> {
        let at = self.sessions.next_timeout()?;
        Some(self.sessions_served.map_or(at, |served| at.max(served + self.timer_slack)))
    }
}
