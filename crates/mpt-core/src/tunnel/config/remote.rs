//! The remote end of a path.

use std::net::SocketAddr;

use mpt_wire::ip::Version;

/// The other end of a path: the destination of its outer packets, and the source of those received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// The address is configured, with the UDP destination port.
    Fixed(SocketAddr),
    /// A control session has still to find the address, by
    /// [`Node::set_path_remote`](crate::Node::set_path_remote). Until then nothing is received
    /// on the path. Its outer packets are expected to have this IP version.
    Sought(Version),
    /// A control session has found the address, and follows it when it changes.
    Found(SocketAddr),
}

impl Remote {
    /// Returns the address and the port, where they are known.
    #[inline]
    pub const fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Fixed(address) | Self::Found(address) => Some(address),
            Self::Sought(_) => None,
        }
    }

    /// Returns true if a control session finds the address and follows it.
    pub const fn is_learnt(self) -> bool {
        matches!(self, Self::Sought(_) | Self::Found(_))
    }

    /// Returns the IP version of the outer packets.
    #[inline]
    pub const fn version(self) -> Version {
        match self {
            Self::Fixed(address) | Self::Found(address) => Version::of(address.ip()),
            Self::Sought(version) => version,
        }
    }

    /// Returns the same at another address.
    #[must_use]
    pub(crate) const fn moved_to(self, address: SocketAddr) -> Self {
        match self {
            Self::Fixed(_) => Self::Fixed(address),
            Self::Sought(_) | Self::Found(_) => Self::Found(address),
        }
    }

    /// Returns the same without what was learnt.
    #[must_use]
    pub(crate) const fn forgotten(self) -> Self {
        match self {
            Self::Fixed(address) => Self::Fixed(address),
            Self::Sought(_) | Self::Found(_) => Self::Sought(self.version()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_found_can_move_and_be_forgotten() {
        let sought = Remote::Sought(Version::V4);
        assert_eq!((sought.address(), sought.is_learnt()), (None, true));
        let found = sought.moved_to(address("[2001:db8::1]:4754"));
        assert_eq!(found, Remote::Found(address("[2001:db8::1]:4754")));
        assert_eq!((found.version(), found.is_learnt()), (Version::V6, true));
        assert_eq!(found.forgotten(), Remote::Sought(Version::V6));
    }

    #[test]
    fn what_is_configured_can_move_and_is_never_forgotten() {
        let fixed = Remote::Fixed(address("192.0.2.1:4754"));
        let moved = fixed.moved_to(address("192.0.2.2:5000"));
        assert_eq!(moved, Remote::Fixed(address("192.0.2.2:5000")));
        assert_eq!((moved.forgotten(), moved.is_learnt()), (moved, false));
    }
}
