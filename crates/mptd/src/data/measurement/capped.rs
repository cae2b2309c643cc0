//! The paths with a cap, and how much they carry.

use std::collections::BTreeMap;

use mpt_api::AtCap;

/// Connection and path by their names.
pub(crate) type Place = (String, String);

/// Bytes of whole IP packets that a path carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Sent.
    pub(crate) sent: u64,
    /// Received.
    pub(crate) received: u64,
}

/// The paths with a cap.
#[derive(Debug, Default)]
pub(in crate::data) struct Capped {
    pub(in crate::data) paths: BTreeMap<Place, Meter>,
}

/// The bytes that one of them has carried, and the treatment that follows from it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::data) struct Meter {
    /// Its counters when they were last looked at.
    pub(in crate::data) seen: Counters,
    /// The bytes that have not been taken yet.
    pub(in crate::data) carried: Carried,
    /// The treatment of the path once its cap is reached.
    pub(super) reached: Option<AtCap>,
}

/// Counters that grow from 0 on, each for as long as what it belongs to exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::data) struct Counters {
    pub(super) data_sent: u64,
    pub(super) control_sent: u64,
    pub(super) data_received: u64,
    pub(super) control_received: u64,
}

impl Meter {
    pub(super) fn look(&mut self, now: Counters) {
        // A counter that is behind has begun anew.
        let step = |now: u64, seen: u64| now.checked_sub(seen).unwrap_or(now);
        let Self { seen, carried, .. } = self;
        carried.sent += step(now.data_sent, seen.data_sent);
        carried.sent += step(now.control_sent, seen.control_sent);
        carried.received += step(now.data_received, seen.data_received);
        carried.received += step(now.control_received, seen.control_received);
        *seen = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_begins_anew_takes_nothing_away() {
        let mut meter = Meter::default();
        let of = |data_sent, control_received| Counters {
            data_sent,
            control_received,
            ..Counters::default()
        };
        meter.look(of(100, 7));
        meter.look(of(150, 7));
        meter.look(of(30, 9));
        assert_eq!(meter.carried, Carried { sent: 180, received: 9 });
    }
}
