//! Warnings about data that is to be sealed and is not.

use mpt_core::session::PublicKey;
use mpt_wire::control::Kind;

use crate::daemon::Daemon;

impl Daemon {
    /// Warns that a peer does not seal although data is to be sealed here. `refused`: there is no data then.
    pub(in crate::daemon) fn warn_unsealed(
        &mut self,
        connection: Option<String>,
        peer: PublicKey,
        refused: bool,
    ) {
        if !self.provoked.line(peer) {
            return;
        }
        let peer_name = self.peer_name(Kind::Connection, &peer);
        if refused {
            tracing::warn!(
                connection, %peer, peer_name,
                "no data: it is to be sealed here, and the peer does not seal; write the same seal at both ends"
            );
        } else {
            tracing::warn!(
                connection, %peer, peer_name,
                "data is neither encrypted nor authenticated: the peer does not seal; write seal = \"on\" there, too"
            );
        }
    }
}
