//! The addresses of a path at both ends.

use std::net::{IpAddr, SocketAddr};

use crate::session::engine::paths::source::Source;
use crate::{Path, PathConfig, SocketId};

/// The addresses of a path, as the tunnels have them.
#[derive(Debug)]
pub(super) struct Addresses {
    sockets: Vec<SocketId>,
    local: Option<IpAddr>,
    /// The remote address, while that is known.
    remote: Option<SocketAddr>,
}

impl Addresses {
    pub(super) fn of(path: &Path) -> Self {
        let config = path.config();
        Self { sockets: config.sockets.clone(), local: config.local, remote: path.remote() }
    }

    /// Takes over the addresses of the path. Returns true if confirmations with the ones so far do
    /// not hold for them.
    pub(super) fn follow(&mut self, path: &Path) -> bool {
        let config = path.config();
        let is_other = !self.has_same_sockets(config) || self.local != config.local;
        self.sockets.clone_from(&config.sockets);
        (self.local, self.remote) = (config.local, path.remote());
        is_other
    }

    /// Returns true if confirmations with its sockets so far also hold for those of `config`. Order
    /// and repetition do not matter. A path that learns its remote address collects the sockets on
    /// which it was heard, and a socket that is removed is no longer needed.
    fn has_same_sockets(&self, config: &PathConfig) -> bool {
        let is_within =
            |these: &[SocketId], those: &[SocketId]| these.iter().all(|it| those.contains(it));
        is_within(&config.sockets, &self.sockets)
            && (config.remote.is_learnt() || is_within(&self.sockets, &config.sockets))
    }

    /// Returns the remote address, while that is known.
    pub(super) const fn remote(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// Forgets the remote address.
    pub(super) fn forget_remote(&mut self) {
        self.remote = None;
    }

    /// Returns true if packets leave by this socket.
    pub(super) fn leaves_by(&self, socket: SocketId) -> bool {
        self.sockets.first() == Some(&socket)
    }

    /// Returns true if packets may arrive on this socket.
    pub(super) fn listens_on(&self, socket: SocketId) -> bool {
        self.sockets.contains(&socket)
    }

    /// Returns true if packets go to this remote address.
    pub(super) fn goes_to(&self, remote: SocketAddr) -> bool {
        self.remote.is_some_and(|own| {
            own.port() == remote.port() && own.ip().to_canonical() == remote.ip().to_canonical()
        })
    }

    /// Returns true if a frame from there is from the peer's end of this path, as far as that is
    /// known. The port is not compared, since there may be a NAT.
    pub(super) fn is_from(&self, source: Source) -> bool {
        let same =
            |remote: SocketAddr| remote.ip().to_canonical() == source.remote.ip().to_canonical();
        self.listens_on(source.socket) && self.remote.is_some_and(same)
    }
}
