//! The purpose of a server, and the device that a setup makes.

use ipnet::IpNet;

/// Name of the device.
pub(crate) const DEVICE: &str = "mpt0";

/// The purpose of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Hosts that reach others through it, with its address.
    Clients,
    /// One router, with these networks behind it.
    Site { there: Vec<IpNet> },
}
