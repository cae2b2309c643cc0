//! A metronome: numbered UDP packets at a steady rate through the tunnel, every one of them accounted for.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use mpt_wire::ip::protocol;

use crate::processes::daemon::Tunnel;
use crate::topology::{End, Host};
use crate::traffic::datagrams::{Pace, Plan, Receiver, Stream};

/// UDP port, the same at both ends.
const PORT: u16 = 4700;
/// UDP payload of a beat that only measures, in bytes: no other packet of the measurements has its length.
pub(super) const SMALL: usize = 220;

/// Rate and size of a metronome's packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beat {
    /// Packets per second.
    pub(crate) rate: u32,
    /// UDP payload in bytes.
    pub(crate) length: usize,
}

impl Beat {
    /// A beat that measures beside other traffic, which it hardly disturbs.
    pub(crate) const LIGHT: Self = Self { rate: 500, length: SMALL };

    /// Returns a load of about this many Mbit/s of inner packets.
    pub(crate) fn load(megabits: u32) -> Self {
        let length = 1372;
        Self { rate: megabits * 1_000_000 / (8 * (length as u32 + 28)), length }
    }
}

/// Starts a metronome from host `from`, which is that of end `end`, to host `to`.
pub(crate) fn start(from: &Host, to: &Host, end: End, beat: Beat) -> Result<Stream> {
    let pace = Pace::Every(Duration::from_secs(1) / beat.rate);
    let plan = Plan { size: beat.length, pace, count: None, batches: false, dscp: 0 };
    // Receivers of the two directions have ports of their own.
    let port = PORT + u16::from(end.other().number());
    let at = SocketAddr::new(Tunnel::address(end.other()), port);
    Receiver::start(to, at, plan)?.send(from, SocketAddr::new(Tunnel::address(end), 0))
}

/// The number of a metronome's packet, from the beginning of an inner IPv4 packet.
pub(crate) fn number(packet: &[u8]) -> Option<u64> {
    let port = u16::from_be_bytes(packet.get(22..24)?.try_into().ok()?);
    let ours = packet[0] == 0x45 && packet[9] == protocol::UDP && (PORT..PORT + 3).contains(&port);
    let number = packet.get(28..36)?.try_into().ok()?;
    ours.then(|| u64::from_be_bytes(number))
}
