//! The devices, as the owner of the tunnels offers them for received packets.

use crate::{DeviceId, reorder};

/// The destination of received packets.
pub trait DeviceSink<P> {
    /// Keeps a packet that has to wait. Returns the handle that stays valid, or `None` when there
    /// is no room (see [`reorder::Sink::keep`]).
    fn keep(&mut self, packet: P) -> Option<P>;

    /// Delivers a packet to the device. `kept`: the packet went through [`Self::keep`].
    /// `after_gap`: numbers directly before it were given up, so it may not be coalesced with
    /// packets before it.
    fn deliver(&mut self, device: DeviceId, packet: P, kept: bool, after_gap: bool);

    /// Drops a packet.
    fn discard(&mut self, packet: P);
}

/// A sink that drops every packet, for ends that have a session and no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl<P> DeviceSink<P> for Nowhere {
    fn keep(&mut self, packet: P) -> Option<P> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, _: P, _kept: bool, _after_gap: bool) {}

    fn discard(&mut self, _: P) {}
}

/// Gives the reorder buffer of a connection the device it delivers to.
pub(crate) struct ToDevice<'a, S> {
    pub(crate) device: DeviceId,
    pub(crate) sink: &'a mut S,
}

impl<P, S: DeviceSink<P>> reorder::Sink<P> for ToDevice<'_, S> {
    #[inline]
    fn keep(&mut self, packet: P) -> Option<P> {
        self.sink.keep(packet)
    }

    #[inline]
    fn deliver(&mut self, packet: P, kept: bool, after_gap: bool) {
        self.sink.deliver(self.device, packet, kept, after_gap);
    }

    fn discard(&mut self, packet: P) {
        self.sink.discard(packet);
    }
}
