//! The clock and the counters of the peer, as its reports show them.

/// The microseconds, bytes and packets since its first report from which on a peer is taken to begin
/// anew: two thousand years, and two years at 10 Gbit/s. A peer that lies gets there by
/// thousands of reports in a second, each of which adds what 32 bits hold, and would exceed the types
/// of the sums in the end.
const RUNAWAY: u64 = 1 << 56;

/// The state of the peer's clock and counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    pub(super) clock: Option<Clock>,
    /// By slot, the last counters, and the bytes that they add up to.
    pub(super) counters: Vec<Option<Counters>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) id: u32,
    /// The time of the last report, modulo 2^32 and without wrapping.
    pub(super) last: u32,
    pub(super) micros: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    pub(super) packets: u32,
    pub(super) bytes: u32,
    /// Inner bytes and packets since the first report.
    pub(super) total: u64,
    pub(super) all_packets: u64,
}

impl Peer {
    /// Notes that a path was removed, whose slot another one may get.
    pub(super) fn forget_path(&mut self, slot: usize) {
        if let Some(counters) = self.counters.get_mut(slot) {
            *counters = None;
        }
    }

    /// Returns a time of the peer's clock without wrapping, if the clock is that of the last
    /// report.
    pub(super) fn time_of(&self, clock: u32, time: u32) -> Option<i64> {
        let known = self.clock.filter(|known| known.id == clock)?;
        Some(known.unwrap(time))
    }
}

impl Counters {
    /// Returns true if a peer that tells the truth does not get this far.
    pub(super) const fn have_run_away(&self) -> bool {
        self.total > RUNAWAY || self.all_packets > RUNAWAY
    }
}

impl Clock {
    /// Returns true if the clock of a peer that tells the truth does not get this far.
    pub(super) const fn has_run_away(&self) -> bool {
        self.micros > RUNAWAY as i64
    }

    /// Returns a time of this clock near the last one, without wrapping.
    pub(super) fn unwrap(&self, time: u32) -> i64 {
        self.micros + i64::from(time.wrapping_sub(self.last).cast_signed())
    }
}
