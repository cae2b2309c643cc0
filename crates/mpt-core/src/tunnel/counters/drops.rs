//! The reasons to drop a packet or a datagram, and their counters.

use mpt_wire::gre;

use super::{DatagramDrops, InnerDrops};

/// The reason for which a packet from a device was not sent. Each reason has its counter in
/// [`InnerDrops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerDrop {
    /// Multicast, broadcast or link-local, and no connection of the device carries that.
    Multicast,
    /// One of our own outer packets.
    RoutingLoop,
    /// No selector matches.
    NoConnection,
    /// The connection only receives.
    Direction,
    /// Larger than the inner MTU: the caller answers with ICMP "too big".
    TooBig {
        /// The inner MTU in bytes.
        mtu: u16,
    },
    /// No path carries what IPv6 needs: the caller answers with ICMPv6 "destination unreachable".
    Ipv6MinimumMtu,
    /// Every path is down.
    NoPath,
    /// Packets are sealed, and there are no keys to seal them with.
    NoKeys,
}

impl InnerDrops {
    pub(in crate::tunnel) fn add(&mut self, reason: InnerDrop, packets: u64) {
        let counter = match reason {
            InnerDrop::Multicast => &mut self.multicast,
            InnerDrop::RoutingLoop => &mut self.routing_loop,
            InnerDrop::NoConnection => &mut self.no_connection,
            InnerDrop::Direction => &mut self.direction,
            InnerDrop::TooBig { .. } => &mut self.too_big,
            InnerDrop::Ipv6MinimumMtu => &mut self.ipv6_minimum_mtu,
            InnerDrop::NoPath => &mut self.no_path,
            InnerDrop::NoKeys => &mut self.no_keys,
        };
        *counter += packets;
    }
}

/// The reason for which a datagram was not accepted. Each reason has its counter, of the same name,
/// in [`DatagramDrops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "DatagramDrops says what each means")]
pub enum DatagramDrop {
    Truncated,
    ReservedFlags,
    Version,
    Checksum,
    UnknownProtocol,
    Control,
    UnknownSender,
    WrongKey,
    MissingKey,
    Barred,
    Direction,
    Malformed,
    InnerVersion,
    ForeignSource,
    Multicast,
    NotSealed,
    UnknownIndex,
    SealedHeader,
    Replayed,
    SealedUnopened,
    Ecn,
}

impl From<gre::Error> for DatagramDrop {
    fn from(error: gre::Error) -> Self {
        match error {
            gre::Error::Truncated => Self::Truncated,
            gre::Error::ReservedFlags => Self::ReservedFlags,
            gre::Error::Version => Self::Version,
            gre::Error::Checksum => Self::Checksum,
        }
    }
}

impl DatagramDrops {
    pub(in crate::tunnel) fn add(&mut self, reason: DatagramDrop) {
        let counter = match reason {
            DatagramDrop::Truncated => &mut self.truncated,
            DatagramDrop::ReservedFlags => &mut self.reserved_flags,
            DatagramDrop::Version => &mut self.version,
            DatagramDrop::Checksum => &mut self.checksum,
            DatagramDrop::UnknownProtocol => &mut self.unknown_protocol,
            DatagramDrop::Control => &mut self.control,
            DatagramDrop::UnknownSender => &mut self.unknown_sender,
            DatagramDrop::WrongKey => &mut self.wrong_key,
            DatagramDrop::MissingKey => &mut self.missing_key,
            DatagramDrop::Barred => &mut self.barred,
            DatagramDrop::Direction => &mut self.direction,
            DatagramDrop::Malformed => &mut self.malformed,
            DatagramDrop::InnerVersion => &mut self.inner_version,
            DatagramDrop::ForeignSource => &mut self.foreign_source,
            DatagramDrop::Multicast => &mut self.multicast,
            DatagramDrop::NotSealed => &mut self.not_sealed,
            DatagramDrop::UnknownIndex => &mut self.unknown_index,
            DatagramDrop::SealedHeader => &mut self.sealed_header,
            DatagramDrop::Replayed => &mut self.replayed,
            DatagramDrop::SealedUnopened => &mut self.sealed_unopened,
            DatagramDrop::Ecn => &mut self.ecn,
        };
        *counter += 1;
    }
}
