//! The destination of a path.

use std::net::IpAddr;

/// The address of the peer on a path, or the way in which it is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Remote {
    /// The address is written in the file.
    Address(IpAddr),
    /// A name is written in the file. It is resolved at the start and whenever the path is dead.
    Name {
        /// The name in the DNS.
        name: String,
        /// The address to which the name leads; `None` until it is resolved.
        address: Option<IpAddr>,
    },
    /// The session finds the address of the peer, and follows it. The connection then has a session, and the path sends from
    /// the port on which it listens.
    Sought,
}

impl Remote {
    /// Returns the address, if the configuration has it or its name has been resolved.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Remote::Address(address) => Some(*address),
            Remote::Name { address, .. } => *address,
            Remote::Sought => None,
        }
    }

    /// Returns the name, if one is written in the file.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Remote::Name { name, .. } => Some(name),
            Remote::Address(_) | Remote::Sought => None,
        }
    }

    /// Returns the same as the file has it: where a name leads is found out later.
    #[must_use]
    pub fn as_written(&self) -> Remote {
        match self {
            Remote::Name { name, .. } => Remote::Name { name: name.clone(), address: None },
            Remote::Address(_) | Remote::Sought => self.clone(),
        }
    }
}
