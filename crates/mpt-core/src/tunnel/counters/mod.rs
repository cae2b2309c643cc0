//! Named counters. Every packet ends in exactly one of those that say how it ended.

pub(super) mod drops;

/// Declares a struct of `u64` counters that knows their names.
macro_rules! counters {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$inner:meta])* $field:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$inner])* pub $field: u64,)+ }

        impl $name {
            /// Names and values, in the order of declaration.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),+].into_iter()
            }

            /// Returns the sum over all of them.
            pub fn total(&self) -> u64 {
                self.iter().map(|(_, value)| value).sum()
            }
        }

        /// Each counter is the sum of both.
        impl std::ops::Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)+ }
            }
        }
    };
}

pub(crate) use counters;

counters! {
    /// Packets from a TUN device that were not sent, by reason. A super-packet counts as its
    /// segments.
    pub struct InnerDrops {
        /// Multicast, broadcast or link-local, and no connection of the device carries that.
        multicast,
        /// An outer packet of one of our own paths, routed back into the tunnel.
        routing_loop,
        /// No selector matches.
        no_connection,
        /// The connection only receives.
        direction,
        /// Larger than the inner MTU; the sender is told by ICMP.
        too_big,
        /// An IPv6 packet on a connection of which no path carries inner packets of 1280 bytes, as
        /// IPv6 needs; the sender is told by ICMP.
        ipv6_minimum_mtu,
        /// Every path of the connection is down.
        no_path,
        /// The data of the connection is sealed, and there are no keys to seal with.
        no_keys,
        /// The queue of the connection had no room.
        queue_full,
        /// The owner had no memory left for packets that wait, see [`crate::Node::limit_queues`].
        queue_memory,
    }
}

counters! {
    /// Datagrams from the network that were not accepted, by reason.
    pub struct DatagramDrops {
        /// Shorter than its GRE header says.
        truncated,
        /// One of the flag bits 1, 4 and 5 is set (RFC 2784, section 2.3).
        reserved_flags,
        /// A GRE version other than 0.
        version,
        /// The GRE checksum is wrong.
        checksum,
        /// A protocol type other than IPv4, IPv6 and control.
        unknown_protocol,
        /// A control frame that no control session takes.
        control,
        /// No path receives from this remote address on this socket.
        unknown_sender,
        /// The sender is known, but not with this GRE key.
        wrong_key,
        /// The sender is known, but only with a GRE key.
        missing_key,
        /// The connection was given to another peer, which has not set up its session yet.
        barred,
        /// The connection only sends.
        direction,
        /// No complete inner IPv4 or IPv6 packet.
        malformed,
        /// The inner IP version is not that of the GRE protocol type.
        inner_version,
        /// The inner source address is not one of the connection's `sources`.
        foreign_source,
        /// An ICMP error from outside the connection's `sources`, about a packet of ours, beyond the
        /// rate at which these are delivered.
        icmp_limited,
        /// Multicast, broadcast or link-local on a connection that does not carry that.
        multicast,
        /// A plain packet on a connection whose data is sealed.
        not_sealed,
        /// A sealed packet whose index names no keys.
        unknown_index,
        /// A sealed packet with a header that none has: without key or number, or with a checksum.
        sealed_header,
        /// A sealed packet that is a repetition, or too old to tell. Whether it is authentic was not
        /// looked at.
        replayed,
        /// A sealed packet without an order that another path has brought before. (One that has an order
        /// counts as a duplicate there.)
        copies,
        /// A sealed packet that is not authentic.
        sealed_unopened,
        /// Congestion was marked on a packet that cannot carry the mark (RFC 6040, section 4.2).
        ecn,
    }
}

counters! {
    /// The counters of packets that a connection has accepted from the network, besides those of
    /// the reorder buffer.
    pub struct Accepted {
        /// Handed to the reorder buffer, whose counters say how each ended.
        sequenced,
        /// Packets without a sequence number, delivered at once.
        unsequenced,
        /// Packets with a sequence number on a connection that uses none, delivered at once.
        sequence_ignored,
    }
}

counters! {
    /// Remarkable packets. These ended elsewhere too.
    pub struct Remarks {
        /// ICMP errors from routers outside the connection's `sources`, about a packet that was
        /// sent into the connection.
        icmp_from_outside,
        /// Arrived on a path that is down here.
        path_down,
        /// Their TCP MSS option was lowered (both directions).
        mss_clamped,
        /// Sealed packets that were lost and not sent again, because the keys that sealed them are not
        /// used any more.
        repair_keys_gone,
        /// Sealed packets that were lost and not sent again, because what was kept is not what was
        /// sealed under their number.
        repair_differs,
        /// Missing packets of which the peer has said that it will not send them again, so that nothing
        /// waits for them; one of which it has said so again counts again.
        refused_by_peer,
        /// Numbers of which the peer has said so although they are not within reach of what is missing.
        refusals_ignored,
    }
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Inner packets; a super-packet counts as its segments.
    pub packets: u64,
    /// Bytes of the inner packets, without any encapsulation.
    pub bytes: u64,
}

impl Traffic {
    #[inline]
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }
}
