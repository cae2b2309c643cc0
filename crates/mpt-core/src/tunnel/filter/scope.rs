//! Packets that are meant for one link only.

use std::net::IpAddr;

use mpt_wire::ip::Summary;

/// Returns true if a packet is multicast, broadcast or link-local: it means "this link", and which
/// connection that is does not follow from its addresses.
#[inline]
pub(crate) fn stays_on_link(packet: &Summary) -> bool {
    packet.is_multicast() || packet.is_link_local()
}

/// Returns true if a packet that [`stays_on_link`] may have this source, which says nothing about
/// the network behind it.
pub(crate) fn is_link_source(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    link_local || address.is_unspecified()
}
