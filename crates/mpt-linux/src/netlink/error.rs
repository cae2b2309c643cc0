//! Errors of the kernel's network configuration.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;

use nix::errno::Errno;
use thiserror::Error;

/// Why the network could not be configured. The text says what was attempted.
#[derive(Debug, Error)]
pub enum Error {
    /// No netlink socket.
    #[error("open a netlink socket: {0}")]
    Connect(#[source] io::Error),
    /// The kernel refused, or its answer did not come.
    #[error("{attempt}: {source}")]
    Refused {
        /// The operation that failed, for example `add address 10.0.0.1/24 to mpt0`.
        attempt: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// No interface of this name.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// A path's packets cannot leave where they have to.
    #[error(
        "no route to {remote} leaves by {interface}: add one to the main table or give the path's gateway"
    )]
    NoRoute {
        /// The path's remote address.
        remote: IpAddr,
        /// The interface of the path.
        interface: String,
    },
    /// The packets of sockets bound to an interface cannot leave.
    #[error(
        "no default route of {} leaves by {interface}: add one, to any table", if *ipv6 { "IPv6" } else { "IPv4" }
    )]
    NoDefault {
        /// The interface.
        interface: String,
        /// True if for IPv6.
        ipv6: bool,
    },
    /// Another daemon in this network namespace marks its packets likewise.
    #[error("mark {0:#x} is that of another running daemon: choose another")]
    MarkInUse(u32),
    /// Two paths between the same addresses want to leave by different interfaces or routers.
    #[error(
        "the packets from {local} to {remote} leave by {interface} already: paths by different interfaces or gateways need different addresses"
    )]
    PathConflict {
        /// Local address of both.
        local: IpAddr,
        /// Remote address of both.
        remote: IpAddr,
        /// The interface of the first.
        interface: String,
    },
    /// The addresses of one object are of different IP versions.
    #[error("{0}: IPv4 and IPv6 addresses are mixed")]
    MixedVersions(String),
}

impl Error {
    pub(super) fn new(attempt: impl Display, error: rtnetlink::Error) -> Self {
        let source = match error {
            rtnetlink::Error::NetlinkError(message) => message.to_io(),
            rtnetlink::Error::RequestFailed => io::Error::from(io::ErrorKind::NotConnected),
            other => io::Error::other(other),
        };
        Self::Refused { attempt: attempt.to_string(), source }
    }

    pub(super) fn silent(attempt: impl Display) -> Self {
        let source = io::Error::new(io::ErrorKind::TimedOut, "no answer from the kernel");
        Self::Refused { attempt: attempt.to_string(), source }
    }

    /// True if the object to be created was there already.
    pub fn is_exists(&self) -> bool {
        self.errno() == Some(Errno::EEXIST)
    }

    /// True if the object to be removed, or the interface it belongs to, was gone already.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::NoInterface(_))
            || matches!(
                self.errno(),
                Some(
                    Errno::ENODEV
                        | Errno::ESRCH
                        | Errno::ENOENT
                        | Errno::EADDRNOTAVAIL
                        | Errno::ENXIO
                )
            )
    }

    /// True if packets have no way to go as things are: an interface or a route is missing.
    pub const fn is_no_way(&self) -> bool {
        matches!(self, Self::NoInterface(_) | Self::NoRoute { .. } | Self::NoDefault { .. })
    }

    /// True if the interface is down.
    pub fn is_down(&self) -> bool {
        self.errno() == Some(Errno::ENETDOWN)
    }

    /// True if the process lacks `CAP_NET_ADMIN` in the network namespace.
    pub fn is_permission(&self) -> bool {
        matches!(self.errno(), Some(Errno::EPERM | Errno::EACCES))
    }

    fn errno(&self) -> Option<Errno> {
        let Self::Refused { source, .. } = self else { return None };
        source.raw_os_error().map(Errno::from_raw)
    }
}

/// Takes it for success that what was to be removed is gone.
pub(super) fn tolerate_gone(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_gone() => Ok(()),
        other => other,
    }
}
