//! Packets of a voice or video call: both hosts send small ones at a steady pace, and none is sent again.

use std::time::Duration;

use crate::kernel::time::Time;

use super::content::{Content, Inner, StreamPacket};
use super::flow::Way;

/// Packets at a steady pace, both ways.
#[derive(Debug)]
pub(in crate::tunnel) struct Stream {
    number: u8,
    protected: bool,
    size: u64,
    /// The way of its packets.
    pub(in crate::tunnel) way: Way,
    /// Time between two of them.
    pub(in crate::tunnel) interval: Duration,
    /// By sending side and number: the time at which each was sent, and its travel time.
    pub(in crate::tunnel) trips: [Vec<(Time, Option<Duration>)>; 2],
    /// Packets that arrived once more.
    pub(super) copies: u64,
}

impl Stream {
    /// Returns stream number `number`.
    pub(in crate::tunnel) fn new(
        number: u8,
        protected: bool,
        size: u64,
        way: Way,
        interval: Duration,
    ) -> Self {
        let trips = [Vec::new(), Vec::new()];
        Self { number, protected, size, way, interval, trips, copies: 0 }
    }

    /// Returns the next packet of a side, to be sent now.
    pub(in crate::tunnel) fn send(&mut self, now: Time, side: usize) -> Inner {
        let trips = &mut self.trips[side];
        let id = trips.len() as u32;
        trips.push((now, None));
        let (stream, protected, side) = (self.number, self.protected, side as u8);
        let content = Content::Stream(StreamPacket { stream, side, id, protected });
        Inner { size: self.size, content }
    }

    /// Receives one of its packets.
    pub(in crate::tunnel) fn receive(&mut self, now: Time, packet: StreamPacket) {
        let StreamPacket { side, id, .. } = packet;
        if let Some((sent, took)) = self.trips[usize::from(side)].get_mut(id as usize) {
            self.copies += u64::from(took.is_some());
            took.get_or_insert(now - *sent);
        }
    }
}
