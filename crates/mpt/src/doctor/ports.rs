//! Checks that the ports on which the paths listen are free, or mptd's own.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use mpt_config::{Config, SourcePort};

use super::{Findings, Level};

/// Returns the addresses and ports on which the configuration has the daemon listen.
pub(super) fn listened_on(config: &Config) -> BTreeSet<SocketAddr> {
    let mut all: BTreeSet<SocketAddr> =
        config.daemon.listen.iter().map(|it| SocketAddr::new(*it, config.daemon.port)).collect();
    for connection in &config.connections {
        let commands = connection.compat.as_ref().map(|it| it.command_port);
        for path in &connection.paths {
            let local = path.bound();
            let source = match path.source_port {
                SourcePort::Fixed(port) => Some(port),
                _ => None,
            };
            let ports = [Some(path.local_port), source, commands].into_iter().flatten();
            all.extend(ports.map(|port| SocketAddr::new(local, port)));
        }
    }
    all
}

pub(super) fn check(config: &Config, is_running: bool, found: &mut Findings) {
    for address in listened_on(config) {
        match UdpSocket::bind(address) {
            Ok(_) if is_running => found.add(
                Level::Warning,
                "port",
                format!("UDP {address}: free, although mptd runs"),
                "mpt reload, if the file has changed",
            ),
            Ok(_) => found.ok("port", format!("UDP {address}: free")),
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_running => {
                found.ok("port", format!("UDP {address}: in use, and mptd runs"));
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => found.add(
                Level::Error,
                "port",
                format!("UDP {address}: another program has it"),
                format!("ss -lunp 'sport = :{}' says which; or write another port", address.port()),
            ),
            // Another finding is about the address.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => found.add(
                Level::Note,
                "port",
                format!("UDP {address}: {error}"),
                "mptd has no right to ports below net.ipv4.ip_unprivileged_port_start, either",
            ),
            Err(error) => {
                found.add(
                    Level::Error,
                    "port",
                    format!("UDP {address}: {error}"),
                    "write another port",
                );
            }
        }
    }
}
