//! Notifications of routes: which of them are about routes of this program.

use ipnet::IpNet;
use netlink_packet_route::route::{RouteFlags, RouteMessage};

use crate::netlink::ledger::owner::PROTOCOL;
use crate::netlink::routing::guard::is_guard;
use crate::netlink::routing::route::Route;

/// Returns what a notification says: destination and table, unless it is about something else than routing
/// of packets that leave, or about a route of ours.
pub(super) fn parse_notification(message: &RouteMessage) -> Option<(u32, IpNet)> {
    if is_own(message) || message.header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    Route::parse(message)?.first().map(|route| (route.table, route.destination))
}

/// True if a message is about a route of this program, of this or any other daemon.
pub(super) fn is_own(message: &RouteMessage) -> bool {
    u8::from(message.header.protocol) == PROTOCOL || is_guard(message)
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::route::RouteProtocol;

    use super::*;

    #[test]
    fn our_own_routes_are_no_news() {
        let mut route = Route::out_of(7, "10.1.0.0/16".parse().unwrap());
        route.table = 1000;
        assert_eq!(parse_notification(&route.message()), None);
        let mut foreign = route.message();
        foreign.header.protocol = RouteProtocol::Dhcp;
        assert_eq!(parse_notification(&foreign), Some((1000, "10.1.0.0/16".parse().unwrap())));
    }
}
