//! Sealed frames of a session: opened, and what their messages lead to.

use mpt_wire::control::{Reason, frame, messages};

use super::context::Context;
use super::told::Told;
use super::wanted::Wanted;
use crate::DeviceSink;
use crate::session::engine::SessionCounters;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::source::Source;
use crate::session::{OpenError, Opened};

/// The effect of a frame on the session as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The frame has no further effect.
    Done,
    /// The peer said goodbye.
    Goodbye(Reason),
}

impl Session {
    /// A sealed frame has come for the keys at `place`.
    pub(crate) fn handle_sealed<P: Copy, S: DeviceSink<P>>(
        &mut self,
        place: Place,
        source: Source,
        sealed: &frame::Sealed<'_>,
        context: &mut Context<'_, P, S>,
    ) -> Outcome {
        let mut buffer = std::mem::take(&mut context.shared.opened);
        let outcome = match self.open(place, sealed, &mut buffer, &mut context.shared.counters) {
            Some(opened) => {
                let Context { at, shared, tunnels, .. } = context;
                let place = self.promote(at.now(), place, shared, tunnels);
                self.handle_opened(place, source, &opened, context)
            }
            None => Outcome::Done,
        };
        context.shared.opened = buffer;
        outcome
    }

    /// Opens a frame into `buffer`. Returns `None`, and counts the frame, if it is not authentic or
    /// not well-formed: it takes effect as a whole or not at all.
    fn open<'a>(
        &mut self,
        place: Place,
        sealed: &frame::Sealed<'_>,
        buffer: &'a mut [u8],
        counters: &mut SessionCounters,
    ) -> Option<Opened<'a>> {
        match self.keys.at_mut(place)?.transport.open(sealed, buffer) {
            Ok(opened) if messages(opened.payload).all(|message| message.is_ok()) => {
                return Some(opened);
            }
            Ok(_) | Err(OpenError::Room) => counters.malformed += 1,
            Err(OpenError::Index) => counters.unknown_index += 1,
            Err(OpenError::Replayed) => counters.replayed += 1,
            Err(OpenError::Unauthentic) => counters.unauthentic += 1,
            Err(OpenError::TooManyPaths) => counters.unknown_path += 1,
        }
        None
    }

    /// Does what an authentic frame says, and answers it.
    fn handle_opened<P: Copy, S: DeviceSink<P>>(
        &mut self,
        place: Place,
        source: Source,
        opened: &Opened<'_>,
        context: &mut Context<'_, P, S>,
    ) -> Outcome {
        let Some(mut arrival) = self.arrive(place, source, opened, context) else {
            return Outcome::Done;
        };
        let (mut told, mut wanted) = (Told::default(), Wanted::default());
        for message in messages(opened.payload).flatten() {
            self.handle_message(&mut arrival, message, &mut told, &mut wanted, context);
        }
        if let Some(reason) = wanted.goodbye.filter(|_| place == Place::Current) {
            return Outcome::Goodbye(reason);
        }
        let challenge = self.follow_address(&mut arrival, wanted.proved, context);
        self.handle_told(arrival.ours, &told, context);
        self.answer_frame(&mut arrival, wanted, challenge, context);
        self.link.set_allowance(source, arrival.reply.allowance);
        let Context { at, shared, tunnels, .. } = context;
        if wanted.proved {
            self.send_withheld(at.now(), shared);
        }
        self.settle(at.now(), shared, tunnels);
        Outcome::Done
    }
}
