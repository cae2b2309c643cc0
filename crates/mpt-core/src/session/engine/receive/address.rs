//! The address that a frame came from: taken over once it is proved, and asked before.

use super::arrival::Arrival;
use super::context::Context;
use crate::DeviceSink;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::anchor::Anchor;
use crate::session::engine::paths::candidate::Candidate;
use crate::session::engine::paths::link::Link;
use crate::session::engine::paths::locating::is_learnt;
use crate::session::engine::send::allowance::Allowance;

impl Session {
    /// Takes over the address that a frame came from as the peer's if the frame has proved it.
    /// Returns the token of a challenge if the address is to be asked whether the peer is there.
    pub(crate) fn follow_address<P: Copy, S: DeviceSink<P>>(
        &mut self,
        arrival: &mut Arrival,
        proved: bool,
        context: &mut Context<'_, P, S>,
    ) -> Option<u64> {
        let Context { at, shared, tunnels, .. } = context;
        let source = arrival.source;
        if let Some(i) = arrival.path {
            if proved {
                self.move_path(at.now(), i, source, shared, tunnels);
                arrival.come_by(self.paths.get(i)?);
                return None;
            }
            if arrival.at_home || !arrival.fresh {
                return None;
            }
            let path = self.paths.get_mut(i).filter(|path| is_learnt(path, tunnels))?;
            return path.challenge(at.now(), source, || shared.random.u64());
        }
        let Link::Apart { anchor, candidate } = &mut self.link else { return None };
        if proved {
            *anchor = Some(Anchor::proved(source, arrival.reply.wire_id));
            *candidate = None;
            arrival.reply.allowance = Allowance::Unlimited;
            return None;
        }
        if arrival.reply.allowance.is_unlimited() || !arrival.fresh {
            return None;
        }
        Candidate::challenge(candidate, at.now(), source, || shared.random.u64())
    }
}
