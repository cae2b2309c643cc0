//! The probe interval of a session: short while data flows on its connection, long while it is
//! idle.

use std::time::Instant;

use super::session::Session;
use crate::{Connection, Tunnels};

impl Session {
    /// Looks by the connection's counters whether there is traffic. Returns true if packets were
    /// carried since the last look.
    pub(crate) fn observe_traffic<P: Copy>(&mut self, now: Instant, tunnels: &Tunnels<P>) -> bool {
        let connection = self.link.connection().and_then(|id| tunnels.connection(id));
        connection.is_some_and(|connection| self.traffic.observe(now, packets(connection)))
    }

    /// Probes seldom from now on if no packet was carried for some time.
    pub(crate) fn rest_if_idle<P: Copy>(&mut self, now: Instant, tunnels: &mut Tunnels<P>) {
        if self.traffic.is_active() {
            self.observe_traffic(now, tunnels);
            if self.traffic.idle_at().is_some_and(|at| at <= now) {
                self.set_active(now, false, tunnels);
            }
        }
    }

    /// Probes often if packets have come on an idle connection.
    pub(crate) fn wake_if_used<P: Copy>(&mut self, now: Instant, tunnels: &mut Tunnels<P>) {
        if !self.traffic.is_active() && self.observe_traffic(now, tunnels) {
            self.set_active(now, true, tunnels);
        }
    }

    /// Probes often, or seldom.
    pub(crate) fn set_active<P: Copy>(
        &mut self,
        now: Instant,
        active: bool,
        tunnels: &mut Tunnels<P>,
    ) {
        if !self.traffic.set_active(now, active) {
            return;
        }
        for path in &mut self.paths {
            path.liveness.set_active(now, active);
            path.discovery.set_active(now, active);
        }
        if let Some(connection) = self.link.connection().filter(|_| !active) {
            tunnels.set_quiet(connection);
        }
    }
}

/// Inner packets sent and received.
fn packets<P: Copy>(connection: &Connection<P>) -> u64 {
    connection.sent().packets + connection.accepted().total()
}
