//! What a session does when its time has come.

use std::time::{Duration, Instant};

use mpt_wire::control::{Kind, Reason};

use super::session::Session;
use super::shared::Shared;
use super::{CloseReason, Event, Sessions};
use crate::Tunnels;

/// A session whose timer would be due at once again has to wait for so long: whatever the cause,
/// it never keeps the others from their turn.
const SHORTEST_TIMER: Duration = Duration::from_micros(100);

impl Sessions {
    /// Does what is due for at most `most` sessions, those that wait for it longest. If more are due,
    /// [`Self::next_timeout`] has passed: an owner with too much to do looks first at what has come.
    /// Whether nothing more is due.
    pub(crate) fn handle_timeouts<P: Copy>(
        &mut self,
        now: Instant,
        most: usize,
        tunnels: &mut Tunnels<P>,
    ) -> bool {
        for _ in 0..most {
            let Some(slot) = self.timers.pop(now) else { return true };
            self.handle_session_timeout(now, slot, tunnels);
        }
        self.timers.earliest().is_none_or(|at| at > now)
    }

    pub(super) fn handle_session_timeout<P: Copy>(
        &mut self,
        now: Instant,
        slot: u32,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let shared = &mut self.shared;
        session.keys.expire(now, |gone| shared.forget(&gone));
        if let Some(reason) = session.ends(now, self.limits.attach_within, shared) {
            if session.handshake.established.is_some() {
                shared.tell_closed(session.id, session.connection, reason, session.dynamic);
            }
            self.remove(slot);
            return;
        }
        if session.keys.current.is_none() && session.keys.unconfirmed().is_none() {
            session.handshake.established = None;
        }
        // Before this end begins or repeats a handshake, its peer is looked up again.
        if self.end_if_not_admitted(now, slot) {
            return;
        }
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let shared = &mut self.shared;
        session.handle_timeout(now, slot, shared, tunnels);
        if let Some(at) = session.deadline(&self.limits)
            && at <= now
        {
            session.expired = true;
            let (session, connection) = (session.id, session.connection);
            shared.events.push_back(Event::Expired { session, connection });
        }
        if let Some(at) = session.next_timeout(&self.limits) {
            self.timers.set_no_later(slot, at.max(now + SHORTEST_TIMER));
        }
    }
}

impl Session {
    /// Why a session that the peer opened is over, if it is.
    fn ends(
        &mut self,
        now: Instant,
        attach_within: Duration,
        shared: &mut Shared,
    ) -> Option<CloseReason> {
        if !self.dynamic {
            return None;
        }
        if self.keys.is_empty() {
            return Some(CloseReason::Silent);
        }
        let waits = self.kind != Kind::Steering;
        let since = self.without_connection().filter(|_| waits)?;
        if now < since + attach_within {
            return None;
        }
        self.send_goodbye(now, shared, Reason::REFUSED);
        Some(CloseReason::NotAttached)
    }

    fn handle_timeout<P: Copy>(
        &mut self,
        now: Instant,
        slot: u32,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        self.rest_if_idle(now, tunnels);
        for path in &mut self.paths {
            if let Some(data) = tunnels.path(path.id) {
                path.weigh(now, data);
            }
        }
        self.settle(now, shared, tunnels);
        for i in 0..self.paths.len() {
            let token = shared.random.u64();
            // Where there are no keys or no address it counts as lost.
            if self.paths[i].liveness.poll_probe(now, token)
                && let Some(place) = self.keys.sending(now)
            {
                self.send_probe(now, shared, place, i, token, tunnels);
            }
            self.probe_path_mtu(now, i, shared, tunnels);
        }
        self.fail_unanswered(now, shared);
        self.send_requests(now, shared);
        self.drive_test(now, shared, tunnels);
        self.drive_surveys(now, shared, tunnels);
        self.learn(now, shared, tunnels);
        self.drive_handshake(now, slot, shared, tunnels);
    }
}
