//! Play-out by send time in place of lines and window, where the peer tells when it sent what.

use std::time::Instant;

use super::{EqualizedBuffer, Kept};
use crate::Times;
use crate::reorder::playout::{Bounds, Class, Next, PlayOut, Turn, Waiting};
use crate::reorder::{Equalize, ReorderBuffer, Sink};
use crate::sequence::Sequence;

impl<P: Copy> EqualizedBuffer<P> {
    /// Returns what waits for its time; it begins with the first call.
    pub(crate) fn playout(&mut self, now: Instant) -> &mut PlayOut<P> {
        let bounds = Bounds::of(self.buffer.config());
        self.playout.get_or_insert_with(|| Box::new(PlayOut::new(now, bounds)))
    }

    /// Returns the packets that wait for their time; `None` before [`Self::playout`] was called.
    pub(crate) fn playout_mut(&mut self) -> Option<&mut PlayOut<P>> {
        self.playout.as_deref_mut()
    }

    /// Begins or ends to play out, if what is known of the paths has changed.
    pub(super) fn follow_hold(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        let Some(playout) = &self.playout else { return };
        let config = self.buffer.config();
        let wanted = playout.holds() && config.equalize != Equalize::Off && config.window() > 0;
        if wanted == self.playing {
            return;
        }
        if wanted {
            self.begin_play(now, sink);
        } else {
            self.end_play(now, sink);
        }
        self.playing = wanted;
    }

    /// Hands what waits in the lines and in the window to the play-out.
    #[cold]
    fn begin_play(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        self.release_all(now, sink);
        let Some(playout) = &mut self.playout else { return };
        playout.begin(Sequence(self.buffer.due()));
        self.buffer.begin_direct(sink, |number, slot| playout.take_over(now, number, slot));
    }

    /// Hands what waits in the play-out to the window.
    #[cold]
    fn end_play(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        let Some(playout) = &mut self.playout else { return };
        self.buffer.end_direct();
        let any = playout.any();
        while let Some(next) = playout.leave() {
            match (next, any) {
                (Next::Passed(number), Some(any)) => self.buffer.pass_early(now, number, any),
                (Next::Passed(number), None) => self.buffer.pass(number),
                (next, _) => hand_over(&mut self.buffer, now, next, sink),
            }
        }
    }

    // Not a part of what handles packets of a connection without send times, whose registers it would take.
    #[inline(never)]
    pub(super) fn receive_played(
        &mut self,
        at: Times,
        path: usize,
        sequence: u32,
        packet: P,
        class: Class,
        sink: &mut impl Sink<P>,
    ) {
        let now = at.now();
        if let Some(playout) = &mut self.playout {
            playout.resume(now);
        }
        self.follow_hold(now, sink);
        self.play(now, false, sink);
        let number = Sequence(sequence);
        self.make_reachable(now, number, sink);
        let Some(playout) = &mut self.playout else { return };
        if !self.playing {
            playout.sample(at, path, number, class);
            if playout.is_wanted_at_once(now, class)
                && self.buffer.receive_ahead(now, path, number, packet, sink)
            {
                return;
            }
            return self.receive_lined(now, path, sequence, packet, class, sink);
        }
        match playout.arrive(at, path, number, class) {
            Turn::Waits => {
                let Some(kept) = self.keep(now, packet, sink) else {
                    self.release_all(now, sink);
                    return self.receive_out_of_reach(now, path, sequence, packet, sink);
                };
                if let Some(playout) = &mut self.playout {
                    playout.wait(at, path, number, class, kept);
                }
                self.equalized += 1;
                self.play(now, false, sink);
            }
            Turn::Passes => {
                playout.pass(number);
                // Earlier packets of its own flow are delivered before it.
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

    /// Plays out the first packets before their time, until a number is within reach or nothing waits.
    fn make_reachable(&mut self, now: Instant, number: Sequence, sink: &mut impl Sink<P>) {
        while self.playing
            && self.playout.as_ref().is_some_and(|playout| playout.is_beyond(number))
            && self.play_first(now, sink)
        {}
    }

    /// Keeps a packet. Without room for it, the first packets are played out before their time, one after the other: the hold becomes as short as the
    /// room demands, and the others stay in order.
    fn keep(&mut self, now: Instant, packet: P, sink: &mut impl Sink<P>) -> Option<P> {
        let mut kept = sink.keep(packet);
        while kept.is_none() && self.play_first(now, sink) {
            kept = sink.keep(packet);
        }
        kept
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
            hand_over(&mut self.buffer, now, next, sink);
        }
    }

    /// Delivers what is first before its time. Returns false if nothing waits.
    fn play_first(&mut self, now: Instant, sink: &mut impl Sink<P>) -> bool {
        let playout = self.playout.as_mut().filter(|_| self.playing);
        let Some(next) = playout.and_then(|playout| playout.next(now, true)) else { return false };
        if !matches!(next, Next::Passed(_)) {
            self.buffer.count_early();
        }
        hand_over(&mut self.buffer, now, next, sink);
        true
    }
}

/// Gives the window what was played out, and so the device.
fn hand_over<P: Copy>(
    buffer: &mut ReorderBuffer<P>,
    now: Instant,
    next: Next<P>,
    sink: &mut impl Sink<P>,
) {
    match next {
        Next::InTurn(number, Waiting { packet, path, .. }) => {
            let sink = &mut Kept(&mut *sink);
            if buffer.receive(now, usize::from(path), number.0, packet, sink).is_dropped() {
                sink.discard(packet);
            }
        }
        Next::Ahead(Waiting { packet, .. }) => {
            buffer.count_ahead();
            sink.deliver(packet, true, true);
        }
        Next::Passed(number) => buffer.pass(number),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests;
