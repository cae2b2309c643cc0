//! Path MTUs from ICMP: the messages that routers and our own kernel put into the sockets' error queues.
//!
//! Anybody can send such a message, from any address. If the connection has a session, it only causes padded probes, and these find out whether it is
//! true (`mpt_core::path::discovery`). Without a session, and without its probes (`keepalive = 0`), it is believed for a while, as far as it proves
//! that its sender has seen a packet of the path.

use std::time::Instant;

use mpt_core::path::mtu;
use mpt_core::sequence::Sequence;
use mpt_core::{DeviceId, Path, PathId, SocketId};
use mpt_linux::udp::{PathError, PathErrorKind};
use mpt_wire::gre;

use super::PathIo;
use crate::data::system::{BatchSocket, SuperPacketDevice, System};
use crate::data::{DataPath, Notice};

/// Errors taken from a socket in one round: a flood of ICMP messages must not hold up the packets.
const ERRORS_PER_ROUND: usize = 16;
/// Bytes of the datagram in question that are read: its GRE header.
const QUOTE_LEN: usize = gre::MAX_HEADER_LEN;

/// The part of a packet's GRE header that a message quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    /// All that the path's packets have, with a sequence number that was sent a moment ago.
    Whole,
    /// Its beginning. Some routers quote no more than the UDP header.
    Short,
    /// Another one.
    Foreign,
}

impl<S: System> DataPath<S> {
    /// Takes what the network reported about datagrams sent on a socket.
    pub(in crate::data) fn read_errors(&mut self, id: SocketId) {
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

    /// Follows up a message about the paths that send from this socket to the address that it quotes. The kernel has matched addresses and
    /// ports, among them our random source port.
    fn too_big(&mut self, id: SocketId, error: &PathError, mtu: u32, quote: &[u8]) {
        let now = self.system.now();
        let mut ours = false;
        let sends = |io: &PathIo| {
            let remote = io.wiring.remote;
            // Our own kernel says the port only of connected sockets.
            remote.ip() == error.remote.ip()
                && (error.local || remote.port() == error.remote.port())
                && io.channels.iter().any(|channel| channel.socket == id)
        };
        let senders = self.paths.iter().filter(|(_, io)| sends(io));
        let senders: Vec<PathId> = senders.map(|(path, _)| path).collect();
        for path in senders {
            let Some(io) = self.paths.get(path) else { continue };
            let remote = io.wiring.remote;
            let Some((connection, known)) =
                self.node.tunnels().path(path).map(|it| (it.connection(), it.config().outer()))
            else {
                continue;
            };
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            if self.node.sessions().finds_path_mtus(connection) {
                ours = true;
                // A router older than RFC 1191 does not say how large.
                let mtu = if mtu == 0 { mtu::minimum(known) } else { mtu };
                if self.node.check_path_mtu(now, connection, path, mtu) {
                    tracing::debug!(remote = %remote, mtu, "ICMP says that the path MTU is smaller: probed");
                }
                continue;
            }
            let quoted = if error.local { Quote::Whole } else { self.quoted(path, io, quote) };
            match quoted {
                Quote::Whole => self.believe(now, path, mtu),
                Quote::Short => {
                    self.icmp.short_quote += 1;
                    self.believe(now, path, mtu.max(self.carries_ipv6_from(path)));
                }
                Quote::Foreign => continue,
            }
            ours = true;
        }
        if ours {
            self.icmp.too_big += 1;
        } else {
            self.icmp.not_ours += 1;
        }
    }

    /// Compares the first bytes of a UDP payload with those that this path sends. The checksum, if there is one, cannot be verified over a
    /// part of the packet.
    fn quoted(&self, path: PathId, io: &PathIo, quote: &[u8]) -> Quote {
        let connection = self.node.tunnels().path(path).map(Path::connection);
        let Some(connection) = connection.and_then(|id| self.node.tunnels().connection(id)) else {
            return Quote::Foreign;
        };
        let expected = connection.header(gre::Protocol::IPV4);
        let mut header = [0; gre::MAX_HEADER_LEN];
        // Whatever the number: it is compared by itself.
        expected.with(0).emit(&mut header);
        let same = |from: usize, to: usize| {
            let end = to.min(quote.len());
            from >= end || quote[from..end] == header[from..end]
        };
        let key = if expected.checksum { 8 } else { 4 };
        let number = if expected.key.is_some() { key + 4 } else { key };
        let is_recent = |number: u32| {
            let (number, oldest) = (Sequence(number), Sequence(io.numbers[0]));
            !number.is_before(oldest) && number.is_before(Sequence(connection.next_sequence()))
        };
        let protocol = quote.get(2..4).is_none_or(|it| match expected.protocol {
            gre::Protocol::SEALED => it == gre::Protocol::SEALED.0.to_be_bytes(),
            _ => matches!(it, [0x08, 0x00] | [0x86, 0xdd]),
        });
        if !same(0, 2) || !protocol || !same(key, number) {
            Quote::Foreign
        } else if quote.len() < expected.header_len() {
            Quote::Short
        } else if !expected.numbered
            || quote[number..].first_chunk().is_some_and(|it| is_recent(u32::from_be_bytes(*it)))
        {
            Quote::Whole
        } else {
            Quote::Foreign
        }
    }

    /// The smallest path MTU with which a path carries IPv6.
    fn carries_ipv6_from(&self, path: PathId) -> u16 {
        let Some(path) = self.node.tunnels().path(path) else { return u16::MAX };
        let connection = self.node.tunnels().connection(path.connection());
        let encapsulation = connection
            .map_or(gre::MAX_HEADER_LEN as u16, |connection| connection.config().encapsulation());
        mtu::outer(mtu::IPV6_MINIMUM, path.config().outer(), encapsulation)
    }

    /// Lowers the MTU of a path without a session, for a while.
    fn believe(&mut self, now: Instant, id: PathId, mtu: u16) {
        let Some(io) = self.paths.get_mut(id) else { return };
        let Some(change) = self.node.believe_path_mtu(now, &mut io.reported, id, mtu) else {
            return;
        };
        self.tell_reported_mtu(id, Some(mtu));
        self.tell_device_mtu(change.device);
        self.tell_path_mtu(id);
    }

    /// Forgets what ICMP reported of a path.
    pub(in crate::data) fn forget_reported_mtu(&mut self, id: PathId) {
        let Some(io) = self.paths.get_mut(id) else { return };
        if let Some(change) = self.node.forget_path_mtu(&mut io.reported, id) {
            self.tell_device_mtu(change.device);
            self.tell_path_mtu(id);
        }
    }

    /// Runs once in a second: drops reported MTUs that are old enough, and notes which sequence numbers are recent.
    pub(in crate::data) fn tick_path_mtus(&mut self, now: Instant) {
        let mut over = Vec::new();
        for (id, io) in self.paths.iter_mut() {
            let connection = self.node.tunnels().path(id).map(Path::connection);
            if let Some(connection) = connection.and_then(|id| self.node.tunnels().connection(id)) {
                io.numbers = [io.numbers[1], connection.next_sequence()];
            }
            let change = self.node.expire_path_mtu(now, &mut io.reported, id);
            over.extend(change.map(|change| (id, change)));
        }
        for (id, change) in over {
            self.tell_reported_mtu(id, None);
            self.tell_device_mtu(change.device);
            self.tell_path_mtu(id);
        }
    }

    /// Probes have found that a path carries other packets than it was used with.
    pub(in crate::data) fn path_mtu_found(
        &mut self,
        path: PathId,
        (before, found): (u16, u16),
        device: Option<(DeviceId, u16)>,
    ) {
        if let Some((connection, path)) = self.names(path) {
            self.notify(Notice::PathMtu { connection, path, before, found });
        }
        self.tell_device_mtu(device);
        self.tell_path_mtu(path);
    }

    fn tell_device_mtu(&mut self, change: Option<(DeviceId, u16)>) {
        if let Some((device, mtu)) = change
            && let Some(Some(device)) = self.devices.get(usize::from(device.0))
        {
            let device = device.tun.name().into();
            self.notify(Notice::DeviceMtu { device, mtu });
        }
    }

    fn tell_reported_mtu(&mut self, path: PathId, reported: Option<u16>) {
        if let Some((connection, path)) = self.names(path) {
            self.notify(Notice::PathMtuReported { connection, path, reported });
        }
    }

    fn tell_path_mtu(&mut self, path: PathId) {
        if let Some((connection, path)) = self.names(path) {
            self.notify(Notice::PathChanged { connection, path });
        }
    }

    /// Our own kernel refused a datagram as too big; the error queue says what the device takes.
    pub(in crate::data) fn local_too_big(&mut self, path: PathId, channel: usize) {
        let Some(io) = self.paths.get(path) else { return };
        self.read_errors(io.channels[channel].socket);
    }
}
