//! A concentrator and the network to its clients.
//!
//! Two veth pairs lead from the host of the clients to the server. Every client has an address of its own on either; the host of
//! the clients takes all of two networks for its own.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use ipnet::IpNet;
use mpt_core::Seal;
use mpt_core::session::{PrivateKey, PublicKey};
use mpt_wire::gre;
use tempfile::TempDir;

use super::packet;
use crate::console::interrupt::Interrupt;
use crate::processes::daemon::Daemon;
use crate::topology::{End, Host, Hosts};

/// Paths of every client.
pub(super) const PATHS: usize = 2;
/// Name of the server's TUN device.
pub(super) const DEVICE: &str = "mpt0";
/// Port of the inner packets' sink.
pub(super) const SINK: u16 = 9;

/// Hosts and concentrator; gone when this is dropped, the daemon first.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) daemon: Daemon,
    hosts: Hosts,
    _scratch: TempDir,
}

/// The time that the concentrator lets packets from clients wait for earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The daemon's default.
    Default,
    /// The longest time that a configuration may have.
    Long,
}

impl Site {
    /// Starts a concentrator that lets `count` clients connect. Their data are sealed or not.
    pub(super) fn new(
        program: &Path,
        count: u16,
        waiting: Waiting,
        seal: Seal,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let hosts = connect()?;
        // A short name: the path of a UNIX socket has at most 107 bytes.
        let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
        let key = scratch.path().join("server.key");
        fs::write(&key, server_key().to_base64().as_bytes()).context("cannot write a key file")?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let text = |socket: &Path| configuration(count, waiting, seal, &key, socket);
        let mut daemon =
            Daemon::start(program, hosts.host(End::B), "server", scratch.path(), text)?;
        daemon.wait_until("mptd does not answer", interrupt, |_| true)?;
        Ok(Self { daemon, hosts, _scratch: scratch })
    }

    /// The host of the concentrator.
    pub(super) fn server(&self) -> &Host {
        self.hosts.host(End::B)
    }

    /// The host of all clients.
    pub(super) fn clients(&self) -> &Host {
        self.hosts.host(End::A)
    }

    /// Ends the daemon in order.
    pub(super) fn stop(self) -> Result<()> {
        self.daemon.stop()
    }
}

/// Returns the server's address on one of the paths.
pub(super) fn server_address(path: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 71, path as u8 + 1, 2), gre::PORT)
}

/// Returns the address of a client on one of the paths.
pub(super) fn client_address(client: u16, path: usize) -> Ipv4Addr {
    // 0 would be the network's own.
    packet::address([10, 81 + path as u8], client + 1)
}

/// Returns the server's inner address.
pub(super) fn inner_address() -> Ipv4Addr {
    Ipv4Addr::new(10, 96, 0, 1)
}

/// Returns the server's public key.
pub(super) fn server_public() -> PublicKey {
    server_key().public()
}

/// Returns the key of a client. Keys of the laboratory protect nothing.
pub(super) fn client_key(client: u16) -> PrivateKey {
    let mut seed = [2; 32];
    // In the middle: some bits of the first and the last byte of a key are always the same.
    seed[8..10].copy_from_slice(&client.to_be_bytes());
    PrivateKey::from_seed(seed)
}

fn server_key() -> PrivateKey {
    PrivateKey::from_seed([1; 32])
}

/// Lays the cables. The clients are at end a.
fn connect() -> Result<Hosts> {
    let hosts = Hosts::new("clients", "server")?;
    for path in 0..PATHS {
        let name = format!("path{}", path + 1);
        hosts.connect(&name)?;
        for end in [End::A, End::B] {
            let address = IpAddr::from([10, 71, path as u8 + 1, end.number()]);
            hosts.number(end, &name, &[IpNet::new(address, 24)?])?;
        }
    }
    let (clients, server) = (hosts.host(End::A), hosts.host(End::B));
    clients.ip(&["link", "set", "lo", "up"])?;
    for path in 0..PATHS {
        let (network, via) = (format!("10.{}.0.0/16", 81 + path), format!("10.71.{}.1", path + 1));
        clients.ip(&["route", "add", "local", &network, "dev", "lo"])?;
        server.ip(&["route", "add", &network, "via", &via])?;
    }
    Ok(hosts)
}

/// Returns the configuration of the server: all clients may connect at once, and every path is probed ten times a second even when nothing flows.
fn configuration(count: u16, waiting: Waiting, seal: Seal, key: &Path, socket: &Path) -> String {
    let seal = if seal.is_wanted() { "require" } else { "off" };
    let listen: Vec<_> = (0..PATHS).map(|path| server_address(path).ip().to_string()).collect();
    let inner = inner_address();
    let mut text = format!(
        "[daemon]\ncontrol_socket = {socket:?}\nprivate_key_file = {key:?}\nlisten = {listen:?}\n\
         max_clients = {count}\ncreations_per_second = {count}\n\n\
         [[device]]\nname = \"{DEVICE}\"\naddresses = [\"{inner}/16\"]\n\n\
         [[pool]]\nname = \"clients\"\nnetworks = [\"10.96.0.0/16\"]\n"
    );
    for client in 0..count {
        let public = client_key(client).public();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[client]]\nname = \"c{client}\"\npublic_key = \"{public}\"\npool = \"clients\"\nseal = {seal:?}\n\
             idle_keepalive = \"100 ms\"\n"
        );
        if waiting == Waiting::Long {
            text += "max_delay = \"10 s\"\nearly_release = false\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_client_has_a_key_of_its_own() {
        let keys: HashSet<_> = (0..1000).map(|client| client_key(client).public()).collect();
        assert_eq!(keys.len(), 1000);
        assert!(!keys.contains(&server_public()));
    }
}
