//! Requests of this end, and what becomes of them.

use std::time::Instant;

use mpt_wire::control::Writer;
use mpt_wire::control::frame::MAX_PAYLOAD_LEN;

use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Event, RequestFailed};

impl Session {
    /// Sends requests that are due.
    pub(crate) fn send_requests(&mut self, now: Instant, shared: &mut Shared) {
        let Some(place) = self.keys.sending(now) else { return };
        // Each way has its turn, as some may not work.
        while let Some((wire_id, destination)) = self.any_way(place) {
            let write = |session: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
                session
                    .requests
                    .requester
                    .poll(now)
                    .is_some_and(|message| writer.push(&message).is_ok())
            };
            if !self.requests.is_due(now)
                || !self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN)
            {
                return;
            }
        }
    }

    /// A part of the result of a request has come. Further parts are asked for.
    pub(crate) fn handle_result(
        &mut self,
        now: Instant,
        id: u32,
        extent: (u32, u32),
        chunk: &[u8],
        shared: &mut Shared,
    ) {
        if let Some(result) = self.requests.handle_result(now, id, extent, chunk) {
            self.conclude(id, Ok(result), shared);
        }
        self.send_requests(now, shared);
    }

    /// Tells the owner of the requests that were not answered for too long.
    pub(crate) fn fail_unanswered(&mut self, now: Instant, shared: &mut Shared) {
        while let Some((id, failure)) = self.requests.poll_failure(now) {
            self.conclude(id, Err(RequestFailed::Unanswered(failure)), shared);
        }
    }

    /// Fails the requests that wait: the session is over.
    pub(crate) fn fail_requests(&mut self, shared: &mut Shared) {
        for id in self.requests.take_open() {
            self.conclude(id, Err(RequestFailed::Closed), shared);
        }
    }

    fn conclude(&self, id: u32, result: Result<Vec<u8>, RequestFailed>, shared: &mut Shared) {
        shared.events.push_back(Event::Result { session: self.id, id, result });
    }
}
