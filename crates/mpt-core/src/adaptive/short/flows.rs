//! The flows that are sending: how much each has carried, in both directions.

use super::services::Service;

/// The number of flows that are distinguished.
const PLACES: usize = 256;
/// The places that a flow may have. Where others have them all, it is not noted.
const WAYS: usize = 4;
/// The time without a packet after which what follows counts as another flow, in microseconds.
const PAUSE: i64 = 1_000_000;

/// Whether a packet is the last one of its flow in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Yes,
    No,
}

/// What a packet shows of its flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The bytes of the packet.
    pub(super) bytes: u32,
    /// The sequence number up to which everything has come from the other end.
    pub(super) acknowledged: Option<u32>,
    pub(super) ends: Ends,
}

/// The paths of a flow that the other end does not put in order.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::adaptive) struct Keeps {
    /// The one that it keeps to.
    pub(in crate::adaptive) only: Option<u16>,
    /// It sends more than that carries, and has all of them.
    pub(in crate::adaptive) all: bool,
}

/// A flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// `None`: no flow has this place.
    tag: Option<u64>,
    last: i64,
    /// The bytes since it began, in both directions.
    bytes: u64,
    acknowledged: Option<u32>,
    pub(super) service: Service,
    /// It is expected to stay short, and keeps to one path for as long as it is known.
    pub(super) short: bool,
    /// It is longer than what counts as short.
    pub(super) long: bool,
    /// Its paths, where the other end does not put it in order.
    pub(super) keeps: Keeps,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) service: Service,
    pub(super) bytes: u64,
}

/// The flows that have sent lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    /// None before the first flow.
    places: Vec<Flow>,
}

/// The place of the flow of a packet.
pub(super) struct Place<'a> {
    flow: &'a mut Flow,
    tag: u64,
}

impl Flows {
    /// Returns the place of a flow. `None`: other flows have all that it may have.
    pub(super) fn find(&mut self, now: i64, tag: u64) -> Option<Place<'_>> {
        if self.places.is_empty() {
            self.places = vec![Flow::default(); PLACES];
        }
        let first = tag as usize % (PLACES / WAYS) * WAYS;
        let places = self.places.get_mut(first..first + WAYS)?;
        let own = places.iter().position(|flow| flow.tag == Some(tag));
        let free = || places.iter().position(|flow| flow.tag.is_none() || flow.has_paused(now));
        let place = own.or_else(free)?;
        Some(Place { flow: places.get_mut(place)?, tag })
    }

    /// Forgets all flows, and gives back their memory.
    pub(super) fn clear(&mut self) {
        self.places = Vec::new();
    }
}

impl Place<'_> {
    /// Returns the flow that had the place, or the one before a pause of this flow, once.
    pub(super) fn take_ended(&mut self, now: i64) -> Option<Ended> {
        let flow = &mut *self.flow;
        let former = flow.tag?;
        if former == self.tag && !flow.has_paused(now) {
            return None;
        }
        let ended = flow.ended();
        *flow = if former == self.tag {
            Flow { bytes: 0, long: false, ..*flow }
        } else {
            Flow::default()
        };
        ended
    }

    /// Returns the flow of the packet.
    pub(super) fn flow(&mut self) -> &mut Flow {
        self.flow.tag = Some(self.tag);
        self.flow
    }

    /// The flow has ended; its place is free.
    pub(super) fn end(self) -> Option<Ended> {
        let ended = self.flow.ended();
        *self.flow = Flow::default();
        ended
    }
}

impl Flow {
    /// Returns true for its first packet, and the first one after a pause.
    pub(super) fn begins(&self) -> bool {
        self.bytes == 0
    }

    /// Adds a packet that is sent. Returns the bytes that the flow has carried so far.
    pub(super) fn add(&mut self, now: i64, seen: Seen) -> u64 {
        self.last = now;
        let came = match (self.acknowledged, seen.acknowledged) {
            (Some(before), Some(now)) => now.wrapping_sub(before).cast_signed().max(0),
            _ => 0,
        };
        if came > 0 || self.acknowledged.is_none() {
            self.acknowledged = seen.acknowledged;
        }
        self.bytes += u64::from(seen.bytes) + u64::from(came.unsigned_abs());
        self.bytes
    }

    fn has_paused(&self, now: i64) -> bool {
        now - self.last > PAUSE
    }

    /// Returns the flow as one that has ended, if its length says something new.
    fn ended(&self) -> Option<Ended> {
        (!self.long).then_some(Ended { service: self.service, bytes: self.bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: u32, acknowledged: u32) -> Seen {
        Seen { bytes, acknowledged: Some(acknowledged), ends: Ends::No }
    }

    fn send(flows: &mut Flows, now: i64, tag: u64, seen: Seen) -> Option<u64> {
        let mut place = flows.find(now, tag)?;
        place.take_ended(now);
        Some(place.flow().add(now, seen))
    }

    #[test]
    fn what_has_come_counts_by_its_acknowledgements() {
        let mut flows = Flows::default();
        let start = u32::MAX - 1_000;
        assert_eq!(send(&mut flows, 0, 7, packet(400, start)), Some(400));
        assert_eq!(send(&mut flows, 1, 7, packet(40, start.wrapping_add(100_000))), Some(100_440));
        // An acknowledgement that was overtaken.
        assert_eq!(send(&mut flows, 2, 7, packet(40, start)), Some(100_480));
        assert_eq!(send(&mut flows, 3, 7, packet(40, start.wrapping_add(100_010))), Some(100_530));
    }

    #[test]
    fn what_follows_a_pause_is_another_flow() {
        let mut flows = Flows::default();
        send(&mut flows, 0, 7, packet(5_000, 0));
        let mut place = flows.find(PAUSE, 7).unwrap();
        assert!(place.take_ended(PAUSE).is_none());
        let now = PAUSE + 1;
        let mut place = flows.find(now, 7).unwrap();
        assert_eq!(place.take_ended(now).map(|it| it.bytes), Some(5_000));
        assert!(place.flow().begins());
    }

    #[test]
    fn flows_that_send_keep_their_places() {
        let mut flows = Flows::default();
        let alike = |way: u64| way * PLACES as u64;
        for way in 0..=WAYS as u64 {
            let found = send(&mut flows, way as i64, alike(way), packet(100, 0));
            assert_eq!(found.is_some(), way < WAYS as u64, "{way}");
        }
        // The first one has paused.
        let now = PAUSE + 1;
        assert_eq!(send(&mut flows, now, alike(9), packet(100, 0)), Some(100));
        assert_eq!(send(&mut flows, now, alike(1), packet(100, 0)), Some(200));
    }
}
