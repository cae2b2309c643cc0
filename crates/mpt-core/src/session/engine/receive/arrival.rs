//! A frame that has come: the path that it came on, and where it is answered.

use super::context::Context;
use crate::DeviceSink;
use crate::session::Opened;
use crate::session::engine::Destination;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::paths::source::Source;
use crate::session::engine::send::allowance::Allowance;
use crate::session::engine::send::reply::Reply;

/// A frame that has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) source: Source,
    /// True if its names of paths are those that this end gave.
    pub(crate) ours: bool,
    /// True if no later frame of its path has come: it says where the path's other end is now.
    pub(crate) fresh: bool,
    /// Length of its messages.
    pub(crate) len: usize,
    /// The place of the path that it came on, if that is known.
    pub(crate) path: Option<usize>,
    /// True if it came from where that path goes.
    pub(crate) at_home: bool,
    /// The destination of an answer.
    pub(crate) reply: Reply,
}

impl Arrival {
    /// Takes over from the path that the frame came on where it is answered.
    pub(crate) fn come_by(&mut self, path: &SessionPath) {
        let Source { socket, remote } = self.source;
        self.reply.destination = path.answer_to(socket, remote);
        self.at_home = !path.is_elsewhere(socket, remote);
        if self.at_home {
            self.reply.allowance = Allowance::Unlimited;
        }
    }
}

impl Session {
    /// A frame was opened with the keys at `place`: finds the path that it came on, and counts it
    /// there. Returns `None` if there are no such keys.
    pub(crate) fn arrive<P: Copy, S: DeviceSink<P>>(
        &mut self,
        place: Place,
        source: Source,
        opened: &Opened<'_>,
        context: &mut Context<'_, P, S>,
    ) -> Option<Arrival> {
        let Context { at, shared, tunnels, .. } = context;
        let Opened { path: wire_id, fresh, payload } = *opened;
        let ours = self.keys.at_mut(place)?.is_initiator();
        let path = self.find_path(at.now(), ours, wire_id, fresh, source, tunnels);
        let frame_len = Reply::frame_len(payload.len());
        let Source { socket, remote } = source;
        let destination = Destination::Address { socket, remote };
        let allowance = Allowance::Bytes(frame_len);
        let reply = Reply { place, wire_id, destination, allowance };
        let len = payload.len();
        let mut arrival = Arrival { source, ours, fresh, len, path, at_home: true, reply };
        match path {
            Some(i) => {
                let path = self.paths.get_mut(i)?;
                path.handle_frame(at.now(), frame_len);
                arrival.come_by(path);
            }
            None => match self.link.hear(source, (wire_id, fresh, frame_len)) {
                Some(allowance) => arrival.reply.allowance = allowance,
                None => shared.counters.unknown_path += 1,
            },
        }
        Some(arrival)
    }
}
