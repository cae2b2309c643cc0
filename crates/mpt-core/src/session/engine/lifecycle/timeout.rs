//! The work of a session that is due at its timers.

use std::time::{Duration, Instant};

use super::session::Session;
use crate::Tunnels;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Event, Limits, Sessions};

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

    pub(crate) fn handle_session_timeout<P: Copy>(
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
                shared.tell_closed(
                    session.id,
                    session.link.connection(),
                    reason,
                    session.origin.is_peer(),
                );
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
            session.origin.expire();
            let (session, connection) = (session.id, session.link.connection());
            shared.events.push_back(Event::Expired { session, connection });
        }
        if let Some(at) = session.next_timeout(&self.limits) {
            self.timers.set_no_later(slot, at.max(now + SHORTEST_TIMER));
        }
    }
}

impl Session {
    /// Returns when [`crate::session::engine::Sessions::handle_timeout`] has something to do for this session.
    pub(crate) fn next_timeout(&self, limits: &Limits) -> Option<Instant> {
        let rtt = self.paths.rtt();
        let paths = self.paths.iter().filter_map(|path| path.liveness.next_timeout());
        let sizes = self.paths.iter().filter_map(|path| path.discovery.next_timeout());
        let surveys = self.paths.iter().filter_map(|path| path.survey.next_timeout());
        let attempt = self.handshake.attempt.as_ref().map(|attempt| attempt.next_send);
        let confirm =
            self.keys.candidates.iter().filter(|it| it.is_initiator()).map(|it| it.confirm_at);
        let has_keys = self.keys.current.is_some();
        let announce =
            self.tables.own.as_ref().and_then(|own| own.next_due(rtt)).filter(|_| has_keys);
        let idle = self.traffic.idle_at().filter(|_| self.link.connection().is_some());
        let others = [
            attempt,
            announce,
            idle,
            self.handshake_at(),
            self.keys.next_expiry(),
            self.sealing_ends_at(),
            self.requests.next_timeout(),
            self.test.as_ref().and_then(|test| test.speed.next_timeout()),
            self.deadline(limits),
            self.learning.next_timeout(),
        ];
        paths.chain(sizes).chain(surveys).chain(confirm).chain(others.into_iter().flatten()).min()
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
            // A probe that cannot leave, since there are no keys or no address, counts as lost.
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
