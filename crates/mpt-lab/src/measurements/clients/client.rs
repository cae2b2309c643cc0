//! One client of the concentrator: a session, two paths, and packets made up on the way.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use mpt_api::session::{Create, PathSpec, SessionReply, SessionRequest, SessionResult};
use mpt_core::liveness::Timing;
use mpt_core::node::{self, Destination};
use mpt_core::path::mtu;
use mpt_core::session::{Event, SessionConfig, SessionId, SessionPathId};
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, Direction, InnerPacket, Lent, Mapping, Node, Nowhere,
    PathConfig, PathId, Remote, Seal, Selector, SocketId, Span, reorder,
};
use mpt_wire::control::Kind;
use mpt_wire::{ecn, gre};

use super::numbers::Numbers;
use super::packet::{self, HELD, INNER, STEP};
use super::site::{self, PATHS};

const DEVICE: DeviceId = DeviceId(0);
/// Name of the connection.
const NAME: &str = "office";
/// Probe interval of each path, whether data flow or not.
const KEEPALIVE: Duration = Duration::from_millis(100);

/// A client as the control engine makes it, without device and sockets.
#[derive(Debug)]
pub(super) struct Client {
    node: Node<Span>,
    connection: ConnectionId,
    session: SessionId,
    paths: Vec<PathId>,
    /// Its address inside the tunnel, once the server has given it one.
    inner: Option<Ipv4Addr>,
    /// Numbers left out so far.
    skipped: u32,
    /// The datagram that was made last.
    datagram: Vec<u8>,
}

impl Client {
    /// Returns the client of this number, which begins to connect at once, and whose data are sealed or not.
    pub(super) fn new(now: Instant, number: u16, seal: Seal) -> Result<Self> {
        let mut seed = [3; 32];
        seed[..2].copy_from_slice(&number.to_be_bytes());
        let mut node = Node::new(seed);
        let connection = node.add_connection(now, connection(number, seal))?;
        let paths: Vec<PathId> = (0..PATHS)
            .filter_map(|path| node.tunnels().find_path(connection, &path_name(path)))
            .collect();
        node.set_identity(now, Some(site::client_key(number)));
        let session = SessionConfig {
            name: NAME.into(),
            kind: Kind::Connection,
            peer: site::server_public(),
            psk: None,
            initiate: true,
            create: true,
            key: None,
            timing: Timing { keepalive: KEEPALIVE, idle: KEEPALIVE, dead: None },
            largest_wish: u16::MAX,
            seal,
            remote: None,
        };
        let session = node.add_session(now, session);
        node.attach(now, session, connection, &names(&paths));
        let datagram = Vec::new();
        Ok(Self { node, connection, session, paths, inner: None, skipped: 0, datagram })
    }

    /// True if it has been given an address and sends on all its paths.
    pub(super) fn is_up(&self) -> bool {
        let up = |&path: &PathId| self.node.tunnels().path(path).is_some_and(|path| path.is_up());
        self.inner.is_some() && self.paths.iter().all(up)
    }

    /// Handles a datagram from the server that has arrived on one of the paths.
    pub(super) fn handle_datagram(&mut self, now: Instant, path: usize, datagram: &mut [u8]) {
        let (socket, remote) = (SocketId(path as u32), site::server_address(path).into());
        let mut memory = Lent(datagram);
        let (ecn, datagram) = (ecn::Ecn::NotEct, memory.whole());
        // A refused datagram is counted, and not received.
        let _ = self.node.handle_datagram(now, socket, remote, ecn, datagram, &mut memory);
    }

    /// Returns the number of data packets received.
    pub(super) fn received(&self) -> u64 {
        let connection = self.node.tunnels().connection(self.connection);
        connection.map_or(0, |it| it.accepted().total())
    }

    /// Handles the timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.node.handle_timeout(now, &mut Nowhere);
    }

    /// Returns the time at which [`Self::handle_timeout`] is to be called next.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.node.next_timeout()
    }

    /// Does the work of the daemon's control side: the decisions that the engine cannot take.
    pub(super) fn handle_events(&mut self, now: Instant) -> Result<()> {
        // Its sockets never change.
        while self.node.poll_path_event().is_some() {}
        while let Some(event) = self.node.poll_event() {
            let node::Event::Session(event) = event else { continue };
            match event {
                Event::Result { result: Ok(result), .. } => self.created(now, &result)?,
                // A busy server lets a request go unanswered; then the client asks again.
                Event::Established { .. } | Event::Result { result: Err(_), .. }
                    if self.inner.is_none() =>
                {
                    let request = serde_json::to_vec(&SessionRequest::Create(create()))?;
                    self.node.request(now, self.session, request)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the next control datagram to send, and its path.
    pub(super) fn poll_transmit(&mut self) -> Option<(usize, &[u8])> {
        let transmit = self.node.poll_transmit()?;
        let Destination::Path(path) = transmit.destination else { return None };
        let path = self.paths.iter().position(|&it| it == path)?;
        self.datagram.clear();
        transmit.pieces().iter().for_each(|piece| self.datagram.extend_from_slice(piece));
        self.node.recycle(transmit);
        Some((path, &self.datagram))
    }

    /// Returns a data packet for the server's sink, as it leaves on the path that is chosen for it; `None` while there is none.
    pub(super) fn data(
        &mut self,
        now: Instant,
        source_port: u16,
        numbers: Numbers,
    ) -> Option<(usize, &[u8])> {
        let mut packet = [0; HELD];
        let inner = match numbers {
            Numbers::InTurn => &mut packet[..INNER],
            Numbers::WithGaps => &mut packet[..],
        };
        let from = SocketAddrV4::new(self.inner?, source_port);
        packet::inner(inner, from, SocketAddrV4::new(site::inner_address(), site::SINK));
        let outgoing = self.node.handle_inner(now, DEVICE, InnerPacket::whole(inner).ok()?).ok()?;
        let mut transmit = *outgoing.transmits.first()?;
        let path = self.paths.iter().position(|&it| it == transmit.path)?;
        if numbers == Numbers::WithGaps {
            self.skipped = self.skipped.wrapping_add(STEP);
        }
        transmit.sequence = transmit.sequence.wrapping_add(self.skipped);
        self.datagram.clear();
        self.datagram.resize(outgoing.header_len(), 0);
        self.datagram.extend_from_slice(inner);
        self.datagram.resize(self.datagram.len() + outgoing.trailer_len(), 0);
        let framed = outgoing.frame(&transmit, &mut self.datagram);
        framed.then_some((path, self.datagram.as_slice()))
    }

    /// Handles the server's answer to the creation of the connection.
    fn created(&mut self, now: Instant, result: &[u8]) -> Result<()> {
        let created = match serde_json::from_slice(result)? {
            SessionReply::Ok(SessionResult::Created(created)) => created,
            SessionReply::Error(failure) => bail!("the server refuses: {failure}"),
            SessionReply::Ok(_) => bail!("the server gives an answer to another question"),
        };
        let address = created.addresses.iter().find_map(|net| match net.addr() {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        self.inner = Some(address.context("the server gave no address")?);
        self.node.set_key(now, self.connection, created.key)?;
        self.node.open(now, self.session);
        Ok(())
    }
}

/// Returns what it asks the server for.
fn create() -> Create {
    let path = |path: usize| PathSpec {
        id: path as u16 + 1,
        name: path_name(path),
        weight: 1,
        weight_in: 1,
        tier: 0,
        mtu: None,
    };
    Create {
        name: NAME.into(),
        sequence: true,
        udp_checksum: true,
        paths: (0..PATHS).map(path).collect(),
        ..Create::default()
    }
}

/// Returns the names of the paths in the session: the initiator gives them, from 1 on.
fn names(paths: &[PathId]) -> Vec<(Option<SessionPathId>, PathId)> {
    (1..).map(Some).zip(paths.iter().copied()).collect()
}

fn path_name(path: usize) -> String {
    format!("path{}", path + 1)
}

fn connection(number: u16, seal: Seal) -> ConnectionConfig {
    let server = IpNet::from(IpAddr::V4(site::inner_address()));
    let path = |path: usize| PathConfig {
        name: path_name(path),
        sockets: vec![SocketId(path as u32)],
        local: Some(site::client_address(number, path).into()),
        remote: Remote::Fixed(SocketAddr::new(
            (*site::server_address(path).ip()).into(),
            gre::PORT,
        )),
        remote_source_port: None,
        weight_out: 1,
        weight_in: 1,
        rates: mpt_core::RateBounds::NONE,
        tier: 0,
        up: true,
        mtu: mtu::ETHERNET,
        entropy: false,
    };
    ConnectionConfig {
        name: NAME.into(),
        device: DEVICE,
        selectors: vec![Selector::to(server)],
        sources: vec![server],
        key: None,
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: Mapping::Packet,
        repair: mpt_core::Repair::Auto,
        prompt: Vec::new(),
        protect: mpt_core::Protect::default(),
        // Nothing is delivered, so nothing is put in order.
        reorder: reorder::Config {
            window: Some(0),
            max_delay: Some(Duration::from_millis(300)),
            early_release: true,
            late: reorder::Late::Deliver,
            equalize: reorder::Equalize::default(),
        },
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Compatibility,
        mtu: None,
        limits_device: true,
        seal,
        loose: false,
        paths: (0..PATHS).map(path).collect(),
    }
}
