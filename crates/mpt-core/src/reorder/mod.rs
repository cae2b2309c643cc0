//! The receive window: puts the packets of all paths back in sequence.
//!
//! The owner hands every packet to [`ReorderBuffer::receive`], calls
//! [`ReorderBuffer::handle_timeout`] when [`ReorderBuffer::next_timeout`] has come, and gets the
//! packets back, in sequence, by a [`Sink`]. The table says what happens to a number, with E the
//! number due, W the window, d = number - E in serial number arithmetic (RFC 1982) and H = 65,536:
//!
//! | case | [`Verdict`] | what happens |
//! |---|---|---|
//! | d = 0 | `InOrder`, `AfterGap` | delivered, with everything stored that follows |
//! | 0 < d < W, not stored | `Stored` | waits for the numbers before it, or is delivered at once if it is wanted at once (`delivery/ahead.rs`) |
//! | 0 < d < W, stored | `Duplicate` | dropped |
//! | W <= d < H | `Overflow` | the window slides so that the number takes its last place; what is stored before is delivered in order |
//! | -H <= d < 0, delivered before | `Duplicate` | dropped |
//! | -H <= d < 0, else | `Late` | delivered at once, or dropped ([`Late`]) |
//! | otherwise | `Stray` | the same |
//!
//! With W = 0 packets are delivered as they come, and only duplicates are dropped.
//!
//! A missing number holds up those after it until it comes, until the evidence says that it is lost
//! (`loss/evidence.rs`), or until a packet has waited the maximum delay.
//!
//! A wrong position of the window heals: three strays in a row that lie within H of one another move
//! it behind the last of them, and after packets have arrived for max(1 s, 3 x maximum delay) with
//! none of them advancing the window, the next one sets it. A peer that begins at 0 again, whose old
//! numbers are known, loses packets for about a second, unless that is expected of it
//! ([`ReorderBuffer::expect_restarts`]).
//!
//! A number that an attacker forges costs order, and the one packet whose number it took; with
//! [`Late::Drop`] it costs every packet whose number it made late. `docs/protocol.md`, section 7,
//! has the bounds.
//!
//! The cost per packet is constant. Memory for waiting packets is allocated as they need it, up to
//! the window (see `ring.rs`), everything else on construction and by [`ReorderBuffer::add_path`].

mod clock;
mod config;
mod counters;
mod delivery;
mod equalized;
mod loss;
mod paths;
pub(crate) mod playout;
pub(crate) mod position;
mod ring;
mod sink;

use std::time::{Duration, Instant};

use self::clock::{Clock, NEVER};
pub use self::config::{
    Config, Equalize, Late, MAX_DELAY_LIMIT, RESTORED, USUAL_MAX_DELAY, USUAL_WINDOW,
};
pub use self::counters::Counters;
pub use self::counters::delays::Histogram;
pub use self::equalized::EqualizedBuffer;
use self::loss::evidence::{Evidence, Judgement};
use self::loss::refused::Refused;
pub use self::playout::{Class, Losses};
use self::position::history::{HORIZON, History};
use self::position::restarts::{BeforeRestart, Restarts};
use self::position::strays::Strays;
use self::ring::{Ring, Slot, State};
pub use self::sink::{Sink, Verdict};
use crate::sequence::Sequence;

/// The shortest time for which packets have to arrive without any progress before the window is
/// moved.
const MIN_STALL: Duration = Duration::from_secs(1);

/// The receive window of one connection. `P` is the handle of a packet.
///
/// A daemon may have thousands of them, each called once in a while: what a packet in order needs
/// stands in the first three cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct ReorderBuffer<P> {
    /// E, the number due.
    due: Sequence,
    /// True if the evidence is consulted: early release, and a window at all.
    judging: bool,
    /// `due` has been set.
    started: bool,
    /// The number before `due` was given up.
    gap: bool,
    /// There are `strays`.
    straying: bool,
    /// The time at which [`ReorderBuffer::handle_timeout`] has something to do, in nanoseconds as
    /// all times here. It is [`NEVER`] while nothing waits, and only then.
    deadline: u64,
    /// The arrival of the first packet that did not advance the window, after the last one that
    /// did; `None` if the last one did.
    stalled_since: Option<u64>,
    history: History,
    evidence: Evidence,
    clock: Clock,
    counters: Counters,

    /// The event after which the number due is judged again.
    waiting: Waiting,
    /// The latest time known, at least while packets wait.
    latest: u64,
    /// W.
    window: u32,
    late: Late,
    ring: Ring<P>,
    max_delay: u64,
    stall_limit: u64,
    strays: Strays,
    before_restart: Option<BeforeRestart>,
    /// The numbers are authentic, so that the window never is where no packets are.
    trusted: bool,
    /// The detection of restarts, for a peer that does not announce them.
    restarts: Option<Restarts>,
    /// The time at which the window was last moved otherwise than by packets in order.
    positioned: u64,
    /// Waiting times of the packets that were stored.
    delays: Box<Histogram>,
    config: Config,
    usable_evidence: bool,
    /// Packets come when it is their turn: nothing is waited for here.
    direct: bool,
    /// The time for which numbers that are known to be lost are waited for after packets behind
    /// them have arrived.
    repair_time: u64,
    /// Numbers that the peer will not send again.
    refused: Refused,
}

/// A packet in order needs nothing behind the first counter.
#[cfg(target_pointer_width = "64")]
const _: () =
    assert!(std::mem::offset_of!(ReorderBuffer<u64>, counters) + size_of::<u64>() <= 3 * 64);

/// The event after which the number due is judged again, if it stays due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// A packet of this path, or the deadline.
    Path(usize),
    /// Any packet.
    Any,
    /// Only the deadline counts.
    Deadline,
}

impl<P: Copy> ReorderBuffer<P> {
    /// A window without paths. The first packet sets its position, unless
    /// [`ReorderBuffer::restart`] does.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut buffer = Self {
            due: Sequence(0),
            judging: false,
            started: false,
            gap: false,
            straying: false,
            deadline: NEVER,
            stalled_since: None,
            history: History::new(),
            evidence: Evidence::new(),
            clock: Clock::default(),
            counters: Counters::default(),
            waiting: Waiting::Any,
            latest: 0,
            window: 0,
            late: config.late,
            ring: Ring::new(),
            max_delay: 0,
            stall_limit: 0,
            strays: Strays::default(),
            before_restart: None,
            trusted: false,
            restarts: None,
            positioned: 0,
            delays: Box::default(),
            config,
            usable_evidence: true,
            direct: false,
            repair_time: 0,
            refused: Refused::default(),
        };
        buffer.apply(config);
        buffer
    }

    /// A packet came on a path. Packets of unknown paths are handled like all others, but are no
    /// evidence.
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        path: usize,
        sequence: u32,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        let now = self.clock.nanos(now);
        let number = Sequence(sequence);
        if number == self.due && self.deadline == NEVER && self.started {
            if self.judging {
                self.evidence.observe(now, path, number);
            }
            self.progress();
            return self.deliver_due(packet, sink);
        }
        self.receive_otherwise(now, path, number, packet, sink)
    }

    /// Returns the time at which [`ReorderBuffer::handle_timeout`] has to be called; `None` while nothing waits.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.deadline == NEVER { None } else { self.clock.instant(self.deadline) }
    }

    /// Delivers what has waited long enough. May be called at any time.
    pub fn handle_timeout(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        let now = self.clock.nanos(now);
        self.latest = now;
        if now >= self.deadline {
            self.settle(now, sink);
        }
    }

    /// Delivers everything that waits, in order.
    pub fn flush(&mut self, sink: &mut impl Sink<P>) {
        if let Some(highest) = self.ring.highest() {
            self.counters.skipped += self.advance(highest.next(), sink);
        }
        self.rest();
    }

    /// Drops everything that waits: the connection is taken down.
    pub fn discard(&mut self, sink: &mut impl Sink<P>) {
        while let Some(number) = self.ring.lowest(self.due) {
            let slot = self.ring.take_first(number);
            if let Some(slot) = slot.filter(|slot| slot.state != State::Passed) {
                self.counters.discarded += u64::from(slot.state == State::Waits);
                sink.discard(slot.packet);
                self.give_up(number.next());
            } else {
                self.pass(number);
            }
        }
        self.rest();
    }

    /// Changes the configuration. A smaller window slides to its highest packet.
    pub fn set_config(&mut self, config: Config, sink: &mut impl Sink<P>) {
        self.apply(config);
        if let Some(highest) = self.ring.highest() {
            let first = highest.next() - self.window;
            if first.is_after(self.due) {
                self.counters.skipped += self.advance(first, sink);
            }
        }
        self.ring.shrink();
        self.settle(self.latest, sink);
    }

    /// The configuration in force.
    #[must_use]
    pub const fn config(&self) -> Config {
        self.config
    }

    /// Returns what became of the packets.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how long the delivered packets spent in the buffer.
    #[must_use]
    pub fn delays(&self) -> Histogram {
        let mut delays = Histogram::clone(&self.delays);
        let delivered = self.counters.delivered();
        delays.record_immediate(delivered.saturating_sub(delays.count()));
        delays
    }

    /// Numbers that are known to be lost are waited for, for so long since packets behind them came.
    pub const fn set_repair_time(&mut self, time: Duration) {
        self.repair_time = time.as_nanos() as u64;
    }

    /// The number due, the first of the window.
    #[must_use]
    pub const fn due(&self) -> u32 {
        self.due.0
    }

    /// Returns how many packets wait.
    #[must_use]
    pub const fn occupancy(&self) -> usize {
        self.ring.waiting()
    }

    /// Everything but the next packet of a window in which nothing waits.
    fn receive_otherwise(
        &mut self,
        now: u64,
        path: usize,
        number: Sequence,
        packet: P,
        sink: &mut impl Sink<P>,
    ) -> Verdict {
        self.latest = now;
        if !self.started {
            self.set_position(now, number);
        }
        if self.before_restart.is_some() && self.is_from_before_restart(now, path, number) {
            return self.deliver_late(packet, sink);
        }
        let ahead = number.ahead_of(self.due);
        if !(-HORIZON..HORIZON).contains(&ahead) {
            return self.receive_stray(now, path, number, packet, sink);
        }
        self.end_straying();
        if self.judging {
            self.evidence.observe(now, path, number);
        }
        let verdict = if ahead < 0 {
            self.receive_past(now, path, number, packet, sink)
        } else if ahead == 0 {
            self.progress();
            if self.judging
                && let Some((_, overtaken)) = self.ring.oldest()
            {
                self.evidence.note_behind(now, path, overtaken);
            }
            let verdict = self.deliver_due(packet, sink);
            self.deliver_following(now, sink);
            self.waiting = Waiting::Any;
            verdict
        } else if self.window == 0 {
            // Nothing is waited for: the gap before it is no loss yet.
            self.progress();
            self.give_up(number);
            self.deliver_due(packet, sink)
        } else if ahead.cast_unsigned() >= self.window {
            self.progress();
            self.counters.overflow += 1;
            self.counters.skipped += self.advance(number.next() - self.window, sink);
            if number == self.due {
                self.deliver_uncounted(packet, sink);
            } else if let Some(kept) = sink.keep(packet) {
                self.ring.insert(self.due, number, kept, now, State::Counted);
            } else {
                self.deliver_all_with(number, packet, sink);
            }
            self.waiting = Waiting::Any;
            Verdict::Overflow
        } else if self.ring.contains(self.due, number) {
            if self.has_stalled(now) {
                return self.move_to(now, path, number, packet, sink);
            }
            self.counters.duplicate += 1;
            Verdict::Duplicate
        } else {
            self.progress();
            if let Some(kept) = sink.keep(packet) {
                self.ring.insert(self.due, number, kept, now, State::Waits);
                Verdict::Stored
            } else {
                self.counters.overflow += 1;
                self.deliver_all_with(number, packet, sink);
                Verdict::Overflow
            }
        };
        self.settle_if_news(now, path, sink);
        verdict
    }

    /// Judges the number due anew if a packet of this path may have changed what is known of it.
    fn settle_if_news(&mut self, now: u64, path: usize, sink: &mut impl Sink<P>) {
        let news = match self.waiting {
            Waiting::Path(awaited) => awaited == path,
            Waiting::Any => true,
            Waiting::Deadline => false,
        };
        if news || now >= self.deadline {
            self.settle(now, sink);
        }
    }

    /// A number before the one due.
    fn receive_past(
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
        if self.has_restarted(now, number) {
            return self.begin_anew(now, path, number, packet, sink);
        }
        if self.history.contains(number) {
            self.counters.duplicate += 1;
            return Verdict::Duplicate;
        }
        if self.judging {
            self.evidence.note_late(now, path, number);
        }
        let verdict = self.deliver_late(packet, sink);
        if !verdict.is_dropped() {
            self.history.insert(number);
        }
        verdict
    }

    fn deliver_late(&mut self, packet: P, sink: &mut impl Sink<P>) -> Verdict {
        self.counters.late += 1;
        // Without a window there is no order to be kept strictly.
        if self.late == Late::Drop && (self.window > 0 || self.direct) {
            self.counters.dropped += 1;
            return Verdict::LateDropped;
        }
        sink.deliver(packet, false, true);
        Verdict::Late
    }

    /// A packet that would have to wait, but no more bytes may be kept: the window is emptied, with
    /// the packet in its place of the order. That frees all the bytes there are to be freed here.
    #[cold]
    fn deliver_all_with(&mut self, number: Sequence, packet: P, sink: &mut impl Sink<P>) {
        self.counters.skipped += self.advance(number, sink);
        self.deliver_uncounted(packet, sink);
        self.flush(sink);
    }

    /// Delivers a packet that did not wait, has the number due and is counted already.
    fn deliver_uncounted(&mut self, packet: P, sink: &mut impl Sink<P>) {
        self.note_delivered(self.due);
        sink.deliver(packet, false, std::mem::take(&mut self.gap));
    }

    /// Delivers a packet that did not wait and has the number due.
    #[inline]
    fn deliver_due(&mut self, packet: P, sink: &mut impl Sink<P>) -> Verdict {
        self.note_delivered(self.due);
        let after_gap = std::mem::take(&mut self.gap);
        sink.deliver(packet, false, after_gap);
        if after_gap {
            self.counters.after_gap += 1;
            Verdict::AfterGap
        } else {
            self.counters.in_order += 1;
            Verdict::InOrder
        }
    }

    /// Delivers a packet that waited and has the number due.
    #[inline]
    fn deliver_stored(&mut self, now: u64, slot: Slot<P>, sink: &mut impl Sink<P>) {
        self.note_delivered(self.due);
        if slot.state == State::Passed {
            return;
        }
        let after_gap = std::mem::take(&mut self.gap);
        if slot.state == State::Waits {
            self.counters.after_gap += u64::from(after_gap);
            self.counters.in_order += u64::from(!after_gap);
        }
        self.delays.record(now.saturating_sub(slot.arrival));
        sink.deliver(slot.packet, true, after_gap);
    }

    /// Delivers what waits directly behind.
    #[inline]
    fn deliver_following(&mut self, now: u64, sink: &mut impl Sink<P>) {
        while let Some(slot) = self.ring.take_first(self.due) {
            self.deliver_stored(now, slot, sink);
        }
    }

    /// Advances to a number: what is stored before it (and directly behind) is delivered, the rest
    /// is given up. Returns how many numbers were given up.
    fn advance(&mut self, to: Sequence, sink: &mut impl Sink<P>) -> u64 {
        let now = self.latest;
        let mut given_up = 0;
        while let Some(number) = self.ring.lowest(self.due).filter(|n| n.is_before(to)) {
            given_up += self.give_up(number);
            self.deliver_following(now, sink);
        }
        if to.is_after(self.due) {
            given_up += self.give_up(to);
            self.deliver_following(now, sink);
        }
        given_up
    }

    /// Gives up the numbers from the one due to `to`, none of which is stored.
    fn give_up(&mut self, to: Sequence) -> u64 {
        let count = to.ahead_of(self.due).cast_unsigned();
        self.history.remove(self.due, count);
        self.due = to;
        self.gap |= count > 0;
        u64::from(count)
    }

    #[inline]
    fn note_delivered(&mut self, number: Sequence) {
        self.history.insert_next(number);
        self.due = number.next();
    }

    /// Gives up what has to be given up now, and notes what has to be waited for otherwise.
    fn settle(&mut self, now: u64, sink: &mut impl Sink<P>) {
        while let Some((oldest, arrival)) = self.ring.oldest() {
            let expiry = arrival.saturating_add(self.max_delay);
            if now >= expiry {
                if self.judging {
                    self.evidence.expired(self.due, oldest, arrival);
                }
                self.counters.expired += self.advance(oldest, sink);
                continue;
            }
            if let Some(end) = self.refused.end_of(self.due) {
                let stored = self.ring.lowest(self.due).unwrap_or(end);
                self.counters.lost += self.give_up(stored.earlier(end));
                self.deliver_following(now, sink);
                continue;
            }
            if !self.judging {
                (self.waiting, self.deadline) = (Waiting::Deadline, expiry);
                return;
            }
            match self.evidence.judge(now, self.due, arrival) {
                Judgement::Lost { .. } if now < arrival.saturating_add(self.repair_time) => {
                    self.waiting = Waiting::Deadline;
                    self.deadline = expiry.min(arrival + self.repair_time);
                    return;
                }
                Judgement::Lost { before } => {
                    let stored = self.ring.lowest(self.due).unwrap_or(before);
                    self.counters.lost += self.give_up(stored.earlier(before));
                    self.deliver_following(now, sink);
                }
                Judgement::Wait { path, until } => {
                    self.waiting = path.map_or(Waiting::Any, Waiting::Path);
                    self.deadline = expiry.min(until);
                    return;
                }
            }
        }
        self.rest();
    }

    /// Sets the state in which nothing waits.
    fn rest(&mut self) {
        self.refused.forget_before(self.due);
        (self.waiting, self.deadline) = (Waiting::Any, NEVER);
    }

    /// The paths changed: the number due is judged by the next call that can deliver.
    fn judge_anew(&mut self, now: u64) {
        if self.judging && !self.ring.is_empty() {
            (self.waiting, self.deadline) = (Waiting::Any, self.deadline.min(now));
        }
    }

    #[inline]
    fn progress(&mut self) {
        self.stalled_since = None;
        self.end_straying();
    }

    #[inline]
    fn end_straying(&mut self) {
        if std::mem::take(&mut self.straying) {
            self.strays.clear();
        }
    }

    fn apply(&mut self, config: Config) {
        self.config = config;
        self.window = if self.direct { 0 } else { u32::from(config.window()) };
        self.late = config.late;
        self.judging = config.early_release && self.usable_evidence && self.window > 0;
        let max_delay = config.max_delay();
        self.max_delay = max_delay.as_nanos() as u64;
        self.stall_limit = MIN_STALL.max(3 * max_delay).as_nanos() as u64;
        self.evidence.set_max_delay(self.max_delay);
    }
}
