//! Play-out by send time in place of lines and window, where the peer tells when it sent what.

use std::time::Instant;

use super::{EqualizedBuffer, Kept};
use crate::reorder::playout::{Class, Next, PlayOut, Turn, Waiting};
use crate::reorder::{Equalize, Sink};
use crate::sequence::Sequence;

impl<P: Copy> EqualizedBuffer<P> {
    /// Returns what waits for its time; it begins with the first call.
    pub(crate) fn playout(&mut self, now: Instant) -> &mut PlayOut<P> {
        self.playout.get_or_insert_with(|| Box::new(PlayOut::new(now)))
    }

    /// Returns the packets that wait for their time; `None` before [`Self::playout`] was called.
    pub(crate) fn playout_mut(&mut self) -> Option<&mut PlayOut<P>> {
        self.playout.as_deref_mut()
    }

    /// Begins or ends to play out, if what is known of the paths has changed.
    fn follow_hold(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        let Some(playout) = &self.playout else { return };
        let config = self.buffer.config();
        let wanted = playout.holds() && config.equalize != Equalize::Off && config.window > 0;
        if wanted == self.playing {
            return;
        }
        self.release_all(now, sink);
        self.playing = wanted;
        if wanted {
            self.buffer.begin_direct(sink);
        } else {
            self.buffer.end_direct();
        }
        if let Some(playout) = self.playout.as_mut().filter(|_| wanted) {
            playout.begin(Sequence(self.buffer.due()));
        }
    }

    pub(super) fn receive_played(
        &mut self,
        now: Instant,
        path: usize,
        sequence: u32,
        packet: P,
        class: Class,
        sink: &mut impl Sink<P>,
    ) {
        self.follow_hold(now, sink);
        self.play(now, false, sink);
        let number = Sequence(sequence);
        let Some(playout) = &mut self.playout else { return };
        if !self.playing {
            playout.sample(now, path, number, class);
            if playout.is_wanted_at_once(now, class)
                && self.buffer.receive_ahead(now, path, number, packet, sink)
            {
                return;
            }
            return self.receive_lined(now, path, sequence, packet, class, sink);
        }
        match playout.arrive(now, path, number, class) {
            Turn::Waits => {
                let Some(packet) = sink.keep(packet) else {
                    self.release_all(now, sink);
                    return self.receive_out_of_reach(now, path, sequence, packet, sink);
                };
                playout.wait(now, path, number, class, packet);
                self.equalized += 1;
                self.play(now, false, sink);
            }
            Turn::Passes => {
                playout.pass(number);
                // Those of its own flow come before it.
                self.play(now, false, sink);
                self.buffer.count_ahead();
                sink.deliver(packet, false, true);
            }
            Turn::Due => {
                self.play(now, false, sink);
                self.buffer.receive(now, path, sequence, packet, sink);
            }
            Turn::Duplicate => self.buffer.count_duplicate(),
            Turn::OutOfReach => {
                self.release_all(now, sink);
                self.receive_out_of_reach(now, path, sequence, packet, sink);
            }
        }
    }

    /// A packet that the window places: nothing waits.
    fn receive_out_of_reach(
        &mut self,
        now: Instant,
        path: usize,
        sequence: u32,
        packet: P,
        sink: &mut impl Sink<P>,
    ) {
        self.buffer.receive(now, path, sequence, packet, sink);
        if let Some(playout) = &mut self.playout {
            playout.begin(Sequence(self.buffer.due()));
        }
    }

    /// Delivers what is due, or all that waits.
    pub(super) fn play(&mut self, now: Instant, all: bool, sink: &mut impl Sink<P>) {
        let Some(playout) = self.playout.as_mut().filter(|_| self.playing) else { return };
        playout.follow(now);
        while let Some(next) = playout.next(now, all) {
            match next {
                Next::InTurn(number, Waiting { packet, path, .. }) => {
                    let sink = &mut Kept(&mut *sink);
                    let path = usize::from(path);
                    if self.buffer.receive(now, path, number.0, packet, sink).is_dropped() {
                        sink.discard(packet);
                    }
                }
                Next::Ahead(Waiting { packet, .. }) => {
                    self.buffer.count_ahead();
                    sink.deliver(packet, true, true);
                }
                Next::Passed(number) => self.buffer.pass(number),
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests;
