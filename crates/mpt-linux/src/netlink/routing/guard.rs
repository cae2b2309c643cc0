//! Guards of the networks behind a tunnel, for the time in which their routes are missing.
//!
//! ```text
//! NETWORK dev DEVICE
//! unreachable NETWORK proto kernel metric NUMBER
//! ```
//!
//! The route into the tunnel wins by its metric while it is there. When somebody removes it or the
//! device is down, packets to the network fail instead of taking a shorter prefix, such as the default
//! route. Longer prefixes of others stay what they are. A guard stands in the main table beside the
//! route, since rules with a table of their own could not be placed after the rules of an
//! administrator and before the main table for each length of a prefix.
//!
//! A guard names the kernel as its owner, since systemd-networkd and others remove routes without
//! device that they do not know, but not those of the kernel. Its metric tells whose it is: the first
//! number of a daemon's block, which no route of the kernel has. It needs no device and stays after a
//! crash; the next daemon takes it over.

use ipnet::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};

use crate::netlink::ledger::owner::KERNEL;
use crate::netlink::numbers::blocks::{NUMBERS, is_first_of_block};
use crate::netlink::{Error, MAIN_TABLE, Netlink, PROTOCOL, Route, Via};

impl Route {
    /// Returns the guard of a network. `number` is the first of the daemon's block.
    pub(in crate::netlink) fn guard(network: IpNet, number: u32) -> Self {
        let (via, metric) = (Via::Unreachable, Some(number));
        Self {
            destination: network.trunc(),
            via,
            table: MAIN_TABLE,
            metric,
            mtu: None,
            source: None,
        }
    }

    /// True if this route is a guard, of this or any other daemon ([`crate::netlink::Owned::add_guard`]).
    pub fn is_guard(&self) -> bool {
        (self.via == Via::Unreachable && self.table == MAIN_TABLE)
            && self.metric.is_some_and(is_first_of_block)
    }

    /// The number of this program that tells whose the route is, if it has one: that of its table, or a
    /// guard's metric.
    pub(in crate::netlink) fn number(&self) -> Option<u32> {
        let metric = self.metric.filter(|_| self.is_guard());
        metric.or_else(|| Some(self.table).filter(|table| NUMBERS.contains(table)))
    }

    /// The owner that the route has in the kernel (`rtm_protocol`).
    pub(in crate::netlink) fn owner(&self) -> u8 {
        if self.is_guard() { KERNEL } else { PROTOCOL }
    }
}

/// True if a message is about a guard, of this or any other daemon.
pub(in crate::netlink) fn is_guard(message: &RouteMessage) -> bool {
    let header = &message.header;
    u8::from(header.protocol) == KERNEL
        && header.kind == RouteType::Unreachable
        && Route::parse(message).is_some_and(|routes| routes.iter().any(Route::is_guard))
}

impl Netlink {
    /// Every guard, of this or any other daemon.
    pub(super) async fn guards(&self) -> Result<Vec<Route>, Error> {
        let mut guards = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            request.header.protocol = RouteProtocol::from(KERNEL);
            request.header.kind = RouteType::Unreachable;
            request.header.table = MAIN_TABLE as u8;
            guards.extend(self.dump(request).await?.into_iter().filter(Route::is_guard));
        }
        Ok(guards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_told_by_its_metric() {
        let guard = Route::guard("10.1.2.3/16".parse().unwrap(), NUMBERS.start);
        assert!(guard.is_guard());
        assert_eq!(guard.number(), Some(NUMBERS.start));
        assert_eq!(guard.to_string(), "unreachable 10.1.0.0/16 metric 1836056576");
        let message = guard.message();
        assert!(is_guard(&message));
        assert_eq!(Route::parse(&message), Some(vec![guard.clone()]));
        for other in [
            Route { metric: None, ..guard.clone() },
            Route { metric: Some(u32::MAX), ..guard.clone() },
            Route { metric: Some(NUMBERS.start + 1), ..guard.clone() },
            Route { table: 100, ..guard },
        ] {
            assert!(!other.is_guard() && !is_guard(&other.message()), "{other}");
        }
    }
}
