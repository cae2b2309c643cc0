//! Sparse packets that are sent back: ping, and keys typed into a remote shell.

use std::collections::VecDeque;
use std::time::Duration;

use crate::kernel::time::Time;

use super::content::{Content, Echo, EchoKind, Inner};
use super::flow::Way;

/// Bytes of each packet, as ping has them.
const SIZE: u64 = 84;

/// Packets that the host behind end 0 sends at an interval, and that the other host sends back.
#[derive(Debug)]
pub(in crate::tunnel) struct Echoes {
    number: u8,
    kind: EchoKind,
    /// The way of its packets.
    pub(in crate::tunnel) way: Way,
    /// Time between two of them.
    pub(in crate::tunnel) interval: Duration,
    /// By number: the time at which each was sent, and its round-trip time.
    pub(in crate::tunnel) trips: Vec<(Time, Option<Duration>)>,
    /// Packets that the other host has still to send back.
    replies: VecDeque<Inner>,
}

impl Echoes {
    /// Returns source number `number` of such packets.
    pub(in crate::tunnel) fn new(number: u8, kind: EchoKind, way: Way, interval: Duration) -> Self {
        Self { number, kind, way, interval, trips: Vec::new(), replies: VecDeque::new() }
    }

    /// Returns the next packet, to be sent now.
    pub(in crate::tunnel) fn send(&mut self, now: Time) -> Inner {
        let id = self.trips.len() as u32;
        self.trips.push((now, None));
        let (source, kind) = (self.number, self.kind);
        let content = Content::Echo(Echo { source, id, reply: false, kind });
        Inner { size: SIZE, content }
    }

    /// Receives one of its packets at one of the hosts.
    pub(in crate::tunnel) fn receive(&mut self, now: Time, echo: Echo) {
        if !echo.reply {
            let content = Content::Echo(Echo { reply: true, ..echo });
            self.replies.push_back(Inner { size: SIZE, content });
        } else if let Some((sent, took)) = self.trips.get_mut(echo.id as usize) {
            took.get_or_insert(now - *sent);
        }
    }

    /// Returns the next packet that the other host sends back.
    pub(in crate::tunnel) fn poll_reply(&mut self) -> Option<Inner> {
        self.replies.pop_front()
    }
}
