//! One end of the tunnel, and the TCP host behind it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use ipnet::{IpNet, Ipv4Net};
use mpt_core::path::mtu;
use mpt_core::reorder::EqualizedBuffer;
use mpt_core::{
    Connection, ConnectionConfig, ConnectionId, DeviceId, DeviceSink, Direction, Mapping,
    PathConfig, PathId, Selector, SocketId, Tunnels,
};
use mpt_wire::mss::ChecksumState;
use mpt_wire::{ecn, gre, ip, ipv4};

use crate::tcp::{Ack, Segment};
use crate::time::Time;

use super::Case;
use super::case::GRE;

const DEVICE: DeviceId = DeviceId(0);
/// MTU of every path.
const PATH_MTU: u16 = mtu::ETHERNET;

/// What is in a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Data(Segment),
    Ack(Ack),
}

/// A packet that has come out of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) arrived: Time,
    pub(super) content: Content,
}

/// One copy of a packet that is to be sent: on which path, and its number.
pub(super) type Sent = (usize, u32);

/// One end of the tunnel.
pub(super) struct Host {
    endpoint: Tunnels<Packet>,
    connection: ConnectionId,
    paths: Vec<PathId>,
    side: usize,
    /// A datagram in the making: headers, and a payload that nobody looks at.
    buffer: Vec<u8>,
    device: Device,
    copies: Vec<Sent>,
}

/// What has come out of the tunnel since it was last looked at.
#[derive(Default)]
struct Device {
    out: Vec<Packet>,
}

impl DeviceSink<Packet> for Device {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: Packet, _kept: bool, _after_gap: bool) {
        self.out.push(packet);
    }

    /// A duplicate, or late where late packets are dropped: counted by the window.
    fn discard(&mut self, _: Packet) {}
}

impl Host {
    /// Side 0 or 1.
    ///
    /// # Panics
    ///
    /// If the paths are none or too many, or a weight is 0.
    pub(super) fn new(side: usize, now: Instant, case: &Case) -> Self {
        let mut endpoint = Tunnels::new(case.seed);
        let added = endpoint.add_connection(now, config(side, case));
        let connection =
            added.unwrap_or_else(|error| panic!("these paths make no tunnel: {error}"));
        let mut device = Device::default();
        if case.session {
            endpoint.restart_receive(now, connection, 0, &mut device);
        }
        let paths = endpoint.connection(connection).into_iter().flat_map(Connection::paths);
        let paths: Vec<PathId> = paths.collect();
        if case.session {
            let longest = case.paths.iter().max_by_key(|path| path.least_delay());
            for (path, &id) in case.paths.iter().zip(&paths) {
                let lead = longest.map(|longest| path.lead(longest));
                endpoint.set_path_lead(id, lead.unwrap_or_default());
                endpoint.set_path_jitter(id, path.spread());
            }
        }
        let buffer = vec![0; usize::from(PATH_MTU)];
        Self { endpoint, connection, paths, side, buffer, device, copies: Vec::new() }
    }

    /// The largest packet that the tunnel carries, in bytes.
    pub(super) fn mtu(&self) -> u16 {
        self.endpoint.inner_mtu(DEVICE)
    }

    /// The connection.
    pub(super) fn connection(&self) -> Option<&Connection<Packet>> {
        self.endpoint.connection(self.connection)
    }

    /// Packets that are held or wait in the receive window.
    pub(super) fn waiting(&self) -> usize {
        self.connection().and_then(Connection::equalized).map_or(0, EqualizedBuffer::waiting)
    }

    /// A packet of `size` bytes from the host behind: where it goes.
    ///
    /// # Panics
    ///
    /// If the tunnel does not take it: it does, as long as no path is down.
    pub(super) fn send(&mut self, size: u64) -> &[Sent] {
        self.emit(size, self.side);
        let inner = &mut self.buffer[GRE..GRE + size as usize];
        let length = inner.len();
        let outgoing =
            self.endpoint.handle_inner(DEVICE, inner, ChecksumState::Complete, 1, length);
        let outgoing = outgoing.unwrap_or_else(|drop| panic!("the tunnel refuses it: {drop:?}"));
        self.copies.clear();
        for transmit in outgoing.transmits {
            let path = self.paths.iter().position(|&path| path == transmit.path);
            self.copies.extend(path.map(|path| (path, transmit.sequence)));
        }
        &self.copies
    }

    /// A datagram has come over a path, with an inner packet of `size` bytes.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        path: usize,
        number: u32,
        size: u64,
        packet: Packet,
    ) {
        self.emit(size, 1 - self.side);
        let protocol = gre::Protocol::IPV4;
        gre::Repr { protocol, checksum: false, key: None, sequence: Some(number) }
            .emit(&mut self.buffer);
        let datagram = &mut self.buffer[..GRE + size as usize];
        let (socket, remote) = (socket(path), address(path, 1 - self.side));
        let ecn = ecn::Ecn::NotEct;
        let taken = self.endpoint.handle_datagram(
            now,
            socket,
            remote,
            ecn,
            datagram,
            |_| packet,
            &mut self.device,
        );
        taken.unwrap_or_else(|drop| panic!("the tunnel drops it: {drop:?}"));
    }

    /// When [`Host::handle_timeout`] is to be called.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.endpoint.next_timeout()
    }

    /// Does what was due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now, &mut self.device);
    }

    /// What has come out of the tunnel, to be given back by [`Host::give_back`].
    pub(super) fn take_out(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.device.out)
    }

    /// Saves an allocation for every packet.
    pub(super) fn give_back(&mut self, mut out: Vec<Packet>) {
        out.clear();
        self.device.out = out;
    }

    /// Writes the header of an inner packet sent by `side`.
    fn emit(&mut self, size: u64, side: usize) {
        let repr = ipv4::Repr {
            source: inner(side),
            destination: inner(1 - side),
            protocol: ip::protocol::TCP,
            tos: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: (size as usize - ipv4::HEADER_LEN) as u16,
        };
        repr.emit(&mut self.buffer[GRE..]);
    }
}

fn config(side: usize, case: &Case) -> ConnectionConfig {
    let paths = case.paths.iter().enumerate().map(|(index, path)| {
        let (here, there) = (address(index, side), address(index, 1 - side));
        PathConfig {
            name: format!("path{}", index + 1),
            sockets: vec![socket(index)],
            local: Some(here.ip()),
            remote: there.ip(),
            remote_port: there.port(),
            remote_source_port: Some(there.port()),
            learn: false,
            weight_out: path.weight,
            weight_in: path.weight,
            tier: 0,
            up: true,
            mtu: PATH_MTU,
            entropy: false,
        }
    });
    let peer: IpNet = Ipv4Net::from(inner(1 - side)).into();
    ConnectionConfig {
        name: "tunnel".to_owned(),
        device: DEVICE,
        selectors: vec![Selector::to(peer)],
        sources: vec![peer],
        key: None,
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: Mapping::Packet,
        reorder: case.reorder,
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Normal,
        mtu: None,
        limits_device: true,
        loose: false,
        paths: paths.collect(),
    }
}

fn socket(path: usize) -> SocketId {
    SocketId(path as u32)
}

/// Paths are 256 at the most.
fn address(path: usize, side: usize) -> SocketAddr {
    let address = Ipv4Addr::new(172, 16, path as u8, 1 + side as u8);
    SocketAddr::new(IpAddr::V4(address), gre::PORT)
}

fn inner(side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, side as u8, 1)
}
