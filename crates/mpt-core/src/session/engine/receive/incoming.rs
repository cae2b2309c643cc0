//! Frames that arrive, and the session that each is for.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::control::Reason;
use mpt_wire::control::frame::{self, Frame};

use super::context::Context;
use super::sealed::Outcome;
use crate::session::engine::paths::source::Source;
use crate::session::engine::{CloseReason, Sessions};
use crate::{DeviceSink, SocketId, Times, Tunnels};

/// The delay before reconnecting after the peer shut down.
const PAUSE_AFTER_SHUTDOWN: Duration = Duration::from_millis(200);
/// The delay before reconnecting after the peer refused the session, or removed the connection.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(5);

impl Sessions {
    /// A frame has arrived: what follows the GRE header of a datagram that [`Tunnels::accept`] took for
    /// one.
    pub(crate) fn handle_frame<P: Copy, S: DeviceSink<P>>(
        &mut self,
        at: Times,
        socket: SocketId,
        remote: SocketAddr,
        frame: &[u8],
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        let now = at.now();
        let counters = &mut self.shared.counters;
        counters.frames_received += 1;
        match frame::parse(frame) {
            Ok(Frame::Initiation(frame)) => self.handle_initiation(now, socket, remote, frame),
            Ok(Frame::Response(frame)) => {
                self.with_index(frame.receiver_index(), |session, _, shared| {
                    session.handle_response(now, &frame, shared, tunnels);
                });
            }
            Ok(Frame::Cookie(frame)) => {
                self.with_index(frame.receiver_index(), |session, slot, shared| {
                    session.handle_cookie(now, slot, &frame, shared);
                });
            }
            Ok(Frame::Sealed(frame)) => {
                let source = Source { socket, remote };
                self.handle_sealed(at, source, &frame, tunnels, sink);
            }
            Err(frame::Error::Version) => counters.bad_version += 1,
            Err(_) => counters.malformed += 1,
        }
    }

    fn handle_sealed<P: Copy, S: DeviceSink<P>>(
        &mut self,
        at: Times,
        source: Source,
        frame: &frame::Sealed<'_>,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        let index = frame.header().receiver_index;
        let mut goodbye = None;
        self.with_index(index, |session, slot, shared| {
            let Some(place) = session.keys.find(index) else {
                shared.counters.unknown_index += 1;
                return;
            };
            let mut context = Context { at, shared, tunnels, sink };
            match session.handle_sealed(place, source, frame, &mut context) {
                Outcome::Done => {}
                Outcome::Goodbye(reason) => goodbye = Some((slot, reason)),
            }
        });
        if let Some((slot, reason)) = goodbye {
            self.part(at.now(), slot, reason, tunnels);
        }
    }

    /// The peer has said goodbye.
    fn part<P: Copy>(&mut self, now: Instant, slot: u32, reason: Reason, tunnels: &mut Tunnels<P>) {
        let id = self.id(slot);
        self.clear_keys(slot);
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        let connection = session.link.connection();
        for path in session.paths.iter_mut().filter(|path| !path.is_suspended()) {
            path.liveness.restart(now);
        }
        session.settle(now, &mut self.shared, tunnels);
        let pause = match reason {
            Reason::SHUTTING_DOWN => PAUSE_AFTER_SHUTDOWN,
            _ => PAUSE_AFTER_REFUSAL,
        };
        session.handshake.pause(now + pause);
        let dynamic = session.origin.is_peer();
        self.shared.tell_closed(id, connection, CloseReason::Goodbye(reason), dynamic);
        if dynamic {
            self.remove(slot);
        } else {
            self.arm(slot);
        }
    }
}
