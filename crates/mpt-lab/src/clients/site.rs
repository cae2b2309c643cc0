//! A concentrator and the network to its clients.
//!
//! Two veth pairs lead from the host of the clients to the server. Every client has an address of its own on either; the host of
//! the clients takes all of two networks for its own.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use mpt_core::session::{PrivateKey, PublicKey};
use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_wire::gre;
use tempfile::TempDir;

use super::packet;
use crate::daemon::Daemon;
use crate::interrupt::Interrupt;
use crate::topology::Host;

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
    pub(super) server: Host,
    pub(super) clients: Host,
    _scratch: TempDir,
}

/// How long the concentrator lets packets from clients wait for earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// As it does by default.
    Default,
    /// As long as a configuration may say.
    Long,
}

impl Site {
    /// A concentrator that lets so many clients connect.
    pub(super) fn new(
        program: &Path,
        count: u16,
        waiting: Waiting,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let (server, clients) = (Host::new("server")?, Host::new("clients")?);
        connect(&server, &clients)?;
        // A short name: the path of a UNIX socket has at most 107 bytes.
        let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
        let key = scratch.path().join("server.key");
        fs::write(&key, server_key().to_base64().as_bytes()).context("cannot write a key file")?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let text = |socket: &Path| configuration(count, waiting, &key, socket);
        let mut daemon = Daemon::start(program, &server, "server", scratch.path(), text)?;
        daemon.wait_until("mptd does not answer", interrupt, |_| true)?;
        Ok(Self { daemon, server, clients, _scratch: scratch })
    }

    /// Ends the daemon in order.
    pub(super) fn stop(self) -> Result<()> {
        self.daemon.stop()
    }
}

/// The server's address on one of the paths.
pub(super) fn server_address(path: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 71, path as u8 + 1, 2), gre::PORT)
}

/// The address of a client on one of the paths.
pub(super) fn client_address(client: u16, path: usize) -> Ipv4Addr {
    // 0 would be the network's own.
    packet::address([10, 81 + path as u8], client + 1)
}

/// The server's address inside the tunnel.
pub(super) fn inner_address() -> Ipv4Addr {
    Ipv4Addr::new(10, 96, 0, 1)
}

/// The server's public key.
pub(super) fn server_public() -> PublicKey {
    server_key().public()
}

/// The key of a client. Keys of the laboratory protect nothing.
pub(super) fn client_key(client: u16) -> PrivateKey {
    let mut seed = [2; 32];
    // In the middle: some bits of the first and the last byte of a key are always the same.
    seed[8..10].copy_from_slice(&client.to_be_bytes());
    PrivateKey::from_seed(seed)
}

fn server_key() -> PrivateKey {
    PrivateKey::from_seed([1; 32])
}

/// Lays the cables.
fn connect(server: &Host, clients: &Host) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let ends = [
            (Netlink::connect_in(server.namespace())?, 2),
            (Netlink::connect_in(clients.namespace())?, 1),
        ];
        for path in 1..=PATHS as u8 {
            let name = format!("path{path}");
            let (left, right) = (
                VethEnd { name: &name, namespace: server.namespace() },
                VethEnd { name: &name, namespace: clients.namespace() },
            );
            ends[0].0.add_veth(left, right).await?;
            for (netlink, number) in &ends {
                let index = netlink.link(&name).await?.index;
                let address = IpAddr::from([10, 71, path, *number]);
                netlink.add_address(index, IpNet::new(address, 24)?).await?;
                netlink.set_up(index).await?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    ip(clients, "link set lo up")?;
    for path in 0..PATHS {
        let network = format!("10.{}.0.0/16", 81 + path);
        ip(clients, &format!("route add local {network} dev lo"))?;
        ip(server, &format!("route add {network} via 10.71.{}.1", path + 1))?;
    }
    Ok(())
}

fn ip(host: &Host, arguments: &str) -> Result<()> {
    let mut command = host.namespace().command("ip")?;
    let output = command.args(arguments.split(' ')).output().context("cannot run ip")?;
    if !output.status.success() {
        bail!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Everybody may connect at once, every path is probed ten times a second even when nothing flows, and data is plain: that is what is measured.
fn configuration(count: u16, waiting: Waiting, key: &Path, socket: &Path) -> String {
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
            "\n[[client]]\nname = \"c{client}\"\npublic_key = \"{public}\"\npool = \"clients\"\nseal = \"off\"\n\
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
