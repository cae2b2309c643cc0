//! Frames of the control protocol, for nodes that have sessions and no data.

use std::net::SocketAddr;
use std::time::Instant;

use mpt_core::node::Transmit;
use mpt_core::{Lent, Node, SocketId, Span};
use mpt_wire::control::frame::MAX_PROBE_FRAME_LEN;
use mpt_wire::gre;

/// A frame arrives, in a datagram without GRE key.
pub fn receive(
    node: &mut Node<Span>,
    now: Instant,
    socket: SocketId,
    from: SocketAddr,
    frame: &[u8],
) {
    let protocol = gre::Protocol::CONTROL;
    let header = gre::Repr { protocol, checksum: false, key: None, sequence: None };
    let mut datagram = [0; gre::MAX_HEADER_LEN + MAX_PROBE_FRAME_LEN + 1];
    let start = header.header_len();
    header.emit(&mut datagram[..start]);
    datagram[start..start + frame.len()].copy_from_slice(frame);
    let mut memory = Lent(&mut datagram[..start + frame.len()]);
    let whole = memory.whole();
    // Those that are no good are counted, too.
    let _ = node.handle_datagram(now, socket, from, mpt_wire::ecn::Ecn::NotEct, whole, &mut memory);
}

/// A datagram of data arrives.
pub fn receive_datagram(
    node: &mut Node<Span>,
    now: Instant,
    socket: SocketId,
    from: SocketAddr,
    datagram: &[u8],
) {
    let mut datagram = datagram.to_vec();
    let mut memory = Lent(&mut datagram);
    let whole = memory.whole();
    // Those that are no good are counted, too.
    let _ = node.handle_datagram(now, socket, from, mpt_wire::ecn::Ecn::NotEct, whole, &mut memory);
}

/// The frame in a datagram to be sent.
pub fn of(transmit: &Transmit) -> Vec<u8> {
    transmit.pieces()[1].to_vec()
}
