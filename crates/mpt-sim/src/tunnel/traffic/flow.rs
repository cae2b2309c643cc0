//! A TCP flow between the hosts.

use crate::kernel::time::Time;
use crate::network::Route;
use crate::simulation::{Receiver as _, Sender as _};
use crate::transport::tcp::{Config, Receiver, Sender, WireSizes};

use super::content::{Content, Inner, MAX_HEADERS};

/// The way of packets from one host to the other.
#[derive(Clone, Copy, Debug)]
pub(in crate::tunnel) enum Way {
    /// The packets go through the tunnel of this number.
    Tunnel(usize),
    /// The packets go over this route, beside all tunnels.
    Route(Route),
}

/// A flow without end from the host behind end 0 to the host behind end 1.
#[derive(Debug)]
pub(in crate::tunnel) struct Flow {
    /// Its number.
    number: u8,
    /// The way of its packets.
    pub(in crate::tunnel) way: Way,
    pub(in crate::tunnel) sender: Sender,
    pub(in crate::tunnel) receiver: Receiver,
    /// Payload of a segment in bytes.
    pub(in crate::tunnel) mss: u64,
    /// The time at which it begins.
    pub(in crate::tunnel) start: Time,
    /// The time of the next timer event that is scheduled.
    timer: Time,
}

impl Flow {
    /// Returns flow `number`, in packets of at most `mtu` bytes.
    pub(in crate::tunnel) fn new(
        number: u8,
        way: Way,
        config: Config,
        mtu: u64,
        start: Time,
    ) -> Self {
        let mss = mtu - WireSizes::ipv4(0, 0, 0).segment.0;
        let sizes = WireSizes::ipv4(mss, 0, 0);
        let (sender, receiver) = (Sender::new(config, sizes, None), Receiver::new(sizes));
        Self { number, way, sender, receiver, mss, start, timer: Time::MAX }
    }

    /// Returns the bytes of payload delivered in order.
    pub(in crate::tunnel) fn delivered(&self) -> u64 {
        self.receiver.delivered() * self.mss
    }

    /// Returns the next packet that its receiver sends.
    pub(in crate::tunnel) fn poll_ack(&mut self) -> Option<Inner> {
        let outgoing = self.receiver.poll_transmit()?;
        // The blocks of an acknowledgement count as far as its header has room for them (RFC 2883, section 4).
        let size = outgoing.size.0.min(MAX_HEADERS as u64);
        Some(Inner { size, content: Content::Ack(self.number, outgoing.packet) })
    }

    /// Returns the next packet that its sender sends.
    pub(in crate::tunnel) fn poll_data(&mut self, now: Time) -> Option<Inner> {
        if now < self.start {
            return None;
        }
        let outgoing = self.sender.poll_transmit(now)?;
        let content = Content::Data(self.number, outgoing.packet);
        Some(Inner { size: outgoing.size.0, content })
    }

    /// Handles a timer event, which may be one that is not waited for any more.
    pub(in crate::tunnel) fn handle_timer(&mut self, now: Time) {
        if self.timer == now {
            self.timer = Time::MAX;
        }
        if self.sender.next_timeout().is_some_and(|due| due <= now) {
            self.sender.handle_timeout(now);
        }
    }

    /// Returns the time at which a timer has to be set, earlier than the one that is waited for.
    pub(in crate::tunnel) fn set_timer(&mut self, now: Time) -> Option<Time> {
        let due = self.sender.next_timeout().filter(|&due| due < self.timer)?.max(now);
        self.timer = due;
        Some(due)
    }
}
