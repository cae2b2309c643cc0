//! Serialisation: one packet after the other, at the rate of each moment.

use crate::schedule::Schedule;
use crate::{ByteCount, Params};

/// The transmitter of a link. Exact: the fraction of a nanosecond left over by one packet is carried to the next, so
/// that n packets take the time of n packets however odd the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transmitter {
    /// The time at which the last packet has been transmitted, in nanoseconds, rounded down.
    free: u64,
    /// The part of a nanosecond by which [`Self::free`] was rounded down, in 1/rate of it.
    rest: u128,
}

impl Transmitter {
    /// Returns the time at which the transmission of a packet that comes at `now` begins.
    pub(crate) fn start(&self, now: u64) -> u64 {
        self.free.max(now)
    }

    /// Occupies the medium from [`Transmitter::start`] on for `time` nanoseconds in which nothing is transmitted; what it
    /// gives is when they are over.
    pub(crate) fn occupy(&mut self, now: u64, time: u64) -> u64 {
        if now > self.free {
            *self = Self { free: now, rest: 0 };
        }
        self.free = self.free.saturating_add(time);
        self.free
    }

    /// Transmits a packet from [`Transmitter::start`] on, up to which `schedule` must have been applied to `params`;
    /// applies it further up to the end of the transmission, and returns that.
    pub(crate) fn transmit(
        &mut self,
        now: u64,
        size: ByteCount,
        params: &mut Params,
        schedule: &mut Schedule,
    ) -> u64 {
        if now > self.free {
            *self = Self { free: now, rest: 0 };
        }
        // In units of 1 bit/s x 1 ns: at a rate of r bit/s, r of them are done in a nanosecond.
        let mut work = self.rest + u128::from(size.0) * 8 * 1_000_000_000;
        self.rest = 0;
        while let Some(rate) = params.rate {
            let rate = u128::from(rate.bits_per_second());
            if let Some(at) = schedule.next() {
                let until = at.max(self.free);
                let done = rate.saturating_mul(u128::from(until - self.free));
                if work > done {
                    work -= done;
                    self.free = until;
                    schedule.apply(until, params);
                    continue;
                }
            }
            let end = u128::from(self.free) + work / rate;
            self.free = u64::try_from(end).unwrap_or(u64::MAX);
            self.rest = work % rate;
            break;
        }
        self.free
    }
}
