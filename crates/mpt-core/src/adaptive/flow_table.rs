//! A table of the flows that have sent lately.

/// The number of flows that are distinguished.
const PLACES: usize = 256;
/// The places that a flow may have. Where others have them all, it has none.
const WAYS: usize = 4;
/// The time without a packet after which a packet begins another flow, in microseconds.
const PAUSE: i64 = 1_000_000;

/// A place of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Place<T> {
    /// `None`: no flow has this place.
    tag: Option<u64>,
    /// The time of its last packet.
    last: i64,
    flow: T,
}

/// The flows, each with something that is known of it. Times are microseconds.
#[derive(Clone, Debug)]
pub(super) struct FlowTable<T> {
    /// None before the first flow.
    places: Vec<Place<T>>,
}

/// The flow of a packet.
pub(super) struct Found<'a, T> {
    /// The flow. It stays the same across a pause, and a new one is the default.
    pub(super) flow: &'a mut T,
    /// True for its first packet, and the first one after a pause.
    pub(super) begins: bool,
    /// The flow that has ended: the one that had this place, or this one before a pause.
    pub(super) ended: Option<T>,
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self { places: Vec::new() }
    }
}

impl<T: Copy + Default> FlowTable<T> {
    /// Notes a packet of a flow. `None`: other flows have all places that it may have.
    pub(super) fn note(&mut self, now: i64, tag: u64) -> Option<Found<'_, T>> {
        if self.places.is_empty() {
            self.places = vec![Place::default(); PLACES];
        }
        let first = tag as usize % (PLACES / WAYS) * WAYS;
        let places = self.places.get_mut(first..first + WAYS)?;
        let own = places.iter().position(|place| place.tag == Some(tag));
        let free = || places.iter().position(|place| place.tag.is_none() || place.has_paused(now));
        let place = places.get_mut(own.or_else(free)?)?;
        let begins = own.is_none() || place.has_paused(now);
        let ended = place.tag.filter(|_| begins).map(|_| place.flow);
        if own.is_none() {
            place.flow = T::default();
        }
        (place.tag, place.last) = (Some(tag), now);
        Some(Found { flow: &mut place.flow, begins, ended })
    }

    /// Removes a flow, so that its place is free.
    pub(super) fn remove(&mut self, tag: u64) {
        if let Some(place) = self.places.iter_mut().find(|place| place.tag == Some(tag)) {
            *place = Place::default();
        }
    }

    /// Forgets all flows, and gives back their memory.
    pub(super) fn clear(&mut self) {
        self.places = Vec::new();
    }
}

impl<T> Place<T> {
    fn has_paused(&self, now: i64) -> bool {
        now - self.last > PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes a packet of 100 bytes; returns the bytes that its flow has sent by then.
    fn send(table: &mut FlowTable<u64>, now: i64, tag: u64) -> Option<u64> {
        let found = table.note(now, tag)?;
        *found.flow += 100;
        Some(*found.flow)
    }

    #[test]
    fn what_follows_a_pause_is_another_flow() {
        let mut table = FlowTable::default();
        send(&mut table, 0, 7);
        let found = table.note(PAUSE, 7).unwrap();
        assert!(found.ended.is_none() && !found.begins);
        let found = table.note(2 * PAUSE + 1, 7).unwrap();
        assert_eq!((found.ended, found.begins), (Some(100), true));
    }

    #[test]
    fn flows_that_send_keep_their_places() {
        let mut table = FlowTable::default();
        let alike = |way: u64| way * PLACES as u64;
        for way in 0..=WAYS as u64 {
            let found = send(&mut table, way as i64, alike(way));
            assert_eq!(found.is_some(), way < WAYS as u64, "{way}");
        }
        // The first one has paused.
        let now = PAUSE + 1;
        assert_eq!(send(&mut table, now, alike(9)), Some(100));
        assert_eq!(send(&mut table, now, alike(1)), Some(200));
    }

    #[test]
    fn a_flow_that_is_removed_begins_anew() {
        let mut table = FlowTable::default();
        send(&mut table, 0, 7);
        table.remove(7);
        let found = table.note(1, 7).unwrap();
        assert_eq!((*found.flow, found.begins, found.ended), (0, true, None));
    }
}
