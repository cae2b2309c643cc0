//! Lines that make the paths of a connection equally long.
//!
//! Numbers say in which order packets were sent, but not that one of them came too early: the first
//! packets of a flow may all take a short path, and show TCP a round-trip time that is gone as soon
//! as the next ones take a long path. Cubic's HyStart holds that growth for a queue and ends slow
//! start at a few packets (RFC 9406, section 4.2 has the same rule); at long delays it then takes
//! tens of seconds to fill the paths. So what comes on a shorter path is held for as long as the
//! longest one takes longer, as inverse multiplexing over ATM does (af-phy-0086, differential delay).
//! A flow that fills its paths loses nothing by it: in sequence, it would wait for the longest
//! path anyway.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

/// Differences up to this one are left alone: the least growth of the round-trip time that HyStart
/// takes for a queue.
const UNNOTICED: Duration = Duration::from_millis(4);
/// The time within which packets are released together with those that are due. A timer for each
/// packet would cost more than so little delay matters.
const TOGETHER: Duration = Duration::from_micros(200);

/// A packet that came early.
#[derive(Clone, Copy, Debug)]
pub(in crate::reorder) struct Held<P> {
    release: Instant,
    pub(in crate::reorder) sequence: u32,
    pub(in crate::reorder) packet: P,
}

/// One line for each path.
#[derive(Debug)]
pub(in crate::reorder) struct Equalizer<P> {
    lines: SmallVec<[Line<P>; 2]>,
    /// Packets in all lines.
    held: usize,
    /// Some line holds packets, or is to hold some.
    busy: bool,
}

#[derive(Debug)]
struct Line<P> {
    lead: Duration,
    packets: VecDeque<Held<P>>,
}

impl<P: Copy> Equalizer<P> {
    pub(in crate::reorder) fn new() -> Self {
        Self { lines: SmallVec::new(), held: 0, busy: false }
    }

    /// True if every packet goes straight through.
    #[inline]
    pub(super) const fn is_idle(&self) -> bool {
        !self.busy
    }

    /// Returns how many packets it holds.
    pub(in crate::reorder) const fn held(&self) -> usize {
        self.held
    }

    /// Returns how many paths it has heard of.
    pub(in crate::reorder) fn paths(&self) -> usize {
        self.lines.len()
    }

    /// Packets of this path come earlier than those of the longest one by `lead`. The packets that
    /// are held already are released at the time that was set for them.
    pub(super) fn set_lead(&mut self, path: usize, lead: Duration) {
        let lead = if lead > UNNOTICED { lead } else { Duration::ZERO };
        if self.lines.len() <= path {
            if lead.is_zero() {
                return;
            }
            let line = || Line { lead: Duration::ZERO, packets: VecDeque::new() };
            self.lines.resize_with(path + 1, line);
        }
        self.lines[path].lead = lead;
        self.note();
    }

    /// Returns how long packets of this path are held.
    pub(super) fn lead(&self, path: usize) -> Duration {
        self.lines.get(path).map_or(Duration::ZERO, |line| line.lead)
    }

    /// Returns the time at which a packet that has come now is to be released; `None`: now. `early`: whether the path's
    /// lead concerns it. One that it does not concern overtakes none of its path.
    pub(super) fn release_of(&self, now: Instant, path: usize, early: bool) -> Option<Instant> {
        let line = self.lines.get(path)?;
        let own = now + if early { line.lead } else { Duration::ZERO };
        let release = line.packets.back().map_or(own, |last| own.max(last.release));
        (release > now || !line.packets.is_empty()).then_some(release)
    }

    /// Holds a packet until the time that [`Self::release_of`] gave.
    pub(in crate::reorder) fn hold(
        &mut self,
        path: usize,
        release: Instant,
        sequence: u32,
        packet: P,
    ) {
        self.lines[path].packets.push_back(Held { release, sequence, packet });
        self.held += 1;
    }

    /// True if a packet has to be released.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_release().is_some_and(|release| release <= now)
    }

    /// Returns the time at which the next packet has to be released.
    pub(super) fn next_release(&self) -> Option<Instant> {
        self.lines.iter().filter_map(|line| Some(line.packets.front()?.release)).min()
    }

    /// Takes a packet of this path that is due, or nearly.
    pub(super) fn take_due(&mut self, now: Instant, path: usize) -> Option<Held<P>> {
        let line = self.lines.get_mut(path)?;
        line.packets.front().filter(|held| held.release <= now + TOGETHER)?;
        self.take(path)
    }

    /// Takes the oldest packet of this path.
    pub(in crate::reorder) fn take(&mut self, path: usize) -> Option<Held<P>> {
        let taken = self.lines.get_mut(path)?.packets.pop_front();
        self.held -= usize::from(taken.is_some());
        if self.held == 0 {
            self.note();
        }
        taken
    }

    /// Everything that a path holds is due now: it went down.
    pub(in crate::reorder) fn hurry(&mut self, now: Instant, path: usize) {
        let Some(line) = self.lines.get_mut(path) else { return };
        for held in &mut line.packets {
            held.release = held.release.min(now);
        }
    }

    fn note(&mut self) {
        self.busy = self.held > 0 || self.lines.iter().any(|line| !line.lead.is_zero());
    }
}
