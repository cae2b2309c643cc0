//! Requests of the peer, and the way that their results take.

use std::time::Instant;

use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Writer};

use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::receive::arrival::Arrival;
use crate::session::engine::send::reply::Reply;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Destination, SessionCounters, SessionPathId};
use crate::session::requests::Action;

impl Session {
    /// The peer asks for something, or for a part of a result.
    pub(crate) fn handle_request(
        &mut self,
        now: Instant,
        arrival: &mut Arrival,
        id: u32,
        offset: u32,
        body: &[u8],
        shared: &mut Shared,
    ) {
        let is_new = self.requests.responder.is_new(id, offset);
        if is_new && !shared.shares.admit_request(now, self.identity.peer) {
            return self.refuse_request(shared, |counters| &mut counters.requests_rate_limited);
        }
        // Taken out for as long as its answer is being written.
        let mut responder = std::mem::take(&mut self.requests.responder);
        match responder.handle_request(now, id, offset) {
            Action::Run => shared.shares.wait(self.identity.peer, self.id, id, body.to_vec()),
            Action::Refuse => {
                self.refuse_request(shared, |counters| &mut counters.requests_unfinished);
            }
            Action::Send(_) if !shared.shares.admit_part(now, self.identity.peer) => {
                self.refuse_request(shared, |counters| &mut counters.requests_rate_limited);
            }
            Action::Send(message) => {
                let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
                    writer.push(&message).is_ok()
                };
                // A result may be long: where nobody has answered from, it goes to an address that
                // is proved, or it has to wait.
                let sent = match self.way_elsewhere(arrival) {
                    Some((wire_id, to)) => {
                        let limit = MAX_PAYLOAD_LEN;
                        self.send(shared, arrival.reply.place, wire_id, to, write, limit)
                    }
                    None => self.reply(shared, &mut arrival.reply, write, MAX_PAYLOAD_LEN),
                };
                if !sent && offset == 0 {
                    self.requests.withhold(id);
                }
            }
            Action::Ignore => {}
        }
        self.requests.responder = responder;
    }

    /// Returns the path on which to answer a frame from an unproved address, if the peer can be
    /// reached by another one.
    fn way_elsewhere(&mut self, arrival: &Arrival) -> Option<(SessionPathId, Destination)> {
        if arrival.reply.allowance.is_unlimited() {
            return None;
        }
        let known =
            arrival.path.and_then(|i| self.paths.get(i)).filter(|path| path.remote().is_some());
        let way = known.map(|path| (arrival.reply.wire_id, Destination::Path(path.id)));
        way.or_else(|| self.any_way(arrival.reply.place))
    }

    fn refuse_request(
        &self,
        shared: &mut Shared,
        counter: impl FnOnce(&mut SessionCounters) -> &mut u64,
    ) {
        *counter(&mut shared.counters) += 1;
        shared.shares.refuse(self.identity.peer);
    }

    /// The answer to a request is there.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        request: u32,
        body: Vec<u8>,
        shared: &mut Shared,
    ) -> bool {
        let mut responder = std::mem::take(&mut self.requests.responder);
        let finished = responder.finish(now, request, body);
        if let Ok(Some(message)) = &finished
            && !self.send_result(now, message, shared)
        {
            self.requests.withhold(request);
        }
        let taken = finished.is_ok();
        self.requests.responder = responder;
        taken
    }

    /// Sends a part of a result where the peer is known to be; or where it may be, as far as that
    /// address has an allowance. Returns whether it was sent.
    fn send_result(&mut self, now: Instant, message: &Message<'_>, shared: &mut Shared) -> bool {
        let Some(place) = self.keys.sending(now) else { return false };
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| writer.push(message).is_ok();
        if let Some((wire_id, destination)) = self.any_way(place) {
            let limit = MAX_PAYLOAD_LEN;
            return self.send(shared, place, wire_id, destination, write, limit);
        }
        let Some(anchor) = self.link.anchor() else { return false };
        let (wire_id, destination) = (anchor.path_id, anchor.destination());
        let mut reply = Reply { place, wire_id, destination, allowance: anchor.allowance };
        let sent = self.reply(shared, &mut reply, write, MAX_PAYLOAD_LEN);
        self.link.set_allowance(anchor.source, reply.allowance);
        sent
    }

    /// Sends the first parts of results that waited: an address of the peer is proved.
    pub(crate) fn send_withheld(&mut self, now: Instant, shared: &mut Shared) {
        let responder = std::mem::take(&mut self.requests.responder);
        for request in self.requests.take_withheld() {
            if let Some(message) = responder.first_part(request) {
                self.send_result(now, &message, shared);
            }
        }
        self.requests.responder = responder;
    }
}
