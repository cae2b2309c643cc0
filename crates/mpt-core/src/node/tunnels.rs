//! Changes of connections and their paths. Each takes effect with the next packet, and loses none.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use mpt_wire::control::Economy;

use super::Node;
use crate::path::DownReason;
use crate::path::reported::{Change, Reported};
use crate::{
    ConfigError, ConnectionConfig, ConnectionId, DeviceId, DeviceSink, PathConfig, PathId,
    RateBounds, SocketId,
};

impl<P: Copy> Node<P> {
    /// Makes the connections those of `configs`, the complete list: connections and paths are known by
    /// their names, those that are not listed are removed, and what has not changed is not touched.
    /// Returns the ids in the order of the list.
    ///
    /// # Errors
    ///
    /// The mistake in the list. Then nothing is changed.
    pub fn reconfigure<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        configs: Vec<ConnectionConfig>,
        sink: &mut S,
    ) -> Result<Vec<ConnectionId>, ConfigError> {
        let ids = self.tunnels.reconfigure(now, configs, sink)?;
        ids.iter().for_each(|&id| self.touch_if_attached(now, id));
        Ok(ids)
    }

    /// Leaves the next `count` numbers of a connection unused, as if as many packets had been lost
    /// on their way, so that tests reach high numbers. Returns false, and changes nothing, if there
    /// is no such connection or its keys end before.
    #[doc(hidden)]
    pub fn skip_numbers(&mut self, id: ConnectionId, count: u64) -> bool {
        self.tunnels.skip_numbers(id, count)
    }

    /// Adds a connection.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it; then nothing is changed.
    pub fn add_connection(
        &mut self,
        now: Instant,
        config: ConnectionConfig,
    ) -> Result<ConnectionId, ConfigError> {
        self.tunnels.add_connection(now, config)
    }

    /// Removes a connection and delivers what waits in its reorder buffer. Its session, if it has
    /// one, remains without a connection.
    pub fn remove_connection<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        sink: &mut S,
    ) {
        if let Some(session) = self.sessions.session_of(id) {
            self.sessions.detach(now, session);
        }
        self.tunnels.remove_connection(now, id, sink);
    }

    /// Adds a path to a connection.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it; then nothing is changed.
    pub fn add_path(
        &mut self,
        now: Instant,
        id: ConnectionId,
        config: PathConfig,
    ) -> Result<PathId, ConfigError> {
        self.tunnels.add_path(now, id, config)
    }

    /// Removes a path. Packets that came over it stay in the reorder buffer.
    pub fn remove_path(&mut self, now: Instant, id: PathId) {
        self.changing(now, id, |tunnels| tunnels.remove_path(now, id));
    }

    /// Sets the weights of a path: its share of what this end sends, and of what the peer sends.
    ///
    /// # Errors
    ///
    /// The mistake in the weights. Then nothing is changed.
    pub fn set_weights(
        &mut self,
        now: Instant,
        id: PathId,
        weight_out: u16,
        weight_in: u16,
    ) -> Result<(), ConfigError> {
        self.changing(now, id, |tunnels| tunnels.set_weights(now, id, weight_out, weight_in))
    }

    /// Sets the bounds of the rate that is learnt of a path.
    ///
    /// # Errors
    ///
    /// The mapping of its connection learns no rates, and there is a bound. Then nothing is changed.
    pub fn set_rates(
        &mut self,
        now: Instant,
        id: PathId,
        rates: RateBounds,
    ) -> Result<(), ConfigError> {
        self.changing(now, id, |tunnels| tunnels.set_rates(now, id, rates))
    }

    /// Sets the tier of a path.
    pub fn set_tier(&mut self, now: Instant, id: PathId, tier: u8) {
        self.changing(now, id, |tunnels| tunnels.set_tier(now, id, tier));
    }

    /// Sets how sparingly a path is to be used, and informs the peer.
    pub fn set_economy(&mut self, now: Instant, id: PathId, economy: Economy) {
        if self.tunnels.path(id).is_some_and(|path| path.economy() != economy) {
            self.changing(now, id, |tunnels| tunnels.set_economy(now, id, economy));
        }
    }

    /// Adds (`down`) or takes away a reason for a path to be out of use; it is used when none is left.
    /// What arrives on it is accepted all the same.
    pub fn set_path_state(&mut self, now: Instant, id: PathId, reason: DownReason, down: bool) {
        let before = self.tunnels.path(id).map(crate::Path::down_reasons);
        if down {
            self.tunnels.set_path_down(now, id, reason);
        } else {
            self.tunnels.set_path_up(now, id, reason);
        }
        if self.tunnels.path(id).map(crate::Path::down_reasons) != before {
            self.touch_path(now, id);
        }
        if let DownReason::Administrative | DownReason::Interface | DownReason::Cap = reason {
            self.tell_prototype(now, id);
        }
    }

    /// Sets the MTU of a path's link in bytes of the outer IP packet. Gives the device and its new
    /// inner MTU if that has changed.
    pub fn set_path_mtu(&mut self, now: Instant, id: PathId, mtu: u16) -> Option<(DeviceId, u16)> {
        self.changing(now, id, |tunnels| tunnels.set_path_mtu(id, mtu))
    }

    /// Lowers the MTU of a path without a session to what ICMP reported, in bytes of the outer packet.
    /// Returns `None` where the report is not believed: it is below what every link has, or not below
    /// what is sent, so that it is nonsense or about packets sent before.
    pub fn believe_path_mtu(
        &mut self,
        now: Instant,
        reported: &mut Reported,
        id: PathId,
        mtu: u16,
    ) -> Option<Change> {
        reported.believe(now, &mut self.tunnels, id, mtu)
    }

    /// Forgets what ICMP reported of a path, if anything: it is used with the MTU of its link again.
    pub fn forget_path_mtu(&mut self, reported: &mut Reported, id: PathId) -> Option<Change> {
        reported.forget(&mut self.tunnels, id)
    }

    /// Forgets what was believed of a path for long enough. The owner calls it about once a second.
    pub fn expire_path_mtu(
        &mut self,
        now: Instant,
        reported: &mut Reported,
        id: PathId,
    ) -> Option<Change> {
        reported.expire(now, &mut self.tunnels, id)
    }

    /// Replaces the sockets on which the packets of a path may arrive, and its local address.
    ///
    /// # Errors
    ///
    /// Another path has the same address and socket; then nothing is changed.
    pub fn set_path_sockets(
        &mut self,
        now: Instant,
        id: PathId,
        sockets: Vec<SocketId>,
        local: Option<IpAddr>,
    ) -> Result<(), ConfigError> {
        self.changing(now, id, |tunnels| tunnels.set_path_sockets(id, sockets, local))
    }

    /// Sets the remote address of a path, and a socket on which its packets arrive.
    ///
    /// # Errors
    ///
    /// Another path has the same address and socket; then nothing is changed.
    pub fn set_path_remote(
        &mut self,
        now: Instant,
        id: PathId,
        socket: SocketId,
        remote: SocketAddr,
    ) -> Result<(), ConfigError> {
        self.changing(now, id, |tunnels| tunnels.set_path_remote(id, socket, remote))
    }

    /// Refuses everything that arrives on a connection until its peer has a session, and forgets the
    /// addresses that its paths have learnt: its peer is another one now.
    pub fn bar(&mut self, id: ConnectionId) {
        self.tunnels.set_barred(id, true);
        let paths: Vec<PathId> =
            self.tunnels.connection(id).into_iter().flat_map(|it| it.paths()).collect();
        for path in paths {
            // This cannot fail: a path without a known remote address conflicts with no other path.
            let _ = self.tunnels.forget_path_remote(path);
        }
    }

    /// Sets the GRE key of a connection, or that it has none.
    ///
    /// # Errors
    ///
    /// Another connection has the same between the same addresses; then nothing is changed.
    pub fn set_key(
        &mut self,
        now: Instant,
        id: ConnectionId,
        key: Option<u32>,
    ) -> Result<(), ConfigError> {
        self.tunnels.set_key(id, key)?;
        self.touch_if_attached(now, id);
        Ok(())
    }

    fn changing<R>(
        &mut self,
        now: Instant,
        id: PathId,
        change: impl FnOnce(&mut crate::Tunnels<P>) -> R,
    ) -> R {
        // Before it is gone.
        self.touch_path(now, id);
        change(&mut self.tunnels)
    }

    fn touch_path(&mut self, now: Instant, id: PathId) {
        if let Some(connection) = self.tunnels.path(id).map(crate::Path::connection) {
            self.touch_if_attached(now, connection);
        }
    }

    fn touch_if_attached(&mut self, now: Instant, id: ConnectionId) {
        if self.sessions.session_of(id).is_some() {
            self.touch(now, id);
        }
    }
}
