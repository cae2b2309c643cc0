//! Path MTUs that shrink: what routers and our own kernel report through the sockets' error queues.

use mpt_core::path::mtu;
use mpt_core::{PathId, SocketId};
use mpt_linux::udp::{PathError, PathErrorKind};
use mpt_wire::gre;

use super::{DataThread, Notice};

/// Errors taken from a socket in one round: a flood of ICMP messages must not hold up the packets.
const ERRORS_PER_ROUND: usize = 16;
/// How much of the datagram in question is looked at: its GRE header.
const QUOTE_LEN: usize = gre::MAX_HEADER_LEN;

impl DataThread {
    /// Takes what the network reported about datagrams sent on a socket.
    pub(super) fn read_errors(&mut self, id: SocketId) {
        for _ in 0..ERRORS_PER_ROUND {
            let mut quote = [0; QUOTE_LEN];
            let Some(socket) = self.sockets.socket(id) else { return };
            let Ok(Some(error)) = socket.take_error(&mut quote) else { return };
            match error.kind {
                PathErrorKind::TooBig { mtu } => {
                    self.too_big(id, &error, mtu, &quote[..error.quoted]);
                }
                PathErrorKind::Unreachable => self.icmp.unreachable += 1,
                PathErrorKind::Other => self.icmp.other += 1,
            }
        }
    }

    /// Lowers the MTU of the paths the message is about. The kernel has matched the addresses and ports it quotes, among them our random source
    /// port; what it quotes beyond must be the start of a GRE packet of the path, so that a guesser needs more than luck.
    fn too_big(&mut self, id: SocketId, error: &PathError, mtu: u32, quote: &[u8]) {
        let mut credible = false;
        for index in 0..self.paths.len() {
            let path = PathId(index as u32);
            let Some(io) = &self.paths[index] else { continue };
            let remote = io.wiring.remote;
            // Our own kernel says the port only of connected sockets.
            let sends = remote.ip() == error.remote.ip()
                && (error.local || remote.port() == error.remote.port())
                && io.channels.iter().any(|channel| channel.socket == id);
            if !sends || !(error.local || self.quotes(path, quote)) {
                continue;
            }
            credible = true;
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            self.lower_path_mtu(path, mtu);
        }
        if credible {
            self.icmp.too_big += 1;
        } else {
            self.icmp.not_ours += 1;
        }
    }

    /// Whether these first bytes of a UDP payload are ones that this path sends. Some routers quote no more than the UDP header.
    fn quotes(&self, path: PathId, quote: &[u8]) -> bool {
        let Some(expected) =
            self.endpoint.path(path).and_then(|path| self.endpoint.connection(path.connection()))
        else {
            return false;
        };
        // The checksum, if any, cannot be verified over a part of the packet, so the fields are compared as they stand.
        let expected = expected.config().gre(gre::Protocol::IPV4);
        let mut header = [0; gre::MAX_HEADER_LEN];
        expected.emit(&mut header);
        let flags = quote.len().min(2);
        let key = if expected.checksum { 8 } else { 4 };
        quote[..flags] == header[..flags]
            && (expected.key.is_none()
                || quote.len() < key + 4
                || quote[key..key + 4] == header[key..key + 4])
    }

    fn lower_path_mtu(&mut self, id: PathId, mtu: u16) {
        let Some(path) = self.endpoint.path(id) else { return };
        let (old, remote) = (path.config().mtu, path.config().remote);
        // Below what every link has, or larger than what we send: nonsense, or an answer to packets sent before.
        if mtu < mtu::minimum(path.config().outer()) || mtu >= old {
            return;
        }
        tracing::info!(%remote, old, new = mtu, "path MTU lowered");
        if let Some(Some(io)) = self.paths.get_mut(id.0 as usize) {
            io.learnt_mtu = Some(mtu);
        }
        if let Some((device, mtu)) = self.endpoint.set_path_mtu(id, mtu)
            && let Some(Some(device)) = self.devices.get(usize::from(device.0))
        {
            // Nobody listens any more only while the daemon is ending.
            let _ = self.notices.send(Notice::DeviceMtu { device: device.tun.name().into(), mtu });
        }
    }

    /// Our own kernel refused a datagram as too big; the error queue says what the device takes.
    pub(super) fn local_too_big(&mut self, path: PathId, channel: usize) {
        let Some(Some(io)) = self.paths.get(path.0 as usize) else { return };
        self.read_errors(io.channels[channel].socket);
    }
}
