//! The services, each a server and port, and the scores that their flows have earned.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mpt_wire::ip::Summary;

/// The numbers of servers with their ports, and of ports, that are distinguished. One that takes the place of another
/// begins anew.
const SERVERS: usize = 64;
const PORTS: usize = 16;
/// The bytes of a flow, in both directions, from which on it counts. Fewer may be the control connection of a
/// program that sends its bulk over another one to the same port.
const LEAST: u64 = 8_000;
/// The score from which on the flows of a service are expected to be short.
const SHORT: i8 = 4;
/// The score of a port with any server from which on flows to a server that is not known are.
const SHORT_ANYWHERE: i8 = 8;
/// The greatest score.
const MOST: i8 = 16;
/// The score that a long flow leaves. So one in eight may be long.
const LONG: i8 = -4;

/// A server and port, and the port with any server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    server: u32,
    port: u32,
}

/// The scores of services.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    servers: Scores<SERVERS>,
    ports: Scores<PORTS>,
}

/// The number of short flows since the last long one. `PLACES` keys are distinguished.
#[derive(Clone, Debug, Default)]
struct Scores<const PLACES: usize> {
    /// None before the first flow that counts.
    places: Vec<Option<(u32, i8)>>,
}

impl Services {
    /// Notes a flow that ended after so many bytes.
    pub(super) fn note(&mut self, service: Service, bytes: u64) {
        if bytes >= LEAST {
            self.servers.raise(service.server);
            self.ports.raise(service.port);
        }
    }

    /// Notes a flow that is long.
    pub(super) fn note_long(&mut self, service: Service) {
        self.servers.set(service.server, LONG);
        self.ports.set(service.port, LONG);
    }

    /// Returns true if a flow of the service is expected to be short.
    pub(super) fn are_short(&self, service: Service) -> bool {
        match self.servers.of(service.server) {
            0 => self.ports.of(service.port) >= SHORT_ANYWHERE,
            score => score >= SHORT,
        }
    }
}

impl<const PLACES: usize> Scores<PLACES> {
    fn of(&self, key: u32) -> i8 {
        match self.places.get(key as usize % PLACES) {
            Some(&Some((tag, score))) if tag == key => score,
            _ => 0,
        }
    }

    fn raise(&mut self, key: u32) {
        self.set(key, self.of(key).saturating_add(1).min(MOST));
    }

    fn set(&mut self, key: u32, score: i8) {
        self.places.resize(PLACES, None);
        self.places[key as usize % PLACES] = Some((key, score));
    }
}

/// Returns the service of a flow by one of its packets, of either direction. The server is the end with the lower
/// port.
pub(super) fn of(summary: &Summary) -> Service {
    let (source, destination) = summary.ports.unwrap_or_default();
    let (server, port) = if source < destination {
        (summary.source, source)
    } else {
        (summary.destination, destination)
    };
    let hash = |server| {
        let ports = Some((port, 0));
        (Summary { source: server, destination: server, ports, ..*summary }.flow_hash(0) >> 32)
            as u32
    };
    let any = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Service { server: hash(server), port: hash(any) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service of a server on a port.
    fn service(server: u32, port: u32) -> Service {
        Service { server: 7 * server + port, port }
    }

    #[test]
    fn flows_are_expected_to_be_as_those_before_them() {
        let (mut services, web) = (Services::default(), service(1, 80));
        for _ in 0..SHORT {
            assert!(!services.are_short(web));
            services.note(web, LEAST);
        }
        assert!(services.are_short(web));
        services.note_long(web);
        for _ in 0..SHORT - LONG {
            assert!(!services.are_short(web));
            services.note(web, LEAST);
        }
        assert!(services.are_short(web));
        assert!(!services.are_short(service(1, 443)));
    }

    #[test]
    fn the_flows_of_other_servers_on_the_same_port_tell_of_one_that_is_not_known() {
        let mut services = Services::default();
        for server in 1..=SHORT_ANYWHERE.unsigned_abs() {
            assert!(!services.are_short(service(99, 3)));
            services.note(service(server.into(), 3), 50_000);
        }
        assert!(services.are_short(service(99, 3)));
        // What is known of the server itself counts more.
        services.note_long(service(99, 3));
        (0..20).for_each(|_| services.note(service(1, 3), 50_000));
        assert!(services.are_short(service(1, 3)) && !services.are_short(service(99, 3)));
    }

    #[test]
    fn connections_that_carry_next_to_nothing_tell_nothing() {
        let (mut services, web) = (Services::default(), service(1, 80));
        (0..100).for_each(|_| services.note(web, LEAST - 1));
        assert!(!services.are_short(web));
    }
}
