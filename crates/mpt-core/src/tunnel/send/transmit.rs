//! One datagram that is to be sent.

use crate::PathId;

/// One datagram to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The number of the segment in its super-packet, from 0.
    pub segment: u16,
    /// The path over which it goes.
    pub path: PathId,
    /// Its sequence number, if the GRE header has one.
    pub sequence: u32,
    /// "Congestion experienced" is set in its inner IP header when it is framed: the queue asks the flow
    /// to slow down (RFC 8290, section 4.2; RFC 6040).
    pub(crate) mark: bool,
    /// The outer header is Not-ECT whatever the inner packet says (RFC 6040, section 4.3, compatibility
    /// mode): the sender is looking for the capacity of the path. The queue that this makes is no sign
    /// that the inner flow sends too much.
    pub not_ect: bool,
}
