//! A half-duplex medium that several stations share, such as Wi-Fi: who wants to transmit has to get access first.

use std::time::Duration;

use crate::time::nanoseconds;

/// The cost of access to a shared medium. Nothing is transmitted in that time: spaces between frames, back-off, preamble
/// (in IEEE 802.11: AIFS, contention window, PLCP; a burst is a transmission opportunity or an aggregate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Medium {
    /// Paid before the first packet of a burst. A burst ends when another station transmits, when the medium falls idle,
    /// and when it has taken [`Medium::burst`].
    pub access: Duration,
    /// The longest time of a burst: no packet of it begins later than that after the first. 0 is one packet.
    pub burst: Duration,
}

/// The station that has the medium.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    medium: Medium,
    /// The station of the present burst, and when its first packet began, in nanoseconds.
    burst: Option<(u32, u64)>,
    /// The time at which the last packet has been transmitted.
    busy_until: u64,
}

impl Access {
    pub(crate) fn new(medium: Medium) -> Self {
        Self { medium, burst: None, busy_until: 0 }
    }

    /// Nanoseconds that `station` pays, having the medium for itself from `start` on.
    pub(crate) fn pay(&mut self, start: u64, station: u32) -> u64 {
        if let Some((owner, begun)) = self.burst
            && owner == station
            && start <= self.busy_until
            && start - begun < nanoseconds(self.medium.burst)
        {
            return 0;
        }
        let time = nanoseconds(self.medium.access);
        self.burst = Some((station, start.saturating_add(time)));
        time
    }

    /// The transmission that was paid for has ended.
    pub(crate) fn transmitted(&mut self, end: u64) {
        self.busy_until = end;
    }
}
