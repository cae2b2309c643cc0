//! Moves of the window other than by packets in order: to the first number of a new life of the
//! peer, or to where packets are when its position was wrong.

pub(crate) mod history;
pub(super) mod restarts;
pub(super) mod strays;

use std::time::Instant;

use super::{Late, ReorderBuffer, Sink, Verdict};
use crate::sequence::Sequence;
use history::HORIZON;
use restarts::{BeforeRestart, Restarts};

impl<P: Copy> ReorderBuffer<P> {
    /// Starts again at the number `first`, with which the next packets of the peer begin, as a
    /// control session has announced. Delivers what waits and forgets everything.
    ///
    /// A `first` of 0 begins a new life of the peer's numbers, which always begins with 0. Then the
    /// window remembers its old position. For as long as a wrong position would last, packets that
    /// belong there (the last ones before the restart, from a slow path) are late packets and do
    /// not move the window. With any other number only this end has begun anew, and a window that
    /// is near that number stays as it is.
    pub fn restart(&mut self, now: Instant, first: u32, sink: &mut impl Sink<P>) {
        let now = self.clock.nanos(now);
        self.latest = now;
        let first = Sequence(first);
        let new_life = first == Sequence(0);
        if self.started && !new_life && (-HORIZON..HORIZON).contains(&first.ahead_of(self.due)) {
            return;
        }
        self.flush(sink);
        self.begin_life(now, first);
        if !new_life {
            self.before_restart = None;
        }
        self.gap = false;
    }

    /// Sets whether the peer may begin with 0 again without an announcement (the papers'
    /// prototype). Then three different numbers up to 50 that arrive within a second, while the
    /// window has been beyond them for longer, are the first of a new life. Forged ones cost order,
    /// but no delivery.
    pub fn expect_restarts(&mut self, expected: bool) {
        self.restarts = expected.then(Restarts::default);
    }

    /// A number that is nowhere near the window.
    #[cold]
    pub(super) fn receive_stray(
        &mut self,
        now: u64,
        path: usize,
        number: Sequence,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        if self.has_stalled(now) {
            return self.move_to(now, path, number, packet, sink);
        }
        if self.trusted {
            let ahead = number.is_after(self.due);
            return match ahead {
                true => self.move_to(now, path, number, packet, sink),
                false => self.deliver_late(packet, sink),
            };
        }
        if self.strays.contains(number) {
            // The second copy of a duplicating connection.
            self.counters.duplicate += 1;
            return Verdict::Duplicate;
        }
        self.counters.stray += 1;
        let drop = self.late == Late::Drop && self.window > 0;
        if drop {
            self.counters.dropped += 1;
        } else {
            sink.deliver(packet, false, true);
        }
        self.straying = true;
        if let Some(run) = self.strays.push(number) {
            self.flush(sink);
            self.reposition(now, number.next());
            for past in run.into_iter().filter(|n| !drop && n.is_before(self.due)) {
                self.history.insert(past);
            }
        }
        if drop { Verdict::StrayDropped } else { Verdict::Stray }
    }

    /// True if packets have come without progress for so long that the window must be wrong.
    pub(super) fn has_stalled(&mut self, now: u64) -> bool {
        if self.trusted {
            return false;
        }
        let since = *self.stalled_since.get_or_insert(now);
        now.saturating_sub(since) >= self.stall_limit
    }

    /// True if a number before the one due shows, with others, that the peer has begun anew.
    pub(super) fn has_restarted(&mut self, now: u64, number: Sequence) -> bool {
        // Before that, a slow path may still bring them.
        let settled = now.saturating_sub(self.positioned) >= self.stall_limit;
        let (limit, restarts) = (self.stall_limit, self.restarts.as_mut());
        settled && restarts.is_some_and(|restarts| restarts.push(now, number, limit))
    }

    /// The peer has begun anew without saying so: this packet is the first one that is believed.
    #[cold]
    pub(super) fn begin_anew(
        &mut self,
        now: u64,
        path: usize,
        number: Sequence,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        self.flush(sink);
        self.counters.moves += 1;
        self.begin_life(now, number);
        self.gap = true;
        self.deliver_first(now, path, packet, sink)
    }

    /// The window was wrong: this packet is the first one of its new position.
    #[cold]
    pub(super) fn move_to(
        &mut self,
        now: u64,
        path: usize,
        number: Sequence,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        self.flush(sink);
        self.reposition(now, number);
        self.deliver_first(now, path, packet, sink)
    }

    /// A packet has the number that the window was moved to.
    fn deliver_first(
        &mut self,
        now: u64,
        path: usize,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        if self.judging {
            self.evidence.observe(now, path, self.due);
        }
        self.deliver_due(packet, sink)
    }

    /// The peer's numbers begin anew, with this one. The window remembers where it stood.
    fn begin_life(&mut self, now: u64, first: Sequence) {
        let until = now.saturating_add(self.stall_limit);
        self.before_restart = self.started.then_some(BeforeRestart { due: self.due, until });
        self.evidence.restart(now);
        self.set_position(now, first);
    }

    /// The window was wrong and begins at another number.
    fn reposition(&mut self, now: u64, due: Sequence) {
        self.counters.moves += 1;
        self.before_restart = None;
        self.evidence.reset(now);
        self.set_position(now, due);
        self.gap = true;
    }

    /// This is the number due, whatever came before.
    pub(super) fn set_position(&mut self, now: u64, due: Sequence) {
        self.positioned = now;
        self.history.clear();
        self.refused.clear();
        self.started = true;
        self.due = due;
        self.progress();
    }

    /// True if a number belongs to the time before a restart: its path goes on with the old ones, or
    /// it fits in the window only as it stood then.
    #[cold]
    pub(super) fn is_from_before_restart(
        &mut self,
        now: u64,
        path: usize,
        number: Sequence,
    ) -> bool {
        let Some(before) = self.before_restart else { return false };
        if now >= before.until {
            self.before_restart = None;
            return false;
        }
        let old = before.due;
        if self.evidence.continues_before_restart(path, number, self.due) {
            return true;
        }
        // Everything from 0 to the end of the window is new.
        let window = self.window.max(1) as i32;
        let end = self.due.ahead_of(Sequence(0)).saturating_add(window);
        !(0..end).contains(&number.ahead_of(Sequence(0)))
            && (-HORIZON..window).contains(&number.ahead_of(old))
    }
}
