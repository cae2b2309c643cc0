//! The two times of a packet from the network.

use std::time::Instant;

/// The time at which a packet arrived at this host, and the time at which it is handled.
///
/// A daemon that gets the processor late reads a packet late. The time in between is no delay of
/// the path. So delays and the rates of arrivals are measured by [`Times::arrived`], and timers,
/// deadlines and states follow [`Times::now`].
///
/// An [`Instant`] stands for both if packets are handled at once, or if the time of their arrival is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    now: Instant,
    arrived: Instant,
}

impl Times {
    /// The times of a packet that is handled now. An arrival later than `now` counts as `now`.
    #[must_use]
    #[inline]
    pub fn new(now: Instant, arrived: Instant) -> Self {
        Self { now, arrived: arrived.min(now) }
    }

    /// Returns the time at which the packet is handled.
    #[must_use]
    #[inline]
    pub const fn now(self) -> Instant {
        self.now
    }

    /// Returns the time at which the packet arrived, which is `now` or earlier.
    #[must_use]
    #[inline]
    pub const fn arrived(self) -> Instant {
        self.arrived
    }
}

impl From<Instant> for Times {
    #[inline]
    fn from(now: Instant) -> Self {
        Self { now, arrived: now }
    }
}
