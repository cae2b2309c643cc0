//! The output that the owner of a [`Sessions`] takes: frames, events, and the requests of peers,
//! with their answers.

use std::time::Instant;

use crate::session::PublicKey;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Event, PathEvent, RequestRefused, SessionId, Sessions, Transmit};

impl Sessions {
    /// Asks the peer for something: `body` has at most 1024 bytes. The number comes back with
    /// [`Event::Result`]. The frame leaves with the next [`Self::handle_timeout`], which is due.
    ///
    /// # Errors
    ///
    /// [`RequestRefused`]
    pub(crate) fn request(
        &mut self,
        now: Instant,
        id: SessionId,
        body: Vec<u8>,
    ) -> Result<u32, RequestRefused> {
        let slot = self.slot(id).ok_or(RequestRefused::NoSession)?;
        let session = self.at(slot).ok_or(RequestRefused::NoSession)?;
        let request = session.requests.ask(now, body)?;
        self.timers.set_no_later(slot, now);
        Ok(request)
    }

    /// Answers a request: [`Event::Request`] gave `request`. Every request has to be answered, also
    /// when its session has ended meanwhile: until then it counts as one that the owner works on.
    /// Returns false if there is no such session or the answer is longer than 1 MiB; then it can be
    /// answered otherwise.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        id: SessionId,
        request: u32,
        body: Vec<u8>,
    ) -> bool {
        self.shared.shares.done(id, request);
        let Some(slot) = self.slot(id) else { return false };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return false };
        session.answer(now, request, body, &mut self.shared)
    }

    /// The next frame to be sent.
    #[inline]
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.shared.outbox.pop()
    }

    /// Takes back the memory of a frame that was sent.
    pub(crate) fn recycle(&mut self, frame: Vec<u8>) {
        self.shared.outbox.recycle(frame);
    }

    /// Returns the next event of a session, and then the next request of a peer, one of each peer
    /// in turn, as long as fewer than [`MAX_HANDED`](crate::session::engine::MAX_HANDED) are
    /// unanswered.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        let shared = &mut self.shared;
        shared.events.pop_front().or_else(|| shared.shares.next())
    }

    /// Returns the next event of a path. The owner of the tunnels has to follow it at once. The
    /// other events may wait here, within bounds.
    #[inline]
    pub(crate) fn poll_path_event(&mut self) -> Option<PathEvent> {
        self.shared.path_events.pop_front()
    }

    /// Returns true if [`Self::poll_event`] would give something.
    #[must_use]
    pub(crate) fn has_events(&self) -> bool {
        let Shared { events, shares, .. } = &self.shared;
        !events.is_empty() || shares.has_next()
    }

    /// Takes how many requests of each peer were refused since the last time: to be called once a
    /// minute or so.
    pub(crate) fn take_refused(&mut self, now: Instant) -> Vec<(PublicKey, u64)> {
        self.shared.shares.take_refused(now)
    }
}
